/* SPDX-License-Identifier: Apache-2.0
 *
 * Reductions with work before and behind them: what is launched, read and written, and
 * that values are those of the device ref bit for bit. */
#define _POSIX_C_SOURCE 200809L
#include <stdlib.h>

#include "api_fixture.h"

enum { R = 37, C = 300, LONG = 300000 };

/* A tensor in memory of its own, values between -1 and 1. */
static smelt_tensor *filled(smelt_context *ctx, int rank, const int64_t *dims, int salt) {
  int64_t n = 1;
  for (int i = 0; i < rank; i++) n *= dims[i];
  float *values = malloc((size_t)n * sizeof *values);
  CHECK(values != NULL);
  for (int64_t i = 0; i < n; i++) values[i] = (float)((i * 7919 + (int64_t)salt * 31) % 2001 - 1000) / 1000;
  smelt_tensor *t = smelt_from_host(ctx, SMELT_F32, rank, dims, values);
  free(values);
  return t;
}

static smelt_tensor *matrix(smelt_context *ctx, int salt) { return filled(ctx, DIMS(R, C), salt); }

static smelt_tensor *sum_of(smelt_tensor *x, int axis) {
  return smelt_sum(x, &axis, 1, false, SMELT_DTYPE_NONE);
}

typedef int program(smelt_context *ctx, smelt_tensor **out);

static int whole(smelt_context *ctx, smelt_tensor **out) {
  smelt_tensor *x = smelt_add(smelt_mul(matrix(ctx, 1), matrix(ctx, 2)), matrix(ctx, 3));
  out[0] = smelt_add(smelt_sum(x, NULL, 0, false, SMELT_DTYPE_NONE), 1.0);
  return 1;
}

static int last_axis(smelt_context *ctx, smelt_tensor **out) {
  out[0] = smelt_exp(sum_of(smelt_mul(matrix(ctx, 1), matrix(ctx, 2)), 1));
  return 1;
}

/* Nothing is read. */
static int created(smelt_context *ctx, smelt_tensor **out) {
  smelt_tensor *x = smelt_full(ctx, 2.5, SMELT_F32, DIMS(R, C));
  smelt_tensor *y = smelt_full(ctx, 0.3, SMELT_F32, DIMS(R, C));
  out[0] = smelt_sum(smelt_add(smelt_mul(x, y), 1.0), NULL, 0, false, SMELT_DTYPE_NONE);
  return 1;
}

static int first_axis(smelt_context *ctx, smelt_tensor **out) {
  out[0] = smelt_exp(sum_of(smelt_mul(matrix(ctx, 1), matrix(ctx, 2)), 0));
  return 1;
}

/* The product lives on: it is written as it is summed. */
static int kept_before(smelt_context *ctx, smelt_tensor **out) {
  out[0] = smelt_mul(matrix(ctx, 1), matrix(ctx, 2));
  out[1] = sum_of(smelt_ref(out[0]), 1);
  return 2;
}

static int several(smelt_context *ctx, smelt_tensor **out) {
  int axis = 1;
  smelt_tensor *x = matrix(ctx, 1);
  out[0] = smelt_max(smelt_ref(x), &axis, 1, false);
  out[1] = smelt_argmax(smelt_ref(x), &axis, 1, false);
  out[2] = smelt_mean(x, &axis, 1, false);
  return 3;
}

static int rows_and_bias(smelt_context *ctx, smelt_tensor **out) {
  smelt_tensor *x = smelt_add(matrix(ctx, 1), filled(ctx, DIMS(C), 2));
  out[0] = smelt_mul(sum_of(x, 1), filled(ctx, DIMS(R), 3));
  return 1;
}

static int of_a_view(smelt_context *ctx, smelt_tensor **out) {
  smelt_tensor *x = smelt_permute_dims(matrix(ctx, 1), (int[]){1, 0}, 2);
  out[0] = sum_of(smelt_flip(x, (int[]){0}, 1), 0);
  return 1;
}

/* Axes that are no neighbours: the first operand has no single stride along them, and is copied. */
static int apart(smelt_context *ctx, smelt_tensor **out) {
  smelt_tensor *x = filled(ctx, DIMS(5, 6, 7), 1), *y = filled(ctx, DIMS(5, 1, 7), 2);
  out[0] = smelt_add(smelt_sum(smelt_mul(x, y), (int[]){0, 2}, 2, true, SMELT_DTYPE_NONE),
                     filled(ctx, DIMS(1, 6, 1), 3));
  return 1;
}

