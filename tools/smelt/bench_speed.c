/* SPDX-License-Identifier: Apache-2.0
 *
 * The measure `speed`: a program, its floor, and the program without fusion, in
 * turn. */
#define _POSIX_C_SOURCE 200809L
#include <time.h>

#include "base/error.h"
#include "bench.h"

enum { WARM_UP_ROUNDS = 2, CHECKED_ROWS = 5, CHECKED_COLUMNS = 403 };

typedef enum series { PROGRAM, FLOOR, UNFUSED, SERIES_COUNT } series;

typedef struct speed {
  const bench_case *what;
  const bench_options *options;
  bench_result *result;
  bench_side program;
  bench_side unfused; /* closed if the program is without fusion itself */
  bench_floor *floor;
  double us[SERIES_COUNT][BENCH_MAX_ROUNDS];
} speed;

/* --- Opening ------------------------------------------------------------------------------ */

static smelt_status open_floor(speed *s, smelt_error *err) {
  const sm_shape *shape = &s->result->shape;
  size_t count = (size_t)sm_shape_count(shape);
  size_t columns = shape->rank ? (size_t)shape->dims[shape->rank - 1] : 1;
  bench_floor_kind kind = s->what->floor;
  SM_TRY(bench_floor_open(&s->floor, kind, columns ? count / columns : 0, columns, s->options->threads,
                          sm_cpu_detect(), err));
  for (int k = 0; k < bench_floor_inputs(kind); k++)
    for (size_t i = 0; i < count; i++) bench_floor_input(s->floor, k)[i] = bench_input_value(k, i);
  return SMELT_OK;
}

static smelt_status check_values(const speed *s, smelt_error *err) {
  sm_shape small = {.rank = 2, .dims = {CHECKED_ROWS, CHECKED_COLUMNS}};
  bench_side side;
  smelt_status status =
      bench_side_open(&side, s->what, s->options->device, !s->options->no_fusion, &small, err);
  if (status == SMELT_OK) status = bench_side_check(&side, s->what, 0, &small, s->result, err);
  bench_side_close(&side);
  return status;
}

static smelt_status open_program(speed *s, smelt_error *err) {
  bench_result *r = s->result;
  double us;
  SM_TRY(bench_side_open_measured(&s->program, s->what, s->options, r, err));
  SM_TRY(bench_side_run(&s->program, s->what, 0, &us, err));
  r->cold_ms = us / 1e3;
  r->kernels = (int64_t)bench_side_counters(&s->program).kernels_compiled;
  return bench_side_count(&s->program, s->what, 0, &r->bytes, &r->launches, err);
}

static smelt_status open_unfused(speed *s, smelt_error *err) {
  bench_result *r = s->result;
  if (s->options->no_fusion) return SMELT_OK;
  SM_TRY(bench_side_open(&s->unfused, s->what, s->options->device, false, &r->shape, err));
  return bench_side_count(&s->unfused, s->what, 0, &r->unfused_bytes, &r->unfused_launches, err);
}

/* --- Rounds --------------------------------------------------------------------------------- */

/* Threads that look out for more work are asleep after this. */
static void settle(void) {
  struct timespec time = {.tv_nsec = 300000};
  (void)nanosleep(&time, NULL);
}

static smelt_status run_series(speed *s, series which, double *us, smelt_error *err) {
  settle();
  if (which == PROGRAM) return bench_side_run(&s->program, s->what, 0, us, err);
  if (which == UNFUSED) return s->unfused.ctx ? bench_side_run(&s->unfused, s->what, 0, us, err) : SMELT_OK;
  double start = bench_now_us();
  bench_floor_run(s->floor);
  *us = bench_now_us() - start;
  return SMELT_OK;
}

/* The order rotates. The first rounds are for warming up; later ones overwrite what
 * they measured. */
static smelt_status run_rounds(speed *s, smelt_error *err) {
  for (int round = -WARM_UP_ROUNDS; round < s->options->rounds; round++) {
    int slot = round < 0 ? 0 : round;
    for (int k = 0; k < SERIES_COUNT; k++) {
      series which = (series)((round + WARM_UP_ROUNDS + k) % SERIES_COUNT);
      SM_TRY(run_series(s, which, &s->us[which][slot], err));
    }
  }
  return SMELT_OK;
}

static void fill_times(speed *s) {
  bench_result *r = s->result;
  int n = s->options->rounds;
  r->times = bench_times_of(s->us[PROGRAM], n);
  r->floor = bench_floor_name(s->what->floor);
  r->floor_us = bench_times_of(s->us[FLOOR], n).median;
  r->ratio = bench_median_ratio(s->us[PROGRAM], s->us[FLOOR], n);
  if (!s->unfused.ctx) return;
  r->unfused_us = bench_times_of(s->us[UNFUSED], n).median;
  r->speedup = bench_median_ratio(s->us[UNFUSED], s->us[PROGRAM], n);
}

static smelt_status measure(speed *s, smelt_error *err) {
  SM_TRY(check_values(s, err));
  SM_TRY(open_floor(s, err));
  SM_TRY(open_program(s, err));
  SM_TRY(open_unfused(s, err));
  SM_TRY(run_rounds(s, err));
  fill_times(s);
  return SMELT_OK;
}

smelt_status bench_measure_speed(const bench_case *what, const bench_options *options, bench_result *result,
                                 smelt_error *err) {
  speed s = {.what = what, .options = options, .result = result};
  smelt_status status = measure(&s, err);
  bench_floor_close(s.floor);
  bench_side_close(&s.unfused);
  bench_side_close(&s.program);
  return status;
}
