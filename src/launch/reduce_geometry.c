/* SPDX-License-Identifier: Apache-2.0 */
#include "launch/reduce_geometry.h"

#include <string.h>

static bool is_reduced(const sm_op *reduction, int axis) {
  for (int i = 0; i < reduction->attrs->n; i++) {
    if (reduction->attrs->axes[i] == axis) return true;
  }
  return false;
}

/* The first and the last reduced axis that is longer than 1; first > last if none is. */
static void find_range(const sm_op *reduction, const sm_shape *elements, int *first, int *last) {
  *first = elements->rank;
  *last = -1;
  for (int axis = 0; axis < elements->rank; axis++) {
    if (!is_reduced(reduction, axis) || elements->dims[axis] == 1) continue;
    if (*first == elements->rank) *first = axis;
    *last = axis;
  }
}

bool sm_reduce_neighbours(const sm_op *reduction, const sm_shape *elements) {
  int first, last;
  find_range(reduction, elements, &first, &last);
  for (int axis = first; axis <= last; axis++) {
    if (!is_reduced(reduction, axis) && elements->dims[axis] != 1) return false;
  }
  return true;
}

/* Of the axis in a list whose reduced ones are neighbours, or not. */
static int group_of(const sm_op *reduction, const sm_reduce_geometry *g, int axis, int first, int last) {
  if (!g->neighbours) return is_reduced(reduction, axis) ? SM_REDUCED : SM_OUTER;
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
  for (int axis = 0; axis < elements->rank; axis++) g.reduced[axis] = is_reduced(reduction, axis);
  for (int group = 0; group < SM_REDUCE_AXES; group++) {
    g.begin[group] = n;
    for (int axis = 0; axis < elements->rank; axis++) {
      if (group_of(reduction, &g, axis, first, last) == group) g.order[n++] = axis;
    }
  }
  g.begin[SM_REDUCE_AXES] = n;
  g.extents =
      (sm_reduce_extents){extent_of(&g, SM_OUTER), extent_of(&g, SM_REDUCED), extent_of(&g, SM_INNER)};
  return g;
}

/* A layout of results as one of the elements that stands still along reduced axes. */
static void spread(const sm_reduce_geometry *g, const sm_layout *results, sm_layout *out) {
  sm_layout wide = {.shape = g->elements, .offset = results->offset};
  bool keeps = results->shape.rank == g->elements.rank;
  for (int axis = 0, kept = 0; axis < g->elements.rank; axis++) {
    if (!g->reduced[axis]) wide.strides[axis] = results->strides[keeps ? axis : kept];
    kept += !g->reduced[axis];
  }
  *out = wide;
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

bool sm_reduce_strides(const sm_reduce_geometry *g, const sm_shape *results, sm_layout *layout,
                       int64_t strides[SM_REDUCE_AXES]) {
  sm_layout_broadcast(layout, results ? results : &g->elements, layout);
  if (results) spread(g, layout, layout);
  sm_layout_permute(layout, g->order, layout);
  bool single = true;
  for (int group = 0; group < SM_REDUCE_AXES; group++)
    single = single_stride(layout, g->begin[group], g->begin[group + 1], &strides[group]) && single;
  return single;
}

void sm_reduce_gathered(const sm_reduce_geometry *g, bool of_results, int64_t strides[SM_REDUCE_AXES]) {
  strides[SM_INNER] = 1;
  strides[SM_REDUCED] = of_results ? 0 : g->extents.inner;
  strides[SM_OUTER] = of_results ? g->extents.inner : g->extents.inner * g->extents.reduced;
}
