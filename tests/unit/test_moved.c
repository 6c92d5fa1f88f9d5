/* SPDX-License-Identifier: Apache-2.0
 *
 * Views and selections through the public interface: random chains of them against a
 * model that works on lists of places, and what calls take. */
#define _POSIX_C_SOURCE 200112L
#include <stdlib.h>

#include "api_fixture.h"

enum { MAX_ITEMS = 4000, RANK = 4, CHAIN = 4, LISTS = 8 };

/* --- The model ------------------------------------------------------------------------------ */

/* Numbers in row-major order. */
typedef struct array {
  int rank;
  int64_t dims[SMELT_MAX_RANK];
  int64_t n, items[MAX_ITEMS];
} array;

static int64_t count_of(int rank, const int64_t *dims) {
  int64_t n = 1;
  for (int axis = 0; axis < rank; axis++) n *= dims[axis];
  return n;
}

/* How far apart neighbours on an axis are. */
static int64_t stride_of(const array *a, int axis) {
  return count_of(a->rank - axis - 1, a->dims + axis + 1);
}

/* A list of places of an axis. */
typedef struct places {
  int64_t n, items[MAX_ITEMS];
} places;

/* The array with another list of places on one axis: outer, place, inner. */
static void select_places(array *a, int axis, const places *list) {
  array *from = malloc(sizeof *from);
  *from = *a;
  int64_t inner = stride_of(from, axis), outer = count_of(axis, from->dims), extent = from->dims[axis];
  a->dims[axis] = list->n;
  a->n = 0;
  for (int64_t o = 0; o < outer; o++) {
    for (int64_t p = 0; p < list->n; p++) {
      for (int64_t i = 0; i < inner; i++)
        a->items[a->n++] = from->items[(o * extent + list->items[p]) * inner + i];
    }
  }
  free(from);
}

/* All places that fulfil what a range says, found by trying each. */
static void places_of_range(smelt_range r, int64_t extent, places *out) {
  int64_t step = r.step == SMELT_ABSENT ? 1 : r.step, start = r.start, stop = r.stop;
  if (start < 0 && start != SMELT_ABSENT) start += extent;
  if (stop < 0 && stop != SMELT_ABSENT) stop += extent;
  int64_t first = step > 0 ? (start == SMELT_ABSENT || start < 0 ? 0 : start)
                           : (start == SMELT_ABSENT || start >= extent ? extent - 1 : start);
  out->n = 0;
  for (int64_t k = 0; k < extent; k++) {
    int64_t place = step > 0 ? k : extent - 1 - k;
    bool begun = step > 0 ? place >= first : place <= first;
    bool ended = stop != SMELT_ABSENT && (step > 0 ? place >= stop : place <= stop);
    if (begun && !ended && (place - first) % step == 0) out->items[out->n++] = place;
  }
}

/* Exchanges two neighbouring axes; every order of axes comes from such steps. */
static void exchange(array *a, int axis) {
  array *from = malloc(sizeof *from);
  *from = *a;
  int64_t outer = count_of(axis, a->dims), m = a->dims[axis], n = a->dims[axis + 1];
  int64_t inner = stride_of(a, axis + 1), at = 0;
  a->dims[axis] = n;
  a->dims[axis + 1] = m;
  for (int64_t o = 0; o < outer; o++)
    for (int64_t k = 0; k < n; k++)
      for (int64_t j = 0; j < m; j++)
        for (int64_t i = 0; i < inner; i++) a->items[at++] = from->items[((o * m + j) * n + k) * inner + i];
  free(from);
}

static void permute(array *a, const int *axes) {
  int order[SMELT_MAX_RANK];
  for (int i = 0; i < a->rank; i++) order[i] = axes[i];
  /* Sorting the wanted order backwards: bubbles, replayed from the end. */
  int swaps[64], n = 0;
  for (int pass = 0; pass < a->rank; pass++) {
    for (int i = 0; i + 1 < a->rank; i++) {
      if (order[i] < order[i + 1]) continue;
      int larger = order[i];
      order[i] = order[i + 1];
      order[i + 1] = larger;
      swaps[n++] = i;
    }
  }
  while (n > 0) exchange(a, swaps[--n]);
}

