/* SPDX-License-Identifier: Apache-2.0
 *
 * The relative form of operations with attributes: axes are part of it, ranges are
 * not. (What else is and is not shows in test_plan_cache.c.) */
#include <string.h>

#include "harness.h"
#include "ir/relative.h"

/* The form of one record on a 3 x 3 x 3 tensor, whose result has that shape too. */
static void form_of(sm_opcode code, sm_attrs attrs, sm_words *out) {
  sm_segment seg;
  sm_segment_init(&seg, &sm_malloc_allocator);
  sm_value source = {.dtype = SMELT_F32, .shape = {3, {3, 3, 3}}}, result = source;
  uint32_t in, v;
  result.live = true;
  CHECK(sm_segment_add_source(&seg, &source, &in));
  sm_operand operand = {.use = {in, SM_READ_ONLY}, .dtype = SMELT_F32};
  CHECK(sm_segment_append_with(&seg, sm_op_row_of(code), &operand, 1, &attrs, &result, &v));
  *out = (sm_words){.len = 0};
  CHECK(sm_relative_form(&seg, &sm_malloc_allocator, out));
  sm_segment_free(&seg);
}

static bool same_form(sm_opcode code, sm_attrs a, sm_attrs b) {
  sm_words one, other;
  form_of(code, a, &one);
  form_of(code, b, &other);
  bool same = one.len == other.len && memcmp(one.items, other.items, one.len * sizeof *one.items) == 0;
  sm_vec_free(&sm_malloc_allocator, &one);
  sm_vec_free(&sm_malloc_allocator, &other);
  return same;
}

#define AXES(count, ...)                  \
  (sm_attrs) {                            \
    .n = (count), .axes = { __VA_ARGS__ } \
  }
#define RANGES(...)                   \
  (sm_attrs) {                        \
    .n = 3, .ranges = { __VA_ARGS__ } \
  }

TEST(axes_are_part_of_the_form) {
  CHECK(same_form(SM_OP_FLIP, AXES(2, 0, 1), AXES(2, 0, 1)));
  CHECK(!same_form(SM_OP_FLIP, AXES(2, 0, 1), AXES(2, 0, 2)));
  CHECK(!same_form(SM_OP_FLIP, AXES(1, 1), AXES(2, 0, 1)));
  CHECK(!same_form(SM_OP_FLIP, AXES(0, 0), AXES(1, 0)));
  CHECK(!same_form(SM_OP_PERMUTE_DIMS, AXES(3, 2, 0, 1), AXES(3, 1, 2, 0)));
}

TEST(ranges_are_not) {
  CHECK(same_form(SM_OP_SLICE, RANGES({0, 3, 1}, {0, 3, 1}, {0, 3, 1}),
                  RANGES({1, 4, 1}, {2, SMELT_ABSENT, -1}, {0, 3, 1})));
}

TEST_MAIN(CASE(axes_are_part_of_the_form), CASE(ranges_are_not))
