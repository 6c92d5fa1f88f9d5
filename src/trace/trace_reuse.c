/* SPDX-License-Identifier: Apache-2.0
 *
 * Which outputs may be written over which inputs.
 *
 * A kernel may do the steps of a block in several loops, and read an input again in
 * each. But a step never moves before one that it follows, and a loop touches one
 * position after the other. So an element of an input may be overwritten by the
 * write at its own position, once no later step uses it. Other blocks run before or
 * after, over parts of the index space that are not known: they must not read the
 * input at all. What is gathered is read at any place, and another input may be the
 * same value at another one: neither is overwritten. (An input of the space's shape
 * that is read follows the space axis by axis.) */
#include "trace/trace.h"

enum { NOT_READ = -1, SHARED = -2 };

static bool uses_value(const sm_trace *trace, const sm_step *step, uint32_t value) {
  bool reads = step->kind == SM_STEP_READ || step->kind == SM_STEP_GATHER;
  return reads && trace->inputs.items[step->index].value == value;
}

/* The block that reads the value of an input, if only one does, and once. */
static int32_t reader_of(const sm_trace *trace, int32_t input, int32_t *read_step) {
  int32_t reader = NOT_READ;
  uint32_t value = trace->inputs.items[input].value;
  for (size_t b = 0; b < trace->blocks.len; b++) {
    const sm_block *block = &trace->blocks.items[b];
    for (size_t i = 0; i < block->steps.len; i++) {
      if (!uses_value(trace, &block->steps.items[i], value)) continue;
      if (reader != NOT_READ || block->steps.items[i].kind == SM_STEP_GATHER) return SHARED;
      reader = (int32_t)b;
      *read_step = (int32_t)i;
    }
  }
  return reader;
}

/* The last step that uses the value of step `read`. */
static int32_t last_use(const sm_block *block, int32_t read) {
  int32_t last = read;
  for (size_t i = 0; i < block->steps.len; i++) {
    for (int k = 0; k < 3; k++) {
      if (block->steps.items[i].args[k] == read) last = (int32_t)i;
    }
  }
  return last;
}

static bool add_reuses_of(sm_trace *trace, const sm_block *block, int32_t input, int32_t last,
                          const sm_allocator *allocator) {
  for (size_t i = (size_t)last; i < block->steps.len; i++) {
    const sm_step *step = &block->steps.items[i];
    bool fits = step->kind == SM_STEP_WRITE && step->dtype == trace->inputs.items[input].dtype;
    if (fits && !sm_vec_push(allocator, &trace->reuses, (sm_trace_reuse){step->index, input})) return false;
  }
  return true;
}

bool sm_trace_find_reuses(sm_trace *trace, const sm_allocator *allocator) {
  for (int32_t input = 0; input < (int32_t)trace->inputs.len; input++) {
    int32_t read = 0, reader = reader_of(trace, input, &read);
    if (reader < 0) continue;
    const sm_block *block = &trace->blocks.items[reader];
    if (!add_reuses_of(trace, block, input, last_use(block, read), allocator)) return false;
  }
  return true;
}
