/* SPDX-License-Identifier: Apache-2.0 */
#include "base/error.h"
#include "drivers/cuda_state.h"
#include "drivers/group_launch.h"

/* Words that a kernel reads in device memory, which is given up once the launch is queued. */
typedef struct placed_words {
  const sm_word *words;
  size_t n;
  void *memory; /* NULL: there is no such argument */
} placed_words;

/* A launch on its way. Pointers to the arguments' values, then the values of those that are
 * addresses, then the words: one block. */
typedef struct launching {
  const sm_cuda_kernel *kernel;
  const sm_launch *launch;
  void **arguments;
  CUdeviceptr *addresses;
  sm_word *words;
  size_t n_addresses, n_words;
  placed_words placed[2]; /* the words, if they cannot go by value, and the table */
} launching;

/* --- Arguments -------------------------------------------------------------------------- */

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

static size_t bytes_of(const placed_words *p) { return (p->n ? p->n : 1) * sizeof *p->words; }

/* False without device memory. */
static bool place(sm_device *device, launching *l, int i, const sm_word *words, size_t n) {
  placed_words *p = &l->placed[i];
  *p = (placed_words){.words = words, .n = n};
  p->memory = sm_cuda_alloc(device, bytes_of(p));
  l->addresses[l->launch->n_buffers + (size_t)i] = (CUdeviceptr)(uintptr_t)p->memory;
  return p->memory != NULL;
}

static bool place_all(sm_device *device, launching *l) {
  const sm_text_kernel *kernel = &l->kernel->base;
  const sm_word *table = l->launch->scalars + l->launch->n_scalars;
  if (!kernel->by_value && !place(device, l, 0, l->words, l->n_words)) return false;
  return !kernel->has_table || place(device, l, 1, table, l->launch->n_table);
}

static void give_up(sm_device *device, const launching *l) {
  for (int i = 0; i < 2; i++) {
    if (l->placed[i].memory) sm_cuda_free(device, l->placed[i].memory, bytes_of(&l->placed[i]));
  }
}

/* --- Launching ----------------------------------------------------------------------------- */

/* The words may change as soon as this returns, as the driver copies what is in pageable memory first. */
static CUresult copy_words(const sm_cuda_device *d, const launching *l) {
  CUresult code = CUDA_SUCCESS;
  for (int i = 0; i < 2 && code == CUDA_SUCCESS; i++) {
    const placed_words *p = &l->placed[i];
    CUdeviceptr to = (CUdeviceptr)(uintptr_t)p->memory;
    if (p->n) code = d->cuda.cuMemcpyHtoDAsync_v2(to, p->words, p->n * sizeof *p->words, d->stream);
  }
  return code;
}

static smelt_status enqueue(const sm_cuda_device *d, const launching *l, smelt_error *err) {
  sm_launch_size size = sm_launch_size_for(l->launch, &l->kernel->base.base.ir, &d->profile);
  if (size.groups > INT32_MAX) return sm_error_set(err, SMELT_ERR_LIMIT, "more groups than a CUDA grid has");
  SM_TRY(sm_cuda_enter(d, err));
  const char *function = "cuMemcpyHtoDAsync";
  CUresult code = copy_words(d, l);
  if (code == CUDA_SUCCESS) {
    function = "cuLaunchKernel";
    code = d->cuda.cuLaunchKernel(l->kernel->function, (unsigned)size.groups, 1, 1, (unsigned)size.threads, 1,
                                  1, l->kernel->base.given_shared, d->stream, l->arguments, NULL);
  }
  sm_cuda_leave(d);
  return code == CUDA_SUCCESS ? SMELT_OK : sm_cuda_fail(err, SMELT_ERR_LAUNCH, function, code);
}

static smelt_status launch_one(sm_device *device, launching *l, smelt_error *err) {
  if (!l->launch->work_items) return SMELT_OK;
  smelt_status status = place_all(device, l)
                            ? enqueue(device->state, l, err)
                            : sm_error_set(err, SMELT_ERR_MEMORY, "out of memory: a launch's arguments on %s",
                                           device->driver->name);
  give_up(device, l);
  return status;
}

smelt_status sm_cuda_launch(sm_device *device, sm_kernel *kernel, const sm_launch *launch, smelt_error *err) {
  launching l = {.kernel = (const sm_cuda_kernel *)kernel, .launch = launch};
  if (!prepare(&l, device->allocator)) return sm_error_memory(err, "a launch");
  smelt_status status = launch_one(device, &l, err);
  sm_free(device->allocator, l.arguments, block_bytes(&l));
  SM_TRY(status);
  return launch->next ? sm_cuda_launch(device, launch->next_kernel, launch->next, err) : SMELT_OK;
}
