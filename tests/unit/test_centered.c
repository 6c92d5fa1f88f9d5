/* SPDX-License-Identifier: Apache-2.0
 *
 * Variances in the fast mode, of tensors that no cache holds: where they take one pass, that they are
 * about as exact as those of two, and what becomes of infinities. */
#define _POSIX_C_SOURCE 200809L
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "api_fixture.h"

/* --- Contexts ------------------------------------------------------------------------------------ */

static char trace[1 << 14];

static void add_to_trace(void *user, const char *line) {
  (void)user;
  size_t used = strlen(trace);
  (void)snprintf(trace + used, sizeof trace - used, "%s\n", line);
}

static smelt_context *open_mode(smelt_mode mode) {
  smelt_context_desc desc = SMELT_CONTEXT_DESC_INIT;
  desc.device = "cpu";
  desc.mode = mode;
  desc.log = "trace";
  desc.log_fn = add_to_trace;
  trace[0] = 0;
  return open_context_with(&desc);
}

/* --- Data ----------------------------------------------------------------------------------------- */

static double noise(int64_t i) {
  uint64_t h = ((uint64_t)i + 1) * UINT64_C(0x9E3779B97F4A7C15);
  h ^= h >> 31;
  return (double)(h * UINT64_C(0xBF58476D1CE4E5B9) >> 40) / (1 << 24) - 0.5;
}

static double around_zero(int64_t i) { return noise(i); }
static double far_away(int64_t i) { return 1e4 + noise(i); }
static double farther(int64_t i) { return -1e6 + 4 * noise(i); }
static double tiny(int64_t i) { return 1e-12 * noise(i); }
static double drifting(int64_t i) { return 0.001 * (double)i + noise(i); }
static double first_one_is_off(int64_t i) { return i % 4099 ? 1e4 + noise(i) : 0; }
static double two_levels(int64_t i) { return i % 200000 < 100000 ? noise(i) : 1e4 + noise(i); }

typedef double data_fn(int64_t i);
static data_fn *const kinds[] = {around_zero, far_away,         farther,   tiny,
                                 drifting,    first_one_is_off, two_levels};
enum { KINDS = sizeof kinds / sizeof kinds[0] };

static smelt_tensor *filled(smelt_context *ctx, smelt_dtype dtype, int rank, const int64_t *dims,
                            data_fn *f) {
  int64_t n = 1;
  for (int i = 0; i < rank; i++) n *= dims[i];
  double *values = malloc((size_t)n * sizeof *values);
  CHECK(values != NULL);
  for (int64_t i = 0; i < n; i++) values[i] = f(i);
  smelt_tensor *t = smelt_from_host(ctx, SMELT_F64, rank, dims, values);
  free(values);
  t = smelt_astype(t, dtype);
  CHECK_STATUS(smelt_eval((const smelt_tensor *[]){t}, 1, NULL), SMELT_OK);
  return t;
}

/* --- How exact they are -------------------------------------------------------------------------- */

enum { RANK = 3, MOST = 5000, LONG = 1100007, ROWS = 11000, COLUMNS = 101 };

/* A variance over axis 1 of [outer, n, inner]. */
typedef struct problem {
  int64_t dims[RANK];
  smelt_dtype dtype;
  double correction;
} problem;

static int64_t count_results(const problem *p) { return p->dims[0] * p->dims[2]; }

static void compute(const problem *p, smelt_mode mode, data_fn *f, double *out) {
  smelt_error err;
  smelt_context *ctx = open_mode(mode);
  smelt_tensor *x = filled(ctx, p->dtype, RANK, p->dims, f);
  trace[0] = 0;
  smelt_tensor *v = smelt_var(x, (int[]){1}, 1, false, p->correction);
  CHECK_STATUS(smelt_eval((const smelt_tensor *[]){v}, 1, NULL), SMELT_OK);
  if (mode == SMELT_MODE_FAST) CHECK_CONTAINS(trace, "deviations");
  else CHECK(strstr(trace, "deviations") == NULL);
  v = smelt_astype(v, SMELT_F64);
  CHECK_OK(smelt_into_host(v, SMELT_F64, out, (size_t)count_results(p) * sizeof *out, &err), err);
  close_context(ctx);
}

