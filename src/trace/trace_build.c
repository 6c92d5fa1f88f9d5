/* SPDX-License-Identifier: Apache-2.0
 *
 * Each connected part of the cluster becomes a block of its own; its records are
 * lowered in order, and where they repeat once for all trips. */
#include <string.h>

#include "base/error.h"
#include "base/hash.h"
#include "ir/expr.h"
#include "plan/roll.h"
#include "trace/reduce_spaces.h"
#include "trace/trace.h"

enum { STEP_BUCKETS = 256 };

/* The steps of a block by hash. */
typedef struct known_steps {
  int32_t newest[STEP_BUCKETS]; /* the newest step, or NO_LOCAL */
  sm_vec(int32_t) older;        /* by step: the one before it with that hash, or NO_LOCAL */
} known_steps;

typedef struct builder {
  const sm_segment *segment;
  const sm_allocator *allocator;
  sm_trace *trace;
  sm_arena *scratch;
  int32_t *part;       /* by record position in trace->ops: representative of its part */
  uint32_t *part_ops;  /* the records of the part that is being lowered */
  int32_t *carry;      /* for the roll that is being lowered */
  int32_t *local_of;   /* by value: its local in the block of its producer */
  const bool *written; /* by value: it is stored; NULL: every result is */
  smelt_mode mode;
  known_steps known[2]; /* of the block that is being built; of both blocks of a reduction */
  /* Of a reduction: */
  sm_reduce_records records;
  sm_reduce_space *spaces; /* by record position */
  sm_block *results;       /* the second block */
  int part_operand;        /* of a concatenation, the one that is lowered */
} builder;

static known_steps *known_of(builder *b, const sm_block *block) {
  return &b->known[b->results && block == b->results];
}

/* --- Parts ------------------------------------------------------------------------- */

static int32_t find_part(builder *b, int32_t i) {
  while (b->part[i] != i) i = b->part[i] = b->part[b->part[i]];
  return i;
}

/* The position of the record that defines `v` within the cluster, or -1. */
static int32_t position_of(const builder *b, uint32_t v) {
  int32_t producer = b->segment->values.items[v].producer;
  if (producer == SM_NO_OP) return -1;
  int32_t low = 0, high = b->trace->n_ops - 1;
  while (low < high) {
    int32_t middle = (low + high) / 2;
    if (b->trace->ops[middle] < (uint32_t)producer) low = middle + 1;
    else high = middle;
  }
  return b->trace->ops[low] == (uint32_t)producer ? low : -1;
}

static const sm_op *record_at(const builder *b, int32_t i) {
  return &b->segment->ops.items[b->trace->ops[i]];
}

static void connect_parts(builder *b) {
  for (int32_t i = 0; i < b->trace->n_ops; i++) {
    const sm_op *op = record_at(b, i);
    b->part[i] = i;
    for (int k = 0; k < op->n_operands; k++) {
      if (op->operands[k].is_scalar) continue;
      int32_t from = position_of(b, op->operands[k].use.value);
      if (from < 0) continue;
      int32_t x = find_part(b, from), y = find_part(b, i);
      if (x < y) b->part[y] = x;
      else b->part[x] = y;
    }
  }
}

/* --- Steps -------------------------------------------------------------------------- */

static size_t bucket_of(const sm_step *step) {
  sm_hash h = sm_hash_start();
  sm_hash_u64(&h, (uint64_t)step->kind << 32 | (uint64_t)step->kop << 16 | step->dtype);
  sm_hash_u64(&h, step->literal.bits ^ (uint64_t)step->index << 32);
  for (int k = 0; k < 3; k++) sm_hash_u64(&h, (uint64_t)step->args[k]);
  return h.lo % STEP_BUCKETS;
}

static void forget_steps(builder *b) {
  for (int block = 0; block < 2; block++) {
    for (size_t i = 0; i < STEP_BUCKETS; i++) b->known[block].newest[i] = SM_NO_LOCAL;
    b->known[block].older.len = 0;
  }
}

/* What is spread is there for the pass after the one that made it. */
static int32_t pass_of(const builder *b, const sm_block *block, const sm_step *step) {
  if (step->kind == SM_STEP_REDUCED) return b->trace->tasks.items[step->index].pass;
  if (step->kind == SM_STEP_SPREAD) return b->results->steps.items[step->index].pass + 1;
  int32_t pass = 0;
  for (int k = 0; k < 3; k++) {
    int32_t own = step->args[k] == SM_NO_LOCAL ? 0 : block->steps.items[step->args[k]].pass;
    pass = own > pass ? own : pass;
  }
  return pass;
}

