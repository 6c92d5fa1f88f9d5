/* SPDX-License-Identifier: Apache-2.0 */
#include "ir/infer.h"

#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/float_env.h"
#include "ir/infer_call.h"

/* --- Dtypes --------------------------------------------------------------------- */

static bool accepts(uint8_t kinds, smelt_dtype dtype) {
  static const uint8_t bit[] = {[SM_KIND_NONE] = 0,
                                [SM_KIND_BOOL] = SM_BOOLEAN,
                                [SM_KIND_SINT] = SM_INTEGER,
                                [SM_KIND_UINT] = SM_INTEGER,
                                [SM_KIND_FLOAT] = SM_FLOAT};
  return (kinds & bit[sm_kind_of(dtype)]) != 0;
}

/* The mask of where, indices and operands that are taken as they are stand outside
 * promotion. */
static bool is_mask(const sm_call *c, int i) { return sm_op_letter(c->row, i) == 'B'; }
static bool is_index(const sm_call *c, int i) { return sm_op_letter(c->row, i) == 'I'; }
static bool is_as_it_is(const sm_call *c, int i) { return sm_op_letter(c->row, i) == 'X'; }

/* The stop of arange bounds the elements and is none of them: 256 is right for u8. */
static bool is_bound(const sm_call *c, int i) { return c->row->shape == SM_SHAPE_ARANGE && i == 1; }

/* What two weak scalars meet in: bool only with bool, float above integers, u64
 * above i64. SMELT_DTYPE_NONE if they do not. */
static smelt_dtype meet_weak(smelt_dtype a, smelt_dtype b) {
  if (a == SMELT_DTYPE_NONE || a == b) return b;
  if (a == SMELT_BOOL || b == SMELT_BOOL) return SMELT_DTYPE_NONE;
  return a > b ? a : b;
}

/* The dtype the operands are promoted to: of the tensors if there are any,
 * otherwise of the weak scalars. */
static smelt_status promote(const sm_call *c, smelt_dtype *out, smelt_error *err) {
  smelt_dtype strong = SMELT_DTYPE_NONE, weak = SMELT_DTYPE_NONE;
  for (int i = 0; i < c->n; i++) {
    const sm_call_operand *o = &c->operands[i];
    if (is_mask(c, i) || is_index(c, i) || is_as_it_is(c, i)) continue;
    bool first = o->is_scalar ? weak == SMELT_DTYPE_NONE : strong == SMELT_DTYPE_NONE;
    smelt_dtype dtype = o->is_scalar ? sm_scalar_dtype(o->scalar) : o->dtype;
    smelt_dtype *into = o->is_scalar ? &weak : &strong;
    *into = first ? dtype : o->is_scalar ? meet_weak(weak, dtype) : smelt_dtype_promote(strong, dtype);
    if (*into == SMELT_DTYPE_NONE)
      return sm_call_fail(c, err, SMELT_ERR_DTYPE, "no common dtype; convert with astype");
  }
  *out = strong != SMELT_DTYPE_NONE ? strong : weak;
  return SMELT_OK;
}

static const char *wanted(uint8_t kinds) {
  static const char *const words[] = {
      [SM_BOOLEAN] = "wants bool",
      [SM_INTEGER] = "wants integers",
      [SM_INTEGER | SM_BOOLEAN] = "wants integers or bool",
      [SM_FLOAT] = "wants floats; convert with astype",
      [SM_FLOAT | SM_BOOLEAN] = "wants floats or bool; convert with astype",
      [SM_NUMBER] = "wants numbers, not bool",
      [SM_ANY] = "",
  };
  return words[kinds];
}

static smelt_status check_mask(const sm_call *c, int i, sm_inferred *out, smelt_error *err) {
  const sm_call_operand *o = &c->operands[i];
  smelt_dtype dtype = o->is_scalar ? sm_scalar_dtype(o->scalar) : o->dtype;
  if (dtype != SMELT_BOOL) return sm_call_fail(c, err, SMELT_ERR_DTYPE, "the condition has to be bool");
  out->operand[i] = SMELT_BOOL;
  return SMELT_OK;
}

