/* SPDX-License-Identifier: Apache-2.0 */
#include "launch/reduce_parts.h"

/* A strip at work on a leaf. */
typedef struct strip {
  int32_t first, columns; /* where it begins, how many it has */
  int32_t leaf, ones;     /* the leaf's number and the 1s at its end */
  int32_t row, rows;      /* of a lane: its first element, and how many it has */
  int32_t leaves;         /* in the end */
  int32_t there;          /* of the columns at work; NONE: all */
} strip;

/* What is done to `width` columns, of which `place` is the first in the strip. */
typedef void columns_fn(const sm_reduce_state *s, const strip *at, int32_t place, int width);

/* Those from `from` on that are whole pieces of `width`; the rest begins at what is
 * returned. */
static int32_t for_pieces(const sm_reduce_state *s, const strip *at, int32_t from, int width, columns_fn *f) {
  int32_t rest = op_number(s, SM_KOP_FMOD, op2(s, SM_KOP_SUB, at->columns, from), width);
  int32_t to = op2(s, SM_KOP_SUB, at->columns, rest);
  f(s, at, sm_kir_for(s->k, from, to, width), width);
  sm_kir_end(s->k);
  return to;
}

/* Pieces of some vectors, then of one. */
static int32_t for_vectors(const sm_reduce_state *s, const strip *at, columns_fn *f) {
  const sm_reduce_form *form = s->form;
  int32_t from = for_pieces(s, at, number(s, 0), form->width, f);
  bool others = !form->whole_pieces && form->vector < form->width && form->vector > 1;
  return others ? for_pieces(s, at, from, form->vector, f) : from;
}

/* What is left is a vector of which some columns are there. Of rows taken across, which are apart, single
 * ones are. */
static void for_columns(const sm_reduce_state *s, const strip *at, columns_fn *f) {
  int32_t from = for_vectors(s, at, f);
  if (s->form->whole_pieces || s->form->width == 1) return;
  if (s->form->across) {
    (void)for_pieces(s, at, from, 1, f);
    return;
  }
  strip rest = *at;
  rest.there = op2(s, SM_KOP_SUB, at->columns, from);
  sm_begin_if_any(s, rest.there);
  f(s, &rest, from, s->form->vector);
  sm_kir_end(s->k);
}

static sm_reduce_columns columns_at(const sm_reduce_state *s, const strip *at, int32_t place, int width) {
  return (sm_reduce_columns){op2(s, SM_KOP_ADD, at->first, place), place, width, at->there, SM_KIR_NONE};
}

static void add_lane(const sm_reduce_state *s, const strip *at, int32_t place, int width) {
  sm_part sets[SM_REDUCE_SETS];
  sm_reduce_no_sets(sets);
  for (int t = 0; t < s->n; t++) sm_reduce_begin_sets(s, t, width, sets);
  sm_reduce_columns own = columns_at(s, at, place, width);
  sm_reduce_run_lanes(s, number(s, 0), at->rows, at->row, &own, sets);
  for (int t = 0; t < s->n; t++) {
    if (gives_index(s, t))
      sets[t].index = sm_reduce_lane_indices(s, sets[t].index, splat(s, at->row, width), width);
    if (is_centered(s, t)) sets[t] = sm_reduce_close_centered(s, t, sets[t], at->rows);
  }
  sm_reduce_push_leaf(s, at->ones, place, width, sets);
}

static void add_partial(const sm_reduce_state *s, const strip *at, int32_t place, int width) {
  sm_part parts[SM_REDUCE_TASKS];
  sm_reduce_columns own = columns_at(s, at, place, width);
  sm_reduce_load_partials(s, at->leaf, &own, parts);
  sm_reduce_push_leaf(s, at->ones, place, width, parts);
}

