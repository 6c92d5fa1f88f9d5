/* SPDX-License-Identifier: Apache-2.0
 *
 * Calls of a device's library that fail (tests/failing_calls.h): what a program is told, and that
 * everything else goes on, on that device and on others. */
#ifndef TESTS_DEVICE_FAILURES_H
#define TESTS_DEVICE_FAILURES_H

#include "api_fixture.h"

typedef struct failure {
  const char *call; /* FAILING_CALL */
  smelt_status status;
  const char *text; /* part of what is said */
} failure;

static inline void fail_at(const char *call) {
  CHECK_I64(call ? setenv("FAILING_CALL", call, 1) : unsetenv("FAILING_CALL"), 0);
}

/* exp(x + 1) of 0, 1/8, ... */
static inline smelt_tensor *record_work(smelt_context *ctx, int n) {
  float x[100];
  for (int i = 0; i < n; i++) x[i] = (float)i / 8;
  return smelt_exp(smelt_add(smelt_from_host(ctx, SMELT_F32, DIMS(n), x), 1));
}

static inline void check_works(smelt_context *ctx) {
  float y[3];
  smelt_error err = {0};
  CHECK_OK(smelt_into_host(record_work(ctx, 3), SMELT_F32, y, sizeof y, &err), err);
  CHECK(y[0] > 2.7f && y[0] < 2.72f);
}

static inline void check_device_works(const char *device) {
  smelt_context *ctx = open_device(device);
  check_works(ctx);
  close_context(ctx);
}

static inline void check_refused(const char *device, const char *why) {
  smelt_context_desc desc = SMELT_CONTEXT_DESC_INIT;
  smelt_error err = {0};
  desc.device = device;
  CHECK(smelt_context_create(&desc, &err) == NULL);
  CHECK_STATUS(err.code, SMELT_ERR_DEVICE);
  CHECK_CONTAINS(err.text, why);
  check_device_works("cpu");
}

/* While the device is opened. */
static inline void check_opening_fails(const char *device, const failure *f) {
  smelt_context_desc desc = SMELT_CONTEXT_DESC_INIT;
  smelt_error err = {0};
  desc.device = device;
  fail_at(f->call);
  CHECK(smelt_context_create(&desc, &err) == NULL);
  CHECK_STATUS(err.code, f->status);
  CHECK_CONTAINS(err.text, f->text);
  check_device_works("cpu");
  fail_at(NULL);
  check_device_works(device);
}

/* While it is worked with: what was there is still there, and the same work can be done later. */
static inline void check_work_fails(const char *device, const failure *f) {
  float y[3], kept[2];
  smelt_error err = {0};
  smelt_context *ctx = open_device(device);
  smelt_tensor *before = smelt_from_host(ctx, SMELT_F32, DIMS(2), (float[]){3, 4});
  fail_at(f->call);
  CHECK_STATUS(smelt_into_host(record_work(ctx, 3), SMELT_F32, y, sizeof y, &err), f->status);
  CHECK_CONTAINS(err.text, f->text);
  check_device_works("cpu");
  fail_at(NULL);
  check_works(ctx);
  CHECK_OK(smelt_into_host(before, SMELT_F32, kept, sizeof kept, &err), err);
  CHECK(kept[0] == 3 && kept[1] == 4);
  close_context(ctx);
}

/* While what was queued is waited for. */
static inline void check_waiting_fails(const char *device, const failure *f) {
  smelt_error err = {0};
  smelt_context *ctx = open_device(device);
  fail_at(f->call);
  CHECK_STATUS(smelt_sync(ctx, &err), f->status);
  CHECK_CONTAINS(err.text, f->text);
  fail_at(NULL);
  check_works(ctx);
  close_context(ctx);
}

/* Once, so that the driver's second attempt succeeds. */
static inline void check_work_succeeds(const char *device, const char *call) {
  smelt_context *ctx = open_device(device);
  fail_at(call);
  check_works(ctx);
  fail_at(NULL);
  close_context(ctx);
}

#endif
