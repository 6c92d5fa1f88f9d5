/* SPDX-License-Identifier: Apache-2.0 */
#include "expr_eval.h"

#include <math.h>
#include <stdarg.h>
#include <string.h>

#include "expr_machine.h"
#include "ir/infer.h"

/* --- Scopes --------------------------------------------------------------------- */

void expr_scope_free(expr_scope *scope) {
  for (size_t i = 0; i < scope->variables.len; i++) smelt_drop(scope->variables.items[i].value.tensor);
  sm_vec_free(&sm_malloc_allocator, &scope->variables);
}

smelt_status expr_scope_declare(expr_scope *scope, expr_text name, expr_fault *fault) {
  bool full = scope->variables.len >= INT32_MAX;
  if (!full && sm_vec_push(&sm_malloc_allocator, &scope->variables, (expr_variable){.name = name}))
    return SMELT_OK;
  return expr_fault_set(fault, NULL, 0, SMELT_ERR_MEMORY, "out of memory: variable");
}

int32_t expr_scope_find(const expr_scope *scope, expr_text name) {
  for (size_t i = scope->variables.len; i-- > 0;)
    if (expr_text_equal(scope->variables.items[i].name, name)) return (int32_t)i;
  return EXPR_NONE;
}

void expr_scope_define(expr_scope *scope, int32_t variable, expr_value value) {
  expr_variable *v = &scope->variables.items[variable];
  if (v->uses) v->value = value;
  else smelt_drop(value.tensor);
}

expr_value expr_scope_use(expr_scope *scope, int32_t variable) {
  expr_variable *v = &scope->variables.items[variable];
  expr_value value = v->value;
  if (--v->uses) value.tensor = smelt_ref(value.tensor);
  else v->value.tensor = NULL;
  return value;
}

/* --- Resolving --------------------------------------------------------------------- */

typedef struct named_number {
  const char *name;
  double value;
} named_number;

static const named_number named_numbers[] = {
    {"pi", 3.14159265358979323846}, {"e", 2.71828182845904523536}, {"inf", INFINITY}, {"nan", NAN}};

/* The constant of that name, NULL if there is none. */
static const named_number *find_number(expr_text name) {
  size_t n = sizeof named_numbers / sizeof named_numbers[0];
  for (size_t i = 0; i < n; i++)
    if (expr_text_is(name, named_numbers[i].name)) return &named_numbers[i];
  return NULL;
}

static smelt_dtype find_dtype(expr_text name) {
#define DTYPE(id, value, word, ctype, kind, npy) \
  if (expr_text_is(name, word)) return SMELT_##id;
#include "smelt/dtype.def"
#undef DTYPE
  return SMELT_DTYPE_NONE;
}

/* A number or a dtype. */
static bool is_constant(expr_text name) { return find_number(name) || find_dtype(name) != SMELT_DTYPE_NONE; }

static bool is_operation(expr_text name) {
  for (size_t i = 0; i < smelt_op_count(); i++)
    if (expr_text_is(name, smelt_op_at(i)->name)) return true;
  return false;
}

static smelt_status resolve_name(expr_scope *scope, const expr_program *program, expr_node *node,
                                 expr_fault *fault) {
  node->variable = expr_scope_find(scope, node->text);
  if (node->variable != EXPR_NONE) {
    scope->variables.items[node->variable].uses++;
    return SMELT_OK;
  }
  if (is_constant(node->text)) return SMELT_OK;
  bool operation = is_operation(node->text);
  int width = expr_text_width(node->text);
  const char *advice = operation ? "is an operation: write" : "is not known: give it as";
  const char *example = operation ? "(...)" : "=FILE.npy";
  return expr_fault_set(fault, program->source, node->at, SMELT_ERR_ARGUMENT, "'%.*s' %s %.*s%s", width,
                        node->text.s, advice, width, node->text.s, example);
}

/* Whether the node calls an operation with two results. */
static bool gives_two(const expr_node *node) {
  if (node->kind != EXPR_CALL) return false;
  for (size_t i = 0; i < smelt_op_count(); i++)
    if (expr_text_is(node->text, smelt_op_at(i)->name)) return strchr(smelt_op_at(i)->attrs, 'i') != NULL;
  return false;
}

