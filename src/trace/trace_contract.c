/* SPDX-License-Identifier: Apache-2.0
 *
 * Contraction, in fast mode: a product that is used once, as a term of a sum, is not
 * rounded by itself: both become one fused multiply-add. A product from before a loop
 * stays there, where it is computed once. */
#include "trace/trace_builder.h"

static bool is_product(sm_trace *trace, size_t b, int32_t local, int32_t sum) {
  const sm_block *block = &trace->blocks.items[b];
  const sm_step *step = &block->steps.items[local];
  return step->kind == SM_STEP_COMPUTE && step->kop == SM_KOP_MUL &&
         sm_block_in_loop(block, local) == sm_block_in_loop(block, sum) &&
         sm_trace_count_uses(trace, b, local) == 1;
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

static void contract_at(sm_trace *trace, size_t b, int32_t at, int term) {
  sm_step *steps = trace->blocks.items[b].steps.items, *sum = &steps[at];
  int32_t product = sum->args[term], other = sum->args[1 - term];
  const int32_t *factors = steps[product].args;
  sum->kop = SM_KOP_FMA;
  memcpy(sum->args, (int32_t[]){factors[0], factors[1], other}, sizeof sum->args);
  sm_trace_remove_step(trace, b, product);
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
