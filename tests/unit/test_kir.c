/* SPDX-License-Identifier: Apache-2.0
 *
 * Kernel IR: building, verifying, printing, hashing, running. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness.h"
#include "kir/kir.h"
#include "meter.h"

enum { NONE = SM_KIR_NONE };

#define SPAN(array) \
  { (array), sizeof(array) }

/* --- Kernels ------------------------------------------------------------------------- */
static sm_kir_kernel start(const char *name) {
  sm_kir_kernel k;
  sm_kir_init(&k, &sm_malloc_allocator);
  (void)snprintf(k.name, sizeof k.name, "%s", name);
  return k;
}

static void finish(sm_kir_kernel *k) {
  smelt_error err = {0};
  CHECK_OK(sm_kir_finish(k, &err), err);
}

static void run(const sm_kir_kernel *k, const sm_kir_call *call) {
  smelt_error err = {0};
  CHECK_OK(sm_kir_eval(k, call, &err), err);
}

/* The body of axpy at element `i`: b1[i] = s * b0[i] + b1[i]. */
static void axpy_body(sm_kir_kernel *k, int32_t s, int32_t i, int width) {
  int32_t x = sm_kir_load(k, 0, i, NONE, width);
  int32_t y = sm_kir_load(k, 1, i, NONE, width);
  int32_t product = sm_kir_kop(k, SM_KOP_MUL, s, x, NONE, SMELT_DTYPE_NONE);
  sm_kir_store(k, 1, i, NONE, sm_kir_kop(k, SM_KOP_ADD, product, y, NONE, SMELT_DTYPE_NONE));
}

/* A loop of vectors of 4, then one of single elements. */
static void build_axpy(sm_kir_kernel *k) {
  sm_kir_add_buffer(k, SMELT_F32, false);
  sm_kir_add_buffer(k, SMELT_F32, true);
  int32_t s = sm_kir_scalar(k, sm_kir_add_scalar(k, SMELT_F32));
  int32_t begin = sm_kir_chunk_begin(k), end = sm_kir_chunk_end(k);
  int32_t n = sm_kir_kop(k, SM_KOP_SUB, end, begin, NONE, SMELT_DTYPE_NONE);
  int32_t rest = sm_kir_kop(k, SM_KOP_AND, n, sm_kir_i64(k, 3), NONE, SMELT_DTYPE_NONE);
  int32_t tail = sm_kir_kop(k, SM_KOP_SUB, end, rest, NONE, SMELT_DTYPE_NONE);
  int32_t splat = sm_kir_splat(k, s, 4);
  axpy_body(k, splat, sm_kir_for(k, begin, tail, 4), 4);
  sm_kir_end(k);
  axpy_body(k, s, sm_kir_for(k, tail, end, 1), 1);
  sm_kir_end(k);
}

static const char axpy_text[] =
    "kernel axpy(b0 f32, b1 f32 written, s0 f32) {\n"
    "  %0 = scalar f32 s0\n"
    "  %1 = chunk_begin\n"
    "  %2 = chunk_end\n"
    "  %3 = sub i64 %2, %1\n"
    "  %4 = const i64 3\n"
    "  %5 = and i64 %3, %4\n"
    "  %6 = sub i64 %2, %5\n"
    "  %7 = splat f32x4 %0\n"
    "  %8 = for %1 .. %6 step 4 {\n"
    "    %9 = load f32x4 b0[%8]\n"
    "    %10 = load f32x4 b1[%8]\n"
    "    %11 = mul f32x4 %7, %9\n"
    "    %12 = add f32x4 %11, %10\n"
    "    store b1[%8] %12\n"
    "  }\n"
    "  %15 = for %6 .. %2 step 1 {\n"
    "    %16 = load f32 b0[%15]\n"
    "    %17 = load f32 b1[%15]\n"
    "    %18 = mul f32 %0, %16\n"
    "    %19 = add f32 %18, %17\n"
    "    store b1[%15] %19\n"
    "  }\n"
    "}\n";

/* --- Running -------------------------------------------------------------------------- */
TEST(main_loop_and_tail) {
  sm_kir_kernel k = start("axpy");
  build_axpy(&k);
  finish(&k);
  for (int end = 2; end <= 13; end++) {
    float x[13], y[13];
    for (int i = 0; i < 13; i++) {
      x[i] = (float)i + 0.5f;
      y[i] = 100.0f * (float)i;
    }
    const sm_kir_span spans[] = {SPAN(x), SPAN(y)};
    sm_word s = {.F32 = 3.0f};
    run(&k, &(sm_kir_call){.buffers = spans, .scalars = &s, .begin = 2, .end = end});
    for (int i = 0; i < 13; i++) {
      float old = 100.0f * (float)i;
      CHECK_F64(y[i], i >= 2 && i < end ? 3.0f * x[i] + old : old);
    }
  }
  sm_kir_free(&k);
}

/* Loads 4 elements from `index` on by `stride` and stores them densely. */
static void check_strided(int64_t index, int64_t stride) {
  int32_t from[12], to[4] = {0};
  for (int i = 0; i < 12; i++) from[i] = 10 * i;
  sm_kir_kernel k = start("strided");
  sm_kir_add_buffer(&k, SMELT_I32, false);
  sm_kir_add_buffer(&k, SMELT_I32, true);
  int32_t at = sm_kir_size(&k, sm_kir_add_size(&k)), by = sm_kir_size(&k, sm_kir_add_size(&k));
  sm_kir_store(&k, 1, sm_kir_i64(&k, 0), NONE, sm_kir_load(&k, 0, at, by, 4));
  finish(&k);
  const sm_kir_span spans[] = {SPAN(from), SPAN(to)};
  run(&k, &(sm_kir_call){.buffers = spans, .sizes = (int64_t[]){index, stride}});
  for (int l = 0; l < 4; l++) CHECK_I64(to[l], 10 * (index + l * stride));
  sm_kir_free(&k);
}

TEST(strided_loads) {
  check_strided(1, 1);
  check_strided(2, 3);
  check_strided(7, 0);
  check_strided(11, -2);
}

TEST(strided_stores) {
  int16_t to[9] = {0};
  sm_kir_kernel k = start("strided");
  sm_kir_add_buffer(&k, SMELT_I16, true);
  int32_t value = sm_kir_iota(&k, sm_kir_i64(&k, 5), 3);
  value = sm_kir_kop(&k, SM_KOP_CAST, value, NONE, NONE, SMELT_I16);
  sm_kir_store(&k, 0, sm_kir_i64(&k, 0), sm_kir_i64(&k, 4), value);
  sm_kir_store(&k, 0, sm_kir_i64(&k, 1), sm_kir_i64(&k, 0), value);
  finish(&k);
  const sm_kir_span spans[] = {SPAN(to)};
  run(&k, &(sm_kir_call){.buffers = spans});
  static const int16_t expected[9] = {5, 7, 0, 0, 6, 0, 0, 0, 7};
  for (int i = 0; i < 9; i++) CHECK_I64(to[i], expected[i]);
  sm_kir_free(&k);
}

