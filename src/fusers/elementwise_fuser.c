/* SPDX-License-Identifier: Apache-2.0
 *
 * ElementWise: operations whose results have one shape, each element computed
 * from the elements of broadcast inputs at the same position, or selected by an index
 * at that position from an input that is there as a whole. */
#include "fusers/registry.h"
#include "launch/run_trace.h"

static bool gathers(const sm_op *op) {
  sm_shape_rule rule = op->row->shape;
  return rule == SM_SHAPE_TAKE || rule == SM_SHAPE_TAKE_ALONG;
}

/* Every operation that has an element expression, and those that gather. */
static sm_reason accept(const sm_segment *segment, const sm_op *op) {
  (void)segment;
  bool elementwise = op->row->class == SM_CLASS_ELEMENTWISE;
  return elementwise || gathers(op) ? SM_REASON_NONE : SM_REASON_VARIANT;
}

static const sm_shape *result_shape(const sm_candidate *c, int i) {
  return &c->segment->values.items[c->segment->ops.items[c->ops[i]].out].shape;
}

static bool is_member(const sm_candidate *c, int32_t record) {
  int low = 0, high = c->n_ops - 1;
  while (low < high) {
    int middle = (low + high) / 2;
    if ((int32_t)c->ops[middle] < record) low = middle + 1;
    else high = middle;
  }
  return (int32_t)c->ops[low] == record;
}

/* What the candidate's gathers find in memory. */
typedef struct gathered {
  bool made_inside; /* by the candidate, where it is not in memory yet */
  int operands;     /* that may be bound once more, as others read them at other places */
} gathered;

static gathered look_at_gathers(const sm_candidate *c) {
  gathered g = {false, 0};
  for (int i = 0; i < c->n_ops; i++) {
    const sm_op *op = &c->segment->ops.items[c->ops[i]];
    if (!gathers(op)) continue;
    int32_t producer = c->segment->values.items[op->operands[0].use.value].producer;
    g.made_inside = g.made_inside || (producer != SM_NO_OP && is_member(c, producer));
    g.operands += op->n_operands;
  }
  return g;
}

static sm_fit fit(const sm_candidate *candidate, const sm_limits *limits) {
  gathered g = look_at_gathers(candidate);
  if (g.made_inside) return (sm_fit){.reason = SM_REASON_MEMORY};
  int last = candidate->n_ops - 1; /* guests come before their readers */
  for (int i = 0; i < last; i++) {
    if (candidate->guest[candidate->ops[i]]) continue;
    if (!sm_shape_equal(result_shape(candidate, last), result_shape(candidate, i))) {
      return (sm_fit){.reason = SM_REASON_SHAPE};
    }
  }
  return sm_candidate_fit(candidate, limits, candidate->n_ops > 1 ? g.operands : 0);
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
  sm_trace_run whole = {&b->trace, &b->launches, run};
  return sm_run_elementwise(env, &whole, 1, err);
}

const sm_fuser sm_fuser_elementwise = {
    .name = "ElementWise",
    .available = true,
    .settings = {.inplace = true, .choose_output_layout = true, .vectorization = true},
    .accept = accept,
    .fit = fit,
    .finish = finish,
    .run = run,
    .discard = discard,
};
