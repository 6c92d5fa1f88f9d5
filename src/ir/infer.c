/* SPDX-License-Identifier: Apache-2.0 */
#include "ir/infer.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/float_env.h"

typedef struct call {
  const sm_op_row *row;
  const sm_call_operand *operands;
  int n;
  const smelt_attrs *attrs;
} call;

/* --- Messages ------------------------------------------------------------------ */

enum { OPERANDS_TEXT = 360 };

/* "f32[2,3], i32[3], 2" for messages. */
static const char *operands_text(const call *c, char *buf) {
  int n = 0;
  buf[0] = 0;
  for (int i = 0; i < c->n && n < OPERANDS_TEXT - SM_SHAPE_TEXT - 2; i++) {
    char shape[SM_SHAPE_TEXT];
    const sm_call_operand *o = &c->operands[i];
    const char *text = o->is_scalar ? "scalar" : sm_shape_text(shape, o->dtype, o->shape);
    n += snprintf(buf + n, (size_t)(OPERANDS_TEXT - n), "%s%s", i ? ", " : "", text);
  }
  return buf;
}

static smelt_status fail(const call *c, smelt_error *err, smelt_status code, const char *what) {
  char text[OPERANDS_TEXT];
  return sm_error_set(err, code, "%s(%s): %s", c->row->name, operands_text(c, text), what);
}

/* Puts the operation in front of an error that a helper reported. */
static smelt_status fail_with(const call *c, smelt_error *err, const smelt_error *cause) {
  return fail(c, err, cause->code, cause->text);
}

/* --- Dtypes --------------------------------------------------------------------- */

static bool accepts(uint8_t kinds, smelt_dtype dtype) {
  static const uint8_t bit[] = {[SM_KIND_NONE] = 0,
                                [SM_KIND_BOOL] = SM_BOOLEAN,
                                [SM_KIND_SINT] = SM_INTEGER,
                                [SM_KIND_UINT] = SM_INTEGER,
                                [SM_KIND_FLOAT] = SM_FLOAT};
  return (kinds & bit[sm_kind_of(dtype)]) != 0;
}

/* The mask of where stands outside promotion. */
static bool is_mask(const call *c, int i) { return c->row->operands[i] == 'B'; }

/* What two weak scalars meet in: bool only with bool, float above integers, u64
 * above i64. SMELT_DTYPE_NONE if they do not. */
static smelt_dtype meet_weak(smelt_dtype a, smelt_dtype b) {
  if (a == SMELT_DTYPE_NONE || a == b) return b;
  if (a == SMELT_BOOL || b == SMELT_BOOL) return SMELT_DTYPE_NONE;
  return a > b ? a : b;
}

/* The dtype the operands are promoted to: of the tensors if there are any,
 * otherwise of the weak scalars. */
static smelt_status promote(const call *c, smelt_dtype *out, smelt_error *err) {
  smelt_dtype strong = SMELT_DTYPE_NONE, weak = SMELT_DTYPE_NONE;
  for (int i = 0; i < c->n; i++) {
    const sm_call_operand *o = &c->operands[i];
    if (is_mask(c, i)) continue;
    bool first = o->is_scalar ? weak == SMELT_DTYPE_NONE : strong == SMELT_DTYPE_NONE;
    smelt_dtype dtype = o->is_scalar ? sm_scalar_dtype(o->scalar) : o->dtype;
    smelt_dtype *into = o->is_scalar ? &weak : &strong;
    *into = first ? dtype : o->is_scalar ? meet_weak(weak, dtype) : smelt_dtype_promote(strong, dtype);
    if (*into == SMELT_DTYPE_NONE)
      return fail(c, err, SMELT_ERR_DTYPE, "no common dtype; convert with astype");
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
      [SM_NUMBER] = "wants numbers, not bool",
      [SM_ANY] = "",
  };
  return words[kinds];
}

static smelt_status check_mask(const call *c, int i, sm_inferred *out, smelt_error *err) {
  const sm_call_operand *o = &c->operands[i];
  smelt_dtype dtype = o->is_scalar ? sm_scalar_dtype(o->scalar) : o->dtype;
  if (dtype != SMELT_BOOL) return fail(c, err, SMELT_ERR_DTYPE, "the condition has to be bool");
  out->operand[i] = SMELT_BOOL;
  return SMELT_OK;
}

static smelt_status convert_scalar(const call *c, int i, sm_inferred *out, smelt_error *err) {
  smelt_error cause;
  if (sm_scalar_convert(c->operands[i].scalar, out->operand[i], &out->scalar[i], &cause) != SMELT_OK) {
    return fail_with(c, err, &cause);
  }
  return SMELT_OK;
}

static smelt_status infer_operands(const call *c, smelt_dtype common, sm_inferred *out, smelt_error *err) {
  for (int i = 0; i < c->n; i++) {
    out->operand[i] = common;
    if (is_mask(c, i)) SM_TRY(check_mask(c, i, out, err));
    if (c->operands[i].is_scalar) SM_TRY(convert_scalar(c, i, out, err));
  }
  return SMELT_OK;
}

