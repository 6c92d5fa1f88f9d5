/* SPDX-License-Identifier: Apache-2.0
 *
 * Programs made of kernels: values that are kept once (uniform) or not at all
 * (views), streaming, every processor level; and what is moved out of loops. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "harness.h"
#include "kir/kir.h"
#include "meter.h"

enum { NONE = SM_KIR_NONE, MAX_WIDTH = 512 };

static sm_kir_kernel start(const char *name) {
  sm_kir_kernel k;
  sm_kir_init(&k, &sm_malloc_allocator);
  (void)snprintf(k.name, sizeof k.name, "%s", name);
  return k;
}

static int32_t op(sm_kir_kernel *k, sm_kop kop, int32_t a, int32_t b) {
  return sm_kir_kop(k, kop, a, b, NONE, SMELT_DTYPE_NONE);
}

/* --- Running ------------------------------------------------------------------------------ */

static void run_program(const sm_kir_kernel *k, sm_cpu_level level, const sm_kir_call *call) {
  smelt_error err;
  sm_kir_program program;
  CHECK_OK(sm_kir_prepare(k, level, &program, &err), err);
  CHECK_OK(sm_kir_run(&program, call, &err), err);
  sm_kir_program_free(&program);
}

/* Runs the kernel as it is and with what is fixed moved, for every level, with and
 * without streaming. `check` looks at the results, and `reset` undoes them. */
typedef void step_fn(void *user);

static void run_all(sm_kir_kernel *k, sm_kir_call call, step_fn *reset, step_fn *check, void *user) {
  smelt_error err;
  sm_kir_kernel hoisted;
  CHECK_OK(sm_kir_finish(k, &err), err);
  CHECK_OK(sm_kir_hoist(k, &hoisted, &err), err);
  for (int way = 0; way < 4 * (1 + (int)sm_cpu_detect()); way++) {
    reset(user);
    call.streaming = way & 1;
    run_program(way & 2 ? &hoisted : k, (sm_cpu_level)(way / 4), &call);
    check(user);
  }
  sm_kir_free(&hoisted);
}

/* --- Uniform values -------------------------------------------------------------------------- */

typedef struct lanes {
  int width;
  _Alignas(64) float in[MAX_WIDTH], sum[MAX_WIDTH], same[MAX_WIDTH], carried[MAX_WIDTH];
  float apart[3 * MAX_WIDTH], halves[MAX_WIDTH];
  bool test[MAX_WIDTH];
} lanes;

/* s = 3, t = 0.5: in + s * t; s * t; that again with a stride of 3; four rounds that
 * carry s and then s * t; s < in; the upper halves of in + s * t and s * t one after the other. */
static void build_uniform(sm_kir_kernel *k, int width) {
  for (int b = 0; b < 5; b++) sm_kir_add_buffer(k, SMELT_F32, b > 0);
  sm_kir_add_buffer(k, SMELT_BOOL, true);
  sm_kir_add_buffer(k, SMELT_F32, true);
  int32_t zero = sm_kir_i64(k, 0), three = sm_kir_i64(k, 3);
  int32_t s = sm_kir_splat(k, sm_kir_scalar(k, sm_kir_add_scalar(k, SMELT_F32)), width);
  int32_t t = sm_kir_splat(k, sm_kir_const(k, SMELT_F32, (sm_word){.F32 = 0.5f}), width);
  int32_t product = op(k, SM_KOP_MUL, s, t), x = sm_kir_load(k, 0, zero, NONE, width);
  int32_t sum = op(k, SM_KOP_ADD, x, product), test = op(k, SM_KOP_LT, s, x);
  sm_kir_for(k, zero, three, 1);
  int32_t carried = sm_kir_carry(k, s);
  sm_kir_next(k, carried, product);
  sm_kir_end(k);
  int32_t left = sm_kir_result(k, carried);
  sm_kir_store(k, 1, zero, NONE, sum);
  sm_kir_store(k, 2, zero, NONE, product);
  sm_kir_store(k, 3, zero, NONE, left);
  sm_kir_store(k, 4, zero, three, product);
  sm_kir_store(k, 5, zero, NONE, test);
  if (width % 2 != 0) return;
  sm_kir_store(k, 6, zero, NONE, sm_kir_half(k, sum, 1));
  sm_kir_store(k, 6, sm_kir_i64(k, width / 2), NONE, sm_kir_half(k, product, 1));
}

