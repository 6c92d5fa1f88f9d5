/* SPDX-License-Identifier: Apache-2.0
 *
 * f16 and bf16: conversions against the definition of the formats, for all values
 * and at every point where rounding turns over, in C, interpreted and compiled;
 * text; and when kernels round in each mode. */
#define _DEFAULT_SOURCE
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "api_fixture.h"
#include "core/array_text.h"
#include "core/half.h"
#include "core/kops.h"
#include "core/scalar.h"

enum { VALUES = 1 << 16 };

typedef struct format {
  smelt_dtype dtype;
  int digits; /* of the significand behind the point */
  int bias;
  uint16_t infinity;
} format;

static const format formats[] = {{SMELT_F16, 10, 15, 0x7c00}, {SMELT_BF16, 7, 127, 0x7f80}};

/* The value of finite bits by definition; what follows the largest is 2 to a power. */
static double value_of_bits(const format *f, uint16_t bits) {
  int exponent = (bits & 0x7fff) >> f->digits, fraction = bits & ((1 << f->digits) - 1);
  if (exponent) fraction += 1 << f->digits;
  double magnitude = ldexp(fraction, (exponent ? exponent : 1) - f->bias - f->digits);
  return bits & 0x8000 ? -magnitude : magnitude;
}

static bool is_nan(const format *f, uint16_t bits) { return (bits & 0x7fff) > f->infinity; }

static float widen(const format *f, uint16_t bits) {
  return f->dtype == SMELT_F16 ? sm_f16_to_f32(bits) : sm_bf16_to_f32(bits);
}
static uint16_t from_f32(const format *f, float value) {
  return f->dtype == SMELT_F16 ? sm_f16_from_f32(value) : sm_bf16_from_f32(value);
}
static uint16_t from_f64(const format *f, double value) {
  return f->dtype == SMELT_F16 ? sm_f16_from_f64(value) : sm_bf16_from_f64(value);
}

/* --- Conversions --------------------------------------------------------------------------- */

TEST(every_value_widens_and_comes_back) {
  for (const format *f = formats; f < formats + 2; f++) {
    for (int i = 0; i < VALUES; i++) {
      uint16_t bits = (uint16_t)i;
      float wide = widen(f, bits);
      if (is_nan(f, bits)) {
        CHECK(isnan(wide) && (signbit(wide) != 0) == (bits >> 15));
        bits = (uint16_t)(bits | 1 << (f->digits - 1)); /* it is quiet afterwards */
      } else if ((bits & 0x7fff) == f->infinity) {
        CHECK(wide == (bits & 0x8000 ? -INFINITY : INFINITY));
      } else {
        CHECK_F64(wide, value_of_bits(f, bits));
      }
      CHECK_I64(from_f32(f, wide), bits);
      CHECK_I64(from_f64(f, (double)wide), bits);
    }
  }
}

/* Between each value and the next: halfway goes to the even one, anything to a side
 * to that side; both from f32 and, as close as it gets, from f64. */
TEST(rounding_turns_over_halfway) {
  for (const format *f = formats; f < formats + 2; f++) {
    for (int i = 0; i < f->infinity; i++) {
      uint16_t low = (uint16_t)i, high = (uint16_t)(i + 1), even = i % 2 ? high : low;
      double middle = (value_of_bits(f, low) + value_of_bits(f, high)) / 2;
      float single = (float)middle;
      CHECK_F64(single, middle);
      for (uint16_t sign = 0, turn = 0; turn < 2; turn++, sign = 0x8000) {
        double s = sign ? -1 : 1;
        CHECK_I64(from_f32(f, (float)s * single), sign | even);
        CHECK_I64(from_f32(f, (float)s * nextafterf(single, 0)), sign | low);
        CHECK_I64(from_f32(f, (float)s * nextafterf(single, INFINITY)), sign | high);
        CHECK_I64(from_f64(f, s * middle), sign | even);
        CHECK_I64(from_f64(f, s * nextafter(middle, 0)), sign | low);
        CHECK_I64(from_f64(f, s * nextafter(middle, INFINITY)), sign | high);
      }
    }
  }
}

