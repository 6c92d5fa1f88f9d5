/* SPDX-License-Identifier: Apache-2.0
 *
 * The plan cache: what is the same program and what is not, bounds, lack of memory.
 * A plan here is a number. */
#include <string.h>

#include "harness.h"
#include "stream/plan_cache.h"

static int retained, discarded;

static void retain(void *plan) {
  (void)plan;
  retained++;
}

static void discard(void *plan) {
  (void)plan;
  discarded++;
}

typedef struct fixture {
  sm_counters counters;
  sm_plan_cache cache;
  sm_plan_key key;
} fixture;

static void open_fixture(fixture *f, const sm_allocator *allocator) {
  memset(f, 0, sizeof *f);
  retained = discarded = 0;
  CHECK(sm_plan_cache_init(&f->cache, allocator, &f->counters, (sm_plan_sharing){retain, discard}));
}

/* Whatever the cache retained for itself it has released. */
static void close_fixture(fixture *f) {
  sm_plan_key_free(&f->key, f->cache.allocator);
  sm_plan_cache_free(&f->cache);
  CHECK_I64(discarded, retained - (int)f->counters.plan_hits);
}

/* y = code(code(...(a, b)..., b)), n times; the last result is live. */
typedef struct program {
  smelt_dtype dtype;
  sm_opcode code;
  int n;
  sm_shape a, b;
  bool keep_first; /* the first result is live too */
  float scalar;    /* the second operand instead of b, if not 0 */
} program;

static const program plain = {.dtype = SMELT_F32, .code = SM_OP_ADD, .n = 3, .a = {1, {8}}, .b = {1, {8}}};

static void add_record(sm_segment *seg, const program *p, uint32_t *x, uint32_t b, int i) {
  sm_operand operands[2] = {{.use = {*x, SM_READ_ONLY}, .dtype = p->dtype},
                            {.use = {b, SM_READ_ONLY}, .dtype = p->dtype}};
  if (p->scalar != 0) {
    operands[1] = (sm_operand){.is_scalar = true, .dtype = p->dtype, .scalar = {.F32 = p->scalar}};
  }
  sm_value out = {.dtype = p->dtype, .live = i + 1 == p->n || (i == 0 && p->keep_first)};
  out.shape = seg->values.items[*x].shape;
  CHECK(sm_shape_broadcast(&out.shape, &p->b));
  CHECK(sm_segment_append(seg, p->code, operands, 2, &out, x));
}

static void build(sm_segment *seg, const program *p) {
  uint32_t x = 0, b = 0;
  sm_segment_init(seg, &sm_malloc_allocator);
  CHECK(sm_segment_add_source(seg, &(sm_value){.dtype = p->dtype, .shape = p->a}, &x));
  CHECK(sm_segment_add_source(seg, &(sm_value){.dtype = p->dtype, .shape = p->b}, &b));
  for (int i = 0; i < p->n; i++) add_record(seg, p, &x, b, i);
}

/* The plan that is found; a program that has none gets `plan`. */
static intptr_t look_up(fixture *f, const program *p, intptr_t plan) {
  sm_segment seg;
  build(&seg, p);
  intptr_t found = (intptr_t)sm_plan_cache_find(&f->cache, &seg, &f->key);
  CHECK(f->key.words.len > 0);
  if (!found) CHECK(sm_plan_cache_add(&f->cache, &seg, &f->key, (void *)plan));
  sm_segment_free(&seg);
  return found;
}

static void check_counters(const fixture *f, uint64_t explorations, uint64_t hits, uint64_t guard_misses) {
  CHECK_I64(f->counters.explorations, explorations);
  CHECK_I64(f->counters.plan_hits, hits);
  CHECK_I64(f->counters.guard_misses, guard_misses);
}

TEST(the_same_program_again) {
  fixture f;
  open_fixture(&f, &sm_malloc_allocator);
  CHECK_I64(look_up(&f, &plain, 1), 0);
  CHECK_I64(look_up(&f, &plain, 2), 1);
  check_counters(&f, 1, 1, 0);
  CHECK_I64(discarded, 0);
  close_fixture(&f);
  CHECK_I64(discarded, 1);
}

