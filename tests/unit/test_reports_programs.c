/* SPDX-License-Identifier: Apache-2.0
 *
 * Public reports about other lazy libraries, tried on this one: what is kept between runs
 * and contexts, and large programs.
 *
 *   kept     B060 B248 B249 B255
 *   memory   B089 B140
 *   norms    B277 B305 */
#define _DEFAULT_SOURCE
#include "code_on_disk.h"
#include "core/cpu_level.h"

/* --- What is kept --------------------------------------------------------------------------- */

/* B060: a plan that is found again writes to memory of its own. */
TEST(results_of_one_plan) {
  smelt_context *ctx = open_context();
  smelt_tensor *sums[3];
  for (int i = 0; i < 3; i++) {
    float x[2] = {(float)i + 1, (float)i + 1};
    sums[i] = smelt_sum(smelt_from_host(ctx, SMELT_F32, DIMS(2), x), NULL, 0, false, SMELT_DTYPE_NONE);
    CHECK_STATUS(smelt_sync(ctx, NULL), SMELT_OK);
  }
  CHECK_I64(counters_of(ctx).plan_hits, 2);
  CHECK_F64(value_of(sums[0]), 2);
  CHECK_F64(value_of(sums[2]), 6);
  CHECK_F64(value_of(sums[1]), 4);
  close_context(ctx);
}

/* B248: numbers of several widths in one kernel are those of several kernels. */
static void draw(bool at_once, float wide[64], uint16_t narrow[64]) {
  smelt_context *ctx = open_context();
  smelt_error err;
  CHECK_STATUS(smelt_seed(ctx, 7), SMELT_OK);
  smelt_tensor *x = smelt_rand(ctx, SMELT_F32, DIMS(64));
  if (!at_once) CHECK_OK(smelt_sync(ctx, &err), err);
  smelt_tensor *y = smelt_rand(ctx, SMELT_F16, DIMS(64));
  CHECK_OK(smelt_into_host(x, SMELT_F32, wide, 64 * sizeof *wide, &err), err);
  CHECK_OK(smelt_into_host(y, SMELT_F16, narrow, 64 * sizeof *narrow, &err), err);
  close_context(ctx);
}

TEST(random_numbers_of_several_widths) {
  float wide[2][64];
  uint16_t narrow[2][64];
  for (int i = 0; i < 2; i++) draw(i, wide[i], narrow[i]);
  CHECK(memcmp(wide[0], wide[1], sizeof wide[0]) == 0);
  CHECK(memcmp(narrow[0], narrow[1], sizeof narrow[0]) == 0);
}

static smelt_context *open_with_operation(const char *expression) {
  smelt_op_desc desc = SMELT_OP_DESC_INIT;
  smelt_error err;
  desc.name = "more";
  desc.n_operands = 1;
  desc.expression = expression;
  smelt_context *ctx = open_context();
  CHECK_OK(smelt_op_register(ctx, &desc, &err), err);
  return ctx;
}

static double more(smelt_context *ctx) {
  smelt_tensor *x = number(ctx, 5);
  return value_of(smelt_call(ctx, "more", &x, 1, NULL));
}

/* B249: one name, two meanings, in turn. */
TEST(operations_of_one_name) {
  smelt_context *one = open_with_operation("add(x, 1)"), *two = open_with_operation("add(x, 2)");
  for (int i = 0; i < 3; i++) {
    CHECK_F64(more(one), 6);
    CHECK_F64(more(two), 7);
  }
  close_context(one);
  close_context(two);
}

static kernel_count compute_on(const char *level) {
  float y[8];
  CHECK_I64(level ? setenv("SMELT_CPU", level, 1) : unsetenv("SMELT_CPU"), 0);
  return compute_exp("cpu", y);
}

/* B255: code for one level of the processor is not found for another. */
TEST(code_for_each_level) {
  char folder[] = "/tmp/smelt-code-XXXXXX";
  use_cache_folder(folder);
  kernel_count best = compute_on(NULL);
  if (best.interpreted) TEST_SKIP("kernels are interpreted");
  CHECK_I64(best.from_cache, 0);
  CHECK_I64(compute_on("baseline").from_cache, 0);
  CHECK_I64(compute_on(NULL).from_cache, 1);
  if (sm_cpu_detect() == SM_CPU_AVX512) CHECK_I64(compute_on("avx2").from_cache, 0);
  remove_cache_folder(folder);
}

