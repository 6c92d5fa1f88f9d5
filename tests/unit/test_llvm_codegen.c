/* SPDX-License-Identifier: Apache-2.0
 *
 * Code made by libLLVM against the loops of kops.def: every operation on every
 * dtype, for each processor level, vectors and single elements; and the forms
 * that kernels take. Code for other machines is not run, but linked: it refers to
 * nothing outside. Skipped where there is no libLLVM. */
#define _GNU_SOURCE
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "codegen/llvm_codegen.h"
#include "core/functions.h"
#include "rt/object_image.h"
#include "rt/object_loader.h"

#include "operation_kernels.h"

enum { N = ELEMENTS, WIDTH = 16, WHOLE = N / WIDTH * WIDTH };

static sm_llvm open_llvm(void) {
  sm_llvm llvm;
  smelt_error err;
  if (sm_llvm_open(&llvm, "", &err) != SMELT_OK) TEST_SKIP(err.text);
  return llvm;
}

/* --- Compiling ----------------------------------------------------------------------- */

/* Low, where it suits x86-64 to be, and far away. */
static void link_at_addresses(const sm_object_image *image) {
  static const uint64_t addresses[] = {0x1000, 0x7f7788990000};
  unsigned char *bytes = calloc(1, image->image_bytes);
  CHECK(bytes != NULL);
  for (int i = 0; i < 2; i++) CHECK_OK(sm_object_image_fill(image, bytes, addresses[i]), *image->err);
  free(bytes);
}

static void link_object(const sm_object *object, sm_cpu_level level) {
  sm_object_image image;
  smelt_error err;
  uint16_t machine = level == SM_CPU_NEON ? EM_AARCH64 : EM_X86_64;
  CHECK_OK(sm_object_image_read(&image, object->data, object->size, machine, SM_OBJECT_ENTRY, &err), err);
  link_at_addresses(&image);
}

static smelt_status compile_object(sm_llvm *llvm, const sm_kir_kernel *k, sm_cpu_level level,
                                   sm_object *out) {
  sm_kir_kernel primitive;
  smelt_error err;
  CHECK_OK(sm_kir_expand(k, &primitive, &err), err);
  smelt_status status = sm_llvm_compile(llvm, &primitive, level, &sm_malloc_allocator, out, NULL, &err);
  sm_kir_free(&primitive);
  if (status == SMELT_OK) link_object(out, level);
  return status;
}

/* Loads it where it can run. */
static smelt_status compile(sm_llvm *llvm, const sm_kir_kernel *k, sm_cpu_level level, sm_code *out) {
  sm_object object;
  smelt_error err;
  smelt_status status = compile_object(llvm, k, level, &object);
  if (status != SMELT_OK) return status;
  *out = (sm_code){.base = NULL};
  if (sm_cpu_supports(level))
    CHECK_OK(sm_code_load(object.data, object.size, SM_OBJECT_ENTRY, out, &err), err);
  sm_free(&sm_malloc_allocator, object.data, object.size);
  return SMELT_OK;
}

static void finish(sm_kir_kernel *k) {
  smelt_error err;
  CHECK_OK(sm_kir_finish(k, &err), err);
}

/* --- Operations ------------------------------------------------------------------------- */

static smelt_dtype operand_dtype(sm_kop kop, smelt_dtype in, int k) {
  return kop == SM_KOP_SELECT && k == 0 ? SMELT_BOOL : in;
}

static void add_loop(sm_kir_kernel *k, sm_kop kop, smelt_dtype out, int32_t begin, int32_t end, int width) {
  int arity = sm_kop_info_of(kop)->arity;
  int32_t args[3] = {SM_KIR_NONE, SM_KIR_NONE, SM_KIR_NONE};
  int32_t i = sm_kir_for(k, begin, end, width);
  for (int a = 0; a < arity; a++) args[a] = sm_kir_load(k, a, i, SM_KIR_NONE, width);
  int32_t value = sm_kir_kop(k, kop, args[0], args[1], args[2], out);
  sm_kir_store(k, arity, i, SM_KIR_NONE, value);
  sm_kir_end(k);
}

