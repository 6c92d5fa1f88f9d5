/* SPDX-License-Identifier: Apache-2.0
 *
 * Views and selections: operations that move elements and compute nothing. */
#include <inttypes.h>

#include "base/error.h"
#include "ir/infer_call.h"

static const sm_shape *shape_of(const sm_call *c, int i) { return c->operands[i].shape; }

/* --- Axes --------------------------------------------------------------------------- */

/* Exactly `n` axes of `rank`, none left out. */
static smelt_status require_axes(const sm_call *c, int n, int rank, sm_attrs *out, smelt_error *err) {
  if (!c->attrs->axes || c->attrs->n_axes != (size_t)n) {
    return sm_call_fail(c, err, SMELT_ERR_ARGUMENT, "%d %s to be given", n,
                        n == 1 ? "axis has" : "axes have");
  }
  return sm_call_axes(c, rank, out, err);
}

static bool has_axis(const sm_attrs *a, int axis) {
  for (int i = 0; i < a->n; i++) {
    if (a->axes[i] == axis) return true;
  }
  return false;
}

/* --- The same elements in the same order ---------------------------------------------- */

/* Fills in the extent that is -1. */
static smelt_status fill_open_extent(const sm_call *c, int64_t *open, sm_inferred *out, smelt_error *err) {
  int64_t count = sm_shape_count(shape_of(c, 0)), others = sm_shape_count(&out->shape);
  if (others == 0 || count % others) {
    return sm_call_fail(c, err, SMELT_ERR_SHAPE, "no extent in place of -1 gives %" PRId64 " elements",
                        count);
  }
  *open = count / others;
  return SMELT_OK;
}

static smelt_status reshape(const sm_call *c, sm_inferred *out, smelt_error *err) {
  int64_t dims[SMELT_MAX_RANK] = {0}, *open = NULL;
  int rank = c->attrs->rank;
  bool sound = rank >= 0 && rank <= SMELT_MAX_RANK && c->attrs->dims;
  for (int axis = 0; sound && axis < rank; axis++) {
    dims[axis] = c->attrs->dims[axis];
    if (dims[axis] != -1) continue;
    if (open) return sm_call_fail(c, err, SMELT_ERR_SHAPE, "more than one extent is -1");
    open = &dims[axis];
    *open = 1;
  }
  SM_TRY(sm_call_shape(c, rank, sound ? dims : c->attrs->dims, out, err));
  if (open) {
    SM_TRY(fill_open_extent(c, open, out, err));
    SM_TRY(sm_call_shape(c, rank, dims, out, err));
  }
  if (sm_shape_count(&out->shape) == sm_shape_count(shape_of(c, 0))) return SMELT_OK;
  char text[SM_SHAPE_TEXT];
  return sm_call_fail(c, err, SMELT_ERR_SHAPE, "%s has another number of elements",
                      sm_shape_text(text, out->dtype, &out->shape));
}

static void all_of_extent_one(const sm_shape *s, sm_attrs *out) {
  out->n = 0;
  for (int axis = 0; axis < s->rank; axis++) {
    if (s->dims[axis] == 1) out->axes[out->n++] = axis;
  }
}

static smelt_status squeeze(const sm_call *c, sm_inferred *out, smelt_error *err) {
  const sm_shape *in = shape_of(c, 0);
  if (c->attrs->axes) SM_TRY(sm_call_axes(c, in->rank, &out->attrs, err));
  else all_of_extent_one(in, &out->attrs);
  sm_attrs_sort_axes(&out->attrs);
  for (int i = 0; i < out->attrs.n; i++) {
    int axis = out->attrs.axes[i];
    if (in->dims[axis] == 1) continue;
    return sm_call_fail(c, err, SMELT_ERR_SHAPE, "axis %d has extent %" PRId64 ", not 1", axis,
                        in->dims[axis]);
  }
  for (int axis = 0; axis < in->rank; axis++) {
    if (!has_axis(&out->attrs, axis)) out->shape.dims[out->shape.rank++] = in->dims[axis];
  }
  return SMELT_OK;
}

static smelt_status expand(const sm_call *c, sm_inferred *out, smelt_error *err) {
  const sm_shape *in = shape_of(c, 0);
  int64_t dims[SMELT_MAX_RANK + 1];
  SM_TRY(require_axes(c, 1, in->rank + 1, &out->attrs, err));
  for (int axis = 0, from = 0; axis <= in->rank; axis++) {
    dims[axis] = axis == out->attrs.axes[0] ? 1 : in->dims[from++];
  }
  return sm_call_shape(c, in->rank + 1, dims, out, err);
}

/* --- Other orders ------------------------------------------------------------------------ */

