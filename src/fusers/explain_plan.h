/* SPDX-License-Identifier: Apache-2.0
 *
 * A plan as a note: who is in which kernel, and why not in another. */
#ifndef SM_FUSERS_EXPLAIN_PLAN_H
#define SM_FUSERS_EXPLAIN_PLAN_H

#include "launch/explain.h"
#include "plan/plan.h"

/* NULL if nobody asks. Kernels are added in the plan's order, as they run. */
sm_note *sm_explain_plan(sm_explainer *explainer, const sm_segment *segment, const sm_plan *plan);

#endif
