/* SPDX-License-Identifier: Apache-2.0 */
#include "fusers/report_plan.h"

/* --- Why records are apart -------------------------------------------------------- */

static void report_refusal(const sm_launch_env *env, const sm_segment *segment, const sm_refusal *refusal,
                           const sm_limits *limits) {
  if (!sm_log_on(env->log, SM_LOG_REFUSE)) return;
  sm_text text;
  sm_text_init(&text, env->device->allocator);
  sm_plan_print_refusal(&text, segment, refusal, limits);
  sm_log_text(env->log, &text);
}

static void log_picture(const sm_launch_env *env, const sm_segment *segment, const sm_plan *plan) {
  if (!sm_log_on(env->log, SM_LOG_DOT)) return;
  sm_text text;
  sm_text_init(&text, env->device->allocator);
  sm_plan_print_dot(&text, segment, plan);
  sm_log_text(env->log, &text);
}

void sm_report_plan(const sm_launch_env *env, const sm_segment *segment, const sm_plan *plan,
                    const sm_limits *limits) {
  for (int i = 0; i < plan->n_refusals; i++) report_refusal(env, segment, &plan->refusals[i], limits);
  log_picture(env, segment, plan);
}

/* --- Blocks ------------------------------------------------------------------------- */

void sm_report_block(const sm_launch_env *env, const sm_segment *segment, const sm_cluster *cluster) {
  if (!sm_log_on(env->log, SM_LOG_BLOCK)) return;
  sm_text text;
  sm_text_init(&text, env->device->allocator);
  sm_plan_print_block(&text, segment, cluster);
  sm_log_text(env->log, &text);
}
