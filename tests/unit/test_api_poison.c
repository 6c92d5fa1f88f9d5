/* SPDX-License-Identifier: Apache-2.0
 *
 * Poisoned tensors keep the first cause, whatever is done with them, and harm
 * nothing else. Weak scalars, which live without a context. */
#include <math.h>

#include "api_fixture.h"

/* --- Poison ---------------------------------------------------------------------------- */

static smelt_tensor *broken(smelt_context *ctx) {
  return smelt_add(smelt_zeros(ctx, SMELT_F32, DIMS(2)), smelt_zeros(ctx, SMELT_F32, DIMS(3)));
}

static const char cause[] = "add(f32[2], f32[3]): the shapes do not broadcast";

TEST(chains_keep_the_first_cause) {
  smelt_context *ctx = open_context();
  smelt_tensor *t = broken(ctx);
  uint64_t operations = counters_of(ctx).operations;
  for (int i = 0; i < 50; i++) t = smelt_exp(smelt_add(t, 1.0));
  CHECK_I64(counters_of(ctx).operations, operations); /* nothing is recorded */
  smelt_tensor *u = smelt_where(smelt_ref(t), number(ctx, 1), number(ctx, 2));
  check_poison(u, SMELT_ERR_SHAPE, cause);
  check_poison(smelt_mul(number(ctx, 1), t), SMELT_ERR_SHAPE, cause);
  close_context(ctx);
}

TEST(of_two_causes_the_first_operands) {
  smelt_context *ctx = open_context();
  check_poison(smelt_mul(broken(ctx), smelt_exp(NULL)), SMELT_ERR_SHAPE, cause);
  check_poison(smelt_mul(smelt_exp(NULL), broken(ctx)), SMELT_ERR_STALE, "smelt_exp: NULL");
  close_context(ctx);
}

TEST(every_function_tells_the_cause) {
  smelt_context *ctx = open_context();
  smelt_tensor *t = broken(ctx);
  smelt_error err;
  char buf[16];
  double f;
  int64_t i;
  bool b;
  size_t needed;
#define TELLS(call)                          \
  do {                                       \
    err = (smelt_error){.code = SMELT_OK};   \
    CHECK_STATUS(call, SMELT_ERR_SHAPE);     \
    CHECK_STR(err.text, cause);              \
    CHECK_STATUS(err.code, SMELT_ERR_SHAPE); \
  } while (0)
  TELLS(smelt_check(t, &err));
  TELLS(smelt_read(t, SMELT_F32, buf, 8, &err));
  TELLS(smelt_into_host(smelt_ref(t), SMELT_F32, buf, 8, &err));
  TELLS(smelt_item_f64(t, &f, &err));
  TELLS(smelt_item_i64(t, &i, &err));
  TELLS(smelt_item_bool(t, &b, &err));
  TELLS(smelt_eval((const smelt_tensor *[]){t}, 1, &err));
  TELLS(smelt_format(t, buf, sizeof buf, &needed, &err));
  TELLS(smelt_print(t, &err));
#undef TELLS
  CHECK_I64(smelt_dtype_of(t), SMELT_DTYPE_NONE);
  CHECK_I64(smelt_rank(t), -1);
  CHECK_I64(smelt_dims(t, &i), -1);
  CHECK_I64(smelt_count(t), -1);
  smelt_drop(t);
  close_context(ctx);
}

