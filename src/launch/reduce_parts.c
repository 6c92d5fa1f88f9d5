/* SPDX-License-Identifier: Apache-2.0 */
#include "launch/reduce_parts.h"

#include <string.h>

/* --- Numbers of leaves -------------------------------------------------------------------- */

/* Digits side by side are added up: those of pairs, of four, of bytes, then of all bytes. */
static int32_t count_ones(const sm_reduce_state *s, int32_t n) {
  static const int64_t pairs = 0x5555555555555555, fours = 0x3333333333333333, bytes = 0x0f0f0f0f0f0f0f0f;
  n = op2(s, SM_KOP_SUB, n, op_number(s, SM_KOP_AND, op_number(s, SM_KOP_SHR, n, 1), pairs));
  int32_t upper = op_number(s, SM_KOP_AND, op_number(s, SM_KOP_SHR, n, 2), fours);
  n = op2(s, SM_KOP_ADD, op_number(s, SM_KOP_AND, n, fours), upper);
  n = op_number(s, SM_KOP_AND, op2(s, SM_KOP_ADD, n, op_number(s, SM_KOP_SHR, n, 4)), bytes);
  return op_number(s, SM_KOP_SHR, op_number(s, SM_KOP_MUL, n, 0x0101010101010101), 56);
}

/* How many digits a number has: all below its highest 1 become 1s. */
static int32_t count_digits(const sm_reduce_state *s, int32_t n) {
  for (int by = 1; by < 64; by *= 2) n = op2(s, SM_KOP_OR, n, op_number(s, SM_KOP_SHR, n, by));
  return count_ones(s, n);
}

int32_t sm_reduce_ones_at_end(const sm_reduce_state *s, int32_t n) {
  int32_t changed = op2(s, SM_KOP_XOR, n, op_number(s, SM_KOP_ADD, n, 1));
  return count_ones(s, op_number(s, SM_KOP_SHR, changed, 1));
}

/* Digit `from` of a number as digit `to`. */
static int32_t moved_digit(const sm_reduce_state *s, int32_t n, int from, int to) {
  int32_t digit = op_number(s, SM_KOP_AND, op_number(s, SM_KOP_SHR, n, from), 1);
  return op_number(s, SM_KOP_SHL, digit, to);
}

int32_t sm_reduce_reverse_digits(const sm_reduce_state *s, int32_t n, int digits) {
  int32_t reversed = number(s, 0);
  for (int from = 0; from < digits; from++)
    reversed = op2(s, SM_KOP_OR, reversed, moved_digit(s, n, from, digits - 1 - from));
  return reversed;
}

int32_t sm_reduce_count_leaves(const sm_reduce_state *s, int blocks) {
  int32_t n = op2(s, SM_KOP_SUB, s->end, s->begin);
  int elements = blocks * SM_TREE_BLOCK;
  return op_number(s, SM_KOP_TRUNC_DIV, op_number(s, SM_KOP_ADD, n, elements - 1), elements);
}

/* --- Lanes ----------------------------------------------------------------------------------- */

sm_kir_type sm_reduce_type_of(const sm_reduce_state *s, int32_t value) {
  return s->k->failed ? (sm_kir_type){SMELT_F32, 1} : s->k->ins.items[value].type;
}

int32_t sm_reduce_widen(const sm_reduce_state *s, int32_t value, int32_t other) {
  int width = sm_reduce_type_of(s, other).width;
  return sm_reduce_type_of(s, value).width == width ? value : splat(s, value, width);
}

/* --- Parts ---------------------------------------------------------------------------------- */

int32_t sm_reduce_is_better(const sm_reduce_state *s, int t, int32_t a, int32_t b) {
  bool largest = s->tasks[t].reduction == SM_REDUCTION_ARGMAX;
  int32_t lower = largest ? a : b, upper = largest ? b : a;
  if (sm_kind_of(s->tasks[t].dtype) != SM_KIND_FLOAT) return op2(s, SM_KOP_LT, lower, upper);
  int32_t not_worse = op1(s, SM_KOP_NOT, op2(s, SM_KOP_LE, upper, lower));
  return op2(s, SM_KOP_AND, not_worse, op2(s, SM_KOP_EQ, a, a));
}

