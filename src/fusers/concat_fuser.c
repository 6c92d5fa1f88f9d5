/* SPDX-License-Identifier: Apache-2.0
 *
 * Concat: a concatenation with elementwise work on its operands before and on its result
 * behind it.
 *
 * Each operand is a *part* of the result. A part is a trace of its own over the operand's
 * elements: it computes the operand, then everything behind, and writes its part of the
 * results; of tensors of the result's shape it reads its part. All parts are one launch, and
 * every element is read and written once. */
#include <string.h>

#include "base/error.h"
#include "fusers/registry.h"
#include "launch/run_trace.h"

static bool is_concat(const sm_op *op) { return op->row->shape == SM_SHAPE_CONCAT; }

static sm_reason accept(const sm_segment *segment, const sm_op *op) {
  (void)segment;
  return is_concat(op) ? SM_REASON_NONE : SM_REASON_VARIANT;
}

/* --- What may be in one kernel --------------------------------------------------------- */

/* Where a record is in relation to the concatenation. Of the whole result's shape are those
 * behind it and those that only meet it there. */
typedef enum side { WHOLE, BEFORE, CONCAT } side;

enum { MOST_RECORDS = 512 };

typedef struct candidate_sides {
  const sm_candidate *c;
  side sides[MOST_RECORDS];
  uint32_t inside[MOST_RECORDS]; /* uses of a result before the concatenation, by such */
} candidate_sides;

static const sm_op *record(const sm_candidate *c, int i) { return &c->segment->ops.items[c->ops[i]]; }

static const sm_shape *result_shape(const sm_candidate *c, int i) {
  return &c->segment->values.items[record(c, i)->out].shape;
}

/* The position of the record that defines operand `k`, or -1. */
static int definer_of(const sm_candidate *c, const sm_op *op, int k) {
  if (op->operands[k].is_scalar) return -1;
  int32_t producer = c->segment->values.items[op->operands[k].use.value].producer;
  for (int i = 0; producer != SM_NO_OP && i < c->n_ops; i++) {
    if (c->ops[i] == (uint32_t)producer) return i;
  }
  return -1;
}

/* Marks what the record uses as before the concatenation. False if that has other places. */
static bool mark_before(candidate_sides *s, int i) {
  const sm_op *op = record(s->c, i);
  for (int k = 0; k < op->n_operands; k++) {
    int from = definer_of(s->c, op, k);
    if (from < 0 || s->c->guest[s->c->ops[from]]) continue;
    bool alike = is_concat(op) || sm_shape_equal(result_shape(s->c, from), result_shape(s->c, i));
    if (!alike || s->sides[from] == CONCAT) return false;
    s->sides[from] = BEFORE;
    s->inside[from]++;
  }
  return true;
}

/* From the last record to the first. False if there is not one concatenation. */
static bool find_sides(candidate_sides *s) {
  int concats = 0;
  for (int i = s->c->n_ops - 1; i >= 0; i--) {
    if (is_concat(record(s->c, i))) {
      s->sides[i] = CONCAT;
      concats++;
    }
    if (s->sides[i] != WHOLE && !mark_before(s, i)) return false;
  }
  return concats == 1;
}

static const sm_shape *whole_shape(const candidate_sides *s) {
  int i = 0;
  while (s->sides[i] != CONCAT) i++;
  return result_shape(s->c, i);
}

/* What is before is used there only; nobody has a place for the rest of it. */
static sm_reason check_record(const candidate_sides *s, int i) {
  const sm_op *op = record(s->c, i);
  if (s->sides[i] == CONCAT || s->c->guest[s->c->ops[i]]) return SM_REASON_NONE;
  if (!sm_op_is_pointwise(op)) return SM_REASON_MEMORY;
  if (s->sides[i] == WHOLE)
    return sm_shape_equal(result_shape(s->c, i), whole_shape(s)) ? SM_REASON_NONE : SM_REASON_SHAPE;
  bool wanted = s->c->segment->values.items[op->out].live || s->c->uses[op->out] != s->inside[i];
  return wanted ? SM_REASON_MEMORY : SM_REASON_NONE;
}

