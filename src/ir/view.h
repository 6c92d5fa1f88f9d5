/* SPDX-License-Identifier: Apache-2.0
 *
 * Views as layouts: what a record of SM_CLASS_VIEW does to the layout of its
 * operand. Starting from a dense layout of the operand's shape, the result is the
 * affine map by which a kernel can read the operand in place of the view. */
#ifndef SM_IR_VIEW_H
#define SM_IR_VIEW_H

#include "core/layout.h"
#include "ir/op.h"

/* Whether the record moves its operand's elements to places that its attributes say. */
bool sm_op_is_view(const sm_op *op);
/* The layout of the view's result, which has this shape, in the memory of the operand.
 * False if strides cannot express it (a reshape of what is not dense). */
bool sm_view_layout(const sm_op *op, const sm_layout *operand, const sm_shape *result, sm_layout *out);

#endif