/* Of the elements as the dtype has them, with long doubles. */
static void compute_exactly(const problem *p, data_fn *f, double *out) {
  smelt_error err;
  smelt_context *ctx = open_mode(SMELT_MODE_STRICT);
  int64_t n = p->dims[1], inner = p->dims[2], all = count_results(p) * n;
  double *x = malloc((size_t)all * sizeof *x);
  smelt_tensor *t = smelt_astype(filled(ctx, p->dtype, RANK, p->dims, f), SMELT_F64);
  CHECK(x != NULL);
  CHECK_OK(smelt_into_host(t, SMELT_F64, x, (size_t)all * sizeof *x, &err), err);
  for (int64_t r = 0; r < count_results(p); r++) {
    const double *first = x + r / inner * n * inner + r % inner;
    long double mean = 0, squares = 0;
    for (int64_t i = 0; i < n; i++) mean += first[i * inner];
    mean /= (long double)n;
    for (int64_t i = 0; i < n; i++) squares += (first[i * inner] - mean) * (first[i * inner] - mean);
    out[r] = (double)(squares / ((long double)n - (long double)p->correction));
  }
  free(x);
  close_context(ctx);
}

static double largest_error(const problem *p, const double *values, const double *exact) {
  double largest = 0;
  for (int64_t r = 0; r < count_results(p); r++) {
    double error = fabs(values[r] - exact[r]) / exact[r];
    largest = error > largest ? error : largest;
  }
  return largest;
}

/* Of the dtype that results are rounded to, and elements are worked on in. */
static double epsilon_of(smelt_dtype dtype) {
  return dtype == SMELT_F64   ? DBL_EPSILON
         : dtype == SMELT_F32 ? FLT_EPSILON
         : dtype == SMELT_F16 ? 0x1p-10
                              : 0x1p-7;
}

/* Where it is off, the first element of a lane costs some bits: its difference from the others is most of
 * the squares, and so of what is subtracted from them. */
static void check_exactness(const problem *p, data_fn *f) {
  static double exact[MOST], usual[MOST], fast[MOST];
  CHECK(count_results(p) <= MOST);
  compute_exactly(p, f, exact);
  compute(p, SMELT_MODE_DEFAULT, f, usual);
  compute(p, SMELT_MODE_FAST, f, fast);
  double error = largest_error(p, fast, exact), of_usual = largest_error(p, usual, exact);
  double most = 2 * of_usual + (f == first_one_is_off ? 100 : 4) * epsilon_of(p->dtype);
  if (error > most) printf("error %g, usually %g\n", error, of_usual);
  CHECK(error <= most);
}

TEST(everything) {
  for (int k = 0; k < KINDS; k++) {
    check_exactness(&(problem){{1, LONG, 1}, SMELT_F32, 0}, kinds[k]);
    check_exactness(&(problem){{1, (1 << 20) + 256, 1}, SMELT_F32, 1}, kinds[k]);
    check_exactness(&(problem){{1, LONG, 1}, SMELT_F64, 2.5}, kinds[k]);
  }
}

TEST(long_rows) {
  for (int k = 0; k < KINDS; k++) {
    check_exactness(&(problem){{3, 400128, 1}, SMELT_F32, 0}, kinds[k]);
    check_exactness(&(problem){{2, 600077, 1}, k % 2 ? SMELT_F64 : SMELT_F32, 1}, kinds[k]);
  }
}

TEST(columns) {
  for (int k = 0; k < KINDS; k++) {
    check_exactness(&(problem){{1, 2500, 1031}, SMELT_F32, 0}, kinds[k]);
    check_exactness(&(problem){{2, 9001, 129}, SMELT_F32, 0}, kinds[k]);
    check_exactness(&(problem){{1, 400001, 3}, SMELT_F64, 1}, kinds[k]);
  }
}

TEST(halves) {
  const problem problems[] = {{{1, LONG, 1}, SMELT_F16, 0},
                              {{1, LONG, 1}, SMELT_BF16, 0},
                              {{1, 2500, 1031}, SMELT_F16, 1},
                              {{1, 2500, 1031}, SMELT_BF16, 1}};
  for (int i = 0; i < 4; i++) {
    check_exactness(&problems[i], around_zero);
    check_exactness(&problems[i], first_one_is_off);
  }
}

TEST(interpreted) {
  CHECK_I64(setenv("SMELT_LLVM", "0", 1), 0);
  check_exactness(&(problem){{1, LONG, 1}, SMELT_F32, 0}, far_away);
  check_exactness(&(problem){{2, 9001, 129}, SMELT_F32, 0}, first_one_is_off);
  CHECK_I64(unsetenv("SMELT_LLVM"), 0);
}

/* --- Programs: results do not depend on the mode, or by a few roundings --------------------------- */

