/* SPDX-License-Identifier: Apache-2.0
 *
 * The table of scalar operations: each exists for exactly the dtypes its classes
 * promise; loops treat every element alike and may write over an operand. And
 * Philox against the vectors that its authors publish. */
#include <string.h>

#include "core/kops.h"
#include "core/scalar.h"
#include "harness.h"

enum { ARITHMETIC = 1, FLOATS = 2, INTEGERS = 4, ANY = 8, BITS = 16, RANDOM = 32 };

/* What kops.def promises of each operation, in its order. */
static const struct {
  const char *name;
  int classes;
} promises[] = {
    {"add", ARITHMETIC},
    {"sub", ARITHMETIC},
    {"mul", ARITHMETIC},
    {"div", FLOATS},
    {"trunc_div", ARITHMETIC},
    {"floor_div", ARITHMETIC},
    {"rem", ARITHMETIC},
    {"fmod", ARITHMETIC},
    {"pow", ARITHMETIC},
    {"neg", ARITHMETIC},
    {"abs", ARITHMETIC},
    {"sign", ARITHMETIC},
    {"max", ARITHMETIC},
    {"min", ARITHMETIC},
    {"fma", FLOATS},
    {"sqrt", FLOATS},
    {"ldexp", FLOATS},
    {"exp", FLOATS},
    {"exp2", FLOATS},
    {"expm1", FLOATS},
    {"log", FLOATS},
    {"log2", FLOATS},
    {"log10", FLOATS},
    {"log1p", FLOATS},
    {"sin", FLOATS},
    {"cos", FLOATS},
    {"tan", FLOATS},
    {"asin", FLOATS},
    {"acos", FLOATS},
    {"atan", FLOATS},
    {"atan2", FLOATS},
    {"sinh", FLOATS},
    {"cosh", FLOATS},
    {"tanh", FLOATS},
    {"asinh", FLOATS},
    {"acosh", FLOATS},
    {"atanh", FLOATS},
    {"erf", FLOATS},
    {"sigmoid", FLOATS},
    {"hypot", FLOATS},
    {"copysign", FLOATS},
    {"floor", FLOATS},
    {"ceil", FLOATS},
    {"trunc", FLOATS},
    {"round", FLOATS},
    {"eq", ANY},
    {"ne", ANY},
    {"lt", ARITHMETIC},
    {"le", ARITHMETIC},
    {"isnan", FLOATS},
    {"isinf", FLOATS},
    {"signbit", FLOATS},
    {"and", BITS},
    {"or", BITS},
    {"xor", BITS},
    {"not", BITS},
    {"shl", INTEGERS},
    {"shr", INTEGERS},
    {"select", ANY},
    {"philox_lo", RANDOM},
    {"philox_hi", RANDOM},
};

/* A half is stored and selected, but nothing is computed with it. */
static bool promised(sm_kop kop, int classes, smelt_dtype dtype) {
  if (sm_dtype_is_half(dtype)) return kop == SM_KOP_SELECT;
  bool is_float = sm_kind_of(dtype) == SM_KIND_FLOAT, is_bool = dtype == SMELT_BOOL;
  bool is_integer = !is_float && !is_bool;
  return (classes & ANY) || ((classes & ARITHMETIC) && !is_bool) || ((classes & FLOATS) && is_float) ||
         ((classes & INTEGERS) && is_integer) || ((classes & BITS) && !is_float) ||
         ((classes & RANDOM) && dtype == SMELT_U64);
}

static void check_dtypes(sm_kop kop, int classes) {
  for (int in = 0; in <= SM_DTYPE_LIMIT; in++) {
    for (int out = 0; out <= SM_DTYPE_LIMIT; out++) {
      smelt_dtype i = (smelt_dtype)in, o = (smelt_dtype)out;
      bool exists = sm_dtype_valid(i) && promised(kop, classes, i) && sm_kop_result_dtype(kop, i) == o;
      CHECK((sm_kop_eval(kop, i, o) != NULL) == exists);
    }
  }
}

TEST(every_promised_loop_exists_and_no_other) {
  size_t n = sizeof promises / sizeof promises[0];
  CHECK_I64(n, SM_KOP_COUNT - 4); /* all but none, cast, bitcast and unit */
  for (size_t i = 0; i < n; i++) {
    sm_kop kop = sm_kop_find(promises[i].name, strlen(promises[i].name));
    CHECK(kop != SM_KOP_NONE);
    check_dtypes(kop, promises[i].classes);
  }
}

