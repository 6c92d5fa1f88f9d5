/* SPDX-License-Identifier: Apache-2.0
 *
 * One pass over the records. Each connected part of the cluster becomes a
 * block of its own; a record belongs to the block of the values it uses. */
#include <string.h>

#include "base/error.h"
#include "ir/expr.h"
#include "trace/trace.h"

typedef struct builder {
  const sm_segment *segment;
  const sm_allocator *allocator;
  sm_trace *trace;
  int32_t *part;       /* by record position in trace->ops: representative of its part */
  int32_t *block_of;   /* by record position: its block, once it has one */
  int32_t *local_of;   /* by value: its local in the block of its producer */
  const bool *written; /* by value: it is stored; NULL: every result is */
  smelt_mode mode;
} builder;

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

static int32_t push(builder *b, sm_block *block, sm_step step) {
  if (!sm_vec_push(b->allocator, &block->steps, step)) return SM_NO_LOCAL;
  return (int32_t)block->steps.len - 1;
}

/* An equal step that is there already: reads, literals, the index and casts of the
 * builder's own are shared. */
static int32_t find_step(const sm_block *block, const sm_step *step) {
  for (size_t i = 0; i < block->steps.len; i++) {
    const sm_step *s = &block->steps.items[i];
    if (s->kind == step->kind && s->dtype == step->dtype && s->index == step->index &&
        s->literal.bits == step->literal.bits && s->kop == step->kop &&
        memcmp(s->args, step->args, sizeof s->args) == 0) {
      return (int32_t)i;
    }
  }
  return SM_NO_LOCAL;
}

/* A step without arguments. */
static sm_step make_leaf(sm_step_kind kind, smelt_dtype dtype, int32_t index) {
  return (sm_step){
      .kind = kind, .dtype = dtype, .index = index, .args = {SM_NO_LOCAL, SM_NO_LOCAL, SM_NO_LOCAL}};
}

static int32_t share(builder *b, sm_block *block, sm_step step) {
  int32_t found = find_step(block, &step);
  return found != SM_NO_LOCAL ? found : push(b, block, step);
}

/* The number of `v` in a list of values, appended if it is new; -1 without
 * memory. */
static int32_t number_value(builder *b, sm_trace_values *list, uint32_t v) {
  for (size_t i = 0; i < list->len; i++) {
    if (list->items[i].value == v) return (int32_t)i;
  }
  sm_trace_value entry = {v, b->segment->values.items[v].dtype};
  return sm_vec_push(b->allocator, list, entry) ? (int32_t)list->len - 1 : -1;
}

static int32_t read_value(builder *b, sm_block *block, uint32_t v) {
  if (position_of(b, v) >= 0) return b->local_of[v];
  int32_t input = number_value(b, &b->trace->inputs, v);
  if (input < 0) return SM_NO_LOCAL;
  return share(b, block, make_leaf(SM_STEP_READ, b->segment->values.items[v].dtype, input));
}

static int32_t read_scalar(builder *b, sm_block *block, const sm_op *op, int k) {
  const sm_operand *o = &op->operands[k];
  sm_trace_scalar scalar = {(uint32_t)(op - b->segment->ops.items), k, o->dtype};
  if (!sm_vec_push(b->allocator, &b->trace->scalars, scalar)) return SM_NO_LOCAL;
  int32_t index = (int32_t)b->trace->scalars.len - 1;
  return push(b, block, make_leaf(SM_STEP_SCALAR, o->dtype, index));
}

static smelt_dtype dtype_of(const sm_block *block, int32_t local) { return block->steps.items[local].dtype; }

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
  int32_t operands[8];
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
  return push(l->b, l->block, step);
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
        o->is_scalar ? read_scalar(l->b, l->block, l->op, k) : read_value(l->b, l->block, o->use.value);
    if (l->operands[k] == SM_NO_LOCAL) return false;
  }
  return true;
}

