/* SPDX-License-Identifier: Apache-2.0
 *
 * Traces as text: what is computed once, what is a loop, where halves are rounded. */
#include <string.h>

#include "harness.h"
#include "trace/trace.h"

enum { MOST = 64 };

typedef struct fixture {
  sm_segment seg;
  uint32_t ops[MOST];
  bool written[2 * MOST];
} fixture;

static void open_fixture(fixture *f) {
  memset(f, 0, sizeof *f);
  sm_segment_init(&f->seg, &sm_malloc_allocator);
  for (uint32_t i = 0; i < MOST; i++) f->ops[i] = i;
}

static uint32_t source(fixture *f, smelt_dtype dtype) {
  uint32_t v = 0;
  CHECK(sm_segment_add_source(&f->seg,
                              &(sm_value){.id = f->seg.values.len, .dtype = dtype, .shape = {1, {4}}}, &v));
  return v;
}

static sm_operand use(const fixture *f, uint32_t v) {
  return (sm_operand){.use = {v, SM_READ_ONLY}, .dtype = f->seg.values.items[v].dtype};
}

static sm_operand scalar(const fixture *f, uint32_t like) {
  return (sm_operand){.is_scalar = true, .dtype = f->seg.values.items[like].dtype};
}

static uint32_t op(fixture *f, sm_opcode code, const sm_operand *operands, int n) {
  uint32_t v = 0;
  sm_value out = {.id = f->seg.values.len, .dtype = operands[0].dtype, .shape = {1, {4}}};
  CHECK(sm_segment_append(&f->seg, code, operands, n, &out, &v));
  return v;
}

static uint32_t op2(fixture *f, sm_opcode code, uint32_t x, uint32_t y) {
  return op(f, code, (sm_operand[]){use(f, x), use(f, y)}, 2);
}

static uint32_t op1(fixture *f, sm_opcode code, uint32_t x) {
  return op(f, code, (sm_operand[]){use(f, x)}, 1);
}

static void check_trace(fixture *f, smelt_mode mode, const char *expected) {
  sm_trace trace;
  sm_text text;
  smelt_error err;
  sm_text_init(&text, &sm_malloc_allocator);
  CHECK_OK(sm_trace_build(&f->seg, f->ops, (int)f->seg.ops.len, f->written, mode, &sm_malloc_allocator,
                          &trace, &err),
           err);
  sm_trace_print(&text, &f->seg, &trace);
  CHECK_STR(text.data, expected);
  sm_text_free(&text);
  sm_trace_free(&trace, &sm_malloc_allocator);
  sm_segment_free(&f->seg);
}

/* The same operation of the same values is done once; of scalars nobody looks at values. */
TEST(common_subexpressions) {
  fixture f;
  open_fixture(&f);
  uint32_t x = source(&f, SMELT_F32), y = source(&f, SMELT_F32);
  uint32_t left = op1(&f, SM_OP_EXP, op2(&f, SM_OP_MULTIPLY, x, y));
  uint32_t right = op1(&f, SM_OP_EXP, op2(&f, SM_OP_MULTIPLY, x, y));
  uint32_t one = op(&f, SM_OP_MULTIPLY, (sm_operand[]){use(&f, left), scalar(&f, x)}, 2);
  uint32_t other = op(&f, SM_OP_MULTIPLY, (sm_operand[]){use(&f, right), scalar(&f, x)}, 2);
  f.written[op2(&f, SM_OP_ADD, one, other)] = true;
  check_trace(&f, SMELT_MODE_DEFAULT,
              "block 0 over [4]\n"
              "  l0 f32 = read t0\n"
              "  l1 f32 = read t1\n"
              "  l2 f32 = mul l0, l1\n"
              "  l3 f32 = exp l2\n"
              "  l4 f32 = scalar s0\n"
              "  l5 f32 = mul l3, l4\n"
              "  l6 f32 = scalar s1\n"
              "  l7 f32 = mul l3, l6\n"
              "  l8 f32 = add l5, l7\n"
              "  write t8 = l8\n");
}

/* Halves stay f32 from trip to trip, and in strict mode do not. */
static void build_half_loop(fixture *f) {
  open_fixture(f);
  uint32_t x = source(f, SMELT_F16), w = source(f, SMELT_F16);
  for (int i = 0; i < 5; i++) {
    x = op2(f, SM_OP_MULTIPLY, x, w);
    x = op(f, SM_OP_ADD, (sm_operand[]){use(f, x), scalar(f, w)}, 2);
  }
  f->written[x] = true;
}

