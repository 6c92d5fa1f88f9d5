/* SPDX-License-Identifier: Apache-2.0
 *
 * Where a cluster that is too long for one kernel is cut. */
#ifndef SM_PLAN_CUT_H
#define SM_PLAN_CUT_H

#include "plan/fuser.h"

/* How many of the records `ops` (ascending, all of one kernel if it could be) the first
 * kernel gets: all of them if that is within the limit, where a roll (plan/roll.h)
 * counts its period once. Otherwise it is cut behind the last whole period, or where
 * nothing repeats in the second half of what is allowed, where the fewest bytes are
 * carried over. With `limits->exact` every record counts, and the cut is where the limit
 * is. `escapes` is by value, as for rolls. False when memory is exhausted. */
bool sm_cut_find(const sm_segment *segment, const uint32_t *ops, int n_ops, const sm_limits *limits,
                 const bool *escapes, sm_arena *arena, int *out);

#endif
