/* SPDX-License-Identifier: Apache-2.0 */
#include "core/layout.h"

#include <string.h>

/* --- Whole layouts ------------------------------------------------------------------ */

/* Makes a layout canonical. */
static void settle(sm_layout *l) {
  bool empty = sm_shape_count(&l->shape) == 0;
  if (empty) l->offset = 0;
  for (int axis = 0; axis < l->shape.rank; axis++) {
    if (empty || l->shape.dims[axis] == 1) l->strides[axis] = 0;
  }
}

/* Row-major strides with `stride` between neighbours on the last of axes
 * begin <= axis < end; answers the stride of an axis before them. */
static int64_t fill_strides(sm_layout *l, int begin, int end, int64_t stride) {
  for (int axis = end; axis-- > begin; stride *= l->shape.dims[axis]) l->strides[axis] = stride;
  return stride;
}

void sm_layout_dense(const sm_shape *shape, sm_layout *out) {
  out->shape = *shape;
  out->offset = 0;
  (void)fill_strides(out, 0, shape->rank, 1);
  settle(out);
}

bool sm_layout_is_dense(const sm_layout *l) {
  int64_t dense = 1;
  if (sm_shape_count(&l->shape) == 0) return true;
  for (int axis = l->shape.rank; axis-- > 0; dense *= l->shape.dims[axis]) {
    if (l->shape.dims[axis] != 1 && l->strides[axis] != dense) return false;
  }
  return true;
}

bool sm_layout_equal(const sm_layout *a, const sm_layout *b) {
  return sm_shape_equal(&a->shape, &b->shape) && a->offset == b->offset &&
         memcmp(a->strides, b->strides, (size_t)a->shape.rank * sizeof a->strides[0]) == 0;
}

void sm_layout_bounds(const sm_layout *l, int64_t *begin, int64_t *end) {
  *begin = *end = 0;
  if (sm_shape_count(&l->shape) == 0) return;
  *begin = l->offset;
  *end = l->offset + 1;
  for (int axis = 0; axis < l->shape.rank; axis++) {
    int64_t reach = (l->shape.dims[axis] - 1) * l->strides[axis];
    *(reach < 0 ? begin : end) += reach;
  }
}

/* --- Views --------------------------------------------------------------------------- */

void sm_layout_permute(const sm_layout *in, const int *axes, sm_layout *out) {
  sm_layout l = *in;
  for (int axis = 0; axis < in->shape.rank; axis++) {
    l.shape.dims[axis] = in->shape.dims[axes[axis]];
    l.strides[axis] = in->strides[axes[axis]];
  }
  *out = l;
}

void sm_layout_flip(const sm_layout *in, const int *axes, int n, sm_layout *out) {
  *out = *in;
  for (int i = 0; i < n; i++) {
    out->offset += (out->shape.dims[axes[i]] - 1) * out->strides[axes[i]];
    out->strides[axes[i]] = -out->strides[axes[i]];
  }
  settle(out);
}

void sm_layout_slice(const sm_layout *in, const smelt_range *ranges, const sm_shape *shape, sm_layout *out) {
  *out = *in;
  out->shape = *shape;
  for (int axis = 0; axis < shape->rank; axis++) {
    out->offset += ranges[axis].start * out->strides[axis];
    out->strides[axis] *= ranges[axis].step;
  }
  settle(out);
}

void sm_layout_broadcast(const sm_layout *in, const sm_shape *shape, sm_layout *out) {
  sm_layout l = {.shape = *shape, .offset = in->offset};
  int added = shape->rank - in->shape.rank;
  for (int axis = added; axis < shape->rank; axis++) l.strides[axis] = in->strides[axis - added];
  settle(&l);
  *out = l;
}

/* The layout without its axes of extent 1, which play no part in what can be
 * reshaped. */
static void leave_out_ones(const sm_layout *in, sm_layout *out) {
  *out = (sm_layout){.offset = in->offset};
  for (int axis = 0; axis < in->shape.rank; axis++) {
    if (in->shape.dims[axis] == 1) continue;
    out->strides[out->shape.rank] = in->strides[axis];
    out->shape.dims[out->shape.rank++] = in->shape.dims[axis];
  }
}

/* Whether these axes are walked as through one. */
static bool are_one(const sm_layout *l, int begin, int end) {
  for (int axis = begin; axis + 1 < end; axis++) {
    if (l->strides[axis] != l->strides[axis + 1] * l->shape.dims[axis + 1]) return false;
  }
  return true;
}

/* Axes of both shapes from the left, in groups with equal numbers of elements, as
 * small as can be: the old ones of a group have to be one, the new ones divide it. */
static bool divide_groups(const sm_layout *old, sm_layout *l) {
  for (int i = 0, k = 0, begin, end; i < old->shape.rank; i = end) {
    int64_t have = old->shape.dims[i], want = 1;
    end = i + 1;
    for (begin = k; want != have;) {
      if (want < have) want *= l->shape.dims[k++];
      else have *= old->shape.dims[end++];
    }
    if (!are_one(old, i, end)) return false;
    (void)fill_strides(l, begin, k, old->strides[end - 1]);
  }
  return true;
}