static int32_t push(builder *b, sm_block *block, sm_step step) {
  known_steps *known = known_of(b, block);
  int32_t *newest = &known->newest[bucket_of(&step)], local = (int32_t)block->steps.len;
  step.pass = pass_of(b, block, &step);
  if (!sm_vec_push(b->allocator, &block->steps, step)) return SM_NO_LOCAL;
  if (!sm_vec_push(b->allocator, &known->older, *newest)) return SM_NO_LOCAL;
  *newest = local;
  return local;
}

static bool same_step(const sm_step *a, const sm_step *b) {
  return a->kind == b->kind && a->dtype == b->dtype && a->index == b->index &&
         a->literal.bits == b->literal.bits && a->kop == b->kop &&
         memcmp(a->args, b->args, sizeof a->args) == 0;
}

/* An equal step that is there already: what is the same is computed once. It is the
 * same if it is made of the same values; scalars are never equal. What a loop has
 * computed is gone when it has ended. */
static int32_t find_step(builder *b, const sm_block *block, const sm_step *step) {
  const known_steps *known = known_of(b, block);
  for (int32_t i = known->newest[bucket_of(step)]; i != SM_NO_LOCAL; i = known->older.items[i]) {
    const sm_step *s = &block->steps.items[i];
    bool gone = sm_step_computes(s) && block->loop.end && sm_block_in_loop(block, i);
    if (!gone && same_step(s, step)) return i;
  }
  return SM_NO_LOCAL;
}

/* A step without arguments. */
static sm_step make_leaf(sm_step_kind kind, smelt_dtype dtype, int32_t index) {
  return (sm_step){
      .kind = kind, .dtype = dtype, .index = index, .args = {SM_NO_LOCAL, SM_NO_LOCAL, SM_NO_LOCAL}};
}

static int32_t share(builder *b, sm_block *block, sm_step step) {
  int32_t found = find_step(b, block, &step);
  return found != SM_NO_LOCAL ? found : push(b, block, step);
}

/* The number of a value in a list, appended if it is new; -1 without memory. */
static int32_t number_value(builder *b, sm_trace_values *list, const sm_trace_value *entry) {
  for (size_t i = 0; i < list->len; i++) {
    const sm_trace_value *v = &list->items[i];
    if (v->value == entry->value && memcmp(v->map, entry->map, sizeof v->map) == 0) return (int32_t)i;
  }
  return sm_vec_push(b->allocator, list, *entry) ? (int32_t)list->len - 1 : -1;
}

/* Axes from `from` on follow those of the space, the first of them axis `to`. */
static void follow(sm_trace_value *v, int from, int rank, int to) {
  for (int axis = from; axis < rank; axis++) v->map[axis] = (int8_t)(to + axis - from);
}

static sm_trace_value bound_value(const sm_segment *segment, uint32_t v) {
  sm_trace_value bound = {.value = v, .dtype = segment->values.items[v].dtype, .gathered = SM_NO_AXIS};
  memset(bound.map, SM_NO_AXIS, sizeof bound.map);
  return bound;
}

static bool concatenates(const sm_op *op) {
  return op->row->shape == SM_SHAPE_CONCAT;
}

static bool selects(const sm_op *op) {
  return op->row->class == SM_CLASS_SELECT && !concatenates(op);
}

/* Operand k as the record reads it; a guest's own shape may have a lower rank than the
 * space. */
static sm_trace_value bound_operand(const sm_segment *segment, const sm_block *block, const sm_op *op,
                                    int k) {
  sm_trace_value bound = bound_value(segment, op->operands[k].use.value);
  int rank = segment->values.items[bound.value].shape.rank;
  int space = sm_block_shape(segment, block)->rank;
  if (!selects(op)) {
    follow(&bound, 0, rank, space - rank);
    return bound;
  }
  int at = op->attrs->axes[0];
  bool takes = op->row->shape == SM_SHAPE_TAKE;
  if (k == 0) {
    bound.gathered = (int8_t)at;
    follow(&bound, 0, at, 0);
    follow(&bound, at + 1, rank, space - rank + at + 1);
  } else {
    follow(&bound, 0, rank, takes ? at : 0);
  }
  return bound;
}

static smelt_dtype dtype_of(const sm_block *block, int32_t local) { return block->steps.items[local].dtype; }

/* Whether the record at that position makes results, which this block spreads. */
static bool is_spread(const builder *b, const sm_block *block, int32_t from) {
  return b->results && block != b->results && b->spaces[from] != SM_SPACE_ELEMENTS;
}

static int32_t spread(builder *b, sm_block *block, uint32_t v) {
  int32_t local = b->local_of[v];
  return share(b, block, make_leaf(SM_STEP_SPREAD, dtype_of(b->results, local), local));
}

/* An operand of results follows axes of the elements. */
static void follow_elements(const builder *b, const sm_op *op, sm_trace_value *bound) {
  int rank = b->segment->values.items[bound->value].shape.rank;
  int space = b->segment->values.items[op->out].shape.rank;
  for (int axis = 0; axis < rank; axis++)
    bound->map[axis] = (int8_t)sm_reduce_element_axis(&b->records, space, space - rank + axis);
}

