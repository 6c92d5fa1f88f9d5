/* SPDX-License-Identifier: Apache-2.0
 *
 * What the files of the reduction skeleton (reduce_skeleton.h) have in common: its state
 * while it builds a kernel, parts and the counter of leaves (reduce_parts.c), elements and
 * the lanes they fill (reduce_lanes.c), centered tasks (reduce_centered.c), rows (reduce_rows.c), columns
 * (reduce_columns.c), what teams make (reduce_team.c) and how their threads combine without memory
 * (reduce_shuffle.c). */
#ifndef SM_LAUNCH_REDUCE_PARTS_H
#define SM_LAUNCH_REDUCE_PARTS_H

#include "launch/reduce_skeleton.h"

/* Values in the kernel, by field; NONE where the task's parts have none. A count is one number for all
 * lanes or columns, but for the last elements of a row. */
typedef union sm_part {
  struct {
    int32_t value, index, first, above, count;
  };
  int32_t fields[SM_PART_FIELDS];
} sm_part;

static const sm_part sm_no_part = {{SM_KIR_NONE, SM_KIR_NONE, SM_KIR_NONE, SM_KIR_NONE, SM_KIR_NONE}};

/* `index` may be NONE. */
static inline sm_part sm_part_of(int32_t value, int32_t index) {
  return (sm_part){{value, index, SM_KIR_NONE, SM_KIR_NONE, SM_KIR_NONE}};
}
static inline bool sm_is_part(sm_part p) { return p.value != SM_KIR_NONE; }

/* Buffers for parts, in the place of each field's value the buffer's number. */
typedef sm_part sm_part_buffers;

/* What tasks have between steps, by task. */
typedef struct sm_reduce_memory {
  sm_part_buffers slots[SM_REDUCE_TASKS], lanes[SM_REDUCE_TASKS], partial[SM_REDUCE_TASKS];
  int results[SM_REDUCE_TASKS];    /* buffers, of what later passes need: of columns local, of stages not */
  int32_t values[SM_REDUCE_TASKS]; /* the same of rows that make all passes */
} sm_reduce_memory;

typedef struct sm_reduce_state {
  sm_kir_kernel *k;
  const sm_reduce_task *all; /* tasks */
  int n_all;
  const sm_reduce_form *form;
  const sm_reduce_body *body;
  sm_reduce_memory *memory;
  int pass;
  const sm_reduce_task *tasks; /* of the pass */
  int n;
  int32_t reduced, inner, groups, ahead; /* size arguments */
  int32_t outer, group;                  /* of the item */
  int32_t rows_before;                   /* outer * reduced */
  int32_t place;                         /* of a row in its band */
  int32_t begin, end;                    /* its range of the reduced axis */
  int32_t result, share;                 /* of teams: which one of those abreast the thread works on,
                                            and its number among those that do */
  int32_t writes;                        /* of teams: 1 in the thread that stores the item's result,
                                            0 in others */
  const sm_part_buffers *slots;          /* of the pass's tasks, local */
  const sm_part_buffers *lanes;          /* of teams, shared: those of a round; of columns taken wide: those
                                            of a block; of bands: the parts of their rows */
  const sm_part_buffers *partial;        /* between stages */
} sm_reduce_state;

/* Columns of an item, all of the same index along the outer axis: where the first one is
 * along the inner axis, and in the strip. */
typedef struct sm_reduce_columns {
  int32_t inner, place;
  int width;
  int32_t there; /* how many of them there are; NONE: all. Of rows, elements of the vector. */
  int32_t kept;  /* of teams that keep elements: where those of a place are, from what it says itself */
} sm_reduce_columns;

static inline int32_t number(const sm_reduce_state *s, int64_t value) { return sm_kir_i64(s->k, value); }