static void broadcast(array *a, int rank, const int64_t *dims) {
  int added = rank - a->rank;
  memmove(a->dims + added, a->dims, (size_t)a->rank * sizeof a->dims[0]);
  for (int axis = 0; axis < added; axis++) a->dims[axis] = 1;
  a->rank = rank;
  for (int axis = 0; axis < rank; axis++) {
    if (a->dims[axis] == dims[axis]) continue;
    places *list = calloc(1, sizeof *list);
    list->n = dims[axis];
    select_places(a, axis, list);
    free(list);
  }
}

static int64_t cut(int64_t index, int64_t extent) {
  if (index < 0) index += extent;
  return index < 0 ? 0 : index >= extent ? extent - 1 : index;
}

/* --- Random calls, on both -------------------------------------------------------------------- */

typedef struct both {
  smelt_context *ctx;
  uint64_t state;
  smelt_tensor *tensor;
  array *model;
} both;

static int below(both *b, int n) {
  b->state = b->state * 6364136223846793005u + 1442695040888963407u;
  return (int)(b->state >> 33) % n;
}

static smelt_tensor *upload(both *b, const array *a) {
  return smelt_from_host(b->ctx, SMELT_I64, a->rank, a->dims, a->items);
}

static void draw_array(both *b, array *a) {
  a->rank = below(b, RANK + 1);
  for (int axis = 0; axis < a->rank; axis++) a->dims[axis] = below(b, 20) ? 1 + below(b, 4) : 0;
  a->n = count_of(a->rank, a->dims);
  for (int64_t i = 0; i < a->n; i++) a->items[i] = 1000 + i;
}

static void check_same(both *b) {
  int64_t dims[SMELT_MAX_RANK], *items = malloc(MAX_ITEMS * sizeof *items);
  smelt_error err = {0};
  CHECK_OK(smelt_check(b->tensor, &err), err);
  CHECK_I64(smelt_dims(b->tensor, dims), b->model->rank);
  for (int axis = 0; axis < b->model->rank; axis++) CHECK_I64(dims[axis], b->model->dims[axis]);
  CHECK_I64(b->model->n, count_of(b->model->rank, b->model->dims));
  CHECK_OK(smelt_read(b->tensor, SMELT_I64, items, (size_t)b->model->n * sizeof *items, &err), err);
  for (int64_t i = 0; i < b->model->n; i++) CHECK_I64(items[i], b->model->items[i]);
  free(items);
}

static void draw_order(both *b, int n, int *axes) {
  for (int i = 0; i < n; i++) axes[i] = i;
  for (int i = n - 1; i > 0; i--) {
    int k = below(b, i + 1), axis = axes[i];
    axes[i] = axes[k];
    axes[k] = axis;
  }
}

/* Axes as a caller may name them. */
static void make_some_negative(both *b, int *axes, int n, int rank) {
  for (int i = 0; i < n; i++) axes[i] -= below(b, 2) ? rank : 0;
}

static void do_reshape(both *b) {
  array *m = b->model;
  int64_t dims[SMELT_MAX_RANK] = {1, m->n};
  int rank = 2, open = below(b, 3);
  for (int64_t d = 2; d < 5; d++) {
    if (dims[rank - 1] % d == 0 && rank < 4) dims[rank - 1] /= d, dims[rank++] = d;
  }
  m->rank = rank;
  memcpy(m->dims, dims, sizeof dims);
  if (open < rank && m->n) dims[open] = -1;
  b->tensor = smelt_reshape(b->tensor, rank, dims);
}

static void do_squeeze(both *b) {
  array *m = b->model;
  int axes[SMELT_MAX_RANK], n = 0, rank = m->rank, kept = 0;
  bool all = below(b, 2) == 0;
  for (int axis = 0; axis < rank; axis++) {
    if (m->dims[axis] == 1 && (all || below(b, 2))) axes[n++] = axis;
    else m->dims[kept++] = m->dims[axis];
  }
  m->rank = kept;
  make_some_negative(b, axes, n, rank);
  b->tensor = smelt_squeeze(b->tensor, all ? NULL : axes, (size_t)n);
}

