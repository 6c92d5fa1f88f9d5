/* SPDX-License-Identifier: Apache-2.0
 *
 * Shapes: limits, broadcasting, text. */
#include <string.h>

#include "core/limits.h"
#include "core/shape.h"
#include "harness.h"

#define DIMS(...) \
  (int)(sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t)), (int64_t[]) { __VA_ARGS__ }

static smelt_status make(smelt_dtype dtype, int rank, const int64_t *dims) {
  sm_shape s;
  return sm_shape_make(&s, dtype, rank, dims, NULL);
}

static sm_shape shape(int rank, const int64_t *dims) {
  sm_shape s = {0};
  smelt_error err;
  CHECK_OK(sm_shape_make(&s, SMELT_I8, rank, dims, &err), err);
  return s;
}

TEST(ranks) {
  int64_t ones[SMELT_MAX_RANK + 1];
  for (int i = 0; i <= SMELT_MAX_RANK; i++) ones[i] = 1;
  CHECK_STATUS(make(SMELT_F32, 0, NULL), SMELT_OK);
  CHECK_STATUS(make(SMELT_F32, SMELT_MAX_RANK, ones), SMELT_OK);
  CHECK_STATUS(make(SMELT_F32, SMELT_MAX_RANK + 1, ones), SMELT_ERR_SHAPE);
  CHECK_STATUS(make(SMELT_F32, -1, ones), SMELT_ERR_SHAPE);
  CHECK_STATUS(make(SMELT_F32, INT32_MIN, ones), SMELT_ERR_SHAPE);
  CHECK_STATUS(make(SMELT_F32, 1, NULL), SMELT_ERR_ARGUMENT);
}

TEST(extents_and_dtypes) {
  CHECK_STATUS(make(SMELT_F32, DIMS(2, -1)), SMELT_ERR_SHAPE);
  CHECK_STATUS(make(SMELT_F32, DIMS(INT64_MIN)), SMELT_ERR_SHAPE);
  CHECK_STATUS(make(SMELT_F32, DIMS(0, 5)), SMELT_OK);
  CHECK_STATUS(make(SMELT_DTYPE_NONE, DIMS(1)), SMELT_ERR_DTYPE);
  CHECK_STATUS(make((smelt_dtype)14, DIMS(1)), SMELT_ERR_DTYPE);
  CHECK_STATUS(make((smelt_dtype)1000, DIMS(1)), SMELT_ERR_DTYPE);
}

TEST(bytes_have_a_limit) {
  int64_t most = SM_MAX_TENSOR_BYTES;
  CHECK_STATUS(make(SMELT_U8, DIMS(most)), SMELT_OK);
  CHECK_STATUS(make(SMELT_U8, DIMS(most + 1)), SMELT_ERR_SHAPE);
  CHECK_STATUS(make(SMELT_F64, DIMS(most / 8)), SMELT_OK);
  CHECK_STATUS(make(SMELT_F64, DIMS(most / 8 + 1)), SMELT_ERR_SHAPE);
  CHECK_STATUS(make(SMELT_U8, DIMS(INT64_MAX)), SMELT_ERR_SHAPE);
  CHECK_STATUS(make(SMELT_U8, DIMS(INT64_MAX, INT64_MAX)), SMELT_ERR_SHAPE);
  CHECK_STATUS(make(SMELT_U8, DIMS(1ll << 32, 1ll << 32)), SMELT_ERR_SHAPE);
  /* Empty, but its strides would not fit. */
  CHECK_STATUS(make(SMELT_U8, DIMS(0, INT64_MAX, INT64_MAX)), SMELT_ERR_SHAPE);
  CHECK_STATUS(make(SMELT_U8, DIMS(INT64_MAX, 0)), SMELT_ERR_SHAPE);
}

TEST(counts) {
  sm_shape scalar = shape(0, NULL), empty = shape(DIMS(3, 0, 2)), full = shape(DIMS(3, 4));
  CHECK_I64(sm_shape_count(&scalar), 1);
  CHECK_I64(sm_shape_count(&empty), 0);
  CHECK_I64(sm_shape_count(&full), 12);
  CHECK_I64(sm_shape_bytes(&full, SMELT_F64), 96);
  CHECK_I64(sm_shape_bytes(&scalar, SMELT_U16), 2);
}

