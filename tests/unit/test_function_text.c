/* SPDX-License-Identifier: Apache-2.0
 *
 * The language of functions.def: what texts become, and what is wrong with bad
 * ones and where. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "function_text.h"
#include "harness.h"

/* Functions that texts below may call. */
static const function_source library[] = {
    {"SIGMOID", SM_KOP_SIGMOID, SMELT_F32, 1, "1 / (1 + exp(-x))"},
    {"EXP", SM_KOP_EXP, SMELT_F32, 2, "t = x * 2; t + 1"},
    {"TAN", SM_KOP_TAN, SMELT_F32, 3, "tan(x)"},
};

static bool parse(sm_kop kop, smelt_dtype dtype, const char *text, function_steps *steps,
                  function_fault *fault) {
  function_source source = {"ID", kop, dtype, 1, text};
  return function_parse(&source, library, 3, steps, fault);
}

static void put_step(char *to, size_t size, const function_steps *f, int s) {
  const sm_function_step *step = &f->steps[s];
  if (step->kop == SM_KOP_NONE) {
    if (step->dtype == SMELT_F32) (void)snprintf(to, size, "%g; ", (double)step->literal.F32);
    else if (step->dtype == SMELT_F64) (void)snprintf(to, size, "%gd; ", step->literal.F64);
    else (void)snprintf(to, size, "%lldi; ", (long long)step->literal.I64);
    return;
  }
  const sm_kop_info *info = function_kop_info((sm_kop)step->kop);
  int n = snprintf(to, size, "%s", info->name);
  for (int a = 0; a < info->arity; a++) n += snprintf(to + n, size - (size_t)n, " %d", step->args[a]);
  (void)snprintf(to + n, size - (size_t)n, "; ");
}

/* The steps in short: kops with the numbers of values, and literals. */
static void check_steps(sm_kop kop, smelt_dtype dtype, const char *text, const char *expected) {
  function_steps steps;
  function_fault fault = {.at = -1};
  char got[1000] = "";
  if (!parse(kop, dtype, text, &steps, &fault)) printf("%s: %s at %d\n", text, fault.message, fault.at);
  CHECK_I64(fault.at, -1);
  for (int s = 0; s < steps.n_steps; s++) put_step(got + strlen(got), sizeof got - strlen(got), &steps, s);
  CHECK_STR(got, expected);
}

#define UNARY(text, expected) check_steps(SM_KOP_SIN, SMELT_F32, text, expected)
#define BINARY(text, expected) check_steps(SM_KOP_POW, SMELT_F32, text, expected)

TEST(operators_bind_as_documented) {
  BINARY("x + y * x - y", "mul 1 0; add 0 2; sub 3 1; ");
  BINARY("(x + y) * -x", "add 0 1; neg 0; mul 2 3; ");
  BINARY("select(x < y, x, y)", "lt 0 1; select 2 0 1; ");
  BINARY("select(x >= y, x, y)", "le 1 0; select 2 0 1; ");
  BINARY("select((x == y) | (x > y) & ~(x != y), x, y)",
         "eq 0 1; lt 1 0; ne 0 1; not 4; and 3 5; or 2 6; select 7 0 1; ");
  UNARY("float(7 & bits(x) << 2 ^ 1)", "bitcast 0; 2i; shl 1 2; 7i; and 4 3; 1i; xor 5 6; bitcast 7; ");
}

TEST(literals_take_the_dtype_beside_them) {
  UNARY("f32(f64(x) * 0.1) + 0.1", "cast 0; 0.1d; mul 1 2; cast 3; 0.1; add 4 5; ");
  UNARY("-0x1.8p1 * x", "-3; mul 1 0; ");
  UNARY("select(x < 0, -inf, 1)", "0; lt 0 1; -inf; 1; select 2 3 4; ");
  UNARY("f32(i32(x) - -1)", "cast 0; 4294967295i; sub 1 2; cast 3; ");
}

TEST(each_dtype_gets_the_nearest_number) {
  function_steps steps;
  function_fault fault;
  /* Rounding to double first would round to even here, which is down. */
  CHECK(parse(SM_KOP_SIN, SMELT_F32, "x * 1.000000178813934326171876", &steps, &fault));
  CHECK_F64((double)steps.steps[0].literal.F32, 0x1.000004p0);
  CHECK(parse(SM_KOP_SIN, SMELT_F64, "x * nan", &steps, &fault));
  CHECK(isnan(steps.steps[0].literal.F64));
}

