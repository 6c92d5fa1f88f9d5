/* SPDX-License-Identifier: Apache-2.0
 *
 * A kernel of all operations on one dtype, and operands for it: what texts of kernels
 * are tried with. Buffers 0 to 2 hold operands, 3 bools; then comes a result for each operation. */
#ifndef TESTS_OPERATION_KERNELS_H
#define TESTS_OPERATION_KERNELS_H

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "core/functions.h"
#include "kir/kir.h"

#include "harness.h"
#include "same_values.h"

enum {
  OPERANDS = 4,
  CONDITION = 3,
  ELEMENTS = 203,
  MOST_BUFFERS = OPERANDS + SM_KOP_COUNT + 2 * SM_DTYPE_LIMIT
};

typedef struct operation {
  sm_kop kop;
  smelt_dtype in, out;
} operation;

/* Some functions of f32 go by f64. */
static inline bool needs_f64(sm_kop kop, smelt_dtype in, smelt_dtype out) {
  const sm_function *f = sm_kop_function(kop, in);
  bool needs = in == SMELT_F64 || out == SMELT_F64;
  for (int s = 0; f && s < f->n_steps; s++) needs = needs || f->steps[s].dtype == SMELT_F64;
  return needs;
}

/* The operations that there are from `in`, without f64 if the target has none; how many. Any
 * bits are no exponents: ldexp has a range, and is a step of functions anyway. */
static inline int list_operations(smelt_dtype in, bool f64, operation *list) {
  int n = 0;
  if (!sm_dtype_valid(in)) return 0;
  for (int kop = 1; kop < SM_KOP_COUNT; kop++) {
    bool converts = sm_kop_info_of((sm_kop)kop)->result == SM_RESULT_CONVERT;
    for (int out = 1; out < SM_DTYPE_LIMIT; out++) {
      if (!f64 && needs_f64((sm_kop)kop, in, (smelt_dtype)out)) continue;
      bool exists = converts || sm_kop_result_dtype((sm_kop)kop, in) == (smelt_dtype)out;
      if (exists && kop != SM_KOP_LDEXP && sm_kop_eval((sm_kop)kop, in, (smelt_dtype)out))
        list[n++] = (operation){(sm_kop)kop, in, (smelt_dtype)out};
    }
  }
  return n;
}

static inline void add_operations(sm_kir_kernel *k, const operation *list, int n, int32_t begin, int32_t end,
                                  int width) {
  int32_t i = sm_kir_for(k, begin, end, width), operands[OPERANDS];
  for (int a = 0; a < OPERANDS; a++) operands[a] = sm_kir_load(k, a, i, SM_KIR_NONE, width);
  for (int o = 0; o < n; o++) {
    const sm_kop_info *info = sm_kop_info_of(list[o].kop);
    int32_t args[3] = {operands[0], info->arity > 1 ? operands[1] : SM_KIR_NONE,
                       info->arity > 2 ? operands[2] : SM_KIR_NONE};
    if (info->result == SM_RESULT_SELECT) args[0] = operands[CONDITION];
    sm_kir_store(k, OPERANDS + o, i, SM_KIR_NONE,
                 sm_kir_kop(k, list[o].kop, args[0], args[1], args[2], list[o].out));
  }
  sm_kir_end(k);
}

/* Vectors, then, unless `whole`, single elements. */
static inline void build_operations(sm_kir_kernel *k, const operation *list, int n, int width, bool whole) {
  smelt_error err;
  sm_kir_init(k, &sm_malloc_allocator);
  (void)snprintf(k->name, sizeof k->name, "operations_%s", smelt_dtype_name(list[0].in));
  for (int a = 0; a < CONDITION; a++) sm_kir_add_buffer(k, list[0].in, false);
  sm_kir_add_buffer(k, SMELT_BOOL, false);
  for (int o = 0; o < n; o++) sm_kir_add_buffer(k, list[o].out, true);
  int32_t begin = sm_kir_chunk_begin(k), end = sm_kir_chunk_end(k);
  int32_t middle = whole ? end : sm_kir_i64(k, ELEMENTS / width * width);
  add_operations(k, list, n, begin, middle, width);
  if (!whole) add_operations(k, list, n, middle, end, 1);
  CHECK_OK(sm_kir_finish(k, &err), err);
}

static inline uint64_t next_random(uint64_t *state) {
  *state ^= *state << 13;
  *state ^= *state >> 7;
  return *state ^= *state << 17;
}

/* Small numbers, powers of two, extremes, any bits; for floats NaN, infinities and
 * zeros too. */
