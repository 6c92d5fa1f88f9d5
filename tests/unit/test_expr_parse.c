/* SPDX-License-Identifier: Apache-2.0
 *
 * The parser of expressions, by the trees it builds and the faults it finds. */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "expr_parse.h"
#include "harness.h"

/* --- Trees as text: operators as (op left right) ---------------------------------- */

static void print_node(sm_text *text, const expr_program *p, int32_t index);

static void print_args(sm_text *text, const expr_program *p, const expr_node *n, const char *between) {
  for (int32_t i = n->args; i != EXPR_NONE; i = p->nodes.items[i].next) {
    const expr_node *arg = &p->nodes.items[i];
    if (i != n->args) sm_text_add(text, between);
    if (arg->keyword.n) {
      sm_text_add_n(text, arg->keyword.s, arg->keyword.n);
      sm_text_add(text, "=");
    }
    print_node(text, p, i);
  }
}

static void print_bracket(sm_text *text, const expr_program *p, const expr_node *n, const char *open,
                          const char *between, const char *close) {
  sm_text_add(text, open);
  print_args(text, p, n, between);
  sm_text_add(text, close);
}

/* "_" stands for a part that is not there. */
static void print_range(sm_text *text, const expr_program *p, const expr_node *n) {
  int32_t arg = n->args;
  for (int part = EXPR_START; part <= EXPR_STEP; part *= 2) {
    if (part > EXPR_START) sm_text_add(text, ":");
    if (n->parts & part) {
      print_node(text, p, arg);
      arg = p->nodes.items[arg].next;
    } else {
      sm_text_add(text, "_");
    }
  }
  CHECK_I64(arg, EXPR_NONE);
}

static void print_node(sm_text *text, const expr_program *p, int32_t index) {
  const expr_node *n = &p->nodes.items[index];
  switch (n->kind) {
    case EXPR_NUMBER:
      sm_scalar_print(text, n->number);
      return;
    case EXPR_CALL:
    case EXPR_NAME:
      sm_text_add_n(text, n->text.s, n->text.n);
      break;
    case EXPR_STRING:
      sm_text_addf(text, "'%.*s'", (int)n->text.n, n->text.s);
      return;
    case EXPR_UNARY:
    case EXPR_BINARY:
      sm_text_addf(text, "(%s ", n->op->text);
      print_args(text, p, n, " ");
      sm_text_add(text, ")");
      return;
    case EXPR_LIST:
      print_bracket(text, p, n, "[", ", ", "]");
      return;
    case EXPR_TUPLE:
      print_bracket(text, p, n, "(", ", ", ")");
      return;
    case EXPR_INDEX:
      print_bracket(text, p, n, "([] ", " ", ")");
      return;
    case EXPR_RANGE:
      print_range(text, p, n);
      return;
    case EXPR_ELLIPSIS:
      sm_text_add(text, "...");
      return;
    case EXPR_ATTRIBUTE:
      print_bracket(text, p, n, "(. ", " ", "");
      sm_text_addf(text, " %.*s)", (int)n->text.n, n->text.s);
      return;
  }
  if (n->kind == EXPR_CALL) print_bracket(text, p, n, "(", ", ", ")");
}

static void print_program(sm_text *text, const expr_program *p) {
  for (size_t i = 0; i < p->statements.len; i++) {
    const expr_statement *s = &p->statements.items[i];
    if (i) sm_text_add(text, "; ");
    sm_text_addf(text, "%.*s", (int)s->name.n, s->name.s);
    if (s->second.n) sm_text_addf(text, " and %.*s", (int)s->second.n, s->second.s);
    if (s->name.n) sm_text_add(text, " = ");
    print_node(text, p, s->value);
  }
}

static void check_tree(const char *source, const char *expected) {
  expr_program program;
  expr_fault fault;
  sm_text text;
  sm_text_init(&text, &sm_malloc_allocator);
  CHECK_OK(expr_parse(&program, source, &fault), fault.error);
  print_program(&text, &program);
  CHECK_STR(text.data, expected);
  sm_text_free(&text);
  expr_program_free(&program);
}

/* The fault's text contains `part`; what is printed below it is `place`. */
static void check_fault(const char *source, const char *part, const char *place) {
  expr_program program;
  expr_fault fault;
  char *printed;
  size_t size;
  CHECK(expr_parse(&program, source, &fault) != SMELT_OK);
  CHECK_CONTAINS(fault.error.text, part);
  FILE *out = open_memstream(&printed, &size);
  CHECK(out != NULL);
  expr_fault_print_place(out, &fault);
  CHECK_I64(fclose(out), 0);
  CHECK_STR(printed, place);
  free(printed);
}

