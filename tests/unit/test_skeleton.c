/* SPDX-License-Identifier: Apache-2.0
 *
 * The elementwise skeleton: kernels built for random broadcast shapes, vector
 * widths and chunks, run by the evaluator, against direct loops. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "harness.h"
#include "launch/elementwise_skeleton.h"

enum { MOST = 3000 /* elements */ };

static uint64_t next_random(uint64_t *state) {
  *state = *state * 6364136223846793005u + 1442695040888963407u;
  return *state >> 33;
}

/* Three independent expressions over one space, so three blocks:
 *   y = where(m, a * b + s, c), z = y > a        m, a, b, c broadcast
 *   r = rand(), from the index alone
 *   d = c * 2                           c is read by two blocks */
typedef struct fixture {
  sm_segment seg;
  sm_trace trace;
  sm_shape space;
  uint32_t m, a, b, c, y, z, r, d;
} fixture;

static uint32_t source(fixture *f, smelt_dtype dtype, sm_shape shape) {
  uint32_t v = 0;
  CHECK(sm_segment_add_source(&f->seg, &(sm_value){.id = f->seg.values.len, .dtype = dtype, .shape = shape},
                              &v));
  return v;
}

static uint32_t record(fixture *f, sm_opcode code, smelt_dtype dtype, const sm_operand *operands, int n) {
  uint32_t v = 0;
  sm_value out = {.id = f->seg.values.len, .dtype = dtype, .shape = f->space, .live = true};
  CHECK(sm_segment_append(&f->seg, code, operands, n, &out, &v));
  return v;
}

static sm_operand use(const fixture *f, uint32_t v) {
  return (sm_operand){.use = {v, SM_READ_ONLY}, .dtype = f->seg.values.items[v].dtype};
}

static sm_operand f32_scalar(float v) {
  return (sm_operand){.is_scalar = true, .dtype = SMELT_F32, .scalar = {.F32 = v}};
}

static sm_operand u64_scalar(uint64_t v) {
  return (sm_operand){.is_scalar = true, .dtype = SMELT_U64, .scalar = {.U64 = v}};
}

static void open_fixture(fixture *f, const sm_shape *shapes, sm_shape space) {
  static const uint32_t ops[] = {0, 1, 2, 3, 4, 5};
  smelt_error err;
  memset(f, 0, sizeof *f);
  sm_segment_init(&f->seg, &sm_malloc_allocator);
  f->space = space;
  f->m = source(f, SMELT_BOOL, shapes[0]);
  f->a = source(f, SMELT_F32, space);
  f->b = source(f, SMELT_F32, shapes[1]);
  f->c = source(f, SMELT_F32, shapes[2]);
  uint32_t product = record(f, SM_OP_MULTIPLY, SMELT_F32, (sm_operand[]){use(f, f->a), use(f, f->b)}, 2);
  uint32_t sum = record(f, SM_OP_ADD, SMELT_F32, (sm_operand[]){use(f, product), f32_scalar(0.5f)}, 2);
  f->seg.values.items[product].live = f->seg.values.items[sum].live = false;
  f->y = record(f, SM_OP_WHERE, SMELT_F32, (sm_operand[]){use(f, f->m), use(f, sum), use(f, f->c)}, 3);
  f->z = record(f, SM_OP_GREATER, SMELT_BOOL, (sm_operand[]){use(f, f->y), use(f, f->a)}, 2);
  f->r = record(f, SM_OP_RAND, SMELT_F64, (sm_operand[]){u64_scalar(7), u64_scalar(9)}, 2);
  f->d = record(f, SM_OP_MULTIPLY, SMELT_F32, (sm_operand[]){use(f, f->c), f32_scalar(2)}, 2);
  bool written[12];
  for (uint32_t v = 0; v < f->seg.values.len; v++) written[v] = v != product && v != sum;
  CHECK_OK(
      sm_trace_build(&f->seg, ops, 6, written, SMELT_MODE_DEFAULT, &sm_malloc_allocator, &f->trace, &err),
      err);
}

static void close_fixture(fixture *f) {
  sm_trace_free(&f->trace, &sm_malloc_allocator);
  sm_segment_free(&f->seg);
}

