/* SPDX-License-Identifier: Apache-2.0
 *
 * libOpenCL, opened at run time, and the devices that it knows.
 *
 * No OpenCL header is needed to build: the functions come from opencl.def, and what they
 * take is declared here as the specification says. The library is the installable client
 * driver loader, behind which any number of platforms may be; devices of all platforms
 * are numbered in the order in which they are listed. */
#ifndef SM_DRIVERS_OPENCL_LIBRARY_H
#define SM_DRIVERS_OPENCL_LIBRARY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

typedef int32_t cl_int;
typedef uint32_t cl_uint;
typedef uint64_t cl_ulong;
typedef struct _cl_platform_id *cl_platform_id;
typedef struct _cl_device_id *cl_device_id;
typedef struct _cl_context *cl_context;
typedef struct _cl_command_queue *cl_command_queue;
typedef struct _cl_mem *cl_mem;
typedef struct _cl_program *cl_program;
typedef struct _cl_kernel *cl_kernel;
typedef struct _cl_event *cl_event;

enum {
#define OPENCL_ERROR(name, value) name = value,
#include "drivers/opencl.def"
};

/* What is asked of platforms, devices and programs. */
enum {
  CL_PLATFORM_VERSION = 0x0901,
  CL_PLATFORM_NAME = 0x0902,
  CL_DEVICE_TYPE = 0x1000,
  CL_DEVICE_MAX_COMPUTE_UNITS = 0x1002,
  CL_DEVICE_MAX_WORK_GROUP_SIZE = 0x1004,
  CL_DEVICE_MAX_PARAMETER_SIZE = 0x1017,
  CL_DEVICE_SINGLE_FP_CONFIG = 0x101b,
  CL_DEVICE_GLOBAL_MEM_CACHE_SIZE = 0x101e,
  CL_DEVICE_GLOBAL_MEM_SIZE = 0x101f,
  CL_DEVICE_LOCAL_MEM_SIZE = 0x1023,
  CL_DEVICE_NAME = 0x102b,
  CL_DRIVER_VERSION = 0x102d,
  CL_DEVICE_DOUBLE_FP_CONFIG = 0x1032,
  CL_DEVICE_NATIVE_VECTOR_WIDTH_FLOAT = 0x103a,
  CL_PROGRAM_BINARY_SIZES = 0x1165,
  CL_PROGRAM_BINARIES = 0x1166,
  CL_PROGRAM_BUILD_LOG = 0x1183
};
#define CL_DEVICE_TYPE_GPU (UINT64_C(1) << 2)
#define CL_DEVICE_TYPE_ALL UINT64_C(0xffffffff)
#define CL_FP_CORRECTLY_ROUNDED_DIVIDE_SQRT (UINT64_C(1) << 7)
#define CL_MEM_READ_WRITE UINT64_C(1)
#define CL_MEM_READ_ONLY (UINT64_C(1) << 2)
#define CL_MEM_COPY_HOST_PTR (UINT64_C(1) << 5)

typedef struct sm_opencl {
  void *handle;
#define OPENCL(result, name, parameters) result(*name) parameters;
#include "drivers/opencl.def"
} sm_opencl;

/* ERR_DEVICE with "libOpenCL not found, tried …". SMELT_OPENCL names another file; "0"
 * means none. */
smelt_status sm_opencl_open(sm_opencl *cl, smelt_error *err);
void sm_opencl_close(sm_opencl *cl);

/* "clBuildProgram: CL_OUT_OF_RESOURCES" under `status`, or ERR_MEMORY if memory is what is
 * lacking. */
smelt_status sm_opencl_fail(smelt_error *err, smelt_status status, const char *function, cl_int code);
bool sm_opencl_lacks_memory(cl_int code);

/* --- Devices -------------------------------------------------------------------------- */
enum { SM_OPENCL_DEVICES = 32, SM_OPENCL_TEXT = 128 };

typedef struct sm_opencl_info {
  cl_device_id id;
  char name[SM_OPENCL_TEXT];     /* of the device */
  char platform[SM_OPENCL_TEXT]; /* its name */
  char version[SM_OPENCL_TEXT];  /* of the platform: "OpenCL 3.0 PoCL 3.1 …" */
  char driver[SM_OPENCL_TEXT];   /* version */
  bool gpu;
} sm_opencl_info;

/* How many there are, at most SM_OPENCL_DEVICES. */
int sm_opencl_list(const sm_opencl *cl, sm_opencl_info infos[SM_OPENCL_DEVICES]);
/* The device with that number, or the first one that has the text in one of its names;
 * without a text the first GPU, or else the first of all. ERR_DEVICE says what there is. */
smelt_status sm_opencl_choose(const sm_opencl *cl, const char *wanted, sm_opencl_info *out, smelt_error *err);
/* A property that is a number; 0 if there is none. */
uint64_t sm_opencl_number(const sm_opencl *cl, cl_device_id device, cl_uint property);

#endif
