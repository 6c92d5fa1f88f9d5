/* SPDX-License-Identifier: Apache-2.0
 *
 * Benchmarks: how long programs take, against what this machine can do at best.
 * docs/bench.md is the manual.
 *
 * Vocabulary. A *case* is a program and how it is measured. A *round* measures each
 * *series* of a case once: the program itself, its floor (bench_floor.h), the same
 * program with fusion off. A *ratio* of two series is the median of the ratios of
 * each round.
 *
 * Invariants. What is compared is measured alternately, in one process, and the
 * order within a round rotates; so whatever else the machine does meets all series.
 * Times are for recording, computing and dropping the result. Only `warm` uses the
 * cache on disk. Inputs are f32, but for labels; every program is compared with the device ref
 * before or while it is measured. */
#ifndef SMELT_TOOL_BENCH_H
#define SMELT_TOOL_BENCH_H

#include <stdatomic.h>

#include "base/text.h"
#include "bench_floor.h"
#include "core/shape.h"
#include "smelt/smelt.h"

enum { BENCH_MAX_ROUNDS = 1000 };

typedef struct bench_options {
  const char *device;
  bool json;
  bool no_fusion;
  int threads;
  int rounds;
  sm_shape shape; /* rank -1: the case's own */
} bench_options;

/* Of one series, in microseconds. */
typedef struct bench_times {
  double median, p10, p90;
} bench_times;

/* What does not apply is NAN, -1 or NULL. */
typedef struct bench_result {
  char device[64]; /* how operations run */
  sm_shape shape;
  bench_times times;
  double floor_us, ratio;
  double unfused_us, speedup;
  double cold_ms;                   /* the first run in a new context */
  int64_t bytes, launches, kernels; /* of one run; kernels compiled in the first */
  int64_t unfused_bytes, unfused_launches;
  double record_ns;    /* recording one operation */
  int64_t allocations; /* of the library's bookkeeping memory, in all measured rounds */
  double twenty_ms;    /* twenty programs in one context */
  const char *floor;
  int llvm_mapped; /* 0 or 1 */
  double others;   /* the share of all processors that other processes used meanwhile */
  bool differs;    /* from ref */
} bench_result;

/* A result from inputs, which are kept, except that a program that works *over* its first
 * input takes that. `order` chooses one of many programs where there are many. */
typedef smelt_tensor *bench_program(smelt_tensor *const *inputs, uint64_t order);

typedef struct bench_case bench_case;
typedef smelt_status bench_measure(const bench_case *what, const bench_options *options, bench_result *result,
                                   smelt_error *err);
struct bench_case {
  const char *name;
  const char *doc;
  bench_measure *measure;
  bench_program *program;
  bool over;   /* the program takes its first input; the result is the next run's */
  bool labels; /* the last input has an i64 for each row, a place in it */
  int weights; /* that many inputs behind the others have one element for each column */
  int inputs;
  bench_floor_kind floor;
  int64_t extent;
};

/* The i-th case; NULL beyond the last. */
const bench_case *bench_case_at(size_t i);
const bench_case *bench_case_find(const char *name);
/* Different programs that `later` has. */
uint64_t bench_later_programs(void);

/* speed: against the floor and without fusion. compile: the first run of each of
 * many programs, each in a new context, less a second run. later: the same in one
 * context. plan: the same where nothing is compiled. tiny: one operation recorded, and a
 * whole program. threads: one thread against two. cold, warm: whole processes, which run the case first. */
bench_measure bench_measure_speed, bench_measure_compile, bench_measure_later, bench_measure_plan,
    bench_measure_tiny, bench_measure_threads, bench_measure_cold, bench_measure_warm, bench_measure_first;

/* --- Contexts and runs (bench_side.c) --------------------------------------------------- */

/* A context with the inputs of a case. */
typedef struct bench_side {
  smelt_context *ctx;
  smelt_tensor *inputs[BENCH_MAX_INPUTS];
  _Atomic int64_t allocations; /* calls of the context's allocator so far */
} bench_side;

/* Element i of input number `which`, between -0.25 and 0.25: so exp(a*b + c) stays below
 * 2.3 however often it becomes the next a. */
float bench_input_value(int which, size_t i);

/* A side is closed whether it could be opened or not; a zeroed one is closed. */
smelt_status bench_side_open(bench_side *side, const bench_case *what, const char *device, bool fusion,
                             const sm_shape *shape, smelt_error *err);
/* With the device, fusion and shape that are to be measured; names the device. */
smelt_status bench_side_open_measured(bench_side *side, const bench_case *what, const bench_options *options,
                                      bench_result *result, smelt_error *err);
void bench_side_close(bench_side *side);

/* Records, computes and drops; `us` (optional) is how long that takes. */
smelt_status bench_side_run(bench_side *side, const bench_case *what, uint64_t order, double *us,
                            smelt_error *err);
/* What the first run of a program takes longer than a second one. */
smelt_status bench_side_run_first(bench_side *side, const bench_case *what, uint64_t order, double *us,
                                  smelt_error *err);
/* What one run moves and launches. */
smelt_status bench_side_count(bench_side *side, const bench_case *what, uint64_t order, int64_t *bytes,
                              int64_t *launches, smelt_error *err);
/* The same result on ref must have the same bits; otherwise result->differs. */
smelt_status bench_side_check(bench_side *side, const bench_case *what, uint64_t order, const sm_shape *shape,
                              bench_result *result, smelt_error *err);
/* Opened, checked, and with what one run moves, launches and has compiled. */
smelt_status bench_side_open_checked(bench_side *side, const bench_case *what, const bench_options *options,
                                     bench_result *result, smelt_error *err);
smelt_counters bench_side_counters(const bench_side *side);

/* --- Times (bench_times.c) ------------------------------------------------------------------ */

double bench_now_us(void);
/* Of n samples, 1 to BENCH_MAX_ROUNDS. */
bench_times bench_times_of(const double *samples, int n);
/* The median of a[i] / b[i]. */
double bench_median_ratio(const double *a, const double *b, int n);

/* Seconds: of the clock, of work of all processors, of work of this process. */
typedef struct bench_load {
  double time, busy, own;
} bench_load;

bench_load bench_load_now(void);
/* The share of all processors that others have used since then, 0 to 1; NAN if
 * that cannot be found out. */
double bench_load_of_others(const bench_load *before);

/* --- Reports (bench_report.c) ----------------------------------------------------------------- */

/* One JSON object, one line. */
void bench_report_json(sm_text *text, const bench_case *what, const bench_options *options,
                       const bench_result *result);
/* The table: its head, a row, what the rows and columns mean. */
void bench_report_head(sm_text *text);
void bench_report_row(sm_text *text, const bench_case *what, const bench_result *result);
void bench_report_legend(sm_text *text, const bench_case *const *cases, const bench_options *options);

#endif