/* --- Memory ------------------------------------------------------------------------------------ */

/* B089: copied from any address, wrapped only where it is aligned. */
TEST(unaligned_numbers) {
  smelt_context *ctx = open_context();
  _Alignas(8) char memory[8] = {0};
  memcpy(memory + 1, &(int32_t){1}, sizeof(int32_t));
  smelt_tensor *x = smelt_from_host(ctx, SMELT_I32, 0, NULL, memory + 1);
  CHECK_F64(value_of(smelt_add(x, 2)), 3);
  check_poison(smelt_wrap(ctx, SMELT_I32, 0, NULL, memory + 1, NULL, NULL), SMELT_ERR_ARGUMENT,
               "not aligned");
  close_context(ctx);
}

/* B140 */
TEST(many_elements) {
  enum { N = 1 << 25 };
  smelt_context *ctx = open_context();
  smelt_error err;
  int32_t *y = malloc(N * sizeof *y);
  CHECK(y != NULL);
  smelt_tensor *x = smelt_remainder(smelt_arange(ctx, 0, N, 1, SMELT_I32), 1000);
  CHECK_OK(smelt_into_host(smelt_add(x, 1), SMELT_I32, y, N * sizeof *y, &err), err);
  for (int i = 0; i < N; i++) {
    if (y[i] != i % 1000 + 1) CHECK_I64(y[i], i % 1000 + 1);
  }
  free(y);
  close_context(ctx);
}

/* --- Norms ------------------------------------------------------------------------------------- */

enum { ROWS = 4, COLUMNS = 8192 };

/* B277: no run sees what another has left. */
TEST(a_norm_again_and_again) {
  smelt_context *ctx = open_context();
  smelt_error err;
  static float first[ROWS * COLUMNS], other[ROWS * COLUMNS];
  CHECK_STATUS(smelt_seed(ctx, 3), SMELT_OK);
  smelt_tensor *x = smelt_rand(ctx, SMELT_F32, DIMS(ROWS, COLUMNS));
  for (int i = 0; i < 1000; i++) {
    smelt_tensor *y = smelt_layer_norm(smelt_ref(x), (int[]){1}, 1, 1e-5);
    CHECK_OK(smelt_into_host(y, SMELT_F32, i ? other : first, sizeof first, &err), err);
    CHECK(i == 0 || memcmp(first, other, sizeof first) == 0);
  }
  smelt_drop(x);
  close_context(ctx);
}

/* B305: means of what is left of means; each but the last is computed once. */
TEST(means_of_means) {
  enum { DEPTH = 12, SIDE = 64 };
  double sums[2];
  for (int k = 0; k < 2; k++) {
    smelt_context_desc desc = SMELT_CONTEXT_DESC_INIT;
    desc.fusion = k ? SMELT_OFF : SMELT_ON;
    smelt_context *ctx = open_context_with(&desc);
    smelt_tensor *x = smelt_reshape(smelt_arange(ctx, 0, SIDE * SIDE, 1, SMELT_F32), DIMS(SIDE, SIDE));
    for (int i = 0; i < DEPTH; i++) {
      smelt_tensor *mean = smelt_mean(smelt_ref(x), (int[]){1 - i % 2}, 1, true);
      x = smelt_sub(smelt_square(x), mean);
      x = smelt_mul(x, 1e-3);
    }
    smelt_tensor *norm = smelt_sum(smelt_abs(x), NULL, 0, false, SMELT_DTYPE_NONE);
    sums[k] = value_of(norm);
    if (!k) CHECK(counters_of(ctx).launches <= 2 * DEPTH + 2);
    close_context(ctx);
  }
  CHECK_F64(sums[0], sums[1]);
}

TEST_MAIN(CASE(results_of_one_plan), CASE(random_numbers_of_several_widths), CASE(operations_of_one_name),
          CASE(code_for_each_level), CASE(unaligned_numbers), CASE(many_elements),
          CASE(a_norm_again_and_again), CASE(means_of_means))
