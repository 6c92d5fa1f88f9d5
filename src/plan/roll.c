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
  const bool *guest; /* of a repeat; NULL: a roll is looked for */
  uint64_t *face;    /* by position: code, axes, operand kinds and dtypes */
  int32_t *position; /* by value: of the record that defines it, or OUTSIDE */
  int32_t *last_use; /* by position: the last one that uses its result; n if it escapes */
  int budget;        /* records that may still be compared: the search is bounded by a count */
  uint32_t *start;   /* by place in the period: what the first period uses for the carried value */
  bool *carried;     /* by place in the period */
} finder;

static const sm_op *record(const finder *f, int position) { return &f->segment->ops.items[f->ops[position]]; }

/* --- Setting up ------------------------------------------------------------------------- */

static bool is_guest(const finder *f, const sm_operand *operand) {
  if (!f->guest || operand->is_scalar) return false;
  int32_t producer = f->segment->values.items[operand->use.value].producer;
  return producer != SM_NO_OP && f->guest[producer];
}

static uint64_t face_of(const finder *f, int position) {
  const sm_op *op = record(f, position);
  sm_hash h = sm_hash_start();
  sm_hash_u64(&h, (uint64_t)op->row->code << 8 | op->n_operands);
  sm_hash_u64(&h, f->segment->values.items[op->out].dtype);
  for (int i = 0; op->attrs && i < op->attrs->n; i++) sm_hash_u64(&h, (uint64_t)op->attrs->axes[i]);
  for (int k = 0; k < op->n_operands; k++)
    sm_hash_u64(&h, (uint64_t)op->operands[k].dtype << 2 | (uint64_t)op->operands[k].is_scalar << 1 |
                        is_guest(f, &op->operands[k]));
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

/* The value of a tensor operand. */
static uint32_t used(const finder *f, int position, int k) {
  return record(f, position)->operands[k].use.value;
}

/* Whether an operand is new in each of two periods, as it may be in a repeat. */
static bool is_new(const finder *f, uint32_t in_one, uint32_t in_other) {
  return f->guest && in_one != in_other && f->position[in_one] == OUTSIDE && f->position[in_other] == OUTSIDE;
}

/* How an operand of the second period is used in the first. */
static bool first_period_matches(finder *f, const sm_roll *r, uint32_t in_first, uint32_t in_second) {
  int a = f->position[in_first], b = f->position[in_second], second = r->first + r->period;
  if (b < r->first) return in_first == in_second || is_new(f, in_first, in_second);
  if (b >= second) return a == b - r->period;
  int place = b - r->first;
  bool known = f->carried[place];
  f->carried[place] = true;
  if (known) return f->start[place] == in_first;
  f->start[place] = in_first;
  return a < r->first;
}

/* How an operand of the second period is used in a later one, `distance` records on: the
 * k-th of the record at `place`. */
static bool later_period_matches(const finder *f, const sm_roll *r, int place, int k, int distance) {
  int second = r->first + r->period + place;
  uint32_t in_second = used(f, second, k), in_later = used(f, second + distance, k);
  if (f->position[in_second] >= r->first) return f->position[in_later] == f->position[in_second] + distance;
  if (used(f, r->first + place, k) == in_second) return in_second == in_later;
  return is_new(f, used(f, second + distance - r->period, k), in_later);
}

/* Compares the record at `place` of the second period with that `distance` on (or, if
 * that is negative, of the first). */
static bool record_matches(finder *f, const sm_roll *r, int place, int distance) {
  int second = r->first + r->period + place;
  if (f->budget-- <= 0) return false;
  if (f->face[second] != f->face[second + distance]) return false;
  const sm_op *op = record(f, second);
  for (int k = 0; k < op->n_operands; k++) {
    if (op->operands[k].is_scalar) continue;
    bool same = distance < 0
                    ? first_period_matches(f, r, used(f, second + distance, k), op->operands[k].use.value)
                    : later_period_matches(f, r, place, k, distance);
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

/* Tries the rolls with this period whose faces repeat from `begin` to `end`. */
static void try_stretch(finder *f, int period, int begin, int end, sm_roll *best) {
  for (sm_roll r = {.first = begin, .period = period}; end - r.first >= SM_ROLL_TRIPS * period; r.first++) {
    if (end - r.first - period <= sm_roll_saved(best)) return;
    r.trips = count_trips(f, &r);
    if (r.trips >= SM_ROLL_TRIPS && sm_roll_saved(&r) > sm_roll_saved(best)) *best = r;
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

static bool find(finder *f, sm_arena *arena, sm_roll *best) {
  *best = (sm_roll){0};
  f->budget = COMPARISONS * f->n;
  if (f->n < SM_ROLL_TRIPS) return true;
  if (!set_up(f, arena)) return false;
  /* No longer period can save more than the rest behind its first round. */
  for (int period = 1; period * SM_ROLL_TRIPS <= f->n && f->n - period > sm_roll_saved(best); period++)
    try_period(f, period, best);
  return true;
}

bool sm_roll_find(const sm_segment *segment, const uint32_t *ops, int n_ops, const bool *escapes,
                  sm_arena *arena, sm_roll *out) {
  finder f = {.segment = segment, .ops = ops, .n = n_ops, .escapes = escapes};
  return find(&f, arena, out);
}

bool sm_roll_find_repeat(const sm_segment *segment, const uint32_t *ops, int n_ops, const bool *escapes,
                         const bool *guest, sm_arena *arena, sm_roll *out) {
  finder f = {.segment = segment, .ops = ops, .n = n_ops, .escapes = escapes, .guest = guest};
  return find(&f, arena, out);
}
