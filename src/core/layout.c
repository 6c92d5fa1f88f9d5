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

/* One row: n elements, `stride` apart. */
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

/* To the next row: a carry goes to the axis before. False after the last one. */
static bool next_row(const sm_layout *l, int64_t *at, int64_t *place) {
  for (int axis = l->shape.rank - 1; axis-- > 0;) {
    *place += l->strides[axis];
    if (++at[axis] < l->shape.dims[axis]) return true;
    *place -= at[axis] * l->strides[axis];
    at[axis] = 0;
  }
  return false;
}

void sm_layout_gather(const sm_layout *l, size_t size, const void *from, void *to) {
  if (sm_shape_count(&l->shape) == 0) return;
  sm_layout m;
  merge_axes(l, &m);
  int64_t at[SMELT_MAX_RANK] = {0}, place = m.offset;
  int64_t n = m.shape.dims[m.shape.rank - 1], stride = m.strides[m.shape.rank - 1];
  char *row = to;
  do {
    gather_row(size, (const char *)from + place * (int64_t)size, stride, n, row);
    row += n * (int64_t)size;
  } while (next_row(&m, at, &place));
}