static smelt_status permute(const sm_call *c, sm_inferred *out, smelt_error *err) {
  const sm_shape *in = shape_of(c, 0);
  if (c->attrs->axes) {
    SM_TRY(require_axes(c, in->rank, in->rank, &out->attrs, err));
  } else {
    for (int axis = in->rank; axis-- > 0;) out->attrs.axes[out->attrs.n++] = axis;
  }
  out->shape.rank = in->rank;
  for (int axis = 0; axis < in->rank; axis++) out->shape.dims[axis] = in->dims[out->attrs.axes[axis]];
  return SMELT_OK;
}

/* An axis may be exchanged with itself. */
static smelt_status swap(const sm_call *c, sm_inferred *out, smelt_error *err) {
  const sm_shape *in = shape_of(c, 0);
  int *axes = out->attrs.axes;
  if (!c->attrs->axes || c->attrs->n_axes != 2) {
    return sm_call_fail(c, err, SMELT_ERR_ARGUMENT, "2 axes have to be given");
  }
  SM_TRY(sm_call_axis(c, c->attrs->axes[0], in->rank, &axes[0], err));
  SM_TRY(sm_call_axis(c, c->attrs->axes[1], in->rank, &axes[1], err));
  out->attrs.n = 2;
  if (axes[0] > axes[1]) {
    int larger = axes[0];
    axes[0] = axes[1];
    axes[1] = larger;
  }
  out->shape = *in;
  out->shape.dims[axes[0]] = in->dims[axes[1]];
  out->shape.dims[axes[1]] = in->dims[axes[0]];
  return SMELT_OK;
}

static smelt_status flip(const sm_call *c, sm_inferred *out, smelt_error *err) {
  const sm_shape *in = shape_of(c, 0);
  if (c->attrs->axes) {
    SM_TRY(sm_call_axes(c, in->rank, &out->attrs, err));
    sm_attrs_sort_axes(&out->attrs);
  } else {
    for (int axis = 0; axis < in->rank; axis++) out->attrs.axes[out->attrs.n++] = axis;
  }
  out->shape = *in;
  return SMELT_OK;
}

/* --- Ranges ---------------------------------------------------------------------------------- */

/* A start or a stop on an axis, between `low` and `high`. */
static int64_t resolve_place(int64_t place, int64_t extent, int64_t low, int64_t high) {
  if (place < 0) place += extent;
  return place < low ? low : place > high ? high : place;
}

/* The range in canonical form; answers how many places it has. */
static int64_t resolve_range(smelt_range given, int64_t extent, smelt_range *out) {
  int64_t step = given.step == SMELT_ABSENT ? 1 : given.step;
  int64_t low = step > 0 ? 0 : -1, high = step > 0 ? extent : extent - 1;
  int64_t first = step > 0 ? low : high, beyond = step > 0 ? high : low;
  int64_t start = given.start == SMELT_ABSENT ? first : resolve_place(given.start, extent, low, high);
  int64_t stop = given.stop == SMELT_ABSENT ? beyond : resolve_place(given.stop, extent, low, high);
  int64_t span = step > 0 ? stop - start : start - stop;
  int64_t n = span > 0 ? (span - 1) / (step > 0 ? step : -step) + 1 : 0;
  if (n == 0) start = 0, stop = 0;
  else stop = n == 1 || step > 0 ? start + (n - 1) * step + 1 : start + (n - 1) * step - 1;
  *out = (smelt_range){start, stop < 0 ? SMELT_ABSENT : stop, n > 1 ? step : 1};
  return n;
}

static smelt_status slice(const sm_call *c, sm_inferred *out, smelt_error *err) {
  static const smelt_range whole = {SMELT_ABSENT, SMELT_ABSENT, SMELT_ABSENT};
  const sm_shape *in = shape_of(c, 0);
  size_t n = c->attrs->n_ranges;
  if (n && !c->attrs->ranges) return sm_call_fail(c, err, SMELT_ERR_ARGUMENT, "ranges is NULL");
  if (n > (size_t)in->rank) {
    return sm_call_fail(c, err, SMELT_ERR_ARGUMENT, "%zu ranges for %d axes", n, in->rank);
  }
  out->shape.rank = out->attrs.n = in->rank;
  for (int axis = 0; axis < in->rank; axis++) {
    smelt_range given = (size_t)axis < n ? c->attrs->ranges[axis] : whole;
    if (given.step == 0) return sm_call_fail(c, err, SMELT_ERR_ARGUMENT, "the step of axis %d is zero", axis);
    out->shape.dims[axis] = resolve_range(given, in->dims[axis], &out->attrs.ranges[axis]);
  }
  return SMELT_OK;
}