static sm_reason check_records(const sm_candidate *c) {
  candidate_sides s = {.c = c};
  if (c->n_ops > MOST_RECORDS) return SM_REASON_OPS;
  if (!find_sides(&s)) return SM_REASON_MEMORY;
  for (int i = 0; i < c->n_ops; i++) {
    sm_reason reason = check_record(&s, i);
    if (reason != SM_REASON_NONE) return reason;
  }
  return SM_REASON_NONE;
}

static sm_fit fit(const sm_candidate *candidate, const sm_limits *limits) {
  sm_reason reason = check_records(candidate);
  if (reason != SM_REASON_NONE) return (sm_fit){.reason = reason};
  return sm_candidate_fit(candidate, limits, 0);
}

/* --- Blocks ----------------------------------------------------------------------------- */

typedef struct part {
  sm_trace trace;
  sm_launch_cache launches;
} part;

typedef struct concat_block {
  sm_arena arena; /* for the records of the parts */
  uint32_t op;    /* the concatenation */
  int n;
  part parts[SM_MAX_OPERANDS];
} concat_block;

static void discard(void *block, const sm_allocator *allocator) {
  concat_block *b = block;
  for (int k = 0; k < b->n; k++) {
    sm_trace_free(&b->parts[k].trace, allocator);
    sm_launch_cache_free(&b->parts[k].launches);
  }
  sm_arena_free(&b->arena);
  sm_free(allocator, b, sizeof *b);
}

/* Whether a later record of the part uses the result. `kept` says by position which are. */
static bool used_later(const sm_segment *segment, const uint32_t *ops, int n_ops, int i, int k,
                       const bool *kept) {
  uint32_t v = segment->ops.items[ops[i]].out;
  for (int j = i + 1; j < n_ops; j++) {
    const sm_op *op = &segment->ops.items[ops[j]];
    for (int o = 0; kept[j] && o < op->n_operands; o++) {
      bool other_part = is_concat(op) && o != k;
      if (!other_part && !op->operands[o].is_scalar && op->operands[o].use.value == v) return true;
    }
  }
  return false;
}

/* The records that operand `k` takes part in: those that write something, and what they
 * use. */
static uint32_t *list_part(concat_block *b, const sm_segment *segment, const uint32_t *ops, int n_ops,
                           const bool *written, int k, int *n) {
  uint32_t *list = sm_arena_alloc(&b->arena, (size_t)n_ops * sizeof *list);
  bool *kept = sm_arena_zalloc(&b->arena, (size_t)n_ops, sizeof *kept);
  *n = 0;
  if (!list || !kept) return NULL;
  for (int i = n_ops - 1; i >= 0; i--)
    kept[i] =
        !written || written[segment->ops.items[ops[i]].out] || used_later(segment, ops, n_ops, i, k, kept);
  for (int i = 0; i < n_ops; i++) {
    if (kept[i]) list[(*n)++] = ops[i];
  }
  return list;
}

static smelt_status finish_parts(concat_block *b, const sm_segment *segment, const uint32_t *ops, int n_ops,
                                 const bool *written, smelt_mode mode, const sm_allocator *allocator,
                                 smelt_error *err) {
  for (int i = 0; i < n_ops; i++) {
    if (is_concat(&segment->ops.items[ops[i]])) b->op = ops[i];
  }
  for (int k = 0; k < segment->ops.items[b->op].n_operands; k++) {
    int n;
    part *p = &b->parts[b->n++];
    sm_launch_cache_init(&p->launches, allocator);
    const uint32_t *list = list_part(b, segment, ops, n_ops, written, k, &n);
    if (!list) return sm_error_memory(err, "a concatenation");
    SM_TRY(sm_trace_build_part(segment, list, n, k, written, mode, allocator, &p->trace, err));
  }
  return SMELT_OK;
}

