/* SPDX-License-Identifier: Apache-2.0
 *
 * Scalar operations on integers: every operation on every integer dtype against
 * the mathematical definition, computed in 128 bits and wrapped, over all pairs
 * of values that are near a boundary. */
#include <stdio.h>

#include "core/kops.h"
#include "core/scalar.h"
#include "harness.h"

__extension__ typedef __int128 wide;

typedef struct type {
  smelt_dtype dtype;
  int bits;
  bool is_signed;
} type;

static const type types[] = {{SMELT_I8, 8, true},    {SMELT_I16, 16, true}, {SMELT_I32, 32, true},
                             {SMELT_I64, 64, true},  {SMELT_U8, 8, false},  {SMELT_U16, 16, false},
                             {SMELT_U32, 32, false}, {SMELT_U64, 64, false}};
enum { N_TYPES = sizeof types / sizeof types[0], MAX_VALUES = 64 };

static wide min_of(const type *t) { return t->is_signed ? -((wide)1 << (t->bits - 1)) : 0; }
static wide max_of(const type *t) { return ((wide)1 << (t->bits - t->is_signed)) - 1; }

/* Modulo 2^bits, into the type's range. */
static wide wrapped(const type *t, wide v) {
  wide modulus = (wide)1 << t->bits, r = v % modulus;
  if (r < 0) r += modulus;
  return r > max_of(t) ? r - modulus : r;
}

static sm_word word_of(wide v) {
  sm_word w;
  w.bits = (uint64_t)v;
  return w;
}

static wide value_of(const type *t, const sm_word *word) {
  sm_scalar s = sm_scalar_of(t->dtype, word);
  return t->is_signed ? (wide)s.as.i64 : (wide)s.as.u64;
}

/* --- One application ------------------------------------------------------------- */

static sm_word apply(sm_kop kop, smelt_dtype in, smelt_dtype out, sm_word a, sm_word b) {
  sm_word result = {.bits = 0};
  sm_kop_loop *loop = sm_kop_eval(kop, in, out);
  CHECK(loop != NULL);
  loop(1, &result, (const void *const[]){&a, &b, &b}, 0);
  return result;
}

static wide apply_same(sm_kop kop, const type *t, wide a, wide b) {
  sm_word result = apply(kop, t->dtype, t->dtype, word_of(a), word_of(b));
  return value_of(t, &result);
}

/* Values at the ends of the range, around zero and around powers of two. */
static int interesting(const type *t, wide *values) {
  static const int near[] = {-129, -128, -127, -65, -64, -63, -33, -32, -31, -17, -16, -15,
                             -9,   -8,   -7,   -3,  -2,  -1,  0,   1,   2,   3,   7,   8,
                             9,    15,   16,   17,  31,  32,  33,  63,  64,  65,  127};
  int n = 0;
  for (size_t i = 0; i < sizeof near / sizeof near[0]; i++) {
    if (near[i] >= min_of(t) && near[i] <= max_of(t)) values[n++] = near[i];
  }
  for (int i = 0; i < 3; i++) values[n++] = max_of(t) - i;
  for (int i = 0; i < 3; i++) values[n++] = min_of(t) + i;
  values[n++] = max_of(t) / 2;
  values[n++] = max_of(t) / 3;
  return n;
}

/* --- Definitions -------------------------------------------------------------------- */

typedef wide definition(const type *t, wide a, wide b);

static wide def_add(const type *t, wide a, wide b) { return wrapped(t, a + b); }
static wide def_sub(const type *t, wide a, wide b) { return wrapped(t, a - b); }
/* Low words only: the product of two u64 leaves 127 bits. */
static wide def_mul(const type *t, wide a, wide b) { return wrapped(t, (wide)((uint64_t)a * (uint64_t)b)); }
static wide def_trunc_div(const type *t, wide a, wide b) { return b == 0 ? 0 : wrapped(t, a / b); }
static wide floor_of(wide a, wide b) { return a / b - (a % b != 0 && (a < 0) != (b < 0)); }
static wide def_floor_div(const type *t, wide a, wide b) { return b == 0 ? 0 : wrapped(t, floor_of(a, b)); }
static wide def_rem(const type *t, wide a, wide b) { return b == 0 ? 0 : wrapped(t, a - b * floor_of(a, b)); }
static wide def_fmod(const type *t, wide a, wide b) { return b == 0 ? 0 : wrapped(t, a % b); }
static wide def_max(const type *t, wide a, wide b) { return (void)t, a > b ? a : b; }
static wide def_min(const type *t, wide a, wide b) { return (void)t, a < b ? a : b; }
static wide def_and(const type *t, wide a, wide b) { return wrapped(t, a & b); }
static wide def_or(const type *t, wide a, wide b) { return wrapped(t, a | b); }
static wide def_xor(const type *t, wide a, wide b) { return wrapped(t, a ^ b); }

