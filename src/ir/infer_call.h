/* SPDX-License-Identifier: Apache-2.0
 *
 * What the parts of inference share: the call that is being judged, and how its
 * faults are told. */
#ifndef SM_IR_INFER_CALL_H
#define SM_IR_INFER_CALL_H

#include "ir/infer.h"

typedef struct sm_call {
  const sm_op_row *row;
  const sm_call_operand *operands;
  int n;
  const smelt_attrs *attrs;
} sm_call;

/* "add(f32[2], f32[3]): WHAT". */
__attribute__((format(printf, 4, 5))) smelt_status sm_call_fail(const sm_call *c, smelt_error *err,
                                                                smelt_status code, const char *what, ...);
/* Puts the operation in front of an error that a helper reported. */
smelt_status sm_call_fail_with(const sm_call *c, smelt_error *err, const smelt_error *cause);

/* Gives the result this shape, if it can have it. */
smelt_status sm_call_shape(const sm_call *c, int rank, const int64_t *dims, sm_inferred *out,
                           smelt_error *err);

/* The axis among `rank` that is meant; negative ones count from the end. */
smelt_status sm_call_axis(const sm_call *c, int given, int rank, int *axis, smelt_error *err);
/* The given list in its order, every axis once; so there are not more than `rank`. */
smelt_status sm_call_axes(const sm_call *c, int rank, sm_attrs *out, smelt_error *err);
void sm_attrs_sort_axes(sm_attrs *a);

/* The shape and the attributes of reductions and composites of them; the dtype is
 * there. */
smelt_status sm_infer_reduced(const sm_call *c, sm_inferred *out, smelt_error *err);
/* The shape and the attributes of views and selections; the dtype is there. */
smelt_status sm_infer_moved(const sm_call *c, sm_inferred *out, smelt_error *err);

#endif
