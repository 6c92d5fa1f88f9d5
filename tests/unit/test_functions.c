/* SPDX-License-Identifier: Apache-2.0
 *
 * Functions of floats: the tables of their steps, that kernels give the same bits
 * with functions and with their steps, and what functions are at zeros, infinities,
 * NaN and the ends of their ranges. How exact they are is test_accuracy's. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/functions.h"
#include "harness.h"
#include "kir/kir.h"

#define INF INFINITY
#define PI 3.14159265358979323846
enum { NONE = SM_KIR_NONE };

static const smelt_dtype floats[] = {SMELT_F32, SMELT_F64};

/* --- Tables ------------------------------------------------------------------------ */

static const sm_kop all_functions[] = {
    SM_KOP_EXP,  SM_KOP_EXP2, SM_KOP_EXPM1, SM_KOP_LOG,     SM_KOP_LOG2,  SM_KOP_LOG10, SM_KOP_LOG1P,
    SM_KOP_SIN,  SM_KOP_COS,  SM_KOP_TAN,   SM_KOP_ASIN,    SM_KOP_ACOS,  SM_KOP_ATAN,  SM_KOP_ATAN2,
    SM_KOP_SINH, SM_KOP_COSH, SM_KOP_TANH,  SM_KOP_ASINH,   SM_KOP_ACOSH, SM_KOP_ATANH, SM_KOP_ERF,
    SM_KOP_POW,  SM_KOP_REM,  SM_KOP_HYPOT, SM_KOP_SIGMOID,
};
enum { N_FUNCTIONS = sizeof all_functions / sizeof all_functions[0] };

TEST(all_functions_have_steps_and_primitives_none) {
  int n = 0;
  for (int k = 1; k < SM_KOP_COUNT; k++) {
    for (int d = 0; d < SM_DTYPE_LIMIT; d++) n += sm_kop_function((sm_kop)k, (smelt_dtype)d) != NULL;
  }
  CHECK_I64(n, 2 * N_FUNCTIONS);
  for (int i = 0; i < N_FUNCTIONS; i++) {
    CHECK(sm_kop_function(all_functions[i], SMELT_F32) && sm_kop_function(all_functions[i], SMELT_F64));
  }
  CHECK(!sm_kop_function(SM_KOP_POW, SMELT_I32) && !sm_kop_function(SM_KOP_FMA, SMELT_F32));
}

static smelt_dtype dtype_of(const sm_function *f, smelt_dtype dtype, int value) {
  return value < f->arity ? dtype : (smelt_dtype)f->steps[value - f->arity].dtype;
}

/* The steps that are no literals. */
static int check_steps(const sm_function *f, smelt_dtype dtype) {
  int n = 0;
  for (int s = 0; s < f->n_steps; s++) {
    const sm_function_step *step = &f->steps[s];
    if (step->kop == SM_KOP_NONE) continue;
    int arity = sm_kop_info_of((sm_kop)step->kop)->arity;
    for (int a = 0; a < arity; a++) CHECK(step->args[a] >= 0 && step->args[a] < f->arity + s);
    smelt_dtype in = dtype_of(f, dtype, step->args[arity - 1]);
    CHECK(sm_kop_eval((sm_kop)step->kop, in, (smelt_dtype)step->dtype) != NULL);
    CHECK(sm_kop_function((sm_kop)step->kop, in) == NULL);
    n++;
  }
  return n;
}

TEST(steps_are_primitives_and_their_number_is_the_cost) {
  for (int i = 0; i < N_FUNCTIONS; i++) {
    const sm_kop_info *info = sm_kop_info_of(all_functions[i]);
    for (int d = 0; d < 2; d++) {
      const sm_function *f = sm_kop_function(all_functions[i], floats[d]);
      CHECK_I64(f->arity, info->arity);
      CHECK_I64(f->steps[f->n_steps - 1].dtype, floats[d]);
      int n = check_steps(f, floats[d]);
      if (floats[d] == SMELT_F32) CHECK_I64(n, info->cost);
    }
  }
}

/* --- Expansion ---------------------------------------------------------------------- */

enum { ELEMENTS = 4096 };