TEST(names_and_shared_steps) {
  UNARY("a = x * x; b = x * x; a + b", "mul 0 0; add 1 1; ");
  UNARY("a = x + 1; a = a * a; a", "1; add 0 1; mul 2 2; ");
  UNARY("unused = x * 3; x + 1", "1; add 0 1; ");
  UNARY("poly(x, 1, 2, 3)", "3; 2; fma 1 0 2; 1; fma 3 0 4; ");
}

TEST(calls_are_replaced_by_steps) {
  UNARY("exp(x)", "2; mul 0 1; 1; add 2 3; ");
  UNARY("t = x * x; exp(t) + t", "mul 0 0; 2; mul 1 2; 1; add 3 4; add 5 1; ");
  UNARY("sigmoid(x)", "neg 0; 2; mul 1 2; 1; add 3 4; add 4 5; div 4 6; ");
}

/* `at` is what stands at the place of the fault. */
static void check_fault(const char *text, const char *at, const char *message) {
  function_steps steps;
  function_fault fault = {.at = -1};
  CHECK(!parse(SM_KOP_SIN, SMELT_F32, text, &steps, &fault));
  CHECK_STR(fault.message, message);
  CHECK_STR(text + fault.at, at);
}

TEST(faults_say_what_and_where) {
  check_fault("a = x; y * a", "y * a", "y has no value yet");
  check_fault("x + ", "", "expected a name, a number or (");
  check_fault("x + 1)", ")", "expected an operator or the end");
  check_fault("a = x 1; a", "1; a", "expected an operator or ;");
  check_fault("fma(x, x; x)", "; x)", "expected , or )");
  check_fault("(x + 1; x", "; x", "expected )");
  check_fault("fma(x, x)", "fma(x, x)", "fma has 3 operands");
  check_fault("1 + foo(x)", "foo(x)", "there is no foo of 1 operands");
  check_fault("x + bits(x)", "+ bits(x)", "operand 2 of add is u32, not f32");
  check_fault("select(x, x, x)", "select(x, x, x)", "operand 1 of select is f32, not bool");
  check_fault("float(bits(x) + 0.5)", "0.5)", "this is no u32");
  check_fault("float(bits(x) + 4294967296)", "4294967296)", "this is no u32");
  check_fault("float(bits(x) + -1)", "1)", "this is no u32");
  check_fault("x < 1", "x < 1", "the result is bool, not f32");
  check_fault("float(x)", "float(x)", "no bits to be taken as another dtype");
  check_fault("f32(x)", "f32(x)", "nothing to convert");
  check_fault("f64(1)", "f64(1)", "nothing to convert");
  check_fault("x & x", "& x", "there is no and of f32");
  check_fault("f32(sqrt(i32(x)))", "sqrt(i32(x)))", "there is no sqrt of i32");
  check_fault("f32(exp(f64(x)))", "exp(f64(x)))", "there is no exp of f64");
  check_fault("1 + tan(x)", "tan(x)", "functions call each other too deeply");
  check_fault("x", "x", "the function has no steps");
  check_fault("poly(x, 1)", "poly(x, 1)", "a polynomial has at least two coefficients");
  check_fault("x < 1 < 2", "< 2", "expected an operator or the end");
}

TEST(too_many_steps) {
  char text[4000] = "x";
  for (int i = 0; i < 300; i++) (void)snprintf(text + strlen(text), 12, " * %d.5", i);
  function_steps steps;
  function_fault fault;
  CHECK(!parse(SM_KOP_SIN, SMELT_F32, text, &steps, &fault));
  CHECK_STR(fault.message, "more than 255 steps");
}

TEST_MAIN(CASE(operators_bind_as_documented), CASE(literals_take_the_dtype_beside_them),
          CASE(each_dtype_gets_the_nearest_number), CASE(names_and_shared_steps),
          CASE(calls_are_replaced_by_steps), CASE(faults_say_what_and_where), CASE(too_many_steps))
