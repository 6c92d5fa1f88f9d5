/* SPDX-License-Identifier: Apache-2.0
 *
 * A scalar with its own kind, before it has met a tensor, and its bits in a
 * dtype afterwards. */
#ifndef SM_CORE_SCALAR_H
#define SM_CORE_SCALAR_H

#include "base/text.h"
#include "core/dtype.h"

/* A value as given: exactly one of the members counts. */
typedef struct sm_scalar {
  sm_kind kind;
  union {
    double f64;
    int64_t i64;
    uint64_t u64;
    bool b;
  } as;
} sm_scalar;

/* Room for one element of any dtype. */
typedef union sm_word {
#define DTYPE(id, value, name, ctype, kind, npy) ctype id;
#include "smelt/dtype.def"
#undef DTYPE
  uint64_t bits;
} sm_word;

/* The dtype a scalar has on its own: f64, i64, u64 or bool. */
smelt_dtype sm_scalar_dtype(sm_scalar s);

/* The scalar as an element of `dtype`. ERR_DTYPE if the kinds do not go
 * together (float value, integer dtype; bool with numbers), ERR_ARGUMENT if an
 * integer is out of range. Unused bytes of `out` are zero. */
smelt_status sm_scalar_convert(sm_scalar s, smelt_dtype dtype, sm_word *out, smelt_error *err);

/* An element read back as a scalar of its dtype's kind. */
sm_scalar sm_scalar_of(smelt_dtype dtype, const void *element);

/* The shortest digits that read back as the same value of the float dtype: as
 * sm_text_f64, "0.1" for the f16 next to it. */
void sm_scalar_print_digits(sm_text *text, smelt_dtype dtype, double value);

/* Shortest text that reads back as the same value; floats keep a point or
 * exponent ("2.0"), bools are "true" and "false". */
void sm_scalar_print(sm_text *text, sm_scalar s);

#endif
