/* SPDX-License-Identifier: Apache-2.0 */
#include "base/error.h"
#include "drivers/group_launch.h"
#include "drivers/opencl_state.h"

/* A launch on its way: arguments that are no tensors, in host memory and on the device. */
typedef struct launching {
  const sm_opencl_device *ocl;
  const sm_opencl_kernel *kernel;
  const sm_launch *launch;
  sm_word *words;
  size_t n_words;
  cl_mem words_memory, table_memory; /* given up once the launch is queued */
  const char *function;              /* of OpenCL, that was called last */
} launching;

/* --- Arguments -------------------------------------------------------------------------- */

/* Memory that holds some words, which the device only reads. */
static cl_int copy_words(launching *l, const sm_word *words, size_t n, cl_mem *out) {
  static const sm_word none = {.bits = 0};
  cl_int code = CL_SUCCESS;
  /* The words are copied: that they are not const is the interface's. */
  void *from = (void *)(uintptr_t)(n ? words : &none);
  l->function = "clCreateBuffer";
  *out = l->ocl->cl.clCreateBuffer(l->ocl->context, CL_MEM_READ_ONLY | CL_MEM_COPY_HOST_PTR,
                                   (n ? n : 1) * sizeof *words, from, &code);
  return code;
}

static cl_int set_argument(launching *l, cl_uint index, size_t bytes, const void *value) {
  l->function = "clSetKernelArg";
  return l->ocl->cl.clSetKernelArg(l->kernel->kernel, index, bytes, value);
}

static cl_int set_memory(launching *l, cl_uint index, cl_mem memory) {
  return set_argument(l, index, sizeof memory, &memory);
}

static cl_int set_words(launching *l, cl_uint index) {
  if (l->kernel->base.by_value) return set_argument(l, index, l->n_words * sizeof *l->words, l->words);
  cl_int code = copy_words(l, l->words, l->n_words, &l->words_memory);
  return code == CL_SUCCESS ? set_memory(l, index, l->words_memory) : code;
}

static cl_int set_table(launching *l, cl_uint index) {
  const sm_word *table = l->launch->scalars + l->launch->n_scalars;
  cl_int code = copy_words(l, table, l->launch->n_table, &l->table_memory);
  return code == CL_SUCCESS ? set_memory(l, index, l->table_memory) : code;
}

/* Buffers, words, table. */
static cl_int set_arguments(launching *l) {
  cl_uint n = (cl_uint)l->launch->n_buffers;
  cl_int code = CL_SUCCESS;
  for (cl_uint i = 0; i < n && code == CL_SUCCESS; i++) code = set_memory(l, i, l->launch->buffers[i].data);
  if (code == CL_SUCCESS) code = set_words(l, n);
  if (code == CL_SUCCESS && l->kernel->base.has_table) code = set_table(l, n + 1);
  return code;
}

static void give_up_memory(launching *l) {
  if (l->words_memory) (void)l->ocl->cl.clReleaseMemObject(l->words_memory);
  if (l->table_memory) (void)l->ocl->cl.clReleaseMemObject(l->table_memory);
  l->words_memory = l->table_memory = NULL;
}

/* --- Launching ----------------------------------------------------------------------------- */

static cl_int enqueue(launching *l) {
  const sm_opencl *cl = &l->ocl->cl;
  sm_launch_size size = sm_launch_size_for(l->launch, &l->kernel->base.base.ir, &l->ocl->profile);
  size_t group = (size_t)size.threads, all = (size_t)size.groups * group;
  cl_int code = set_arguments(l);
  if (code == CL_SUCCESS) {
    l->function = "clEnqueueNDRangeKernel";
    code = cl->clEnqueueNDRangeKernel(l->ocl->queue, l->kernel->kernel, 1, NULL, &all, &group, 0, NULL, NULL);
  }
  give_up_memory(l);
  if (code != CL_SUCCESS) return code;
  l->function = "clFlush";
  return cl->clFlush(l->ocl->queue);
}

/* Once more without what is kept, if memory is what is lacking. */
static smelt_status enqueue_or_trim(sm_device *device, launching *l, smelt_error *err) {
  sm_opencl_device *ocl = device->state;
  sm_lock(&ocl->launching);
  cl_int code = enqueue(l);
  if (sm_opencl_lacks_memory(code)) {
    (void)ocl->cl.clFinish(ocl->queue);
    sm_kept_trim(&ocl->kept);
    code = enqueue(l);
  }
  sm_unlock(&ocl->launching);
  return code == CL_SUCCESS ? SMELT_OK : sm_opencl_fail(err, SMELT_ERR_LAUNCH, l->function, code);
}

smelt_status sm_opencl_launch(sm_device *device, sm_kernel *kernel, const sm_launch *launch,
                              smelt_error *err) {
  launching l = {.ocl = device->state,
                 .kernel = (const sm_opencl_kernel *)kernel,
                 .launch = launch,
                 .n_words = sm_launch_n_words(launch)};
  SM_TRY(sm_opencl_check(l.ocl, err));
  l.words = sm_alloc(device->allocator, l.n_words * sizeof *l.words);
  if (!l.words) return sm_error_memory(err, "a launch");
  sm_launch_fill_words(launch, l.words);
  smelt_status status = launch->work_items ? enqueue_or_trim(device, &l, err) : SMELT_OK;
  sm_free(device->allocator, l.words, l.n_words * sizeof *l.words);
  SM_TRY(status);
  return launch->next ? sm_opencl_launch(device, launch->next_kernel, launch->next, err) : SMELT_OK;
}