/* The second needs what the first has made of everything. */
static int one_after_another(smelt_context *ctx, smelt_tensor **out) {
  out[0] = smelt_sum(smelt_exp(sum_of(matrix(ctx, 1), 1)), NULL, 0, false, SMELT_DTYPE_NONE);
  return 1;
}

/* Results and elements have one shape, and are two sides all the same. */
static int of_one_element(smelt_context *ctx, smelt_tensor **out) {
  int axis = 1;
  smelt_tensor *x = smelt_exp(filled(ctx, DIMS(R, 1), 1));
  out[0] = smelt_add(smelt_sum(smelt_ref(x), &axis, 1, true, SMELT_DTYPE_NONE), x);
  return 1;
}

/* So many elements that two stages share them out. */
static int in_stages(smelt_context *ctx, smelt_tensor **out) {
  smelt_tensor *x = filled(ctx, DIMS(LONG), 1);
  out[0] = smelt_add(smelt_sum(smelt_square(smelt_ref(x)), NULL, 0, false, SMELT_DTYPE_NONE), 1.0);
  out[1] = smelt_argmin(x, NULL, 0, false);
  return 2;
}

static int nothing(smelt_context *ctx, smelt_tensor **out) {
  smelt_tensor *x = smelt_zeros(ctx, SMELT_F32, DIMS(3, 0));
  out[0] = smelt_add(sum_of(smelt_exp(x), 1), 2.0);
  return 1;
}

typedef struct expectation {
  program *run;
  int64_t launches, read, written; /* bytes */
} expectation;

enum { M = 4 * R * C };

static const expectation expectations[] = {
    {whole, 1, 3L * M, 4},
    {last_axis, 1, 2L * M, 4L * R},
    {created, 1, 0, 4},
    {first_axis, 1, 2L * M, 4L * C},
    {kept_before, 1, 2L * M, M + 4L * R},
    {several, 1, M, 16L * R},
    {rows_and_bias, 1, M + 4L * C + 4L * R, 4L * R},
    {of_a_view, 1, M, 4L * R},
    {apart, 1, 4L * (210 + 210 + 35 + 6), 4L * (210 + 6)},
    {one_after_another, 2, M + 4L * R, 4L * R + 4},
    {of_one_element, 1, 4L * R, 4L * R},
    {in_stages, 1, 4L * LONG, 12},
    {nothing, 1, 0, 12},
};

static void check_expectation(const expectation *e, const smelt_context_desc *desc, bool counts) {
  smelt_context *cpu = open_context_with(desc), *ref = open_device("ref");
  smelt_tensor *out[4], *expected[4];
  smelt_error err;
  int n = e->run(cpu, out);
  CHECK_I64(e->run(ref, expected), n);
  CHECK_OK(smelt_sync(cpu, &err), err);
  smelt_counters c = counters_of(cpu);
  if (counts) {
    CHECK_I64(c.launches, e->launches);
    CHECK_I64(c.bytes_read, e->read);
    CHECK_I64(c.bytes_written, e->written);
  }
  for (int i = 0; i < n; i++) check_same_values(out[i], expected[i]);
  close_context(cpu);
  close_context(ref);
}

static void check_all(const smelt_context_desc *desc, bool counts) {
  for (size_t i = 0; i < sizeof expectations / sizeof expectations[0]; i++)
    check_expectation(&expectations[i], desc, counts);
}

TEST(launches_bytes_and_values) {
  smelt_context_desc desc = SMELT_CONTEXT_DESC_INIT;
  check_all(&desc, true);
}

TEST(values_without_fusion) {
  smelt_context_desc desc = SMELT_CONTEXT_DESC_INIT;
  desc.fusion = SMELT_OFF;
  check_all(&desc, false);
}

TEST(values_of_the_interpreter) {
  smelt_context_desc desc = SMELT_CONTEXT_DESC_INIT;
  (void)setenv("SMELT_LLVM", "0", 1);
  check_all(&desc, true);
}

static void check_lengths(smelt_context *ctx, int64_t from, int64_t to, int64_t step) {
  smelt_counters before = counters_of(ctx);
  for (int64_t n = from; n <= to; n += step) {
    smelt_tensor *x = filled(ctx, DIMS(10, n), 1);
    smelt_tensor *y = smelt_exp(sum_of(smelt_mul(smelt_ref(x), x), 1));
    CHECK_STATUS(smelt_eval((const smelt_tensor *[]){y}, 1, NULL), SMELT_OK);
    smelt_drop(y);
    if (n == from) before = counters_of(ctx);
  }
  CHECK_I64(counters_of(ctx).kernels_compiled, before.kernels_compiled);
  CHECK_I64(counters_of(ctx).explorations, before.explorations);
  close_context(ctx);
}

