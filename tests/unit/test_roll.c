/* SPDX-License-Identifier: Apache-2.0
 *
 * Rolls: where lists of records repeat, and where they only seem to. */
#include <string.h>

#include "harness.h"
#include "plan/roll.h"

enum { MOST = 600 };

typedef struct fixture {
  sm_segment seg;
  uint32_t ops[MOST];
  bool escapes[4 * MOST];
} fixture;

static void open_fixture(fixture *f) {
  memset(f, 0, sizeof *f);
  sm_segment_init(&f->seg, &sm_malloc_allocator);
  for (uint32_t i = 0; i < MOST; i++) f->ops[i] = i;
}

static uint32_t source(fixture *f) {
  uint32_t v = 0;
  CHECK(sm_segment_add_source(&f->seg, &(sm_value){.dtype = SMELT_F32, .shape = {1, {4}}}, &v));
  return v;
}

static sm_operand use(uint32_t v) { return (sm_operand){.use = {v, SM_READ_ONLY}, .dtype = SMELT_F32}; }

static sm_operand scalar(float value) {
  return (sm_operand){.is_scalar = true, .dtype = SMELT_F32, .scalar = {.F32 = value}};
}

static uint32_t op2(fixture *f, sm_opcode code, sm_operand x, sm_operand y) {
  uint32_t v = 0;
  sm_value out = {.dtype = SMELT_F32, .shape = {1, {4}}};
  CHECK(sm_segment_append(&f->seg, code, (sm_operand[]){x, y}, 2, &out, &v));
  return v;
}

static uint32_t op1(fixture *f, sm_opcode code, uint32_t x) {
  uint32_t v = 0;
  sm_value out = {.dtype = SMELT_F32, .shape = {1, {4}}};
  CHECK(sm_segment_append(&f->seg, code, (sm_operand[]){use(x)}, 1, &out, &v));
  return v;
}

static void check_roll(fixture *f, int first, int period, int trips) {
  sm_roll roll;
  sm_arena arena;
  sm_arena_init(&arena, &sm_malloc_allocator);
  CHECK(sm_roll_find(&f->seg, f->ops, (int)f->seg.ops.len, f->escapes, &arena, &roll));
  CHECK_I64(roll.trips, trips);
  if (trips) CHECK_I64(roll.first, first);
  if (trips) CHECK_I64(roll.period, period);
  sm_arena_free(&arena);
  sm_segment_free(&f->seg);
}

/* x = x * s + t, `trips` times. */
static uint32_t affine(fixture *f, uint32_t x, int trips) {
  for (int i = 0; i < trips; i++)
    x = op2(f, SM_OP_ADD, use(op2(f, SM_OP_MULTIPLY, use(x), scalar((float)i))), scalar(1));
  return x;
}

TEST(a_chain) {
  for (int trips = 1; trips <= 20; trips++) {
    fixture f;
    open_fixture(&f);
    f.escapes[affine(&f, source(&f), trips)] = true;
    check_roll(&f, 0, 2, trips < SM_ROLL_TRIPS ? 0 : trips);
  }
}

TEST(something_before_and_behind) {
  fixture f;
  open_fixture(&f);
  uint32_t x = op1(&f, SM_OP_EXP, source(&f));
  x = op1(&f, SM_OP_SIN, affine(&f, op1(&f, SM_OP_COS, x), 10));
  f.escapes[op1(&f, SM_OP_TANH, x)] = true;
  check_roll(&f, 2, 2, 10);
}

/* The shortest period of those that save as much. */
TEST(one_operation_again_and_again) {
  fixture f;
  open_fixture(&f);
  uint32_t x = source(&f);
  for (int i = 0; i < 100; i++) x = op1(&f, SM_OP_EXP, x);
  f.escapes[x] = true;
  check_roll(&f, 0, 1, 100);
}

/* Half a period more at the end stays straight. */
TEST(less_than_a_period) {
  fixture f;
  open_fixture(&f);
  uint32_t x = affine(&f, source(&f), 7);
  f.escapes[op2(&f, SM_OP_MULTIPLY, use(x), scalar(2))] = true;
  check_roll(&f, 0, 2, 7);
}