/* out[i] = kop(x[i], y[i]) in a loop of vectors. */
static void build(sm_kir_kernel *k, sm_kop kop, smelt_dtype dtype, int width) {
  sm_kir_init(k, &sm_malloc_allocator);
  for (int b = 0; b < 3; b++) sm_kir_add_buffer(k, dtype, b == 2);
  int32_t i = sm_kir_for(k, sm_kir_chunk_begin(k), sm_kir_chunk_end(k), width);
  int32_t x = sm_kir_load(k, 0, i, NONE, width);
  bool is_binary = sm_kop_info_of(kop)->arity == 2;
  int32_t y = is_binary ? sm_kir_load(k, 1, i, NONE, width) : NONE;
  sm_kir_store(k, 2, i, NONE, sm_kir_kop(k, kop, x, y, NONE, SMELT_DTYPE_NONE));
  sm_kir_end(k);
  smelt_error err = {0};
  CHECK_OK(sm_kir_finish(k, &err), err);
}

/* Bits of all sizes, and among them everything special. */
static void fill(smelt_dtype dtype, uint64_t seed, void *to) {
  static const double special[] = {0.0, -0.0, 1, -1, INF, -INF, NAN, 0.5, -0.5, 2, -2, 3, -3, 1e-310, 1e-42};
  for (size_t i = 0; i < ELEMENTS; i++) {
    uint64_t bits = (i + seed) * 0x9E3779B97F4A7C15u;
    bits ^= bits >> 29;
    double value = special[(i / 16 + seed) % (sizeof special / sizeof special[0])];
    if (i % 3 == 1) value = (double)(int64_t)bits * 0x1p-60;
    sm_word word = {.F64 = value};
    if (dtype == SMELT_F32) word.F32 = (float)value;
    if (i % 3 == 2) word.bits = bits;
    memcpy((char *)to + i * smelt_dtype_size(dtype), &word, smelt_dtype_size(dtype));
  }
}

static void run(const sm_kir_kernel *k, smelt_dtype dtype, void *x, void *y, void *out) {
  size_t bytes = ELEMENTS * smelt_dtype_size(dtype);
  const sm_kir_span spans[] = {{x, bytes}, {y, bytes}, {out, bytes}};
  smelt_error err = {0};
  CHECK_OK(sm_kir_eval(k, &(sm_kir_call){.buffers = spans, .end = ELEMENTS}, &err), err);
}

/* Equal bits, or both NaN. */
static bool same(smelt_dtype dtype, const void *a, const void *b, size_t i) {
  sm_word x = {.bits = 0}, y = {.bits = 0};
  size_t size = smelt_dtype_size(dtype);
  memcpy(&x, (const char *)a + i * size, size);
  memcpy(&y, (const char *)b + i * size, size);
  bool both_nan = dtype == SMELT_F32 ? isnan(x.F32) && isnan(y.F32) : isnan(x.F64) && isnan(y.F64);
  return x.bits == y.bits || both_nan;
}

static void check_expansion(sm_kop kop, smelt_dtype dtype, int width) {
  static double x[ELEMENTS], y[ELEMENTS], whole[ELEMENTS], steps[ELEMENTS];
  sm_kir_kernel k, expanded;
  build(&k, kop, dtype, width);
  smelt_error err = {0};
  CHECK_OK(sm_kir_expand(&k, &expanded, &err), err);
  for (uint64_t seed = 0; seed < 3; seed++) {
    fill(dtype, seed, x);
    fill(dtype, 100 - seed, y);
    run(&k, dtype, x, y, whole);
    run(&expanded, dtype, x, y, steps);
    for (size_t i = 0; i < ELEMENTS; i++) CHECK(same(dtype, whole, steps, i));
  }
  sm_kir_free(&k);
  sm_kir_free(&expanded);
}

TEST(steps_give_the_same_bits) {
  static const int widths[] = {1, 4, 16};
  for (int i = 0; i < N_FUNCTIONS; i++) {
    for (int d = 0; d < 2; d++) {
      for (int w = 0; w < 3; w++) check_expansion(all_functions[i], floats[d], widths[w]);
    }
  }
}

static int count(const sm_kir_kernel *k, sm_kir_kind kind) {
  int n = 0;
  for (size_t i = 0; i < k->ins.len; i++) n += k->ins.items[i].kind == kind;
  return n;
}

