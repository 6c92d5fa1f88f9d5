/* SPDX-License-Identifier: Apache-2.0
 *
 * Rows like those of ops.def for operations that a program registers.
 *
 * A row's *code* is its own among the rows of a context and lies beyond those of the
 * table, so that relative forms tell custom operations apart. What the table says in
 * columns follows here: an expression's operands and result have the dtypes that it
 * compiles for; an opaque operation takes any tensors as they are, and its dtype and
 * shape are the attributes of each call, which its shape rule has answered. */
#ifndef SM_IR_CUSTOM_ROW_H
#define SM_IR_CUSTOM_ROW_H

#include "ir/op.h"

enum { SM_CUSTOM_NAME = 32, SM_EXPR_OPERANDS = 3 };

/* ERR_ARGUMENT unless it is a name that no row of the table has. */
smelt_status sm_custom_name_check(const char *name, smelt_error *err);

/* `name` and `expr` are kept. ERR_ARGUMENT if the expression compiles for no kind of
 * dtypes. */
smelt_status sm_custom_row_expression(const char *name, size_t n_operands, const char *expr, sm_op_row *out,
                                      smelt_error *err);
/* `name` and `opaque` are kept. */
smelt_status sm_custom_row_opaque(const char *name, size_t n_operands, const sm_opaque *opaque,
                                  sm_op_row *out, smelt_error *err);

#endif