TEST(extremes) {
  CHECK_I64(sm_f16_from_f32(65504), 0x7bff);
  CHECK_I64(sm_f16_from_f64(65519.999), 0x7bff);
  CHECK_I64(sm_f16_from_f64(65520), 0x7c00);
  CHECK_I64(sm_f16_from_f64(1e300), 0x7c00);
  CHECK_I64(sm_f16_from_f64(-1e-300), 0x8000);
  CHECK_I64(sm_f16_from_f32(0x1p-25f), 0);
  CHECK_I64(sm_bf16_from_f64(1e300), 0x7f80);
  CHECK_I64(sm_bf16_from_f64(0x1.fffp127), 0x7f80);
  CHECK_I64(sm_bf16_from_f64(1e-300), 0);
  CHECK_F64(sm_f16_to_f32(0x7bff), 65504);
  CHECK_F64(sm_f16_to_f32(0x0400), 0x1p-14);
  CHECK_F64((double)sm_f16_to_f32(0x3c01) - 1, 0x1p-10);
  CHECK_F64(sm_bf16_to_f32(0x7f7f), 3.3895313892515355e38);
  CHECK_F64((double)sm_bf16_to_f32(0x3f81) - 1, 0x1p-7);
}

/* --- Kernels ------------------------------------------------------------------------------- */

/* Compiled anew, or interpreted. */
static smelt_context *open_mode(smelt_mode mode, smelt_switch fusion, bool compiled) {
  smelt_context_desc desc = SMELT_CONTEXT_DESC_INIT;
  desc.mode = mode;
  desc.fusion = fusion;
  CHECK_I64(compiled ? unsetenv("SMELT_LLVM") : setenv("SMELT_LLVM", "0", 1), 0);
  CHECK_I64(setenv("SMELT_CACHE", "0", 1), 0);
  return open_context_with(&desc);
}

static void convert(smelt_context *ctx, smelt_dtype from, const void *in, smelt_dtype to, void *out,
                    int64_t n) {
  smelt_error err = {0};
  smelt_tensor *t = smelt_astype(smelt_from_host(ctx, from, DIMS(n), in), to);
  CHECK_OK(smelt_into_host(t, to, out, (size_t)n * smelt_dtype_size(to), &err), err);
}

/* f32 values around which rounding turns over, of both signs, and NaNs. */
enum { EDGES = 6 * VALUES };
static float edges[EDGES];

static void fill_edges(const format *f) {
  for (int i = 0; i < VALUES; i++) {
    float middle = is_nan(f, (uint16_t)i) ? NAN : widen(f, (uint16_t)i);
    if ((i & 0x7fff) < f->infinity) {
      middle = (float)((value_of_bits(f, (uint16_t)i) + value_of_bits(f, (uint16_t)(i + 1))) / 2);
    }
    float around[] = {widen(f, (uint16_t)i),          middle,   nextafterf(middle, 0),
                      nextafterf(middle, 2 * middle), (float)i, 1.0f / (float)(i + 1)};
    memcpy(edges + (size_t)6 * (size_t)i, around, sizeof around);
  }
}

static void check_narrowing(smelt_context *ctx, const format *f) {
  static uint16_t got[EDGES], expected[EDGES];
  static double doubles[EDGES];
  convert(ctx, SMELT_F32, edges, f->dtype, got, EDGES);
  for (int i = 0; i < EDGES; i++) expected[i] = from_f32(f, edges[i]);
  CHECK_I64(first_difference(f->dtype, got, expected, EDGES), -1);
  for (int i = 0; i < EDGES; i++) doubles[i] = nextafter((double)edges[i], i % 4 < 2 ? 0 : INFINITY);
  convert(ctx, SMELT_F64, doubles, f->dtype, got, EDGES);
  for (int i = 0; i < EDGES; i++) expected[i] = from_f64(f, doubles[i]);
  CHECK_I64(first_difference(f->dtype, got, expected, EDGES), -1);
}

