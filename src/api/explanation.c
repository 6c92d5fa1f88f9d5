/* SPDX-License-Identifier: Apache-2.0 */
#include "api/explanation.h"

#include "api/context_state.h"
#include "base/error.h"

/* --- Asking ------------------------------------------------------------------------- */

smelt_status smelt_explain_begin(smelt_context *ctx, smelt_error *err) {
  if (!ctx) return sm_error_set(err, SMELT_ERR_ARGUMENT, "smelt_explain_begin: the context is NULL");
  sm_explainer_begin(&ctx->explainer);
  return SMELT_OK;
}

static bool any_interpreted(const sm_note *notes) {
  for (const sm_note *n = notes; n; n = n->next) {
    for (size_t i = 0; i < n->n_kernels; i++) {
      if (n->kernels[i].interpreted) return true;
    }
  }
  return false;
}

/* The driver is only asked where it matters: it may have to open a compiler to know. */
static bool describe_device(smelt_context *ctx, const sm_note *notes, sm_text *text) {
  void (*describe)(sm_device * device, sm_text * text) = ctx->device.driver->describe;
  sm_text_add(text, ctx->name);
  if (describe && any_interpreted(notes)) {
    sm_text_add(text, " on ");
    describe(&ctx->device, text);
  }
  return !text->failed;
}

static void count_notes(smelt_explanation *e) {
  for (const sm_note *n = e->notes; n; n = n->next) {
    e->n_operations += n->n_operations;
    e->n_edges += n->n_edges;
    e->n_kernels += n->n_kernels;
  }
}

/* It outlives the context, and so may not ask its allocator for anything. */
static smelt_explanation *new_explanation(smelt_context *ctx, sm_note *notes) {
  smelt_explanation *e = sm_calloc(&sm_malloc_allocator, 1, sizeof *e);
  if (!e) return NULL;
  e->notes = notes;
  sm_text_init(&e->device, &sm_malloc_allocator);
  count_notes(e);
  if (describe_device(ctx, notes, &e->device)) return e;
  sm_text_free(&e->device);
  sm_free(&sm_malloc_allocator, e, sizeof *e);
  return NULL;
}

smelt_status smelt_explain_end(smelt_context *ctx, smelt_explanation **out, smelt_error *err) {
  sm_note *notes;
  if (!out)
    return sm_error_set(err, SMELT_ERR_ARGUMENT, "smelt_explain_end: there is no place for the answer");
  *out = NULL;
  if (!ctx) return sm_error_set(err, SMELT_ERR_ARGUMENT, "smelt_explain_end: the context is NULL");
  SM_TRY(sm_explainer_end(&ctx->explainer, &notes, err));
  *out = new_explanation(ctx, notes);
  if (*out) return SMELT_OK;
  sm_notes_free(notes);
  return sm_error_memory(err, "an explanation");
}

void smelt_explanation_free(smelt_explanation *e) {
  if (!e) return;
  sm_notes_free(e->notes);
  sm_text_free(&e->device);
  sm_free(&sm_malloc_allocator, e, sizeof *e);
}

/* --- Looking at it --------------------------------------------------------------------- */

const char *smelt_explanation_device(const smelt_explanation *e) { return e ? e->device.data : ""; }
size_t smelt_explanation_operations(const smelt_explanation *e) { return e ? e->n_operations : 0; }
size_t smelt_explanation_edges(const smelt_explanation *e) { return e ? e->n_edges : 0; }
size_t smelt_explanation_kernels(const smelt_explanation *e) { return e ? e->n_kernels : 0; }

/* Where in the explanation a note's numbers begin. */
typedef struct place {
  const sm_note *note;
  uint64_t segment;
  size_t operations, edges, kernels;
} place;

static place first_place(const smelt_explanation *e) { return (place){.note = e->notes}; }

static void move_on(place *p) {
  p->segment++;
  p->operations += p->note->n_operations;
  p->edges += p->note->n_edges;
  p->kernels += p->note->n_kernels;
  p->note = p->note->next;
}

smelt_status smelt_explanation_operation(const smelt_explanation *e, size_t i,
                                         smelt_explained_operation *out) {
  if (!e || !out || out->size != sizeof *out || i >= e->n_operations) return SMELT_ERR_ARGUMENT;
  place p = first_place(e);
  while (i - p.operations >= p.note->n_operations) move_on(&p);
  *out = p.note->operations[i - p.operations];
  out->segment = p.segment;
  if (out->kernel >= 0) out->kernel += (int64_t)p.kernels;
  return SMELT_OK;
}

smelt_status smelt_explanation_edge(const smelt_explanation *e, size_t i, smelt_explained_edge *out) {
  if (!e || !out || out->size != sizeof *out || i >= e->n_edges) return SMELT_ERR_ARGUMENT;
  place p = first_place(e);
  while (i - p.edges >= p.note->n_edges) move_on(&p);
  *out = p.note->edges[i - p.edges];
  out->producer += p.operations;
  out->consumer += p.operations;
  return SMELT_OK;
}

smelt_status smelt_explanation_kernel(const smelt_explanation *e, size_t i, smelt_explained_kernel *out) {
  if (!e || !out || out->size != sizeof *out || i >= e->n_kernels) return SMELT_ERR_ARGUMENT;
  place p = first_place(e);
  while (i - p.kernels >= p.note->n_kernels) move_on(&p);
  *out = p.note->kernels[i - p.kernels];
  out->segment = p.segment;
  return SMELT_OK;
}

/* --- As text ---------------------------------------------------------------------------- */

smelt_status smelt_explanation_format(const smelt_explanation *e, smelt_explanation_form form, char *buf,
                                      size_t size, size_t *needed, smelt_error *err) {
  bool known = form == SMELT_EXPLANATION_TEXT || form == SMELT_EXPLANATION_JSON;
  if (!e || !known || (size && !buf))
    return sm_error_set(err, SMELT_ERR_ARGUMENT, "smelt_explanation_format: no explanation, form or buffer");
  sm_text text;
  sm_text_init(&text, &sm_malloc_allocator);
  (form == SMELT_EXPLANATION_JSON ? sm_explanation_print_json : sm_explanation_print)(&text, e);
  smelt_status status = text.failed ? sm_error_memory(err, "an explanation") : SMELT_OK;
  if (status == SMELT_OK) sm_text_copy(&text, buf, size, needed);
  sm_text_free(&text);
  return status;
}