static void reset_lanes(void *user) {
  lanes *l = user;
  int width = l->width;
  memset(l, 0x55, sizeof *l);
  l->width = width;
  for (int i = 0; i < MAX_WIDTH; i++) l->in[i] = (float)i / 8;
}

static void check_lanes(void *user) {
  const lanes *l = user;
  lanes untouched;
  memset(&untouched, 0x55, sizeof untouched);
  for (int i = 0; i < l->width; i++) {
    CHECK_F64(l->sum[i], (float)i / 8 + 1.5f);
    CHECK_F64(l->same[i], 1.5);
    CHECK_F64(l->carried[i], 1.5);
    CHECK_F64(l->apart[3L * i], 1.5);
    CHECK_F64(l->apart[3 * i + 1], untouched.apart[0]);
    CHECK_I64(l->test[i], 3 < (float)i / 8);
  }
  for (int i = 0, half = l->width / 2; i < half && l->width % 2 == 0; i++) {
    CHECK_F64(l->halves[i], (float)(half + i) / 8 + 1.5f);
    CHECK_F64(l->halves[half + i], 1.5);
  }
  size_t rest = (MAX_WIDTH - (size_t)l->width) * sizeof(float);
  CHECK(memcmp(l->sum + l->width, untouched.sum, rest) == 0);
  CHECK(memcmp(l->same + l->width, untouched.sum, rest) == 0);
  CHECK(memcmp(l->carried + l->width, untouched.sum, rest) == 0);
}

TEST(uniform_values) {
  static const int widths[] = {1, 2, 63, 64, 65, 100, 127, 128, 129, 200, 511, 512};
  static lanes l;
  for (size_t w = 0; w < sizeof widths / sizeof widths[0]; w++) {
    sm_kir_kernel k = start("uniform");
    size_t bytes = (size_t)widths[w] * sizeof(float);
    l.width = widths[w];
    build_uniform(&k, l.width);
    const sm_kir_span spans[] = {{l.in, bytes},      {l.sum, bytes},       {l.same, bytes},
                                 {l.carried, bytes}, {l.apart, 3 * bytes}, {l.test, (size_t)l.width},
                                 {l.halves, bytes}};
    sm_word s = {.F32 = 3};
    run_all(&k, (sm_kir_call){.buffers = spans, .scalars = &s}, reset_lanes, check_lanes, &l);
    sm_kir_free(&k);
  }
}

/* --- Gathers ---------------------------------------------------------------------------------- */

/* The elements backwards, and one of them in every lane. */
static void build_gathers(sm_kir_kernel *k, int width) {
  for (int b = 0; b < 3; b++) sm_kir_add_buffer(k, SMELT_F32, b > 0);
  int32_t zero = sm_kir_i64(k, 0), last = sm_kir_i64(k, width - 1);
  int32_t backwards = op(k, SM_KOP_SUB, sm_kir_splat(k, last, width), sm_kir_iota(k, zero, width));
  int32_t same = sm_kir_splat(k, sm_kir_i64(k, width / 2), width);
  sm_kir_store(k, 1, zero, NONE, sm_kir_gather(k, 0, backwards));
  sm_kir_store(k, 2, zero, NONE, sm_kir_gather(k, 0, same));
}

static void check_gathers(void *user) {
  const lanes *l = user;
  for (int i = 0; i < l->width; i++) {
    CHECK_F64(l->sum[i], l->in[l->width - 1 - i]);
    CHECK_F64(l->same[i], l->in[l->width / 2]);
  }
}

TEST(gathers) {
  static const int widths[] = {1, 3, 64, 65, 100, 128, 512};
  static lanes l;
  for (size_t w = 0; w < sizeof widths / sizeof widths[0]; w++) {
    sm_kir_kernel k = start("gathers");
    size_t bytes = (size_t)widths[w] * sizeof(float);
    l.width = widths[w];
    build_gathers(&k, l.width);
    const sm_kir_span spans[] = {{l.in, bytes}, {l.sum, bytes}, {l.same, bytes}};
    run_all(&k, (sm_kir_call){.buffers = spans}, reset_lanes, check_gathers, &l);
    sm_kir_free(&k);
  }
}

/* --- Views --------------------------------------------------------------------------------------- */

enum { COUNT = 400, VECTOR = 100 };