/* to[c * rows + r] = from[r * columns + c] */
static void check_transpose(int64_t rows, int64_t columns) {
  uint8_t from[12], to[12];
  for (int i = 0; i < 12; i++) from[i] = (uint8_t)(i + 1);
  memset(to, 0, sizeof to);
  sm_kir_kernel k = start("transpose");
  sm_kir_add_buffer(&k, SMELT_U8, false);
  sm_kir_add_buffer(&k, SMELT_U8, true);
  int32_t n = sm_kir_size(&k, sm_kir_add_size(&k)), m = sm_kir_size(&k, sm_kir_add_size(&k));
  int32_t zero = sm_kir_i64(&k, 0);
  int32_t r = sm_kir_for(&k, zero, n, 1);
  int32_t row = sm_kir_kop(&k, SM_KOP_MUL, r, m, NONE, SMELT_DTYPE_NONE);
  int32_t c = sm_kir_for(&k, zero, m, 1);
  int32_t column = sm_kir_kop(&k, SM_KOP_MUL, c, n, NONE, SMELT_DTYPE_NONE);
  int32_t x = sm_kir_load(&k, 0, sm_kir_kop(&k, SM_KOP_ADD, row, c, NONE, SMELT_DTYPE_NONE), NONE, 1);
  sm_kir_store(&k, 1, sm_kir_kop(&k, SM_KOP_ADD, column, r, NONE, SMELT_DTYPE_NONE), NONE, x);
  sm_kir_end(&k);
  sm_kir_end(&k);
  finish(&k);
  const sm_kir_span spans[] = {SPAN(from), SPAN(to)};
  run(&k, &(sm_kir_call){.buffers = spans, .sizes = (int64_t[]){rows, columns}});
  for (int64_t i = 0; i < 12; i++) {
    bool written = i < rows * columns;
    CHECK_I64(to[i], written ? from[i % rows * columns + i / rows] : 0);
  }
  sm_kir_free(&k);
}

TEST(nested_loops) {
  check_transpose(3, 4);
  check_transpose(4, 2);
  check_transpose(1, 12);
  check_transpose(5, 0);
  check_transpose(0, 5);
}

/* How often the body of a loop runs. */
static int64_t count_rounds(int64_t begin, int64_t end, int64_t step) {
  int64_t count = 0;
  sm_kir_kernel k = start("rounds");
  sm_kir_add_buffer(&k, SMELT_I64, true);
  int32_t zero = sm_kir_i64(&k, 0), one = sm_kir_i64(&k, 1);
  sm_kir_for(&k, sm_kir_i64(&k, begin), sm_kir_i64(&k, end), step);
  int32_t old = sm_kir_load(&k, 0, zero, NONE, 1);
  sm_kir_store(&k, 0, zero, NONE, sm_kir_kop(&k, SM_KOP_ADD, old, one, NONE, SMELT_DTYPE_NONE));
  sm_kir_end(&k);
  finish(&k);
  const sm_kir_span span = {&count, sizeof count};
  run(&k, &(sm_kir_call){.buffers = &span});
  sm_kir_free(&k);
  return count;
}

TEST(loop_rounds) {
  CHECK_I64(count_rounds(0, 0, 1), 0);
  CHECK_I64(count_rounds(5, 3, 1), 0);
  CHECK_I64(count_rounds(INT64_MAX, INT64_MIN, 7), 0);
  CHECK_I64(count_rounds(-3, 4, 1), 7);
  CHECK_I64(count_rounds(0, 9, 4), 3);
  CHECK_I64(count_rounds(0, 8, 4), 2);
  CHECK_I64(count_rounds(INT64_MAX - 2, INT64_MAX, 5), 1);
  CHECK_I64(count_rounds(INT64_MIN, INT64_MAX, INT64_MAX), 3);
}

TEST(many_open_loops) {
  enum { DEPTH = 2000 };
  int64_t result = 0;
  sm_kir_kernel k = start("deep");
  sm_kir_add_buffer(&k, SMELT_I64, true);
  int32_t zero = sm_kir_i64(&k, 0), one = sm_kir_i64(&k, 1), sum = one;
  for (int i = 0; i < DEPTH; i++) {
    int32_t counter = sm_kir_for(&k, zero, one, 1);
    counter = sm_kir_kop(&k, SM_KOP_ADD, counter, one, NONE, SMELT_DTYPE_NONE);
    sum = sm_kir_kop(&k, SM_KOP_ADD, sum, counter, NONE, SMELT_DTYPE_NONE);
  }
  sm_kir_store(&k, 0, zero, NONE, sum);
  for (int i = 0; i < DEPTH; i++) sm_kir_end(&k);
  finish(&k);
  const sm_kir_span span = {&result, sizeof result};
  run(&k, &(sm_kir_call){.buffers = &span});
  CHECK_I64(result, DEPTH + 1);
  sm_kir_free(&k);
}

/* b1 = (i32)(b0 < s ? s : b0), b2 = isnan(b0) */
TEST(casts_choices_tests) {
  float x[5] = {-1.5f, 2.75f, NAN, 1e20f, 0.25f};
  int32_t whole[5];
  bool nan_mask[5];
  sm_kir_kernel k = start("clamp");
  sm_kir_add_buffer(&k, SMELT_F32, false);
  sm_kir_add_buffer(&k, SMELT_I32, true);
  sm_kir_add_buffer(&k, SMELT_BOOL, true);
  int32_t zero = sm_kir_i64(&k, 0);
  int32_t v = sm_kir_load(&k, 0, zero, NONE, 5);
  int32_t low = sm_kir_splat(&k, sm_kir_scalar(&k, sm_kir_add_scalar(&k, SMELT_F32)), 5);
  int32_t below = sm_kir_kop(&k, SM_KOP_LT, v, low, NONE, SMELT_DTYPE_NONE);
  int32_t chosen = sm_kir_kop(&k, SM_KOP_SELECT, below, low, v, SMELT_DTYPE_NONE);
  sm_kir_store(&k, 1, zero, NONE, sm_kir_kop(&k, SM_KOP_CAST, chosen, NONE, NONE, SMELT_I32));
  sm_kir_store(&k, 2, zero, NONE, sm_kir_kop(&k, SM_KOP_ISNAN, v, NONE, NONE, SMELT_DTYPE_NONE));
  finish(&k);
  const sm_kir_span spans[] = {SPAN(x), SPAN(whole), SPAN(nan_mask)};
  sm_word s = {.F32 = 1.25f};
  run(&k, &(sm_kir_call){.buffers = spans, .scalars = &s});
  static const int32_t expected[5] = {1, 2, 0, INT32_MAX, 1};
  for (int i = 0; i < 5; i++) {
    CHECK_I64(whole[i], expected[i]);
    CHECK_I64(nan_mask[i], i == 2);
  }
  sm_kir_free(&k);
}

TEST(empty_kernel) {
  sm_kir_kernel k = start("empty");
  finish(&k);
  run(&k, &(sm_kir_call){0});
  sm_text text;
  sm_text_init(&text, &sm_malloc_allocator);
  sm_kir_print(&text, &k);
  CHECK_STR(text.data, "kernel empty() {\n}\n");
  sm_text_free(&text);
  sm_kir_free(&k);
}