static int count_functions(const sm_kir_kernel *k) {
  int n = 0;
  for (size_t i = 0; i < k->ins.len; i++) {
    const sm_kir_ins *ins = &k->ins.items[i];
    n += ins->kind == SM_KIR_KOP && sm_kop_function((sm_kop)ins->kop, ins->type.dtype) != NULL;
  }
  return n;
}

/* exp(exp(x)) twice over: literals do not become more, and all stand before the loop. */
TEST(literals_are_made_once) {
  sm_kir_kernel k, one, four;
  build(&k, SM_KOP_EXP, SMELT_F32, 8);
  smelt_error err = {0};
  CHECK_OK(sm_kir_expand(&k, &one, &err), err);
  int32_t x = (int32_t)k.ins.len - 3;
  CHECK_I64(k.ins.items[x].kop, SM_KOP_EXP);
  k.ins.len -= 2;
  for (int i = 0; i < 3; i++) x = sm_kir_kop(&k, SM_KOP_EXP, x, NONE, NONE, SMELT_DTYPE_NONE);
  sm_kir_store(&k, 2, k.ins.items[x - 4].args[0], NONE, x);
  sm_kir_end(&k);
  CHECK_OK(sm_kir_expand(&k, &four, &err), err);
  CHECK_I64(count_functions(&k), 4);
  CHECK_I64(count_functions(&four), 0);
  CHECK(count(&one, SM_KIR_CONST) > 8);
  CHECK_I64(count(&four, SM_KIR_CONST), count(&one, SM_KIR_CONST));
  CHECK_I64(count(&four, SM_KIR_SPLAT), count(&one, SM_KIR_SPLAT));
  CHECK_I64(count(&four, SM_KIR_SPLAT), count(&four, SM_KIR_CONST));
  for (int i = 0; i < 2 * count(&four, SM_KIR_CONST); i++) {
    CHECK(four.ins.items[i].kind == SM_KIR_CONST || four.ins.items[i].kind == SM_KIR_SPLAT);
  }
  sm_kir_free(&k);
  sm_kir_free(&one);
  sm_kir_free(&four);
}

TEST(a_kernel_without_functions_stays_as_it_is) {
  sm_kir_kernel k, copy;
  build(&k, SM_KOP_ADD, SMELT_F64, 4);
  smelt_error err = {0};
  CHECK_OK(sm_kir_expand(&k, &copy, &err), err);
  sm_hash a = sm_kir_hash(&k), b = sm_kir_hash(&copy);
  CHECK(memcmp(&a, &b, sizeof a) == 0);
  sm_kir_free(&k);
  sm_kir_free(&copy);
}

/* --- Special values --------------------------------------------------------------------- */

static double apply_in(smelt_dtype dtype, sm_kop kop, double a, double b, double c) {
  double operands[] = {a, b, c};
  sm_word words[3], result;
  for (int i = 0; i < 3; i++) {
    words[i] = (sm_word){.F64 = operands[i]};
    if (dtype == SMELT_F32) words[i].F32 = (float)operands[i];
  }
  sm_kop_eval(kop, dtype, dtype)(1, &result, (const void *const[]){&words[0], &words[1], &words[2]}, 0);
  return dtype == SMELT_F32 ? (double)result.F32 : result.F64;
}