static smelt_tensor *square_of_difference(smelt_tensor *a, smelt_tensor *b) {
  smelt_tensor *d = smelt_subtract(a, b);
  return smelt_mul(smelt_ref(d), d);
}

static smelt_tensor *mean_of(smelt_tensor *x) { return smelt_mean(x, NULL, 0, false); }

static smelt_tensor *from_primitives(smelt_tensor *x) {
  return mean_of(square_of_difference(smelt_ref(x), mean_of(smelt_ref(x))));
}

static smelt_tensor *mean_comes_first(smelt_tensor *x) {
  smelt_tensor *d = square_of_difference(mean_of(smelt_ref(x)), smelt_ref(x));
  return smelt_sum(d, NULL, 0, false, SMELT_DTYPE_NONE);
}

static smelt_tensor *of_an_expression(smelt_tensor *x) {
  return smelt_std(smelt_exp(smelt_mul(smelt_ref(x), 0.01)), NULL, 0, true, 1);
}

static smelt_tensor *mean_and_variance(smelt_tensor *x) {
  return smelt_add(mean_of(smelt_ref(x)), smelt_var(smelt_ref(x), NULL, 0, false, 0));
}

static smelt_tensor *normalized(smelt_tensor *x) {
  return smelt_layer_norm(smelt_ref(x), (int[]){0}, 1, 1e-5);
}

static smelt_tensor *place_beside(smelt_tensor *x) {
  smelt_tensor *v = smelt_var(smelt_ref(x), NULL, 0, false, 0);
  smelt_tensor *place = smelt_argmax(smelt_ref(x), NULL, 0, false);
  return smelt_add(v, smelt_astype(place, SMELT_F32));
}

typedef smelt_tensor *program_fn(smelt_tensor *x);
static program_fn *const programs[] = {from_primitives,   mean_comes_first, of_an_expression,
                                       mean_and_variance, normalized,       place_beside};
enum { PROGRAMS = sizeof programs / sizeof programs[0] };

/* In one launch that reads x once; how many results there are. */
static int64_t run_program(smelt_mode mode, program_fn *f, const problem *p, float *out) {
  smelt_error err;
  smelt_context *ctx = open_mode(mode);
  smelt_tensor *x = filled(ctx, p->dtype, RANK, p->dims, drifting);
  smelt_counters before = counters_of(ctx);
  trace[0] = 0;
  smelt_tensor *y = f(x);
  CHECK_STATUS(smelt_eval((const smelt_tensor *[]){y}, 1, NULL), SMELT_OK);
  smelt_counters after = counters_of(ctx);
  CHECK_I64(after.launches - before.launches, 1);
  CHECK_I64(after.bytes_read - before.bytes_read, smelt_count(x) * (int64_t)smelt_dtype_size(p->dtype));
  int64_t n = smelt_count(y);
  CHECK_OK(smelt_into_host(y, SMELT_F32, out, (size_t)n * sizeof *out, &err), err);
  smelt_drop(x);
  close_context(ctx);
  return n;
}

static float usual[LONG], fast[LONG];

TEST(programs_take_one_pass) {
  for (int i = 0; i < PROGRAMS; i++) {
    const problem p = {{LONG, 1, 1}, SMELT_F32, 0};
    int64_t n = run_program(SMELT_MODE_DEFAULT, programs[i], &p, usual);
    CHECK(strstr(trace, "spread") != NULL);
    CHECK_I64(run_program(SMELT_MODE_FAST, programs[i], &p, fast), n);
    CHECK(strstr(trace, "deviations") || strstr(trace, "variance"));
    CHECK((strstr(trace, "spread") != NULL) == (programs[i] == normalized));
    for (int64_t k = 0; k < n; k++) CHECK(fabsf(fast[k] - usual[k]) <= 4e-6f * fabsf(usual[k]) + 1e-6f);
  }
}

/* --- Programs that are left as they are ------------------------------------------------------------ */

static smelt_tensor *other_mean(smelt_tensor *x) {
  smelt_tensor *m = mean_of(smelt_mul(smelt_ref(x), 3));
  return mean_of(square_of_difference(smelt_ref(x), m));
}

static smelt_tensor *other_factor(smelt_tensor *x) {
  smelt_tensor *m = mean_of(smelt_ref(x)), *d = smelt_subtract(smelt_ref(x), m);
  return mean_of(smelt_mul(d, smelt_ref(x)));
}