/* A value that is only a name becomes a variable of that name, so that results
 * can be told apart by it. */
static smelt_status declare_values(expr_scope *scope, const expr_program *program, expr_statement *s,
                                   expr_fault *fault) {
  const expr_node *nodes = program->nodes.items;
  const expr_node *value = &nodes[s->value];
  bool tuple = value->kind == EXPR_TUPLE, two = gives_two(value);
  s->variable = (int32_t)scope->variables.len;
  if (s->second.n && !two)
    return expr_fault_set(fault, program->source, value->at, SMELT_ERR_ARGUMENT, "there is only one result");
  if ((tuple && (s->name.n || !value->n_args)) || (two && s->name.n && !s->second.n))
    return expr_fault_set(fault, program->source, value->at, SMELT_ERR_ARGUMENT, "%s",
                          s->name.n ? "a name takes one value" : "there is no value in ()");
  if (two) {
    smelt_status status = expr_scope_declare(scope, s->name, fault);
    return status == SMELT_OK ? expr_scope_declare(scope, s->second, fault) : status;
  }
  if (!tuple) {
    expr_text name = s->name.n || value->kind != EXPR_NAME ? s->name : value->text;
    return expr_scope_declare(scope, name, fault);
  }
  for (int32_t i = value->args; i != EXPR_NONE; i = nodes[i].next) {
    expr_text name = nodes[i].kind == EXPR_NAME ? nodes[i].text : (expr_text){0};
    smelt_status status = expr_scope_declare(scope, name, fault);
    if (status != SMELT_OK) return status;
  }
  return SMELT_OK;
}

static smelt_status resolve_statement(expr_scope *scope, expr_program *program, expr_statement *s,
                                      expr_fault *fault) {
  for (int32_t i = s->first; i <= s->value; i++) {
    expr_node *node = &program->nodes.items[i];
    if (node->kind != EXPR_NAME) continue;
    smelt_status status = resolve_name(scope, program, node, fault);
    if (status != SMELT_OK) return status;
  }
  return declare_values(scope, program, s, fault);
}

smelt_status expr_resolve(expr_scope *scope, expr_program *program, int32_t *results, expr_fault *fault) {
  size_t before = 0;
  for (size_t i = 0; i < program->statements.len; i++) {
    before = scope->variables.len;
    smelt_status status = resolve_statement(scope, program, &program->statements.items[i], fault);
    if (status != SMELT_OK) return status;
  }
  if (results) *results = (int32_t)(scope->variables.len - before);
  return SMELT_OK;
}

static bool is_assigned(const expr_program *program, size_t before, expr_text name) {
  for (size_t i = 0; i < before; i++)
    if (expr_text_equal(program->statements.items[i].name, name)) return true;
  return false;
}

smelt_status expr_declare_inputs(expr_scope *scope, const expr_program *program, expr_fault *fault) {
  for (size_t i = 0; i < program->statements.len; i++) {
    const expr_statement *s = &program->statements.items[i];
    for (int32_t n = s->first; n <= s->value; n++) {
      expr_text name = program->nodes.items[n].text;
      bool known = program->nodes.items[n].kind != EXPR_NAME || is_assigned(program, i, name) ||
                   is_constant(name) || expr_scope_find(scope, name) != EXPR_NONE;
      smelt_status status = known ? SMELT_OK : expr_scope_declare(scope, name, fault);
      if (status != SMELT_OK) return status;
    }
  }
  return SMELT_OK;
}

/* --- Values of nodes ------------------------------------------------------------------ */

bool expr_fail(expr_machine *m, int32_t node, smelt_status code, const char *format, ...) {
  char text[sizeof m->fault->error.text];
  va_list args;
  va_start(args, format);
  (void)vsnprintf(text, sizeof text, format, args);
  va_end(args);
  (void)expr_fault_set(m->fault, m->program->source, expr_node_of(m, node)->at, code, "%s", text);
  return false;
}