/* Vectors, then single elements. */
static void build_operation(sm_kir_kernel *k, sm_kop kop, smelt_dtype in, smelt_dtype out) {
  sm_kir_init(k, &sm_malloc_allocator);
  for (int a = 0; a < sm_kop_info_of(kop)->arity; a++) sm_kir_add_buffer(k, operand_dtype(kop, in, a), false);
  sm_kir_add_buffer(k, out, true);
  int32_t middle = sm_kir_i64(k, WHOLE);
  add_loop(k, kop, out, sm_kir_chunk_begin(k), middle, WIDTH);
  add_loop(k, kop, out, middle, sm_kir_chunk_end(k), 1);
  finish(k);
}

typedef void fill_fn(smelt_dtype dtype, unsigned char *to, uint64_t *state);

static void check_operation(const sm_code *code, sm_kop kop, smelt_dtype in, smelt_dtype out,
                            fill_fn *fill_with, uint64_t *state) {
  static unsigned char operands[3][N * 8], expected[N * 8], actual[N * 8];
  const void *in_loops[3];
  void *data[4];
  int arity = sm_kop_info_of(kop)->arity;
  for (int a = 0; a < arity; a++) {
    fill_with(operand_dtype(kop, in, a), operands[a], state);
    in_loops[a] = data[a] = operands[a];
  }
  data[arity] = actual;
  sm_kop_eval(kop, in, out)(N, expected, in_loops, 0);
  code->entry(data, NULL, NULL, 0, N);
  size_t size = smelt_dtype_size(out);
  for (size_t i = 0; i < N; i++) {
    if (same_element(out, expected + i * size, actual + i * size)) continue;
    printf("%s from %s to %s, element %zu\n", sm_kop_info_of(kop)->name, smelt_dtype_name(in),
           smelt_dtype_name(out), i);
    CHECK(false);
  }
}

/* Any bits are no exponents: ldexp has a range. */
static bool is_tried(sm_kop kop, smelt_dtype in, smelt_dtype out) {
  bool converts = sm_kop_info_of(kop)->result == SM_RESULT_CONVERT;
  if (!converts && (!sm_dtype_valid(in) || sm_kop_result_dtype(kop, in) != out)) return false;
  return kop != SM_KOP_LDEXP && sm_kop_eval(kop, in, out) != NULL;
}

static void try_operation(sm_llvm *llvm, sm_cpu_level level, sm_kop kop, smelt_dtype in, smelt_dtype out,
                          uint64_t *state) {
  sm_kir_kernel k;
  sm_code code = {.base = NULL};
  build_operation(&k, kop, in, out);
  CHECK_STATUS(compile(llvm, &k, level, &code), SMELT_OK);
  if (code.entry) check_operation(&code, kop, in, out, fill_operand, state);
  sm_code_free(&code);
  sm_kir_free(&k);
}

static void try_all(sm_cpu_level level) {
  sm_llvm llvm = open_llvm();
  uint64_t state = 88172645463325252u;
  for (int kop = 1; kop < SM_KOP_COUNT; kop++) {
    for (int in = 1; in < SM_DTYPE_LIMIT; in++) {
      for (int out = 1; out < SM_DTYPE_LIMIT; out++) {
        bool tried = is_tried((sm_kop)kop, (smelt_dtype)in, (smelt_dtype)out);
        if (tried) try_operation(&llvm, level, (sm_kop)kop, (smelt_dtype)in, (smelt_dtype)out, &state);
      }
    }
  }
  sm_llvm_close(&llvm);
}

TEST(operations_avx2) { try_all(SM_CPU_AVX2); }
TEST(operations_avx512) { try_all(SM_CPU_AVX512); }
TEST(operations_neon) { try_all(SM_CPU_NEON); }

/* --- Operations that are loops ----------------------------------------------------------- */

/* Random bits, and numbers of every size: the powers of two and their neighbours. */
static void fill_exponents(smelt_dtype dtype, unsigned char *to, uint64_t *state) {
  size_t size = smelt_dtype_size(dtype);
  unsigned digits = dtype == SMELT_F32 ? 23 : 52;
  for (size_t i = 0; i < N; i++, to += size) {
    uint64_t bits = next_random(state), way = next_random(state) % 4;
    if (way) bits = (bits >> digits << digits) + way - 2;
    memcpy(to, &bits, size);
  }
}

