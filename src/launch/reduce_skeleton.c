/* SPDX-License-Identifier: Apache-2.0 */
#include "launch/reduce_skeleton.h"

/* --- Forms ---------------------------------------------------------------------------- */

enum {
  MAX_LEVELS = 64,         /* more than the binary digits of any number of leaves */
  MAX_STRIP = 1024,        /* columns: some pages of a row are read one after another */
  SLOT_BYTES = 40 * 1024,  /* of all slots of a kernel, which lie on the thread's stack */
  GROUP_BLOCKS = 16,       /* of rows; columns make each block a group */
  FEW_ITEMS = 64,          /* too few to be shared out evenly */
  MANY_ELEMENTS = 1 << 16, /* worth a second launch */
  LOADS = 4                /* of one stream in the code: more defeat the processor's prefetching */
};

static int64_t round_up(int64_t a, int64_t b) { return (a + b - 1) / b; }

static int64_t groups_of(const sm_reduce_form *form, const sm_reduce_extents *extents) {
  return round_up(extents->reduced, (int64_t)form->group * SM_TREE_BLOCK);
}

static int bit_length(int64_t n) {
  int bits = 0;
  for (; n > 0; n /= 2) bits++;
  return bits;
}

static int part_bytes(const sm_reduce_task *tasks, int n_tasks) {
  int bytes = 0;
  for (int t = 0; t < n_tasks; t++) {
    bytes += (int)smelt_dtype_size(tasks[t].dtype);
    if (sm_reduction_gives_index(tasks[t].reduction)) bytes += (int)sizeof(int64_t);
  }
  return bytes;
}

/* Of elements as wide as the widest that are combined. */
static int choose_width(const sm_reduce_task *tasks, int n_tasks, int64_t inner, const sm_profile *profile) {
  int size = 1;
  for (int t = 0; t < n_tasks; t++) {
    int own = (int)smelt_dtype_size(tasks[t].dtype);
    size = own > size ? own : size;
  }
  int width = profile->vector_bytes / size;
  while (width > 1 && width > inner) width /= 2;
  return width < 1 ? 1 : width;
}

/* Leaves of an item's counter. Lengths that differ little share a kernel. */
static int choose_levels(const sm_reduce_form *form, const sm_reduce_extents *extents) {
  int64_t blocks = round_up(extents->reduced, SM_TREE_BLOCK), leaves = blocks * SM_TREE_LANES;
  if (form->stage == SM_REDUCE_PARTIAL && blocks > form->group) leaves = (int64_t)form->group * SM_TREE_LANES;
  if (form->stage == SM_REDUCE_COMBINE) leaves = groups_of(form, extents);
  int levels = bit_length(leaves);
  return levels + levels % 2;
}

static int choose_strip(const sm_reduce_form *form, int bytes, int64_t inner) {
  int strip = MAX_STRIP;
  while (strip > form->width && ((int64_t)strip * form->levels * bytes > SLOT_BYTES || strip / 2 >= inner))
    strip /= 2;
  return strip;
}

sm_reduce_form sm_reduce_choose(const sm_reduce_task *tasks, int n_tasks, const sm_reduce_extents *extents,
                                sm_reduce_stage stage, const sm_profile *profile) {
  bool columns = extents->inner > 1;
  sm_reduce_form form = {
      .stage = stage, .columns = columns || stage == SM_REDUCE_COMBINE, .width = 1, .strip = 1};
  form.group = columns ? 1 : GROUP_BLOCKS;
  form.levels = form.columns ? choose_levels(&form, extents) : MAX_LEVELS;
  if (!form.columns) return form;
  form.width = choose_width(tasks, n_tasks, extents->inner, profile);
  form.strip = choose_strip(&form, part_bytes(tasks, n_tasks), extents->inner);
  return form;
}

bool sm_reduce_wants_stages(const sm_reduce_extents *extents) {
  int64_t items = extents->outer * round_up(extents->inner, MAX_STRIP);
  return items < FEW_ITEMS && extents->reduced / GROUP_BLOCKS > SM_TREE_BLOCK &&
         extents->reduced * items * (extents->inner < MAX_STRIP ? extents->inner : MAX_STRIP) > MANY_ELEMENTS;
}

int64_t sm_reduce_partials(const sm_reduce_form *form, const sm_reduce_extents *extents) {
  return extents->outer * groups_of(form, extents) * extents->inner;
}

int64_t sm_reduce_work_items(const sm_reduce_form *form, const sm_reduce_extents *extents) {
  int64_t groups = form->stage == SM_REDUCE_PARTIAL ? groups_of(form, extents) : 1;
  return extents->outer * groups * round_up(extents->inner, form->strip);
}

