/* SPDX-License-Identifier: Apache-2.0 */
#include "rt/padded_tail.h"

#include <string.h>

#include "base/error.h"

typedef struct tail {
  const sm_kir_kernel *ir;
  const sm_launch *launch;
  int64_t begin; /* first work item behind the whole grains */
  size_t stride; /* bytes from one copy to the next */
  unsigned char *copies;
  sm_kir_span *spans; /* what the kernel is given */
} tail;

enum { WIDEST_ELEMENT = 8, COPY_ALIGNMENT = 64 };

static size_t element_size(const tail *t, size_t i) {
  return smelt_dtype_size(t->ir->buffers.items[i].dtype);
}

/* The elements that are there; the rest of a grain is zeros. */
static void copy_in(tail *t, size_t i) {
  size_t size = element_size(t, i), skip = (size_t)t->begin * size;
  size_t n = (size_t)(t->launch->work_items - t->begin) * size;
  unsigned char *copy = t->copies + i * t->stride;
  const sm_kir_span *whole = &t->launch->buffers[i];
  t->spans[i] = *whole;
  if (!t->launch->moves[i]) return;
  memset(copy, 0, t->stride);
  if (!t->ir->buffers.items[i].written) memcpy(copy, (const unsigned char *)whole->data + skip, n);
  uintptr_t origin = (uintptr_t)copy - skip;
  t->spans[i] = (sm_kir_span){(void *)origin, skip + (size_t)t->launch->grain * size};
}

static void copy_out(const tail *t, size_t i) {
  if (!t->ir->buffers.items[i].written) return;
  size_t size = element_size(t, i);
  memcpy((unsigned char *)t->launch->buffers[i].data + (size_t)t->begin * size, t->copies + i * t->stride,
         (size_t)(t->launch->work_items - t->begin) * size);
}

static smelt_status run_copies(tail *t, sm_range_fn *run, void *user, smelt_error *err) {
  for (size_t i = 0; i < t->launch->n_buffers; i++) copy_in(t, i);
  SM_TRY(run(user, t->spans, t->begin, t->begin + t->launch->grain, err));
  for (size_t i = 0; i < t->launch->n_buffers; i++) copy_out(t, i);
  return SMELT_OK;
}

smelt_status sm_run_padded_tail(const sm_device *device, const sm_kir_kernel *ir, const sm_launch *launch,
                                sm_range_fn *run, void *user, smelt_error *err) {
  tail t = {.ir = ir, .launch = launch, .begin = sm_launch_whole(launch)};
  if (t.begin == launch->work_items) return SMELT_OK;
  size_t grain = (size_t)launch->grain * WIDEST_ELEMENT;
  t.stride = (grain + COPY_ALIGNMENT - 1) / COPY_ALIGNMENT * COPY_ALIGNMENT;
  size_t spans = launch->n_buffers * sizeof *t.spans, bytes = launch->n_buffers * t.stride + COPY_ALIGNMENT;
  unsigned char *block = sm_alloc(device->allocator, spans + bytes);
  if (!block) return sm_error_memory(err, "the end of a launch");
  t.spans = (sm_kir_span *)(void *)block;
  uintptr_t first = (uintptr_t)(block + spans);
  t.copies = (unsigned char *)((first + COPY_ALIGNMENT - 1) / COPY_ALIGNMENT * COPY_ALIGNMENT);
  smelt_status status = run_copies(&t, run, user, err);
  sm_free(device->allocator, block, spans + bytes);
  return status;
}
