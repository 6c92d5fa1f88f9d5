/* SPDX-License-Identifier: Apache-2.0
 *
 * Loops of kernel IR that carry values: running (by the evaluator, with functions
 * expanded, and as code where there is a libLLVM), verifying, text, identity. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "codegen/llvm_codegen.h"
#include "harness.h"
#include "rt/object_loader.h"
#include "meter.h"

enum { NONE = SM_KIR_NONE, MAX_BUFFERS = 4, BUFFER_BYTES = 1024 };

/* --- Running a kernel in every way ------------------------------------------------------- */

/* What kernels work on, in a copy for each way of running them. */
typedef struct memory {
  _Alignas(64) unsigned char bytes[MAX_BUFFERS][BUFFER_BYTES];
} memory;

typedef struct arguments {
  const int64_t *sizes;
  const sm_word *scalars;
  int64_t n_table; /* scalars behind the arguments */
  int64_t begin, end;
} arguments;

static sm_kir_kernel start(const char *name) {
  sm_kir_kernel k;
  sm_kir_init(&k, &sm_malloc_allocator);
  (void)snprintf(k.name, sizeof k.name, "%s", name);
  return k;
}

static int32_t op(sm_kir_kernel *k, sm_kop kop, int32_t a, int32_t b) {
  return sm_kir_kop(k, kop, a, b, NONE, SMELT_DTYPE_NONE);
}

static void evaluate(const sm_kir_kernel *k, arguments args, memory *m) {
  smelt_error err;
  sm_kir_span spans[MAX_BUFFERS];
  for (int i = 0; i < MAX_BUFFERS; i++) spans[i] = (sm_kir_span){m->bytes[i], BUFFER_BYTES};
  sm_kir_call call = {.buffers = spans,
                      .sizes = args.sizes,
                      .scalars = args.scalars,
                      .n_table = args.n_table,
                      .begin = args.begin,
                      .end = args.end};
  CHECK_OK(sm_kir_eval(k, &call, &err), err);
}

static void run_code(sm_llvm *llvm, const sm_kir_kernel *k, sm_cpu_level level, arguments args, memory *m) {
  smelt_error err;
  sm_object object;
  sm_code code;
  CHECK_OK(sm_llvm_compile(llvm, k, level, &sm_malloc_allocator, &object, NULL, &err), err);
  CHECK_OK(sm_code_load(object.data, object.size, SM_OBJECT_ENTRY, &code, &err), err);
  sm_free(&sm_malloc_allocator, object.data, object.size);
  void *data[MAX_BUFFERS];
  for (int i = 0; i < MAX_BUFFERS; i++) data[i] = m->bytes[i];
  if (level <= sm_cpu_detect()) code.entry(data, args.sizes, args.scalars, args.begin, args.end);
  sm_code_free(&code);
}

/* Runs the kernel by the evaluator on `m`, and in all other ways on copies of it as
 * it was, which must come out equal. */
static void run(sm_kir_kernel *k, arguments args, memory *m) {
  smelt_error err;
  sm_kir_kernel primitive;
  sm_llvm llvm;
  memory before = *m, copy = *m;
  CHECK_OK(sm_kir_finish(k, &err), err);
  evaluate(k, args, m);
  CHECK_OK(sm_kir_expand(k, &primitive, &err), err);
  evaluate(&primitive, args, &copy);
  CHECK(memcmp(&copy, m, sizeof copy) == 0);
  if (sm_llvm_open(&llvm, "", &err) == SMELT_OK) {
    for (int level = SM_CPU_AVX2; level <= SM_CPU_AVX512; level++) {
      copy = before;
      run_code(&llvm, &primitive, (sm_cpu_level)level, args, &copy);
      CHECK(level > (int)sm_cpu_detect() || memcmp(&copy, m, sizeof copy) == 0);
    }
    sm_llvm_close(&llvm);
  }
  sm_kir_free(&primitive);
}

/* --- Running -------------------------------------------------------------------------------- */

