/* SPDX-License-Identifier: Apache-2.0
 *
 * NVIDIA's driver (libcuda) and run-time compiler (libnvrtc), opened at run time.
 *
 * No header of CUDA is needed to build: the functions come from cuda.def, and what they
 * take is declared here as the documentation says. Devices are numbered as the driver does. */
#ifndef SM_DRIVERS_CUDA_LIBRARY_H
#define SM_DRIVERS_CUDA_LIBRARY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/text.h"

typedef int CUresult;
typedef int nvrtcResult;
typedef int CUdevice;
typedef unsigned long long CUdeviceptr;
typedef struct CUctx_st *CUcontext;
typedef struct CUstream_st *CUstream;
typedef struct CUmod_st *CUmodule;
typedef struct CUfunc_st *CUfunction;
typedef struct CUmemPoolHandle_st *CUmemoryPool;
typedef struct _nvrtcProgram *nvrtcProgram;

enum {
#define CUDA_ERROR(name, value) name = value,
#include "drivers/cuda.def"
};

/* Attributes of devices and memory pools, and flags. */
enum {
  CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT = 16,
  CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR = 75,
  CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR = 76,
  CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN = 97,
  CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED = 115,
  CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES = 8,
  CU_STREAM_NON_BLOCKING = 1
};

typedef struct sm_cuda {
  void *handle;
#define CUDA(name, parameters) CUresult(*name) parameters;
#include "drivers/cuda.def"
} sm_cuda;

typedef struct sm_nvrtc {
  void *handle;
  char version[24]; /* "NVRTC 12.4" */
#define NVRTC(name, parameters) nvrtcResult(*name) parameters;
#include "drivers/cuda.def"
} sm_nvrtc;

/* ERR_DEVICE with "libcuda not found, tried …", or with what keeps the driver from working.
 * SMELT_CUDA names another file; "0" means none. */
smelt_status sm_cuda_open(sm_cuda *cuda, smelt_error *err);
void sm_cuda_close(sm_cuda *cuda);
/* ERR_COMPILE with "libnvrtc not found, tried …". SMELT_NVRTC names another file. */
smelt_status sm_nvrtc_open(sm_nvrtc *nvrtc, smelt_error *err);
void sm_nvrtc_close(sm_nvrtc *nvrtc);

/* "cuLaunchKernel: CUDA_ERROR_INVALID_VALUE (1)" under `status`, or ERR_MEMORY if memory is what is
 * lacking. */
smelt_status sm_cuda_fail(smelt_error *err, smelt_status status, const char *function, CUresult code);

/* --- Devices -------------------------------------------------------------------------- */
typedef struct sm_cuda_info {
  CUdevice id;
  char name[96];
  int major, minor; /* compute capability */
  int units;
  int shared;    /* bytes that a group may have in common, if its kernel asks for them */
  size_t memory; /* bytes */
  bool pools;    /* memory can be had in the order of a stream */
} sm_cuda_info;

/* Device number `number`. ERR_DEVICE. */
smelt_status sm_cuda_find(const sm_cuda *cuda, int number, sm_cuda_info *out, smelt_error *err);
/* The device that the text (a number, or NULL for the first) means. ERR_DEVICE says how many there are. */
smelt_status sm_cuda_choose(const sm_cuda *cuda, const char *wanted, sm_cuda_info *out, smelt_error *err);

#endif
