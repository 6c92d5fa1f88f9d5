/* SPDX-License-Identifier: Apache-2.0
 *
 * ElementWise: operations whose results have one shape, each element computed
 * from the elements of broadcast inputs at the same position. */
#include "fusers/registry.h"
#include "launch/run_trace.h"

/* Every operation that has an element expression. */
static sm_reason accept(const sm_segment *segment, const sm_op *op) {
  (void)segment;
  bool elementwise = sm_op_row_of((sm_opcode)op->code)->class == SM_CLASS_ELEMENTWISE;
  return elementwise ? SM_REASON_NONE : SM_REASON_VARIANT;
}

static const sm_shape *result_shape(const sm_candidate *c, int i) {
  return &c->segment->values.items[c->segment->ops.items[c->ops[i]].out].shape;
}

static sm_fit fit(const sm_candidate *candidate, const sm_limits *limits) {
  int last = candidate->n_ops - 1; /* guests come before their readers */
  for (int i = 0; i < last; i++) {
    if (candidate->guest[candidate->ops[i]]) continue;
    if (!sm_shape_equal(result_shape(candidate, last), result_shape(candidate, i))) {
      return (sm_fit){.reason = SM_REASON_SHAPE};
    }
  }
  sm_fit result = {.bindings = sm_candidate_buffers(candidate) + 1};
  if (sm_candidate_records(candidate) > limits->max_ops) result.reason = SM_REASON_OPS;
  else if (result.bindings > limits->max_bindings) result.reason = SM_REASON_BINDINGS;
  return result;
}

typedef struct elementwise_block {
  sm_trace trace;
  sm_launch_cache launches;
} elementwise_block;

static smelt_status finish(const sm_segment *segment, const uint32_t *ops, int n_ops, const bool *written,
                           smelt_mode mode, const sm_allocator *allocator, void **block, smelt_error *err) {
  elementwise_block *b = sm_alloc(allocator, sizeof *b);
  *block = b;
  if (!b) return sm_error_memory(err, "a trace");
  sm_launch_cache_init(&b->launches, allocator);
  smelt_status status = sm_trace_build(segment, ops, n_ops, written, mode, allocator, &b->trace, err);
  if (status != SMELT_OK) {
    sm_fuser_elementwise.discard(b, allocator);
    *block = NULL;
  }
  return status;
}

static void discard(void *block, const sm_allocator *allocator) {
  elementwise_block *b = block;
  sm_trace_free(&b->trace, allocator);
  sm_launch_cache_free(&b->launches);
  sm_free(allocator, b, sizeof *b);
}

static smelt_status run(void *env, void *block, const sm_block_run *run, smelt_error *err) {
  elementwise_block *b = block;
  sm_launch_log_trace(env, run->segment, &b->trace);
  return sm_run_elementwise(env, sm_fuser_elementwise.name, &b->trace, &b->launches, run, err);
}

const sm_fuser sm_fuser_elementwise = {
    .name = "ElementWise",
    .available = true,
    .settings = {.broadcast = true,
                 .output_shape_updates = true,
                 .inplace = true,
                 .vectorization = true,
                 .any_ref_layout = true,
                 .choose_output_layout = true},
    .accept = accept,
    .fit = fit,
    .finish = finish,
    .run = run,
    .discard = discard,
};