/* a, b = b, a + b: a value of two trips ago is none that a loop carries, unless it is
 * recorded again. */
TEST(two_trips_ago) {
  fixture f;
  open_fixture(&f);
  uint32_t a = source(&f), b = source(&f);
  for (int i = 0; i < 20; i++) {
    uint32_t sum = op2(&f, SM_OP_ADD, use(a), use(b));
    a = b;
    b = sum;
  }
  f.escapes[b] = true;
  check_roll(&f, 0, 2, 10); /* two sums a period: a = a + b, b = a + b */
}

TEST(invariants) {
  fixture f;
  open_fixture(&f);
  uint32_t x = source(&f), w = source(&f), scale = op1(&f, SM_OP_EXP, source(&f));
  for (int i = 0; i < 9; i++) {
    x = op2(&f, SM_OP_MULTIPLY, use(x), use(w));
    x = op2(&f, SM_OP_ADD, use(op1(&f, SM_OP_TANH, x)), use(scale));
  }
  f.escapes[x] = true;
  check_roll(&f, 1, 3, 9);
}

/* A tensor that is another one every time. */
TEST(a_new_tensor_every_time) {
  fixture f;
  open_fixture(&f);
  uint32_t x = source(&f);
  for (int i = 0; i < 9; i++) x = op2(&f, SM_OP_MULTIPLY, use(x), use(source(&f)));
  f.escapes[x] = true;
  check_roll(&f, 0, 0, 0);
}

static void check_repeat(fixture *f, const bool *guest, int first, int period, int trips) {
  sm_roll roll;
  sm_arena arena;
  sm_arena_init(&arena, &sm_malloc_allocator);
  CHECK(sm_roll_find_repeat(&f->seg, f->ops, (int)f->seg.ops.len, f->escapes, guest, &arena, &roll));
  CHECK_I64(roll.trips, trips);
  CHECK_I64(roll.first, first);
  CHECK_I64(roll.period, period);
  sm_arena_free(&arena);
  sm_segment_free(&f->seg);
}

static const bool no_guest[MOST];

/* x = x * y + (a new tensor), 9 times; behind `same_until` it is always the same one. */
static void new_tensors(fixture *f, int same_until) {
  uint32_t x = source(f), y = source(f), last = 0;
  for (int i = 0; i < 9; i++) {
    if (i <= same_until) last = source(f);
    x = op2(f, SM_OP_ADD, use(op2(f, SM_OP_MULTIPLY, use(x), use(y))), use(last));
  }
  f->escapes[x] = true;
}

TEST(a_repeat) {
  fixture f;
  open_fixture(&f);
  new_tensors(&f, 9);
  check_repeat(&f, no_guest, 0, 2, 9);
  open_fixture(&f);
  new_tensors(&f, 4); /* new in five periods, the same in five */
  check_repeat(&f, no_guest, 0, 2, 5);
}

/* Sums of values that the list itself has made would be cut off from them. */
TEST(a_repeat_of_new_tensors_made_inside) {
  fixture f;
  open_fixture(&f);
  uint32_t made[6], x = source(&f);
  for (int i = 0; i < 6; i++) made[i] = op1(&f, i % 2 ? SM_OP_EXP : SM_OP_LOG, source(&f));
  for (int i = 0; i < 6; i++) x = op2(&f, SM_OP_ADD, use(x), use(made[i]));
  f.escapes[x] = true;
  check_repeat(&f, no_guest, 0, 0, 0);
}

/* A first period that reads a guest has another kernel. */
TEST(a_repeat_behind_a_guest) {
  fixture f;
  bool guest[MOST] = {true};
  open_fixture(&f);
  uint32_t x = op1(&f, SM_OP_EXP, source(&f));
  for (int i = 0; i < 9; i++) x = op2(&f, SM_OP_ADD, use(x), use(source(&f)));
  f.escapes[x] = true;
  f.escapes[0] = false;
  check_repeat(&f, guest, 2, 1, 8);
}

