/* SPDX-License-Identifier: Apache-2.0
 *
 * What the log and the observer are told of a plan that is about to run. */
#ifndef SM_FUSERS_REPORT_PLAN_H
#define SM_FUSERS_REPORT_PLAN_H

#include "launch/run_trace.h"
#include "plan/plan.h"

/* Why records are apart, and the plan's picture. */
void sm_report_plan(const sm_launch_env *env, const sm_segment *segment, const sm_plan *plan);

/* One of its clusters. */
void sm_report_block(const sm_launch_env *env, const sm_segment *segment, const sm_cluster *cluster);

#endif
