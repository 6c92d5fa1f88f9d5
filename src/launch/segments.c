/* SPDX-License-Identifier: Apache-2.0 */
#include "launch/segments.h"

enum { GATHER_COST = 16 };

int sm_step_cost(const sm_step *step) {
  if (step->kind == SM_STEP_GATHER) return GATHER_COST;
  return step->kind == SM_STEP_COMPUTE ? sm_kop_info_of(step->kop)->cost : 0;
}

bool sm_step_is_kept(const sm_step *step) { return sm_step_computes(step) || step->kind == SM_STEP_RESULT; }

/* What step `i` adds to its segment: a loop, which stays whole, all at once. */
static int segment_cost(const sm_block *block, int32_t i) {
  if (!sm_block_in_loop(block, i)) return sm_step_cost(&block->steps.items[i]);
  int cost = 0;
  for (int32_t k = block->loop.begin; k < block->loop.end && i == block->loop.begin; k++)
    cost += sm_step_cost(&block->steps.items[k]);
  return cost;
}

/* A segment ends before the step that would take it over the limit. */
static void cut(const sm_block *block, int limit, sm_segments *out) {
  int cost = 0;
  out->n = 0;
  out->begin[out->n++] = 0;
  for (int32_t i = 0; i < (int32_t)block->steps.len; i++) {
    int own = segment_cost(block, i);
    if (limit && own && cost && cost + own > limit) {
      out->begin[out->n++] = i;
      cost = 0;
    }
    cost += own;
  }
  out->begin[out->n] = (int32_t)block->steps.len;
}

static int segment_of(const sm_segments *s, int32_t step) {
  int segment = 0;
  while (s->begin[segment + 1] <= step) segment++;
  return segment;
}

/* The last segment that uses a step's value, -1 if none does. */
static void find_last_uses(const sm_block *block, const sm_segments *s, int32_t *last) {
  for (size_t i = 0; i < block->steps.len; i++) last[i] = -1;
  for (int segment = 0; segment < s->n; segment++) {
    for (int32_t i = s->begin[segment]; i < s->begin[segment + 1]; i++) {
      for (int k = 0; k < 3; k++) {
        int32_t arg = block->steps.items[i].args[k];
        if (arg != SM_NO_LOCAL) last[arg] = segment;
      }
    }
  }
}

/* A slot of that dtype whose value is dead after `segment`, or a new one. Loads
 * of a round come before its stores, so a value may take the place of one that
 * the same segment uses for the last time. */
static int take_slot(sm_segments *s, int *busy_until, smelt_dtype dtype, int segment, int last) {
  int slot = 0;
  while (slot < s->n_slots && (s->dtype[slot] != dtype || busy_until[slot] > segment)) slot++;
  if (slot == s->n_slots) s->dtype[s->n_slots++] = dtype;
  busy_until[slot] = last;
  return slot;
}

static void assign_slots(const sm_block *block, const int32_t *last, int *busy_until, sm_segments *s) {
  for (size_t i = 0; i < block->steps.len; i++) {
    const sm_step *step = &block->steps.items[i];
    int segment = segment_of(s, (int32_t)i);
    s->slot[i] = SM_NO_SLOT;
    if (!sm_step_is_kept(step) || last[i] <= segment) continue;
    s->slot[i] = take_slot(s, busy_until, step->dtype, segment, last[i]);
  }
}

bool sm_segments_cut(const sm_block *block, int limit, sm_arena *arena, sm_segments *out) {
  size_t n = block->steps.len;
  out->n_slots = 0;
  out->begin = sm_arena_zalloc(arena, n + 2, sizeof *out->begin);
  out->slot = sm_arena_zalloc(arena, n, sizeof *out->slot);
  out->dtype = sm_arena_zalloc(arena, n, sizeof *out->dtype);
  int32_t *last = sm_arena_zalloc(arena, n, sizeof *last);
  int *busy_until = sm_arena_zalloc(arena, n, sizeof *busy_until);
  if (!out->begin || !out->slot || !out->dtype || !last || !busy_until) return false;
  cut(block, limit, out);
  find_last_uses(block, out, last);
  assign_slots(block, last, busy_until, out);
  return true;
}
