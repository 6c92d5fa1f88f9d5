/* SPDX-License-Identifier: Apache-2.0
 *
 * Reduce: reductions of equal operand shapes over the same axes, with elementwise work on
 * their elements before and on their results behind them, also with elements that an index
 * selects for a result. ReduceBroadcasted: the same, and
 * elements that need what others have been reduced to, as in softmax and normalizations.
 *
 * In fast mode the latter may have a second trace of fewer passes (core/reduction.h). Which of the two
 * runs is a matter of sizes, and so of each launch. */
#include <string.h>

#include "base/error.h"
#include "fusers/registry.h"
#include "launch/reduce_geometry.h"
#include "launch/run_reduce.h"
#include "trace/reduce_spaces.h"

static sm_reason accept(const sm_segment *segment, const sm_op *op) {
  (void)segment;
  return sm_is_reduction(op) ? SM_REASON_NONE : SM_REASON_VARIANT;
}

/* --- What may be in one kernel --------------------------------------------------------- */

enum { MOST_RECORDS = 512 };

typedef struct check {
  const sm_candidate *candidate;
  sm_reduce_records records;
  sm_reduce_space spaces[MOST_RECORDS];
  bool used[MOST_RECORDS]; /* by records that have places among the results */
  bool spreads;            /* elements may need results */
  bool ordered;            /* elements come in row-major order */
} check;

static const sm_op *record(const sm_candidate *c, int i) { return &c->segment->ops.items[c->ops[i]]; }
static const sm_value *value_at(const sm_candidate *c, uint32_t v) { return &c->segment->values.items[v]; }

static bool same_axes(const sm_op *a, const sm_op *b) {
  bool same = a->attrs->n == b->attrs->n;
  for (int i = 0; same && i < a->attrs->n; i++) same = a->attrs->axes[i] == b->attrs->axes[i];
  return same;
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
  const char *expr = op->row->expr;
  bool index = expr && strstr(expr, "index");
  return index || value_at(c, op->out)->live || c->uses[op->out] > count_uses(c, op->out);
}

/* Whether results of that shape are broadcast, aligned at the last axis, to the elements
 * that they were made of, or to their own place in a result of rank `rank`. */
static bool is_aligned(const check *c, const sm_shape *shape, bool to_elements, int rank) {
  for (int axis = 0; axis < shape->rank; axis++) {
    int to = rank - shape->rank + axis;
    int element = to_elements ? to : sm_reduce_element_axis(&c->records, rank, to);
    if (shape->dims[axis] != 1 && element != sm_reduce_element_axis(&c->records, shape->rank, axis))
      return false;
  }
  return true;
}

static bool selects(const sm_op *op) { return op->row->shape == SM_SHAPE_TAKE_ALONG; }

/* Elements are selected for results, from a tensor that is there. */
static bool fits_selection(const check *c, int i) {
  const sm_op *op = record(c->candidate, i);
  return c->spaces[i] != SM_SPACE_ELEMENTS && c->records.elements->rank < SMELT_MAX_RANK &&
         sm_reduce_position(&c->records, op->operands[0].use.value) < 0;
}

/* Whether record `i` may use its operands, as far as other records make them. */
static bool fits_operands(const check *c, int i) {
  const sm_op *op = record(c->candidate, i);
  if (selects(op) && !fits_selection(c, i)) return false;
  bool elements = c->spaces[i] == SM_SPACE_ELEMENTS || sm_is_reduction(op);
  int rank = value_at(c->candidate, op->out)->shape.rank;
  for (int k = 0; k < op->n_operands; k++) {
    int from = op->operands[k].is_scalar ? -1 : sm_reduce_position(&c->records, op->operands[k].use.value);
    if (from < 0 || c->spaces[from] == SM_SPACE_ELEMENTS) continue;
    if (elements && (sm_is_reduction(op) || !c->spreads || c->spaces[from] == SM_SPACE_ASIDE)) return false;
    if (!is_aligned(c, &value_at(c->candidate, op->operands[k].use.value)->shape, elements, rank))
      return false;
  }
  return true;
}

