/* SPDX-License-Identifier: Apache-2.0 */
#include "launch/reduce_skeleton.h"

#include <string.h>

/* Of one stream in the code: more defeat the processor's prefetching. */
enum { LOADS = 4 };

/* --- The kernel ------------------------------------------------------------------------- */

/* Values in the kernel; `index` is NONE unless the task gives one. */
typedef struct part {
  int32_t value, index;
} part;

static const part no_part = {SM_KIR_NONE, SM_KIR_NONE};

static bool is_part(part p) { return p.value != SM_KIR_NONE; }

/* Buffers for parts. */
typedef struct part_buffers {
  int value, index;
} part_buffers;

/* By task. */
typedef struct memory {
  part_buffers slots[SM_REDUCE_TASKS], lanes[SM_REDUCE_TASKS], partial[SM_REDUCE_TASKS];
  int results[SM_REDUCE_TASKS];    /* local, of columns: for later passes */
  int32_t values[SM_REDUCE_TASKS]; /* of rows: the same */
} memory;

typedef struct skeleton {
  sm_kir_kernel *k;
  const sm_reduce_task *all; /* tasks */
  int n_all;
  const sm_reduce_form *form;
  const sm_reduce_body *body;
  struct memory *memory;
  int pass;
  const sm_reduce_task *tasks; /* of the pass */
  int n;
  int32_t reduced, inner, groups, ahead; /* size arguments */
  int32_t outer, group;                  /* of the item */
  int32_t rows_before;                   /* outer * reduced */
  int32_t begin, end;                    /* its range of the reduced axis */
  const part_buffers *slots;             /* of the pass's tasks, local */
  const part_buffers *lanes;             /* local, of rows: those of a block */
  const part_buffers *partial;           /* between stages */
} skeleton;

static int32_t number(const skeleton *s, int64_t value) { return sm_kir_i64(s->k, value); }

static int32_t op1(const skeleton *s, sm_kop kop, int32_t a) {
  return sm_kir_kop(s->k, kop, a, SM_KIR_NONE, SM_KIR_NONE, SMELT_DTYPE_NONE);
}
static int32_t op2(const skeleton *s, sm_kop kop, int32_t a, int32_t b) {
  return sm_kir_kop(s->k, kop, a, b, SM_KIR_NONE, SMELT_DTYPE_NONE);
}
static int32_t convert(const skeleton *s, sm_kop kop, int32_t a, smelt_dtype to) {
  return sm_kir_kop(s->k, kop, a, SM_KIR_NONE, SM_KIR_NONE, to);
}
static int32_t choose(const skeleton *s, int32_t condition, int32_t a, int32_t b) {
  return sm_kir_kop(s->k, SM_KOP_SELECT, condition, a, b, SMELT_DTYPE_NONE);
}
static int32_t op_number(const skeleton *s, sm_kop kop, int32_t a, int64_t b) {
  return op2(s, kop, a, number(s, b));
}
static int32_t splat(const skeleton *s, int32_t value, int width) {
  return width > 1 ? sm_kir_splat(s->k, value, width) : value;
}
static int32_t constant(const skeleton *s, smelt_dtype dtype, sm_word word, int width) {
  return splat(s, sm_kir_const(s->k, dtype, word), width);
}

static bool gives_index(const skeleton *s, int t) { return sm_reduction_gives_index(s->tasks[t].reduction); }

/* The best of all is the best in any order, and only floats are rounded: with rows such
 * tasks keep their lanes from block to block. */
static bool needs_tree(const skeleton *s, int t) {
  bool any_order = gives_index(s, t) || sm_kind_of(s->tasks[t].dtype) != SM_KIND_FLOAT;
  return s->form->columns || !any_order;
}

/* --- Numbers of leaves -------------------------------------------------------------------- */

/* The position of the highest 1 of a positive number: the exponent of its f64. */
static int32_t highest_one(const skeleton *s, int32_t n) {
  int32_t bits = convert(s, SM_KOP_BITCAST, convert(s, SM_KOP_CAST, n, SMELT_F64), SMELT_I64);
  return op_number(s, SM_KOP_SUB, op_number(s, SM_KOP_SHR, bits, 52), 1023);
}

/* How many 1s a number has at its end. */
static int32_t ones_at_end(const skeleton *s, int32_t n) {
  int32_t above = op_number(s, SM_KOP_ADD, n, 1);
  return highest_one(s, op2(s, SM_KOP_AND, above, op1(s, SM_KOP_NEG, above)));
}

/* --- Parts ---------------------------------------------------------------------------------- */

/* Whether `b` is better than `a`; a NaN is the best. */
static int32_t is_better(const skeleton *s, int t, int32_t a, int32_t b) {
  bool largest = s->tasks[t].reduction == SM_REDUCTION_ARGMAX;
  int32_t lower = largest ? a : b, upper = largest ? b : a;
  if (sm_kind_of(s->tasks[t].dtype) != SM_KIND_FLOAT) return op2(s, SM_KOP_LT, lower, upper);
  int32_t not_worse = op1(s, SM_KOP_NOT, op2(s, SM_KOP_LE, upper, lower));
  return op2(s, SM_KOP_AND, not_worse, op2(s, SM_KOP_EQ, a, a));
}

