/* SPDX-License-Identifier: Apache-2.0
 *
 * Libraries for tests whose calls fail when asked: FAILING_CALL=NAME=CODE has every call of
 * the function NAME answer CODE, FAILING_CALL=NAME=CODE,TIMES so many of them. */
#ifndef TESTS_FAILING_CALLS_H
#define TESTS_FAILING_CALLS_H

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

/* What a call has to answer, or 0: it is to do its work. */
static inline int failing_call(const char *name) {
  static atomic_int failures;
  const char *asked = getenv("FAILING_CALL");
  size_t n = strlen(name);
  char *end;
  if (!asked || strncmp(asked, name, n) != 0 || asked[n] != '=') return 0;
  int code = (int)strtol(asked + n + 1, &end, 10);
  if (*end == ',' && atomic_fetch_add(&failures, 1) >= strtol(end + 1, NULL, 10)) return 0;
  return code;
}

#endif