/* b1[0] = s0 + b0[0] + ... + b0[n0 - 1] and b2[0] = n0, both in lanes of `width`. */
static void build_sum(sm_kir_kernel *k, smelt_dtype dtype, int width) {
  sm_kir_add_buffer(k, dtype, false);
  sm_kir_add_buffer(k, dtype, true);
  sm_kir_add_buffer(k, SMELT_I64, true);
  int32_t n = sm_kir_size(k, sm_kir_add_size(k)), zero = sm_kir_i64(k, 0), one = sm_kir_i64(k, 1);
  int32_t first = sm_kir_splat(k, sm_kir_scalar(k, sm_kir_add_scalar(k, dtype)), width);
  int32_t i = sm_kir_for(k, zero, n, 1);
  int32_t sum = sm_kir_carry(k, first), count = sm_kir_carry(k, zero);
  int32_t x = sm_kir_load(k, 0, op(k, SM_KOP_MUL, i, sm_kir_i64(k, width)), NONE, width);
  int32_t more = op(k, dtype == SMELT_BOOL ? SM_KOP_XOR : SM_KOP_ADD, sum, x);
  int32_t counted = op(k, SM_KOP_ADD, count, one);
  sm_kir_next(k, sum, more);
  sm_kir_next(k, count, counted);
  sm_kir_end(k);
  int32_t total = sm_kir_result(k, sum), rounds = sm_kir_result(k, count);
  sm_kir_store(k, 1, zero, NONE, total);
  sm_kir_store(k, 2, zero, NONE, rounds);
}

static void check_sum(int64_t n, int width) {
  memory m = {0};
  float *from = (float *)(void *)m.bytes[0], *to = (float *)(void *)m.bytes[1];
  for (int i = 0; i < 64; i++) from[i] = 1.0f / (float)(i + 1);
  sm_kir_kernel k = start("sum");
  build_sum(&k, SMELT_F32, width);
  run(&k, (arguments){.sizes = &n, .scalars = &(sm_word){.F32 = 0.1f}}, &m);
  for (int l = 0; l < width; l++) {
    float sum = 0.1f;
    for (int64_t i = 0; i < n; i++) sum += from[i * width + l];
    CHECK_F64(to[l], sum);
  }
  CHECK_F64(to[width], 0);
  CHECK_I64(*(int64_t *)(void *)m.bytes[2], n);
  sm_kir_free(&k);
}

TEST(sums) {
  for (int n = 0; n <= 4; n++) {
    check_sum(n, 1);
    check_sum(n, 4);
    check_sum(n, 16);
  }
}

/* Every dtype that can be added or combined is carried, in words and in vectors. */
TEST(sums_of_every_dtype) {
  for (int d = 1; d < SM_DTYPE_LIMIT; d++) {
    smelt_dtype dtype = (smelt_dtype)d;
    if (!sm_dtype_valid(dtype) || sm_dtype_is_half(dtype)) continue;
    for (int width = 1; width <= 8; width *= 8) {
      memory m = {0};
      int64_t n = 5;
      sm_kir_kernel k = start("sum");
      for (size_t i = 0; i < 40; i++) m.bytes[0][i * smelt_dtype_size(dtype)] = i % 3 == 0;
      build_sum(&k, dtype, width);
      run(&k, (arguments){.sizes = &n, .scalars = &(sm_word){.bits = 1}}, &m);
      sm_kir_free(&k);
    }
  }
}

/* Halves are carried as they are: the last element. */
TEST(halves_are_carried) {
  memory m = {.bytes = {{1, 2, 3, 4, 5, 6}}};
  sm_kir_kernel k = start("last");
  sm_kir_add_buffer(&k, SMELT_F16, false);
  sm_kir_add_buffer(&k, SMELT_F16, true);
  int32_t zero = sm_kir_i64(&k, 0), first = sm_kir_load(&k, 0, zero, NONE, 1);
  int32_t end = sm_kir_chunk_end(&k);
  int32_t i = sm_kir_for(&k, zero, end, 1);
  int32_t last = sm_kir_carry(&k, first), x = sm_kir_load(&k, 0, i, NONE, 1);
  sm_kir_next(&k, last, x);
  sm_kir_end(&k);
  sm_kir_store(&k, 1, zero, NONE, sm_kir_result(&k, last));
  run(&k, (arguments){.end = 3}, &m);
  CHECK_I64(m.bytes[1][0], 5);
  CHECK_I64(m.bytes[1][1], 6);
  sm_kir_free(&k);
}