static void do_expand(both *b) {
  array *m = b->model;
  int axis = below(b, m->rank + 1), given = below(b, 2) ? axis : axis - m->rank - 1;
  memmove(m->dims + axis + 1, m->dims + axis, (size_t)(m->rank - axis) * sizeof m->dims[0]);
  m->dims[axis] = 1;
  m->rank++;
  b->tensor = smelt_expand_dims(b->tensor, given);
}

static void do_permute(both *b) {
  int axes[SMELT_MAX_RANK], rank = b->model->rank;
  bool reversed = below(b, 4) == 0;
  draw_order(b, rank, axes);
  for (int i = 0; reversed && i < rank; i++) axes[i] = rank - 1 - i;
  permute(b->model, axes);
  make_some_negative(b, axes, rank, rank);
  b->tensor = smelt_permute_dims(b->tensor, reversed ? NULL : axes, (size_t)rank);
}

static void do_swap(both *b) {
  int axes[SMELT_MAX_RANK], rank = b->model->rank;
  if (rank == 0) return;
  int pair[] = {below(b, rank), below(b, rank)};
  for (int i = 0; i < rank; i++) axes[i] = i == pair[0] ? pair[1] : i == pair[1] ? pair[0] : i;
  permute(b->model, axes);
  make_some_negative(b, pair, 2, rank);
  b->tensor = smelt_swapaxes(b->tensor, pair[0], pair[1]);
}

static void do_flip(both *b) {
  int axes[SMELT_MAX_RANK] = {0}, rank = b->model->rank;
  bool all = below(b, 3) == 0;
  int n = all ? rank : below(b, rank + 1);
  places *list = malloc(sizeof *list);
  draw_order(b, rank, axes);
  for (int i = 0; i < n; i++) {
    list->n = b->model->dims[axes[i]];
    for (int64_t p = 0; p < list->n; p++) list->items[p] = list->n - 1 - p;
    select_places(b->model, axes[i], list);
  }
  free(list);
  make_some_negative(b, axes, n, rank);
  b->tensor = smelt_flip(b->tensor, all ? NULL : axes, (size_t)n);
}

static int64_t draw_place(both *b) { return below(b, 3) ? below(b, 15) - 7 : SMELT_ABSENT; }

static void do_slice(both *b) {
  static const int64_t steps[] = {1, 1, -1, -1, 2, -2, 3, -3, SMELT_ABSENT, INT64_MAX, -INT64_MAX};
  smelt_range ranges[SMELT_MAX_RANK];
  int n = below(b, b->model->rank + 1);
  places *list = malloc(sizeof *list);
  for (int axis = 0; axis < n; axis++) {
    ranges[axis] = (smelt_range){draw_place(b), draw_place(b), steps[below(b, 11)]};
    places_of_range(ranges[axis], b->model->dims[axis], list);
    select_places(b->model, axis, list);
  }
  free(list);
  b->tensor = smelt_slice(b->tensor, ranges, (size_t)n);
}

static void do_broadcast(both *b) {
  array *m = b->model;
  int64_t dims[SMELT_MAX_RANK];
  int added = below(b, 2), rank = m->rank + added;
  for (int axis = 0; axis < rank; axis++) {
    int64_t own = axis < added ? 1 : m->dims[axis - added];
    dims[axis] = own == 1 ? below(b, 4) : own;
  }
  if (count_of(rank, dims) > 500) return;
  broadcast(m, rank, dims);
  b->tensor = smelt_broadcast_to(b->tensor, rank, dims);
}

/* Indices far beyond the axis too. */
static int64_t draw_index(both *b) {
  return below(b, 8) ? below(b, 9) - 4 : below(b, 2) ? INT64_MAX : INT64_MIN;
}