static int32_t is_as_good(const skeleton *s, int t, int32_t a, int32_t b) {
  int32_t equal = op2(s, SM_KOP_EQ, a, b);
  if (sm_kind_of(s->tasks[t].dtype) != SM_KIND_FLOAT) return equal;
  int32_t both_nan = op2(s, SM_KOP_AND, op1(s, SM_KOP_ISNAN, a), op1(s, SM_KOP_ISNAN, b));
  return op2(s, SM_KOP_OR, equal, both_nan);
}

static part pick(const skeleton *s, int32_t condition, part a, part b) {
  return (part){choose(s, condition, a.value, b.value), choose(s, condition, a.index, b.index)};
}

/* Of two that are equally good the one with the lower index. */
static part combine_indexed(const skeleton *s, int t, part a, part b) {
  int32_t before = op2(s, SM_KOP_LT, b.index, a.index);
  int32_t instead = op2(s, SM_KOP_AND, is_as_good(s, t, a.value, b.value), before);
  return pick(s, op2(s, SM_KOP_OR, is_better(s, t, a.value, b.value), instead), b, a);
}

static part combine(const skeleton *s, int t, part a, part b) {
  if (gives_index(s, t)) return combine_indexed(s, t, a, b);
  return (part){op2(s, sm_reduction_kop(s->tasks[t].reduction), a.value, b.value), SM_KIR_NONE};
}

static int32_t neutral_value(const skeleton *s, int t, int width) {
  const sm_reduce_task *task = &s->tasks[t];
  return constant(s, task->dtype, sm_reduction_neutral(task->reduction, task->dtype), width);
}

/* What leaves a part as it is. */
static part neutral(const skeleton *s, int t, int width) {
  part p = {neutral_value(s, t, width), SM_KIR_NONE};
  if (gives_index(s, t)) p.index = constant(s, SMELT_I64, (sm_word){.I64 = INT64_MAX}, width);
  return p;
}

static part load_part(const skeleton *s, part_buffers b, int32_t at, int width) {
  part p = {sm_kir_load(s->k, b.value, at, SM_KIR_NONE, width), SM_KIR_NONE};
  if (b.index >= 0) p.index = sm_kir_load(s->k, b.index, at, SM_KIR_NONE, width);
  return p;
}

static void store_part(const skeleton *s, part_buffers b, int32_t at, part p) {
  sm_kir_store(s->k, b.value, at, SM_KIR_NONE, p.value);
  if (b.index >= 0) sm_kir_store(s->k, b.index, at, SM_KIR_NONE, p.index);
}

/* --- Loops that carry a part of each task ------------------------------------------------------ */

static void carry_parts(const skeleton *s, const part *start, int n, part *carried) {
  for (int i = 0; i < n; i++) {
    carried[i] = start[i];
    if (is_part(start[i])) carried[i].value = sm_kir_carry(s->k, start[i].value);
    if (start[i].index != SM_KIR_NONE) carried[i].index = sm_kir_carry(s->k, start[i].index);
  }
}

/* Ends the loop; `parts` are what the round has made, and become what the loop leaves. */
static void end_parts(const skeleton *s, const part *carried, int n, part *parts) {
  for (int i = 0; i < n; i++) {
    if (is_part(parts[i])) sm_kir_next(s->k, carried[i].value, parts[i].value);
    if (parts[i].index != SM_KIR_NONE) sm_kir_next(s->k, carried[i].index, parts[i].index);
  }
  sm_kir_end(s->k);
  for (int i = 0; i < n; i++) {
    if (is_part(parts[i])) parts[i].value = sm_kir_result(s->k, carried[i].value);
    if (parts[i].index != SM_KIR_NONE) parts[i].index = sm_kir_result(s->k, carried[i].index);
  }
}

/* --- The counter ---------------------------------------------------------------------------------- */

/* Where column `column` of a slot's row is. */
static int32_t slot_position(const skeleton *s, int32_t level, int32_t column) {
  return op2(s, SM_KOP_ADD, op_number(s, SM_KOP_MUL, level, s->form->strip), column);
}

/* In each slot's row from `place` on, the part of a task combined with its own. */
static void combine_with_slot(const skeleton *s, int32_t place, int width, part *parts) {
  for (int t = 0; t < s->n; t++) {
    if (is_part(parts[t])) parts[t] = combine(s, t, load_part(s, s->slots[t], place, width), parts[t]);
  }
}

/* Adds a leaf, whose number has so many `ones` at its end. */
static void push_leaf(const skeleton *s, int32_t ones, int32_t column, int width, const part *leaf) {
  part carried[SM_REDUCE_TASKS], parts[SM_REDUCE_TASKS];
  int32_t level = sm_kir_for(s->k, number(s, 0), ones, 1);
  carry_parts(s, leaf, s->n, carried);
  memcpy(parts, carried, sizeof parts);
  combine_with_slot(s, slot_position(s, level, column), width, parts);
  end_parts(s, carried, s->n, parts);
  int32_t to = slot_position(s, ones, column);
  for (int t = 0; t < s->n; t++) {
    if (is_part(parts[t])) store_part(s, s->slots[t], to, parts[t]);
  }
}