/* Sizes and scalars are not identity while the order of sizes stays. */
TEST(other_sizes_and_scalars) {
  fixture f;
  open_fixture(&f, &sm_malloc_allocator);
  program p = plain;
  CHECK_I64(look_up(&f, &p, 1), 0);
  p.a = p.b = (sm_shape){1, {5000}};
  CHECK_I64(look_up(&f, &p, 2), 1);
  p.a = (sm_shape){2, {7, 9}};
  p.b = (sm_shape){1, {9}};
  CHECK_I64(look_up(&f, &p, 3), 0);
  p.a = (sm_shape){2, {3, 2}};
  p.b = (sm_shape){1, {2}};
  CHECK_I64(look_up(&f, &p, 4), 3);
  p.scalar = 1.5f;
  CHECK_I64(look_up(&f, &p, 5), 0);
  p.scalar = -2;
  CHECK_I64(look_up(&f, &p, 6), 5);
  check_counters(&f, 3, 3, 0);
  close_fixture(&f);
}

TEST(what_makes_another_program) {
  fixture f;
  open_fixture(&f, &sm_malloc_allocator);
  program others[6] = {plain, plain, plain, plain, plain, plain};
  others[0].dtype = SMELT_F64;
  others[1].code = SM_OP_SUBTRACT;
  others[2].n = 4;
  others[3].keep_first = true;
  others[4].a = others[4].b = (sm_shape){2, {2, 4}};
  others[5].b = (sm_shape){1, {1}}; /* broadcast */
  CHECK_I64(look_up(&f, &plain, 100), 0);
  for (int i = 0; i < 6; i++) CHECK_I64(look_up(&f, &others[i], 1 + i), 0);
  for (int i = 0; i < 6; i++) CHECK_I64(look_up(&f, &others[i], 0), 1 + i);
  CHECK_I64(look_up(&f, &plain, 0), 100);
  check_counters(&f, 7, 7, 0);
  close_fixture(&f);
}

/* Which axes are reduced shows in no extent of a square. */
static intptr_t look_up_reduction(fixture *f, int axis, intptr_t plan) {
  sm_segment seg;
  uint32_t x = 0, y = 0;
  sm_segment_init(&seg, &sm_malloc_allocator);
  CHECK(sm_segment_add_source(&seg, &(sm_value){.dtype = SMELT_F32, .shape = {2, {8, 8}}}, &x));
  sm_operand operand = {.use = {x, SM_READ_ONLY}, .dtype = SMELT_F32};
  sm_value out = {.dtype = SMELT_F32, .live = true, .shape = {1, {8}}};
  CHECK(sm_segment_append_with(&seg, sm_op_row_of(SM_OP_SUM), &operand, 1,
                               &(sm_attrs){.n = 1, .axes = {axis}}, &out, &y));
  intptr_t found = (intptr_t)sm_plan_cache_find(&f->cache, &seg, &f->key);
  CHECK(f->key.words.len > 0);
  if (!found) CHECK(sm_plan_cache_add(&f->cache, &seg, &f->key, (void *)plan));
  sm_segment_free(&seg);
  return found;
}

TEST(other_axes_are_another_program) {
  fixture f;
  open_fixture(&f, &sm_malloc_allocator);
  CHECK_I64(look_up_reduction(&f, 0, 1), 0);
  CHECK_I64(look_up_reduction(&f, 1, 2), 0);
  CHECK_I64(look_up_reduction(&f, 0, 3), 1);
  CHECK_I64(look_up_reduction(&f, 1, 4), 2);
  close_fixture(&f);
}

/* Values that are equal in one segment and not in the next, or in another order. */
TEST(the_order_of_sizes_is_a_guard) {
  fixture f;
  open_fixture(&f, &sm_malloc_allocator);
  program p = {.dtype = SMELT_F32, .code = SM_OP_ADD, .n = 1, .a = {2, {4, 1}}, .b = {2, {1, 6}}};
  CHECK_I64(look_up(&f, &p, 1), 0);
  p.a.dims[0] = 6; /* as large as b now */
  CHECK_I64(look_up(&f, &p, 2), 0);
  p.a.dims[0] = 8; /* larger */
  CHECK_I64(look_up(&f, &p, 3), 0);
  check_counters(&f, 3, 0, 2);
  p.a.dims[0] = 600;
  CHECK_I64(look_up(&f, &p, 4), 3);
  p.a.dims[0] = 2;
  CHECK_I64(look_up(&f, &p, 5), 1);
  check_counters(&f, 3, 2, 2);
  close_fixture(&f);
}