/* --- Outside of a buffer ----------------------------------------------------------------- */
/* A store of `width` elements to a buffer of `bytes` in the middle of an array;
 * returns whether it was carried out, checks that otherwise nothing was. */
static bool try_store(int64_t index, int64_t stride, int width, size_t bytes) {
  int32_t array[24];
  memset(array, 0x55, sizeof array);
  sm_kir_kernel k = start("poke");
  sm_kir_add_buffer(&k, SMELT_I32, true);
  int32_t value = sm_kir_splat(&k, sm_kir_const(&k, SMELT_I32, (sm_word){.I32 = 7}), width);
  sm_kir_store(&k, 0, sm_kir_i64(&k, index), sm_kir_i64(&k, stride), value);
  finish(&k);
  const sm_kir_span span = {array + 8, bytes};
  smelt_error err = {0};
  smelt_status status = sm_kir_eval(&k, &(sm_kir_call){.buffers = &span}, &err);
  sm_kir_free(&k);
  if (status == SMELT_OK) return true;
  CHECK_STATUS(status, SMELT_ERR_INTERNAL);
  CHECK_STATUS(err.code, SMELT_ERR_INTERNAL);
  CHECK_CONTAINS(err.text, "kernel poke, instruction 4: ");
  for (int i = 0; i < 24; i++) CHECK_I64(array[i], 0x55555555);
  return false;
}

TEST(stores_outside) {
  CHECK(try_store(0, 1, 8, 32));
  CHECK(!try_store(0, 1, 8, 31));
  CHECK(!try_store(1, 1, 8, 32));
  CHECK(!try_store(-1, 1, 1, 32));
  CHECK(try_store(7, -1, 8, 32));
  CHECK(!try_store(6, -1, 8, 32));
  CHECK(try_store(1, 2, 4, 32));
  CHECK(!try_store(2, 2, 4, 32));
  CHECK(!try_store(0, 0, 4, 3));
  CHECK(!try_store(INT64_MAX, 1, 2, 32));
  CHECK(!try_store(0, INT64_MAX, 3, 32));
  CHECK(!try_store(0, INT64_MIN, 2, 32));
  CHECK(try_store(3, INT64_MIN, 1, 32));
}

/* Three elements of an array of 5, the second of them `index`. */
static smelt_status try_gather(int64_t index, float *out, smelt_error *err) {
  float data[5] = {1, 2, 3, 4, 5};
  int64_t indices[3] = {4, index, 0};
  const sm_kir_span spans[] = {SPAN(data), SPAN(indices), {out, 3 * sizeof *out}};
  sm_kir_kernel k = start("pick");
  sm_kir_add_buffer(&k, SMELT_F32, false);
  sm_kir_add_buffer(&k, SMELT_I64, false);
  sm_kir_add_buffer(&k, SMELT_F32, true);
  int32_t zero = sm_kir_i64(&k, 0);
  sm_kir_store(&k, 2, zero, NONE, sm_kir_gather(&k, 0, sm_kir_load(&k, 1, zero, NONE, 3)));
  finish(&k);
  smelt_status status = sm_kir_eval(&k, &(sm_kir_call){.buffers = spans}, err);
  sm_kir_free(&k);
  return status;
}

TEST(gathers) {
  smelt_error err;
  float out[3] = {0};
  CHECK_OK(try_gather(2, out, &err), err);
  CHECK(out[0] == 5 && out[1] == 3 && out[2] == 1);
  static const int64_t outside[] = {5, -1, INT64_MAX, INT64_MIN, (int64_t)1 << 32};
  for (size_t i = 0; i < sizeof outside / sizeof outside[0]; i++) {
    CHECK_STATUS(try_gather(outside[i], out, &err), SMELT_ERR_INTERNAL);
    CHECK_CONTAINS(err.text, "of buffer 0, but it has 5");
  }
}

/* The first `lanes` of four elements of an array of 5 from `index` on, each doubled, to the same places of
 * `out`. */
static smelt_status try_first(int64_t index, int64_t lanes, float *out, smelt_error *err) {
  float data[5] = {1, 2, 3, 4, 5};
  const sm_kir_span spans[] = {SPAN(data), {out, 5 * sizeof *out}};
  sm_kir_kernel k = start("some");
  sm_kir_add_buffer(&k, SMELT_F32, false);
  sm_kir_add_buffer(&k, SMELT_F32, true);
  int32_t at = sm_kir_i64(&k, index), n = sm_kir_i64(&k, lanes);
  int32_t value = sm_kir_load_first(&k, 0, at, n, 4);
  sm_kir_store_first(&k, 1, at, n, sm_kir_kop(&k, SM_KOP_ADD, value, value, NONE, SMELT_F32));
  finish(&k);
  smelt_status status = sm_kir_eval(&k, &(sm_kir_call){.buffers = spans}, err);
  sm_kir_free(&k);
  return status;
}

TEST(first_lanes) {
  smelt_error err;
  float out[5] = {0};
  CHECK_OK(try_first(3, 2, out, &err), err);
  CHECK(out[2] == 0 && out[3] == 8 && out[4] == 10);
  CHECK_OK(try_first(0, 4, out, &err), err);
  CHECK(out[0] == 2 && out[2] == 6 && out[3] == 8);
  CHECK_OK(try_first(INT64_MAX, 0, out, &err), err);
  static const int64_t outside[][2] = {{2, 4}, {-1, 1}, {0, 5}, {0, -1}, {5, 1}, {INT64_MAX, 2}};
  for (size_t i = 0; i < sizeof outside / sizeof outside[0]; i++) {
    CHECK_STATUS(try_first(outside[i][0], outside[i][1], out, &err), SMELT_ERR_INTERNAL);
    CHECK_CONTAINS(err.text, "of 4 elements of buffer 0 from");
  }
}

/* Lanes that are not there are 0, whatever was there before. */
TEST(lanes_that_are_not_there) {
  int64_t data[] = {7, 8, 9}, out[8] = {1, 1, 1, 1, 1, 1, 1, 1};
  const sm_kir_span spans[] = {SPAN(data), SPAN(out)};
  sm_kir_kernel k = start("rest");
  sm_kir_add_buffer(&k, SMELT_I64, false);
  sm_kir_add_buffer(&k, SMELT_I64, true);
  int32_t zero = sm_kir_i64(&k, 0);
  sm_kir_store(&k, 1, zero, NONE, sm_kir_load_first(&k, 0, zero, sm_kir_i64(&k, 3), 8));
  run(&k, &(sm_kir_call){.buffers = spans});
  for (int i = 0; i < 8; i++) CHECK_I64(out[i], i < 3 ? data[i] : 0);
  sm_kir_free(&k);
}

/* The text of the error when 4 doubles are read from `index` on by `stride`. */
static smelt_error load_error(sm_kir_span span, int64_t index, int64_t stride) {
  smelt_error err = {0};
  sm_kir_kernel k = start("peek");
  sm_kir_add_buffer(&k, SMELT_F64, false);
  sm_kir_align_buffer(&k, 0);
  sm_kir_load(&k, 0, sm_kir_i64(&k, index), stride ? sm_kir_i64(&k, stride) : SM_KIR_NONE, 4);
  finish(&k);
  CHECK_STATUS(sm_kir_eval(&k, &(sm_kir_call){.buffers = &span}, &err), SMELT_ERR_INTERNAL);
  sm_kir_free(&k);
  return err;
}

