/* SPDX-License-Identifier: Apache-2.0
 *
 * Inference: dtypes, scalars, shapes and lengths of results, and errors that
 * name the operation. */
#include <math.h>
#include <string.h>

#include "core/limits.h"
#include "harness.h"
#include "ir/infer.h"

#define DIMS(...) \
  (int)(sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t)), (int64_t[]) { __VA_ARGS__ }
#define OPERANDS(...) \
  (sm_call_operand[]){__VA_ARGS__}, (int)(sizeof((sm_call_operand[]){__VA_ARGS__}) / sizeof(sm_call_operand))

static sm_shape shapes[64];
static int n_shapes;

static sm_call_operand tensor(smelt_dtype dtype, int rank, const int64_t *dims) {
  sm_shape *s = &shapes[n_shapes++ % 64];
  *s = (sm_shape){.rank = rank};
  if (rank) memcpy(s->dims, dims, (size_t)rank * sizeof *dims);
  return (sm_call_operand){.dtype = dtype, .shape = s};
}

static sm_call_operand scalar(smelt_dtype dtype) { return tensor(dtype, 0, NULL); }

static sm_call_operand f64(double v) {
  return (sm_call_operand){.is_scalar = true, .scalar = {SM_KIND_FLOAT, {.f64 = v}}};
}
static sm_call_operand i64(int64_t v) {
  return (sm_call_operand){.is_scalar = true, .scalar = {SM_KIND_SINT, {.i64 = v}}};
}
static sm_call_operand u64(uint64_t v) {
  return (sm_call_operand){.is_scalar = true, .scalar = {SM_KIND_UINT, {.u64 = v}}};
}
static sm_call_operand truth(bool v) {
  return (sm_call_operand){.is_scalar = true, .scalar = {SM_KIND_BOOL, {.b = v}}};
}

static sm_inferred infer(sm_opcode code, const sm_call_operand *operands, int n) {
  sm_inferred out;
  smelt_error err;
  CHECK_OK(sm_infer(sm_op_row_of(code), operands, n, NULL, &out, &err), err);
  return out;
}

static void refuses(sm_opcode code, const sm_call_operand *operands, int n, smelt_status status,
                    const char *text) {
  sm_inferred out;
  smelt_error err;
  CHECK_STATUS(sm_infer(sm_op_row_of(code), operands, n, NULL, &out, &err), status);
  CHECK_STR(err.text, text);
  CHECK_STATUS(sm_infer(sm_op_row_of(code), operands, n, NULL, &out, NULL), status);
}

/* --- Dtypes ------------------------------------------------------------------------- */

TEST(tensors_promote) {
  sm_inferred r = infer(SM_OP_ADD, OPERANDS(tensor(SMELT_I8, DIMS(2)), tensor(SMELT_U16, DIMS(2))));
  CHECK_I64(r.dtype, SMELT_I32);
  CHECK_I64(r.operand[0], SMELT_I32);
  CHECK_I64(r.operand[1], SMELT_I32);
  r = infer(SM_OP_LESS, OPERANDS(scalar(SMELT_F32), scalar(SMELT_F64)));
  CHECK_I64(r.dtype, SMELT_BOOL);
  CHECK_I64(r.operand[0], SMELT_F64);
  r = infer(SM_OP_WHERE, OPERANDS(scalar(SMELT_BOOL), scalar(SMELT_U8), scalar(SMELT_U32)));
  CHECK_I64(r.dtype, SMELT_U32);
  CHECK_I64(r.operand[0], SMELT_BOOL);
  CHECK_I64(r.operand[1], SMELT_U32);
  r = infer(SM_OP_CLIP, OPERANDS(scalar(SMELT_I8), scalar(SMELT_U8), scalar(SMELT_I16)));
  CHECK_I64(r.dtype, SMELT_I16);
}

