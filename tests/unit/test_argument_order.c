/* SPDX-License-Identifier: Apache-2.0
 *
 * The promises of macros.h: operands are evaluated from left to right, each
 * once, C scalars of every type are operands, nesting is cheap. Compiled with
 * SMELT_NO_STATEMENT_EXPRESSIONS too; tests/header/order.cpp is the C++ twin. */
#include <math.h>

#include "harness.h"
#include "smelt/smelt.h"

static smelt_context *open_context(void) {
  smelt_error err = {0};
  smelt_context *ctx = smelt_context_create(NULL, &err);
  CHECK_STR(err.text, "");
  return ctx;
}

/* Also shows that nothing leaked. */
static void close_context(smelt_context *ctx) {
  smelt_error err = {0};
  CHECK_OK(smelt_context_destroy(ctx, &err), err);
}

static smelt_tensor *number(smelt_context *ctx, double value) {
  return smelt_from_host(ctx, SMELT_F64, 0, NULL, &value);
}

static smelt_tensor *truth(smelt_context *ctx, bool value) {
  return smelt_from_host(ctx, SMELT_BOOL, 0, NULL, &value);
}

/* The value of a tensor, as its last use. */
static double value_of(smelt_tensor *t) {
  double value = 0;
  smelt_error err = {0};
  CHECK_OK(smelt_item_f64(t, &value, &err), err);
  smelt_drop(t);
  return value;
}

static bool truth_of(smelt_tensor *t) {
  bool value = false;
  smelt_error err = {0};
  CHECK_OK(smelt_item_bool(t, &value, &err), err);
  smelt_drop(t);
  return value;
}

/* Which operands were evaluated, as digits in order. */
static int64_t trail;

static smelt_tensor *step(int digit, smelt_tensor *t) {
  trail = 10 * trail + digit;
  return t;
}

static int count(int digit) {
  trail = 10 * trail + digit;
  return digit;
}

TEST(nested_uses_of_one_tensor) {
  smelt_context *ctx = open_context();
  smelt_tensor *a = number(ctx, 1.0);
  CHECK_F64(value_of(smelt_add(smelt_exp(smelt_ref(a)), smelt_log(a))), exp(1.0));
  smelt_tensor *x = number(ctx, 0.0);
  CHECK_F64(value_of(smelt_subtract(smelt_ref(x), smelt_exp(x))), -1.0);
  smelt_tensor *b = number(ctx, 3.0);
  CHECK_F64(value_of(smelt_clip(smelt_square(smelt_ref(b)), smelt_negative(smelt_ref(b)), b)), 3.0);
  close_context(ctx);
}

TEST(two_operands_once_in_order) {
  smelt_context *ctx = open_context();
  trail = 0;
  smelt_tensor *d = smelt_subtract(step(1, number(ctx, 7)), step(2, number(ctx, 4)));
  CHECK_I64(trail, 12);
  CHECK_F64(value_of(d), 3);
  trail = 0;
  d = smelt_subtract(count(1), step(2, number(ctx, 4)));
  CHECK_I64(trail, 12);
  CHECK_F64(value_of(d), -3);
  trail = 0;
  d = smelt_mul(smelt_add(step(1, number(ctx, 2)), count(2)), smelt_sub(step(3, number(ctx, 5)), count(4)));
  CHECK_I64(trail, 1234);
  CHECK_F64(value_of(d), 4);
  close_context(ctx);
}

TEST(three_operands_once_in_order) {
  smelt_context *ctx = open_context();
  trail = 0;
  smelt_tensor *d =
      smelt_where(step(1, truth(ctx, false)), step(2, number(ctx, 20)), step(3, number(ctx, 30)));
  CHECK_I64(trail, 123);
  CHECK_F64(value_of(d), 30);
  trail = 0;
  d = smelt_clip(step(1, number(ctx, 9)), count(2), count(3));
  CHECK_I64(trail, 123);
  CHECK_F64(value_of(d), 3);
  close_context(ctx);
}

