/* SPDX-License-Identifier: Apache-2.0 */
#include "launch/reduce_parts.h"

#include <string.h>

/* The row-major index of elements over all three axes. */
static int32_t index_of(const sm_reduce_state *s, int32_t reduced, int32_t inner) {
  if (s->form->across) return op2(s, SM_KOP_ADD, op_number(s, SM_KOP_MUL, inner, s->form->across), reduced);
  int32_t row = op2(s, SM_KOP_ADD, s->rows_before, reduced);
  return s->form->columns ? op2(s, SM_KOP_ADD, op2(s, SM_KOP_MUL, row, s->inner), inner) : row;
}

/* A row is kept as it is, behind those before it in its band, the rows of a strip one after another. Of a
 * team each thread keeps its own elements for itself, vectors of neighbouring threads side by side. */
static void find_kept(const sm_reduce_state *s, const sm_reduce_columns *c, sm_reduce_place *at) {
  int strip = s->form->strip, keep = s->form->keep, row = s->form->wide ? s->form->wide : strip;
  at->kept = at->reduced;
  if (!keep) return;
  if (sm_reduce_has_strips(s->form))
    at->kept = op2(s, SM_KOP_ADD, op_number(s, SM_KOP_MUL, at->reduced, row), c->place);
  if (sm_reduce_has_bands(s->form))
    at->kept = op2(s, SM_KOP_ADD, op_number(s, SM_KOP_MUL, c->place, keep / strip), at->reduced);
  if (!s->form->threads) return;
  at->kept =
      op2(s, SM_KOP_ADD, c->kept, op_number(s, SM_KOP_MUL, at->reduced, sm_reduce_kept_apart(s->form)));
}

static sm_reduce_place place_of_elements(const sm_reduce_state *s, int32_t reduced,
                                         const sm_reduce_columns *c) {
  sm_reduce_place at = {.outer = s->outer,
                        .reduced = reduced,
                        .inner = c->inner,
                        .index = index_of(s, reduced, c->inner),
                        .step = s->form->across ? number(s, s->form->across) : SM_KIR_NONE,
                        .column = c->place,
                        .writes = SM_KIR_NONE,
                        .there = c->there,
                        .width = c->width,
                        .pass = s->pass};
  find_kept(s, c, &at);
  return at;
}

void sm_reduce_get_elements(const sm_reduce_state *s, const int32_t *reduced, int n,
                            const sm_reduce_columns *c, int32_t (*values)[SM_REDUCE_TASKS]) {
  sm_reduce_place at[SM_REDUCE_PLACES];
  for (int i = 0; i < n; i++) at[i] = place_of_elements(s, reduced[i], c);
  s->body->elements(s->body->user, s->k, at, n, values);
}

int sm_reduce_count_sets(const sm_reduce_state *s, int t) {
  return needs_tree(s, t) && s->form->side == 1 ? 1 : SM_REDUCE_LOADS;
}

sm_part *sm_reduce_set_of(const sm_reduce_state *s, sm_part *sets, int t, int load) {
  return &sets[load % sm_reduce_count_sets(s, t) * s->n + t];
}

void sm_reduce_begin_sets(const sm_reduce_state *s, int t, int width, sm_part *sets) {
  sm_part lanes = sm_part_of(sm_reduce_neutral_value(s, t, width), SM_KIR_NONE);
  if (is_centered(s, t)) lanes = sm_reduce_begin_centered(s, t, width);
  if (gives_index(s, t)) lanes.index = constant(s, SMELT_I32, (sm_word){.bits = 0}, width);
  for (int load = 0; load < sm_reduce_count_sets(s, t); load++) *sm_reduce_set_of(s, sets, t, load) = lanes;
}

sm_part sm_reduce_end_sets(const sm_reduce_state *s, int t, sm_part *sets) {
  sm_part lanes = sets[t];
  for (int load = 1; load < sm_reduce_count_sets(s, t); load++)
    lanes = sm_reduce_combine(s, t, lanes, *sm_reduce_set_of(s, sets, t, load));
  return lanes;
}

void sm_reduce_no_sets(sm_part *sets) {
  for (int i = 0; i < SM_REDUCE_SETS; i++) sets[i] = sm_no_part;
}

/* Adds element number `k` (i64) of lanes to those of a task. */
static sm_part add_to_lanes(const sm_reduce_state *s, int t, sm_part lanes, int32_t value, int32_t k,
                            bool begins, int width) {
  sm_part own = sm_part_of(value, SM_KIR_NONE);
  if (is_centered(s, t)) return sm_reduce_add_centered(s, lanes, value, k, begins, width);
  if (!gives_index(s, t)) return sm_reduce_combine(s, t, lanes, own);
  own.index = splat(s, convert(s, SM_KOP_CAST, k, SMELT_I32), width);
  return sm_reduce_pick(s, sm_reduce_is_better(s, t, lanes.value, own.value), own, lanes);
}

