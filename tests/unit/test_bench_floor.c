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

static void check_floor(bench_floor_kind kind, size_t count, int threads, sm_cpu_level level) {
  smelt_error err;
  bench_floor *floor = NULL;
  CHECK_OK(bench_floor_open(&floor, kind, count, threads, level, &err), err);
  for (int k = 0; k < bench_floor_inputs(kind); k++) {
    CHECK((uintptr_t)bench_floor_input(floor, k) % (2 << 20) == 0);
    for (size_t i = 0; i < count; i++) bench_floor_input(floor, k)[i] = input(k, i);
  }
  for (int run = 0; run < RUNS; run++) bench_floor_run(floor);
  for (size_t i = 0; i < count; i++) check_element(kind, bench_floor_result(floor)[i], i);
  bench_floor_close(floor);
}

static void check_level(sm_cpu_level level) {
  static const size_t counts[] = {1, 255, 256, 1000, 65536, 200001};
  if (!sm_cpu_supports(level)) TEST_SKIP("this processor has no such vectors");
  for (int kind = 0; kind < BENCH_FLOOR_COUNT; kind++)
    for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++)
      for (int threads = 1; threads <= 3; threads++)
        check_floor((bench_floor_kind)kind, counts[i], threads, level);
}

TEST(baseline) { check_level(SM_CPU_BASELINE); }
TEST(avx2) { check_level(SM_CPU_AVX2); }
TEST(avx512) { check_level(SM_CPU_AVX512); }

TEST(nothing_to_do) {
  for (int kind = 0; kind < BENCH_FLOOR_COUNT; kind++)
    check_floor((bench_floor_kind)kind, 0, 2, sm_cpu_detect());
}

TEST_MAIN(CASE(baseline), CASE(avx2), CASE(avx512), CASE(nothing_to_do))
