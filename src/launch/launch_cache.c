/* SPDX-License-Identifier: Apache-2.0 */
#include "launch/launch_cache.h"

#include <string.h>

/* --- Classes -------------------------------------------------------------------------- */

uint8_t sm_stride_class_of(int64_t stride) { return stride == 0 || stride == 1 ? (uint8_t)stride : 2; }

static uint8_t *add_block(uint8_t *to, const sm_block_plan *block, size_t n_buffers) {
  *to++ = (uint8_t)block->rank;
  for (size_t i = 0; i < n_buffers; i++) {
    const int64_t *strides = sm_block_plan_strides(block, (int32_t)i);
    for (int axis = 0; axis < block->rank; axis++) *to++ = sm_stride_class_of(strides[axis]);
  }
  return to;
}

bool sm_layout_class_of(const sm_trace *trace, const sm_launch_plan *plan, const sm_profile *profile,
                        bool streaming, sm_arena *arena, sm_layout_class *out) {
  size_t n_inputs = trace->inputs.len, n_buffers = n_inputs + trace->outputs.len;
  size_t n_blocks = trace->blocks.len;
  int width = sm_elementwise_width(trace, plan, profile);
  out->len = 3 + 2 * n_buffers + n_inputs;
  for (size_t b = 0; b < n_blocks; b++) out->len += 1 + n_buffers * (size_t)plan->blocks[b].rank;
  out->bytes = sm_arena_alloc(arena, out->len);
  if (!out->bytes) return false;
  uint8_t *to = out->bytes;
  *to++ = (uint8_t)width;
  *to++ = streaming;
  *to++ = !profile->chunked && sm_launch_plan_is_narrow(trace, plan);
  for (size_t i = 0; i < n_buffers; i++) {
    *to++ = plan->first[i] != 0;
    *to++ = !profile->chunked && sm_launch_plan_aligns(trace, plan, (int32_t)i, width);
  }
  for (size_t i = 0; i < n_inputs; i++) *to++ = sm_stride_class_of(plan->gathered[i].stride);
  for (size_t b = 0; b < n_blocks; b++) to = add_block(to, &plan->blocks[b], n_buffers);
  return true;
}

/* --- The cache -------------------------------------------------------------------------- */

/* A kernel and what it points to are one block. */
static size_t bytes_of(const sm_ready_kernel *k) {
  return sizeof *k + k->n_sizes * sizeof *k->sizes + k->n_moves * sizeof *k->moves + k->layout.len;
}

void sm_launch_cache_init(sm_launch_cache *cache, const sm_allocator *allocator) {
  cache->allocator = allocator;
  atomic_init(&cache->first, NULL);
}

void sm_launch_cache_free(sm_launch_cache *cache) {
  for (sm_ready_kernel *k = atomic_load(&cache->first), *next; k; k = next) {
    next = k->next;
    sm_free(cache->allocator, k, bytes_of(k));
  }
}

/* Of the kernels from `k` up to `end`. */
static const sm_ready_kernel *find(const sm_ready_kernel *k, const sm_ready_kernel *end,
                                   const sm_layout_class *layout) {
  for (; k != end; k = k->next) {
    if (k->layout.len == layout->len && memcmp(k->layout.bytes, layout->bytes, layout->len) == 0) return k;
  }
  return NULL;
}

const sm_ready_kernel *sm_launch_cache_find(const sm_launch_cache *cache, const sm_layout_class *layout) {
  return find(atomic_load_explicit(&cache->first, memory_order_acquire), NULL, layout);
}

static sm_ready_kernel *copy_kernel(const sm_allocator *allocator, const sm_layout_class *layout,
                                    const sm_ready_kernel *kernel) {
  sm_ready_kernel sized = *kernel;
  sized.layout.len = layout->len;
  sm_ready_kernel *copy = sm_alloc(allocator, bytes_of(&sized));
  if (!copy) return NULL;
  *copy = sized;
  copy->sizes = (sm_size_source *)(copy + 1);
  copy->moves = (bool *)(copy->sizes + copy->n_sizes);
  copy->layout.bytes = (uint8_t *)(copy->moves + copy->n_moves);
  if (copy->n_sizes) memcpy(copy->sizes, kernel->sizes, copy->n_sizes * sizeof *copy->sizes);
  if (copy->n_moves) memcpy(copy->moves, kernel->moves, copy->n_moves * sizeof *copy->moves);
  memcpy(copy->layout.bytes, layout->bytes, layout->len);
  return copy;
}

const sm_ready_kernel *sm_launch_cache_add(sm_launch_cache *cache, const sm_layout_class *layout,
                                           const sm_ready_kernel *kernel) {
  sm_ready_kernel *copy = copy_kernel(cache->allocator, layout, kernel);
  const sm_ready_kernel *other = NULL;
  if (!copy) return NULL;
  copy->next = NULL; /* up to here nobody has one */
  for (sm_ready_kernel *first = atomic_load(&cache->first);;) {
    other = find(first, copy->next, layout);
    if (other) break;
    copy->next = first;
    if (atomic_compare_exchange_weak(&cache->first, &first, copy)) return copy;
  }
  sm_free(cache->allocator, copy, bytes_of(copy));
  return other;
}
