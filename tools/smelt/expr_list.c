/* SPDX-License-Identifier: Apache-2.0
 *
 * Numbers and lists of numbers: what literals are outside of operations. */
#include <string.h>

#include "base/error.h"
#include "expr_machine.h"

static smelt_status read_number(const smelt_tensor *t, sm_scalar *out, smelt_error *err) {
  switch (smelt_dtype_of(t)) {
    case SMELT_BOOL:
      out->kind = SM_KIND_BOOL;
      return smelt_item_bool(t, &out->as.b, err);
    case SMELT_I64:
      out->kind = SM_KIND_SINT;
      return smelt_item_i64(t, &out->as.i64, err);
    case SMELT_F64:
      out->kind = SM_KIND_FLOAT;
      return smelt_item_f64(t, &out->as.f64, err);
    default:
      return sm_error_set(err, SMELT_ERR_ARGUMENT, "an integer in this place has to fit i64");
  }
}

bool expr_number(expr_machine *m, int32_t node, sm_scalar *out) {
  smelt_error err;
  if (!expr_need(m, node)) return false;
  if (!m->values[node].constant)
    return expr_fail(m, node, SMELT_ERR_ARGUMENT, "this has to be a number, not a tensor");
  smelt_status status = read_number(m->values[node].tensor, out, &err);
  return status == SMELT_OK || expr_fail(m, node, status, "%s", err.text);
}

/* --- Lists ------------------------------------------------------------------------ */

/* A list on its way to a tensor. Its shape is that of its first items; every
 * other item has to agree. */
typedef struct list {
  int rank;
  int64_t dims[SMELT_MAX_RANK];
  sm_vec(sm_scalar) numbers; /* row-major */
  sm_kind kind;              /* of all numbers: bool, integer, or float */
} list;

static bool list_shape(expr_machine *m, int32_t node, list *l) {
  for (; node != EXPR_NONE && expr_node_of(m, node)->kind == EXPR_LIST; node = expr_node_of(m, node)->args) {
    if (l->rank == SMELT_MAX_RANK)
      return expr_fail(m, node, SMELT_ERR_SHAPE, "a tensor has at most %d axes", SMELT_MAX_RANK);
    l->dims[l->rank++] = expr_node_of(m, node)->n_args;
  }
  return true;
}

static bool list_number(expr_machine *m, int32_t node, list *l) {
  sm_scalar s = {.kind = SM_KIND_NONE};
  if (!expr_number(m, node, &s)) return false;
  if (!l->numbers.len) l->kind = s.kind;
  if ((l->kind == SM_KIND_BOOL) != (s.kind == SM_KIND_BOOL))
    return expr_fail(m, node, SMELT_ERR_DTYPE, "a list holds numbers or truth values, not both");
  if (s.kind == SM_KIND_FLOAT) l->kind = SM_KIND_FLOAT;
  return sm_vec_push(&sm_malloc_allocator, &l->numbers, s) ||
         expr_fail(m, node, SMELT_ERR_MEMORY, "out of memory: list");
}

static bool list_items(expr_machine *m, int32_t node, int depth, list *l) {
  const expr_node *n = expr_node_of(m, node);
  if (n->kind != EXPR_LIST && depth == l->rank) return list_number(m, node, l);
  if (n->kind != EXPR_LIST || depth == l->rank)
    return expr_fail(m, node, SMELT_ERR_SHAPE, "the rows of a list differ in depth");
  if (n->n_args != l->dims[depth])
    return expr_fail(m, node, SMELT_ERR_SHAPE, "the rows of a list differ in length: %d here, %lld before",
                     (int)n->n_args, (long long)l->dims[depth]);
  for (int32_t i = n->args; i != EXPR_NONE; i = expr_node_of(m, i)->next)
    if (!list_items(m, i, depth + 1, l)) return false;
  return true;
}

static smelt_dtype list_dtype(const list *l) {
  return l->kind == SM_KIND_BOOL ? SMELT_BOOL : l->kind == SM_KIND_SINT ? SMELT_I64 : SMELT_F32;
}

static void store(void *to, smelt_dtype dtype, sm_scalar s) {
  sm_word word = {.bits = 0};
  if (dtype == SMELT_BOOL) word.BOOL = s.as.b;
  else if (dtype == SMELT_I64) word.I64 = s.as.i64;
  else word.F32 = s.kind == SM_KIND_FLOAT ? (float)s.as.f64 : (float)s.as.i64;
  memcpy(to, &word, smelt_dtype_size(dtype));
}

static bool list_tensor(expr_machine *m, int32_t node, const list *l) {
  smelt_dtype dtype = list_dtype(l);
  size_t item = smelt_dtype_size(dtype);
  size_t bytes = (l->numbers.len + 1) * item; /* never none */
  char *data = sm_alloc(&sm_malloc_allocator, bytes);
  if (!data) return expr_fail(m, node, SMELT_ERR_MEMORY, "out of memory: list");
  for (size_t i = 0; i < l->numbers.len; i++) store(data + i * item, dtype, l->numbers.items[i]);
  bool ok = expr_give(m, node, smelt_from_host(m->ctx, dtype, l->rank, l->dims, data), false);
  sm_free(&sm_malloc_allocator, data, bytes);
  return ok;
}

bool expr_list(expr_machine *m, int32_t node) {
  list l = {.rank = 0};
  bool ok = list_shape(m, node, &l) && list_items(m, node, 0, &l) && list_tensor(m, node, &l);
  sm_vec_free(&sm_malloc_allocator, &l.numbers);
  return ok;
}
