/* SPDX-License-Identifier: Apache-2.0
 *
 * Composites of reductions against the formulas that define them, computed in double,
 * on every device; and calls with two results. */
#include <math.h>

#include "api_fixture.h"

/* Rows along the middle one of three axes, as every other axis has neighbours of other
 * rows around it. */
enum { OUTER = 3, N = 300, INNER = 5, COUNT = OUTER * N * INNER, AXIS = 1 };

static float x[COUNT];
static double row[N];
static int64_t labels[OUTER][INNER];

static void draw_x(void) {
  uint32_t state = 1;
  for (int i = 0; i < COUNT; i++) {
    state = state * 1664525u + 1013904223u;
    x[i] = (float)((double)(state >> 8) * 0x1p-24 * 8 - 4);
  }
  for (int i = 0; i < OUTER * INNER; i++) labels[i / INNER][i % INNER] = i * 37 % N;
}

/* --- What is right, of one row ------------------------------------------------------------ */

static double row_sum(double (*f)(double, double), double with) {
  double sum = 0;
  for (int i = 0; i < N; i++) sum += f(row[i], with);
  return sum;
}

static double minus(double v, double with) { return v - with; }
static double squared(double v, double with) { return (v - with) * (v - with); }
static double exp_of(double v, double with) { return exp(v - with); }
static double power(double v, double with) { return pow(fabs(v), with); }

static double mean(void) { return row_sum(minus, 0) / N; }
static double variance(void) { return row_sum(squared, mean()) / N; }
static double log_of_sum(void) { return log(row_sum(exp_of, 0)); }

static double softmax(double v) { return exp(v) / exp(log_of_sum()); }
static double log_softmax(double v) { return v - log_of_sum(); }
static double layer_norm(double v) { return (v - mean()) / sqrt(variance() + 1e-5); }
static double rms_norm(double v) { return v / sqrt(row_sum(squared, 0) / N + 1e-5); }
static double normalize(double v) { return v / sqrt(row_sum(squared, 0)); }

static double var_of_sample(void) { return row_sum(squared, mean()) / (N - 1); }
static double std_of_all(void) { return sqrt(variance()); }
static double cube_norm(void) { return cbrt(row_sum(power, 3)); }
static double length_of(void) { return sqrt(row_sum(squared, 0)); }

/* --- Comparing ------------------------------------------------------------------------------ */

static float *item(float *of, int o, int i, int n) { return &of[(o * N + i) * INNER + n]; }

static void load_row(int o, int n) {
  for (int i = 0; i < N; i++) row[i] = (double)*item(x, o, i, n);
}

static void check_near(double actual, double expected, double scale) {
  if (fabs(actual - expected) <= 2e-6 * fmax(fabs(expected), scale)) return;
  CHECK_F64(actual, expected);
}

static void read_floats(smelt_tensor *t, float *out, size_t n) {
  smelt_error err = {0};
  CHECK_OK(smelt_into_host(t, SMELT_F32, out, n * sizeof *out, &err), err);
}

/* Below `scale` the error is absolute. */
static void check_rows(smelt_tensor *t, double (*f)(double), double scale) {
  static float out[COUNT];
  read_floats(t, out, COUNT);
  for (int o = 0; o < OUTER; o++) {
    for (int n = 0; n < INNER; n++) {
      load_row(o, n);
      for (int i = 0; i < N; i += 7) check_near((double)*item(out, o, i, n), f(row[i]), scale);
    }
  }
}

static void check_reduced(smelt_tensor *t, double (*f)(void)) {
  float out[OUTER * INNER];
  read_floats(t, out, (size_t)OUTER * INNER);
  for (int i = 0; i < OUTER * INNER; i++) {
    load_row(i / INNER, i % INNER);
    check_near((double)out[i], f(), 0);
  }
}

static smelt_tensor *input(smelt_context *ctx) {
  return smelt_from_host(ctx, SMELT_F32, DIMS(OUTER, N, INNER), x);
}

static void on_every_device(void (*test)(smelt_context *ctx)) {
  static const char *const devices[] = {"ref", NULL};
  draw_x();
  for (int d = 0; d < 2; d++) {
    smelt_context *ctx = open_device(devices[d]);
    test(ctx);
    close_context(ctx);
  }
}