/* A tensor that fails when it runs is poisoned like one that fails at the call. */
TEST(failures_of_execution) {
  smelt_context *ctx = open_context();
  int64_t huge = (int64_t)1 << 54;
  double f;
  smelt_error err, again;
  smelt_tensor *good = smelt_add(number(ctx, 1), 1);
  smelt_tensor *bad = smelt_exp(smelt_zeros(ctx, SMELT_F32, 1, &huge));
  smelt_tensor *after = smelt_mul(smelt_ref(bad), 2.0);
  CHECK_STATUS(smelt_eval((const smelt_tensor *[]){after}, 1, &err), SMELT_ERR_MEMORY);
  CHECK_STATUS(smelt_check(bad, &again), SMELT_ERR_MEMORY);
  CHECK_STR(again.text, err.text);
  CHECK_STATUS(smelt_item_f64(bad, &f, &again), SMELT_ERR_MEMORY); /* not: more than one element */
  CHECK_STATUS(smelt_read(bad, SMELT_I8, &f, 1, &again), SMELT_ERR_MEMORY);
  CHECK_I64(smelt_rank(bad), -1);
  check_poison(smelt_mul(smelt_ref(bad), smelt_ref(good)), SMELT_ERR_MEMORY, err.text);
  CHECK_F64(value_of(good), 2);
  CHECK_F64(value_of(smelt_add(number(ctx, 2), 3)), 5);
  smelt_drop(bad);
  smelt_drop(after);
  close_context(ctx);
}

TEST(calls_by_name_that_are_wrong) {
  smelt_context *ctx = open_context();
  smelt_tensor *nine[9];
  for (int i = 0; i < 9; i++) nine[i] = number(ctx, 1);
  check_poison(smelt_call(ctx, "exp", nine, 9, NULL), SMELT_ERR_ARGUMENT, "exp does not take 9 operands");
  smelt_tensor *two[] = {number(ctx, 1), number(ctx, 1)};
  check_poison(smelt_call(ctx, "exp", two, 2, NULL), SMELT_ERR_ARGUMENT, "exp takes 1 operand, not 2");
  smelt_tensor *lost[] = {number(ctx, 1)};
  check_poison(smelt_call(ctx, "expp", lost, 1, NULL), SMELT_ERR_ARGUMENT, "no operation is called \"expp\"");
  check_poison(smelt_call(ctx, NULL, NULL, 0, NULL), SMELT_ERR_ARGUMENT, "no operation is called \"(null)\"");
  check_poison(smelt_call(ctx, "add", NULL, 0, NULL), SMELT_ERR_ARGUMENT, "add takes 2 operands, not 0");
  check_poison(smelt_call(NULL, "add", NULL, 0, NULL), SMELT_ERR_ARGUMENT, "add");
  check_poison(smelt_call(ctx, "add", NULL, 2, NULL), SMELT_ERR_ARGUMENT, "add: the operands are NULL");
  check_poison(smelt_call(ctx, "addd", NULL, 2, NULL), SMELT_ERR_ARGUMENT, "no operation is called");
  check_poison(smelt_call(ctx, "zeros", NULL, 0, NULL), SMELT_ERR_ARGUMENT, "zeros needs attributes");
  check_poison(smelt_zeros(NULL, SMELT_F32, 0, NULL), SMELT_ERR_ARGUMENT, "zeros: the context is NULL");
  close_context(ctx);
}

/* --- Weak scalars ------------------------------------------------------------------------------ */

TEST(scalars_take_the_dtype_they_meet) {
  smelt_context *ctx = open_context();
  smelt_tensor *t = smelt_add(smelt_from_host(ctx, SMELT_U8, 0, NULL, &(uint8_t){200}), 100);
  CHECK_I64(smelt_dtype_of(t), SMELT_U8);
  CHECK_F64(value_of(t), 44);
  check_poison(smelt_add(smelt_from_host(ctx, SMELT_U8, 0, NULL, &(uint8_t){1}), 256), SMELT_ERR_ARGUMENT,
               "scalar 256 does not fit dtype u8");
  check_poison(smelt_add(smelt_from_host(ctx, SMELT_I32, 0, NULL, &(int32_t){1}), 0.5), SMELT_ERR_DTYPE,
               "a float scalar does not go with dtype i32");
  t = smelt_mul(number(ctx, 3), 0.1);
  CHECK_I64(smelt_dtype_of(t), SMELT_F32);
  CHECK_F64(value_of(t), 3 * 0.1f);
  close_context(ctx);
}