/* --- Trees -------------------------------------------------------------------------- */

TEST(precedence_is_pythons) {
  check_tree("a + b * c", "(+ a (* b c))");
  check_tree("(a + b) * c", "(* (+ a b) c)");
  check_tree("a - b - c", "(- (- a b) c)");
  check_tree("a / b // c % d @ e", "(@ (% (// (/ a b) c) d) e)");
  check_tree("a << b + c >> d", "(>> (<< a (+ b c)) d)");
  check_tree("a | b ^ c & d << e", "(| a (^ b (& c (<< d e))))");
  check_tree("a & b == c | d", "(== (& a b) (| c d))");
  check_tree("a < b", "(< a b)");
  check_tree("(a < b) & (b < c)", "(& (< a b) (< b c))");
}

TEST(power_binds_to_the_right_and_above_a_minus) {
  check_tree("a ** b ** c", "(** a (** b c))");
  check_tree("-a ** b", "(- (** a b))");
  check_tree("a ** -b", "(** a (- b))");
  check_tree("2 ** -1", "(** 2 -1)");
  check_tree("-2 ** 2", "(- (** 2 2))");
  check_tree("a * -b", "(* a (- b))");
  check_tree("~-+a", "(~ (- (+ a)))");
}

TEST(not_binds_below_comparisons) {
  check_tree("not a == b", "(not (== a b))");
  check_tree("not not a", "(not (not a))");
  check_tree("not(a)", "(not a)");
  check_tree("notable", "notable");
}

TEST(indices) {
  check_tree("x[0]", "([] x 0)");
  check_tree("x[i + 1, -1]", "([] x (+ i 1) -1)");
  check_tree("x[:]", "([] x _:_:_)");
  check_tree("x[::]", "([] x _:_:_)");
  check_tree("x[1:, :2, ::-1, a:b:c,]", "([] x 1:_:_ _:2:_ _:_:-1 a:b:c)");
  check_tree("x[1:2:]", "([] x 1:2:_)");
  check_tree("x[..., 0]", "([] x ... 0)");
  check_tree("x[. . .]", "([] x ...)");
  check_tree("-x[0]**2", "(- (** ([] x 0) 2))");
  check_tree("x.T[0].T", "(. ([] (. x T) 0) T)");
  check_tree("[1, 2][f(x)[0]]", "([] [1, 2] ([] f(x) 0))");
  check_tree("(a + b).T", "(. (+ a b) T)");
}

TEST(malformed_indices) {
  check_fault("x[]", "unexpected ']', expected an index", "  x[]\n    ^\n");
  check_fault("x[1", "'[' is never closed", "  x[1\n   ^\n");
  check_fault("x[1:", "unexpected end", "  x[1:\n      ^\n");
  check_fault("x[1:2:3:4]", "unexpected ':', expected ',' or ']'", "  x[1:2:3:4]\n         ^\n");
  check_fault("x[,]", "expected an index", "  x[,]\n    ^\n");
  check_fault("x[..]", "expected '...'", "  x[..]\n      ^\n");
  check_fault("x[1 2]", "expected ',' or ']'", "  x[1 2]\n      ^\n");
  check_fault("[1:2]", "unexpected ':'", "  [1:2]\n    ^\n");
  check_fault("x[(1:2)]", "unexpected ':'", "  x[(1:2)]\n      ^\n");
}

TEST(numbers) {
  check_tree("0", "0");
  check_tree("1_000", "1000");
  check_tree("0x10", "16");
  check_tree("0b101", "5");
  check_tree("0o17", "15");
  check_tree("1e-3", "0.001");
  check_tree("1.", "1.0");
  check_tree(".5", "0.5");
  check_tree("1_0.2_5e1_0", "1.025e+11");
  check_tree("1e999", "inf");
  check_tree("9223372036854775807", "9223372036854775807");
  check_tree("18446744073709551615", "18446744073709551615");
  check_tree("-9223372036854775808", "-9223372036854775808");
  check_tree("--9223372036854775808", "9223372036854775808");
  check_tree("-0.0", "-0.0");
  check_tree("True, false", "(true, false)");
  check_tree("-True", "(- true)");
}

TEST(brackets) {
  check_tree("[[1, 2], [3, -4],]", "[[1, 2], [3, -4]]");
  check_tree("[]", "[]");
  check_tree("()", "()");
  check_tree("((1))", "1");
  check_tree("(1,)", "(1)");
  check_tree("f((2, 3))", "f((2, 3))");
  check_tree("a + b, a - b", "((+ a b), (- a b))");
}

