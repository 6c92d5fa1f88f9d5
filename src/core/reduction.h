/* SPDX-License-Identifier: Apache-2.0
 *
 * Reductions of elements to one, and the order in which they are combined.
 *
 * The *canonical tree* makes results independent of vector width, threads, memory
 * layout and the shape of the kernel. The reduced elements are numbered by the
 * row-major index over the reduced axes of the logical shape. They form *blocks* of
 * SM_TREE_BLOCK; in a block element i belongs to *lane* i mod SM_TREE_LANES, and each
 * lane is combined in ascending order, beginning with the neutral element. Lanes are
 * combined l with l + 8, then + 4, + 2, + 1. Blocks are combined by a binary counter:
 * two of the same level at once, and what is left in the end from the smallest to the
 * largest. The earlier one is always the left operand. Elements that a last block
 * lacks are neutral.
 *
 * So the sum of floats begins with -0, which changes no element; a sum of nothing is
 * +0. Floats shorter than f32 are accumulated in f32 and rounded once. A mean is
 * divided by the count before that. Those that give an index need no tree: the first
 * of the best wins, and a NaN is the best.
 *
 * *Centered* ones are no operations: kernels of the fast mode make them where a program sums up, or
 * averages, squares of what elements differ from their mean. That takes a pass less, and rounds
 * otherwise than to subtract the mean first. */
#ifndef SM_CORE_REDUCTION_H
#define SM_CORE_REDUCTION_H

#include "core/kops.h"
#include "core/scalar.h"

enum { SM_TREE_BLOCK = 256, SM_TREE_LANES = 16 };

typedef enum sm_reduction {
  SM_REDUCTION_NONE,
  SM_REDUCTION_SUM,
  SM_REDUCTION_MEAN,
  SM_REDUCTION_PROD,
  SM_REDUCTION_MAX,
  SM_REDUCTION_MIN,
  SM_REDUCTION_ANY,
  SM_REDUCTION_ALL,
  SM_REDUCTION_ARGMAX,
  SM_REDUCTION_ARGMIN,
  SM_REDUCTION_DEVIATIONS, /* centered: the sum of the squares */
  SM_REDUCTION_VARIANCE    /* centered: their mean */
} sm_reduction;

/* "sum". */
const char *sm_reduction_name(sm_reduction reduction);
/* What combines two elements, of those that give an index the better of two, of centered ones their
 * squares. */
sm_kop sm_reduction_kop(sm_reduction reduction);
/* Combined with an element of this dtype (no half) it gives the element. */
sm_word sm_reduction_neutral(sm_reduction reduction, smelt_dtype dtype);
static inline bool sm_reduction_gives_index(sm_reduction reduction) {
  return reduction == SM_REDUCTION_ARGMAX || reduction == SM_REDUCTION_ARGMIN;
}
static inline bool sm_reduction_is_centered(sm_reduction reduction) {
  return reduction == SM_REDUCTION_DEVIATIONS || reduction == SM_REDUCTION_VARIANCE;
}
/* Whether it is divided by the number of elements in the end. */
static inline bool sm_reduction_averages(sm_reduction reduction) {
  return reduction == SM_REDUCTION_MEAN || reduction == SM_REDUCTION_VARIANCE;
}
/* Whether a reduction of nothing has no value. */
static inline bool sm_reduction_needs_elements(sm_reduction reduction) {
  return sm_reduction_gives_index(reduction) || reduction == SM_REDUCTION_MAX ||
         reduction == SM_REDUCTION_MIN;
}

#endif
