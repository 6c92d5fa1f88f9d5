/* SPDX-License-Identifier: Apache-2.0 */
#include "plan/plan_graph.h"

#include <string.h>

#include "ir/liveness.h"
#include "plan/dissolve.h"

static bool allocate(sm_graph *g, sm_arena *arena) {
  size_t n = g->n_ops;
  g->needed = sm_arena_zalloc(arena, n, sizeof *g->needed);
  g->dissolved = sm_arena_zalloc(arena, n, sizeof *g->dissolved);
  g->uses = sm_arena_zalloc(arena, g->segment->values.len, sizeof *g->uses);
  g->below = sm_arena_zalloc(arena, n * g->words, sizeof *g->below);
  g->above = sm_arena_zalloc(arena, n * g->words, sizeof *g->above);
  return g->needed && g->dissolved && g->uses && g->below && g->above;
}

/* Guests have few records (plan/dissolve.h), so that there are few ways through them. */
void sm_graph_count_uses(const sm_graph *g, uint32_t op, uint32_t *uses) {
  const sm_op *record = &g->segment->ops.items[op];
  for (int k = 0; k < record->n_operands; k++) {
    if (record->operands[k].is_scalar) continue;
    uint32_t v = record->operands[k].use.value;
    int32_t producer = g->segment->values.items[v].producer;
    if (producer != SM_NO_OP && g->dissolved[producer]) sm_graph_count_uses(g, (uint32_t)producer, uses);
    else uses[v]++;
  }
}

static void count_all_uses(sm_graph *g) {
  memset(g->uses, 0, g->segment->values.len * sizeof *g->uses);
  for (uint32_t op = 0; op < g->n_ops; op++) {
    if (g->needed[op]) sm_graph_count_uses(g, op, g->uses);
  }
}

/* Those above a record: makers of its operands and, in the place of what has dissolved, of
 * its guests'. */
static void visit_operands(sm_graph *g, uint32_t op, uint32_t of) {
  const sm_op *record = &g->segment->ops.items[of];
  for (int k = 0; k < record->n_operands; k++) {
    if (record->operands[k].is_scalar) continue;
    uint32_t v = record->operands[k].use.value;
    int32_t producer = g->segment->values.items[v].producer;
    if (producer != SM_NO_OP && g->dissolved[producer]) {
      visit_operands(g, op, (uint32_t)producer);
      continue;
    }
    if (producer == SM_NO_OP) continue;
    sm_bitset_union(sm_graph_above(g, op), sm_graph_above(g, (uint32_t)producer), g->words);
  }
}

static void transpose(sm_graph *g) {
  for (uint32_t op = 0; op < g->n_ops; op++) {
    for (uint32_t from = 0; from <= op; from++) {
      if (sm_bitset_has(sm_graph_above(g, op), from)) sm_bitset_add(sm_graph_below(g, from), op);
    }
  }
}

static bool find_needed(sm_graph *g, const sm_fuser *const *fuser, bool dissolve, sm_arena *arena) {
  sm_segment_needed(g->segment, g->needed);
  if (dissolve && !sm_dissolve(g->segment, fuser, g->needed, arena, g->dissolved)) return false;
  for (uint32_t op = 0; op < g->n_ops; op++) {
    g->needed[op] = g->needed[op] && !g->dissolved[op];
    g->any_dissolved = g->any_dissolved || g->dissolved[op];
  }
  return true;
}

/* Records come in topological order, so one pass down gives `above`. */
bool sm_graph_build(sm_graph *g, const sm_segment *segment, const sm_fuser *const *fuser, bool dissolve,
                    sm_arena *arena) {
  *g = (sm_graph){.segment = segment, .n_ops = (uint32_t)segment->ops.len};
  g->words = sm_bitset_words(g->n_ops);
  if (!allocate(g, arena) || !find_needed(g, fuser, dissolve, arena)) return false;
  for (uint32_t op = 0; op < g->n_ops; op++) {
    if (!g->needed[op]) continue;
    sm_bitset_add(sm_graph_above(g, op), op);
    visit_operands(g, op, op);
  }
  count_all_uses(g);
  transpose(g);
  return true;
}

static bool passes_outside(const sm_graph *g, uint32_t from, uint32_t to, const uint64_t *members_a,
                           const uint64_t *members_b) {
  const uint64_t *below = sm_graph_below(g, from), *above = sm_graph_above(g, to);
  for (size_t w = 0; w < g->words; w++) {
    if (below[w] & above[w] & ~(members_a[w] | members_b[w])) return true;
  }
  return false;
}

bool sm_graph_convex(const sm_graph *g, uint32_t a, uint32_t b, const uint64_t *members_a,
                     const uint64_t *members_b) {
  return !passes_outside(g, a, b, members_a, members_b) && !passes_outside(g, b, a, members_a, members_b);
}

/* Adds `more` to the sets of the members of `who` that are not `informed`. */
static void inform(const sm_graph *g, uint64_t *sets, const uint64_t *who, const uint64_t *informed,
                   const uint64_t *more) {
  for (size_t w = 0; w < g->words; w++) {
    for (uint64_t rest = who[w] & ~informed[w]; rest; rest &= rest - 1) {
      size_t op = w * 64 + (size_t)__builtin_ctzll(rest);
      sm_bitset_union(sets + op * g->words, more, g->words);
    }
  }
}

/* Who reaches a record reaches already what that does; so on a path from `a` to `b` most
 * have nothing to learn. */
void sm_graph_contract(sm_graph *g, uint32_t a, uint32_t b, uint64_t *scratch) {
  size_t words = g->words, bytes = words * sizeof *scratch;
  uint64_t *below_a = scratch, *below_b = below_a + words, *above_a = below_b + words,
           *above_b = above_a + words;
  memcpy(below_a, sm_graph_below(g, a), bytes);
  memcpy(below_b, sm_graph_below(g, b), bytes);
  memcpy(above_a, sm_graph_above(g, a), bytes);
  memcpy(above_b, sm_graph_above(g, b), bytes);
  inform(g, g->below, above_a, above_b, below_b);
  inform(g, g->below, above_b, above_a, below_a);
  inform(g, g->above, below_a, below_b, above_b);
  inform(g, g->above, below_b, below_a, above_a);
}

void sm_graph_dissolve(sm_graph *g, const uint32_t *ops, int n, bool dissolved) {
  for (int i = 0; i < n; i++) {
    g->dissolved[ops[i]] = dissolved;
    g->needed[ops[i]] = !dissolved;
  }
  g->any_dissolved = true;
  count_all_uses(g);
}

void sm_graph_leave_out(sm_graph *g, const uint64_t *members) {
  for (uint32_t op = 0; op < g->n_ops; op++) {
    for (size_t w = 0; w < g->words; w++) {
      sm_graph_above(g, op)[w] &= ~members[w];
      sm_graph_below(g, op)[w] &= ~members[w];
    }
  }
}
