/* SPDX-License-Identifier: Apache-2.0
 *
 * What tests of devices with memory of their own share. The file defines _DEFAULT_SOURCE before. */
#ifndef TESTS_DEVICE_FIXTURE_H
#define TESTS_DEVICE_FIXTURE_H

#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "api_fixture.h"

/* --- Forks ---------------------------------------------------------------------------------- */

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

/* --- Code on disk ------------------------------------------------------------------------- */

typedef struct kernel_count {
  int kernels, from_cache;
} kernel_count;

static inline void count_kernel(void *user, const smelt_kernel_event *event) {
  kernel_count *count = user;
  count->kernels++;
  count->from_cache += event->from_cache;
}

/* exp(x + 1) of 0, 1/8, ... in a context of its own. */
static inline kernel_count compute_exp(const char *device, float y[8]) {
  float x[8];
  smelt_error err = {0};
  kernel_count count = {0, 0};
  smelt_observer observer = SMELT_OBSERVER_INIT;
  observer.user = &count;
  observer.kernel = count_kernel;
  smelt_context *ctx = open_with_observer(device, &observer);
  for (int i = 0; i < 8; i++) x[i] = (float)i / 8;
  smelt_tensor *t = smelt_exp(smelt_add(smelt_from_host(ctx, SMELT_F32, DIMS(8), x), 1));
  CHECK_OK(smelt_into_host(t, SMELT_F32, y, 8 * sizeof *y, &err), err);
  close_context(ctx);
  return count;
}

/* The second context finds what the first has compiled, and says so. */
static inline void check_kept_on_disk(const char *device) {
  char folder[] = "/tmp/smelt-device-XXXXXX", command[64];
  float first[8], second[8];
  CHECK(mkdtemp(folder) != NULL);
  CHECK_I64(setenv("SMELT_CACHE", "1", 1), 0);
  CHECK_I64(setenv("SMELT_CACHE_DIR", folder, 1), 0);
  kernel_count made = compute_exp(device, first), found = compute_exp(device, second);
  CHECK_I64(made.kernels, 1);
  CHECK_I64(made.from_cache, 0);
  CHECK_I64(found.kernels, 1);
  CHECK_I64(found.from_cache, 1);
  CHECK(memcmp(first, second, sizeof first) == 0);
  (void)snprintf(command, sizeof command, "rm -r %s", folder);
  CHECK_I64(system(command), 0);
}

#endif
