/* SPDX-License-Identifier: Apache-2.0 */
#include "expr_parse.h"

#include <stdarg.h>
#include <string.h>

/* A recursive descent with one token of lookahead (two for `name =`). Parsing
 * functions answer the node they made, or EXPR_NONE after filling the fault. */
typedef struct parser {
  expr_program *program;
  expr_lexer lexer;
  expr_token token; /* the one to be looked at */
  int depth;
  expr_fault *fault;
} parser;

static int32_t parse_test(parser *p);
static int32_t parse_unary(parser *p);

/* --- Tokens and faults ---------------------------------------------------------- */

__attribute__((format(printf, 4, 5))) static int32_t fail(parser *p, size_t at, smelt_status code,
                                                          const char *format, ...) {
  char text[sizeof p->fault->error.text];
  va_list args;
  va_start(args, format);
  (void)vsnprintf(text, sizeof text, format, args);
  va_end(args);
  (void)expr_fault_set(p->fault, p->lexer.source, at, code, "%s", text);
  return EXPR_NONE;
}

static int32_t fail_memory(parser *p) {
  return fail(p, p->token.at, SMELT_ERR_MEMORY, "out of memory: expression");
}

static bool advance(parser *p) { return expr_lexer_next(&p->lexer, &p->token, p->fault) == SMELT_OK; }

static bool at_mark(const parser *p, char mark) {
  return p->token.kind == EXPR_TOKEN_MARK && p->token.text.s[0] == mark;
}

static bool at_operator(const parser *p) { return p->token.kind == EXPR_TOKEN_OPERATOR; }

/* The token does not fit here. `wanted` (optional) says what would. */
static int32_t unexpected(parser *p, const char *wanted) {
  const expr_token *t = &p->token;
  const char *expected = wanted ? ", expected " : "";
  if (!wanted) wanted = "";
  if (t->kind == EXPR_TOKEN_END)
    return fail(p, t->at, SMELT_ERR_FORMAT, "unexpected end of the expression%s%s", expected, wanted);
  if (at_operator(p) && t->op->advice)
    return fail(p, t->at, SMELT_ERR_FORMAT, "'%s' is not supported: %s", t->op->text, t->op->advice);
  return fail(p, t->at, SMELT_ERR_FORMAT, "unexpected '%.*s'%s%s", expr_text_width(t->text), t->text.s,
              expected, wanted);
}

/* What follows an expression ends neither it nor the bracket at `open`. */
static int32_t unclosed(parser *p, size_t open, char bracket, const char *wanted) {
  if (p->token.kind != EXPR_TOKEN_END) return unexpected(p, wanted);
  return fail(p, open, SMELT_ERR_FORMAT, "'%c' is never closed", bracket);
}

/* --- Nodes ------------------------------------------------------------------------ */

static expr_node *node_at(parser *p, int32_t index) { return &p->program->nodes.items[index]; }

static int32_t add_node(parser *p, expr_node node) {
  if (p->program->nodes.len >= INT32_MAX) return fail_memory(p);
  node.next = EXPR_NONE;
  if (!sm_vec_push(&sm_malloc_allocator, &p->program->nodes, node)) return fail_memory(p);
  return (int32_t)p->program->nodes.len - 1;
}

/* Arguments that are being collected for a node that comes after them. */
typedef struct arguments {
  int32_t first, last, n;
} arguments;

static void add_argument(parser *p, arguments *args, int32_t node) {
  if (args->n++) node_at(p, args->last)->next = node;
  else args->first = node;
  args->last = node;
}

static int32_t add_leaf(parser *p, expr_kind kind) {
  expr_node node = {.kind = kind,
                    .at = p->token.at,
                    .text = p->token.text,
                    .number = p->token.number,
                    .args = EXPR_NONE,
                    .variable = EXPR_NONE};
  int32_t index = add_node(p, node);
  return index == EXPR_NONE || !advance(p) ? EXPR_NONE : index;
}

static int32_t add_parent(parser *p, expr_node node, arguments args) {
  node.args = args.first;
  node.n_args = args.n;
  return add_node(p, node);
}

