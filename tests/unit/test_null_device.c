/* SPDX-License-Identifier: Apache-2.0
 *
 * The null device: limits of profiles split kernels exactly at the limit, and
 * the log says why. */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>

#include "api_fixture.h"

typedef struct lines {
  char refuse[400]; /* the last [refuse] line */
  int refusals, blocks, launches;
  char sizes[64]; /* of blocks: "25 1 " */
} lines;

static void read_line(void *user, const char *line) {
  lines *l = user;
  if (strncmp(line, "[refuse] ", 9) == 0) {
    l->refusals++;
    CHECK(strlen(line) < sizeof l->refuse);
    memcpy(l->refuse, line, strlen(line) + 1);
  }
  l->launches += strncmp(line, "[launch] ", 9) == 0;
  if (strncmp(line, "[block] ", 8) == 0) {
    size_t n = strcspn(line + 8, " ") + 1;
    l->blocks++;
    strncat(l->sizes, line + 8, n);
  }
}

static smelt_context *open_logged(const char *device, int64_t max_ops, lines *l) {
  smelt_context_desc desc = SMELT_CONTEXT_DESC_INIT;
  memset(l, 0, sizeof *l);
  desc.device = device;
  desc.fusion = SMELT_ON;
  desc.max_ops = max_ops;
  desc.log = "refuse,block,launch";
  desc.log_fn = read_line;
  desc.log_user = l;
  return open_context_with(&desc);
}

/* Sums and maxima of n inputs: n inputs, one output and the metadata are bound. They are in
 * the order of Thue and Morse, in which nothing comes three times in a row, so that they are
 * cut by limits only. */
static lines sum_of(int n, const char *device, int64_t max_ops) {
  lines l;
  smelt_context *ctx = open_logged(device, max_ops, &l);
  smelt_tensor *sum = smelt_zeros(ctx, SMELT_F32, DIMS(8));
  CHECK_STATUS(smelt_eval((const smelt_tensor *[]){sum}, 1, NULL), SMELT_OK);
  memset(&l, 0, sizeof l);
  float in[8] = {0}, out[8];
  for (int i = 1; i < n; i++) {
    smelt_tensor *next = smelt_from_host(ctx, SMELT_F32, DIMS(8), in);
    sum = __builtin_parity((unsigned)i) ? smelt_maximum(sum, next) : smelt_add(sum, next);
  }
  CHECK_STATUS(smelt_into_host(sum, SMELT_F32, out, sizeof out, NULL), SMELT_OK);
  for (int i = 0; i < 8; i++) CHECK_F64(out[i], 0);
  CHECK_I64(l.launches, l.blocks);
  close_context(ctx);
  return l;
}

TEST(metal_binds_28) {
  lines l = sum_of(25, "null:metal", 0);
  CHECK_STR(l.sizes, "24 ");
  CHECK_I64(l.refusals, 0);
  l = sum_of(26, "null:metal", 0);
  CHECK_STR(l.sizes, "25 ");
  CHECK_I64(l.refusals, 0);
  l = sum_of(27, "null:metal", 0);
  CHECK_STR(l.sizes, "25 1 ");
  CHECK_I64(l.refusals, 1);
  CHECK_STR(l.refuse,
            "[refuse] NumericFloat(F32, Max) after NumericFloat(F32, Max): "
            "bindings (binding limit of the device) est_bindings=29/28");
}

/* What was split goes on in the next kernel, which has one input more. */
TEST(wide_sums_fill_kernels) {
  CHECK_STR(sum_of(51, "null:metal", 0).sizes, "25 25 ");
  CHECK_STR(sum_of(52, "null:metal", 0).sizes, "25 25 1 ");
}

TEST(other_profiles) {
  CHECK_STR(sum_of(62, "null:opencl12", 0).sizes, "61 ");
  CHECK_STR(sum_of(63, "null:opencl12", 0).sizes, "61 1 ");
  CHECK_STR(sum_of(126, "null:cuda-sm90", 0).sizes, "125 ");
  CHECK_STR(sum_of(127, "null:cuda-sm90", 0).sizes, "125 1 ");
  CHECK_STR(sum_of(126, "null:cpu-avx512", 0).sizes, "125 ");
  CHECK_STR(sum_of(127, "null", 0).sizes, "125 1 ");
}

