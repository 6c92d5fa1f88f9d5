/* SPDX-License-Identifier: Apache-2.0
 *
 * Reduce: reductions of equal operand shapes over the same axes, with elementwise work on
 * their elements before and on their results behind them. */
#include <string.h>

#include "base/error.h"
#include "fusers/registry.h"
#include "launch/reduce_geometry.h"
#include "launch/run_reduce.h"

static bool is_reduction(const sm_op *op) {
  return sm_op_row_of((sm_opcode)op->code)->class == SM_CLASS_REDUCE;
}

static sm_reason accept(const sm_segment *segment, const sm_op *op) {
  (void)segment;
  return is_reduction(op) ? SM_REASON_NONE : SM_REASON_VARIANT;
}

/* --- What may be in one kernel --------------------------------------------------------- */

static const sm_op *record(const sm_candidate *c, int i) { return &c->segment->ops.items[c->ops[i]]; }
static const sm_value *value_at(const sm_candidate *c, uint32_t v) { return &c->segment->values.items[v]; }

/* The position of the record that defines `v`, or -1. */
static int position_of(const sm_candidate *c, uint32_t v) {
  int32_t producer = value_at(c, v)->producer;
  for (int i = 0; producer != SM_NO_OP && i < c->n_ops; i++) {
    if (c->ops[i] == (uint32_t)producer) return i;
  }
  return -1;
}

/* Where a record is in relation to the reductions. */
typedef enum side { BEFORE, REDUCTION, BEHIND } side;

typedef struct shapes {
  const sm_shape *elements, *results;
  const sm_op *first; /* reduction */
} shapes;

static bool find_shapes(const sm_candidate *c, shapes *out) {
  for (int i = 0; i < c->n_ops; i++) {
    if (!is_reduction(record(c, i))) continue;
    out->first = record(c, i);
    out->elements = &value_at(c, out->first->operands[0].use.value)->shape;
    out->results = &value_at(c, out->first->out)->shape;
    return true;
  }
  return false;
}

static bool same_axes(const sm_op *a, const sm_op *b) {
  bool same = a->attrs->n == b->attrs->n;
  for (int i = 0; same && i < a->attrs->n; i++) same = a->attrs->axes[i] == b->attrs->axes[i];
  return same;
}

static bool fits_reduction(const sm_candidate *c, const shapes *s, const sm_op *op) {
  return same_axes(op, s->first) && sm_shape_equal(&value_at(c, op->out)->shape, s->results) &&
         sm_shape_equal(&value_at(c, op->operands[0].use.value)->shape, s->elements);
}

static uint32_t count_uses(const sm_candidate *c, uint32_t v) {
  uint32_t n = 0;
  for (int i = 0; i < c->n_ops; i++) {
    const sm_op *op = record(c, i);
    for (int k = 0; k < op->n_operands; k++)
      n += !op->operands[k].is_scalar && op->operands[k].use.value == v;
  }
  return n;
}

/* Uses of the flat index, and stores, want elements in row-major order. */
static bool wants_order(const sm_candidate *c, const sm_op *op) {
  const char *expr = sm_op_row_of((sm_opcode)op->code)->expr;
  bool index = expr && strstr(expr, "index");
  return index || value_at(c, op->out)->live || c->uses[op->out] > count_uses(c, op->out);
}

/* Sides follow from operands: behind is what uses a reduction's result. */
static bool find_side(const sm_candidate *c, const shapes *s, int i, side *sides) {
  const sm_op *op = record(c, i);
  bool reduction = is_reduction(op), behind = false, before = false;
  for (int k = 0; k < op->n_operands; k++) {
    int from = op->operands[k].is_scalar ? -1 : position_of(c, op->operands[k].use.value);
    if (from < 0) continue;
    behind |= sides[from] != BEFORE;
    before |= sides[from] == BEFORE;
  }
  const sm_shape *shape = &value_at(c, op->out)->shape;
  if (reduction) {
    sides[i] = REDUCTION;
    return !behind && fits_reduction(c, s, op);
  }
  sides[i] = behind || !sm_shape_equal(shape, s->elements) ? BEHIND : BEFORE;
  return sides[i] == BEFORE || (!before && sm_shape_equal(shape, s->results));
}

