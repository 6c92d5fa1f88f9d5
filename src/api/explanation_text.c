/* SPDX-License-Identifier: Apache-2.0
 *
 * Explanations as text: for people, kernel by kernel, and as JSON. Both walk notes, and
 * count what came before. */
#include <inttypes.h>

#include "api/explanation.h"
#include "base/json.h"

/* --- For people ------------------------------------------------------------------------ */

static void add_time(sm_text *text, const char *what, int64_t ns) {
  char digits[64];
  bool small = ns < 10000;
  (void)sm_format_f(digits, sizeof digits, small ? 2 : 0, (double)ns / 1e3);
  sm_text_addf(text, "%s%s us", what, digits);
}

static void add_operation(sm_text *text, const smelt_explained_operation *op) {
  char type[SM_SHAPE_TEXT];
  sm_shape shape = {.rank = op->rank};
  memcpy(shape.dims, op->dims, sizeof shape.dims);
  sm_text_addf(text, "    t%" PRIu64 " %s = %s\n", op->tensor, sm_shape_text(type, op->dtype, &shape),
               op->name);
}

/* Why the operation is not where its operands were made. */
static void add_edges(sm_text *text, const sm_note *note, size_t consumer) {
  for (size_t i = 0; i < note->n_edges; i++) {
    const smelt_explained_edge *edge = &note->edges[i];
    if (edge->consumer != consumer) continue;
    sm_text_addf(text, "      apart from t%" PRIu64 ": %s (%s)", note->operations[edge->producer].tensor,
                 edge->reason, edge->meaning);
    if (edge->limit) sm_text_addf(text, ", %d of %d buffers", edge->bindings, edge->limit);
    sm_text_add(text, "\n");
  }
}

/* -1: those that were not run. */
static void add_operations_of(sm_text *text, const sm_note *note, int64_t kernel) {
  for (size_t i = 0; i < note->n_operations; i++) {
    if (note->operations[i].kernel != kernel) continue;
    add_operation(text, &note->operations[i]);
    add_edges(text, note, i);
  }
}

static void add_kernel(sm_text *text, const smelt_explained_kernel *k) {
  sm_text_addf(text, "  %s", k->fuser);
  if (!k->launches) {
    sm_text_add(text, ": nothing to launch\n");
    return;
  }
  sm_text_addf(text, " %s: %" PRIu64 " launch%s, %" PRIu64 " bytes read, %" PRIu64 " written", k->name,
               k->launches, k->launches == 1 ? "" : "es", k->bytes_read, k->bytes_written);
  if (k->in_place) sm_text_addf(text, ", %" PRIu64 " in place", k->in_place);
  if (k->interpreted) sm_text_add(text, ", interpreted");
  if (k->predicted_ns) add_time(text, ", predicted ", k->predicted_ns);
  add_time(text, ", measured ", k->measured_ns);
  sm_text_add(text, "\n");
}

static bool any_unwanted(const sm_note *note) {
  for (size_t i = 0; i < note->n_operations; i++) {
    if (note->operations[i].kernel < 0) return true;
  }
  return false;
}

static void add_segment(sm_text *text, const sm_note *note, uint64_t number) {
  sm_text_addf(text, "segment %" PRIu64 ": %zu operations, %zu kernels\n", number, note->n_operations,
               note->n_kernels);
  for (size_t k = 0; k < note->n_kernels; k++) {
    add_kernel(text, &note->kernels[k]);
    add_operations_of(text, note, (int64_t)k);
  }
  if (any_unwanted(note)) sm_text_add(text, "  not run, as nobody wants what they give:\n");
  add_operations_of(text, note, -1);
}

void sm_explanation_print(sm_text *text, const smelt_explanation *e) {
  uint64_t number = 0;
  sm_text_addf(text, "device %s\n", e->device.data);
  for (const sm_note *note = e->notes; note; note = note->next) add_segment(text, note, number++);
}

/* --- As JSON ------------------------------------------------------------------------------ */

static void add_json_operation(sm_text *text, const smelt_explained_operation *op) {
  sm_json_open(text, NULL, '{');
  sm_json_integer(text, "segment", (int64_t)op->segment);
  sm_json_integer(text, "tensor", (int64_t)op->tensor);
  sm_json_string(text, "name", op->name);
  sm_json_string(text, "dtype", smelt_dtype_name(op->dtype));
  sm_json_open(text, "shape", '[');
  for (int i = 0; i < op->rank; i++) sm_json_integer(text, NULL, op->dims[i]);
  sm_json_close(text, ']');
  sm_json_integer(text, "kernel", op->kernel);
  sm_json_close(text, '}');
}

static void add_json_edge(sm_text *text, const smelt_explained_edge *edge) {
  sm_json_open(text, NULL, '{');
  sm_json_integer(text, "producer", (int64_t)edge->producer);
  sm_json_integer(text, "consumer", (int64_t)edge->consumer);
  sm_json_string(text, "reason", edge->reason);
  sm_json_string(text, "meaning", edge->meaning);
  sm_json_integer(text, "bindings", edge->bindings);
  sm_json_integer(text, "limit", edge->limit);
  sm_json_close(text, '}');
}

static void add_json_kernel(sm_text *text, const smelt_explained_kernel *k) {
  sm_json_open(text, NULL, '{');
  sm_json_integer(text, "segment", (int64_t)k->segment);
  sm_json_integer(text, "operations", (int64_t)k->operations);
  sm_json_integer(text, "launches", (int64_t)k->launches);
  sm_json_string(text, "fuser", k->fuser);
  sm_json_string(text, "name", k->name);
  sm_json_integer(text, "bytes_read", (int64_t)k->bytes_read);
  sm_json_integer(text, "bytes_written", (int64_t)k->bytes_written);
  sm_json_integer(text, "in_place", (int64_t)k->in_place);
  sm_json_bool(text, "interpreted", k->interpreted);
  sm_json_string(text, "estimate", k->estimate);
  sm_json_integer(text, "predicted_ns", k->predicted_ns);
  sm_json_integer(text, "measured_ns", k->measured_ns);
  sm_json_close(text, '}');
}

/* A list of what the public functions count and give. */
#define ADD_LIST(text, e, plural, singular)                                                        \
  do {                                                                                             \
    sm_json_open(text, #plural, '[');                                                              \
    for (size_t i = 0; i < smelt_explanation_##plural(e); i++) {                                   \
      smelt_explained_##singular item = {.size = sizeof item};                                     \
      if (smelt_explanation_##singular(e, i, &item) == SMELT_OK) add_json_##singular(text, &item); \
    }                                                                                              \
    sm_json_close(text, ']');                                                                      \
  } while (0)

void sm_explanation_print_json(sm_text *text, const smelt_explanation *e) {
  sm_json_open(text, NULL, '{');
  sm_json_string(text, "device", e->device.data);
  ADD_LIST(text, e, operations, operation);
  ADD_LIST(text, e, edges, edge);
  ADD_LIST(text, e, kernels, kernel);
  sm_json_close(text, '}');
  sm_text_add(text, "\n");
}