static inline int32_t op1(const sm_reduce_state *s, sm_kop kop, int32_t a) {
  return sm_kir_kop(s->k, kop, a, SM_KIR_NONE, SM_KIR_NONE, SMELT_DTYPE_NONE);
}
static inline int32_t op2(const sm_reduce_state *s, sm_kop kop, int32_t a, int32_t b) {
  return sm_kir_kop(s->k, kop, a, b, SM_KIR_NONE, SMELT_DTYPE_NONE);
}
static inline int32_t convert(const sm_reduce_state *s, sm_kop kop, int32_t a, smelt_dtype to) {
  return sm_kir_kop(s->k, kop, a, SM_KIR_NONE, SM_KIR_NONE, to);
}
static inline int32_t choose(const sm_reduce_state *s, int32_t condition, int32_t a, int32_t b) {
  return sm_kir_kop(s->k, SM_KOP_SELECT, condition, a, b, SMELT_DTYPE_NONE);
}
static inline int32_t op_number(const sm_reduce_state *s, sm_kop kop, int32_t a, int64_t b) {
  return op2(s, kop, a, number(s, b));
}
static inline int32_t splat(const sm_reduce_state *s, int32_t value, int width) {
  return width > 1 ? sm_kir_splat(s->k, value, width) : value;
}
static inline int32_t constant(const sm_reduce_state *s, smelt_dtype dtype, sm_word word, int width) {
  return splat(s, sm_kir_const(s->k, dtype, word), width);
}

static inline bool gives_index(const sm_reduce_state *s, int t) {
  return sm_reduction_gives_index(s->tasks[t].reduction);
}

static inline bool is_centered(const sm_reduce_state *s, int t) {
  return sm_reduction_is_centered(s->tasks[t].reduction);
}

/* The best of all is the best in any order, and only floats are rounded. */
static inline bool has_any_order(const sm_reduce_state *s, int t) {
  return gives_index(s, t) || sm_kind_of(s->tasks[t].dtype) != SM_KIND_FLOAT;
}

static inline bool all_have_any_order(const sm_reduce_state *s) {
  bool all = true;
  for (int t = 0; t < s->n; t++) all = all && has_any_order(s, t);
  return all;
}

/* With rows tasks of any order keep their lanes from block to block. Threads of a team do not: lanes would
 * outlive a round. Nor do those beside a task of the tree, if a row has an end: what is there is worked out,
 * kept and written once, for all tasks of the pass. */
static inline bool needs_tree(const sm_reduce_state *s, int t) {
  if (s->form->columns || s->form->threads || !has_any_order(s, t)) return true;
  return !s->form->whole_blocks && !all_have_any_order(s);
}

/* Whether results are in memory: of an item or a band in scratch memory, between stages in buffers. */
static inline bool sm_stores_results(const sm_reduce_state *s) {
  bool by_memory = sm_reduce_has_strips(s->form) || sm_reduce_has_bands(s->form);
  return s->form->passes > 1 && (by_memory || s->form->stage != SM_REDUCE_WHOLE);
}

/* Columns that a slot has parts of: the strips of all results abreast. */
static inline int sm_slot_columns(const sm_reduce_form *form) {
  if (form->across) return form->width;
  return form->columns ? form->strip * form->abreast : form->abreast;
}

/* A loop around what is done once, or not at all if there are none. */
static inline void sm_begin_if_any(const sm_reduce_state *s, int32_t n) {
  (void)sm_kir_for(s->k, number(s, 0), op_number(s, SM_KOP_MIN, n, 1), 1);
}

/* What one thread does of those that have the same parts: before it and behind it. */
static inline void sm_begin_writing(const sm_reduce_state *s) {
  if (s->form->threads) (void)sm_kir_for(s->k, number(s, 0), s->writes, 1);
}
static inline void sm_end_writing(const sm_reduce_state *s) {
  if (s->form->threads) sm_kir_end(s->k);
}

/* --- Parts (reduce_parts.c) ----------------------------------------------------------------- */

