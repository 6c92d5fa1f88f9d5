/* SPDX-License-Identifier: Apache-2.0
 *
 * Layouts of views: random chains of view records from random layouts, against the
 * op-level reference, which moves the places themselves. */
#include <string.h>

#include "drivers/ref_moved.h"
#include "harness.h"
#include "ir/infer.h"
#include "ir/view.h"

enum { MAX_ITEMS = 3000, MAX_PLACES = 4 * MAX_ITEMS, RANK = 4 };

static uint64_t state = 1;

static int below(int n) {
  state = state * 6364136223846793005u + 1442695040888963407u;
  return (int)(state >> 33) % n;
}

/* --- Places one by one ------------------------------------------------------------------------ */

/* The place of each element in row-major order. */
static void list_places(const sm_layout *l, int64_t *out) {
  int64_t count = sm_shape_count(&l->shape);
  for (int64_t i = 0; i < count; i++) {
    out[i] = l->offset;
    for (int64_t axis = l->shape.rank - 1, rest = i; axis >= 0; rest /= l->shape.dims[axis--]) {
      out[i] += rest % l->shape.dims[axis] * l->strides[axis];
    }
  }
}

/* The only layout that has these places, if there is one: each stride shows in the
 * place of one element. */
static bool find_layout(const sm_shape *shape, const int64_t *places, sm_layout *out) {
  static int64_t found[MAX_ITEMS];
  int64_t count = sm_shape_count(shape), distance = 1;
  *out = (sm_layout){.shape = *shape, .offset = count ? places[0] : 0};
  for (int axis = shape->rank; count && axis-- > 0; distance *= shape->dims[axis]) {
    if (shape->dims[axis] > 1) out->strides[axis] = places[distance] - places[0];
  }
  list_places(out, found);
  return memcmp(found, places, (size_t)count * sizeof *places) == 0;
}

static bool is_canonical(const sm_layout *l) {
  bool empty = sm_shape_count(&l->shape) == 0;
  for (int axis = 0; axis < l->shape.rank; axis++) {
    if ((empty || l->shape.dims[axis] == 1) && l->strides[axis] != 0) return false;
  }
  return !empty || l->offset == 0;
}

static bool lie_dense(int64_t n, const int64_t *places) {
  for (int64_t i = 1; i < n; i++) {
    if (places[i] != places[i - 1] + 1) return false;
  }
  return true;
}

static void check_layout(const sm_layout *l, const int64_t *places) {
  static int64_t found[MAX_ITEMS];
  int64_t count = sm_shape_count(&l->shape), begin, end, low = 0, high = 0;
  list_places(l, found);
  for (int64_t i = 0; i < count; i++) {
    CHECK_I64(found[i], places[i]);
    low = i == 0 || places[i] < low ? places[i] : low;
    high = i == 0 || places[i] + 1 > high ? places[i] + 1 : high;
  }
  CHECK(is_canonical(l));
  CHECK(sm_layout_is_dense(l) == lie_dense(count, places));
  sm_layout_bounds(l, &begin, &end);
  CHECK_I64(begin, low);
  CHECK_I64(end, high);
}

/* Elements of each size that tell where they were. */
static void check_gather(const sm_layout *l, const int64_t *places) {
  static unsigned char memory[8 * MAX_PLACES], gathered[8 * MAX_ITEMS];
  int64_t count = sm_shape_count(&l->shape), begin, end;
  sm_layout shifted = *l;
  sm_layout_bounds(l, &begin, &end);
  if (end - begin > MAX_PLACES) return;
  shifted.offset -= begin;
  for (size_t size = 1; size <= 8; size *= 2) {
    for (size_t i = 0; i < (size_t)(end - begin) * size; i++) memory[i] = (unsigned char)(i * 31 + i / 251);
    memset(gathered, 0xee, sizeof gathered);
    sm_layout_gather(&shifted, size, memory, gathered);
    for (int64_t i = 0; i < count; i++)
      CHECK(memcmp(gathered + (size_t)i * size, memory + (size_t)(places[i] - begin) * size, size) == 0);
    for (size_t i = 0; i < 8; i++)
      CHECK((size_t)count * size + i >= sizeof gathered || gathered[(size_t)count * size + i] == 0xee);
  }
}

/* --- Random views ------------------------------------------------------------------------------ */

static sm_shape draw_shape(void) {
  sm_shape s = {.rank = below(RANK + 1)};
  for (int axis = 0; axis < s.rank; axis++) s.dims[axis] = below(25) ? 1 + below(5) : 0;
  return s;
}