TEST(operations_at_the_limit) {
  CHECK_STR(sum_of(9, "null", 9).sizes, "8 ");
  CHECK_STR(sum_of(9, "null", 8).sizes, "8 ");
  lines l = sum_of(9, "null", 7);
  CHECK_STR(l.sizes, "7 1 ");
  CHECK_CONTAINS(l.refuse, ": ops (operation limit of a kernel) est_bindings=");
  CHECK_STR(sum_of(9, "null", 1).sizes, "1 1 1 1 1 1 1 1 ");
}

/* One scalar chain binds two buffers, however long. */
TEST(chains_bind_little) {
  lines l;
  smelt_context *ctx = open_logged("null:metal", 0, &l);
  smelt_tensor *t = number(ctx, 1);
  for (int i = 0; i < 100; i++) t = i % 2 ? smelt_add(t, 1.0) : smelt_mul(t, 2.0);
  CHECK_STATUS(smelt_eval((const smelt_tensor *[]){t}, 1, NULL), SMELT_OK);
  CHECK_STR(l.sizes, "100 ");
  CHECK_I64(counters_of(ctx).launches, 1);
  smelt_drop(t);
  close_context(ctx);
}

/* Independent expressions share a kernel as long as it can bind them. */
TEST(independent_expressions_at_the_limit) {
  for (int n = 13; n <= 14; n++) {
    lines l;
    smelt_tensor *t[14];
    float in[8] = {0};
    smelt_context *ctx = open_logged("null:metal", 0, &l);
    for (int i = 0; i < n; i++) t[i] = smelt_exp(smelt_from_host(ctx, SMELT_F32, DIMS(8), in));
    CHECK_STATUS(smelt_sync(ctx, NULL), SMELT_OK);
    CHECK_STR(l.sizes, n == 13 ? "13 " : "13 1 ");
    for (int i = 0; i < n; i++) smelt_drop(t[i]);
    close_context(ctx);
  }
}

static void keep_layout(void *user, const char *line) {
  if (strncmp(line, "[layout] ", 9) == 0) (void)snprintf(user, 80, "%.60s", line);
}

/* The option wins over the variable. */
static void check_flatten(const char *variable, smelt_switch flatten, const char *expected) {
  char line[80] = "";
  smelt_context_desc desc = SMELT_CONTEXT_DESC_INIT;
  CHECK_I64(variable ? setenv("SMELT_FLATTEN", variable, 1) : unsetenv("SMELT_FLATTEN"), 0);
  desc.device = "null:metal";
  desc.flatten = flatten;
  desc.log = "layout";
  desc.log_fn = keep_layout;
  desc.log_user = line;
  smelt_context *ctx = open_context_with(&desc);
  smelt_tensor *t = smelt_ones(ctx, SMELT_F32, DIMS(4, 3));
  CHECK_STATUS(smelt_eval((const smelt_tensor *[]){t}, 1, NULL), SMELT_OK);
  smelt_drop(t);
  close_context(ctx);
  CHECK_CONTAINS(line, expected);
}

TEST(flatten) {
  check_flatten(NULL, SMELT_DEFAULT, "over [12] ");
  check_flatten(NULL, SMELT_OFF, "over [4,3] ");
  check_flatten("0", SMELT_DEFAULT, "over [4,3] ");
  check_flatten("0", SMELT_ON, "over [12] ");
  check_flatten("1", SMELT_OFF, "over [4,3] ");
}

TEST_MAIN(CASE(metal_binds_28), CASE(wide_sums_fill_kernels), CASE(other_profiles),
          CASE(operations_at_the_limit), CASE(flatten), CASE(chains_bind_little),
          CASE(independent_expressions_at_the_limit))
