/* SPDX-License-Identifier: Apache-2.0 */
#include "launch/explain.h"

#include "base/error.h"

bool sm_explainer_init(sm_explainer *e, const sm_allocator *allocator) {
  *e = (sm_explainer){.allocator = allocator};
  return sm_mutex_init(&e->lock, SM_LOCK_EXPLAINER);
}

static void free_note(sm_note *note) {
  const sm_allocator *allocator = note->arena.allocator;
  sm_arena_free(&note->arena);
  sm_free(allocator, note, sizeof *note);
}

void sm_notes_free(sm_note *first) {
  for (sm_note *next; first; first = next) {
    next = first->next;
    free_note(first);
  }
}

void sm_explainer_free(sm_explainer *e) {
  sm_notes_free(e->first);
  sm_mutex_destroy(&e->lock);
}

/* --- Asking ------------------------------------------------------------------------- */

/* The lock is held. */
static sm_note *take_notes(sm_explainer *e) {
  sm_note *notes = e->first;
  e->first = e->last = NULL;
  e->n = 0;
  return notes;
}

void sm_explainer_begin(sm_explainer *e) {
  sm_lock(&e->lock);
  sm_note *old = take_notes(e);
  e->lost = false;
  atomic_store(&e->on, true);
  sm_unlock(&e->lock);
  sm_notes_free(old);
}

smelt_status sm_explainer_end(sm_explainer *e, sm_note **out, smelt_error *err) {
  sm_lock(&e->lock);
  bool was_on = atomic_exchange(&e->on, false), lost = e->lost;
  *out = take_notes(e);
  sm_unlock(&e->lock);
  if (was_on && !lost) return SMELT_OK;
  sm_notes_free(*out);
  *out = NULL;
  return lost ? sm_error_memory(err, "an explanation")
              : sm_error_set(err, SMELT_ERR_ARGUMENT, "smelt_explain_end without smelt_explain_begin");
}

/* --- Notes ------------------------------------------------------------------------------ */

/* NULL without memory. */
static const char *copy_op_name(sm_note *note, const sm_segment *segment, const sm_op *op) {
  sm_text name;
  sm_text_init(&name, note->arena.allocator);
  sm_op_print_log_name(&name, segment, op);
  const char *copy = name.failed ? NULL : sm_arena_copy(&note->arena, name.data, name.len + 1);
  sm_text_free(&name);
  return copy;
}

static bool add_operations(sm_note *note, const sm_segment *segment) {
  for (size_t i = 0; i < segment->ops.len; i++) {
    const sm_op *op = &segment->ops.items[i];
    const sm_value *value = &segment->values.items[op->out];
    smelt_explained_operation *to = &note->operations[i];
    *to = (smelt_explained_operation){.size = sizeof *to,
                                      .tensor = value->id,
                                      .name = copy_op_name(note, segment, op),
                                      .dtype = value->dtype,
                                      .rank = value->shape.rank,
                                      .kernel = -1};
    memcpy(to->dims, value->shape.dims, sizeof to->dims);
    if (!to->name) return false;
  }
  note->n_operations = segment->ops.len;
  return true;
}

static bool fill_note(sm_note *note, const sm_segment *segment, size_t n_edges, size_t n_kernels) {
  note->operations = sm_arena_zalloc(&note->arena, segment->ops.len, sizeof *note->operations);
  note->edges = sm_arena_zalloc(&note->arena, n_edges, sizeof *note->edges);
  note->kernels = sm_arena_zalloc(&note->arena, n_kernels, sizeof *note->kernels);
  return note->operations && note->edges && note->kernels && add_operations(note, segment);
}

static void lose(sm_explainer *e) {
  sm_lock(&e->lock);
  e->lost = true;
  sm_unlock(&e->lock);
}

sm_note *sm_note_open(sm_explainer *e, const sm_segment *segment, size_t n_edges, size_t n_kernels) {
  if (!e || !atomic_load_explicit(&e->on, memory_order_relaxed)) return NULL;
  sm_note *note = sm_calloc(e->allocator, 1, sizeof *note);
  if (note) sm_arena_init(&note->arena, e->allocator);
  if (note && fill_note(note, segment, n_edges, n_kernels)) return note;
  if (note) free_note(note);
  lose(e);
  return NULL;
}

/* The oldest one goes where there are too many; which is for the caller to free. The lock
 * is held. */
static sm_note *keep(sm_explainer *e, sm_note *note) {
  *(e->last ? &e->last->next : &e->first) = note;
  e->last = note;
  if (++e->n <= SM_EXPLAINED_SEGMENTS) return NULL;
  sm_note *oldest = e->first;
  e->first = oldest->next;
  e->n--;
  return oldest;
}

void sm_note_close(sm_explainer *e, sm_note *note) {
  if (!note) return;
  sm_note *gone = note;
  sm_lock(&e->lock);
  e->lost = e->lost || note->lost;
  if (atomic_load(&e->on)) gone = keep(e, note);
  sm_unlock(&e->lock);
  if (gone) free_note(gone);
}

void sm_note_kernel(sm_note *note, const char *fuser, int n_operations) {
  note->current = note->n_kernels++;
  note->kernels[note->current] = (smelt_explained_kernel){.size = sizeof *note->kernels,
                                                          .operations = (uint64_t)n_operations,
                                                          .fuser = fuser,
                                                          .name = "",
                                                          .estimate = "none"};
}

void sm_note_launch(sm_note *note, const sm_launch_report *report, int64_t ns) {
  smelt_explained_kernel *k = &note->kernels[note->current];
  if (k->launches++ == 0) {
    const char *name = sm_arena_copy(&note->arena, report->kernel, strlen(report->kernel) + 1);
    note->lost = note->lost || !name;
    k->name = name ? name : "";
  }
  k->bytes_read += report->read;
  k->bytes_written += report->written;
  k->in_place += (uint64_t)report->in_place;
  k->interpreted = k->interpreted || report->interpreted;
  if (report->cost_ns) k->estimate = "model";
  k->predicted_ns += report->cost_ns;
  k->measured_ns += ns;
}