/* Dense, or with strides that nothing explains. */
static void draw_layout(sm_layout *l) {
  sm_shape shape = draw_shape();
  sm_layout_dense(&shape, l);
  if (below(2) || sm_shape_count(&shape) == 0) return;
  l->offset = below(40);
  for (int axis = 0; axis < shape.rank; axis++) {
    if (shape.dims[axis] > 1 && below(2)) l->strides[axis] = below(15) - 7;
  }
}

typedef struct call {
  smelt_attrs attrs;
  int axes[SMELT_MAX_RANK];
  int64_t dims[SMELT_MAX_RANK];
  smelt_range ranges[SMELT_MAX_RANK];
} call;

static int64_t draw_place(void) { return below(3) ? below(13) - 6 : SMELT_ABSENT; }

/* Splits, joins and adds axes, all of which keep the number of elements. */
static void draw_dims(const sm_shape *in, call *c) {
  c->attrs.rank = 0;
  for (int axis = 0; axis < in->rank; axis++) {
    int64_t dim = in->dims[axis], divisor = 2 + below(2);
    if (below(6) == 0) c->dims[c->attrs.rank++] = 1;
    if (c->attrs.rank && below(3) == 0) {
      c->dims[c->attrs.rank - 1] *= dim;
    } else if (dim && dim % divisor == 0 && below(2)) {
      c->dims[c->attrs.rank++] = divisor;
      c->dims[c->attrs.rank++] = dim / divisor;
    } else {
      c->dims[c->attrs.rank++] = dim;
    }
  }
}

static void draw_wider_dims(const sm_shape *in, call *c) {
  int added = below(2);
  c->attrs.rank = in->rank + added;
  for (int axis = 0; axis < c->attrs.rank; axis++) {
    int64_t own = axis < added ? 1 : in->dims[axis - added];
    c->dims[axis] = own == 1 ? below(4) : own;
  }
}

static void draw_call(sm_shape_rule rule, const sm_shape *in, call *c) {
  static const int64_t steps[] = {1, 1, -1, -1, 2, -2, 3, -3, SMELT_ABSENT};
  int rank = in->rank;
  *c = (call){.attrs = {.size = sizeof c->attrs, .dims = c->dims, .axes = c->axes, .ranges = c->ranges}};
  if (rule == SM_SHAPE_RESHAPE) draw_dims(in, c);
  if (rule == SM_SHAPE_BROADCAST_TO) draw_wider_dims(in, c);
  for (int i = 0; i < rank; i++) {
    c->axes[i] = i;
    c->ranges[i] = (smelt_range){draw_place(), draw_place(), steps[below(9)]};
  }
  for (int i = rank - 1; i > 0; i--) {
    int k = below(i + 1), axis = c->axes[i];
    c->axes[i] = c->axes[k];
    c->axes[k] = axis;
  }
  c->attrs.n_axes = (size_t)(rule == SM_SHAPE_PERMUTE ? rank
                             : rule == SM_SHAPE_SWAP  ? 2
                             : rule == SM_SHAPE_FLIP  ? below(rank + 1)
                                                      : 1);
  c->attrs.n_ranges = (size_t)below(rank + 1);
  if (rule == SM_SHAPE_SQUEEZE) c->attrs.axes = NULL;
}

/* A call that is right, inferred; the operation is any view. */
static sm_opcode draw_view(const sm_shape *in, sm_inferred *out) {
  for (;;) {
    sm_opcode code = (sm_opcode)below(SM_OP_COUNT);
    if (sm_op_row_of(code)->class != SM_CLASS_VIEW) continue;
    call c;
    draw_call(sm_op_row_of(code)->shape, in, &c);
    sm_call_operand operand = {.dtype = SMELT_I64, .shape = in};
    bool right = sm_infer(sm_op_row_of(code), &operand, 1, &c.attrs, out, NULL) == SMELT_OK;
    if (right && sm_shape_count(&out->shape) <= MAX_ITEMS && out->shape.rank < 8) return code;
  }
}

/* What the reference makes of the places. */
static void move_places(const sm_segment *seg, const sm_op *op, int64_t *from, int64_t *to) {
  sm_buffer in = {.data = from}, out = {.data = to}, *buffers[] = {&in, &out};
  sm_ref_move(seg, op, buffers);
}