static smelt_status broadcast_to(const sm_call *c, sm_inferred *out, smelt_error *err) {
  SM_TRY(sm_call_shape(c, c->attrs->rank, c->attrs->dims, out, err));
  sm_shape joint = out->shape;
  if (sm_shape_broadcast(&joint, shape_of(c, 0)) && sm_shape_equal(&joint, &out->shape)) return SMELT_OK;
  char text[SM_SHAPE_TEXT];
  return sm_call_fail(c, err, SMELT_ERR_SHAPE, "does not broadcast to %s",
                      sm_shape_text(text, out->dtype, &out->shape));
}

/* --- Selections --------------------------------------------------------------------------------- */

/* Indices are cut to the axis, so there has to be a place. */
static smelt_status check_axis_of_indices(const sm_call *c, int axis, smelt_error *err) {
  if (shape_of(c, 0)->dims[axis] > 0 || sm_shape_count(shape_of(c, 1)) == 0) return SMELT_OK;
  return sm_call_fail(c, err, SMELT_ERR_SHAPE, "axis %d is empty, so that no index fits", axis);
}

static smelt_status take(const sm_call *c, sm_inferred *out, smelt_error *err) {
  const sm_shape *in = shape_of(c, 0), *indices = shape_of(c, 1);
  int64_t dims[2 * SMELT_MAX_RANK];
  int rank = 0;
  SM_TRY(require_axes(c, 1, in->rank, &out->attrs, err));
  int at = out->attrs.axes[0];
  SM_TRY(check_axis_of_indices(c, at, err));
  for (int axis = 0; axis < at; axis++) dims[rank++] = in->dims[axis];
  for (int axis = 0; axis < indices->rank; axis++) dims[rank++] = indices->dims[axis];
  for (int axis = at + 1; axis < in->rank; axis++) dims[rank++] = in->dims[axis];
  return sm_call_shape(c, rank, dims, out, err);
}

static smelt_status take_along(const sm_call *c, sm_inferred *out, smelt_error *err) {
  sm_shape in = *shape_of(c, 0);
  const sm_shape *indices = shape_of(c, 1);
  SM_TRY(require_axes(c, 1, in.rank, &out->attrs, err));
  int axis = out->attrs.axes[0];
  if (indices->rank != in.rank) {
    return sm_call_fail(c, err, SMELT_ERR_SHAPE, "the indices have %d axes, not %d", indices->rank, in.rank);
  }
  SM_TRY(check_axis_of_indices(c, axis, err));
  in.dims[axis] = indices->dims[axis];
  if (!sm_shape_broadcast(&in, indices)) {
    return sm_call_fail(c, err, SMELT_ERR_SHAPE, "apart from axis %d the shapes do not broadcast", axis);
  }
  return sm_call_shape(c, in.rank, in.dims, out, err);
}

static bool joins(const sm_shape *a, const sm_shape *b, int along) {
  bool same = a->rank == b->rank;
  for (int axis = 0; same && axis < a->rank; axis++) same = axis == along || a->dims[axis] == b->dims[axis];
  return same;
}

static smelt_status concat(const sm_call *c, sm_inferred *out, smelt_error *err) {
  sm_shape joint = *shape_of(c, 0);
  SM_TRY(require_axes(c, 1, joint.rank, &out->attrs, err));
  int axis = out->attrs.axes[0];
  for (int i = 1; i < c->n; i++) {
    if (!joins(&joint, shape_of(c, i), axis)) {
      return sm_call_fail(c, err, SMELT_ERR_SHAPE, "the shapes differ in more than axis %d", axis);
    }
    joint.dims[axis] += shape_of(c, i)->dims[axis];
  }
  return sm_call_shape(c, joint.rank, joint.dims, out, err);
}

smelt_status sm_infer_moved(const sm_call *c, sm_inferred *out, smelt_error *err) {
  static smelt_status (*const rules[])(const sm_call *c, sm_inferred *out, smelt_error *err) = {
      [SM_SHAPE_RESHAPE] = reshape, [SM_SHAPE_SQUEEZE] = squeeze,
      [SM_SHAPE_EXPAND] = expand,   [SM_SHAPE_PERMUTE] = permute,
      [SM_SHAPE_SWAP] = swap,       [SM_SHAPE_FLIP] = flip,
      [SM_SHAPE_SLICE] = slice,     [SM_SHAPE_BROADCAST_TO] = broadcast_to,
      [SM_SHAPE_TAKE] = take,       [SM_SHAPE_TAKE_ALONG] = take_along,
      [SM_SHAPE_CONCAT] = concat,
  };
  return rules[c->row->shape](c, out, err);
}
