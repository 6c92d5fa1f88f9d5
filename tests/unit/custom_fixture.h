/* SPDX-License-Identifier: Apache-2.0
 *
 * Functions of opaque operations (smelt/custom.h) that several tests register. */
#ifndef TESTS_CUSTOM_FIXTURE_H
#define TESTS_CUSTOM_FIXTURE_H

#include "smelt/smelt.h"

/* A shape rule: the result is like the first operand. */
static inline smelt_status like_first(void *user, const smelt_array *x, size_t n, smelt_array *result,
                                      smelt_error *err) {
  (void)user, (void)n, (void)err;
  *result = x[0];
  return SMELT_OK;
}

/* A kernel that fails and does not say why. */
static inline smelt_status fail_to_launch(void *user, const smelt_array *x, size_t n, smelt_array *result,
                                          smelt_error *err) {
  (void)user, (void)x, (void)n, (void)result, (void)err;
  return SMELT_ERR_LAUNCH;
}

#endif
