/* SPDX-License-Identifier: Apache-2.0
 *
 * The one way from a public operation to the stream. */
#ifndef SM_API_RECORD_H
#define SM_API_RECORD_H

#include "ir/op.h"
#include "smelt/tensor.h"

/* Records an operation on `n` operands, which are taken whatever happens. `ctx`
 * may be NULL if an operand is a tensor. Weak scalars alone are folded. Never
 * NULL: failures are poisoned tensors. */
smelt_tensor *sm_record_call(smelt_context *ctx, sm_opcode code, smelt_tensor *const *operands, int n,
                             const smelt_attrs *attrs);

/* The same for an operation that takes a list of any length, NULL if `n` is 0. Long
 * lists become a tree of records. */
smelt_tensor *sm_record_list(smelt_context *ctx, sm_opcode code, smelt_tensor *const *operands, size_t n,
                             const smelt_attrs *attrs);

/* The public form of the operation table's rows (ops_gen.c). */
extern const smelt_op_info sm_op_infos[SM_OP_COUNT];

#endif
