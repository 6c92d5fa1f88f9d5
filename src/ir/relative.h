/* SPDX-License-Identifier: Apache-2.0
 *
 * The relative form of a segment: what of it decides how it is planned.
 *
 * Purpose. Two segments with equal relative forms and equal size orders have the
 * same plan, kernels included, whatever their tensors, extents and scalars are. A
 * plan cache compares these forms word by word.
 *
 * Vocabulary. Values are numbered by first use, which is how segments number them
 * anyway. The *form* holds operations with the axes that they name, dtypes, ranks,
 * which axes have extent 1 (so broadcast patterns follow), which values come from
 * outside and which are alive at the end. It holds no extents, no scalar values, no
 * ranges, no identities. The *size order*
 * is what a planner may ask about sizes: which values have equal shapes, the order of
 * the values by bytes, and how often elementwise operations use an element of what the
 * segment makes, as far as SM_RATIO_MOST times. */
#ifndef SM_IR_RELATIVE_H
#define SM_IR_RELATIVE_H

#include "ir/op.h"

typedef sm_vec(uint64_t) sm_words;

/* Appends the form of an ended segment (its live marks are set). False when memory
 * is exhausted. */
bool sm_relative_form(const sm_segment *segment, const sm_allocator *allocator, sm_words *out);

enum { SM_RATIO_MOST = 4 };

/* How many elements of the result use an element of tensor operand `k`, which a record of the
 * segment defines: rounded up to a power of two, 2 * SM_RATIO_MOST for more than SM_RATIO_MOST;
 * 1 where the operation is not elementwise or there are no elements. */
int sm_relative_ratio(const sm_segment *segment, const sm_op *op, int k);

/* Appends the size order: a word a value, and one a ratio that is not 1. False when memory is
 * exhausted. */
bool sm_relative_sizes(const sm_segment *segment, const sm_allocator *allocator, sm_words *out);

#endif