/* Later records use what is stored; in fast mode what was computed. */
static bool write_result(builder *b, sm_block *block, uint32_t v) {
  const sm_value *value = &b->segment->values.items[v];
  if (b->written && !b->written[v]) return true;
  int32_t stored = b->local_of[v];
  if (dtype_of(block, stored) != value->dtype) stored = cast(b, block, stored, value->dtype);
  if (stored == SM_NO_LOCAL) return false;
  if (b->mode != SMELT_MODE_FAST) b->local_of[v] = stored;
  int32_t output = number_value(b, &b->trace->outputs, v);
  if (output < 0) return false;
  sm_step step = {.kind = SM_STEP_WRITE,
                  .dtype = value->dtype,
                  .index = output,
                  .args = {stored, SM_NO_LOCAL, SM_NO_LOCAL}};
  return push(b, block, step) != SM_NO_LOCAL;
}

static smelt_status lower_record(builder *b, sm_block *block, const sm_op *op, smelt_error *err) {
  sm_expr expr;
  smelt_dtype dtypes[8];
  smelt_dtype result = b->segment->values.items[op->out].dtype;
  for (int k = 0; k < op->n_operands; k++) dtypes[k] = op->operands[k].dtype;
  const char *source = sm_op_row_of((sm_opcode)op->code)->expr;
  SM_TRY(sm_expr_compile(source, dtypes, op->n_operands, result, &expr, err));
  lowering l = {.b = b, .block = block, .op = op};
  if (!read_operands(&l) || !lower_steps(&l, &expr)) return sm_error_memory(err, "a trace");
  b->local_of[op->out] = lower_arg(&l, &expr.result);
  if (b->local_of[op->out] == SM_NO_LOCAL) return sm_error_memory(err, "a trace");
  return write_result(b, block, op->out) ? SMELT_OK : sm_error_memory(err, "a trace");
}

/* --- The trace ------------------------------------------------------------------------- */

static bool open_block(builder *b, int32_t i) {
  int32_t part = find_part(b, i);
  if (part == i) {
    sm_block block = {.space = record_at(b, i)->out};
    if (!sm_vec_push(b->allocator, &b->trace->blocks, block)) return false;
    b->block_of[i] = (int32_t)b->trace->blocks.len - 1;
  }
  b->block_of[i] = b->block_of[part];
  return true;
}

static smelt_status build(builder *b, smelt_error *err) {
  connect_parts(b);
  for (int32_t i = 0; i < b->trace->n_ops; i++) {
    if (!open_block(b, i)) return sm_error_memory(err, "a trace");
    sm_block *block = &b->trace->blocks.items[b->block_of[i]];
    SM_TRY(lower_record(b, block, record_at(b, i), err));
  }
  return sm_trace_find_reuses(b->trace, b->allocator) ? SMELT_OK : sm_error_memory(err, "a trace");
}

static bool allocate(builder *b, sm_arena *arena) {
  size_t n_ops = (size_t)b->trace->n_ops;
  b->part = sm_arena_zalloc(arena, n_ops, sizeof *b->part);
  b->block_of = sm_arena_zalloc(arena, n_ops, sizeof *b->block_of);
  b->local_of = sm_arena_zalloc(arena, b->segment->values.len, sizeof *b->local_of);
  return b->part && b->block_of && b->local_of;
}

smelt_status sm_trace_build(const sm_segment *segment, const uint32_t *ops, int n_ops, const bool *written,
                            smelt_mode mode, const sm_allocator *allocator, sm_trace *out, smelt_error *err) {
  memset(out, 0, sizeof *out);
  out->ops = ops;
  out->n_ops = n_ops;
  builder b = {.segment = segment, .allocator = allocator, .trace = out, .written = written, .mode = mode};
  sm_arena scratch;
  sm_arena_init(&scratch, allocator);
  smelt_status status = allocate(&b, &scratch) ? build(&b, err) : sm_error_memory(err, "a trace");
  sm_arena_free(&scratch);
  return status;
}

void sm_trace_free(sm_trace *trace, const sm_allocator *allocator) {
  for (size_t i = 0; i < trace->blocks.len; i++) sm_vec_free(allocator, &trace->blocks.items[i].steps);
  sm_vec_free(allocator, &trace->blocks);
  sm_vec_free(allocator, &trace->inputs);
  sm_vec_free(allocator, &trace->outputs);
  sm_vec_free(allocator, &trace->scalars);
  sm_vec_free(allocator, &trace->reuses);
}
