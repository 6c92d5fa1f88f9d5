/* SPDX-License-Identifier: Apache-2.0
 *
 * The measure `tiny`: what Smelt itself costs, on tensors too small to matter. The time
 * of a round is that of one run of the program; beside it stands what recording one
 * operation takes, which is timed alone. */
#include "base/error.h"
#include "bench.h"

/* Enough that reading the clock does not count; operations fit into a segment. */
enum { WARM_UP_ROUNDS = 2, RUNS = 100, OPERATIONS = 100 };

/* The last result is dropped, so nothing of it is computed. */
static smelt_status time_recording(bench_side *side, double *ns, smelt_error *err) {
  smelt_tensor *x = smelt_ref(side->inputs[0]);
  double start = bench_now_us();
  for (int k = 0; k < OPERATIONS; k++) x = smelt_tanh(x);
  *ns = (bench_now_us() - start) * 1e3 / OPERATIONS;
  smelt_drop(x);
  return smelt_sync(side->ctx, err);
}

static smelt_status time_runs(bench_side *side, const bench_case *what, double *us, smelt_error *err) {
  double start = bench_now_us();
  for (int k = 0; k < RUNS; k++) SM_TRY(bench_side_run(side, what, 0, NULL, err));
  *us = (bench_now_us() - start) / RUNS;
  return SMELT_OK;
}

/* The first rounds are for warming up; later ones overwrite what they measured. */
static smelt_status run_rounds(bench_side *side, const bench_case *what, int rounds, bench_result *result,
                               smelt_error *err) {
  double us[BENCH_MAX_ROUNDS], ns[BENCH_MAX_ROUNDS];
  int64_t allocations = 0;
  for (int round = -WARM_UP_ROUNDS; round < rounds; round++) {
    int slot = round < 0 ? 0 : round;
    if (round == 0) allocations = atomic_load(&side->allocations);
    SM_TRY(time_recording(side, &ns[slot], err));
    SM_TRY(time_runs(side, what, &us[slot], err));
  }
  result->allocations = atomic_load(&side->allocations) - allocations;
  result->times = bench_times_of(us, rounds);
  result->record_ns = bench_times_of(ns, rounds).median;
  return SMELT_OK;
}

static smelt_status measure(bench_side *side, const bench_case *what, const bench_options *options,
                            bench_result *result, smelt_error *err) {
  SM_TRY(bench_side_open_checked(side, what, options, result, err));
  return run_rounds(side, what, options->rounds, result, err);
}

smelt_status bench_measure_tiny(const bench_case *what, const bench_options *options, bench_result *result,
                                smelt_error *err) {
  bench_side side;
  smelt_status status = measure(&side, what, options, result, err);
  bench_side_close(&side);
  return status;
}