/* All parts that are left after so many leaves, from the smallest to the largest. */
static void collect(const skeleton *s, int32_t leaves, int32_t column, int width, part *parts) {
  part carried[SM_REDUCE_TASKS], kept[SM_REDUCE_TASKS];
  for (int t = 0; t < s->n; t++) parts[t] = needs_tree(s, t) ? neutral(s, t, width) : no_part;
  int32_t levels = op_number(s, SM_KOP_ADD, highest_one(s, leaves), 1);
  int32_t level = sm_kir_for(s->k, number(s, 0), levels, 1);
  carry_parts(s, parts, s->n, carried);
  int32_t is_kept = op_number(s, SM_KOP_AND, op2(s, SM_KOP_SHR, leaves, level), 1);
  (void)sm_kir_for(s->k, number(s, 0), is_kept, 1);
  carry_parts(s, carried, s->n, kept);
  memcpy(parts, kept, sizeof kept);
  combine_with_slot(s, slot_position(s, level, column), width, parts);
  end_parts(s, kept, s->n, parts);
  end_parts(s, carried, s->n, parts);
}

/* --- Results ------------------------------------------------------------------------------------------ */

/* A sum of nothing is +0, and a mean still has to be divided. */
static int32_t finished_sum(const skeleton *s, const sm_reduce_task *task, int32_t sum, int width) {
  int32_t count = s->reduced;
  if (sm_kind_of(task->dtype) == SM_KIND_FLOAT) {
    int32_t empty = splat(s, op_number(s, SM_KOP_EQ, count, 0), width);
    sum = choose(s, empty, constant(s, task->dtype, (sm_word){.bits = 0}, width), sum);
  }
  if (task->reduction != SM_REDUCTION_MEAN) return sum;
  return op2(s, SM_KOP_DIV, sum, splat(s, convert(s, SM_KOP_CAST, count, task->dtype), width));
}

static int32_t result_of(const skeleton *s, int t, part p, int width) {
  if (gives_index(s, t)) return p.index;
  bool is_sum = sm_reduction_kop(s->tasks[t].reduction) == SM_KOP_ADD;
  return is_sum ? finished_sum(s, &s->tasks[t], p.value, width) : p.value;
}

/* Whether results are in memory: of one item in scratch memory, between stages in buffers. */
static bool stores_results(const skeleton *s) {
  return s->form->passes > 1 && (s->form->columns || s->form->stage != SM_REDUCE_WHOLE);
}

static int32_t result_place(const skeleton *s, const sm_reduce_place *at) {
  return s->form->stage == SM_REDUCE_WHOLE ? at->column : at->index;
}

/* Keeps a result, numbered among all tasks, for the passes after this one. */
static void remember(const skeleton *s, int task, const sm_reduce_place *at, int32_t value) {
  s->memory->values[task] = value;
  if (stores_results(s) && s->pass + 1 < s->form->passes)
    sm_kir_store(s->k, s->memory->results[task], result_place(s, at), SM_KIR_NONE, value);
}

/* The results of the passes before this one; how many there are. */
static int recall(const skeleton *s, const sm_reduce_place *at, int32_t *values) {
  int before = (int)(s->tasks - s->all);
  for (int task = 0; task < before; task++) {
    values[task] = s->memory->values[task];
    if (stores_results(s))
      values[task] = sm_kir_load(s->k, s->memory->results[task], result_place(s, at), SM_KIR_NONE, at->width);
  }
  return before;
}

static sm_reduce_place place_of_results(const skeleton *s, int32_t inner, int32_t place, int width) {
  int32_t index = op2(s, SM_KOP_ADD, op2(s, SM_KOP_MUL, s->outer, s->inner), inner);
  return (sm_reduce_place){s->outer, SM_KIR_NONE, inner, index, place, s->ahead, width, s->pass};
}

/* `place` is that of the first column in its strip. */
static void give_results(const skeleton *s, int32_t inner, int32_t place, int width, const part *parts) {
  int32_t values[SM_REDUCE_TASKS];
  sm_reduce_place at = place_of_results(s, inner, place, width);
  int before = recall(s, &at, values);
  for (int t = 0; t < s->n; t++) {
    values[before + t] = result_of(s, t, parts[t], width);
    remember(s, before + t, &at, values[before + t]);
  }
  s->body->results(s->body->user, s->k, &at, values);
}

/* Takes up what earlier stages have made. */
static void resume(const skeleton *s, int32_t inner, int32_t place, int width) {
  int32_t values[SM_REDUCE_TASKS];
  sm_reduce_place at = place_of_results(s, inner, place, width);
  (void)recall(s, &at, values);
  s->body->resume(s->body->user, s->k, &at, values);
}

/* Where the part of a group is between the stages. */
static int32_t partial_position(const skeleton *s, int32_t group, int32_t column) {
  int32_t row = op2(s, SM_KOP_ADD, op2(s, SM_KOP_MUL, s->outer, s->groups), group);
  return op2(s, SM_KOP_ADD, op2(s, SM_KOP_MUL, row, s->inner), column);
}

static void finish(const skeleton *s, int32_t inner, int32_t place, int width, const part *parts) {
  if (s->form->stage != SM_REDUCE_PARTIAL) {
    give_results(s, inner, place, width, parts);
    return;
  }
  int32_t to = partial_position(s, s->group, inner);
  for (int t = 0; t < s->n; t++) store_part(s, s->partial[t], to, parts[t]);
}

/* --- Elements ------------------------------------------------------------------------------------------- */

