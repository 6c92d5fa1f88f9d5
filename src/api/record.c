/* SPDX-License-Identifier: Apache-2.0 */
#include "api/record.h"

#include <string.h>

#include "api/composite.h"
#include "api/context_state.h"
#include "api/custom_ops.h"
#include "api/reference.h"
#include "base/error.h"
#include "base/float_env.h"
#include "base/observer.h"
#include "ir/expr.h"
#include "ir/infer.h"

typedef struct taken_call {
  const sm_op_row *row;
  int n;
  sm_target targets[SM_MAX_OPERANDS];
  const smelt_attrs *attrs;
} taken_call;

static smelt_tensor *poisoned(const smelt_error *err) { return sm_reference_poison(sm_cause_create(err)); }

static void release_from(const taken_call *call, int first) {
  for (int i = first; i < call->n; i++) sm_target_release(call->targets[i]);
}

/* --- Weak scalars ---------------------------------------------------------------------- */

/* Runs the steps of an expression on single elements. */
static void fold_steps(const sm_expr *expr, const sm_inferred *inferred, sm_word *result) {
  sm_word steps[SM_EXPR_STEPS];
  for (int s = 0; s < expr->n_steps; s++) {
    const sm_expr_step *step = &expr->steps[s];
    const void *in[SM_EXPR_ARGS];
    for (int k = 0; k < step->n_args; k++) {
      const sm_expr_arg *arg = &step->args[k];
      in[k] = arg->kind == SM_ARG_OPERAND ? (const void *)&inferred->scalar[arg->index]
              : arg->kind == SM_ARG_STEP  ? (const void *)&steps[arg->index]
                                          : (const void *)&arg->literal;
    }
    sm_kop_eval(step->kop, step->args[step->n_args - 1].dtype, step->dtype)(1, &steps[s], in, 0);
  }
  const sm_expr_arg *r = &expr->result;
  *result = r->kind == SM_ARG_OPERAND ? inferred->scalar[r->index]
            : r->kind == SM_ARG_STEP  ? steps[r->index]
                                      : r->literal;
}

static smelt_status fold(const taken_call *call, sm_scalar *out, smelt_error *err) {
  sm_call_operand operands[SM_MAX_OPERANDS];
  sm_inferred inferred;
  sm_expr expr;
  sm_word result = {.bits = 0};
  for (int i = 0; i < call->n; i++) {
    operands[i] = (sm_call_operand){.is_scalar = true, .scalar = call->targets[i].scalar};
  }
  SM_TRY(sm_infer(call->row, operands, call->n, NULL, &inferred, err));
  SM_TRY(sm_expr_compile(call->row->expr, inferred.operand, call->n, inferred.dtype, &expr, err));
  fold_steps(&expr, &inferred, &result);
  *out = sm_scalar_of(inferred.dtype, &result);
  return SMELT_OK;
}

static smelt_tensor *record_scalars(const taken_call *call) {
  smelt_error err;
  sm_scalar result;
  sm_float_env host = sm_float_env_enter();
  smelt_status status = fold(call, &result, &err);
  sm_float_env_leave(&host);
  if (status != SMELT_OK) return poisoned(&err);
  return sm_reference_create((sm_target){.kind = SM_TARGET_SCALAR, .scalar = result});
}

/* --- Calls that no stream records ---------------------------------------------------------- */

typedef struct report {
  const sm_log *log;
  const smelt_error *err;
} report;

static void write_report(void *argument) {
  const report *r = argument;
  sm_tell(r->log, poison, .status = r->err->code, .text = r->err->text);
  if (!sm_log_on(r->log, SM_LOG_POISON)) return;
  sm_text line;
  sm_text_init(&line, &sm_malloc_allocator);
  sm_text_addf(&line, "[poison] %s", r->err->text);
  sm_log_text(r->log, &line);
}

