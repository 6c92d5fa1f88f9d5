/* SPDX-License-Identifier: Apache-2.0
 *
 * Views: operations whose result has the memory of their operand. They take no kernel;
 * readers go through them. Only a reshape that strides cannot express is a copy. */
#include "base/error.h"
#include "fusers/registry.h"
#include "ir/view.h"
#include "launch/run_trace.h"

static sm_reason accept(const sm_segment *segment, const sm_op *op) {
  (void)segment;
  return sm_op_is_view(op) ? SM_REASON_NONE : SM_REASON_VARIANT;
}

static sm_fit fit(const sm_candidate *candidate, const sm_limits *limits) {
  (void)limits;
  return (sm_fit){.reason = candidate->n_ops == 1 ? SM_REASON_NONE : SM_REASON_VIEW};
}

/* The record, and the kernel for the case that it has to be a copy. */
typedef struct view_block {
  uint32_t op;
  sm_trace copy;
  sm_launch_cache launches;
} view_block;

static smelt_status finish(const sm_segment *segment, const uint32_t *ops, int n_ops, const bool *written,
                           smelt_mode mode, const sm_allocator *allocator, void **block, smelt_error *err) {
  (void)n_ops, (void)written, (void)mode;
  view_block *b = sm_alloc(allocator, sizeof *b);
  *block = b;
  if (!b) return sm_error_memory(err, "a view");
  b->op = ops[0];
  sm_launch_cache_init(&b->launches, allocator);
  smelt_status status = sm_trace_build_copy(segment, ops, 0, allocator, &b->copy, err);
  if (status != SMELT_OK) {
    sm_fuser_view.discard(b, allocator);
    *block = NULL;
  }
  return status;
}

static void discard(void *block, const sm_allocator *allocator) {
  view_block *b = block;
  sm_trace_free(&b->copy, allocator);
  sm_launch_cache_free(&b->launches);
  sm_free(allocator, b, sizeof *b);
}

static smelt_status run(void *env, void *block, const sm_block_run *on, smelt_error *err) {
  view_block *b = block;
  const sm_op *op = &on->segment->ops.items[b->op];
  const sm_value *values = on->segment->values.items;
  uint32_t from = op->operands[0].use.value;
  sm_layout layout, seen;
  sm_buffer_layout(on->buffers[from], &values[from].shape, &layout);
  sm_trace_run copy = {&b->copy, &b->launches, on};
  if (!sm_view_layout(op, &layout, &values[op->out].shape, &seen))
    return sm_run_elementwise(env, sm_fuser_view.name, &copy, 1, err);
  return sm_buffer_view(on->buffers[from], values[from].dtype, &seen, &on->buffers[op->out], err);
}

const sm_fuser sm_fuser_view = {
    .name = "View",
    .available = true,
    .apart = SM_REASON_VIEW,
    .accept = accept,
    .fit = fit,
    .finish = finish,
    .run = run,
    .discard = discard,
};
