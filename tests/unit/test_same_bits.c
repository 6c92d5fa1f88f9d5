/* SPDX-License-Identifier: Apache-2.0
 *
 * Results do not depend on how many threads compute them, nor on the width of vectors, nor on
 * whether kernels are compiled: programs that are large enough to be shared, in every way. */
#define _POSIX_C_SOURCE 200809L
#include <stdio.h>
#include <stdlib.h>

#include "api_fixture.h"
#include "core/cpu_level.h"

enum { ROWS = 700, COLUMNS = 1501, MOST = ROWS * COLUMNS };

static smelt_tensor *matrix(smelt_context *ctx) {
  CHECK_STATUS(smelt_seed(ctx, 11), SMELT_OK);
  return smelt_sub(smelt_mul(smelt_rand(ctx, SMELT_F32, DIMS(ROWS, COLUMNS)), 7), 3);
}

static smelt_tensor *elementwise(smelt_context *ctx) { return smelt_exp(smelt_sin(matrix(ctx))); }
static smelt_tensor *softmax_rows(smelt_context *ctx) { return smelt_softmax(matrix(ctx), 1); }
static smelt_tensor *softmax_columns(smelt_context *ctx) { return smelt_softmax(matrix(ctx), 0); }
static smelt_tensor *norm(smelt_context *ctx) { return smelt_layer_norm(matrix(ctx), (int[]){1}, 1, 1e-5); }
static smelt_tensor *variance(smelt_context *ctx) { return smelt_var(matrix(ctx), (int[]){0}, 1, false, 0); }
static smelt_tensor *variance_of_all(smelt_context *ctx) { return smelt_var(matrix(ctx), NULL, 0, false, 1); }

static smelt_tensor *sum_of(smelt_context *ctx, int axis) {
  return smelt_sum(matrix(ctx), &axis, axis < 2, false, SMELT_DTYPE_NONE);
}

static smelt_tensor *sum_all(smelt_context *ctx) { return sum_of(ctx, 2); }
static smelt_tensor *sum_rows(smelt_context *ctx) { return sum_of(ctx, 1); }
static smelt_tensor *sum_columns(smelt_context *ctx) { return sum_of(ctx, 0); }

static smelt_tensor *(*const programs[])(smelt_context *ctx) = {
    elementwise,     softmax_rows, softmax_columns, norm,        variance,
    variance_of_all, sum_all,      sum_rows,        sum_columns,
};
enum { N_PROGRAMS = sizeof programs / sizeof programs[0] };

typedef struct way {
  const char *threads, *level, *llvm; /* of the environment; NULL: as it is */
} way;

static const way ways[] = {{"1", NULL, NULL},       {"2", NULL, NULL}, {"3", NULL, NULL},  {"8", NULL, NULL},
                           {"3", "baseline", NULL}, {"2", NULL, "0"},  {"3", "avx2", NULL}};
enum { N_WAYS = sizeof ways / sizeof ways[0] };

static void set(const char *name, const char *value) {
  CHECK_I64(value ? setenv(name, value, 1) : unsetenv(name), 0);
}

static float results[2][MOST];

static void compute(const way *w, smelt_mode mode, int program, float *out) {
  smelt_error err;
  set("SMELT_THREADS", w->threads);
  set("SMELT_CPU", w->level);
  set("SMELT_LLVM", w->llvm);
  smelt_context_desc desc = SMELT_CONTEXT_DESC_INIT;
  desc.device = "cpu";
  desc.mode = mode;
  smelt_context *ctx = open_context_with(&desc);
  smelt_tensor *t = programs[program](ctx);
  CHECK_OK(smelt_into_host(t, SMELT_F32, out, (size_t)smelt_count(t) * sizeof *out, &err), err);
  close_context(ctx);
}

static bool is_possible(const way *w) {
  return !w->level || strcmp(w->level, "avx2") != 0 || sm_cpu_supports(SM_CPU_AVX2);
}

static void check_mode(smelt_mode mode) {
  for (int p = 0; p < N_PROGRAMS; p++) {
    memset(results, 0, sizeof results);
    compute(&ways[0], mode, p, results[0]);
    for (int w = 1; w < N_WAYS; w++) {
      if (!is_possible(&ways[w])) continue;
      compute(&ways[w], mode, p, results[1]);
      if (memcmp(results[0], results[1], sizeof results[0]) == 0) continue;
      printf("program %d, way %d\n", p, w);
      CHECK(false);
    }
  }
}

TEST(threads_and_vectors) { check_mode(SMELT_MODE_DEFAULT); }

/* What the fast mode has of its own is one order too. */
TEST(in_fast_mode) { check_mode(SMELT_MODE_FAST); }

TEST_MAIN(CASE(threads_and_vectors), CASE(in_fast_mode))
