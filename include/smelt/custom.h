/* SPDX-License-Identifier: Apache-2.0
 *
 * Operations of your own.
 *
 * An operation is registered with a context under a name and called by it
 * (smelt_call). There are two kinds:
 *
 *  - an *expression* says what one element of the result is. It fuses with what stands
 *    before and after it like any other elementwise operation;
 *  - a *kernel* is a function of yours that computes a whole result. It runs alone, on
 *    host memory, when a value is needed; a second function says beforehand what the
 *    result is like.
 *
 * Functions of yours are called without locks, on the thread that records or computes,
 * by several threads at once. From inside them operations give a poisoned tensor
 * (ERR_REENTRANT), and smelt_drop takes effect when the call that is under way is done.
 * docs/custom-operations.md has programs. */
#ifndef SMELT_CUSTOM_H
#define SMELT_CUSTOM_H

#include "smelt/tensor.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A tensor as a kernel sees it. `data` has the elements, row-major, aligned for the
 * dtype; it is NULL for a shape rule and if there are no elements. */
typedef struct smelt_array {
  smelt_dtype dtype;
  int rank;
  int64_t dims[SMELT_MAX_RANK];
  void *data;
} smelt_array;

/* A shape rule fills in dtype, rank and dims of the result; a kernel fills the
 * result's elements. What belongs to the operands must not be written. What is not
 * SMELT_OK poisons the result; `err->text` may say why. The same operands must give
 * the same result: a result that nobody needs is not computed. */
typedef smelt_status smelt_array_fn(void *user, const smelt_array *operands, size_t n, smelt_array *result,
                                    smelt_error *err);

/* An operation. Zero means not there; start from SMELT_OP_DESC_INIT so that new members
 * stay compatible. It has either an expression or both functions. */
typedef struct smelt_op_desc {
  size_t size;            /* sizeof(smelt_op_desc) */
  const char *name;       /* a letter a-z, then letters, digits and _, 32 at most */
  size_t n_operands;      /* 1 to 3 of an expression, 0 to 8 of a kernel */
  const char *expression; /* of the operands x, y, z: "mul(x, sigmoid(x))" */
  smelt_array_fn *shape;
  smelt_array_fn *kernel;
  void *user; /* first argument of both, valid as long as the context */
} smelt_op_desc;

#define SMELT_OP_DESC_INIT \
  { sizeof(smelt_op_desc), 0, 0, 0, 0, 0, 0 }

/* Adds an operation to a context, for all its threads, for as long as it lives.
 * ERR_ARGUMENT for a wrong description, or if there is an operation of that name;
 * ERR_UNSUPPORTED for a kernel where the device is not `cpu` or `ref`; ERR_LIMIT,
 * ERR_MEMORY. Thread-safe. */
SMELT_API smelt_status smelt_op_register(smelt_context *ctx, const smelt_op_desc *desc, smelt_error *err);

#ifdef __cplusplus
}
#endif
#endif