TEST(loops_of_halves) {
  fixture f;
  build_half_loop(&f);
  check_trace(&f, SMELT_MODE_DEFAULT,
              "block 0 over [4]\n"
              "  l0 f16 = read t0\n"
              "  l1 f32 = cast l0\n"
              "  loop 5 times {\n"
              "    l3 f32 = carry l1\n"
              "    l4 f16 = read t1\n"
              "    l5 f32 = cast l4\n"
              "    l6 f32 = mul l3, l5\n"
              "    l7 f16 = table column 0\n"
              "    l8 f32 = cast l7\n"
              "    l9 f32 = add l6, l8\n"
              "    next l3 = l9\n"
              "  }\n"
              "  l12 f32 = result l3\n"
              "  l13 f16 = cast l12\n"
              "  write t11 = l13\n");
  build_half_loop(&f);
  check_trace(&f, SMELT_MODE_STRICT,
              "block 0 over [4]\n"
              "  l0 f16 = read t0\n"
              "  loop 5 times {\n"
              "    l2 f16 = carry l0\n"
              "    l3 f16 = read t1\n"
              "    l4 f32 = cast l2\n"
              "    l5 f32 = cast l3\n"
              "    l6 f32 = mul l4, l5\n"
              "    l7 f16 = cast l6\n"
              "    l8 f16 = table column 0\n"
              "    l9 f32 = cast l7\n"
              "    l10 f32 = cast l8\n"
              "    l11 f32 = add l9, l10\n"
              "    l12 f16 = cast l11\n"
              "    next l2 = l12\n"
              "  }\n"
              "  l15 f16 = result l2\n"
              "  write t11 = l15\n");
}

/* --- Contraction ------------------------------------------------------------------------------ */

TEST(products_are_contracted_in_fast_mode) {
  fixture f;
  build_half_loop(&f);
  check_trace(&f, SMELT_MODE_FAST,
              "block 0 over [4]\n"
              "  l0 f16 = read t0\n"
              "  l1 f32 = cast l0\n"
              "  loop 5 times {\n"
              "    l3 f32 = carry l1\n"
              "    l4 f16 = read t1\n"
              "    l5 f32 = cast l4\n"
              "    l6 f16 = table column 0\n"
              "    l7 f32 = cast l6\n"
              "    l8 f32 = fma l3, l5, l7\n"
              "    next l3 = l8\n"
              "  }\n"
              "  l11 f32 = result l3\n"
              "  l12 f16 = cast l11\n"
              "  write t11 = l12\n");
}

/* Of two products one is; those that are wanted otherwise, and integers, are not. */
TEST(products_that_are_not_contracted) {
  fixture f;
  open_fixture(&f);
  uint32_t x = source(&f, SMELT_F64), y = source(&f, SMELT_F64), i = source(&f, SMELT_I32);
  uint32_t square = op1(&f, SM_OP_SQUARE, x), product = op2(&f, SM_OP_MULTIPLY, x, y);
  uint32_t twice = op2(&f, SM_OP_MULTIPLY, y, y), stored = op1(&f, SM_OP_SQUARE, i);
  f.written[op2(&f, SM_OP_ADD, square, product)] = true;
  f.written[op2(&f, SM_OP_ADD, twice, twice)] = true;
  f.written[op2(&f, SM_OP_ADD, stored, i)] = true;
  check_trace(&f, SMELT_MODE_FAST,
              "block 0 over [4]\n"
              "  l0 f64 = read t0\n"
              "  l1 f64 = read t1\n"
              "  l2 f64 = mul l0, l1\n"
              "  l3 f64 = fma l0, l0, l2\n"
              "  write t7 = l3\n"
              "block 1 over [4]\n"
              "  l0 f64 = read t1\n"
              "  l1 f64 = mul l0, l0\n"
              "  l2 f64 = add l1, l1\n"
              "  write t8 = l2\n"
              "block 2 over [4]\n"
              "  l0 i32 = read t2\n"
              "  l1 i32 = mul l0, l0\n"
              "  l2 i32 = add l1, l0\n"
              "  write t9 = l2\n");
}

/* --- Selections ------------------------------------------------------------------------------ */

static uint32_t shaped_source(fixture *f, smelt_dtype dtype, sm_shape shape) {
  uint32_t v = 0;
  sm_value like = {.id = f->seg.values.len, .dtype = dtype, .shape = shape};
  CHECK(sm_segment_add_source(&f->seg, &like, &v));
  return v;
}

static uint32_t select_op(fixture *f, sm_opcode code, uint32_t x, uint32_t indices, int axis,
                          sm_shape shape) {
  uint32_t v = 0;
  sm_value out = {.id = f->seg.values.len, .dtype = f->seg.values.items[x].dtype, .shape = shape};
  const sm_attrs attrs = {.n = 1, .axes = {axis}};
  CHECK(sm_segment_append_with(&f->seg, sm_op_row_of(code), (sm_operand[]){use(f, x), use(f, indices)}, 2,
                               &attrs, &out, &v));
  return v;
}