static smelt_status finish(const sm_segment *segment, const uint32_t *ops, int n_ops, const bool *written,
                           smelt_mode mode, const sm_allocator *allocator, void **block, smelt_error *err) {
  concat_block *b = sm_calloc(allocator, 1, sizeof *b);
  *block = b;
  if (!b) return sm_error_memory(err, "a concatenation");
  sm_arena_init(&b->arena, allocator);
  smelt_status status = finish_parts(b, segment, ops, n_ops, written, mode, allocator, err);
  if (status != SMELT_OK) {
    discard(b, allocator);
    *block = NULL;
  }
  return status;
}

/* --- Parts of tensors ---------------------------------------------------------------------- */

/* A part that is about to run. Its buffers are those of the job, but views of its part
 * where tensors have the whole result's extent. */
typedef struct place {
  int part;
  const sm_block_run *on;
  const sm_trace *trace;
  const sm_op *concat;
  const sm_shape *shape; /* of the part */
  int64_t start;         /* on the axis */
  sm_buffer **buffers;
} place;

/* The value's own axis that is the one of the concatenation, if it is as long as the whole
 * result there; otherwise -1. */
static int cut_axis(const place *p, uint32_t v) {
  const sm_value *values = p->on->segment->values.items;
  const sm_shape *shape = &values[v].shape, *whole = &values[p->concat->out].shape;
  int axis = p->concat->attrs->axes[0], own = axis - (whole->rank - shape->rank);
  bool cut = own >= 0 && shape->dims[own] == whole->dims[axis] && shape->dims[own] != p->shape->dims[axis];
  return cut ? own : -1;
}

/* A view of the part of `buffer`, which has the elements of `v`. */
static smelt_status view_part(const place *p, uint32_t v, int axis, sm_buffer *buffer, smelt_error *err) {
  const sm_value *value = &p->on->segment->values.items[v];
  sm_shape shape = value->shape;
  sm_layout whole, layout;
  smelt_range ranges[SMELT_MAX_RANK];
  int64_t extent = p->shape->dims[p->concat->attrs->axes[0]];
  for (int i = 0; i < shape.rank; i++) ranges[i] = (smelt_range){0, shape.dims[i], 1};
  ranges[axis] = (smelt_range){p->start, p->start + extent, 1};
  shape.dims[axis] = extent;
  sm_buffer_layout(buffer, &value->shape, &whole);
  sm_layout_slice(&whole, ranges, &shape, &layout);
  return sm_buffer_view(buffer, value->dtype, &layout, &p->buffers[v], err);
}

static smelt_status place_inputs(const place *p, smelt_error *err) {
  for (size_t i = 0; i < p->trace->inputs.len; i++) {
    uint32_t v = p->trace->inputs.items[i].value;
    int axis = cut_axis(p, v);
    /* A value may be several inputs. */
    bool done = p->buffers[v] != p->on->buffers[v];
    if (axis >= 0 && !done) SM_TRY(view_part(p, v, axis, p->on->buffers[v], err));
  }
  return SMELT_OK;
}

/* Each part has references of its own to the results. */
static smelt_status place_outputs(const place *p, smelt_error *err) {
  for (size_t i = 0; i < p->trace->outputs.len; i++) {
    uint32_t v = p->trace->outputs.items[i].value;
    int axis = cut_axis(p, v);
    if (axis >= 0) SM_TRY(view_part(p, v, axis, p->on->buffers[v], err));
    else p->buffers[v] = sm_buffer_ref(p->on->buffers[v]);
  }
  return SMELT_OK;
}

static void give_up_place(const place *p) {
  for (size_t i = 0; i < p->trace->inputs.len; i++) {
    uint32_t v = p->trace->inputs.items[i].value;
    if (p->buffers[v] == p->on->buffers[v]) continue;
    sm_buffer_drop(p->buffers[v]);
    p->buffers[v] = p->on->buffers[v];
  }
  for (size_t i = 0; i < p->trace->outputs.len; i++) {
    sm_buffer *buffer = p->buffers[p->trace->outputs.items[i].value];
    if (buffer) sm_buffer_drop(buffer);
  }
}

