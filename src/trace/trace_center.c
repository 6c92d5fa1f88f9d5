/* SPDX-License-Identifier: Apache-2.0
 *
 * Sums and means of (x - m) * (x - m), where m is the mean of x over the same axes, become tasks that
 * are made of x itself: they need no m, and so no pass after the one that makes it. */
#include "trace/trace_builder.h"

static const sm_step *step_at(const sm_block *block, int32_t local) {
  return local == SM_NO_LOCAL ? NULL : &block->steps.items[local];
}

static bool computes(const sm_step *step, sm_kop kop) {
  return step && step->kind == SM_STEP_COMPUTE && step->kop == kop;
}

/* Whether local `m` of the elements is the mean of their local `x`. */
static bool is_mean_of(const sm_trace_builder *b, const sm_block *elements, int32_t m, int32_t x) {
  const sm_step *spread = step_at(elements, m);
  if (spread->kind != SM_STEP_SPREAD) return false;
  const sm_step *reduced = &b->results->steps.items[spread->index];
  if (reduced->kind != SM_STEP_REDUCED) return false;
  const sm_trace_task *task = &b->trace->tasks.items[reduced->index];
  return task->reduction == SM_REDUCTION_MEAN && task->local == x;
}

void sm_trace_center_task(const sm_trace_builder *b, const sm_block *elements, sm_trace_task *task) {
  bool sums = task->reduction == SM_REDUCTION_SUM, averages = task->reduction == SM_REDUCTION_MEAN;
  const sm_step *square = step_at(elements, task->local);
  if (!(sums || averages) || !computes(square, SM_KOP_MUL) || square->args[0] != square->args[1]) return;
  const sm_step *difference = step_at(elements, square->args[0]);
  if (!computes(difference, SM_KOP_SUB)) return;
  int32_t x = difference->args[0], m = difference->args[1];
  if (!is_mean_of(b, elements, m, x) && !is_mean_of(b, elements, x, m)) return;
  if (!is_mean_of(b, elements, m, x)) x = m;
  *task = (sm_trace_task){averages ? SM_REDUCTION_VARIANCE : SM_REDUCTION_DEVIATIONS, task->dtype, x,
                          step_at(elements, x)->pass};
}