TEST(an_index_moves_once) {
  smelt_context *ctx = open_context();
  smelt_tensor *list[] = {number(ctx, 1), number(ctx, 2), number(ctx, 4)};
  size_t i = 0;
  smelt_tensor *d = smelt_sub(list[i], smelt_mul(list[i + 1], list[i + 2]));
  for (i = 0; i < 3; i++) d = smelt_add(d, (int)i);
  CHECK_I64(i, 3);
  CHECK_F64(value_of(d), -4);
  close_context(ctx);
}

TEST(attributes_after_operands) {
  smelt_context *ctx = open_context();
  smelt_tensor *d = smelt_full(ctx, 0.5, SMELT_F32, 2, (int64_t[]){2, 3});
  CHECK_I64(smelt_rank(d), 2);
  CHECK_I64(smelt_count(d), 6);
  smelt_drop(d);
  CHECK_F64(value_of(smelt_full(ctx, 7, SMELT_F64, 0, NULL)), 7);
  trail = 0;
  d = smelt_arange(ctx, count(1), count(8), count(3), SMELT_I64);
  CHECK_I64(trail, 183);
  CHECK_I64(smelt_count(d), 3);
  smelt_drop(d);
  trail = 0;
  smelt_tensor *list = smelt_arange(ctx, 0, 5, 1, SMELT_F64);
  d = smelt_take(step(1, smelt_reshape(smelt_ref(list), 2, (int64_t[]){1, 5})),
                 step(2, smelt_astype(list, SMELT_I32)), count(3) - 2);
  CHECK_I64(trail, 123);
  CHECK_I64(smelt_count(d), 5);
  smelt_drop(d);
  d = smelt_add(smelt_full(ctx, 1, SMELT_F64, 1, (int64_t[]){1}), smelt_full(ctx, 2.5, SMELT_F64, 0, NULL));
  CHECK_F64(value_of(d), 3.5);
  close_context(ctx);
}

#define CHECK_SCALAR(scalar)                                     \
  do {                                                           \
    CHECK_F64(value_of(smelt_sub(number(ctx, 10), scalar)), 7);  \
    CHECK_F64(value_of(smelt_sub(scalar, number(ctx, 10))), -7); \
  } while (0)

TEST(scalars_of_every_type) {
  smelt_context *ctx = open_context();
  const char c = 3;
  const volatile double qualified = 3.0;
  enum { THREE = 3 };
  enum colour { RED = 3 } red = RED;
  size_t size = 3;
  CHECK_SCALAR(c);
  CHECK_SCALAR((char)3);
  CHECK_SCALAR((signed char)3);
  CHECK_SCALAR((unsigned char)3);
  CHECK_SCALAR((short)3);
  CHECK_SCALAR((unsigned short)3);
  CHECK_SCALAR(3);
  CHECK_SCALAR(3u);
  CHECK_SCALAR(3l);
  CHECK_SCALAR(3ul);
  CHECK_SCALAR(3ll);
  CHECK_SCALAR(3ull);
  CHECK_SCALAR(size);
  CHECK_SCALAR((int64_t)3);
  CHECK_SCALAR((uint64_t)3);
  CHECK_SCALAR((ptrdiff_t)3);
  CHECK_SCALAR(3.0f);
  CHECK_SCALAR(3.0);
  CHECK_SCALAR(3.0l);
  CHECK_SCALAR(qualified);
  CHECK_SCALAR(THREE);
  CHECK_SCALAR(red);
  close_context(ctx);
}

TEST(bool_scalars) {
  smelt_context *ctx = open_context();
  const bool yes = true;
  CHECK(!truth_of(smelt_logical_xor(truth(ctx, true), yes)));
  CHECK(truth_of(smelt_logical_xor((bool)true, truth(ctx, false))));
  close_context(ctx);
}

TEST(extreme_scalars_keep_their_value) {
  smelt_context *ctx = open_context();
  CHECK(truth_of(smelt_equal(smelt_full(ctx, UINT64_MAX, SMELT_U64, 0, NULL), UINT64_MAX)));
  CHECK(truth_of(smelt_equal(smelt_full(ctx, INT64_MIN, SMELT_I64, 0, NULL), INT64_MIN)));
  close_context(ctx);
}