TEST(promotion_that_fails) {
  refuses(SM_OP_ADD, OPERANDS(tensor(SMELT_I64, DIMS(2)), tensor(SMELT_U64, DIMS(2))), SMELT_ERR_DTYPE,
          "add(i64[2], u64[2]): no common dtype; convert with astype");
  refuses(SM_OP_MULTIPLY, OPERANDS(scalar(SMELT_F32), scalar(SMELT_I32)), SMELT_ERR_DTYPE,
          "multiply(f32[], i32[]): no common dtype; convert with astype");
  refuses(SM_OP_EQUAL, OPERANDS(scalar(SMELT_BOOL), scalar(SMELT_U8)), SMELT_ERR_DTYPE,
          "equal(bool[], u8[]): no common dtype; convert with astype");
  refuses(SM_OP_CLIP, OPERANDS(scalar(SMELT_I8), scalar(SMELT_U8), scalar(SMELT_U64)), SMELT_ERR_DTYPE,
          "clip(i8[], u8[], u64[]): no common dtype; convert with astype");
}

TEST(kinds_that_operations_want) {
  refuses(SM_OP_EXP, OPERANDS(scalar(SMELT_I32)), SMELT_ERR_DTYPE,
          "exp(i32[]): wants floats; convert with astype");
  refuses(SM_OP_DIVIDE, OPERANDS(scalar(SMELT_U8), i64(2)), SMELT_ERR_DTYPE,
          "divide(u8[], scalar): wants floats; convert with astype");
  refuses(SM_OP_ADD, OPERANDS(scalar(SMELT_BOOL), scalar(SMELT_BOOL)), SMELT_ERR_DTYPE,
          "add(bool[], bool[]): wants numbers, not bool");
  refuses(SM_OP_LOGICAL_NOT, OPERANDS(scalar(SMELT_U8)), SMELT_ERR_DTYPE, "logical_not(u8[]): wants bool");
  refuses(SM_OP_BITWISE_LEFT_SHIFT, OPERANDS(scalar(SMELT_BOOL), scalar(SMELT_BOOL)), SMELT_ERR_DTYPE,
          "bitwise_left_shift(bool[], bool[]): wants integers");
  refuses(SM_OP_BITWISE_AND, OPERANDS(scalar(SMELT_F32), scalar(SMELT_F32)), SMELT_ERR_DTYPE,
          "bitwise_and(f32[], f32[]): wants integers or bool");
  refuses(SM_OP_WHERE, OPERANDS(scalar(SMELT_U8), i64(1), i64(2)), SMELT_ERR_DTYPE,
          "where(u8[], scalar, scalar): the condition has to be bool");
  refuses(SM_OP_WHERE, OPERANDS(i64(1), scalar(SMELT_F32), scalar(SMELT_F32)), SMELT_ERR_DTYPE,
          "where(scalar, f32[], f32[]): the condition has to be bool");
}

TEST(scalars_take_the_tensors_dtype) {
  sm_inferred r = infer(SM_OP_MULTIPLY, OPERANDS(tensor(SMELT_F32, DIMS(3)), f64(0.1)));
  CHECK_I64(r.dtype, SMELT_F32);
  CHECK_F64(r.scalar[1].F32, 0.1f);
  r = infer(SM_OP_ADD, OPERANDS(i64(-128), scalar(SMELT_I8)));
  CHECK_I64(r.scalar[0].I8, -128);
  r = infer(SM_OP_LESS, OPERANDS(scalar(SMELT_F64), i64(3)));
  CHECK_F64(r.scalar[1].F64, 3);
  r = infer(SM_OP_EQUAL, OPERANDS(scalar(SMELT_BOOL), truth(true)));
  CHECK(r.scalar[1].BOOL);
  r = infer(SM_OP_WHERE, OPERANDS(truth(true), scalar(SMELT_F32), f64(2)));
  CHECK(r.scalar[0].BOOL);
  CHECK_I64(r.dtype, SMELT_F32);
}