/* --- Data ------------------------------------------------------------------------------ */

static int64_t count_of(const fixture *f, uint32_t v) {
  return sm_shape_count(&f->seg.values.items[v].shape);
}

/* Exactly as large as the value, so that the evaluator and address sanitizers
 * see each step outside. */
static sm_kir_span allocate(const fixture *f, uint32_t v) {
  const sm_value *value = &f->seg.values.items[v];
  size_t bytes = (size_t)sm_shape_bytes(&value->shape, value->dtype);
  sm_kir_span span = {malloc(bytes), bytes};
  CHECK(span.data != NULL);
  memset(span.data, 0, bytes);
  return span;
}

static void fill(const fixture *f, uint32_t v, sm_kir_span span, uint64_t *state) {
  CHECK(span.data != NULL);
  for (int64_t i = 0; i < count_of(f, v); i++) {
    uint64_t bits = next_random(state);
    if (f->seg.values.items[v].dtype == SMELT_BOOL) ((bool *)span.data)[i] = bits % 2;
    else ((float *)span.data)[i] = (float)((int64_t)(bits % 2001) - 1000) / 64;
  }
}

/* --- Running ------------------------------------------------------------------------------ */

/* Chunks that begin at multiples of the grain, in any order. */
static void run(const sm_kir_kernel *k, const fixture *f, const sm_launch_plan *plan,
                const sm_size_list *sources, const sm_kir_span *spans, int64_t chunk) {
  sm_word scalars[8];
  int64_t sizes[64];
  smelt_error err;
  CHECK(sources->len <= 64);
  for (size_t i = 0; i < sources->len; i++) sizes[i] = sm_size_value(&f->trace, plan, &sources->items[i]);
  for (size_t i = 0; i < f->trace.scalars.len; i++)
    scalars[i] = sm_trace_scalar_word(&f->seg, &f->trace.scalars.items[i]);
  chunk = (chunk + plan->grain - 1) / plan->grain * plan->grain;
  for (int64_t end = plan->work_items; end > 0;) {
    int64_t begin = (end - 1) / chunk * chunk;
    sm_kir_call call = {.buffers = spans, .sizes = sizes, .scalars = scalars, .begin = begin, .end = end};
    CHECK_OK(sm_kir_eval(k, &call, &err), err);
    end = begin;
  }
}

/* --- Direct loops --------------------------------------------------------------------------- */

static const void *element(const fixture *f, uint32_t v, sm_kir_span *by_value, int64_t index) {
  const sm_shape *operand = &f->seg.values.items[v].shape;
  int64_t position = 0, stride = 1;
  for (int axis = f->space.rank - 1, k = operand->rank - 1; k >= 0; axis--, k--) {
    if (operand->dims[k] != 1) position += index % f->space.dims[axis] * stride;
    stride *= operand->dims[k];
    index /= f->space.dims[axis];
  }
  size_t size = smelt_dtype_size(f->seg.values.items[v].dtype);
  return (char *)by_value[v].data + (size_t)position * size;
}

static double drawn(int64_t index) {
  uint64_t bits, at = (uint64_t)index, call = 7, key = 9;
  double unit;
  sm_kop_eval(SM_KOP_PHILOX_LO, SMELT_U64, SMELT_U64)(1, &bits, (const void *const[]){&at, &call, &key}, 0);
  sm_kop_eval(SM_KOP_UNIT, SMELT_U64, SMELT_F64)(1, &unit, (const void *const[]){&bits}, 0);
  return unit;
}

static void check_results(const fixture *f, sm_kir_span *s) {
  for (int64_t i = 0; i < sm_shape_count(&f->space); i++) {
    bool m = *(const bool *)element(f, f->m, s, i);
    float a = *(const float *)element(f, f->a, s, i), b = *(const float *)element(f, f->b, s, i);
    float c = *(const float *)element(f, f->c, s, i), product = a * b, y = m ? product + 0.5f : c;
    CHECK_F64(((float *)s[f->y].data)[i], y);
    CHECK_I64(((bool *)s[f->z].data)[i], y > a);
    CHECK_F64(((double *)s[f->r].data)[i], drawn(i));
    CHECK_F64(((float *)s[f->d].data)[i], c * 2);
  }
}