/* What is wanted of a trip in between ends the loop there; the rest is one more. */
TEST(a_result_in_between) {
  fixture f;
  open_fixture(&f);
  uint32_t middle = affine(&f, source(&f), 8);
  f.escapes[middle] = true;
  f.escapes[affine(&f, middle, 20)] = true;
  check_roll(&f, 16, 2, 20);
}

/* Results that are not carried are not there behind the loop: its last trip is straight. */
TEST(a_result_that_is_not_carried) {
  fixture f;
  open_fixture(&f);
  uint32_t x = source(&f), product = 0;
  for (int i = 0; i < 10; i++) {
    product = op2(&f, SM_OP_MULTIPLY, use(x), scalar(2));
    x = op2(&f, SM_OP_ADD, use(product), scalar(1));
  }
  f.escapes[product] = f.escapes[x] = true;
  check_roll(&f, 0, 2, 9);
}

/* Alike from outside, but the operands come from elsewhere. */
TEST(other_operands) {
  fixture f;
  open_fixture(&f);
  uint32_t a = source(&f), b = source(&f), x = a;
  for (int i = 0; i < 12; i++) {
    uint32_t other = i % 5 == 3 ? b : a;
    x = op2(&f, SM_OP_ADD, use(x), use(other));
  }
  f.escapes[x] = true;
  check_roll(&f, 4, 1, 4); /* x + a between two b */
  open_fixture(&f);
  a = x = source(&f);
  b = source(&f);
  for (int i = 0; i < 30; i++) x = op2(&f, SM_OP_ADD, use(x), use(i % 5 == 3 ? b : a));
  f.escapes[x] = true;
  check_roll(&f, 0, 5, 6);
}

/* Faces that repeat everywhere and operands that never do: the work is bounded. */
TEST(hopeless_lists_end_soon) {
  fixture f;
  uint64_t state = 5;
  open_fixture(&f);
  uint32_t values[MOST + 1] = {source(&f)};
  for (int i = 1; i < 512; i++) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    values[i] = op2(&f, SM_OP_ADD, use(values[i - 1]), use(values[(state >> 33) % (uint64_t)i]));
  }
  f.escapes[values[511]] = true;
  sm_roll roll;
  sm_arena arena;
  sm_arena_init(&arena, &sm_malloc_allocator);
  CHECK(sm_roll_find(&f.seg, f.ops, (int)f.seg.ops.len, f.escapes, &arena, &roll));
  CHECK(roll.trips == 0 || roll.trips >= SM_ROLL_TRIPS);
  sm_arena_free(&arena);
  sm_segment_free(&f.seg);
}

static void *limited(void *left, void *ptr, size_t old, size_t size) {
  if (size == 0 || (*(int *)left)-- > 0) return sm_malloc_allocator.fn(NULL, ptr, old, size);
  return NULL;
}

TEST(lack_of_memory) {
  fixture f;
  open_fixture(&f);
  f.escapes[affine(&f, source(&f), 250)] = true;
  bool done = false;
  for (int allowed = 0; !done; allowed++) {
    int left = allowed;
    sm_arena arena;
    sm_roll roll;
    sm_arena_init(&arena, &(sm_allocator){limited, &left});
    done = sm_roll_find(&f.seg, f.ops, (int)f.seg.ops.len, f.escapes, &arena, &roll);
    if (done) CHECK_I64(roll.trips, 250);
    sm_arena_free(&arena);
    CHECK(allowed < 10);
  }
  sm_segment_free(&f.seg);
}

TEST_MAIN(CASE(a_chain), CASE(something_before_and_behind), CASE(one_operation_again_and_again),
          CASE(less_than_a_period), CASE(two_trips_ago), CASE(invariants), CASE(a_new_tensor_every_time),
          CASE(a_repeat), CASE(a_repeat_of_new_tensors_made_inside), CASE(a_repeat_behind_a_guest),
          CASE(a_result_in_between), CASE(a_result_that_is_not_carried), CASE(other_operands),
          CASE(hopeless_lists_end_soon), CASE(lack_of_memory))
