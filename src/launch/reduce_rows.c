/* SPDX-License-Identifier: Apache-2.0 */
#include "launch/reduce_parts.h"

#include <string.h>

/* As columns: one that is the inner axis; vectors lie along the reduced one, of which so many lanes
 * are there. */
static sm_reduce_columns the_row(const sm_reduce_state *s, int32_t there) {
  return (sm_reduce_columns){number(s, 0), s->place, SM_TREE_LANES, there, SM_KIR_NONE};
}

static sm_reduce_columns the_result(const sm_reduce_state *s) {
  return (sm_reduce_columns){number(s, 0), s->place, 1, SM_KIR_NONE, SM_KIR_NONE};
}

/* The vectors of a leaf: of a block, or of blocks side by side. Numbers of elements in
 * lanes count from the item's range. */
static void fill_leaf(const sm_reduce_state *s, int32_t leaf, int32_t elements, sm_part *sets) {
  enum { VECTORS = SM_TREE_BLOCK / SM_TREE_LANES };
  int side = s->form->side;
  int32_t from = op_number(s, SM_KOP_MUL, leaf, (int64_t)side * VECTORS);
  sm_reduce_columns row = the_row(s, SM_KIR_NONE);
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

/* The lanes that a task has filled, if there are several those of a block, with indices of the
 * reduced axis. `elements` is those of a block, or of fewer. */
static sm_part lanes_of(const sm_reduce_state *s, int t, int blocks, int block, int32_t elements,
                        sm_part *sets) {
  sm_part lanes = blocks == 1 ? sm_reduce_end_sets(s, t, sets) : *sm_reduce_set_of(s, sets, t, block);
  if (gives_index(s, t))
    lanes.index =
        sm_reduce_lane_indices(s, lanes.index, sm_kir_iota(s->k, s->begin, SM_TREE_LANES), SM_TREE_LANES);
  if (!is_centered(s, t)) return lanes;
  int32_t vectors = s->form->whole_blocks ? number(s, SM_TREE_BLOCK / SM_TREE_LANES)
                                          : op_number(s, SM_KOP_TRUNC_DIV, elements, SM_TREE_LANES);
  return sm_reduce_close_centered(s, t, lanes, vectors);
}

/* The part of blocks side by side, as the tree combines their lanes, half by half, and them. */
static sm_part combine_blocks(const sm_reduce_state *s, int t, int blocks, sm_part lanes[][SM_REDUCE_TASKS]) {
  for (int half = SM_TREE_LANES / 2; half > 0; half /= 2) {
    for (int block = 0; block < blocks; block++)
      lanes[block][t] = sm_reduce_combine_halves(s, t, lanes[block][t]);
  }
  for (int apart = 1; apart < blocks; apart *= 2) {
    for (int block = 0; block < blocks; block += 2 * apart)
      lanes[block][t] = sm_reduce_combine(s, t, lanes[block][t], lanes[block + apart][t]);
  }
  return lanes[0][t];
}

/* Parts of all tasks that need the tree, or of all others, from their lanes and what is
 * left of `elements` that begin at `first`. */
static void close_lanes(const sm_reduce_state *s, bool tree, int32_t first, int32_t elements, sm_part *sets,
                        sm_part *parts) {
  sm_part lanes[SM_REDUCE_SIDE][SM_REDUCE_TASKS];
  int blocks = tree ? s->form->side : 1;
  for (int block = 0; block < blocks; block++) {
    for (int t = 0; t < s->n; t++)
      lanes[block][t] = needs_tree(s, t) == tree ? lanes_of(s, t, blocks, block, elements, sets) : sm_no_part;
  }
  if (!s->form->whole_blocks) {
    int32_t rest = op_number(s, SM_KOP_FMOD, elements, SM_TREE_LANES);
    sm_reduce_columns row = the_row(s, rest);
    int32_t last = op2(s, SM_KOP_SUB, op2(s, SM_KOP_ADD, first, elements), rest);
    sm_reduce_add_rest(s, tree, last, &row, lanes[0]);
  }
  for (int t = 0; t < s->n; t++) {
    if (needs_tree(s, t) == tree) parts[t] = combine_blocks(s, t, blocks, lanes);
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
  int32_t no_values[1][SM_REDUCE_TASKS];
  int32_t elements = op2(s, SM_KOP_SUB, s->end, s->begin);
  int32_t vectors = op_number(s, SM_KOP_TRUNC_DIV, elements, SM_TREE_LANES);
  sm_reduce_columns row = the_row(s, SM_KIR_NONE);
  sm_reduce_no_sets(none);
  sm_reduce_run_lanes(s, number(s, 0), vectors, s->begin, &row, none);
  if (s->form->whole_blocks) return;
  int32_t rest = op_number(s, SM_KOP_FMOD, elements, SM_TREE_LANES);
  int32_t last = op2(s, SM_KOP_SUB, s->end, rest);
  sm_begin_if_any(s, rest);
  sm_reduce_columns end = the_row(s, rest);
  sm_reduce_get_elements(s, &last, 1, &end, no_values);
  sm_kir_end(s->k);
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

/* In a band of vectors the parts of its rows come together first. */
static void finish_row(const sm_reduce_state *s, const sm_part *parts) {
  sm_reduce_columns result = the_result(s);
  if (!sm_reduce_joins_rows(s->form)) sm_reduce_finish(s, &result, parts);
  for (int t = 0; t < s->n && sm_reduce_joins_rows(s->form); t++)
    sm_reduce_store_part(s, s->lanes[t], s->place, parts[t]);
}

void sm_reduce_finish_rows(const sm_reduce_state *s, int32_t there) {
  sm_part parts[SM_REDUCE_TASKS];
  sm_reduce_columns rows = {number(s, 0), s->place, SM_TREE_LANES, there, SM_KIR_NONE};
  for (int t = 0; t < s->n; t++) parts[t] = sm_reduce_load_part(s, s->lanes[t], s->place, SM_TREE_LANES);
  sm_reduce_finish(s, &rows, parts);
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
  finish_row(s, parts);
}

void sm_reduce_run_row(const sm_reduce_state *s) {
  sm_reduce_columns result = the_result(s);
  if (s->form->stage == SM_REDUCE_PARTIAL && s->pass > 0) sm_reduce_resume(s, &result);
  if (s->n) reduce_row(s);
  else visit_row(s);
}