static int32_t is_as_good(const sm_reduce_state *s, int t, int32_t a, int32_t b) {
  int32_t equal = op2(s, SM_KOP_EQ, a, b);
  if (sm_kind_of(s->tasks[t].dtype) != SM_KIND_FLOAT) return equal;
  int32_t both_nan = op2(s, SM_KOP_AND, op1(s, SM_KOP_ISNAN, a), op1(s, SM_KOP_ISNAN, b));
  return op2(s, SM_KOP_OR, equal, both_nan);
}

sm_part sm_reduce_half(const sm_reduce_state *s, sm_part lanes, int which) {
  sm_part half = sm_no_part;
  for (int f = 0; f < SM_PART_FIELDS; f++) {
    bool is_split = lanes.fields[f] != SM_KIR_NONE && sm_reduce_type_of(s, lanes.fields[f]).width > 1;
    half.fields[f] = is_split ? sm_kir_half(s->k, lanes.fields[f], which) : lanes.fields[f];
  }
  return half;
}

sm_part sm_reduce_pick(const sm_reduce_state *s, int32_t condition, sm_part a, sm_part b) {
  sm_part p = sm_no_part;
  for (int f = 0; f < SM_PART_FIELDS; f++) {
    if (a.fields[f] == SM_KIR_NONE) continue;
    int32_t own = sm_reduce_widen(s, a.fields[f], condition),
            other = sm_reduce_widen(s, b.fields[f], condition);
    p.fields[f] = choose(s, condition, own, other);
  }
  return p;
}

/* Of two that are equally good the one with the lower index. */
static sm_part combine_indexed(const sm_reduce_state *s, int t, sm_part a, sm_part b) {
  int32_t before = op2(s, SM_KOP_LT, b.index, a.index);
  int32_t instead = op2(s, SM_KOP_AND, is_as_good(s, t, a.value, b.value), before);
  return sm_reduce_pick(s, op2(s, SM_KOP_OR, sm_reduce_is_better(s, t, a.value, b.value), instead), b, a);
}

sm_part sm_reduce_combine(const sm_reduce_state *s, int t, sm_part a, sm_part b) {
  if (gives_index(s, t)) return combine_indexed(s, t, a, b);
  if (is_centered(s, t)) return sm_reduce_combine_centered(s, a, b);
  return sm_part_of(op2(s, sm_reduction_kop(s->tasks[t].reduction), a.value, b.value), SM_KIR_NONE);
}

sm_part sm_reduce_combine_halves(const sm_reduce_state *s, int t, sm_part lanes) {
  return sm_reduce_combine(s, t, sm_reduce_half(s, lanes, 0), sm_reduce_half(s, lanes, 1));
}

int32_t sm_reduce_neutral_value(const sm_reduce_state *s, int t, int width) {
  const sm_reduce_task *task = &s->tasks[t];
  return constant(s, task->dtype, sm_reduction_neutral(task->reduction, task->dtype), width);
}

sm_part sm_reduce_neutral(const sm_reduce_state *s, int t, int width) {
  sm_part p = sm_part_of(sm_reduce_neutral_value(s, t, width), SM_KIR_NONE);
  if (gives_index(s, t)) p.index = constant(s, SMELT_I64, (sm_word){.I64 = INT64_MAX}, width);
  if (!is_centered(s, t)) return p;
  p.first = p.above = constant(s, s->tasks[t].dtype, (sm_word){.bits = 0}, width);
  p.count = constant(s, s->tasks[t].dtype, (sm_word){.bits = 0}, 1);
  return p;
}