static void finish_columns(const sm_reduce_state *s, const strip *at, int32_t place, int width) {
  sm_part parts[SM_REDUCE_TASKS];
  sm_reduce_collect(s, at->leaves, place, width, parts);
  sm_reduce_columns own = columns_at(s, at, place, width);
  sm_reduce_finish(s, &own, parts);
}

/* Lanes come in the order 0, 8, 4, 12, ... */
static void find_lane(const sm_reduce_state *s, strip *at) {
  int32_t block = op_number(s, SM_KOP_TRUNC_DIV, at->leaf, SM_TREE_LANES);
  int32_t lane = sm_reduce_reverse_digits(s, at->leaf, 4);
  int32_t in_block = op2(s, SM_KOP_ADD, op_number(s, SM_KOP_MUL, block, SM_TREE_BLOCK), lane);
  at->row = op2(s, SM_KOP_ADD, s->begin, in_block);
  at->rows = number(s, SM_TREE_BLOCK / SM_TREE_LANES);
  if (s->form->whole_blocks) return;
  int32_t left = op_number(s, SM_KOP_ADD, op2(s, SM_KOP_SUB, s->end, at->row), SM_TREE_LANES - 1);
  int32_t rows = op_number(s, SM_KOP_TRUNC_DIV, op_number(s, SM_KOP_MAX, left, 0), SM_TREE_LANES);
  at->rows = op2(s, SM_KOP_MIN, rows, at->rows);
}

static strip open_strip(const sm_reduce_state *s, int32_t number_of_strip) {
  strip at = {.first = op_number(s, SM_KOP_MUL, number_of_strip, s->form->strip), .there = SM_KIR_NONE};
  at.columns = op_number(s, SM_KOP_MIN, op2(s, SM_KOP_SUB, s->inner, at.first), s->form->strip);
  return at;
}

static void visit_columns(const sm_reduce_state *s, const strip *at, int32_t place, int width) {
  int32_t none[1][SM_REDUCE_TASKS];
  sm_reduce_columns own = columns_at(s, at, place, width);
  sm_reduce_get_elements(s, &at->row, 1, &own, none);
}

/* A pass without tasks: all elements of the range. */
static void visit_strip(const sm_reduce_state *s, strip at) {
  at.row = sm_kir_for(s->k, s->begin, s->end, 1);
  for_columns(s, &at, visit_columns);
  sm_kir_end(s->k);
}

static void resume_columns(const sm_reduce_state *s, const strip *at, int32_t place, int width) {
  sm_reduce_columns own = columns_at(s, at, place, width);
  sm_reduce_resume(s, &own);
}

/* --- Rows taken across: a block, whose lanes are rows of the piece --------------------------- */

/* Row `row` of a piece of `width` columns in the slots. */
static int32_t piece_row(const sm_reduce_state *s, int32_t row, int width) {
  return op_number(s, SM_KOP_MUL, row, width);
}

/* Elements from `from` to `to`, each to its lane: the first ones begin it. */
static void fill_piece(const sm_reduce_state *s, const sm_reduce_columns *own, int from, int to) {
  int32_t values[1][SM_REDUCE_TASKS], reduced = sm_kir_for(s->k, number(s, from), number(s, to), 1);
  int32_t lane = op_number(s, SM_KOP_FMOD, reduced, SM_TREE_LANES);
  sm_reduce_get_elements(s, &reduced, 1, own, values);
  for (int t = 0; t < s->n; t++) {
    sm_part part = sm_part_of(values[0][t], gives_index(s, t) ? splat(s, reduced, own->width) : SM_KIR_NONE);
    int32_t place = piece_row(s, lane, own->width);
    if (from > 0)
      part = sm_reduce_combine(s, t, sm_reduce_load_part(s, s->slots[t], place, own->width), part);
    sm_reduce_store_part(s, s->slots[t], place, part);
  }
  sm_kir_end(s->k);
}

