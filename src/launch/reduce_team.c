/* SPDX-License-Identifier: Apache-2.0
 *
 * Places of a round's parts. The binary digits of a place are those of the lane, then those of the
 * block in reverse (of a COMBINE those of the leaf in reverse): the tree combines lanes that differ
 * in their first digit, then in the second, and in the end blocks that differ in the last one
 * before others. So it is always the first digit that parts differ in, and what is combined is
 * half of all places apart. Behind the place come the digits of the results abreast. */
#include "launch/reduce_forms.h"
#include "launch/reduce_parts.h"

/* Parts that a thread combines between two barriers. */
enum { RADIX = 16 };

/* A thread's part of the work on a pass. */
typedef struct share {
  sm_reduce_columns columns;
  int32_t block, lane; /* of a round; the first of some lanes */
  int32_t place;       /* of the part of that lane, in shared memory */
  int32_t result;      /* the same of the result, and in slots */
} share;

/* What is before the last factor of a number, a power of two, and what is in it. */
static int32_t major_of(const sm_reduce_state *s, int32_t n, int factor) {
  return op_number(s, SM_KOP_SHR, n, sm_log2_above(factor));
}
static int32_t minor_of(const sm_reduce_state *s, int32_t n, int factor) {
  return op_number(s, SM_KOP_AND, n, factor - 1);
}

static int count_blocks(const sm_reduce_form *form) { return form->parts / SM_TREE_LANES; }

/* In shared memory, of the thread's own result. */
static int32_t position_of(const sm_reduce_state *s, int32_t place) {
  int32_t before = op_number(s, SM_KOP_MUL, place, s->form->abreast);
  return op_number(s, SM_KOP_MUL, op2(s, SM_KOP_ADD, before, s->result), s->form->strip);
}

/* Of a round's leaves in COMBINE. */
static int32_t place_of_leaf(const sm_reduce_state *s, int32_t leaf) {
  return position_of(s, sm_reduce_reverse_digits(s, leaf, sm_log2_above(s->form->parts)));
}

static int32_t place_of_lane(const sm_reduce_state *s, const share *own) {
  int blocks = count_blocks(s->form);
  int32_t block = sm_reduce_reverse_digits(s, own->block, sm_log2_above(blocks));
  return position_of(s, op2(s, SM_KOP_ADD, op_number(s, SM_KOP_MUL, own->lane, blocks), block));
}

/* The place of a row's lane from that of the lane before. */
static int next_lane(const sm_reduce_form *form) { return count_blocks(form) * form->abreast; }

/* Elements i of the thread's lanes are kept at [i][member]: places that follow from the first lane's own,
 * as there is one round. */
static int32_t find_kept(const sm_reduce_state *s, const share *own) {
  if (!s->form->keep) return SM_KIR_NONE;
  int32_t block = op_number(s, SM_KOP_MUL, own->block, SM_TREE_BLOCK);
  int32_t first = op2(s, SM_KOP_ADD, block, own->lane);
  int32_t before = op_number(s, SM_KOP_MUL, first, sm_reduce_kept_apart(s->form));
  return op2(s, SM_KOP_SUB, op_number(s, SM_KOP_MUL, sm_kir_member(s->k), s->form->vector), before);
}

static share find_share(const sm_reduce_state *s, int32_t number_of_strip) {
  const sm_reduce_form *form = s->form;
  int lanes = form->columns ? 1 : form->vector, threads = SM_TREE_LANES / lanes;
  share own = {.columns = {number(s, 0), number(s, 0), form->vector, SM_KIR_NONE, SM_KIR_NONE}};
  if (form->columns) own.columns.inner = op_number(s, SM_KOP_MUL, number_of_strip, form->strip);
  own.block = major_of(s, s->share, threads);
  own.lane = op_number(s, SM_KOP_MUL, minor_of(s, s->share, threads), lanes);
  own.place = place_of_lane(s, &own);
  own.columns.kept = find_kept(s, &own);
  own.result = op_number(s, SM_KOP_MUL, s->result, form->strip);
  return own;
}

/* --- Combining what a round has made -------------------------------------------------------- */

/* Parts of one column from `first` on, each `apart` from the one before, to one. */
static sm_part combine_places(const sm_reduce_state *s, int t, int32_t first, int n, int apart) {
  sm_part parts = sm_reduce_load_parts(s, s->lanes[t], first, number(s, apart), n);
  for (; n > 1; n /= 2) parts = sm_reduce_combine_halves(s, t, parts);
  return parts;
}