static smelt_status infer_dtypes(const call *c, sm_inferred *out, smelt_error *err) {
  bool creation = !strpbrk(c->row->operands, "TAB");
  smelt_dtype common = SMELT_DTYPE_NONE;
  if (creation) {
    common = c->attrs->dtype;
  } else {
    SM_TRY(promote(c, &common, err));
  }
  if (!accepts(c->row->accepts, common)) return fail(c, err, SMELT_ERR_DTYPE, wanted(c->row->accepts));
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
  }
  return infer_operands(c, common, out, err);
}

/* --- Shapes ----------------------------------------------------------------------- */

static smelt_status broadcast_shapes(const call *c, sm_inferred *out, smelt_error *err) {
  sm_shape shape = {.rank = 0};
  for (int i = 0; i < c->n; i++) {
    if (c->operands[i].is_scalar) continue;
    if (!sm_shape_broadcast(&shape, c->operands[i].shape)) {
      return fail(c, err, SMELT_ERR_SHAPE, "the shapes do not broadcast");
    }
  }
  smelt_error cause;
  if (sm_shape_make(&out->shape, out->dtype, shape.rank, shape.dims, &cause) != SMELT_OK) {
    return fail_with(c, err, &cause);
  }
  return SMELT_OK;
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

static smelt_status arange_shape(const call *c, sm_inferred *out, smelt_error *err) {
  for (int i = 0; i < c->n; i++) {
    if (!isfinite(as_double(c->operands[i].scalar))) {
      return fail(c, err, SMELT_ERR_ARGUMENT, "start, stop or step is not finite");
    }
  }
  if (as_double(c->operands[2].scalar) == 0) return fail(c, err, SMELT_ERR_ARGUMENT, "step is zero");
  int64_t dim = arange_extent(c->operands);
  if (dim == INT64_MAX) return fail(c, err, SMELT_ERR_SHAPE, "the result is too large");
  smelt_error cause;
  if (sm_shape_make(&out->shape, out->dtype, 1, &dim, &cause) != SMELT_OK) return fail_with(c, err, &cause);
  return SMELT_OK;
}

static smelt_status attr_shape(const call *c, sm_inferred *out, smelt_error *err) {
  smelt_error cause;
  if (sm_shape_make(&out->shape, out->dtype, c->attrs->rank, c->attrs->dims, &cause) != SMELT_OK) {
    return fail_with(c, err, &cause);
  }
  return SMELT_OK;
}

/* --- The call ----------------------------------------------------------------------- */

static smelt_status check_call(const call *c, smelt_error *err) {
  int given = (int)strlen(c->row->operands);
  if (c->n != given) {
    return sm_error_set(err, SMELT_ERR_ARGUMENT, "%s takes %d operand%s, not %d", c->row->name, given,
                        given == 1 ? "" : "s", c->n);
  }
  if (c->row->attrs && (!c->attrs || c->attrs->size != sizeof *c->attrs)) {
    return sm_error_set(err, SMELT_ERR_ARGUMENT, "%s needs attributes", c->row->name);
  }
  if (c->row->attrs && strchr(c->row->attrs, 't') && !sm_dtype_valid(c->attrs->dtype)) {
    return sm_error_set(err, SMELT_ERR_DTYPE, "%s: %d is not a dtype", c->row->name, (int)c->attrs->dtype);
  }
  for (int i = 0; i < given; i++) {
    if (c->row->operands[i] == 'S' && !c->operands[i].is_scalar) {
      return fail(c, err, SMELT_ERR_ARGUMENT, "the operands have to be scalars");
    }
  }
  return SMELT_OK;
}

/* Not inlined, so that no arithmetic leaves the environment of sm_infer. */
__attribute__((noinline)) static smelt_status infer(const call *c, sm_inferred *out, smelt_error *err) {
  memset(out, 0, sizeof *out);
  SM_TRY(infer_dtypes(c, out, err));
  switch (c->row->shape) {
    case SM_SHAPE_BROADCAST:
      return broadcast_shapes(c, out, err);
    case SM_SHAPE_ATTR:
      return attr_shape(c, out, err);
    case SM_SHAPE_ARANGE:
      return arange_shape(c, out, err);
  }
  return SMELT_OK;
}

static bool has_scalar(const call *c) {
  for (int i = 0; i < c->n; i++) {
    if (c->operands[i].is_scalar) return true;
  }
  return false;
}

/* Scalars are converted and the extent of arange is computed here: neither may
 * depend on the host's rounding, flushing or traps. Without scalars there is nothing
 * to compute, and changing the environment takes longer than the rest. */
smelt_status sm_infer(sm_opcode code, const sm_call_operand *operands, int n, const smelt_attrs *attrs,
                      sm_inferred *out, smelt_error *err) {
  call c = {sm_op_row_of(code), operands, n, attrs};
  SM_TRY(check_call(&c, err));
  if (!has_scalar(&c)) return infer(&c, out, err);
  sm_float_env host = sm_float_env_enter();
  smelt_status status = infer(&c, out, err);
  sm_float_env_leave(&host);
  return status;
}

bool sm_op_folds_scalars(sm_opcode code) {
  const sm_op_row *row = sm_op_row_of(code);
  return !row->attrs && strpbrk(row->operands, "TAB") != NULL;
}