/* Small bases and exponents, and negative ones. */
static void fill_powers(smelt_dtype dtype, unsigned char *to, uint64_t *state) {
  size_t size = smelt_dtype_size(dtype);
  for (size_t i = 0; i < N; i++, to += size) {
    uint64_t bits = next_random(state) % 25 - 8;
    memcpy(to, &bits, size);
  }
}

static void repeat_operation(sm_kop kop, smelt_dtype dtype, fill_fn *fill_with) {
  enum { TIMES = 500 };
  sm_llvm llvm = open_llvm();
  uint64_t state = 88172645463325252u;
  sm_kir_kernel k;
  build_operation(&k, kop, dtype, dtype);
  for (int level = SM_CPU_AVX2; level <= SM_CPU_NEON; level++) {
    sm_code code = {.base = NULL};
    CHECK_STATUS(compile(&llvm, &k, (sm_cpu_level)level, &code), SMELT_OK);
    for (int i = 0; i < TIMES && code.entry; i++)
      check_operation(&code, kop, dtype, dtype, fill_with, &state);
    sm_code_free(&code);
  }
  sm_kir_free(&k);
  sm_llvm_close(&llvm);
}

TEST(remainders_of_any_size) {
  for (smelt_dtype dtype = SMELT_F32; dtype <= SMELT_F64; dtype++) {
    repeat_operation(SM_KOP_FMOD, dtype, fill_exponents);
    repeat_operation(SM_KOP_REM, dtype, fill_exponents);
  }
}

TEST(powers_of_integers) {
  for (int dtype = 1; dtype < SM_DTYPE_LIMIT; dtype++) {
    if (sm_kop_eval(SM_KOP_POW, (smelt_dtype)dtype, (smelt_dtype)dtype) &&
        sm_kind_of((smelt_dtype)dtype) != SM_KIND_FLOAT)
      repeat_operation(SM_KOP_POW, (smelt_dtype)dtype, fill_powers);
  }
}

/* --- Forms -------------------------------------------------------------------------------- */

/* out[i] = scalar + a[i * n] by streaming stores, through a local buffer in which halves of vectors
 * change places, with a hint. */
static void build_forms(sm_kir_kernel *k) {
  sm_kir_init(k, &sm_malloc_allocator);
  sm_kir_add_buffer(k, SMELT_F32, false);
  sm_kir_add_buffer(k, SMELT_F32, true);
  int local = sm_kir_add_local(k, SMELT_F32, WIDTH);
  int32_t stride = sm_kir_size(k, sm_kir_add_size(k));
  int32_t scalar = sm_kir_scalar(k, sm_kir_add_scalar(k, SMELT_F32)), zero = sm_kir_i64(k, 0);
  int32_t i = sm_kir_for(k, sm_kir_chunk_begin(k), sm_kir_chunk_end(k), WIDTH);
  int32_t first = sm_kir_kop(k, SM_KOP_MUL, i, stride, SM_KIR_NONE, SMELT_I64);
  sm_kir_store(k, local, zero, SM_KIR_NONE, sm_kir_load(k, 0, first, stride, WIDTH));
  int32_t kept = sm_kir_load(k, local, zero, SM_KIR_NONE, WIDTH);
  int32_t middle = sm_kir_i64(k, WIDTH / 2);
  sm_kir_store(k, local, middle, SM_KIR_NONE, sm_kir_half(k, kept, 0));
  sm_kir_store(k, local, zero, SM_KIR_NONE, sm_kir_half(k, kept, 1));
  kept = sm_kir_load(k, local, zero, SM_KIR_NONE, WIDTH);
  int32_t wide = sm_kir_splat(k, scalar, WIDTH);
  sm_kir_prefetch(k, 0, first, WIDTH);
  sm_kir_stream(k, 1, i, sm_kir_kop(k, SM_KOP_ADD, wide, kept, SM_KIR_NONE, SMELT_F32));
  sm_kir_end(k);
  sm_kir_fence(k);
  finish(k);
}