/* From `n` times as many parts of each result to `left`: some of the threads have enough to do. */
static void combine_some(const sm_reduce_state *s, int n, int left) {
  int row = left * s->form->abreast * s->form->strip;
  int32_t first = sm_kir_for(s->k, sm_kir_member(s->k), number(s, row), s->form->threads);
  for (int t = 0; t < s->n; t++)
    sm_reduce_store_part(s, s->lanes[t], first, combine_places(s, t, first, n, row));
  sm_kir_end(s->k);
  sm_kir_barrier(s->k);
}

/* Of all parts in shared memory the thread's result. Few of one column all threads combine, which need not
 * wait for each other once more. */
static void combine_round(const sm_reduce_state *s, const share *own, sm_part *parts) {
  int left = s->form->parts;
  sm_kir_barrier(s->k);
  for (; left > RADIX; left /= RADIX) combine_some(s, RADIX, left / RADIX);
  if (s->form->strip > 1 && left > 1) {
    combine_some(s, left, 1);
    left = 1;
  }
  for (int t = 0; t < s->n; t++) {
    parts[t] = left > 1 ? combine_places(s, t, own->result, left, s->form->abreast)
                        : sm_reduce_load_part(s, s->lanes[t], own->result, s->form->strip);
  }
}

/* --- Elements --------------------------------------------------------------------------------- */

static int32_t clamp(const sm_reduce_state *s, int32_t n, int64_t most) {
  return op_number(s, SM_KOP_MIN, op_number(s, SM_KOP_MAX, n, 0), most);
}

/* The elements that the thread's block of a round has; below 0 if there is no such block. */
static int32_t count_left(const sm_reduce_state *s, int32_t block) {
  int32_t before = op_number(s, SM_KOP_MUL, block, SM_TREE_BLOCK);
  return op2(s, SM_KOP_SUB, op2(s, SM_KOP_SUB, s->end, s->begin), before);
}

/* How many elements all lanes of the thread have. */
static int32_t count_vectors(const sm_reduce_state *s, const share *own, int32_t block) {
  enum { VECTORS = SM_TREE_BLOCK / SM_TREE_LANES };
  if (s->form->whole_blocks) return number(s, VECTORS);
  int32_t left = count_left(s, block);
  if (s->form->columns)
    left = op_number(s, SM_KOP_ADD, op2(s, SM_KOP_SUB, left, own->lane), SM_TREE_LANES - 1);
  return clamp(s, major_of(s, left, SM_TREE_LANES), VECTORS);
}

/* The thread's lanes of a round, in `sets`, but for elements of a last vector that is not whole. */
static void fill_share(const sm_reduce_state *s, const share *own, int32_t block, sm_part *sets) {
  int32_t from = op_number(s, SM_KOP_MUL, block, SM_TREE_LANES);
  int32_t to = op2(s, SM_KOP_ADD, from, count_vectors(s, own, block));
  sm_reduce_no_sets(sets);
  for (int t = 0; t < s->n; t++) sm_reduce_begin_sets(s, t, own->columns.width, sets);
  sm_reduce_run_lanes(s, from, to, op2(s, SM_KOP_ADD, s->begin, own->lane), &own->columns, sets);
}

/* With indices of the reduced axis. */
static void end_lanes(const sm_reduce_state *s, const share *own, sm_part *sets) {
  int width = own->columns.width;
  int32_t first = op2(s, SM_KOP_ADD, s->begin, own->lane);
  first = s->form->columns || width == 1 ? splat(s, first, width) : sm_kir_iota(s->k, first, width);
  for (int t = 0; t < s->n; t++)
    if (gives_index(s, t)) sets[t].index = sm_reduce_lane_indices(s, sets[t].index, first, width);
}

/* Lanes of rows follow each other, those of columns are vectors. */
static int32_t stride_of_lanes(const sm_reduce_state *s) {
  return s->form->columns ? SM_KIR_NONE : number(s, next_lane(s->form));
}

static void put_lanes(const sm_reduce_state *s, const share *own, int t, sm_part lanes) {
  sm_kir_store(s->k, s->lanes[t].value, own->place, stride_of_lanes(s), lanes.value);
  if (gives_index(s, t)) sm_kir_store(s->k, s->lanes[t].index, own->place, stride_of_lanes(s), lanes.index);
}

static sm_part get_lanes(const sm_reduce_state *s, const share *own, int t) {
  int width = own->columns.width;
  sm_part lanes =
      sm_part_of(sm_kir_load(s->k, s->lanes[t].value, own->place, stride_of_lanes(s), width), SM_KIR_NONE);
  if (gives_index(s, t))
    lanes.index = sm_kir_load(s->k, s->lanes[t].index, own->place, stride_of_lanes(s), width);
  return lanes;
}

