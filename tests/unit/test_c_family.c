/* SPDX-License-Identifier: Apache-2.0
 *
 * Texts of the C family that can run here: C, by the system's compiler, against the
 * evaluator; and what is said about others without a compiler of theirs. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>

#include "codegen/c_family.h"
#include "codegen/llvm_codegen.h"

#include "compiled_text.h"
#include "operation_kernels.h"

/* --- C ------------------------------------------------------------------------------------ */

typedef struct compiled_c {
  void *library;
  sm_kernel_fn *entry;
} compiled_c;

static compiled_c compile_c(const sm_kir_kernel *k, sm_text_form form) {
  compiled_c c;
  text_files f = write_text(k, &sm_dialect_c, form, ".c");
  run_compiler(
      "cc -std=c11 -O1 -ffp-contract=off -fno-math-errno -fPIC -shared -Wall -Werror -o %s/out.so %s -lm",
      f.folder, f.source);
  (void)snprintf(f.output, sizeof f.output, "%s/out.so", f.folder);
  c.library = dlopen(f.output, RTLD_NOW | RTLD_LOCAL);
  CHECK(c.library != NULL);
  *(void **)&c.entry = dlsym(c.library, k->name);
  CHECK(c.entry != NULL);
  remove_text(&f);
  return c;
}

static void try_operations(smelt_dtype in, int width) {
  static operation_data data;
  operation list[MOST_BUFFERS];
  int n = list_operations(in, list);
  uint64_t state = 88172645463325252u;
  sm_kir_kernel k;
  build_operations(&k, list, n, width, false);
  compiled_c c = compile_c(&k, (sm_text_form){0});
  for (int round = 0; round < 20; round++) {
    prepare_operations(&data, &k, &state);
    c.entry(data.buffers, NULL, NULL, 0, ELEMENTS);
    compare_operations(&data, list, n);
  }
  (void)dlclose(c.library);
  sm_kir_free(&k);
}

TEST(operations_have_the_same_bits_in_c) {
  for (int dtype = 1; dtype < SM_DTYPE_LIMIT; dtype++) {
    if (sm_dtype_valid((smelt_dtype)dtype)) try_operations((smelt_dtype)dtype, 4);
  }
}

/* --- Forms ---------------------------------------------------------------------------------- */

/* Rows of `columns` (n0): out[r * columns + c] = table[c % 3] + scalar * in[r + c * stride], through a
 * local buffer; then the sums of all rounds before, carried, and two values that change places in
 * each. */
static void build_forms(sm_kir_kernel *k, int width) {
  smelt_error err;
  sm_kir_init(k, &sm_malloc_allocator);
  (void)snprintf(k->name, sizeof k->name, "forms");
  sm_kir_add_buffer(k, SMELT_F32, false);
  sm_kir_add_buffer(k, SMELT_F32, true);
  sm_kir_add_buffer(k, SMELT_I64, true);
  int local = sm_kir_add_local(k, SMELT_F32, 16);
  int32_t columns = sm_kir_size(k, sm_kir_add_size(k)), stride = sm_kir_size(k, sm_kir_add_size(k));
  int32_t scalar = sm_kir_scalar(k, sm_kir_add_scalar(k, SMELT_F32)), zero = sm_kir_i64(k, 0),
          one = sm_kir_i64(k, 1);
  int32_t row = sm_kir_for(k, sm_kir_chunk_begin(k), sm_kir_chunk_end(k), 1);
  int32_t first = sm_kir_kop(k, SM_KOP_MUL, row, columns, SM_KIR_NONE, 0);
  int32_t start = sm_kir_splat(k, sm_kir_const(k, SMELT_F32, (sm_word){.F32 = -0.0f}), width);
  int32_t c = sm_kir_for(k, zero, columns, width);
  int32_t sum = sm_kir_carry(k, start);
  int32_t left = sm_kir_carry(k, zero), right = sm_kir_carry(k, one);
  int32_t at =
      sm_kir_kop(k, SM_KOP_ADD, row, sm_kir_kop(k, SM_KOP_MUL, c, stride, SM_KIR_NONE, 0), SM_KIR_NONE, 0);
  int32_t in = sm_kir_load(k, 0, at, stride, width);
  sm_kir_store(k, local, one, SM_KIR_NONE, in);
  in = sm_kir_load(k, local, one, SM_KIR_NONE, width);
  int32_t number =
      sm_kir_table(k, SMELT_F32, sm_kir_kop(k, SM_KOP_FMOD, c, sm_kir_i64(k, 3), SM_KIR_NONE, 0));
  int32_t product = sm_kir_kop(k, SM_KOP_MUL, sm_kir_splat(k, scalar, width), in, SM_KIR_NONE, 0);
  product = sm_kir_kop(k, SM_KOP_ADD, sm_kir_splat(k, number, width), product, SM_KIR_NONE, 0);
  int32_t total = sm_kir_kop(k, SM_KOP_ADD, sum, product, SM_KIR_NONE, 0);
  int32_t to = sm_kir_kop(k, SM_KOP_ADD, first, c, SM_KIR_NONE, 0);
  sm_kir_store(k, 1, to, SM_KIR_NONE, total);
  sm_kir_store(k, 2, to, SM_KIR_NONE,
               sm_kir_iota(k, sm_kir_kop(k, SM_KOP_MUL, to, right, SM_KIR_NONE, 0), width));
  sm_kir_next(k, sum, total);
  sm_kir_next(k, left, right);
  sm_kir_next(k, right, left);
  sm_kir_end(k);
  sm_kir_result(k, sum);
  int32_t last = sm_kir_result(k, left);
  sm_kir_store(k, 2, first, SM_KIR_NONE, last);
  sm_kir_end(k);
  CHECK_OK(sm_kir_finish(k, &err), err);
}

