/* SPDX-License-Identifier: Apache-2.0
 *
 * Scalar operations on floats: the rules for zeros, infinities, NaN and ties in
 * both float dtypes, and casts to integers at the exact ends of their ranges. */
#include <math.h>

#include "core/kops.h"
#include "core/scalar.h"
#include "harness.h"

#define INF INFINITY

static double apply_in(smelt_dtype dtype, sm_kop kop, double a, double b) {
  sm_word x = {.F64 = a}, y = {.F64 = b}, result;
  if (dtype == SMELT_F32) {
    x.F32 = (float)a;
    y.F32 = (float)b;
  }
  sm_kop_loop *loop = sm_kop_eval(kop, dtype, dtype);
  CHECK(loop != NULL);
  loop(1, &result, (const void *const[]){&x, &y}, 0);
  return dtype == SMELT_F32 ? (double)result.F32 : result.F64;
}

/* Both dtypes; operands and result have to be exact in f32. */
#define GIVES(kop, a, b, expected)                                \
  do {                                                            \
    CHECK_F64(apply_in(SMELT_F32, SM_KOP_##kop, a, b), expected); \
    CHECK_F64(apply_in(SMELT_F64, SM_KOP_##kop, a, b), expected); \
  } while (0)

/* --- Remainders ------------------------------------------------------------------- */

TEST(remainder_has_the_sign_of_the_divisor) {
  GIVES(REM, -3, 2, 1);
  GIVES(REM, -1, 1, 0.0); /* a zero result takes the divisor's sign */
  GIVES(REM, 1, -1, -0.0);
  GIVES(REM, 5, -1.5, -1);
  GIVES(REM, 4, -1.5, -0.5);
  GIVES(REM, -7, -2.5, -2);
  GIVES(REM, 6, -2.5, -1.5);
  GIVES(REM, -1.5, 10, 8.5);
  GIVES(REM, 1.5, -10, -8.5);
  GIVES(REM, 0.0, 3, 0.0);
  GIVES(REM, -0.0, 3, 0.0);
  GIVES(REM, 0.0, -3, -0.0);
}

TEST(remainder_of_the_special) {
  GIVES(REM, 3, INF, 3);
  GIVES(REM, 0.0, INF, 0.0);
  GIVES(REM, -0.0, INF, 0.0);
  GIVES(REM, -3, INF, INF);
  GIVES(REM, 3, -INF, -INF);
  GIVES(REM, -3, -INF, -3);
  GIVES(REM, 0.0, -INF, -0.0);
  GIVES(REM, INF, 3, NAN);
  GIVES(REM, -INF, -INF, NAN);
  GIVES(REM, 3, 0.0, NAN);
  GIVES(REM, 3, -0.0, NAN);
  GIVES(REM, NAN, 3, NAN);
  GIVES(REM, 3, NAN, NAN);
  GIVES(REM, 0x1p100, 3, 1); /* exact: 2^100 mod 3 */
  GIVES(REM, -0x1p100, 3, 2);
}

TEST(fmod_has_the_sign_of_the_dividend) {
  GIVES(FMOD, -3, 2, -1);
  GIVES(FMOD, 3, -2, 1);
  GIVES(FMOD, -4, 2, -0.0);
  GIVES(FMOD, -0.0, 2, -0.0);
  GIVES(FMOD, INF, 2, NAN);
  GIVES(FMOD, 3, 0.0, NAN);
  GIVES(FMOD, 3, INF, 3);
  GIVES(FMOD, -3, INF, -3);
  GIVES(FMOD, 3, -INF, 3);
  GIVES(FMOD, NAN, 2, NAN);
  GIVES(FMOD, 0x1p100, 3, 1);
}

TEST(divisions) {
  GIVES(DIV, 1, 0.0, INF);
  GIVES(DIV, 1, -0.0, -INF);
  GIVES(DIV, 0.0, 0.0, NAN);
  GIVES(FLOOR_DIV, -7, 2, -4);
  GIVES(FLOOR_DIV, INF, 2, INF);
  GIVES(FLOOR_DIV, -1, 0.0, -INF);
  GIVES(FLOOR_DIV, -1, INF, -0.0);
  GIVES(TRUNC_DIV, -7, 2, -3);
  GIVES(TRUNC_DIV, 1, -2, -0.0);
  GIVES(TRUNC_DIV, INF, 2, INF);
}

/* --- Order and signs -------------------------------------------------------------------- */

TEST(minimum_and_maximum_keep_nan) {
  GIVES(MAX, 1, 2, 2);
  GIVES(MIN, 1, 2, 1);
  GIVES(MAX, NAN, 2, NAN);
  GIVES(MAX, 2, NAN, NAN);
  GIVES(MIN, NAN, 2, NAN);
  GIVES(MIN, 2, NAN, NAN);
  GIVES(MAX, -INF, NAN, NAN);
  GIVES(MAX, -INF, INF, INF);
  GIVES(MIN, -INF, INF, -INF);
}

TEST(signs) {
  GIVES(SIGN, -0.0, 0, 0.0);
  GIVES(SIGN, 0.0, 0, 0.0);
  GIVES(SIGN, -INF, 0, -1);
  GIVES(SIGN, 0x1p-140, 0, 1);
  GIVES(SIGN, NAN, 0, NAN);
  GIVES(NEG, 0.0, 0, -0.0);
  GIVES(NEG, -INF, 0, INF);
  GIVES(ABS, -0.0, 0, 0.0);
  GIVES(ABS, -INF, 0, INF);
  GIVES(ABS, NAN, 0, NAN);
  GIVES(COPYSIGN, 3, -0.0, -3);
  GIVES(COPYSIGN, -3, 0.0, 3);
}

TEST(rounding) {
  static const double in[] = {-2.5, -1.5, -0.5, -0.0, 0.5, 1.5, 2.5, 3.5, 0.25, -0.75};
  static const double even[] = {-2, -2, -0.0, -0.0, 0, 2, 2, 4, 0, -1};
  for (size_t i = 0; i < sizeof in / sizeof in[0]; i++) GIVES(ROUND, in[i], 0, even[i]);
  GIVES(ROUND, 8388609, 0, 8388609);
  GIVES(ROUND, 4194304.5, 0, 4194304);
  CHECK_F64(apply_in(SMELT_F64, SM_KOP_ROUND, 0x1.fffffffffffffp-2, 0), 0);
  CHECK_F64(apply_in(SMELT_F64, SM_KOP_ROUND, 4503599627370497.5, 0), 4503599627370498.0);
  GIVES(FLOOR, -0.5, 0, -1);
  GIVES(CEIL, -0.5, 0, -0.0);
  GIVES(TRUNC, -0.5, 0, -0.0);
  GIVES(TRUNC, -1.75, 0, -1);
  GIVES(FLOOR, -INF, 0, -INF);
  GIVES(ROUND, NAN, 0, NAN);
}

TEST(odd_functions_keep_the_zero) {
  static const sm_kop odd[] = {SM_KOP_SIN,   SM_KOP_TAN,   SM_KOP_ASIN,  SM_KOP_ATAN,
                               SM_KOP_SINH,  SM_KOP_TANH,  SM_KOP_ERF,   SM_KOP_SQRT,
                               SM_KOP_EXPM1, SM_KOP_LOG1P, SM_KOP_ASINH, SM_KOP_ATANH};
  for (size_t i = 0; i < sizeof odd / sizeof odd[0]; i++) {
    CHECK_F64(apply_in(SMELT_F32, odd[i], -0.0, 0), -0.0);
    CHECK_F64(apply_in(SMELT_F64, odd[i], -0.0, 0), -0.0);
    CHECK_F64(apply_in(SMELT_F64, odd[i], 0.0, 0), 0.0);
    CHECK(isnan(apply_in(SMELT_F32, odd[i], NAN, 0)));
  }
}

TEST(sigmoid_does_not_overflow) {
  GIVES(SIGMOID, 0, 0, 0.5);
  GIVES(SIGMOID, INF, 0, 1);
  GIVES(SIGMOID, -INF, 0, 0);
  GIVES(SIGMOID, NAN, 0, NAN);
  CHECK(apply_in(SMELT_F32, SM_KOP_SIGMOID, -80, 0) > 0);
  CHECK(apply_in(SMELT_F64, SM_KOP_SIGMOID, -700, 0) > 0);
}

static bool test_of(sm_kop kop, double a, double b) {
  bool result[2];
  float fa = (float)a, fb = (float)b;
  sm_kop_eval(kop, SMELT_F64, SMELT_BOOL)(1, &result[0], (const void *const[]){&a, &b}, 0);
  sm_kop_eval(kop, SMELT_F32, SMELT_BOOL)(1, &result[1], (const void *const[]){&fa, &fb}, 0);
  CHECK(result[0] == result[1]);
  return result[0];
}

TEST(tests) {
  CHECK(!test_of(SM_KOP_EQ, NAN, NAN));
  CHECK(test_of(SM_KOP_NE, NAN, NAN));
  CHECK(!test_of(SM_KOP_LT, NAN, 1) && !test_of(SM_KOP_LT, 1, NAN));
  CHECK(!test_of(SM_KOP_LE, NAN, NAN));
  CHECK(test_of(SM_KOP_EQ, 0.0, -0.0) && !test_of(SM_KOP_LT, -0.0, 0.0));
  CHECK(test_of(SM_KOP_EQ, INF, INF) && test_of(SM_KOP_LT, -INF, INF));
  CHECK(test_of(SM_KOP_ISNAN, NAN, 0) && !test_of(SM_KOP_ISNAN, INF, 0));
  CHECK(test_of(SM_KOP_ISINF, -INF, 0) && !test_of(SM_KOP_ISINF, NAN, 0) && !test_of(SM_KOP_ISINF, 1, 0));
  CHECK(test_of(SM_KOP_SIGNBIT, -0.0, 0) && !test_of(SM_KOP_SIGNBIT, 0.0, 0));
  CHECK(test_of(SM_KOP_SIGNBIT, copysign(NAN, -1), 0) && !test_of(SM_KOP_SIGNBIT, copysign(NAN, 1), 0));
}

/* --- Casts -------------------------------------------------------------------------------- */

static sm_scalar cast_f64(double v, smelt_dtype to) {
  sm_word result;
  sm_kop_eval(SM_KOP_CAST, SMELT_F64, to)(1, &result, (const void *const[]){&v}, 0);
  return sm_scalar_of(to, &result);
}

static sm_scalar cast_f32(float v, smelt_dtype to) {
  sm_word result;
  sm_kop_eval(SM_KOP_CAST, SMELT_F32, to)(1, &result, (const void *const[]){&v}, 0);
  return sm_scalar_of(to, &result);
}

static void check_signed_cast(smelt_dtype to, int64_t min, int64_t max, double above) {
  CHECK_I64(cast_f64(NAN, to).as.i64, 0);
  CHECK_I64(cast_f64(INF, to).as.i64, max);
  CHECK_I64(cast_f64(-INF, to).as.i64, min);
  CHECK_I64(cast_f64(above, to).as.i64, max);
  CHECK_I64(cast_f64(-above, to).as.i64, min);
  CHECK_I64(cast_f64(nextafter(above, INF), to).as.i64, max);
  CHECK_I64(cast_f64(nextafter(-above, -INF), to).as.i64, min);
  CHECK_I64(cast_f64(nextafter(above, 0), to).as.i64, (int64_t)nextafter(above, 0));
  CHECK_I64(cast_f64(nextafter(-above, 0), to).as.i64, (int64_t)nextafter(-above, 0));
  CHECK_I64(cast_f32((float)above, to).as.i64, max);
  CHECK_I64(cast_f32(nextafterf((float)above, 0), to).as.i64, (int64_t)nextafterf((float)above, 0));
  CHECK_I64(cast_f32((float)-above, to).as.i64, min);
  CHECK_I64(cast_f64(-0.9, to).as.i64, 0);
  CHECK_I64(cast_f64(-1.9, to).as.i64, -1);
  CHECK_I64(cast_f64(2.9, to).as.i64, 2);
}

TEST(casts_to_signed_saturate) {
  check_signed_cast(SMELT_I8, INT8_MIN, INT8_MAX, 0x1p7);
  check_signed_cast(SMELT_I16, INT16_MIN, INT16_MAX, 0x1p15);
  check_signed_cast(SMELT_I32, INT32_MIN, INT32_MAX, 0x1p31);
  check_signed_cast(SMELT_I64, INT64_MIN, INT64_MAX, 0x1p63);
  CHECK_I64(cast_f64(127.9, SMELT_I8).as.i64, 127);
  CHECK_I64(cast_f64(-128.9, SMELT_I8).as.i64, -128);
  CHECK_I64(cast_f64(2147483647.5, SMELT_I32).as.i64, INT32_MAX);
  CHECK_I64(cast_f32(2147483520.0f, SMELT_I32).as.i64, 2147483520);
  CHECK_I64(cast_f32(9223371487098961920.0f, SMELT_I64).as.i64, 9223371487098961920);
}

static void check_unsigned_cast(smelt_dtype to, uint64_t max, double above) {
  CHECK(cast_f64(NAN, to).as.u64 == 0);
  CHECK(cast_f64(INF, to).as.u64 == max);
  CHECK(cast_f64(-INF, to).as.u64 == 0);
  CHECK(cast_f64(above, to).as.u64 == max);
  CHECK(cast_f64(nextafter(above, INF), to).as.u64 == max);
  CHECK(cast_f64(nextafter(above, 0), to).as.u64 == (uint64_t)nextafter(above, 0));
  CHECK(cast_f32((float)above, to).as.u64 == max);
  CHECK(cast_f32(nextafterf((float)above, 0), to).as.u64 == (uint64_t)nextafterf((float)above, 0));
  CHECK(cast_f64(-0.0, to).as.u64 == 0 && cast_f64(-0.9, to).as.u64 == 0 && cast_f64(-1, to).as.u64 == 0);
  CHECK(cast_f64(1.9, to).as.u64 == 1);
}

TEST(casts_to_unsigned_saturate) {
  check_unsigned_cast(SMELT_U8, UINT8_MAX, 0x1p8);
  check_unsigned_cast(SMELT_U16, UINT16_MAX, 0x1p16);
  check_unsigned_cast(SMELT_U32, UINT32_MAX, 0x1p32);
  check_unsigned_cast(SMELT_U64, UINT64_MAX, 0x1p64);
  CHECK(cast_f64(0x1p63, SMELT_U64).as.u64 == (uint64_t)1 << 63);
  CHECK(cast_f64(0x1.8p63, SMELT_U64).as.u64 == (uint64_t)3 << 62);
}

TEST(casts_between_floats_and_to_bool) {
  CHECK_F64(cast_f64(0.1, SMELT_F32).as.f64, 0.1f);
  CHECK_F64(cast_f64(1e300, SMELT_F32).as.f64, INF);
  CHECK_F64(cast_f64(0x1.000001p0, SMELT_F32).as.f64, 1.0); /* a tie, to even */
  CHECK_F64(cast_f64(0x1.000003p0, SMELT_F32).as.f64, 0x1.000004p0);
  CHECK_F64(cast_f32(0.1f, SMELT_F64).as.f64, 0.1f);
  CHECK(cast_f64(NAN, SMELT_BOOL).as.b && cast_f32(NAN, SMELT_BOOL).as.b);
  CHECK(cast_f64(5e-324, SMELT_BOOL).as.b && cast_f64(-INF, SMELT_BOOL).as.b);
  CHECK(!cast_f64(-0.0, SMELT_BOOL).as.b);
}

TEST_MAIN(CASE(remainder_has_the_sign_of_the_divisor), CASE(remainder_of_the_special),
          CASE(fmod_has_the_sign_of_the_dividend), CASE(divisions), CASE(minimum_and_maximum_keep_nan),
          CASE(signs), CASE(rounding), CASE(odd_functions_keep_the_zero), CASE(sigmoid_does_not_overflow),
          CASE(tests), CASE(casts_to_signed_saturate), CASE(casts_to_unsigned_saturate),
          CASE(casts_between_floats_and_to_bool))
