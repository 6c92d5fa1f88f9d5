/* SPDX-License-Identifier: Apache-2.0
 *
 * How records are named in log lines and kernels. */
#include <ctype.h>
#include <inttypes.h>
#include <string.h>

#include "ir/op.h"

const char *sm_status_word(sm_status s) {
  static const char *const words[] = {"NotInit", "ReadOnly", "ReadWrite"};
  return words[s];
}

static bool has_scalar(const sm_op *op) {
  for (int i = 0; i < sm_op_given(op); i++) {
    if (op->operands[i].is_scalar) return true;
  }
  return false;
}

static const char *log_name(const sm_op *op) {
  const sm_op_row *row = op->row;
  return row->slog && has_scalar(op) ? row->slog : row->log;
}

/* The dtype the operation works in: of its first operand that is no mask, for
 * creation that of the result. */
static smelt_dtype working_dtype(const sm_segment *seg, const sm_op *op) {
  const sm_op_row *row = op->row;
  if (sm_op_creates(row)) return seg->values.items[op->out].dtype;
  return op->operands[row->operands[0] == 'B' ? 1 : 0].dtype;
}

static const char *kind_word(smelt_dtype dtype) {
  static const char *const words[] = {[SM_KIND_NONE] = "",
                                      [SM_KIND_BOOL] = "Bool",
                                      [SM_KIND_SINT] = "Int",
                                      [SM_KIND_UINT] = "Int",
                                      [SM_KIND_FLOAT] = "Float"};
  return words[sm_kind_of(dtype)];
}

void sm_op_print_log_name(sm_text *text, const sm_segment *seg, const sm_op *op) {
  static const char *const families[] = {
      [SM_FAMILY_BASE] = "Base", [SM_FAMILY_NUMERIC] = "Numeric", [SM_FAMILY_FLOAT] = "Float",
      [SM_FAMILY_INT] = "Int",   [SM_FAMILY_BOOL] = "Bool",       [SM_FAMILY_CUSTOM] = "Custom"};
  sm_family family = op->row->family;
  smelt_dtype dtype = working_dtype(seg, op);
  bool with_kind = family == SM_FAMILY_BASE || family == SM_FAMILY_NUMERIC;
  sm_text_addf(text, "%s%s(%s, %s)", families[family], with_kind ? kind_word(dtype) : "",
               sm_dtype_info_of(dtype)->log, log_name(op));
}

void sm_op_print_kernel_name(sm_text *text, const sm_op *op) {
  for (const char *p = log_name(op), *start = p; *p; p++) {
    bool boundary = p > start && isupper((unsigned char)*p) && !isupper((unsigned char)p[-1]);
    if (boundary) sm_text_add(text, "_");
    char lower = (char)tolower((unsigned char)*p);
    sm_text_add_n(text, &lower, 1);
  }
}

void sm_op_print_registered(sm_text *text, const sm_segment *seg, const sm_op *op) {
  sm_text_add(text, "[registered] ");
  sm_op_print_log_name(text, seg, op);
  sm_text_add(text, " in=[");
  const char *separator = "";
  for (int i = 0; i < op->n_operands; i++) {
    if (op->operands[i].is_scalar) continue;
    sm_use use = op->operands[i].use;
    sm_text_addf(text, "%st%" PRIu64 ":%s", separator, seg->values.items[use.value].id,
                 sm_status_word((sm_status)use.status));
    separator = ", ";
  }
  sm_text_addf(text, "] out=[t%" PRIu64 ":%s]", seg->values.items[op->out].id, sm_status_word(SM_NOT_INIT));
}
