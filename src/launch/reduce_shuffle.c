/* SPDX-License-Identifier: Apache-2.0
 *
 * Parts of a row in neighbouring threads, combined without memory. A thread's number among those of a
 * result has the digits of its first lane, but for those within its vector, and above them those of
 * its block. The tree combines lanes from the first digit to the last, then blocks from the last
 * digit to the first: half of a block's threads, a quarter, ..., the halves of each vector, then
 * neighbouring blocks, pairs of them, .... All threads make the same part. */
#include "launch/reduce_parts.h"

/* Which of two zeros is the larger depends on which comes first. The first of the threads is right
 * without that, and nobody uses what others make if there are more than those that shuffle. */
static bool depends_on_order(const sm_reduce_state *s, int t) {
  sm_kop kop = sm_reduction_kop(s->tasks[t].reduction);
  bool of_floats = sm_kind_of(s->tasks[t].dtype) == SM_KIND_FLOAT;
  bool used = s->form->threads / s->form->abreast == s->form->shuffle;
  return used && !gives_index(s, t) && of_floats && (kop == SM_KOP_MAX || kop == SM_KOP_MIN);
}

/* The thread's part with that of the one whose number differs in `digit`. */
static sm_part combine_across(const sm_reduce_state *s, int t, sm_part own, int digit, int width) {
  sm_part other = sm_part_of(sm_kir_shuffle(s->k, own.value, digit), SM_KIR_NONE);
  if (gives_index(s, t)) other.index = sm_kir_shuffle(s->k, own.index, digit);
  if (!depends_on_order(s, t)) return sm_reduce_combine(s, t, own, other);
  int32_t has_digit = op_number(s, SM_KOP_NE, op_number(s, SM_KOP_AND, sm_kir_member(s->k), digit), 0);
  int32_t is_second = splat(s, has_digit, width);
  sm_part first = sm_part_of(choose(s, is_second, other.value, own.value), SM_KIR_NONE);
  sm_part second = sm_part_of(choose(s, is_second, own.value, other.value), SM_KIR_NONE);
  return sm_reduce_combine(s, t, first, second);
}

sm_part sm_reduce_shuffle(const sm_reduce_state *s, int t, sm_part lanes) {
  int vector = s->form->vector, threads = SM_TREE_LANES / vector;
  for (int digit = threads / 2; digit > 0; digit /= 2) lanes = combine_across(s, t, lanes, digit, vector);
  for (int width = vector; width > 1; width /= 2) lanes = sm_reduce_combine_halves(s, t, lanes);
  for (int digit = threads; digit < s->form->shuffle; digit *= 2)
    lanes = combine_across(s, t, lanes, digit, 1);
  return lanes;
}