/* b0[0], b0[1] = n0 rounds of a, b = b, a + b. With `exchange` the sum is left out. */
static void build_pair(sm_kir_kernel *k, bool exchange) {
  sm_kir_add_buffer(k, SMELT_I32, true);
  int32_t n = sm_kir_size(k, sm_kir_add_size(k)), zero = sm_kir_i64(k, 0), one = sm_kir_i64(k, 1);
  int32_t first = sm_kir_load(k, 0, zero, NONE, 1), second = sm_kir_load(k, 0, one, NONE, 1);
  sm_kir_for(k, zero, n, 1);
  int32_t a = sm_kir_carry(k, first), b = sm_kir_carry(k, second);
  int32_t sum = exchange ? a : op(k, SM_KOP_ADD, a, b);
  sm_kir_next(k, a, b);
  sm_kir_next(k, b, sum);
  sm_kir_end(k);
  int32_t left = sm_kir_result(k, a), right = sm_kir_result(k, b);
  sm_kir_store(k, 0, zero, NONE, left);
  sm_kir_store(k, 0, one, NONE, right);
}

static void check_pair(int64_t n, bool exchange, int32_t left, int32_t right) {
  memory m = {0};
  int32_t *pair = (int32_t *)(void *)m.bytes[0];
  pair[0] = 5, pair[1] = 8;
  sm_kir_kernel k = start("pair");
  build_pair(&k, exchange);
  run(&k, (arguments){.sizes = &n}, &m);
  CHECK_I64(pair[0], left);
  CHECK_I64(pair[1], right);
  sm_kir_free(&k);
}

TEST(takes_effect_at_once) {
  check_pair(0, true, 5, 8);
  check_pair(1, true, 8, 5);
  check_pair(2, true, 5, 8);
  check_pair(7, true, 8, 5);
  check_pair(-3, false, 5, 8);
  check_pair(1, false, 8, 13);
  check_pair(6, false, 89, 144);
}

/* b1[r] = the running sum of the maxima of rows 0 .. r of b0, [n0, n1]; b2[0] = the
 * last of them: a loop inside a loop, whose result the outer one carries on. */
static void build_nested(sm_kir_kernel *k) {
  sm_kir_add_buffer(k, SMELT_F64, false);
  sm_kir_add_buffer(k, SMELT_F64, true);
  sm_kir_add_buffer(k, SMELT_F64, true);
  int32_t rows = sm_kir_size(k, sm_kir_add_size(k)), columns = sm_kir_size(k, sm_kir_add_size(k));
  int32_t zero = sm_kir_i64(k, 0), nothing = sm_kir_const(k, SMELT_F64, (sm_word){.F64 = 0});
  int32_t lowest = sm_kir_const(k, SMELT_F64, (sm_word){.F64 = -INFINITY});
  int32_t r = sm_kir_for(k, zero, rows, 1);
  int32_t sum = sm_kir_carry(k, nothing), row = op(k, SM_KOP_MUL, r, columns);
  int32_t c = sm_kir_for(k, zero, columns, 1);
  int32_t best = sm_kir_carry(k, lowest);
  sm_kir_next(k, best, op(k, SM_KOP_MAX, best, sm_kir_load(k, 0, op(k, SM_KOP_ADD, row, c), NONE, 1)));
  sm_kir_end(k);
  int32_t more = op(k, SM_KOP_ADD, sum, sm_kir_result(k, best));
  sm_kir_store(k, 1, r, NONE, more);
  sm_kir_next(k, sum, more);
  sm_kir_end(k);
  sm_kir_store(k, 2, zero, NONE, sm_kir_result(k, sum));
}

static void check_nested(int64_t rows, int64_t columns) {
  memory m = {0};
  double *from = (double *)(void *)m.bytes[0], *to = (double *)(void *)m.bytes[1], sum = 0;
  for (int i = 0; i < 60; i++) from[i] = (double)(i * 37 % 23) / 7;
  sm_kir_kernel k = start("nested");
  build_nested(&k);
  run(&k, (arguments){.sizes = (int64_t[]){rows, columns}}, &m);
  for (int64_t r = 0; r < rows; r++) {
    double best = -INFINITY;
    for (int64_t c = 0; c < columns; c++) best = fmax(best, from[r * columns + c]);
    CHECK_F64(to[r], sum += best);
  }
  CHECK_F64(*(double *)(void *)m.bytes[2], sum);
  sm_kir_free(&k);
}

TEST(loops_in_loops) {
  check_nested(0, 3);
  check_nested(1, 1);
  check_nested(4, 5);
  check_nested(12, 5);
  check_nested(3, 0);
}

