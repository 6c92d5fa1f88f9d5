/* SPDX-License-Identifier: Apache-2.0
 *
 * Segments: the verifier finds each broken invariant, and liveness finds dead
 * records. */
#include <string.h>

#include "harness.h"
#include "ir/liveness.h"
#include "ir/op.h"

static uint32_t add_source(sm_segment *seg, smelt_dtype dtype, int64_t extent, bool live) {
  sm_value value = {.id = seg->values.len + 1, .dtype = dtype, .shape = {1, {extent}}, .live = live};
  uint32_t index = 0;
  CHECK(sm_segment_add_source(seg, &value, &index));
  return index;
}

static sm_operand use(const sm_segment *seg, uint32_t value, sm_status status) {
  return (sm_operand){.use = {value, (uint8_t)status}, .dtype = seg->values.items[value].dtype};
}

static uint32_t append(sm_segment *seg, sm_opcode code, smelt_dtype dtype, const sm_operand *operands,
                       int n) {
  sm_value value = {.id = seg->values.len + 1, .dtype = dtype, .shape = {1, {2}}};
  uint32_t index = 0;
  CHECK(sm_segment_append(seg, code, operands, n, &value, &index));
  return index;
}

/* Values: 0 and 1 sources, 2 = 0 * 1, 3 = exp(2), 4 = 3 + 0.5; 4 is live.
 * Value 0 is used by record 0, ReadOnly, and lives on. */
static void build(sm_segment *seg) {
  sm_segment_init(seg, &sm_malloc_allocator);
  uint32_t a = add_source(seg, SMELT_F32, 2, true), b = add_source(seg, SMELT_F32, 1, false);
  sm_operand mul[] = {use(seg, a, SM_READ_ONLY), use(seg, b, SM_READ_WRITE)};
  uint32_t c = append(seg, SM_OP_MULTIPLY, SMELT_F32, mul, 2);
  sm_operand exp[] = {use(seg, c, SM_READ_WRITE)};
  uint32_t d = append(seg, SM_OP_EXP, SMELT_F32, exp, 1);
  sm_operand add[] = {use(seg, d, SM_READ_WRITE),
                      {.is_scalar = true, .dtype = SMELT_F32, .scalar.F32 = 0.5f}};
  seg->values.items[append(seg, SM_OP_ADD, SMELT_F32, add, 2)].live = true;
}

static void accepts(sm_segment *seg) {
  smelt_error err;
  CHECK_OK(sm_segment_verify(seg, &err), err);
  sm_segment_free(seg);
}

/* Frees the segment too. */
static void refuses(sm_segment *seg, const char *fault) {
  smelt_error err = {0};
  CHECK_STATUS(sm_segment_verify(seg, &err), SMELT_ERR_INTERNAL);
  CHECK_CONTAINS(err.text, fault);
  CHECK_STATUS(sm_segment_verify(seg, NULL), SMELT_ERR_INTERNAL);
  sm_segment_free(seg);
}

#define OP_AT(i) seg.ops.items[i]
#define VALUE(i) seg.values.items[i]

/* Builds the segment, breaks it and checks what the verifier says. */
#define BREAKS(fault, ...) \
  do {                     \
    sm_segment seg;        \
    build(&seg);           \
    __VA_ARGS__;           \
    refuses(&seg, fault);  \
  } while (0)

TEST(sound_segments_pass) {
  sm_segment seg;
  sm_segment_init(&seg, &sm_malloc_allocator);
  accepts(&seg);
  build(&seg);
  accepts(&seg);
  build(&seg);
  OP_AT(0).operands[1].use.status = SM_READ_ONLY; /* dropped later */
  accepts(&seg);
}

TEST(uses_come_after_definitions) {
  BREAKS("operation 1 uses a value that operation 1 defines", OP_AT(1).operands[0].use.value = 3);
  BREAKS("operation 1 uses a value that operation 2 defines", OP_AT(1).operands[0].use.value = 4);
  BREAKS("operation 1 uses value 5 of 5", OP_AT(1).operands[0].use.value = 5);
  BREAKS("uses value 4294967295 of 5", OP_AT(0).operands[0].use.value = UINT32_MAX);
}

TEST(values_are_defined_once) {
  BREAKS("value 2 is not defined by operation 0", OP_AT(0).out = 3);
  BREAKS("value 3 is not defined by operation 1", OP_AT(1).out = 1);
  BREAKS("value 1 is not defined by operation 0", VALUE(1).producer = 0);
  BREAKS("value 4 is not defined by operation 3", VALUE(4).producer = 3);
  BREAKS("value 4 is not defined by operation -2", VALUE(4).producer = -2);
  BREAKS("operation 1 does not define its value", VALUE(3).producer = SM_NO_OP);
  BREAKS("value 4 is not defined by operation 2", OP_AT(2).out = 17);
}