/* Columns of an item, all of the same index along the outer axis: where the first one is
 * along the inner axis, and in the strip. */
typedef struct columns {
  int32_t inner, place;
  int width;
} columns;

static void get_elements(const skeleton *s, int32_t reduced, const columns *c, int32_t *values) {
  int32_t row = op2(s, SM_KOP_ADD, s->rows_before, reduced);
  int32_t index = s->form->columns ? op2(s, SM_KOP_ADD, op2(s, SM_KOP_MUL, row, s->inner), c->inner) : row;
  sm_reduce_place at = {s->outer, reduced, c->inner, index, c->place, s->ahead, c->width, s->pass};
  s->body->elements(s->body->user, s->k, &at, values);
}

/* A *set* has a part in each lane of a vector. While lanes are filled, an index is the
 * number of the element in its lane, as i32. Those that need no tree have a set for each
 * load of a round, so that operations need not wait for each other; with blocks side by side
 * all have one, which is that of a block. */
enum { MAX_SETS = LOADS * SM_REDUCE_TASKS };
_Static_assert((int)SM_REDUCE_SIDE == (int)LOADS, "a load of a round is of one of the blocks");

static int count_sets(const skeleton *s, int t) { return needs_tree(s, t) && s->form->side == 1 ? 1 : LOADS; }

static part *set_of(const skeleton *s, part *sets, int t, int load) {
  return &sets[load % count_sets(s, t) * s->n + t];
}

static void begin_sets(const skeleton *s, int t, int width, part *sets) {
  part lanes = {neutral_value(s, t, width), SM_KIR_NONE};
  if (gives_index(s, t)) lanes.index = constant(s, SMELT_I32, (sm_word){.bits = 0}, width);
  for (int load = 0; load < count_sets(s, t); load++) *set_of(s, sets, t, load) = lanes;
}

static part end_sets(const skeleton *s, int t, part *sets) {
  part lanes = sets[t];
  for (int load = 1; load < count_sets(s, t); load++) lanes = combine(s, t, lanes, *set_of(s, sets, t, load));
  return lanes;
}

static void no_sets(part *sets) {
  for (int i = 0; i < MAX_SETS; i++) sets[i] = no_part;
}

/* Adds element number `k` (i64) of lanes to those of a task. */
static part add_to_lanes(const skeleton *s, int t, part lanes, int32_t value, int32_t k, int width) {
  part own = {value, SM_KIR_NONE};
  if (!gives_index(s, t)) return combine(s, t, lanes, own);
  own.index = splat(s, convert(s, SM_KOP_CAST, k, SMELT_I32), width);
  return pick(s, is_better(s, t, lanes.value, own.value), own, lanes);
}

/* Indices of the reduced axis from numbers in lanes; the lanes' first elements are at
 * `first`. */
static int32_t lane_indices(const skeleton *s, int32_t numbers, int32_t first, int width) {
  int32_t lanes = constant(s, SMELT_I64, (sm_word){.I64 = SM_TREE_LANES}, width);
  return op2(s, SM_KOP_ADD, op2(s, SM_KOP_MUL, convert(s, SM_KOP_CAST, numbers, SMELT_I64), lanes), first);
}

/* Elements of lanes: from `from` to `to`, `step` after each other, and in each round `loads`
 * of them that are `apart`. */
typedef struct round_of {
  int32_t from, to;
  int step, loads, apart;
} round_of;

/* Elements of rows are those of 16 lanes, whose first ones begin at `first`, elements of
 * columns those of one lane of each column. */
static void fill_lanes(const skeleton *s, const round_of *r, int32_t first, const columns *c, part *sets) {
  part carried[MAX_SETS];
  int32_t values[SM_REDUCE_TASKS], k = sm_kir_for(s->k, r->from, r->to, r->step);
  carry_parts(s, sets, r->loads * s->n, carried);
  memcpy(sets, carried, (size_t)(r->loads * s->n) * sizeof *sets);
  for (int load = 0; load < r->loads; load++) {
    int32_t own = load ? op_number(s, SM_KOP_ADD, k, load * r->apart) : k;
    int32_t reduced = op2(s, SM_KOP_ADD, first, op_number(s, SM_KOP_MUL, own, SM_TREE_LANES));
    get_elements(s, reduced, c, values);
    for (int t = 0; t < s->n; t++) {
      part *set = set_of(s, sets, t, load);
      *set = add_to_lanes(s, t, *set, values[t], own, c->width);
    }
  }
  end_parts(s, carried, r->loads * s->n, sets);
}

/* All elements `from` to `to`, several a round where most of the work is. */
static void run_lanes(const skeleton *s, int32_t from, int32_t to, int32_t first, const columns *c,
                      part *sets) {
  if (c->width >= s->form->width && s->form->whole_blocks) {
    fill_lanes(s, &(round_of){from, to, LOADS, LOADS, 1}, first, c, sets);
    return;
  }
  if (c->width >= s->form->width) {
    int32_t rest = op_number(s, SM_KOP_FMOD, op2(s, SM_KOP_SUB, to, from), LOADS);
    int32_t whole = op2(s, SM_KOP_SUB, to, rest);
    fill_lanes(s, &(round_of){from, whole, LOADS, LOADS, 1}, first, c, sets);
    from = whole;
  }
  fill_lanes(s, &(round_of){from, to, 1, 1, 1}, first, c, sets);
}