/* In both dtypes. */
#define GIVES2(kop, a, b, expected)                                  \
  do {                                                               \
    CHECK_F64(apply_in(SMELT_F32, SM_KOP_##kop, a, b, 0), expected); \
    CHECK_F64(apply_in(SMELT_F64, SM_KOP_##kop, a, b, 0), expected); \
  } while (0)
#define GIVES(kop, a, expected) GIVES2(kop, a, 0, expected)

TEST(nan_stays) {
  for (int i = 0; i < N_FUNCTIONS; i++) {
    for (int d = 0; d < 2; d++) {
      CHECK(isnan(apply_in(floats[d], all_functions[i], NAN, 2, 0)));
      if (sm_kop_info_of(all_functions[i])->arity == 1) continue;
      CHECK(isnan(apply_in(floats[d], all_functions[i], 2, NAN, 0)));
    }
  }
}

TEST(odd_functions_keep_zeros_and_small_numbers) {
  static const sm_kop odd[] = {SM_KOP_SIN,  SM_KOP_TAN,   SM_KOP_ASIN,  SM_KOP_ATAN,  SM_KOP_SINH,
                               SM_KOP_TANH, SM_KOP_EXPM1, SM_KOP_LOG1P, SM_KOP_ASINH, SM_KOP_ATANH};
  for (size_t i = 0; i < sizeof odd / sizeof odd[0]; i++) {
    for (int d = 0; d < 2; d++) {
      CHECK_F64(apply_in(floats[d], odd[i], -0.0, 0, 0), -0.0);
      CHECK_F64(apply_in(floats[d], odd[i], 0.0, 0, 0), 0.0);
      double least = floats[d] == SMELT_F32 ? 0x1p-149 : 0x1p-1074;
      CHECK_F64(apply_in(floats[d], odd[i], least, 0, 0), least);
      CHECK_F64(apply_in(floats[d], odd[i], -3 * least, 0, 0), -3 * least);
    }
  }
  GIVES(ERF, -0.0, -0.0);
}

TEST(exponentials) {
  GIVES(EXP, 0.0, 1);
  GIVES(EXP, -0.0, 1);
  GIVES(EXP, INF, INF);
  GIVES(EXP, -INF, 0.0);
  GIVES(EXP, 1e4, INF);
  GIVES(EXP, -1e4, 0.0);
  GIVES(EXP2, INF, INF);
  GIVES(EXP2, -INF, 0.0);
  for (int n = -149; n < 128; n++) GIVES(EXP2, n, ldexp(1, n));
  GIVES(EXP2, 1024, INF);
  GIVES(EXPM1, INF, INF);
  GIVES(EXPM1, -INF, -1);
  GIVES(SIGMOID, 0.0, 0.5);
  GIVES(SIGMOID, INF, 1);
  GIVES(SIGMOID, -INF, 0.0);
  CHECK(isinf(apply_in(SMELT_F32, SM_KOP_EXP, 88.73, 0, 0)) &&
        !isinf(apply_in(SMELT_F32, SM_KOP_EXP, 88.72, 0, 0)));
  CHECK(apply_in(SMELT_F32, SM_KOP_EXP, -103.5, 0, 0) == 0x1p-149);
  CHECK(apply_in(SMELT_F64, SM_KOP_EXP, -745.0, 0, 0) == 0x1p-1074);
}

TEST(hyperbolic_functions) {
  GIVES(SINH, INF, INF);
  GIVES(SINH, -INF, -INF);
  GIVES(SINH, -1e30, -INF);
  GIVES(COSH, 0.0, 1);
  GIVES(COSH, -INF, INF);
  GIVES(COSH, 1e30, INF);
  GIVES(TANH, INF, 1);
  GIVES(TANH, -1e30, -1);
  GIVES(ASINH, INF, INF);
  GIVES(ASINH, -INF, -INF);
  GIVES(ACOSH, 1, 0.0);
  GIVES(ACOSH, 0.99, NAN);
  GIVES(ACOSH, -1e30, NAN);
  GIVES(ACOSH, INF, INF);
  GIVES(ATANH, 1, INF);
  GIVES(ATANH, -1, -INF);
  GIVES(ATANH, 1.5, NAN);
  GIVES(ATANH, -INF, NAN);
  CHECK(isfinite(apply_in(SMELT_F32, SM_KOP_SINH, 89.4, 0, 0)) &&
        isinf(apply_in(SMELT_F32, SM_KOP_COSH, 89.5, 0, 0)));
}

TEST(logarithms) {
  static const sm_kop logs[] = {SM_KOP_LOG, SM_KOP_LOG2, SM_KOP_LOG10};
  for (size_t i = 0; i < sizeof logs / sizeof logs[0]; i++) {
    for (int d = 0; d < 2; d++) {
      CHECK_F64(apply_in(floats[d], logs[i], 1, 0, 0), 0.0);
      CHECK_F64(apply_in(floats[d], logs[i], 0.0, 0, 0), -INF);
      CHECK_F64(apply_in(floats[d], logs[i], -0.0, 0, 0), -INF);
      CHECK_F64(apply_in(floats[d], logs[i], INF, 0, 0), INF);
      CHECK_F64(apply_in(floats[d], logs[i], -1, 0, 0), NAN);
      CHECK_F64(apply_in(floats[d], logs[i], -INF, 0, 0), NAN);
    }
  }
  for (int n = -149; n < 128; n++) GIVES(LOG2, ldexp(1, n), n);
  CHECK_F64(apply_in(SMELT_F64, SM_KOP_LOG2, 0x1p-1074, 0, 0), -1074);
  double power = 1;
  for (int n = 0; n <= 10; n++, power *= 10) GIVES(LOG10, power, n);
  GIVES(LOG1P, -1, -INF);
  GIVES(LOG1P, -1.5, NAN);
  GIVES(LOG1P, INF, INF);
  GIVES(LOG1P, -INF, NAN);
}

TEST(angles) {
  GIVES(SIN, INF, NAN);
  GIVES(COS, -INF, NAN);
  GIVES(TAN, INF, NAN);
  GIVES(COS, 0.0, 1);
  GIVES(COS, 1e-20, 1);
  GIVES(ASIN, 1.5, NAN);
  GIVES(ACOS, -1.5, NAN);
  GIVES(ACOS, 1, 0.0);
  CHECK_F64(apply_in(SMELT_F64, SM_KOP_ACOS, -1, 0, 0), PI);
  CHECK_F64(apply_in(SMELT_F64, SM_KOP_ASIN, -1, 0, 0), -PI / 2);
  CHECK_F64(apply_in(SMELT_F64, SM_KOP_ATAN, -INF, 0, 0), -PI / 2);
  for (double x = 1; x < 3e38; x *= 7.3) {
    for (int d = 0; d < 2; d++) CHECK(fabs(apply_in(floats[d], SM_KOP_SIN, x, 0, 0)) <= 1);
    for (int d = 0; d < 2; d++) CHECK(fabs(apply_in(floats[d], SM_KOP_COS, -x, 0, 0)) <= 1);
  }
  CHECK(fabs(apply_in(SMELT_F64, SM_KOP_SIN, 1e308, 0, 0)) <= 1);
}

static double pi_in(smelt_dtype dtype, double fraction) {
  return dtype == SMELT_F32 ? (double)((float)PI * (float)fraction) : PI * fraction;
}

TEST(atan2_of_the_special) {
  for (int d = 0; d < 2; d++) {
    static const struct {
      double y, x, turn;
    } cases[] = {{0.0, 1, 0.0},    {-0.0, 1, -0.0},    {0.0, -1, 1},      {-0.0, -1, -1},
                 {0.0, 0.0, 0.0},  {-0.0, 0.0, -0.0},  {0.0, -0.0, 1},    {-0.0, -0.0, -1},
                 {1, 0.0, 0.5},    {-1, -0.0, -0.5},   {INF, 1, 0.5},     {-INF, -1, -0.5},
                 {1, INF, 0.0},    {-1, INF, -0.0},    {1, -INF, 1},      {-1, -INF, -1},
                 {INF, INF, 0.25}, {-INF, INF, -0.25}, {INF, -INF, 0.75}, {-INF, -INF, -0.75}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
      double angle = apply_in(floats[d], SM_KOP_ATAN2, cases[i].y, cases[i].x, 0);
      CHECK(fabs(angle - pi_in(floats[d], cases[i].turn)) < 1e-6 && signbit(angle) == signbit(cases[i].turn));
      if (cases[i].turn == 0) CHECK_F64(angle, cases[i].turn);
    }
  }
}

/* All pairs of special operands against C's own pow and hypot. */
TEST(powers_and_hypotenuses_of_the_special) {
  static const double values[] = {0.0, -0.0, 1,    -1,  2,    -2,    3,   -3,  0.5,   -0.5, 1.5,  -1.5,
                                  4,   INF,  -INF, NAN, 1e30, -1e30, 7e9, 8e9, 1e-30, 127,  -149, 16777217};
  enum { N = sizeof values / sizeof values[0] };
  for (int i = 0; i < N * N; i++) {
    for (int d = 0; d < 2; d++) {
      double x = values[i / N], y = values[i % N];
      if (floats[d] == SMELT_F32) x = (double)(float)x, y = (double)(float)y;
      double power = pow(x, y), length = hypot(x, y), got = apply_in(floats[d], SM_KOP_POW, x, y, 0);
      if (floats[d] == SMELT_F32) power = (double)(float)power, length = (double)(float)length;
      bool is_special = power == 0 || !isfinite(power) || fabs(power) == 1;
      if (is_special) CHECK_F64(got, power);
      else CHECK(fabs(got - power) <= fabs(power) * 1e-6);
      got = apply_in(floats[d], SM_KOP_HYPOT, x, y, 0);
      CHECK(got == length || (isnan(got) && isnan(length)) || fabs(got - length) <= length * 1e-6);
    }
  }
  GIVES2(HYPOT, INF, NAN, INF);
  GIVES2(HYPOT, NAN, -INF, INF);
  GIVES2(POW, NAN, 0.0, 1);
  GIVES2(POW, 1, NAN, 1);
}

/* --- Primitives that functions brought ------------------------------------------------------ */

TEST(fma_rounds_once) {
  for (int d = 0; d < 2; d++) {
    double e = floats[d] == SMELT_F32 ? 0x1p-13 : 0x1p-27;
    CHECK_F64(apply_in(floats[d], SM_KOP_FMA, 1 + e, 1 - e, -1), -e * e);
  }
}

TEST(ldexp_rounds_once) {
  for (int n = -252; n <= 252; n++) {
    float expected = ldexpf(0x1.8642aep0f, n);
    CHECK_F64(apply_in(SMELT_F32, SM_KOP_LDEXP, (double)0x1.8642aep0f, n, 0), (double)expected);
    CHECK_F64(apply_in(SMELT_F32, SM_KOP_LDEXP, (double)0x1.8642aep-100f, n, 0),
              (double)ldexpf(0x1.8642aep-100f, n));
    CHECK_F64(apply_in(SMELT_F32, SM_KOP_LDEXP, (double)0x1.8642aep127f, n, 0),
              (double)ldexpf(0x1.8642aep127f, n));
  }
  for (int n = -2044; n <= 2044; n++) {
    CHECK_F64(apply_in(SMELT_F64, SM_KOP_LDEXP, 0x1.86a2b3c4d5e6fp0, n, 0), ldexp(0x1.86a2b3c4d5e6fp0, n));
    CHECK_F64(apply_in(SMELT_F64, SM_KOP_LDEXP, -0x1.86a2b3c4d5e6fp-900, n, 0),
              ldexp(-0x1.86a2b3c4d5e6fp-900, n));
  }
  GIVES2(LDEXP, -0.0, 7, -0.0);
  GIVES2(LDEXP, INF, -100, INF);
  GIVES2(LDEXP, NAN, NAN, NAN);
}

TEST(bitcast_keeps_the_bits) {
  float one = 1;
  uint32_t bits;
  sm_kop_eval(SM_KOP_BITCAST, SMELT_F32, SMELT_U32)(1, &bits, (const void *const[]){&one}, 0);
  CHECK_I64(bits, 0x3f800000);
  int64_t minus = -1;
  uint64_t ones;
  sm_kop_eval(SM_KOP_BITCAST, SMELT_I64, SMELT_U64)(1, &ones, (const void *const[]){&minus}, 0);
  CHECK(ones == UINT64_MAX);
}

TEST_MAIN(CASE(all_functions_have_steps_and_primitives_none),
          CASE(steps_are_primitives_and_their_number_is_the_cost), CASE(steps_give_the_same_bits),
          CASE(literals_are_made_once), CASE(a_kernel_without_functions_stays_as_it_is), CASE(nan_stays),
          CASE(odd_functions_keep_zeros_and_small_numbers), CASE(exponentials), CASE(hyperbolic_functions),
          CASE(logarithms), CASE(angles), CASE(atan2_of_the_special),
          CASE(powers_and_hypotenuses_of_the_special), CASE(fma_rounds_once), CASE(ldexp_rounds_once),
          CASE(bitcast_keeps_the_bits))