TEST(scalars_that_do_not_fit) {
  refuses(SM_OP_ADD, OPERANDS(tensor(SMELT_U8, DIMS(2)), i64(256)), SMELT_ERR_ARGUMENT,
          "add(u8[2], scalar): scalar 256 does not fit dtype u8");
  refuses(SM_OP_ADD, OPERANDS(scalar(SMELT_U8), i64(-1)), SMELT_ERR_ARGUMENT,
          "add(u8[], scalar): scalar -1 does not fit dtype u8");
  refuses(SM_OP_ADD, OPERANDS(scalar(SMELT_I64), u64(UINT64_MAX)), SMELT_ERR_ARGUMENT,
          "add(i64[], scalar): scalar 18446744073709551615 does not fit dtype i64");
  refuses(SM_OP_ADD, OPERANDS(scalar(SMELT_I32), f64(1)), SMELT_ERR_DTYPE,
          "add(i32[], scalar): a float scalar does not go with dtype i32");
  refuses(SM_OP_MULTIPLY, OPERANDS(scalar(SMELT_F32), truth(true)), SMELT_ERR_DTYPE,
          "multiply(f32[], scalar): a bool scalar does not go with dtype f32");
}

TEST(scalars_among_themselves) {
  CHECK_I64(infer(SM_OP_ADD, OPERANDS(i64(1), i64(2))).dtype, SMELT_I64);
  CHECK_I64(infer(SM_OP_ADD, OPERANDS(i64(1), f64(2))).dtype, SMELT_F64);
  CHECK_I64(infer(SM_OP_ADD, OPERANDS(u64(UINT64_MAX), i64(2))).dtype, SMELT_U64);
  CHECK_I64(infer(SM_OP_ADD, OPERANDS(u64(UINT64_MAX), f64(2))).dtype, SMELT_F64);
  CHECK_I64(infer(SM_OP_EQUAL, OPERANDS(truth(1), truth(0))).dtype, SMELT_BOOL);
  CHECK_I64(infer(SM_OP_EXP, OPERANDS(f64(1))).dtype, SMELT_F64);
  refuses(SM_OP_EQUAL, OPERANDS(truth(1), i64(0)), SMELT_ERR_DTYPE,
          "equal(scalar, scalar): no common dtype; convert with astype");
  refuses(SM_OP_ADD, OPERANDS(u64(UINT64_MAX), i64(-1)), SMELT_ERR_ARGUMENT,
          "add(scalar, scalar): scalar -1 does not fit dtype u64");
  refuses(SM_OP_EXP, OPERANDS(i64(1)), SMELT_ERR_DTYPE, "exp(scalar): wants floats; convert with astype");
}

TEST(what_folds) {
  CHECK(sm_op_folds_scalars(sm_op_row_of(SM_OP_ADD)) && sm_op_folds_scalars(sm_op_row_of(SM_OP_EXP)) &&
        sm_op_folds_scalars(sm_op_row_of(SM_OP_WHERE)));
  CHECK(!sm_op_folds_scalars(sm_op_row_of(SM_OP_ARANGE)) && !sm_op_folds_scalars(sm_op_row_of(SM_OP_FULL)));
  CHECK(!sm_op_folds_scalars(sm_op_row_of(SM_OP_ASTYPE)) && !sm_op_folds_scalars(sm_op_row_of(SM_OP_RAND)));
}

/* --- Shapes ----------------------------------------------------------------------------- */

static void check_shape(sm_inferred r, const char *expected) {
  sm_text text;
  sm_text_init(&text, &sm_malloc_allocator);
  sm_shape_print(&text, &r.shape);
  CHECK_STR(text.data, expected);
  sm_text_free(&text);
}