/* --- Rows ----------------------------------------------------------------------------------------------- */

/* As columns: one that is the inner axis; vectors lie along the reduced one. */
static columns the_row(const skeleton *s, int width) {
  int32_t zero = number(s, 0);
  return (columns){zero, zero, width};
}

/* The vectors of a leaf: of a block, or of blocks side by side. Numbers of elements in
 * lanes count from the item's range. */
static void fill_leaf(const skeleton *s, int32_t leaf, int32_t elements, part *sets) {
  enum { VECTORS = SM_TREE_BLOCK / SM_TREE_LANES };
  int side = s->form->side;
  int32_t from = op_number(s, SM_KOP_MUL, leaf, side * VECTORS);
  columns row = the_row(s, SM_TREE_LANES);
  for (int t = 0; t < s->n; t++) {
    if (needs_tree(s, t)) begin_sets(s, t, SM_TREE_LANES, sets);
  }
  if (side > 1) {
    fill_lanes(s, &(round_of){from, op_number(s, SM_KOP_ADD, from, VECTORS), 1, side, VECTORS}, s->begin,
               &row, sets);
    return;
  }
  int32_t vectors = op_number(s, SM_KOP_TRUNC_DIV, elements, SM_TREE_LANES);
  run_lanes(s, from, op2(s, SM_KOP_ADD, from, vectors), s->begin, &row, sets);
}

/* Puts the lanes of a task, of which they are those of block number `block` side by side,
 * into memory, with indices of the reduced axis. */
static void keep_lanes(const skeleton *s, int t, part lanes, int block) {
  if (gives_index(s, t))
    lanes.index = lane_indices(s, lanes.index, sm_kir_iota(s->k, s->begin, SM_TREE_LANES), SM_TREE_LANES);
  store_part(s, s->lanes[t], number(s, block * SM_TREE_LANES), lanes);
}

/* The last elements of the range, which fill only some lanes. */
static void add_single_elements(const skeleton *s, bool tree, int32_t from, int32_t to) {
  int32_t values[SM_REDUCE_TASKS], reduced = sm_kir_for(s->k, from, to, 1);
  columns row = the_row(s, 1);
  get_elements(s, reduced, &row, values);
  int32_t lane = op2(s, SM_KOP_SUB, reduced, from);
  for (int t = 0; t < s->n; t++) {
    part own = {values[t], gives_index(s, t) ? reduced : SM_KIR_NONE};
    if (needs_tree(s, t) != tree) continue;
    store_part(s, s->lanes[t], lane, combine(s, t, load_part(s, s->lanes[t], lane, 1), own));
  }
  sm_kir_end(s->k);
}

/* Those of `blocks` side by side, each to a part: half by half, all blocks in turn. */
static void combine_lanes(const skeleton *s, int t, int blocks, part *parts) {
  for (int half = SM_TREE_LANES / 2; half > 0; half /= 2) {
    for (int block = 0; block < blocks; block++) {
      int at = block * SM_TREE_LANES;
      part upper = load_part(s, s->lanes[t], number(s, at + half), half);
      parts[block] = combine(s, t, load_part(s, s->lanes[t], number(s, at), half), upper);
      if (half > 1) store_part(s, s->lanes[t], number(s, at), parts[block]);
    }
  }
}

/* The part of blocks side by side, as the tree combines them. */
static part combine_blocks(const skeleton *s, int t, int blocks) {
  part parts[SM_REDUCE_SIDE];
  combine_lanes(s, t, blocks, parts);
  for (int apart = 1; apart < blocks; apart *= 2) {
    for (int block = 0; block < blocks; block += 2 * apart)
      parts[block] = combine(s, t, parts[block], parts[block + apart]);
  }
  return parts[0];
}

/* Parts of all tasks that need the tree, or of all others, from their lanes and what is
 * left of `elements` that begin at `first`. */
static void close_lanes(const skeleton *s, bool tree, int32_t first, int32_t elements, part *sets,
                        part *parts) {
  int blocks = tree ? s->form->side : 1;
  for (int t = 0; t < s->n; t++) {
    if (needs_tree(s, t) != tree) continue;
    if (blocks == 1) keep_lanes(s, t, end_sets(s, t, sets), 0);
    for (int block = 0; block < blocks && blocks > 1; block++)
      keep_lanes(s, t, *set_of(s, sets, t, block), block);
  }
  if (!s->form->whole_blocks) {
    int32_t single = op_number(s, SM_KOP_FMOD, elements, SM_TREE_LANES);
    int32_t end = op2(s, SM_KOP_ADD, first, elements);
    add_single_elements(s, tree, op2(s, SM_KOP_SUB, end, single), end);
  }
  for (int t = 0; t < s->n; t++) {
    if (needs_tree(s, t) == tree) parts[t] = combine_blocks(s, t, blocks);
  }
}

static bool any_needs(const skeleton *s, bool tree) {
  bool any = false;
  for (int t = 0; t < s->n; t++) any = any || needs_tree(s, t) == tree;
  return any;
}

