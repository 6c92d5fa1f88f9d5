/* SPDX-License-Identifier: Apache-2.0
 *
 * Weak scalars: what fits which dtype, at every boundary, and their text. */
#include <math.h>
#include <string.h>

#include "core/scalar.h"
#include "harness.h"

static sm_scalar of_i64(int64_t v) { return (sm_scalar){SM_KIND_SINT, {.i64 = v}}; }
static sm_scalar of_u64(uint64_t v) { return (sm_scalar){SM_KIND_UINT, {.u64 = v}}; }
static sm_scalar of_f64(double v) { return (sm_scalar){SM_KIND_FLOAT, {.f64 = v}}; }
static sm_scalar of_bool(bool v) { return (sm_scalar){SM_KIND_BOOL, {.b = v}}; }

static smelt_status convert(sm_scalar s, smelt_dtype dtype) {
  sm_word word;
  return sm_scalar_convert(s, dtype, &word, NULL);
}

/* The element, read back as a scalar of the dtype's kind. */
static sm_scalar converted(sm_scalar s, smelt_dtype dtype) {
  sm_word word;
  smelt_error err;
  memset(&word, 0xff, sizeof word);
  CHECK_OK(sm_scalar_convert(s, dtype, &word, &err), err);
  uint64_t above = smelt_dtype_size(dtype) < 8 ? word.bits >> 8 * smelt_dtype_size(dtype) : 0;
  CHECK_I64(above, 0); /* unused bytes are zero */
  return sm_scalar_of(dtype, &word);
}

static void check_signed_range(smelt_dtype dtype, int64_t min, int64_t max) {
  CHECK_I64(converted(of_i64(min), dtype).as.i64, min);
  CHECK_I64(converted(of_i64(max), dtype).as.i64, max);
  CHECK_I64(converted(of_i64(-1), dtype).as.i64, -1);
  CHECK_I64(converted(of_i64(0), dtype).as.i64, 0);
  CHECK_I64(converted(of_u64((uint64_t)max), dtype).as.i64, max);
  CHECK_STATUS(convert(of_u64((uint64_t)max + 1), dtype), SMELT_ERR_ARGUMENT);
  CHECK_STATUS(convert(of_u64(UINT64_MAX), dtype), SMELT_ERR_ARGUMENT);
  if (min == INT64_MIN) return;
  CHECK_STATUS(convert(of_i64(min - 1), dtype), SMELT_ERR_ARGUMENT);
  CHECK_STATUS(convert(of_i64(max + 1), dtype), SMELT_ERR_ARGUMENT);
  CHECK_STATUS(convert(of_i64(INT64_MIN), dtype), SMELT_ERR_ARGUMENT);
}

TEST(signed_ranges) {
  check_signed_range(SMELT_I8, INT8_MIN, INT8_MAX);
  check_signed_range(SMELT_I16, INT16_MIN, INT16_MAX);
  check_signed_range(SMELT_I32, INT32_MIN, INT32_MAX);
  check_signed_range(SMELT_I64, INT64_MIN, INT64_MAX);
}

static void check_unsigned_range(smelt_dtype dtype, uint64_t max) {
  CHECK(converted(of_u64(max), dtype).as.u64 == max);
  CHECK(converted(of_u64(0), dtype).as.u64 == 0);
  CHECK_STATUS(convert(of_i64(-1), dtype), SMELT_ERR_ARGUMENT);
  CHECK_STATUS(convert(of_i64(INT64_MIN), dtype), SMELT_ERR_ARGUMENT);
  if (max > INT64_MAX) return;
  CHECK(converted(of_i64((int64_t)max), dtype).as.u64 == max);
  CHECK_STATUS(convert(of_u64(max + 1), dtype), SMELT_ERR_ARGUMENT);
  CHECK_STATUS(convert(of_i64((int64_t)max + 1), dtype), SMELT_ERR_ARGUMENT);
}

TEST(unsigned_ranges) {
  check_unsigned_range(SMELT_U8, UINT8_MAX);
  check_unsigned_range(SMELT_U16, UINT16_MAX);
  check_unsigned_range(SMELT_U32, UINT32_MAX);
  check_unsigned_range(SMELT_U64, UINT64_MAX);
}

TEST(integers_into_floats_round_once) {
  CHECK_F64(converted(of_i64(16777217), SMELT_F32).as.f64, 16777216.0);
  /* Through f64 this tie would be rounded to even, down instead of up. */
  int64_t above_tie = ((int64_t)1 << 62) + ((int64_t)1 << 38) + 1;
  CHECK_F64(converted(of_i64(above_tie), SMELT_F32).as.f64, 0x1.000002p62);
  CHECK_F64(converted(of_u64((uint64_t)above_tie << 1), SMELT_F32).as.f64, 0x1.000002p63);
  CHECK_F64(converted(of_u64(UINT64_MAX), SMELT_F64).as.f64, 0x1p64);
  CHECK_F64(converted(of_i64(INT64_MIN), SMELT_F64).as.f64, -0x1p63);
}