TEST(shapes_broadcast) {
  check_shape(infer(SM_OP_ADD, OPERANDS(tensor(SMELT_F32, DIMS(2, 1)), tensor(SMELT_F32, DIMS(3)))), "[2,3]");
  check_shape(infer(SM_OP_ADD, OPERANDS(tensor(SMELT_F32, DIMS(2, 0)), tensor(SMELT_F32, DIMS(1, 1)))),
              "[2,0]");
  check_shape(infer(SM_OP_ADD, OPERANDS(scalar(SMELT_F32), f64(1))), "[]");
  check_shape(infer(SM_OP_WHERE, OPERANDS(tensor(SMELT_BOOL, DIMS(4, 1, 1)), tensor(SMELT_F32, DIMS(3, 1)),
                                          tensor(SMELT_F32, DIMS(2)))),
              "[4,3,2]");
  refuses(SM_OP_ADD, OPERANDS(tensor(SMELT_F32, DIMS(2, 3)), tensor(SMELT_F32, DIMS(2))), SMELT_ERR_SHAPE,
          "add(f32[2,3], f32[2]): the shapes do not broadcast");
  refuses(SM_OP_ADD, OPERANDS(tensor(SMELT_F32, DIMS(3)), tensor(SMELT_F32, DIMS(0))), SMELT_ERR_SHAPE,
          "add(f32[3], f32[0]): the shapes do not broadcast");
}

TEST(broadcast_results_have_a_limit) {
  int64_t half = (int64_t)1 << 30;
  refuses(SM_OP_ADD, OPERANDS(tensor(SMELT_U8, DIMS(half, 1)), tensor(SMELT_U8, DIMS(half))), SMELT_ERR_SHAPE,
          "add(u8[1073741824,1], u8[1073741824]): u8[1073741824,1073741824] is too large");
}

TEST(messages_hold_the_widest_operands) {
  int64_t dims[SMELT_MAX_RANK];
  for (int i = 0; i < SMELT_MAX_RANK; i++) dims[i] = INT64_MAX;
  sm_call_operand wide[3];
  for (int i = 0; i < 3; i++) wide[i] = tensor(SMELT_F32, SMELT_MAX_RANK, dims);
  wide[0].dtype = SMELT_BOOL;
  wide[1].dtype = SMELT_I32;
  sm_inferred out;
  smelt_error err;
  CHECK_STATUS(sm_infer(sm_op_row_of(SM_OP_WHERE), wide, 3, NULL, &out, &err), SMELT_ERR_DTYPE);
  CHECK_CONTAINS(err.text, "where(bool[9223372036854775807,");
  CHECK(strlen(err.text) < sizeof err.text);
}

/* --- Creation ------------------------------------------------------------------------------ */

static smelt_attrs attrs_of(smelt_dtype dtype, int rank, const int64_t *dims) {
  return (smelt_attrs){.size = sizeof(smelt_attrs), .dtype = dtype, .rank = rank, .dims = dims};
}

static smelt_status create(sm_opcode code, const sm_call_operand *operands, int n, smelt_attrs attrs,
                           sm_inferred *out, smelt_error *err) {
  return sm_infer(sm_op_row_of(code), operands, n, &attrs, out, err);
}

TEST(creation) {
  sm_inferred r;
  smelt_error err;
  CHECK_OK(create(SM_OP_ZEROS, NULL, 0, attrs_of(SMELT_BOOL, DIMS(2, 0)), &r, &err), err);
  CHECK_I64(r.dtype, SMELT_BOOL);
  check_shape(r, "[2,0]");
  CHECK_OK(create(SM_OP_FULL, OPERANDS(i64(255)), attrs_of(SMELT_U8, 0, NULL), &r, &err), err);
  CHECK_I64(r.scalar[0].U8, 255);
  check_shape(r, "[]");
  CHECK_STATUS(create(SM_OP_FULL, OPERANDS(i64(256)), attrs_of(SMELT_U8, 0, NULL), &r, &err),
               SMELT_ERR_ARGUMENT);
  CHECK_STR(err.text, "full(scalar): scalar 256 does not fit dtype u8");
  CHECK_STATUS(create(SM_OP_FULL, OPERANDS(scalar(SMELT_U8)), attrs_of(SMELT_U8, 0, NULL), &r, &err),
               SMELT_ERR_ARGUMENT);
  CHECK_STR(err.text, "full(u8[]): the operands have to be scalars");
  CHECK_STATUS(create(SM_OP_RAND, NULL, 0, attrs_of(SMELT_I32, DIMS(2)), &r, &err), SMELT_ERR_DTYPE);
  CHECK_STR(err.text, "rand(): wants floats; convert with astype");
}