int32_t sm_reduce_lane_indices(const sm_reduce_state *s, int32_t numbers, int32_t first, int width) {
  int32_t lanes = constant(s, SMELT_I64, (sm_word){.I64 = SM_TREE_LANES}, width);
  return op2(s, SM_KOP_ADD, op2(s, SM_KOP_MUL, convert(s, SM_KOP_CAST, numbers, SMELT_I64), lanes), first);
}

/* All loads of a round come first: a machine that waits for operands where they are used, and
 * does not look further, has none of them on their way otherwise. */
void sm_reduce_fill_lanes(const sm_reduce_state *s, const sm_reduce_round *r, int32_t first,
                          const sm_reduce_columns *c, sm_part *sets) {
  sm_part carried[SM_REDUCE_SETS];
  int32_t values[SM_REDUCE_PLACES][SM_REDUCE_TASKS], own[SM_REDUCE_PLACES], reduced[SM_REDUCE_PLACES];
  int n = (r->loads < SM_REDUCE_LOADS ? r->loads : SM_REDUCE_LOADS) * s->n;
  int32_t k = sm_kir_for(s->k, r->from, r->to, r->step);
  sm_reduce_carry_parts(s, sets, n, carried);
  memcpy(sets, carried, (size_t)n * sizeof *sets);
  for (int load = 0; load < r->loads; load++) {
    own[load] = load ? op_number(s, SM_KOP_ADD, k, (int64_t)load * r->apart) : k;
    reduced[load] = op2(s, SM_KOP_ADD, first, op_number(s, SM_KOP_MUL, own[load], SM_TREE_LANES));
  }
  sm_reduce_get_elements(s, reduced, r->loads, c, values);
  for (int load = 0; load < r->loads; load++) {
    bool begins = load * r->apart % (SM_TREE_BLOCK / SM_TREE_LANES) == 0;
    for (int t = 0; t < s->n; t++) {
      sm_part *set = sm_reduce_set_of(s, sets, t, load);
      *set = add_to_lanes(s, t, *set, values[load][t], own[load], begins, c->width);
    }
  }
  sm_reduce_end_parts(s, carried, n, sets);
}

/* A team waits for memory in its first pass. What later ones find in the caches, or a team has kept, takes
 * less time than what is done with it. */
static int choose_loads(const sm_reduce_state *s) {
  if (s->form->threads && s->pass == 0) return SM_REDUCE_TEAM_LOADS;
  return s->form->threads && s->form->keep ? SM_REDUCE_KEPT_LOADS : SM_REDUCE_LOADS;
}

void sm_reduce_run_lanes(const sm_reduce_state *s, int32_t from, int32_t to, int32_t first,
                         const sm_reduce_columns *c, sm_part *sets) {
  int loads = choose_loads(s);
  if (c->width >= s->form->width && s->form->whole_blocks) {
    sm_reduce_fill_lanes(s, &(sm_reduce_round){from, to, loads, loads, 1}, first, c, sets);
    return;
  }
  if (c->width >= s->form->width) {
    int32_t rest = op_number(s, SM_KOP_FMOD, op2(s, SM_KOP_SUB, to, from), loads);
    int32_t whole = op2(s, SM_KOP_SUB, to, rest);
    sm_reduce_fill_lanes(s, &(sm_reduce_round){from, whole, loads, loads, 1}, first, c, sets);
    from = whole;
  }
  sm_reduce_fill_lanes(s, &(sm_reduce_round){from, to, 1, 1, 1}, first, c, sets);
}

/* Which lanes are there, if the first `n` are. */
static int32_t first_lanes(const sm_reduce_state *s, int32_t n, int width) {
  return op2(s, SM_KOP_LT, sm_kir_iota(s->k, number(s, 0), width), splat(s, n, width));
}

void sm_reduce_add_rest(const sm_reduce_state *s, bool tree, int32_t first, const sm_reduce_columns *c,
                        sm_part *lanes) {
  sm_part carried[SM_REDUCE_TASKS];
  int32_t values[1][SM_REDUCE_TASKS];
  for (int t = 0; t < s->n; t++) {
    if (needs_tree(s, t) == tree && is_centered(s, t))
      lanes[t].count = sm_reduce_widen(s, lanes[t].count, lanes[t].value);
  }
  sm_begin_if_any(s, c->there);
  sm_reduce_carry_parts(s, lanes, s->n, carried);
  memcpy(lanes, carried, (size_t)s->n * sizeof *lanes);
  int32_t there = first_lanes(s, c->there, c->width);
  sm_reduce_get_elements(s, &first, 1, c, values);
  for (int t = 0; t < s->n; t++) {
    if (needs_tree(s, t) != tree) continue;
    sm_part own = sm_part_of(values[0][t], SM_KIR_NONE);
    if (gives_index(s, t)) own.index = sm_kir_iota(s->k, first, c->width);
    if (is_centered(s, t)) own = sm_reduce_one_centered(s, values[0][t]);
    own = sm_reduce_pick(s, there, own, sm_reduce_neutral(s, t, c->width));
    lanes[t] = sm_reduce_combine(s, t, lanes[t], own);
  }
  sm_reduce_end_parts(s, carried, s->n, lanes);
}
