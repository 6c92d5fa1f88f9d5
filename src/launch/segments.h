/* SPDX-License-Identifier: Apache-2.0
 *
 * Cutting a block's steps into segments, and where values wait in between.
 *
 * Segments are runs of steps of about equal cost. A computed value that a later
 * segment uses is kept in a *slot*, a local buffer of one tile; slots are used
 * again once their value is dead. Reads, scalars, literals and the index are
 * not kept but done again: a tile of an input is in the first-level cache. A loop is
 * never cut: what its trips hand on stays in registers. */
#ifndef SM_LAUNCH_SEGMENTS_H
#define SM_LAUNCH_SEGMENTS_H

#include "trace/trace.h"

enum { SM_NO_SLOT = -1 };

typedef struct sm_segments {
  int n;
  int32_t *begin; /* by segment: its first step; begin[n] is the end */
  int32_t *slot;  /* by step: where its value is kept, or SM_NO_SLOT */
  int n_slots;
  smelt_dtype *dtype; /* by slot */
} sm_segments;

/* In the units of kops.def. */
int sm_step_cost(const sm_step *step);

/* Whether a later segment finds the step's value in a slot. */
bool sm_step_is_kept(const sm_step *step);

/* One segment if `limit` is 0. Everything lives in `arena`; false without
 * memory. */
bool sm_segments_cut(const sm_block *block, int limit, sm_arena *arena, sm_segments *out);

#endif