TEST(calls) {
  check_tree("f()", "f()");
  check_tree("exp(a*b + c)", "exp((+ (* a b) c))");
  check_tree("zeros(2, 3, dtype=f32,)", "zeros(2, 3, dtype=f32)");
  check_tree("astype(x, 'f32') + astype(y, \"i64\")", "(+ astype(x, 'f32') astype(y, 'i64'))");
  check_tree("f(a == b)", "f((== a b))");
}

TEST(statements) {
  check_tree("t = a*b; exp(t) + t", "t = (* a b); (+ exp(t) t)");
  check_tree(";; a ;", "a");
  check_tree("t = 1;\n\tt", "t = 1; t");
  check_tree("a == b", "(== a b)");
  check_tree("a, b = f(x); b", "a and b = f(x); b");
}

TEST(nodes_stand_in_evaluation_order) {
  expr_program program;
  expr_fault fault;
  CHECK_OK(expr_parse(&program, "f(a, [1, b]) * (c ** d, e); x", &fault), fault.error);
  for (size_t i = 0; i < program.nodes.len; i++) {
    int32_t previous = -1;
    for (int32_t arg = program.nodes.items[i].args; arg != EXPR_NONE; arg = program.nodes.items[arg].next) {
      CHECK(arg < (int32_t)i);
      CHECK(arg > previous);
      previous = arg;
    }
  }
  CHECK_I64(program.statements.items[1].first, program.statements.items[0].value + 1);
  expr_program_free(&program);
}

/* --- Faults ---------------------------------------------------------------------------- */

TEST(faults_point_at_the_place) {
  check_fault("a, b, c = f(x)", "unexpected '='", "  a, b, c = f(x)\n          ^\n");
  check_fault("a, 1 = f(x)", "unexpected '='", "  a, 1 = f(x)\n       ^\n");
  check_fault("a + ", "unexpected end", "  a + \n      ^\n");
  check_fault("a + * b", "unexpected '*'", "  a + * b\n      ^\n");
  check_fault("a b", "unexpected 'b'", "  a b\n    ^\n");
  check_fault("f(a b)", "unexpected 'b', expected ',' or ')'", "  f(a b)\n      ^\n");
  check_fault("[1, 2", "'[' is never closed", "  [1, 2\n  ^\n");
  check_fault("f((a)", "'(' is never closed", "  f((a)\n   ^\n");
  check_fault("(a]", "unexpected ']', expected ',' or ')'", "  (a]\n    ^\n");
  check_fault("a)", "unexpected ')'", "  a)\n   ^\n");
  check_fault("a = b = c", "unexpected '='", "  a = b = c\n        ^\n");
  check_fault("True = 1", "unexpected '='", "  True = 1\n       ^\n");
  check_fault("f(x=1, 2)", "positional argument", "  f(x=1, 2)\n         ^\n");
  check_fault("a + not b", "unexpected 'not'", "  a + not b\n      ^\n");
  check_fault("", "empty", "  \n  ^\n");
  check_fault(" ; ", "empty", "   ; \n     ^\n");
}

TEST(what_python_has_and_expressions_have_not) {
  check_fault("a < b < c", "cannot be chained", "  a < b < c\n        ^\n");
  check_fault("a and b", "use &", "  a and b\n    ^\n");
  check_fault("f(a or b)", "use |", "  f(a or b)\n      ^\n");
  check_fault("x.shape", "attributes and methods", "  x.shape\n   ^\n");
  check_fault("x.T()", "only a name can be called", "  x.T()\n     ^\n");
  check_fault("f(1)(2)", "only a name can be called", "  f(1)(2)\n      ^\n");
}

TEST(bad_tokens) {
  check_fault("a ! b", "unexpected character '!'", "  a ! b\n    ^\n");
  check_fault("a + 1x", "invalid number '1x'", "  a + 1x\n      ^\n");
  check_fault("1__0", "invalid number '1__0'", "  1__0\n  ^\n");
  check_fault("012", "invalid number", "  012\n  ^\n");
  check_fault("0x", "invalid number", "  0x\n  ^\n");
  check_fault("0b2", "invalid number", "  0b2\n  ^\n");
  check_fault("1.2.3", "invalid number", "  1.2.3\n  ^\n");
  check_fault("1e", "invalid number", "  1e\n  ^\n");
  check_fault("18446744073709551616", "number too large", "  18446744073709551616\n  ^\n");
  check_fault("-9223372036854775809", "too large for a negative", "  -9223372036854775809\n  ^\n");
  check_fault("f('x", "unterminated string", "  f('x\n    ^\n");
}

