/* SPDX-License-Identifier: Apache-2.0
 *
 * smelt lab bench: what fusion gains. For figures that count, smelt bench. */
#define _POSIX_C_SOURCE 200809L
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/error.h"
#include "bench.h"
#include "lab.h"

enum { SETS = 5, INPUTS = 3, ROUNDS = 7 };

typedef smelt_tensor *input_sets[SETS][INPUTS];

/* Of one sync. */
typedef struct run {
  double us;
  uint64_t launches, kernels, bytes;
} run;

static smelt_tensor *compute_set(smelt_tensor *const *set) {
  return lab_expression(smelt_ref(set[0]), smelt_ref(set[1]), smelt_ref(set[2]));
}

static void make_sets(lab *l, input_sets sets) {
  for (int i = 0; i < SETS; i++)
    for (int k = 0; k < INPUTS; k++) sets[i][k] = lab_input(l, l->ctx, (uint64_t)(i * INPUTS + k));
}

static void drop_sets(input_sets sets) {
  for (int i = 0; i < SETS; i++)
    for (int k = 0; k < INPUTS; k++) smelt_drop(sets[i][k]);
}

/* All sets before a sync. The results are the caller's. */
static smelt_status run_sets(lab *l, input_sets sets, smelt_tensor **results, run *out) {
  smelt_counters before = lab_counters(l);
  double start = bench_now_us();
  for (int i = 0; i < SETS; i++) results[i] = compute_set(sets[i]);
  smelt_status status = smelt_sync(l->ctx, &l->error);
  out->us = bench_now_us() - start;
  smelt_counters after = lab_counters(l);
  out->launches = after.launches - before.launches;
  out->kernels = after.kernels_compiled - before.kernels_compiled;
  out->bytes = after.bytes_read + after.bytes_written - before.bytes_read - before.bytes_written;
  return status;
}

static smelt_status compare_set(lab *l, int i, smelt_tensor *result) {
  smelt_tensor *in[INPUTS];
  SM_TRY(lab_read(l, result));
  for (int k = 0; k < INPUTS; k++) in[k] = lab_input(l, l->ref, (uint64_t)(i * INPUTS + k));
  return lab_compare(l, "a result", lab_expression(in[0], in[1], in[2]));
}

/* The first run, whose results are compared. */
static smelt_status run_cold(lab *l, input_sets sets, run *out) {
  smelt_tensor *results[SETS];
  smelt_status status = run_sets(l, sets, results, out);
  for (int i = 0; i < SETS; i++) {
    if (status == SMELT_OK) status = compare_set(l, i, results[i]);
    else smelt_drop(results[i]);
  }
  return status;
}

/* `out` is the last run, with the median of the times. */
static smelt_status run_warm(lab *l, input_sets sets, run *out) {
  smelt_tensor *results[SETS];
  double us[ROUNDS];
  for (int round = 0; round < ROUNDS; round++) {
    smelt_status status = run_sets(l, sets, results, out);
    for (int i = 0; i < SETS; i++) smelt_drop(results[i]);
    SM_TRY(status);
    us[round] = out->us;
  }
  out->us = bench_times_of(us, ROUNDS).median;
  return SMELT_OK;
}

static void print_run(const char *name, const run *r) {
  (void)printf("%s: %.3f ms, launches %" PRIu64 ", kernels compiled %" PRIu64 "\n", name, r->us / 1e3,
               r->launches, r->kernels);
}

static smelt_status run_program(lab *l, bool fusion, run *warm) {
  input_sets sets;
  run cold;
  SM_TRY(lab_open(l, fusion, "", LAB_HIDE));
  make_sets(l, sets);
  lab_mark("let d = exp(a*b + c), for %d sets of inputs; sync()", SETS);
  smelt_status status = run_cold(l, sets, &cold);
  if (status == SMELT_OK) status = run_warm(l, sets, warm);
  drop_sets(sets);
  SM_TRY(status);
  print_run("cold", &cold);
  print_run("warm", warm);
  (void)printf("for each set: %.3f ms, %.2f MiB\n", warm->us / 1e3 / SETS,
               (double)warm->bytes / SETS / (1 << 20));
  lab_report(l);
  return lab_close(l);
}

/* One kernel more, which pays for what is done once in a process. */
static smelt_status prepare(lab *l) {
  SM_TRY(lab_create(l, true, "", LAB_HIDE));
  SM_TRY(lab_read(l, smelt_negative(lab_input(l, l->ctx, 0))));
  return lab_close(l);
}

/* Nothing is found in the cache on disk. */
smelt_status lab_bench(lab *l) {
  static const sm_shape large = {2, {4096, 4096}};
  run fused, unfused;
  (void)setenv("SMELT_CACHE", "0", 1);
  SM_TRY(prepare(l));
  if (!l->options.shape_given) SM_TRY(lab_set_shape(l, &large));
  if (l->options.no_fusion) return run_program(l, false, &unfused);
  SM_TRY(run_program(l, true, &fused));
  SM_TRY(run_program(l, false, &unfused));
  lab_mark("with fusion %.2f times as fast", unfused.us / fused.us);
  return SMELT_OK;
}