/* Of what a selection selects from, the extent of the axis. */
static int32_t read_tensor(builder *b, sm_block *block, const sm_op *op, int k) {
  uint32_t v = op->operands[k].use.value;
  int32_t from = position_of(b, v);
  if (from >= 0) return is_spread(b, block, from) ? spread(b, block, v) : b->local_of[v];
  sm_trace_value bound = bound_operand(b->segment, block, op, k);
  if (b->results && block == b->results) follow_elements(b, op, &bound);
  int32_t input = number_value(b, &b->trace->inputs, &bound);
  if (input < 0) return SM_NO_LOCAL;
  bool gathered = bound.gathered != SM_NO_AXIS;
  return share(
      b, block,
      gathered ? make_leaf(SM_STEP_EXTENT, SMELT_I64, input) : make_leaf(SM_STEP_READ, bound.dtype, input));
}

static int32_t read_scalar(builder *b, sm_block *block, const sm_op *op, int k) {
  const sm_operand *o = &op->operands[k];
  sm_trace_scalar scalar = {(uint32_t)(op - b->segment->ops.items), k, o->dtype};
  if (!sm_vec_push(b->allocator, &b->trace->scalars, scalar)) return SM_NO_LOCAL;
  int32_t index = (int32_t)b->trace->scalars.len - 1;
  return push(b, block, make_leaf(SM_STEP_SCALAR, o->dtype, index));
}

static int32_t cast(builder *b, sm_block *block, int32_t local, smelt_dtype to) {
  return share(b, block,
               (sm_step){.kind = SM_STEP_COMPUTE,
                         .kop = SM_KOP_CAST,
                         .dtype = to,
                         .args = {local, SM_NO_LOCAL, SM_NO_LOCAL}});
}

/* --- Records ------------------------------------------------------------------------- */

typedef struct lowering {
  builder *b;
  sm_block *block;
  const sm_op *op;
  int32_t operands[SM_MAX_OPERANDS];
  int32_t steps[SM_EXPR_STEPS];
} lowering;

static int32_t lower_literal(lowering *l, const sm_expr_arg *arg) {
  sm_step step = make_leaf(SM_STEP_LITERAL, arg->dtype, 0);
  step.literal = arg->literal;
  return share(l->b, l->block, step);
}

static int32_t lower_arg(lowering *l, const sm_expr_arg *arg) {
  switch (arg->kind) {
    case SM_ARG_OPERAND:
      return l->operands[arg->index];
    case SM_ARG_STEP:
      return l->steps[arg->index];
    case SM_ARG_LITERAL:
      return lower_literal(l, arg);
    case SM_ARG_INDEX:
      break;
  }
  int32_t index = share(l->b, l->block, make_leaf(SM_STEP_INDEX, SMELT_I64, 0));
  if (arg->dtype == SMELT_I64 || index == SM_NO_LOCAL) return index;
  return cast(l->b, l->block, index, arg->dtype);
}

/* A half operand as f32, which it may have stayed. */
static int32_t lower_widening(lowering *l, const sm_expr_step *step) {
  int32_t local = lower_arg(l, &step->args[0]);
  if (local == SM_NO_LOCAL || dtype_of(l->block, local) == step->dtype) return local;
  return cast(l->b, l->block, local, step->dtype);
}

static int32_t lower_step(lowering *l, const sm_expr_step *from) {
  if (sm_dtype_is_half(from->args[0].dtype)) return lower_widening(l, from);
  sm_step step = {.kind = SM_STEP_COMPUTE,
                  .kop = from->kop,
                  .dtype = from->dtype,
                  .args = {SM_NO_LOCAL, SM_NO_LOCAL, SM_NO_LOCAL}};
  for (int k = 0; k < from->n_args; k++) {
    step.args[k] = lower_arg(l, &from->args[k]);
    if (step.args[k] == SM_NO_LOCAL) return SM_NO_LOCAL;
  }
  return share(l->b, l->block, step);
}

/* Rounding to a half is left to write_result, except in strict mode. */
static bool leaves_out(const lowering *l, const sm_expr *expr, int step) {
  return expr->rounds && step == expr->n_steps - 1 && l->b->mode != SMELT_MODE_STRICT;
}

static bool lower_steps(lowering *l, const sm_expr *expr) {
  for (int s = 0; s < expr->n_steps; s++) {
    const sm_expr_step *step = &expr->steps[s];
    l->steps[s] = leaves_out(l, expr, s) ? lower_arg(l, &step->args[0]) : lower_step(l, step);
    if (l->steps[s] == SM_NO_LOCAL) return false;
  }
  return true;
}