TEST(the_least_recently_used_goes_first) {
  fixture f;
  open_fixture(&f, &sm_malloc_allocator);
  f.cache.limits = (sm_plan_limits){.plans = 3, .records = 100};
  program p = plain;
  for (p.n = 1; p.n <= 3; p.n++) CHECK_I64(look_up(&f, &p, p.n), 0);
  p.n = 1;
  CHECK_I64(look_up(&f, &p, 0), 1);
  p.n = 4;
  CHECK_I64(look_up(&f, &p, 4), 0);
  CHECK_I64(discarded, 1);
  p.n = 1;
  CHECK_I64(look_up(&f, &p, 0), 1);
  p.n = 2;
  CHECK_I64(look_up(&f, &p, 2), 0);
  p.n = 99; /* together more records than there may be */
  CHECK_I64(look_up(&f, &p, 99), 0);
  CHECK_I64(f.cache.n_plans, 1);
  p.n = 200; /* alone too many: kept until the next */
  CHECK_I64(look_up(&f, &p, 200), 0);
  CHECK_I64(look_up(&f, &p, 0), 200);
  CHECK_I64(f.cache.n_plans, 1);
  close_fixture(&f);
}

/* Of two threads that plan the same the second keeps its plan for itself. */
TEST(the_first_plan_stays) {
  fixture f;
  sm_segment seg;
  open_fixture(&f, &sm_malloc_allocator);
  build(&seg, &plain);
  CHECK(!sm_plan_cache_find(&f.cache, &seg, &f.key));
  CHECK(sm_plan_cache_add(&f.cache, &seg, &f.key, (void *)(intptr_t)1));
  CHECK(!sm_plan_cache_add(&f.cache, &seg, &f.key, (void *)(intptr_t)2));
  CHECK_I64(look_up(&f, &plain, 3), 1);
  CHECK_I64(f.cache.n_plans, 1);
  sm_segment_free(&seg);
  close_fixture(&f);
}

/* --- Memory ----------------------------------------------------------------------------- */

static void *limited(void *left, void *ptr, size_t old, size_t size) {
  if (size == 0 || (*(int *)left)-- > 0) return sm_malloc_allocator.fn(NULL, ptr, old, size);
  return NULL;
}

TEST(a_hit_allocates_nothing) {
  fixture f;
  int left = 100;
  open_fixture(&f, &(sm_allocator){limited, &left});
  CHECK_I64(look_up(&f, &plain, 1), 0);
  left = 0;
  CHECK_I64(look_up(&f, &plain, 2), 1);
  close_fixture(&f);
}

TEST(lack_of_memory) {
  bool added = false;
  for (int allowed = 0; !added; allowed++) {
    fixture f;
    sm_segment seg;
    int left = allowed;
    build(&seg, &plain);
    open_fixture(&f, &(sm_allocator){limited, &left});
    CHECK(!sm_plan_cache_find(&f.cache, &seg, &f.key));
    added = sm_plan_cache_add(&f.cache, &seg, &f.key, (void *)(intptr_t)1);
    CHECK_I64(f.cache.n_plans, added);
    close_fixture(&f);
    CHECK_I64(discarded, added);
    sm_segment_free(&seg);
    CHECK(allowed < 10);
  }
}

TEST_MAIN(CASE(the_same_program_again), CASE(other_sizes_and_scalars), CASE(what_makes_another_program),
          CASE(other_axes_are_another_program), CASE(the_order_of_sizes_is_a_guard),
          CASE(the_least_recently_used_goes_first), CASE(the_first_plan_stays), CASE(a_hit_allocates_nothing),
          CASE(lack_of_memory))
