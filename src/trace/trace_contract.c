/* SPDX-License-Identifier: Apache-2.0
 *
 * Contraction, in fast mode: a product that is used once, as a term of a sum, is not
 * rounded by itself: both become one fused multiply-add. A product from before a loop
 * stays there, where it is computed once. */
#include "trace/trace.h"

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

static bool is_product(sm_trace *trace, size_t b, int32_t local, int32_t sum) {
  const sm_block *block = &trace->blocks.items[b];
  const sm_step *step = &block->steps.items[local];
  return step->kind == SM_STEP_COMPUTE && step->kop == SM_KOP_MUL &&
         sm_block_in_loop(block, local) == sm_block_in_loop(block, sum) &&
         visit_locals(trace, b, names, local) == 1;
}

/* The argument of step `at` that a multiply-add can take in, -1 if there is none. */
static int contractible(sm_trace *trace, size_t b, int32_t at) {
  const sm_step *step = &trace->blocks.items[b].steps.items[at];
  bool sum =
      step->kind == SM_STEP_COMPUTE && step->kop == SM_KOP_ADD && sm_kind_of(step->dtype) == SM_KIND_FLOAT;
  for (int k = 0; sum && k < 2; k++) {
    if (is_product(trace, b, step->args[k], at)) return k;
  }
  return -1;
}

/* Removes a step that nobody uses. */
static void remove_step(sm_trace *trace, size_t b, int32_t at) {
  sm_block *block = &trace->blocks.items[b];
  sm_step *steps = block->steps.items;
  block->steps.len--;
  memmove(steps + at, steps + at + 1, (block->steps.len - (size_t)at) * sizeof *steps);
  (void)visit_locals(trace, b, count_down, at);
  (void)count_down(&block->loop.begin, at);
  (void)count_down(&block->loop.end, at);
}

static void contract_at(sm_trace *trace, size_t b, int32_t at, int term) {
  sm_step *steps = trace->blocks.items[b].steps.items, *sum = &steps[at];
  int32_t product = sum->args[term], other = sum->args[1 - term];
  const int32_t *factors = steps[product].args;
  sum->kop = SM_KOP_FMA;
  memcpy(sum->args, (int32_t[]){factors[0], factors[1], other}, sizeof sum->args);
  remove_step(trace, b, product);
}

void sm_trace_contract(sm_trace *trace) {
  for (size_t b = 0; b < trace->blocks.len; b++) {
    for (int32_t at = 0; at < (int32_t)trace->blocks.items[b].steps.len; at++) {
      int term = contractible(trace, b, at);
      if (term < 0) continue;
      contract_at(trace, b, at, term);
      at--; /* the step that was there is one place before */
    }
  }
}
