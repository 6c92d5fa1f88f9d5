/* SPDX-License-Identifier: Apache-2.0
 *
 * The measure `plan`: finding a plan for programs that the context has not seen. It is
 * taken on a device that compiles and computes nothing: what a first run takes longer
 * there than a second one is searching the plan, making traces and building kernel IR. */
#include <stdio.h>

#include "base/error.h"
#include "bench.h"

enum { PROGRAMS = 20 };

static const char device[] = "null:cpu-avx512";

/* The first program of a new context, and all of them together. */
static smelt_status plan_programs(bench_side *side, const bench_case *what, int round, double *first_us,
                                  double *all_us, smelt_error *err) {
  *all_us = 0;
  for (int k = 0; k < PROGRAMS; k++) {
    double us;
    SM_TRY(bench_side_run_first(side, what, (uint64_t)(round * PROGRAMS + k), &us, err));
    if (k == 0) *first_us = us;
    *all_us += us;
  }
  return SMELT_OK;
}

static void count_programs(const bench_side *side, bench_result *result) {
  smelt_counters counters = bench_side_counters(side);
  result->kernels = (int64_t)counters.kernels_compiled / PROGRAMS;
  result->launches = (int64_t)counters.launches / 2 / PROGRAMS;
  (void)snprintf(result->device, sizeof result->device, "%s", smelt_device_name(side->ctx));
}

static smelt_status run_round(const bench_case *what, const bench_options *options, int round,
                              double *first_us, double *all_us, bench_result *result, smelt_error *err) {
  bench_side side;
  smelt_status status = bench_side_open(&side, what, device, !options->no_fusion, &result->shape, err);
  if (status == SMELT_OK) status = plan_programs(&side, what, round, first_us, all_us, err);
  if (status == SMELT_OK) count_programs(&side, result);
  bench_side_close(&side);
  return status;
}

/* That programs are computed as on ref, where something is computed. */
static smelt_status check_values(const bench_case *what, const bench_options *options, bench_result *result,
                                 smelt_error *err) {
  bench_side side;
  smelt_status status = bench_side_open_measured(&side, what, options, result, err);
  if (status == SMELT_OK) status = bench_side_check(&side, what, 0, &result->shape, result, err);
  bench_side_close(&side);
  return status;
}

/* The first round is for warming up. */
smelt_status bench_measure_plan(const bench_case *what, const bench_options *options, bench_result *result,
                                smelt_error *err) {
  double first_us[BENCH_MAX_ROUNDS + 1], all_us[BENCH_MAX_ROUNDS + 1];
  SM_TRY(check_values(what, options, result, err));
  for (int round = 0; round <= options->rounds; round++)
    SM_TRY(run_round(what, options, round, &first_us[round], &all_us[round], result, err));
  result->times = bench_times_of(first_us + 1, options->rounds);
  result->twenty_ms = bench_times_of(all_us + 1, options->rounds).median / 1e3;
  return SMELT_OK;
}
