/* SPDX-License-Identifier: Apache-2.0
 *
 * Constants in kernels: what is known when a kernel is built is computed then, with the
 * bits that it has everywhere. */
#define _POSIX_C_SOURCE 200809L
#include <stdlib.h>

#include "api_fixture.h"
#include "kir/kir.h"

enum { NONE = SM_KIR_NONE };

static int32_t op(sm_kir_kernel *k, sm_kop kop, int32_t a, int32_t b, int32_t c) {
  return sm_kir_kop(k, kop, a, b, c, SMELT_DTYPE_NONE);
}

/* x + (0/0 == 0 ? x : 3 * 2), of vectors. */
static void build(sm_kir_kernel *k) {
  sm_kir_init(k, &sm_malloc_allocator);
  sm_kir_add_buffer(k, SMELT_F32, true);
  int32_t i = sm_kir_for(k, sm_kir_chunk_begin(k), sm_kir_chunk_end(k), 8);
  int32_t x = sm_kir_load(k, 0, i, NONE, 8), zero = sm_kir_const(k, SMELT_F32, (sm_word){.F32 = 0});
  int32_t three = sm_kir_splat(k, sm_kir_const(k, SMELT_F32, (sm_word){.F32 = 3}), 8);
  int32_t two = sm_kir_splat(k, sm_kir_const(k, SMELT_F32, (sm_word){.F32 = 2}), 8);
  int32_t zeros = sm_kir_splat(k, zero, 8), nans = op(k, SM_KOP_DIV, zeros, zeros, NONE);
  int32_t equal = op(k, SM_KOP_EQ, nans, zeros, NONE), six = op(k, SM_KOP_MUL, three, two, NONE);
  sm_kir_store(k, 0, i, NONE, op(k, SM_KOP_ADD, x, op(k, SM_KOP_SELECT, equal, x, six), NONE));
  sm_kir_end(k);
}

TEST(kops_and_choices) {
  smelt_error err;
  sm_kir_kernel k, folded;
  sm_text text;
  build(&k);
  CHECK_OK(sm_kir_finish(&k, &err), err);
  CHECK_OK(sm_kir_fold(&k, &folded, &err), err);
  sm_text_init(&text, &sm_malloc_allocator);
  sm_kir_print(&text, &folded);
  CHECK_CONTAINS(text.data, "const bool false");
  CHECK_CONTAINS(text.data, "const f32 6\n");
  CHECK(!strstr(text.data, "select") && !strstr(text.data, "mul") && !strstr(text.data, " eq "));
  CHECK_CONTAINS(text.data, "add f32x8");
  sm_text_free(&text);
  sm_kir_free(&folded);
  sm_kir_free(&k);
}

/* --- Programs ----------------------------------------------------------------------------- */

static smelt_tensor *filled(smelt_context *ctx, smelt_dtype dtype, bool one) {
  return one ? smelt_ones(ctx, dtype, 0, NULL) : smelt_zeros(ctx, dtype, 0, NULL);
}

/* A function of 0 or 1, and what becomes of it where it is no number. */
static void compute(smelt_context *ctx, const char *name, smelt_dtype dtype, bool one, double out[4]) {
  smelt_tensor *x = filled(ctx, dtype, one), *y = smelt_call(ctx, name, &x, 1, NULL);
  smelt_tensor *quotient = smelt_div(smelt_ref(y), smelt_ref(y));
  smelt_tensor *results[] = {smelt_sign(smelt_ref(quotient)), smelt_maximum(smelt_ref(quotient), 0),
                             smelt_sign(smelt_sub(smelt_ref(y), smelt_ref(quotient))), y};
  smelt_drop(quotient);
  for (int i = 0; i < 4; i++) out[i] = value_of(results[i]);
}

static const char *const names[] = {
    "exp",  "exp2", "expm1", "log",  "log2", "log1p", "sin",   "cos",   "tan",   "asin", "acos",  "atan",
    "sinh", "cosh", "tanh",  "sqrt", "erf",  "asinh", "acosh", "atanh", "rsqrt", "sign", "floor", "sigmoid",
};

TEST(functions_of_constants) {
  CHECK_I64(setenv("SMELT_CACHE", "0", 1), 0);
  smelt_context *ctx = open_device("cpu"), *ref = open_device("ref");
  for (size_t n = 0; n < sizeof names / sizeof names[0]; n++) {
    for (int k = 0; k < 4; k++) {
      double expected[4], actual[4];
      smelt_dtype dtype = k < 2 ? SMELT_F32 : SMELT_F64;
      compute(ref, names[n], dtype, k % 2, expected);
      compute(ctx, names[n], dtype, k % 2, actual);
      for (int i = 0; i < 4; i++) CHECK_F64(actual[i], expected[i]);
    }
  }
  close_context(ctx);
  close_context(ref);
}

TEST_MAIN(CASE(kops_and_choices), CASE(functions_of_constants))
