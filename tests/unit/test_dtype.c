/* SPDX-License-Identifier: Apache-2.0
 *
 * Element types: the promotion table of the Array API in full, names, sizes. */
#include "core/dtype.h"
#include "harness.h"

/* Every value an smelt_dtype could be given, valid or not. */
enum { VALUES = 40 };

static const smelt_dtype all[] = {
#define DTYPE(id, value, name, ctype, kind, npy) SMELT_##id,
#include "smelt/dtype.def"
#undef DTYPE
};
enum { N = sizeof all / sizeof all[0] };

static const char *promoted(const char *a, const char *b) {
  return smelt_dtype_name(smelt_dtype_promote(smelt_dtype_find(a), smelt_dtype_find(b)));
}

/* The rows and columns of the standard's table; "none" where it has no entry. */
TEST(integers_promote_by_the_table) {
  static const char *const names[] = {"i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64"};
  static const char *const table[8][8] = {
      {"i8", "i16", "i32", "i64", "i16", "i32", "i64", "none"},
      {"i16", "i16", "i32", "i64", "i16", "i32", "i64", "none"},
      {"i32", "i32", "i32", "i64", "i32", "i32", "i64", "none"},
      {"i64", "i64", "i64", "i64", "i64", "i64", "i64", "none"},
      {"i16", "i16", "i32", "i64", "u8", "u16", "u32", "u64"},
      {"i32", "i32", "i32", "i64", "u16", "u16", "u32", "u64"},
      {"i64", "i64", "i64", "i64", "u32", "u32", "u32", "u64"},
      {"none", "none", "none", "none", "u64", "u64", "u64", "u64"},
  };
  for (int a = 0; a < 8; a++) {
    for (int b = 0; b < 8; b++) CHECK_STR(promoted(names[a], names[b]), table[a][b]);
  }
}

TEST(floats_promote_to_the_wider) {
  CHECK_STR(promoted("f32", "f32"), "f32");
  CHECK_STR(promoted("f32", "f64"), "f64");
  CHECK_STR(promoted("f64", "f32"), "f64");
  CHECK_STR(promoted("f64", "f64"), "f64");
  CHECK_STR(promoted("f16", "f16"), "f16");
  CHECK_STR(promoted("bf16", "bf16"), "bf16");
  CHECK_STR(promoted("f16", "bf16"), "f32");
  CHECK_STR(promoted("f16", "f32"), "f32");
  CHECK_STR(promoted("bf16", "f32"), "f32");
  CHECK_STR(promoted("f16", "f64"), "f64");
  CHECK_STR(promoted("bf16", "f64"), "f64");
  CHECK_STR(promoted("bool", "bool"), "bool");
}

/* Signed and unsigned are one family here. */
static int family(smelt_dtype d) { return sm_kind_of(d) == SM_KIND_UINT ? SM_KIND_SINT : (int)sm_kind_of(d); }

TEST(kinds_do_not_mix) {
  for (int a = 0; a < N; a++) {
    for (int b = 0; b < N; b++) {
      if (family(all[a]) == family(all[b])) continue;
      CHECK_STR(smelt_dtype_name(smelt_dtype_promote(all[a], all[b])), "none");
    }
  }
}

TEST(promotion_is_commutative_and_knows_only_dtypes) {
  for (int a = 0; a < VALUES; a++) {
    for (int b = 0; b < VALUES; b++) {
      smelt_dtype x = (smelt_dtype)a, y = (smelt_dtype)b;
      CHECK_I64(smelt_dtype_promote(x, y), smelt_dtype_promote(y, x));
      if (!sm_dtype_valid(x) || !sm_dtype_valid(y)) CHECK_I64(smelt_dtype_promote(x, y), SMELT_DTYPE_NONE);
    }
  }
}

TEST(names_lead_back) {
  for (int i = 0; i < N; i++) CHECK_I64(smelt_dtype_find(smelt_dtype_name(all[i])), all[i]);
  CHECK_I64(smelt_dtype_find("none"), SMELT_DTYPE_NONE);
  CHECK_I64(smelt_dtype_find("F32"), SMELT_DTYPE_NONE);
  CHECK_I64(smelt_dtype_find(""), SMELT_DTYPE_NONE);
  CHECK_I64(smelt_dtype_find(NULL), SMELT_DTYPE_NONE);
}

TEST(no_dtype_has_no_facts) {
  int valid = 0;
  for (int v = 0; v < VALUES; v++) valid += sm_dtype_valid((smelt_dtype)v);
  CHECK_I64(valid, N);
  smelt_dtype wild[] = {SMELT_DTYPE_NONE, (smelt_dtype)14, (smelt_dtype)15, (smelt_dtype)16, (smelt_dtype)-1};
  for (size_t i = 0; i < sizeof wild / sizeof wild[0]; i++) {
    CHECK_STR(smelt_dtype_name(wild[i]), "none");
    CHECK_I64(smelt_dtype_size(wild[i]), 0);
    CHECK_I64(sm_kind_of(wild[i]), SM_KIND_NONE);
  }
}

TEST(values_are_abi) {
  CHECK_I64(SMELT_BOOL, 1);
  CHECK_I64(SMELT_I64, 5);
  CHECK_I64(SMELT_U64, 9);
  CHECK_I64(SMELT_F16, 10);
  CHECK_I64(SMELT_BF16, 11);
  CHECK_I64(SMELT_F32, 12);
  CHECK_I64(SMELT_F64, 13);
}

TEST_MAIN(CASE(integers_promote_by_the_table), CASE(floats_promote_to_the_wider), CASE(kinds_do_not_mix),
          CASE(promotion_is_commutative_and_knows_only_dtypes), CASE(names_lead_back),
          CASE(no_dtype_has_no_facts), CASE(values_are_abi))