TEST(scalars_among_themselves_stay_scalars) {
  smelt_context *ctx = open_context();
  smelt_tensor *s = smelt_mul(smelt_scalar_f64(0.1), 3);
  CHECK_I64(smelt_dtype_of(s), SMELT_F64);
  CHECK_I64(smelt_rank(s), 0);
  CHECK_I64(smelt_count(s), 1);
  smelt_tensor *t = smelt_add(number(ctx, 0), s); /* still weak */
  CHECK_I64(smelt_dtype_of(t), SMELT_F32);
  CHECK_F64(value_of(t), (float)(0.1 * 3));
  CHECK_F64(value_of(smelt_where(smelt_scalar_bool(false), 1, 2)), 2);
  CHECK_F64(value_of(smelt_floor_divide(smelt_scalar_i64(-7), 2)), -4);
  CHECK_F64(value_of(smelt_reciprocal(smelt_scalar_f64(4))), 0.25);
  CHECK_F64(value_of(smelt_clip(smelt_scalar_f64(5), 1, 2.5)), 2.5);
  smelt_tensor *test = smelt_less(smelt_scalar_i64(1), 2);
  CHECK_I64(smelt_dtype_of(test), SMELT_BOOL);
  smelt_drop(test);
  check_poison(smelt_exp(smelt_scalar_i64(1)), SMELT_ERR_DTYPE, "exp(scalar): wants floats");
  CHECK_I64(counters_of(ctx).launches, 1);
  close_context(ctx);
}

TEST(large_unsigned_scalars) {
  smelt_context *ctx = open_context();
  int64_t i = 0;
  smelt_tensor *s = smelt_scalar_u64(5);
  CHECK_I64(smelt_dtype_of(s), SMELT_I64); /* small ones meet more dtypes as i64 */
  CHECK_STATUS(smelt_item_i64(s, &i, NULL), SMELT_OK);
  CHECK_I64(i, 5);
  smelt_drop(s);
  check_poison(smelt_add(smelt_from_host(ctx, SMELT_I64, 0, NULL, &i), smelt_scalar_u64(UINT64_MAX)),
               SMELT_ERR_ARGUMENT, "does not fit dtype i64");
  close_context(ctx);
}

TEST(every_folding_operation_agrees_with_its_kernel) {
  smelt_context *ctx = open_context();
  static const double values[] = {0.75, 2.5, -0.5};
  smelt_attrs none = {.size = sizeof none};
  for (size_t k = 0; k < smelt_op_count(); k++) {
    const smelt_op_info *op = smelt_op_at(k);
    size_t n = strlen(op->operands);
    if (!n || *op->attrs || *op->operands == 'B' || *op->operands == 'S') continue;
    smelt_tensor *weak[3], *strong[3];
    CHECK(n <= 3);
    for (size_t i = 0; i < n; i++) {
      weak[i] = smelt_scalar_f64(values[i]);
      strong[i] = smelt_from_host(ctx, SMELT_F64, 0, NULL, &values[i]);
    }
    smelt_tensor *a = smelt_call(NULL, op->name, weak, n, &none),
                 *b = smelt_call(ctx, op->name, strong, n, &none);
    CHECK_STATUS(smelt_check(a, NULL), smelt_check(b, NULL));
    CHECK_I64(smelt_dtype_of(a), smelt_dtype_of(b));
    if (smelt_dtype_of(b) == SMELT_F64) {
      CHECK_F64(value_of(a), value_of(b));
    } else {
      smelt_drop(a);
      smelt_drop(b);
    }
  }
  CHECK(smelt_op_at(smelt_op_count()) == NULL && smelt_op_find("no") == NULL && smelt_op_find(NULL) == NULL);
  close_context(ctx);
}

TEST_MAIN(CASE(chains_keep_the_first_cause), CASE(of_two_causes_the_first_operands),
          CASE(every_function_tells_the_cause), CASE(failures_of_execution),
          CASE(calls_by_name_that_are_wrong), CASE(scalars_take_the_dtype_they_meet),
          CASE(scalars_among_themselves_stay_scalars), CASE(large_unsigned_scalars),
          CASE(every_folding_operation_agrees_with_its_kernel))