TEST(attributes_that_are_wrong) {
  sm_inferred r;
  smelt_error err;
  CHECK_STATUS(create(SM_OP_ZEROS, NULL, 0, attrs_of(SMELT_F32, 17, NULL), &r, &err), SMELT_ERR_SHAPE);
  CHECK_STR(err.text, "zeros(): rank 17 is not between 0 and 16");
  CHECK_STATUS(create(SM_OP_ZEROS, NULL, 0, attrs_of(SMELT_F32, 1, NULL), &r, &err), SMELT_ERR_ARGUMENT);
  CHECK_STR(err.text, "zeros(): dims is NULL");
  CHECK_STATUS(create(SM_OP_ONES, NULL, 0, attrs_of(SMELT_F32, DIMS(2, -3)), &r, &err), SMELT_ERR_SHAPE);
  CHECK_STR(err.text, "ones(): extent -3 of axis 1 is negative");
  CHECK_STATUS(create(SM_OP_ONES, NULL, 0, attrs_of((smelt_dtype)99, DIMS(2)), &r, &err), SMELT_ERR_DTYPE);
  CHECK_STR(err.text, "ones: 99 is not a dtype");
  CHECK_STATUS(sm_infer(sm_op_row_of(SM_OP_ZEROS), NULL, 0, NULL, &r, &err), SMELT_ERR_ARGUMENT);
  CHECK_STR(err.text, "zeros needs attributes");
  smelt_attrs cut = attrs_of(SMELT_F32, 0, NULL);
  cut.size--;
  CHECK_STATUS(sm_infer(sm_op_row_of(SM_OP_ASTYPE), OPERANDS(scalar(SMELT_F32)), &cut, &r, &err),
               SMELT_ERR_ARGUMENT);
  CHECK_STR(err.text, "astype needs attributes");
}

/* Every operation with every other number of operands: named, never followed. */
TEST(wrong_arity) {
  smelt_attrs attrs = attrs_of(SMELT_F32, 0, NULL);
  for (int code = 0; code < SM_OP_COUNT; code++) {
    const sm_op_row *row = sm_op_row_of((sm_opcode)code);
    for (int n = 0; n <= SM_MAX_OPERANDS; n++) {
      sm_inferred out;
      smelt_error err;
      if (sm_op_takes(row, n)) continue;
      CHECK_STATUS(sm_infer(sm_op_row_of((sm_opcode)code), NULL, n, &attrs, &out, &err), SMELT_ERR_ARGUMENT);
      CHECK(strncmp(err.text, row->name, strlen(row->name)) == 0);
      CHECK_CONTAINS(err.text, " takes ");
    }
  }
}

/* --- Arange --------------------------------------------------------------------------------- */

static int64_t length(sm_call_operand start, sm_call_operand stop, sm_call_operand step, smelt_dtype dtype) {
  sm_inferred r;
  smelt_error err;
  CHECK_OK(create(SM_OP_ARANGE, OPERANDS(start, stop, step), attrs_of(dtype, 0, NULL), &r, &err), err);
  CHECK_I64(r.shape.rank, 1);
  return r.shape.dims[0];
}