static void do_take(both *b) {
  array *m = b->model;
  if (m->rank == 0) return;
  array *indices = calloc(1, sizeof *indices);
  int axis = below(b, m->rank), rank = m->rank;
  draw_array(b, indices);
  indices->rank = indices->rank > 2 ? 2 : indices->rank;
  indices->n = count_of(indices->rank, indices->dims);
  if (m->n * indices->n > 500 || m->dims[axis] == 0) indices->rank = 1, indices->dims[0] = indices->n = 0;
  places *list = calloc(1, sizeof *list);
  for (int64_t i = 0; i < indices->n; i++) {
    indices->items[i] = draw_index(b);
    list->items[list->n++] = cut(indices->items[i], m->dims[axis]);
  }
  select_places(m, axis, list);
  memmove(m->dims + axis + indices->rank, m->dims + axis + 1, (size_t)(rank - axis - 1) * sizeof m->dims[0]);
  memcpy(m->dims + axis, indices->dims, (size_t)indices->rank * sizeof m->dims[0]);
  m->rank += indices->rank - 1;
  b->tensor = smelt_take(b->tensor, upload(b, indices), below(b, 2) ? axis : axis - rank);
  free(list);
  free(indices);
}

/* An index for every place, in the shape of the result. */
static void do_take_along(both *b) {
  array *m = b->model;
  if (m->n == 0 || m->rank == 0) return;
  array *indices = calloc(1, sizeof *indices);
  int axis = below(b, m->rank);
  *indices = *m;
  indices->dims[axis] = below(b, 3);
  indices->n = count_of(m->rank, indices->dims);
  int64_t inner = stride_of(m, axis), extent = m->dims[axis], n = indices->dims[axis];
  array *from = malloc(sizeof *from);
  *from = *m;
  for (int64_t i = 0; i < indices->n; i++) {
    indices->items[i] = draw_index(b);
    int64_t outer = i / inner / n;
    m->items[i] = from->items[(outer * extent + cut(indices->items[i], extent)) * inner + i % inner];
  }
  m->dims[axis] = n;
  m->n = indices->n;
  b->tensor = smelt_take_along_axis(b->tensor, upload(b, indices), axis);
  free(from);
  free(indices);
}

/* With parts of itself, so that the other extents are equal. */
static void do_concat(both *b) {
  array *m = b->model;
  if (m->rank == 0 || m->n > 200) return;
  int axis = below(b, m->rank), n = 1 + below(b, 2 * LISTS + 3);
  smelt_tensor *list[2 * LISTS + 4];
  places *parts = calloc(1, sizeof *parts);
  for (int i = 0; i < n; i++) {
    smelt_range range[SMELT_MAX_RANK];
    int64_t length = m->dims[axis] ? below(b, (int)m->dims[axis] + 1) : 0;
    if (n > 5 && length > 1) length = 1;
    for (int k = 0; k < m->rank; k++) range[k] = (smelt_range){SMELT_ABSENT, SMELT_ABSENT, 1};
    range[axis].stop = length;
    for (int64_t p = 0; p < length; p++) parts->items[parts->n++] = p;
    list[i] = smelt_slice(smelt_ref(b->tensor), range, (size_t)m->rank);
  }
  smelt_drop(b->tensor);
  select_places(m, axis, parts);
  b->tensor = smelt_concat(list, (size_t)n, below(b, 2) ? axis : axis - m->rank);
  free(parts);
}

static void try_chains(const char *device, int rounds) {
  static void (*const calls[])(both * b) = {do_reshape, do_squeeze,    do_expand, do_permute,
                                            do_swap,    do_flip,       do_slice,  do_broadcast,
                                            do_take,    do_take_along, do_concat};
  both b = {.ctx = open_device(device), .state = 1, .model = calloc(1, sizeof(array))};
  for (int round = 0; round < rounds; round++) {
    draw_array(&b, b.model);
    b.tensor = upload(&b, b.model);
    for (int i = below(&b, CHAIN); i >= 0 && b.model->rank < 8; i--)
      calls[below(&b, (int)(sizeof calls / sizeof calls[0]))](&b);
    check_same(&b);
    smelt_drop(b.tensor);
  }
  free(b.model);
  close_context(b.ctx);
}

TEST(chains_agree_with_the_model) { try_chains("ref", 4000); }

/* Interpreted, where many kernels are not worth compiling. */
TEST(chains_in_kernels) {
  CHECK_I64(setenv("SMELT_LLVM", "0", 1), 0);
  try_chains(NULL, tries(4000, 100));
}

