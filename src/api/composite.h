/* SPDX-License-Identifier: Apache-2.0
 *
 * Composites: operations that are recorded as several others, so that fusion sees
 * through them and drivers need not know them. The column .doc of ops.def says which. */
#ifndef SM_API_COMPOSITE_H
#define SM_API_COMPOSITE_H

#include "ir/infer.h"

/* Records the call of a composite on operands, which are taken and of which the first
 * has this shape; `inferred` and `attrs` are the call's. */
smelt_tensor *sm_composite_record(sm_opcode code, smelt_tensor *const *operands, const sm_shape *shape,
                                  const sm_inferred *inferred, const smelt_attrs *attrs);

#endif