static bool read_operands(lowering *l) {
  for (int k = 0; k < l->op->n_operands; k++) {
    const sm_operand *o = &l->op->operands[k];
    l->operands[k] =
        o->is_scalar ? read_scalar(l->b, l->block, l->op, k) : read_tensor(l->b, l->block, l->op, k);
    if (l->operands[k] == SM_NO_LOCAL) return false;
  }
  return true;
}

/* The steps of an expression; what they give goes to `out`. */
static smelt_status lower_expr(lowering *l, const char *source, const smelt_dtype *dtypes, smelt_dtype result,
                               int32_t *out, smelt_error *err) {
  sm_expr expr;
  SM_TRY(sm_expr_compile(source, dtypes, l->op->n_operands, result, &expr, err));
  *out = lower_steps(l, &expr) ? lower_arg(l, &expr.result) : SM_NO_LOCAL;
  return *out != SM_NO_LOCAL ? SMELT_OK : sm_error_memory(err, "a trace");
}

/* The place that an index names, y, on an axis of extent x: negative ones count from the
 * end, what is beyond the axis is cut to it. */
static smelt_status lower_place(lowering *l, int32_t *place, smelt_error *err) {
  bool wide = l->op->operands[1].dtype == SMELT_U64; /* i64 does not hold it */
  smelt_dtype dtype = wide ? SMELT_U64 : SMELT_I64;
  const char *source = wide ? "min(y, sub(x, 1))" : "max(min(select(lt(y, 0), add(y, x), y), sub(x, 1)), 0)";
  for (int k = 0; k < 2; k++) {
    if (dtype_of(l->block, l->operands[k]) != dtype)
      l->operands[k] = cast(l->b, l->block, l->operands[k], dtype);
    if (l->operands[k] == SM_NO_LOCAL) return sm_error_memory(err, "a trace");
  }
  SM_TRY(lower_expr(l, source, (smelt_dtype[]){dtype, dtype}, dtype, place, err));
  if (wide) *place = cast(l->b, l->block, *place, SMELT_I64);
  return *place != SM_NO_LOCAL ? SMELT_OK : sm_error_memory(err, "a trace");
}

static smelt_status lower_selection(lowering *l, smelt_error *err) {
  int32_t place, input = l->block->steps.items[l->operands[0]].index;
  SM_TRY(lower_place(l, &place, err));
  sm_step gather = make_leaf(SM_STEP_GATHER, l->op->operands[0].dtype, input);
  gather.args[0] = place;
  l->b->local_of[l->op->out] = share(l->b, l->block, gather);
  return l->b->local_of[l->op->out] != SM_NO_LOCAL ? SMELT_OK : sm_error_memory(err, "a trace");
}

/* The steps of a record whose operands are there. */
static smelt_status lower_operation(lowering *l, smelt_error *err) {
  smelt_dtype dtypes[SM_MAX_OPERANDS];
  if (selects(l->op)) return lower_selection(l, err);
  smelt_dtype result = l->b->segment->values.items[l->op->out].dtype;
  for (int k = 0; k < l->op->n_operands; k++) dtypes[k] = l->op->operands[k].dtype;
  const char *source = l->op->row->expr;
  return lower_expr(l, source, dtypes, result, &l->b->local_of[l->op->out], err);
}

/* Later records use what is stored; in fast mode what was computed. */
static bool write_result(builder *b, sm_block *block, uint32_t v) {
  const sm_value *value = &b->segment->values.items[v];
  if (b->written && !b->written[v]) return true;
  int32_t stored = b->local_of[v];
  if (dtype_of(block, stored) != value->dtype) stored = cast(b, block, stored, value->dtype);
  if (stored == SM_NO_LOCAL) return false;
  if (b->mode != SMELT_MODE_FAST) b->local_of[v] = stored;
  sm_trace_value bound = bound_value(b->segment, v);
  int32_t output = number_value(b, &b->trace->outputs, &bound);
  if (output < 0) return false;
  sm_step step = {.kind = SM_STEP_WRITE,
                  .dtype = value->dtype,
                  .index = output,
                  .args = {stored, SM_NO_LOCAL, SM_NO_LOCAL}};
  return push(b, block, step) != SM_NO_LOCAL;
}

static smelt_status lower_record(builder *b, sm_block *block, const sm_op *op, smelt_error *err) {
  lowering l = {.b = b, .block = block, .op = op};
  if (!read_operands(&l)) return sm_error_memory(err, "a trace");
  SM_TRY(lower_operation(&l, err));
  return write_result(b, block, op->out) ? SMELT_OK : sm_error_memory(err, "a trace");
}

/* --- Loops ----------------------------------------------------------------------------- */

/* A roll that is being lowered: positions count in `ops`, the records of its part. */
typedef struct rolling {
  builder *b;
  sm_block *block;
  const uint32_t *ops;
  sm_roll roll;
  int32_t *carry; /* by place in the period: the CARRY of its result, or NO_LOCAL */
} rolling;

