/* SPDX-License-Identifier: Apache-2.0
 *
 * Launch plans: whatever axes were merged, every element of the index space
 * still finds its element in every input; and nothing is left to merge. Widths and
 * launch sizes that follow from plans. */
#include <string.h>

#include "harness.h"
#include "launch/elementwise_skeleton.h"

#define DIMS(...)                                                              \
  {                                                                            \
    (int)(sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t)), { __VA_ARGS__ } \
  }

/* A record over broadcast inputs, its trace and plan. */
typedef struct fixture {
  sm_segment seg;
  sm_trace trace;
  sm_launch_plan plan;
  sm_arena arena;
  uint32_t ops[4];
  int n_ops;
  bool keep_axes;
} fixture;

static void open_fixture(fixture *f) {
  memset(f, 0, sizeof *f);
  sm_segment_init(&f->seg, &sm_malloc_allocator);
  sm_arena_init(&f->arena, &sm_malloc_allocator);
}

static void close_fixture(fixture *f) {
  sm_trace_free(&f->trace, &sm_malloc_allocator);
  sm_arena_free(&f->arena);
  sm_segment_free(&f->seg);
}

/* clip, add or exp of sources with these shapes. */
static void add_record(fixture *f, const sm_shape *shapes, int n) {
  static const sm_opcode codes[] = {SM_OP_EXP, SM_OP_ADD, SM_OP_CLIP};
  sm_operand operands[3];
  sm_value out = {.dtype = SMELT_F32, .live = true};
  for (int i = 0; i < n; i++) {
    uint32_t v = 0;
    sm_value source = {.dtype = SMELT_F32, .shape = shapes[i]};
    CHECK(sm_segment_add_source(&f->seg, &source, &v));
    CHECK(sm_shape_broadcast(&out.shape, &shapes[i]));
    operands[i] = (sm_operand){.use = {v, SM_READ_WRITE}, .dtype = SMELT_F32};
  }
  uint32_t v;
  CHECK(sm_segment_append(&f->seg, codes[n - 1], operands, n, &out, &v));
  f->ops[f->n_ops] = (uint32_t)f->n_ops;
  f->n_ops++;
}

static void make(fixture *f) {
  smelt_error err;
  CHECK_OK(sm_trace_build(&f->seg, f->ops, f->n_ops, NULL, SMELT_MODE_DEFAULT, &sm_malloc_allocator,
                          &f->trace, &err),
           err);
  CHECK(sm_launch_plan_make(&f->trace, &f->seg, NULL, f->keep_axes, &f->arena, &f->plan));
}

/* --- Brute force ---------------------------------------------------------------------- */

/* Where element `index` of the space is in a broadcast operand. */
static int64_t position_in(const sm_shape *space, const sm_shape *operand, int64_t index) {
  int64_t coordinates[SMELT_MAX_RANK], position = 0;
  for (int axis = space->rank - 1; axis >= 0; axis--) {
    coordinates[axis] = index % space->dims[axis];
    index /= space->dims[axis];
  }
  for (int k = 0; k < operand->rank; k++) {
    int64_t at = operand->dims[k] == 1 ? 0 : coordinates[space->rank - operand->rank + k];
    position = position * operand->dims[k] + at;
  }
  return position;
}

/* The same by the plan's merged axes. */
static int64_t planned_position(const sm_block_plan *p, int32_t input, int64_t index) {
  int64_t position = 0;
  for (int axis = p->rank - 1; axis >= 0; axis--) {
    position += index % p->dims[axis] * sm_block_plan_strides(p, input)[axis];
    index /= p->dims[axis];
  }
  return position;
}

static void check_positions(const fixture *f, size_t block, int32_t input) {
  const sm_shape *space = sm_block_shape(&f->seg, &f->trace.blocks.items[block]);
  const sm_shape *operand = &f->seg.values.items[f->trace.inputs.items[input].value].shape;
  for (int64_t i = 0; i < sm_shape_count(space); i++) {
    CHECK_I64(planned_position(&f->plan.blocks[block], input, i), position_in(space, operand, i));
  }
}

static bool reads(const sm_block *block, int32_t input) {
  for (size_t i = 0; i < block->steps.len; i++) {
    if (block->steps.items[i].kind == SM_STEP_READ && block->steps.items[i].index == input) return true;
  }
  return false;
}

