/* SPDX-License-Identifier: Apache-2.0 */
#include "launch/chains.h"

#include <string.h>

/* --- One chain ------------------------------------------------------------------------ */

/* It refers to the whole trace; NULL when memory is exhausted. */
static const sm_trace *first_chain(const sm_trace *trace, sm_arena *arena) {
  sm_trace *first = sm_arena_copy(arena, trace, sizeof *trace);
  if (!first) return NULL;
  first->n_ops = trace->n_ops / (int)trace->blocks.len;
  first->blocks.len = 1;
  first->inputs.len = (size_t)trace->chains.n_inputs;
  first->outputs.len = (size_t)trace->chains.n_outputs;
  first->scalars.len = (size_t)trace->chains.n_scalars;
  return first;
}

/* What of the whole plan is a chain's. */
static bool narrow_plan(const sm_launch_plan *whole, const sm_chains *c, size_t chain, sm_arena *arena,
                        sm_launch_plan *out) {
  size_t n_in = c->trace->inputs.len, n = sm_chains_n_buffers(c);
  sm_block_plan *block = sm_arena_copy(arena, &whole->blocks[chain], sizeof *block);
  *out = (sm_launch_plan){
      .blocks = block, .work_items = whole->work_items, .grain = whole->grain, .scalar = whole->scalar};
  out->first = sm_arena_alloc(arena, n * sizeof *out->first);
  out->gathered = sm_arena_alloc(arena, n_in * sizeof *out->gathered);
  if (!block || !out->first || !out->gathered) return false;
  block->strides = sm_arena_alloc(arena, n * SMELT_MAX_RANK * sizeof *block->strides);
  for (size_t i = 0; block->strides && i < n; i++) {
    size_t from = sm_chains_buffer(c, chain, i);
    memcpy(sm_block_plan_strides(block, (int32_t)i),
           sm_block_plan_strides(&whole->blocks[chain], (int32_t)from),
           SMELT_MAX_RANK * sizeof *block->strides);
    out->first[i] = whole->first[from];
    if (i < n_in) out->gathered[i] = whole->gathered[from];
  }
  return block->strides != NULL;
}

/* --- All of them ------------------------------------------------------------------------- */

static bool same_layout(const sm_layout_class *a, const sm_layout_class *b) {
  return a->len == b->len && memcmp(a->bytes, b->bytes, a->len) == 0;
}

/* The plans of the chains; `*alike` says whether they are of one class. */
static bool narrow_plans(const sm_launch_plan *whole, const sm_profile *profile, bool streaming,
                         sm_arena *arena, sm_chains *c, bool *alike) {
  sm_launch_plan *plans = sm_arena_alloc(arena, c->n * sizeof *plans);
  c->plans = plans;
  *alike = true;
  for (size_t i = 0; plans && i < c->n && *alike; i++) {
    sm_layout_class own;
    if (!narrow_plan(whole, c, i, arena, &plans[i]) ||
        !sm_layout_class_of(c->trace, &plans[i], profile, streaming, arena, &own))
      return false;
    if (i == 0) c->layout = own;
    *alike = same_layout(&own, &c->layout);
  }
  return plans != NULL;
}

/* Shared operands are in the table once for each chain. */
static bool may_be_chains(const sm_trace *trace, const sm_profile *profile) {
  size_t n = trace->chains.buffers.len;
  return n && profile->chunked && n <= (size_t)profile->max_bindings;
}

bool sm_chains_find(const sm_trace *trace, const sm_launch_plan *plan, const sm_profile *profile,
                    bool streaming, sm_arena *arena, sm_chains *out) {
  bool alike = false;
  if (may_be_chains(trace, profile)) {
    *out = (sm_chains){
        .trace = first_chain(trace, arena), .n = trace->blocks.len, .buffers = trace->chains.buffers.items};
    if (!out->trace || !narrow_plans(plan, profile, streaming, arena, out, &alike)) return false;
  }
  if (alike) return true;
  *out = (sm_chains){.trace = trace, .n = 1, .plans = plan};
  return sm_layout_class_of(trace, plan, profile, streaming, arena, &out->layout);
}