static void check_widening(smelt_context *ctx, const format *f) {
  static uint16_t all[VALUES], same[VALUES];
  static float got[VALUES];
  static double doubles[VALUES];
  static bool bools[VALUES];
  static int8_t bytes[VALUES];
  for (int i = 0; i < VALUES; i++) all[i] = (uint16_t)i;
  convert(ctx, f->dtype, all, SMELT_F32, got, VALUES);
  convert(ctx, f->dtype, all, SMELT_F64, doubles, VALUES);
  convert(ctx, f->dtype, all, SMELT_BOOL, bools, VALUES);
  convert(ctx, f->dtype, all, SMELT_I8, bytes, VALUES);
  convert(ctx, f->dtype, all, f->dtype, same, VALUES);
  for (int i = 0; i < VALUES; i++) {
    float wide = widen(f, all[i]), whole = truncf(wide);
    CHECK_F64(got[i], wide);
    CHECK_F64(doubles[i], wide);
    CHECK(bools[i] == (wide != 0));
    CHECK_I64(bytes[i], isnan(wide) ? 0 : whole > 127 ? 127 : whole < -128 ? -128 : (int8_t)whole);
  }
  CHECK_I64(first_difference(f->dtype, same, all, VALUES), -1);
}

TEST(kernels_convert_as_c_does) {
  for (int way = 0; way < 4; way++) {
    smelt_context *ctx = way == 3 ? open_device("ref") : open_mode(SMELT_MODE_DEFAULT, SMELT_ON, way % 2);
    for (const format *f = formats; f < formats + 2; f++) {
      fill_edges(f);
      check_narrowing(ctx, f);
      check_widening(ctx, f);
    }
    close_context(ctx);
  }
}

TEST(every_level_converts_alike) {
  static uint16_t expected[EDGES], got[EDGES];
  for (const format *f = formats; f < formats + 2; f++) {
    fill_edges(f);
    for (int i = 0; i < EDGES; i++) expected[i] = from_f32(f, edges[i]);
    for (int level = 0; level < SM_CPU_LEVEL_COUNT; level++) {
      if (!sm_cpu_supports((sm_cpu_level)level)) continue;
      sm_kop_eval_level((sm_cpu_level)level, SM_KOP_CAST, SMELT_F32, f->dtype)(
          EDGES, got, (const void *const[]){edges}, 0);
      CHECK_I64(first_difference(f->dtype, got, expected, EDGES), -1);
    }
  }
}

/* --- Text and scalars ------------------------------------------------------------------------ */

static char *print(smelt_dtype dtype, int64_t n, const double *values) {
  static char buffer[200];
  sm_text text;
  uint16_t bits[16];
  for (int64_t i = 0; i < n; i++) {
    sm_word word;
    sm_scalar s = {SM_KIND_FLOAT, {.f64 = values[i]}};
    CHECK_STATUS(sm_scalar_convert(s, dtype, &word, NULL), SMELT_OK);
    memcpy(&bits[i], &word, sizeof bits[i]);
  }
  sm_text_init(&text, &sm_malloc_allocator);
  sm_shape shape = {.rank = n > 1, .dims = {n}};
  sm_array_print(&text, dtype, &shape, bits);
  (void)snprintf(buffer, sizeof buffer, "%s", text.data);
  sm_text_free(&text);
  return buffer;
}

#define F16_TEXT(...) print(SMELT_F16, sizeof((double[]){__VA_ARGS__}) / 8, (double[]){__VA_ARGS__})
#define BF16_TEXT(...) print(SMELT_BF16, sizeof((double[]){__VA_ARGS__}) / 8, (double[]){__VA_ARGS__})

/* Of f16 as NumPy 2.4 prints it. */
TEST(texts) {
  CHECK_STR(F16_TEXT(0.1), "0.1");
  CHECK_STR(F16_TEXT(999), "999.0");
  CHECK_STR(F16_TEXT(1000), "1e+03");
  CHECK_STR(F16_TEXT(65504), "6.55e+04");
  CHECK_STR(F16_TEXT(6e-8), "6e-08");
  CHECK_STR(F16_TEXT(1e-4), "0.0001");
  CHECK_STR(F16_TEXT(999, 1), "[999.   1.]");
  CHECK_STR(F16_TEXT(1001, 1), "[1.001e+03 1.000e+00]");
  CHECK_STR(F16_TEXT(0.01, 10), "[ 0.01 10.  ]");
  CHECK_STR(F16_TEXT(0.01, 11), "[1.0e-02 1.1e+01]");
  CHECK_STR(F16_TEXT(1e-4, 2e-4), "[0.0001 0.0002]");
  CHECK_STR(F16_TEXT(0.1, 0.2, 0.3, 2048), "[9.998e-02 2.000e-01 3.000e-01 2.048e+03]");
  CHECK_STR(BF16_TEXT(3.14159), "3.14");
  CHECK_STR(BF16_TEXT(0.1, 1000, NAN), "[1.e-01 1.e+03    nan]");
  CHECK_STR(BF16_TEXT(0.1, 99.5), "[ 0.1 99.5]");
}

