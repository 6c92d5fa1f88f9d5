/* SPDX-License-Identifier: Apache-2.0
 *
 * Contexts with inputs, and runs of a program on them. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "bench.h"
#include "smt_elements.h"

float bench_input_value(int which, size_t i) {
  uint32_t mixed = ((uint32_t)i + (uint32_t)which * 40503u) * 2654435761u;
  return (float)(mixed >> 8) * 0x1p-25f - 0.25f;
}

static smelt_status make_input(bench_side *side, int which, const sm_shape *shape, smelt_error *err) {
  size_t count = (size_t)sm_shape_count(shape);
  float *values = malloc((count + 1) * sizeof *values);
  if (!values) return sm_error_memory(err, "inputs");
  for (size_t i = 0; i < count; i++) values[i] = bench_input_value(which, i);
  side->inputs[which] = smelt_from_host(side->ctx, SMELT_F32, shape->rank, shape->dims, values);
  free(values);
  return smelt_check(side->inputs[which], err);
}

static void *count_allocation(void *user, void *ptr, size_t old, size_t size) {
  (void)atomic_fetch_add((_Atomic int64_t *)user, 1);
  return sm_malloc_allocator.fn(sm_malloc_allocator.user, ptr, old, size);
}

smelt_status bench_side_open(bench_side *side, const bench_case *what, const char *device, bool fusion,
                             const sm_shape *shape, smelt_error *err) {
  smelt_context_desc desc = SMELT_CONTEXT_DESC_INIT;
  desc.device = device;
  desc.fusion = fusion ? SMELT_ON : SMELT_OFF;
  desc.alloc = count_allocation;
  desc.alloc_user = &side->allocations;
  *side = (bench_side){0};
  side->ctx = smelt_context_create(&desc, err);
  if (!side->ctx) return err->code;
  for (int k = 0; k < what->inputs; k++) SM_TRY(make_input(side, k, shape, err));
  return SMELT_OK;
}

smelt_status bench_side_open_measured(bench_side *side, const bench_case *what, const bench_options *options,
                                      bench_result *result, smelt_error *err) {
  SM_TRY(bench_side_open(side, what, options->device, !options->no_fusion, &result->shape, err));
  (void)snprintf(result->device, sizeof result->device, "%s", smelt_device_name(side->ctx));
  return SMELT_OK;
}

void bench_side_close(bench_side *side) {
  for (int k = 0; k < BENCH_MAX_INPUTS; k++) smelt_drop(side->inputs[k]);
  (void)smelt_context_destroy(side->ctx, NULL);
  *side = (bench_side){0};
}

static void put_away(bench_side *side, const bench_case *what, smelt_tensor *result) {
  if (what->over) side->inputs[0] = result;
  else smelt_drop(result);
}

smelt_status bench_side_run(bench_side *side, const bench_case *what, uint64_t order, double *us,
                            smelt_error *err) {
  double start = bench_now_us();
  smelt_tensor *result = what->program(side->inputs, order);
  smelt_status status = smelt_eval((const smelt_tensor *const[]){result}, 1, err);
  put_away(side, what, result);
  if (us) *us = bench_now_us() - start;
  return status;
}

smelt_status bench_side_run_first(bench_side *side, const bench_case *what, uint64_t order, double *us,
                                  smelt_error *err) {
  double second;
  SM_TRY(bench_side_run(side, what, order, us, err));
  SM_TRY(bench_side_run(side, what, order, &second, err));
  *us -= second;
  return SMELT_OK;
}

smelt_status bench_side_count(bench_side *side, const bench_case *what, uint64_t order, int64_t *bytes,
                              int64_t *launches, smelt_error *err) {
  smelt_counters before = bench_side_counters(side);
  SM_TRY(bench_side_run(side, what, order, NULL, err));
  smelt_counters after = bench_side_counters(side);
  *bytes = (int64_t)(after.bytes_read + after.bytes_written - before.bytes_read - before.bytes_written);
  *launches = (int64_t)(after.launches - before.launches);
  return SMELT_OK;
}

smelt_counters bench_side_counters(const bench_side *side) {
  smelt_counters counters = SMELT_COUNTERS_INIT;
  (void)smelt_context_counters(side->ctx, &counters);
  return counters;
}

/* --- Checking -------------------------------------------------------------------------- */

static smelt_status read_result(bench_side *side, const bench_case *what, uint64_t order, float *values,
                                size_t count, smelt_error *err) {
  smelt_tensor *result = what->program(side->inputs, order);
  smelt_status status = smelt_read(result, SMELT_F32, values, count * sizeof *values, err);
  put_away(side, what, result);
  return status;
}

static smelt_status read_from_ref(const bench_case *what, uint64_t order, const sm_shape *shape,
                                  float *values, size_t count, smelt_error *err) {
  bench_side ref;
  smelt_status status = bench_side_open(&ref, what, "ref", false, shape, err);
  if (status == SMELT_OK) status = read_result(&ref, what, order, values, count, err);
  bench_side_close(&ref);
  return status;
}

static bool all_match(const float *actual, const float *expected, size_t count) {
  for (size_t i = 0; i < count; i++)
    if (!smt_element_matches(SMELT_F32, &actual[i], &expected[i], SM_SMT_EXACT)) return false;
  return true;
}

smelt_status bench_side_check(bench_side *side, const bench_case *what, uint64_t order, const sm_shape *shape,
                              bench_result *result, smelt_error *err) {
  size_t count = (size_t)sm_shape_count(shape);
  float *actual = malloc((2 * count + 1) * sizeof *actual), *expected = actual + count;
  if (!actual) return sm_error_memory(err, "results to compare");
  smelt_status status = read_result(side, what, order, actual, count, err);
  if (status == SMELT_OK) status = read_from_ref(what, order, shape, expected, count, err);
  if (status == SMELT_OK && !all_match(actual, expected, count)) result->differs = true;
  free(actual);
  return status;
}

smelt_status bench_side_open_checked(bench_side *side, const bench_case *what, const bench_options *options,
                                     bench_result *result, smelt_error *err) {
  SM_TRY(bench_side_open_measured(side, what, options, result, err));
  SM_TRY(bench_side_check(side, what, 0, &result->shape, result, err));
  SM_TRY(bench_side_count(side, what, 0, &result->bytes, &result->launches, err));
  result->kernels = (int64_t)bench_side_counters(side).kernels_compiled;
  return SMELT_OK;
}
