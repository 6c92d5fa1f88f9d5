/* SPDX-License-Identifier: Apache-2.0
 *
 * The test harness. A test file is a program of its own: TEST functions, then
 * TEST_MAIN(CASE(a), CASE(b)). Every case runs in a child process, so that a
 * crash is one failure; a failed CHECK prints both values and ends the case.
 * The last line printed is "N passed, N failed" (", N skipped" if any).
 *
 * Arguments: --list, --no-fork (for debuggers), and names to run only those. A case that takes
 * longer than SMELT_TEST_SECONDS (120) has failed. */
#ifndef TESTS_HARNESS_H
#define TESTS_HARNESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "smelt/base.h"

typedef struct test_case {
  const char *name;
  void (*run)(void);
} test_case;

#define TEST(name) static void name(void)
#define CASE(name) \
  { #name, name }
#define TEST_MAIN(...)                                                   \
  int main(int argc, char **argv) {                                      \
    static const test_case cases[] = {__VA_ARGS__};                      \
    return test_main(argc, argv, cases, sizeof cases / sizeof cases[0]); \
  }

int test_main(int argc, char **argv, const test_case *cases, size_t n);

/* Ends the case as skipped; the reason is printed. */
#define TEST_SKIP(reason) test_skip(__FILE__, __LINE__, reason)

#define CHECK(condition) test_check(__FILE__, __LINE__, (condition), #condition)
#define CHECK_I64(actual, expected) \
  test_check_i64(__FILE__, __LINE__, #actual, (int64_t)(actual), (int64_t)(expected))
/* Equal bits, or both NaN; -0 and 0 differ. */
#define CHECK_F64(actual, expected) \
  test_check_f64(__FILE__, __LINE__, #actual, (double)(actual), (double)(expected))
#define CHECK_STR(actual, expected) test_check_str(__FILE__, __LINE__, #actual, (actual), (expected))
#define CHECK_CONTAINS(text, part) test_check_contains(__FILE__, __LINE__, #text, (text), (part))
#define CHECK_STATUS(actual, expected) test_check_status(__FILE__, __LINE__, #actual, (actual), (expected))
/* SMELT_OK, otherwise the text of `err` (a smelt_error) is printed. */
#define CHECK_OK(actual, err) test_check_ok(__FILE__, __LINE__, #actual, (actual), &(err))

_Noreturn void test_skip(const char *file, int line, const char *reason);
void test_check(const char *file, int line, bool ok, const char *what);
void test_check_i64(const char *file, int line, const char *what, int64_t actual, int64_t expected);
void test_check_f64(const char *file, int line, const char *what, double actual, double expected);
void test_check_str(const char *file, int line, const char *what, const char *actual, const char *expected);
void test_check_contains(const char *file, int line, const char *what, const char *text, const char *part);
void test_check_status(const char *file, int line, const char *what, smelt_status actual,
                       smelt_status expected);
void test_check_ok(const char *file, int line, const char *what, smelt_status actual, const smelt_error *err);

#endif
