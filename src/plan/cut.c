/* SPDX-License-Identifier: Apache-2.0 */
#include "plan/cut.h"

#include <stdlib.h>

#include "plan/roll.h"

typedef struct cutter {
  const sm_cut *cut;
  int n;
  int *first, *last; /* by value: the first and last position that has it in hand, n if none */
} cutter;

static void touch(cutter *c, uint32_t v, int position) {
  if (c->first[v] == c->n) c->first[v] = position;
  c->last[v] = position;
}

static bool note_positions(cutter *c, sm_arena *arena) {
  size_t n_values = c->cut->segment->values.len;
  c->first = sm_arena_alloc(arena, n_values * sizeof *c->first);
  c->last = sm_arena_zalloc(arena, n_values, sizeof *c->last);
  if (!c->first || !c->last) return false;
  for (size_t v = 0; v < n_values; v++) c->first[v] = c->n;
  for (int i = 0; i < c->n; i++) {
    const sm_op *op = &c->cut->segment->ops.items[c->cut->ops[i]];
    for (int k = 0; k < op->n_operands; k++) {
      if (!op->operands[k].is_scalar) touch(c, op->operands[k].use.value, i);
    }
    touch(c, op->out, i);
  }
  return true;
}

/* Sizes of what a cut carries from one kernel to the next, the largest first. */
typedef struct carried {
  int64_t *bytes;
  size_t n;
} carried;

static int larger_first(const void *a, const void *b) {
  int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
  return (x < y) - (x > y);
}

/* Of a cut before `position`: an input is read twice, a result written and read. */
static void find_carried(const cutter *c, int position, carried *out) {
  out->n = 0;
  for (size_t v = 0; v < c->cut->segment->values.len; v++) {
    if (c->first[v] >= position || c->last[v] < position) continue;
    const sm_value *value = &c->cut->segment->values.items[v];
    int32_t producer = value->producer;
    bool made_here =
        producer != SM_NO_OP && c->first[v] < c->n && c->cut->ops[c->first[v]] == (uint32_t)producer;
    for (int times = 0; times <= made_here; times++)
      out->bytes[out->n++] = sm_shape_bytes(&value->shape, value->dtype);
  }
  qsort(out->bytes, out->n, sizeof *out->bytes, larger_first);
}

/* Fewer of the largest, and so on: no sum, for a plan may depend only on the order of sizes
 * (stream/plan_cache.h). */
static bool is_cheaper(const carried *a, const carried *b) {
  for (size_t i = 0; i < a->n && i < b->n; i++) {
    if (a->bytes[i] != b->bytes[i]) return a->bytes[i] < b->bytes[i];
  }
  return a->n < b->n;
}

/* The latest of the cheapest places in the second half of what is allowed. */
static bool find_cheapest(cutter *c, int max_ops, sm_arena *arena, int *out) {
  size_t most = 2 * c->cut->segment->values.len;
  carried least = {sm_arena_alloc(arena, most * sizeof(int64_t)), 0};
  carried own = {sm_arena_alloc(arena, most * sizeof(int64_t)), 0};
  if (!least.bytes || !own.bytes || !note_positions(c, arena)) return false;
  for (int position = max_ops; position > max_ops / 2; position--) {
    find_carried(c, position, &own);
    if (position < max_ops && !is_cheaper(&own, &least)) continue;
    carried former = least;
    least = own;
    own = former;
    *out = position;
  }
  return true;
}

/* A piece of what repeats with new tensors. */
static sm_piece cut_repeat(const sm_roll *repeat, int max_ops) {
  int most = max_ops / repeat->period, periods = 1;
  if (repeat->first) return (sm_piece){repeat->first + repeat->period, 0, SM_REASON_REPEAT};
  while (2 * periods <= repeat->trips && 2 * periods <= most) periods *= 2;
  return (sm_piece){periods * repeat->period, repeat->period, SM_REASON_REPEAT};
}

/* A piece of what is too long. */
static bool cut_long(const sm_cut *cut, const sm_roll *roll, sm_arena *arena, sm_piece *out) {
  int max_ops = cut->limits->max_ops;
  if (roll->trips && roll->first + roll->period <= max_ops) {
    out->n_ops = roll->first + roll->trips * roll->period;
    return true;
  }
  cutter c = {.cut = cut, .n = cut->n_ops};
  return find_cheapest(&c, max_ops, arena, &out->n_ops);
}

bool sm_cut_find(const sm_cut *cut, sm_arena *arena, sm_piece *out) {
  sm_roll roll, repeat;
  int n = cut->n_ops, max_ops = cut->limits->max_ops;
  *out = (sm_piece){n < max_ops ? n : max_ops, 0, SM_REASON_OPS};
  if (cut->limits->exact) return true;
  if (!sm_roll_find(cut->segment, cut->ops, n, cut->escapes, arena, &roll) ||
      !sm_roll_find_repeat(cut->segment, cut->ops, n, cut->escapes, cut->guest, arena, &repeat))
    return false;
  bool repeats = repeat.trips >= SM_CUT_PERIODS && sm_roll_saved(&repeat) > sm_roll_saved(&roll);
  if (repeats && repeat.first + repeat.period <= max_ops) {
    *out = cut_repeat(&repeat, max_ops);
    return true;
  }
  if (sm_roll_kept(&roll, n) > max_ops) return cut_long(cut, &roll, arena, out);
  out->n_ops = n;
  return true;
}

void sm_cut_shorten(sm_piece *piece) {
  int periods = piece->period ? piece->n_ops / piece->period : 1;
  if (periods > 1) piece->n_ops = periods / 2 * piece->period;
  else piece->n_ops--;
}
