/* SPDX-License-Identifier: Apache-2.0 */
#include "ir/view.h"

bool sm_op_is_view(const sm_op *op) { return op->row->class == SM_CLASS_VIEW; }

static void swap_axes(const sm_layout *in, const int *pair, sm_layout *out) {
  int axes[SMELT_MAX_RANK];
  for (int axis = 0; axis < in->shape.rank; axis++) axes[axis] = axis;
  axes[pair[0]] = pair[1];
  axes[pair[1]] = pair[0];
  sm_layout_permute(in, axes, out);
}

bool sm_view_layout(const sm_op *op, const sm_layout *operand, const sm_shape *result, sm_layout *out) {
  switch (op->row->shape) {
    case SM_SHAPE_PERMUTE:
      sm_layout_permute(operand, op->attrs->axes, out);
      return true;
    case SM_SHAPE_SWAP:
      swap_axes(operand, op->attrs->axes, out);
      return true;
    case SM_SHAPE_FLIP:
      sm_layout_flip(operand, op->attrs->axes, op->attrs->n, out);
      return true;
    case SM_SHAPE_SLICE:
      sm_layout_slice(operand, op->attrs->ranges, result, out);
      return true;
    case SM_SHAPE_BROADCAST_TO:
      sm_layout_broadcast(operand, result, out);
      return true;
    default: /* reshape, squeeze, expand_dims */
      return sm_layout_reshape(operand, result, out);
  }
}
