/* SPDX-License-Identifier: Apache-2.0
 *
 * Where a cluster is cut: if it is too long for one kernel, or if it repeats with new
 * tensors.
 *
 * A program that iterates, with a new tensor in every period, is no roll (plan/roll.h).
 * A kernel for each number of periods would be compiled for each. So what repeats is cut
 * into pieces of powers of two of the period, the largest first, and what stands before it
 * goes with its first period: a few kernels serve any number. What is left at the end,
 * fewer than SM_CUT_PERIODS, stays together with what follows. */
#ifndef SM_PLAN_CUT_H
#define SM_PLAN_CUT_H

#include "plan/fuser.h"

enum { SM_CUT_PERIODS = 4 };

/* What is cut: records `ops` (ascending), all of one kernel if it could be. */
typedef struct sm_cut {
  const sm_segment *segment;
  const uint32_t *ops;
  int n_ops;
  const sm_limits *limits;
  const bool *escapes; /* by value, as for rolls */
  const bool *guest;   /* by record */
} sm_cut;

/* The records that the first kernel gets. */
typedef struct sm_piece {
  int n_ops;
  int period;       /* it is so many records again and again; 0: it is not */
  sm_reason reason; /* why it ends there */
} sm_piece;

/* All of the records, if that is within the limit, where a roll counts its period once, and
 * if they do not repeat with new tensors. Otherwise it ends behind the last whole period,
 * or where nothing repeats in the second half of what is allowed, where the fewest bytes
 * are carried over. With `limits->exact` every record counts, and the cut is where the
 * limit is. False when memory is exhausted. */
bool sm_cut_find(const sm_cut *cut, sm_arena *arena, sm_piece *out);

/* Makes a piece of more than one record that a kernel cannot bind shorter. */
void sm_cut_shorten(sm_piece *piece);

#endif