TEST(digits_are_few_and_read_back) {
  sm_text text;
  sm_text_init(&text, &sm_malloc_allocator);
  for (const format *f = formats; f < formats + 2; f++) {
    for (int i = 0; i < f->infinity; i++) {
      sm_text_clear(&text);
      sm_scalar_print_digits(&text, f->dtype, value_of_bits(f, (uint16_t)i));
      CHECK_I64(from_f64(f, sm_parse_f64(text.data, NULL)), i);
      CHECK(strcspn(text.data, "e") <= 5 + strlen("0.0000"));
    }
  }
  sm_text_free(&text);
}

TEST(scalars_are_rounded_once) {
  smelt_context *ctx = open_context();
  double tie = 1 + 0x1p-11; /* halfway between two values of f16; an f32 drops what is beyond */
  CHECK_F64(value_of(smelt_full(ctx, tie, SMELT_F16, DIMS(1))), 1);
  CHECK_F64(value_of(smelt_full(ctx, tie + 0x1p-40, SMELT_F16, DIMS(1))), 1 + 0x1p-10);
  CHECK_F64(value_of(smelt_full(ctx, 1 + 0x1p-8 + 0x1p-40, SMELT_BF16, DIMS(1))), 1 + 0x1p-7);
  CHECK_F64(value_of(smelt_multiply(smelt_ones(ctx, SMELT_F16, DIMS(1)), 1e6)), INFINITY);
  CHECK_F64(value_of(smelt_add(smelt_ones(ctx, SMELT_BF16, DIMS(1)), 2)), 3);
  close_context(ctx);
}

/* --- Modes ------------------------------------------------------------------------------------ */

enum { N = 4096 };

/* y = a*b + a with and without the product being looked at. */
typedef struct trial {
  uint16_t product[N], result[N];
} trial;

static uint16_t a_bits[N], b_bits[N];

static void run_trial(const format *f, smelt_mode mode, smelt_switch fusion, bool compiled, bool stored,
                      trial *t) {
  smelt_error err = {0};
  smelt_context *ctx = open_mode(mode, fusion, compiled);
  smelt_tensor *a = smelt_from_host(ctx, f->dtype, DIMS(N), a_bits);
  smelt_tensor *b = smelt_from_host(ctx, f->dtype, DIMS(N), b_bits);
  smelt_tensor *product = smelt_multiply(smelt_ref(a), b);
  smelt_tensor *result = smelt_add(stored ? smelt_ref(product) : product, a);
  CHECK_OK(smelt_into_host(result, f->dtype, t->result, sizeof t->result, &err), err);
  if (stored) CHECK_OK(smelt_into_host(product, f->dtype, t->product, sizeof t->product, &err), err);
  close_context(ctx);
}

static void check_trial(const format *f, smelt_mode mode, smelt_switch fusion, bool compiled, bool stored,
                        bool rounds) {
  static trial t;
  int different = 0;
  run_trial(f, mode, fusion, compiled, stored, &t);
  for (int i = 0; i < N; i++) {
    float a = widen(f, a_bits[i]), product = a * widen(f, b_bits[i]);
    uint16_t half = from_f32(f, product);
    uint16_t once = from_f32(f, product + a), twice = from_f32(f, widen(f, half) + a);
    different += once != twice;
    CHECK_I64(t.result[i], rounds ? twice : once);
    if (stored) CHECK_I64(t.product[i], half);
  }
  CHECK(different > N / 100); /* otherwise nothing is tested */
}