/* A leaf of the range. Tasks that need the tree leave no lanes, but a part each. */
static void reduce_leaf(const skeleton *s, int32_t leaf, part *sets, part *parts) {
  int most = s->form->side * SM_TREE_BLOCK;
  int32_t first = op2(s, SM_KOP_ADD, s->begin, op_number(s, SM_KOP_MUL, leaf, most));
  int32_t elements = number(s, most);
  if (!s->form->whole_blocks) elements = op2(s, SM_KOP_MIN, op2(s, SM_KOP_SUB, s->end, first), elements);
  fill_leaf(s, leaf, elements, sets);
  for (int t = 0; t < s->n; t++) parts[t] = no_part;
  if (!any_needs(s, true)) return;
  close_lanes(s, true, first, elements, sets, parts);
  for (int t = 0; t < s->n; t++) {
    for (int set = 0; set < count_sets(s, t) && needs_tree(s, t); set++) *set_of(s, sets, t, set) = no_part;
  }
}

/* Of so many blocks each, that the item's range has. */
static int32_t count_leaves(const skeleton *s, int blocks) {
  int32_t n = op2(s, SM_KOP_SUB, s->end, s->begin);
  int elements = blocks * SM_TREE_BLOCK;
  return op_number(s, SM_KOP_TRUNC_DIV, op_number(s, SM_KOP_ADD, n, elements - 1), elements);
}

/* A pass without tasks: all elements of the range. */
static void visit_row(const skeleton *s) {
  part none[MAX_SETS];
  int32_t elements = op2(s, SM_KOP_SUB, s->end, s->begin);
  int32_t vectors = op_number(s, SM_KOP_TRUNC_DIV, elements, SM_TREE_LANES);
  columns row = the_row(s, SM_TREE_LANES);
  no_sets(none);
  run_lanes(s, number(s, 0), vectors, s->begin, &row, none);
  int32_t whole = op2(s, SM_KOP_ADD, s->begin, op_number(s, SM_KOP_MUL, vectors, SM_TREE_LANES));
  if (!s->form->whole_blocks) add_single_elements(s, true, whole, s->end);
}

/* All leaves, which leave lanes of tasks that need no tree, and a part of each other. */
static void reduce_leaves(const skeleton *s, part *sets, part *parts) {
  part carried[MAX_SETS];
  int32_t zero = number(s, 0), leaves = count_leaves(s, s->form->side);
  int32_t leaf = sm_kir_for(s->k, zero, leaves, 1);
  carry_parts(s, sets, MAX_SETS, carried);
  memcpy(sets, carried, sizeof carried);
  reduce_leaf(s, leaf, sets, parts);
  if (any_needs(s, true)) push_leaf(s, ones_at_end(s, leaf), zero, 1, parts);
  end_parts(s, carried, MAX_SETS, sets);
  collect(s, leaves, zero, 1, parts);
}

static void reduce_row(const skeleton *s) {
  part sets[MAX_SETS], parts[SM_REDUCE_TASKS];
  int32_t zero = number(s, 0);
  no_sets(sets);
  for (int t = 0; t < s->n; t++) {
    if (!needs_tree(s, t)) begin_sets(s, t, SM_TREE_LANES, sets);
  }
  if (s->form->one_leaf) reduce_leaf(s, zero, sets, parts);
  else reduce_leaves(s, sets, parts);
  int32_t elements = op2(s, SM_KOP_SUB, s->end, s->begin);
  if (any_needs(s, false)) close_lanes(s, false, s->begin, elements, sets, parts);
  finish(s, zero, zero, 1, parts);
}

/* --- Columns -----------------------------------------------------------------------------------------------
 */

/* A strip at work on a leaf. */
typedef struct strip {
  int32_t first, columns; /* where it begins, how many it has */
  int32_t leaf, ones;     /* the leaf's number and the 1s at its end */
  int32_t row, rows;      /* of a lane: its first element, and how many it has */
  int32_t leaves;         /* in the end */
} strip;

/* What is done to `width` columns, of which `place` is the first in the strip. */
typedef void columns_fn(const skeleton *s, const strip *at, int32_t place, int width);

/* Those from `from` on that are whole pieces of `width`; the rest begins at what is
 * returned. */
static int32_t for_pieces(const skeleton *s, const strip *at, int32_t from, int width, columns_fn *f) {
  int32_t rest = op_number(s, SM_KOP_FMOD, op2(s, SM_KOP_SUB, at->columns, from), width);
  int32_t to = op2(s, SM_KOP_SUB, at->columns, rest);
  f(s, at, sm_kir_for(s->k, from, to, width), width);
  sm_kir_end(s->k);
  return to;
}

/* Pieces of some vectors, then of one, then single columns. */
static void for_columns(const skeleton *s, const strip *at, columns_fn *f) {
  const sm_reduce_form *form = s->form;
  int32_t from = for_pieces(s, at, number(s, 0), form->width, f);
  if (form->whole_pieces) return;
  if (form->vector < form->width && form->vector > 1) from = for_pieces(s, at, from, form->vector, f);
  if (form->width > 1) (void)for_pieces(s, at, from, 1, f);
}

static void add_lane(const skeleton *s, const strip *at, int32_t place, int width) {
  part sets[MAX_SETS];
  no_sets(sets);
  for (int t = 0; t < s->n; t++) begin_sets(s, t, width, sets);
  columns own = {op2(s, SM_KOP_ADD, at->first, place), place, width};
  run_lanes(s, number(s, 0), at->rows, at->row, &own, sets);
  for (int t = 0; t < s->n; t++) {
    if (gives_index(s, t)) sets[t].index = lane_indices(s, sets[t].index, splat(s, at->row, width), width);
  }
  push_leaf(s, at->ones, place, width, sets);
}

