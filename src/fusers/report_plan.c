/* SPDX-License-Identifier: Apache-2.0 */
#include "fusers/report_plan.h"

#include "base/observer.h"

/* --- Why records are apart -------------------------------------------------------- */

static uint64_t result_of(const sm_segment *segment, uint32_t op) {
  return segment->values.items[segment->ops.items[op].out].id;
}

static void report_refusal(const sm_launch_env *env, const sm_segment *segment, const sm_refusal *refusal) {
  sm_tell(env->log, apart, .producer = result_of(segment, refusal->producer),
          .consumer = result_of(segment, refusal->consumer), .reason = sm_reason_code(refusal->reason),
          .meaning = sm_reason_sentence(refusal->reason), .bindings = refusal->bindings,
          .limit = refusal->limit);
  if (!sm_log_on(env->log, SM_LOG_REFUSE)) return;
  sm_text text;
  sm_text_init(&text, env->device->allocator);
  sm_plan_print_refusal(&text, segment, refusal);
  sm_log_text(env->log, &text);
}

static void log_picture(const sm_launch_env *env, const sm_segment *segment, const sm_plan *plan) {
  if (!sm_log_on(env->log, SM_LOG_DOT)) return;
  sm_text text;
  sm_text_init(&text, env->device->allocator);
  sm_plan_print_dot(&text, segment, plan);
  sm_log_text(env->log, &text);
}

void sm_report_plan(const sm_launch_env *env, const sm_segment *segment, const sm_plan *plan) {
  for (int i = 0; i < plan->n_refusals; i++) report_refusal(env, segment, &plan->refusals[i]);
  log_picture(env, segment, plan);
}

/* --- Blocks ------------------------------------------------------------------------- */

static void tell_block(const sm_launch_env *env, const sm_segment *segment, const sm_cluster *cluster) {
  size_t n = (size_t)cluster->n_ops;
  uint64_t *tensors = sm_calloc(&sm_malloc_allocator, n, sizeof *tensors);
  if (!tensors) return;
  for (size_t i = 0; i < n; i++) tensors[i] = result_of(segment, cluster->ops[i]);
  sm_tell(env->log, block, .fuser = cluster->fuser ? cluster->fuser->name : "none", .tensors = tensors,
          .operations = n);
  sm_free(&sm_malloc_allocator, tensors, n * sizeof *tensors);
}

void sm_report_block(const sm_launch_env *env, const sm_segment *segment, const sm_cluster *cluster) {
  if (sm_observed(env->log, block)) tell_block(env, segment, cluster);
  if (!sm_log_on(env->log, SM_LOG_BLOCK)) return;
  sm_text text;
  sm_text_init(&text, env->device->allocator);
  sm_plan_print_block(&text, segment, cluster);
  sm_log_text(env->log, &text);
}