/* No extent 1 beside others, no two neighbours that every input traverses as one. */
static void check_minimal(const sm_block_plan *p, size_t n_inputs) {
  for (int axis = 0; axis < p->rank && p->rank > 1; axis++) CHECK(p->dims[axis] != 1);
  for (int axis = 0; axis + 1 < p->rank; axis++) {
    bool joint = true;
    for (size_t i = 0; i < n_inputs; i++) {
      const int64_t *s = sm_block_plan_strides(p, (int32_t)i);
      joint = joint && s[axis] == s[axis + 1] * p->dims[axis + 1];
    }
    CHECK(!joint);
  }
}

static void check_fixture(const fixture *f) {
  for (size_t b = 0; b < f->trace.blocks.len; b++) {
    const sm_block_plan *p = &f->plan.blocks[b];
    CHECK(p->rank >= 1);
    int64_t count = 1;
    for (int axis = 0; axis < p->rank; axis++) count *= p->dims[axis];
    CHECK_I64(count, sm_shape_count(sm_block_shape(&f->seg, &f->trace.blocks.items[b])));
    CHECK_I64(f->plan.work_items, count);
    for (size_t i = 0; i < f->trace.inputs.len; i++) {
      if (reads(&f->trace.blocks.items[b], (int32_t)i)) check_positions(f, b, (int32_t)i);
    }
    if (count == 0) continue;
    if (!f->keep_axes) check_minimal(p, f->trace.inputs.len);
    /* A chunk holds whole rows of every block. */
    CHECK(f->plan.grain >= 1 && count % f->plan.grain == 0);
    if (p->rank > 1) CHECK_I64(f->plan.grain % p->dims[p->rank - 1], 0);
  }
}

/* --- Patterns ---------------------------------------------------------------------------- */

/* "[6,4] 4,1 0,1": merged extents, then the strides of each input. */
static void check_plan(const sm_shape *shapes, int n, const char *expected) {
  fixture f;
  sm_text text;
  open_fixture(&f);
  sm_text_init(&text, &sm_malloc_allocator);
  add_record(&f, shapes, n);
  make(&f);
  check_fixture(&f);
  const sm_block_plan *p = &f.plan.blocks[0];
  sm_shape merged = {.rank = p->rank};
  memcpy(merged.dims, p->dims, sizeof merged.dims);
  sm_shape_print(&text, &merged);
  for (size_t i = 0; i < f.trace.inputs.len; i++) {
    for (int axis = 0; axis < p->rank; axis++) {
      sm_text_addf(&text, "%s%lld", axis ? "," : " ", (long long)sm_block_plan_strides(p, (int32_t)i)[axis]);
    }
  }
  CHECK_STR(text.data, expected);
  sm_text_free(&text);
  close_fixture(&f);
}

#define PLANS(expected, ...) \
  check_plan((sm_shape[]){__VA_ARGS__}, (int)(sizeof((sm_shape[]){__VA_ARGS__}) / sizeof(sm_shape)), expected)

TEST(equal_shapes_are_one_axis) {
  PLANS("[24] 1", DIMS(2, 3, 4));
  PLANS("[24] 1 1", DIMS(2, 3, 4), DIMS(2, 3, 4));
  PLANS("[24] 1 1 1", DIMS(2, 1, 3, 4), DIMS(1, 2, 1, 3, 4), DIMS(2, 1, 3, 4));
}

TEST(scalars_have_an_axis_too) {
  PLANS("[1] 0", {0});
  PLANS("[1] 0 0", DIMS(1, 1), {0});
  PLANS("[6] 1 0", DIMS(2, 3), {0});
  PLANS("[6] 0 1", DIMS(1, 1, 1), DIMS(2, 3));
}

TEST(rows_and_columns) {
  PLANS("[2,3] 3,1 0,1", DIMS(2, 3), DIMS(3));
  PLANS("[2,3] 3,1 1,0", DIMS(2, 3), DIMS(2, 1));
  PLANS("[2,3] 1,0 0,1", DIMS(2, 1), DIMS(1, 3));
  PLANS("[8,3] 3,1 0,1", DIMS(2, 4, 3), DIMS(3));
  PLANS("[2,12] 12,1 0,1", DIMS(2, 4, 3), DIMS(4, 3));
  PLANS("[2,4,3] 12,3,1 3,0,1", DIMS(2, 4, 3), DIMS(2, 1, 3));
  PLANS("[2,4,3] 12,3,1 0,1,0", DIMS(2, 4, 3), DIMS(4, 1));
  PLANS("[2,12] 1,0 12,1", DIMS(2, 1, 1), DIMS(2, 4, 3));
}