/* Other lengths find the plan and the kernels, as long as one stage is enough; where groups of
 * threads work, those that keep as many of them busy. */
TEST(lengths_are_not_identity) {
  check_lengths(open_device("cpu"), 1000, 6000, 1000);
  check_lengths(open_context(), 1100, 2000, 100);
}

/* Sums of ones over [rows, columns] by `axis`, each of which is the axis' length. */
static void check_counts(smelt_context *ctx, int64_t rows, int64_t columns, int axis) {
  enum { MOST = 520 };
  float sums[MOST];
  int64_t n = axis ? rows : columns, length = axis ? columns : rows;
  smelt_error err = {0};
  smelt_tensor *sum = sum_of(smelt_ones(ctx, SMELT_F32, DIMS(rows, columns)), axis);
  CHECK_OK(smelt_into_host(sum, SMELT_F32, sums, (size_t)n * sizeof *sums, &err), err);
  for (int64_t i = 0; i < n; i++) CHECK_F64(sums[i], (double)length);
}

/* A kernel for whole blocks is not that of others, whichever comes first. */
TEST(whole_blocks_and_others_in_one_context) {
  static const int64_t lengths[] = {512, 1, 255, 256, 257, 3, 384, 31, 512, 17};
  for (int axis = 0; axis < 2; axis++) {
    smelt_context *ctx = open_context();
    for (size_t i = 0; i < sizeof lengths / sizeof lengths[0]; i++) {
      check_counts(ctx, lengths[i], 17, axis);
      check_counts(ctx, 17, lengths[i], axis);
    }
    close_context(ctx);
  }
}

/* The roots of n squares and five sums, computed together. */
static void check_roots_beside_sums(smelt_context *ctx, int64_t n, bool keepdims) {
  enum { SUMS = 5, MOST = 9 };
  double squares[MOST], roots[MOST];
  for (int i = 0; i < MOST; i++) squares[i] = i * i;
  smelt_tensor *x = smelt_from_host(ctx, SMELT_F64, keepdims ? 1 : 2, (int64_t[]){n, 1}, squares);
  smelt_tensor *sum = smelt_sum(filled(ctx, DIMS(SUMS, 20), 1), (int[]){1}, 1, keepdims, SMELT_DTYPE_NONE);
  smelt_tensor *root = smelt_sqrt(x);
  CHECK_STATUS(smelt_eval((const smelt_tensor *[]){sum, root}, 2, NULL), SMELT_OK);
  CHECK_STATUS(smelt_into_host(root, SMELT_F64, roots, (size_t)n * sizeof *roots, NULL), SMELT_OK);
  for (int i = 0; i < n; i++) CHECK_F64(roots[i], i);
  smelt_drop(sum);
}

/* [5] is the shape of the results [5, 1] by chance: the plan is also one for [9]. */
TEST(results_of_another_rank_beside) {
  for (int keepdims = 0; keepdims < 2; keepdims++) {
    smelt_context *ctx = open_context();
    check_roots_beside_sums(ctx, 5, keepdims);
    check_roots_beside_sums(ctx, 9, keepdims);
    check_roots_beside_sums(ctx, 3, keepdims);
    close_context(ctx);
  }
}

/* [C] that is broadcast to the means [1, C] is in their kernel. */
TEST(a_row_of_lower_rank_before_results) {
  smelt_context *ctx = open_context();
  uint64_t before = counters_of(ctx).launches;
  smelt_tensor *mean = smelt_mean(matrix(ctx, 1), (int[]){0}, 1, true);
  smelt_tensor *y = smelt_add(mean, smelt_exp(filled(ctx, DIMS(C), 2)));
  CHECK_STATUS(smelt_eval((const smelt_tensor *[]){y}, 1, NULL), SMELT_OK);
  CHECK_I64(counters_of(ctx).launches - before, 1);
  smelt_drop(y);
  close_context(ctx);
}

TEST_MAIN(CASE(launches_bytes_and_values), CASE(values_without_fusion), CASE(values_of_the_interpreter),
          CASE(lengths_are_not_identity), CASE(whole_blocks_and_others_in_one_context),
          CASE(results_of_another_rank_beside), CASE(a_row_of_lower_rank_before_results))
