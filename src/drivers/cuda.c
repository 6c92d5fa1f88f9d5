/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "drivers/cuda_state.h"
#include "drivers/drivers.h"

/* --- The context ----------------------------------------------------------------------- */

smelt_status sm_cuda_check(const sm_cuda_device *d, smelt_error *err) {
  if (d->process == sm_thread_process()) return SMELT_OK;
  return sm_error_set(err, SMELT_ERR_FORKED, "%.60s was opened before the process was forked", d->info.name);
}

smelt_status sm_cuda_enter(const sm_cuda_device *d, smelt_error *err) {
  SM_TRY(sm_cuda_check(d, err));
  CUresult code = d->cuda.cuCtxPushCurrent_v2(d->context);
  return code == CUDA_SUCCESS ? SMELT_OK : sm_cuda_fail(err, SMELT_ERR_DEVICE, "cuCtxPushCurrent", code);
}

void sm_cuda_leave(const sm_cuda_device *d) {
  CUcontext ours;
  (void)d->cuda.cuCtxPopCurrent_v2(&ours);
}

/* --- Opening ----------------------------------------------------------------------------- */

/* Vectors of 16 bytes; half of the bytes that arguments may have are for buffers. */
static void fill_profile(sm_cuda_device *d) {
  int capability = 10 * d->info.major + d->info.minor;
  (void)snprintf(d->profile_name, sizeof d->profile_name, "cuda-sm%d", capability);
  (void)snprintf(d->architecture, sizeof d->architecture, "--gpu-architecture=sm_%d", capability);
  d->profile = (sm_profile){.name = d->profile_name,
                            .vector_bytes = 16,
                            .max_bindings = 128,
                            .plane = 32,
                            .shuffle = 32,
                            .max_group = 256,
                            .shared_bytes = (uint32_t)d->info.shared,
                            .dialect = &sm_dialect_cuda};
}

/* Code is for one architecture. */
static void fill_maker(sm_device *device, sm_cuda_device *d) {
  d->maker = (sm_kernel_maker){.dialect = &sm_dialect_cuda,
                               .form = {.group = d->profile.max_group},
                               .identity = sm_hash_start(),
                               .kernel_size = sizeof(sm_cuda_kernel),
                               .build = sm_cuda_build,
                               .load = sm_cuda_load};
  sm_hash_bytes(&d->maker.identity, d->architecture, strlen(d->architecture));
  sm_code_cache_open(&d->maker.cache, SM_CPU_BASELINE, device->allocator, device->log);
}

static smelt_status open_pool(sm_cuda_device *d, smelt_error *err) {
  if (!d->info.pools) return sm_error_set(err, SMELT_ERR_DEVICE, "%.60s has no memory pools", d->info.name);
  SM_TRY(sm_kept_limit(&d->kept, d->info.memory, err));
  CUresult code = d->cuda.cuDeviceGetDefaultMemPool(&d->pool, d->info.id);
  if (code == CUDA_SUCCESS) return SMELT_OK;
  return sm_cuda_fail(err, SMELT_ERR_DEVICE, "cuDeviceGetDefaultMemPool", code);
}

static smelt_status open_stream(sm_cuda_device *d, smelt_error *err) {
  SM_TRY(sm_cuda_enter(d, err));
  CUresult code = d->cuda.cuStreamCreate(&d->stream, CU_STREAM_NON_BLOCKING);
  sm_cuda_leave(d);
  return code == CUDA_SUCCESS ? SMELT_OK : sm_cuda_fail(err, SMELT_ERR_DEVICE, "cuStreamCreate", code);
}

static smelt_status open_parts(sm_cuda_device *d, const char *wanted, smelt_error *err) {
  SM_TRY(sm_cuda_open(&d->cuda, err));
  SM_TRY(sm_cuda_choose(&d->cuda, wanted, &d->info, err));
  CUresult code = d->cuda.cuDevicePrimaryCtxRetain(&d->context, d->info.id);
  if (code != CUDA_SUCCESS) return sm_cuda_fail(err, SMELT_ERR_DEVICE, "cuDevicePrimaryCtxRetain", code);
  SM_TRY(open_pool(d, err));
  return open_stream(d, err);
}