/* --- Numbers ------------------------------------------------------------------------ */

/* -value; false if no integer type holds it. */
static bool negate(sm_scalar *s) {
  if (s->kind == SM_KIND_FLOAT) {
    s->as.f64 = -s->as.f64;
  } else if (s->kind == SM_KIND_SINT && s->as.i64 == INT64_MIN) {
    *s = (sm_scalar){.kind = SM_KIND_UINT, .as.u64 = (uint64_t)1 << 63};
  } else if (s->kind == SM_KIND_SINT) {
    s->as.i64 = -s->as.i64;
  } else {
    if (s->as.u64 != (uint64_t)1 << 63) return false;
    *s = (sm_scalar){.kind = SM_KIND_SINT, .as.i64 = INT64_MIN};
  }
  return true;
}

static bool is_negatable(const expr_node *node, const expr_operator *op) {
  return node->kind == EXPR_NUMBER && node->number.kind != SM_KIND_BOOL && !strcmp(op->text, "-");
}

static int32_t negate_number(parser *p, int32_t number, size_t at) {
  if (!negate(&node_at(p, number)->number))
    return fail(p, at, SMELT_ERR_FORMAT, "number too large for a negative integer");
  node_at(p, number)->at = at;
  return number;
}

/* --- Brackets and calls --------------------------------------------------------------- */

/* What `parse_item` reads, separated by commas, up to `close`, which is consumed; a
 * comma before it is allowed. */
static bool parse_items(parser *p, int32_t (*parse_item)(parser *p), size_t open, char bracket, char close,
                        arguments *args, bool *comma) {
  const char *wanted = close == ')' ? "',' or ')'" : "',' or ']'";
  *comma = false;
  while (!at_mark(p, close)) {
    if (args->n && !*comma) return unclosed(p, open, bracket, wanted), false;
    if (p->token.kind == EXPR_TOKEN_END) return unclosed(p, open, bracket, wanted), false;
    int32_t item = parse_item(p);
    if (item == EXPR_NONE) return false;
    add_argument(p, args, item);
    *comma = at_mark(p, ',');
    if (*comma && !advance(p)) return false;
  }
  return advance(p);
}

static int32_t parse_list(parser *p) {
  arguments args = {EXPR_NONE, EXPR_NONE, 0};
  size_t at = p->token.at;
  bool comma;
  if (!advance(p) || !parse_items(p, parse_test, at, '[', ']', &args, &comma)) return EXPR_NONE;
  return add_parent(p, (expr_node){.kind = EXPR_LIST, .at = at}, args);
}

static int32_t parse_parentheses(parser *p) {
  arguments args = {EXPR_NONE, EXPR_NONE, 0};
  size_t at = p->token.at;
  bool comma;
  if (!advance(p) || !parse_items(p, parse_test, at, '(', ')', &args, &comma)) return EXPR_NONE;
  if (args.n == 1 && !comma) return args.first;
  return add_parent(p, (expr_node){.kind = EXPR_TUPLE, .at = at}, args);
}

/* If `name =` comes next, consumes it and answers the name. */
static bool parse_name_equals(parser *p, expr_text *name) {
  *name = (expr_text){0};
  if (p->token.kind != EXPR_TOKEN_NAME) return true;
  parser saved = *p;
  if (!advance(p)) return false;
  if (at_mark(p, '=')) {
    *name = saved.token.text;
    return advance(p);
  }
  *p = saved;
  return true;
}

static bool parse_call_argument(parser *p, arguments *args, bool *keywords) {
  expr_text keyword;
  size_t at = p->token.at;
  if (!parse_name_equals(p, &keyword)) return false;
  if (*keywords && !keyword.n)
    return fail(p, at, SMELT_ERR_FORMAT, "a positional argument cannot follow a keyword argument"), false;
  *keywords = keyword.n > 0;
  int32_t value = parse_test(p);
  if (value == EXPR_NONE) return false;
  node_at(p, value)->keyword = keyword;
  add_argument(p, args, value);
  return true;
}

