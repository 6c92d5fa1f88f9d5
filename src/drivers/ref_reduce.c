/* SPDX-License-Identifier: Apache-2.0 */
#include "drivers/ref_reduce.h"

#include <string.h>

#include "core/kops.h"

/* More than the binary digits of any number of blocks. */
enum { LEVELS = 64 };

/* One partial result for each lane, as elements of the working dtype. */
typedef sm_word lanes[SM_TREE_LANES];

/* A record at work on one element of its result. */
typedef struct reduce {
  sm_reduction reduction;
  smelt_dtype dtype, working; /* of the operand, and what is computed in */
  const sm_shape *shape;      /* of the operand */
  const char *elements;
  bool reduced[SMELT_MAX_RANK];
  int64_t count;               /* of the elements that become one */
  int64_t at[SMELT_MAX_RANK];  /* coordinates in the operand */
  sm_kop_loop *combine, *load; /* load: from dtype to the working dtype */
  sm_word neutral;
} reduce;

/* --- Elements ------------------------------------------------------------------------ */

/* Sets the coordinates of the axes that are reduced, or of the others, to those of a
 * row-major index over them. */
static void place(reduce *r, bool of_reduced, int64_t index) {
  for (int axis = r->shape->rank; axis-- > 0;) {
    if (r->reduced[axis] != of_reduced) continue;
    r->at[axis] = index % r->shape->dims[axis];
    index /= r->shape->dims[axis];
  }
}

/* Element `index` of those that become one, in the working dtype. */
static void load(reduce *r, int64_t index, void *to) {
  int64_t position = 0;
  place(r, true, index);
  for (int axis = 0; axis < r->shape->rank; axis++) position = position * r->shape->dims[axis] + r->at[axis];
  const char *from = r->elements + (size_t)position * smelt_dtype_size(r->dtype);
  if (r->load) r->load(1, to, (const void *const[]){from}, 0);
  else memcpy(to, from, smelt_dtype_size(r->dtype));
}

/* to = a combined with b, for n elements. */
static void combine(const reduce *r, size_t n, void *to, const void *a, const void *b) {
  r->combine(n, to, (const void *const[]){a, b}, 0);
}

/* --- The canonical tree ------------------------------------------------------------------ */

static void reduce_block(reduce *r, int64_t begin, sm_word *out) {
  size_t size = smelt_dtype_size(r->working);
  lanes sums, row;
  for (int lane = 0; lane < SM_TREE_LANES; lane++)
    memcpy((char *)sums + (size_t)lane * size, &r->neutral, size);
  for (int64_t first = begin; first < begin + SM_TREE_BLOCK; first += SM_TREE_LANES) {
    for (int lane = 0; lane < SM_TREE_LANES; lane++) {
      void *to = (char *)row + (size_t)lane * size;
      if (first + lane < r->count) load(r, first + lane, to);
      else memcpy(to, &r->neutral, size);
    }
    combine(r, SM_TREE_LANES, sums, sums, row);
  }
  for (size_t half = SM_TREE_LANES / 2; half > 0; half /= 2)
    combine(r, half, sums, sums, (char *)sums + half * size);
  *out = sums[0];
}

static sm_word reduce_tree(reduce *r) {
  sm_word stack[LEVELS];
  int level[LEVELS], depth = 0;
  for (int64_t begin = 0; begin < r->count; begin += SM_TREE_BLOCK) {
    reduce_block(r, begin, &stack[depth]);
    level[depth++] = 0;
    for (; depth > 1 && level[depth - 1] == level[depth - 2]; depth--) {
      combine(r, 1, &stack[depth - 2], &stack[depth - 2], &stack[depth - 1]);
      level[depth - 2]++;
    }
  }
  for (; depth > 1; depth--) combine(r, 1, &stack[depth - 2], &stack[depth - 2], &stack[depth - 1]);
  return stack[0];
}

