/* SPDX-License-Identifier: Apache-2.0
 *
 * Elements of .smt files: from the written form to memory, and compared. */
#ifndef SMELT_TOOL_SMT_ELEMENTS_H
#define SMELT_TOOL_SMT_ELEMENTS_H

#include "ir/smt.h"

/* Writes `count` elements of `dtype`; a list has as many. ERR_DTYPE or
 * ERR_ARGUMENT if a value does not go with the dtype. */
smelt_status smt_elements_write(const sm_smt_data *data, smelt_dtype dtype, size_t count, void *out,
                                smelt_error *err);

/* Equal bits, or at most `ulp` representable floats apart (-0 and 0 are then
 * equal, infinities only to themselves). NaN equals NaN, of any kind. */
bool smt_element_matches(smelt_dtype dtype, const void *actual, const void *expected, int64_t ulp);

#endif