static bool fits_shape(const check *c, int i) {
  const sm_op *op = record(c->candidate, i);
  const sm_shape *shape = &value_at(c->candidate, op->out)->shape;
  if (sm_is_reduction(op))
    return same_axes(op, c->records.first) &&
           sm_shape_equal(&value_at(c->candidate, op->operands[0].use.value)->shape, c->records.elements);
  if (c->spaces[i] == SM_SPACE_ELEMENTS) return sm_shape_equal(shape, c->records.elements);
  return sm_reduce_has_results_shape(&c->records, shape);
}

static bool fits_record(check *c, int i) {
  const sm_op *op = record(c->candidate, i);
  c->spaces[i] = sm_reduce_space_of(&c->records, i, c->spaces);
  if (c->spaces[i] == SM_SPACE_ELEMENTS && !c->ordered && wants_order(c->candidate, op)) return false;
  return fits_shape(c, i) && fits_operands(c, i);
}

/* Whether a reduction, or what is behind one, has that rank, and so the shape of results. */
static bool has_result_of_rank(const check *c, int rank) {
  for (int i = 0; i < c->candidate->n_ops; i++) {
    bool results = c->spaces[i] == SM_SPACE_RESULTS;
    if (results && value_at(c->candidate, record(c->candidate, i)->out)->shape.rank == rank) return true;
  }
  return false;
}

static void mark_used(check *c, const sm_op *op) {
  for (int k = 0; k < op->n_operands && !sm_is_reduction(op); k++) {
    int from = op->operands[k].is_scalar ? -1 : sm_reduce_position(&c->records, op->operands[k].use.value);
    if (from >= 0) c->used[from] = true;
  }
}

/* A plan holds wherever the same shapes are equal (ir/relative.h), so what is aside is among
 * the results only if it has the shape of one or is broadcast to one: [5] beside [5, 1], which
 * has nothing to do with it, may be [9] the next time. */
static bool are_tied(check *c) {
  for (int i = c->candidate->n_ops - 1; i >= 0; i--) {
    const sm_op *op = record(c->candidate, i);
    if (c->spaces[i] == SM_SPACE_ELEMENTS) continue;
    bool aside = c->spaces[i] == SM_SPACE_ASIDE && !c->used[i];
    if (aside && !has_result_of_rank(c, value_at(c->candidate, op->out)->shape.rank)) return false;
    mark_used(c, op);
  }
  return true;
}

static sm_reason check_records(const sm_candidate *candidate, bool spreads) {
  check c = {.candidate = candidate,
             .records = sm_reduce_records_of(candidate->segment, candidate->ops, candidate->n_ops),
             .spreads = spreads};
  int tasks = 0;
  if (!c.records.first || candidate->n_ops > MOST_RECORDS) return SM_REASON_VARIANT;
  c.ordered = sm_reduce_neighbours(c.records.first, c.records.elements);
  for (int i = 0; i < candidate->n_ops; i++) {
    if (!fits_record(&c, i)) return SM_REASON_SHAPE;
    tasks += sm_is_reduction(record(candidate, i));
  }
  if (!are_tied(&c)) return SM_REASON_SHAPE;
  return tasks <= SM_REDUCE_TASKS ? SM_REASON_NONE : SM_REASON_OPS;
}

static bool takes(const sm_op *op) {
  return sm_is_reduction(op) || op->row->class == SM_CLASS_ELEMENTWISE || selects(op);
}

static sm_fit fit(const sm_candidate *candidate, const sm_limits *limits, bool spreads) {
  int selected = 0;
  for (int i = 0; i < candidate->n_ops; i++) {
    if (!takes(record(candidate, i))) return (sm_fit){.reason = SM_REASON_VARIANT};
    selected += selects(record(candidate, i)); /* what is selected from may be bound once more */
  }
  /* Between stages each task has buffers for its parts, between passes one for its results. */
  sm_fit result = sm_candidate_fit(candidate, limits, (spreads ? 3 : 2) * SM_REDUCE_TASKS + selected);
  sm_reason reason = check_records(candidate, spreads);
  if (reason != SM_REASON_NONE) result.reason = reason;
  return result;
}

