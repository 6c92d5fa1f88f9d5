/* SPDX-License-Identifier: Apache-2.0
 *
 * Environment variables count when a context is created, and never later: another thread
 * may change them then. */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "api_fixture.h"

static void set(const char *name, const char *value) {
  CHECK_I64(value ? setenv(name, value, 1) : unsetenv(name), 0);
}

/* --- libLLVM ---------------------------------------------------------------------------- */

static void note_kernel(void *user, const smelt_kernel_event *event) { *(bool *)user = event->interpreted; }

/* Whether a kernel was interpreted of a context that is created with one value of the
 * variable and computes with the other. */
static bool is_interpreted(const char *at_creation, const char *later) {
  bool interpreted = false;
  smelt_observer observer = SMELT_OBSERVER_INIT;
  observer.user = &interpreted;
  observer.kernel = note_kernel;
  set("SMELT_CACHE", "0");
  set("SMELT_LLVM", at_creation);
  smelt_context *ctx = open_with_observer("cpu", &observer);
  set("SMELT_LLVM", later);
  CHECK_F64(value_of(smelt_add(number(ctx, 1), 2)), 3);
  close_context(ctx);
  return interpreted;
}

TEST(the_compiler) {
  CHECK(is_interpreted("0", NULL));
  if (is_interpreted(NULL, NULL)) TEST_SKIP("there is no libLLVM");
  CHECK(!is_interpreted(NULL, "0"));
}

/* --- The profiler ------------------------------------------------------------------------- */

/* Whether the map is written, likewise; it is removed. */
static bool is_profiled(const char *at_creation, const char *later) {
  char path[64];
  (void)snprintf(path, sizeof path, "/tmp/perf-%ld.map", (long)getpid());
  set("SMELT_PERF", at_creation);
  smelt_context *ctx = open_device("cpu");
  set("SMELT_PERF", later);
  CHECK_F64(value_of(smelt_add(number(ctx, 1), 2)), 3);
  close_context(ctx);
  return unlink(path) == 0;
}

TEST(the_profiler) {
  CHECK(!is_profiled(NULL, "map"));
  if (!is_profiled("map", "map")) TEST_SKIP("kernels are interpreted");
  CHECK(is_profiled("map", NULL));
}

TEST_MAIN(CASE(the_compiler), CASE(the_profiler))
