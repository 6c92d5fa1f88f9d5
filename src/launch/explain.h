/* SPDX-License-Identifier: Apache-2.0
 *
 * Explanations: what became of segments, kept while somebody asks for it.
 *
 * Vocabulary. The *explainer* of a context is on or off; off is one branch a segment
 * and one a launch. While it is on, whoever runs a job opens a *note* on it, which
 * has the public records of its operations, edges and kernels, with numbers that are
 * the note's own; launches add to the kernel that is the note's current one. A note
 * that is done goes to the explainer, which keeps the last SM_EXPLAINED_SEGMENTS.
 *
 * Notes say what a plan is as it is run, wherever it comes from: plans keep their
 * reasons. Strings are copied to the note or static, so that it outlives all,
 * the context too: its memory is malloc's. Without memory a note is *lost*: the job does not care, the
 * explanation fails.
 *
 * Threads. A note is one thread's until it is handed over; the explainer is anybody's. */
#ifndef SM_LAUNCH_EXPLAIN_H
#define SM_LAUNCH_EXPLAIN_H

#include "base/thread.h"
#include "ir/op.h"
#include "rt/report.h"
#include "smelt/observe.h"

enum { SM_EXPLAINED_SEGMENTS = 256 };

typedef struct sm_note sm_note;
struct sm_note {
  sm_note *next;
  sm_arena arena;
  smelt_explained_operation *operations;
  smelt_explained_edge *edges;
  smelt_explained_kernel *kernels;
  size_t n_operations, n_edges, n_kernels;
  size_t current; /* kernel */
  bool lost;
};

typedef struct sm_explainer {
  atomic_bool on;
  const sm_allocator *allocator;
  sm_mutex lock; /* guards: */
  sm_note *first, *last;
  int n;
  bool lost;
} sm_explainer;

/* False if the lock cannot be made. */
bool sm_explainer_init(sm_explainer *e, const sm_allocator *allocator);
void sm_explainer_free(sm_explainer *e);

/* Forgets what was kept and goes on; goes off and hands the notes over, oldest first.
 * ERR_ARGUMENT if it was off, ERR_MEMORY if a note was lost. */
void sm_explainer_begin(sm_explainer *e);
smelt_status sm_explainer_end(sm_explainer *e, sm_note **out, smelt_error *err);
void sm_notes_free(sm_note *first);

/* A note on a segment of so many operations; NULL if nobody asks. `e` may be NULL. */
sm_note *sm_note_open(sm_explainer *e, const sm_segment *segment, size_t n_edges, size_t n_kernels);
/* Keeps it. NULL is allowed. */
void sm_note_close(sm_explainer *e, sm_note *note);

/* The next kernel, whose launches will follow. */
void sm_note_kernel(sm_note *note, const char *fuser, int n_operations);
/* A launch of the current kernel that took `ns`. */
void sm_note_launch(sm_note *note, const sm_launch_report *report, int64_t ns);

#endif