static int32_t parse_call(parser *p, expr_token name) {
  arguments args = {EXPR_NONE, EXPR_NONE, 0};
  size_t open = p->token.at;
  bool keywords = false;
  if (!advance(p)) return EXPR_NONE;
  while (!at_mark(p, ')')) {
    if (p->token.kind == EXPR_TOKEN_END) return unclosed(p, open, '(', NULL);
    if (!parse_call_argument(p, &args, &keywords)) return EXPR_NONE;
    if (!at_mark(p, ',') && !at_mark(p, ')')) return unclosed(p, open, '(', "',' or ')'");
    if (at_mark(p, ',') && !advance(p)) return EXPR_NONE;
  }
  if (!advance(p)) return EXPR_NONE;
  return add_parent(p, (expr_node){.kind = EXPR_CALL, .at = name.at, .text = name.text}, args);
}

static int32_t parse_name(parser *p) {
  parser saved = *p;
  if (!advance(p)) return EXPR_NONE;
  if (at_mark(p, '(')) return parse_call(p, saved.token);
  *p = saved;
  return add_leaf(p, EXPR_NAME);
}

static int32_t parse_atom(parser *p) {
  switch (p->token.kind) {
    case EXPR_TOKEN_NAME:
      return parse_name(p);
    case EXPR_TOKEN_NUMBER:
      return add_leaf(p, EXPR_NUMBER);
    case EXPR_TOKEN_STRING:
      return add_leaf(p, EXPR_STRING);
    case EXPR_TOKEN_MARK:
      if (at_mark(p, '(')) return parse_parentheses(p);
      if (at_mark(p, '[')) return parse_list(p);
      return unexpected(p, NULL);
    case EXPR_TOKEN_END:
    case EXPR_TOKEN_OPERATOR:
      return unexpected(p, NULL);
  }
  return unexpected(p, NULL);
}

/* --- Indices and attributes ----------------------------------------------------------------- */

/* A part of a range if there is one before the next colon or the end. */
static bool parse_part(parser *p, int part, arguments *args, int *parts) {
  if (at_mark(p, ':') || at_mark(p, ',') || at_mark(p, ']')) return true;
  int32_t node = parse_test(p);
  if (node == EXPR_NONE) return false;
  add_argument(p, args, node);
  *parts |= part;
  return true;
}

/* What follows the start of a range, at its first colon. */
static int32_t parse_range(parser *p, arguments args, int parts) {
  size_t at = p->token.at;
  if (!advance(p) || !parse_part(p, EXPR_STOP, &args, &parts)) return EXPR_NONE;
  if (at_mark(p, ':') && (!advance(p) || !parse_part(p, EXPR_STEP, &args, &parts))) return EXPR_NONE;
  return add_parent(p, (expr_node){.kind = EXPR_RANGE, .at = at, .parts = parts}, args);
}

static int32_t parse_ellipsis(parser *p) {
  size_t at = p->token.at;
  for (int i = 0; i < 3; i++) {
    if (!at_mark(p, '.')) return unexpected(p, "'...'");
    if (!advance(p)) return EXPR_NONE;
  }
  return add_parent(p, (expr_node){.kind = EXPR_ELLIPSIS, .at = at}, (arguments){EXPR_NONE, EXPR_NONE, 0});
}

static int32_t parse_subscript(parser *p) {
  arguments args = {EXPR_NONE, EXPR_NONE, 0};
  int parts = 0;
  if (at_mark(p, '.')) return parse_ellipsis(p);
  if (!parse_part(p, EXPR_START, &args, &parts)) return EXPR_NONE;
  if (at_mark(p, ':')) return parse_range(p, args, parts);
  return args.n ? args.first : unexpected(p, "an index");
}