/* --- Indices of every dtype, broadcast ------------------------------------------------------------ */

static void check_i32(smelt_tensor *t, size_t n, const int32_t *expected) {
  int32_t items[32];
  smelt_error err = {0};
  CHECK_OK(smelt_into_host(t, SMELT_I32, items, n * sizeof *items, &err), err);
  for (size_t i = 0; i < n; i++) CHECK_I64(items[i], expected[i]);
}
#define CHECK_I32S(t, ...) check_i32(t, sizeof((int32_t[]){__VA_ARGS__}) / 4, (int32_t[]){__VA_ARGS__})

static smelt_tensor *six(smelt_context *ctx) {
  return smelt_from_host(ctx, SMELT_I32, DIMS(2, 3), (int32_t[]){0, 1, 2, 3, 4, 5});
}

static void try_indices(const char *device) {
  smelt_context *ctx = open_device(device);
  static const int8_t i8[] = {-1, -128, 127};
  static const uint8_t u8[] = {2, 0, 255};
  static const int64_t i64[] = {-3, INT64_MIN, INT64_MAX};
  static const uint64_t u64[] = {1, UINT64_MAX, (uint64_t)1 << 63};
  CHECK_I32S(smelt_take(six(ctx), smelt_from_host(ctx, SMELT_I8, DIMS(3), i8), 1), 2, 0, 2, 5, 3, 5);
  CHECK_I32S(smelt_take(six(ctx), smelt_from_host(ctx, SMELT_U8, DIMS(3), u8), 1), 2, 0, 2, 5, 3, 5);
  CHECK_I32S(smelt_take(six(ctx), smelt_from_host(ctx, SMELT_I64, DIMS(3), i64), 1), 0, 0, 2, 3, 3, 5);
  CHECK_I32S(smelt_take(six(ctx), smelt_from_host(ctx, SMELT_U64, DIMS(3), u64), -1), 1, 2, 2, 4, 5, 5);
  close_context(ctx);
}

TEST(indices_of_every_dtype) {
  try_indices("ref");
  try_indices(NULL);
}

static void try_broadcast_indices(const char *device) {
  smelt_context *ctx = open_device(device);
  static const int32_t row[] = {2, 0};
  CHECK_I32S(smelt_take_along_axis(six(ctx), smelt_from_host(ctx, SMELT_I32, DIMS(1, 2), row), 1), 2, 0, 5,
             3);
  smelt_tensor *line = smelt_from_host(ctx, SMELT_I32, DIMS(1, 3), (int32_t[]){7, 8, 9});
  CHECK_I32S(smelt_take_along_axis(line, smelt_from_host(ctx, SMELT_I32, DIMS(2, 1), row), 1), 9, 7);
  close_context(ctx);
}

TEST(take_along_axis_broadcasts) {
  try_broadcast_indices("ref");
  try_broadcast_indices(NULL);
}

/* --- What calls take --------------------------------------------------------------------------------- */

TEST(lists_are_taken_whole) {
  smelt_context *ctx = open_device("ref");
  smelt_tensor *x = six(ctx), *list[40];
  for (int i = 0; i < 40; i++) list[i] = smelt_ref(x);
  smelt_tensor *joined = smelt_concat(list, 40, 0);
  CHECK_I64(counters_of(ctx).live_references, 2);
  int64_t dims[SMELT_MAX_RANK];
  CHECK_I64(smelt_dims(joined, dims), 2);
  CHECK(dims[0] == 80 && dims[1] == 3);
  check_poison(smelt_concat(list, 3, 0), SMELT_ERR_STALE, "was taken by smelt_concat");
  smelt_drop(joined);
  smelt_drop(x);
  close_context(ctx);
}