/* The log of the context, or of the first tensor's; NULL if there is neither. */
static const sm_log *log_of(const smelt_context *ctx, const taken_call *call) {
  for (int i = 0; i < call->n && !ctx; i++) {
    if (call->targets[i].kind == SM_TARGET_TENSOR) return call->targets[i].tensor->stream->set->log;
  }
  return ctx ? &ctx->log : NULL;
}

static smelt_tensor *fail(const smelt_context *ctx, const taken_call *call, const smelt_error *err) {
  report r = {log_of(ctx, call), err};
  if (r.log && !sm_thread_self()->inside) sm_stream_call_user(write_report, &r);
  release_from(call, 0);
  return poisoned(err);
}

/* --- Tensors ------------------------------------------------------------------------------ */

/* The streams of the context that all tensor operands belong to, or `ctx`; NULL with
 * an error if there is none or they differ. */
static sm_streams *common_streams(smelt_context *ctx, const taken_call *call, smelt_error *err) {
  const sm_op_row *row = call->row;
  sm_streams *common = ctx ? &ctx->streams : NULL;
  for (int i = 0; i < call->n; i++) {
    if (call->targets[i].kind != SM_TARGET_TENSOR) continue;
    sm_streams *own = call->targets[i].tensor->stream->set;
    if (!common) common = own;
    if (common != own) {
      sm_error_set(err, SMELT_ERR_DEVICE,
                   "%s: the operands belong to different contexts (smelt_to_device copies one)", row->name);
      return NULL;
    }
  }
  const char *missing = sm_op_creates(row) ? "the context is NULL" : "no operand is a tensor";
  if (!common) sm_error_set(err, SMELT_ERR_ARGUMENT, "%s: %s", row->name, missing);
  return common;
}

/* Where the call is recorded; NULL with an error. */
static sm_stream *stream_for(smelt_context *ctx, const taken_call *call, smelt_error *err) {
  sm_streams *common = common_streams(ctx, call, err);
  sm_stream *stream = common ? sm_streams_mine(common) : NULL;
  if (common && !stream) sm_error_memory(err, "a stream");
  return stream;
}

static smelt_tensor *record_tensors(smelt_context *ctx, taken_call *call) {
  smelt_error err;
  sm_stream *stream = stream_for(ctx, call, &err);
  if (!stream) return fail(ctx, call, &err);
  sm_argument arguments[SM_MAX_OPERANDS];
  for (int i = 0; i < call->n; i++) {
    const sm_target *target = &call->targets[i];
    arguments[i] = (sm_argument){.tensor = target->kind == SM_TARGET_TENSOR ? target->tensor : NULL,
                                 .scalar = target->scalar};
  }
  sm_cause *cause;
  sm_tensor *t = sm_stream_record(stream, call->row, arguments, call->n, call->attrs, &cause);
  return t ? sm_reference_create((sm_target){.kind = SM_TARGET_TENSOR, .tensor = t})
           : sm_reference_poison(cause);
}

/* --- Composites --------------------------------------------------------------------------- */

/* Also that the operands are sound: failed ones pass their cause on before the call is
 * judged. */
static bool infer_composite(const taken_call *call, sm_inferred *out) {
  sm_call_operand operands[SM_MAX_OPERANDS];
  if (!call->n) return false;
  for (int i = 0; i < call->n; i++) {
    const sm_target *x = &call->targets[i];
    if (x->kind != SM_TARGET_TENSOR || x->tensor->state == SM_POISONED) return false;
    operands[i] = (sm_call_operand){.dtype = x->tensor->dtype, .shape = &x->tensor->shape};
  }
  return sm_infer(call->row, operands, call->n, call->attrs, out, NULL) == SMELT_OK;
}

