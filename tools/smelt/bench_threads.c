/* SPDX-License-Identifier: Apache-2.0
 *
 * The measure `threads`: whether two threads that use one context compute at the same
 * time. Each does half of the runs; the floor is one thread doing all of them. Kernels
 * stay on the thread that launches them (SMELT_THREADS=1). */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/error.h"
#include "bench.h"

/* Enough that starting a thread does not count. */
enum { RUNS = 50, WARM_UP_ROUNDS = 2 };

/* What one thread does. */
typedef struct part {
  bench_side *side;
  const bench_case *what;
  int runs;
  smelt_status status;
  smelt_error err;
} part;

static void *run_part(void *argument) {
  part *p = argument;
  for (int k = 0; k < p->runs && p->status == SMELT_OK; k++) {
    p->status = bench_side_run(p->side, p->what, 0, NULL, &p->err);
  }
  return NULL;
}

static smelt_status outcome(const part *p, smelt_error *err) {
  if (p->status != SMELT_OK) *err = p->err;
  return p->status;
}

static smelt_status time_one(bench_side *side, const bench_case *what, double *us, smelt_error *err) {
  part all = {.side = side, .what = what, .runs = 2 * RUNS};
  double start = bench_now_us();
  (void)run_part(&all);
  *us = bench_now_us() - start;
  return outcome(&all, err);
}

static smelt_status time_two(bench_side *side, const bench_case *what, double *us, smelt_error *err) {
  part other = {.side = side, .what = what, .runs = RUNS}, own = other;
  pthread_t thread;
  double start = bench_now_us();
  if (pthread_create(&thread, NULL, run_part, &other) != 0) return sm_error_memory(err, "a thread");
  (void)run_part(&own);
  (void)pthread_join(thread, NULL);
  *us = bench_now_us() - start;
  SM_TRY(outcome(&own, err));
  return outcome(&other, err);
}

/* The first rounds are for warming up; later ones overwrite what they measured. */
static smelt_status run_rounds(bench_side *side, const bench_case *what, int rounds, bench_result *result,
                               smelt_error *err) {
  double one[BENCH_MAX_ROUNDS], two[BENCH_MAX_ROUNDS];
  for (int round = -WARM_UP_ROUNDS; round < rounds; round++) {
    int slot = round < 0 ? 0 : round;
    SM_TRY(time_one(side, what, &one[slot], err));
    SM_TRY(time_two(side, what, &two[slot], err));
  }
  result->times = bench_times_of(two, rounds);
  result->floor = "one_thread";
  result->floor_us = bench_times_of(one, rounds).median;
  result->ratio = bench_median_ratio(two, one, rounds);
  return SMELT_OK;
}

static smelt_status measure(bench_side *side, const bench_case *what, const bench_options *options,
                            bench_result *result, smelt_error *err) {
  SM_TRY(bench_side_open_checked(side, what, options, result, err));
  return run_rounds(side, what, options->rounds, result, err);
}

static void set_threads(int n) {
  char text[16];
  (void)snprintf(text, sizeof text, "%d", n);
  (void)setenv("SMELT_THREADS", text, 1);
}

smelt_status bench_measure_threads(const bench_case *what, const bench_options *options, bench_result *result,
                                   smelt_error *err) {
  bench_side side;
  set_threads(1);
  smelt_status status = measure(&side, what, options, result, err);
  bench_side_close(&side);
  set_threads(options->threads);
  return status;
}
