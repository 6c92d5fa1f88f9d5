/* SPDX-License-Identifier: Apache-2.0 */
#include "api/custom_ops.h"

#include <stdatomic.h>
#include <string.h>

#include "api/context_state.h"
#include "base/error.h"
#include "base/float_env.h"
#include "launch/run_opaque.h"

/* One block, with the texts behind it. */
struct sm_custom {
  sm_custom *next;
  size_t bytes;
  sm_op_row row;
  sm_opaque opaque;
  char text[]; /* the name, and the expression */
};

/* --- The list ------------------------------------------------------------------------ */

static const sm_op_row *find_from(const sm_custom *c, const char *name) {
  while (c && strcmp(c->row.name, name) != 0) c = c->next;
  return c ? &c->row : NULL;
}

const sm_op_row *sm_custom_find(const sm_custom_list *list, const char *name) {
  return find_from(atomic_load(&list->first), name);
}

void sm_custom_free(sm_custom_list *list, const sm_allocator *allocator) {
  for (sm_custom *c = atomic_load(&list->first), *next; c; c = next) {
    next = c->next;
    sm_free(allocator, c, c->bytes);
  }
}

/* With the next code. Another thread may come first, with the same name. */
static smelt_status enlist(sm_custom_list *list, sm_custom *c, smelt_error *err) {
  c->next = atomic_load(&list->first);
  do {
    int code = c->next ? c->next->row.code + 1 : SM_OP_COUNT;
    if (code > UINT16_MAX) return sm_error_set(err, SMELT_ERR_LIMIT, "there are too many operations");
    if (find_from(c->next, c->row.name))
      return sm_error_set(err, SMELT_ERR_ARGUMENT, "there is an operation %s already", c->row.name);
    c->row.code = (uint16_t)code;
  } while (!atomic_compare_exchange_weak(&list->first, &c->next, c));
  return SMELT_OK;
}

/* --- Registering ---------------------------------------------------------------------- */

static smelt_status check_functions(const smelt_context *ctx, const smelt_op_desc *desc, smelt_error *err) {
  bool functions = desc->shape && desc->kernel, some = desc->shape || desc->kernel;
  if (desc->expression ? some : !functions) {
    return sm_error_set(err, SMELT_ERR_ARGUMENT, "%s needs either an expression or shape and kernel",
                        desc->name);
  }
  if (desc->expression || ctx->device.driver->runs_opaque) return SMELT_OK;
  return sm_error_set(err, SMELT_ERR_UNSUPPORTED, "%s: device %s runs no kernels of programs", desc->name,
                      ctx->device.driver->name);
}

static smelt_status check_desc(const smelt_context *ctx, const smelt_op_desc *desc, smelt_error *err) {
  if (!ctx || !desc) return sm_error_set(err, SMELT_ERR_ARGUMENT, "an argument is NULL");
  if (desc->size != sizeof *desc) {
    return sm_error_set(err, SMELT_ERR_ARGUMENT, "smelt_op_desc.size is %zu, not %zu", desc->size,
                        sizeof *desc);
  }
  SM_TRY(sm_custom_name_check(desc->name, err));
  return check_functions(ctx, desc, err);
}

static sm_custom *allocate(const smelt_op_desc *desc, const sm_allocator *allocator) {
  size_t name = strlen(desc->name) + 1, expr = desc->expression ? strlen(desc->expression) + 1 : 0;
  size_t bytes = sizeof(sm_custom) + name + expr;
  sm_custom *c = sm_alloc(allocator, bytes);
  if (!c) return NULL;
  *c = (sm_custom){.bytes = bytes, .row.name = c->text, .opaque = {desc->shape, desc->kernel, desc->user}};
  memcpy(c->text, desc->name, name);
  if (expr) memcpy(c->text + name, desc->expression, expr);
  return c;
}

static smelt_status fill(sm_custom *c, const smelt_op_desc *desc, smelt_error *err) {
  const char *expr = c->text + strlen(c->text) + 1;
  return desc->expression ? sm_custom_row_expression(c->text, desc->n_operands, expr, &c->row, err)
                          : sm_custom_row_opaque(c->text, desc->n_operands, &c->opaque, &c->row, err);
}

static smelt_status add(smelt_context *ctx, const smelt_op_desc *desc, smelt_error *err) {
  SM_TRY(check_desc(ctx, desc, err));
  sm_custom *c = allocate(desc, &ctx->allocator);
  if (!c) return sm_error_memory(err, "an operation");
  sm_float_env host = sm_float_env_enter(); /* literals are converted */
  smelt_status status = fill(c, desc, err);
  sm_float_env_leave(&host);
  if (status == SMELT_OK) status = enlist(&ctx->customs, c, err);
  if (status != SMELT_OK) sm_free(&ctx->allocator, c, c->bytes);
  return status;
}

smelt_status smelt_op_register(smelt_context *ctx, const smelt_op_desc *desc, smelt_error *err) {
  smelt_error cause;
  if (sm_thread_self()->inside)
    return sm_error_set(err, SMELT_ERR_REENTRANT, "smelt_op_register was called from inside a callback");
  smelt_status status = add(ctx, desc, &cause);
  return status == SMELT_OK ? status : sm_error_set(err, status, "smelt_op_register: %s", cause.text);
}

/* --- Shape rules ------------------------------------------------------------------------ */

typedef struct asked {
  const sm_opaque *opaque;
  const smelt_array *operands;
  size_t n;
  smelt_array result;
  smelt_status status;
  smelt_error said;
} asked;

static void ask(void *argument) {
  asked *a = argument;
  a->status = a->opaque->shape(a->opaque->user, a->operands, a->n, &a->result, &a->said);
}

smelt_status sm_custom_shape(const sm_op_row *row, const sm_call_operand *operands, int n, int64_t *dims,
                             smelt_attrs *out, smelt_error *err) {
  smelt_array arrays[SM_MAX_OPERANDS];
  for (int i = 0; i < n; i++) sm_opaque_describe(&arrays[i], operands[i].dtype, operands[i].shape, NULL);
  asked a = {.opaque = row->opaque, .operands = arrays, .n = (size_t)n};
  sm_stream_call_user(ask, &a);
  if (a.status != SMELT_OK) return sm_opaque_fail(row->name, a.status, &a.said, err);
  memcpy(dims, a.result.dims, sizeof a.result.dims);
  *out = (smelt_attrs){.size = sizeof *out, .dtype = a.result.dtype, .rank = a.result.rank, .dims = dims};
  return SMELT_OK;
}