/* Of a row's last vector, which is not whole, what is in the thread's lanes. */
static void add_rest(const sm_reduce_state *s, const share *own, int32_t block) {
  int32_t values[1][SM_REDUCE_TASKS], left = clamp(s, count_left(s, block), SM_TREE_BLOCK);
  int32_t rest = op2(s, SM_KOP_SUB, minor_of(s, left, SM_TREE_LANES), own->lane);
  int32_t i = sm_kir_for(s->k, number(s, 0), clamp(s, rest, own->columns.width), 1);
  int32_t vectors = op2(s, SM_KOP_SUB, left, minor_of(s, left, SM_TREE_LANES));
  int32_t before = op2(s, SM_KOP_ADD, op_number(s, SM_KOP_MUL, block, SM_TREE_BLOCK), vectors);
  int32_t first = op2(s, SM_KOP_ADD, op2(s, SM_KOP_ADD, s->begin, own->lane), before);
  int32_t reduced = op2(s, SM_KOP_ADD, first, i);
  sm_reduce_columns single = {own->columns.inner, own->columns.place, 1, SM_KIR_NONE, SM_KIR_NONE};
  if (s->form->keep) {
    int32_t apart = op_number(s, SM_KOP_MUL, i, 1 - sm_reduce_kept_apart(s->form));
    single.kept = op2(s, SM_KOP_ADD, own->columns.kept, apart);
  }
  sm_reduce_get_elements(s, &reduced, 1, &single, values);
  int32_t at = op2(s, SM_KOP_ADD, own->place, op_number(s, SM_KOP_MUL, i, next_lane(s->form)));
  for (int t = 0; t < s->n; t++) {
    sm_part lane = sm_reduce_load_part(s, s->lanes[t], at, 1);
    sm_part element = sm_part_of(values[0][t], gives_index(s, t) ? reduced : SM_KIR_NONE);
    sm_reduce_store_part(s, s->lanes[t], at, sm_reduce_combine(s, t, lane, element));
  }
  sm_kir_end(s->k);
}

static int32_t block_of_round(const sm_reduce_state *s, const share *own, int32_t round) {
  return op2(s, SM_KOP_ADD, op_number(s, SM_KOP_MUL, round, count_blocks(s->form)), own->block);
}

/* To shared memory, which threads may still read what was there before from. */
static void put_sets(const sm_reduce_state *s, const share *own, int32_t block, const sm_part *sets) {
  sm_kir_barrier(s->k);
  for (int t = 0; t < s->n; t++) put_lanes(s, own, t, sets[t]);
  if (!s->form->columns && !s->form->whole_blocks) add_rest(s, own, block);
}

/* A pass without tasks. */
static void visit_elements(const sm_reduce_state *s, const share *own, int32_t round) {
  sm_part none[SM_REDUCE_SETS];
  int32_t block = block_of_round(s, own, round);
  fill_share(s, own, block, none);
  if (!s->form->columns && !s->form->whole_blocks) add_rest(s, own, block);
}

static sm_reduce_columns results_of(const sm_reduce_state *s, const share *own) {
  sm_reduce_columns results = own->columns;
  results.width = s->form->strip;
  return results;
}

/* A part of each task for a leaf, neutral ones if there is no such leaf. */
static void load_partial(const sm_reduce_state *s, const share *own, int32_t leaf, sm_part *parts) {
  sm_part carried[SM_REDUCE_TASKS];
  sm_reduce_columns results = results_of(s, own);
  int32_t is_there = convert(s, SM_KOP_CAST, op2(s, SM_KOP_LT, leaf, s->groups), SMELT_I64);
  for (int t = 0; t < s->n; t++) parts[t] = sm_reduce_neutral(s, t, results.width);
  (void)sm_kir_for(s->k, number(s, 0), is_there, 1);
  sm_reduce_carry_parts(s, parts, s->n, carried);
  sm_reduce_load_partials(s, leaf, &results, parts);
  sm_reduce_end_parts(s, carried, s->n, parts);
}

/* The same of what PARTIAL has left. Neighbours take neighbouring leaves. */
static void put_partials(const sm_reduce_state *s, const share *own, int32_t round) {
  sm_part parts[SM_REDUCE_TEAM_LEAVES][SM_REDUCE_TASKS];
  int at_once = s->form->threads / s->form->abreast, n = s->form->parts / at_once;
  int32_t first = op2(s, SM_KOP_ADD, op_number(s, SM_KOP_MUL, round, s->form->parts), s->share);
  for (int i = 0; i < n; i++)
    load_partial(s, own, op_number(s, SM_KOP_ADD, first, (int64_t)i * at_once), parts[i]);
  sm_kir_barrier(s->k);
  for (int i = 0; i < n; i++) {
    int32_t place = place_of_leaf(s, op_number(s, SM_KOP_ADD, s->share, (int64_t)i * at_once));
    for (int t = 0; t < s->n; t++) sm_reduce_store_part(s, s->lanes[t], place, parts[i][t]);
  }
}