/* How many 1s a number has at its end. */
int32_t sm_reduce_ones_at_end(const sm_reduce_state *s, int32_t n);
/* A number's last so many binary digits, reversed. */
int32_t sm_reduce_reverse_digits(const sm_reduce_state *s, int32_t n, int digits);
/* How many leaves of so many blocks the item's range has. */
int32_t sm_reduce_count_leaves(const sm_reduce_state *s, int blocks);
/* Whether `b` is better than `a`; a NaN is the best. */
int32_t sm_reduce_is_better(const sm_reduce_state *s, int t, int32_t a, int32_t b);
/* One half of the lanes of a part that has some. */
sm_part sm_reduce_half(const sm_reduce_state *s, sm_part lanes, int which);
sm_part sm_reduce_pick(const sm_reduce_state *s, int32_t condition, sm_part a, sm_part b);
sm_part sm_reduce_combine(const sm_reduce_state *s, int t, sm_part a, sm_part b);
/* The halves of a vector's lanes. */
sm_part sm_reduce_combine_halves(const sm_reduce_state *s, int t, sm_part lanes);
int32_t sm_reduce_neutral_value(const sm_reduce_state *s, int t, int width);
sm_kir_type sm_reduce_type_of(const sm_reduce_state *s, int32_t value);
/* A value in as many lanes as another one has. */
int32_t sm_reduce_widen(const sm_reduce_state *s, int32_t value, int32_t other);
/* What leaves a part as it is. */
sm_part sm_reduce_neutral(const sm_reduce_state *s, int t, int width);
sm_part sm_reduce_load_part(const sm_reduce_state *s, sm_part_buffers b, int32_t at, int width);
sm_part sm_reduce_load_parts(const sm_reduce_state *s, sm_part_buffers b, int32_t at, int32_t apart,
                             int width);
void sm_reduce_store_part(const sm_reduce_state *s, sm_part_buffers b, int32_t at, sm_part p);

/* Loops that carry a part of each task: begins with `start`; ends the loop, where `parts` are
 * what the round has made, and become what the loop leaves. */
void sm_reduce_carry_parts(const sm_reduce_state *s, const sm_part *start, int n, sm_part *carried);
void sm_reduce_end_parts(const sm_reduce_state *s, const sm_part *carried, int n, sm_part *parts);

/* Adds a leaf, whose number has so many `ones` at its end. */
void sm_reduce_push_leaf(const sm_reduce_state *s, int32_t ones, int32_t column, int width,
                         const sm_part *leaf);
/* All parts that are left after so many leaves, from the smallest to the largest. */
void sm_reduce_collect(const sm_reduce_state *s, int32_t leaves, int32_t column, int width, sm_part *parts);

/* The parts of a group, as they are between the stages. */
void sm_reduce_load_partials(const sm_reduce_state *s, int32_t group, const sm_reduce_columns *c,
                             sm_part *parts);
/* What becomes of the parts of an item's columns: results, or parts between stages. */
void sm_reduce_finish(const sm_reduce_state *s, const sm_reduce_columns *c, const sm_part *parts);
/* Takes up what earlier stages have made. */
void sm_reduce_resume(const sm_reduce_state *s, const sm_reduce_columns *c);

/* --- Elements (reduce_lanes.c) ---------------------------------------------------------------- */

/* Of one stream in the code: more defeat the processor's prefetching. A team has nothing but
 * these on their way while it waits for memory. */
enum { SM_REDUCE_LOADS = 4, SM_REDUCE_TEAM_LOADS = SM_REDUCE_PLACES, SM_REDUCE_KEPT_LOADS = 2 };

/* What a team's threads keep: from one element of the reduced axis to the next. */
static inline int sm_reduce_kept_apart(const sm_reduce_form *form) {
  return form->parts / SM_TREE_LANES * form->abreast * form->strip;
}

/* At `n` places of the reduced axis, of each a value for each task. */
void sm_reduce_get_elements(const sm_reduce_state *s, const int32_t *reduced, int n,
                            const sm_reduce_columns *c, int32_t (*values)[SM_REDUCE_TASKS]);

/* A *set* has a part in each lane of a vector. While lanes are filled, an index is the
 * number of the element in its lane, as i32. Those that need no tree have a set for each
 * load of a round, so that operations need not wait for each other; with blocks side by side
 * all have one, which is that of a block. */