static const sm_op *record_of(const rolling *r, int trip, int place) {
  return &r->b->segment->ops.items[r->ops[r->roll.first + trip * r->roll.period + place]];
}

/* The place of the record that defines `v` in this trip, or -1. */
static int place_of(const rolling *r, int trip, uint32_t v) {
  for (int place = 0; place < r->roll.period; place++) {
    if (record_of(r, trip, place)->out == v) return place;
  }
  return -1;
}

/* Half values stay f32 from trip to trip where they would between records. */
static int32_t widen_carried(rolling *r, int32_t local) {
  bool widens =
      local != SM_NO_LOCAL && sm_dtype_is_half(dtype_of(r->block, local)) && r->b->mode != SMELT_MODE_STRICT;
  return widens ? cast(r->b, r->block, local, SMELT_F32) : local;
}

/* The local that `place`'s carried result has before the first trip is put where its CARRY
 * will be. */
static bool start_carried(rolling *r, int place) {
  const sm_op *first = record_of(r, 0, place), *second = record_of(r, 1, place);
  for (int k = 0; k < second->n_operands; k++) {
    if (second->operands[k].is_scalar) continue;
    int carried = place_of(r, 0, second->operands[k].use.value);
    if (carried < 0 || r->carry[carried] != SM_NO_LOCAL) continue;
    r->carry[carried] = widen_carried(r, read_tensor(r->b, r->block, first, k));
    if (r->carry[carried] == SM_NO_LOCAL) return false;
  }
  return true;
}

static sm_step make_step(sm_step_kind kind, smelt_dtype dtype, int32_t a, int32_t b) {
  return (sm_step){.kind = kind, .dtype = dtype, .args = {a, b, SM_NO_LOCAL}};
}

static bool begin_loop(rolling *r) {
  for (int place = 0; place < r->roll.period; place++) {
    if (!start_carried(r, place)) return false;
  }
  int32_t begin = push(r->b, r->block, make_leaf(SM_STEP_LOOP, SMELT_I64, 0));
  r->block->loop =
      (sm_trace_loop){.begin = begin, .trips = r->roll.trips, .row = (int32_t)r->b->trace->table.len};
  for (int place = 0; place < r->roll.period && begin != SM_NO_LOCAL; place++) {
    int32_t start = r->carry[place];
    if (start == SM_NO_LOCAL) continue;
    r->carry[place] =
        push(r->b, r->block, make_step(SM_STEP_CARRY, dtype_of(r->block, start), start, SM_NO_LOCAL));
    if (r->carry[place] == SM_NO_LOCAL) return false;
  }
  return begin != SM_NO_LOCAL;
}

/* An operand of the loop's body, as the second trip has it. */
static int32_t loop_operand(rolling *r, const sm_op *op, int k) {
  const sm_operand *o = &op->operands[k];
  if (o->is_scalar) return push(r->b, r->block, make_leaf(SM_STEP_TABLE, o->dtype, r->block->loop.columns++));
  int place = place_of(r, 0, o->use.value);
  return place >= 0 ? r->carry[place] : read_tensor(r->b, r->block, op, k);
}

static smelt_status lower_body(rolling *r, smelt_error *err) {
  for (int place = 0; place < r->roll.period; place++) {
    lowering l = {.b = r->b, .block = r->block, .op = record_of(r, 1, place)};
    for (int k = 0; k < l.op->n_operands; k++) {
      l.operands[k] = loop_operand(r, l.op, k);
      if (l.operands[k] == SM_NO_LOCAL) return sm_error_memory(err, "a trace");
    }
    SM_TRY(lower_operation(&l, err));
  }
  return SMELT_OK;
}

static bool fill_table(rolling *r) {
  for (int trip = 0; trip < r->roll.trips; trip++) {
    for (int place = 0; place < r->roll.period; place++) {
      const sm_op *op = record_of(r, trip, place);
      for (int k = 0; k < op->n_operands; k++) {
        sm_trace_scalar scalar = {(uint32_t)(op - r->b->segment->ops.items), k, op->operands[k].dtype};
        if (op->operands[k].is_scalar && !sm_vec_push(r->b->allocator, &r->b->trace->table, scalar))
          return false;
      }
    }
  }
  return true;
}