TEST(arange_of_integers) {
  CHECK_I64(length(i64(0), i64(5), i64(1), SMELT_I64), 5);
  CHECK_I64(length(i64(0), i64(5), i64(2), SMELT_I64), 3);
  CHECK_I64(length(i64(0), i64(6), i64(2), SMELT_I64), 3);
  CHECK_I64(length(i64(5), i64(0), i64(-1), SMELT_I64), 5);
  CHECK_I64(length(i64(5), i64(0), i64(-2), SMELT_I64), 3);
  CHECK_I64(length(i64(5), i64(-1), i64(-6), SMELT_I64), 1);
  CHECK_I64(length(i64(5), i64(-2), i64(-6), SMELT_I64), 2);
  CHECK_I64(length(i64(5), i64(5), i64(1), SMELT_I64), 0);
  CHECK_I64(length(i64(5), i64(0), i64(1), SMELT_I64), 0);
  CHECK_I64(length(i64(0), i64(5), i64(-1), SMELT_I64), 0);
  CHECK_I64(length(i64(0), i64(1), i64(INT64_MAX), SMELT_I64), 1);
  CHECK_I64(length(i64(0), i64(-1), i64(INT64_MIN), SMELT_I64), 1);
}

/* Neighbours beyond 2^53 are told apart. */
TEST(arange_of_large_integers) {
  CHECK_I64(length(i64(INT64_MAX - 3), i64(INT64_MAX), i64(1), SMELT_I64), 3);
  CHECK_I64(length(i64(INT64_MIN + 3), i64(INT64_MIN), i64(-1), SMELT_I64), 3);
  CHECK_I64(length(i64(INT64_MIN), i64(INT64_MAX), i64(INT64_MAX), SMELT_I64), 3);
  CHECK_I64(length(i64(INT64_MAX), i64(INT64_MIN), i64(INT64_MIN), SMELT_I64), 2);
  CHECK_I64(length(i64(1), i64(((int64_t)1 << 53) + 2), i64((int64_t)1 << 53), SMELT_I64), 2);
}

TEST(arange_of_floats) {
  CHECK_I64(length(f64(0), f64(1), f64(0.1), SMELT_F64), 10);
  CHECK_I64(length(f64(0), f64(1), f64(0.3), SMELT_F32), 4);
  CHECK_I64(length(f64(1), f64(0), f64(-0.25), SMELT_F32), 4);
  CHECK_I64(length(i64(0), f64(2.5), i64(1), SMELT_F32), 3);
  CHECK_I64(length(f64(0), f64(1), f64(-0.1), SMELT_F32), 0);
  CHECK_I64(length(f64(0), f64(5e-324), f64(1), SMELT_F64), 1);
  CHECK_I64(length(f64(-0.0), f64(0.0), f64(1), SMELT_F64), 0);
}

static void refuses_arange(sm_call_operand start, sm_call_operand stop, sm_call_operand step,
                           smelt_dtype dtype, smelt_status status, const char *text) {
  sm_inferred r;
  smelt_error err;
  CHECK_STATUS(create(SM_OP_ARANGE, OPERANDS(start, stop, step), attrs_of(dtype, 0, NULL), &r, &err), status);
  CHECK_STR(err.text, text);
}

/* Elements have to fit the dtype; the stop is none. */
TEST(arange_up_to_the_last_number) {
  CHECK_I64(length(i64(0), i64(256), i64(1), SMELT_U8), 256);
  CHECK_I64(length(i64(55), i64(256), i64(200), SMELT_U8), 2);
  CHECK_I64(length(i64(127), i64(-129), i64(-1), SMELT_I8), 256);
  CHECK_I64(length(i64(0), f64(2.5), i64(1), SMELT_I32), 3);
  CHECK_I64(length(i64(0), i64(-1), i64(1), SMELT_U8), 0);
  const char *text = "arange(scalar, scalar, scalar): the last element does not fit dtype u8";
  refuses_arange(i64(0), i64(257), i64(1), SMELT_U8, SMELT_ERR_ARGUMENT, text);
  refuses_arange(i64(0), f64(256.5), i64(1), SMELT_U8, SMELT_ERR_ARGUMENT, text);
}

