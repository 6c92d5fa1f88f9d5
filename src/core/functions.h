/* SPDX-License-Identifier: Apache-2.0
 *
 * Functions of floats as expansions into primitives.
 *
 * Purpose. What exp is, is written once, in functions.def, with primitive scalar
 * operations only. Everything else follows: opgen writes C functions
 * (functions_gen.h), which are the bodies of the kops and so what the evaluator,
 * interpreter loops and op-level reference run, and tables of the same steps
 * (functions_gen.c), from which sm_kir_expand makes what code generators see.
 * Since primitives are exact by definition, all of them give the same bits.
 *
 * Vocabulary. A *primitive* is a kop with a body of its own for the dtype; all
 * other kops of floats are *functions*. A *step* applies a primitive or is a
 * literal; a function is a list of steps whose last one is its result. *Values*
 * are numbered: first the parameters, then the steps.
 *
 * Invariants: arguments are earlier values; no step is a function; no two steps
 * are equal; every step is needed; there are at most SM_FUNCTION_STEPS. Functions
 * have no branches and no memory. */
#ifndef SM_CORE_FUNCTIONS_H
#define SM_CORE_FUNCTIONS_H

#include "core/kops.h"
#include "core/scalar.h"

enum { SM_FUNCTION_ARGS = 3, SM_FUNCTION_STEPS = 255 };

typedef struct sm_function_step {
  uint8_t kop;                    /* sm_kop, SM_KOP_NONE for a literal */
  uint8_t dtype;                  /* smelt_dtype of the value */
  int16_t args[SM_FUNCTION_ARGS]; /* values; as many as the kop has */
  sm_word literal;
} sm_function_step;

typedef struct sm_function {
  int arity;
  int n_steps;
  const sm_function_step *steps;
} sm_function;

/* NULL for a primitive, and for what does not exist. `dtype` is the operands'. */
const sm_function *sm_kop_function(sm_kop kop, smelt_dtype dtype);

#endif