static int32_t parse_index(parser *p, int32_t value) {
  arguments args = {EXPR_NONE, EXPR_NONE, 0};
  size_t at = p->token.at;
  bool comma;
  if (!advance(p)) return EXPR_NONE;
  if (at_mark(p, ']')) return unexpected(p, "an index");
  if (!parse_items(p, parse_subscript, at, '[', ']', &args, &comma)) return EXPR_NONE;
  node_at(p, value)->next = args.first;
  args.first = value;
  args.n++;
  return add_parent(p, (expr_node){.kind = EXPR_INDEX, .at = at}, args);
}

static int32_t parse_attribute(parser *p, int32_t value) {
  size_t at = p->token.at;
  if (!advance(p)) return EXPR_NONE;
  if (p->token.kind != EXPR_TOKEN_NAME || !expr_text_is(p->token.text, "T"))
    return fail(p, at, SMELT_ERR_FORMAT, "attributes and methods are not supported, except .T");
  expr_text name = p->token.text;
  if (!advance(p)) return EXPR_NONE;
  return add_parent(p, (expr_node){.kind = EXPR_ATTRIBUTE, .at = at, .text = name},
                    (arguments){value, value, 1});
}

static int32_t parse_primary(parser *p) {
  int32_t node = parse_atom(p);
  while (node != EXPR_NONE && (at_mark(p, '[') || at_mark(p, '.')))
    node = at_mark(p, '[') ? parse_index(p, node) : parse_attribute(p, node);
  if (node != EXPR_NONE && at_mark(p, '('))
    return fail(p, p->token.at, SMELT_ERR_FORMAT, "only a name can be called");
  return node;
}

/* --- Operators --------------------------------------------------------------------------- */

static bool enter(parser *p) {
  if (p->depth++ < EXPR_MAX_DEPTH) return true;
  (void)fail(p, p->token.at, SMELT_ERR_LIMIT, "nested deeper than %d levels", EXPR_MAX_DEPTH);
  return false;
}

static int32_t add_unary(parser *p, const expr_operator *op, size_t at, int32_t operand) {
  if (operand == EXPR_NONE) return EXPR_NONE;
  return add_parent(p, (expr_node){.kind = EXPR_UNARY, .at = at, .op = op}, (arguments){operand, operand, 1});
}

static int32_t add_binary(parser *p, const expr_operator *op, size_t at, int32_t left, int32_t right) {
  if (right == EXPR_NONE) return EXPR_NONE;
  node_at(p, left)->next = right;
  return add_parent(p, (expr_node){.kind = EXPR_BINARY, .at = at, .op = op}, (arguments){left, right, 2});
}

/* Whether an operator of this level between operands comes next. */
static bool at_infix(const parser *p, expr_level level) {
  return at_operator(p) && p->token.op->infix && p->token.op->level == level;
}

static bool at_prefix(const parser *p, expr_level level) {
  return at_operator(p) && p->token.op->prefix && p->token.op->before == level;
}

/* primary ['**' unary]: binds tighter than a prefix operator on its left and
 * looser than one on its right. */
static int32_t parse_power(parser *p) {
  int32_t base = parse_primary(p);
  if (base == EXPR_NONE || !at_infix(p, EXPR_LEVEL_POWER)) return base;
  expr_token op = p->token;
  if (!advance(p)) return EXPR_NONE;
  return add_binary(p, op.op, op.at, base, parse_unary(p));
}

static int32_t parse_prefixed(parser *p) {
  if (!at_prefix(p, EXPR_LEVEL_UNARY)) return parse_power(p);
  expr_token op = p->token;
  if (!advance(p)) return EXPR_NONE;
  int32_t operand = parse_unary(p);
  if (operand != EXPR_NONE && is_negatable(node_at(p, operand), op.op))
    return negate_number(p, operand, op.at);
  return add_unary(p, op.op, op.at, operand);
}

static int32_t parse_unary(parser *p) {
  int32_t node = enter(p) ? parse_prefixed(p) : EXPR_NONE;
  p->depth--;
  return node;
}

/* Operators between operands that bind at least as tight as `level`; equal
 * ones associate to the left. */