TEST(arange_that_has_no_length) {
  refuses_arange(i64(0), i64(5), i64(0), SMELT_I64, SMELT_ERR_ARGUMENT,
                 "arange(scalar, scalar, scalar): step is zero");
  refuses_arange(f64(0), f64(5), f64(-0.0), SMELT_F64, SMELT_ERR_ARGUMENT,
                 "arange(scalar, scalar, scalar): step is zero");
  static const double wild[] = {NAN, INFINITY, -INFINITY};
  for (int i = 0; i < 3; i++) {
    const char *text = "arange(scalar, scalar, scalar): start, stop or step is not finite";
    refuses_arange(f64(wild[i]), f64(5), f64(1), SMELT_F64, SMELT_ERR_ARGUMENT, text);
    refuses_arange(f64(0), f64(wild[i]), f64(1), SMELT_F64, SMELT_ERR_ARGUMENT, text);
    refuses_arange(f64(0), f64(5), f64(wild[i]), SMELT_F64, SMELT_ERR_ARGUMENT, text);
  }
}

TEST(arange_that_is_too_long) {
  const char *text = "arange(scalar, scalar, scalar): the result is too large";
  refuses_arange(i64(0), i64(INT64_MAX), i64(1), SMELT_I64, SMELT_ERR_SHAPE, text);
  refuses_arange(i64(INT64_MIN), i64(INT64_MAX), i64(1), SMELT_I64, SMELT_ERR_SHAPE, text);
  refuses_arange(i64(INT64_MAX), i64(INT64_MIN), i64(-1), SMELT_I64, SMELT_ERR_SHAPE, text);
  refuses_arange(i64(0), i64(INT64_MIN), i64(-1), SMELT_I64, SMELT_ERR_SHAPE, text);
  refuses_arange(u64((uint64_t)1 << 63), u64(0), i64(-1), SMELT_U64, SMELT_ERR_ARGUMENT,
                 "arange(scalar, scalar, scalar): scalar -1 does not fit dtype u64");
  refuses_arange(f64(0), f64(1e300), f64(1e-300), SMELT_F64, SMELT_ERR_SHAPE, text);
  refuses_arange(i64(0), i64(SM_MAX_TENSOR_BYTES / 8 + 1), i64(1), SMELT_I64, SMELT_ERR_SHAPE,
                 "arange(scalar, scalar, scalar): i64[9007199254740993] is too large");
}

TEST(arange_wants_numbers_that_fit) {
  refuses_arange(f64(0), i64(5), i64(1), SMELT_I32, SMELT_ERR_DTYPE,
                 "arange(scalar, scalar, scalar): a float scalar does not go with dtype i32");
  refuses_arange(i64(0), i64(5), i64(1), SMELT_BOOL, SMELT_ERR_DTYPE,
                 "arange(scalar, scalar, scalar): wants numbers, not bool");
  refuses_arange(i64(5), i64(0), i64(-1), SMELT_U8, SMELT_ERR_ARGUMENT,
                 "arange(scalar, scalar, scalar): scalar -1 does not fit dtype u8");
}

TEST_MAIN(CASE(tensors_promote), CASE(promotion_that_fails), CASE(kinds_that_operations_want),
          CASE(scalars_take_the_tensors_dtype), CASE(scalars_that_do_not_fit), CASE(scalars_among_themselves),
          CASE(what_folds), CASE(shapes_broadcast), CASE(broadcast_results_have_a_limit),
          CASE(messages_hold_the_widest_operands), CASE(creation), CASE(attributes_that_are_wrong),
          CASE(wrong_arity), CASE(arange_of_integers), CASE(arange_of_large_integers), CASE(arange_of_floats),
          CASE(arange_up_to_the_last_number), CASE(arange_that_has_no_length), CASE(arange_that_is_too_long),
          CASE(arange_wants_numbers_that_fit))