TEST(twelve_levels) {
  smelt_context *ctx = open_context();
  /* clang-format off */
  CHECK_F64(value_of(smelt_add(smelt_add(smelt_add(smelt_add(smelt_add(smelt_add(
                smelt_add(smelt_add(smelt_add(smelt_add(smelt_add(smelt_add(
                number(ctx, 0), 1), 2), 3), 4), 5), 6), 7), 8), 9), 10), 11), 12)), 78);
  CHECK_F64(value_of(smelt_sub(1, smelt_sub(2, smelt_sub(3, smelt_sub(4, smelt_sub(5, smelt_sub(6,
                smelt_sub(7, smelt_sub(8, smelt_sub(9, smelt_sub(10, smelt_sub(11, smelt_sub(12,
                number(ctx, 0)))))))))))))), -6);
  /* clang-format on */
  close_context(ctx);
}

TEST(null_is_an_invalid_reference) {
  smelt_context *ctx = open_context();
  smelt_tensor *none = NULL;
  smelt_tensor *bad[] = {smelt_add(number(ctx, 1), NULL), smelt_add(none, number(ctx, 1)),
                         smelt_where(NULL, 1, number(ctx, 2))};
  for (int i = 0; i < 3; i++) {
    CHECK(smelt_check(bad[i], NULL) != SMELT_OK);
    smelt_drop(bad[i]);
  }
  close_context(ctx);
}

TEST(a_void_pointer_may_hold_a_tensor) {
  smelt_context *ctx = open_context();
  void *any = number(ctx, 2);
  CHECK_F64(value_of(smelt_mul(any, 4)), 8);
  close_context(ctx);
}

TEST(functions_stay_functions) {
  smelt_context *ctx = open_context();
  smelt_tensor *(*combine)(smelt_tensor *, smelt_tensor *) = smelt_maximum;
  CHECK_F64(value_of(combine(number(ctx, 1), number(ctx, 2))), 2);
  CHECK_F64(value_of((smelt_subtract)(number(ctx, 1), smelt_scalar_i64(5))), -4);
  close_context(ctx);
}

/* 1 + (1 + (1 + ...)): `depth` + 1 operands are held at the deepest point. */
static smelt_tensor *sum_of_ones(smelt_context *ctx, int depth) {
  return depth == 0 ? number(ctx, 0) : smelt_add(number(ctx, 1), sum_of_ones(ctx, depth - 1));
}

TEST(nesting_through_calls) {
  smelt_context *ctx = open_context();
  CHECK_F64(value_of(sum_of_ones(ctx, SMELT__MAX_HELD - 1)), SMELT__MAX_HELD - 1);
  smelt_tensor *deep = sum_of_ones(ctx, SMELT__MAX_HELD + 40); /* the limit is of one form only */
#ifdef SMELT_NO_STATEMENT_EXPRESSIONS
  CHECK(smelt_check(deep, NULL) != SMELT_OK);
  smelt_drop(deep);
#else
  CHECK_F64(value_of(deep), SMELT__MAX_HELD + 40);
#endif
  close_context(ctx);
}

TEST(held_operands_come_back_last_first) {
  smelt_context *ctx = open_context();
  CHECK(smelt__release() == NULL);
  for (int i = 0; i < SMELT__MAX_HELD + 2; i++) smelt__hold(number(ctx, i));
  CHECK(smelt__release() == NULL);
  CHECK(smelt__release() == NULL);
  for (int i = SMELT__MAX_HELD - 1; i >= 0; i--) CHECK_F64(value_of(smelt__release()), i);
  CHECK(smelt__release() == NULL);
  close_context(ctx);
}

TEST_MAIN(CASE(nested_uses_of_one_tensor), CASE(two_operands_once_in_order),
          CASE(three_operands_once_in_order), CASE(an_index_moves_once), CASE(attributes_after_operands),
          CASE(scalars_of_every_type), CASE(bool_scalars), CASE(extreme_scalars_keep_their_value),
          CASE(twelve_levels), CASE(null_is_an_invalid_reference), CASE(a_void_pointer_may_hold_a_tensor),
          CASE(functions_stay_functions), CASE(nesting_through_calls),
          CASE(held_operands_come_back_last_first))