TEST(loads_outside) {
  double data[5] = {0};
  CHECK_STR(load_error((sm_kir_span)SPAN(data), 0, 2).text,
            "kernel peek, instruction 2: 4 elements of buffer 0 from 0 by 2, but it has 5");
  CHECK_CONTAINS(load_error((sm_kir_span)SPAN(data), -1, 1).text, "from -1 by 1");
  CHECK_CONTAINS(load_error((sm_kir_span){NULL, 0}, 0, 0).text, "but it has 0");
  CHECK_STR(load_error((sm_kir_span)SPAN(data), 1, 0).text,
            "kernel peek, instruction 1: 4 elements of buffer 0 from 1 by 1, but it has 5, and is aligned");
}

/* --- The verifier -------------------------------------------------------------------------- */
/* A kernel with an instruction of every kind, by name. */
enum {
  I_BEGIN,    /* chunk_begin */
  I_END,      /* chunk_end */
  I_SIZE,     /* size n0 */
  I_SCALAR,   /* scalar f32 s0 */
  I_CONST,    /* const f32 0.5 */
  I_FOR,      /* for %0 .. %1 step 2 */
  I_IOTA,     /* iota i64x2 %5 */
  I_SPLAT,    /* splat f32x2 %3 */
  I_LOAD,     /* load f32x2 b0[%5 * %2] */
  I_ADD,      /* add f32x2 %8, %7 */
  I_LT,       /* lt boolx2 %8, %7 */
  I_SELECT,   /* select f32x2 %10, %8, %9 */
  I_STORE,    /* store b1[%5 * %2] %11 */
  I_LOOP_END, /* } */
  I_CAST,     /* cast f64 %4 */
  I_COUNT
};

static void build_sample(sm_kir_kernel *k) {
  sm_kir_add_buffer(k, SMELT_F32, false);
  sm_kir_add_buffer(k, SMELT_F32, true);
  sm_kir_add_size(k);
  sm_kir_add_scalar(k, SMELT_F32);
  sm_kir_chunk_begin(k);
  sm_kir_chunk_end(k);
  sm_kir_size(k, 0);
  sm_kir_scalar(k, 0);
  sm_kir_const(k, SMELT_F32, (sm_word){.F32 = 0.5f});
  sm_kir_for(k, I_BEGIN, I_END, 2);
  sm_kir_iota(k, I_FOR, 2);
  sm_kir_splat(k, I_SCALAR, 2);
  sm_kir_load(k, 0, I_FOR, I_SIZE, 2);
  sm_kir_kop(k, SM_KOP_ADD, I_LOAD, I_SPLAT, NONE, SMELT_DTYPE_NONE);
  sm_kir_kop(k, SM_KOP_LT, I_LOAD, I_SPLAT, NONE, SMELT_DTYPE_NONE);
  sm_kir_kop(k, SM_KOP_SELECT, I_LT, I_LOAD, I_ADD, SMELT_DTYPE_NONE);
  sm_kir_store(k, 1, I_FOR, I_SIZE, I_SELECT);
  sm_kir_end(k);
  sm_kir_kop(k, SM_KOP_CAST, I_CONST, NONE, NONE, SMELT_F64);
}

static sm_kir_kernel sample(void) {
  sm_kir_kernel k = start("sample");
  build_sample(&k);
  finish(&k);
  CHECK_I64(k.ins.len, I_COUNT);
  return k;
}

static void check_refused(const sm_kir_kernel *k, const char *what) {
  smelt_error err = {0};
  CHECK_STATUS(sm_kir_verify(k, &err), SMELT_ERR_INTERNAL);
  CHECK_CONTAINS(err.text, what);
  CHECK_STATUS(sm_kir_verify(k, NULL), SMELT_ERR_INTERNAL);
}

/* The sample with one change made by a statement that sees its instructions as
 * `ins` must be refused because of instruction `at` for the reason `what`. */
#define CHECK_FAULT(at, change, what)                                                 \
  do {                                                                                \
    char text[160];                                                                   \
    sm_kir_kernel k = sample();                                                       \
    sm_kir_ins *ins = k.ins.items;                                                    \
    (void)ins;                                                                        \
    change;                                                                           \
    (void)snprintf(text, sizeof text, "kernel sample, instruction %d: %s", at, what); \
    check_refused(&k, text);                                                          \
    sm_kir_free(&k);                                                                  \
  } while (0)

TEST(refuses_bad_references) {
  CHECK_FAULT(I_ADD, ins[I_ADD].args[0] = I_ADD, "argument 0, %9, is no earlier instruction");
  CHECK_FAULT(I_ADD, ins[I_ADD].args[1] = I_LT, "argument 1, %10, is no earlier instruction");
  CHECK_FAULT(I_ADD, ins[I_ADD].args[1] = 1000, "argument 1, %1000, is no earlier instruction");
  CHECK_FAULT(I_ADD, ins[I_ADD].args[0] = -2, "argument 0, %-2, is no earlier instruction");
  CHECK_FAULT(I_ADD, ins[I_ADD].args[0] = NONE, "argument 0 is missing");
  CHECK_FAULT(I_FOR, ins[I_FOR].args[0] = I_FOR, "argument 0, %5, is no earlier instruction");
  CHECK_FAULT(I_CAST, ins[I_CAST].args[0] = I_STORE, "argument 0, %12, defines no value");
  CHECK_FAULT(I_CAST, ins[I_CAST].args[0] = I_LOOP_END, "argument 0, %13, defines no value");
  CHECK_FAULT(I_CAST, ins[I_CAST].args[0] = I_FOR, "argument 0, %5, belongs to a loop that has ended");
  CHECK_FAULT(I_CAST, ins[I_CAST].args[0] = I_IOTA, "argument 0, %6, belongs to a loop that has ended");
}

/* Of a vector there are two halves, and of each no third. */
TEST(refuses_bad_halves) {
  sm_kir_kernel k = start("halves");
  int32_t vector = sm_kir_iota(&k, sm_kir_i64(&k, 3), 4), half = sm_kir_half(&k, vector, 1);
  finish(&k);
  sm_kir_ins *ins = &k.ins.items[half];
  ins->imm.index = 2;
  check_refused(&k, "kernel halves, instruction 2: there is no half 2");
  ins->imm.index = 1;
  ins->type.width = 4;
  check_refused(&k, "argument 0, %1, is i64x4, not i64x8");
  ins->type.width = 0;
  check_refused(&k, "its width is 0");
  ins->type.width = 2;
  ins->args[1] = 0;
  check_refused(&k, "argument 1 is one too many");
  sm_kir_free(&k);
}