TEST(lists_that_are_wrong) {
  smelt_context *ctx = open_device("ref");
  smelt_tensor *twice[2], *odd[20], *other[2] = {six(ctx), NULL};
  twice[0] = twice[1] = six(ctx);
  check_poison(smelt_concat(twice, 2, 0), SMELT_ERR_STALE, "smelt_concat");
  for (int i = 0; i < 20; i++) odd[i] = i == 13 ? number(ctx, 1) : six(ctx);
  check_poison(smelt_concat(odd, 20, 0), SMELT_ERR_DTYPE, "concat(");
  for (int i = 0; i < 20; i++) odd[i] = six(ctx);
  check_poison(smelt_concat(odd, 20, 2), SMELT_ERR_ARGUMENT, "axis 2 is not between -2 and 1");
  check_poison(smelt_concat(NULL, 0, 0), SMELT_ERR_ARGUMENT, "concat: there is no tensor");
  check_poison(smelt_concat(NULL, 2, 0), SMELT_ERR_ARGUMENT, "concat: the operands are NULL");
  check_poison(smelt_concat(other, 2, 0), SMELT_ERR_STALE, "NULL is not a tensor");
  other[0] = smelt_scalar_i64(1);
  other[1] = smelt_scalar_i64(2);
  check_poison(smelt_concat(other, 2, 0), SMELT_ERR_ARGUMENT, "concat: no operand is a tensor");
  close_context(ctx);
}

TEST(a_list_of_one) {
  smelt_context *ctx = open_device("ref");
  smelt_tensor *list[] = {six(ctx)};
  CHECK_I32S(smelt_concat(list, 1, 1), 0, 1, 2, 3, 4, 5);
  list[0] = smelt_scalar_i64(1);
  check_poison(smelt_concat(list, 1, 0), SMELT_ERR_ARGUMENT, "concat: no operand is a tensor");
  close_context(ctx);
}

TEST(calls_by_name) {
  smelt_context *ctx = open_device("ref");
  smelt_attrs attrs = {.size = sizeof attrs, .axes = (int[]){-1}, .n_axes = 1};
  smelt_tensor *list[12];
  for (int i = 0; i < 12; i++) list[i] = six(ctx);
  smelt_tensor *t = smelt_call(NULL, "concat", list, 12, &attrs);
  CHECK_I64(smelt_count(t), 72);
  t = smelt_call(NULL, "flip", &t, 1, &attrs);
  CHECK_I64(smelt_count(t), 72);
  check_poison(smelt_call(NULL, "flip", &t, 1, NULL), SMELT_ERR_ARGUMENT, "flip needs attributes");
  close_context(ctx);
}

TEST(weak_scalars_are_no_tensors) {
  smelt_context *ctx = open_device("ref");
  check_poison(smelt_flip(smelt_scalar_f64(1), NULL, 0), SMELT_ERR_ARGUMENT, "flip: no operand is a tensor");
  check_poison(smelt_take(six(ctx), 1, 0), SMELT_ERR_ARGUMENT,
               "take(i32[2,3], scalar): the operands have to be tensors");
  close_context(ctx);
}

/* A chain that does not repeat, so long that its kernel is tiled; what was selected first is
 * used last, and along axis 0 a row has one place. */
static smelt_tensor *long_chain(smelt_context *ctx, int axis) {
  enum { ROWS = 30, COLUMNS = 70, STEPS = 120 };
  static float items[ROWS * COLUMNS];
  int64_t named[COLUMNS], n = axis ? COLUMNS : ROWS;
  for (int i = 0; i < ROWS * COLUMNS; i++) items[i] = (float)i / 4096;
  for (int64_t i = 0; i < n; i++) named[i] = (i * 37 + 5) % n - (i % 2 ? n : 0);
  smelt_tensor *table = smelt_from_host(ctx, SMELT_F32, DIMS(ROWS, COLUMNS), items);
  smelt_tensor *indices = smelt_from_host(ctx, SMELT_I64, DIMS(n), named);
  smelt_tensor *first = smelt_take(smelt_ref(table), smelt_ref(indices), axis), *y = smelt_ref(first);
  for (int step = 0; step < STEPS; step++) {
    y = step * step % 7 < 3 ? smelt_sin(y) : smelt_tanh(smelt_add(y, step));
    if (step % 25 == 24) y = smelt_add(y, smelt_take(smelt_ref(table), smelt_ref(indices), axis));
    if (step % 50 == 49)
      y = smelt_mul(y, smelt_take(smelt_ref(table), smelt_sub(smelt_ref(indices), step), axis));
  }
  smelt_drop(table);
  smelt_drop(indices);
  return smelt_sub(y, first);
}