static void add_partial(const skeleton *s, const strip *at, int32_t place, int width) {
  part parts[SM_REDUCE_TASKS];
  int32_t from = partial_position(s, at->leaf, op2(s, SM_KOP_ADD, at->first, place));
  for (int t = 0; t < s->n; t++) parts[t] = load_part(s, s->partial[t], from, width);
  push_leaf(s, at->ones, place, width, parts);
}

static void finish_columns(const skeleton *s, const strip *at, int32_t place, int width) {
  part parts[SM_REDUCE_TASKS];
  collect(s, at->leaves, place, width, parts);
  finish(s, op2(s, SM_KOP_ADD, at->first, place), place, width, parts);
}

/* Digit `from` of a number as digit `to`. */
static int32_t moved_digit(const skeleton *s, int32_t n, int from, int to) {
  int32_t digit = op_number(s, SM_KOP_AND, op_number(s, SM_KOP_SHR, n, from), 1);
  return op_number(s, SM_KOP_SHL, digit, to);
}

/* Lanes in the order 0, 8, 4, 12, ...: with the four binary digits reversed. */
static int32_t lane_of_leaf(const skeleton *s, int32_t leaf) {
  int32_t outer = op2(s, SM_KOP_OR, moved_digit(s, leaf, 0, 3), moved_digit(s, leaf, 3, 0));
  int32_t middle = op2(s, SM_KOP_OR, moved_digit(s, leaf, 1, 2), moved_digit(s, leaf, 2, 1));
  return op2(s, SM_KOP_OR, outer, middle);
}

static void find_lane(const skeleton *s, strip *at) {
  int32_t block = op_number(s, SM_KOP_TRUNC_DIV, at->leaf, SM_TREE_LANES);
  int32_t in_block =
      op2(s, SM_KOP_ADD, op_number(s, SM_KOP_MUL, block, SM_TREE_BLOCK), lane_of_leaf(s, at->leaf));
  at->row = op2(s, SM_KOP_ADD, s->begin, in_block);
  at->rows = number(s, SM_TREE_BLOCK / SM_TREE_LANES);
  if (s->form->whole_blocks) return;
  int32_t left = op_number(s, SM_KOP_ADD, op2(s, SM_KOP_SUB, s->end, at->row), SM_TREE_LANES - 1);
  int32_t rows = op_number(s, SM_KOP_TRUNC_DIV, op_number(s, SM_KOP_MAX, left, 0), SM_TREE_LANES);
  at->rows = op2(s, SM_KOP_MIN, rows, at->rows);
}

static strip open_strip(const skeleton *s, int32_t number_of_strip) {
  strip at = {.first = op_number(s, SM_KOP_MUL, number_of_strip, s->form->strip)};
  at.columns = op_number(s, SM_KOP_MIN, op2(s, SM_KOP_SUB, s->inner, at.first), s->form->strip);
  return at;
}

static void visit_columns(const skeleton *s, const strip *at, int32_t place, int width) {
  columns own = {op2(s, SM_KOP_ADD, at->first, place), place, width};
  get_elements(s, at->row, &own, NULL);
}

/* A pass without tasks: all elements of the range. */
static void visit_strip(const skeleton *s, int32_t number_of_strip) {
  strip at = open_strip(s, number_of_strip);
  at.row = sm_kir_for(s->k, s->begin, s->end, 1);
  for_columns(s, &at, visit_columns);
  sm_kir_end(s->k);
}

static void resume_columns(const skeleton *s, const strip *at, int32_t place, int width) {
  resume(s, op2(s, SM_KOP_ADD, at->first, place), place, width);
}

static void resume_strip(const skeleton *s, int32_t number_of_strip) {
  strip at = open_strip(s, number_of_strip);
  for_columns(s, &at, resume_columns);
}

static void reduce_strip(const skeleton *s, int32_t number_of_strip) {
  bool combines = s->form->stage == SM_REDUCE_COMBINE;
  strip at = open_strip(s, number_of_strip);
  at.leaves = combines ? s->groups : op_number(s, SM_KOP_MUL, count_leaves(s, 1), SM_TREE_LANES);
  at.leaf = sm_kir_for(s->k, number(s, 0), at.leaves, 1);
  at.ones = ones_at_end(s, at.leaf);
  if (!combines) find_lane(s, &at);
  for_columns(s, &at, combines ? add_partial : add_lane);
  sm_kir_end(s->k);
  for_columns(s, &at, finish_columns);
}

/* --- Work items
 * ---------------------------------------------------------------------------------------------- */

/* Takes the last factor off a number that is a product: its remainder is returned. */
static int32_t take_off(const skeleton *s, int32_t *product, int32_t factor) {
  int32_t remainder = op2(s, SM_KOP_FMOD, *product, factor);
  *product = op2(s, SM_KOP_TRUNC_DIV, *product, factor);
  return remainder;
}

static int32_t count_strips(const skeleton *s) {
  int32_t above = op_number(s, SM_KOP_ADD, s->inner, s->form->strip - 1);
  return op_number(s, SM_KOP_TRUNC_DIV, above, s->form->strip);
}

