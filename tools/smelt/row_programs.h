/* SPDX-License-Identifier: Apache-2.0
 *
 * Normalizations of rows written with single operations, as a program without
 * composites would: what bench measures and lab shows. Each takes x; a row lies along
 * `axis`. */
#ifndef SMELT_TOOL_ROW_PROGRAMS_H
#define SMELT_TOOL_ROW_PROGRAMS_H

#include "smelt/smelt.h"

/* e / sum(e) with e = exp(x - max(x)). */
smelt_tensor *row_softmax(smelt_tensor *x, int axis);
/* row_rms_norm(x - mean(x)). */
smelt_tensor *row_layer_norm(smelt_tensor *x, int axis);
/* x * rsqrt(mean(x*x) + 1e-5). */
smelt_tensor *row_rms_norm(smelt_tensor *x, int axis);

/* Sums without the row's axis, or with an extent of 1 in its place. */
smelt_tensor *row_sum(smelt_tensor *x, int axis, bool keepdims);

#endif
