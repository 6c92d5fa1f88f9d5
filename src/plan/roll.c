/* SPDX-License-Identifier: Apache-2.0
 *
 * Every period is tried. Comparing what records look like (their *face*) leaves few
 * stretches in which operands have to be followed. */
#include "plan/roll.h"

#include "base/hash.h"

enum { OUTSIDE = -1, COMPARISONS = 32 /* a record */ };

typedef struct finder {
  const sm_segment *segment;
  const uint32_t *ops;
  int n;
  const bool *escapes;
  uint64_t *face;    /* by position: code, axes, operand kinds and dtypes */
  int32_t *position; /* by value: of the record that defines it, or OUTSIDE */
  int32_t *last_use; /* by position: the last one that uses its result; n if it escapes */
  int budget;        /* records that may still be compared: the search is bounded by a count */
  uint32_t *start;   /* by place in the period: what the first period uses for the carried value */
  bool *carried;     /* by place in the period */
} finder;

static const sm_op *record(const finder *f, int position) { return &f->segment->ops.items[f->ops[position]]; }

/* --- Setting up ------------------------------------------------------------------------- */

static uint64_t face_of(const finder *f, int position) {
  const sm_op *op = record(f, position);
  sm_hash h = sm_hash_start();
  sm_hash_u64(&h, (uint64_t)op->code << 8 | op->n_operands);
  sm_hash_u64(&h, f->segment->values.items[op->out].dtype);
  for (int i = 0; op->attrs && i < op->attrs->n; i++) sm_hash_u64(&h, (uint64_t)op->attrs->axes[i]);
  for (int k = 0; k < op->n_operands; k++)
    sm_hash_u64(&h, (uint64_t)op->operands[k].dtype << 1 | op->operands[k].is_scalar);
  return h.lo;
}

static void note_uses(finder *f, int position) {
  const sm_op *op = record(f, position);
  for (int k = 0; k < op->n_operands; k++) {
    if (op->operands[k].is_scalar) continue;
    int32_t definer = f->position[op->operands[k].use.value];
    if (definer != OUTSIDE) f->last_use[definer] = position;
  }
}

static bool set_up(finder *f, sm_arena *arena) {
  size_t n = (size_t)f->n, n_values = f->segment->values.len;
  f->face = sm_arena_zalloc(arena, n, sizeof *f->face);
  f->position = sm_arena_alloc(arena, n_values * sizeof *f->position);
  f->last_use = sm_arena_zalloc(arena, n, sizeof *f->last_use);
  f->start = sm_arena_zalloc(arena, n, sizeof *f->start);
  f->carried = sm_arena_zalloc(arena, n, sizeof *f->carried);
  if (!f->face || !f->position || !f->last_use || !f->start || !f->carried) return false;
  for (size_t v = 0; v < n_values; v++) f->position[v] = OUTSIDE;
  for (int i = 0; i < f->n; i++) {
    f->face[i] = face_of(f, i);
    f->position[record(f, i)->out] = i;
  }
  for (int i = 0; i < f->n; i++) note_uses(f, i);
  for (int i = 0; i < f->n; i++) {
    if (f->escapes[record(f, i)->out]) f->last_use[i] = f->n;
  }
  return true;
}

/* --- One candidate ------------------------------------------------------------------------ */

/* How an operand of the second period is used in the first. */
static bool first_period_matches(finder *f, const sm_roll *r, uint32_t in_first, uint32_t in_second) {
  int a = f->position[in_first], b = f->position[in_second], second = r->first + r->period;
  if (b < r->first) return in_first == in_second;
  if (b >= second) return a == b - r->period;
  int place = b - r->first;
  bool known = f->carried[place];
  f->carried[place] = true;
  if (known) return f->start[place] == in_first;
  f->start[place] = in_first;
  return a < r->first;
}

/* How an operand of the second period is used in a later one, `distance` records on. */
static bool later_period_matches(const finder *f, const sm_roll *r, int distance, uint32_t in_second,
                                 uint32_t in_later) {
  int b = f->position[in_second];
  return b < r->first ? in_second == in_later : f->position[in_later] == b + distance;
}

/* Compares the record at `place` of the second period with that `distance` on (or, if
 * that is negative, of the first). */
static bool record_matches(finder *f, const sm_roll *r, int place, int distance) {
  int second = r->first + r->period + place;
  if (f->budget-- <= 0) return false;
  if (f->face[second] != f->face[second + distance]) return false;
  const sm_op *op = record(f, second), *other = record(f, second + distance);
  for (int k = 0; k < op->n_operands; k++) {
    if (op->operands[k].is_scalar) continue;
    uint32_t value = op->operands[k].use.value, like = other->operands[k].use.value;
    bool same = distance < 0 ? first_period_matches(f, r, like, value)
                             : later_period_matches(f, r, distance, value, like);
    if (!same) return false;
  }
  return true;
}

static bool period_matches(finder *f, const sm_roll *r, int distance) {
  for (int place = 0; place < r->period; place++) {
    if (!record_matches(f, r, place, distance)) return false;
  }
  return true;
}

/* The trips after which nothing but carried results of the last one is used. */
static int cut_before_uses(const finder *f, const sm_roll *r, int trips) {
  int end = r->first + trips * r->period;
  for (int i = r->first; i < end; i++) {
    if (f->last_use[i] < end) continue;
    int trip = (i - r->first) / r->period, allowed = f->carried[(i - r->first) % r->period] ? trip + 1 : trip;
    if (allowed < trips) trips = allowed;
  }
  return trips;
}

static int count_trips(finder *f, const sm_roll *r) {
  for (int place = 0; place < r->period; place++) f->carried[place] = false;
  if (!period_matches(f, r, -r->period)) return 0;
  int trips = 2;
  while (r->first + (trips + 1) * r->period <= f->n && period_matches(f, r, (trips - 1) * r->period)) trips++;
  return cut_before_uses(f, r, trips);
}

/* --- The search ------------------------------------------------------------------------------ */

static int saved(const sm_roll *r) { return r->trips ? (r->trips - 1) * r->period : 0; }

/* Tries the rolls with this period whose faces repeat from `begin` to `end`. */
static void try_stretch(finder *f, int period, int begin, int end, sm_roll *best) {
  for (sm_roll r = {.first = begin, .period = period}; end - r.first >= SM_ROLL_TRIPS * period; r.first++) {
    if (end - r.first - period <= saved(best)) return;
    r.trips = count_trips(f, &r);
    if (r.trips >= SM_ROLL_TRIPS && saved(&r) > saved(best)) *best = r;
  }
}

static void try_period(finder *f, int period, sm_roll *best) {
  for (int i = 0; i + period < f->n;) {
    int begin = i;
    while (i + period < f->n && f->face[i] == f->face[i + period]) i++;
    if (i > begin) try_stretch(f, period, begin, i + period, best);
    i++;
  }
}

bool sm_roll_find(const sm_segment *segment, const uint32_t *ops, int n_ops, const bool *escapes,
                  sm_arena *arena, sm_roll *out) {
  finder f = {.segment = segment, .ops = ops, .n = n_ops, .escapes = escapes, .budget = COMPARISONS * n_ops};
  *out = (sm_roll){0};
  if (n_ops < SM_ROLL_TRIPS) return true;
  if (!set_up(&f, arena)) return false;
  /* No longer period can save more than the rest behind its first round. */
  for (int period = 1; period * SM_ROLL_TRIPS <= n_ops && n_ops - period > saved(out); period++)
    try_period(&f, period, out);
  return true;
}
