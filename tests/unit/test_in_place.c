/* SPDX-License-Identifier: Apache-2.0
 *
 * Results that are written over operands: exactly where nobody can tell. */
#include <stdlib.h>

#include "api_fixture.h"

/* [1, 2, ..., n] in memory of its own. */
static smelt_tensor *line(smelt_context *ctx, int64_t n) {
  smelt_error err;
  smelt_tensor *t = smelt_arange(ctx, 1, n + 1, 1, SMELT_F32);
  CHECK_OK(smelt_eval((const smelt_tensor *[]){t}, 1, &err), err);
  return t;
}

/* Computes, and answers how many results were written over operands. */
static int64_t writes_of(smelt_context *ctx) {
  smelt_error err;
  uint64_t before = counters_of(ctx).in_place_writes;
  CHECK_OK(smelt_sync(ctx, &err), err);
  return (int64_t)(counters_of(ctx).in_place_writes - before);
}

/* Takes t, whose element i has to be scale * (i + 1) + shift. */
static void check_line(smelt_tensor *t, int64_t n, float scale, float shift) {
  float *values = malloc((size_t)n * sizeof *values);
  smelt_error err;
  CHECK(values != NULL);
  CHECK_OK(smelt_into_host(t, SMELT_F32, values, (size_t)n * sizeof *values, &err), err);
  for (int64_t i = 0; i < n; i++) CHECK_F64(values[i], scale * (float)(i + 1) + shift);
  free(values);
}

/* Sizes with and without a tail behind the last whole vector, and for many threads. */
static const int64_t lengths[] = {1, 15, 16, 1000, 200000};

TEST(the_first_operand_that_is_gone) {
  smelt_context *ctx = open_context();
  for (size_t i = 0; i < sizeof lengths / sizeof lengths[0]; i++) {
    int64_t n = lengths[i];
    for (int kept = 0; kept < 8; kept++) {
      smelt_tensor *in[3] = {line(ctx, n), line(ctx, n), line(ctx, n)}, *also[3] = {NULL};
      for (int k = 0; k < 3; k++) also[k] = kept & 1 << k ? smelt_ref(in[k]) : NULL;
      smelt_tensor *y = smelt_add(smelt_mul(in[0], 2.0), smelt_sub(in[1], in[2]));
      CHECK_I64(writes_of(ctx), kept != 7);
      check_line(y, n, 2, 0);
      for (int k = 0; k < 3; k++) {
        if (also[k]) check_line(also[k], n, 1, 0);
      }
    }
  }
  close_context(ctx);
}

TEST(other_sizes_and_dtypes_have_memory_of_their_own) {
  smelt_context *ctx = open_context();
  smelt_tensor *y = smelt_add(line(ctx, 4), smelt_zeros(ctx, SMELT_F32, DIMS(2, 4)));
  CHECK_I64(writes_of(ctx), 0);
  smelt_drop(y);
  y = smelt_astype(line(ctx, 4), SMELT_I32); /* as large, but not f32 */
  CHECK_I64(writes_of(ctx), 0);
  smelt_drop(y);
  y = smelt_greater(line(ctx, 4), line(ctx, 4));
  CHECK_I64(writes_of(ctx), 0);
  smelt_drop(y);
  close_context(ctx);
}

static void freed(void *flag) { *(bool *)flag = true; }

/* Nor is the copy of it on a device that has memory of its own. */
TEST(borrowed_memory_is_never_written) {
  smelt_context *ctx = open_context();
  float values[4] = {1, 2, 3, 4};
  bool gone = false;
  smelt_tensor *x = smelt_wrap(ctx, SMELT_F32, DIMS(4), values, freed, &gone);
  smelt_tensor *y = smelt_mul(x, 3.0);
  CHECK_I64(writes_of(ctx), 0);
  check_line(y, 4, 3, 0);
  for (int i = 0; i < 4; i++) CHECK_F64(values[i], i + 1);
  CHECK(gone);
  close_context(ctx);
}