TEST(alternating_broadcasts_keep_their_axes) {
  PLANS("[2,3,4,5] 60,20,5,1 12,4,1,0 0,5,0,1", DIMS(2, 3, 4, 5), DIMS(2, 3, 4, 1), DIMS(3, 1, 5));
  PLANS("[2,2,2,2,2,2,2,2] 8,0,4,0,2,0,1,0 0,8,0,4,0,2,0,1", DIMS(2, 1, 2, 1, 2, 1, 2, 1),
        DIMS(1, 2, 1, 2, 1, 2, 1, 2));
}

TEST(empty_spaces) {
  fixture f;
  open_fixture(&f);
  add_record(&f, (sm_shape[]){DIMS(2, 0, 3), DIMS(1, 3)}, 2);
  make(&f);
  CHECK_I64(f.plan.work_items, 0);
  check_fixture(&f);
  close_fixture(&f);
}

/* --- Several blocks ---------------------------------------------------------------------- */

static int64_t grain_of(const sm_shape *pairs, int n_records) {
  fixture f;
  open_fixture(&f);
  for (int i = 0; i < n_records; i++) add_record(&f, &pairs[(size_t)2 * (size_t)i], 2);
  make(&f);
  CHECK_I64(f.trace.blocks.len, n_records);
  check_fixture(&f);
  int64_t grain = f.plan.grain;
  close_fixture(&f);
  return grain;
}

/* Blocks of one shape whose rows differ in length. */
TEST(chunks_hold_whole_rows_of_all_blocks) {
  CHECK_I64(grain_of((sm_shape[]){DIMS(2, 3, 4), DIMS(2, 3, 4)}, 1), 1);
  CHECK_I64(grain_of((sm_shape[]){DIMS(2, 3, 4), DIMS(4)}, 1), 4);
  CHECK_I64(grain_of((sm_shape[]){DIMS(2, 3, 4), DIMS(4), DIMS(2, 3, 4), DIMS(2, 3, 4)}, 2), 4);
  CHECK_I64(grain_of((sm_shape[]){DIMS(2, 3, 4), DIMS(2, 3, 4), DIMS(2, 3, 4), DIMS(4)}, 2), 4);
  CHECK_I64(grain_of((sm_shape[]){DIMS(2, 3, 4), DIMS(4), DIMS(2, 3, 4), DIMS(3, 4)}, 2), 24);
  CHECK_I64(
      grain_of((sm_shape[]){DIMS(2, 3, 4), DIMS(4), DIMS(2, 3, 4), DIMS(3, 4), DIMS(2, 3, 4), DIMS(4)}, 3),
      24);
}

/* --- Kept axes, widths, launch sizes ------------------------------------------------------- */

static const sm_profile threads = {.vector_bytes = 16, .plane = 64, .max_group = 256};
static const sm_profile chunks = {.vector_bytes = 64, .chunked = true};

/* Records on pairs of shapes: their plan in print, then the widths for threads and chunks. */
static void check_widths(const sm_shape *pairs, int n_records, bool keep_axes, const char *expected) {
  fixture f;
  sm_text text;
  open_fixture(&f);
  sm_text_init(&text, &sm_malloc_allocator);
  f.keep_axes = keep_axes;
  for (int i = 0; i < n_records; i++) add_record(&f, &pairs[(size_t)2 * (size_t)i], 2);
  make(&f);
  check_fixture(&f);
  sm_launch_plan_print(&text, &f.plan, f.trace.blocks.len);
  sm_text_addf(&text, " %d %d", sm_elementwise_width(&f.trace, &f.plan, &threads),
               sm_elementwise_width(&f.trace, &f.plan, &chunks));
  CHECK_STR(text.data, expected);
  sm_text_free(&text);
  close_fixture(&f);
}

#define WIDTHS(expected, keep_axes, ...)                                                                   \
  check_widths((sm_shape[]){__VA_ARGS__}, (int)(sizeof((sm_shape[]){__VA_ARGS__}) / sizeof(sm_shape)) / 2, \
               keep_axes, expected)

