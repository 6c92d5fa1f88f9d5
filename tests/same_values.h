/* SPDX-License-Identifier: Apache-2.0
 *
 * When results are the same: their bits are, or both are NaN. Sign and payload of NaNs are
 * promised nowhere, and differ from one processor to another. */
#ifndef TESTS_SAME_VALUES_H
#define TESTS_SAME_VALUES_H

#include <math.h>
#include <string.h>

#include "core/scalar.h"

static inline bool same_element(smelt_dtype dtype, const void *a, const void *b) {
  if (memcmp(a, b, smelt_dtype_size(dtype)) == 0) return true;
  sm_scalar x = sm_scalar_of(dtype, a), y = sm_scalar_of(dtype, b);
  return x.kind == SM_KIND_FLOAT && isnan(x.as.f64) && isnan(y.as.f64);
}

/* The first of `n` elements that differs, -1 if none does. */
static inline int64_t first_difference(smelt_dtype dtype, const void *a, const void *b, int64_t n) {
  const unsigned char *x = a, *y = b;
  size_t size = smelt_dtype_size(dtype);
  for (int64_t i = 0; i < n; i++, x += size, y += size) {
    if (!same_element(dtype, x, y)) return i;
  }
  return -1;
}

#endif