/* The first result is written before the operand is used again. */
TEST(not_before_the_last_use) {
  smelt_context *ctx = open_context();
  smelt_tensor *a = line(ctx, 100), *b = line(ctx, 100), *kept = smelt_ref(b);
  smelt_tensor *first = smelt_mul(b, 2.0);
  smelt_tensor *second = smelt_add(smelt_ref(first), a);
  CHECK_I64(writes_of(ctx), 1);
  check_line(first, 100, 2, 0);
  check_line(second, 100, 3, 0);
  check_line(kept, 100, 1, 0);
  close_context(ctx);
}

/* Two results, one operand: one of them only. */
TEST(one_result_an_operand) {
  smelt_context *ctx = open_context();
  smelt_tensor *x = line(ctx, 100);
  smelt_tensor *y = smelt_mul(x, 2.0), *z = smelt_add(smelt_ref(y), 1.0);
  CHECK_I64(writes_of(ctx), 1);
  check_line(y, 100, 2, 0);
  check_line(z, 100, 2, 1);
  close_context(ctx);
}

/* Independent expressions run one after another over parts of their operand. */
TEST(not_over_what_another_expression_reads) {
  smelt_context *ctx = open_context();
  smelt_tensor *x = line(ctx, 200000);
  smelt_tensor *y = smelt_mul(smelt_ref(x), 2.0), *z = smelt_add(x, 1.0);
  CHECK_I64(writes_of(ctx), 0);
  check_line(y, 200000, 2, 0);
  check_line(z, 200000, 1, 1);
  close_context(ctx);
}

/* What a later kernel reads stays. */
TEST(not_over_what_a_later_kernel_reads) {
  smelt_context_desc desc = SMELT_CONTEXT_DESC_INIT;
  desc.max_ops = 1;
  smelt_context *ctx = open_context_with(&desc);
  smelt_tensor *x = line(ctx, 100);
  smelt_tensor *y = smelt_mul(smelt_ref(x), 2.0);
  y = smelt_add(y, 1.0); /* over the temporary */
  y = smelt_add(y, x);   /* over the temporary, x would do as well */
  CHECK_I64(writes_of(ctx), 2);
  check_line(y, 100, 3, 1);
  close_context(ctx);
}

/* Long kernels read their operands again and again. */
TEST(long_chains) {
  smelt_context *ctx = open_context();
  smelt_tensor *x = line(ctx, 5000), *y = smelt_ref(x);
  for (int i = 0; i < 100; i++) y = smelt_maximum(smelt_add(y, 1.0), smelt_ref(x));
  y = smelt_add(y, x);
  CHECK_I64(writes_of(ctx), 1);
  check_line(y, 5000, 2, 100);
  close_context(ctx);
}

/* An operand that is broadcast is read at other places than it would be written. */
TEST(not_over_a_broadcast_operand) {
  smelt_context *ctx = open_context();
  smelt_tensor *row = line(ctx, 6);
  smelt_tensor *y = smelt_add(line(ctx, 1), smelt_ref(row));
  CHECK_I64(writes_of(ctx), 0);
  check_line(y, 6, 1, 1);
  check_line(row, 6, 1, 0);
  close_context(ctx);
}

TEST(with_fusion_off_too) {
  smelt_context_desc desc = SMELT_CONTEXT_DESC_INIT;
  desc.fusion = SMELT_OFF;
  smelt_context *ctx = open_context_with(&desc);
  smelt_tensor *y = line(ctx, 1000);
  for (int i = 0; i < 3; i++) y = smelt_add(y, 1.0);
  CHECK_I64(writes_of(ctx), 3);
  check_line(y, 1000, 1, 3);
  close_context(ctx);
}

TEST_MAIN(CASE(the_first_operand_that_is_gone), CASE(other_sizes_and_dtypes_have_memory_of_their_own),
          CASE(borrowed_memory_is_never_written), CASE(not_before_the_last_use), CASE(one_result_an_operand),
          CASE(not_over_what_another_expression_reads), CASE(not_over_what_a_later_kernel_reads),
          CASE(long_chains), CASE(not_over_a_broadcast_operand), CASE(with_fusion_off_too))
