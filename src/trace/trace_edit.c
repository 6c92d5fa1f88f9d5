/* SPDX-License-Identifier: Apache-2.0
 *
 * Changing a trace whose steps are there: who uses a local, and leaving out what nobody uses. */
#include <string.h>

#include "trace/trace_builder.h"

enum { ELEMENTS, RESULTS };

/* Answers a number for a place that names a local, or changes it. */
typedef int visit_fn(int32_t *local, int32_t wanted);

static int names(int32_t *local, int32_t wanted) { return *local == wanted; }

static int count_down(int32_t *local, int32_t removed) {
  *local -= *local > removed;
  return 0;
}

/* The sum over all places that name locals of block `b`: its steps, tasks and, in the
 * block of the elements, what is spread over them. */
static int visit_locals(sm_trace *trace, size_t b, visit_fn *visit, int32_t wanted) {
  int sum = 0;
  const sm_block *block = &trace->blocks.items[b];
  for (size_t i = 0; i < block->steps.len; i++) {
    for (int k = 0; k < 3; k++) sum += visit(&block->steps.items[i].args[k], wanted);
  }
  if (!trace->tasks.len) return sum;
  for (size_t i = 0; i < trace->tasks.len && b == ELEMENTS; i++) {
    sum += visit(&trace->tasks.items[i].local, wanted);
  }
  const sm_block *elements = &trace->blocks.items[ELEMENTS];
  for (size_t i = 0; i < elements->steps.len && b == RESULTS; i++) {
    sm_step *step = &elements->steps.items[i];
    if (step->kind == SM_STEP_SPREAD) sum += visit(&step->index, wanted);
  }
  return sum;
}

int sm_trace_count_uses(sm_trace *trace, size_t b, int32_t local) {
  return visit_locals(trace, b, names, local);
}

void sm_trace_remove_step(sm_trace *trace, size_t b, int32_t at) {
  sm_block *block = &trace->blocks.items[b];
  sm_step *steps = block->steps.items;
  block->steps.len--;
  memmove(steps + at, steps + at + 1, (block->steps.len - (size_t)at) * sizeof *steps);
  (void)visit_locals(trace, b, count_down, at);
  (void)count_down(&block->loop.begin, at);
  (void)count_down(&block->loop.end, at);
}

static void drop_unused_steps(sm_trace *trace, size_t b) {
  for (int32_t i = (int32_t)trace->blocks.items[b].steps.len - 1; i >= 0; i--) {
    bool writes = trace->blocks.items[b].steps.items[i].kind == SM_STEP_WRITE;
    if (!writes && sm_trace_count_uses(trace, b, i) == 0) sm_trace_remove_step(trace, b, i);
  }
}

/* The number of a task's results that the second block uses. Those of later tasks move up if `removes`. */
static int visit_task(sm_trace *trace, int32_t task, bool removes) {
  int uses = 0;
  for (size_t i = 0; i < trace->blocks.items[RESULTS].steps.len; i++) {
    sm_step *step = &trace->blocks.items[RESULTS].steps.items[i];
    if (step->kind != SM_STEP_REDUCED) continue;
    uses += step->index == task;
    if (removes) step->index -= step->index > task;
  }
  return uses;
}

static void drop_unused_tasks(sm_trace *trace) {
  for (int32_t t = (int32_t)trace->tasks.len - 1; t >= 0; t--) {
    if (visit_task(trace, t, false)) continue;
    sm_trace_task *at = &trace->tasks.items[t];
    (void)visit_task(trace, t, true);
    trace->tasks.len--;
    memmove(at, at + 1, (trace->tasks.len - (size_t)t) * sizeof *at);
  }
}

void sm_trace_drop_unused(sm_trace *trace) {
  drop_unused_steps(trace, ELEMENTS);
  drop_unused_steps(trace, RESULTS);
  drop_unused_tasks(trace);
  drop_unused_steps(trace, ELEMENTS);
}