/* What a loop starts with may be what another has left, and is used after both. */
TEST(one_loop_after_another) {
  memory m = {0};
  int64_t *to = (int64_t *)(void *)m.bytes[0], n = 4;
  sm_kir_kernel k = start("chain");
  sm_kir_add_buffer(&k, SMELT_I64, true);
  int32_t zero = sm_kir_i64(&k, 0), one = sm_kir_i64(&k, 1), end = sm_kir_size(&k, sm_kir_add_size(&k));
  int32_t value = one, first = one;
  for (int l = 0; l < 3; l++) {
    int32_t i = sm_kir_for(&k, zero, end, 1), held = sm_kir_carry(&k, value);
    sm_kir_next(&k, held, op(&k, SM_KOP_ADD, op(&k, SM_KOP_ADD, held, held), i));
    sm_kir_end(&k);
    value = sm_kir_result(&k, held);
    if (l == 0) first = sm_kir_result(&k, held);
  }
  sm_kir_store(&k, 0, zero, NONE, value);
  sm_kir_store(&k, 0, one, NONE, first);
  run(&k, (arguments){.sizes = &n}, &m);
  int64_t expected = 1, after_first = 0;
  for (int i = 0; i < 12; i++) {
    expected = 2 * expected + i % 4;
    if (i == 3) after_first = expected;
  }
  CHECK_I64(to[0], expected);
  CHECK_I64(to[1], after_first);
  sm_kir_free(&k);
}

/* --- Loops over elements in loops of a run-time count ------------------------------------------ */

enum { TILE = 32, WIDTH = 8, STEPS = 3 };

static void copy_tile(sm_kir_kernel *k, int from, int32_t from_at, int to, int32_t to_at, int32_t size) {
  int32_t i = sm_kir_for(k, sm_kir_i64(k, 0), size, WIDTH);
  int32_t x = sm_kir_load(k, from, from_at == NONE ? i : op(k, SM_KOP_ADD, from_at, i), NONE, WIDTH);
  sm_kir_store(k, to, to_at == NONE ? i : op(k, SM_KOP_ADD, to_at, i), NONE, x);
  sm_kir_end(k);
}

/* local = local * b1[round] + 1, then its exponential's hyperbolic tangent. */
static void add_step(sm_kir_kernel *k, int local, int32_t round, int32_t size) {
  int32_t factor = sm_kir_splat(k, sm_kir_load(k, 1, round, NONE, 1), WIDTH);
  int32_t one = sm_kir_splat(k, sm_kir_const(k, SMELT_F32, (sm_word){.F32 = 1}), WIDTH);
  int32_t i = sm_kir_for(k, sm_kir_i64(k, 0), size, WIDTH);
  int32_t x = sm_kir_load(k, local, i, NONE, WIDTH);
  x = op(k, SM_KOP_ADD, op(k, SM_KOP_MUL, x, factor), one);
  x = op(k, SM_KOP_TANH, op(k, SM_KOP_EXP, x, NONE), NONE);
  sm_kir_store(k, local, i, NONE, x);
  sm_kir_end(k);
}

/* n0 rounds of `steps` steps; what counts them, if they are counted. */
static int32_t add_rounds(sm_kir_kernel *k, int local, int steps, int32_t before) {
  int32_t rounds = sm_kir_size(k, 0), size = sm_kir_i64(k, TILE), one = sm_kir_i64(k, 1);
  int32_t round = sm_kir_for(k, sm_kir_i64(k, 0), rounds, 1);
  int32_t count = before == NONE ? NONE : sm_kir_carry(k, before);
  for (int s = 0; s < steps; s++) add_step(k, local, round, size);
  if (before != NONE) sm_kir_next(k, count, op(k, SM_KOP_ADD, count, one));
  sm_kir_end(k);
  return before == NONE ? NONE : sm_kir_result(k, count);
}

/* Tiles of b0, each put through n0 rounds of `steps` steps, to b2; and the number of
 * rounds of the chunk to b3[0] if they are `counted`. */