/* The item's group, and its range: of all of them if they are no items. */
static void find_range(skeleton *s, int32_t *rest) {
  s->begin = number(s, 0);
  s->end = s->reduced;
  if (s->form->stage != SM_REDUCE_PARTIAL) return;
  s->group = take_off(s, rest, s->groups);
  int64_t elements = (int64_t)s->form->group * SM_TREE_BLOCK;
  s->begin = op_number(s, SM_KOP_MUL, s->group, elements);
  s->end = op2(s, SM_KOP_MIN, op_number(s, SM_KOP_ADD, s->begin, elements), s->reduced);
}

/* Tasks and their memory are those of the pass. */
static skeleton pass_of(const skeleton *s, int pass) {
  skeleton own = *s;
  int first = 0;
  while (first < s->n_all && s->all[first].pass < pass) first++;
  own.pass = pass;
  own.tasks = s->all + first;
  own.n = 0;
  while (first + own.n < s->n_all && own.tasks[own.n].pass == pass) own.n++;
  own.slots = s->memory->slots + first;
  own.lanes = s->memory->lanes + first;
  own.partial = s->memory->partial + first;
  return own;
}

static void run_pass(const skeleton *s, int32_t number_of_strip) {
  if (s->form->stage == SM_REDUCE_PARTIAL && s->pass > 0) {
    if (s->form->columns) resume_strip(s, number_of_strip);
    else resume(s, number(s, 0), number(s, 0), 1);
  }
  if (s->form->columns && s->n) reduce_strip(s, number_of_strip);
  else if (s->form->columns) visit_strip(s, number_of_strip);
  else if (s->n) reduce_row(s);
  else visit_row(s);
}

static void run_items(skeleton *s) {
  int32_t strips = count_strips(s), begin = sm_kir_chunk_begin(s->k);
  int32_t item = sm_kir_for(s->k, begin, sm_kir_chunk_end(s->k), 1);
  int32_t number_of_strip = s->form->columns ? take_off(s, &item, strips) : SM_KIR_NONE;
  find_range(s, &item);
  s->outer = item;
  s->rows_before = op2(s, SM_KOP_MUL, item, s->reduced);
  bool whole = s->form->stage == SM_REDUCE_WHOLE;
  for (int pass = whole ? 0 : s->form->pass; pass < (whole ? s->form->passes : s->form->pass + 1); pass++) {
    skeleton own = pass_of(s, pass);
    run_pass(&own, number_of_strip);
  }
  sm_kir_end(s->k);
  if (s->form->streaming) sm_kir_fence(s->k);
}

/* --- The kernel's memory
 * --------------------------------------------------------------------------------------- */

static part_buffers add_locals(const skeleton *s, int t, int n) {
  part_buffers b = {sm_kir_add_local(s->k, s->all[t].dtype, (uint32_t)n), -1};
  if (sm_reduction_gives_index(s->all[t].reduction)) b.index = sm_kir_add_local(s->k, SMELT_I64, (uint32_t)n);
  return b;
}

static part_buffers add_partials(const skeleton *s, int t) {
  bool written = s->form->stage == SM_REDUCE_PARTIAL;
  part_buffers b = {sm_kir_add_buffer(s->k, s->all[t].dtype, written), -1};
  if (sm_reduction_gives_index(s->all[t].reduction)) b.index = sm_kir_add_buffer(s->k, SMELT_I64, written);
  return b;
}

static smelt_dtype result_dtype(const skeleton *s, int t) {
  return sm_reduction_gives_index(s->all[t].reduction) ? SMELT_I64 : s->all[t].dtype;
}

static void add_buffers(const skeleton *s) {
  bool combines = s->form->stage == SM_REDUCE_COMBINE;
  for (int t = 0; t < s->n_all; t++) s->memory->partial[t] = add_partials(s, t);
  for (int t = 0; t < s->n_all && stores_results(s); t++)
    s->memory->results[t] = sm_kir_add_buffer(s->k, result_dtype(s, t), combines);
}

static void add_scratch(const skeleton *s) {
  const sm_reduce_form *form = s->form;
  for (int t = 0; t < s->n_all; t++) {
    s->memory->slots[t] = add_locals(s, t, form->levels * form->strip);
    if (!form->columns) s->memory->lanes[t] = add_locals(s, t, form->side * SM_TREE_LANES);
    if (form->stage == SM_REDUCE_WHOLE && stores_results(s))
      s->memory->results[t] = sm_kir_add_local(s->k, result_dtype(s, t), (uint32_t)form->strip);
  }
  if (s->body->scratch) s->body->scratch(s->body->user, s->k);
}

static int32_t add_size(const skeleton *s) { return sm_kir_size(s->k, sm_kir_add_size(s->k)); }

void sm_reduce_kernel(sm_kir_kernel *k, const sm_reduce_task *tasks, int n_tasks, const sm_reduce_form *form,
                      const sm_reduce_body *body) {
  memory of_tasks;
  skeleton s = {.k = k, .all = tasks, .n_all = n_tasks, .form = form, .body = body, .memory = &of_tasks};
  if (form->stage != SM_REDUCE_WHOLE) add_buffers(&s);
  add_scratch(&s);
  s.reduced = add_size(&s);
  s.inner = add_size(&s);
  s.groups = add_size(&s);
  s.ahead = add_size(&s);
  run_items(&s);
}