sm_part sm_reduce_load_parts(const sm_reduce_state *s, sm_part_buffers b, int32_t at, int32_t apart,
                             int width) {
  sm_part p = sm_no_part;
  for (int f = 0; f < SM_PART_FIELDS; f++) {
    int lanes = f == SM_PART_COUNT ? 1 : width;
    if (b.fields[f] != SM_KIR_NONE) p.fields[f] = sm_kir_load(s->k, b.fields[f], at, apart, lanes);
  }
  return p;
}

sm_part sm_reduce_load_part(const sm_reduce_state *s, sm_part_buffers b, int32_t at, int width) {
  return sm_reduce_load_parts(s, b, at, SM_KIR_NONE, width);
}

void sm_reduce_store_part(const sm_reduce_state *s, sm_part_buffers b, int32_t at, sm_part p) {
  for (int f = 0; f < SM_PART_FIELDS; f++) {
    if (b.fields[f] != SM_KIR_NONE)
      sm_kir_store(s->k, b.fields[f], at, SM_KIR_NONE, sm_reduce_widen(s, p.fields[f], p.value));
  }
}

/* --- Loops that carry a part of each task ------------------------------------------------------ */

void sm_reduce_carry_parts(const sm_reduce_state *s, const sm_part *start, int n, sm_part *carried) {
  for (int i = 0; i < n; i++) {
    carried[i] = sm_no_part;
    for (int f = 0; f < SM_PART_FIELDS; f++) {
      if (start[i].fields[f] != SM_KIR_NONE) carried[i].fields[f] = sm_kir_carry(s->k, start[i].fields[f]);
    }
  }
}

void sm_reduce_end_parts(const sm_reduce_state *s, const sm_part *carried, int n, sm_part *parts) {
  for (int i = 0; i < n; i++) {
    for (int f = 0; f < SM_PART_FIELDS; f++) {
      if (parts[i].fields[f] != SM_KIR_NONE) sm_kir_next(s->k, carried[i].fields[f], parts[i].fields[f]);
    }
  }
  sm_kir_end(s->k);
  for (int i = 0; i < n; i++) {
    for (int f = 0; f < SM_PART_FIELDS; f++) {
      if (parts[i].fields[f] != SM_KIR_NONE) parts[i].fields[f] = sm_kir_result(s->k, carried[i].fields[f]);
    }
  }
}

/* --- The counter ---------------------------------------------------------------------------------- */

/* Column `column` of a slot's row, which has the strips of all results abreast, and one count. */
typedef struct slot {
  int32_t level, place;
} slot;

static slot find_slot(const sm_reduce_state *s, int32_t level, int32_t column) {
  int32_t row = op_number(s, SM_KOP_MUL, level, sm_slot_columns(s->form));
  return (slot){level, op2(s, SM_KOP_ADD, row, column)};
}

static sm_part load_slot(const sm_reduce_state *s, int t, slot from, int width) {
  sm_part_buffers columns = s->slots[t];
  columns.count = SM_KIR_NONE;
  sm_part p = sm_reduce_load_part(s, columns, from.place, width);
  if (is_centered(s, t)) p.count = sm_kir_load(s->k, s->slots[t].count, from.level, SM_KIR_NONE, 1);
  return p;
}

static void store_slot(const sm_reduce_state *s, int t, slot to, sm_part p) {
  sm_part_buffers columns = s->slots[t];
  columns.count = SM_KIR_NONE;
  sm_reduce_store_part(s, columns, to.place, p);
  if (is_centered(s, t)) sm_kir_store(s->k, s->slots[t].count, to.level, SM_KIR_NONE, p.count);
}

/* In each slot's row, the part of a task combined with its own. */
static void combine_with_slot(const sm_reduce_state *s, slot at, int width, sm_part *parts) {
  for (int t = 0; t < s->n; t++) {
    if (sm_is_part(parts[t])) parts[t] = sm_reduce_combine(s, t, load_slot(s, t, at, width), parts[t]);
  }
}

