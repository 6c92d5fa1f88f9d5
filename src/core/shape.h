/* SPDX-License-Identifier: Apache-2.0
 *
 * Shapes: rank and extents, broadcasting. Extents are never negative; the
 * number of bytes never exceeds SM_MAX_TENSOR_BYTES. Strides and merging of
 * axes live with launch planning. */
#ifndef SM_CORE_SHAPE_H
#define SM_CORE_SHAPE_H

#include "base/text.h"
#include "core/dtype.h"

typedef struct sm_shape {
  int rank;
  int64_t dims[SMELT_MAX_RANK]; /* anything from `rank` on */
} sm_shape;

/* Checks rank, extents and byte size. ERR_SHAPE, ERR_ARGUMENT (NULL dims). */
smelt_status sm_shape_make(sm_shape *out, smelt_dtype dtype, int rank, const int64_t *dims, smelt_error *err);
/* Number of elements. */
int64_t sm_shape_count(const sm_shape *s);
int64_t sm_shape_bytes(const sm_shape *s, smelt_dtype dtype);
bool sm_shape_equal(const sm_shape *a, const sm_shape *b);
/* Broadcasts `other` into `s` by the Array API's rule: aligned on the right,
 * each pair of extents equal or one of them 1 (a 1 against a 0 gives 0). False
 * if they do not fit; `s` is then unchanged. */
bool sm_shape_broadcast(sm_shape *s, const sm_shape *other);
/* "[2,3]". */
void sm_shape_print(sm_text *text, const sm_shape *s);
/* "f32[2,3]" into a small buffer for messages; cut if it does not fit. */
enum { SM_SHAPE_TEXT = 96 };
const char *sm_shape_text(char *buf, smelt_dtype dtype, const sm_shape *s);

#endif