/* A call that is wrong is left to the stream, which says so. */
static smelt_tensor *record_composite(taken_call *call) {
  sm_inferred inferred;
  smelt_tensor *operands[SM_MAX_OPERANDS];
  if (!infer_composite(call, &inferred)) return record_tensors(NULL, call);
  sm_shape shape = call->targets[0].tensor->shape;
  for (int i = 0; i < call->n; i++) operands[i] = sm_reference_create(call->targets[i]);
  return sm_composite_record((sm_opcode)call->row->code, operands, &shape, &inferred, call->attrs);
}

/* --- Opaque operations --------------------------------------------------------------------- */

/* What a shape rule is asked about: tensors that are sound, as many as they should be. */
static bool describe_operands(const taken_call *call, sm_call_operand *out) {
  if (!sm_op_takes(call->row, call->n) || sm_thread_self()->inside) return false;
  for (int i = 0; i < call->n; i++) {
    const sm_target *x = &call->targets[i];
    if (x->kind != SM_TARGET_TENSOR || x->tensor->state == SM_POISONED) return false;
    out[i] = (sm_call_operand){.dtype = x->tensor->dtype, .shape = &x->tensor->shape};
  }
  return true;
}

/* A call that is wrong is left to the stream, which says so. */
static smelt_tensor *record_opaque(smelt_context *ctx, taken_call *call) {
  static const smelt_attrs none = {.size = sizeof none, .dtype = SMELT_BOOL};
  sm_call_operand operands[SM_MAX_OPERANDS];
  int64_t dims[SMELT_MAX_RANK];
  smelt_attrs attrs;
  smelt_error err;
  call->attrs = &none;
  if (!describe_operands(call, operands)) return record_tensors(ctx, call);
  if (sm_custom_shape(call->row, operands, call->n, dims, &attrs, &err) != SMELT_OK)
    return fail(ctx, call, &err);
  call->attrs = &attrs;
  smelt_tensor *result = record_tensors(ctx, call);
  call->attrs = &none; /* the others were this function's */
  return result;
}

/* --- The call -------------------------------------------------------------------------------- */

/* By what an operand was taken; static text. */
static const char *taker(const sm_op_row *row) { return row->code < SM_OP_COUNT ? row->name : "call"; }

static bool take_operands(taken_call *call, smelt_tensor *const *operands, int n, sm_cause **poison) {
  const char *name = taker(call->row);
  int scalars = 0;
  *poison = NULL;
  for (int i = 0; i < n; i++) {
    call->targets[i] = sm_reference_take(operands[i], name);
    if (call->targets[i].kind == SM_TARGET_SCALAR) scalars++;
    if (call->targets[i].kind == SM_TARGET_POISON && !*poison) *poison = call->targets[i].cause;
  }
  call->n = n;
  return n > 0 && scalars == n;
}

static smelt_tensor *record_call(smelt_context *ctx, const sm_op_row *row, smelt_tensor *const *operands,
                                 int n, const smelt_attrs *attrs) {
  taken_call call = {.row = row, .attrs = attrs};
  sm_cause *poison;
  bool only_scalars = take_operands(&call, operands, n, &poison);
  if (poison) {
    sm_cause_ref(poison);
    release_from(&call, 0);
    return sm_reference_poison(poison);
  }
  if (only_scalars && sm_op_folds_scalars(row)) return record_scalars(&call);
  if (row->class == SM_CLASS_COMPOSITE) return record_composite(&call);
  if (row->class == SM_CLASS_OPAQUE) return record_opaque(ctx, &call);
  return record_tensors(ctx, &call);
}

/* Of a call that fails the second result is poisoned as the first one. */
static smelt_tensor *record(smelt_context *ctx, const sm_op_row *row, smelt_tensor *const *operands, int n,
                            const smelt_attrs *attrs) {
  bool may_want = sm_op_has_second(row) && attrs && attrs->size == sizeof *attrs;
  smelt_tensor **second = may_want ? attrs->indices : NULL;
  if (second) *second = NULL;
  smelt_tensor *first = record_call(ctx, row, operands, n, attrs);
  if (second && !*second) *second = smelt_ref(first);
  return first;
}