typedef struct overlap {
  int32_t data[COUNT + 1], doubled[COUNT];
  int shift; /* of what is written to `data` */
} overlap;

/* The loaded vector is used once more when its memory has been overwritten. */
static void build_overlap(sm_kir_kernel *k) {
  for (int b = 0; b < 3; b++) sm_kir_add_buffer(k, SMELT_I32, b > 0);
  int32_t i = sm_kir_for(k, sm_kir_chunk_begin(k), sm_kir_chunk_end(k), VECTOR);
  int32_t x = sm_kir_load(k, 0, i, NONE, VECTOR);
  sm_kir_store(k, 1, i, NONE, op(k, SM_KOP_NEG, x, NONE));
  sm_kir_store(k, 2, i, NONE, op(k, SM_KOP_ADD, x, x));
  sm_kir_end(k);
}

static void reset_overlap(void *user) {
  overlap *o = user;
  for (int i = 0; i <= COUNT; i++) o->data[i] = i + 1;
  memset(o->doubled, 0, sizeof o->doubled);
}

/* What a loop over vectors does that loads first. */
static void check_overlap(void *user) {
  const overlap *o = user;
  overlap expected = {.shift = o->shift};
  reset_overlap(&expected);
  for (int v = 0; v < COUNT; v += VECTOR) {
    int32_t x[VECTOR];
    memcpy(x, expected.data + v, sizeof x);
    for (int i = 0; i < VECTOR; i++) {
      expected.data[v + i + o->shift] = -x[i];
      expected.doubled[v + i] = 2 * x[i];
    }
  }
  CHECK(memcmp(o->data, expected.data, sizeof o->data) == 0);
  CHECK(memcmp(o->doubled, expected.doubled, sizeof o->doubled) == 0);
}

TEST(overwritten_after_loading) {
  for (int shift = 0; shift <= 1; shift++) {
    static overlap o;
    o.shift = shift;
    sm_kir_kernel k = start("overlap");
    build_overlap(&k);
    const sm_kir_span spans[] = {{o.data, COUNT * sizeof *o.data},
                                 {o.data + shift, COUNT * sizeof *o.data},
                                 {o.doubled, sizeof o.doubled}};
    run_all(&k, (sm_kir_call){.buffers = spans, .end = COUNT}, reset_overlap, check_overlap, &o);
    sm_kir_free(&k);
  }
}

/* A value that a loop uses is loaded before it; the loop overwrites it. */
typedef struct rounds {
  int16_t data[VECTOR];
} rounds;

static void reset_rounds(void *user) {
  rounds *r = user;
  for (int i = 0; i < VECTOR; i++) r->data[i] = (int16_t)i;
}

static void check_rounds(void *user) {
  const rounds *r = user;
  for (int i = 0; i < VECTOR; i++) CHECK_I64(r->data[i], i + 4 * i);
}

TEST(overwritten_by_a_later_round) {
  static rounds r;
  sm_kir_kernel k = start("rounds");
  sm_kir_add_buffer(&k, SMELT_I16, true);
  int32_t zero = sm_kir_i64(&k, 0), first = sm_kir_load(&k, 0, zero, NONE, VECTOR);
  sm_kir_for(&k, zero, sm_kir_i64(&k, 4), 1);
  int32_t now = sm_kir_load(&k, 0, zero, NONE, VECTOR);
  sm_kir_store(&k, 0, zero, NONE, op(&k, SM_KOP_ADD, now, first));
  sm_kir_end(&k);
  const sm_kir_span span = {r.data, sizeof r.data};
  run_all(&k, (sm_kir_call){.buffers = &span}, reset_rounds, check_rounds, &r);
  sm_kir_free(&k);
}

/* --- Programs ----------------------------------------------------------------------------------------- */

TEST(runs_more_than_once) {
  static overlap o;
  smelt_error err;
  sm_kir_program program;
  sm_kir_kernel k = start("twice");
  build_overlap(&k);
  CHECK_OK(sm_kir_finish(&k, &err), err);
  CHECK_OK(sm_kir_prepare(&k, sm_cpu_detect(), &program, &err), err);
  reset_overlap(&o);
  const sm_kir_span spans[] = {
      {o.data, COUNT * sizeof *o.data}, {o.data, COUNT * sizeof *o.data}, {o.doubled, sizeof o.doubled}};
  for (int64_t v = 0; v < COUNT; v += VECTOR) {
    CHECK_OK(sm_kir_run(&program, &(sm_kir_call){.buffers = spans, .begin = v, .end = v + VECTOR}, &err),
             err);
  }
  check_overlap(&o);
  CHECK_STATUS(sm_kir_run(&program, &(sm_kir_call){.buffers = spans, .end = COUNT + 1}, &err),
               SMELT_ERR_INTERNAL);
  CHECK_CONTAINS(err.text, "100 elements of buffer 0 from 400 by 1, but it has 400");
  sm_kir_program_free(&program);
  sm_kir_program_free(&program);
  sm_kir_free(&k);
}