static smelt_status check_index(const sm_call *c, int i, sm_inferred *out, smelt_error *err) {
  out->operand[i] = c->operands[i].dtype;
  if (accepts(SM_INTEGER, out->operand[i])) return SMELT_OK;
  return sm_call_fail(c, err, SMELT_ERR_DTYPE, "the indices have to be integers");
}

static smelt_status convert_scalar(const sm_call *c, int i, sm_inferred *out, smelt_error *err) {
  smelt_error cause;
  if (sm_scalar_convert(c->operands[i].scalar, out->operand[i], &out->scalar[i], &cause) != SMELT_OK) {
    return sm_call_fail_with(c, err, &cause);
  }
  return SMELT_OK;
}

static smelt_status infer_operands(const sm_call *c, smelt_dtype common, sm_inferred *out, smelt_error *err) {
  for (int i = 0; i < c->n; i++) {
    out->operand[i] = common;
    if (is_mask(c, i)) SM_TRY(check_mask(c, i, out, err));
    if (is_index(c, i)) SM_TRY(check_index(c, i, out, err));
    if (is_bound(c, i)) out->operand[i] = sm_scalar_dtype(c->operands[i].scalar);
    if (is_as_it_is(c, i)) out->operand[i] = c->operands[i].dtype;
    if (c->operands[i].is_scalar) SM_TRY(convert_scalar(c, i, out, err));
  }
  return SMELT_OK;
}

/* What a sum or a product of this dtype is made in: what was asked for, or integers
 * that hold many of them. */
static smelt_status sum_dtype(const sm_call *c, smelt_dtype dtype, smelt_dtype *out, smelt_error *err) {
  static const smelt_dtype wide[] = {
      [SM_KIND_BOOL] = SMELT_I64, [SM_KIND_SINT] = SMELT_I64, [SM_KIND_UINT] = SMELT_U64};
  sm_kind kind = sm_kind_of(dtype);
  *out = c->attrs->dtype != SMELT_DTYPE_NONE ? c->attrs->dtype : kind == SM_KIND_FLOAT ? dtype : wide[kind];
  if (accepts(SM_NUMBER, *out)) return SMELT_OK;
  return sm_call_fail(c, err, SMELT_ERR_DTYPE, "the result has to be a number, not %s",
                      sm_dtype_valid(*out) ? smelt_dtype_name(*out) : "what is no dtype");
}

/* The dtypes of a record that reduces: `common` becomes what it works in. */
static smelt_status reduced_dtypes(const sm_call *c, smelt_dtype *common, sm_inferred *out,
                                   smelt_error *err) {
  out->dtype = c->row->result == SM_DTYPE_INDEX ? SMELT_I64 : SMELT_BOOL;
  if (c->row->result == SM_DTYPE_SUM) {
    SM_TRY(sum_dtype(c, *common, &out->dtype, err));
    *common = out->dtype;
  } else if (c->row->result == SM_DTYPE_TRUTH) {
    *common = SMELT_BOOL;
  } else if (*common == SMELT_BOOL) {
    *common = SMELT_U8; /* what has an order */
  }
  return SMELT_OK;
}

static smelt_status infer_dtypes(const sm_call *c, sm_inferred *out, smelt_error *err) {
  smelt_dtype common = SMELT_DTYPE_NONE;
  if (sm_op_creates(c->row) || c->row->class == SM_CLASS_OPAQUE) {
    common = c->attrs->dtype;
  } else {
    SM_TRY(promote(c, &common, err));
  }
  if (!accepts(c->row->accepts, common))
    return sm_call_fail(c, err, SMELT_ERR_DTYPE, "%s", wanted(c->row->accepts));
  switch (c->row->result) {
    case SM_DTYPE_SAME:
      out->dtype = common;
      break;
    case SM_DTYPE_BOOL:
      out->dtype = SMELT_BOOL;
      break;
    case SM_DTYPE_ATTR:
      out->dtype = c->attrs->dtype;
      break;
    case SM_DTYPE_SUM:
    case SM_DTYPE_TRUTH:
    case SM_DTYPE_INDEX:
      SM_TRY(reduced_dtypes(c, &common, out, err));
      break;
  }
  return infer_operands(c, common, out, err);
}