static bool init_locks(sm_cuda_device *d) {
  if (!sm_mutex_init(&d->compiling, SM_LOCK_DRIVER)) return false;
  if (sm_kept_init(&d->kept, sm_cuda_give_back, d)) return true;
  sm_mutex_destroy(&d->compiling);
  return false;
}

/* Of whatever there is, but the locks are. */
static void free_parts(const sm_device *device, sm_cuda_device *d) {
  if (sm_cuda_check(d, NULL) == SMELT_OK) sm_kept_trim(&d->kept);
  if (d->stream && sm_cuda_enter(d, NULL) == SMELT_OK) {
    (void)d->cuda.cuStreamSynchronize(d->stream);
    (void)d->cuda.cuStreamDestroy_v2(d->stream);
    sm_cuda_leave(d);
  }
  if (d->context && sm_cuda_check(d, NULL) == SMELT_OK)
    (void)d->cuda.cuDevicePrimaryCtxRelease_v2(d->info.id);
  sm_nvrtc_close(&d->nvrtc);
  sm_cuda_close(&d->cuda);
  sm_kept_close(&d->kept);
  sm_mutex_destroy(&d->compiling);
  sm_free(device->allocator, d, sizeof *d);
}

static smelt_status open_cuda(sm_device *device, const char *argument, smelt_error *err) {
  sm_cuda_device *d = sm_calloc(device->allocator, 1, sizeof *d);
  if (!d || !init_locks(d)) {
    sm_free(device->allocator, d, sizeof *d);
    return sm_error_memory(err, "a device");
  }
  d->process = sm_thread_process();
  smelt_status status = open_parts(d, argument, err);
  if (status != SMELT_OK) {
    free_parts(device, d);
    return status;
  }
  fill_profile(d);
  fill_maker(device, d);
  device->profile = &d->profile;
  device->detail = d->info.name;
  device->state = d;
  return SMELT_OK;
}

static void close_cuda(sm_device *device) {
  sm_cuda_device *d = device->state;
  sm_code_cache_close(&d->maker.cache);
  free_parts(device, d);
}

/* --- For people ------------------------------------------------------------------------------- */

static void describe_devices(const sm_cuda *cuda, sm_text *text) {
  int n = 0;
  smelt_error err;
  sm_cuda_info info;
  (void)cuda->cuDeviceGetCount(&n);
  for (int i = 0; i < n; i++) {
    if (sm_cuda_find(cuda, i, &info, &err) == SMELT_OK)
      sm_text_addf(text, "cuda:%-11d %s, sm_%d%d, %d unit(s), %zu MiB\n", i, info.name, info.major,
                   info.minor, info.units, info.memory >> 20);
    else sm_text_addf(text, "cuda:%-11d %s\n", i, err.text);
  }
  if (n == 0) sm_text_add(text, "cuda             none: libcuda knows no device\n");
}

void sm_cuda_describe(sm_text *text) {
  sm_cuda cuda;
  smelt_error err;
  if (sm_cuda_open(&cuda, &err) == SMELT_OK) describe_devices(&cuda, text);
  else sm_text_addf(text, "cuda             none: %s\n", err.text);
  sm_cuda_close(&cuda);
}

const sm_driver sm_driver_cuda = {
    .name = "cuda",
    .runs_kernels = true,
    .open = open_cuda,
    .close = close_cuda,
    .alloc = sm_cuda_alloc,
    .free = sm_cuda_free,
    .upload = sm_cuda_upload,
    .download = sm_cuda_download,
    .wait = sm_cuda_wait,
    .compile = sm_cuda_compile,
    .from_cache = sm_ir_kernel_from_cache,
    .release = sm_cuda_release,
    .launch = sm_cuda_launch,
};
