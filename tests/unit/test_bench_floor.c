/* SPDX-License-Identifier: Apache-2.0
 *
 * That the floors of smelt bench do the work they stand for, on each level of
 * processors, for any number of threads. */
#include <math.h>

#include "bench_floor.h"
#include "harness.h"

static float input(int which, size_t i) {
  return (float)(i * 37 % 101) * 0.0198f - 1 + 0.125f * (float)which;
}

/* exp and tanh in f64: the floors are less exact than that. */
static double mixed(double v) {
  for (int k = 0; k < 32; k += 4) {
    v = exp(v * (double)bench_mixed_scalar(k) + (double)bench_mixed_scalar(k + 1));
    v = fmax(v - (double)bench_mixed_scalar(k + 2), (double)bench_mixed_scalar(k + 3));
    v = sqrt(tanh(fabs(v)));
  }
  return v * (double)bench_mixed_scalar(32);
}

static float chain(float v) {
  for (int k = 0; k < BENCH_SCALARS; k += 2) {
    v *= bench_chain_scalar(k);
    v += bench_chain_scalar(k + 1);
  }
  return v;
}

enum { RUNS = 3 };

static float over(float a, float b, float c) {
  for (int run = 0; run < RUNS; run++) {
    a *= b;
    a += c;
  }
  return a;
}

/* Every operation is rounded once, on each level: equal bits, except for mixed65. */
static void check_element(bench_floor_kind kind, float actual, size_t i) {
  float a = input(0, i), b = input(1, i), c = input(2, i), product = a * b;
  if (kind == BENCH_FLOOR_r1w1) CHECK_F64(actual, a);
  if (kind == BENCH_FLOOR_r2w1) CHECK_F64(actual, product);
  if (kind == BENCH_FLOOR_r3w1) CHECK_F64(actual, product + c);
  if (kind == BENCH_FLOOR_r3w1over) CHECK_F64(actual, over(a, b, c));
  if (kind == BENCH_FLOOR_chain64) CHECK_F64(actual, chain(a));
  if (kind == BENCH_FLOOR_mixed65) CHECK(fabs((double)actual - mixed((double)a)) < 1e-5);
}

/* --- Reductions, whose order is the floor's own --------------------------------------------- */

static void check_near(double actual, double expected, double scale) {
  if (fabs(actual - expected) > 1e-4 * fmax(fabs(expected), scale)) CHECK_F64(actual, expected);
}

static void check_sums(bench_floor_kind kind, const float *sums, size_t count) {
  double actual = 0, expected = 0;
  for (size_t i = 0; i < count; i++) {
    double a = (double)input(0, i), b = (double)input(1, i), c = (double)input(2, i);
    actual += (double)sums[i];
    expected += kind == BENCH_FLOOR_r1 ? a : kind == BENCH_FLOOR_r2 ? a * b : a * b + c;
  }
  check_near(actual, expected, 1 + (double)count / 100);
}

/* A row with the zeros that fill its last block. */
typedef struct row {
  const float *items;
  size_t n;
  double largest, sum, squares, exps;
} row;

static row describe(const float *items, size_t n) {
  row r = {.items = items, .n = n, .largest = (double)items[0]};
  for (size_t i = 0; i < n; i++) r.sum += (double)items[i];
  for (size_t i = 0; i < n; i++) r.largest = fmax(r.largest, (double)items[i]);
  for (size_t i = 0; i < n; i++) r.exps += exp((double)items[i] - r.largest);
  for (size_t i = 0; i < n; i++) r.squares += (double)items[i] * (double)items[i];
  return r;
}