TEST(strides_locals_and_streams) {
  sm_llvm llvm = open_llvm();
  sm_kir_kernel k;
  build_forms(&k);
  for (int level = SM_CPU_BASELINE + 1; level < SM_CPU_LEVEL_COUNT; level++) {
    static _Alignas(64) float a[64 * 3], out[64];
    sm_code code = {.base = NULL};
    CHECK_STATUS(compile(&llvm, &k, (sm_cpu_level)level, &code), SMELT_OK);
    for (int i = 0; i < 64 * 3; i++) a[i] = (float)i;
    int64_t stride = 3;
    sm_word scalar = {.F32 = 0.5f};
    if (code.entry) code.entry((void *[]){a, out}, &stride, &scalar, 0, 64);
    for (int i = 0; i < 64 && code.entry; i++) CHECK_F64(out[i], (float)(3 * (i ^ WIDTH / 2)) + 0.5f);
    sm_code_free(&code);
  }
  sm_kir_free(&k);
  sm_llvm_close(&llvm);
}

/* out[i] = a[indices[i]], by vectors and by single elements. */
static void build_gathers(sm_kir_kernel *k, smelt_dtype dtype) {
  sm_kir_init(k, &sm_malloc_allocator);
  sm_kir_add_buffer(k, dtype, false);
  sm_kir_add_buffer(k, SMELT_I64, false);
  sm_kir_add_buffer(k, dtype, true);
  int32_t bounds[] = {sm_kir_chunk_begin(k), sm_kir_i64(k, WHOLE), sm_kir_chunk_end(k)};
  for (int part = 0; part < 2; part++) {
    int width = part ? 1 : WIDTH;
    int32_t i = sm_kir_for(k, bounds[part], bounds[part + 1], width);
    int32_t picked = sm_kir_gather(k, 0, sm_kir_load(k, 1, i, SM_KIR_NONE, width));
    sm_kir_store(k, 2, i, SM_KIR_NONE, picked);
    sm_kir_end(k);
  }
  finish(k);
}

static void check_gathers(const sm_code *code, smelt_dtype dtype) {
  uint64_t a[N], out[N];
  int64_t indices[N];
  size_t size = smelt_dtype_size(dtype);
  for (size_t i = 0; i < N; i++) indices[i] = (int64_t)(i * 77 % N);
  for (size_t i = 0; i < sizeof a; i++) ((unsigned char *)a)[i] = (unsigned char)(i * 89 >> (i & 3));
  for (size_t i = 0; i < sizeof a && dtype == SMELT_BOOL; i++) ((unsigned char *)a)[i] &= 1;
  code->entry((void *[]){a, indices, out}, NULL, NULL, 0, N);
  for (size_t i = 0; i < N; i++)
    CHECK(memcmp((char *)out + i * size, (char *)a + (size_t)indices[i] * size, size) == 0);
}

TEST(gathers) {
  sm_llvm llvm = open_llvm();
  for (int dtype = 1; dtype < SM_DTYPE_LIMIT; dtype++) {
    sm_kir_kernel k;
    if (!sm_dtype_valid((smelt_dtype)dtype)) continue;
    build_gathers(&k, (smelt_dtype)dtype);
    for (int level = SM_CPU_BASELINE + 1; level < SM_CPU_LEVEL_COUNT; level++) {
      sm_code code = {.base = NULL};
      CHECK_STATUS(compile(&llvm, &k, (sm_cpu_level)level, &code), SMELT_OK);
      if (code.entry) check_gathers(&code, (smelt_dtype)dtype);
      sm_code_free(&code);
    }
    sm_kir_free(&k);
  }
  sm_llvm_close(&llvm);
}

/* The first elements of each vector, loaded and stored: as many as the size argument says. */
static void build_first_lanes(sm_kir_kernel *k, smelt_dtype dtype) {
  sm_kir_init(k, &sm_malloc_allocator);
  sm_kir_add_buffer(k, dtype, false);
  for (int i = 0; i < 2; i++) sm_kir_add_buffer(k, dtype, true);
  int32_t lanes = sm_kir_size(k, sm_kir_add_size(k));
  int32_t i = sm_kir_for(k, sm_kir_chunk_begin(k), sm_kir_chunk_end(k), WIDTH);
  sm_kir_store(k, 1, i, SM_KIR_NONE, sm_kir_load_first(k, 0, i, lanes, WIDTH));
  sm_kir_store_first(k, 2, i, lanes, sm_kir_load(k, 0, i, SM_KIR_NONE, WIDTH));
  sm_kir_end(k);
  finish(k);
}

