/* SPDX-License-Identifier: Apache-2.0
 *
 * The harness that unit tests are linked with for the allocation-failure loop.
 * A CHECK that fails ends the round and nothing more, since with too little
 * memory the library may answer otherwise; crashes, hangs and what sanitizers
 * find are failures. Arguments after the options name the cases. */
#include "harness.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "fault_loop.h"

static void end_unless(bool ok) {
  if (!ok) fault_end_round();
}

_Noreturn void test_skip(const char *file, int line, const char *reason) {
  (void)file, (void)line, (void)reason;
  fault_end_round();
}

void test_check(const char *file, int line, bool ok, const char *what) {
  (void)file, (void)line, (void)what;
  end_unless(ok);
}

void test_check_i64(const char *file, int line, const char *what, int64_t actual, int64_t expected) {
  test_check(file, line, actual == expected, what);
}

void test_check_f64(const char *file, int line, const char *what, double actual, double expected) {
  bool same = actual == expected && signbit(actual) == signbit(expected);
  test_check(file, line, same || (isnan(actual) && isnan(expected)), what);
}

void test_check_str(const char *file, int line, const char *what, const char *actual, const char *expected) {
  test_check(file, line, actual && expected ? strcmp(actual, expected) == 0 : actual == expected, what);
}

void test_check_contains(const char *file, int line, const char *what, const char *text, const char *part) {
  test_check(file, line, text && part && strstr(text, part), what);
}

void test_check_status(const char *file, int line, const char *what, smelt_status actual,
                       smelt_status expected) {
  test_check(file, line, actual == expected, what);
}

void test_check_ok(const char *file, int line, const char *what, smelt_status actual,
                   const smelt_error *err) {
  (void)err;
  test_check(file, line, actual == SMELT_OK, what);
}

/* What a test prints is of no interest here. */
static void run_case(void *user) {
  const test_case *test = user;
  if (freopen("/dev/null", "w", stdout)) test->run();
}

static bool is_named(const char *name, int count, char **names) {
  for (int i = 0; i < count; i++) {
    if (strcmp(names[i], name) == 0) return true;
  }
  return count == 0;
}

int test_main(int argc, char **argv, const test_case *cases, size_t n) {
  fault_totals totals = {.all = false};
  int first = fault_options(&totals, argc, argv);
  for (size_t i = 0; i < n; i++) {
    test_case test = cases[i];
    if (is_named(test.name, argc - first, argv + first)) fault_loop(&totals, test.name, run_case, &test);
  }
  return fault_report(&totals, "cases");
}
