/* SPDX-License-Identifier: Apache-2.0
 *
 * Calls: which argument is which operand or attribute of the operation.
 *
 * The arguments of an operation are, in this order: the shape if it has one
 * (attribute s), its operands, the dtype if it has one (attribute t). Shape
 * and dtype may be given by keyword. A shape is a list, a tuple, one number,
 * or, if the operation has no operands, several numbers. */
#include <string.h>

#include "expr_machine.h"
#include "ir/infer.h"

typedef struct call {
  int32_t node;
  const smelt_op_info *op;
  int32_t next;  /* the first positional argument not yet used */
  int32_t shape; /* given by keyword, EXPR_NONE otherwise */
  int32_t dtype; /* the same */
  int32_t operands[SM_MAX_OPERANDS];
  size_t n; /* operands found */
  int64_t dims[SMELT_MAX_RANK];
  smelt_attrs attrs;
} call;

/* Short names of everyday operations, as the macros of ops.h have them. */
static const struct {
  const char *name, *op;
} aliases[] = {{"mul", "multiply"}, {"sub", "subtract"}, {"div", "divide"}, {"neg", "negative"}};

static const smelt_op_info *find_operation(expr_text name) {
  for (size_t i = 0; i < sizeof aliases / sizeof aliases[0]; i++)
    if (expr_text_is(name, aliases[i].name)) return smelt_op_find(aliases[i].op);
  for (size_t i = 0; i < smelt_op_count(); i++)
    if (expr_text_is(name, smelt_op_at(i)->name)) return smelt_op_at(i);
  return NULL;
}

static bool has_attribute(const call *c, char letter) { return strchr(c->op->attrs, letter) != NULL; }

/* --- Keywords ---------------------------------------------------------------------- */

/* The place of a keyword argument in the call, NULL if the operation has none
 * of that name. */
static int32_t *keyword_place(call *c, expr_text keyword) {
  if (has_attribute(c, 's') && expr_text_is(keyword, "shape")) return &c->shape;
  if (has_attribute(c, 't') && expr_text_is(keyword, "dtype")) return &c->dtype;
  return NULL;
}

/* Notes the keyword arguments, which are the last ones. */
static bool find_keywords(expr_machine *m, call *c) {
  for (int32_t i = c->next; i != EXPR_NONE; i = expr_node_of(m, i)->next) {
    expr_text keyword = expr_node_of(m, i)->keyword;
    if (!keyword.n) continue;
    int32_t *place = keyword_place(c, keyword);
    if (!place || *place != EXPR_NONE)
      return expr_fail(m, i, SMELT_ERR_ARGUMENT, "%s: argument '%.*s' %s", c->op->name,
                       expr_text_width(keyword), keyword.s, place ? "is given twice" : "is not known");
    *place = i;
  }
  return true;
}

/* The next positional argument, EXPR_NONE if there is no more. */
static int32_t peek(const expr_machine *m, const call *c) {
  return c->next != EXPR_NONE && !expr_node_of(m, c->next)->keyword.n ? c->next : EXPR_NONE;
}

static int32_t pop(const expr_machine *m, call *c) {
  int32_t node = peek(m, c);
  if (node != EXPR_NONE) c->next = expr_node_of(m, node)->next;
  return node;
}

static bool fail_missing(expr_machine *m, const call *c, const char *what) {
  return expr_fail(m, c->node, SMELT_ERR_ARGUMENT, "%s: %s is missing", c->op->name, what);
}

/* --- Shape --------------------------------------------------------------------------- */

static bool add_extent(expr_machine *m, call *c, int32_t node) {
  sm_scalar s;
  if (expr_node_of(m, node)->kind == EXPR_LIST)
    return expr_fail(m, node, SMELT_ERR_SHAPE, "a shape is not nested");
  if (!expr_number(m, node, &s)) return false;
  if (s.kind != SM_KIND_SINT || s.as.i64 < 0)
    return expr_fail(m, node, SMELT_ERR_SHAPE, "an extent has to be an integer, 0 or more");
  if (c->attrs.rank == SMELT_MAX_RANK)
    return expr_fail(m, node, SMELT_ERR_SHAPE, "a tensor has at most %d axes", SMELT_MAX_RANK);
  c->dims[c->attrs.rank++] = s.as.i64;
  return true;
}

static bool add_extents(expr_machine *m, call *c, int32_t list) {
  for (int32_t i = expr_node_of(m, list)->args; i != EXPR_NONE; i = expr_node_of(m, i)->next)
    if (!add_extent(m, c, i)) return false;
  return true;
}

static bool is_sequence(const expr_machine *m, int32_t node) {
  expr_kind kind = expr_node_of(m, node)->kind;
  return kind == EXPR_LIST || kind == EXPR_TUPLE;
}

static bool find_shape(expr_machine *m, call *c) {
  if (!has_attribute(c, 's')) return true;
  int32_t first = c->shape != EXPR_NONE ? c->shape : pop(m, c);
  if (first == EXPR_NONE) return fail_missing(m, c, "the shape");
  if (is_sequence(m, first)) return add_extents(m, c, first);
  if (!add_extent(m, c, first)) return false;
  bool more = !*c->op->operands && c->shape == EXPR_NONE;
  while (more && peek(m, c) != EXPR_NONE && expr_dtype(m, peek(m, c)) == SMELT_DTYPE_NONE)
    if (!add_extent(m, c, pop(m, c))) return false;
  return true;
}