/* Takes `l` and its places one view further. */
static void step(sm_layout *l, int64_t *places) {
  static int64_t moved[MAX_ITEMS];
  sm_inferred r;
  sm_opcode code = draw_view(&l->shape, &r);
  sm_operand operand = {.dtype = SMELT_I64};
  const sm_op op = {
      .row = sm_op_row_of(code), .n_operands = 1, .out = 1, .operands = &operand, .attrs = &r.attrs};
  sm_value values[] = {{.dtype = SMELT_I64, .shape = l->shape}, {.dtype = SMELT_I64, .shape = r.shape}};
  sm_segment seg = {.values = {.items = values, .len = 2}};
  move_places(&seg, &op, places, moved);
  sm_layout next, only;
  bool expressible = find_layout(&r.shape, moved, &only);
  CHECK(sm_op_is_view(&op));
  CHECK(sm_view_layout(&op, l, &r.shape, &next) == expressible);
  if (!expressible) {
    CHECK(sm_op_row_of(code)->shape == SM_SHAPE_RESHAPE);
    return;
  }
  CHECK(sm_layout_equal(&next, &only));
  CHECK(sm_view_layout(&op, l, &r.shape, l) && sm_layout_equal(l, &next)); /* in place */
  memcpy(places, moved, (size_t)sm_shape_count(&l->shape) * sizeof *places);
}

TEST(views_of_random_layouts) {
  static int64_t places[MAX_ITEMS];
  for (int round = 0; round < 20000; round++) {
    sm_layout l;
    draw_layout(&l);
    list_places(&l, places);
    for (int i = below(5); i >= 0; i--) {
      step(&l, places);
      check_layout(&l, places);
    }
    if (round % 20 == 0) check_gather(&l, places);
  }
}

/* Axes longer than the tiles of a copy, in every order, some of them walked backwards. */
TEST(copies_by_tiles) {
  static const int orders[][3] = {{0, 1, 2}, {0, 2, 1}, {1, 0, 2}, {1, 2, 0}, {2, 0, 1}, {2, 1, 0}};
  static int64_t places[MAX_ITEMS];
  sm_shape shape = {3, {3, 37, 23}};
  for (size_t i = 0; i < sizeof orders / sizeof orders[0]; i++) {
    for (int flipped = 0; flipped < 4; flipped++) {
      sm_layout l;
      sm_layout_dense(&shape, &l);
      sm_layout_flip(&l, (int[]){flipped & 1, 2}, flipped >> 1 ? 2 : 1, &l);
      sm_layout_permute(&l, orders[i], &l);
      list_places(&l, places);
      check_gather(&l, places);
    }
  }
}

/* --- Some by hand -------------------------------------------------------------------------------- */

static void check_strides(const sm_layout *l, int64_t offset, int rank, const int64_t *strides) {
  CHECK_I64(l->offset, offset);
  CHECK_I64(l->shape.rank, rank);
  for (int axis = 0; axis < rank; axis++) CHECK_I64(l->strides[axis], strides[axis]);
}
#define CHECK_STRIDES(l, offset, ...)                                                 \
  check_strides(l, offset, (int)(sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t)), \
                (int64_t[]){__VA_ARGS__})

TEST(by_hand) {
  sm_shape shape = {3, {2, 3, 4}}, six = {2, {6, 4}}, other = {2, {2, 12}};
  sm_layout l, flipped, turned;
  sm_layout_dense(&shape, &l);
  CHECK_STRIDES(&l, 0, 12, 4, 1);
  sm_layout_flip(&l, (int[]){0, 2}, 2, &flipped);
  CHECK_STRIDES(&flipped, 15, -12, 4, -1);
  CHECK(!sm_layout_is_dense(&flipped) && sm_layout_is_dense(&l));
  sm_layout_permute(&l, (int[]){2, 0, 1}, &turned);
  CHECK_STRIDES(&turned, 0, 1, 12, 4);
  CHECK(sm_layout_reshape(&l, &six, &turned));
  CHECK_STRIDES(&turned, 0, 4, 1);
  CHECK(!sm_layout_reshape(&flipped, &six, &turned));
  CHECK_STRIDES(&turned, 0, 4, 1); /* untouched */
  sm_layout_flip(&l, (int[]){1, 2}, 2, &flipped);
  CHECK(sm_layout_reshape(&flipped, &other, &turned));
  CHECK_STRIDES(&turned, 11, 12, -1);
}

TEST(no_elements) {
  sm_shape shape = {3, {4, 0, 3}}, flat = {1, {0}};
  sm_layout l;
  int64_t begin, end;
  sm_layout_dense(&shape, &l);
  CHECK_STRIDES(&l, 0, 0, 0, 0);
  sm_layout_flip(&l, (int[]){0, 1}, 2, &l);
  CHECK_STRIDES(&l, 0, 0, 0, 0);
  CHECK(sm_layout_reshape(&l, &flat, &l) && sm_layout_is_dense(&l));
  sm_layout_bounds(&l, &begin, &end);
  CHECK(begin == 0 && end == 0);
  sm_layout_gather(&l, 4, NULL, NULL);
}

TEST_MAIN(CASE(views_of_random_layouts), CASE(copies_by_tiles), CASE(by_hand), CASE(no_elements))
