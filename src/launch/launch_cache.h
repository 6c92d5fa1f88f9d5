/* SPDX-License-Identifier: Apache-2.0
 *
 * What one trace was compiled to, by layout class.
 *
 * A *layout class* is everything about sizes and memory that enters a kernel: for each
 * block the rank after merging, the class of every stride (0, 1 or other), the vector
 * width, on devices that run threads where vectors are aligned and whether places are narrow,
 * and whether results are to bypass the caches. The cache answers a launch of a class that
 * it has seen without building kernel IR. Any thread may use it at any time: it only grows,
 * by one kernel in one step, and takes no lock. */
#ifndef SM_LAUNCH_LAUNCH_CACHE_H
#define SM_LAUNCH_LAUNCH_CACHE_H

#include "launch/elementwise_skeleton.h"
#include "launch/kernel_table.h"

typedef struct sm_layout_class {
  uint8_t *bytes;
  size_t len;
} sm_layout_class;

/* A kernel that can be launched with any sizes of its class. */
typedef struct sm_ready_kernel {
  struct sm_ready_kernel *next;
  sm_layout_class layout;
  const sm_kernel_entry *entry;
  sm_elementwise_form form;
  sm_size_source *sizes;
  size_t n_sizes;
  bool *moves; /* by buffer: its element follows the work item, where there is one axis */
  size_t n_moves;
} sm_ready_kernel;

typedef struct sm_launch_cache {
  const sm_allocator *allocator;
  _Atomic(sm_ready_kernel *) first;
} sm_launch_cache;

void sm_launch_cache_init(sm_launch_cache *cache, const sm_allocator *allocator);
void sm_launch_cache_free(sm_launch_cache *cache);

/* 0 and 1 are themselves, every other stride is 2. */
uint8_t sm_stride_class_of(int64_t stride);

/* The class of a launch; its bytes are in `arena`. False when memory is exhausted. */
bool sm_layout_class_of(const sm_trace *trace, const sm_launch_plan *plan, const sm_profile *profile,
                        bool streaming, sm_arena *arena, sm_layout_class *out);

/* NULL if there is none yet. */
const sm_ready_kernel *sm_launch_cache_find(const sm_launch_cache *cache, const sm_layout_class *layout);

/* Keeps a copy of the kernel, of its sizes and its moves for a class; if another thread has
 * kept one meanwhile, that one is the answer. NULL when memory is exhausted. */
const sm_ready_kernel *sm_launch_cache_add(sm_launch_cache *cache, const sm_layout_class *layout,
                                           const sm_ready_kernel *kernel);

#endif
