/* SPDX-License-Identifier: Apache-2.0
 *
 * Centered tasks: squares of what elements differ from their mean, without knowing it.
 *
 * A lane of a block takes differences from its own first element: what is subtracted for the mean in the
 * end is 15/16 of their squares at most, so that a few bits are lost and no more. Two parts of a and b
 * elements, whose means are d apart, have d * d * a * b / (a + b) more than their squares together (Chan,
 * Golub and LeVeque). A mean is one of the elements and how much it is above that one, which is a small
 * number, and so an exact one, where elements differ little. */
#include <math.h>

#include "launch/reduce_parts.h"

static int32_t constant_like(const sm_reduce_state *s, int32_t value, double x) {
  smelt_dtype dtype = sm_reduce_type_of(s, value).dtype;
  sm_word word = {.F64 = x};
  if (dtype == SMELT_F32) word = (sm_word){.F32 = (float)x};
  return constant(s, dtype, word, sm_reduce_type_of(s, value).width);
}

sm_part sm_reduce_begin_centered(const sm_reduce_state *s, int t, int width) {
  sm_part lanes = sm_part_of(sm_reduce_neutral_value(s, t, width), SM_KIR_NONE);
  lanes.first = lanes.above = constant(s, s->tasks[t].dtype, (sm_word){.bits = 0}, width);
  return lanes;
}

sm_part sm_reduce_add_centered(const sm_reduce_state *s, sm_part lanes, int32_t value, int32_t k, bool begins,
                               int width) {
  if (begins) {
    int32_t in_block = op_number(s, SM_KOP_AND, k, SM_TREE_BLOCK / SM_TREE_LANES - 1);
    int32_t is_first = splat(s, op_number(s, SM_KOP_EQ, in_block, 0), width);
    lanes.first = choose(s, is_first, value, lanes.first);
  }
  int32_t above = op2(s, SM_KOP_SUB, value, lanes.first);
  lanes.above = op2(s, SM_KOP_ADD, lanes.above, above);
  lanes.value = sm_kir_kop(s->k, SM_KOP_FMA, above, above, lanes.value, SMELT_DTYPE_NONE);
  return lanes;
}

/* Squares less what the mean takes off them. Where they are infinite, but no difference is, they stay so. */
static int32_t take_off_mean(const sm_reduce_state *s, int32_t squares, int32_t sum, int32_t mean) {
  int32_t off = op2(s, SM_KOP_MUL, sum, mean), zero_or_nan = op2(s, SM_KOP_SUB, sum, sum);
  int32_t is_infinite = op2(s, SM_KOP_EQ, squares, constant_like(s, squares, INFINITY));
  return op2(s, SM_KOP_SUB, squares, choose(s, is_infinite, zero_or_nan, off));
}

/* Of no elements nothing is divided by 1. */
static int32_t divide_by_count(const sm_reduce_state *s, int32_t a, int32_t count) {
  return op2(s, SM_KOP_DIV, a, op2(s, SM_KOP_MAX, count, constant_like(s, count, 1)));
}

sm_part sm_reduce_close_centered(const sm_reduce_state *s, int t, sm_part lanes, int32_t count) {
  sm_part p = lanes;
  p.count = convert(s, SM_KOP_CAST, count, s->tasks[t].dtype);
  int32_t share = divide_by_count(s, constant_like(s, p.count, 1), p.count);
  p.above = op2(s, SM_KOP_MUL, lanes.above, sm_reduce_widen(s, share, lanes.above));
  p.value = take_off_mean(s, lanes.value, lanes.above, p.above);
  return p;
}

/* An infinite element leaves a NaN, as if its mean were subtracted. */
sm_part sm_reduce_one_centered(const sm_reduce_state *s, int32_t value) {
  sm_part p = sm_part_of(op2(s, SM_KOP_SUB, value, value), SM_KIR_NONE);
  p.first = value;
  p.above = constant_like(s, value, 0);
  p.count = constant_like(s, value, 1);
  return p;
}

sm_part sm_reduce_combine_centered(const sm_reduce_state *s, sm_part a, sm_part b) {
  sm_part both = sm_no_part;
  both.count = op2(s, SM_KOP_ADD, a.count, b.count);
  int32_t share = sm_reduce_widen(s, divide_by_count(s, b.count, both.count), b.value);
  int32_t first = op2(s, SM_KOP_SUB, b.first, a.first), above = op2(s, SM_KOP_SUB, b.above, a.above);
  int32_t apart = op2(s, SM_KOP_ADD, first, above), step = op2(s, SM_KOP_MUL, apart, share);
  int32_t weighed = op2(s, SM_KOP_MUL, step, sm_reduce_widen(s, a.count, step));
  int32_t together = op2(s, SM_KOP_ADD, a.value, b.value);
  both.value = sm_kir_kop(s->k, SM_KOP_FMA, apart, weighed, together, SMELT_DTYPE_NONE);
  int32_t is_empty = sm_reduce_widen(s, op2(s, SM_KOP_EQ, a.count, constant_like(s, a.count, 0)), a.value);
  both.first = choose(s, is_empty, b.first, a.first);
  both.above = choose(s, is_empty, b.above, op2(s, SM_KOP_ADD, a.above, step));
  return both;
}
