/* SPDX-License-Identifier: Apache-2.0
 *
 * Making a failing program small: each change that keeps it failing stays. Any
 * failure counts, so that the smallest one is found even if there are several. */
#include <stdlib.h>
#include <string.h>

#include "diff_program.h"

enum { TRIALS = 3000 };

typedef struct shrinker {
  program *best;
  program *trial; /* the best one with a change */
  int trials;
} shrinker;

static bool defines(const program *p, int name) {
  step_kind kind = p->steps[name].kind;
  return kind == STEP_INPUT || kind == STEP_CALL || kind == STEP_SECOND;
}

/* Steps that use a name that is no more go too, and second results of no call. */
static void remove_dangling(program *p) {
  for (int i = 0; i < p->n; i++) {
    step *s = &p->steps[i];
    if (s->kind == STEP_SECOND && (i == 0 || p->steps[i - 1].kind != STEP_CALL)) s->kind = STEP_NONE;
    for (int k = 0; k < s->n; k++) {
      if (s->operands[k].use != USE_SCALAR && !defines(p, s->operands[k].name)) s->kind = STEP_NONE;
    }
  }
}

static bool keep_if_failing(shrinker *s) {
  remove_dangling(s->trial);
  bool failing = s->trials++ < TRIALS && judge_apart(s->trial, NULL) != AGREES;
  if (failing) *s->best = *s->trial;
  else *s->trial = *s->best;
  return failing;
}

/* --- Fewer steps ------------------------------------------------------------------------- */

static bool remove_steps(shrinker *s, int first, int n) {
  bool any = false;
  for (int i = first; i < first + n && i < s->trial->n; i++) {
    any = any || s->trial->steps[i].kind != STEP_NONE;
    s->trial->steps[i].kind = STEP_NONE;
  }
  return any && keep_if_failing(s);
}

static bool remove_runs(shrinker *s) {
  bool shrunk = false;
  for (int n = s->best->n / 2; n > 0; n /= 2) {
    for (int first = s->best->n - n; first > -n; first -= n) {
      if (remove_steps(s, first < 0 ? 0 : first, n)) shrunk = true;
    }
  }
  return shrunk;
}

/* Who used name `from` uses `to`. */
static void rename_uses(program *p, int from, int to) {
  for (int i = from; i < p->n; i++) {
    for (int k = 0; k < p->steps[i].n; k++) {
      operand *o = &p->steps[i].operands[k];
      if (o->use == USE_SCALAR || o->name != from) continue;
      o->name = to;
      if (o->use == USE_TAKE && p->steps[i].kind == STEP_CALL) o->use = USE_KEEP;
    }
  }
}

/* Replaces a call by one of its operands. */
static bool bypass_calls(shrinker *s) {
  bool shrunk = false;
  for (int i = s->best->n - 1; i >= 0; i--) {
    for (int k = 0; k < s->best->steps[i].n && s->best->steps[i].kind == STEP_CALL; k++) {
      operand o = s->best->steps[i].operands[k];
      if (o.use == USE_SCALAR) continue;
      s->trial->steps[i].kind = STEP_NONE;
      rename_uses(s->trial, i, o.name);
      if (keep_if_failing(s)) shrunk = true;
    }
  }
  return shrunk;
}

/* --- Smaller shapes, simpler elements --------------------------------------------------------- */

static bool replace_extent(shrinker *s, int64_t from, int64_t to) {
  for (int i = 0; i < s->trial->n; i++) {
    step *t = &s->trial->steps[i];
    for (int axis = 0; axis < t->rank; axis++) {
      if (t->dims[axis] == from) t->dims[axis] = to;
    }
  }
  return keep_if_failing(s);
}

static bool shrink_extent(shrinker *s, int64_t extent) {
  if (extent < 2) return false;
  return replace_extent(s, extent, 1) || replace_extent(s, extent, extent / 2) ||
         replace_extent(s, extent, extent - extent / 8) || replace_extent(s, extent, extent - 1);
}

static bool shrink_extents(shrinker *s) {
  bool shrunk = false;
  for (int i = 0; i < s->best->n; i++) {
    if (s->best->steps[i].kind == STEP_NONE) continue;
    for (int axis = 0; axis < s->best->steps[i].rank; axis++) {
      while (shrink_extent(s, s->best->steps[i].dims[axis])) shrunk = true;
    }
  }
  return shrunk;
}

static bool drop_axis(shrinker *s, int i) {
  step *t = &s->trial->steps[i];
  if (t->kind == STEP_NONE || t->rank == 0) return false;
  t->rank--;
  memmove(t->dims, t->dims + 1, (size_t)t->rank * sizeof t->dims[0]);
  return keep_if_failing(s);
}

static bool simplify_inputs(shrinker *s) {
  bool shrunk = false;
  for (int i = 0; i < s->best->n; i++) {
    while (drop_axis(s, i)) shrunk = true;
    if (s->best->steps[i].kind != STEP_INPUT || s->best->steps[i].fill == FILL_PLAIN) continue;
    s->trial->steps[i].fill = FILL_PLAIN;
    if (keep_if_failing(s)) shrunk = true;
  }
  return shrunk;
}

/* --- All ------------------------------------------------------------------------------------------ */

void shrink(program *p) {
  shrinker s = {.best = p, .trial = malloc(sizeof *s.trial)};
  *s.trial = *p;
  bool shrunk = true;
  while (shrunk && s.trials < TRIALS) {
    shrunk = remove_runs(&s);
    shrunk = bypass_calls(&s) || shrunk;
    shrunk = shrink_extents(&s) || shrunk;
    shrunk = simplify_inputs(&s) || shrunk;
  }
  free(s.trial);
}