enum { MOST_RECORDS = 512 };

static sm_reason check_sides(const sm_candidate *c) {
  side sides[MOST_RECORDS];
  shapes s;
  int tasks = 0;
  if (!find_shapes(c, &s) || c->n_ops > MOST_RECORDS) return SM_REASON_VARIANT;
  bool ordered = sm_reduce_neighbours(s.first, s.elements);
  for (int i = 0; i < c->n_ops; i++) {
    if (c->guest[c->ops[i]] || !find_side(c, &s, i, sides)) return SM_REASON_SHAPE;
    if (sides[i] == BEFORE && !ordered && wants_order(c, record(c, i))) return SM_REASON_SHAPE;
    tasks += sides[i] == REDUCTION;
  }
  return tasks <= SM_REDUCE_TASKS ? SM_REASON_NONE : SM_REASON_OPS;
}

static bool takes(const sm_op *op) {
  sm_op_class class = sm_op_row_of((sm_opcode)op->code)->class;
  return class == SM_CLASS_REDUCE || class == SM_CLASS_ELEMENTWISE;
}

static sm_fit fit(const sm_candidate *candidate, const sm_limits *limits) {
  for (int i = 0; i < candidate->n_ops; i++) {
    if (!takes(record(candidate, i))) return (sm_fit){.reason = SM_REASON_VARIANT};
  }
  /* Between two stages each task has two buffers more. */
  sm_fit result = {.reason = check_sides(candidate),
                   .bindings = sm_candidate_buffers(candidate) + 1 + 2 * SM_REDUCE_TASKS};
  if (result.reason != SM_REASON_NONE) return result;
  if (sm_candidate_records(candidate) > limits->max_ops) result.reason = SM_REASON_OPS;
  else if (result.bindings > limits->max_bindings) result.reason = SM_REASON_BINDINGS;
  return result;
}

/* --- Blocks ----------------------------------------------------------------------------- */

typedef struct reduce_block {
  sm_trace trace;
  sm_launch_cache launches;
} reduce_block;

static smelt_status finish(const sm_segment *segment, const uint32_t *ops, int n_ops, const bool *written,
                           smelt_mode mode, const sm_allocator *allocator, void **block, smelt_error *err) {
  reduce_block *b = sm_alloc(allocator, sizeof *b);
  *block = b;
  if (!b) return sm_error_memory(err, "a trace");
  sm_launch_cache_init(&b->launches, allocator);
  smelt_status status = sm_trace_build_reduce(segment, ops, n_ops, written, mode, allocator, &b->trace, err);
  if (status != SMELT_OK) {
    sm_fuser_reduce.discard(b, allocator);
    *block = NULL;
  }
  return status;
}

static void discard(void *block, const sm_allocator *allocator) {
  reduce_block *b = block;
  sm_trace_free(&b->trace, allocator);
  sm_launch_cache_free(&b->launches);
  sm_free(allocator, b, sizeof *b);
}

static smelt_status run(void *env, void *block, const sm_block_run *on, smelt_error *err) {
  reduce_block *b = block;
  sm_launch_log_trace(env, on->segment, &b->trace);
  return sm_run_reduce(env, sm_fuser_reduce.name, &b->trace, &b->launches, on, err);
}

const sm_fuser sm_fuser_reduce = {
    .name = "Reduce",
    .available = true,
    .anchor = true,
    .settings = {.broadcast = true, .output_shape_updates = false, .vectorization = true},
    .accept = accept,
    .fit = fit,
    .finish = finish,
    .run = run,
    .discard = discard,
};