TEST(refuses_too_many_arguments) {
  static const int first_unused[I_COUNT] = {
      [I_FOR] = 2, [I_IOTA] = 1,   [I_SPLAT] = 1, [I_LOAD] = 2, [I_ADD] = 2,
      [I_LT] = 2,  [I_SELECT] = 3, [I_STORE] = 3, [I_CAST] = 1};
  for (int i = 0; i < I_COUNT; i++) {
    for (int slot = first_unused[i]; slot < SM_KIR_ARGS; slot++) {
      char what[40];
      (void)snprintf(what, sizeof what, "argument %d is one too many", slot);
      CHECK_FAULT(i, ins[i].args[slot] = I_BEGIN, what);
    }
  }
}

TEST(refuses_bad_operands) {
  CHECK_FAULT(I_ADD, ins[I_ADD].args[1] = I_SCALAR, "argument 1, %3, is f32x1, not f32x2");
  CHECK_FAULT(I_ADD, ins[I_ADD].args[1] = I_IOTA, "argument 1, %6, is i64x2, not f32x2");
  CHECK_FAULT(I_ADD, ins[I_ADD].type.width = 4, "argument 0, %8, is f32x2, not f32x4");
  CHECK_FAULT(I_ADD, ins[I_ADD].type.dtype = SMELT_F64, "there is no add from f32 to f64");
  CHECK_FAULT(I_LT, ins[I_LT].type.dtype = SMELT_F32, "there is no lt from f32 to f32");
  CHECK_FAULT(I_LT, ins[I_LT].kop = SM_KOP_SHL, "there is no shl from f32 to bool");
  CHECK_FAULT(I_CAST, ins[I_CAST].type.dtype = SMELT_DTYPE_NONE, "there is no cast from f32 to none");
  CHECK_FAULT(I_SELECT, ins[I_SELECT].args[0] = I_LOAD, "argument 0, %8, is f32x2, not boolx2");
  CHECK_FAULT(I_SELECT, ins[I_SELECT].args[2] = I_IOTA, "argument 2, %6, is i64x2, not f32x2");
  CHECK_FAULT(I_ADD, ins[I_ADD].kop = SM_KOP_NONE, "there is no kop 0");
  CHECK_FAULT(I_ADD, ins[I_ADD].kop = 255, "there is no kop 255");
}

TEST(refuses_bad_types) {
  CHECK_FAULT(I_BEGIN, ins[I_BEGIN].type.dtype = SMELT_I32, "its type is i32x1, not i64x1");
  CHECK_FAULT(I_END, ins[I_END].type.width = 2, "its type is i64x2, not i64x1");
  CHECK_FAULT(I_SIZE, ins[I_SIZE].type.dtype = SMELT_U64, "its type is u64x1, not i64x1");
  CHECK_FAULT(I_SCALAR, ins[I_SCALAR].type.dtype = SMELT_F64, "its type is f64x1, not f32x1");
  CHECK_FAULT(I_CONST, ins[I_CONST].type.width = 2, "its type is f32x2, not f32x1");
  CHECK_FAULT(I_CONST, ins[I_CONST].type.dtype = SMELT_DTYPE_NONE, "0 is no dtype");
  CHECK_FAULT(I_CONST, ins[I_CONST].type.dtype = (smelt_dtype)14, "14 is no dtype");
  CHECK_FAULT(I_FOR, ins[I_FOR].type.dtype = SMELT_F32, "its type is f32x1, not i64x1");
  CHECK_FAULT(I_IOTA, ins[I_IOTA].type.dtype = SMELT_I32, "its type is i32x2, not i64x2");
  CHECK_FAULT(I_IOTA, ins[I_IOTA].type.width = 0, "its width is 0");
  CHECK_FAULT(I_SPLAT, ins[I_SPLAT].type.dtype = SMELT_I32, "its type is i32x2, not f32x2");
  CHECK_FAULT(I_LOAD, ins[I_LOAD].type.dtype = SMELT_I32, "its type is i32x2, not f32x2");
  CHECK_FAULT(I_LOAD, ins[I_LOAD].type.width = 0, "its width is 0");
  CHECK_FAULT(I_STORE, ins[I_STORE].type.width = 3, "argument 2, %11, is f32x2, not f32x3");
  CHECK_FAULT(I_LOOP_END, ins[I_LOOP_END].type.width = 1, "its type is nonex1, not nonex0");
}

TEST(refuses_bad_indices) {
  CHECK_FAULT(I_FOR, ins[I_FOR].args[0] = I_CONST, "argument 0, %4, is f32x1, not i64x1");
  CHECK_FAULT(I_FOR, ins[I_FOR].args[1] = I_SCALAR, "argument 1, %3, is f32x1, not i64x1");
  CHECK_FAULT(I_IOTA, ins[I_IOTA].args[0] = I_CONST, "argument 0, %4, is f32x1, not i64x1");
  CHECK_FAULT(I_LOAD, ins[I_LOAD].args[0] = I_IOTA, "argument 0, %6, is i64x2, not i64x1");
  CHECK_FAULT(I_LOAD, ins[I_LOAD].args[1] = I_SCALAR, "argument 1, %3, is f32x1, not i64x1");
  CHECK_FAULT(I_STORE, ins[I_STORE].args[0] = I_LOAD, "argument 0, %8, is f32x2, not i64x1");
  CHECK_FAULT(I_STORE, ins[I_STORE].args[1] = I_IOTA, "argument 1, %6, is i64x2, not i64x1");
  CHECK_FAULT(I_STORE, ins[I_STORE].args[2] = I_LT, "argument 2, %10, is boolx2, not f32x2");
  CHECK_FAULT(I_LT, ins[I_SPLAT].args[0] = I_BEGIN; ins[I_SPLAT].type.dtype = SMELT_I64;
              ins[I_ADD].args[1] = I_LOAD, "argument 1, %7, is i64x2, not f32x2");
  CHECK_FAULT(I_LOAD, ins[I_LOAD].kind = SM_KIR_SPLAT;
              ins[I_LOAD].args[0] = I_SPLAT, "argument 0, %7, is f32x2, not f32x1");
}

/* A hint may lie anywhere, and does nothing. */
TEST(prefetch_is_a_hint) {
  sm_kir_kernel k;
  sm_text text;
  smelt_error err;
  float element = 1;
  sm_kir_init(&k, &sm_malloc_allocator);
  (void)snprintf(k.name, sizeof k.name, "hint");
  sm_kir_add_buffer(&k, SMELT_F32, false);
  sm_kir_prefetch(&k, 0, sm_kir_i64(&k, 1000000), 16);
  CHECK_OK(sm_kir_finish(&k, &err), err);
  sm_kir_span span = {&element, sizeof element};
  CHECK_OK(sm_kir_eval(&k, &(sm_kir_call){.buffers = &span}, &err), err);
  sm_text_init(&text, &sm_malloc_allocator);
  sm_kir_print(&text, &k);
  CHECK_STR(text.data, "kernel hint(b0 f32) {\n  %0 = const i64 1000000\n  prefetch f32x16 b0[%0]\n}\n");
  sm_text_free(&text);
  k.ins.items[1].buffer = 1;
  CHECK_STATUS(sm_kir_verify(&k, &err), SMELT_ERR_INTERNAL);
  CHECK_CONTAINS(err.text, "there is no buffer 1");
  sm_kir_free(&k);
}

