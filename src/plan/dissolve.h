/* SPDX-License-Identifier: Apache-2.0
 *
 * Records that are done again by whoever reads them.
 *
 * A creation or a conversion (ir/op.h, sm_op_is_cheap) costs less than memory. So it
 * need not have the shape of the kernel that reads it: it *dissolves* into each of its
 * readers, which read its operand in its place, as their *guest*, and no memory is made
 * for it. That pays unless a conversion to a much smaller dtype would be read often. */
#ifndef SM_PLAN_DISSOLVE_H
#define SM_PLAN_DISSOLVE_H

#include "plan/fuser.h"

/* Sets dissolved[i] for every record that dissolves: needed, not wanted itself, and of the
 * same fuser as all its readers; `fuser` and `needed` are by record. False when memory is
 * exhausted. */
bool sm_dissolve(const sm_segment *segment, const sm_fuser *const *fuser, const bool *needed, sm_arena *arena,
                 bool *dissolved);

#endif
