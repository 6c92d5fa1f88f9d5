/* SPDX-License-Identifier: Apache-2.0
 *
 * Calls: which argument is which operand or attribute of the operation.
 *
 * The arguments of an operation are, in this order: the shape if it creates a
 * tensor, its operands, its other attributes. Attributes may be given by keyword.
 * Those that are lists of integers (shape, axes) are a list, a tuple, one number,
 * or, if nothing else can follow, several numbers. Reductions have more arguments
 * behind their axes, so that several axes are a list there. */
#include <string.h>

#include "expr_machine.h"
#include "ir/infer.h"

/* Where the integers of a shape or of axes may lie, and what is said otherwise. */
typedef struct integer_kind {
  int64_t least, most;
  const char *nested, *wrong;
} integer_kind;

static const integer_kind extents = {0, INT64_MAX, "a shape is not nested",
                                     "an extent has to be an integer, 0 or more"};
static const integer_kind new_extents = {-1, INT64_MAX, "a shape is not nested",
                                         "an extent has to be an integer, or -1 to be found out"};
static const integer_kind places = {INT32_MIN, INT32_MAX, "a list of axes is not nested",
                                    "an axis has to be an integer"};

typedef struct call {
  int32_t node;
  const smelt_op_info *op;
  int32_t next;     /* the first positional argument not yet used */
  int32_t integers; /* the shape or the axes, given by keyword; EXPR_NONE otherwise */
  int32_t dtype;    /* the same */
  int32_t keepdims; /* the same */
  int32_t number;   /* the same */
  int32_t groups;   /* the same */
  int32_t operands[SM_MAX_OPERANDS];
  size_t n;     /* operands found */
  int32_t list; /* the operands of an operation that takes a list */
  int n_numbers;
  int64_t numbers[SMELT_MAX_RANK]; /* of the shape or the axes */
  int axes[SMELT_MAX_RANK];
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

static bool takes_list(const call *c) { return c->op->operands[0] == 'L'; }

static bool creates(const call *c) { return strpbrk(c->op->operands, "TABL") == NULL; }

/* --- Keywords ---------------------------------------------------------------------- */

/* The place of a keyword argument in the call, NULL if the operation has none
 * of that name. */
static int32_t *keyword_place(call *c, expr_text keyword) {
  for (const char *letter = c->op->attrs; *letter; letter++) {
    if (*letter == 'i' || !expr_text_is(keyword, sm_attr_row_of(*letter)->keyword)) continue;
    if (*letter == 't' || *letter == 'd') return &c->dtype;
    if (*letter == 'k') return &c->keepdims;
    if (*letter == 'g') return &c->groups;
    return strchr("cne", *letter) ? &c->number : &c->integers;
  }
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

static bool is_sequence(const expr_machine *m, int32_t node) {
  expr_kind kind = expr_node_of(m, node)->kind;
  return kind == EXPR_LIST || kind == EXPR_TUPLE;
}

/* The operands of an operation that takes a list stand in one argument. */
static bool find_list(expr_machine *m, call *c) {
  c->list = pop(m, c);
  if (c->list == EXPR_NONE || !is_sequence(m, c->list))
    return expr_fail(m, c->list == EXPR_NONE ? c->node : c->list, SMELT_ERR_ARGUMENT,
                     "%s takes a list of tensors", c->op->name);
  for (int32_t i = expr_node_of(m, c->list)->args; i != EXPR_NONE; i = expr_node_of(m, i)->next)
    if (!expr_need(m, i)) return false;
  return true;
}

static bool find_operands(expr_machine *m, call *c) {
  if (takes_list(c)) return find_list(m, c);
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

/* --- Shapes and axes --------------------------------------------------------------------- */

static bool add_number(expr_machine *m, call *c, int32_t node, const integer_kind *kind) {
  sm_scalar s;
  if (expr_node_of(m, node)->kind == EXPR_LIST)
    return expr_fail(m, node, SMELT_ERR_SHAPE, "%s", kind->nested);
  if (!expr_number(m, node, &s)) return false;
  if (s.kind != SM_KIND_SINT || s.as.i64 < kind->least || s.as.i64 > kind->most)
    return expr_fail(m, node, SMELT_ERR_SHAPE, "%s", kind->wrong);
  if (c->n_numbers == SMELT_MAX_RANK)
    return expr_fail(m, node, SMELT_ERR_SHAPE, "a tensor has at most %d axes", SMELT_MAX_RANK);
  c->numbers[c->n_numbers++] = s.as.i64;
  return true;
}

static bool add_numbers(expr_machine *m, call *c, int32_t list, const integer_kind *kind) {
  for (int32_t i = expr_node_of(m, list)->args; i != EXPR_NONE; i = expr_node_of(m, i)->next)
    if (!add_number(m, c, i, kind)) return false;
  return true;
}

/* The integers that begin at argument `first`. */
static bool find_numbers(expr_machine *m, call *c, int32_t first, const integer_kind *kind) {
  if (is_sequence(m, first)) return add_numbers(m, c, first, kind);
  if (!add_number(m, c, first, kind)) return false;
  bool more = (!creates(c) || !*c->op->operands) && c->integers == EXPR_NONE && !has_attribute(c, 'o');
  while (more && peek(m, c) != EXPR_NONE && expr_dtype(m, peek(m, c)) == SMELT_DTYPE_NONE)
    if (!add_number(m, c, pop(m, c), kind)) return false;
  return true;
}

static bool find_shape(expr_machine *m, call *c) {
  if (!has_attribute(c, 's')) return true;
  int32_t first = c->integers != EXPR_NONE ? c->integers : pop(m, c);
  if (first == EXPR_NONE) return fail_missing(m, c, "the shape");
  if (!find_numbers(m, c, first, creates(c) ? &extents : &new_extents)) return false;
  c->attrs.rank = c->n_numbers;
  c->attrs.dims = c->numbers;
  return true;
}

/* A list of any number of axes may be left out. */
static bool find_axes(expr_machine *m, call *c) {
  bool any = has_attribute(c, 'a') || has_attribute(c, 'o'),
       wanted = any || has_attribute(c, 'p') || has_attribute(c, 'x');
  int32_t first = wanted && c->integers == EXPR_NONE ? pop(m, c) : c->integers;
  if (!wanted || (any && first == EXPR_NONE)) return true;
  if (first == EXPR_NONE) return fail_missing(m, c, has_attribute(c, 'x') ? "the axis" : "a pair of axes");
  if (!find_numbers(m, c, first, &places)) return false;
  for (int i = 0; i < c->n_numbers; i++) c->axes[i] = (int)c->numbers[i];
  c->attrs.axes = c->axes;
  c->attrs.n_axes = (size_t)c->n_numbers;
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

/* The dtype of a sum is the operation's to choose, if none is given. */
static bool find_dtype(expr_machine *m, call *c) {
  bool may_lack = has_attribute(c, 'd');
  if (!has_attribute(c, 't') && !may_lack) return true;
  int32_t node = c->dtype != EXPR_NONE ? c->dtype : pop(m, c);
  if (node == EXPR_NONE && may_lack) return true;
  if (node == EXPR_NONE && !creates(c)) return fail_missing(m, c, "the dtype");
  c->attrs.dtype = node == EXPR_NONE ? default_dtype(m, c) : expr_dtype(m, node);
  if (c->attrs.dtype == SMELT_DTYPE_NONE)
    return expr_fail(m, node, SMELT_ERR_DTYPE, "this has to be a dtype, such as f32");
  return true;
}

/* --- Other attributes of reductions ------------------------------------------------------- */

static bool find_keepdims(expr_machine *m, call *c) {
  if (!has_attribute(c, 'k')) return true;
  int32_t node = c->keepdims != EXPR_NONE ? c->keepdims : pop(m, c);
  sm_scalar s = {.as.b = false};
  if (node == EXPR_NONE) return true;
  if (!expr_number(m, node, &s)) return false;
  if (s.kind != SM_KIND_BOOL) return expr_fail(m, node, SMELT_ERR_ARGUMENT, "keepdims is true or false");
  c->attrs.keepdims = s.as.b;
  return true;
}

static bool find_groups(expr_machine *m, call *c) {
  if (!has_attribute(c, 'g')) return true;
  int32_t node = c->groups != EXPR_NONE ? c->groups : pop(m, c);
  sm_scalar s;
  if (node == EXPR_NONE) return fail_missing(m, c, "the number of groups");
  if (!expr_number(m, node, &s)) return false;
  if (s.kind != SM_KIND_SINT) return expr_fail(m, node, SMELT_ERR_ARGUMENT, "groups is an integer");
  c->attrs.groups = s.as.i64;
  return true;
}

static bool find_number(expr_machine *m, call *c) {
  char letter = sm_op_number_letter(sm_op_row_of(sm_op_find(c->op->name)));
  if (!letter) return true;
  const sm_attr_row *row = sm_attr_row_of(letter);
  int32_t node = c->number != EXPR_NONE ? c->number : pop(m, c);
  sm_scalar s;
  sm_word word;
  c->attrs.number = row->usual;
  if (node == EXPR_NONE) return true;
  if (!expr_number(m, node, &s)) return false;
  if (sm_scalar_convert(s, SMELT_F64, &word, NULL) != SMELT_OK)
    return expr_fail(m, node, SMELT_ERR_ARGUMENT, "%s has to be a number", row->keyword);
  c->attrs.number = word.F64;
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

static bool record_list(expr_machine *m, const call *c) {
  size_t n = (size_t)expr_node_of(m, c->list)->n_args, i = 0, bytes = (n + 1) * sizeof(smelt_tensor *);
  smelt_tensor **tensors = sm_alloc(&sm_malloc_allocator, bytes);
  if (!tensors) return expr_fail(m, c->node, SMELT_ERR_MEMORY, "out of memory: list");
  for (int32_t k = expr_node_of(m, c->list)->args; k != EXPR_NONE; k = expr_node_of(m, k)->next) {
    tensors[i++] = m->values[k].tensor;
    m->values[k].tensor = NULL;
  }
  bool ok = expr_give(m, c->node, smelt_call(m->ctx, c->op->name, tensors, n, &c->attrs), false);
  sm_free(&sm_malloc_allocator, tensors, bytes);
  return ok;
}

/* Whoever uses one result only is told so, rather than given the first. */
static bool ask_for_second(expr_machine *m, call *c) {
  if (!has_attribute(c, 'i')) return true;
  if (c->node != m->root)
    return expr_fail(m, c->node, SMELT_ERR_ARGUMENT, "%s has two results: write a, b = %s(...)", c->op->name,
                     c->op->name);
  c->attrs.indices = &m->second;
  return true;
}

static bool record(expr_machine *m, call *c) {
  if (!ask_for_second(m, c)) return false;
  if (is_arange(c)) return record_arange(m, c);
  if (takes_list(c)) return record_list(m, c);
  return expr_record(m, c->node, c->op->name, c->operands, c->n, *c->op->attrs ? &c->attrs : NULL);
}

bool expr_call(expr_machine *m, int32_t node) {
  const expr_node *n = expr_node_of(m, node);
  call c = {.node = node,
            .op = find_operation(n->text),
            .next = n->args,
            .integers = EXPR_NONE,
            .dtype = EXPR_NONE,
            .keepdims = EXPR_NONE,
            .number = EXPR_NONE,
            .groups = EXPR_NONE,
            .attrs = {.size = sizeof(smelt_attrs)}};
  if (!c.op)
    return expr_fail(m, node, SMELT_ERR_ARGUMENT, "there is no operation '%.*s' ('smelt ops' lists them)",
                     expr_text_width(n->text), n->text.s);
  if (has_attribute(&c, 'r'))
    return expr_fail(m, node, SMELT_ERR_ARGUMENT, "%s is %s", c.op->name, sm_attr_row_of('r')->value);
  return find_keywords(m, &c) && (!creates(&c) || find_shape(m, &c)) && find_operands(m, &c) &&
         (creates(&c) || find_shape(m, &c)) && find_axes(m, &c) && find_keepdims(m, &c) &&
         find_dtype(m, &c) && find_groups(m, &c) && find_number(m, &c) && check_all_used(m, &c) &&
         record(m, &c);
}
