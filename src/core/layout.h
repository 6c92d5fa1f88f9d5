/* SPDX-License-Identifier: Apache-2.0
 *
 * Layouts: where in memory the elements of a shape are.
 *
 * Vocabulary. A *layout* is a shape with an offset and a stride for each axis,
 * in elements: the element at coordinates c is at offset + sum of c[axis] *
 * strides[axis]. A stride of 0 is a broadcast, a negative one walks backwards. A
 * layout is *dense* if its elements lie one after another in row-major order,
 * wherever they begin. A *view* of a layout has the same memory: permuted,
 * flipped, sliced and broadcast layouts always have one, a reshaped one if strides
 * can express it.
 *
 * Invariants. Layouts are canonical, so that layouts of equal meaning are equal:
 * the stride of an axis of extent 1 is 0; a layout without elements has no offset
 * and no strides. Axes, ranges and shapes are what the functions are promised:
 * they check nothing (ir/infer.h has). `out` may be `in`.
 *
 * Strides in launch plans are of merged axes (launch/launch_plan.h). */
#ifndef SM_CORE_LAYOUT_H
#define SM_CORE_LAYOUT_H

#include "core/shape.h"

typedef struct sm_layout {
  sm_shape shape;
  int64_t offset;
  int64_t strides[SMELT_MAX_RANK];
} sm_layout;

/* Row-major, from offset 0. */
void sm_layout_dense(const sm_shape *shape, sm_layout *out);
bool sm_layout_is_dense(const sm_layout *l);
bool sm_layout_equal(const sm_layout *a, const sm_layout *b);
/* The places that its elements are between: begin <= place < end; 0 and 0 if there
 * are none. */
void sm_layout_bounds(const sm_layout *l, int64_t *begin, int64_t *end);

/* --- Views -------------------------------------------------------------------- */

/* Axis i of the result is axis axes[i]. */
void sm_layout_permute(const sm_layout *in, const int *axes, sm_layout *out);
void sm_layout_flip(const sm_layout *in, const int *axes, int n, sm_layout *out);
/* A range for each axis, in canonical form (ir/op.h); `shape` is that of the result. */
void sm_layout_slice(const sm_layout *in, const smelt_range *ranges, const sm_shape *shape, sm_layout *out);
/* `shape` is one that the layout's shape broadcasts to. */
void sm_layout_broadcast(const sm_layout *in, const sm_shape *shape, sm_layout *out);
/* `shape` has as many elements. False if strides cannot express it: the elements
 * then have to be copied. `out` is untouched. */
bool sm_layout_reshape(const sm_layout *in, const sm_shape *shape, sm_layout *out);

/* --- Copying -------------------------------------------------------------------- */

/* Copies the elements, each of `size` bytes (1, 2, 4 or 8), to `to` in row-major order.
 * `from` is the memory that the layout is about: its place 0. */
void sm_layout_gather(const sm_layout *l, size_t size, const void *from, void *to);

#endif