TEST(refuses_bad_places) {
  CHECK_FAULT(I_SIZE, ins[I_SIZE].imm.index = 1, "there is no size argument 1");
  CHECK_FAULT(I_SIZE, ins[I_SIZE].imm.index = -1, "there is no size argument -1");
  CHECK_FAULT(I_SCALAR, ins[I_SCALAR].imm.index = 1, "there is no scalar argument 1");
  CHECK_FAULT(I_LOAD, ins[I_LOAD].buffer = 2, "there is no buffer 2");
  CHECK_FAULT(I_STORE, ins[I_STORE].buffer = UINT16_MAX, "there is no buffer 65535");
  CHECK_FAULT(I_STORE, ins[I_STORE].buffer = 0, "buffer 0 is read-only");
  CHECK_FAULT(I_LOAD, ins[I_LOAD].kind = SM_KIR_KIND_COUNT, "there is no kind 25");
}

TEST(refuses_bad_loops) {
  CHECK_FAULT(I_FOR, ins[I_FOR].imm.step = 0, "its step is 0");
  CHECK_FAULT(I_FOR, ins[I_FOR].imm.step = -4, "its step is -4");
  CHECK_FAULT(I_FOR, k.ins.len = I_LOOP_END, "FOR without END");
  CHECK_FAULT(I_COUNT, sm_kir_end(&k), "END without FOR");
  CHECK_FAULT(I_COUNT, sm_kir_for(&k, I_BEGIN, I_END, 1), "FOR without END");
}

TEST(refuses_bad_signatures) {
  sm_kir_kernel k = sample();
  k.buffers.items[1].dtype = SMELT_DTYPE_NONE;
  check_refused(&k, "kernel sample, buffer 1: 0 is no dtype");
  k.buffers.items[1].dtype = SMELT_F32;
  k.scalars.items[0] = (smelt_dtype)99;
  check_refused(&k, "kernel sample, scalar 0: 99 is no dtype");
  k.scalars.items[0] = SMELT_F32;
  k.grain = -1;
  check_refused(&k, "kernel sample has grain -1");
  k.grain = 0;
  sm_kir_align_buffer(&k, sm_kir_add_local(&k, SMELT_F32, 4));
  check_refused(&k, "kernel sample, buffer 2: local and aligned");
  k.buffers.len--;
  while (k.buffers.len <= UINT16_MAX) sm_kir_add_buffer(&k, SMELT_F32, false);
  check_refused(&k, "kernel sample has 65536 buffers");
  sm_kir_free(&k);
}

/* What adders are handed wrongly must come out at the verifier. */
#define CHECK_BUILDS_BADLY(adder, what)                        \
  do {                                                         \
    smelt_error err = {0};                                     \
    sm_kir_kernel k = sample();                                \
    (void)(adder);                                             \
    CHECK_STATUS(sm_kir_finish(&k, &err), SMELT_ERR_INTERNAL); \
    CHECK_CONTAINS(err.text, what);                            \
    sm_kir_free(&k);                                           \
  } while (0)

TEST(refuses_bad_gathers) {
  CHECK_BUILDS_BADLY(sm_kir_gather(&k, 2, I_BEGIN), "there is no buffer 2");
  CHECK_BUILDS_BADLY(sm_kir_gather(&k, 0, I_CONST), "is f32x1, not i64x1");
  CHECK_BUILDS_BADLY(sm_kir_gather(&k, 0, 99), "its width is 0");
  CHECK_BUILDS_BADLY(k.ins.items[sm_kir_gather(&k, 0, I_BEGIN)].type.width = 4, "is i64x1, not i64x4");
  CHECK_BUILDS_BADLY(k.ins.items[sm_kir_gather(&k, 0, I_BEGIN)].args[1] = I_BEGIN,
                     "argument 1 is one too many");
}

TEST(refuses_bad_first_lanes) {
  CHECK_BUILDS_BADLY(sm_kir_load_first(&k, 2, I_BEGIN, I_BEGIN, 4), "there is no buffer 2");
  CHECK_BUILDS_BADLY(sm_kir_load_first(&k, 0, I_BEGIN, NONE, 4), "argument 1 is missing");
  CHECK_BUILDS_BADLY(sm_kir_load_first(&k, 0, I_BEGIN, I_CONST, 4), "is f32x1, not i64x1");
  CHECK_BUILDS_BADLY(sm_kir_load_first(&k, 0, I_BEGIN, I_BEGIN, 1), "its width is 1");
  CHECK_BUILDS_BADLY(sm_kir_load_first(&k, 0, I_BEGIN, I_BEGIN, 256), "its width is 256");
  CHECK_BUILDS_BADLY(sm_kir_store_first(&k, 0, I_BEGIN, I_BEGIN, sm_kir_splat(&k, I_CONST, 4)),
                     "buffer 0 is read-only");
  CHECK_BUILDS_BADLY(sm_kir_store_first(&k, 1, I_BEGIN, I_BEGIN, sm_kir_iota(&k, I_BEGIN, 4)),
                     "its type is i64x4, not f32x4");
}

TEST(prints_first_lanes) {
  sm_kir_kernel k = start("some");
  sm_kir_add_buffer(&k, SMELT_F16, true);
  int32_t two = sm_kir_i64(&k, 2);
  sm_kir_store_first(&k, 0, two, two, sm_kir_load_first(&k, 0, two, two, 8));
  sm_text text;
  sm_text_init(&text, &sm_malloc_allocator);
  sm_kir_print(&text, &k);
  CHECK_STR(text.data,
            "kernel some(b0 f16 written) {\n"
            "  %0 = const i64 2\n"
            "  %1 = load f16x8 b0[%0 first %0]\n"
            "  store b0[%0 first %0] %1\n"
            "}\n");
  sm_text_free(&text);
  sm_kir_free(&k);
}

TEST(prints_gathers) {
  sm_kir_kernel k = start("pick");
  sm_kir_add_buffer(&k, SMELT_F16, false);
  (void)sm_kir_gather(&k, 0, sm_kir_iota(&k, sm_kir_i64(&k, 2), 8));
  sm_text text;
  sm_text_init(&text, &sm_malloc_allocator);
  sm_kir_print(&text, &k);
  CHECK_STR(text.data,
            "kernel pick(b0 f16) {\n"
            "  %0 = const i64 2\n"
            "  %1 = iota i64x8 %0\n"
            "  %2 = gather f16x8 b0[%1]\n"
            "}\n");
  sm_text_free(&text);
  sm_kir_free(&k);
}