static bool end_loop(rolling *r) {
  int last = r->roll.trips - 1;
  for (int place = 0; place < r->roll.period; place++) {
    if (r->carry[place] == SM_NO_LOCAL) continue;
    int32_t value = widen_carried(r, r->b->local_of[record_of(r, 1, place)->out]);
    sm_step next = make_step(SM_STEP_NEXT, SMELT_I64, r->carry[place], value);
    if (value == SM_NO_LOCAL || push(r->b, r->block, next) == SM_NO_LOCAL) return false;
  }
  r->block->loop.end = push(r->b, r->block, make_leaf(SM_STEP_END, SMELT_I64, 0));
  for (int place = 0; place < r->roll.period && r->block->loop.end != SM_NO_LOCAL; place++) {
    if (r->carry[place] == SM_NO_LOCAL) continue;
    smelt_dtype dtype = dtype_of(r->block, r->carry[place]);
    int32_t result = push(r->b, r->block, make_step(SM_STEP_RESULT, dtype, r->carry[place], SM_NO_LOCAL));
    r->b->local_of[record_of(r, last, place)->out] = result;
    if (result == SM_NO_LOCAL) return false;
  }
  return r->block->loop.end != SM_NO_LOCAL;
}

/* Only results of the last trip can be wanted, and only carried ones. */
static bool write_results(rolling *r) {
  for (int place = 0; place < r->roll.period; place++) {
    bool carried = r->carry[place] != SM_NO_LOCAL;
    if (carried && !write_result(r->b, r->block, record_of(r, r->roll.trips - 1, place)->out)) return false;
  }
  return true;
}

static smelt_status lower_roll(rolling *r, smelt_error *err) {
  for (int place = 0; place < r->roll.period; place++) r->carry[place] = SM_NO_LOCAL;
  if (!begin_loop(r)) return sm_error_memory(err, "a trace");
  SM_TRY(lower_body(r, err));
  if (!fill_table(r) || !end_loop(r) || !write_results(r)) return sm_error_memory(err, "a trace");
  return SMELT_OK;
}

/* --- The trace ------------------------------------------------------------------------- */

/* The records of the part that begins at position `root`. */
static int list_part(builder *b, int32_t root) {
  int n = 0;
  for (int32_t i = root; i < b->trace->n_ops; i++) {
    if (find_part(b, i) == root) b->part_ops[n++] = b->trace->ops[i];
  }
  return n;
}

static smelt_status lower_part(builder *b, sm_block *block, int n, smelt_error *err) {
  sm_roll roll = {0};
  if (b->written && !sm_roll_find(b->segment, b->part_ops, n, b->written, b->scratch, &roll))
    return sm_error_memory(err, "a trace");
  for (int i = 0; i < n; i++) {
    if (roll.trips && i == roll.first) {
      rolling r = {.b = b, .block = block, .ops = b->part_ops, .roll = roll, .carry = b->carry};
      SM_TRY(lower_roll(&r, err));
      i += roll.trips * roll.period - 1;
    } else {
      SM_TRY(lower_record(b, block, &b->segment->ops.items[b->part_ops[i]], err));
    }
  }
  return SMELT_OK;
}

static smelt_status build(builder *b, smelt_error *err) {
  connect_parts(b);
  for (int32_t i = 0; i < b->trace->n_ops; i++) {
    if (find_part(b, i) != i) continue;
    forget_steps(b);
    int n = list_part(b, i);
    /* The last record is no guest, whose shape may be another. */
    sm_block block = {.space = b->segment->ops.items[b->part_ops[n - 1]].out};
    if (!sm_vec_push(b->allocator, &b->trace->blocks, block)) return sm_error_memory(err, "a trace");
    SM_TRY(lower_part(b, &b->trace->blocks.items[b->trace->blocks.len - 1], n, err));
  }
  bool found = sm_trace_find_reuses(b->trace, b->allocator) && sm_trace_find_chains(b->trace, b->allocator);
  return found ? SMELT_OK : sm_error_memory(err, "a trace");
}

static bool allocate(builder *b) {
  size_t n_ops = (size_t)b->trace->n_ops;
  b->part = sm_arena_zalloc(b->scratch, n_ops, sizeof *b->part);
  b->part_ops = sm_arena_zalloc(b->scratch, n_ops, sizeof *b->part_ops);
  b->carry = sm_arena_zalloc(b->scratch, n_ops, sizeof *b->carry);
  b->local_of = sm_arena_zalloc(b->scratch, b->segment->values.len, sizeof *b->local_of);
  return b->part && b->part_ops && b->carry && b->local_of;
}

/* --- Reductions -------------------------------------------------------------------------- */

enum { ELEMENTS, RESULTS };

static sm_block *block_at(builder *b, int which) { return &b->trace->blocks.items[which]; }

/* The number of the task; what is reduced alike already is reduced once. */
static int32_t number_task(builder *b, const sm_trace_task *task) {
  for (size_t i = 0; i < b->trace->tasks.len; i++) {
    const sm_trace_task *t = &b->trace->tasks.items[i];
    if (t->local == task->local && t->reduction == task->reduction) return (int32_t)i;
  }
  return sm_vec_push(b->allocator, &b->trace->tasks, *task) ? (int32_t)b->trace->tasks.len - 1 : SM_NO_LOCAL;
}

