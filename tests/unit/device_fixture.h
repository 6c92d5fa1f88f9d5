/* SPDX-License-Identifier: Apache-2.0
 *
 * What tests of devices with memory of their own share. */
#ifndef TESTS_DEVICE_FIXTURE_H
#define TESTS_DEVICE_FIXTURE_H

#include <sys/wait.h>
#include <unistd.h>

#include "api/context_state.h"
#include "api_fixture.h"

/* In a child of fork the context of the parent answers ERR_FORKED, and the parent does not
 * notice. */
static inline void check_fork(smelt_context *ctx) {
  float y[4], x[4] = {0};
  int status;
  smelt_tensor *t = smelt_from_host(ctx, SMELT_F32, DIMS(4), x);
  CHECK_STATUS(smelt_eval((const smelt_tensor *[]){t}, 1, NULL), SMELT_OK);
  pid_t child = fork();
  if (child == 0) {
    bool refused = smelt_read(t, SMELT_F32, y, sizeof y, NULL) == SMELT_ERR_FORKED;
    smelt_drop(t);
    (void)smelt_context_destroy(ctx, NULL);
    _exit(refused ? 0 : 1);
  }
  CHECK(waitpid(child, &status, 0) == child && WIFEXITED(status));
  CHECK_I64(WEXITSTATUS(status), 0);
  CHECK_STATUS(smelt_into_host(t, SMELT_F32, y, sizeof y, NULL), SMELT_OK);
}

/* A driver that counts what goes by way of the host. */
static const sm_driver *counted_driver;
static int transfers;

static inline smelt_status count_upload(sm_device *device, void *data, size_t offset, const void *from,
                                        size_t bytes, smelt_error *err) {
  transfers++;
  return counted_driver->upload(device, data, offset, from, bytes, err);
}

static inline smelt_status count_download(sm_device *device, const void *data, size_t offset, void *to,
                                          size_t bytes, smelt_error *err) {
  transfers++;
  return counted_driver->download(device, data, offset, to, bytes, err);
}

/* Sums over axes without a single stride, of the tensor and of one seen in another order. */
static inline void sum_apart(smelt_context *ctx, smelt_tensor *sums[2]) {
  float items[5 * 6 * 70];
  for (int i = 0; i < 5 * 6 * 70; i++) items[i] = (float)(i * 7919 % 2001 - 1000) / 64;
  smelt_tensor *x = smelt_from_host(ctx, SMELT_F32, DIMS(5, 6, 70), items);
  smelt_tensor *turned = smelt_permute_dims(smelt_ref(x), (int[]){2, 1, 0}, 3);
  CHECK_STATUS(smelt_eval((const smelt_tensor *[]){x}, 1, NULL), SMELT_OK);
  transfers = 0;
  sums[0] = smelt_sum(x, (int[]){0, 2}, 2, false, SMELT_F32);
  sums[1] = smelt_sum(turned, (int[]){0, 1}, 2, false, SMELT_F32);
  CHECK_STATUS(smelt_eval((const smelt_tensor *const *)sums, 2, NULL), SMELT_OK);
  CHECK_STATUS(smelt_sync(ctx, NULL), SMELT_OK);
}

/* What reductions cannot read as it lies is copied on the device. */
static inline void check_copies_stay_on(const char *device) {
  smelt_context *ctx = open_device(device), *ref = open_device("ref");
  smelt_tensor *sums[2], *expected[2];
  sm_driver counting = *ctx->device.driver;
  counted_driver = ctx->device.driver;
  counting.upload = count_upload;
  counting.download = count_download;
  ctx->device.driver = &counting;
  sum_apart(ctx, sums);
  CHECK_I64(transfers, 0);
  sum_apart(ref, expected);
  for (int i = 0; i < 2; i++) check_same_values(sums[i], expected[i]);
  CHECK_I64(transfers, 2); /* the results */
  ctx->device.driver = counted_driver;
  close_context(ctx);
  close_context(ref);
}

/* exp and a sum, of denormal numbers and with an overflow. */
static inline void compute_in_host(const char *device, float *results) {
  static const float x[] = {0, 0x1p-149f, 3, 1.1f};
  smelt_context *ctx = open_device(device);
  smelt_tensor *t = smelt_from_host(ctx, SMELT_F32, DIMS(4), x);
  smelt_tensor *sum = smelt_sum(smelt_ref(t), NULL, 0, false, SMELT_F32), *y = smelt_exp(smelt_mul(t, 100));
  CHECK_STATUS(smelt_into_host(y, SMELT_F32, results, 4 * sizeof *results, NULL), SMELT_OK);
  CHECK_STATUS(smelt_into_host(sum, SMELT_F32, results + 4, sizeof *results, NULL), SMELT_OK);
  close_context(ctx);
}

/* Whatever floating-point environment the host has set: all traps, flushing of denormal numbers, or
 * rounding to zero. */
static inline void check_host_environments(const char *device) {
#if defined(__x86_64__)
  static const unsigned hosts[] = {0, 0x9fc0, 0x7f80};
  const unsigned usual = __builtin_ia32_stmxcsr();
  float expected[5], results[5];
  compute_in_host("ref", expected);
  for (size_t i = 0; i < sizeof hosts / sizeof *hosts; i++) {
    __builtin_ia32_ldmxcsr(hosts[i]);
    compute_in_host(device, results);
    const unsigned after = __builtin_ia32_stmxcsr() & ~0x3fu; /* without flags */
    __builtin_ia32_ldmxcsr(usual);
    CHECK_I64(after, hosts[i]);
    CHECK_I64(first_difference(SMELT_F32, results, expected, 5), -1);
  }
#else
  (void)device;
  TEST_SKIP("how a host sets its environment is written down for x86-64");
#endif
}

#endif
