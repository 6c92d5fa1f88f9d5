/* SPDX-License-Identifier: Apache-2.0
 *
 * Reductions and composites of them: which axes, and what is left of the shape. */
#include <inttypes.h>
#include <math.h>

#include "base/error.h"
#include "ir/infer_call.h"

static smelt_status infer_axes(const sm_call *c, int rank, sm_attrs *out, smelt_error *err) {
  if (c->attrs->axes) {
    SM_TRY(sm_call_axes(c, rank, out, err));
    sm_attrs_sort_axes(out);
    return SMELT_OK;
  }
  if (strchr(c->row->attrs, 'x')) return sm_call_fail(c, err, SMELT_ERR_ARGUMENT, "an axis has to be given");
  for (int axis = 0; axis < rank; axis++) out->axes[out->n++] = axis;
  return SMELT_OK;
}

/* What needs an element is refused even if the result has none either. */
static smelt_status check_elements(const sm_call *c, const sm_shape *in, const sm_attrs *attrs,
                                   smelt_error *err) {
  if (!sm_reduction_needs_elements(c->row->reduction)) return SMELT_OK;
  for (int i = 0; i < attrs->n; i++) {
    if (in->dims[attrs->axes[i]] > 0) continue;
    return sm_call_fail(c, err, SMELT_ERR_SHAPE, "axis %d is empty, so that there is no element",
                        attrs->axes[i]);
  }
  return SMELT_OK;
}

static smelt_status check_number(const sm_call *c, smelt_error *err) {
  char letter = sm_op_number_letter(c->row);
  if (!letter || !isnan(c->attrs->number)) return SMELT_OK;
  return sm_call_fail(c, err, SMELT_ERR_ARGUMENT, "%s is NaN", sm_attr_row_of(letter)->keyword);
}

static smelt_status check_groups(const sm_call *c, const sm_shape *in, smelt_error *err) {
  int64_t groups = c->attrs->groups;
  if (in->rank < 2) return sm_call_fail(c, err, SMELT_ERR_SHAPE, "there is no axis 1");
  if (groups > 0 && in->dims[1] % groups == 0) return SMELT_OK;
  return sm_call_fail(c, err, SMELT_ERR_SHAPE, "axis 1 cannot be cut into %" PRId64 " groups", groups);
}

static smelt_status check_labels(const sm_call *c, const sm_shape *left, smelt_error *err) {
  if (sm_shape_equal(c->operands[1].shape, left)) return SMELT_OK;
  return sm_call_fail(c, err, SMELT_ERR_SHAPE, "there has to be a label for each row");
}

static void reduced_shape(const sm_shape *in, const sm_attrs *attrs, sm_shape *out) {
  for (int axis = 0, next = 0; axis < in->rank; axis++) {
    bool reduced = next < attrs->n && attrs->axes[next] == axis;
    next += reduced;
    if (!reduced || attrs->keepdims) out->dims[out->rank++] = reduced ? 1 : in->dims[axis];
  }
}

smelt_status sm_infer_reduced(const sm_call *c, sm_inferred *out, smelt_error *err) {
  const sm_shape *in = c->operands[0].shape;
  SM_TRY(check_number(c, err));
  out->shape = *in;
  if (c->row->shape == SM_SHAPE_GROUPS) return check_groups(c, in, err);
  SM_TRY(infer_axes(c, in->rank, &out->attrs, err));
  SM_TRY(check_elements(c, in, &out->attrs, err));
  if (c->row->shape == SM_SHAPE_ALONG) return SMELT_OK;
  out->attrs.keepdims = c->attrs->keepdims;
  sm_shape left = {.rank = 0};
  reduced_shape(in, &out->attrs, &left);
  if (c->row->shape == SM_SHAPE_LABELS) SM_TRY(check_labels(c, &left, err));
  return sm_call_shape(c, left.rank, left.dims, out, err);
}