TEST(equality) {
  sm_shape a = shape(DIMS(2, 3)), b = shape(DIMS(2, 3)), c = shape(DIMS(2, 3, 1)), d = shape(DIMS(3, 2));
  b.dims[2] = 99; /* beyond the rank */
  CHECK(sm_shape_equal(&a, &b));
  CHECK(!sm_shape_equal(&a, &c));
  CHECK(!sm_shape_equal(&a, &d));
}

static void check_broadcast(sm_shape a, sm_shape b, const char *expected) {
  sm_text text;
  for (int swapped = 0; swapped < 2; swapped++) {
    sm_shape s = swapped ? b : a;
    sm_text_init(&text, &sm_malloc_allocator);
    if (sm_shape_broadcast(&s, swapped ? &a : &b)) sm_shape_print(&text, &s);
    else CHECK(sm_shape_equal(&s, swapped ? &b : &a)); /* unchanged */
    CHECK_STR(text.data, expected);
    sm_text_free(&text);
  }
}

TEST(broadcasting) {
  check_broadcast(shape(DIMS(2, 3)), shape(DIMS(2, 3)), "[2,3]");
  check_broadcast(shape(DIMS(2, 3)), shape(DIMS(3)), "[2,3]");
  check_broadcast(shape(DIMS(2, 1)), shape(DIMS(3)), "[2,3]");
  check_broadcast(shape(DIMS(8, 1, 6, 1)), shape(DIMS(7, 1, 5)), "[8,7,6,5]");
  check_broadcast(shape(DIMS(2, 3)), shape(0, NULL), "[2,3]");
  check_broadcast(shape(0, NULL), shape(0, NULL), "[]");
  check_broadcast(shape(DIMS(1)), shape(DIMS(1, 1)), "[1,1]");
  check_broadcast(shape(DIMS(1, 3)), shape(DIMS(0, 1)), "[0,3]");
  check_broadcast(shape(DIMS(1)), shape(DIMS(0)), "[0]");
  check_broadcast(shape(DIMS(0)), shape(DIMS(0)), "[0]");
}

TEST(misfits) {
  check_broadcast(shape(DIMS(2, 3)), shape(DIMS(2)), "");
  check_broadcast(shape(DIMS(2, 3)), shape(DIMS(3, 2)), "");
  check_broadcast(shape(DIMS(3)), shape(DIMS(0)), "");
  check_broadcast(shape(DIMS(4, 1, 2)), shape(DIMS(3, 1, 2)), "");
  check_broadcast(shape(DIMS(5, 2)), shape(DIMS(5, 3)), "");
}

TEST(short_texts) {
  char buf[SM_SHAPE_TEXT];
  sm_shape s = shape(DIMS(2, 3)), scalar = shape(0, NULL), wide = {.rank = SMELT_MAX_RANK};
  CHECK_STR(sm_shape_text(buf, SMELT_F32, &s), "f32[2,3]");
  CHECK_STR(sm_shape_text(buf, SMELT_BOOL, &scalar), "bool[]");
  for (int i = 0; i < SMELT_MAX_RANK; i++) wide.dims[i] = INT64_MAX;
  memset(buf, 'x', sizeof buf);
  CHECK_I64(strlen(sm_shape_text(buf, SMELT_F32, &wide)), SM_SHAPE_TEXT - 1);
  /* Cut at every length the text can have. */
  for (int64_t last = 1; last < INT64_MAX / 10; last *= 10) {
    wide.rank = 5;
    wide.dims[4] = last;
    CHECK(strlen(sm_shape_text(buf, SMELT_F32, &wide)) < SM_SHAPE_TEXT);
  }
}

TEST_MAIN(CASE(ranks), CASE(extents_and_dtypes), CASE(bytes_have_a_limit), CASE(counts), CASE(equality),
          CASE(broadcasting), CASE(misfits), CASE(short_texts))