/* --- An element of the result -------------------------------------------------------------- */

/* A sum of nothing is +0, which the neutral element of floats is not. */
static sm_word empty_value(const reduce *r) {
  bool is_sum = sm_reduction_kop(r->reduction) == SM_KOP_ADD;
  return is_sum ? (sm_word){.bits = 0} : r->neutral;
}

static void divide_by_count(const reduce *r, sm_word *value) {
  sm_word count;
  sm_kop_eval(SM_KOP_CAST, SMELT_I64, r->working)(1, &count, (const void *const[]){&r->count}, 0);
  sm_kop_eval(SM_KOP_DIV, r->working, r->working)(1, value, (const void *const[]){value, &count}, 0);
}

static void reduce_value(reduce *r, void *to) {
  sm_word value = r->count ? reduce_tree(r) : empty_value(r);
  if (r->reduction == SM_REDUCTION_MEAN) divide_by_count(r, &value);
  if (r->load) sm_kop_eval(SM_KOP_CAST, r->working, r->dtype)(1, to, (const void *const[]){&value}, 0);
  else memcpy(to, &value, smelt_dtype_size(r->dtype));
}

static bool test(const reduce *r, sm_kop kop, const sm_word *a, const sm_word *b) {
  bool result;
  sm_kop_eval(kop, r->working, SMELT_BOOL)(1, &result, (const void *const[]){a, b}, 0);
  return result;
}

static bool is_nan(const reduce *r, const sm_word *a) {
  return sm_kind_of(r->working) == SM_KIND_FLOAT && test(r, SM_KOP_NE, a, a);
}

/* Whether `a`, which comes later, is better than the best so far. */
static bool is_better(const reduce *r, const sm_word *a, const sm_word *best) {
  if (is_nan(r, best)) return false;
  bool largest = r->reduction == SM_REDUCTION_ARGMAX;
  return is_nan(r, a) || (largest ? test(r, SM_KOP_LT, best, a) : test(r, SM_KOP_LT, a, best));
}

static void reduce_index(reduce *r, void *to) {
  int64_t found = 0;
  sm_word best, a;
  load(r, 0, &best);
  for (int64_t i = 1; i < r->count; i++) {
    load(r, i, &a);
    if (!is_better(r, &a, &best)) continue;
    best = a;
    found = i;
  }
  memcpy(to, &found, sizeof found);
}

/* --- The record ------------------------------------------------------------------------------ */

static void begin_reduce(reduce *r, const sm_op *op) {
  r->working = sm_dtype_working(r->dtype);
  r->combine = sm_kop_eval(sm_reduction_kop(r->reduction), r->working, r->working);
  r->load = r->working != r->dtype ? sm_kop_eval(SM_KOP_CAST, r->dtype, r->working) : NULL;
  r->neutral = sm_reduction_neutral(r->reduction, r->working);
  r->count = 1;
  for (int i = 0; i < op->attrs->n; i++) {
    r->reduced[op->attrs->axes[i]] = true;
    r->count *= r->shape->dims[op->attrs->axes[i]];
  }
}

void sm_ref_reduce(const sm_segment *segment, const sm_op *op, sm_buffer *const *buffers) {
  uint32_t v = op->operands[0].use.value;
  const sm_value *in = &segment->values.items[v], *out = &segment->values.items[op->out];
  reduce r = {
      .reduction = op->row->reduction, .dtype = in->dtype, .shape = &in->shape, .elements = buffers[v]->data};
  begin_reduce(&r, op);
  size_t size = smelt_dtype_size(out->dtype);
  int64_t count = sm_shape_count(&out->shape);
  for (int64_t i = 0; i < count; i++) {
    char *to = (char *)buffers[op->out]->data + (size_t)i * size;
    place(&r, false, i);
    if (sm_reduction_gives_index(r.reduction)) reduce_index(&r, to);
    else reduce_value(&r, to);
  }
}
