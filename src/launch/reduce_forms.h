/* SPDX-License-Identifier: Apache-2.0
 *
 * What the files that choose forms of reductions have in common: reduce_form.c for all, and
 * reduce_team_form.c for teams. */
#ifndef SM_LAUNCH_REDUCE_FORMS_H
#define SM_LAUNCH_REDUCE_FORMS_H

#include "launch/reduce_skeleton.h"

static inline int64_t sm_ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }

/* Digits of a power of two that is not below n. */
static inline int sm_log2_above(int64_t n) {
  int digits = 0;
  while (((int64_t)1 << digits) < n) digits++;
  return digits;
}

/* --- All (reduce_form.c) ---------------------------------------------------------------------- */

/* Of an item, where stages share it out. */
int64_t sm_reduce_groups(const sm_reduce_form *form, const sm_reduce_extents *extents);
/* Blocks of one: about as many elements for any number of columns. */
int sm_reduce_choose_group(int64_t inner);
/* Whether an item makes several passes, of which all but the first find the caches filled. */
bool sm_reduce_is_resident(const sm_reduce_form *form);
/* Of a vector of elements of so many bytes. */
int sm_reduce_lanes_of(int bytes, const sm_profile *profile);

/* --- Teams (reduce_team_form.c) --------------------------------------------------------------- */

bool sm_reduce_runs_teams(const sm_profile *profile);
bool sm_reduce_is_worth_team(const sm_reduce_form *form, const sm_reduce_extents *extents,
                             const sm_profile *profile);
/* All that a team's form has. Parts of a result have so many bytes, vectors of what is combined so many
 * lanes. */
void sm_reduce_choose_team(sm_reduce_form *form, const sm_reduce_extents *extents, int bytes, int vector,
                           const sm_profile *profile);
/* Of teams that make whole results, and find their rows in the caches if they are no columns. */
bool sm_reduce_are_few_teams(const sm_reduce_extents *extents, int passes);

#endif
