/* SPDX-License-Identifier: Apache-2.0 */
#include "core/shape.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "core/limits.h"

/* The product of the extents, taken over the nonzero ones so that an empty
 * tensor with huge other extents is refused too. */
static bool within_limit(const sm_shape *s, smelt_dtype dtype) {
  int64_t bytes = (int64_t)smelt_dtype_size(dtype);
  for (int i = 0; i < s->rank; i++) {
    int64_t dim = s->dims[i] ? s->dims[i] : 1;
    if (__builtin_mul_overflow(bytes, dim, &bytes) || bytes > SM_MAX_TENSOR_BYTES) return false;
  }
  return true;
}

smelt_status sm_shape_make(sm_shape *out, smelt_dtype dtype, int rank, const int64_t *dims,
                           smelt_error *err) {
  if (!sm_dtype_valid(dtype)) {
    return sm_error_set(err, SMELT_ERR_DTYPE, "%d is not a dtype", (int)dtype);
  }
  if (rank < 0 || rank > SMELT_MAX_RANK) {
    return sm_error_set(err, SMELT_ERR_SHAPE, "rank %d is not between 0 and %d", rank, SMELT_MAX_RANK);
  }
  if (rank > 0 && !dims) return sm_error_set(err, SMELT_ERR_ARGUMENT, "dims is NULL");
  out->rank = rank;
  for (int i = 0; i < rank; i++) {
    if (dims[i] < 0) {
      return sm_error_set(err, SMELT_ERR_SHAPE, "extent %" PRId64 " of axis %d is negative", dims[i], i);
    }
    out->dims[i] = dims[i];
  }
  if (!within_limit(out, dtype)) {
    char text[SM_SHAPE_TEXT];
    return sm_error_set(err, SMELT_ERR_SHAPE, "%s is too large", sm_shape_text(text, dtype, out));
  }
  return SMELT_OK;
}

int64_t sm_shape_count(const sm_shape *s) {
  int64_t n = 1;
  for (int i = 0; i < s->rank; i++) n *= s->dims[i];
  return n;
}

int64_t sm_shape_bytes(const sm_shape *s, smelt_dtype dtype) {
  return sm_shape_count(s) * (int64_t)smelt_dtype_size(dtype);
}

bool sm_shape_equal(const sm_shape *a, const sm_shape *b) {
  return a->rank == b->rank && memcmp(a->dims, b->dims, (size_t)a->rank * sizeof a->dims[0]) == 0;
}

bool sm_shape_broadcast(sm_shape *s, const sm_shape *other) {
  const sm_shape *longer = s->rank >= other->rank ? s : other;
  const sm_shape *shorter = longer == s ? other : s;
  sm_shape out = *longer;
  int shift = longer->rank - shorter->rank;
  for (int i = 0; i < shorter->rank; i++) {
    int64_t *dim = &out.dims[i + shift];
    if (*dim == shorter->dims[i]) continue;
    if (*dim == 1) *dim = shorter->dims[i];
    else if (shorter->dims[i] != 1) return false;
  }
  *s = out;
  return true;
}

void sm_shape_print(sm_text *text, const sm_shape *s) {
  sm_text_add(text, "[");
  for (int i = 0; i < s->rank; i++) sm_text_addf(text, "%s%" PRId64, i ? "," : "", s->dims[i]);
  sm_text_add(text, "]");
}

const char *sm_shape_text(char *buf, smelt_dtype dtype, const sm_shape *s) {
  int n = snprintf(buf, SM_SHAPE_TEXT, "%s[", smelt_dtype_name(dtype));
  for (int i = 0; i < s->rank && n < SM_SHAPE_TEXT; i++) {
    n += snprintf(buf + n, (size_t)(SM_SHAPE_TEXT - n), "%s%" PRId64, i ? "," : "", s->dims[i]);
  }
  if (n < SM_SHAPE_TEXT) (void)snprintf(buf + n, (size_t)(SM_SHAPE_TEXT - n), "]");
  return buf;
}
