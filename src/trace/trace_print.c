/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>

#include "trace/trace.h"

static void print_value(sm_text *text, const sm_segment *segment, const sm_trace_value *v) {
  sm_text_addf(text, "t%" PRIu64, segment->values.items[v->value].id);
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
    case SM_STEP_WRITE:
      break;
  }
}

static void print_step(sm_text *text, const sm_segment *segment, const sm_trace *trace, size_t local,
                       const sm_step *step) {
  if (step->kind == SM_STEP_WRITE) {
    sm_text_add(text, "  write ");
    print_value(text, segment, &trace->outputs.items[step->index]);
    sm_text_addf(text, " = l%" PRId32 "\n", step->args[0]);
    return;
  }
  sm_text_addf(text, "  l%zu %s = ", local, smelt_dtype_name(step->dtype));
  print_definition(text, segment, trace, step);
  sm_text_add(text, "\n");
}

void sm_trace_print(sm_text *text, const sm_segment *segment, const sm_trace *trace) {
  for (size_t b = 0; b < trace->blocks.len; b++) {
    const sm_block *block = &trace->blocks.items[b];
    sm_text_addf(text, "block %zu over ", b);
    sm_shape_print(text, sm_block_shape(segment, block));
    sm_text_add(text, "\n");
    for (size_t i = 0; i < block->steps.len; i++) print_step(text, segment, trace, i, &block->steps.items[i]);
  }
}