bool sm_layout_reshape(const sm_layout *in, const sm_shape *shape, sm_layout *out) {
  sm_layout old, l = {.shape = *shape, .offset = in->offset};
  leave_out_ones(in, &old);
  if (sm_shape_count(shape) > 0 && !divide_groups(&old, &l)) return false;
  settle(&l);
  *out = l;
  return true;
}

/* --- Copying --------------------------------------------------------------------------- */

/* The same elements in the same order with as few axes as can be, but at least one. */
static void merge_axes(const sm_layout *in, sm_layout *out) {
  sm_layout l;
  leave_out_ones(in, &l);
  *out = (sm_layout){.shape = {.rank = 1, .dims = {1}}, .offset = in->offset, .strides = {1}};
  for (int axis = 0, last = -1; axis < l.shape.rank; axis++) {
    bool merges = last >= 0 && out->strides[last] == l.strides[axis] * l.shape.dims[axis];
    if (!merges) out->shape.dims[++last] = 1;
    out->shape.dims[last] *= l.shape.dims[axis];
    out->strides[last] = l.strides[axis];
    out->shape.rank = last + 1;
  }
}

/* n elements, `stride` apart, which become neighbours. */
static void gather_row(size_t size, const char *from, int64_t stride, int64_t n, char *to) {
  if (stride == 1) {
    memcpy(to, from, (size_t)n * size);
    return;
  }
  switch (size) {
#define ELEMENTS(bytes)                                                                           \
  case bytes:                                                                                     \
    for (int64_t i = 0; i < n; i++) memcpy(to + i * (bytes), from + i * stride * (bytes), bytes); \
    break;
    ELEMENTS(1)
    ELEMENTS(2)
    ELEMENTS(4)
    ELEMENTS(8)
#undef ELEMENTS
  }
}

/* The last axis, whose elements become neighbours in rows, and another, along which rows follow. */
typedef struct plane {
  size_t size; /* of an element */
  int64_t rows, columns;
  int64_t from_row, from_column, to_row; /* strides */
} plane;

static int64_t at_most(int64_t n, int64_t most) { return n < most ? n : most; }

/* Where columns lie apart, tile by tile, so that a line of memory that has elements of several
 * rows is still in the cache for the next of them. */
static void gather_plane(const plane *p, const char *from, char *to) {
  enum { TILE = 16 };
  int64_t size = (int64_t)p->size, width = p->from_column == 1 ? p->columns : TILE;
  for (int64_t first = 0; first < p->rows; first += TILE) {
    int64_t end = at_most(first + TILE, p->rows);
    for (int64_t column = 0; column < p->columns; column += width) {
      int64_t n = at_most(width, p->columns - column);
      for (int64_t row = first; row < end; row++)
        gather_row(p->size, from + (row * p->from_row + column * p->from_column) * size, p->from_column, n,
                   to + (row * p->to_row + column) * size);
    }
  }
}

static int64_t magnitude(int64_t stride) { return stride < 0 ? -stride : stride; }

/* Makes the rows of planes the axis before the last one: the axis along which elements lie closest, or
 * one of extent 1. */
static void find_planes(const sm_layout *in, sm_layout *from, sm_layout *to) {
  int order[SMELT_MAX_RANK], last = in->shape.rank - 1, rows = 0;
  for (int axis = 1; axis < last; axis++) {
    if (magnitude(in->strides[axis]) <= magnitude(in->strides[rows])) rows = axis;
  }
  for (int axis = 0; axis <= last; axis++) order[axis] = axis < rows || axis == last ? axis : axis + 1;
  if (last > 0) order[last - 1] = rows;
  sm_layout_dense(&in->shape, to);
  sm_layout_permute(to, order, to);
  sm_layout_permute(in, order, from);
}

/* To the next plane: a carry goes to the axis before. False after the last one. */
static bool next_plane(const sm_layout *from, const sm_layout *to, int64_t *at, int64_t *source,
                       int64_t *target) {
  for (int axis = from->shape.rank - 2; axis-- > 0;) {
    *source += from->strides[axis];
    *target += to->strides[axis];
    if (++at[axis] < from->shape.dims[axis]) return true;
    *source -= at[axis] * from->strides[axis];
    *target -= at[axis] * to->strides[axis];
    at[axis] = 0;
  }
  return false;
}

void sm_layout_gather(const sm_layout *l, size_t size, const void *from, void *to) {
  if (sm_shape_count(&l->shape) == 0) return;
  sm_layout merged, source, target;
  merge_axes(l, &merged);
  find_planes(&merged, &source, &target);
  int last = merged.shape.rank - 1, rows = last - 1;
  int64_t at[SMELT_MAX_RANK] = {0}, read = source.offset, written = 0;
  plane p = {
      .size = size, .rows = 1, .columns = source.shape.dims[last], .from_column = source.strides[last]};
  if (last > 0) {
    p.rows = source.shape.dims[rows];
    p.from_row = source.strides[rows];
    p.to_row = target.strides[rows];
  }
  do {
    gather_plane(&p, (const char *)from + read * (int64_t)size, (char *)to + written * (int64_t)size);
  } while (next_plane(&source, &target, at, &read, &written));
}
