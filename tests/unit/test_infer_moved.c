/* SPDX-License-Identifier: Apache-2.0
 *
 * Inference of what is not elementwise: shapes, canonical attributes, which are a
 * fixed point, and errors that name the operation. */
#include <stdio.h>
#include <string.h>

#include "harness.h"
#include "ir/infer.h"

#define A SMELT_ABSENT

#define LENGTH(type, ...) (sizeof((type[]){__VA_ARGS__}) / sizeof(type))
#define SHAPE(...)                                     \
  (sm_shape) {                                         \
    (int)LENGTH(int64_t, __VA_ARGS__), { __VA_ARGS__ } \
  }
#define SCALAR \
  (sm_shape) { .rank = 0 }
#define AXES(...)                                                                                 \
  (smelt_attrs) {                                                                                 \
    .size = sizeof(smelt_attrs), .axes = (int[]){__VA_ARGS__}, .n_axes = LENGTH(int, __VA_ARGS__) \
  }
#define DIMS(...)                                                                                 \
  (smelt_attrs) {                                                                                 \
    .size = sizeof(smelt_attrs), .rank = (int)LENGTH(int64_t, __VA_ARGS__), .dims = (int64_t[]) { \
      __VA_ARGS__                                                                                 \
    }                                                                                             \
  }
#define RANGES(...)                                                      \
  (smelt_attrs) {                                                        \
    .size = sizeof(smelt_attrs), .ranges = (smelt_range[]){__VA_ARGS__}, \
    .n_ranges = LENGTH(smelt_range, __VA_ARGS__)                         \
  }
static const smelt_attrs nothing = {.size = sizeof(smelt_attrs)};

static smelt_dtype index_dtype = SMELT_I64;

/* A call on f32 tensors of these shapes; of take and take_along_axis the second are
 * the indices. */
static smelt_status infer(sm_opcode code, const sm_shape *shapes, int n, smelt_attrs attrs, sm_inferred *out,
                          smelt_error *err) {
  sm_call_operand operands[SM_MAX_OPERANDS + 1];
  for (int i = 0; i < n; i++) {
    bool index = sm_op_letter(sm_op_row_of(code), i) == 'I';
    operands[i] = (sm_call_operand){.dtype = index ? index_dtype : SMELT_F32, .shape = &shapes[i]};
  }
  memset(out, 0xa5, sizeof *out);
  return sm_infer(sm_op_row_of(code), operands, n, &attrs, out, err);
}

static const char *text_of(const sm_inferred *r) {
  static char text[SM_SHAPE_TEXT];
  return sm_shape_text(text, r->dtype, &r->shape);
}

/* The attributes as those of a call. */
static smelt_attrs again(sm_opcode code, const sm_inferred *r) {
  sm_op op = {.row = sm_op_row_of(code), .attrs = sm_op_has_attrs(sm_op_row_of(code)) ? &r->attrs : NULL};
  static sm_value out;
  out = (sm_value){.dtype = r->dtype, .shape = r->shape};
  return sm_op_call_attrs(&op, &out);
}

static sm_inferred gives(sm_opcode code, const sm_shape *shapes, int n, smelt_attrs attrs,
                         const char *expected) {
  sm_inferred r, second;
  smelt_error err;
  CHECK_OK(infer(code, shapes, n, attrs, &r, &err), err);
  CHECK_STR(text_of(&r), expected);
  CHECK_OK(infer(code, shapes, n, again(code, &r), &second, &err), err);
  CHECK_STR(text_of(&second), expected);
  if (!sm_op_has_attrs(sm_op_row_of(code))) return r;
  CHECK_I64(second.attrs.n, r.attrs.n);
  size_t item = code == SM_OP_SLICE ? sizeof(smelt_range) : sizeof(int);
  CHECK(memcmp(&second.attrs.axes, &r.attrs.axes, (size_t)r.attrs.n * item) == 0);
  return r;
}

static void refuses(sm_opcode code, const sm_shape *shapes, int n, smelt_attrs attrs, smelt_status status,
                    const char *text) {
  sm_inferred r;
  smelt_error err;
  CHECK_STATUS(infer(code, shapes, n, attrs, &r, &err), status);
  CHECK_STR(err.text, text);
  CHECK_STATUS(infer(code, shapes, n, attrs, &r, NULL), status);
}

