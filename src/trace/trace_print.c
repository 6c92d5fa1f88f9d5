/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>

#include "trace/trace.h"

static void print_value(sm_text *text, const sm_segment *segment, const sm_trace_value *v) {
  sm_text_addf(text, "t%" PRIu64, segment->values.items[v->value].id);
}

/* "t1 axis 0" */
static void print_gathered(sm_text *text, const sm_segment *segment, const sm_trace_value *v) {
  print_value(text, segment, v);
  sm_text_addf(text, " axis %d", v->gathered);
}

static void print_args(sm_text *text, const sm_step *step) {
  for (int k = 0; k < 3 && step->args[k] != SM_NO_LOCAL; k++) {
    sm_text_addf(text, "%s l%" PRId32, k ? "," : "", step->args[k]);
  }
}

static void print_definition(sm_text *text, const sm_segment *segment, const sm_trace *trace,
                             const sm_step *step) {
  switch (step->kind) {
    case SM_STEP_READ:
      sm_text_add(text, "read ");
      print_value(text, segment, &trace->inputs.items[step->index]);
      break;
    case SM_STEP_SCALAR:
      sm_text_addf(text, "scalar s%" PRId32, step->index);
      break;
    case SM_STEP_LITERAL:
      sm_text_add(text, "literal ");
      sm_scalar_print(text, sm_scalar_of(step->dtype, &step->literal));
      break;
    case SM_STEP_INDEX:
      sm_text_add(text, "index");
      break;
    case SM_STEP_COMPUTE:
      sm_text_add(text, sm_kop_info_of(step->kop)->name);
      print_args(text, step);
      break;
    case SM_STEP_TABLE:
      sm_text_addf(text, "table column %" PRId32, step->index);
      break;
    case SM_STEP_CARRY:
      sm_text_add(text, "carry");
      print_args(text, step);
      break;
    case SM_STEP_RESULT:
      sm_text_add(text, "result");
      print_args(text, step);
      break;
    case SM_STEP_REDUCED:
      sm_text_addf(text, "reduced %" PRId32, step->index);
      break;
    case SM_STEP_SPREAD:
      sm_text_addf(text, "spread l%" PRId32 " of block 1", step->index);
      break;
    case SM_STEP_EXTENT:
      sm_text_add(text, "extent of ");
      print_gathered(text, segment, &trace->inputs.items[step->index]);
      break;
    case SM_STEP_GATHER:
      sm_text_add(text, "gather ");
      print_gathered(text, segment, &trace->inputs.items[step->index]);
      sm_text_addf(text, " at l%" PRId32, step->args[0]);
      break;
    case SM_STEP_WRITE:
    case SM_STEP_LOOP:
    case SM_STEP_NEXT:
    case SM_STEP_END:
      break;
  }
}

static void print_write(sm_text *text, const sm_segment *segment, const sm_trace *trace,
                        const sm_step *step) {
  sm_text_add(text, "write ");
  print_value(text, segment, &trace->outputs.items[step->index]);
  sm_text_addf(text, " = l%" PRId32 "\n", step->args[0]);
}

static void print_step(sm_text *text, const sm_segment *segment, const sm_trace *trace, const sm_block *block,
                       int32_t local) {
  const sm_step *step = &block->steps.items[local];
  bool inside = sm_block_in_loop(block, local) && local != block->loop.begin && local != block->loop.end;
  sm_text_add(text, inside ? "    " : "  ");
  switch (step->kind) {
    case SM_STEP_WRITE:
      print_write(text, segment, trace, step);
      break;
    case SM_STEP_LOOP:
      sm_text_addf(text, "loop %" PRId32 " times {\n", block->loop.trips);
      break;
    case SM_STEP_NEXT:
      sm_text_addf(text, "next l%" PRId32 " = l%" PRId32 "\n", step->args[0], step->args[1]);
      break;
    case SM_STEP_END:
      sm_text_add(text, "}\n");
      break;
    default:
      sm_text_addf(text, "l%" PRId32 " %s = ", local, smelt_dtype_name(step->dtype));
      print_definition(text, segment, trace, step);
      sm_text_add(text, "\n");
  }
}

static void print_tasks(sm_text *text, const sm_trace *trace) {
  for (size_t t = 0; t < trace->tasks.len; t++) {
    const sm_trace_task *task = &trace->tasks.items[t];
    sm_text_addf(text, "reduce %zu: %s %s of l%" PRId32 "\n", t, sm_reduction_name(task->reduction),
                 smelt_dtype_name(task->dtype), task->local);
  }
}

void sm_trace_print(sm_text *text, const sm_segment *segment, const sm_trace *trace) {
  for (size_t b = 0; b < trace->blocks.len; b++) {
    const sm_block *block = &trace->blocks.items[b];
    sm_text_addf(text, "block %zu over ", b);
    sm_shape_print(text, sm_block_shape(segment, block));
    sm_text_add(text, "\n");
    for (int32_t i = 0; i < (int32_t)block->steps.len; i++) print_step(text, segment, trace, block, i);
    if (b == 0) print_tasks(text, trace);
  }
}