TEST(vectors_divide_the_rows_of_threads) {
  WIDTHS("[4,3] 1 16", true, DIMS(4, 3), DIMS(4, 3));
  WIDTHS("[4,6] 2 16", true, DIMS(4, 6), DIMS(4, 6));
  WIDTHS("[64,64] 4 16", true, DIMS(64, 64), DIMS(64, 64));
  WIDTHS("[4,1] 1 16", true, DIMS(4, 1), DIMS(4, 1));
  WIDTHS("[1] 1 16", true, {0}, {0});
  WIDTHS("[12] 4 16", false, DIMS(4, 3), DIMS(4, 3));
  WIDTHS("[4] 4 16", false, DIMS(4, 1), DIMS(4, 1));
  WIDTHS("[4,6] 2 16", false, DIMS(4, 6), DIMS(6));
  WIDTHS("[2,4] 4 16", false, DIMS(2, 4), DIMS(2, 1));
  WIDTHS("[24] [4,6] 2 16", false, DIMS(4, 6), DIMS(4, 6), DIMS(4, 6), DIMS(6));
}

/* Of an input: where its element at the origin is and two strides, for vectors of 4. */
static bool aligns(int64_t first, int64_t outer, int64_t inner, int64_t gathered) {
  int64_t strides[2 * SMELT_MAX_RANK] = {outer, inner}, firsts[] = {first, 0};
  sm_gathered_axis gather = {.extent = gathered != 0, .stride = gathered};
  sm_block_plan block = {.rank = 2, .dims = {8, 8}, .strides = strides};
  sm_launch_plan plan = {.blocks = &block, .first = firsts, .gathered = &gather};
  const sm_trace trace = {.inputs.len = 1, .outputs.len = 1, .blocks.len = 1};
  CHECK(sm_launch_plan_aligns(&trace, &plan, 1, 4));
  return sm_launch_plan_aligns(&trace, &plan, 0, 4);
}

TEST(vectors_are_aligned_where_rows_are) {
  CHECK(aligns(0, 8, 1, 0) && aligns(12, 0, 1, 0) && aligns(0, -8, 1, 0) && aligns(0, 12, 1, 16));
  CHECK(!aligns(1, 8, 1, 0) && !aligns(0, 7, 1, 0) && !aligns(0, 8, 2, 0) && !aligns(0, 8, 1, 1));
}

/* An input that is walked along two axes, and a dense output. */
static bool is_narrow(int64_t rows, int64_t columns, int64_t outer, int64_t first, int64_t gathered) {
  int64_t strides[2 * SMELT_MAX_RANK] = {outer, 1}, firsts[] = {first, 0};
  sm_gathered_axis gather = {.extent = gathered, .stride = 1};
  sm_block_plan block = {.rank = 2, .dims = {rows, columns}, .strides = strides};
  sm_launch_plan plan = {
      .blocks = &block, .first = firsts, .gathered = &gather, .work_items = rows * columns};
  const sm_trace trace = {.inputs.len = 1, .outputs.len = 1, .blocks.len = 1};
  return sm_launch_plan_is_narrow(&trace, &plan);
}

TEST(narrow_up_to_2_to_the_30) {
  const int64_t most = INT64_C(1) << 30;
  CHECK(is_narrow(1, most, 0, 0, 0) && !is_narrow(1, most + 1, 0, 0, 0));
  CHECK(is_narrow(1 << 15, 1 << 15, 1 << 15, 0, 0) && !is_narrow(1 << 15, (1 << 15) + 1, 0, 0, 0));
  CHECK(is_narrow(2, 1, most, 0, 0) && !is_narrow(2, 1, most + 1, 0, 0) && !is_narrow(2, 2, -most, 0, 0));
  CHECK(!is_narrow(3, 1, most / 2 + 1, 0, 0) && !is_narrow(1 << 20, 1, INT64_C(1) << 62, 0, 0));
  CHECK(is_narrow(1, 1, 0, most, 0) && !is_narrow(1, 2, 0, most, 0) && !is_narrow(1, 1, 0, most + 1, 0));
  CHECK(is_narrow(1, 1, 0, 0, most) && !is_narrow(1, 2, 0, 0, most + 1) && is_narrow(0, 5, 5, 0, 0));
}

