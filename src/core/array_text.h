/* SPDX-License-Identifier: Apache-2.0
 *
 * An array as text, the way print() shows it in NumPy 2.3 and later.
 *
 * Vocabulary. A *word* is one element; all words of an array are equally wide,
 * so that columns line up. A *visible* element is one that is printed: above
 * 1000 elements every axis longer than 6 shows its first and last 3 around
 * "...", and only the visible elements decide about widths and notation.
 *
 * Floats show the shortest digits that read back as the same value of their own
 * dtype, at most 8 after the point; integral values keep the point ("1."). All
 * words are scientific if one magnitude (finite, not zero) is at least 1e8
 * (f32: 1e6, f16: 1e3), one is below 1e-4, or the largest exceeds 1000 times the
 * smallest. Lines are at most 75 wide. A rank 0 array is its plain value with
 * all its digits ("0.1", "1e-05", "3.0", "True"); an empty one is "[]".
 *
 * NumPy has no bf16: it is shown by the rules for f32, with the shortest digits
 * that read back as the same bf16.
 *
 * The text depends on nothing but the arguments: not on the locale, not on the
 * width of a terminal. */
#ifndef SM_CORE_ARRAY_TEXT_H
#define SM_CORE_ARRAY_TEXT_H

#include "base/text.h"
#include "core/shape.h"

/* Adds the array, without a final newline. `data` is row-major; NULL is allowed
 * if there are no elements. Memory is the only thing that can fail, which
 * `text` remembers. */
void sm_array_print(sm_text *text, smelt_dtype dtype, const sm_shape *shape, const void *data);

#endif