enum { ROWS = 5, COLUMNS = 24 };

static void try_forms(int width, bool narrow) {
  static float in[ROWS * COLUMNS], expected[ROWS * COLUMNS], actual[ROWS * COLUMNS];
  static int64_t expected_places[ROWS * COLUMNS], places[ROWS * COLUMNS];
  const int64_t sizes[] = {COLUMNS, ROWS};
  const sm_word scalars[] = {{.F32 = 1.5f}, {.F32 = 0.25f}, {.F32 = -3}, {.F32 = 7}};
  sm_kir_kernel k;
  smelt_error err;
  build_forms(&k, width);
  for (int i = 0; i < ROWS * COLUMNS; i++) in[i] = (float)(i * i % 31) / 8;
  sm_kir_span spans[] = {
      {in, sizeof in}, {expected, sizeof expected}, {expected_places, sizeof expected_places}};
  sm_kir_call call = {
      .buffers = spans, .sizes = sizes, .scalars = scalars, .n_table = 3, .begin = 1, .end = ROWS};
  CHECK_OK(sm_kir_eval(&k, &call, &err), err);
  compiled_c c = compile_c(&k, (sm_text_form){.narrow = narrow});
  c.entry((void *[]){in, actual, places}, sizes, scalars, 1, ROWS);
  CHECK(memcmp(actual, expected, sizeof actual) == 0);
  CHECK(memcmp(places, expected_places, sizeof places) == 0);
  (void)dlclose(c.library);
  sm_kir_free(&k);
}

TEST(loops_strides_locals_and_tables) {
  try_forms(1, false);
  try_forms(4, false);
  try_forms(4, true);
}

static sm_text text_of(const sm_kir_kernel *k, const sm_dialect *dialect, sm_text_form form) {
  sm_text text;
  smelt_error err;
  sm_text_init(&text, &sm_malloc_allocator);
  CHECK_OK(sm_c_family_text(k, dialect, form, &text, &err), err);
  return text;
}

/* Nothing is written lane by lane. */
static void compare_lengths(const sm_dialect *dialect) {
  size_t lengths[2];
  for (int i = 0; i < 2; i++) {
    sm_kir_kernel k;
    build_forms(&k, i ? 8 : 4);
    sm_text text = text_of(&k, dialect, (sm_text_form){0});
    lengths[i] = text.len;
    sm_text_free(&text);
    sm_kir_free(&k);
  }
  CHECK_I64(lengths[1], lengths[0]);
}

TEST(length_does_not_grow_with_the_width) {
  static const char *const names[] = {"cuda", "hip", "opencl", "msl", "c"};
  for (size_t d = 0; d < sizeof names / sizeof names[0]; d++) compare_lengths(sm_dialect_find(names[d]));
}

/* The same kernel is the same text; 32-bit indices leave no 64-bit arithmetic in it. */
TEST(indices_of_32_bits) {
  sm_kir_kernel k;
  build_forms(&k, 4);
  sm_text wide = text_of(&k, &sm_dialect_cuda, (sm_text_form){.group = 256});
  sm_text again = text_of(&k, &sm_dialect_cuda, (sm_text_form){.group = 256});
  sm_text narrow = text_of(&k, &sm_dialect_cuda, (sm_text_form){.group = 256, .narrow = true});
  CHECK_STR(again.data, wide.data);
  CHECK_CONTAINS(wide.data, "for (i64 ");
  CHECK(strstr(narrow.data, "for (i64 ") == NULL);
  CHECK_CONTAINS(narrow.data, "for (i32 ");
  sm_text_free(&wide);
  sm_text_free(&again);
  sm_text_free(&narrow);
  sm_kir_free(&k);
}

TEST_MAIN(CASE(operations_have_the_same_bits_in_c), CASE(loops_strides_locals_and_tables),
          CASE(length_does_not_grow_with_the_width), CASE(indices_of_32_bits))