/* All elements of a piece, as they lie. */
static void stage_piece(const sm_reduce_state *s, const sm_reduce_columns *own) {
  int32_t first = op_number(s, SM_KOP_MUL, own->inner, s->form->across);
  int32_t at = sm_kir_for(s->k, number(s, 0), number(s, (int64_t)s->form->across * own->width), own->width);
  sm_reduce_place place = {.outer = s->outer,
                           .reduced = at,
                           .inner = own->inner,
                           .index = op2(s, SM_KOP_ADD, first, at),
                           .step = SM_KIR_NONE,
                           .column = SM_KIR_NONE,
                           .kept = SM_KIR_NONE,
                           .writes = SM_KIR_NONE,
                           .there = SM_KIR_NONE,
                           .width = own->width,
                           .pass = s->pass};
  s->body->stage(s->body->user, s->k, &place);
  sm_kir_end(s->k);
}

/* The first `n` lanes with as many others. */
static void fold_piece(const sm_reduce_state *s, int n, int32_t apart, int width) {
  int32_t lane = sm_kir_for(s->k, number(s, 0), number(s, n), 1);
  int32_t to = piece_row(s, lane, width), other = piece_row(s, op2(s, SM_KOP_ADD, lane, apart), width);
  for (int t = 0; t < s->n; t++) {
    sm_part left = sm_reduce_load_part(s, s->slots[t], to, width);
    sm_part right = sm_reduce_load_part(s, s->slots[t], other, width);
    sm_reduce_store_part(s, s->slots[t], to, sm_reduce_combine(s, t, left, right));
  }
  sm_kir_end(s->k);
}

/* Lanes without an element would change nothing. */
static void reduce_piece(const sm_reduce_state *s, const strip *at, int32_t place, int width) {
  sm_part parts[SM_REDUCE_TASKS];
  int n = s->form->across, lanes = n < SM_TREE_LANES ? n : SM_TREE_LANES;
  sm_reduce_columns own = columns_at(s, at, place, width);
  if (s->body->stage && s->pass == 0 && width > 1) stage_piece(s, &own);
  fill_piece(s, &own, 0, lanes);
  if (n > lanes) fill_piece(s, &own, lanes, n);
  for (int half = SM_TREE_LANES / 2; half > 0; half /= 2) {
    int pairs = lanes - half < half ? lanes - half : half;
    if (pairs > 0) fold_piece(s, pairs, number(s, half), width);
    lanes = half < lanes ? half : lanes;
  }
  for (int t = 0; t < s->n; t++) parts[t] = sm_reduce_load_part(s, s->slots[t], number(s, 0), width);
  sm_reduce_finish(s, &own, parts);
}

/* --- Strips ------------------------------------------------------------------------------------ */

static void push_leaves(const sm_reduce_state *s, strip *at) {
  bool combines = s->form->stage == SM_REDUCE_COMBINE;
  at->leaves = combines ? s->groups : op_number(s, SM_KOP_MUL, sm_reduce_count_leaves(s, 1), SM_TREE_LANES);
  at->leaf = sm_kir_for(s->k, number(s, 0), at->leaves, 1);
  at->ones = sm_reduce_ones_at_end(s, at->leaf);
  if (!combines) find_lane(s, at);
  for_columns(s, at, combines ? add_partial : add_lane);
  sm_kir_end(s->k);
}

static void reduce_strip(const sm_reduce_state *s, strip at) {
  if (s->form->wide) at.leaves = sm_reduce_run_sheets(s);
  else push_leaves(s, &at);
  for_columns(s, &at, finish_columns);
}

void sm_reduce_run_strip(const sm_reduce_state *s, int32_t number_of_strip) {
  strip at = open_strip(s, number_of_strip);
  if (s->form->stage == SM_REDUCE_PARTIAL && s->pass > 0) for_columns(s, &at, resume_columns);
  if (s->n && s->form->across) for_columns(s, &at, reduce_piece);
  else if (s->n) reduce_strip(s, at);
  else if (s->form->wide) sm_reduce_visit_sheets(s);
  else visit_strip(s, at);
}
