/* SPDX-License-Identifier: Apache-2.0 */
#include "base/error.h"
#include "drivers/cuda_state.h"
#include "drivers/group_launch.h"

/* A launch on its way. Pointers to the arguments' values, then the values of those that are
 * addresses, then the words: one block. */
typedef struct launching {
  const sm_cuda_device *device;
  const sm_cuda_kernel *kernel;
  const sm_launch *launch;
  void **arguments;
  CUdeviceptr *addresses;
  sm_word *words;
  size_t n_addresses, n_words;
  CUdeviceptr words_memory, table_memory; /* given up once the launch is queued */
} launching;

static size_t block_bytes(const launching *l) {
  return l->n_addresses * (sizeof *l->arguments + sizeof *l->addresses) + l->n_words * sizeof *l->words;
}

/* Buffers, words, table. */
static bool prepare(launching *l, const sm_allocator *allocator) {
  l->n_addresses = l->launch->n_buffers + 2;
  l->n_words = sm_launch_n_words(l->launch);
  l->arguments = sm_alloc(allocator, block_bytes(l));
  if (!l->arguments) return false;
  l->addresses = (CUdeviceptr *)(void *)(l->arguments + l->n_addresses);
  l->words = (sm_word *)(void *)(l->addresses + l->n_addresses);
  for (size_t i = 0; i < l->launch->n_buffers; i++)
    l->addresses[i] = (CUdeviceptr)(uintptr_t)l->launch->buffers[i].data;
  for (size_t i = 0; i < l->n_addresses; i++) l->arguments[i] = &l->addresses[i];
  if (l->kernel->base.by_value) l->arguments[l->launch->n_buffers] = l->words;
  sm_launch_fill_words(l->launch, l->words);
  return true;
}

/* Device memory that holds some words; the source may change as soon as this returns, as
 * the driver copies what is in pageable memory first. */
static CUresult copy_words(const launching *l, const sm_word *words, size_t n, CUdeviceptr *out) {
  size_t bytes = n * sizeof *words;
  *out = sm_cuda_take(l->device, bytes ? bytes : 1);
  if (!*out) return CUDA_ERROR_OUT_OF_MEMORY;
  return bytes ? l->device->cuda.cuMemcpyHtoDAsync_v2(*out, words, bytes, l->device->stream) : CUDA_SUCCESS;
}

static CUresult copy_arguments(launching *l) {
  const sm_launch *launch = l->launch;
  CUresult code = CUDA_SUCCESS;
  if (!l->kernel->base.by_value) code = copy_words(l, l->words, l->n_words, &l->words_memory);
  if (code == CUDA_SUCCESS && l->kernel->base.has_table)
    code = copy_words(l, launch->scalars + launch->n_scalars, launch->n_table, &l->table_memory);
  l->addresses[launch->n_buffers] = l->words_memory;
  l->addresses[launch->n_buffers + 1] = l->table_memory;
  return code;
}

static void give_up_memory(const launching *l) {
  const sm_cuda_device *d = l->device;
  if (l->words_memory) (void)d->cuda.cuMemFreeAsync(l->words_memory, d->stream);
  if (l->table_memory) (void)d->cuda.cuMemFreeAsync(l->table_memory, d->stream);
}

static smelt_status enqueue(launching *l, smelt_error *err) {
  const sm_cuda_device *d = l->device;
  sm_launch_size size = sm_launch_size_for(l->launch, &l->kernel->base.base.ir, &d->profile);
  if (size.groups > INT32_MAX) return sm_error_set(err, SMELT_ERR_LIMIT, "more groups than a CUDA grid has");
  SM_TRY(sm_cuda_enter(d, err));
  const char *function = "cuMemcpyHtoDAsync";
  CUresult code = copy_arguments(l);
  if (code == CUDA_SUCCESS) {
    function = "cuLaunchKernel";
    code = d->cuda.cuLaunchKernel(l->kernel->function, (unsigned)size.groups, 1, 1, (unsigned)size.threads, 1,
                                  1, 0, d->stream, l->arguments, NULL);
  }
  give_up_memory(l);
  sm_cuda_leave(d);
  return code == CUDA_SUCCESS ? SMELT_OK : sm_cuda_fail(err, SMELT_ERR_LAUNCH, function, code);
}

smelt_status sm_cuda_launch(sm_device *device, sm_kernel *kernel, const sm_launch *launch, smelt_error *err) {
  launching l = {.device = device->state, .kernel = (const sm_cuda_kernel *)kernel, .launch = launch};
  if (!prepare(&l, device->allocator)) return sm_error_memory(err, "a launch");
  smelt_status status = launch->work_items ? enqueue(&l, err) : SMELT_OK;
  sm_free(device->allocator, l.arguments, block_bytes(&l));
  SM_TRY(status);
  return launch->next ? sm_cuda_launch(device, launch->next_kernel, launch->next, err) : SMELT_OK;
}
