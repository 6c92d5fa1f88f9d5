/* SPDX-License-Identifier: Apache-2.0
 *
 * The operations that a program has registered with a context: a list that only grows,
 * so that it is read without a lock. Their names go with the context; what outlives it
 * (taken references) does not point to them. */
#ifndef SM_API_CUSTOM_OPS_H
#define SM_API_CUSTOM_OPS_H

#include "ir/custom_row.h"
#include "ir/infer.h"

typedef struct sm_custom sm_custom;
typedef struct sm_custom_list {
  _Atomic(sm_custom *) first; /* the latest */
} sm_custom_list;

/* The row of that name; NULL if there is none. */
const sm_op_row *sm_custom_find(const sm_custom_list *list, const char *name);
void sm_custom_free(sm_custom_list *list, const sm_allocator *allocator);

/* Asks the shape rule of an opaque operation what the result of a call is like. `dims`
 * has room for SMELT_MAX_RANK extents, to which `out` then points. */
smelt_status sm_custom_shape(const sm_op_row *row, const sm_call_operand *operands, int n, int64_t *dims,
                             smelt_attrs *out, smelt_error *err);

#endif