/* --- Operands -------------------------------------------------------------------------- */

static size_t positional_count(const expr_machine *m, const call *c) {
  size_t n = 0;
  for (int32_t i = c->next; i != EXPR_NONE && !expr_node_of(m, i)->keyword.n; i = expr_node_of(m, i)->next)
    n++;
  return n;
}

static bool is_arange(const call *c) { return !strcmp(c->op->name, "arange"); }

/* Whether the positional argument is the dtype that comes after the operands
 * of arange, of which one to three are given. */
static bool ends_arange(const expr_machine *m, const call *c, int32_t node) {
  return is_arange(c) && expr_dtype(m, node) != SMELT_DTYPE_NONE;
}

static bool find_operands(expr_machine *m, call *c) {
  size_t wanted = strlen(c->op->operands), given = positional_count(m, c);
  while (c->n < wanted && peek(m, c) != EXPR_NONE && !ends_arange(m, c, peek(m, c)))
    c->operands[c->n++] = pop(m, c);
  if (c->n < wanted && !(is_arange(c) && c->n))
    return expr_fail(m, c->node, SMELT_ERR_ARGUMENT, "%s takes %s%zu operand%s, %zu given", c->op->name,
                     is_arange(c) ? "1 to " : "", wanted, wanted == 1 ? "" : "s", given);
  for (size_t i = 0; i < c->n; i++)
    if (!expr_need(m, c->operands[i])) return false;
  return true;
}

/* --- Dtype -------------------------------------------------------------------------------- */

static bool all_of(const expr_machine *m, const call *c, smelt_dtype dtype) {
  for (size_t i = 0; i < c->n; i++)
    if (smelt_dtype_of(m->values[c->operands[i]].tensor) != dtype) return false;
  return c->n > 0;
}

/* f32, except where the values say otherwise: whole numbers for arange, truth
 * values. */
static smelt_dtype default_dtype(const expr_machine *m, const call *c) {
  if (is_arange(c) && all_of(m, c, SMELT_I64)) return SMELT_I64;
  return all_of(m, c, SMELT_BOOL) ? SMELT_BOOL : SMELT_F32;
}

static bool find_dtype(expr_machine *m, call *c) {
  if (!has_attribute(c, 't')) return true;
  int32_t node = c->dtype != EXPR_NONE ? c->dtype : pop(m, c);
  bool creates = !strpbrk(c->op->operands, "TAB");
  if (node == EXPR_NONE && !creates) return fail_missing(m, c, "the dtype");
  c->attrs.dtype = node == EXPR_NONE ? default_dtype(m, c) : expr_dtype(m, node);
  if (c->attrs.dtype == SMELT_DTYPE_NONE)
    return expr_fail(m, node, SMELT_ERR_DTYPE, "this has to be a dtype, such as f32");
  return true;
}

/* --- The call --------------------------------------------------------------------------------- */

static bool check_all_used(expr_machine *m, const call *c) {
  if (peek(m, c) == EXPR_NONE) return true;
  return expr_fail(m, peek(m, c), SMELT_ERR_ARGUMENT, "%s: too many arguments", c->op->name);
}

/* arange(stop) starts at 0, and the step is 1 unless given. The operands that
 * are left out have no node: they are recorded in the place of the call. */
static bool record_arange(expr_machine *m, const call *c) {
  static const int64_t defaults[] = {0, 0, 1};
  smelt_tensor *operands[3];
  for (size_t i = 0; i < 3; i++) {
    size_t given = c->n == 1 ? i - 1 : i;
    bool is_given = given < c->n;
    operands[i] = is_given ? m->values[c->operands[given]].tensor : smelt_scalar_i64(defaults[i]);
    if (is_given) m->values[c->operands[given]].tensor = NULL;
  }
  return expr_give(m, c->node, smelt_call(m->ctx, c->op->name, operands, 3, &c->attrs), false);
}

static bool record(expr_machine *m, call *c) {
  c->attrs.dims = c->dims;
  if (is_arange(c)) return record_arange(m, c);
  return expr_record(m, c->node, c->op->name, c->operands, c->n, *c->op->attrs ? &c->attrs : NULL);
}

bool expr_call(expr_machine *m, int32_t node) {
  const expr_node *n = expr_node_of(m, node);
  call c = {.node = node,
            .op = find_operation(n->text),
            .next = n->args,
            .shape = EXPR_NONE,
            .dtype = EXPR_NONE,
            .attrs = {.size = sizeof(smelt_attrs)}};
  if (!c.op)
    return expr_fail(m, node, SMELT_ERR_ARGUMENT, "there is no operation '%.*s' ('smelt ops' lists them)",
                     expr_text_width(n->text), n->text.s);
  return find_keywords(m, &c) && find_shape(m, &c) && find_operands(m, &c) && find_dtype(m, &c) &&
         check_all_used(m, &c) && record(m, &c);
}