static smelt_tensor *largest_square(smelt_tensor *x) {
  return smelt_max(square_of_difference(smelt_ref(x), mean_of(smelt_ref(x))), NULL, 0, false);
}

static smelt_tensor *from_largest(smelt_tensor *x) {
  return mean_of(square_of_difference(smelt_ref(x), smelt_max(smelt_ref(x), NULL, 0, false)));
}

static smelt_tensor *of_rows(smelt_tensor *x) { return smelt_var(smelt_ref(x), (int[]){1}, 1, false, 0); }

static void check_same_bits(program_fn *f, const problem *p) {
  int64_t n = run_program(SMELT_MODE_DEFAULT, f, p, usual);
  CHECK_I64(run_program(SMELT_MODE_FAST, f, p, fast), n);
  CHECK(strstr(trace, "deviations") == NULL && strstr(trace, "variance") == NULL);
  CHECK(memcmp(usual, fast, (size_t)n * sizeof *fast) == 0);
}

TEST(other_programs_keep_their_bits) {
  program_fn *const others[] = {other_mean, other_factor, largest_square, from_largest};
  for (int i = 0; i < 4; i++) check_same_bits(others[i], &(problem){{LONG, 1, 1}, SMELT_F32, 0});
}

/* What stays in the caches is read twice from there. */
TEST(small_ones_keep_their_bits) {
  check_same_bits(from_primitives, &(problem){{1000, 1, 1}, SMELT_F32, 0});
  check_same_bits(of_rows, &(problem){{300, 1024, 1}, SMELT_F32, 0});
  check_same_bits(of_rows, &(problem){{200000, 5, 1}, SMELT_F32, 0});
}

/* --- What is not finite ----------------------------------------------------------------------------- */

static int64_t odd_place;
static double odd_value, odd_scale = 1;

static double with_odd(int64_t i) { return i == odd_place ? odd_value : odd_scale * noise(i); }

/* The same as in two passes; equal numbers, or both no number. */
static void check_like_usual(const problem *p, data_fn *f) {
  static double of_usual[MOST], of_fast[MOST];
  compute(p, SMELT_MODE_DEFAULT, f, of_usual);
  compute(p, SMELT_MODE_FAST, f, of_fast);
  for (int64_t r = 0; r < count_results(p); r++) {
    bool finite = isfinite(of_usual[r]);
    CHECK(isnan(of_fast[r]) == isnan(of_usual[r]) && isinf(of_fast[r]) == isinf(of_usual[r]));
    CHECK(!finite || fabs(of_fast[r] - of_usual[r]) <= 1e-5 * of_usual[r]);
  }
}

TEST(infinities_and_nans) {
  const double values[] = {INFINITY, -INFINITY, NAN};
  const int64_t places[] = {0, 5, 256, 131079, 1000000, LONG - 8, LONG - 1};
  for (int i = 0; i < 7; i++) {
    odd_value = values[i % 3];
    odd_place = places[i];
    check_like_usual(&(problem){{1, LONG, 1}, SMELT_F32, 0}, with_odd);
    check_like_usual(&(problem){{1, ROWS, COLUMNS}, SMELT_F32, 0}, with_odd);
  }
}

/* Squares that no f32 holds are infinite, and nothing is subtracted from them. */
TEST(squares_that_overflow) {
  odd_value = 0;
  odd_place = 0;
  const double scales[] = {1e18, 1e21, 1e24};
  for (int i = 0; i < 3; i++) {
    odd_scale = scales[i];
    check_like_usual(&(problem){{1, LONG, 1}, SMELT_F32, 0}, with_odd);
    check_like_usual(&(problem){{1, ROWS, COLUMNS}, SMELT_F32, 0}, with_odd);
  }
  odd_scale = 1;
}

static double all_equal(int64_t i) {
  (void)i;
  return 7.1;
}

/* No mean is rounded. */
TEST(equal_elements) {
  const problem p = {{1, ROWS, COLUMNS}, SMELT_F32, 0};
  double values[COLUMNS];
  compute(&p, SMELT_MODE_FAST, all_equal, values);
  for (int i = 0; i < COLUMNS; i++) CHECK_F64(values[i], 0);
}

TEST_MAIN(CASE(everything), CASE(long_rows), CASE(columns), CASE(halves), CASE(interpreted),
          CASE(programs_take_one_pass), CASE(other_programs_keep_their_bits),
          CASE(small_ones_keep_their_bits), CASE(infinities_and_nans), CASE(squares_that_overflow),
          CASE(equal_elements))