/* One vector a round, and a loop over what is left. */
static sm_elementwise_form plain(int width) { return (sm_elementwise_form){.width = width, .unroll = 1}; }

static void check_form(const fixture *f, sm_elementwise_form form, int64_t chunk, uint64_t *state) {
  sm_arena arena;
  sm_launch_plan plan;
  sm_kir_kernel kernel;
  sm_size_list sizes;
  smelt_error err;
  sm_kir_span by_value[16] = {{0}}, spans[16];
  size_t n = 0;
  sm_arena_init(&arena, &sm_malloc_allocator);
  CHECK(sm_launch_plan_make(&f->trace, &f->seg, NULL, false, &arena, &plan));
  CHECK_OK(sm_elementwise_kernel(&f->trace, &plan, form, &sm_malloc_allocator, &kernel, &sizes, &err), err);
  CHECK_OK(sm_kir_verify(&kernel, &err), err);
  CHECK_I64(kernel.n_sizes, sizes.len);
  for (uint32_t v = 0; v < f->seg.values.len; v++) by_value[v] = allocate(f, v);
  for (uint32_t v = f->m; v <= f->c; v++) fill(f, v, by_value[v], state);
  for (size_t i = 0; i < f->trace.inputs.len; i++) spans[n++] = by_value[f->trace.inputs.items[i].value];
  for (size_t i = 0; i < f->trace.outputs.len; i++) spans[n++] = by_value[f->trace.outputs.items[i].value];
  CHECK(form.tile ? kernel.buffers.len > n : kernel.buffers.len == n);
  run(&kernel, f, &plan, &sizes, spans, chunk);
  check_results(f, by_value);
  for (uint32_t v = 0; v < f->seg.values.len; v++) free(by_value[v].data);
  sm_kir_free(&kernel);
  sm_vec_free(&sm_malloc_allocator, &sizes);
  sm_arena_free(&arena);
}

/* One loop, and segments over tiles. */
static void check_kernel(const fixture *f, int width, int64_t chunk, uint64_t *state) {
  check_form(f, plain(width), chunk, state);
  check_form(f, (sm_elementwise_form){.width = width, .unroll = 1, .tile = 2 * width, .segment = 28}, chunk,
             state);
}

/* --- Cases -------------------------------------------------------------------------------------- */

static sm_shape random_operand(const sm_shape *space, uint64_t *state) {
  sm_shape s = {.rank = (int)(next_random(state) % (uint64_t)(space->rank + 1))};
  for (int k = 0; k < s.rank; k++) {
    s.dims[k] = next_random(state) % 3 ? space->dims[space->rank - s.rank + k] : 1;
  }
  return s;
}

static sm_shape random_space(uint64_t *state) {
  sm_shape s;
  do {
    s = (sm_shape){.rank = (int)(next_random(state) % 6)};
    for (int k = 0; k < s.rank; k++)
      s.dims[k] = 1 + (int64_t)(next_random(state) % (k + 1 == s.rank ? 70 : 5));
  } while (sm_shape_count(&s) > MOST);
  return s;
}

TEST(random_shapes_forms_and_chunks) {
  static const int widths[] = {1, 2, 4, 16};
  uint64_t state = 11;
  for (int round = 0; round < 400; round++) {
    fixture f;
    sm_shape space = random_space(&state), shapes[3];
    for (int i = 0; i < 3; i++) shapes[i] = random_operand(&space, &state);
    open_fixture(&f, shapes, space);
    CHECK_I64(f.trace.blocks.len, 3);
    check_kernel(&f, widths[next_random(&state) % 4], 1 + (int64_t)(next_random(&state) % 200), &state);
    close_fixture(&f);
  }
}

/* Sizes around multiples of the width. */
TEST(tails) {
  uint64_t state = 12;
  for (int64_t extent = 1; extent <= 35; extent++) {
    fixture f;
    sm_shape space = {1, {extent}}, rows = {2, {3, extent}}, scalar = {.rank = 0};
    open_fixture(&f, (sm_shape[]){space, space, space}, space);
    check_kernel(&f, 16, 7, &state);
    close_fixture(&f);
    open_fixture(&f, (sm_shape[]){space, {2, {3, 1}}, scalar}, rows);
    check_kernel(&f, 16, 7, &state);
    close_fixture(&f);
  }
}