/* --- Formulas --------------------------------------------------------------------------------- */

static void check_normalizations(smelt_context *ctx) {
  static const int axes[] = {AXIS};
  check_rows(smelt_softmax(input(ctx), AXIS), softmax, 0);
  check_rows(smelt_log_softmax(input(ctx), AXIS), log_softmax, 0);
  check_rows(smelt_layer_norm(input(ctx), axes, 1, 1e-5), layer_norm, 1);
  check_rows(smelt_rms_norm(input(ctx), axes, 1, 1e-5), rms_norm, 1);
  check_rows(smelt_normalize(input(ctx), axes, 1, 1e-12), normalize, 0);
}

TEST(normalizations) { on_every_device(check_normalizations); }

static void check_reductions(smelt_context *ctx) {
  static const int axes[] = {AXIS};
  check_reduced(smelt_var(input(ctx), axes, 1, false, 1), var_of_sample);
  check_reduced(smelt_std(input(ctx), axes, 1, true, 0), std_of_all);
  check_reduced(smelt_logsumexp(input(ctx), axes, 1, false), log_of_sum);
  check_reduced(smelt_vector_norm(input(ctx), axes, 1, false, 3), cube_norm);
  check_reduced(smelt_vector_norm(input(ctx), axes, 1, true, 2), length_of);
}

TEST(reductions) { on_every_device(check_reductions); }

/* Two groups of three channels are rows of one tensor with four axes. */
static void check_group_norm(smelt_context *ctx) {
  enum { CHANNELS = 6, GROUPS = 2, GROUP = N * INNER / GROUPS };
  static float out[COUNT];
  smelt_tensor *t = smelt_reshape(input(ctx), DIMS(OUTER, CHANNELS, N * INNER / CHANNELS / 2, 2));
  read_floats(smelt_group_norm(t, GROUPS, 1e-5), out, COUNT);
  for (int begin = 0; begin < COUNT; begin += GROUP) {
    double sum = 0, squares = 0;
    for (int i = begin; i < begin + GROUP; i++) sum += (double)x[i];
    for (int i = begin; i < begin + GROUP; i++) squares += squared((double)x[i], sum / GROUP);
    double scale = 1 / sqrt(squares / GROUP + 1e-5);
    for (int i = begin; i < begin + GROUP; i += 11)
      check_near((double)out[i], ((double)x[i] - sum / GROUP) * scale, 1);
  }
}

TEST(group_norm) { on_every_device(check_group_norm); }

static void check_cross_entropy(smelt_context *ctx) {
  float out[OUTER * INNER];
  smelt_tensor *at = smelt_from_host(ctx, SMELT_I64, DIMS(OUTER, INNER), labels);
  read_floats(smelt_cross_entropy(input(ctx), at, AXIS), out, (size_t)OUTER * INNER);
  for (int i = 0; i < OUTER * INNER; i++) {
    load_row(i / INNER, i % INNER);
    check_near((double)out[i], -log_softmax(row[labels[i / INNER][i % INNER]]), 0);
  }
}

TEST(cross_entropy) { on_every_device(check_cross_entropy); }

/* Values far from zero are those that formulas with a difference of squares lose. */
static void check_shifted(smelt_context *ctx) {
  for (int i = 0; i < COUNT; i++) x[i] += 1000;
  check_reduced(smelt_std(input(ctx), (int[]){AXIS}, 1, false, 0), std_of_all);
  for (int i = 0; i < COUNT; i++) x[i] -= 1000;
}

TEST(variance_far_from_zero) { on_every_device(check_shifted); }

/* --- Two results --------------------------------------------------------------------------------- */

static void check_two_results(smelt_context *ctx) {
  static const float items[] = {3, -1, 3, NAN, 7, NAN};
  smelt_tensor *t = smelt_from_host(ctx, SMELT_F32, DIMS(2, 3), items), *indices;
  smelt_tensor *values = smelt_max_with_indices(smelt_ref(t), (int[]){1}, 1, true, &indices);
  CHECK(smelt_rank(values) == 2 && smelt_rank(indices) == 2 && smelt_dtype_of(indices) == SMELT_I64);
  float best[2];
  int64_t places[2];
  read_floats(values, best, 2);
  CHECK_STATUS(smelt_into_host(indices, SMELT_I64, places, sizeof places, NULL), SMELT_OK);
  CHECK_F64(best[0], 3);
  CHECK_F64(best[1], NAN);
  CHECK(places[0] == 0 && places[1] == 0);
  smelt_tensor *least = smelt_min_with_indices(smelt_flip(t, (int[]){1}, 1), (int[]){1}, 1, false, &indices);
  smelt_drop(least);
  CHECK_STATUS(smelt_into_host(indices, SMELT_I64, places, sizeof places, NULL), SMELT_OK);
  CHECK(places[0] == 1 && places[1] == 0);
}