/* --- Shuffling -------------------------------------------------------------------------------------- */

/* What those that shuffle have made is put by the first of them, and combined by each thread. */
static void combine_shuffled(const sm_reduce_state *s, const share *own, int n, sm_part *parts) {
  int shuffle = s->form->shuffle;
  int32_t is_first = op_number(s, SM_KOP_EQ, minor_of(s, s->share, shuffle), 0);
  int32_t number_of_part = sm_reduce_reverse_digits(s, major_of(s, s->share, shuffle), sm_log2_above(n));
  int32_t place = position_of(s, number_of_part);
  sm_kir_barrier(s->k);
  (void)sm_kir_for(s->k, number(s, 0), convert(s, SM_KOP_CAST, is_first, SMELT_I64), 1);
  for (int t = 0; t < s->n; t++) sm_reduce_store_part(s, s->lanes[t], place, parts[t]);
  sm_kir_end(s->k);
  sm_kir_barrier(s->k);
  for (int t = 0; t < s->n; t++) parts[t] = combine_places(s, t, own->result, n, s->form->abreast);
}

static void shuffle_round(const sm_reduce_state *s, const share *own, int32_t block, sm_part *sets,
                          sm_part *parts) {
  int n = s->form->threads / s->form->abreast / s->form->shuffle;
  if (!s->form->whole_blocks) {
    put_sets(s, own, block, sets);
    for (int t = 0; t < s->n; t++) sets[t] = get_lanes(s, own, t);
  }
  for (int t = 0; t < s->n; t++) parts[t] = sm_reduce_shuffle(s, t, sets[t]);
  if (n > 1) combine_shuffled(s, own, n, parts);
}

/* --- Rounds ------------------------------------------------------------------------------------- */

/* The same for all items, the last group's too. */
static int32_t count_rounds(const sm_reduce_state *s) {
  const sm_reduce_form *form = s->form;
  bool combines = form->stage == SM_REDUCE_COMBINE;
  int64_t all = combines ? form->parts : (int64_t)count_blocks(form) * SM_TREE_BLOCK;
  int32_t n = combines ? s->groups : s->reduced;
  if (form->stage == SM_REDUCE_PARTIAL) n = op_number(s, SM_KOP_MIN, n, (int64_t)form->group * SM_TREE_BLOCK);
  return op_number(s, SM_KOP_TRUNC_DIV, op_number(s, SM_KOP_ADD, n, all - 1), all);
}

static void reduce_round(const sm_reduce_state *s, const share *own, int32_t round, sm_part *parts) {
  if (s->form->stage == SM_REDUCE_COMBINE) {
    put_partials(s, own, round);
    combine_round(s, own, parts);
    return;
  }
  sm_part sets[SM_REDUCE_SETS];
  int32_t block = block_of_round(s, own, round);
  fill_share(s, own, block, sets);
  end_lanes(s, own, sets);
  if (s->form->shuffle > 1) {
    shuffle_round(s, own, block, sets, parts);
  } else {
    put_sets(s, own, block, sets);
    combine_round(s, own, parts);
  }
}

/* One thread counts for all. */
static void reduce_rounds(const sm_reduce_state *s, const share *own, sm_part *parts) {
  int32_t rounds = count_rounds(s), round = sm_kir_for(s->k, number(s, 0), rounds, 1);
  reduce_round(s, own, round, parts);
  sm_begin_writing(s);
  sm_reduce_push_leaf(s, sm_reduce_ones_at_end(s, round), own->result, s->form->strip, parts);
  sm_end_writing(s);
  sm_kir_end(s->k);
  sm_kir_barrier(s->k);
  sm_reduce_collect(s, rounds, own->result, s->form->strip, parts);
}

static void reduce_share(const sm_reduce_state *s, const share *own) {
  sm_part parts[SM_REDUCE_TASKS];
  if (s->form->one_leaf) reduce_round(s, own, number(s, 0), parts);
  else reduce_rounds(s, own, parts);
  sm_reduce_columns results = results_of(s, own);
  sm_reduce_finish(s, &results, parts);
}

static void visit_share(const sm_reduce_state *s, const share *own) {
  int32_t round = sm_kir_for(s->k, number(s, 0), count_rounds(s), 1);
  visit_elements(s, own, round);
  sm_kir_end(s->k);
}

void sm_reduce_run_team(const sm_reduce_state *s, int32_t number_of_strip) {
  share own = find_share(s, number_of_strip);
  bool resumes = s->form->stage == SM_REDUCE_PARTIAL && s->pass > 0;
  sm_reduce_columns results = results_of(s, &own);
  if (resumes) sm_reduce_resume(s, &results);
  if (s->n) reduce_share(s, &own);
  else visit_share(s, &own);
}
