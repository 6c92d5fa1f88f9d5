/* SPDX-License-Identifier: Apache-2.0
 *
 * Whether a kernel's code was on disk, as observers are told. The file defines
 * _DEFAULT_SOURCE before. */
#ifndef TESTS_CODE_ON_DISK_H
#define TESTS_CODE_ON_DISK_H

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "api_fixture.h"

typedef struct kernel_count {
  int kernels, from_cache, interpreted;
} kernel_count;

static inline void count_kernel(void *user, const smelt_kernel_event *event) {
  kernel_count *count = user;
  count->kernels++;
  count->from_cache += event->from_cache;
  count->interpreted += event->interpreted;
}

/* exp(x + 1) of 0, 1/8, ... in a context of its own. */
static inline kernel_count compute_exp(const char *device, float y[8]) {
  float x[8];
  smelt_error err = {0};
  kernel_count count = {0, 0, 0};
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

static inline void use_cache_folder(char folder[]) {
  CHECK(mkdtemp(folder) != NULL);
  CHECK_I64(setenv("SMELT_CACHE", "1", 1), 0);
  CHECK_I64(setenv("SMELT_CACHE_DIR", folder, 1), 0);
}

static inline void remove_cache_folder(const char *folder) {
  char command[64];
  (void)snprintf(command, sizeof command, "rm -r %s", folder);
  CHECK_I64(system(command), 0);
}

/* The second context finds what the first has compiled, and says so. */
static inline void check_kept_on_disk(const char *device) {
  char folder[] = "/tmp/smelt-code-XXXXXX";
  float first[8], second[8];
  use_cache_folder(folder);
  kernel_count made = compute_exp(device, first), found = compute_exp(device, second);
  CHECK_I64(made.kernels, 1);
  CHECK_I64(made.from_cache, 0);
  CHECK_I64(found.kernels, 1);
  CHECK_I64(found.from_cache, 1);
  CHECK(memcmp(first, second, sizeof first) == 0);
  remove_cache_folder(folder);
}

#endif
