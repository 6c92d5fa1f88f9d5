/* SPDX-License-Identifier: Apache-2.0
 *
 * Equal independent expressions before one end: one launch and one kernel, however many they
 * are, with the values that each has alone. */
#define _GNU_SOURCE
#include <stdlib.h>

#include "api_fixture.h"

enum { MOST = 70, ROWS = 3, COLUMNS = 37, ELEMENTS = ROWS * COLUMNS };

/* What the chains have in common or not. */
typedef enum variant {
  PLAIN,      /* other operands, other scalars */
  SHARED,     /* one operand is the same one in all */
  TRANSPOSED, /* an operand of the last one lies in another order */
  ODD         /* the last one has one operation more */
} variant;

static float element(int chain, int which, int i) { return (float)((chain * 5 + which * 3 + i) % 17) - 8; }

/* [ROWS,COLUMNS], in the memory of [COLUMNS,ROWS] if it is `transposed`. */
static smelt_tensor *operand(smelt_context *ctx, int chain, int which, bool transposed) {
  float values[ELEMENTS];
  for (int row = 0; row < ROWS; row++) {
    for (int column = 0; column < COLUMNS; column++) {
      int at = transposed ? column * ROWS + row : row * COLUMNS + column;
      values[at] = element(chain, which, row * COLUMNS + column);
    }
  }
  int64_t rows = transposed ? COLUMNS : ROWS, columns = transposed ? ROWS : COLUMNS;
  smelt_tensor *t = smelt_from_host(ctx, SMELT_F32, DIMS(rows, columns), values);
  return transposed ? smelt_swapaxes(t, 0, 1) : t;
}

static void record(smelt_context *ctx, int n, variant kind, smelt_tensor **results) {
  smelt_tensor *shared = operand(ctx, 0, 1, false);
  for (int c = 0; c < n; c++) {
    bool last = c == n - 1;
    smelt_tensor *x = operand(ctx, c, 0, kind == TRANSPOSED && last);
    smelt_tensor *y = kind == SHARED ? smelt_ref(shared) : operand(ctx, c, 1, false);
    results[c] = smelt_abs(smelt_sub(smelt_mul(x, y), 0.5 + c));
    if (kind == ODD && last) results[c] = smelt_neg(results[c]);
  }
  smelt_drop(shared);
}

static float expected(int c, int n, variant kind, int i) {
  float value = element(c, 0, i) * element(kind == SHARED ? 0 : c, 1, i) - (0.5f + (float)c);
  if (value < 0) value = -value;
  return kind == ODD && c == n - 1 ? -value : value;
}

/* What `n` chains add to the counters. */
static smelt_counters run(smelt_context *ctx, int n, variant kind) {
  smelt_tensor *results[MOST];
  float values[ELEMENTS];
  smelt_error err;
  record(ctx, n, kind, results);
  smelt_counters before = counters_of(ctx);
  CHECK_OK(smelt_eval((const smelt_tensor *const *)results, (size_t)n, &err), err);
  smelt_counters added = counters_of(ctx);
  added.kernels_compiled -= before.kernels_compiled;
  added.launches -= before.launches;
  added.in_place_writes -= before.in_place_writes;
  for (int c = 0; c < n; c++) {
    CHECK_OK(smelt_into_host(results[c], SMELT_F32, values, sizeof values, &err), err);
    for (int i = 0; i < ELEMENTS; i++) CHECK_F64(values[i], expected(c, n, kind, i));
  }
  return added;
}

/* Numbers from 1 to 12 in an order that is none. */
static int number_of(int i) { return 1 + i * 5 % 12; }

TEST(their_number_makes_no_kernel) {
  smelt_context *ctx = open_context();
  uint64_t kernels = 0;
  for (int i = 0; i < 12; i++) {
    smelt_counters added = run(ctx, number_of(i), PLAIN);
    kernels += added.kernels_compiled;
    CHECK_I64(added.launches, 1);
    CHECK_I64(added.in_place_writes, number_of(i));
  }
  CHECK_I64(kernels, 1);
  close_context(ctx);
}

/* An operand of all is nobody's to be written over. */
TEST(a_shared_operand) {
  smelt_context *ctx = open_context();
  uint64_t kernels = 0;
  for (int i = 0; i < 12; i++) {
    smelt_counters added = run(ctx, number_of(i), SHARED);
    kernels += added.kernels_compiled;
    CHECK_I64(added.launches, 1);
  }
  CHECK_I64(kernels, 1);
  close_context(ctx);
}

/* Then all are one kernel, of as many loops. */
TEST(chains_that_are_not_alike) {
  smelt_context *ctx = open_context();
  for (int i = 0; i < 12; i++) {
    CHECK_I64(run(ctx, number_of(i), TRANSPOSED).launches, 1);
    CHECK_I64(run(ctx, number_of(i), ODD).launches, 1);
  }
  close_context(ctx);
}

/* A kernel binds 128 buffers. */
TEST(more_than_can_be_bound) {
  smelt_context *ctx = open_context();
  CHECK_I64(run(ctx, MOST, PLAIN).launches, 2);
  CHECK_I64(run(ctx, MOST, SHARED).launches, 2);
  close_context(ctx);
}

TEST(interpreted) {
  setenv("SMELT_CPU", "baseline", 1);
  smelt_context *ctx = open_context();
  for (int n = 1; n <= 12; n++) {
    CHECK_I64(run(ctx, n, PLAIN).launches, 1);
    (void)run(ctx, n, ODD);
  }
  close_context(ctx);
}

/* Long enough for several threads, and for results that bypass the caches. */
TEST(long_ones) {
  enum { LONG = 5 * 1000 * 1000 + 3, CHAINS = 3 };
  smelt_context *ctx = open_context();
  smelt_tensor *results[CHAINS];
  for (int c = 0; c < CHAINS; c++)
    results[c] = smelt_mul(smelt_add(smelt_arange(ctx, 0, LONG, 1, SMELT_I32), c), 2);
  smelt_error err;
  uint64_t before = counters_of(ctx).launches;
  CHECK_OK(smelt_eval((const smelt_tensor *const *)results, CHAINS, &err), err);
  CHECK_I64(counters_of(ctx).launches - before, 1);
  for (int c = 0; c < CHAINS; c++) {
    smelt_tensor *wanted = smelt_arange(ctx, 2 * c, 2 * LONG + 2 * c, 2, SMELT_I32);
    smelt_tensor *wrong = smelt_any(smelt_not_equal(results[c], wanted), NULL, 0, false);
    CHECK_F64(value_of(smelt_astype(wrong, SMELT_I32)), 0);
  }
  close_context(ctx);
}

TEST_MAIN(CASE(their_number_makes_no_kernel), CASE(a_shared_operand), CASE(chains_that_are_not_alike),
          CASE(more_than_can_be_bound), CASE(interpreted), CASE(long_ones))