TEST(long_kernels) {
  for (int axis = 0; axis < 2; axis++) {
    static float right[2100], items[2100];
    smelt_context *ref = open_device("ref"), *own = open_device(NULL);
    smelt_error err;
    CHECK_OK(smelt_into_host(long_chain(ref, axis), SMELT_F32, right, sizeof right, &err), err);
    CHECK_OK(smelt_into_host(long_chain(own, axis), SMELT_F32, items, sizeof items, &err), err);
    for (int i = 0; i < 2100; i++) CHECK_F64(items[i], right[i]);
    close_context(ref);
    close_context(own);
  }
}

/* A copy and a sum of what lies across the rows of their results. */
static void compute_across(const char *device, int64_t rows, int64_t columns, float *copy, float *sum) {
  static float items[2 * 70 * 40];
  smelt_context *ctx = open_device(device);
  smelt_error err;
  int64_t n = 2 * rows * columns;
  for (int64_t i = 0; i < n; i++) items[i] = (float)i;
  smelt_tensor *x = smelt_from_host(ctx, SMELT_F32, DIMS(2, columns, rows), items);
  smelt_tensor *y = smelt_from_host(ctx, SMELT_F32, DIMS(2, rows, columns), items);
  smelt_tensor *turned = smelt_permute_dims(x, (int[]){0, 2, 1}, 3);
  smelt_tensor *flat = smelt_reshape(smelt_ref(turned), 1, &n);
  smelt_tensor *total = smelt_add(smelt_mul(y, 0.5), turned);
  CHECK_OK(smelt_into_host(flat, SMELT_F32, copy, (size_t)n * sizeof *copy, &err), err);
  CHECK_OK(smelt_into_host(total, SMELT_F32, sum, (size_t)n * sizeof *sum, &err), err);
  close_context(ctx);
}

/* Strips of rows on processors: extents below, at and beyond those of a strip. */
TEST(rows_across) {
  static const int64_t extents[][2] = {{1, 1}, {31, 15}, {32, 16}, {33, 17}, {70, 40}, {2, 40}, {70, 3}};
  static float copy[2][2 * 70 * 40], sum[2][2 * 70 * 40];
  for (size_t i = 0; i < sizeof extents / sizeof extents[0]; i++) {
    int64_t rows = extents[i][0], columns = extents[i][1];
    compute_across("ref", rows, columns, copy[0], sum[0]);
    compute_across(NULL, rows, columns, copy[1], sum[1]);
    CHECK_I64(first_difference(SMELT_F32, copy[1], copy[0], 2 * rows * columns), -1);
    CHECK_I64(first_difference(SMELT_F32, sum[1], sum[0], 2 * rows * columns), -1);
  }
}

/* Every device has kernels for them: a null device shows how many. */
TEST(launches_of_selections) {
  smelt_context *ctx = open_device("null:metal");
  smelt_tensor *x = six(ctx), *joined = smelt_concat((smelt_tensor *[]){smelt_ref(x), smelt_ref(x)}, 2, 0);
  smelt_tensor *indices = smelt_from_host(ctx, SMELT_I32, DIMS(2), (int32_t[]){0, 1});
  smelt_tensor *taken = smelt_add(smelt_take(x, indices, 0), 1);
  CHECK_STATUS(smelt_eval((const smelt_tensor *[]){joined, taken}, 2, NULL), SMELT_OK);
  CHECK_I64(counters_of(ctx).launches, 2);
  CHECK_I64(counters_of(ctx).bytes_written, 48 + 24);
  smelt_drop(joined);
  smelt_drop(taken);
  close_context(ctx);
}

TEST_MAIN(CASE(chains_agree_with_the_model), CASE(chains_in_kernels), CASE(indices_of_every_dtype),
          CASE(take_along_axis_broadcasts), CASE(lists_are_taken_whole), CASE(lists_that_are_wrong),
          CASE(a_list_of_one), CASE(calls_by_name), CASE(weak_scalars_are_no_tensors), CASE(long_kernels),
          CASE(rows_across), CASE(launches_of_selections))