bool expr_give(expr_machine *m, int32_t node, smelt_tensor *tensor, bool constant) {
  smelt_error err;
  smelt_status status = smelt_check(tensor, &err);
  if (status != SMELT_OK) {
    smelt_drop(tensor);
    return expr_fail(m, node, status, "%s", err.text);
  }
  m->values[node] = (expr_value){tensor, constant};
  return true;
}

static expr_value take(expr_machine *m, int32_t node) {
  expr_value value = m->values[node];
  m->values[node].tensor = NULL;
  return value;
}

smelt_dtype expr_dtype(const expr_machine *m, int32_t node) {
  const expr_node *n = expr_node_of(m, node);
  bool may_name = n->kind == EXPR_STRING || (n->kind == EXPR_NAME && n->variable == EXPR_NONE);
  return may_name ? find_dtype(n->text) : SMELT_DTYPE_NONE;
}

bool expr_need(expr_machine *m, int32_t node) {
  const expr_node *n = expr_node_of(m, node);
  if (m->values[node].tensor) return true;
  if (n->kind == EXPR_LIST) return expr_list(m, node);
  if (n->kind == EXPR_TUPLE)
    return expr_fail(m, node, SMELT_ERR_ARGUMENT,
                     "a tuple is only a shape or the result: use [...] for a tensor");
  return expr_fail(m, node, SMELT_ERR_ARGUMENT, "'%.*s' is %s, not a value", expr_text_width(n->text),
                   n->text.s, expr_dtype(m, node) == SMELT_DTYPE_NONE ? "text" : "a dtype");
}

/* --- Recording -------------------------------------------------------------------------- */

/* Whether the operation refuses these integers, all of them literals, although
 * it would take floats: it is then called with floats, so that 1/3 and sqrt(2)
 * are what they look like. */
static bool refuses_integers(expr_machine *m, const char *op, const int32_t *operands, size_t n) {
  smelt_tensor *refs[SM_MAX_OPERANDS];
  for (size_t i = 0; i < n; i++) {
    smelt_dtype dtype = smelt_dtype_of(m->values[operands[i]].tensor);
    if (dtype != SMELT_I64 && dtype != SMELT_U64) return false;
  }
  for (size_t i = 0; i < n; i++) refs[i] = smelt_ref(m->values[operands[i]].tensor);
  smelt_tensor *result = smelt_call(m->ctx, op, refs, n, NULL);
  bool refused = smelt_check(result, NULL) == SMELT_ERR_DTYPE;
  smelt_drop(result);
  return refused;
}

static bool make_float(expr_machine *m, int32_t node) {
  double number;
  smelt_error err;
  smelt_tensor *integer = take(m, node).tensor;
  smelt_status status = smelt_item_f64(integer, &number, &err);
  smelt_drop(integer);
  if (status != SMELT_OK) return expr_fail(m, node, status, "%s", err.text);
  return expr_give(m, node, smelt_scalar_f64(number), true);
}

static bool make_floats(expr_machine *m, const int32_t *operands, size_t n) {
  for (size_t i = 0; i < n; i++)
    if (!make_float(m, operands[i])) return false;
  return true;
}

bool expr_record(expr_machine *m, int32_t node, const char *op, const int32_t *operands, size_t n,
                 const smelt_attrs *attrs) {
  smelt_tensor *tensors[SM_MAX_OPERANDS];
  bool constant = n && !attrs;
  for (size_t i = 0; i < n; i++) constant = constant && m->values[operands[i]].constant;
  if (constant && refuses_integers(m, op, operands, n) && !make_floats(m, operands, n)) return false;
  for (size_t i = 0; i < n; i++) tensors[i] = take(m, operands[i]).tensor;
  return expr_give(m, node, smelt_call(m->ctx, op, tensors, n, attrs), constant);
}

/* --- Running ------------------------------------------------------------------------------ */

static bool run_number(expr_machine *m, int32_t node) {
  sm_scalar s = expr_node_of(m, node)->number;
  switch (s.kind) {
    case SM_KIND_BOOL:
      return expr_give(m, node, smelt_scalar_bool(s.as.b), true);
    case SM_KIND_SINT:
      return expr_give(m, node, smelt_scalar_i64(s.as.i64), true);
    case SM_KIND_UINT:
      return expr_give(m, node, smelt_scalar_u64(s.as.u64), true);
    case SM_KIND_FLOAT:
      return expr_give(m, node, smelt_scalar_f64(s.as.f64), true);
    case SM_KIND_NONE:
      break;
  }
  return expr_fail(m, node, SMELT_ERR_INTERNAL, "a number without kind");
}

