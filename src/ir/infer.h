/* SPDX-License-Identifier: Apache-2.0
 *
 * Shape and dtype inference: from a call to the exact record it becomes.
 *
 * The front end describes a call by sm_call_operand (a tensor's dtype and
 * shape, or a weak scalar). Inference answers the common dtype that the
 * operands have to be converted to, the converted scalars, the canonical
 * attributes, and the result's dtype and shape, or an error that names the
 * operation and the operands. It records nothing. Canonical attributes are a
 * fixed point: inferring with them gives the same again. */
#ifndef SM_IR_INFER_H
#define SM_IR_INFER_H

#include "ir/op.h"
#include "smelt/tensor.h"

typedef struct sm_call_operand {
  bool is_scalar;
  sm_scalar scalar;      /* if a scalar */
  smelt_dtype dtype;     /* if a tensor */
  const sm_shape *shape; /* if a tensor */
} sm_call_operand;

typedef struct sm_inferred {
  smelt_dtype dtype;                    /* of the result */
  sm_shape shape;                       /* of the result */
  smelt_dtype operand[SM_MAX_OPERANDS]; /* what each operand has to be */
  sm_word scalar[SM_MAX_OPERANDS];      /* converted, for scalar operands */
  sm_attrs attrs;                       /* canonical, if sm_op_has_attrs */
} sm_inferred;

/* ERR_ARGUMENT, ERR_SHAPE or ERR_DTYPE; `attrs` may be NULL if the row has none. */
smelt_status sm_infer(const sm_op_row *row, const sm_call_operand *operands, int n, const smelt_attrs *attrs,
                      sm_inferred *out, smelt_error *err);

/* The same for a call of weak scalars only, which stays a weak scalar: the
 * kind (bool, i64, u64, f64) the operands meet in. False if the operation
 * cannot be applied to scalars alone (creation, attributes). */
bool sm_op_folds_scalars(const sm_op_row *row);

#endif
