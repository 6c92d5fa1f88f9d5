/* SPDX-License-Identifier: Apache-2.0
 *
 * Records: each is its element expression, or a selection. */
#include "trace/trace_builder.h"

static int32_t lower_literal(sm_trace_lowering *l, const sm_expr_arg *arg) {
  sm_step step = sm_trace_make_leaf(SM_STEP_LITERAL, arg->dtype, 0);
  step.literal = arg->literal;
  return sm_trace_share(l->b, l->block, step);
}

static int32_t lower_arg(sm_trace_lowering *l, const sm_expr_arg *arg) {
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
  int32_t index = sm_trace_share(l->b, l->block, sm_trace_make_leaf(SM_STEP_INDEX, SMELT_I64, 0));
  if (arg->dtype == SMELT_I64 || index == SM_NO_LOCAL) return index;
  return sm_trace_cast(l->b, l->block, index, arg->dtype);
}

/* A half operand as f32, which it may have stayed. */
static int32_t lower_widening(sm_trace_lowering *l, const sm_expr_step *step) {
  int32_t local = lower_arg(l, &step->args[0]);
  if (local == SM_NO_LOCAL || sm_trace_dtype_of(l->block, local) == step->dtype) return local;
  return sm_trace_cast(l->b, l->block, local, step->dtype);
}

static int32_t lower_step(sm_trace_lowering *l, const sm_expr_step *from) {
  if (sm_dtype_is_half(from->args[0].dtype)) return lower_widening(l, from);
  sm_step step = {.kind = SM_STEP_COMPUTE,
                  .kop = from->kop,
                  .dtype = from->dtype,
                  .args = {SM_NO_LOCAL, SM_NO_LOCAL, SM_NO_LOCAL}};
  for (int k = 0; k < from->n_args; k++) {
    step.args[k] = lower_arg(l, &from->args[k]);
    if (step.args[k] == SM_NO_LOCAL) return SM_NO_LOCAL;
  }
  return sm_trace_share(l->b, l->block, step);
}

/* Rounding to a half is left to write_result, except in strict mode. */
static bool leaves_out(const sm_trace_lowering *l, const sm_expr *expr, int step) {
  return expr->rounds && step == expr->n_steps - 1 && l->b->mode != SMELT_MODE_STRICT;
}

static bool lower_steps(sm_trace_lowering *l, const sm_expr *expr) {
  for (int s = 0; s < expr->n_steps; s++) {
    const sm_expr_step *step = &expr->steps[s];
    l->steps[s] = leaves_out(l, expr, s) ? lower_arg(l, &step->args[0]) : lower_step(l, step);
    if (l->steps[s] == SM_NO_LOCAL) return false;
  }
  return true;
}

static bool read_operands(sm_trace_lowering *l) {
  for (int k = 0; k < l->op->n_operands; k++) {
    const sm_operand *o = &l->op->operands[k];
    l->operands[k] = o->is_scalar ? sm_trace_read_scalar(l->b, l->block, l->op, k)
                                  : sm_trace_read_tensor(l->b, l->block, l->op, k);
    if (l->operands[k] == SM_NO_LOCAL) return false;
  }
  return true;
}

/* The steps of an expression; what they give goes to `out`. */
static smelt_status lower_expr(sm_trace_lowering *l, const char *source, const smelt_dtype *dtypes,
                               smelt_dtype result, int32_t *out, smelt_error *err) {
  sm_expr expr;
  SM_TRY(sm_expr_compile(source, dtypes, l->op->n_operands, result, &expr, err));
  *out = lower_steps(l, &expr) ? lower_arg(l, &expr.result) : SM_NO_LOCAL;
  return *out != SM_NO_LOCAL ? SMELT_OK : sm_error_memory(err, "a trace");
}

/* The place that an index names, y, on an axis of extent x: negative ones count from the
 * end, what is beyond the axis is cut to it. */
static smelt_status lower_place(sm_trace_lowering *l, int32_t *place, smelt_error *err) {
  bool wide = l->op->operands[1].dtype == SMELT_U64; /* i64 does not hold it */
  smelt_dtype dtype = wide ? SMELT_U64 : SMELT_I64;
  const char *source = wide ? "min(y, sub(x, 1))" : "max(min(select(lt(y, 0), add(y, x), y), sub(x, 1)), 0)";
  for (int k = 0; k < 2; k++) {
    if (sm_trace_dtype_of(l->block, l->operands[k]) != dtype)
      l->operands[k] = sm_trace_cast(l->b, l->block, l->operands[k], dtype);
    if (l->operands[k] == SM_NO_LOCAL) return sm_error_memory(err, "a trace");
  }
  SM_TRY(lower_expr(l, source, (smelt_dtype[]){dtype, dtype}, dtype, place, err));
  if (wide) *place = sm_trace_cast(l->b, l->block, *place, SMELT_I64);
  return *place != SM_NO_LOCAL ? SMELT_OK : sm_error_memory(err, "a trace");
}

static smelt_status lower_selection(sm_trace_lowering *l, smelt_error *err) {
  int32_t place, input = l->block->steps.items[l->operands[0]].index;
  SM_TRY(lower_place(l, &place, err));
  sm_step gather = sm_trace_make_leaf(SM_STEP_GATHER, l->op->operands[0].dtype, input);
  gather.args[0] = place;
  l->b->local_of[l->op->out] = sm_trace_share(l->b, l->block, gather);
  return l->b->local_of[l->op->out] != SM_NO_LOCAL ? SMELT_OK : sm_error_memory(err, "a trace");
}

/* The steps of a record whose operands are there. */
smelt_status sm_trace_lower_operation(sm_trace_lowering *l, smelt_error *err) {
  smelt_dtype dtypes[SM_MAX_OPERANDS];
  if (sm_trace_selects(l->op)) return lower_selection(l, err);
  smelt_dtype result = l->b->segment->values.items[l->op->out].dtype;
  for (int k = 0; k < l->op->n_operands; k++) dtypes[k] = l->op->operands[k].dtype;
  const char *source = l->op->row->expr;
  return lower_expr(l, source, dtypes, result, &l->b->local_of[l->op->out], err);
}

/* Later records use what is stored; in fast mode what was computed. */
bool sm_trace_write_result(sm_trace_builder *b, sm_block *block, uint32_t v) {
  const sm_value *value = &b->segment->values.items[v];
  if (b->written && !b->written[v]) return true;
  int32_t stored = b->local_of[v];
  if (sm_trace_dtype_of(block, stored) != value->dtype)
    stored = sm_trace_cast(b, block, stored, value->dtype);
  if (stored == SM_NO_LOCAL) return false;
  if (b->mode != SMELT_MODE_FAST) b->local_of[v] = stored;
  sm_trace_value bound = sm_trace_bound_value(b->segment, v);
  int32_t output = sm_trace_number_value(b, &b->trace->outputs, &bound);
  if (output < 0) return false;
  sm_step step = {.kind = SM_STEP_WRITE,
                  .dtype = value->dtype,
                  .index = output,
                  .args = {stored, SM_NO_LOCAL, SM_NO_LOCAL}};
  return sm_trace_push(b, block, step) != SM_NO_LOCAL;
}

smelt_status sm_trace_lower_record(sm_trace_builder *b, sm_block *block, const sm_op *op, smelt_error *err) {
  sm_trace_lowering l = {.b = b, .block = block, .op = op};
  if (!read_operands(&l)) return sm_error_memory(err, "a trace");
  SM_TRY(sm_trace_lower_operation(&l, err));
  return sm_trace_write_result(b, block, op->out) ? SMELT_OK : sm_error_memory(err, "a trace");
}