TEST(refuses_bad_calls_of_the_builder) {
  CHECK_BUILDS_BADLY(sm_kir_scalar(&k, 7), "instruction 15: there is no scalar argument 7");
  CHECK_BUILDS_BADLY(sm_kir_size(&k, -3), "there is no size argument -3");
  CHECK_BUILDS_BADLY(sm_kir_splat(&k, I_CONST, 65537), "its width is 0");
  CHECK_BUILDS_BADLY(sm_kir_iota(&k, I_BEGIN, -1), "its width is 0");
  CHECK_BUILDS_BADLY(sm_kir_splat(&k, 99, 4), "argument 0, %99, is no earlier instruction");
  CHECK_BUILDS_BADLY(sm_kir_load(&k, -1, I_BEGIN, NONE, 1), "there is no buffer 65535");
  CHECK_BUILDS_BADLY(sm_kir_load(&k, 65536, I_BEGIN, NONE, 1), "there is no buffer 65535");
  CHECK_BUILDS_BADLY(sm_kir_kop(&k, SM_KOP_NEG, NONE, NONE, NONE, SMELT_DTYPE_NONE), "argument 0 is missing");
  CHECK_BUILDS_BADLY(sm_kir_kop(&k, SM_KOP_SELECT, I_CONST, NONE, NONE, SMELT_DTYPE_NONE),
                     "argument 1 is missing");
}

/* Whether a kernel that applies `kop` to constants of dtype `in` is accepted. */
static bool accepts(sm_kop kop, smelt_dtype in, smelt_dtype to) {
  const sm_kop_info *info = sm_kop_info_of(kop);
  int32_t args[SM_KIR_ARGS] = {NONE, NONE, NONE};
  sm_kir_kernel k = start("one");
  for (int a = 0; a < info->arity; a++) {
    bool condition = info->result == SM_RESULT_SELECT && a == 0;
    args[a] = sm_kir_const(&k, condition ? SMELT_BOOL : in, (sm_word){.bits = 0});
  }
  int32_t value = sm_kir_kop(&k, kop, args[0], args[1], args[2], to);
  bool accepted = sm_kir_finish(&k, NULL) == SMELT_OK;
  if (accepted && info->result != SM_RESULT_CONVERT) {
    CHECK_I64(k.ins.items[value].type.dtype, sm_kop_result_dtype(kop, in));
  }
  sm_kir_free(&k);
  return accepted;
}

TEST(agrees_with_the_table_of_kops) {
  int accepted = 0;
  for (int kop = 1; kop < SM_KOP_COUNT; kop++) {
    for (int in = 1; in < SM_DTYPE_LIMIT; in++) {
      if (!sm_dtype_valid((smelt_dtype)in)) continue;
      smelt_dtype to = SMELT_F64;
      bool converts = sm_kop_info_of((sm_kop)kop)->result == SM_RESULT_CONVERT;
      smelt_dtype out = converts ? to : sm_kop_result_dtype((sm_kop)kop, (smelt_dtype)in);
      bool exists = sm_kop_eval((sm_kop)kop, (smelt_dtype)in, out) != NULL;
      CHECK(accepts((sm_kop)kop, (smelt_dtype)in, to) == exists);
      accepted += exists;
    }
  }
  CHECK(accepted > 100);
}

/* --- Text ------------------------------------------------------------------------------------ */
static void check_text(const sm_kir_kernel *k, const char *expected) {
  sm_text text;
  sm_text_init(&text, &sm_malloc_allocator);
  sm_kir_print(&text, k);
  CHECK(!text.failed);
  CHECK_STR(text.data, expected);
  sm_text_free(&text);
}

TEST(prints) {
  sm_kir_kernel k = start("axpy");
  build_axpy(&k);
  check_text(&k, axpy_text);
  sm_kir_free(&k);
  k = sample();
  check_text(&k,
             "kernel sample(b0 f32, b1 f32 written, n0, s0 f32) {\n"
             "  %0 = chunk_begin\n"
             "  %1 = chunk_end\n"
             "  %2 = size n0\n"
             "  %3 = scalar f32 s0\n"
             "  %4 = const f32 0.5\n"
             "  %5 = for %0 .. %1 step 2 {\n"
             "    %6 = iota i64x2 %5\n"
             "    %7 = splat f32x2 %3\n"
             "    %8 = load f32x2 b0[%5 * %2]\n"
             "    %9 = add f32x2 %8, %7\n"
             "    %10 = lt boolx2 %8, %7\n"
             "    %11 = select f32x2 %10, %8, %9\n"
             "    store b1[%5 * %2] %11\n"
             "  }\n"
             "  %14 = cast f64 %4\n"
             "}\n");
  sm_kir_free(&k);
}

TEST(prints_refused_kernels) {
  sm_kir_kernel k = start("bad");
  sm_kir_end(&k);
  sm_kir_kop(&k, SM_KOP_NEG, NONE, NONE, NONE, SMELT_DTYPE_NONE);
  sm_kir_const(&k, SMELT_DTYPE_NONE, (sm_word){.bits = 0});
  sm_kir_size(&k, 3);
  CHECK_I64(k.ins.len, 4);
  k.ins.items[1].kop = 250;
  k.ins.items[3].kind = 77;
  check_text(&k, "kernel bad() {\n  }\n  %1 = none nonex0\n  %2 = const none \n  %3 = unknown kind 77\n}\n");
  sm_kir_free(&k);
}

/* The printed form of one constant. */
static void print_constant(char *out, size_t size, smelt_dtype dtype, sm_word word) {
  char head[32];
  (void)snprintf(head, sizeof head, "  %%0 = const %s ", smelt_dtype_name(dtype));
  sm_text text;
  sm_text_init(&text, &sm_malloc_allocator);
  sm_kir_kernel k = start("c");
  sm_kir_const(&k, dtype, word);
  sm_kir_print(&text, &k);
  const char *value = strstr(text.data, head);
  CHECK(value != NULL);
  value += strlen(head);
  (void)snprintf(out, size, "%.*s", (int)strcspn(value, "\n"), value);
  sm_text_free(&text);
  sm_kir_free(&k);
}

static void check_constant(smelt_dtype dtype, sm_word word, const char *expected) {
  char text[64];
  print_constant(text, sizeof text, dtype, word);
  CHECK_STR(text, expected);
}

TEST(prints_constants) {
  check_constant(SMELT_F32, (sm_word){.F32 = 0.1f}, "0.1");
  check_constant(SMELT_F32, (sm_word){.F32 = -0.0f}, "-0");
  check_constant(SMELT_F32, (sm_word){.F32 = 3.0f}, "3");
  check_constant(SMELT_F32, (sm_word){.F32 = INFINITY}, "inf");
  check_constant(SMELT_F64, (sm_word){.F64 = 0.1}, "0.1");
  check_constant(SMELT_F64, (sm_word){.F64 = -INFINITY}, "-inf");
  check_constant(SMELT_F16, (sm_word){.F16 = 0x2e66}, "0.1");
  check_constant(SMELT_BF16, (sm_word){.BF16 = 0x7fc1}, "nan:0x7fc1");
  check_constant(SMELT_F32, (sm_word){.U32 = 0xffc00001u}, "nan:0xffc00001");
  check_constant(SMELT_F64, (sm_word){.U64 = 0x7ff8000000000002u}, "nan:0x7ff8000000000002");
  check_constant(SMELT_BOOL, (sm_word){.BOOL = true}, "true");
  check_constant(SMELT_I8, (sm_word){.I8 = -128}, "-128");
  check_constant(SMELT_I64, (sm_word){.I64 = INT64_MIN}, "-9223372036854775808");
  check_constant(SMELT_U64, (sm_word){.U64 = UINT64_MAX}, "18446744073709551615");
}