static void build_rolled(sm_kir_kernel *k, int steps, bool counted) {
  sm_kir_add_buffer(k, SMELT_F32, false);
  sm_kir_add_buffer(k, SMELT_F32, false);
  sm_kir_add_buffer(k, SMELT_F32, true);
  sm_kir_add_buffer(k, SMELT_I64, true);
  int local = sm_kir_add_local(k, SMELT_F32, TILE);
  sm_kir_add_size(k);
  int32_t size = sm_kir_i64(k, TILE), zero = sm_kir_i64(k, 0);
  int32_t begin = sm_kir_chunk_begin(k), end = sm_kir_chunk_end(k);
  int32_t tile = sm_kir_for(k, begin, end, TILE), before = counted ? sm_kir_carry(k, zero) : NONE;
  copy_tile(k, 0, tile, local, NONE, size);
  int32_t after = add_rounds(k, local, steps, before);
  copy_tile(k, local, NONE, 2, tile, size);
  if (counted) sm_kir_next(k, before, after);
  sm_kir_end(k);
  if (counted) sm_kir_store(k, 3, zero, NONE, sm_kir_result(k, before));
}

static void check_rolled(int64_t rounds, int steps, bool counted) {
  memory m = {0};
  float *from = (float *)(void *)m.bytes[0], *factors = (float *)(void *)m.bytes[1];
  for (int i = 0; i < 4 * TILE; i++) from[i] = (float)(i - 50) / 16;
  for (int i = 0; i < 8; i++) factors[i] = (float)(i - 3) / 4;
  sm_kir_kernel k = start("rolled");
  build_rolled(&k, steps, counted);
  run(&k, (arguments){.sizes = &rounds, .begin = TILE, .end = 4L * TILE}, &m);
  CHECK_I64(*(int64_t *)(void *)m.bytes[3], counted ? 3 * rounds : 0);
  CHECK_F64(((float *)(void *)m.bytes[2])[0], 0);
  if (!rounds) CHECK(memcmp(m.bytes[2] + TILE * 4L, m.bytes[0] + TILE * 4L, TILE * 12UL) == 0);
  sm_kir_free(&k);
}

TEST(element_loops_in_rolled_loops) {
  for (int64_t rounds = 0; rounds <= 5; rounds++) check_rolled(rounds, STEPS, rounds % 2);
}

/* So long that loops inside the outermost one become functions, where they can. */
TEST(long_rolled_loops) {
  check_rolled(4, 80, false);
  check_rolled(4, 80, true);
}

/* --- The verifier ------------------------------------------------------------------------------- */

enum {
  I_ZERO,   /* const i64 0 */
  I_SIZE,   /* size n0 */
  I_ONE,    /* const f32 1 */
  I_FOR,    /* for %0 .. %1 step 1 */
  I_CARRY,  /* carry f32 %2 */
  I_INDEX,  /* carry i64 %1 */
  I_ADD,    /* add f32 %4, %2 */
  I_NEXT,   /* next %4, %6 */
  I_NEXT_2, /* next %5, %3 */
  I_END,    /* } */
  I_RESULT, /* result f32 %4 */
  I_LAST,   /* result i64 %5 */
  I_NEG,    /* neg f32 %10 */
  I_COUNT
};

static sm_kir_kernel sample(void) {
  sm_kir_kernel k = start("sample");
  smelt_error err;
  sm_kir_size(&k, (sm_kir_i64(&k, 0), sm_kir_add_size(&k)));
  sm_kir_const(&k, SMELT_F32, (sm_word){.F32 = 1});
  sm_kir_for(&k, I_ZERO, I_SIZE, 1);
  sm_kir_carry(&k, I_ONE);
  sm_kir_carry(&k, I_SIZE);
  op(&k, SM_KOP_ADD, I_CARRY, I_ONE);
  sm_kir_next(&k, I_CARRY, I_ADD);
  sm_kir_next(&k, I_INDEX, I_FOR);
  sm_kir_end(&k);
  sm_kir_result(&k, I_CARRY);
  sm_kir_result(&k, I_INDEX);
  op(&k, SM_KOP_NEG, I_RESULT, NONE);
  CHECK_OK(sm_kir_finish(&k, &err), err);
  CHECK_I64(k.ins.len, I_COUNT);
  return k;
}

/* The sample with one change, made by a statement that sees its instructions as `ins`,
 * is refused because of instruction `at` for the reason `what`. */
#define CHECK_FAULT(at, change, what)                                                 \
  do {                                                                                \
    char text[160];                                                                   \
    smelt_error err;                                                                  \
    sm_kir_kernel k = sample();                                                       \
    sm_kir_ins *ins = k.ins.items;                                                    \
    (void)ins;                                                                        \
    change;                                                                           \
    (void)snprintf(text, sizeof text, "kernel sample, instruction %d: %s", at, what); \
    CHECK_STATUS(sm_kir_verify(&k, &err), SMELT_ERR_INTERNAL);                        \
    CHECK_STR(err.text, text);                                                        \
    sm_kir_free(&k);                                                                  \
  } while (0)