#define GIVES(code, shape, attrs, expected) gives(SM_OP_##code, &(shape), 1, attrs, expected)
#define REFUSES(code, shape, attrs, status, text) \
  refuses(SM_OP_##code, &(shape), 1, attrs, SMELT_ERR_##status, text)

static void check_axes(sm_inferred r, int n, const int *axes) {
  CHECK_I64(r.attrs.n, n);
  for (int i = 0; i < n; i++) CHECK_I64(r.attrs.axes[i], axes[i]);
}
#define CHECK_AXES(r, ...) check_axes(r, (int)LENGTH(int, __VA_ARGS__), (int[]){__VA_ARGS__})

/* --- Shapes that are given ---------------------------------------------------------------- */

TEST(reshape) {
  GIVES(RESHAPE, SHAPE(2, 3), DIMS(3, 2), "f32[3,2]");
  GIVES(RESHAPE, SHAPE(2, 3), DIMS(-1), "f32[6]");
  GIVES(RESHAPE, SHAPE(2, 3), DIMS(2, -1, 1), "f32[2,3,1]");
  GIVES(RESHAPE, SCALAR, DIMS(1, -1), "f32[1,1]");
  GIVES(RESHAPE, SHAPE(1, 1), nothing, "f32[]");
  GIVES(RESHAPE, SHAPE(0, 3), DIMS(-1), "f32[0]");
  GIVES(RESHAPE, SHAPE(0, 3), DIMS(7, -1), "f32[7,0]");
  GIVES(RESHAPE, SHAPE(0, 3), DIMS(5, 0, 2), "f32[5,0,2]");
  REFUSES(RESHAPE, SHAPE(2, 3), DIMS(4, 2), SHAPE,
          "reshape(f32[2,3]): f32[4,2] has another number of elements");
  REFUSES(RESHAPE, SHAPE(2, 3), DIMS(-1, -1), SHAPE, "reshape(f32[2,3]): more than one extent is -1");
  REFUSES(RESHAPE, SHAPE(2, 3), DIMS(4, -1), SHAPE,
          "reshape(f32[2,3]): no extent in place of -1 gives 6 elements");
  REFUSES(RESHAPE, SHAPE(2, 3), DIMS(0, -1), SHAPE,
          "reshape(f32[2,3]): no extent in place of -1 gives 6 elements");
  REFUSES(RESHAPE, SHAPE(0, 3), DIMS(0, -1), SHAPE,
          "reshape(f32[0,3]): no extent in place of -1 gives 0 elements");
  REFUSES(RESHAPE, SHAPE(2, 3), DIMS(-2, -3), SHAPE, "reshape(f32[2,3]): extent -2 of axis 0 is negative");
  REFUSES(RESHAPE, SHAPE(2, 3), nothing, SHAPE, "reshape(f32[2,3]): f32[] has another number of elements");
  REFUSES(RESHAPE, SHAPE(6), DIMS(1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 6), SHAPE,
          "reshape(f32[6]): rank 17 is not between 0 and 16");
}

TEST(reshape_does_not_overflow) {
  smelt_attrs no_dims = {.size = sizeof no_dims, .rank = 2}, negative = {.size = sizeof negative, .rank = -1};
  REFUSES(RESHAPE, SHAPE(1), DIMS(INT64_MAX, INT64_MAX, -1), SHAPE,
          "reshape(f32[1]): f32[9223372036854775807,9223372036854775807,1] is too large");
  REFUSES(RESHAPE, SHAPE(0), DIMS((int64_t)1 << 50, (int64_t)1 << 20, 0), SHAPE,
          "reshape(f32[0]): f32[1125899906842624,1048576,0] is too large");
  GIVES(RESHAPE, SHAPE((int64_t)1 << 54), DIMS((int64_t)1 << 27, -1), "f32[134217728,134217728]");
  REFUSES(RESHAPE, SHAPE(1), no_dims, ARGUMENT, "reshape(f32[1]): dims is NULL");
  REFUSES(RESHAPE, SHAPE(1), negative, SHAPE, "reshape(f32[1]): rank -1 is not between 0 and 16");
}

TEST(broadcast_to) {
  GIVES(BROADCAST_TO, SHAPE(3), DIMS(2, 3), "f32[2,3]");
  GIVES(BROADCAST_TO, SHAPE(2, 1), DIMS(2, 0), "f32[2,0]");
  GIVES(BROADCAST_TO, SCALAR, DIMS(4), "f32[4]");
  GIVES(BROADCAST_TO, SCALAR, nothing, "f32[]");
  REFUSES(BROADCAST_TO, SHAPE(2, 3), DIMS(3), SHAPE, "broadcast_to(f32[2,3]): does not broadcast to f32[3]");
  REFUSES(BROADCAST_TO, SHAPE(2, 3), DIMS(2, 1), SHAPE,
          "broadcast_to(f32[2,3]): does not broadcast to f32[2,1]");
  REFUSES(BROADCAST_TO, SHAPE(3), DIMS(2, -1), SHAPE,
          "broadcast_to(f32[3]): extent -1 of axis 1 is negative");
  REFUSES(BROADCAST_TO, SHAPE(1), DIMS((int64_t)1 << 60), SHAPE,
          "broadcast_to(f32[1]): f32[1152921504606846976] is too large");
}

/* --- Axes ----------------------------------------------------------------------------------- */

TEST(squeeze) {
  CHECK_AXES(GIVES(SQUEEZE, SHAPE(1, 2, 1, 3), nothing, "f32[2,3]"), 0, 2);
  CHECK_AXES(GIVES(SQUEEZE, SHAPE(1, 2, 1, 3), AXES(-2), "f32[1,2,3]"), 2);
  CHECK_AXES(GIVES(SQUEEZE, SHAPE(1, 2, 1, 3), AXES(2, -4), "f32[2,3]"), 0, 2);
  CHECK_I64(GIVES(SQUEEZE, SHAPE(2, 0), nothing, "f32[2,0]").attrs.n, 0);
  CHECK_I64(GIVES(SQUEEZE, SCALAR, nothing, "f32[]").attrs.n, 0);
  REFUSES(SQUEEZE, SHAPE(1, 2), AXES(1), SHAPE, "squeeze(f32[1,2]): axis 1 has extent 2, not 1");
  REFUSES(SQUEEZE, SHAPE(1, 2), AXES(0, 0), ARGUMENT, "squeeze(f32[1,2]): axis 0 is given twice");
  REFUSES(SQUEEZE, SHAPE(1, 2), AXES(0, 1, -1), ARGUMENT, "squeeze(f32[1,2]): axis 1 is given twice");
  REFUSES(SQUEEZE, SHAPE(1, 2), AXES(2), ARGUMENT, "squeeze(f32[1,2]): axis 2 is not between -2 and 1");
  REFUSES(SQUEEZE, SHAPE(1), AXES(0, 1), ARGUMENT, "squeeze(f32[1]): axis 1 is not between -1 and 0");
  REFUSES(SQUEEZE, SCALAR, AXES(0), ARGUMENT, "squeeze(f32[]): there is no axis 0, nor any other");
}

TEST(expand_dims) {
  CHECK_AXES(GIVES(EXPAND_DIMS, SHAPE(2, 3), AXES(0), "f32[1,2,3]"), 0);
  CHECK_AXES(GIVES(EXPAND_DIMS, SHAPE(2, 3), AXES(-1), "f32[2,3,1]"), 2);
  CHECK_AXES(GIVES(EXPAND_DIMS, SCALAR, AXES(0), "f32[1]"), 0);
  REFUSES(EXPAND_DIMS, SHAPE(2, 3), AXES(3), ARGUMENT,
          "expand_dims(f32[2,3]): axis 3 is not between -3 and 2");
  REFUSES(EXPAND_DIMS, SHAPE(2, 3), AXES(0, 1), ARGUMENT, "expand_dims(f32[2,3]): 1 axis has to be given");
  REFUSES(EXPAND_DIMS, SHAPE(2, 3), nothing, ARGUMENT, "expand_dims(f32[2,3]): 1 axis has to be given");
  REFUSES(EXPAND_DIMS, SHAPE(1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1), AXES(16), SHAPE,
          "expand_dims(f32[1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1]): rank 17 is not between 0 and 16");
}

TEST(permute_dims) {
  CHECK_AXES(GIVES(PERMUTE_DIMS, SHAPE(2, 3, 4), AXES(2, 0, 1), "f32[4,2,3]"), 2, 0, 1);
  CHECK_AXES(GIVES(PERMUTE_DIMS, SHAPE(2, 3, 4), AXES(-1, -3, 1), "f32[4,2,3]"), 2, 0, 1);
  CHECK_AXES(GIVES(PERMUTE_DIMS, SHAPE(2, 3, 4), nothing, "f32[4,3,2]"), 2, 1, 0);
  CHECK_I64(GIVES(PERMUTE_DIMS, SCALAR, nothing, "f32[]").attrs.n, 0);
  REFUSES(PERMUTE_DIMS, SHAPE(2, 3), AXES(1), ARGUMENT, "permute_dims(f32[2,3]): 2 axes have to be given");
  REFUSES(PERMUTE_DIMS, SHAPE(2, 3), AXES(1, -1), ARGUMENT, "permute_dims(f32[2,3]): axis 1 is given twice");
  REFUSES(PERMUTE_DIMS, SHAPE(2, 3), AXES(0, -3), ARGUMENT,
          "permute_dims(f32[2,3]): axis -3 is not between -2 and 1");
  REFUSES(PERMUTE_DIMS, SHAPE(2, 3), AXES(INT32_MIN, INT32_MAX), ARGUMENT,
          "permute_dims(f32[2,3]): axis -2147483648 is not between -2 and 1");
}

TEST(swapaxes) {
  CHECK_AXES(GIVES(SWAPAXES, SHAPE(2, 3, 4), AXES(-1, 0), "f32[4,3,2]"), 0, 2);
  CHECK_AXES(GIVES(SWAPAXES, SHAPE(2, 3, 4), AXES(1, 1), "f32[2,3,4]"), 1, 1);
  REFUSES(SWAPAXES, SHAPE(2, 3), AXES(0, 2), ARGUMENT, "swapaxes(f32[2,3]): axis 2 is not between -2 and 1");
  REFUSES(SWAPAXES, SCALAR, AXES(0, 0), ARGUMENT, "swapaxes(f32[]): there is no axis 0, nor any other");
  REFUSES(SWAPAXES, SHAPE(2, 3), AXES(0), ARGUMENT, "swapaxes(f32[2,3]): 2 axes have to be given");
}

TEST(flip) {
  CHECK_AXES(GIVES(FLIP, SHAPE(2, 3), nothing, "f32[2,3]"), 0, 1);
  CHECK_AXES(GIVES(FLIP, SHAPE(2, 3, 4), AXES(-1, 0), "f32[2,3,4]"), 0, 2);
  CHECK_I64(GIVES(FLIP, SCALAR, nothing, "f32[]").attrs.n, 0);
  REFUSES(FLIP, SHAPE(2, 3), AXES(0, -2), ARGUMENT, "flip(f32[2,3]): axis 0 is given twice");
}

/* --- Ranges ------------------------------------------------------------------------------------ */

/* What a range of ten places is, and how many. */
static void check_range(smelt_range given, smelt_range canonical, int64_t n) {
  char expected[32];
  (void)snprintf(expected, sizeof expected, "f32[%d]", (int)n);
  sm_inferred r = GIVES(SLICE, SHAPE(10), RANGES(given), expected);
  CHECK_I64(r.attrs.ranges[0].start, canonical.start);
  CHECK_I64(r.attrs.ranges[0].stop, canonical.stop);
  CHECK_I64(r.attrs.ranges[0].step, canonical.step);
}
#define RANGE(...) \
  (smelt_range) { __VA_ARGS__ }

TEST(ranges_are_pythons) {
  check_range(RANGE(A, A, A), RANGE(0, 10, 1), 10);
  check_range(RANGE(2, 8, 1), RANGE(2, 8, 1), 6);
  check_range(RANGE(2, 8, 2), RANGE(2, 7, 2), 3);
  check_range(RANGE(-3, A, A), RANGE(7, 10, 1), 3);
  check_range(RANGE(A, -3, A), RANGE(0, 7, 1), 7);
  check_range(RANGE(-100, 100, 3), RANGE(0, 10, 3), 4);
  check_range(RANGE(A, A, -1), RANGE(9, A, -1), 10);
  check_range(RANGE(8, 2, -2), RANGE(8, 3, -2), 3);
  check_range(RANGE(8, A, -4), RANGE(8, A, -4), 3);
  check_range(RANGE(100, -100, -4), RANGE(9, 0, -4), 3);
  check_range(RANGE(A, 0, -1), RANGE(9, 0, -1), 9);
  check_range(RANGE(0, -10, -1), RANGE(0, 0, 1), 0);
  check_range(RANGE(0, -11, -1), RANGE(0, 1, 1), 1);
  check_range(RANGE(5, 6, -3), RANGE(0, 0, 1), 0);
  check_range(RANGE(6, 5, 3), RANGE(0, 0, 1), 0);
  check_range(RANGE(5, 5, 1), RANGE(0, 0, 1), 0);
  check_range(RANGE(10, A, 1), RANGE(0, 0, 1), 0);
  check_range(RANGE(9, A, 7), RANGE(9, 10, 1), 1);
  check_range(RANGE(9, A, INT64_MAX), RANGE(9, 10, 1), 1);
  check_range(RANGE(A, A, -INT64_MAX), RANGE(9, 10, 1), 1);
  check_range(RANGE(-INT64_MAX, INT64_MAX, 1), RANGE(0, 10, 1), 10);
  check_range(RANGE(INT64_MAX, -INT64_MAX, -3), RANGE(9, A, -3), 4);
}

TEST(slice) {
  GIVES(SLICE, SHAPE(2, 3, 4), RANGES(RANGE(A, 1, 1), RANGE(A, A, -2)), "f32[1,2,4]");
  GIVES(SLICE, SHAPE(0, 4), RANGES(RANGE(A, A, -1)), "f32[0,4]");
  GIVES(SLICE, SCALAR, nothing, "f32[]");
  REFUSES(SLICE, SHAPE(2), RANGES(RANGE(A, A, A), RANGE(A, A, A)), ARGUMENT,
          "slice(f32[2]): 2 ranges for 1 axes");
  REFUSES(SLICE, SHAPE(2, 2), RANGES(RANGE(A, A, A), RANGE(0, 1, 0)), ARGUMENT,
          "slice(f32[2,2]): the step of axis 1 is zero");
  smelt_attrs null = {.size = sizeof null, .n_ranges = 1};
  REFUSES(SLICE, SHAPE(2), null, ARGUMENT, "slice(f32[2]): ranges is NULL");
}

/* --- Selections --------------------------------------------------------------------------------- */

#define SHAPES(...) (sm_shape[]){__VA_ARGS__}, (int)LENGTH(sm_shape, __VA_ARGS__)

TEST(take) {
  CHECK_AXES(gives(SM_OP_TAKE, SHAPES(SHAPE(2, 3, 4), SHAPE(5, 6)), AXES(-2), "f32[2,5,6,4]"), 1);
  gives(SM_OP_TAKE, SHAPES(SHAPE(3), SCALAR), AXES(0), "f32[]");
  gives(SM_OP_TAKE, SHAPES(SHAPE(0, 3), SHAPE(0)), AXES(0), "f32[0,3]");
  refuses(SM_OP_TAKE, SHAPES(SHAPE(0, 3), SHAPE(2)), AXES(0), SMELT_ERR_SHAPE,
          "take(f32[0,3], i64[2]): axis 0 is empty, so that no index fits");
  refuses(SM_OP_TAKE, SHAPES(SCALAR, SHAPE(2)), AXES(0), SMELT_ERR_ARGUMENT,
          "take(f32[], i64[2]): there is no axis 0, nor any other");
  refuses(SM_OP_TAKE, SHAPES(SHAPE(1, 1, 1, 1, 1, 1, 1, 1, 1, 1), SHAPE(1, 1, 1, 1, 1, 1, 1, 1, 1, 1)),
          AXES(0), SMELT_ERR_SHAPE,
          "take(f32[1,1,1,1,1,1,1,1,1,1], i64[1,1,1,1,1,1,1,1,1,1]): rank 19 is not between 0 and 16");
  refuses(SM_OP_TAKE, SHAPES(SHAPE(2), SHAPE((int64_t)1 << 40, (int64_t)1 << 13)), nothing,
          SMELT_ERR_ARGUMENT, "take(f32[2], i64[1099511627776,8192]): 1 axis has to be given");
  refuses(SM_OP_TAKE, SHAPES(SHAPE((int64_t)1 << 30, 2), SHAPE((int64_t)1 << 54)), AXES(1), SMELT_ERR_SHAPE,
          "take(f32[1073741824,2], i64[18014398509481984]): f32[1073741824,18014398509481984] is too large");
  index_dtype = SMELT_F32;
  refuses(SM_OP_TAKE, SHAPES(SHAPE(2), SHAPE(2)), AXES(0), SMELT_ERR_DTYPE,
          "take(f32[2], f32[2]): the indices have to be integers");
  index_dtype = SMELT_BOOL;
  refuses(SM_OP_TAKE, SHAPES(SHAPE(2), SHAPE(2)), AXES(0), SMELT_ERR_DTYPE,
          "take(f32[2], bool[2]): the indices have to be integers");
  index_dtype = SMELT_U8;
  CHECK_I64(gives(SM_OP_TAKE, SHAPES(SHAPE(2), SHAPE(2)), AXES(0), "f32[2]").operand[1], SMELT_U8);
}

TEST(take_along_axis) {
  CHECK_AXES(gives(SM_OP_TAKE_ALONG_AXIS, SHAPES(SHAPE(2, 3), SHAPE(2, 5)), AXES(-1), "f32[2,5]"), 1);
  gives(SM_OP_TAKE_ALONG_AXIS, SHAPES(SHAPE(2, 1, 3), SHAPE(1, 4, 7)), AXES(2), "f32[2,4,7]");
  gives(SM_OP_TAKE_ALONG_AXIS, SHAPES(SHAPE(2, 0), SHAPE(2, 0)), AXES(1), "f32[2,0]");
  refuses(SM_OP_TAKE_ALONG_AXIS, SHAPES(SHAPE(2, 3), SHAPE(3)), AXES(1), SMELT_ERR_SHAPE,
          "take_along_axis(f32[2,3], i64[3]): the indices have 1 axes, not 2");
  refuses(SM_OP_TAKE_ALONG_AXIS, SHAPES(SHAPE(2, 3), SHAPE(3, 3)), AXES(1), SMELT_ERR_SHAPE,
          "take_along_axis(f32[2,3], i64[3,3]): apart from axis 1 the shapes do not broadcast");
  refuses(SM_OP_TAKE_ALONG_AXIS, SHAPES(SHAPE(2, 0), SHAPE(2, 1)), AXES(1), SMELT_ERR_SHAPE,
          "take_along_axis(f32[2,0], i64[2,1]): axis 1 is empty, so that no index fits");
}

TEST(concat) {
  CHECK_AXES(gives(SM_OP_CONCAT, SHAPES(SHAPE(2, 3), SHAPE(4, 3), SHAPE(0, 3)), AXES(-2), "f32[6,3]"), 0);
  gives(SM_OP_CONCAT, SHAPES(SHAPE(2, 3)), AXES(1), "f32[2,3]");
  refuses(SM_OP_CONCAT, SHAPES(SHAPE(2, 3), SHAPE(2, 4)), AXES(0), SMELT_ERR_SHAPE,
          "concat(f32[2,3], f32[2,4]): the shapes differ in more than axis 0");
  refuses(SM_OP_CONCAT, SHAPES(SHAPE(2), SHAPE(2, 1)), AXES(0), SMELT_ERR_SHAPE,
          "concat(f32[2], f32[2,1]): the shapes differ in more than axis 0");
  refuses(SM_OP_CONCAT, SHAPES(SCALAR, SCALAR), AXES(0), SMELT_ERR_ARGUMENT,
          "concat(f32[], f32[]): there is no axis 0, nor any other");
  refuses(SM_OP_CONCAT, SHAPES(SHAPE((int64_t)1 << 54), SHAPE(1)), AXES(0), SMELT_ERR_SHAPE,
          "concat(f32[18014398509481984], f32[1]): f32[18014398509481985] is too large");
  refuses(SM_OP_CONCAT, NULL, 0, AXES(0), SMELT_ERR_ARGUMENT, "concat takes 1 to 8 operands, not 0");
  refuses(SM_OP_CONCAT, (sm_shape[9]){{0}}, 9, AXES(0), SMELT_ERR_ARGUMENT,
          "concat takes 1 to 8 operands, not 9");
}

TEST(concat_promotes) {
  sm_shape shape = SHAPE(2);
  smelt_attrs attrs = AXES(0);
  sm_call_operand operands[] = {{.dtype = SMELT_I8, .shape = &shape}, {.dtype = SMELT_U8, .shape = &shape}};
  sm_inferred r;
  smelt_error err;
  CHECK_OK(sm_infer(sm_op_row_of(SM_OP_CONCAT), operands, 2, &attrs, &r, &err), err);
  CHECK_I64(r.dtype, SMELT_I16);
  CHECK(r.operand[0] == SMELT_I16 && r.operand[1] == SMELT_I16);
  operands[1].dtype = SMELT_BOOL;
  CHECK_STATUS(sm_infer(sm_op_row_of(SM_OP_CONCAT), operands, 2, &attrs, &r, &err), SMELT_ERR_DTYPE);
  CHECK_STR(err.text, "concat(i8[2], bool[2]): no common dtype; convert with astype");
}

/* --- Reductions -------------------------------------------------------------------------------- */

TEST(reductions) {
  smelt_attrs kept = AXES(-1), sum = AXES(1);
  kept.keepdims = true;
  sum.dtype = SMELT_F64;
  CHECK_AXES(GIVES(MAX, SHAPE(2, 3), nothing, "f32[]"), 0, 1);
  CHECK_AXES(GIVES(MEAN, SHAPE(2, 3, 4), AXES(-1, 0), "f32[3]"), 0, 2);
  CHECK(GIVES(MAX, SHAPE(2, 3), kept, "f32[2,1]").attrs.keepdims);
  GIVES(MAX, SCALAR, nothing, "f32[]");
  GIVES(ANY, SHAPE(0, 3), AXES(0), "bool[3]");
  GIVES(ARGMIN, SHAPE(2, 3), AXES(0), "i64[3]");
  GIVES(VAR, SHAPE(2, 3), AXES(0), "f32[3]");
  GIVES(LAYER_NORM, SHAPE(2, 3), nothing, "f32[2,3]");
  CHECK_I64(GIVES(SUM, SHAPE(2, 3), sum, "f64[2]").operand[0], SMELT_F64);
  CHECK_I64(GIVES(ALL, SHAPE(2, 3), nothing, "bool[]").operand[0], SMELT_BOOL);
  REFUSES(MIN, SHAPE(0, 3), AXES(0), SHAPE, "min(f32[0,3]): axis 0 is empty, so that there is no element");
  GIVES(MIN, SHAPE(0, 3), AXES(1), "f32[0]");
  REFUSES(MAX, SHAPE(2), AXES(0, -1), ARGUMENT, "max(f32[2]): axis 0 is given twice");
  REFUSES(SOFTMAX, SHAPE(2), nothing, ARGUMENT, "softmax(f32[2]): an axis has to be given");
}

/* What only moves or reduces elements has no dtype for weak scalars. */
TEST(weak_scalars_are_refused) {
  sm_call_operand operands[2] = {{.is_scalar = true, .scalar = {.kind = SM_KIND_SINT}},
                                 {.is_scalar = true, .scalar = {.kind = SM_KIND_SINT}}};
  for (int code = 0; code < SM_OP_COUNT; code++) {
    const sm_op_row *row = sm_op_row_of((sm_opcode)code);
    sm_inferred r;
    smelt_error err;
    if (row->class == SM_CLASS_ELEMENTWISE) continue;
    CHECK(!sm_op_folds_scalars(sm_op_row_of((sm_opcode)code)));
    CHECK_STATUS(
        sm_infer(sm_op_row_of((sm_opcode)code), operands, (int)strlen(row->operands), &nothing, &r, &err),
        SMELT_ERR_ARGUMENT);
    CHECK_CONTAINS(err.text, "the operands have to be tensors");
  }
}

TEST_MAIN(CASE(reshape), CASE(reshape_does_not_overflow), CASE(broadcast_to), CASE(squeeze),
          CASE(expand_dims), CASE(permute_dims), CASE(swapaxes), CASE(flip), CASE(ranges_are_pythons),
          CASE(slice), CASE(take), CASE(take_along_axis), CASE(concat), CASE(concat_promotes),
          CASE(reductions), CASE(weak_scalars_are_refused))
