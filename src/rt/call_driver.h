/* SPDX-License-Identifier: Apache-2.0
 *
 * Calls of drivers: nobody else makes them, but for entries that only look (`describe`,
 * `from_cache`).
 *
 * A host may have set any rounding, flushing of denormals, or traps, and the libraries that
 * drivers open (libcuda, NVRTC, OpenCL, libLLVM) compute with whatever they find: a trap ends
 * the process in them. So they are called in the library's floating-point environment
 * (base/float_env.h), which the threads that they start inherit. Only where the host reads
 * device memory are the quick ways without it: there memory and launches are code of ours,
 * which enters the environment where it computes (rt/pool.h).
 *
 * Each function is what its namesake in sm_driver says (rt/device.h). */
#ifndef SM_RT_CALL_DRIVER_H
#define SM_RT_CALL_DRIVER_H

#include "rt/device.h"

smelt_status sm_call_open(sm_device *device, const char *argument, smelt_error *err);
void sm_call_close(sm_device *device);

void *sm_call_alloc(sm_device *device, size_t bytes);
void sm_call_free(sm_device *device, void *data, size_t bytes);
smelt_status sm_call_upload(sm_device *device, void *data, size_t offset, const void *from, size_t bytes,
                            smelt_error *err);
smelt_status sm_call_download(sm_device *device, const void *data, size_t offset, void *to, size_t bytes,
                              smelt_error *err);
/* Where there is nothing to wait for: at once. */
smelt_status sm_call_wait(sm_device *device, smelt_error *err);

/* `interpreted`: by the driver's `interpret`. */
smelt_status sm_call_compile(sm_device *device, sm_kir_kernel *ir, bool interpreted, sm_kernel **out,
                             smelt_error *err);
void sm_call_release(sm_device *device, sm_kernel *kernel);
smelt_status sm_call_launch(sm_device *device, sm_kernel *kernel, const sm_launch *launch, smelt_error *err);

#endif