TEST(last_uses_are_last) {
  BREAKS("operation 0 is the last use of a value that lives on", VALUE(1).live = true);
  BREAKS("operation 2 uses a value after its last use", OP_AT(2).operands[0].use.value = 2);
  BREAKS("operation 0 uses a value after its last use",
         OP_AT(0).operands[0] = (sm_operand){.use = {1, SM_READ_WRITE}, .dtype = SMELT_F32},
         VALUE(0).shape.dims[0] = 1, VALUE(1).shape.dims[0] = 2);
  BREAKS("operation 1 uses a value with status 0", OP_AT(1).operands[0].use.status = SM_NOT_INIT);
  BREAKS("operation 1 uses a value with status 3", OP_AT(1).operands[0].use.status = 3);
}

TEST(dtypes_are_exact) {
  BREAKS("operation 1 uses a f32 value as f64", OP_AT(1).operands[0].dtype = SMELT_F64);
  BREAKS("operation 0 uses a f64 value as f32", VALUE(1).dtype = SMELT_F64);
  BREAKS("an argument has another dtype", OP_AT(2).operands[1].dtype = SMELT_F64);
  BREAKS("an argument has another dtype", VALUE(1).dtype = OP_AT(0).operands[1].dtype = SMELT_I32);
  BREAKS("the result has another dtype", VALUE(4).dtype = SMELT_BOOL);
  BREAKS("a kop does not exist for its operands",
         VALUE(2).dtype = VALUE(3).dtype = OP_AT(1).operands[0].dtype = SMELT_I32,
         OP_AT(0).row = sm_op_row_of(SM_OP_EQUAL), VALUE(2).dtype = SMELT_BOOL,
         OP_AT(1).operands[0].dtype = SMELT_BOOL);
}

TEST(records_have_the_operands_of_their_row) {
  BREAKS("operation 1 has 0 operands", OP_AT(1).n_operands = 0);
  BREAKS("operation 0 has 2 operands", OP_AT(0).row = sm_op_row_of(SM_OP_WHERE));
  BREAKS("operation 0 has 2 operands", OP_AT(0).row = sm_op_row_of(SM_OP_EXP));
}

TEST(results_have_the_shape_of_their_operands) {
  BREAKS("operation 1 has a result of another shape", VALUE(3).shape.dims[0] = 3);
  BREAKS("operation 0 has a result of another shape", VALUE(0).shape.dims[0] = 3);
  BREAKS("operation 0 has a result of another shape", VALUE(0).shape.dims[0] = 3, VALUE(1).shape.dims[0] = 2);
  BREAKS("operation 2 has a result of another shape", VALUE(4).shape = (sm_shape){.rank = 0});
}

/* Value 1 is the 2 × 3 operand of the record, value 2 its result. */
static void build_moved(sm_segment *seg, sm_opcode code, sm_attrs attrs, sm_shape result) {
  sm_segment_init(seg, &sm_malloc_allocator);
  sm_value source = {.id = 1, .dtype = SMELT_F32, .shape = {2, {2, 3}}}, out = {.id = 2, .dtype = SMELT_F32};
  out.shape = result;
  uint32_t in, v;
  CHECK(sm_segment_add_source(seg, &source, &in));
  sm_operand operand = use(seg, in, SM_READ_ONLY);
  const sm_attrs *own = sm_op_has_attrs(sm_op_row_of(code)) ? &attrs : NULL;
  CHECK(sm_segment_append_with(seg, sm_op_row_of(code), &operand, 1, own, &out, &v));
}