static int32_t add_task(builder *b, const sm_op *op) {
  sm_block *elements = block_at(b, ELEMENTS);
  smelt_dtype working = sm_dtype_working(op->operands[0].dtype);
  int32_t local = read_tensor(b, elements, op, 0);
  if (local != SM_NO_LOCAL && dtype_of(elements, local) != working) local = cast(b, elements, local, working);
  if (local == SM_NO_LOCAL) return SM_NO_LOCAL;
  sm_trace_task task = {op->row->reduction, working, local,
                        elements->steps.items[local].pass};
  return number_task(b, &task);
}

/* What the task makes, in the second block. In strict mode halves are rounded at once. */
static smelt_status lower_reduction(builder *b, const sm_op *op, smelt_error *err) {
  int32_t task = add_task(b, op);
  if (task == SM_NO_LOCAL) return sm_error_memory(err, "a trace");
  smelt_dtype result = b->segment->values.items[op->out].dtype, working = b->trace->tasks.items[task].dtype;
  bool index = sm_reduction_gives_index(b->trace->tasks.items[task].reduction);
  int32_t local = share(b, b->results, make_leaf(SM_STEP_REDUCED, index ? SMELT_I64 : working, task));
  bool rounds = b->mode == SMELT_MODE_STRICT || !sm_dtype_is_half(result);
  if (local != SM_NO_LOCAL && dtype_of(b->results, local) != result && rounds)
    local = cast(b, b->results, local, result);
  b->local_of[op->out] = local;
  bool ok = local != SM_NO_LOCAL && write_result(b, b->results, op->out);
  return ok ? SMELT_OK : sm_error_memory(err, "a trace");
}

static bool add_reduce_blocks(builder *b) {
  const sm_op *op = b->records.first;
  return op && sm_vec_push(b->allocator, &b->trace->blocks, (sm_block){.space = op->operands[0].use.value}) &&
         sm_vec_push(b->allocator, &b->trace->blocks, (sm_block){.space = op->out});
}

static smelt_status lower_reduce_record(builder *b, int32_t i, smelt_error *err) {
  b->spaces[i] = sm_reduce_space_of(&b->records, i, b->spaces);
  if (sm_is_reduction(record_at(b, i))) return lower_reduction(b, record_at(b, i), err);
  bool elements = b->spaces[i] == SM_SPACE_ELEMENTS;
  return lower_record(b, block_at(b, elements ? ELEMENTS : RESULTS), record_at(b, i), err);
}

/* Tasks of one pass keep their order. */
static bool sort_tasks(builder *b) {
  size_t n = b->trace->tasks.len;
  sm_trace_task *unsorted = sm_arena_copy(b->scratch, b->trace->tasks.items, n * sizeof *unsorted);
  int32_t *number = sm_arena_alloc(b->scratch, n * sizeof *number);
  if (!unsorted || !number) return false;
  int32_t sorted = 0;
  for (int32_t pass = 0; sorted < (int32_t)n; pass++) {
    for (size_t t = 0; t < n; t++) {
      if (unsorted[t].pass != pass) continue;
      b->trace->tasks.items[sorted] = unsorted[t];
      number[t] = sorted++;
    }
  }
  for (size_t i = 0; i < b->results->steps.len; i++) {
    sm_step *step = &b->results->steps.items[i];
    if (step->kind == SM_STEP_REDUCED) step->index = number[step->index];
  }
  return true;
}

static smelt_status build_reduce(builder *b, smelt_error *err) {
  b->records = sm_reduce_records_of(b->segment, b->trace->ops, b->trace->n_ops);
  b->spaces = sm_arena_zalloc(b->scratch, (size_t)b->trace->n_ops, sizeof *b->spaces);
  if (!b->spaces || !add_reduce_blocks(b)) return sm_error_memory(err, "a trace");
  b->results = block_at(b, RESULTS);
  forget_steps(b);
  for (int32_t i = 0; i < b->trace->n_ops; i++) SM_TRY(lower_reduce_record(b, i, err));
  return sort_tasks(b) ? SMELT_OK : sm_error_memory(err, "a trace");
}

int sm_trace_passes(const sm_trace *trace) {
  int32_t last = 0;
  for (size_t t = 0; t < trace->tasks.len; t++)
    last = trace->tasks.items[t].pass > last ? trace->tasks.items[t].pass : last;
  const sm_block *elements = &trace->blocks.items[ELEMENTS];
  for (size_t i = 0; i < elements->steps.len; i++) {
    const sm_step *step = &elements->steps.items[i];
    if (step->kind == SM_STEP_WRITE && step->pass > last) last = step->pass;
  }
  return (int)last + 1;
}

/* --- Parts of concatenations ---------------------------------------------------------------- */

