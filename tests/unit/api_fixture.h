/* SPDX-License-Identifier: Apache-2.0
 *
 * What tests of the public interface begin and end with. */
#ifndef TESTS_API_FIXTURE_H
#define TESTS_API_FIXTURE_H

#include <stdlib.h>
#include <string.h>

#include "harness.h"
#include "same_values.h"
#include "smelt/smelt.h"

/* A shape: rank and extents. */
#define DIMS(...) \
  (int)(sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t)), (int64_t[]) { __VA_ARGS__ }

static inline smelt_context *open_context_with(const smelt_context_desc *desc) {
  smelt_error err = {0};
  smelt_context *ctx = smelt_context_create(desc, &err);
  CHECK_STR(err.text, "");
  CHECK(ctx != NULL);
  return ctx;
}

static inline smelt_context *open_context(void) { return open_context_with(NULL); }

static inline smelt_context *open_device(const char *device) {
  smelt_context_desc desc = SMELT_CONTEXT_DESC_INIT;
  desc.device = device;
  return open_context_with(&desc);
}

/* How often something is tried for which kernels are compiled: less on a device that SMELT_DEVICE names,
 * whose compiler may take a second for each. */
static inline int tries(int usual, int few) { return getenv("SMELT_DEVICE") ? few : usual; }

static inline smelt_context *open_with_observer(const char *device, const smelt_observer *observer) {
  smelt_context_desc desc = SMELT_CONTEXT_DESC_INIT;
  desc.device = device;
  desc.observer = observer;
  return open_context_with(&desc);
}

static inline smelt_counters counters_of(const smelt_context *ctx) {
  smelt_counters c = SMELT_COUNTERS_INIT;
  CHECK_STATUS(smelt_context_counters(ctx, &c), SMELT_OK);
  return c;
}

/* Also shows that nothing leaked. */
static inline void close_context(smelt_context *ctx) {
  smelt_error err = {0};
  CHECK_I64(counters_of(ctx).live_references, 0);
  CHECK_OK(smelt_sync(ctx, &err), err);
  CHECK_I64(counters_of(ctx).live_bytes, 0);
  CHECK_OK(smelt_context_destroy(ctx, &err), err);
}

static inline smelt_tensor *number(smelt_context *ctx, float value) {
  return smelt_from_host(ctx, SMELT_F32, 0, NULL, &value);
}

/* The value of a tensor with one element, as its last use. */
static inline double value_of(smelt_tensor *t) {
  double value = 0;
  smelt_error err = {0};
  CHECK_OK(smelt_item_f64(t, &value, &err), err);
  smelt_drop(t);
  return value;
}

/* Takes both. */
static inline void check_same_values(smelt_tensor *a, smelt_tensor *b) {
  smelt_error err;
  smelt_dtype dtype = smelt_dtype_of(b);
  int64_t n = smelt_count(b);
  size_t size = (size_t)n * smelt_dtype_size(dtype);
  void *x = malloc(size + 1), *y = malloc(size + 1);
  CHECK(x && y);
  CHECK_I64(smelt_count(a), n);
  CHECK_OK(smelt_into_host(a, dtype, x, size, &err), err);
  CHECK_OK(smelt_into_host(b, dtype, y, size, &err), err);
  CHECK_I64(first_difference(dtype, x, y, n), -1);
  free(x);
  free(y);
}

/* Takes `t`, which has to be poisoned with this cause. */
static inline void check_poison(smelt_tensor *t, smelt_status status, const char *part) {
  smelt_error err = {0};
  CHECK_STATUS(smelt_check(t, &err), status);
  CHECK_CONTAINS(err.text, part);
  smelt_drop(t);
}

#endif