#define MOVED(fault, code, attrs, ...)                                         \
  do {                                                                         \
    sm_segment seg;                                                            \
    build_moved(&seg, SM_OP_##code, (sm_attrs)attrs, (sm_shape){__VA_ARGS__}); \
    if (*(fault)) refuses(&seg, fault);                                        \
    else accepts(&seg);                                                        \
  } while (0)
#define THE_AXES(count, ...)              \
  {                                       \
    .n = (count), .axes = { __VA_ARGS__ } \
  }
#define THE_RANGES(...)               \
  {                                   \
    .n = 2, .ranges = { __VA_ARGS__ } \
  }

TEST(attributes_are_canonical) {
  static const char not_canonical[] = "operation 0 has attributes that are not canonical";
  static const char wrong_result[] = "operation 0 has a result of another shape or dtype";
  MOVED("", RESHAPE, {0}, 1, {6});
  MOVED("reshape(f32[2,3]): f32[7] has another number", RESHAPE, {0}, 1, {7});
  MOVED("", FLIP, THE_AXES(1, 1), 2, {2, 3});
  MOVED("", FLIP, THE_AXES(0, 0), 2, {2, 3});
  MOVED(not_canonical, FLIP, THE_AXES(1, -1), 2, {2, 3});
  MOVED(not_canonical, FLIP, THE_AXES(2, 1, 0), 2, {2, 3});
  MOVED("axis 2 is not between", FLIP, THE_AXES(1, 2), 2, {2, 3});
  MOVED(wrong_result, FLIP, THE_AXES(1, 1), 2, {3, 2});
  MOVED("", PERMUTE_DIMS, THE_AXES(2, 1, 0), 2, {3, 2});
  MOVED("2 axes have to be given", PERMUTE_DIMS, THE_AXES(1, 0), 2, {2, 3});
  MOVED("", SLICE, THE_RANGES({0, 2, 1}, {2, SMELT_ABSENT, -2}), 2, {2, 2});
  MOVED(not_canonical, SLICE, THE_RANGES({0, 5, 1}, {2, SMELT_ABSENT, -2}), 2, {2, 2});
  MOVED(not_canonical, SLICE, THE_RANGES({0, 2, 1}, {2, 2, 1}), 2, {2, 0});
  MOVED(wrong_result, SLICE, THE_RANGES({0, 2, 1}, {0, 0, 1}), 2, {2, 3});
  MOVED("", MAX, THE_AXES(1, 1), 1, {2});
  MOVED("", MAX, THE_AXES(2, 0, 1), 0, {0});
  MOVED(not_canonical, MAX, THE_AXES(2, 1, 0), 0, {0});
  MOVED(wrong_result, MAX, THE_AXES(1, 1), 2, {2, 1});
  MOVED("operation 0 is a composite", SOFTMAX, THE_AXES(1, 1), 2, {2, 3});
}

TEST(attributes_are_there_where_they_belong) {
  sm_segment seg;
  build_moved(&seg, SM_OP_FLIP, (sm_attrs){.n = 0}, (sm_shape){2, {2, 3}});
  OP_AT(0).attrs = NULL;
  refuses(&seg, "operation 0 lacks or has attributes");
  build_moved(&seg, SM_OP_RESHAPE, (sm_attrs){.n = 0}, (sm_shape){2, {2, 3}});
  OP_AT(0).attrs = &(sm_attrs){.n = 0};
  refuses(&seg, "operation 0 lacks or has attributes");
  build_moved(&seg, SM_OP_FLIP, (sm_attrs){.n = 0}, (sm_shape){2, {2, 3}});
  VALUE(1).dtype = SMELT_I32;
  refuses(&seg, "operation 0 has a result of another shape or dtype");
  build_moved(&seg, SM_OP_CONCAT, (sm_attrs){.n = 1}, (sm_shape){2, {2, 3}});
  OP_AT(0).n_operands = 0;
  refuses(&seg, "operation 0 has 0 operands");
}

/* --- Liveness ---------------------------------------------------------------------------- */

TEST(dead_records_are_found) {
  sm_segment seg;
  bool needed[4];
  build(&seg);
  sm_segment_needed(&seg, needed);
  CHECK(needed[0] && needed[1] && needed[2]);
  VALUE(4).live = false;
  sm_segment_needed(&seg, needed);
  CHECK(!needed[0] && !needed[1] && !needed[2]);
  VALUE(2).live = true;
  sm_segment_needed(&seg, needed);
  CHECK(needed[0] && !needed[1] && !needed[2]);
  sm_segment_free(&seg);
}

/* --- Memory --------------------------------------------------------------------------------- */

static void *fail_after(void *left, void *ptr, size_t old, size_t size) {
  if (size == 0 || (*(int *)left)-- > 0) return sm_malloc_allocator.fn(NULL, ptr, old, size);
  return NULL;
}

/* A failed append leaves the segment as it was. */
TEST(appends_all_or_nothing) {
  for (int allowed = 0; allowed < 4; allowed++) {
    int left = allowed;
    sm_allocator allocator = {fail_after, &left};
    sm_segment seg;
    sm_segment_init(&seg, &allocator);
    sm_value value = {.id = 1, .dtype = SMELT_F32, .shape = {1, {2}}};
    sm_operand drawn[] = {{.is_scalar = true, .dtype = SMELT_U64}, {.is_scalar = true, .dtype = SMELT_U64}};
    uint32_t index;
    bool ok = sm_segment_append(&seg, SM_OP_RAND, drawn, 2, &value, &index);
    CHECK(ok == (allowed >= 3));
    CHECK_I64(seg.ops.len, ok);
    CHECK_I64(seg.values.len, ok);
    left = 100;
    accepts(&seg);
  }
}

TEST(a_reset_segment_can_be_used_again) {
  sm_segment seg;
  build(&seg);
  sm_segment_reset(&seg);
  CHECK_I64(seg.ops.len + seg.values.len, 0);
  uint32_t a = add_source(&seg, SMELT_F32, 2, false);
  sm_operand exp[] = {use(&seg, a, SM_READ_WRITE)};
  CHECK_I64(append(&seg, SM_OP_EXP, SMELT_F32, exp, 1), 1);
  accepts(&seg);
}

TEST_MAIN(CASE(sound_segments_pass), CASE(uses_come_after_definitions), CASE(values_are_defined_once),
          CASE(last_uses_are_last), CASE(dtypes_are_exact), CASE(records_have_the_operands_of_their_row),
          CASE(results_have_the_shape_of_their_operands), CASE(attributes_are_canonical),
          CASE(attributes_are_there_where_they_belong), CASE(dead_records_are_found),
          CASE(appends_all_or_nothing), CASE(a_reset_segment_can_be_used_again))