TEST(casts_exist_between_all_and_unit_makes_floats) {
  for (int in = 0; in <= SM_DTYPE_LIMIT; in++) {
    for (int out = 0; out <= SM_DTYPE_LIMIT; out++) {
      smelt_dtype i = (smelt_dtype)in, o = (smelt_dtype)out;
      bool both = sm_dtype_valid(i) && sm_dtype_valid(o);
      CHECK((sm_kop_eval(SM_KOP_CAST, i, o) != NULL) == both);
      bool alike = both && smelt_dtype_size(i) == smelt_dtype_size(o) && i != SMELT_BOOL && o != SMELT_BOOL;
      CHECK((sm_kop_eval(SM_KOP_BITCAST, i, o) != NULL) == alike);
      CHECK((sm_kop_eval(SM_KOP_UNIT, i, o) != NULL) == (i == SMELT_U64 && sm_kind_of(o) == SM_KIND_FLOAT));
      CHECK(sm_kop_eval(SM_KOP_NONE, i, o) == NULL);
    }
  }
}

TEST(names_lead_back) {
  for (int k = 1; k < SM_KOP_COUNT; k++) {
    const sm_kop_info *info = sm_kop_info_of((sm_kop)k);
    CHECK_I64(sm_kop_find(info->name, strlen(info->name)), k);
    CHECK(info->arity >= 1 && info->arity <= 3 && info->cost >= 1);
  }
  CHECK_I64(sm_kop_find("none", 4), SM_KOP_NONE);
  CHECK_I64(sm_kop_find("addx", 3), SM_KOP_ADD);
  CHECK_I64(sm_kop_find("ad", 2), SM_KOP_NONE);
  CHECK_I64(sm_kop_find("", 0), SM_KOP_NONE);
}

/* --- Loops ----------------------------------------------------------------------------- */

/* Two blocks and some more. */
enum { LANES = 2 * SM_KOP_BLOCK + 37 };

/* Operands that are valid for every dtype: small numbers, bools 0 and 1. */
static void fill(smelt_dtype dtype, int seed, char *to) {
  for (int i = 0; i < LANES; i++) {
    sm_word word = {.bits = 0};
    int64_t v = (i * 7 + seed) % (dtype == SMELT_BOOL ? 2 : 5);
    sm_kop_eval(SM_KOP_CAST, SMELT_I64, dtype)(1, &word, (const void *const[]){&v}, 0);
    memcpy(to + (size_t)i * smelt_dtype_size(dtype), &word, smelt_dtype_size(dtype));
  }
}

/* The same with one value in the operands of `uniform`, of which a block is there. */
static void check_uniform(sm_kop_loop *loop, const void *const *operands, const size_t *sizes,
                          size_t out_size, unsigned uniform) {
  static char blocks[3][SM_KOP_BLOCK * 8], whole[LANES * 8], single[LANES * 8];
  const void *in[3];
  for (int k = 0; k < 3; k++) {
    in[k] = uniform >> k & 1 ? blocks[k] : operands[k];
    for (size_t i = 0; i < SM_KOP_BLOCK; i++) memcpy(blocks[k] + i * sizes[k], operands[k], sizes[k]);
  }
  loop(LANES, whole, in, uniform);
  for (size_t i = 0; i < LANES; i++) {
    const void *at[3];
    for (int k = 0; k < 3; k++) {
      size_t lane = uniform >> k & 1 ? 0 : i;
      at[k] = (const char *)operands[k] + lane * sizes[k];
    }
    loop(1, single + i * out_size, at, uniform);
  }
  CHECK(memcmp(whole, single, LANES * out_size) == 0);
}

/* All elements at once, one by one, and over the first operand must agree. */
static void check_loop(sm_cpu_level level, sm_kop kop, smelt_dtype in, smelt_dtype out) {
  char operands[3][LANES * 8], whole[LANES * 8 + 1], single[LANES * 8];
  bool select = sm_kop_info_of(kop)->result == SM_RESULT_SELECT;
  size_t size = smelt_dtype_size(in), out_size = smelt_dtype_size(out), mask = select ? 1 : size;
  for (int k = 0; k < 3; k++) fill(k == 0 && select ? SMELT_BOOL : in, k + 1, operands[k]);
  sm_kop_loop *loop = sm_kop_eval_level(level, kop, in, out);
  whole[LANES * out_size] = 'x';
  loop(LANES, whole, (const void *const[]){operands[0], operands[1], operands[2]}, 0);
  CHECK(whole[LANES * out_size] == 'x');
  for (size_t i = 0; i < LANES; i++) {
    const void *at[] = {operands[0] + i * mask, operands[1] + i * size, operands[2] + i * size};
    loop(1, single + i * out_size, at, 0);
  }
  CHECK(memcmp(whole, single, LANES * out_size) == 0);
  for (unsigned uniform = 1; uniform < 1u << sm_kop_info_of(kop)->arity; uniform++) {
    const void *const all[] = {operands[0], operands[1], operands[2]};
    check_uniform(loop, all, (const size_t[]){mask, size, size}, out_size, uniform);
  }
  if (mask != out_size) return;
  loop(LANES, operands[0], (const void *const[]){operands[0], operands[1], operands[2]}, 0);
  CHECK(memcmp(whole, operands[0], LANES * out_size) == 0);
}