static void swap(sm_kir_ins *a, sm_kir_ins *b) {
  sm_kir_ins held = *a;
  *a = *b;
  *b = held;
}

TEST(refuses_bad_carries) {
  CHECK_FAULT(I_CARRY, ins[I_CARRY].args[0] = I_FOR, "argument 0, %3, is not defined before the loop");
  CHECK_FAULT(I_INDEX, ins[I_INDEX].args[0] = I_CARRY, "argument 0, %4, is not defined before the loop");
  CHECK_FAULT(I_CARRY, ins[I_CARRY].args[0] = I_ADD, "argument 0, %6, is no earlier instruction");
  CHECK_FAULT(I_CARRY, ins[I_CARRY].args[0] = NONE, "argument 0 is missing");
  CHECK_FAULT(I_CARRY, ins[I_CARRY].args[0] = I_ZERO, "its type is f32x1, not i64x1");
  CHECK_FAULT(I_CARRY, ins[I_CARRY].type.width = 4, "its type is f32x4, not f32x1");
  CHECK_FAULT(I_CARRY, ins[I_CARRY].args[1] = I_ONE, "argument 1 is one too many");
  CHECK_FAULT(I_INDEX, swap(&ins[I_CARRY], &ins[I_ADD]);
              ins[I_CARRY].args[0] = I_ONE, "it is not at the beginning of a loop");
  CHECK_FAULT(I_ONE, ins[I_ONE] = ins[I_CARRY], "it is not at the beginning of a loop");
  CHECK_FAULT(I_COUNT, sm_kir_carry(&k, I_ONE), "it is not at the beginning of a loop");
}

TEST(refuses_bad_nexts) {
  CHECK_FAULT(I_NEXT, ins[I_NEXT].args[1] = I_FOR, "argument 1, %3, is i64x1, not f32x1");
  CHECK_FAULT(I_NEXT, ins[I_NEXT].args[1] = NONE, "argument 1 is missing");
  CHECK_FAULT(I_NEXT, ins[I_NEXT].args[1] = I_NEXT, "argument 1, %7, is no earlier instruction");
  CHECK_FAULT(I_NEXT, ins[I_NEXT].type.dtype = SMELT_F64, "its type is f64x1, not f32x1");
  CHECK_FAULT(I_NEXT, ins[I_NEXT].args[2] = I_ONE, "argument 2 is one too many");
  CHECK_FAULT(I_NEXT, ins[I_NEXT].args[0] = I_ADD, "argument 0, %6, is no value that the loop carries");
  CHECK_FAULT(I_NEXT, ins[I_NEXT].args[0] = NONE, "argument 0, %-1, is no value that the loop carries");
  CHECK_FAULT(I_NEXT, ins[I_NEXT].args[0] = 1000, "argument 0, %1000, is no value that the loop carries");
  CHECK_FAULT(I_ADD, swap(&ins[I_ADD], &ins[I_NEXT]), "it is not at the end of a loop");
  CHECK_FAULT(I_COUNT, sm_kir_next(&k, I_CARRY, I_ONE), "it is not at the end of a loop");
  CHECK_FAULT(I_END, swap(&ins[I_NEXT], &ins[I_NEXT_2]), "there is no NEXT, in its place, for %4");
  CHECK_FAULT(I_END, ins[I_NEXT_2] = ins[I_NEXT], "there is no NEXT, in its place, for %5");
  CHECK_FAULT(I_END, ins[I_NEXT] = ins[I_ADD], "there is no NEXT, in its place, for %4");
  CHECK_FAULT(I_END, ins[I_NEXT].args[1] = I_ONE;
              ins[I_ADD] = ins[I_NEXT], "there are more NEXTs than CARRYs");
  CHECK_FAULT(I_NEG, ins[I_NEG].args[0] = I_NEXT, "argument 0, %7, defines no value");
}

