/* SPDX-License-Identifier: Apache-2.0
 *
 * The measures `compile`, `later` and `first`: runs that compile. The time for
 * compiling is what a first run takes longer than a second one; so it includes
 * planning. */
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "bench.h"

/* Compiles program `order` and checks what it computes; counts what it launches. */
static smelt_status compile_program(bench_side *side, const bench_case *what, uint64_t order, double *us,
                                    bench_result *result, smelt_error *err) {
  smelt_counters before = bench_side_counters(side);
  SM_TRY(bench_side_run_first(side, what, order, us, err));
  smelt_counters after = bench_side_counters(side);
  result->kernels = (int64_t)(after.kernels_compiled - before.kernels_compiled);
  result->launches = (int64_t)(after.launches - before.launches) / 2;
  result->bytes =
      (int64_t)(after.bytes_read + after.bytes_written - before.bytes_read - before.bytes_written) / 2;
  return bench_side_check(side, what, order, &result->shape, result, err);
}

static smelt_status compile_in_new_context(const bench_case *what, const bench_options *options,
                                           uint64_t order, double *us, bench_result *result,
                                           smelt_error *err) {
  bench_side side;
  smelt_status status = bench_side_open_measured(&side, what, options, result, err);
  if (status == SMELT_OK) status = compile_program(&side, what, order, us, result, err);
  bench_side_close(&side);
  return status;
}

/* The program before the first round pays for what is done once in a process. */
smelt_status bench_measure_compile(const bench_case *what, const bench_options *options, bench_result *result,
                                   smelt_error *err) {
  double us[BENCH_MAX_ROUNDS + 1];
  for (int round = 0; round <= options->rounds; round++)
    SM_TRY(compile_in_new_context(what, options, (uint64_t)round, &us[round], result, err));
  result->times = bench_times_of(us + 1, options->rounds);
  return SMELT_OK;
}

static smelt_status compile_one_by_one(bench_side *side, const bench_case *what, int programs,
                                       bench_result *result, smelt_error *err) {
  double us[BENCH_MAX_ROUNDS + 1];
  for (int k = 0; k < programs; k++) SM_TRY(compile_program(side, what, (uint64_t)k, &us[k], result, err));
  result->times = bench_times_of(us + 1, programs - 1);
  return SMELT_OK;
}

smelt_status bench_measure_later(const bench_case *what, const bench_options *options, bench_result *result,
                                 smelt_error *err) {
  int programs = (int)bench_later_programs();
  if (options->rounds + 1 < programs) programs = options->rounds + 1;
  bench_side side;
  smelt_status status = bench_side_open_measured(&side, what, options, result, err);
  if (status == SMELT_OK) status = compile_one_by_one(&side, what, programs, result, err);
  bench_side_close(&side);
  return status;
}

/* --- First ------------------------------------------------------------------------------- */

static bool is_llvm_mapped(void) {
  char line[4096];
  bool found = false;
  FILE *maps = fopen("/proc/self/maps", "r");
  if (!maps) return false;
  while (!found && fgets(line, sizeof line, maps)) found = strstr(line, "libLLVM") != NULL;
  (void)fclose(maps);
  return found;
}

/* Only once: nothing is first a second time. */
smelt_status bench_measure_first(const bench_case *what, const bench_options *options, bench_result *result,
                                 smelt_error *err) {
  double start = bench_now_us();
  bench_side side;
  smelt_status status = bench_side_open_measured(&side, what, options, result, err);
  if (status == SMELT_OK) status = bench_side_run(&side, what, 0, NULL, err);
  double us = bench_now_us() - start;
  if (status == SMELT_OK) {
    smelt_counters counters = bench_side_counters(&side);
    result->times = (bench_times){us, us, us};
    result->kernels = (int64_t)counters.kernels_compiled;
    result->launches = (int64_t)counters.launches;
    result->bytes = (int64_t)(counters.bytes_read + counters.bytes_written);
    result->llvm_mapped = is_llvm_mapped();
  }
  bench_side_close(&side);
  return status;
}