/* --- What is moved ------------------------------------------------------------------------------------ */

TEST(moves_what_is_the_same_in_all_rounds) {
  smelt_error err;
  sm_kir_kernel hoisted, k = start("scale");
  sm_kir_add_buffer(&k, SMELT_F32, false);
  sm_kir_add_buffer(&k, SMELT_F32, true);
  sm_kir_add_scalar(&k, SMELT_F32);
  int32_t begin = sm_kir_chunk_begin(&k), end = sm_kir_chunk_end(&k), i = sm_kir_for(&k, begin, end, 8);
  int32_t factor = sm_kir_load(&k, 0, sm_kir_i64(&k, 0), NONE, 1);
  int32_t s = sm_kir_splat(&k, sm_kir_scalar(&k, 0), 8), x = sm_kir_load(&k, 0, i, NONE, 8);
  int32_t square = op(&k, SM_KOP_MUL, s, s), wide = sm_kir_splat(&k, factor, 8);
  int32_t scaled = op(&k, SM_KOP_MUL, x, wide);
  sm_kir_store(&k, 1, i, NONE, op(&k, SM_KOP_ADD, scaled, square));
  sm_kir_end(&k);
  CHECK_OK(sm_kir_finish(&k, &err), err);
  CHECK_OK(sm_kir_hoist(&k, &hoisted, &err), err);
  sm_text text;
  sm_text_init(&text, &sm_malloc_allocator);
  sm_kir_print(&text, &hoisted);
  CHECK_STR(text.data,
            "kernel scale(b0 f32, b1 f32 written, s0 f32) {\n"
            "  %0 = chunk_begin\n"
            "  %1 = chunk_end\n"
            "  %2 = const i64 0\n"
            "  %3 = scalar f32 s0\n"
            "  %4 = splat f32x8 %3\n"
            "  %5 = mul f32x8 %4, %4\n"
            "  %6 = for %0 .. %1 step 8 {\n"
            "    %7 = load f32 b0[%2]\n"
            "    %8 = load f32x8 b0[%6]\n"
            "    %9 = splat f32x8 %7\n"
            "    %10 = mul f32x8 %8, %9\n"
            "    %11 = add f32x8 %10, %5\n"
            "    store b1[%6] %11\n"
            "  }\n"
            "}\n");
  sm_text_free(&text);
  sm_kir_free(&hoisted);
  sm_kir_free(&k);
}

/* --- Memory ----------------------------------------------------------------------------------------------
 */

static smelt_status hoist_and_run(sm_kir_kernel *k, smelt_error *err) {
  static overlap o;
  sm_kir_kernel hoisted;
  sm_kir_program program = {.k = NULL};
  const sm_kir_span spans[] = {
      {o.data, sizeof o.data}, {o.data, sizeof o.data}, {o.doubled, sizeof o.doubled}};
  build_overlap(k);
  SM_TRY(sm_kir_finish(k, err));
  SM_TRY(sm_kir_hoist(k, &hoisted, err));
  smelt_status status = sm_kir_prepare(&hoisted, SM_CPU_BASELINE, &program, err);
  if (status == SMELT_OK) status = sm_kir_run(&program, &(sm_kir_call){.buffers = spans, .end = COUNT}, err);
  sm_kir_program_free(&program);
  sm_kir_free(&hoisted);
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
    status = hoist_and_run(&k, &err);
    sm_kir_free(&k);
    CHECK_I64(m.live, 0);
    CHECK(n < 100);
  }
  CHECK_STATUS(status, SMELT_OK);
}

TEST_MAIN(CASE(uniform_values), CASE(gathers), CASE(overwritten_after_loading),
          CASE(overwritten_by_a_later_round), CASE(runs_more_than_once),
          CASE(moves_what_is_the_same_in_all_rounds), CASE(memory_runs_out))