/* Padded kernels run whole rounds; here there are no others. */
TEST(rounds_of_several_vectors) {
  uint64_t state = 14;
  for (int unroll = 1; unroll <= 8; unroll *= 2) {
    sm_elementwise_form form = {.width = 4, .unroll = unroll, .padded = true};
    fixture f;
    sm_shape space = {1, {96}}, scalar = {.rank = 0};
    open_fixture(&f, (sm_shape[]){space, scalar, space}, space);
    check_form(&f, form, 96, &state);
    close_fixture(&f);
  }
}

TEST(rank_16) {
  uint64_t state = 13;
  fixture f;
  sm_shape space = {.rank = SMELT_MAX_RANK}, shapes[3];
  for (int i = 0; i < SMELT_MAX_RANK; i++) space.dims[i] = i % 2 ? 2 : 1;
  for (int k = 0; k < 3; k++) {
    shapes[k] = space;
    for (int i = k; i < SMELT_MAX_RANK; i += k + 2) shapes[k].dims[i] = 1;
  }
  open_fixture(&f, shapes, space);
  for (int width = 1; width <= 16; width *= 2) check_kernel(&f, width, 40, &state);
  close_fixture(&f);
}

/* Sizes and scalars are arguments: other extents of one pattern, one kernel. */
TEST(extents_are_not_identity) {
  sm_hash hashes[2];
  for (int i = 0; i < 2; i++) {
    fixture f;
    sm_arena arena;
    sm_launch_plan plan;
    sm_kir_kernel kernel;
    sm_size_list sizes;
    smelt_error err;
    int64_t n = 5 + 3 * i;
    open_fixture(&f, (sm_shape[]){{1, {n}}, {2, {4, 1}}, {.rank = 0}}, (sm_shape){2, {4, n}});
    sm_arena_init(&arena, &sm_malloc_allocator);
    CHECK(sm_launch_plan_make(&f.trace, &f.seg, NULL, false, &arena, &plan));
    CHECK_OK(sm_elementwise_kernel(&f.trace, &plan, plain(4), &sm_malloc_allocator, &kernel, &sizes, &err),
             err);
    hashes[i] = sm_kir_hash(&kernel);
    sm_kir_free(&kernel);
    sm_vec_free(&sm_malloc_allocator, &sizes);
    sm_arena_free(&arena);
    close_fixture(&f);
  }
  CHECK(sm_hash_equal(hashes[0], hashes[1]));
}

static void *fail_after(void *left, void *ptr, size_t old, size_t size) {
  if (size == 0 || (*(int *)left)-- > 0) return sm_malloc_allocator.fn(NULL, ptr, old, size);
  return NULL;
}

TEST(lack_of_memory_is_an_error) {
  fixture f;
  sm_arena arena;
  sm_launch_plan plan;
  sm_shape space = {2, {4, 5}}, row = {1, {5}};
  open_fixture(&f, (sm_shape[]){row, row, row}, space);
  sm_arena_init(&arena, &sm_malloc_allocator);
  CHECK(sm_launch_plan_make(&f.trace, &f.seg, NULL, false, &arena, &plan));
  smelt_status status = SMELT_ERR_MEMORY;
  for (int allowed = 0; status != SMELT_OK; allowed++) {
    int left = allowed;
    sm_allocator allocator = {fail_after, &left};
    sm_kir_kernel kernel;
    sm_size_list sizes;
    status = sm_elementwise_kernel(&f.trace, &plan, plain(4), &allocator, &kernel, &sizes, NULL);
    if (status != SMELT_OK) CHECK_STATUS(status, SMELT_ERR_MEMORY);
    sm_kir_free(&kernel);
    sm_vec_free(&allocator, &sizes);
    CHECK(allowed < 100);
  }
  sm_arena_free(&arena);
  close_fixture(&f);
}

TEST_MAIN(CASE(random_shapes_forms_and_chunks), CASE(tails), CASE(rounds_of_several_vectors), CASE(rank_16),
          CASE(extents_are_not_identity), CASE(lack_of_memory_is_an_error))
