/* SPDX-License-Identifier: Apache-2.0
 *
 * Clusters that are done again by whoever reads them.
 *
 * A small tensor that is computed from others and then broadcast cannot be in one kernel
 * with its readers, which have another shape. If they compute it themselves, it is neither
 * written nor read, and a launch is saved; but each of its elements is computed several
 * times. So a cluster becomes a guest of all its readers (plan/dissolve.h) if that moves
 * fewer bytes and its elements are computed SM_RATIO_MOST times at most, which is what
 * plans know of sizes (ir/relative.h). What reads a guest is none itself. */
#ifndef SM_PLAN_RECOMPUTE_H
#define SM_PLAN_RECOMPUTE_H

#include "plan/fuser.h"

/* More records than this are not done again: they cost more than memory. */
enum { SM_RECOMPUTED_OPS = 4 };

/* A cluster that may be. */
typedef struct sm_recomputed {
  const sm_segment *segment;
  uint32_t ops[SM_RECOMPUTED_OPS];
  int n_ops;
  int readers; /* clusters */
  int ratio;   /* how often an element is computed, in the reader that does so most */
} sm_recomputed;

/* Whether its records can be computed at any place, and nobody else wants their results. */
bool sm_recompute_allowed(const sm_recomputed *what);
/* Notes that record `consumer` of another cluster reads the result of `producer`; false if
 * it cannot compute that itself. */
bool sm_recompute_reads(sm_recomputed *what, uint32_t producer, uint32_t consumer);
/* Once all readers are noted. */
bool sm_recompute_pays(const sm_recomputed *what);

#endif
