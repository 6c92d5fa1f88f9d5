/* SPDX-License-Identifier: Apache-2.0
 *
 * Programs as .smt files (docs/smt.md), so that `smelt run` repeats them. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "diff_program.h"
#include "ir/smt.h"

static void print_type(sm_text *text, smelt_dtype dtype, int rank, const int64_t *dims) {
  sm_shape shape = {.rank = rank};
  if (rank > 0) memcpy(shape.dims, dims, (size_t)rank * sizeof dims[0]);
  sm_text_add(text, smelt_dtype_name(dtype));
  sm_shape_print(text, &shape);
}

static void print_elements(sm_text *text, smelt_dtype dtype, size_t count, const unsigned char *data) {
  sm_text_add(text, " {");
  for (size_t i = 0; i < count; i++) {
    if (i) sm_text_add(text, ", ");
    sm_smt_print_element(text, dtype, data + i * smelt_dtype_size(dtype));
  }
  sm_text_add(text, "}");
}

static void print_input(sm_text *text, int name, const step *s) {
  sm_text_addf(text, "t%d = input ", name);
  print_type(text, s->dtype, s->rank, s->dims);
  void *data = input_elements(s);
  print_elements(text, s->dtype, input_count(s), data);
  free(data);
}

static void print_operands(sm_text *text, const step *s, const char *keep) {
  for (int i = 0; i < s->n; i++) {
    const operand *o = &s->operands[i];
    if (i) sm_text_add(text, ", ");
    if (o->use == USE_SCALAR) sm_scalar_print(text, o->scalar);
    else sm_text_addf(text, "%st%d", o->use == USE_KEEP ? keep : "", o->name);
  }
}

static void print_call(sm_text *text, int name, const step *s, bool second) {
  smelt_attrs attrs = step_attrs(s);
  sm_text_addf(text, "t%d", name);
  if (second) sm_text_addf(text, ", t%d", name + 1);
  sm_text_addf(text, " = %s(", s->op);
  print_operands(text, s, "&");
  sm_smt_print_attributes(text, smelt_op_find(s->op)->attrs, &attrs, s->n ? ", " : "");
  sm_text_add(text, ")");
}

static void print_read(sm_text *text, const step *s, const observation *o) {
  if (!o) {
    sm_text_addf(text, "read t%d", s->operands[0].name);
  } else if (o->status != SMELT_OK) {
    const char *code = smelt_status_name(o->status) + strlen("SMELT_");
    sm_text_addf(text, "expect t%d poisoned %s", s->operands[0].name, code);
  } else {
    sm_text_addf(text, "expect t%d ", s->operands[0].name);
    print_type(text, o->dtype, o->rank, o->dims);
    print_elements(text, o->dtype, o->bytes / smelt_dtype_size(o->dtype), o->data);
  }
  if (s->kind == STEP_INTO_HOST) sm_text_addf(text, "\ndrop t%d", s->operands[0].name);
}

static void print_step(sm_text *text, const program *p, int i, const observation *o) {
  const step *s = &p->steps[i];
  switch (s->kind) {
    case STEP_NONE:
    case STEP_SECOND:
      return;
    case STEP_INPUT:
      print_input(text, i, s);
      break;
    case STEP_CALL:
      print_call(text, i, s, has_second(p, i));
      break;
    case STEP_READ:
    case STEP_INTO_HOST:
      print_read(text, s, o);
      break;
    case STEP_SYNC:
      sm_text_add(text, "sync");
      break;
    case STEP_SEED:
      sm_text_addf(text, "seed %" PRIu64, s->seed);
      break;
    case STEP_DROP:
    case STEP_EVAL:
      sm_text_add(text, s->kind == STEP_DROP ? "drop " : "eval ");
      print_operands(text, s, "");
      break;
  }
  sm_text_add(text, "\n");
}

void print_program(FILE *out, const program *p, const observations *judged) {
  sm_text text;
  sm_text_init(&text, &sm_malloc_allocator);
  sm_text_addf(&text,
               "smt 1\n# seed %" PRIu64 "; tight limits: max_ops %" PRId64 ", max_segment_ops %" PRId64 "\n",
               p->seed, p->max_ops, p->max_segment);
  for (int i = 0; i < p->n; i++) print_step(&text, p, i, judged ? &judged->steps[i] : NULL);
  (void)fprintf(out, "%s", text.failed ? "# out of memory\n" : text.data);
  sm_text_free(&text);
}
