/* SPDX-License-Identifier: Apache-2.0
 *
 * Few columns taken wide (reduce_skeleton.h): a *sheet* is a row of each lane of the tree, as they
 * lie in memory. Vectors are counted from its beginning, where places of columns are those in the sheet. */
#include "launch/reduce_parts.h"

/* How much of a block there is: whole sheets, and rows of the last one. */
typedef struct block {
  int32_t first, sheets, rest;
} block;

static int count_columns(const sm_reduce_state *s) { return SM_TREE_LANES * s->form->wide; }

static block open_block(const sm_reduce_state *s, int32_t first) {
  int32_t rows = number(s, SM_TREE_BLOCK);
  if (!s->form->whole_blocks) rows = op2(s, SM_KOP_MIN, op2(s, SM_KOP_SUB, s->end, first), rows);
  return (block){first, op_number(s, SM_KOP_TRUNC_DIV, rows, SM_TREE_LANES),
                 op_number(s, SM_KOP_FMOD, rows, SM_TREE_LANES)};
}

static sm_reduce_columns columns_at(const sm_reduce_state *s, int32_t place, int32_t there) {
  return (sm_reduce_columns){place, place, s->form->vector, there, SM_KIR_NONE};
}

/* Of the vector at `place` of the last sheet, what so many rows have. */
static int32_t count_there(const sm_reduce_state *s, int32_t rows, int32_t place) {
  int32_t left = op2(s, SM_KOP_SUB, op_number(s, SM_KOP_MUL, rows, s->form->wide), place);
  return op_number(s, SM_KOP_MIN, op_number(s, SM_KOP_MAX, left, 0), s->form->vector);
}

static int32_t row_of_rest(const sm_reduce_state *s, const block *b) {
  return op2(s, SM_KOP_ADD, b->first, op_number(s, SM_KOP_MUL, b->sheets, SM_TREE_LANES));
}

/* A vector of all sheets of a block. */
static void add_sheets(const sm_reduce_state *s, const block *b, int32_t place) {
  sm_part sets[SM_REDUCE_SETS];
  sm_reduce_columns own = columns_at(s, place, SM_KIR_NONE);
  sm_reduce_no_sets(sets);
  for (int t = 0; t < s->n; t++) sm_reduce_begin_sets(s, t, own.width, sets);
  sm_reduce_run_lanes(s, number(s, 0), b->sheets, b->first, &own, sets);
  if (!s->form->whole_blocks) {
    own.there = count_there(s, b->rest, place);
    sm_reduce_add_rest(s, true, row_of_rest(s, b), &own, sets);
  }
  for (int t = 0; t < s->n; t++) sm_reduce_store_part(s, s->lanes[t], place, sets[t]);
}

/* The first `n` lanes with as many others, vector by vector: what the last one has beyond them is
 * wanted no more. */
static void fold_sheet(const sm_reduce_state *s, int n) {
  int32_t to = number(s, (int64_t)n * s->form->wide),
          place = sm_kir_for(s->k, number(s, 0), to, s->form->vector);
  int32_t other = op2(s, SM_KOP_ADD, place, to);
  for (int t = 0; t < s->n; t++) {
    sm_part left = sm_reduce_load_part(s, s->lanes[t], place, s->form->vector);
    sm_part right = sm_reduce_load_part(s, s->lanes[t], other, s->form->vector);
    sm_reduce_store_part(s, s->lanes[t], place, sm_reduce_combine(s, t, left, right));
  }
  sm_kir_end(s->k);
}

static void push_sheet(const sm_reduce_state *s, int32_t leaf) {
  sm_part parts[SM_REDUCE_TASKS];
  int32_t ones = sm_reduce_ones_at_end(s, leaf);
  int32_t place = sm_kir_for(s->k, number(s, 0), number(s, s->form->wide), s->form->vector);
  for (int t = 0; t < s->n; t++) parts[t] = sm_reduce_load_part(s, s->lanes[t], place, s->form->vector);
  sm_reduce_push_leaf(s, ones, place, s->form->vector, parts);
  sm_kir_end(s->k);
}

int32_t sm_reduce_run_sheets(const sm_reduce_state *s) {
  int32_t leaves = sm_reduce_count_leaves(s, 1), leaf = sm_kir_for(s->k, number(s, 0), leaves, 1);
  block b = open_block(s, op2(s, SM_KOP_ADD, s->begin, op_number(s, SM_KOP_MUL, leaf, SM_TREE_BLOCK)));
  add_sheets(s, &b, sm_kir_for(s->k, number(s, 0), number(s, count_columns(s)), s->form->vector));
  sm_kir_end(s->k);
  for (int n = SM_TREE_LANES / 2; n > 0; n /= 2) fold_sheet(s, n);
  push_sheet(s, leaf);
  sm_kir_end(s->k);
  return leaves;
}

/* --- A pass without tasks ---------------------------------------------------------------------- */

/* The vectors of a sheet, as far as so many rows are there. */
static void visit_sheet(const sm_reduce_state *s, int32_t row, int32_t rows) {
  int32_t none[1][SM_REDUCE_TASKS];
  int32_t to =
      rows == SM_KIR_NONE ? number(s, count_columns(s)) : op_number(s, SM_KOP_MUL, rows, s->form->wide);
  int32_t place = sm_kir_for(s->k, number(s, 0), to, s->form->vector);
  sm_reduce_columns own =
      columns_at(s, place, rows == SM_KIR_NONE ? SM_KIR_NONE : count_there(s, rows, place));
  sm_reduce_get_elements(s, &row, 1, &own, none);
  sm_kir_end(s->k);
}

void sm_reduce_visit_sheets(const sm_reduce_state *s) {
  int32_t rest = op_number(s, SM_KOP_FMOD, op2(s, SM_KOP_SUB, s->end, s->begin), SM_TREE_LANES);
  int32_t last = op2(s, SM_KOP_SUB, s->end, rest);
  visit_sheet(s, sm_kir_for(s->k, s->begin, last, SM_TREE_LANES), SM_KIR_NONE);
  sm_kir_end(s->k);
  if (!s->form->whole_blocks) visit_sheet(s, last, rest);
}
