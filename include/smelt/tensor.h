/* SPDX-License-Identifier: Apache-2.0
 *
 * Tensors: references, data in and out, queries.
 *
 * Ownership. Operations take, queries keep. A parameter `smelt_tensor *` is
 * taken: after the call that reference is gone, whatever the outcome. A
 * parameter `const smelt_tensor *` is kept. A returned `smelt_tensor *` is the
 * caller's. smelt_ref(x) makes one more reference; smelt_drop(x) gives one up.
 *
 * A smelt_tensor pointer is an opaque token and never points to memory. Using
 * a token that was taken or dropped is detected in every build: the operation
 * returns a poisoned tensor with ERR_STALE, and nothing else is harmed.
 *
 * Errors. Operations never fail; tensors do. A wrong call takes its operands
 * and returns a poisoned tensor; operations on poisoned tensors pass the first
 * cause on. smelt_check asks; reading returns the status. No function here
 * returns NULL for a tensor.
 *
 * Threads. Any function may be called from any thread; one reference belongs
 * to one thread at a time, others get their own by smelt_ref. Each thread records
 * for itself. Using another thread's tensor computes it first, if it is pending,
 * with all that that thread has recorded (smelt_share). */
#ifndef SMELT_TENSOR_H
#define SMELT_TENSOR_H

#include "smelt/base.h"
#include "smelt/context.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct smelt_tensor smelt_tensor;

/* --- References ---------------------------------------------------------- */

/* One more reference to the same tensor. */
SMELT_API SMELT_GIVES smelt_tensor *smelt_ref(const smelt_tensor *t);
/* Gives a reference up. A stale token is only reported (log, counter
 * `misuses`); NULL does nothing. */
SMELT_API SMELT_TAKES(1) void smelt_drop(smelt_tensor *t);

/* --- Data in ------------------------------------------------------------- */

/* A tensor with a copy of `data`: row-major, prod(dims) elements of `dtype`.
 * `dims` may be NULL for rank 0, `data` may be NULL if there are no elements.
 * Poisoned with ERR_ARGUMENT, ERR_SHAPE, ERR_DTYPE or ERR_MEMORY. Bool
 * elements are normalised to 0 and 1. */
SMELT_API SMELT_GIVES smelt_tensor *smelt_from_host(smelt_context *ctx, smelt_dtype dtype, int rank,
                                                    const int64_t *dims, const void *data);

/* A tensor over memory that stays the caller's: row-major, aligned for the
 * dtype, bools 0 or 1. It must stay unchanged until `free_fn(user)` is called
 * (optional), which happens once when no tensor needs it any more, also when
 * the call itself fails. */
SMELT_API SMELT_GIVES smelt_tensor *smelt_wrap(smelt_context *ctx, smelt_dtype dtype, int rank,
                                               const int64_t *dims, const void *data,
                                               void (*free_fn)(void *user), void *user);

/* The same elements in another context, on its device: a copy, made by way of host memory
 * after the tensor has been computed if it was pending. In its own context the
 * reference itself comes back, and of a weak scalar, which has no device, or a poisoned
 * tensor too. Poisoned with ERR_ARGUMENT (`ctx` is NULL), ERR_MEMORY, ERR_DEVICE,
 * or what poisons the tensor when it is computed. */
SMELT_API SMELT_GIVES SMELT_TAKES(1) smelt_tensor *smelt_to_device(smelt_tensor *t, smelt_context *ctx);

/* A weak scalar: 0-d, without a device, and it takes the dtype of the tensor
 * it meets (a float value needs a float tensor, an integer value any number
 * type that can hold it, a bool a bool tensor). Operations on weak scalars
 * alone give weak scalars. Read on its own a float value is f64, an integer
 * i64. The macros of ops.h call these for C scalars. */
SMELT_API SMELT_GIVES smelt_tensor *smelt_scalar_f64(double value);
SMELT_API SMELT_GIVES smelt_tensor *smelt_scalar_i64(int64_t value);
SMELT_API SMELT_GIVES smelt_tensor *smelt_scalar_u64(uint64_t value);
SMELT_API SMELT_GIVES smelt_tensor *smelt_scalar_bool(bool value);

/* --- Data out ------------------------------------------------------------ */

/* Computes the tensor if it is pending and copies its elements, row-major, to
 * `buf`. `dtype` must be the tensor's and `bytes` exactly its size, otherwise
 * ERR_DTYPE or ERR_ARGUMENT and nothing is written. A poisoned tensor gives its
 * cause. */
SMELT_API smelt_status smelt_read(const smelt_tensor *t, smelt_dtype dtype, void *buf, size_t bytes,
                                  smelt_error *err);
/* The same as the reference's last use. */
SMELT_API SMELT_TAKES(1) smelt_status
    smelt_into_host(smelt_tensor *t, smelt_dtype dtype, void *buf, size_t bytes, smelt_error *err);
