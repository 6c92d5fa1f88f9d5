/* SPDX-License-Identifier: Apache-2.0
 *
 * Where products are rounded before they are added (B315 and B317 of the project's list of
 * reports): everywhere but in a kernel of the fast mode. */
#define _POSIX_C_SOURCE 200809L
#include <stdlib.h>

#include "api_fixture.h"

typedef struct setting {
  smelt_mode mode;
  smelt_switch fusion;
  bool interpreted;
} setting;

/* All there are, interpreted only where the device is `cpu`; the last one contracts. */
static void in_every_setting(void (*test)(smelt_context *ctx, bool contracts)) {
  static const smelt_mode modes[] = {SMELT_MODE_STRICT, SMELT_MODE_DEFAULT, SMELT_MODE_FAST};
  for (int k = 0; k < tries(12, 6); k++) {
    setting s = {modes[k % 3], k / 3 % 2 ? SMELT_OFF : SMELT_ON, k / 6};
    smelt_context_desc desc = SMELT_CONTEXT_DESC_INIT;
    desc.mode = s.mode;
    desc.fusion = s.fusion;
    CHECK_I64(s.interpreted ? setenv("SMELT_LLVM", "0", 1) : unsetenv("SMELT_LLVM"), 0);
    smelt_context *ctx = open_context_with(&desc);
    test(ctx, s.mode == SMELT_MODE_FAST && s.fusion == SMELT_ON);
    close_context(ctx);
  }
}

enum { N = 300 };

static smelt_tensor *of_4097(smelt_context *ctx) {
  float items[N];
  for (int i = 0; i < N; i++) items[i] = 4097;
  return smelt_from_host(ctx, SMELT_F32, DIMS(N), items);
}

/* 4097 squared is odd, and one more than the f32 below it. */
static smelt_tensor *lost_one(smelt_context *ctx) {
  smelt_tensor *x = of_4097(ctx), *y = of_4097(ctx);
  return smelt_add(smelt_mul(x, y), -16785408);
}

static void check_elementwise(smelt_context *ctx, bool contracts) {
  smelt_tensor *r = lost_one(ctx);
  smelt_tensor *zero = smelt_all(smelt_equal(smelt_ref(r), 0), NULL, 0, false);
  CHECK_F64(value_of(smelt_max(r, NULL, 0, false)), contracts);
  CHECK_F64(value_of(smelt_astype(zero, SMELT_U8)), !contracts);
}

TEST(sums_of_products) { in_every_setting(check_elementwise); }

static void check_reduced(smelt_context *ctx, bool contracts) {
  CHECK_F64(value_of(smelt_sum(lost_one(ctx), NULL, 0, false, SMELT_DTYPE_NONE)), contracts ? N : 0);
}

TEST(in_reductions) { in_every_setting(check_reduced); }

/* What is stored is the rounded product, and that is added. */
static void check_stored(smelt_context *ctx, bool contracts) {
  (void)contracts;
  smelt_tensor *square = smelt_square(of_4097(ctx)), *r = smelt_add(smelt_ref(square), -16785408);
  CHECK_F64(value_of(smelt_max(r, NULL, 0, false)), 0);
  CHECK_F64(value_of(smelt_max(square, NULL, 0, false)), 16785408);
}

TEST(stored_products) { in_every_setting(check_stored); }

/* a*x + b*x with b = -a is 0 if both products are rounded. */
static void check_two_products(smelt_context *ctx, bool contracts) {
  smelt_tensor *x = number(ctx, 1e10f), *a = number(ctx, 1e20f);
  smelt_tensor *left = smelt_mul(smelt_ref(a), smelt_ref(x)), *right = smelt_mul(smelt_neg(a), x);
  double sum = value_of(smelt_add(left, right));
  CHECK(contracts ? sum != 0 : sum == 0);
}

TEST(two_products) { in_every_setting(check_two_products); }

TEST_MAIN(CASE(sums_of_products), CASE(in_reductions), CASE(stored_products), CASE(two_products))