void sm_reduce_push_leaf(const sm_reduce_state *s, int32_t ones, int32_t column, int width,
                         const sm_part *leaf) {
  sm_part carried[SM_REDUCE_TASKS], parts[SM_REDUCE_TASKS];
  int32_t level = sm_kir_for(s->k, number(s, 0), ones, 1);
  sm_reduce_carry_parts(s, leaf, s->n, carried);
  memcpy(parts, carried, sizeof parts);
  combine_with_slot(s, find_slot(s, level, column), width, parts);
  sm_reduce_end_parts(s, carried, s->n, parts);
  slot to = find_slot(s, ones, column);
  for (int t = 0; t < s->n; t++) {
    if (sm_is_part(parts[t])) store_slot(s, t, to, parts[t]);
  }
}

void sm_reduce_collect(const sm_reduce_state *s, int32_t leaves, int32_t column, int width, sm_part *parts) {
  sm_part carried[SM_REDUCE_TASKS], kept[SM_REDUCE_TASKS];
  for (int t = 0; t < s->n; t++) parts[t] = needs_tree(s, t) ? sm_reduce_neutral(s, t, width) : sm_no_part;
  int32_t level = sm_kir_for(s->k, number(s, 0), count_digits(s, leaves), 1);
  sm_reduce_carry_parts(s, parts, s->n, carried);
  int32_t is_kept = op_number(s, SM_KOP_AND, op2(s, SM_KOP_SHR, leaves, level), 1);
  (void)sm_kir_for(s->k, number(s, 0), is_kept, 1);
  sm_reduce_carry_parts(s, carried, s->n, kept);
  memcpy(parts, kept, sizeof kept);
  combine_with_slot(s, find_slot(s, level, column), width, parts);
  sm_reduce_end_parts(s, kept, s->n, parts);
  sm_reduce_end_parts(s, carried, s->n, parts);
}

/* --- Results ------------------------------------------------------------------------------------------ */

/* A sum of nothing is +0, and a mean still has to be divided. */
static int32_t finished_sum(const sm_reduce_state *s, const sm_reduce_task *task, int32_t sum, int width) {
  int32_t count = s->reduced;
  if (sm_kind_of(task->dtype) == SM_KIND_FLOAT) {
    int32_t empty = splat(s, op_number(s, SM_KOP_EQ, count, 0), width);
    sum = choose(s, empty, constant(s, task->dtype, (sm_word){.bits = 0}, width), sum);
  }
  if (!sm_reduction_averages(task->reduction)) return sum;
  return op2(s, SM_KOP_DIV, sum, splat(s, convert(s, SM_KOP_CAST, count, task->dtype), width));
}

static int32_t result_of(const sm_reduce_state *s, int t, sm_part p, int width) {
  if (gives_index(s, t)) return p.index;
  bool is_sum = sm_reduction_kop(s->tasks[t].reduction) == SM_KOP_ADD;
  return is_sum ? finished_sum(s, &s->tasks[t], p.value, width) : p.value;
}

static int32_t result_place(const sm_reduce_state *s, const sm_reduce_place *at) {
  return s->form->stage == SM_REDUCE_WHOLE ? at->column : at->index;
}

/* Columns of memory, local or between stages. */
static int32_t load_columns(const sm_reduce_state *s, int buffer, int32_t at, int32_t there, int width) {
  if (there == SM_KIR_NONE) return sm_kir_load(s->k, buffer, at, SM_KIR_NONE, width);
  return sm_kir_load_first(s->k, buffer, at, there, width);
}

static void store_columns(const sm_reduce_state *s, int buffer, int32_t at, int32_t there, int32_t value) {
  if (there == SM_KIR_NONE) sm_kir_store(s->k, buffer, at, SM_KIR_NONE, value);
  else sm_kir_store_first(s->k, buffer, at, there, value);
}

/* Keeps a result, numbered among all tasks, for the passes after this one. */
static void remember(const sm_reduce_state *s, int task, const sm_reduce_place *at, int32_t value) {
  s->memory->values[task] = value;
  if (!sm_stores_results(s) || s->pass + 1 == s->form->passes) return;
  sm_begin_writing(s);
  store_columns(s, s->memory->results[task], result_place(s, at), at->there, value);
  sm_end_writing(s);
}

