/* SPDX-License-Identifier: Apache-2.0
 *
 * The language of src/core/functions.def, parsed into steps of primitives.
 *
 *   FUNCTION(EXP, F32, "n = round(x * 1.4426950408889634); ...; ldexp(p, n)")
 *
 * A text is a list of `name = expression;` and a last expression, the result.
 * Parameters are called x, y, z. A name may be given again: from there on it
 * means the new value.
 *
 *   == != < <= > >=    tests, not chained
 *   | ^ & << >>        of integers, the first three of bool too
 *   + - * /
 *   - ~                before an operand
 *   f(a, b)            a kop by name; a function is replaced by its steps
 *   poly(a, c0, c1, …) c0 + a * (c1 + a * (…)), each step an fma
 *   bits(a)            the bits of a float as u32 or u64
 *   float(a)           the float with the bits of a u32 or u64
 *   f32(a), u64(a), …  a cast
 *
 * Operators further down bind tighter, of one line those to the right. Literals
 * (decimal, hexadecimal, inf, nan) take the dtype of the operands beside them,
 * the function's where there is none. Steps that occur twice are one, and what
 * the result does not need is left out, so that texts may share statements. */
#ifndef OPGEN_FUNCTION_TEXT_H
#define OPGEN_FUNCTION_TEXT_H

#include "core/functions.h"

enum { FUNCTION_MESSAGE = 120 };

/* A row of functions.def. */
typedef struct function_source {
  const char *id; /* "EXP" */
  sm_kop kop;
  smelt_dtype dtype; /* of parameters and result */
  int line;
  const char *text;
} function_source;

typedef struct function_steps {
  int arity, n_steps;
  sm_function_step steps[SM_FUNCTION_STEPS];
} function_steps;

typedef struct function_fault {
  int at; /* offset in the text */
  char message[FUNCTION_MESSAGE];
} function_fault;

/* The arity of a kop and what it gives, as kops.def says. */
const sm_kop_info *function_kop_info(sm_kop kop);

/* Parses `source`; other functions are looked up in `all`. On failure `fault`
 * says what is wrong, and where in the text of `source`. */
bool function_parse(const function_source *source, const function_source *all, int n_all,
                    function_steps *steps, function_fault *fault);

#endif
