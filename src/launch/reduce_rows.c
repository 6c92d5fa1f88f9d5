/* SPDX-License-Identifier: Apache-2.0 */
#include "launch/reduce_parts.h"

#include <string.h>

/* Elements at once where there are fewer than lanes. */
enum { NARROW = 4 };

/* As columns: one that is the inner axis; vectors lie along the reduced one. */
static sm_reduce_columns the_row(const sm_reduce_state *s, int width) {
  int32_t zero = number(s, 0);
  return (sm_reduce_columns){zero, zero, width, SM_KIR_NONE};
}

/* The vectors of a leaf: of a block, or of blocks side by side. Numbers of elements in
 * lanes count from the item's range. */
static void fill_leaf(const sm_reduce_state *s, int32_t leaf, int32_t elements, sm_part *sets) {
  enum { VECTORS = SM_TREE_BLOCK / SM_TREE_LANES };
  int side = s->form->side;
  int32_t from = op_number(s, SM_KOP_MUL, leaf, side * VECTORS);
  sm_reduce_columns row = the_row(s, SM_TREE_LANES);
  for (int t = 0; t < s->n; t++) {
    if (needs_tree(s, t)) sm_reduce_begin_sets(s, t, SM_TREE_LANES, sets);
  }
  if (side > 1) {
    sm_reduce_fill_lanes(s,
                         &(sm_reduce_round){from, op_number(s, SM_KOP_ADD, from, VECTORS), 1, side, VECTORS},
                         s->begin, &row, sets);
    return;
  }
  int32_t vectors = op_number(s, SM_KOP_TRUNC_DIV, elements, SM_TREE_LANES);
  sm_reduce_run_lanes(s, from, op2(s, SM_KOP_ADD, from, vectors), s->begin, &row, sets);
}

/* Elements from `from` to `to`, `width` at once, which belong to lanes from `lane` on. */
static void add_narrow(const sm_reduce_state *s, bool tree, int32_t from, int32_t to, int32_t lane,
                       int width) {
  int32_t values[1][SM_REDUCE_TASKS], reduced = sm_kir_for(s->k, from, to, width);
  sm_reduce_columns row = the_row(s, width);
  sm_reduce_get_elements(s, &reduced, 1, &row, values);
  int32_t at = op2(s, SM_KOP_ADD, lane, op2(s, SM_KOP_SUB, reduced, from));
  for (int t = 0; t < s->n; t++) {
    if (needs_tree(s, t) != tree) continue;
    sm_part own = {values[0][t], SM_KIR_NONE};
    if (gives_index(s, t)) own.index = width > 1 ? sm_kir_iota(s->k, reduced, width) : reduced;
    sm_part lanes = sm_reduce_load_part(s, s->lanes[t], at, width);
    sm_reduce_store_part(s, s->lanes[t], at, sm_reduce_combine(s, t, lanes, own));
  }
  sm_kir_end(s->k);
}

/* The last elements of the range, which fill only some lanes. */
static void add_last_elements(const sm_reduce_state *s, bool tree, int32_t from, int32_t to) {
  int32_t rest = op_number(s, SM_KOP_FMOD, op2(s, SM_KOP_SUB, to, from), NARROW);
  int32_t single = op2(s, SM_KOP_SUB, to, rest);
  add_narrow(s, tree, from, single, number(s, 0), NARROW);
  add_narrow(s, tree, single, to, op2(s, SM_KOP_SUB, single, from), 1);
}

/* The lanes that a task has filled, those of each block side by side, with indices of the
 * reduced axis. */
static void get_lanes(const sm_reduce_state *s, int t, int blocks, sm_part *sets, sm_part *lanes) {
  for (int block = 0; block < blocks; block++) {
    lanes[block] = blocks == 1 ? sm_reduce_end_sets(s, t, sets) : *sm_reduce_set_of(s, sets, t, block);
    if (!gives_index(s, t)) continue;
    int32_t first = sm_kir_iota(s->k, s->begin, SM_TREE_LANES);
    lanes[block].index = sm_reduce_lane_indices(s, lanes[block].index, first, SM_TREE_LANES);
  }
}

static sm_part half_of(const sm_reduce_state *s, sm_part lanes, int which) {
  sm_part half = {sm_kir_half(s->k, lanes.value, which), SM_KIR_NONE};
  if (lanes.index != SM_KIR_NONE) half.index = sm_kir_half(s->k, lanes.index, which);
  return half;
}

/* The part of blocks side by side, as the tree combines their lanes, half by half, and them. */
static sm_part combine_blocks(const sm_reduce_state *s, int t, int blocks, sm_part *lanes) {
  for (int half = SM_TREE_LANES / 2; half > 0; half /= 2) {
    for (int block = 0; block < blocks; block++)
      lanes[block] = sm_reduce_combine(s, t, half_of(s, lanes[block], 0), half_of(s, lanes[block], 1));
  }
  for (int apart = 1; apart < blocks; apart *= 2) {
    for (int block = 0; block < blocks; block += 2 * apart)
      lanes[block] = sm_reduce_combine(s, t, lanes[block], lanes[block + apart]);
  }
  return lanes[0];
}

/* Adds the last of `elements` that begin at `first` to the lanes of all tasks that need the
 * tree, or of all others. */
