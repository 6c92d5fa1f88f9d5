/* SPDX-License-Identifier: Apache-2.0 */
#include "base/error.h"
#include "drivers/opencl_state.h"

/* --- Kept memory ---------------------------------------------------------------------- */

/* Sizes are rounded up to multiples of a sixteenth to an eighth of themselves, so that memory
 * fits again. */
static size_t class_of(size_t bytes) {
  size_t step = 256;
  while (bytes / 16 >= step) step *= 2;
  return (bytes + step - 1) / step * step;
}

/* The memory last freed that has this size, or NULL. */
static cl_mem take_kept(sm_opencl_device *ocl, size_t bytes) {
  cl_mem memory = NULL;
  sm_lock(&ocl->memory_lock);
  size_t i = ocl->kept.len;
  while (i > 0 && ocl->kept.items[i - 1].bytes != bytes) i--;
  if (i > 0) {
    memory = ocl->kept.items[i - 1].memory;
    ocl->kept_bytes -= bytes;
    for (ocl->kept.len--; i <= ocl->kept.len; i++) ocl->kept.items[i - 1] = ocl->kept.items[i];
  }
  sm_unlock(&ocl->memory_lock);
  return memory;
}

/* Gives the oldest back until at most so much is kept. The lock is held. */
static void shrink_to(sm_opencl_device *ocl, size_t most) {
  size_t n = 0;
  for (; ocl->kept_bytes > most; n++) {
    ocl->kept_bytes -= ocl->kept.items[n].bytes;
    (void)ocl->cl.clReleaseMemObject(ocl->kept.items[n].memory);
  }
  for (size_t i = n; i < ocl->kept.len; i++) ocl->kept.items[i - n] = ocl->kept.items[i];
  ocl->kept.len -= n;
}

void sm_opencl_trim(sm_device *device) {
  sm_opencl_device *ocl = device->state;
  sm_lock(&ocl->memory_lock);
  shrink_to(ocl, 0);
  sm_unlock(&ocl->memory_lock);
}

/* False without memory to remember it. */
static bool keep(sm_device *device, cl_mem memory, size_t bytes) {
  sm_opencl_device *ocl = device->state;
  sm_lock(&ocl->memory_lock);
  bool kept = sm_vec_push(device->allocator, &ocl->kept, (sm_opencl_block){memory, bytes});
  if (kept) {
    ocl->kept_bytes += bytes;
    shrink_to(ocl, ocl->most_kept);
  }
  sm_unlock(&ocl->memory_lock);
  return kept;
}

/* --- The driver's entries --------------------------------------------------------------- */

static cl_mem create(const sm_opencl_device *ocl, size_t bytes) {
  cl_int code = CL_SUCCESS;
  return ocl->cl.clCreateBuffer(ocl->context, CL_MEM_READ_WRITE, bytes, NULL, &code);
}

void *sm_opencl_alloc(sm_device *device, size_t bytes) {
  sm_opencl_device *ocl = device->state;
  if (bytes > SIZE_MAX / 2 || sm_opencl_check(ocl, NULL) != SMELT_OK) return NULL;
  size_t rounded = class_of(bytes);
  cl_mem memory = take_kept(ocl, rounded);
  if (!memory) memory = create(ocl, rounded);
  if (memory) return memory;
  sm_opencl_trim(device);
  return create(ocl, rounded);
}

void sm_opencl_free(sm_device *device, void *data, size_t bytes) {
  sm_opencl_device *ocl = device->state;
  if (sm_opencl_check(ocl, NULL) != SMELT_OK) return;
  if (!keep(device, data, class_of(bytes))) (void)ocl->cl.clReleaseMemObject(data);
}

smelt_status sm_opencl_upload(sm_device *device, void *data, size_t offset, const void *from, size_t bytes,
                              smelt_error *err) {
  const sm_opencl_device *ocl = device->state;
  SM_TRY(sm_opencl_check(ocl, err));
  cl_int code = ocl->cl.clEnqueueWriteBuffer(ocl->queue, data, true, offset, bytes, from, 0, NULL, NULL);
  return code == CL_SUCCESS ? SMELT_OK : sm_opencl_fail(err, SMELT_ERR_LAUNCH, "clEnqueueWriteBuffer", code);
}

smelt_status sm_opencl_download(sm_device *device, const void *data, size_t offset, void *to, size_t bytes,
                                smelt_error *err) {
  const sm_opencl_device *ocl = device->state;
  SM_TRY(sm_opencl_check(ocl, err));
  cl_mem memory = (cl_mem)(uintptr_t)data; /* a handle, to which const means nothing */
  cl_int code = ocl->cl.clEnqueueReadBuffer(ocl->queue, memory, true, offset, bytes, to, 0, NULL, NULL);
  return code == CL_SUCCESS ? SMELT_OK : sm_opencl_fail(err, SMELT_ERR_LAUNCH, "clEnqueueReadBuffer", code);
}
