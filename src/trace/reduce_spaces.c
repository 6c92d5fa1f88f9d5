/* SPDX-License-Identifier: Apache-2.0 */
#include "trace/reduce_spaces.h"

bool sm_reduces_axis(const sm_op *reduction, int axis) {
  for (int i = 0; i < reduction->attrs->n; i++) {
    if (reduction->attrs->axes[i] == axis) return true;
  }
  return false;
}

static const sm_op *record_at(const sm_reduce_records *r, int i) { return &r->segment->ops.items[r->ops[i]]; }

sm_reduce_records sm_reduce_records_of(const sm_segment *segment, const uint32_t *ops, int n) {
  sm_reduce_records r = {.segment = segment, .ops = ops, .n = n};
  for (int i = 0; i < n && !r.first; i++) {
    if (sm_is_reduction(record_at(&r, i))) r.first = record_at(&r, i);
  }
  if (r.first) r.elements = &segment->values.items[r.first->operands[0].use.value].shape;
  return r;
}

int sm_reduce_position(const sm_reduce_records *r, uint32_t v) {
  int32_t producer = r->segment->values.items[v].producer;
  int low = 0, high = producer == SM_NO_OP ? 0 : r->n;
  while (low < high) {
    int middle = (low + high) / 2;
    if (r->ops[middle] < (uint32_t)producer) low = middle + 1;
    else high = middle;
  }
  return producer != SM_NO_OP && low < r->n && r->ops[low] == (uint32_t)producer ? low : -1;
}

bool sm_reduce_has_results_shape(const sm_reduce_records *r, const sm_shape *shape) {
  bool kept = shape->rank == r->elements->rank;
  int at = 0;
  for (int axis = 0; axis < r->elements->rank; axis++) {
    bool reduced = sm_reduces_axis(r->first, axis);
    if (reduced && !kept) continue;
    if (at == shape->rank || shape->dims[at++] != (reduced ? 1 : r->elements->dims[axis])) return false;
  }
  return at == shape->rank;
}

sm_reduce_space sm_reduce_space_of(const sm_reduce_records *r, int i, const sm_reduce_space *spaces) {
  const sm_op *op = record_at(r, i);
  bool behind = sm_is_reduction(op), elements = false;
  for (int k = 0; k < op->n_operands && !sm_is_reduction(op); k++) {
    int from = op->operands[k].is_scalar ? -1 : sm_reduce_position(r, op->operands[k].use.value);
    elements = elements || (from >= 0 && spaces[from] == SM_SPACE_ELEMENTS);
    behind = behind || (from >= 0 && spaces[from] == SM_SPACE_RESULTS);
  }
  const sm_shape *shape = &r->segment->values.items[op->out].shape;
  bool narrow = behind && sm_reduce_has_results_shape(r, shape);
  if (elements || (!narrow && sm_shape_equal(shape, r->elements))) return SM_SPACE_ELEMENTS;
  return behind ? SM_SPACE_RESULTS : SM_SPACE_ASIDE;
}

int sm_reduce_element_axis(const sm_reduce_records *r, int rank, int axis) {
  int at = 0;
  if (rank == r->elements->rank) return axis;
  for (int left = axis; at < r->elements->rank; at++) {
    if (!sm_reduces_axis(r->first, at) && left-- == 0) break;
  }
  return at;
}