/* The result is the operand. */
static smelt_status lower_concat(builder *b, const sm_op *op, smelt_error *err) {
  sm_block *block = &b->trace->blocks.items[0];
  b->local_of[op->out] = read_tensor(b, block, op, b->part_operand);
  bool ok = b->local_of[op->out] != SM_NO_LOCAL && write_result(b, block, op->out);
  return ok ? SMELT_OK : sm_error_memory(err, "a trace");
}

static bool add_part_block(builder *b) {
  int32_t i = 0;
  while (!concatenates(record_at(b, i))) i++;
  sm_block block = {.space = record_at(b, i)->operands[b->part_operand].use.value};
  return sm_vec_push(b->allocator, &b->trace->blocks, block);
}

static smelt_status build_part(builder *b, smelt_error *err) {
  if (!add_part_block(b)) return sm_error_memory(err, "a trace");
  forget_steps(b);
  for (int32_t i = 0; i < b->trace->n_ops; i++) {
    const sm_op *op = record_at(b, i);
    SM_TRY(concatenates(op) ? lower_concat(b, op, err)
                            : lower_record(b, &b->trace->blocks.items[0], op, err));
  }
  return SMELT_OK;
}

typedef smelt_status build_fn(builder *b, smelt_error *err);

static smelt_status build_with(build_fn *function, const sm_segment *segment, const uint32_t *ops, int n_ops,
                               int part, const bool *written, smelt_mode mode, const sm_allocator *allocator,
                               sm_trace *out, smelt_error *err) {
  memset(out, 0, sizeof *out);
  out->ops = ops;
  out->n_ops = n_ops;
  sm_arena scratch;
  sm_arena_init(&scratch, allocator);
  builder b = {.segment = segment,
               .allocator = allocator,
               .scratch = &scratch,
               .trace = out,
               .written = written,
               .mode = mode,
               .part_operand = part};
  smelt_status status = allocate(&b) ? function(&b, err) : sm_error_memory(err, "a trace");
  for (int block = 0; block < 2; block++) sm_vec_free(allocator, &b.known[block].older);
  sm_arena_free(&scratch);
  return status;
}

smelt_status sm_trace_build(const sm_segment *segment, const uint32_t *ops, int n_ops, const bool *written,
                            smelt_mode mode, const sm_allocator *allocator, sm_trace *out, smelt_error *err) {
  return build_with(build, segment, ops, n_ops, 0, written, mode, allocator, out, err);
}

smelt_status sm_trace_build_reduce(const sm_segment *segment, const uint32_t *ops, int n_ops,
                                   const bool *written, smelt_mode mode, const sm_allocator *allocator,
                                   sm_trace *out, smelt_error *err) {
  return build_with(build_reduce, segment, ops, n_ops, 0, written, mode, allocator, out, err);
}

smelt_status sm_trace_build_part(const sm_segment *segment, const uint32_t *ops, int n_ops, int k,
                                 const bool *written, smelt_mode mode, const sm_allocator *allocator,
                                 sm_trace *out, smelt_error *err) {
  return build_with(build_part, segment, ops, n_ops, k, written, mode, allocator, out, err);
}

smelt_status sm_trace_build_copy(const sm_segment *segment, const uint32_t *ops, int k,
                                 const sm_allocator *allocator, sm_trace *out, smelt_error *err) {
  const sm_op *op = &segment->ops.items[ops[0]];
  sm_trace_value from = bound_value(segment, op->operands[k].use.value);
  smelt_dtype dtype = from.dtype;
  follow(&from, 0, segment->values.items[from.value].shape.rank, 0);
  sm_step read = make_leaf(SM_STEP_READ, dtype, 0), write = make_step(SM_STEP_WRITE, dtype, 0, SM_NO_LOCAL);
  *out = (sm_trace){.ops = ops, .n_ops = 1};
  bool ok = sm_vec_push(allocator, &out->blocks, (sm_block){.space = from.value}) &&
            sm_vec_push(allocator, &out->inputs, from) &&
            sm_vec_push(allocator, &out->outputs, bound_value(segment, op->out)) &&
            sm_vec_push(allocator, &out->blocks.items[0].steps, read) &&
            sm_vec_push(allocator, &out->blocks.items[0].steps, write);
  return ok ? SMELT_OK : sm_error_memory(err, "a trace");
}

void sm_trace_free(sm_trace *trace, const sm_allocator *allocator) {
  for (size_t i = 0; i < trace->blocks.len; i++) sm_vec_free(allocator, &trace->blocks.items[i].steps);
  sm_vec_free(allocator, &trace->blocks);
  sm_vec_free(allocator, &trace->inputs);
  sm_vec_free(allocator, &trace->outputs);
  sm_vec_free(allocator, &trace->scalars);
  sm_vec_free(allocator, &trace->table);
  sm_vec_free(allocator, &trace->tasks);
  sm_vec_free(allocator, &trace->reuses);
  sm_vec_free(allocator, &trace->chains.buffers);
}