TEST(floats_into_floats) {
  CHECK_F64(converted(of_f64(0.1), SMELT_F64).as.f64, 0.1);
  CHECK_F64(converted(of_f64(0.1), SMELT_F32).as.f64, 0.1f);
  CHECK_F64(converted(of_f64(-0.0), SMELT_F32).as.f64, -0.0);
  CHECK_F64(converted(of_f64(1e300), SMELT_F32).as.f64, INFINITY);
  CHECK_F64(converted(of_f64(NAN), SMELT_F32).as.f64, NAN);
  CHECK_F64(converted(of_f64(-INFINITY), SMELT_F64).as.f64, -INFINITY);
}

TEST(kinds_that_do_not_go_together) {
  static const smelt_dtype integers[] = {SMELT_I8, SMELT_I16, SMELT_I32, SMELT_I64,
                                         SMELT_U8, SMELT_U16, SMELT_U32, SMELT_U64};
  for (size_t i = 0; i < sizeof integers / sizeof integers[0]; i++) {
    CHECK_STATUS(convert(of_f64(1.0), integers[i]), SMELT_ERR_DTYPE);
    CHECK_STATUS(convert(of_bool(true), integers[i]), SMELT_ERR_DTYPE);
  }
  CHECK_STATUS(convert(of_bool(true), SMELT_F32), SMELT_ERR_DTYPE);
  CHECK_STATUS(convert(of_bool(true), SMELT_F64), SMELT_ERR_DTYPE);
  CHECK_STATUS(convert(of_i64(1), SMELT_BOOL), SMELT_ERR_DTYPE);
  CHECK_STATUS(convert(of_u64(1), SMELT_BOOL), SMELT_ERR_DTYPE);
  CHECK_STATUS(convert(of_f64(1), SMELT_BOOL), SMELT_ERR_DTYPE);
  CHECK_STATUS(convert((sm_scalar){SM_KIND_NONE, {0}}, SMELT_F32), SMELT_ERR_DTYPE);
  CHECK_STATUS(convert(of_i64(1), SMELT_DTYPE_NONE), SMELT_ERR_DTYPE);
  CHECK(converted(of_bool(true), SMELT_BOOL).as.b);
  CHECK(!converted(of_bool(false), SMELT_BOOL).as.b);
}

TEST(errors_name_value_and_dtype) {
  smelt_error err;
  sm_word word;
  sm_scalar_convert(of_i64(-129), SMELT_I8, &word, &err);
  CHECK_STR(err.text, "scalar -129 does not fit dtype i8");
  sm_scalar_convert(of_u64(UINT64_MAX), SMELT_I64, &word, &err);
  CHECK_STR(err.text, "scalar 18446744073709551615 does not fit dtype i64");
  sm_scalar_convert(of_f64(0.5), SMELT_I32, &word, &err);
  CHECK_STR(err.text, "a float scalar does not go with dtype i32");
  sm_scalar_convert(of_bool(true), SMELT_F32, &word, &err);
  CHECK_STR(err.text, "a bool scalar does not go with dtype f32");
}

static void check_text(sm_scalar s, const char *expected) {
  sm_text text;
  sm_text_init(&text, &sm_malloc_allocator);
  sm_text_add(&text, "1.5e"); /* what stands before must not count */
  sm_scalar_print(&text, s);
  CHECK(!text.failed);
  CHECK_STR(text.data + 4, expected);
  sm_text_free(&text);
}

TEST(texts) {
  check_text(of_f64(2), "2.0");
  check_text(of_f64(-0.0), "-0.0");
  check_text(of_f64(1e30), "1e+30");
  check_text(of_f64(0.1), "0.1");
  check_text(of_f64(INFINITY), "inf");
  check_text(of_f64(-INFINITY), "-inf");
  check_text(of_f64(NAN), "nan");
  check_text(of_i64(INT64_MIN), "-9223372036854775808");
  check_text(of_u64(UINT64_MAX), "18446744073709551615");
  check_text(of_bool(true), "true");
  check_text(of_bool(false), "false");
}

TEST(dtype_of_its_own) {
  CHECK_I64(sm_scalar_dtype(of_f64(1)), SMELT_F64);
  CHECK_I64(sm_scalar_dtype(of_i64(1)), SMELT_I64);
  CHECK_I64(sm_scalar_dtype(of_u64(1)), SMELT_U64);
  CHECK_I64(sm_scalar_dtype(of_bool(1)), SMELT_BOOL);
}

TEST_MAIN(CASE(signed_ranges), CASE(unsigned_ranges), CASE(integers_into_floats_round_once),
          CASE(floats_into_floats), CASE(kinds_that_do_not_go_together), CASE(errors_name_value_and_dtype),
          CASE(texts), CASE(dtype_of_its_own))