TEST(columns_are_those_of_a_terminal) {
  check_fault("a × b", "unexpected character '×'", "  a × b\n    ^\n");
  check_fault("f('äöü', 日)", "unexpected character '日'", "  f('äöü', 日)\n           ^\n");
  check_fault("'日本e\u0301' $", "unexpected character '$'", "  '日本e\u0301' $\n          ^\n");
  check_fault("a + \xff", "unexpected byte 0xFF", "  a + ?\n      ^\n");
  check_fault("'\xe2\x82' $", "unexpected character '$'",
              "  '"
              "??"
              "' $\n       ^\n");
  check_fault("\ta $", "unexpected character '$'", "   a $\n     ^\n");
  check_fault("a +\x01", "unexpected byte 0x01", "  a +?\n     ^\n");
}

TEST(only_the_line_of_the_fault_is_shown) {
  check_fault("t = a;\nt $ b;\nc", "unexpected character '$'", "  t $ b;\n    ^\n");
}

/* `part` n times, then `tail`; to be freed by sm_text_free. */
static sm_text repeat(const char *part, size_t n, const char *tail) {
  sm_text text;
  sm_text_init(&text, &sm_malloc_allocator);
  for (size_t i = 0; i < n; i++) sm_text_add(&text, part);
  sm_text_add(&text, tail);
  CHECK(!text.failed);
  return text;
}

TEST(long_lines_are_cut_around_the_place) {
  sm_text s = repeat("a+", 500, "$");
  check_fault(s.data, "unexpected character '$'",
              "  ...a+a+a+a+a+a+a+a+a+a+a+a+a+a+a+a+a+a+a+a+a+a+a+a+$\n"
              "                                                     ^\n");
  sm_text_free(&s);
}

TEST(deep_nesting_is_refused_and_long_chains_are_not) {
  static const char *const openings[] = {"(", "[", "-", "not ", "~", "f(", "2**", "[(", "a+("};
  expr_program program;
  expr_fault fault;
  for (size_t i = 0; i < sizeof openings / sizeof openings[0]; i++) {
    sm_text s = repeat(openings[i], 100000, "1");
    CHECK_STATUS(expr_parse(&program, s.data, &fault), SMELT_ERR_LIMIT);
    CHECK_CONTAINS(fault.error.text, "nested deeper than");
    sm_text_free(&s);
  }
  sm_text chain = repeat("a+", 100000, "a");
  CHECK_OK(expr_parse(&program, chain.data, &fault), fault.error);
  CHECK_I64(program.nodes.len, 200001);
  expr_program_free(&program);
  sm_text_free(&chain);
}

TEST(nesting_up_to_the_limit_is_accepted) {
  expr_program program;
  expr_fault fault;
  sm_text closing = repeat(")", EXPR_MAX_DEPTH - 1, "");
  sm_text s = repeat("(", EXPR_MAX_DEPTH - 1, "1");
  sm_text_add(&s, closing.data);
  CHECK_OK(expr_parse(&program, s.data, &fault), fault.error);
  CHECK_I64(program.nodes.len, 1);
  expr_program_free(&program);
  sm_text_free(&s);
  sm_text_free(&closing);
}

TEST(every_prefix_and_every_byte_is_answered) {
  static const char source[] = "t = -a**2 + f(b, [1.5e-3, 0x1F], dtype='f32') <= not_c; (t, ~t)[";
  expr_program program;
  expr_fault fault;
  for (size_t n = 0; n < sizeof source; n++) {
    char prefix[sizeof source] = {0};
    memcpy(prefix, source, n);
    if (expr_parse(&program, prefix, &fault) == SMELT_OK) expr_program_free(&program);
    else CHECK(fault.at <= n);
    for (int byte = 1; byte < 256; byte++) {
      memcpy(prefix, source, sizeof source);
      prefix[n] = n + 1 < sizeof source ? (char)byte : 0;
      if (expr_parse(&program, prefix, &fault) == SMELT_OK) expr_program_free(&program);
      else CHECK(fault.at <= sizeof source);
    }
  }
}

TEST_MAIN(CASE(precedence_is_pythons), CASE(power_binds_to_the_right_and_above_a_minus),
          CASE(not_binds_below_comparisons), CASE(indices), CASE(malformed_indices), CASE(numbers),
          CASE(brackets), CASE(calls), CASE(statements), CASE(nodes_stand_in_evaluation_order),
          CASE(faults_point_at_the_place), CASE(what_python_has_and_expressions_have_not), CASE(bad_tokens),
          CASE(columns_are_those_of_a_terminal), CASE(only_the_line_of_the_fault_is_shown),
          CASE(long_lines_are_cut_around_the_place), CASE(deep_nesting_is_refused_and_long_chains_are_not),
          CASE(nesting_up_to_the_limit_is_accepted), CASE(every_prefix_and_every_byte_is_answered))
