/* SPDX-License-Identifier: Apache-2.0 */
#include "ir/infer_call.h"

#include <stdarg.h>
#include <stdio.h>

#include "base/error.h"

enum { OPERANDS_TEXT = 360 };

/* "f32[2,3], i32[3], scalar" for messages. */
static const char *operands_text(const sm_call *c, char *buf) {
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

smelt_status sm_call_fail(const sm_call *c, smelt_error *err, smelt_status code, const char *what, ...) {
  char operands[OPERANDS_TEXT], text[sizeof err->text];
  va_list args;
  va_start(args, what);
  (void)vsnprintf(text, sizeof text, what, args);
  va_end(args);
  return sm_error_set(err, code, "%s(%s): %s", c->row->name, operands_text(c, operands), text);
}

smelt_status sm_call_fail_with(const sm_call *c, smelt_error *err, const smelt_error *cause) {
  return sm_call_fail(c, err, cause->code, "%s", cause->text);
}

smelt_status sm_call_shape(const sm_call *c, int rank, const int64_t *dims, sm_inferred *out,
                           smelt_error *err) {
  smelt_error cause;
  if (sm_shape_make(&out->shape, out->dtype, rank, dims, &cause) == SMELT_OK) return SMELT_OK;
  return sm_call_fail_with(c, err, &cause);
}

/* --- Axes --------------------------------------------------------------------------- */

smelt_status sm_call_axis(const sm_call *c, int given, int rank, int *axis, smelt_error *err) {
  *axis = given < 0 ? given + rank : given;
  if (*axis >= 0 && *axis < rank) return SMELT_OK;
  if (rank == 0) return sm_call_fail(c, err, SMELT_ERR_ARGUMENT, "there is no axis %d, nor any other", given);
  return sm_call_fail(c, err, SMELT_ERR_ARGUMENT, "axis %d is not between %d and %d", given, -rank, rank - 1);
}

smelt_status sm_call_axes(const sm_call *c, int rank, sm_attrs *out, smelt_error *err) {
  uint32_t seen = 0;
  for (out->n = 0; (size_t)out->n < c->attrs->n_axes; out->n++) {
    int axis;
    SM_TRY(sm_call_axis(c, c->attrs->axes[out->n], rank, &axis, err));
    if (seen >> axis & 1) return sm_call_fail(c, err, SMELT_ERR_ARGUMENT, "axis %d is given twice", axis);
    seen |= (uint32_t)1 << axis;
    out->axes[out->n] = axis;
  }
  return SMELT_OK;
}

void sm_attrs_sort_axes(sm_attrs *a) {
  uint32_t set = 0;
  for (int i = 0; i < a->n; i++) set |= (uint32_t)1 << a->axes[i];
  a->n = 0;
  for (int axis = 0; axis < SMELT_MAX_RANK; axis++) {
    if (set >> axis & 1) a->axes[a->n++] = axis;
  }
}