static bool run_name(expr_machine *m, int32_t node) {
  const expr_node *n = expr_node_of(m, node);
  if (n->variable != EXPR_NONE) {
    m->values[node] = expr_scope_use(m->scope, n->variable);
    return true;
  }
  const named_number *number = find_number(n->text);
  return !number || expr_give(m, node, smelt_scalar_f64(number->value), true);
}

static bool run_operator(expr_machine *m, int32_t node) {
  const expr_node *n = expr_node_of(m, node);
  bool unary = n->kind == EXPR_UNARY;
  const char *op = unary ? n->op->prefix : n->op->infix;
  int32_t operands[] = {n->args, unary ? EXPR_NONE : expr_node_of(m, n->args)->next};
  size_t n_operands = unary ? 1 : 2;
  for (size_t i = 0; i < n_operands; i++)
    if (!expr_need(m, operands[i])) return false;
  if (!smelt_op_find(op))
    return expr_fail(m, node, SMELT_ERR_UNSUPPORTED, "'%s' needs the operation %s, which there is not",
                     n->op->text, op);
  return expr_record(m, node, op, operands, n_operands, NULL);
}

static bool run_node(expr_machine *m, int32_t node) {
  switch (expr_node_of(m, node)->kind) {
    case EXPR_NUMBER:
      return run_number(m, node);
    case EXPR_NAME:
      return run_name(m, node);
    case EXPR_UNARY:
    case EXPR_BINARY:
      return run_operator(m, node);
    case EXPR_CALL:
      return expr_call(m, node);
    case EXPR_INDEX:
      return expr_index(m, node);
    case EXPR_ATTRIBUTE:
      return expr_attribute(m, node);
    case EXPR_STRING:
    case EXPR_LIST:
    case EXPR_TUPLE:
    case EXPR_RANGE:
    case EXPR_ELLIPSIS:
      return true;
  }
  return true;
}

static bool define(expr_machine *m, int32_t variable, int32_t node) {
  if (!expr_need(m, node)) return false;
  expr_scope_define(m->scope, variable, take(m, node));
  return true;
}

static bool define_second(expr_machine *m, int32_t variable) {
  expr_value value = {m->second, false};
  m->second = NULL;
  expr_scope_define(m->scope, variable, value);
  return true;
}

static bool run_statement(expr_machine *m, const expr_statement *s) {
  m->root = s->value;
  for (int32_t i = s->first; i <= s->value; i++)
    if (!run_node(m, i)) return false;
  const expr_node *value = expr_node_of(m, s->value);
  if (m->second) return define(m, s->variable, s->value) && define_second(m, s->variable + 1);
  if (value->kind != EXPR_TUPLE) return define(m, s->variable, s->value);
  int32_t variable = s->variable;
  for (int32_t i = value->args; i != EXPR_NONE; i = expr_node_of(m, i)->next)
    if (!define(m, variable++, i)) return false;
  return true;
}

static bool run_statements(expr_machine *m) {
  for (size_t i = 0; i < m->program->statements.len; i++)
    if (!run_statement(m, &m->program->statements.items[i])) return false;
  return true;
}

smelt_status expr_run(expr_scope *scope, smelt_context *ctx, const expr_program *program, expr_fault *fault) {
  size_t n = program->nodes.len;
  expr_value *values = sm_calloc(&sm_malloc_allocator, n, sizeof *values);
  if (!values) return expr_fault_set(fault, NULL, 0, SMELT_ERR_MEMORY, "out of memory: expression");
  expr_machine m = {.scope = scope, .ctx = ctx, .program = program, .values = values, .fault = fault};
  bool ok = run_statements(&m);
  for (size_t i = 0; i < n; i++) smelt_drop(values[i].tensor);
  smelt_drop(m.second);
  sm_free(&sm_malloc_allocator, values, n * sizeof *values);
  return ok ? SMELT_OK : fault->error.code;
}
