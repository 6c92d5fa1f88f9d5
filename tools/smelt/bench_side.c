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

static int64_t columns_of(const sm_shape *shape) { return shape->rank ? shape->dims[shape->rank - 1] : 1; }

/* In the order of nothing. */
static smelt_status make_labels(bench_side *side, int which, const sm_shape *shape, smelt_error *err) {
  int64_t rows = shape->rank ? shape->dims[0] : 1, columns = shape->rank > 1 ? columns_of(shape) : 1;
  int64_t *labels = malloc((size_t)(rows + 1) * sizeof *labels);
  if (!labels) return sm_error_memory(err, "labels");
  for (int64_t i = 0; i < rows; i++) labels[i] = columns ? i * 40503 % columns : 0;
  side->inputs[which] = smelt_from_host(side->ctx, SMELT_I64, 1, &rows, labels);
  free(labels);
  return smelt_check(side->inputs[which], err);
}

static smelt_status make_inputs(bench_side *side, const bench_case *what, const sm_shape *shape,
                                smelt_error *err) {
  int whole = what->inputs - what->labels - what->weights;
  sm_shape row = {.rank = 1, .dims = {columns_of(shape)}};
  for (int k = 0; k < whole; k++) SM_TRY(make_input(side, k, shape, err));
  for (int k = 0; k < what->weights; k++) SM_TRY(make_input(side, whole + k, &row, err));
  return what->labels ? make_labels(side, what->inputs - 1, shape, err) : SMELT_OK;
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
  return make_inputs(side, what, shape, err);
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
  if (status == SMELT_OK) status = smelt_sync(side->ctx, err); /* launches may be queued */
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

/* Elements of any dtype, to be freed. */
typedef struct elements {
  smelt_dtype dtype;
  size_t count;
  unsigned char *data;
} elements;

static smelt_status read_elements(const smelt_tensor *t, elements *out, smelt_error *err) {
  SM_TRY(smelt_check(t, err));
  size_t count = (size_t)smelt_count(t), bytes = count * smelt_dtype_size(smelt_dtype_of(t));
  *out = (elements){smelt_dtype_of(t), count, malloc(bytes + 1)};
  return out->data ? smelt_read(t, out->dtype, out->data, bytes, err)
                   : sm_error_memory(err, "results to compare");
}

static smelt_status read_result(bench_side *side, const bench_case *what, uint64_t order, elements *out,
                                smelt_error *err) {
  smelt_tensor *result = what->program(side->inputs, order);
  smelt_status status = read_elements(result, out, err);
  put_away(side, what, result);
  return status;
}

static smelt_status read_from_ref(const bench_case *what, uint64_t order, const sm_shape *shape,
                                  elements *out, smelt_error *err) {
  bench_side ref;
  smelt_status status = bench_side_open(&ref, what, "ref", false, shape, err);
  if (status == SMELT_OK) status = read_result(&ref, what, order, out, err);
  bench_side_close(&ref);
  return status;
}

static bool all_match(const elements *actual, const elements *expected) {
  size_t size = smelt_dtype_size(actual->dtype);
  if (actual->dtype != expected->dtype || actual->count != expected->count) return false;
  for (size_t i = 0; i < actual->count; i++) {
    const unsigned char *a = actual->data + i * size, *e = expected->data + i * size;
    if (!smt_element_matches(actual->dtype, a, e, SM_SMT_EXACT)) return false;
  }
  return true;
}

smelt_status bench_side_check(bench_side *side, const bench_case *what, uint64_t order, const sm_shape *shape,
                              bench_result *result, smelt_error *err) {
  elements actual = {.data = NULL}, expected = {.data = NULL};
  smelt_status status = read_result(side, what, order, &actual, err);
  if (status == SMELT_OK) status = read_from_ref(what, order, shape, &expected, err);
  if (status == SMELT_OK && !all_match(&actual, &expected)) result->differs = true;
  free(actual.data);
  free(expected.data);
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
