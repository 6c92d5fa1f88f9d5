/* SPDX-License-Identifier: Apache-2.0
 *
 * Whether the blocks of a trace are chains.
 *
 * Each is compared with the first, step by step. Where that one has an input or an output,
 * the other may have another of the trace, always the same; scalars are in the order of
 * the blocks. A block with a loop has a part of the table, which chains cannot: it is none. */
#include <string.h>

#include "trace/trace.h"

enum { UNKNOWN = -1 };

typedef struct comparison {
  const sm_trace *trace;
  const sm_block *first, *other;
  int32_t *buffers; /* of the other, by those of the first */
  int32_t scalars;  /* where the other's begin */
} comparison;

static bool same_view(const sm_trace_value *a, const sm_trace_value *b) {
  return a->dtype == b->dtype && a->gathered == b->gathered && memcmp(a->map, b->map, sizeof a->map) == 0;
}

/* Whether buffer `a` of the first stands for the same one of the other wherever it is used. */
static bool stands_for(const comparison *c, int32_t a, int32_t b) {
  if (c->buffers[a] == UNKNOWN) c->buffers[a] = b;
  return c->buffers[a] == b;
}

static bool same_index(const comparison *c, const sm_step *a, const sm_step *b) {
  const sm_trace_chains *chains = &c->trace->chains;
  int32_t n_inputs = (int32_t)c->trace->inputs.len;
  switch (a->kind) {
    case SM_STEP_READ:
    case SM_STEP_GATHER:
    case SM_STEP_EXTENT:
      return same_view(&c->trace->inputs.items[a->index], &c->trace->inputs.items[b->index]) &&
             stands_for(c, a->index, b->index);
    case SM_STEP_WRITE:
      return stands_for(c, chains->n_inputs + a->index, n_inputs + b->index);
    case SM_STEP_SCALAR:
      return b->index == c->scalars + a->index;
    default:
      return a->index == b->index;
  }
}

static bool same_step(const comparison *c, const sm_step *a, const sm_step *b) {
  return a->kind == b->kind && a->kop == b->kop && a->dtype == b->dtype &&
         a->literal.bits == b->literal.bits && memcmp(a->args, b->args, sizeof a->args) == 0 &&
         same_index(c, a, b);
}

static bool is_chain(const comparison *c) {
  if (c->first->loop.trips || c->other->loop.trips || c->first->steps.len != c->other->steps.len)
    return false;
  for (size_t i = 0; i < c->first->steps.len; i++) {
    if (!same_step(c, &c->first->steps.items[i], &c->other->steps.items[i])) return false;
  }
  return true;
}

/* What the first block uses: it was the first to number them. */
static void count_first(sm_trace *trace) {
  sm_trace_chains *chains = &trace->chains;
  const sm_block *first = &trace->blocks.items[0];
  for (size_t i = 0; i < first->steps.len; i++) {
    const sm_step *step = &first->steps.items[i];
    bool reads = step->kind == SM_STEP_READ || step->kind == SM_STEP_GATHER || step->kind == SM_STEP_EXTENT;
    if (reads && step->index >= chains->n_inputs) chains->n_inputs = step->index + 1;
    if (step->kind == SM_STEP_WRITE && step->index >= chains->n_outputs) chains->n_outputs = step->index + 1;
    chains->n_scalars += step->kind == SM_STEP_SCALAR;
  }
}

static bool compare_blocks(const sm_trace *trace, int32_t *buffers, size_t n_buffers) {
  for (size_t b = 0; b < trace->blocks.len; b++) {
    comparison c = {.trace = trace,
                    .first = &trace->blocks.items[0],
                    .other = &trace->blocks.items[b],
                    .buffers = buffers + b * n_buffers,
                    .scalars = (int32_t)b * trace->chains.n_scalars};
    if (!is_chain(&c)) return false;
  }
  return true;
}

bool sm_trace_find_chains(sm_trace *trace, const sm_allocator *allocator) {
  sm_trace_chains *chains = &trace->chains;
  if (trace->blocks.len < 2) return true;
  count_first(trace);
  size_t n_buffers = (size_t)(chains->n_inputs + chains->n_outputs), n = trace->blocks.len * n_buffers;
  if (!sm_vec_reserve(allocator, &chains->buffers, n)) return false;
  for (size_t i = 0; i < n; i++) chains->buffers.items[i] = UNKNOWN;
  if (compare_blocks(trace, chains->buffers.items, n_buffers)) chains->buffers.len = n;
  return true;
}