TEST(modes_round_where_they_say) {
  for (const format *f = formats; f < formats + 2; f++) {
    for (int i = 0; i < N; i++) {
      a_bits[i] = from_f32(f, 1 + (float)(i * 37 % 4001) / 4001);
      b_bits[i] = from_f32(f, -1 - (float)(i * 11 % 3001) / 3001);
    }
    for (int compiled = 0; compiled < 2; compiled++) {
      check_trial(f, SMELT_MODE_DEFAULT, SMELT_ON, compiled, false, false);
      check_trial(f, SMELT_MODE_DEFAULT, SMELT_ON, compiled, true, true);
      check_trial(f, SMELT_MODE_DEFAULT, SMELT_OFF, compiled, false, true);
      check_trial(f, SMELT_MODE_STRICT, SMELT_ON, compiled, false, true);
      check_trial(f, SMELT_MODE_STRICT, SMELT_ON, compiled, true, true);
      check_trial(f, SMELT_MODE_STRICT, SMELT_OFF, compiled, false, true);
      check_trial(f, SMELT_MODE_FAST, SMELT_ON, compiled, false, false);
      check_trial(f, SMELT_MODE_FAST, SMELT_ON, compiled, true, false);
    }
  }
}

/* A conversion that was asked for is made in every mode. */
TEST(astype_rounds) {
  static const smelt_mode modes[] = {SMELT_MODE_DEFAULT, SMELT_MODE_STRICT, SMELT_MODE_FAST};
  for (size_t m = 0; m < 3; m++) {
    smelt_context *ctx = open_mode(modes[m], SMELT_ON, true);
    CHECK_F64(value_of(smelt_astype(smelt_astype(number(ctx, 1.0001f), SMELT_F16), SMELT_F32)), 1);
    smelt_tensor *i = smelt_full(ctx, 257, SMELT_I32, DIMS(1));
    CHECK_F64(value_of(smelt_astype(smelt_astype(i, SMELT_BF16), SMELT_F32)), 256);
    close_context(ctx);
  }
}

/* sqrt(3)² in f16: the root is rounded or not. */
static bool is_strict(smelt_mode option) {
  smelt_context_desc desc = SMELT_CONTEXT_DESC_INIT;
  desc.mode = option;
  desc.fusion = SMELT_ON;
  smelt_context *ctx = open_context_with(&desc);
  smelt_tensor *root = smelt_sqrt(smelt_full(ctx, 3, SMELT_F16, DIMS(1)));
  double square = value_of(smelt_square(root));
  close_context(ctx);
  CHECK(square == 3 || square == 3 + 0x1p-9);
  return square != 3;
}

TEST(modes_come_from_options_and_the_environment) {
  smelt_error err;
  smelt_context_desc desc = SMELT_CONTEXT_DESC_INIT;
  unsetenv("SMELT_MODE");
  CHECK(!is_strict(SMELT_MODE_DEFAULT) && is_strict(SMELT_MODE_STRICT) && !is_strict(SMELT_MODE_FAST));
  CHECK_I64(setenv("SMELT_MODE", "strict", 1), 0);
  CHECK(is_strict(SMELT_MODE_DEFAULT) && !is_strict(SMELT_MODE_FAST));
  CHECK_I64(setenv("SMELT_MODE", "default", 1), 0);
  CHECK(!is_strict(SMELT_MODE_DEFAULT) && is_strict(SMELT_MODE_STRICT));
  CHECK_I64(setenv("SMELT_MODE", "loose", 1), 0);
  CHECK(smelt_context_create(&desc, &err) == NULL);
  CHECK_STATUS(err.code, SMELT_ERR_ARGUMENT);
  CHECK_STR(err.text, "SMELT_MODE: there is no mode 'loose', but strict, default and fast");
  desc.mode = (smelt_mode)7;
  CHECK(smelt_context_create(&desc, &err) == NULL);
  CHECK_STATUS(err.code, SMELT_ERR_ARGUMENT);
  CHECK_CONTAINS(err.text, "mode is 7");
}

TEST_MAIN(CASE(every_value_widens_and_comes_back), CASE(rounding_turns_over_halfway), CASE(extremes),
          CASE(kernels_convert_as_c_does), CASE(every_level_converts_alike), CASE(texts),
          CASE(digits_are_few_and_read_back), CASE(scalars_are_rounded_once),
          CASE(modes_round_where_they_say), CASE(astype_rounds),
          CASE(modes_come_from_options_and_the_environment))
