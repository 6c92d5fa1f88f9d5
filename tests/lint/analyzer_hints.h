/* SPDX-License-Identifier: Apache-2.0
 *
 * What clang's analyzer cannot see, because it reads one file at a time: these
 * functions return the error they are given, never SMELT_OK. Without this it
 * believes in paths where an output was not filled and yet the status is OK.
 * A check that fails ends the test. Included by analyze.sh before each file, except those that define them.
 */
#ifndef TESTS_LINT_ANALYZER_HINTS_H
#define TESTS_LINT_ANALYZER_HINTS_H

#include "base/error.h"
#include "expr_fault.h"
#include "harness.h"

#define sm_error_set(err, code, ...) ((void)(sm_error_set)((err), (code), __VA_ARGS__), (code))
#define sm_error_memory(err, what) ((void)(sm_error_memory)((err), (what)), SMELT_ERR_MEMORY)
#define expr_fault_set(fault, source, at, code, ...) \
  ((void)(expr_fault_set)((fault), (source), (at), (code), __VA_ARGS__), (code))

_Noreturn void analyzer_end_test(void);
#define test_check(file, line, ok, what) ((ok) ? (void)0 : analyzer_end_test())

#endif
