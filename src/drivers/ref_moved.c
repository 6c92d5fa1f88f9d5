/* SPDX-License-Identifier: Apache-2.0 */
#include "drivers/ref_moved.h"

/* A record at work: the shapes and elements of its operands, the coordinates of one
 * element of the result, and where it comes from. */
typedef struct move {
  sm_shape_rule rule;
  const sm_attrs *attrs;
  const sm_value *operands[SM_MAX_OPERANDS];
  const char *elements[SM_MAX_OPERANDS];
  const sm_shape *shape;      /* of the result */
  int64_t to[SMELT_MAX_RANK]; /* in the result */
  int source;                 /* the operand that has the element */
  int64_t from[SMELT_MAX_RANK];
} move;

static const sm_shape *shape_of(const move *m, int operand) { return &m->operands[operand]->shape; }

static int64_t position(const sm_shape *shape, const int64_t *coordinates) {
  int64_t p = 0;
  for (int axis = 0; axis < shape->rank; axis++) p = p * shape->dims[axis] + coordinates[axis];
  return p;
}

static void coordinates(const sm_shape *shape, int64_t p, int64_t *out) {
  for (int axis = shape->rank; axis-- > 0; p /= shape->dims[axis]) out[axis] = p % shape->dims[axis];
}

/* --- Views ------------------------------------------------------------------------------ */

static void reshape(move *m) { coordinates(shape_of(m, 0), position(m->shape, m->to), m->from); }

static void permute(move *m) {
  for (int axis = 0; axis < m->shape->rank; axis++) m->from[m->attrs->axes[axis]] = m->to[axis];
}

static void swap(move *m) {
  memcpy(m->from, m->to, sizeof m->from);
  m->from[m->attrs->axes[0]] = m->to[m->attrs->axes[1]];
  m->from[m->attrs->axes[1]] = m->to[m->attrs->axes[0]];
}

static void flip(move *m) {
  memcpy(m->from, m->to, sizeof m->from);
  for (int i = 0; i < m->attrs->n; i++) {
    int axis = m->attrs->axes[i];
    m->from[axis] = m->shape->dims[axis] - 1 - m->to[axis];
  }
}

static void slice(move *m) {
  for (int axis = 0; axis < m->shape->rank; axis++) {
    m->from[axis] = m->attrs->ranges[axis].start + m->to[axis] * m->attrs->ranges[axis].step;
  }
}

static void broadcast(move *m) {
  const sm_shape *in = shape_of(m, 0);
  int added = m->shape->rank - in->rank;
  for (int axis = 0; axis < in->rank; axis++) m->from[axis] = in->dims[axis] == 1 ? 0 : m->to[axis + added];
}

/* --- Selections --------------------------------------------------------------------------- */

/* The index at these coordinates of operand 1 as a place of an axis: negative ones
 * count from the end, what is beyond the axis is cut to it. */
static int64_t index_at(const move *m, const int64_t *at, int64_t extent) {
  smelt_dtype dtype = m->operands[1]->dtype;
  size_t p = (size_t)position(shape_of(m, 1), at);
  sm_scalar s = sm_scalar_of(dtype, m->elements[1] + p * smelt_dtype_size(dtype));
  if (s.kind == SM_KIND_UINT) return s.as.u64 < (uint64_t)extent ? (int64_t)s.as.u64 : extent - 1;
  int64_t place = s.as.i64 < 0 ? s.as.i64 + extent : s.as.i64;
  return place < 0 ? 0 : place < extent ? place : extent - 1;
}

static void take(move *m) {
  int at = m->attrs->axes[0], n = shape_of(m, 1)->rank;
  const sm_shape *in = shape_of(m, 0);
  for (int axis = 0; axis < at; axis++) m->from[axis] = m->to[axis];
  m->from[at] = index_at(m, m->to + at, in->dims[at]);
  for (int axis = at + 1; axis < in->rank; axis++) m->from[axis] = m->to[axis + n - 1];
}

static void take_along(move *m) {
  int at = m->attrs->axes[0];
  const sm_shape *in = shape_of(m, 0), *indices = shape_of(m, 1);
  int64_t of_index[SMELT_MAX_RANK];
  for (int axis = 0; axis < in->rank; axis++) {
    of_index[axis] = indices->dims[axis] == 1 ? 0 : m->to[axis];
    m->from[axis] = in->dims[axis] == 1 ? 0 : m->to[axis];
  }
  m->from[at] = index_at(m, of_index, in->dims[at]);
}

static void concat(move *m) {
  int axis = m->attrs->axes[0];
  memcpy(m->from, m->to, sizeof m->from);
  for (m->source = 0; m->from[axis] >= shape_of(m, m->source)->dims[axis]; m->source++) {
    m->from[axis] -= shape_of(m, m->source)->dims[axis];
  }
}

/* --- The record ------------------------------------------------------------------------------ */

static void find_source(move *m) {
  static void (*const rules[])(move * m) = {
      [SM_SHAPE_RESHAPE] = reshape, [SM_SHAPE_SQUEEZE] = reshape,
      [SM_SHAPE_EXPAND] = reshape,  [SM_SHAPE_PERMUTE] = permute,
      [SM_SHAPE_SWAP] = swap,       [SM_SHAPE_FLIP] = flip,
      [SM_SHAPE_SLICE] = slice,     [SM_SHAPE_BROADCAST_TO] = broadcast,
      [SM_SHAPE_TAKE] = take,       [SM_SHAPE_TAKE_ALONG] = take_along,
      [SM_SHAPE_CONCAT] = concat,
  };
  m->source = 0;
  rules[m->rule](m);
}

void sm_ref_move(const sm_segment *segment, const sm_op *op, sm_buffer *const *buffers) {
  const sm_value *out = &segment->values.items[op->out];
  move m = {.rule = op->row->shape, .attrs = op->attrs, .shape = &out->shape};
  for (int k = 0; k < op->n_operands; k++) {
    uint32_t v = op->operands[k].use.value;
    m.operands[k] = &segment->values.items[v];
    m.elements[k] = buffers[v]->data;
  }
  size_t size = smelt_dtype_size(out->dtype);
  int64_t count = sm_shape_count(&out->shape);
  for (int64_t i = 0; i < count; i++) {
    coordinates(m.shape, i, m.to);
    find_source(&m);
    size_t p = (size_t)position(shape_of(&m, m.source), m.from);
    memcpy((char *)buffers[op->out]->data + (size_t)i * size, m.elements[m.source] + p * size, size);
  }
}
