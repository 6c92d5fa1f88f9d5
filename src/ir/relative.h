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
 * is what a planner may ask about sizes: which values have equal shapes, and the
 * order of the values by bytes. */
#ifndef SM_IR_RELATIVE_H
#define SM_IR_RELATIVE_H

#include "ir/op.h"

typedef sm_vec(uint64_t) sm_words;

/* Appends the form of an ended segment (its live marks are set). False when memory
 * is exhausted. */
bool sm_relative_form(const sm_segment *segment, const sm_allocator *allocator, sm_words *out);

/* Appends the size order, one word a value. False when memory is exhausted. */
bool sm_relative_sizes(const sm_segment *segment, const sm_allocator *allocator, sm_words *out);

#endif