static void check_first_lanes(const sm_code *code, smelt_dtype dtype, int64_t lanes) {
  uint64_t a[WHOLE], zeros[WHOLE] = {0}, loaded[WHOLE], stored[WHOLE] = {0};
  size_t size = smelt_dtype_size(dtype);
  memset(a, 1, sizeof a);
  memset(loaded, 7, sizeof loaded);
  code->entry((void *[]){a, loaded, stored}, &lanes, NULL, 0, WHOLE);
  for (size_t i = 0; i < WHOLE; i++) {
    const uint64_t *expected = (int64_t)(i % WIDTH) < lanes ? a : zeros;
    CHECK(memcmp((char *)loaded + i * size, expected, size) == 0);
    CHECK(memcmp((char *)stored + i * size, expected, size) == 0);
  }
}

TEST(first_lanes) {
  sm_llvm llvm = open_llvm();
  for (int dtype = 1; dtype < SM_DTYPE_LIMIT; dtype++) {
    sm_kir_kernel k;
    if (!sm_dtype_valid((smelt_dtype)dtype)) continue;
    build_first_lanes(&k, (smelt_dtype)dtype);
    for (int level = SM_CPU_BASELINE + 1; level < SM_CPU_LEVEL_COUNT; level++) {
      sm_code code = {.base = NULL};
      CHECK_STATUS(compile(&llvm, &k, (sm_cpu_level)level, &code), SMELT_OK);
      for (int64_t lanes = 0; lanes <= WIDTH && code.entry; lanes++)
        check_first_lanes(&code, (smelt_dtype)dtype, lanes);
      sm_code_free(&code);
    }
    sm_kir_free(&k);
  }
  sm_llvm_close(&llvm);
}

/* Whether an instruction is there that has these bits under the mask. */
static bool has_instruction(const sm_object *object, uint32_t mask, uint32_t bits) {
  for (size_t at = 0; at + sizeof bits <= object->size; at += sizeof bits) {
    uint32_t word;
    memcpy(&word, (const char *)object->data + at, sizeof word);
    if ((word & mask) == bits) return true;
  }
  return false;
}

TEST(fences_and_hints_of_aarch64) {
  sm_llvm llvm = open_llvm();
  sm_kir_kernel k;
  sm_object object;
  build_forms(&k);
  CHECK_STATUS(compile_object(&llvm, &k, SM_CPU_NEON, &object), SMELT_OK);
  CHECK(has_instruction(&object, UINT32_MAX, 0xd5033abf)); /* dmb ishst */
  CHECK(has_instruction(&object, 0xffc0001f, 0xf9800000)); /* prfm pldl1keep, [x, #] */
  sm_free(&sm_malloc_allocator, object.data, object.size);
  sm_kir_free(&k);
  sm_llvm_close(&llvm);
}

/* --- Long kernels --------------------------------------------------------------------------- */

#define TILE INT64_C(64)
enum { SEGMENTS = 150 };

/* Segments over tiles that are equal but for the slot they read and write; so
 * many that they become functions. */
static void build_long(sm_kir_kernel *k) {
  sm_kir_init(k, &sm_malloc_allocator);
  sm_kir_add_buffer(k, SMELT_F32, false);
  sm_kir_add_buffer(k, SMELT_F32, true);
  int slots[2] = {sm_kir_add_local(k, SMELT_F32, (uint32_t)TILE),
                  sm_kir_add_local(k, SMELT_F32, (uint32_t)TILE)};
  int32_t zero = sm_kir_i64(k, 0), size = sm_kir_i64(k, TILE);
  int32_t tile = sm_kir_for(k, sm_kir_chunk_begin(k), sm_kir_chunk_end(k), TILE);
  for (int s = 0; s <= SEGMENTS; s++) {
    int32_t i = sm_kir_for(k, zero, size, WIDTH),
            at = sm_kir_kop(k, SM_KOP_ADD, tile, i, SM_KIR_NONE, SMELT_I64);
    int32_t x =
        s ? sm_kir_load(k, slots[s % 2], i, SM_KIR_NONE, WIDTH) : sm_kir_load(k, 0, at, SM_KIR_NONE, WIDTH);
    sm_kop kop = s % 3 == 0 ? SM_KOP_SIN : s % 3 == 1 ? SM_KOP_LOG1P : SM_KOP_TANH;
    int32_t y = sm_kir_kop(k, kop, sm_kir_kop(k, SM_KOP_ABS, x, SM_KIR_NONE, SM_KIR_NONE, 0), SM_KIR_NONE,
                           SM_KIR_NONE, 0);
    if (s < SEGMENTS) sm_kir_store(k, slots[(s + 1) % 2], i, SM_KIR_NONE, y);
    else sm_kir_store(k, 1, at, SM_KIR_NONE, y);
    sm_kir_end(k);
  }
  sm_kir_end(k);
  finish(k);
}

