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