/* Equal selections are done once; those along another axis are of another input. */
TEST(selections) {
  fixture f;
  open_fixture(&f);
  sm_shape square = {2, {4, 4}}, row = {1, {4}};
  uint32_t x = shaped_source(&f, SMELT_F32, square), i = shaped_source(&f, SMELT_I64, row);
  uint32_t a = select_op(&f, SM_OP_TAKE, x, i, 0, square), b = select_op(&f, SM_OP_TAKE, x, i, 0, square);
  uint32_t sum = op2(&f, SM_OP_ADD, a, b);
  f.written[op2(&f, SM_OP_ADD, sum, select_op(&f, SM_OP_TAKE, x, i, 1, square))] = true;
  f.seg.values.items[sum].shape = f.seg.values.items[sum + 2].shape = square;
  check_trace(&f, SMELT_MODE_DEFAULT,
              "block 0 over [4,4]\n"
              "  l0 i64 = extent of t0 axis 0\n"
              "  l1 i64 = read t1\n"
              "  l2 i64 = literal 0\n"
              "  l3 bool = lt l1, l2\n"
              "  l4 i64 = add l1, l0\n"
              "  l5 i64 = select l3, l4, l1\n"
              "  l6 i64 = literal 1\n"
              "  l7 i64 = sub l0, l6\n"
              "  l8 i64 = min l5, l7\n"
              "  l9 i64 = max l8, l2\n"
              "  l10 f32 = gather t0 axis 0 at l9\n"
              "  l11 f32 = add l10, l10\n"
              "  l12 i64 = extent of t0 axis 1\n"
              "  l13 i64 = read t1\n"
              "  l14 bool = lt l13, l2\n"
              "  l15 i64 = add l13, l12\n"
              "  l16 i64 = select l14, l15, l13\n"
              "  l17 i64 = sub l12, l6\n"
              "  l18 i64 = min l16, l17\n"
              "  l19 i64 = max l18, l2\n"
              "  l20 f32 = gather t0 axis 1 at l19\n"
              "  l21 f32 = add l11, l20\n"
              "  write t6 = l21\n");
}

/* u64 holds places that i64 does not. */
TEST(selections_by_u64) {
  fixture f;
  open_fixture(&f);
  sm_shape line = {1, {4}};
  uint32_t x = source(&f, SMELT_F16), i = source(&f, SMELT_U64);
  f.written[select_op(&f, SM_OP_TAKE_ALONG_AXIS, x, i, 0, line)] = true;
  check_trace(&f, SMELT_MODE_DEFAULT,
              "block 0 over [4]\n"
              "  l0 i64 = extent of t0 axis 0\n"
              "  l1 u64 = read t1\n"
              "  l2 u64 = cast l0\n"
              "  l3 u64 = literal 1\n"
              "  l4 u64 = sub l2, l3\n"
              "  l5 u64 = min l1, l4\n"
              "  l6 i64 = cast l5\n"
              "  l7 f16 = gather t0 axis 0 at l6\n"
              "  write t2 = l7\n");
}

/* From place to place. */
TEST(selections_in_a_loop) {
  fixture f;
  open_fixture(&f);
  sm_shape line = {1, {4}};
  uint32_t next = source(&f, SMELT_I64), at = source(&f, SMELT_I64);
  for (int i = 0; i < 5; i++) at = select_op(&f, SM_OP_TAKE, next, at, 0, line);
  f.written[at] = true;
  check_trace(&f, SMELT_MODE_DEFAULT,
              "block 0 over [4]\n"
              "  l0 i64 = read t1\n"
              "  loop 5 times {\n"
              "    l2 i64 = carry l0\n"
              "    l3 i64 = extent of t0 axis 0\n"
              "    l4 i64 = literal 0\n"
              "    l5 bool = lt l2, l4\n"
              "    l6 i64 = add l2, l3\n"
              "    l7 i64 = select l5, l6, l2\n"
              "    l8 i64 = literal 1\n"
              "    l9 i64 = sub l3, l8\n"
              "    l10 i64 = min l7, l9\n"
              "    l11 i64 = max l10, l4\n"
              "    l12 i64 = gather t0 axis 0 at l11\n"
              "    next l2 = l12\n"
              "  }\n"
              "  l15 i64 = result l2\n"
              "  write t6 = l15\n");
}

/* What a loop has computed is not there behind it; what it has read is. */
TEST(behind_a_loop) {
  fixture f;
  open_fixture(&f);
  uint32_t x = source(&f, SMELT_F32), w = source(&f, SMELT_F32);
  for (int i = 0; i < 3; i++) x = op2(&f, SM_OP_ADD, x, op1(&f, SM_OP_EXP, w));
  x = op2(&f, SM_OP_MULTIPLY, x, op1(&f, SM_OP_EXP, w));
  f.written[op2(&f, SM_OP_MULTIPLY, x, w)] = true;
  check_trace(&f, SMELT_MODE_DEFAULT,
              "block 0 over [4]\n"
              "  l0 f32 = read t0\n"
              "  loop 3 times {\n"
              "    l2 f32 = carry l0\n"
              "    l3 f32 = read t1\n"
              "    l4 f32 = exp l3\n"
              "    l5 f32 = add l2, l4\n"
              "    next l2 = l5\n"
              "  }\n"
              "  l8 f32 = result l2\n"
              "  l9 f32 = exp l3\n"
              "  l10 f32 = mul l8, l9\n"
              "  l11 f32 = mul l10, l3\n"
              "  write t10 = l11\n");
}

TEST_MAIN(CASE(common_subexpressions), CASE(loops_of_halves), CASE(products_are_contracted_in_fast_mode),
          CASE(products_that_are_not_contracted), CASE(selections), CASE(selections_by_u64),
          CASE(selections_in_a_loop), CASE(behind_a_loop))