/* --- Shapes ----------------------------------------------------------------------- */

static smelt_status broadcast_shapes(const sm_call *c, sm_inferred *out, smelt_error *err) {
  sm_shape shape;
  shape.rank = 0;
  for (int i = 0; i < c->n; i++) {
    if (c->operands[i].is_scalar) continue;
    if (!sm_shape_broadcast(&shape, c->operands[i].shape)) {
      return sm_call_fail(c, err, SMELT_ERR_SHAPE, "the shapes do not broadcast");
    }
  }
  return sm_call_shape(c, shape.rank, shape.dims, out, err);
}

static double as_double(sm_scalar s) {
  return s.kind == SM_KIND_FLOAT ? s.as.f64 : s.kind == SM_KIND_UINT ? (double)s.as.u64 : (double)s.as.i64;
}

/* Extents of arange; INT64_MAX stands for everything that is too large. */
static int64_t integer_extent(int64_t start, int64_t stop, int64_t step) {
  bool up = step > 0;
  if (up ? start >= stop : start <= stop) return 0;
  uint64_t span = up ? (uint64_t)stop - (uint64_t)start : (uint64_t)start - (uint64_t)stop;
  uint64_t extent = (span - 1) / (up ? (uint64_t)step : 0 - (uint64_t)step) + 1;
  return extent < INT64_MAX ? (int64_t)extent : INT64_MAX;
}

static int64_t float_extent(double start, double stop, double step) {
  double extent = ceil((stop - start) / step);
  if (extent >= 0x1p63) return INT64_MAX;
  return extent > 0 ? (int64_t)extent : 0;
}

static int64_t arange_extent(const sm_call_operand *o) {
  bool integers = true;
  for (int i = 0; i < 3; i++) integers = integers && o[i].scalar.kind == SM_KIND_SINT;
  return integers ? integer_extent(o[0].scalar.as.i64, o[1].scalar.as.i64, o[2].scalar.as.i64)
                  : float_extent(as_double(o[0].scalar), as_double(o[1].scalar), as_double(o[2].scalar));
}

/* Whether the last element has the dtype, as the first one does. */
static smelt_status check_last(const sm_call *c, int64_t dim, smelt_dtype dtype, smelt_error *err) {
  sm_scalar start = c->operands[0].scalar, step = c->operands[2].scalar, last = {.kind = SM_KIND_SINT};
  sm_word word;
  if (dim == 0 || start.kind != SM_KIND_SINT || step.kind != SM_KIND_SINT) return SMELT_OK;
  __extension__ __int128 exact = (__int128)(dim - 1) * step.as.i64 + start.as.i64;
  last.as.i64 = (int64_t)exact;
  if (last.as.i64 == exact && sm_scalar_convert(last, dtype, &word, NULL) == SMELT_OK) return SMELT_OK;
  return sm_call_fail(c, err, SMELT_ERR_ARGUMENT, "the last element does not fit dtype %s",
                      smelt_dtype_name(dtype));
}

static smelt_status arange_shape(const sm_call *c, sm_inferred *out, smelt_error *err) {
  for (int i = 0; i < c->n; i++) {
    if (!isfinite(as_double(c->operands[i].scalar))) {
      return sm_call_fail(c, err, SMELT_ERR_ARGUMENT, "start, stop or step is not finite");
    }
  }
  if (as_double(c->operands[2].scalar) == 0) return sm_call_fail(c, err, SMELT_ERR_ARGUMENT, "step is zero");
  int64_t dim = arange_extent(c->operands);
  if (dim == INT64_MAX) return sm_call_fail(c, err, SMELT_ERR_SHAPE, "the result is too large");
  SM_TRY(check_last(c, dim, out->dtype, err));
  return sm_call_shape(c, 1, &dim, out, err);
}