/* The results of the passes before this one; how many there are. */
static int recall(const sm_reduce_state *s, const sm_reduce_place *at, int32_t *values) {
  int before = (int)(s->tasks - s->all);
  for (int task = 0; task < before; task++) {
    values[task] = s->memory->values[task];
    if (sm_stores_results(s))
      values[task] = load_columns(s, s->memory->results[task], result_place(s, at), at->there, at->width);
  }
  return before;
}

static sm_reduce_place place_of_results(const sm_reduce_state *s, const sm_reduce_columns *c) {
  int32_t index = op2(s, SM_KOP_ADD, op2(s, SM_KOP_MUL, s->outer, s->inner), c->inner);
  return (sm_reduce_place){.outer = s->outer,
                           .reduced = SM_KIR_NONE,
                           .inner = c->inner,
                           .index = index,
                           .step = SM_KIR_NONE,
                           .column = c->place,
                           .writes = s->form->threads ? s->writes : SM_KIR_NONE,
                           .there = c->there,
                           .width = c->width,
                           .pass = s->pass};
}

static void give_results(const sm_reduce_state *s, const sm_reduce_columns *c, const sm_part *parts) {
  int32_t values[SM_REDUCE_TASKS];
  sm_reduce_place at = place_of_results(s, c);
  int before = recall(s, &at, values);
  for (int t = 0; t < s->n; t++) {
    values[before + t] = result_of(s, t, parts[t], c->width);
    remember(s, before + t, &at, values[before + t]);
  }
  s->body->results(s->body->user, s->k, &at, values);
}

void sm_reduce_resume(const sm_reduce_state *s, const sm_reduce_columns *c) {
  int32_t values[SM_REDUCE_TASKS];
  sm_reduce_place at = place_of_results(s, c);
  (void)recall(s, &at, values);
  s->body->resume(s->body->user, s->k, &at, values);
}

/* Where the part of a group is between the stages. */
static int32_t partial_position(const sm_reduce_state *s, int32_t group, int32_t column) {
  int32_t row = op2(s, SM_KOP_ADD, op2(s, SM_KOP_MUL, s->outer, s->groups), group);
  return op2(s, SM_KOP_ADD, op2(s, SM_KOP_MUL, row, s->inner), column);
}

void sm_reduce_load_partials(const sm_reduce_state *s, int32_t group, const sm_reduce_columns *c,
                             sm_part *parts) {
  int32_t from = partial_position(s, group, c->inner);
  for (int t = 0; t < s->n; t++) {
    sm_part_buffers b = s->partial[t];
    parts[t] = sm_no_part;
    for (int f = 0; f < SM_PART_COUNT; f++) {
      if (b.fields[f] != SM_KIR_NONE)
        parts[t].fields[f] = load_columns(s, b.fields[f], from, c->there, c->width);
    }
    if (b.count != SM_KIR_NONE) parts[t].count = sm_kir_load(s->k, b.count, from, SM_KIR_NONE, 1);
  }
}

static void store_partials(const sm_reduce_state *s, const sm_reduce_columns *c, const sm_part *parts) {
  int32_t to = partial_position(s, s->group, c->inner);
  for (int t = 0; t < s->n; t++) {
    for (int f = 0; f < SM_PART_FIELDS; f++) {
      if (s->partial[t].fields[f] == SM_KIR_NONE) continue;
      int32_t value = sm_reduce_widen(s, parts[t].fields[f], parts[t].value);
      store_columns(s, s->partial[t].fields[f], to, c->there, value);
    }
  }
}

void sm_reduce_finish(const sm_reduce_state *s, const sm_reduce_columns *c, const sm_part *parts) {
  if (s->form->stage != SM_REDUCE_PARTIAL) {
    give_results(s, c, parts);
    return;
  }
  sm_begin_writing(s);
  store_partials(s, c, parts);
  sm_end_writing(s);
}