TEST(long_kernels_have_functions) {
  sm_llvm llvm = open_llvm();
  sm_kir_kernel k, primitive;
  sm_object object;
  sm_text text;
  smelt_error err;
  build_long(&k);
  sm_text_init(&text, &sm_malloc_allocator);
  CHECK_OK(sm_kir_expand(&k, &primitive, &err), err);
  CHECK_OK(sm_llvm_compile(&llvm, &primitive, SM_CPU_AVX512, &sm_malloc_allocator, &object, &text, &err),
           err);
  int functions = 0;
  for (const char *p = text.data; (p = strstr(p, "define internal")) != NULL; p++) functions++;
  /* One for each of the three kinds of segments, whatever slots they use; the first
   * and the last segment, which read and write arguments, are others. */
  CHECK_I64(functions, 5);
  sm_free(&sm_malloc_allocator, object.data, object.size);
  sm_text_free(&text);
  sm_kir_free(&primitive);
  sm_kir_free(&k);
  sm_llvm_close(&llvm);
}

TEST(long_kernels_have_the_same_bits) {
  sm_llvm llvm = open_llvm();
  sm_kir_kernel k;
  static float in[4 * TILE], expected[4 * TILE], actual[4 * TILE];
  smelt_error err;
  build_long(&k);
  for (int i = 0; i < 4 * TILE; i++) in[i] = (float)(i - 100) / 8;
  sm_kir_span spans[] = {{in, sizeof in}, {expected, sizeof expected}};
  sm_kir_call call = {.buffers = spans, .begin = 0, .end = 4 * TILE};
  CHECK_OK(sm_kir_eval(&k, &call, &err), err);
  for (int level = SM_CPU_BASELINE + 1; level < SM_CPU_LEVEL_COUNT; level++) {
    sm_code code = {.base = NULL};
    CHECK_STATUS(compile(&llvm, &k, (sm_cpu_level)level, &code), SMELT_OK);
    if (code.entry) {
      memset(actual, 0, sizeof actual);
      code.entry((void *[]){in, actual}, NULL, NULL, 0, 4 * TILE);
      for (int i = 0; i < 4 * TILE; i++) CHECK_F64(actual[i], expected[i]);
    }
    sm_code_free(&code);
  }
  sm_kir_free(&k);
  sm_llvm_close(&llvm);
}

TEST(no_code_for_old_processors) {
  sm_llvm llvm = open_llvm();
  sm_kir_kernel k;
  sm_object object;
  build_forms(&k);
  CHECK_STATUS(sm_llvm_compile(&llvm, &k, SM_CPU_BASELINE, &sm_malloc_allocator, &object, NULL, NULL),
               SMELT_ERR_UNSUPPORTED);
  sm_kir_free(&k);
  sm_llvm_close(&llvm);
}

TEST(no_llvm) {
  sm_llvm llvm;
  smelt_error err;
  CHECK_STATUS(sm_llvm_open(&llvm, "0", &err), SMELT_ERR_COMPILE);
  CHECK_CONTAINS(err.text, "SMELT_LLVM=0");
  CHECK_STATUS(sm_llvm_open(&llvm, "libm.so.6", &err), SMELT_ERR_COMPILE);
  CHECK_CONTAINS(err.text, "libm.so.6");
}

TEST_MAIN(CASE(operations_avx2), CASE(operations_avx512), CASE(operations_neon), CASE(remainders_of_any_size),
          CASE(powers_of_integers), CASE(strides_locals_and_streams), CASE(gathers), CASE(first_lanes),
          CASE(fences_and_hints_of_aarch64), CASE(long_kernels_have_functions),
          CASE(long_kernels_have_the_same_bits), CASE(no_code_for_old_processors), CASE(no_llvm))