/* The value of a tensor with one element. ERR_SHAPE if it has more or none;
 * ERR_DTYPE for _i64 of a float tensor or of a u64 beyond INT64_MAX; _f64 takes
 * any number, _bool any dtype (not equal to zero). */
SMELT_API smelt_status smelt_item_f64(const smelt_tensor *t, double *out, smelt_error *err);
SMELT_API smelt_status smelt_item_i64(const smelt_tensor *t, int64_t *out, smelt_error *err);
SMELT_API smelt_status smelt_item_bool(const smelt_tensor *t, bool *out, smelt_error *err);

/* Computes `n` tensors now without reading them, all of a thread's at once. The
 * first poisoned one gives the status. */
SMELT_API smelt_status smelt_eval(const smelt_tensor *const *list, size_t n, smelt_error *err);
/* Computes the tensor now if it is pending, so that other threads can use it
 * without ending anything: what they find does not depend on when they come.
 * A poisoned tensor gives its cause. */
SMELT_API smelt_status smelt_share(const smelt_tensor *t, smelt_error *err);

/* Writes the tensor to standard output as NumPy prints it, and a newline. */
SMELT_API smelt_status smelt_print(const smelt_tensor *t, smelt_error *err);
/* The same text into `buf` (NUL-terminated, cut at `size`). `needed` (optional)
 * gets its full length without the NUL. */
SMELT_API smelt_status smelt_format(const smelt_tensor *t, char *buf, size_t size, size_t *needed,
                                    smelt_error *err);

/* --- Queries (run nothing) ------------------------------------------------ */

/* OK, or the cause that poisoned the tensor (ERR_STALE for a stale token). */
SMELT_API smelt_status smelt_check(const smelt_tensor *t, smelt_error *err);
/* SMELT_DTYPE_NONE, -1 and -1 for a poisoned tensor. `dims` of smelt_dims has
 * room for SMELT_MAX_RANK extents or is NULL; the rank is returned. */
SMELT_API smelt_dtype smelt_dtype_of(const smelt_tensor *t);
SMELT_API int smelt_rank(const smelt_tensor *t);
SMELT_API int smelt_dims(const smelt_tensor *t, int64_t *dims);
/* Number of elements, -1 for a poisoned tensor. */
SMELT_API int64_t smelt_count(const smelt_tensor *t);

/* --- Operations by name (for bindings and tools) --------------------------- */

/* Attributes of an operation; which ones are read is in smelt_op_info.attrs. */
typedef struct smelt_attrs {
  size_t size;       /* sizeof(smelt_attrs) */
  smelt_dtype dtype; /* 't', 'd' */
  int rank;          /* 's': the shape, with dims */
  const int64_t *dims;
  const int *axes; /* 'a', 'o': any number of axes, NULL: left out; 'p': two; 'x': one */
  size_t n_axes;
  const smelt_range *ranges; /* 'r': one an axis */
  size_t n_ranges;
  bool keepdims;          /* 'k' */
  double number;          /* 'c', 'n', 'e' */
  int64_t groups;         /* 'g' */
  smelt_tensor **indices; /* 'i': gets the second result, the caller's; NULL: not wanted */
} smelt_attrs;

/* One operation of the table. Strings are static. */
typedef struct smelt_op_info {
  const char *name;     /* "add": the function is smelt_add */
  const char *operands; /* one letter an operand: T tensor, A tensor or scalar, B bool tensor,
                           I integer tensor, S scalar only; L alone: a list of tensors */
  const char *attrs;    /* one letter an attribute: t dtype, s shape, a axes, p two axes, x one
                           axis, r ranges, o reduced axes, k keepdims, d dtype or NONE, and the
                           numbers c correction, n ord, e eps, g groups; i a second result */
  const char *family;   /* "Numeric", as the log names it */
  const char *doc;      /* one sentence */
} smelt_op_info;

/* The number of operations and the i-th of them (NULL beyond). Thread-safe. */
SMELT_API size_t smelt_op_count(void);
SMELT_API const smelt_op_info *smelt_op_at(size_t i);
/* The operation of that name or NULL. Thread-safe. */
SMELT_API const smelt_op_info *smelt_op_find(const char *name);

/* Records the operation `name` on `n` operands, which are taken. `ctx` may be
 * NULL if an operand is a tensor; `attrs` may be NULL if the operation has
 * none. Poisoned with ERR_ARGUMENT for an unknown name or a wrong number. */
SMELT_API SMELT_GIVES smelt_tensor *smelt_call(smelt_context *ctx, const char *name,
                                               smelt_tensor *const *operands, size_t n,
                                               const smelt_attrs *attrs);

#ifdef __cplusplus
}
#endif
#endif
