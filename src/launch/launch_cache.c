/* SPDX-License-Identifier: Apache-2.0 */
#include "launch/launch_cache.h"

#include <string.h>

/* --- Classes -------------------------------------------------------------------------- */

typedef enum stride_class { STANDS, STEPS, JUMPS } stride_class;

static stride_class class_of(int64_t stride) { return stride == 0 ? STANDS : stride == 1 ? STEPS : JUMPS; }

static uint8_t *add_block(uint8_t *to, const sm_block_plan *block, size_t n_buffers) {
  *to++ = (uint8_t)block->rank;
  for (size_t i = 0; i < n_buffers; i++) {
    const int64_t *strides = sm_block_plan_strides(block, (int32_t)i);
    for (int axis = 0; axis < block->rank; axis++) *to++ = (uint8_t)class_of(strides[axis]);
  }
  return to;
}

bool sm_layout_class_of(const sm_trace *trace, const sm_launch_plan *plan, int width, bool streaming,
                        sm_arena *arena, sm_layout_class *out) {
  size_t n_inputs = trace->inputs.len, n_buffers = n_inputs + trace->outputs.len;
  size_t n_blocks = trace->blocks.len;
  out->len = 2 + 2 * n_inputs;
  for (size_t b = 0; b < n_blocks; b++) out->len += 1 + n_buffers * (size_t)plan->blocks[b].rank;
  out->bytes = sm_arena_alloc(arena, out->len);
  if (!out->bytes) return false;
  uint8_t *to = out->bytes;
  *to++ = (uint8_t)width;
  *to++ = streaming;
  for (size_t i = 0; i < n_inputs; i++) *to++ = plan->first[i] != 0;
  for (size_t i = 0; i < n_inputs; i++) *to++ = (uint8_t)class_of(plan->gathered[i].stride);
  for (size_t b = 0; b < n_blocks; b++) to = add_block(to, &plan->blocks[b], n_buffers);
  return true;
}

/* --- The cache -------------------------------------------------------------------------- */

void sm_launch_cache_init(sm_launch_cache *cache, const sm_allocator *allocator) {
  *cache = (sm_launch_cache){.first = NULL};
  sm_arena_init(&cache->arena, allocator);
}

void sm_launch_cache_free(sm_launch_cache *cache) { sm_arena_free(&cache->arena); }

const sm_ready_kernel *sm_launch_cache_find(const sm_launch_cache *cache, const sm_layout_class *layout) {
  for (const sm_ready_kernel *k = cache->first; k; k = k->next) {
    if (k->layout.len == layout->len && memcmp(k->layout.bytes, layout->bytes, layout->len) == 0) return k;
  }
  return NULL;
}

const sm_ready_kernel *sm_launch_cache_add(sm_launch_cache *cache, const sm_layout_class *layout,
                                           const sm_ready_kernel *kernel) {
  sm_ready_kernel *copy = sm_arena_copy(&cache->arena, kernel, sizeof *kernel);
  if (!copy) return NULL;
  copy->layout = *layout;
  copy->layout.bytes = sm_arena_copy(&cache->arena, layout->bytes, layout->len);
  if (!copy->layout.bytes) return NULL;
  copy->next = cache->first;
  cache->first = copy;
  return copy;
}