static wide def_shl(const type *t, wide a, wide b) {
  return b < 0 || b >= t->bits ? 0 : wrapped(t, (wide)((uint64_t)a << (int)b));
}

static wide def_shr(const type *t, wide a, wide b) {
  int count = b < 0 || b >= t->bits ? t->bits : (int)b;
  return floor_of(a, (wide)1 << count);
}

/* By repeated multiplication modulo 2^bits; large exponents by their period: an
 * odd base has one that divides 2^62, an even one is 0 from the width on. */
static wide def_pow(const type *t, wide a, wide b) {
  if (b < 0) return a == 1 ? 1 : a == -1 ? (b % 2 ? -1 : 1) : 0;
  if (a % 2 == 0 && b >= t->bits) return 0;
  uint64_t result = 1, square = (uint64_t)a;
  for (int bit = 0; bit < 64; bit++, square *= square) {
    if ((uint64_t)b >> bit & 1) result *= square;
  }
  return wrapped(t, (wide)result);
}

static wide def_neg(const type *t, wide a, wide b) { return (void)b, wrapped(t, -a); }
static wide def_abs(const type *t, wide a, wide b) { return (void)b, wrapped(t, a < 0 ? -a : a); }
static wide def_sign(const type *t, wide a, wide b) { return (void)t, (void)b, (wide)((a > 0) - (a < 0)); }
static wide def_not(const type *t, wide a, wide b) { return (void)b, wrapped(t, ~a); }

static const struct {
  sm_kop kop;
  definition *define;
} rows[] = {
    {SM_KOP_ADD, def_add},   {SM_KOP_SUB, def_sub},
    {SM_KOP_MUL, def_mul},   {SM_KOP_TRUNC_DIV, def_trunc_div},
    {SM_KOP_REM, def_rem},   {SM_KOP_FLOOR_DIV, def_floor_div},
    {SM_KOP_FMOD, def_fmod}, {SM_KOP_POW, def_pow},
    {SM_KOP_MAX, def_max},   {SM_KOP_MIN, def_min},
    {SM_KOP_AND, def_and},   {SM_KOP_OR, def_or},
    {SM_KOP_XOR, def_xor},   {SM_KOP_SHL, def_shl},
    {SM_KOP_SHR, def_shr},   {SM_KOP_NEG, def_neg},
    {SM_KOP_ABS, def_abs},   {SM_KOP_SIGN, def_sign},
    {SM_KOP_NOT, def_not},
};

/* "add i8 -128 -1: 127" against what was expected. */
static void check_result(sm_kop kop, const type *t, wide a, wide b, wide expected) {
  char texts[2][120];
  wide results[] = {apply_same(kop, t, a, b), expected};
  if (results[0] == results[1]) return;
  for (int i = 0; i < 2; i++) {
    (void)snprintf(texts[i], sizeof texts[i], "%s %s %lld %lld: %lld", sm_kop_info_of(kop)->name,
                   smelt_dtype_name(t->dtype), (long long)a, (long long)b, (long long)results[i]);
  }
  CHECK_STR(texts[0], texts[1]);
}

static void check_type(const type *t, sm_kop kop, definition *define) {
  wide values[MAX_VALUES];
  int n = interesting(t, values);
  for (int i = 0; i < n; i++) {
    for (int k = 0; k < n; k++) {
      wide expected = define(t, values[i], values[k]);
      check_result(kop, t, values[i], values[k], expected);
    }
  }
}

TEST(every_operation_on_every_dtype) {
  for (size_t r = 0; r < sizeof rows / sizeof rows[0]; r++) {
    for (int t = 0; t < N_TYPES; t++) check_type(&types[t], rows[r].kop, rows[r].define);
  }
}

