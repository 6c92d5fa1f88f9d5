/* SPDX-License-Identifier: Apache-2.0 */
#include "base/error.h"
#include "drivers/opencl_state.h"

static cl_mem create(const sm_opencl_device *ocl, size_t bytes) {
  cl_int code = CL_SUCCESS;
  return ocl->cl.clCreateBuffer(ocl->context, CL_MEM_READ_WRITE, bytes, NULL, &code);
}

void sm_opencl_give_back(void *user, void *memory) {
  const sm_opencl_device *ocl = user;
  (void)ocl->cl.clReleaseMemObject(memory);
}

void *sm_opencl_alloc(sm_device *device, size_t bytes) {
  sm_opencl_device *ocl = device->state;
  if (bytes > SIZE_MAX / 2 || sm_opencl_check(ocl, NULL) != SMELT_OK) return NULL;
  size_t rounded = sm_kept_class(bytes);
  cl_mem memory = sm_kept_take(&ocl->kept, rounded);
  if (!memory) memory = create(ocl, rounded);
  if (memory) return memory;
  sm_kept_trim(&ocl->kept);
  return create(ocl, rounded);
}

void sm_opencl_free(sm_device *device, void *data, size_t bytes) {
  sm_opencl_device *ocl = device->state;
  if (sm_opencl_check(ocl, NULL) == SMELT_OK) sm_kept_put(&ocl->kept, data, sm_kept_class(bytes));
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