TEST(constants_read_back) {
  uint64_t bits = 1;
  for (int i = 0; i < 2000; i++) {
    char text[64];
    bits = bits * 6364136223846793005u + 1442695040888963407u;
    sm_word word = {.U64 = bits};
    if (!isnan(word.F64)) {
      print_constant(text, sizeof text, SMELT_F64, word);
      CHECK_F64(strtod(text, NULL), word.F64);
    }
    word = (sm_word){.U32 = (uint32_t)(bits >> 32)};
    if (!isnan(word.F32)) {
      print_constant(text, sizeof text, SMELT_F32, word);
      CHECK_F64(strtof(text, NULL), word.F32);
    }
  }
}

/* --- Identity --------------------------------------------------------------------------------- */
TEST(equal_kernels_hash_equal) {
  sm_kir_kernel a = sample(), b = sample();
  (void)snprintf(b.name, sizeof b.name, "another");
  CHECK(sm_hash_equal(sm_kir_hash(&a), sm_kir_hash(&b)));
  /* Bytes beyond the constant's own are none of it. */
  b.ins.items[I_CONST].imm.constant.bits |= (uint64_t)0xab << 56;
  CHECK(sm_hash_equal(sm_kir_hash(&a), sm_kir_hash(&b)));
  sm_kir_free(&a);
  sm_kir_free(&b);
}

#define CHECK_HASH_CHANGES(change)                  \
  do {                                              \
    sm_kir_kernel k = sample();                     \
    sm_kir_ins *ins = k.ins.items;                  \
    (void)ins;                                      \
    sm_hash before = sm_kir_hash(&k);               \
    change;                                         \
    CHECK(!sm_hash_equal(before, sm_kir_hash(&k))); \
    sm_kir_free(&k);                                \
  } while (0)

TEST(changes_change_the_hash) {
  CHECK_HASH_CHANGES(k.buffers.items[0].dtype = SMELT_F64);
  CHECK_HASH_CHANGES(k.buffers.items[0].written = true);
  CHECK_HASH_CHANGES(k.buffers.items[0].aligned = true);
  CHECK_HASH_CHANGES(k.grain = 4);
  CHECK_HASH_CHANGES(k.narrow = true);
  CHECK_HASH_CHANGES(sm_kir_add_buffer(&k, SMELT_F32, false));
  CHECK_HASH_CHANGES(k.scalars.items[0] = SMELT_F64);
  CHECK_HASH_CHANGES(sm_kir_add_scalar(&k, SMELT_F32));
  CHECK_HASH_CHANGES(sm_kir_add_size(&k));
  CHECK_HASH_CHANGES(k.ins.len--);
  CHECK_HASH_CHANGES(sm_kir_chunk_begin(&k));
  CHECK_HASH_CHANGES(ins[I_SIZE].imm.index = 1);
  CHECK_HASH_CHANGES(ins[I_SCALAR].imm.index = 1);
  CHECK_HASH_CHANGES(ins[I_FOR].imm.step = 3);
  CHECK_HASH_CHANGES(ins[I_CONST].imm.constant.F32 = 0.25f);
  for (int i = 0; i < I_COUNT; i++) {
    CHECK_HASH_CHANGES(ins[i].kind ^= 1);
    CHECK_HASH_CHANGES(ins[i].kop ^= 1);
    CHECK_HASH_CHANGES(ins[i].buffer ^= 1);
    CHECK_HASH_CHANGES(ins[i].type.width ^= 1);
    CHECK_HASH_CHANGES(ins[i].type.dtype = SMELT_U16);
    for (int a = 0; a < SM_KIR_ARGS; a++) CHECK_HASH_CHANGES(ins[i].args[a] ^= 1);
  }
}

/* --- Memory ------------------------------------------------------------------------------------- */
static smelt_status build_and_run(sm_kir_kernel *k, smelt_error *err) {
  float x[4] = {0}, y[4] = {0};
  const sm_kir_span spans[] = {SPAN(x), SPAN(y)};
  const sm_kir_call call = {
      .buffers = spans, .sizes = (int64_t[]){1}, .scalars = &(sm_word){.F32 = 1}, .end = 4};
  build_sample(k);
  smelt_status status = sm_kir_finish(k, err);
  return status == SMELT_OK ? sm_kir_eval(k, &call, err) : status;
}

/* Whether building and running gets by with `n` allocations. */
static bool gets_by_with(int n) {
  meter m = {.left = n};
  const sm_allocator allocator = {metered, &m};
  sm_kir_kernel k;
  sm_kir_init(&k, &allocator);
  smelt_error err = {0};
  smelt_status status = build_and_run(&k, &err);
  sm_kir_free(&k);
  CHECK_I64(m.live, 0);
  if (status == SMELT_OK) return true;
  CHECK_STATUS(status, SMELT_ERR_MEMORY);
  CHECK_CONTAINS(err.text, "out of memory");
  return false;
}

TEST(memory_runs_out) {
  int n = 0;
  while (!gets_by_with(n)) n++;
  /* Buffers, scalars, instructions twice, verifier, evaluator: places,
   * operations, lists and the block. */
  CHECK_I64(n, 9);
}

/* After a failure adders answer 0 and nothing else happens. */
TEST(builder_survives_failure) {
  meter m = {.left = 0};
  const sm_allocator allocator = {metered, &m};
  sm_kir_kernel k;
  sm_kir_init(&k, &allocator);
  CHECK_I64(sm_kir_add_buffer(&k, SMELT_F32, true), 0);
  CHECK(k.failed);
  m.left = INT32_MAX;
  CHECK_I64(sm_kir_load(&k, 0, sm_kir_i64(&k, 0), NONE, 4), 0);
  CHECK_I64(k.ins.len, 0);
  CHECK_STATUS(sm_kir_finish(&k, NULL), SMELT_ERR_MEMORY);
  sm_kir_free(&k);
  CHECK(!k.failed);
}

TEST_MAIN(CASE(main_loop_and_tail), CASE(strided_loads), CASE(strided_stores), CASE(nested_loops),
          CASE(loop_rounds), CASE(many_open_loops), CASE(casts_choices_tests), CASE(empty_kernel),
          CASE(stores_outside), CASE(loads_outside), CASE(gathers), CASE(refuses_bad_references),
          CASE(refuses_bad_halves), CASE(refuses_too_many_arguments), CASE(refuses_bad_operands),
          CASE(refuses_bad_types), CASE(refuses_bad_indices), CASE(prefetch_is_a_hint),
          CASE(refuses_bad_places), CASE(refuses_bad_loops), CASE(prints_gathers), CASE(refuses_bad_gathers),
          CASE(first_lanes), CASE(lanes_that_are_not_there), CASE(refuses_bad_first_lanes),
          CASE(prints_first_lanes), CASE(refuses_bad_signatures), CASE(refuses_bad_calls_of_the_builder),
          CASE(agrees_with_the_table_of_kops), CASE(prints), CASE(prints_refused_kernels),
          CASE(prints_constants), CASE(constants_read_back), CASE(equal_kernels_hash_equal),
          CASE(changes_change_the_hash), CASE(memory_runs_out), CASE(builder_survives_failure))
