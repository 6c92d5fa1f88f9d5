/* SPDX-License-Identifier: Apache-2.0
 *
 * Traces with reductions. */
#include <string.h>

#include "trace/trace_builder.h"

enum { ELEMENTS, RESULTS };

static sm_block *block_at(sm_trace_builder *b, int which) { return &b->trace->blocks.items[which]; }

/* The number of the task; what is reduced alike already is reduced once. */
static int32_t number_task(sm_trace_builder *b, const sm_trace_task *task) {
  for (size_t i = 0; i < b->trace->tasks.len; i++) {
    const sm_trace_task *t = &b->trace->tasks.items[i];
    if (t->local == task->local && t->reduction == task->reduction) return (int32_t)i;
  }
  return sm_vec_push(b->allocator, &b->trace->tasks, *task) ? (int32_t)b->trace->tasks.len - 1 : SM_NO_LOCAL;
}

static int32_t add_task(sm_trace_builder *b, const sm_op *op) {
  sm_block *elements = block_at(b, ELEMENTS);
  smelt_dtype working = sm_dtype_working(op->operands[0].dtype);
  int32_t local = sm_trace_read_tensor(b, elements, op, 0);
  if (local != SM_NO_LOCAL && sm_trace_dtype_of(elements, local) != working)
    local = sm_trace_cast(b, elements, local, working);
  if (local == SM_NO_LOCAL) return SM_NO_LOCAL;
  sm_trace_task task = {op->row->reduction, working, local, elements->steps.items[local].pass};
  if (b->centers) sm_trace_center_task(b, elements, &task);
  return number_task(b, &task);
}

/* What the task makes, in the second block. In strict mode halves are rounded at once. */
static smelt_status lower_reduction(sm_trace_builder *b, const sm_op *op, smelt_error *err) {
  int32_t task = add_task(b, op);
  if (task == SM_NO_LOCAL) return sm_error_memory(err, "a trace");
  smelt_dtype result = b->segment->values.items[op->out].dtype, working = b->trace->tasks.items[task].dtype;
  bool index = sm_reduction_gives_index(b->trace->tasks.items[task].reduction);
  int32_t local =
      sm_trace_share(b, b->results, sm_trace_make_leaf(SM_STEP_REDUCED, index ? SMELT_I64 : working, task));
  bool rounds = b->mode == SMELT_MODE_STRICT || !sm_dtype_is_half(result);
  if (local != SM_NO_LOCAL && sm_trace_dtype_of(b->results, local) != result && rounds)
    local = sm_trace_cast(b, b->results, local, result);
  b->local_of[op->out] = local;
  bool ok = local != SM_NO_LOCAL && sm_trace_write_result(b, b->results, op->out);
  return ok ? SMELT_OK : sm_error_memory(err, "a trace");
}

static bool add_reduce_blocks(sm_trace_builder *b) {
  const sm_op *op = b->records.first;
  return op && sm_vec_push(b->allocator, &b->trace->blocks, (sm_block){.space = op->operands[0].use.value}) &&
         sm_vec_push(b->allocator, &b->trace->blocks, (sm_block){.space = op->out});
}

static smelt_status lower_reduce_record(sm_trace_builder *b, int32_t i, smelt_error *err) {
  b->spaces[i] = sm_reduce_space_of(&b->records, i, b->spaces);
  if (sm_is_reduction(sm_trace_record_at(b, i))) return lower_reduction(b, sm_trace_record_at(b, i), err);
  bool elements = b->spaces[i] == SM_SPACE_ELEMENTS;
  return sm_trace_lower_record(b, block_at(b, elements ? ELEMENTS : RESULTS), sm_trace_record_at(b, i), err);
}

/* Tasks of one pass keep their order. */
static bool sort_tasks(sm_trace_builder *b) {
  size_t n = b->trace->tasks.len;
  sm_trace_task *unsorted = sm_arena_copy(b->scratch, b->trace->tasks.items, n * sizeof *unsorted);
  int32_t *number = sm_arena_alloc(b->scratch, n * sizeof *number);
  if (!unsorted || !number) return false;
  int32_t sorted = 0;
  for (int32_t pass = 0; sorted < (int32_t)n; pass++) {
    for (size_t t = 0; t < n; t++) {
      if (unsorted[t].pass != pass) continue;
      b->trace->tasks.items[sorted] = unsorted[t];
      number[t] = sorted++;
    }
  }
  for (size_t i = 0; i < b->results->steps.len; i++) {
    sm_step *step = &b->results->steps.items[i];
    if (step->kind == SM_STEP_REDUCED) step->index = number[step->index];
  }
  return true;
}

smelt_status sm_trace_lower_reductions(sm_trace_builder *b, smelt_error *err) {
  b->records = sm_reduce_records_of(b->segment, b->trace->ops, b->trace->n_ops);
  b->spaces = sm_arena_zalloc(b->scratch, (size_t)b->trace->n_ops, sizeof *b->spaces);
  if (!b->spaces || !add_reduce_blocks(b)) return sm_error_memory(err, "a trace");
  b->results = block_at(b, RESULTS);
  sm_trace_forget_steps(b);
  for (int32_t i = 0; i < b->trace->n_ops; i++) SM_TRY(lower_reduce_record(b, i, err));
  if (b->centers) sm_trace_drop_unused(b->trace);
  if (!sort_tasks(b)) return sm_error_memory(err, "a trace");
  if (b->mode == SMELT_MODE_FAST) sm_trace_contract(b->trace);
  return SMELT_OK;
}

bool sm_trace_centers(const sm_trace *trace) {
  bool any = false;
  for (size_t t = 0; t < trace->tasks.len; t++)
    any = any || sm_reduction_is_centered(trace->tasks.items[t].reduction);
  return any;
}

int sm_trace_passes(const sm_trace *trace) {
  int32_t last = 0;
  for (size_t t = 0; t < trace->tasks.len; t++)
    last = trace->tasks.items[t].pass > last ? trace->tasks.items[t].pass : last;
  const sm_block *elements = &trace->blocks.items[ELEMENTS];
  for (size_t i = 0; i < elements->steps.len; i++) {
    const sm_step *step = &elements->steps.items[i];
    if (step->kind == SM_STEP_WRITE && step->pass > last) last = step->pass;
  }
  return (int)last + 1;
}
