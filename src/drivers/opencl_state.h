/* SPDX-License-Identifier: Apache-2.0
 *
 * An OpenCL device: one context, one in-order queue, memory, programs.
 *
 * Kernel IR becomes OpenCL C 1.2 (codegen/c_family.h), which the device's own compiler
 * builds; binaries are kept in the cache on disk, under the identity of the kernel and of
 * the device. A tensor's memory is a cl_mem, freed ones are kept for reuse, as the queue is in
 * order. Launches are queued; downloads wait for them.
 *
 * In a process forked from the one that opened it a device does not work, as its threads
 * are not there: everything fails with ERR_FORKED, and nothing is given back. */
#ifndef SM_DRIVERS_OPENCL_STATE_H
#define SM_DRIVERS_OPENCL_STATE_H

#include "base/thread.h"
#include "drivers/opencl_library.h"
#include "drivers/text_kernel.h"
#include "rt/kept_memory.h"

typedef struct sm_opencl_device {
  sm_opencl cl;
  sm_opencl_info info;
  cl_context context;
  cl_command_queue queue;
  uint32_t process; /* that opened it */
  sm_profile profile;
  char options[80]; /* of the compiler */
  sm_kernel_maker maker;
  sm_mutex launching; /* a kernel's arguments belong to one launch at a time */
  sm_kept_memory kept;
} sm_opencl_device;

typedef struct sm_opencl_kernel {
  sm_text_kernel base;
  cl_program program;
  cl_kernel kernel;
} sm_opencl_kernel;

/* ERR_FORKED in another process than the device's. */
smelt_status sm_opencl_check(const sm_opencl_device *ocl, smelt_error *err);

/* --- Memory (opencl_memory.c): entries of the driver's table -------------------------- */
void *sm_opencl_alloc(sm_device *device, size_t bytes);
void sm_opencl_free(sm_device *device, void *data, size_t bytes);
smelt_status sm_opencl_upload(sm_device *device, void *data, size_t offset, const void *from, size_t bytes,
                              smelt_error *err);
smelt_status sm_opencl_download(sm_device *device, const void *data, size_t offset, void *to, size_t bytes,
                                smelt_error *err);
void sm_opencl_give_back(void *ocl, void *memory);

/* --- Kernels (opencl_program.c) -------------------------------------------------------- */
/* The entry `name` of OpenCL C, built. ERR_COMPILE with the
 * compiler's words; ERR_MEMORY. */
smelt_status sm_opencl_build(const sm_opencl_device *ocl, const char *source, const char *name,
                             cl_program *program, cl_kernel *kernel, smelt_error *err);
smelt_status sm_opencl_build_text(sm_device *device, const char *text, const char *name, sm_text_kernel *out,
                                  sm_made_code *code, smelt_error *err);
smelt_status sm_opencl_load(sm_device *device, const sm_object *code, const char *name, sm_text_kernel *out,
                            smelt_error *err);
smelt_status sm_opencl_compile(sm_device *device, sm_kir_kernel *ir, sm_kernel **out, smelt_error *err);
void sm_opencl_release(sm_device *device, sm_kernel *kernel);

/* --- Launches (opencl_launch.c) ---------------------------------------------------------- */
smelt_status sm_opencl_launch(sm_device *device, sm_kernel *kernel, const sm_launch *launch,
                              smelt_error *err);

/* One line a device of all platforms, or why there is none, for people. */
void sm_opencl_describe(sm_text *text);

#endif