smelt_tensor *sm_record_call(smelt_context *ctx, sm_opcode code, smelt_tensor *const *operands, int n,
                             const smelt_attrs *attrs) {
  return record(ctx, sm_op_row_of(code), operands, n, attrs);
}

/* A list that is too long for a record in SM_MAX_OPERANDS parts, each of them the
 * result of its own list. */
static smelt_tensor *record_tree(smelt_context *ctx, sm_opcode code, smelt_tensor *const *list, size_t n,
                                 const smelt_attrs *attrs) {
  smelt_tensor *parts[SM_MAX_OPERANDS];
  if (n == 1) return list[0];
  if (n <= SM_MAX_OPERANDS) return sm_record_call(ctx, code, list, (int)n, attrs);
  for (size_t i = 0, begin = 0; i < SM_MAX_OPERANDS; i++) {
    size_t end = begin + (n - begin) / (SM_MAX_OPERANDS - i);
    parts[i] = record_tree(ctx, code, list + begin, end - begin, attrs);
    begin = end;
  }
  return sm_record_call(ctx, code, parts, SM_MAX_OPERANDS, attrs);
}

smelt_tensor *sm_record_list(smelt_context *ctx, sm_opcode code, smelt_tensor *const *operands, size_t n,
                             const smelt_attrs *attrs) {
  smelt_error err;
  const char *name = sm_op_row_of(code)->name;
  if (n && operands) {
    return n == 1 ? sm_record_call(ctx, code, operands, 1, attrs)
                  : record_tree(ctx, code, operands, n, attrs);
  }
  sm_error_set(&err, SMELT_ERR_ARGUMENT, n ? "%s: the operands are NULL" : "%s: there is no tensor", name);
  return poisoned(&err);
}

/* A failed operand passes its cause on before the call is judged. */
static smelt_tensor *refuse_call(smelt_tensor *const *operands, size_t n, const smelt_error *err) {
  sm_cause *poison = NULL;
  for (size_t i = 0; i < n; i++) {
    sm_target target = sm_reference_take(operands[i], "call");
    if (target.kind == SM_TARGET_POISON && !poison) poison = sm_cause_ref(target.cause);
    sm_target_release(target);
  }
  return poison ? sm_reference_poison(poison) : poisoned(err);
}

/* The row of that name: of the table, or of the context that is given or that the first
 * tensor belongs to. */
static const sm_op_row *find_row(const smelt_context *ctx, const char *name, smelt_tensor *const *operands,
                                 size_t n) {
  sm_opcode code = sm_op_find(name);
  if (code != SM_OP_COUNT) return sm_op_row_of(code);
  for (size_t i = 0; operands && !ctx && i < n; i++) ctx = sm_reference_owner(operands[i]);
  return ctx && name ? sm_custom_find(&ctx->customs, name) : NULL;
}

smelt_tensor *smelt_call(smelt_context *ctx, const char *name, smelt_tensor *const *operands, size_t n,
                         const smelt_attrs *attrs) {
  smelt_error err;
  const sm_op_row *row = find_row(ctx, name, operands, n);
  if (!row) {
    sm_error_set(&err, SMELT_ERR_ARGUMENT, "no operation is called \"%.60s\"", name ? name : "(null)");
    return refuse_call(operands, operands ? n : 0, &err);
  }
  if (n && !operands) {
    sm_error_set(&err, SMELT_ERR_ARGUMENT, "%s: the operands are NULL", name);
    return poisoned(&err);
  }
  if (sm_op_takes_list(row)) return sm_record_list(ctx, (sm_opcode)row->code, operands, n, attrs);
  if (n > SM_MAX_OPERANDS) {
    sm_error_set(&err, SMELT_ERR_ARGUMENT, "%s does not take %zu operands", name, n);
    return refuse_call(operands, n, &err);
  }
  return record(ctx, row, operands, (int)n, attrs);
}