/* `weights` are the first rows of the inputs behind the first. */
static double expected_of_row(bench_floor_kind kind, const row *r, size_t i, const double weights[2]) {
  double n = (double)r->n, x = (double)r->items[i], mean = r->sum / n, square = r->squares / n;
  if (kind == BENCH_FLOOR_softmax) return exp(x - r->largest) / r->exps;
  if (kind == BENCH_FLOOR_layernorm)
    return (x - mean) / sqrt(square - mean * mean + 1e-5) * weights[0] + weights[1];
  if (kind == BENCH_FLOOR_rmsnorm) return x / sqrt(square + 1e-5) * weights[0];
  return kind == BENCH_FLOOR_expsum ? r->exps : mean + square - mean * mean;
}

static void check_rows(bench_floor_kind kind, bench_floor *floor, size_t rows) {
  size_t n = bench_floor_pitch(floor);
  const float *result = bench_floor_result(floor);
  bool numbers = bench_floor_form_of(kind) == BENCH_FORM_NUMBERS;
  for (size_t k = 0; k < rows; k++) {
    row r = describe(bench_floor_input(floor, 0) + k * n, n);
    for (size_t i = 0; i < (numbers ? 1 : n); i++) {
      double weights[2] = {0};
      for (int w = 1; w < bench_floor_inputs(kind); w++)
        weights[w - 1] = (double)bench_floor_input(floor, w)[i];
      double actual = (double)result[numbers ? k : k * n + i];
      check_near(actual, expected_of_row(kind, &r, i, weights),
                 fmax(1e-2, fabs(weights[1]))); /* may cancel */
    }
  }
}

/* --- All ---------------------------------------------------------------------------------------- */

static void check_result(bench_floor_kind kind, bench_floor *floor, size_t rows, size_t columns) {
  bench_floor_form form = bench_floor_form_of(kind);
  if (form == BENCH_FORM_ROWS || form == BENCH_FORM_NUMBERS) {
    check_rows(kind, floor, rows);
  } else if (form == BENCH_FORM_SUMS) {
    check_sums(kind, bench_floor_result(floor), rows * columns);
  } else {
    for (size_t i = 0; i < rows * columns; i++) check_element(kind, bench_floor_result(floor)[i], i);
  }
}

static void check_floor(bench_floor_kind kind, size_t rows, size_t columns, int threads, sm_cpu_level level) {
  smelt_error err;
  bench_floor *floor = NULL;
  CHECK_OK(bench_floor_open(&floor, kind, rows, columns, threads, level, &err), err);
  for (int k = 0; k < bench_floor_inputs(kind); k++) {
    CHECK((uintptr_t)bench_floor_input(floor, k) % (2 << 20) == 0);
    for (size_t i = 0; i < rows * columns; i++) bench_floor_input(floor, k)[i] = input(k, i);
  }
  for (int run = 0; run < RUNS; run++) bench_floor_run(floor);
  check_result(kind, floor, rows, columns);
  bench_floor_close(floor);
}

static void check_level(sm_cpu_level level) {
  static const size_t shapes[][2] = {{1, 1}, {1, 255}, {4, 64}, {250, 4}, {16, 4096}, {3, 66667}, {33, 257}};
  if (!sm_cpu_supports(level)) TEST_SKIP("this processor has no such vectors");
  for (int kind = 0; kind < BENCH_FLOOR_COUNT; kind++)
    for (size_t i = 0; i < sizeof shapes / sizeof shapes[0]; i++)
      for (int threads = 1; threads <= 3; threads++)
        check_floor((bench_floor_kind)kind, shapes[i][0], shapes[i][1], threads, level);
}

TEST(baseline) { check_level(SM_CPU_BASELINE); }
TEST(avx2) { check_level(SM_CPU_AVX2); }
TEST(avx512) { check_level(SM_CPU_AVX512); }

TEST(nothing_to_do) {
  for (int kind = 0; kind < BENCH_FLOOR_COUNT; kind++)
    for (size_t columns = 0; columns < 2; columns++)
      check_floor((bench_floor_kind)kind, 0, columns, 2, sm_cpu_detect());
}

TEST_MAIN(CASE(baseline), CASE(avx2), CASE(avx512), CASE(nothing_to_do))