TEST(refuses_bad_results) {
  CHECK_FAULT(I_RESULT, ins[I_RESULT].args[0] = I_ADD, "argument 0, %6, is no value that the loop carried");
  CHECK_FAULT(I_RESULT, ins[I_RESULT].args[0] = NONE, "argument 0, %-1, is no value that the loop carried");
  CHECK_FAULT(I_RESULT, ins[I_RESULT].args[0] = I_FOR, "argument 0, %3, is no value that the loop carried");
  CHECK_FAULT(I_RESULT, ins[I_RESULT].type.dtype = SMELT_I32, "its type is i32x1, not f32x1");
  CHECK_FAULT(I_RESULT, ins[I_RESULT].args[1] = I_ONE, "argument 1 is one too many");
  CHECK_FAULT(I_ADD, ins[I_ADD] = ins[I_RESULT], "it is not after a loop");
  CHECK_FAULT(I_COUNT, sm_kir_result(&k, I_CARRY), "it is not after a loop");
  CHECK_FAULT(I_NEG, ins[I_NEG].args[0] = I_CARRY, "argument 0, %4, belongs to a loop that has ended");
  CHECK_FAULT(I_COUNT + 2, sm_kir_for(&k, I_ZERO, I_SIZE, 1); sm_kir_end(&k);
              sm_kir_result(&k, I_CARRY), "argument 0, %4, is no value that the loop carried");
}

/* A NEXT inside a loop without carried values may not name those of the loop around. */
TEST(refuses_nexts_of_another_loop) {
  smelt_error err;
  sm_kir_kernel k = start("inner");
  int32_t zero = sm_kir_i64(&k, 0), one = sm_kir_i64(&k, 1);
  sm_kir_for(&k, zero, one, 1);
  int32_t held = sm_kir_carry(&k, one);
  sm_kir_for(&k, zero, one, 1);
  sm_kir_next(&k, held, zero);
  sm_kir_end(&k);
  sm_kir_end(&k);
  CHECK_STATUS(sm_kir_finish(&k, &err), SMELT_ERR_INTERNAL);
  CHECK_CONTAINS(err.text, "instruction 5: argument 0, %3, is no value that the loop carries");
  sm_kir_free(&k);
}

/* --- Text and identity ---------------------------------------------------------------------------- */

TEST(prints) {
  sm_kir_kernel k = sample();
  sm_text text;
  sm_text_init(&text, &sm_malloc_allocator);
  sm_kir_print(&text, &k);
  CHECK_STR(text.data,
            "kernel sample(n0) {\n"
            "  %0 = const i64 0\n"
            "  %1 = size n0\n"
            "  %2 = const f32 1\n"
            "  %3 = for %0 .. %1 step 1 {\n"
            "    %4 = carry f32 %2\n"
            "    %5 = carry i64 %1\n"
            "    %6 = add f32 %4, %2\n"
            "    next %4, %6\n"
            "    next %5, %3\n"
            "  }\n"
            "  %10 = result f32 %4\n"
            "  %11 = result i64 %5\n"
            "  %12 = neg f32 %10\n"
            "}\n");
  sm_text_free(&text);
  sm_kir_free(&k);
}

TEST(carried_values_are_identity) {
  for (int at = I_CARRY; at <= I_LAST; at++) {
    sm_kir_kernel a = sample(), b = sample();
    CHECK(sm_hash_equal(sm_kir_hash(&a), sm_kir_hash(&b)));
    b.ins.items[at].args[0] ^= 1;
    CHECK(!sm_hash_equal(sm_kir_hash(&a), sm_kir_hash(&b)));
    sm_kir_free(&a);
    sm_kir_free(&b);
  }
}

/* --- Memory ------------------------------------------------------------------------------------------ */

static smelt_status build_and_evaluate(sm_kir_kernel *k, smelt_error *err) {
  static memory m;
  sm_kir_kernel primitive;
  sm_kir_span spans[] = {{m.bytes[0], 64}, {m.bytes[1], 64}, {m.bytes[2], 64}, {m.bytes[3], 64}};
  sm_kir_call call = {.buffers = spans, .sizes = (int64_t[]){2}};
  build_rolled(k, 1, true);
  SM_TRY(sm_kir_finish(k, err));
  SM_TRY(sm_kir_expand(k, &primitive, err));
  smelt_status status = sm_kir_eval(&primitive, &call, err);
  sm_kir_free(&primitive);
  return status;
}