void sm_reduce_size_values(const sm_reduce_form *form, const sm_reduce_extents *extents,
                           int64_t values[SM_REDUCE_SIZES]) {
  values[SM_REDUCE_SIZE_REDUCED] = extents->reduced;
  values[SM_REDUCE_SIZE_INNER] = extents->inner;
  values[SM_REDUCE_SIZE_GROUPS] = groups_of(form, extents);
}

/* --- The kernel ------------------------------------------------------------------------- */

/* Values in the kernel; `index` is NONE unless the task gives one. */
typedef struct part {
  int32_t value, index;
} part;

/* Buffers for parts. */
typedef struct part_buffers {
  int value, index;
} part_buffers;

typedef struct skeleton {
  sm_kir_kernel *k;
  const sm_reduce_task *tasks;
  int n;
  const sm_reduce_form *form;
  const sm_reduce_body *body;
  int32_t reduced, inner, groups;        /* size arguments */
  int32_t outer, group;                  /* of the item */
  int32_t begin, end;                    /* its range of the reduced axis */
  part_buffers slots[SM_REDUCE_TASKS];   /* local */
  part_buffers lanes[SM_REDUCE_TASKS];   /* local, of rows: those of a block */
  part_buffers partial[SM_REDUCE_TASKS]; /* between stages */
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

static part carry_part(const skeleton *s, part start) {
  part p = {sm_kir_carry(s->k, start.value), SM_KIR_NONE};
  if (start.index != SM_KIR_NONE) p.index = sm_kir_carry(s->k, start.index);
  return p;
}

static void carry_parts(const skeleton *s, const part *start, part *carried) {
  for (int t = 0; t < s->n; t++) carried[t] = carry_part(s, start[t]);
}

static void next_part(const skeleton *s, part carried, part next) {
  sm_kir_next(s->k, carried.value, next.value);
  if (next.index != SM_KIR_NONE) sm_kir_next(s->k, carried.index, next.index);
}

/* Ends the loop; `parts` are what the round has made, and become what the loop leaves. */
static void end_parts(const skeleton *s, const part *carried, part *parts) {
  for (int t = 0; t < s->n; t++) next_part(s, carried[t], parts[t]);
  sm_kir_end(s->k);
  for (int t = 0; t < s->n; t++) {
    parts[t].value = sm_kir_result(s->k, carried[t].value);
    if (parts[t].index != SM_KIR_NONE) parts[t].index = sm_kir_result(s->k, carried[t].index);
  }
}

/* --- The counter ---------------------------------------------------------------------------------- */

/* Where column `column` of a slot's row is. */
static int32_t slot_position(const skeleton *s, int32_t level, int32_t column) {
  return op2(s, SM_KOP_ADD, op_number(s, SM_KOP_MUL, level, s->form->strip), column);
}

/* Adds a leaf, whose number has so many `ones` at its end. */
static void push_leaf(const skeleton *s, int32_t ones, int32_t column, int width, const part *leaf) {
  part carried[SM_REDUCE_TASKS], parts[SM_REDUCE_TASKS];
  int32_t level = sm_kir_for(s->k, number(s, 0), ones, 1);
  carry_parts(s, leaf, carried);
  int32_t from = slot_position(s, level, column);
  for (int t = 0; t < s->n; t++) parts[t] = combine(s, t, load_part(s, s->slots[t], from, width), carried[t]);
  end_parts(s, carried, parts);
  int32_t to = slot_position(s, ones, column);
  for (int t = 0; t < s->n; t++) store_part(s, s->slots[t], to, parts[t]);
}

/* All parts that are left after so many leaves, from the smallest to the largest. */
static void collect(const skeleton *s, int32_t leaves, int32_t column, int width, part *parts) {
  part carried[SM_REDUCE_TASKS], kept[SM_REDUCE_TASKS];
  for (int t = 0; t < s->n; t++) parts[t] = neutral(s, t, width);
  int32_t levels = op_number(s, SM_KOP_ADD, highest_one(s, leaves), 1);
  int32_t level = sm_kir_for(s->k, number(s, 0), levels, 1);
  carry_parts(s, parts, carried);
  int32_t is_kept = op_number(s, SM_KOP_AND, op2(s, SM_KOP_SHR, leaves, level), 1);
  (void)sm_kir_for(s->k, number(s, 0), is_kept, 1);
  carry_parts(s, carried, kept);
  int32_t from = slot_position(s, level, column);
  for (int t = 0; t < s->n; t++) parts[t] = combine(s, t, load_part(s, s->slots[t], from, width), kept[t]);
  end_parts(s, kept, parts);
  end_parts(s, carried, parts);
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

static void give_results(const skeleton *s, int32_t column, int width, const part *parts) {
  int32_t values[SM_REDUCE_TASKS];
  int32_t index = op2(s, SM_KOP_ADD, op2(s, SM_KOP_MUL, s->outer, s->inner), column);
  sm_reduce_place at = {s->outer, SM_KIR_NONE, column, index, width};
  for (int t = 0; t < s->n; t++) {
    bool is_sum = sm_reduction_kop(s->tasks[t].reduction) == SM_KOP_ADD;
    values[t] = gives_index(s, t) ? parts[t].index
                : is_sum          ? finished_sum(s, &s->tasks[t], parts[t].value, width)
                                  : parts[t].value;
  }
  s->body->results(s->body->user, s->k, &at, values);
}

/* Where the part of a group is between the stages. */
static int32_t partial_position(const skeleton *s, int32_t group, int32_t column) {
  int32_t row = op2(s, SM_KOP_ADD, op2(s, SM_KOP_MUL, s->outer, s->groups), group);
  return op2(s, SM_KOP_ADD, op2(s, SM_KOP_MUL, row, s->inner), column);
}

static void finish(const skeleton *s, int32_t leaves, int32_t column, int32_t place, int width) {
  part parts[SM_REDUCE_TASKS];
  collect(s, leaves, place, width, parts);
  if (s->form->stage != SM_REDUCE_PARTIAL) {
    give_results(s, column, width, parts);
    return;
  }
  int32_t to = partial_position(s, s->group, column);
  for (int t = 0; t < s->n; t++) store_part(s, s->partial[t], to, parts[t]);
}

/* --- Elements ------------------------------------------------------------------------------------------- */

static void get_elements(const skeleton *s, int32_t reduced, int32_t column, int width, int32_t *values) {
  int32_t row = op2(s, SM_KOP_ADD, op2(s, SM_KOP_MUL, s->outer, s->reduced), reduced);
  int32_t index = op2(s, SM_KOP_ADD, op2(s, SM_KOP_MUL, row, s->inner), column);
  sm_reduce_place at = {s->outer, reduced, column, index, width};
  s->body->elements(s->body->user, s->k, &at, values);
}

/* The beginning of lanes of the tree. While they are filled, an index is the number of
 * the element in its lane, as i32. */
static void begin_lanes(const skeleton *s, int width, part *parts) {
  for (int t = 0; t < s->n; t++) {
    parts[t] = (part){neutral_value(s, t, width), SM_KIR_NONE};
    if (gives_index(s, t)) parts[t].index = constant(s, SMELT_I32, (sm_word){.bits = 0}, width);
  }
}

/* Element number `k` (i64) of lanes. */
static void add_to_lanes(const skeleton *s, const int32_t *values, int32_t k, int width, part *parts) {
  for (int t = 0; t < s->n; t++) {
    part own = {values[t], SM_KIR_NONE};
    if (!gives_index(s, t)) {
      parts[t] = combine(s, t, parts[t], own);
      continue;
    }
    own.index = splat(s, convert(s, SM_KOP_CAST, k, SMELT_I32), width);
    parts[t] = pick(s, is_better(s, t, parts[t].value, own.value), own, parts[t]);
  }
}

/* From numbers in lanes to indices, `first` being those of the lanes' first elements. */
static void end_lanes(const skeleton *s, int32_t first, int width, part *parts) {
  for (int t = 0; t < s->n; t++) {
    if (!gives_index(s, t)) continue;
    int32_t number_in_lane = convert(s, SM_KOP_CAST, parts[t].index, SMELT_I64);
    int32_t lanes = constant(s, SMELT_I64, (sm_word){.I64 = SM_TREE_LANES}, width);
    parts[t].index = op2(s, SM_KOP_ADD, op2(s, SM_KOP_MUL, number_in_lane, lanes), first);
  }
}

/* Elements `from` to `to` of lanes, `loads` of them a round. Those of rows are 16 lanes
 * beginning at `first`, those of columns one lane of `width` columns. */
static void fill_lanes(const skeleton *s, int32_t from, int32_t to, int loads, int32_t first, int32_t column,
                       int width, part *parts) {
  part carried[SM_REDUCE_TASKS];
  int32_t values[SM_REDUCE_TASKS], k = sm_kir_for(s->k, from, to, loads);
  carry_parts(s, parts, carried);
  for (int t = 0; t < s->n; t++) parts[t] = carried[t];
  for (int load = 0; load < loads; load++) {
    int32_t own = load ? op_number(s, SM_KOP_ADD, k, load) : k;
    int32_t reduced = op2(s, SM_KOP_ADD, first, op_number(s, SM_KOP_MUL, own, SM_TREE_LANES));
    get_elements(s, reduced, column, width, values);
    add_to_lanes(s, values, own, width, parts);
  }
  end_parts(s, carried, parts);
}

/* All `n` elements of lanes. */
static void run_lanes(const skeleton *s, int32_t n, int32_t first, int32_t column, int width, part *parts) {
  begin_lanes(s, width, parts);
  int32_t whole = op2(s, SM_KOP_SUB, n, op_number(s, SM_KOP_FMOD, n, LOADS));
  fill_lanes(s, number(s, 0), whole, LOADS, first, column, width, parts);
  fill_lanes(s, whole, n, 1, first, column, width, parts);
}

/* --- Rows ----------------------------------------------------------------------------------------------- */

/* The last elements of a block, which fill only some lanes. */
static void add_single_elements(const skeleton *s, int32_t from, int32_t to) {
  int32_t values[SM_REDUCE_TASKS], reduced = sm_kir_for(s->k, from, to, 1);
  get_elements(s, reduced, number(s, 0), 1, values);
  int32_t lane = op2(s, SM_KOP_SUB, reduced, from);
  for (int t = 0; t < s->n; t++) {
    part own = {values[t], gives_index(s, t) ? reduced : SM_KIR_NONE};
    store_part(s, s->lanes[t], lane, combine(s, t, load_part(s, s->lanes[t], lane, 1), own));
  }
  sm_kir_end(s->k);
}

static void combine_lanes(const skeleton *s, part *parts) {
  for (int half = SM_TREE_LANES / 2; half > 0; half /= 2) {
    for (int t = 0; t < s->n; t++) {
      part upper = load_part(s, s->lanes[t], number(s, half), half);
      parts[t] = combine(s, t, load_part(s, s->lanes[t], number(s, 0), half), upper);
      if (half > 1) store_part(s, s->lanes[t], number(s, 0), parts[t]);
    }
  }
}

static void reduce_block(const skeleton *s, int32_t first, part *parts) {
  int32_t left = op2(s, SM_KOP_SUB, s->end, first);
  int32_t n = op_number(s, SM_KOP_MIN, left, SM_TREE_BLOCK), zero = number(s, 0);
  int32_t vectors = op_number(s, SM_KOP_TRUNC_DIV, n, SM_TREE_LANES);
  run_lanes(s, vectors, first, zero, SM_TREE_LANES, parts);
  end_lanes(s, sm_kir_iota(s->k, first, SM_TREE_LANES), SM_TREE_LANES, parts);
  for (int t = 0; t < s->n; t++) store_part(s, s->lanes[t], zero, parts[t]);
  int32_t done = op2(s, SM_KOP_ADD, first, op_number(s, SM_KOP_MUL, vectors, SM_TREE_LANES));
  add_single_elements(s, done, op2(s, SM_KOP_ADD, first, n));
  combine_lanes(s, parts);
}

/* The number of blocks of the item's range. */
static int32_t count_blocks(const skeleton *s) {
  int32_t n = op2(s, SM_KOP_SUB, s->end, s->begin);
  return op_number(s, SM_KOP_TRUNC_DIV, op_number(s, SM_KOP_ADD, n, SM_TREE_BLOCK - 1), SM_TREE_BLOCK);
}

static void reduce_row(const skeleton *s) {
  part parts[SM_REDUCE_TASKS];
  int32_t zero = number(s, 0), blocks = count_blocks(s);
  int32_t block = sm_kir_for(s->k, zero, blocks, 1);
  reduce_block(s, op2(s, SM_KOP_ADD, s->begin, op_number(s, SM_KOP_MUL, block, SM_TREE_BLOCK)), parts);
  push_leaf(s, ones_at_end(s, block), zero, 1, parts);
  sm_kir_end(s->k);
  finish(s, blocks, zero, zero, 1);
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

static void for_columns(const skeleton *s, const strip *at, columns_fn *f) {
  int32_t rest = op_number(s, SM_KOP_FMOD, at->columns, s->form->width);
  int32_t whole = op2(s, SM_KOP_SUB, at->columns, rest);
  f(s, at, sm_kir_for(s->k, number(s, 0), whole, s->form->width), s->form->width);
  sm_kir_end(s->k);
  if (s->form->width == 1) return;
  f(s, at, sm_kir_for(s->k, whole, at->columns, 1), 1);
  sm_kir_end(s->k);
}

static void add_lane(const skeleton *s, const strip *at, int32_t place, int width) {
  part parts[SM_REDUCE_TASKS];
  run_lanes(s, at->rows, at->row, op2(s, SM_KOP_ADD, at->first, place), width, parts);
  end_lanes(s, splat(s, at->row, width), width, parts);
  push_leaf(s, at->ones, place, width, parts);
}

static void add_partial(const skeleton *s, const strip *at, int32_t place, int width) {
  part parts[SM_REDUCE_TASKS];
  int32_t from = partial_position(s, at->leaf, op2(s, SM_KOP_ADD, at->first, place));
  for (int t = 0; t < s->n; t++) parts[t] = load_part(s, s->partial[t], from, width);
  push_leaf(s, at->ones, place, width, parts);
}

static void finish_columns(const skeleton *s, const strip *at, int32_t place, int width) {
  finish(s, at->leaves, op2(s, SM_KOP_ADD, at->first, place), place, width);
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
  int32_t left = op_number(s, SM_KOP_ADD, op2(s, SM_KOP_SUB, s->end, at->row), SM_TREE_LANES - 1);
  int32_t rows = op_number(s, SM_KOP_TRUNC_DIV, op_number(s, SM_KOP_MAX, left, 0), SM_TREE_LANES);
  at->rows = op_number(s, SM_KOP_MIN, rows, SM_TREE_BLOCK / SM_TREE_LANES);
}

static void reduce_strip(const skeleton *s, int32_t number_of_strip) {
  bool combines = s->form->stage == SM_REDUCE_COMBINE;
  strip at = {.first = op_number(s, SM_KOP_MUL, number_of_strip, s->form->strip)};
  at.columns = op_number(s, SM_KOP_MIN, op2(s, SM_KOP_SUB, s->inner, at.first), s->form->strip);
  at.leaves = combines ? s->groups : op_number(s, SM_KOP_MUL, count_blocks(s), SM_TREE_LANES);
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

static void run_items(skeleton *s) {
  int32_t strips = count_strips(s), begin = sm_kir_chunk_begin(s->k);
  int32_t item = sm_kir_for(s->k, begin, sm_kir_chunk_end(s->k), 1);
  int32_t number_of_strip = s->form->columns ? take_off(s, &item, strips) : SM_KIR_NONE;
  find_range(s, &item);
  s->outer = item;
  if (s->form->columns) reduce_strip(s, number_of_strip);
  else reduce_row(s);
  sm_kir_end(s->k);
}

/* --- The kernel's memory
 * --------------------------------------------------------------------------------------- */

static part_buffers add_locals(const skeleton *s, int t, int n) {
  part_buffers b = {sm_kir_add_local(s->k, s->tasks[t].dtype, (uint32_t)n), -1};
  if (gives_index(s, t)) b.index = sm_kir_add_local(s->k, SMELT_I64, (uint32_t)n);
  return b;
}

static part_buffers add_partials(const skeleton *s, int t) {
  bool written = s->form->stage == SM_REDUCE_PARTIAL;
  part_buffers b = {sm_kir_add_buffer(s->k, s->tasks[t].dtype, written), -1};
  if (gives_index(s, t)) b.index = sm_kir_add_buffer(s->k, SMELT_I64, written);
  return b;
}

static void add_memory(skeleton *s) {
  for (int t = 0; t < s->n && s->form->stage != SM_REDUCE_WHOLE; t++) s->partial[t] = add_partials(s, t);
  for (int t = 0; t < s->n; t++) {
    s->slots[t] = add_locals(s, t, s->form->levels * s->form->strip);
    if (!s->form->columns) s->lanes[t] = add_locals(s, t, SM_TREE_LANES);
  }
}

static int32_t add_size(const skeleton *s) { return sm_kir_size(s->k, sm_kir_add_size(s->k)); }

void sm_reduce_kernel(sm_kir_kernel *k, const sm_reduce_task *tasks, int n_tasks, const sm_reduce_form *form,
                      const sm_reduce_body *body) {
  skeleton s = {.k = k, .tasks = tasks, .n = n_tasks, .form = form, .body = body};
  add_memory(&s);
  s.reduced = add_size(&s);
  s.inner = add_size(&s);
  s.groups = add_size(&s);
  run_items(&s);
}
