/* SPDX-License-Identifier: Apache-2.0
 *
 * A CUDA device: the primary context, one stream, memory, kernels.
 *
 * Kernel IR becomes CUDA C++ (codegen/c_family.h), which NVRTC compiles for the device's own
 * architecture; the code is kept in the cache on disk, so that NVRTC is opened only when a
 * kernel is new. What a launch takes are three calls of the driver: freed memory is kept for
 * reuse in the order of the stream, and what more there is of it comes from the driver's pool,
 * in that order too. Launches are queued; downloads wait for them.
 *
 * Every entry makes the context the thread's current one and puts back what was. In a
 * process forked from the one that opened it a device does not work: everything fails with
 * ERR_FORKED, and nothing is given back. */
#ifndef SM_DRIVERS_CUDA_STATE_H
#define SM_DRIVERS_CUDA_STATE_H

#include "base/thread.h"
#include "drivers/cuda_library.h"
#include "drivers/text_kernel.h"
#include "rt/kept_memory.h"

typedef struct sm_cuda_device {
  sm_cuda cuda;
  sm_cuda_info info;
  CUcontext context;
  CUstream stream;
  CUmemoryPool pool;
  uint32_t process; /* that opened it */
  char profile_name[24], architecture[48];
  sm_profile profile;
  sm_kernel_maker maker;
  sm_kept_memory kept;
  sm_mutex compiling; /* guards: */
  sm_nvrtc nvrtc;     /* opened if handle is set */
} sm_cuda_device;

typedef struct sm_cuda_kernel {
  sm_text_kernel base;
  CUmodule module;
  CUfunction function;
} sm_cuda_kernel;

/* ERR_FORKED in another process than the device's. */
smelt_status sm_cuda_check(const sm_cuda_device *device, smelt_error *err);
/* Around calls of the driver. ERR_FORKED, ERR_DEVICE. */
smelt_status sm_cuda_enter(const sm_cuda_device *device, smelt_error *err);
void sm_cuda_leave(const sm_cuda_device *device);

/* --- Memory (cuda_memory.c): entries of the driver's table ------------------------------ */
void *sm_cuda_alloc(sm_device *device, size_t bytes);
void sm_cuda_free(sm_device *device, void *data, size_t bytes);
smelt_status sm_cuda_upload(sm_device *device, void *data, size_t offset, const void *from, size_t bytes,
                            smelt_error *err);
smelt_status sm_cuda_download(sm_device *device, const void *data, size_t offset, void *to, size_t bytes,
                              smelt_error *err);
smelt_status sm_cuda_wait(sm_device *device, smelt_error *err);
void sm_cuda_give_back(void *cuda_device, void *data);

/* --- Kernels (cuda_program.c, cuda_launch.c) -------------------------------------------- */
smelt_status sm_cuda_build(sm_device *device, const char *text, const char *name, sm_text_kernel *out,
                           sm_made_code *code, smelt_error *err);
smelt_status sm_cuda_load(sm_device *device, const sm_object *code, const char *name, sm_text_kernel *out,
                          smelt_error *err);
smelt_status sm_cuda_compile(sm_device *device, sm_kir_kernel *ir, sm_kernel **out, smelt_error *err);
void sm_cuda_release(sm_device *device, sm_kernel *kernel);
smelt_status sm_cuda_launch(sm_device *device, sm_kernel *kernel, const sm_launch *launch, smelt_error *err);

/* One line a device, or why there is none, for people. */
void sm_cuda_describe(sm_text *text);

#endif
