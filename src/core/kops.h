/* SPDX-License-Identifier: Apache-2.0
 *
 * Scalar kernel operations ("kops"): what a single element goes through. Both
 * IRs share them; the table is kops.def.
 *
 * sm_kop_eval gives the loop that the kernel evaluator and the op-level
 * reference run. Loops read n elements from each operand array and write n;
 * arrays may be the same but must not overlap otherwise. */
#ifndef SM_CORE_KOPS_H
#define SM_CORE_KOPS_H

#include "core/cpu_level.h"
#include "core/dtype.h"

typedef enum sm_kop {
  SM_KOP_NONE,
#define KOP(id, name, arity, result, cost) SM_KOP_##id,
#include "core/kops_rows.h"
  SM_KOP_COUNT
} sm_kop;

typedef enum sm_kop_result {
  SM_RESULT_SAME,
  SM_RESULT_TEST,
  SM_RESULT_SELECT,
  SM_RESULT_CONVERT
} sm_kop_result;

typedef struct sm_kop_info {
  const char *name;
  uint8_t arity;
  sm_kop_result result;
  uint8_t cost;
} sm_kop_info;

const sm_kop_info *sm_kop_info_of(sm_kop kop);
/* The kop of that name (of `n` characters), SM_KOP_NONE if there is none. */
sm_kop sm_kop_find(const char *name, size_t n);

/* Bit k of `uniform`: operand k has one value, of which only SM_KOP_BLOCK copies (or
 * n, if that is less) are there. */
enum { SM_KOP_BLOCK = 64 };
typedef void sm_kop_loop(size_t n, void *out, const void *const *in, unsigned uniform);

/* The loop for operands of dtype `in` (for SELECT: that of the two choices) and
 * a result of dtype `out`; NULL if the kop does not exist for them. It runs on
 * any processor. */
sm_kop_loop *sm_kop_eval(sm_kop kop, smelt_dtype in, smelt_dtype out);
/* The same with the instructions of a level, which the processor must have; the
 * bits are the same. */
sm_kop_loop *sm_kop_eval_level(sm_cpu_level level, sm_kop kop, smelt_dtype in, smelt_dtype out);
/* One of them for each level that the compiler does not use anyway (kop_level.h). */
sm_kop_loop *sm_kop_eval_baseline(sm_kop kop, smelt_dtype in, smelt_dtype out);
sm_kop_loop *sm_kop_eval_avx2(sm_kop kop, smelt_dtype in, smelt_dtype out);
sm_kop_loop *sm_kop_eval_avx512(sm_kop kop, smelt_dtype in, smelt_dtype out);

/* The result's dtype for operands of dtype `in`, where the kop decides it
 * (not CONVERT). */
static inline smelt_dtype sm_kop_result_dtype(sm_kop kop, smelt_dtype in) {
  return sm_kop_info_of(kop)->result == SM_RESULT_TEST ? SMELT_BOOL : in;
}

#endif