static inline void fill_operand(smelt_dtype dtype, unsigned char *to, uint64_t *state) {
  static const double special[] = {NAN, INFINITY, -INFINITY, 0.0, -0.0, 1e-40, 3.5, -2.5};
  size_t size = smelt_dtype_size(dtype);
  for (size_t i = 0; i < ELEMENTS; i++, to += size) {
    uint64_t bits = next_random(state), way = next_random(state) % 4;
    sm_word word = {.bits = way == 0 ? bits : way == 1 ? bits % 40 - 20 : (uint64_t)1 << bits % 64};
    double value = way == 3 ? special[bits % 8] : ((double)(int64_t)(bits % 20001) - 10000) / 64;
    if (dtype == SMELT_F32 && way) word.F32 = (float)value;
    if (dtype == SMELT_F64 && way) word.F64 = value;
    if (dtype == SMELT_BOOL) word.bits = bits & 1;
    memcpy(to, &word, size);
  }
}

typedef struct operation_data {
  unsigned char operands[OPERANDS][ELEMENTS * 8];
  unsigned char expected[MOST_BUFFERS][ELEMENTS * 8], actual[MOST_BUFFERS][ELEMENTS * 8];
  void *buffers[MOST_BUFFERS]; /* operands, and places for actual results */
} operation_data;

/* Operands, what the evaluator makes of `count` of them, and buffers for who is tested. */
static inline void prepare_operations(operation_data *d, const sm_kir_kernel *k, size_t count,
                                      uint64_t *state) {
  sm_kir_span spans[MOST_BUFFERS];
  smelt_error err;
  memset(d->actual, 0xa5, sizeof d->actual);
  for (size_t i = 0; i < k->buffers.len; i++) {
    smelt_dtype dtype = k->buffers.items[i].dtype;
    bool operand = i < OPERANDS;
    if (operand) fill_operand(dtype, d->operands[i], state);
    d->buffers[i] = operand ? d->operands[i] : d->actual[i];
    spans[i] = (sm_kir_span){operand ? d->operands[i] : d->expected[i], ELEMENTS * smelt_dtype_size(dtype)};
  }
  sm_kir_call call = {.buffers = spans, .begin = 0, .end = (int64_t)count};
  CHECK_OK(sm_kir_eval(k, &call, &err), err);
}

static inline void compare_operations(const operation_data *d, const operation *list, int n, size_t count) {
  for (int o = 0; o < n; o++) {
    size_t size = smelt_dtype_size(list[o].out);
    for (size_t i = 0; i < count; i++) {
      if (same_element(list[o].out, d->expected[OPERANDS + o] + i * size, d->actual[OPERANDS + o] + i * size))
        continue;
      printf("%s from %s to %s, element %zu\n", sm_kop_info_of(list[o].kop)->name,
             smelt_dtype_name(list[o].in), smelt_dtype_name(list[o].out), i);
      CHECK(false);
    }
  }
}

/* The upper half where the lower one would be, and the other way round. */
static inline void store_halves(sm_kir_kernel *k, int buffer, int32_t at, int32_t vector, int width) {
  int32_t behind = sm_kir_kop(k, SM_KOP_ADD, at, sm_kir_i64(k, width / 2), SM_KIR_NONE, 0);
  sm_kir_store(k, buffer, at, SM_KIR_NONE, sm_kir_half(k, vector, 1));
  sm_kir_store(k, buffer, behind, SM_KIR_NONE, sm_kir_half(k, vector, 0));
}

/* Two lanes of what is there as the first of three. */
static inline void store_first_lanes(sm_kir_kernel *k, int buffer, int32_t at, int width) {
  int32_t some = sm_kir_load_first(k, buffer, at, sm_kir_i64(k, 2), width);
  int32_t doubled = sm_kir_kop(k, SM_KOP_ADD, some, some, SM_KIR_NONE, 0);
  sm_kir_store_first(k, buffer, at, sm_kir_i64(k, 3), doubled);
}

/* Rows of `columns` (n0): out[r * columns + c] = table[c % 3] + scalar * in[r + c * stride], through a
 * local buffer; then the sums of all rounds before, carried, and two values that change places in
 * each. Halves of vectors change places too, and of some only the first lanes are there. */
static inline void build_all_forms(sm_kir_kernel *k, int width) {
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
  int32_t places = sm_kir_iota(k, sm_kir_kop(k, SM_KOP_MUL, to, right, SM_KIR_NONE, 0), width);
  sm_kir_store(k, 2, to, SM_KIR_NONE, places);
  if (width > 1) {
    store_halves(k, 1, to, sm_kir_kop(k, SM_KOP_ADD, total, start, SM_KIR_NONE, 0), width);
    store_halves(k, 2, to, places, width);
    store_first_lanes(k, 1, to, width);
  }
  sm_kir_next(k, sum, total);
  sm_kir_next(k, left, right);
  sm_kir_next(k, right, left);
  sm_kir_end(k);
  int32_t all = sm_kir_result(k, sum), last = sm_kir_result(k, left);
  if (width > 1) store_halves(k, 1, first, all, width);
  sm_kir_store(k, 2, first, SM_KIR_NONE, last);
  sm_kir_end(k);
  CHECK_OK(sm_kir_finish(k, &err), err);
}

#endif
