/* SPDX-License-Identifier: Apache-2.0
 *
 * The same steps with other extents. */
#include <string.h>

#include "diff_guide.h"

enum { MAX_EXTENTS = 16, DRAWS = 4 };

typedef struct repeat {
  guide *guide;
  int n;                /* of the first steps */
  int names[MAX_STEPS]; /* what a name is called this time, -1 if it is left out */
  int n_extents;
  int64_t from[MAX_EXTENTS], to[MAX_EXTENTS];
} repeat;

/* --- Extents ------------------------------------------------------------------------------ */

static int64_t other_extent(const repeat *r, int64_t extent) {
  for (int i = 0; i < r->n_extents; i++) {
    if (r->from[i] == extent) return r->to[i];
  }
  return extent;
}

static void replace_extents(const repeat *r, step *s) {
  for (int axis = 0; axis < s->rank; axis++) s->dims[axis] = other_extent(r, s->dims[axis]);
}

/* 1 stays: it broadcasts. */
static void collect_extents(repeat *r, const step *input) {
  for (int axis = 0; axis < input->rank; axis++) {
    bool known = input->dims[axis] <= 1 || r->n_extents == MAX_EXTENTS;
    for (int i = 0; i < r->n_extents; i++) known = known || r->from[i] == input->dims[axis];
    if (!known) r->from[r->n_extents] = r->to[r->n_extents] = input->dims[axis], r->n_extents++;
  }
}

static bool inputs_fit(const repeat *r) {
  for (int i = 0; i < r->n; i++) {
    step s = r->guide->p->steps[i];
    if (s.kind != STEP_INPUT) continue;
    replace_extents(r, &s);
    if (input_count(&s) > MAX_ELEMENTS) return false;
  }
  return true;
}

/* Those around widths of vectors and blocks of reductions. */
static void draw_extent(repeat *r, uint64_t *state, int i) {
  static const int64_t extents[] = {1, 2, 15, 16, 17, 48, 255, 256, 257, 512, 768, 1024};
  for (int draws = 0; draws < DRAWS; draws++) {
    r->to[i] = extents[draw_below(state, sizeof extents / sizeof extents[0])];
    if (inputs_fit(r)) return;
  }
  r->to[i] = r->from[i];
}

static void draw_extents(repeat *r, uint64_t *state) {
  for (int i = 0; i < r->n; i++) {
    if (r->guide->p->steps[i].kind == STEP_INPUT) collect_extents(r, &r->guide->p->steps[i]);
  }
  for (int i = 0; i < r->n_extents; i++) draw_extent(r, state, i);
}

/* --- Steps ---------------------------------------------------------------------------------- */

/* False if an operand is left out or not held. */
static bool rename_operands(const repeat *r, step *s) {
  for (int i = 0; i < s->n; i++) {
    operand *o = &s->operands[i];
    if (o->use == USE_SCALAR) continue;
    o->name = r->names[o->name];
    if (o->name < 0 || !r->guide->held[o->name]) return false;
  }
  return true;
}

static void repeat_step(repeat *r, int i) {
  guide *g = r->guide;
  step s = g->p->steps[i];
  bool shaped = s.kind == STEP_INPUT || (s.op && strchr(smelt_op_find(s.op)->attrs, 's'));
  r->names[i] = -1;
  if (s.kind == STEP_SECOND && r->names[i - 1] >= 0) r->names[i] = r->names[i - 1] + 1;
  if (s.kind == STEP_SECOND) return;
  if (!rename_operands(r, &s)) return;
  if (shaped) replace_extents(r, &s);
  int name = g->p->n;
  if (s.kind == STEP_INPUT) add_input(g, &s);
  else if (s.kind == STEP_CALL) name = add_call(g, &s, has_second(g->p, i), false) ? name : -1;
  else if (s.kind == STEP_EVAL || s.n == 0) *add_step(g, s.kind) = s;
  else add_use(g, s.kind, s.operands[0].name);
  r->names[i] = name;
}

void add_repeat(guide *g, uint64_t *state, int n) {
  repeat r = {.guide = g, .n = n};
  draw_extents(&r, state);
  for (int i = 0; i < n; i++) repeat_step(&r, i);
}