/* The cases that people ask about, spelled out. */
TEST(cases_that_trap_elsewhere) {
  const type *i8 = &types[0], *i32 = &types[2], *i64 = &types[3], *u8 = &types[4];
  CHECK_I64(apply_same(SM_KOP_TRUNC_DIV, i32, INT32_MIN, -1), INT32_MIN);
  CHECK_I64(apply_same(SM_KOP_FLOOR_DIV, i64, INT64_MIN, -1), INT64_MIN);
  CHECK_I64(apply_same(SM_KOP_REM, i64, INT64_MIN, -1), 0);
  CHECK_I64(apply_same(SM_KOP_FMOD, i32, INT32_MIN, -1), 0);
  CHECK_I64(apply_same(SM_KOP_TRUNC_DIV, i8, -128, -1), -128);
  CHECK_I64(apply_same(SM_KOP_REM, u8, 7, 0), 0);
  CHECK_I64(apply_same(SM_KOP_ABS, i64, INT64_MIN, 0), INT64_MIN);
  CHECK_I64(apply_same(SM_KOP_SHR, i8, -1, 8), -1);
  CHECK_I64(apply_same(SM_KOP_SHR, i8, 127, -1), 0);
  CHECK_I64(apply_same(SM_KOP_SHR, i8, -128, -1), -1);
  CHECK_I64(apply_same(SM_KOP_SHL, i8, 1, 7), -128);
  CHECK_I64(apply_same(SM_KOP_SHL, i8, 1, 8), 0);
  CHECK_I64(apply_same(SM_KOP_SHR, u8, 255, 7), 1);
  CHECK_I64(apply_same(SM_KOP_POW, i8, 0, -1), 0);
  CHECK_I64(apply_same(SM_KOP_POW, i8, -1, -128), 1);
  CHECK_I64(apply_same(SM_KOP_POW, i8, -1, -127), -1);
  CHECK_I64(apply_same(SM_KOP_POW, i8, 2, 7), -128);
}

/* [-3,-2,-1,1,2,3] rem [2,3,1,2,1,3] */
TEST(remainder_has_the_sign_of_the_divisor) {
  static const int a[] = {-3, -2, -1, 1, 2, 3}, b[] = {2, 3, 1, 2, 1, 3}, expected[] = {1, 1, 0, 1, 0, 0};
  for (int t = 0; t < 4; t++) {
    for (int i = 0; i < 6; i++) CHECK_I64(apply_same(SM_KOP_REM, &types[t], a[i], b[i]), expected[i]);
  }
}

static bool test_of(sm_kop kop, const type *t, wide a, wide b) {
  return apply(kop, t->dtype, SMELT_BOOL, word_of(a), word_of(b)).BOOL;
}

TEST(comparisons) {
  for (int i = 0; i < N_TYPES; i++) {
    const type *t = &types[i];
    wide values[MAX_VALUES];
    int n = interesting(t, values);
    for (int k = 0; k < n * n; k++) {
      wide a = values[k / n], b = values[k % n];
      CHECK(test_of(SM_KOP_EQ, t, a, b) == (a == b));
      CHECK(test_of(SM_KOP_NE, t, a, b) == (a != b));
      CHECK(test_of(SM_KOP_LT, t, a, b) == (a < b));
      CHECK(test_of(SM_KOP_LE, t, a, b) == (a <= b));
    }
  }
}

TEST(casts_between_integers_wrap) {
  for (int i = 0; i < N_TYPES; i++) {
    wide values[MAX_VALUES];
    int n = interesting(&types[i], values);
    for (int o = 0; o < N_TYPES; o++) {
      for (int k = 0; k < n; k++) {
        sm_word w = word_of(values[k]), result = apply(SM_KOP_CAST, types[i].dtype, types[o].dtype, w, w);
        CHECK(value_of(&types[o], &result) == wrapped(&types[o], values[k]));
      }
    }
  }
}

TEST(casts_to_and_from_bool) {
  for (int i = 0; i < N_TYPES; i++) {
    wide values[MAX_VALUES];
    int n = interesting(&types[i], values);
    for (int k = 0; k < n; k++) {
      sm_word w = word_of(values[k]);
      CHECK(apply(SM_KOP_CAST, types[i].dtype, SMELT_BOOL, w, w).BOOL == (values[k] != 0));
    }
    for (int b = 0; b < 2; b++) {
      sm_word w = word_of(b), result = apply(SM_KOP_CAST, SMELT_BOOL, types[i].dtype, w, w);
      CHECK(value_of(&types[i], &result) == b);
    }
  }
}

TEST(casts_to_floats_round_once) {
  sm_word tie = word_of(((int64_t)1 << 62) + ((int64_t)1 << 38) + 1);
  CHECK_F64(apply(SM_KOP_CAST, SMELT_I64, SMELT_F32, tie, tie).F32, 0x1.000002p62f);
  CHECK_F64(apply(SM_KOP_CAST, SMELT_U64, SMELT_F32, tie, tie).F32, 0x1.000002p62f);
  sm_word most = word_of(UINT64_MAX);
  CHECK_F64(apply(SM_KOP_CAST, SMELT_U64, SMELT_F64, most, most).F64, 0x1p64);
  CHECK_F64(apply(SM_KOP_CAST, SMELT_I64, SMELT_F64, most, most).F64, -1);
}

TEST_MAIN(CASE(every_operation_on_every_dtype), CASE(cases_that_trap_elsewhere),
          CASE(remainder_has_the_sign_of_the_divisor), CASE(comparisons), CASE(casts_between_integers_wrap),
          CASE(casts_to_and_from_bool), CASE(casts_to_floats_round_once))