TEST(two_results) { on_every_device(check_two_results); }

TEST(two_results_in_one_pass) {
  smelt_context *ctx = open_context();
  draw_x();
  smelt_tensor *indices, *values = smelt_max_with_indices(input(ctx), (int[]){AXIS}, 1, false, &indices);
  uint64_t before = counters_of(ctx).launches;
  CHECK_STATUS(smelt_eval((const smelt_tensor *[]){values, indices}, 2, NULL), SMELT_OK);
  CHECK_I64(counters_of(ctx).launches - before, 1);
  smelt_drop(values);
  smelt_drop(indices);
  close_context(ctx);
}

static void check_second_of_failures(smelt_context *ctx) {
  smelt_tensor *empty = smelt_zeros(ctx, SMELT_F32, DIMS(2, 0)), *indices;
  check_poison(smelt_max_with_indices(empty, NULL, 0, false, &indices), SMELT_ERR_SHAPE,
               "max_with_indices(f32[2,0]): axis 1 is empty");
  check_poison(indices, SMELT_ERR_SHAPE, "max_with_indices");
  check_poison(smelt_min_with_indices(empty, NULL, 0, false, &indices), SMELT_ERR_STALE,
               "was taken by smelt_max_with_indices");
  check_poison(indices, SMELT_ERR_STALE, "was taken by");
  smelt_tensor *truth = smelt_zeros(ctx, SMELT_BOOL, DIMS(2));
  check_poison(smelt_max_with_indices(truth, NULL, 0, false, NULL), SMELT_ERR_DTYPE, "wants numbers");
  smelt_tensor *only = smelt_max_with_indices(smelt_ones(ctx, SMELT_I8, DIMS(2)), NULL, 0, false, NULL);
  CHECK_F64(value_of(only), 1);
}

TEST(second_results_of_failed_calls) { on_every_device(check_second_of_failures); }

/* --- Wrong calls ---------------------------------------------------------------------------------- */

static void check_wrong_calls(smelt_context *ctx) {
  check_poison(smelt_group_norm(smelt_ones(ctx, SMELT_F32, DIMS(2, 6)), 4, 0), SMELT_ERR_SHAPE,
               "group_norm(f32[2,6]): axis 1 cannot be cut into 4 groups");
  check_poison(smelt_group_norm(smelt_ones(ctx, SMELT_F32, DIMS(2, 6)), 0, 0), SMELT_ERR_SHAPE, "0 groups");
  check_poison(smelt_group_norm(smelt_ones(ctx, SMELT_F32, DIMS(2)), 1, 0), SMELT_ERR_SHAPE, "no axis 1");
  smelt_tensor *at = smelt_zeros(ctx, SMELT_I32, DIMS(3));
  check_poison(smelt_cross_entropy(smelt_ones(ctx, SMELT_F32, DIMS(2, 6)), smelt_ref(at), 1), SMELT_ERR_SHAPE,
               "cross_entropy(f32[2,6], i32[3]): there has to be a label for each row");
  check_poison(smelt_cross_entropy(smelt_ones(ctx, SMELT_F32, DIMS(3, 0)), smelt_ref(at), 1), SMELT_ERR_SHAPE,
               "axis 1 is empty");
  check_poison(smelt_cross_entropy(smelt_ref(at), at, 0), SMELT_ERR_DTYPE, "wants floats");
}

TEST(wrong_calls) { on_every_device(check_wrong_calls); }

TEST_MAIN(CASE(normalizations), CASE(reductions), CASE(group_norm), CASE(cross_entropy),
          CASE(variance_far_from_zero), CASE(two_results), CASE(two_results_in_one_pass),
          CASE(second_results_of_failed_calls), CASE(wrong_calls))