static sm_fit fit_reduce(const sm_candidate *candidate, const sm_limits *limits) {
  return fit(candidate, limits, false);
}

static sm_fit fit_broadcasted(const sm_candidate *candidate, const sm_limits *limits) {
  return fit(candidate, limits, true);
}

/* --- Blocks ----------------------------------------------------------------------------- */

/* A trace, and what is kept of it. */
typedef struct reduce_work {
  sm_trace trace;
  sm_launch_cache launches;
} reduce_work;

typedef struct reduce_block {
  reduce_work usual, centered; /* `centered` has a trace of fewer passes, or an empty one */
} reduce_block;

static void discard(void *block, const sm_allocator *allocator) {
  reduce_block *b = block;
  reduce_work *works[] = {&b->usual, &b->centered};
  for (int i = 0; i < 2; i++) {
    sm_trace_free(&works[i]->trace, allocator);
    sm_launch_cache_free(&works[i]->launches);
  }
  sm_free(allocator, b, sizeof *b);
}

/* The trace is left empty if nothing is gained. */
static smelt_status build_centered(const sm_segment *segment, const uint32_t *ops, int n_ops,
                                   const bool *written, const sm_allocator *allocator, sm_trace *out,
                                   smelt_error *err) {
  smelt_status status = sm_trace_build_centered(segment, ops, n_ops, written, allocator, out, err);
  if (status != SMELT_OK || sm_trace_centers(out)) return status;
  sm_trace_free(out, allocator);
  *out = (sm_trace){0};
  return SMELT_OK;
}

static smelt_status finish(const sm_segment *segment, const uint32_t *ops, int n_ops, const bool *written,
                           smelt_mode mode, const sm_allocator *allocator, void **block, smelt_error *err) {
  reduce_block *b = sm_calloc(allocator, 1, sizeof *b);
  *block = b;
  if (!b) return sm_error_memory(err, "a trace");
  sm_launch_cache_init(&b->usual.launches, allocator);
  sm_launch_cache_init(&b->centered.launches, allocator);
  sm_trace *trace = &b->usual.trace;
  smelt_status status = sm_trace_build_reduce(segment, ops, n_ops, written, mode, allocator, trace, err);
  if (status == SMELT_OK && mode == SMELT_MODE_FAST && sm_trace_passes(trace) > 1)
    status = build_centered(segment, ops, n_ops, written, allocator, &b->centered.trace, err);
  if (status != SMELT_OK) {
    discard(b, allocator);
    *block = NULL;
  }
  return status;
}

static smelt_status run(void *env, void *block, const sm_block_run *on, smelt_error *err) {
  reduce_block *b = block;
  bool fewer = b->centered.trace.tasks.len && sm_run_reduce_rereads(env, &b->usual.trace, on->segment);
  reduce_work *work = fewer ? &b->centered : &b->usual;
  sm_launch_log_trace(env, on->segment, &work->trace);
  return sm_run_reduce(env, &work->trace, &work->launches, on, err);
}

const sm_fuser sm_fuser_reduce = {
    .name = "Reduce",
    .available = true,
    .anchor = true,
    .wider = &sm_fuser_reduce_broadcasted,
    .settings = {.vectorization = true},
    .accept = accept,
    .fit = fit_reduce,
    .finish = finish,
    .run = run,
    .discard = discard,
};

const sm_fuser sm_fuser_reduce_broadcasted = {
    .name = "ReduceBroadcasted",
    .available = true,
    .anchor = true,
    .settings = {.vectorization = true},
    .accept = accept,
    .fit = fit_broadcasted,
    .finish = finish,
    .run = run,
    .discard = discard,
};