static void check_loops(sm_cpu_level level) {
  for (int k = 1; k < SM_KOP_COUNT; k++) {
    for (int in = 0; in < SM_DTYPE_LIMIT; in++) {
      for (int out = 0; out < SM_DTYPE_LIMIT; out++) {
        smelt_dtype i = (smelt_dtype)in, o = (smelt_dtype)out;
        if (sm_kop_eval((sm_kop)k, i, o)) check_loop(level, (sm_kop)k, i, o);
      }
    }
  }
}

TEST(loops_treat_every_element_alike) {
  for (int level = SM_CPU_BASELINE; level <= (int)sm_cpu_detect(); level++) check_loops((sm_cpu_level)level);
}

TEST(bools) {
  for (int v = 0; v < 4; v++) {
    bool a = v & 1, b = v >> 1, result;
    const void *const in[] = {&a, &b};
    sm_kop_eval(SM_KOP_AND, SMELT_BOOL, SMELT_BOOL)(1, &result, in, 0);
    CHECK(result == (a && b));
    sm_kop_eval(SM_KOP_OR, SMELT_BOOL, SMELT_BOOL)(1, &result, in, 0);
    CHECK(result == (a || b));
    sm_kop_eval(SM_KOP_XOR, SMELT_BOOL, SMELT_BOOL)(1, &result, in, 0);
    CHECK(result == (a != b));
    sm_kop_eval(SM_KOP_NOT, SMELT_BOOL, SMELT_BOOL)(1, &result, in, 0);
    CHECK(result == !a);
    sm_kop_eval(SM_KOP_EQ, SMELT_BOOL, SMELT_BOOL)(1, &result, in, 0);
    CHECK(result == (a == b));
  }
}

/* --- Random bits -------------------------------------------------------------------------- */

static uint64_t draw(sm_kop kop, uint64_t index, uint64_t call, uint64_t key) {
  uint64_t result;
  sm_kop_eval(kop, SMELT_U64, SMELT_U64)(1, &result, (const void *const[]){&index, &call, &key}, 0);
  return result;
}

/* Counter words 0 to 3, key words 0 and 1, and the four words of the block. */
static void check_philox(const uint32_t c[4], const uint32_t k[2], const uint32_t expected[4]) {
  uint64_t index = (uint64_t)c[1] << 32 | c[0], call = (uint64_t)c[3] << 32 | c[2];
  uint64_t key = (uint64_t)k[1] << 32 | k[0];
  uint64_t lo = draw(SM_KOP_PHILOX_LO, index, call, key), hi = draw(SM_KOP_PHILOX_HI, index, call, key);
  CHECK_I64((uint32_t)lo, expected[0]);
  CHECK_I64(lo >> 32, expected[1]);
  CHECK_I64((uint32_t)hi, expected[2]);
  CHECK_I64(hi >> 32, expected[3]);
}

TEST(philox_known_answers) {
  check_philox((uint32_t[]){0, 0, 0, 0}, (uint32_t[]){0, 0},
               (uint32_t[]){0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8});
  check_philox((uint32_t[]){0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff},
               (uint32_t[]){0xffffffff, 0xffffffff},
               (uint32_t[]){0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd});
  check_philox((uint32_t[]){0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344},
               (uint32_t[]){0xa4093822, 0x299f31d0},
               (uint32_t[]){0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1});
}

static double unit(smelt_dtype dtype, uint64_t bits) {
  sm_word result;
  sm_kop_eval(SM_KOP_UNIT, SMELT_U64, dtype)(1, &result, (const void *const[]){&bits}, 0);
  return sm_scalar_of(dtype, &result).as.f64;
}

TEST(unit_is_below_one) {
  CHECK_F64(unit(SMELT_F32, 0), 0);
  CHECK_F64(unit(SMELT_F64, 0), 0);
  CHECK_F64(unit(SMELT_F32, UINT64_MAX), 1 - 0x1p-24);
  CHECK_F64(unit(SMELT_F64, UINT64_MAX), 1 - 0x1p-53);
  CHECK_F64(unit(SMELT_F32, (uint64_t)1 << 40), 0x1p-24);
  CHECK_F64(unit(SMELT_F32, ((uint64_t)1 << 40) - 1), 0);
  CHECK_F64(unit(SMELT_F64, (uint64_t)1 << 11), 0x1p-53);
  CHECK_F64(unit(SMELT_F64, (uint64_t)1 << 63), 0.5);
  CHECK_F64(unit(SMELT_F16, UINT64_MAX), 1 - 0x1p-11);
  CHECK_F64(unit(SMELT_BF16, UINT64_MAX), 1 - 0x1p-8);
  CHECK_F64(unit(SMELT_F16, (uint64_t)1 << 53), 0x1p-11);
  CHECK_F64(unit(SMELT_BF16, ((uint64_t)1 << 56) - 1), 0);
}

TEST_MAIN(CASE(every_promised_loop_exists_and_no_other), CASE(casts_exist_between_all_and_unit_makes_floats),
          CASE(names_lead_back), CASE(loops_treat_every_element_alike), CASE(bools),
          CASE(philox_known_answers), CASE(unit_is_below_one))