/* Its outputs have no buffers yet. */
static smelt_status make_place(place *p, sm_arena *arena, smelt_error *err) {
  size_t n = p->on->segment->values.len;
  p->buffers = sm_arena_copy(arena, p->on->buffers, n * sizeof(sm_buffer *));
  if (!p->buffers) return sm_error_memory(err, "a concatenation");
  for (size_t i = 0; i < p->trace->outputs.len; i++) p->buffers[p->trace->outputs.items[i].value] = NULL;
  SM_TRY(place_inputs(p, err));
  return place_outputs(p, err);
}

/* --- Running ------------------------------------------------------------------------------ */

static smelt_status run_places(const sm_launch_env *env, concat_block *b, const place *places, int n,
                               smelt_error *err) {
  sm_block_run on[SM_MAX_OPERANDS];
  sm_trace_run runs[SM_MAX_OPERANDS];
  for (int i = 0; i < n; i++) {
    part *p = &b->parts[places[i].part];
    on[i] = (sm_block_run){
        .fuser = places[i].on->fuser, .segment = places[i].on->segment, .buffers = places[i].buffers};
    runs[i] = (sm_trace_run){&p->trace, &p->launches, &on[i]};
  }
  return sm_run_elementwise(env, runs, (size_t)n, err);
}

/* Parts without elements are left out. */
static smelt_status run_parts(const sm_launch_env *env, concat_block *b, const sm_block_run *on,
                              smelt_error *err) {
  const sm_op *concat = &on->segment->ops.items[b->op];
  place places[SM_MAX_OPERANDS];
  smelt_status status = SMELT_OK;
  int64_t start = 0;
  int n = 0;
  for (int k = 0; k < b->n && status == SMELT_OK; k++) {
    const sm_shape *shape = &on->segment->values.items[concat->operands[k].use.value].shape;
    place here = {
        .part = k, .on = on, .trace = &b->parts[k].trace, .concat = concat, .shape = shape, .start = start};
    start += shape->dims[concat->attrs->axes[0]];
    if (sm_shape_count(shape) == 0) continue;
    places[n] = here;
    status = make_place(&places[n++], env->scratch, err);
  }
  if (status == SMELT_OK && n) status = run_places(env, b, places, n, err);
  for (int i = 0; i < n; i++) {
    if (places[i].buffers) give_up_place(&places[i]);
  }
  return status;
}

static smelt_status create_results(const sm_launch_env *env, const sm_trace_values *outputs,
                                   const sm_block_run *on, smelt_error *err) {
  for (size_t i = 0; i < outputs->len; i++) {
    const sm_value *value = &on->segment->values.items[outputs->items[i].value];
    size_t bytes = (size_t)sm_shape_bytes(&value->shape, value->dtype);
    SM_TRY(sm_buffer_create(env->device, bytes, &on->buffers[outputs->items[i].value], err));
  }
  return SMELT_OK;
}

static smelt_status run(void *env, void *block, const sm_block_run *on, smelt_error *err) {
  concat_block *b = block;
  const sm_trace_values *outputs = &b->parts[0].trace.outputs; /* of every part */
  for (int k = 0; k < b->n; k++) sm_launch_log_trace(env, on->segment, &b->parts[k].trace);
  smelt_status status = create_results(env, outputs, on, err);
  if (status == SMELT_OK) status = run_parts(env, b, on, err);
  for (size_t i = 0; i < outputs->len && status != SMELT_OK; i++) {
    sm_buffer **result = &on->buffers[outputs->items[i].value];
    if (*result) sm_buffer_drop(*result);
    *result = NULL;
  }
  return status;
}

const sm_fuser sm_fuser_concat = {
    .name = "Concat",
    .available = true,
    .anchor = true,
    .settings = {.vectorization = true},
    .accept = accept,
    .fit = fit,
    .finish = finish,
    .run = run,
    .discard = discard,
};
