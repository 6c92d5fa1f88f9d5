/* SPDX-License-Identifier: Apache-2.0 */
#include "plan/cut.h"

#include "plan/roll.h"

typedef struct cutter {
  const sm_segment *segment;
  const uint32_t *ops;
  int n;
  int *first, *last; /* by value: the first and last position that has it in hand, n if none */
} cutter;

static void touch(cutter *c, uint32_t v, int position) {
  if (c->first[v] == c->n) c->first[v] = position;
  c->last[v] = position;
}

static bool note_positions(cutter *c, sm_arena *arena) {
  size_t n_values = c->segment->values.len;
  c->first = sm_arena_alloc(arena, n_values * sizeof *c->first);
  c->last = sm_arena_zalloc(arena, n_values, sizeof *c->last);
  if (!c->first || !c->last) return false;
  for (size_t v = 0; v < n_values; v++) c->first[v] = c->n;
  for (int i = 0; i < c->n; i++) {
    const sm_op *op = &c->segment->ops.items[c->ops[i]];
    for (int k = 0; k < op->n_operands; k++) {
      if (!op->operands[k].is_scalar) touch(c, op->operands[k].use.value, i);
    }
    touch(c, op->out, i);
  }
  return true;
}

/* Bytes that a cut before `position` costs: an input is read twice, a result written
 * and read. */
static int64_t cost_of(const cutter *c, int position) {
  int64_t bytes = 0;
  for (size_t v = 0; v < c->segment->values.len; v++) {
    if (c->first[v] >= position || c->last[v] < position) continue;
    const sm_value *value = &c->segment->values.items[v];
    int32_t producer = value->producer;
    bool made_here = producer != SM_NO_OP && c->first[v] < c->n && c->ops[c->first[v]] == (uint32_t)producer;
    bytes += (1 + made_here) * sm_shape_bytes(&value->shape, value->dtype);
  }
  return bytes;
}

/* The latest of the cheapest places in the second half of what is allowed. */
static bool find_cheapest(cutter *c, int max_ops, sm_arena *arena, int *out) {
  if (!note_positions(c, arena)) return false;
  int64_t least = INT64_MAX;
  for (int position = max_ops; position > max_ops / 2; position--) {
    int64_t cost = cost_of(c, position);
    if (cost >= least) continue;
    least = cost;
    *out = position;
  }
  return true;
}

bool sm_cut_find(const sm_segment *segment, const uint32_t *ops, int n_ops, const sm_limits *limits,
                 const bool *escapes, sm_arena *arena, int *out) {
  sm_roll roll;
  *out = n_ops < limits->max_ops ? n_ops : limits->max_ops;
  if (limits->exact || n_ops <= limits->max_ops) return true;
  if (!sm_roll_find(segment, ops, n_ops, escapes, arena, &roll)) return false;
  if (sm_roll_kept(&roll, n_ops) <= limits->max_ops) {
    *out = n_ops;
    return true;
  }
  if (roll.trips && roll.first + roll.period <= limits->max_ops) {
    *out = roll.first + roll.trips * roll.period;
    return true;
  }
  cutter c = {.segment = segment, .ops = ops, .n = n_ops};
  return find_cheapest(&c, limits->max_ops, arena, out);
}