TEST(memory_runs_out) {
  smelt_status status = SMELT_ERR_MEMORY;
  for (int n = 0; status == SMELT_ERR_MEMORY; n++) {
    meter m = {.left = n};
    const sm_allocator allocator = {metered, &m};
    smelt_error err = {0};
    sm_kir_kernel k;
    sm_kir_init(&k, &allocator);
    status = build_and_evaluate(&k, &err);
    sm_kir_free(&k);
    CHECK_I64(m.live, 0);
    CHECK(n < 100);
  }
  CHECK_STATUS(status, SMELT_OK);
}

/* --- Scalar tables ----------------------------------------------------------------------- */

/* b1[0] = s0 + t0 + t1 + ... + t(n0 - 1). */
static void build_table_sum(sm_kir_kernel *k, smelt_dtype dtype) {
  sm_kir_add_buffer(k, dtype, true);
  int32_t n = sm_kir_size(k, sm_kir_add_size(k)), zero = sm_kir_i64(k, 0);
  int32_t first = sm_kir_scalar(k, sm_kir_add_scalar(k, dtype));
  int32_t i = sm_kir_for(k, zero, n, 1), sum = sm_kir_carry(k, first);
  int32_t more = op(k, dtype == SMELT_BOOL ? SM_KOP_XOR : SM_KOP_ADD, sum, sm_kir_table(k, dtype, i));
  sm_kir_next(k, sum, more);
  sm_kir_end(k);
  sm_kir_store(k, 0, zero, NONE, sm_kir_result(k, sum));
}

TEST(tables_of_every_dtype) {
  for (int d = 1; d < SM_DTYPE_LIMIT; d++) {
    smelt_dtype dtype = (smelt_dtype)d;
    if (!sm_dtype_valid(dtype) || sm_dtype_is_half(dtype)) continue;
    memory m = {0};
    int64_t n = 4;
    sm_word words[5] = {{.bits = 1}, {.bits = 0}, {.bits = 1}, {.bits = 1}, {.bits = 0}};
    sm_kir_kernel k = start("table");
    build_table_sum(&k, dtype);
    run(&k, (arguments){.sizes = &n, .scalars = words, .n_table = 4}, &m);
    CHECK_I64(m.bytes[0][0], dtype == SMELT_BOOL ? 1 : 3);
    sm_kir_free(&k);
  }
}

TEST(tables_end_somewhere) {
  memory m = {0};
  int64_t n = 5;
  sm_word words[5] = {{.bits = 0}};
  smelt_error err;
  sm_text text;
  sm_kir_kernel k = start("table");
  build_table_sum(&k, SMELT_F32);
  CHECK_OK(sm_kir_finish(&k, &err), err);
  sm_kir_span span = {m.bytes[0], BUFFER_BYTES};
  sm_kir_call call = {.buffers = &span, .sizes = &n, .scalars = words, .n_table = 4};
  CHECK_STATUS(sm_kir_eval(&k, &call, &err), SMELT_ERR_INTERNAL);
  CHECK_CONTAINS(err.text, "element 4 of the scalar table, which has 4");
  sm_text_init(&text, &sm_malloc_allocator);
  sm_kir_print(&text, &k);
  CHECK_CONTAINS(text.data, "= table f32 %3\n");
  sm_text_free(&text);
  for (size_t i = 0; i < k.ins.len; i++) {
    if (k.ins.items[i].kind != SM_KIR_TABLE) continue;
    k.ins.items[i].args[1] = 0;
    CHECK_STATUS(sm_kir_verify(&k, &err), SMELT_ERR_INTERNAL);
    CHECK_CONTAINS(err.text, "argument 1 is one too many");
    k.ins.items[i].args[1] = NONE;
    k.ins.items[i].args[0] = 2; /* the scalar, which is no i64 */
    CHECK_STATUS(sm_kir_verify(&k, &err), SMELT_ERR_INTERNAL);
    CHECK_CONTAINS(err.text, "is f32x1, not i64x1");
  }
  sm_kir_free(&k);
}

TEST_MAIN(CASE(sums), CASE(sums_of_every_dtype), CASE(halves_are_carried), CASE(takes_effect_at_once),
          CASE(loops_in_loops), CASE(one_loop_after_another), CASE(element_loops_in_rolled_loops),
          CASE(long_rolled_loops), CASE(refuses_bad_carries), CASE(refuses_bad_nexts),
          CASE(refuses_bad_results), CASE(refuses_nexts_of_another_loop), CASE(prints),
          CASE(carried_values_are_identity), CASE(memory_runs_out), CASE(tables_of_every_dtype),
          CASE(tables_end_somewhere))
