/* SPDX-License-Identifier: Apache-2.0 */
#include "base/error.h"
#include "drivers/cuda_state.h"

/* Device addresses are pointers for whoever only passes them on. */
static void *as_data(CUdeviceptr address) { return (void *)(uintptr_t)address; }
static CUdeviceptr as_address(const void *data) { return (CUdeviceptr)(uintptr_t)data; }

/* From the driver, 0 when there is none. */
static CUdeviceptr take(const sm_cuda_device *d, size_t bytes) {
  CUdeviceptr address = 0;
  return d->cuda.cuMemAllocAsync(&address, bytes, d->stream) == CUDA_SUCCESS ? address : 0;
}

/* What has been freed comes back when it is really free. */
static CUdeviceptr take_after_waiting(const sm_cuda_device *d, size_t bytes) {
  (void)d->cuda.cuStreamSynchronize(d->stream);
  (void)d->cuda.cuMemPoolTrimTo(d->pool, 0);
  return take(d, bytes);
}

static void *take_new(const sm_cuda_device *d, size_t bytes,
                      CUdeviceptr (*way)(const sm_cuda_device *, size_t)) {
  if (sm_cuda_enter(d, NULL) != SMELT_OK) return NULL;
  CUdeviceptr address = way(d, bytes);
  sm_cuda_leave(d);
  return as_data(address);
}

void *sm_cuda_alloc(sm_device *device, size_t bytes) {
  sm_cuda_device *d = device->state;
  if (bytes > SIZE_MAX / 2 || sm_cuda_check(d, NULL) != SMELT_OK) return NULL;
  size_t rounded = sm_kept_class(bytes);
  void *data = sm_kept_take(&d->kept, rounded);
  if (!data) data = take_new(d, rounded, take);
  if (data) return data;
  sm_kept_trim(&d->kept);
  return take_new(d, rounded, take_after_waiting);
}

void sm_cuda_give_back(void *user, void *data) {
  const sm_cuda_device *d = user;
  if (sm_cuda_enter(d, NULL) != SMELT_OK) return;
  (void)d->cuda.cuMemFreeAsync(as_address(data), d->stream);
  sm_cuda_leave(d);
}

void sm_cuda_free(sm_device *device, void *data, size_t bytes) {
  sm_cuda_device *d = device->state;
  if (sm_cuda_check(d, NULL) == SMELT_OK) sm_kept_put(&d->kept, data, sm_kept_class(bytes));
}

/* Ends an entry that has queued something, and waited for it. */
static smelt_status finish(const sm_cuda_device *d, const char *function, CUresult code, smelt_error *err) {
  if (code == CUDA_SUCCESS) {
    function = "cuStreamSynchronize";
    code = d->cuda.cuStreamSynchronize(d->stream);
  }
  sm_cuda_leave(d);
  return code == CUDA_SUCCESS ? SMELT_OK : sm_cuda_fail(err, SMELT_ERR_LAUNCH, function, code);
}

smelt_status sm_cuda_upload(sm_device *device, void *data, size_t offset, const void *from, size_t bytes,
                            smelt_error *err) {
  const sm_cuda_device *d = device->state;
  SM_TRY(sm_cuda_enter(d, err));
  CUresult code = d->cuda.cuMemcpyHtoDAsync_v2(as_address(data) + offset, from, bytes, d->stream);
  return finish(d, "cuMemcpyHtoDAsync", code, err);
}

smelt_status sm_cuda_download(sm_device *device, const void *data, size_t offset, void *to, size_t bytes,
                              smelt_error *err) {
  const sm_cuda_device *d = device->state;
  SM_TRY(sm_cuda_enter(d, err));
  CUresult code = d->cuda.cuMemcpyDtoHAsync_v2(to, as_address(data) + offset, bytes, d->stream);
  return finish(d, "cuMemcpyDtoHAsync", code, err);
}

smelt_status sm_cuda_wait(sm_device *device, smelt_error *err) {
  const sm_cuda_device *d = device->state;
  SM_TRY(sm_cuda_enter(d, err));
  return finish(d, "", CUDA_SUCCESS, err);
}
