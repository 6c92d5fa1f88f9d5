/* SPDX-License-Identifier: Apache-2.0
 *
 * Places that whole rows have.
 *
 * What is gathered along an outer axis has, in each row of the innermost one, a single
 * place for all elements: rows of a table are copied, and the place is computed once a
 * row. Such a gather is *fixed*; the steps that only fixed gathers need are no part of
 * what is done for every element. */
#ifndef SM_LAUNCH_ROW_PLACES_H
#define SM_LAUNCH_ROW_PLACES_H

#include "launch/launch_plan.h"

/* By step. */
typedef struct sm_row_places {
  bool *fixed;   /* a gather whose place is the same along the innermost axis */
  bool *in_row;  /* needed once a row, for the places of fixed gathers */
  bool *in_body; /* needed for every element */
} sm_row_places;

/* For a block and its plan. Everything lives in `arena`; false without memory. */
bool sm_row_places_find(const sm_block *block, const sm_block_plan *plan, sm_arena *arena,
                        sm_row_places *out);

/* Argument `k` of a step as the body needs it: SM_NO_LOCAL where it does not. */
static inline int32_t sm_row_places_body_arg(const sm_row_places *p, const sm_block *block, int32_t step,
                                             int k) {
  return p->in_body[step] && !p->fixed[step] ? block->steps.items[step].args[k] : SM_NO_LOCAL;
}

#endif
