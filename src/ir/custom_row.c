/* SPDX-License-Identifier: Apache-2.0 */
#include "ir/custom_row.h"

#include "base/error.h"
#include "core/dtype.h"
#include "ir/expr.h"

smelt_status sm_custom_name_check(const char *name, smelt_error *err) {
  size_t len = name ? strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789_") : 0;
  bool well_formed = len > 0 && len <= SM_CUSTOM_NAME && !name[len] && !strchr("0123456789_", name[0]);
  if (!well_formed) {
    return sm_error_set(err, SMELT_ERR_ARGUMENT, "\"%.60s\" is no name of an operation",
                        name ? name : "(null)");
  }
  if (sm_op_find(name) == SM_OP_COUNT) return SMELT_OK;
  return sm_error_set(err, SMELT_ERR_ARGUMENT, "there is an operation %s already", name);
}

static smelt_status check_count(const char *name, size_t n, size_t least, size_t most, smelt_error *err) {
  if (n >= least && n <= most) return SMELT_OK;
  return sm_error_set(err, SMELT_ERR_ARGUMENT, "%s: %zu operands are not between %zu and %zu", name, n, least,
                      most);
}

/* --- Expressions --------------------------------------------------------------------- */

static const struct {
  uint8_t accepts;
  smelt_dtype dtypes[9];
} kinds[] = {
    {SM_FLOAT, {SMELT_F32, SMELT_F64, SMELT_F16, SMELT_BF16}},
    {SM_INTEGER, {SMELT_I32, SMELT_I8, SMELT_I16, SMELT_I64, SMELT_U8, SMELT_U16, SMELT_U32, SMELT_U64}},
    {SM_BOOLEAN, {SMELT_BOOL}},
};
enum { N_KINDS = sizeof kinds / sizeof kinds[0] };

static smelt_status compile(const sm_op_row *row, smelt_dtype dtype, smelt_error *err) {
  smelt_dtype operands[SM_EXPR_OPERANDS] = {dtype, dtype, dtype};
  smelt_dtype result = row->result == SM_DTYPE_BOOL ? SMELT_BOOL : dtype;
  sm_expr expr;
  return sm_expr_compile(row->expr, operands, (int)strlen(row->operands), result, &expr, err);
}

/* The kinds for all of whose dtypes the expression compiles. */
static uint8_t accepted(const sm_op_row *row) {
  uint8_t accepts = 0;
  for (int k = 0; k < N_KINDS; k++) {
    const smelt_dtype *dtype = kinds[k].dtypes;
    while (*dtype && compile(row, *dtype, NULL) == SMELT_OK) dtype++;
    if (!*dtype) accepts |= kinds[k].accepts;
  }
  return accepts;
}

smelt_status sm_custom_row_expression(const char *name, size_t n_operands, const char *expr, sm_op_row *out,
                                      smelt_error *err) {
  static const char letters[] = "AAA";
  SM_TRY(check_count(name, n_operands, 1, SM_EXPR_OPERANDS, err));
  *out = (sm_op_row){.name = name,
                     .log = name,
                     .family = SM_FAMILY_CUSTOM,
                     .operands = letters + (SM_EXPR_OPERANDS - n_operands),
                     .expr = expr};
  sm_op_row test = *out;
  test.result = SM_DTYPE_BOOL;
  out->accepts = accepted(out);
  test.accepts = accepted(&test);
  /* What computes numbers is no test, though a number can be read as true. Of bools both are
   * the same: what tests accepts other dtypes too. */
  bool of_bools = !(out->accepts & ~SM_BOOLEAN);
  if (of_bools && __builtin_popcount(test.accepts) > __builtin_popcount(out->accepts)) *out = test;
  if (out->accepts) return SMELT_OK;
  smelt_error cause;
  (void)compile(out, SMELT_F32, &cause);
  return sm_error_set(err, SMELT_ERR_ARGUMENT, "%s: %s", name, cause.text);
}

/* --- Opaque operations ------------------------------------------------------------------- */

smelt_status sm_custom_row_opaque(const char *name, size_t n_operands, const sm_opaque *opaque,
                                  sm_op_row *out, smelt_error *err) {
  static const char letters[] = "XXXXXXXX";
  _Static_assert(sizeof letters - 1 == SM_MAX_OPERANDS, "a letter for each operand");
  SM_TRY(check_count(name, n_operands, 0, SM_MAX_OPERANDS, err));
  *out = (sm_op_row){.name = name,
                     .log = name,
                     .family = SM_FAMILY_CUSTOM,
                     .class = SM_CLASS_OPAQUE,
                     .operands = letters + (SM_MAX_OPERANDS - n_operands),
                     .attrs = "ts",
                     .shape = SM_SHAPE_ATTR,
                     .result = SM_DTYPE_ATTR,
                     .accepts = SM_ANY,
                     .opaque = opaque};
  return SMELT_OK;
}
