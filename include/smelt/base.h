/* SPDX-License-Identifier: Apache-2.0
 *
 * Smelt: status codes, element types, errors and annotations.
 *
 * Every fallible function that is not a tensor operation returns a smelt_status
 * and fills an optional, caller-owned smelt_error. Tensor operations never fail;
 * they return a poisoned tensor that carries the first cause (see tensor.h). */
#ifndef SMELT_BASE_H
#define SMELT_BASE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SMELT_VERSION_MAJOR 0
#define SMELT_VERSION_MINOR 1
#define SMELT_VERSION_PATCH 0
#define SMELT_VERSION "0.1.0"

/* The largest number of axes a tensor can have. */
#define SMELT_MAX_RANK 16

#if defined(__GNUC__)
#define SMELT_API __attribute__((visibility("default")))
#define SMELT_MUST_USE __attribute__((warn_unused_result))
#else
#define SMELT_API
#define SMELT_MUST_USE
#endif

/* A part of a smelt_range that is left out. */
#define SMELT_ABSENT INT64_MIN

/* Ownership, as clang's static analyzer understands it. SMELT_TAKES(n): the
 * reference in parameter n is gone after the call. SMELT_GIVES: the returned
 * reference is the caller's and must be taken or dropped. The analyzer knows
 * these attributes only under the module name `malloc`. */
#if defined(__clang_analyzer__)
#define SMELT_TAKES(...) __attribute__((ownership_takes(malloc, __VA_ARGS__)))
#define SMELT_GIVES __attribute__((ownership_returns(malloc)))
#else
#define SMELT_TAKES(...)
#define SMELT_GIVES SMELT_MUST_USE
#endif

#ifdef __cplusplus
extern "C" {
#endif

typedef enum smelt_status {
#define STATUS(id, value, meaning) SMELT_##id = value,
#include "smelt/status.def"
#undef STATUS
} smelt_status;

/* Element types. SMELT_DTYPE_NONE is what queries answer for a poisoned tensor. */
typedef enum smelt_dtype {
  SMELT_DTYPE_NONE = 0,
#define DTYPE(id, value, name, ctype, kind, npy) SMELT_##id = value,
#include "smelt/dtype.def"
#undef DTYPE
} smelt_dtype;

/* Places of an axis, start:stop:step as Python has it: a negative start or stop
 * counts from the end, both are cut to the axis, `stop` is not reached. What is
 * SMELT_ABSENT is the whole axis in the direction of the step, a step of 1. */
typedef struct smelt_range {
  int64_t start, stop, step;
} smelt_range;

/* What kernels may do to results (docs/modes.md). */
typedef enum smelt_mode {
#define MODE(id, value, name, meaning) SMELT_MODE_##id = value,
#include "smelt/mode.def"
#undef MODE
} smelt_mode;

/* What went wrong. `text` is one line that names the operation and the shapes;
 * `where` is the source position of the call where known, otherwise empty. */
typedef struct smelt_error {
  smelt_status code;
  char text[480];
  char where[96];
} smelt_error;

/* The identifier ("SMELT_ERR_SHAPE") and the meaning of a status code. Never
 * NULL; static storage. Thread-safe. */
SMELT_API const char *smelt_status_name(smelt_status status);
SMELT_API const char *smelt_status_text(smelt_status status);

/* "f32" and so on; "none" for SMELT_DTYPE_NONE. Static storage. Thread-safe. */
SMELT_API const char *smelt_dtype_name(smelt_dtype dtype);
/* The dtype of that name, SMELT_DTYPE_NONE if there is none. Thread-safe. */
SMELT_API smelt_dtype smelt_dtype_find(const char *name);
/* Bytes of one element, 0 for SMELT_DTYPE_NONE. Thread-safe. */
SMELT_API size_t smelt_dtype_size(smelt_dtype dtype);
/* The dtype that two operands are promoted to by the Array API's table;
 * SMELT_DTYPE_NONE where the table has no entry (i64 with f32, u64 with i8,
 * bool with a number). Thread-safe. */
SMELT_API smelt_dtype smelt_dtype_promote(smelt_dtype a, smelt_dtype b);

/* The library's version, "major.minor.patch". Thread-safe. */
SMELT_API const char *smelt_version(void);

#ifdef __cplusplus
}
#endif
#endif