static int32_t parse_infix(parser *p, expr_level level) {
  int32_t left = parse_unary(p);
  while (left != EXPR_NONE && at_operator(p) && p->token.op->infix && p->token.op->level >= level) {
    expr_token op = p->token;
    if (!advance(p)) return EXPR_NONE;
    left = add_binary(p, op.op, op.at, left, parse_infix(p, op.op->level + 1));
    if (left != EXPR_NONE && op.op->level == EXPR_LEVEL_COMPARE && at_infix(p, EXPR_LEVEL_COMPARE))
      return fail(p, p->token.at, SMELT_ERR_FORMAT,
                  "comparisons cannot be chained: write (a < b) & (b < c) for a < b < c");
  }
  return left;
}

static int32_t parse_negation(parser *p) {
  expr_token op = p->token;
  if (!advance(p)) return EXPR_NONE;
  int32_t operand = enter(p) ? parse_test(p) : EXPR_NONE;
  p->depth--;
  return add_unary(p, op.op, op.at, operand);
}

/* A whole expression without commas. */
static int32_t parse_test(parser *p) {
  return at_prefix(p, EXPR_LEVEL_NOT) ? parse_negation(p) : parse_infix(p, EXPR_LEVEL_COMPARE);
}

/* --- Statements --------------------------------------------------------------------------- */

static bool at_end_of_statement(const parser *p) {
  return p->token.kind == EXPR_TOKEN_END || at_mark(p, ';');
}

/* One expression, or several with commas, which make a tuple. */
static int32_t parse_value(parser *p) {
  arguments args = {EXPR_NONE, EXPR_NONE, 0};
  size_t at = p->token.at;
  bool comma = false;
  do {
    int32_t item = parse_test(p);
    if (item == EXPR_NONE) return EXPR_NONE;
    add_argument(p, &args, item);
    if (!at_mark(p, ',')) break;
    comma = true;
    if (!advance(p)) return EXPR_NONE;
  } while (!at_end_of_statement(p));
  return comma ? add_parent(p, (expr_node){.kind = EXPR_TUPLE, .at = at}, args) : args.first;
}

/* If `name, name =` comes next, consumes it and answers the names. */
static bool parse_names_equal(parser *p, expr_statement *s) {
  if (p->token.kind != EXPR_TOKEN_NAME) return true;
  parser saved = *p;
  if (!advance(p)) return false;
  if (at_mark(p, ',')) {
    if (!advance(p) || !parse_name_equals(p, &s->second)) return false;
    if (s->second.n) {
      s->name = saved.token.text;
      return true;
    }
  }
  *p = saved;
  return true;
}

static bool parse_statement(parser *p) {
  expr_statement s = {.at = p->token.at, .first = (int32_t)p->program->nodes.len, .variable = EXPR_NONE};
  if (!parse_name_equals(p, &s.name) || (!s.name.n && !parse_names_equal(p, &s))) return false;
  s.value = parse_value(p);
  if (s.value == EXPR_NONE) return false;
  if (!at_end_of_statement(p)) return unexpected(p, NULL), false;
  if (!sm_vec_push(&sm_malloc_allocator, &p->program->statements, s)) return fail_memory(p), false;
  return true;
}

static bool parse_statements(parser *p) {
  if (!advance(p)) return false;
  while (p->token.kind != EXPR_TOKEN_END) {
    if (!at_mark(p, ';') && !parse_statement(p)) return false;
    if (at_mark(p, ';') && !advance(p)) return false;
  }
  if (!p->program->statements.len)
    return fail(p, p->token.at, SMELT_ERR_FORMAT, "the expression is empty"), false;
  return true;
}

smelt_status expr_parse(expr_program *program, const char *source, expr_fault *fault) {
  *program = (expr_program){.source = source};
  parser p = {.program = program, .lexer = {source, 0}, .fault = fault};
  if (parse_statements(&p)) return SMELT_OK;
  expr_program_free(program);
  return fault->error.code;
}

void expr_program_free(expr_program *program) {
  sm_vec_free(&sm_malloc_allocator, &program->nodes);
  sm_vec_free(&sm_malloc_allocator, &program->statements);
}