static void complete_lanes(const sm_reduce_state *s, bool tree, int32_t first, int32_t elements,
                           sm_part lanes[][SM_REDUCE_SIDE]) {
  int32_t zero = number(s, 0), end = op2(s, SM_KOP_ADD, first, elements);
  int32_t single = op_number(s, SM_KOP_FMOD, elements, SM_TREE_LANES);
  for (int t = 0; t < s->n; t++) {
    if (needs_tree(s, t) == tree) sm_reduce_store_part(s, s->lanes[t], zero, lanes[t][0]);
  }
  add_last_elements(s, tree, op2(s, SM_KOP_SUB, end, single), end);
  for (int t = 0; t < s->n; t++) {
    if (needs_tree(s, t) == tree) lanes[t][0] = sm_reduce_load_part(s, s->lanes[t], zero, SM_TREE_LANES);
  }
}

/* Parts of all tasks that need the tree, or of all others, from their lanes and what is
 * left of `elements` that begin at `first`. */
static void close_lanes(const sm_reduce_state *s, bool tree, int32_t first, int32_t elements, sm_part *sets,
                        sm_part *parts) {
  sm_part lanes[SM_REDUCE_TASKS][SM_REDUCE_SIDE];
  int blocks = tree ? s->form->side : 1;
  for (int t = 0; t < s->n; t++) {
    if (needs_tree(s, t) == tree) get_lanes(s, t, blocks, sets, lanes[t]);
  }
  if (!s->form->whole_blocks) complete_lanes(s, tree, first, elements, lanes);
  for (int t = 0; t < s->n; t++) {
    if (needs_tree(s, t) == tree) parts[t] = combine_blocks(s, t, blocks, lanes[t]);
  }
}

static bool any_needs(const sm_reduce_state *s, bool tree) {
  bool any = false;
  for (int t = 0; t < s->n; t++) any = any || needs_tree(s, t) == tree;
  return any;
}

/* A leaf of the range. Tasks that need the tree leave no lanes, but a part each. */
static void reduce_leaf(const sm_reduce_state *s, int32_t leaf, sm_part *sets, sm_part *parts) {
  int most = s->form->side * SM_TREE_BLOCK;
  int32_t first = op2(s, SM_KOP_ADD, s->begin, op_number(s, SM_KOP_MUL, leaf, most));
  int32_t elements = number(s, most);
  if (!s->form->whole_blocks) elements = op2(s, SM_KOP_MIN, op2(s, SM_KOP_SUB, s->end, first), elements);
  fill_leaf(s, leaf, elements, sets);
  for (int t = 0; t < s->n; t++) parts[t] = sm_no_part;
  if (!any_needs(s, true)) return;
  close_lanes(s, true, first, elements, sets, parts);
  for (int t = 0; t < s->n; t++) {
    for (int set = 0; set < sm_reduce_count_sets(s, t) && needs_tree(s, t); set++)
      *sm_reduce_set_of(s, sets, t, set) = sm_no_part;
  }
}

/* A pass without tasks: all elements of the range. */
static void visit_row(const sm_reduce_state *s) {
  sm_part none[SM_REDUCE_SETS];
  int32_t elements = op2(s, SM_KOP_SUB, s->end, s->begin);
  int32_t vectors = op_number(s, SM_KOP_TRUNC_DIV, elements, SM_TREE_LANES);
  sm_reduce_columns row = the_row(s, SM_TREE_LANES);
  sm_reduce_no_sets(none);
  sm_reduce_run_lanes(s, number(s, 0), vectors, s->begin, &row, none);
  int32_t whole = op2(s, SM_KOP_ADD, s->begin, op_number(s, SM_KOP_MUL, vectors, SM_TREE_LANES));
  if (!s->form->whole_blocks) add_last_elements(s, true, whole, s->end);
}

/* All leaves, which leave lanes of tasks that need no tree, and a part of each other. */
static void reduce_leaves(const sm_reduce_state *s, sm_part *sets, sm_part *parts) {
  sm_part carried[SM_REDUCE_SETS];
  int32_t zero = number(s, 0), leaves = sm_reduce_count_leaves(s, s->form->side);
  int32_t leaf = sm_kir_for(s->k, zero, leaves, 1);
  sm_reduce_carry_parts(s, sets, SM_REDUCE_SETS, carried);
  memcpy(sets, carried, sizeof carried);
  reduce_leaf(s, leaf, sets, parts);
  if (any_needs(s, true)) sm_reduce_push_leaf(s, sm_reduce_ones_at_end(s, leaf), zero, 1, parts);
  sm_reduce_end_parts(s, carried, SM_REDUCE_SETS, sets);
  sm_reduce_collect(s, leaves, zero, 1, parts);
}

static void reduce_row(const sm_reduce_state *s) {
  sm_part sets[SM_REDUCE_SETS], parts[SM_REDUCE_TASKS];
  int32_t zero = number(s, 0);
  sm_reduce_no_sets(sets);
  for (int t = 0; t < s->n; t++) {
    if (!needs_tree(s, t)) sm_reduce_begin_sets(s, t, SM_TREE_LANES, sets);
  }
  if (s->form->one_leaf) reduce_leaf(s, zero, sets, parts);
  else reduce_leaves(s, sets, parts);
  int32_t elements = op2(s, SM_KOP_SUB, s->end, s->begin);
  if (any_needs(s, false)) close_lanes(s, false, s->begin, elements, sets, parts);
  sm_reduce_finish(s, zero, zero, 1, parts);
}

void sm_reduce_run_row(const sm_reduce_state *s) {
  int32_t zero = number(s, 0);
  if (s->form->stage == SM_REDUCE_PARTIAL && s->pass > 0) sm_reduce_resume(s, zero, zero, 1);
  if (s->n) reduce_row(s);
  else visit_row(s);
}