enum { SM_REDUCE_SETS = SM_REDUCE_LOADS * SM_REDUCE_TASKS };
_Static_assert((int)SM_REDUCE_SIDE == (int)SM_REDUCE_LOADS, "a load of a round is of one of the blocks");

int sm_reduce_count_sets(const sm_reduce_state *s, int t);
sm_part *sm_reduce_set_of(const sm_reduce_state *s, sm_part *sets, int t, int load);
void sm_reduce_begin_sets(const sm_reduce_state *s, int t, int width, sm_part *sets);
sm_part sm_reduce_end_sets(const sm_reduce_state *s, int t, sm_part *sets);
void sm_reduce_no_sets(sm_part *sets);
/* Indices of the reduced axis from numbers in lanes; the lanes' first elements are at
 * `first`. */
int32_t sm_reduce_lane_indices(const sm_reduce_state *s, int32_t numbers, int32_t first, int width);

/* Elements of lanes: from `from` to `to`, `step` after each other, and in each round `loads`
 * of them that are `apart`. */
typedef struct sm_reduce_round {
  int32_t from, to;
  int step, loads, apart;
} sm_reduce_round;

/* Elements of rows are those of 16 lanes, whose first ones begin at `first`, elements of
 * columns those of one lane of each column. */
void sm_reduce_fill_lanes(const sm_reduce_state *s, const sm_reduce_round *r, int32_t first,
                          const sm_reduce_columns *c, sm_part *sets);
/* All elements `from` to `to`, several a round where most of the work is. */
void sm_reduce_run_lanes(const sm_reduce_state *s, int32_t from, int32_t to, int32_t first,
                         const sm_reduce_columns *c, sm_part *sets);

/* Adds the vector that the lanes, of rows or of sheets (reduce_wide.c), end with, whose first element is
 * `first`, to those of all tasks that need the tree, or of all others. */
void sm_reduce_add_rest(const sm_reduce_state *s, bool tree, int32_t first, const sm_reduce_columns *c,
                        sm_part *lanes);

/* --- Centered tasks (reduce_centered.c) ------------------------------------------------------- */

/* While lanes are filled, `above` is the sum of what elements are above the first one, `value` that of
 * its squares, and there is no count. What lanes begin with: */
sm_part sm_reduce_begin_centered(const sm_reduce_state *s, int t, int width);
/* Adds element number `k` of lanes, which may be the first of a block only if it `begins` one. */
sm_part sm_reduce_add_centered(const sm_reduce_state *s, sm_part lanes, int32_t value, int32_t k, bool begins,
                               int width);
/* The parts of lanes that have so many elements, an i64. */
sm_part sm_reduce_close_centered(const sm_reduce_state *s, int t, sm_part lanes, int32_t count);
/* The part of one element. */
sm_part sm_reduce_one_centered(const sm_reduce_state *s, int32_t value);
sm_part sm_reduce_combine_centered(const sm_reduce_state *s, sm_part a, sm_part b);

/* --- Columns taken wide (reduce_wide.c) --------------------------------------------------------- */

/* The tasks' leaves; how many there are. */
int32_t sm_reduce_run_sheets(const sm_reduce_state *s);
/* A pass without tasks. */
void sm_reduce_visit_sheets(const sm_reduce_state *s);

/* --- Items ------------------------------------------------------------------------------------- */

/* A pass over the item's row, or its strip. */
void sm_reduce_run_row(const sm_reduce_state *s);
/* What becomes of the rows of a band from the item's on, so many of a vector of them. */
void sm_reduce_finish_rows(const sm_reduce_state *s, int32_t there);
void sm_reduce_run_strip(const sm_reduce_state *s, int32_t number_of_strip);
/* Of a thread's lanes, by a team's threads that shuffle, the part of all their lanes. */
sm_part sm_reduce_shuffle(const sm_reduce_state *s, int t, sm_part lanes);
/* A pass over both, by a team. */
void sm_reduce_run_team(const sm_reduce_state *s, int32_t number_of_strip);

#endif
