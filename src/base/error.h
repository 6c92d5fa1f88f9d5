/* SPDX-License-Identifier: Apache-2.0
 *
 * Filling and passing on smelt_error.
 *
 * A fallible function returns smelt_status and takes a smelt_error * that may be
 * NULL. It is filled once, where the fault is found; callers only pass it on. */
#ifndef SM_BASE_ERROR_H
#define SM_BASE_ERROR_H

#include <stdarg.h>

#include "smelt/base.h"

/* Fills `err` (if there is one) and returns `code`. */
__attribute__((format(printf, 3, 4))) smelt_status sm_error_set(smelt_error *err, smelt_status code,
                                                                const char *format, ...);

/* The error every failed allocation reports: "out of memory: WHAT". */
smelt_status sm_error_memory(smelt_error *err, const char *what);

/* Returns from the calling function on failure. */
#define SM_TRY(expression)                                 \
  do {                                                     \
    smelt_status sm_try_status_ = (expression);            \
    if (sm_try_status_ != SMELT_OK) return sm_try_status_; \
  } while (0)

#endif