static void check_width(smelt_dtype in, smelt_dtype out, int expected) {
  sm_trace_value input = {.dtype = in};
  sm_trace_value output = {.dtype = out};
  int64_t strides[2 * SMELT_MAX_RANK] = {1};
  sm_block_plan block = {.rank = 1, .dims = {64}, .strides = strides};
  const sm_launch_plan plan = {.blocks = &block};
  const sm_trace trace = {.inputs = {&input, 1, 1}, .outputs = {&output, 1, 1}, .blocks.len = 1};
  CHECK_I64(sm_elementwise_width(&trace, &plan, &threads), expected);
  strides[0] = 0; /* of one element for all no vectors are read */
  CHECK_I64(sm_elementwise_width(&trace, &plan, &threads), 16 / (int)smelt_dtype_size(out));
}

TEST(the_widest_operand_has_a_vector) {
  check_width(SMELT_F32, SMELT_F32, 4);
  check_width(SMELT_BF16, SMELT_BF16, 8);
  check_width(SMELT_BF16, SMELT_F32, 4);
  check_width(SMELT_F32, SMELT_BF16, 4);
  check_width(SMELT_F64, SMELT_BOOL, 2);
  check_width(SMELT_I8, SMELT_BOOL, 16);
}

static void check_size(int width, int64_t items, int group, int64_t groups) {
  sm_launch_size size = sm_launch_size_of(&threads, (items + width - 1) / width);
  CHECK_I64(size.threads, group);
  CHECK_I64(size.groups, groups);
}

TEST(groups_grow_with_the_work) {
  check_size(1, 1, 64, 1);
  check_size(4, 4, 64, 1);
  check_size(1, 127, 64, 2);
  check_size(1, 128, 128, 1);
  check_size(4, 4096, 256, 4);
  check_size(4, 4100, 256, 5);
}

/* --- Random shapes ----------------------------------------------------------------------- */

static uint64_t next_random(uint64_t *state) {
  *state = *state * 6364136223846793005u + 1442695040888963407u;
  return *state >> 33;
}

/* A shape that broadcasts to `space`. */
static sm_shape random_operand(const sm_shape *space, uint64_t *state) {
  sm_shape s = {.rank = (int)(next_random(state) % (uint64_t)(space->rank + 1))};
  for (int k = 0; k < s.rank; k++) {
    s.dims[k] = next_random(state) % 3 ? space->dims[space->rank - s.rank + k] : 1;
  }
  return s;
}

static sm_shape random_space(uint64_t *state) {
  sm_shape s = {.rank = (int)(next_random(state) % 8)};
  for (int k = 0; k < s.rank; k++) s.dims[k] = 1 + (int64_t)(next_random(state) % 3);
  if (s.rank && next_random(state) % 20 == 0) s.dims[next_random(state) % (uint64_t)s.rank] = 0;
  return s;
}

TEST(random_broadcasts) {
  uint64_t state = 3;
  for (int round = 0; round < 4000; round++) {
    fixture f;
    sm_shape shapes[3];
    open_fixture(&f);
    sm_shape space = random_space(&state);
    f.keep_axes = round % 4 == 0;
    int n = 1 + (int)(next_random(&state) % 3);
    for (int r = (int)(next_random(&state) % 3); r >= 0; r--) {
      for (int i = 0; i < n; i++) shapes[i] = random_operand(&space, &state);
      shapes[next_random(&state) % (uint64_t)n] = space; /* one block, one shape */
      add_record(&f, shapes, n);
    }
    make(&f);
    check_fixture(&f);
    close_fixture(&f);
  }
}

TEST(rank_16) {
  fixture f;
  sm_shape shapes[2] = {{.rank = SMELT_MAX_RANK}, {.rank = SMELT_MAX_RANK}};
  open_fixture(&f);
  for (int i = 0; i < SMELT_MAX_RANK; i++) {
    shapes[0].dims[i] = i % 2 ? 2 : 1;
    shapes[1].dims[i] = i % 3 ? 1 : 2;
  }
  add_record(&f, shapes, 2);
  make(&f);
  check_fixture(&f);
  close_fixture(&f);
}

TEST_MAIN(CASE(equal_shapes_are_one_axis), CASE(scalars_have_an_axis_too), CASE(rows_and_columns),
          CASE(alternating_broadcasts_keep_their_axes), CASE(empty_spaces),
          CASE(chunks_hold_whole_rows_of_all_blocks), CASE(vectors_divide_the_rows_of_threads),
          CASE(vectors_are_aligned_where_rows_are), CASE(the_widest_operand_has_a_vector),
          CASE(narrow_up_to_2_to_the_30), CASE(groups_grow_with_the_work), CASE(random_broadcasts),
          CASE(rank_16))
