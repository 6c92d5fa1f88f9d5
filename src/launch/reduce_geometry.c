/* SPDX-License-Identifier: Apache-2.0 */
#include "launch/reduce_geometry.h"

#include <string.h>

#include "trace/reduce_spaces.h"
#include "trace/trace.h"

/* The first and the last reduced axis that is longer than 1; first > last if none is. */
static void find_range(const sm_op *reduction, const sm_shape *elements, int *first, int *last) {
  *first = elements->rank;
  *last = -1;
  for (int axis = 0; axis < elements->rank; axis++) {
    if (!sm_reduces_axis(reduction, axis) || elements->dims[axis] == 1) continue;
    if (*first == elements->rank) *first = axis;
    *last = axis;
  }
}

bool sm_reduce_neighbours(const sm_op *reduction, const sm_shape *elements) {
  int first, last;
  find_range(reduction, elements, &first, &last);
  for (int axis = first; axis <= last; axis++) {
    if (!sm_reduces_axis(reduction, axis) && elements->dims[axis] != 1) return false;
  }
  return true;
}

/* Of the axis in a list whose reduced ones are neighbours, or not. */
static int group_of(const sm_op *reduction, const sm_reduce_geometry *g, int axis, int first, int last) {
  if (!g->neighbours) return sm_reduces_axis(reduction, axis) ? SM_REDUCED : SM_OUTER;
  return axis < first ? SM_OUTER : axis <= last ? SM_REDUCED : SM_INNER;
}

static int64_t extent_of(const sm_reduce_geometry *g, int group) {
  int64_t extent = 1;
  for (int i = g->begin[group]; i < g->begin[group + 1]; i++) extent *= g->elements.dims[g->order[i]];
  return extent;
}

sm_reduce_geometry sm_reduce_geometry_of(const sm_op *reduction, const sm_shape *elements) {
  sm_reduce_geometry g = {.elements = *elements, .neighbours = sm_reduce_neighbours(reduction, elements)};
  int first, last, n = 0;
  find_range(reduction, elements, &first, &last);
  for (int axis = 0; axis < elements->rank; axis++) g.reduced[axis] = sm_reduces_axis(reduction, axis);
  for (int group = 0; group < SM_REDUCE_AXES; group++) {
    g.begin[group] = n;
    for (int axis = 0; axis < elements->rank; axis++) {
      if (group_of(reduction, &g, axis, first, last) == group) g.order[n++] = axis;
    }
  }
  g.begin[SM_REDUCE_AXES] = n;
  g.extents = (sm_reduce_extents){.outer = extent_of(&g, SM_OUTER),
                                  .reduced = extent_of(&g, SM_REDUCED),
                                  .inner = extent_of(&g, SM_INNER)};
  return g;
}

void sm_reduce_turn_rows(sm_reduce_geometry *g) {
  int order[SMELT_MAX_RANK], rank = g->elements.rank, outer = g->begin[SM_REDUCED];
  for (int i = 0; i < rank; i++) order[i] = g->order[(outer + i) % rank];
  memcpy(g->order, order, sizeof order);
  g->begin[SM_REDUCED] = 0;
  g->begin[SM_INNER] = rank - outer;
  g->extents = sm_reduce_turned(&g->extents);
}

/* An operand's layout as one of the elements, which stands still along axes it does not
 * follow. */
static void spread(const sm_reduce_geometry *g, const int8_t *map, const sm_layout *own, sm_layout *out) {
  *out = (sm_layout){.shape = g->elements, .offset = own->offset};
  for (int axis = 0; axis < own->shape.rank; axis++) {
    if (own->shape.dims[axis] != 1 && map[axis] != SM_NO_AXIS) out->strides[map[axis]] = own->strides[axis];
  }
}

/* One stride for neighbouring axes from `begin` to `end`, if one will do. */
static bool single_stride(const sm_layout *l, int begin, int end, int64_t *stride) {
  int64_t expected = 0;
  bool any = false;
  *stride = 0;
  for (int axis = end - 1; axis >= begin; axis--) {
    if (l->shape.dims[axis] == 1) continue;
    if (!any) *stride = l->strides[axis];
    else if (l->strides[axis] != expected) return false;
    any = true;
    expected = l->strides[axis] * l->shape.dims[axis];
  }
  return true;
}

/* Neighbouring axes of the outer group that have one stride together are one part. */
static void split_outer(const sm_layout *l, int begin, int end, sm_reduce_split *split) {
  split->n = 0;
  for (int axis = begin; axis < end; axis++) {
    int last = split->n - 1;
    if (l->shape.dims[axis] == 1) continue;
    bool merges = last >= 0 && split->strides[last] == l->strides[axis] * l->shape.dims[axis];
    if (!merges) split->extents[last = split->n++] = 1;
    split->extents[last] *= l->shape.dims[axis];
    split->strides[last] = l->strides[axis];
  }
}

bool sm_reduce_strides(const sm_reduce_geometry *g, const int8_t *map, const sm_layout *own, sm_layout *wide,
                       int64_t strides[SM_REDUCE_AXES], sm_reduce_split *split) {
  sm_layout spread_out;
  spread(g, map, own, &spread_out);
  sm_layout_permute(&spread_out, g->order, wide);
  bool single[SM_REDUCE_AXES];
  for (int group = 0; group < SM_REDUCE_AXES; group++)
    single[group] = single_stride(wide, g->begin[group], g->begin[group + 1], &strides[group]);
  split->n = 0;
  if (!single[SM_OUTER]) split_outer(wide, g->begin[SM_OUTER], g->begin[SM_REDUCED], split);
  if (!single[SM_OUTER]) strides[SM_OUTER] = 0;
  return single[SM_REDUCED] && single[SM_INNER];
}

/* Whether it stands still along all axes of a group. */
static bool stands(const sm_reduce_geometry *g, const sm_layout *wide, int group) {
  for (int i = g->begin[group]; i < g->begin[group + 1]; i++) {
    if (wide->shape.dims[i] != 1 && wide->strides[i] != 0) return false;
  }
  return true;
}

void sm_reduce_gathered(const sm_reduce_geometry *g, sm_layout *wide, int64_t strides[SM_REDUCE_AXES]) {
  bool still = stands(g, wide, SM_REDUCED);
  for (int i = g->begin[SM_REDUCED]; still && i < g->begin[SM_REDUCED + 1]; i++) wide->shape.dims[i] = 1;
  strides[SM_INNER] = 1;
  strides[SM_REDUCED] = still ? 0 : g->extents.inner;
  strides[SM_OUTER] = still ? g->extents.inner : g->extents.inner * g->extents.reduced;
}