static smelt_status attr_shape(const sm_call *c, sm_inferred *out, smelt_error *err) {
  return sm_call_shape(c, c->attrs->rank, c->attrs->dims, out, err);
}

/* --- The call ----------------------------------------------------------------------- */

static smelt_status wrong_number(const sm_call *c, smelt_error *err) {
  int given = (int)strlen(c->row->operands);
  if (sm_op_takes_list(c->row)) {
    return sm_error_set(err, SMELT_ERR_ARGUMENT, "%s takes 1 to %d operands, not %d", c->row->name,
                        SM_MAX_OPERANDS, c->n);
  }
  return sm_error_set(err, SMELT_ERR_ARGUMENT, "%s takes %d operand%s, not %d", c->row->name, given,
                      given == 1 ? "" : "s", c->n);
}

/* A weak scalar has a dtype only where it meets others in one element. */
static smelt_status check_kinds(const sm_call *c, smelt_error *err) {
  for (int i = 0; i < c->n; i++) {
    if (sm_op_letter(c->row, i) == 'S' && !c->operands[i].is_scalar) {
      return sm_call_fail(c, err, SMELT_ERR_ARGUMENT, "the operands have to be scalars");
    }
    if (c->row->class != SM_CLASS_ELEMENTWISE && c->operands[i].is_scalar) {
      return sm_call_fail(c, err, SMELT_ERR_ARGUMENT, "the operands have to be tensors");
    }
  }
  return SMELT_OK;
}

static smelt_status check_call(const sm_call *c, smelt_error *err) {
  if (!sm_op_takes(c->row, c->n)) return wrong_number(c, err);
  if (c->row->attrs && (!c->attrs || c->attrs->size != sizeof *c->attrs)) {
    return sm_error_set(err, SMELT_ERR_ARGUMENT, "%s needs attributes", c->row->name);
  }
  if (c->row->attrs && strchr(c->row->attrs, 't') && !sm_dtype_valid(c->attrs->dtype)) {
    return sm_error_set(err, SMELT_ERR_DTYPE, "%s: %d is not a dtype", c->row->name, (int)c->attrs->dtype);
  }
  return check_kinds(c, err);
}

/* Not inlined, so that no arithmetic leaves the environment of sm_infer. */
__attribute__((noinline)) static smelt_status infer(const sm_call *c, sm_inferred *out, smelt_error *err) {
  out->shape.rank = 0;
  out->attrs.n = 0;
  out->attrs.keepdims = false;
  SM_TRY(infer_dtypes(c, out, err));
  switch (c->row->shape) {
    case SM_SHAPE_BROADCAST:
      return broadcast_shapes(c, out, err);
    case SM_SHAPE_ATTR:
      return attr_shape(c, out, err);
    case SM_SHAPE_ARANGE:
      return arange_shape(c, out, err);
    case SM_SHAPE_REDUCE:
    case SM_SHAPE_LABELS:
    case SM_SHAPE_ALONG:
    case SM_SHAPE_GROUPS:
      return sm_infer_reduced(c, out, err);
    default:
      return sm_infer_moved(c, out, err);
  }
}

static bool has_scalar(const sm_call *c) {
  for (int i = 0; i < c->n; i++) {
    if (c->operands[i].is_scalar) return true;
  }
  return false;
}

/* Scalars are converted and the extent of arange is computed here: neither may
 * depend on the host's rounding, flushing or traps. Without scalars there is nothing
 * to compute, and changing the environment takes longer than the rest. */
smelt_status sm_infer(const sm_op_row *row, const sm_call_operand *operands, int n, const smelt_attrs *attrs,
                      sm_inferred *out, smelt_error *err) {
  sm_call c = {row, operands, n, attrs};
  SM_TRY(check_call(&c, err));
  if (!has_scalar(&c)) return infer(&c, out, err);
  sm_float_env host = sm_float_env_enter();
  smelt_status status = infer(&c, out, err);
  sm_float_env_leave(&host);
  return status;
}

bool sm_op_folds_scalars(const sm_op_row *row) {
  return !row->attrs && strpbrk(row->operands, "TAB") != NULL;
}
