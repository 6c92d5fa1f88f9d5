/* SPDX-License-Identifier: Apache-2.0
 *
 * Element expressions: the `.expr` column of ops.def, compiled to steps.
 *
 * Grammar: expr = kop '(' expr {',' expr} ')' | 'x' | 'y' | 'z' | 'index' | number.
 * Each call becomes one step whose arguments are operands, earlier steps, the
 * flat index or literals. Dtypes are resolved for one record: a literal takes
 * the dtype of its siblings (of the result where it has none); `index` is i64
 * and becomes u64 beside u64; cast and unit give the result's dtype. Half types
 * are worked on as f32: an operand is widened by a step of its own, and a last
 * step rounds a half result; only a conversion makes it directly. Both the lowering
 * to kernels and the op-level reference start from these steps. */
#ifndef SM_IR_EXPR_H
#define SM_IR_EXPR_H

#include "core/kops.h"
#include "core/scalar.h"

enum { SM_EXPR_STEPS = 16, SM_EXPR_ARGS = 3 };

typedef enum sm_arg_kind { SM_ARG_OPERAND, SM_ARG_STEP, SM_ARG_INDEX, SM_ARG_LITERAL } sm_arg_kind;

typedef struct sm_expr_arg {
  sm_arg_kind kind;
  int index; /* of the operand or step */
  smelt_dtype dtype;
  sm_word literal; /* as an element of dtype */
} sm_expr_arg;

typedef struct sm_expr_step {
  sm_kop kop;
  int n_args;
  sm_expr_arg args[SM_EXPR_ARGS];
  smelt_dtype dtype; /* of the step's value */
} sm_expr_step;

typedef struct sm_expr {
  int n_steps;
  sm_expr_step steps[SM_EXPR_STEPS];
  sm_expr_arg result; /* what the element is; a copy ("x", "0") has no step */
  bool rounds;        /* the last step does nothing but round the f32 before it */
} sm_expr;

/* Compiles `source` for operands of these dtypes and a result of dtype
 * `result`. ERR_INTERNAL if the text is malformed, a kop lacks the dtype, or
 * arguments of one call differ in dtype: the table is wrong, and a unit test
 * compiles every row. */
smelt_status sm_expr_compile(const char *source, const smelt_dtype *operands, int n_operands,
                             smelt_dtype result, sm_expr *out, smelt_error *err);

#endif
