/* SPDX-License-Identifier: Apache-2.0
 *
 * Element expressions: every row of ops.def compiles for every dtype that it
 * accepts; texts that are malformed, or whose dtypes do not go together, are
 * refused. */
#include <string.h>

#include "harness.h"
#include "ir/expr.h"
#include "ir/op.h"

#define TYPES(...) \
  (smelt_dtype[]){__VA_ARGS__}, (int)(sizeof((smelt_dtype[]){__VA_ARGS__}) / sizeof(smelt_dtype))

/* --- The table --------------------------------------------------------------------- */

static bool row_accepts(const sm_op_row *row, smelt_dtype dtype) {
  switch (sm_kind_of(dtype)) {
    case SM_KIND_BOOL:
      return row->accepts & SM_BOOLEAN;
    case SM_KIND_SINT:
    case SM_KIND_UINT:
      return row->accepts & SM_INTEGER;
    case SM_KIND_FLOAT:
      return row->accepts & SM_FLOAT;
    case SM_KIND_NONE:
      break;
  }
  return false;
}

/* Operands of a record of `row` that works in `dtype`. */
static int operands_of(const sm_op_row *row, smelt_dtype dtype, smelt_dtype *out) {
  int n = 0;
  for (const char *letter = row->operands; *letter; letter++) out[n++] = *letter == 'B' ? SMELT_BOOL : dtype;
  for (int i = 0; row->random && i < SM_RANDOM_SCALARS; i++) out[n++] = SMELT_U64;
  return n;
}

/* Every step has a loop for exactly the dtypes of its arguments. */
static void check_steps(const sm_expr *e) {
  for (int s = 0; s < e->n_steps; s++) {
    const sm_expr_step *step = &e->steps[s];
    smelt_dtype in = step->args[step->n_args - 1].dtype;
    CHECK_I64(sm_kop_info_of(step->kop)->arity, step->n_args);
    CHECK(sm_kop_eval(step->kop, in, step->dtype) != NULL);
    for (int k = 0; k < step->n_args; k++) {
      const sm_expr_arg *arg = &step->args[k];
      CHECK_I64(arg->dtype, step->kop == SM_KOP_SELECT && k == 0 ? SMELT_BOOL : in);
      if (arg->kind == SM_ARG_STEP) CHECK(arg->index < s && e->steps[arg->index].dtype == arg->dtype);
    }
  }
}

static void check_row(const sm_op_row *row, smelt_dtype dtype, smelt_dtype result) {
  smelt_dtype operands[8];
  sm_expr e;
  smelt_error err;
  int n = operands_of(row, dtype, operands);
  CHECK_OK(sm_expr_compile(row->expr, operands, n, result, &e, &err), err);
  CHECK_I64(e.result.dtype, result);
  check_steps(&e);
}

static void check_dtype(const sm_op_row *row, smelt_dtype dtype) {
  if (row->result == SM_DTYPE_BOOL) {
    check_row(row, dtype, SMELT_BOOL);
  } else if (row->result == SM_DTYPE_SAME || sm_op_creates(row)) {
    check_row(row, dtype, dtype);
  } else {
    for (int to = 1; to < SM_DTYPE_LIMIT; to++) {
      if (sm_dtype_valid((smelt_dtype)to)) check_row(row, dtype, (smelt_dtype)to);
    }
  }
}

TEST(every_row_compiles_for_every_dtype_it_accepts) {
  for (int code = 0; code < SM_OP_COUNT; code++) {
    const sm_op_row *row = sm_op_row_of((sm_opcode)code);
    CHECK(row->name && row->log && row->doc && row->operands);
    CHECK((row->class == SM_CLASS_ELEMENTWISE) == (row->expr != NULL));
    if (!row->expr) continue;
    for (int d = 1; d < SM_DTYPE_LIMIT; d++) {
      if (row_accepts(row, (smelt_dtype)d)) check_dtype(row, (smelt_dtype)d);
    }
  }
}

/* --- What texts mean ------------------------------------------------------------------- */

static sm_expr compile(const char *source, const smelt_dtype *operands, int n, smelt_dtype result) {
  sm_expr e;
  smelt_error err;
  CHECK_OK(sm_expr_compile(source, operands, n, result, &e, &err), err);
  check_steps(&e);
  return e;
}

TEST(copies_have_no_step) {
  sm_expr e = compile("x", TYPES(SMELT_I8), SMELT_I8);
  CHECK_I64(e.n_steps, 0);
  CHECK_I64(e.result.kind, SM_ARG_OPERAND);
  e = compile("  1 ", NULL, 0, SMELT_U8);
  CHECK_I64(e.result.kind, SM_ARG_LITERAL);
  CHECK_I64(e.result.literal.U8, 1);
  e = compile("1", NULL, 0, SMELT_BOOL);
  CHECK(e.result.literal.BOOL);
  e = compile("index", NULL, 0, SMELT_I64);
  CHECK_I64(e.result.kind, SM_ARG_INDEX);
}

TEST(literals_take_the_dtype_of_their_siblings) {
  sm_expr e = compile("lt( 0.5 , x )", TYPES(SMELT_F32), SMELT_BOOL);
  CHECK_I64(e.steps[0].args[0].dtype, SMELT_F32);
  CHECK_F64(e.steps[0].args[0].literal.F32, 0.5f);
  e = compile("add(1, 2)", NULL, 0, SMELT_U16);
  CHECK_I64(e.steps[0].args[0].dtype, SMELT_U16);
  e = compile("add(x, -1e2)", TYPES(SMELT_I8), SMELT_I8);
  CHECK_I64(e.steps[0].args[1].literal.I8, -100);
  e = compile("select(eq(x, 0), 1, y)", TYPES(SMELT_F64, SMELT_I32), SMELT_I32);
  CHECK_I64(e.steps[0].args[1].dtype, SMELT_F64);
  CHECK_I64(e.steps[1].args[1].literal.I32, 1);
}

TEST(halves_are_worked_on_as_f32) {
  sm_expr e = compile("mul(x, x)", TYPES(SMELT_F16), SMELT_F16);
  CHECK_I64(e.n_steps, 3); /* widened once, multiplied, rounded */
  CHECK(e.steps[0].kop == SM_KOP_CAST && e.steps[0].dtype == SMELT_F32);
  CHECK(e.steps[1].args[0].index == 0 && e.steps[1].args[1].index == 0 && e.steps[1].dtype == SMELT_F32);
  CHECK(e.rounds && e.steps[2].kop == SM_KOP_CAST && e.steps[2].dtype == SMELT_F16);
  e = compile("lt(x, 0.1)", TYPES(SMELT_BF16), SMELT_BOOL);
  CHECK(!e.rounds && e.n_steps == 2 && e.steps[1].args[1].dtype == SMELT_F32);
  CHECK_F64(e.steps[1].args[1].literal.F32, 0.1f);
  e = compile("x", TYPES(SMELT_BF16), SMELT_BF16);
  CHECK(!e.rounds && e.n_steps == 0 && e.result.kind == SM_ARG_OPERAND);
  e = compile("1", NULL, 0, SMELT_F16);
  CHECK(!e.rounds && e.result.literal.F16 == 0x3c00);
}

TEST(conversions_make_halves_directly) {
  sm_expr e = compile("cast(x)", TYPES(SMELT_F64), SMELT_F16);
  CHECK(!e.rounds && e.n_steps == 1 && e.steps[0].dtype == SMELT_F16);
  e = compile("cast(x)", TYPES(SMELT_F16), SMELT_BF16);
  CHECK(!e.rounds && e.n_steps == 2 && e.steps[0].dtype == SMELT_F32 && e.steps[1].dtype == SMELT_BF16);
  e = compile("add(x, cast(index))", TYPES(SMELT_F16), SMELT_F16);
  CHECK(e.rounds && e.steps[1].kop == SM_KOP_CAST && e.steps[1].dtype == SMELT_F32);
}

TEST(the_index_is_i64_and_u64_beside_u64) {
  sm_expr e = compile("philox_lo(index, x, x)", TYPES(SMELT_U64), SMELT_U64);
  CHECK_I64(e.steps[0].args[0].dtype, SMELT_U64);
  e = compile("cast(index)", NULL, 0, SMELT_F32);
  CHECK_I64(e.steps[0].args[0].dtype, SMELT_I64);
  e = compile("add(index, 1)", NULL, 0, SMELT_I64);
  CHECK_I64(e.steps[0].args[1].literal.I64, 1);
}

/* --- Refusals ---------------------------------------------------------------------------- */

static void refuses(const char *source, const smelt_dtype *operands, int n, smelt_dtype result,
                    const char *fault) {
  sm_expr e;
  smelt_error err;
  CHECK_STATUS(sm_expr_compile(source, operands, n, result, &e, &err), SMELT_ERR_INTERNAL);
  CHECK_CONTAINS(err.text, fault);
  CHECK_STATUS(sm_expr_compile(source, operands, n, result, &e, NULL), SMELT_ERR_INTERNAL);
}

TEST(malformed) {
  refuses("", TYPES(SMELT_F32), SMELT_F32, "expected a name or a number");
  refuses("add(x", TYPES(SMELT_F32), SMELT_F32, "missing )");
  refuses("add(x,", TYPES(SMELT_F32), SMELT_F32, "expected a name or a number");
  refuses("add(x, x) x", TYPES(SMELT_F32), SMELT_F32, "text after the expression");
  refuses("add(x)", TYPES(SMELT_F32), SMELT_F32, "no such kop of that arity");
  refuses("add(x, x, x, x)", TYPES(SMELT_F32), SMELT_F32, "too many arguments");
  refuses("adx(x, x)", TYPES(SMELT_F32), SMELT_F32, "no such kop of that arity");
  refuses("none(x)", TYPES(SMELT_F32), SMELT_F32, "no such kop of that arity");
  refuses("y", TYPES(SMELT_F32), SMELT_F32, "unknown name");
  refuses("w", TYPES(SMELT_F32), SMELT_F32, "unknown name");
  refuses("xx", TYPES(SMELT_F32), SMELT_F32, "unknown name");
  refuses("x", NULL, 0, SMELT_F32, "unknown name");
  refuses("{", TYPES(SMELT_F32, SMELT_F32, SMELT_F32), SMELT_F32, "expected a name or a number");
}

TEST(too_long) {
  char deep[4096] = "", wide[4096] = "x";
  for (int i = 0; i < SM_EXPR_STEPS; i++) strcat(deep, "neg(");
  strcat(deep, "x");
  for (int i = 0; i < SM_EXPR_STEPS; i++) strcat(deep, ")");
  CHECK_I64(compile(deep, TYPES(SMELT_F32), SMELT_F32).n_steps, SM_EXPR_STEPS);
  memmove(deep + 4, deep, strlen(deep) + 1);
  memcpy(deep, "neg(", 4);
  strcat(deep, ")");
  refuses(deep, TYPES(SMELT_F32), SMELT_F32, "too many steps");
  for (int i = 0; i < SM_EXPR_STEPS + 1; i++) {
    memmove(wide + 4, wide, strlen(wide) + 1);
    memcpy(wide, "add(", 4);
    strcat(wide, ", x)");
  }
  refuses(wide, TYPES(SMELT_F32), SMELT_F32, "too many steps");
  static char bottomless[1 << 20];
  for (size_t i = 0; i + 4 < sizeof bottomless; i += 4) memcpy(bottomless + i, "neg(", 4);
  refuses(bottomless, TYPES(SMELT_F32), SMELT_F32, "too many steps");
}

TEST(dtypes_that_do_not_go_together) {
  refuses("x", TYPES(SMELT_F32), SMELT_F64, "the result has another dtype");
  refuses("lt(x, x)", TYPES(SMELT_F32), SMELT_F32, "the result has another dtype");
  refuses("exp(x)", TYPES(SMELT_I32), SMELT_I32, "a kop does not exist for its operands");
  refuses("add(x, y)", TYPES(SMELT_F32, SMELT_F64), SMELT_F32, "an argument has another dtype");
  refuses("add(x, isnan(x))", TYPES(SMELT_F32), SMELT_F32, "an argument has another dtype");
  refuses("select(x, y, y)", TYPES(SMELT_I32, SMELT_F32), SMELT_F32, "an argument has another dtype");
  refuses("select(index, x, x)", TYPES(SMELT_F32), SMELT_F32, "an argument has another dtype");
  refuses("add(x, index)", TYPES(SMELT_F32), SMELT_F32, "an argument has another dtype");
  refuses("unit(x)", TYPES(SMELT_I64), SMELT_F32, "a kop does not exist for its operands");
  refuses("index", NULL, 0, SMELT_F32, "the result has another dtype");
}

TEST(literals_that_do_not_fit) {
  refuses("256", NULL, 0, SMELT_U8, "a literal does not fit its dtype");
  refuses("-1", NULL, 0, SMELT_U64, "a literal does not fit its dtype");
  refuses("0.5", NULL, 0, SMELT_I32, "a literal does not fit its dtype");
  refuses("1e300", NULL, 0, SMELT_I64, "a literal does not fit its dtype");
  refuses("-inf", NULL, 0, SMELT_I64, "a literal does not fit its dtype");
  refuses("-nan", NULL, 0, SMELT_I64, "a literal does not fit its dtype");
}

/* --- Mutations ------------------------------------------------------------------------------ */

static uint64_t next_random(uint64_t *state) {
  *state = *state * 6364136223846793005u + 1442695040888963407u;
  return *state >> 33;
}

/* A few characters replaced, removed or doubled. */
static void mutate(char *text, size_t room, uint64_t *state) {
  static const char alphabet[] = "xyz(),.-019eindexaddselectcast unit\x80\xff{_";
  for (uint64_t n = next_random(state) % 4; n < 4; n++) {
    size_t len = strlen(text), at = next_random(state) % (len + 1);
    switch (next_random(state) % 3) {
      case 0:
        if (at < len) text[at] = alphabet[next_random(state) % (sizeof alphabet - 1)];
        break;
      case 1:
        if (at < len) memmove(text + at, text + at + 1, len - at);
        break;
      default:
        if (len + 1 < room) memmove(text + at + 1, text + at, len - at + 1);
        break;
    }
  }
}

/* What compiles at all must be sound. */
TEST(survives_mutations) {
  uint64_t state = 5;
  char text[300];
  static const smelt_dtype kinds[] = {SMELT_BOOL, SMELT_I8, SMELT_I64, SMELT_U64, SMELT_F32, SMELT_F64};
  for (int round = 0; round < 60000; round++) {
    sm_opcode code = (sm_opcode)(next_random(&state) % SM_OP_COUNT);
    smelt_dtype operands[3], result = kinds[next_random(&state) % 6];
    sm_expr e;
    if (!sm_op_row_of(code)->expr) continue;
    for (int k = 0; k < 3; k++)
      operands[k] = next_random(&state) % 2 ? result : kinds[next_random(&state) % 6];
    strcpy(text, sm_op_row_of(code)->expr);
    mutate(text, sizeof text, &state);
    int n = (int)(next_random(&state) % 4);
    if (sm_expr_compile(text, operands, n, result, &e, NULL) != SMELT_OK) continue;
    check_steps(&e);
    if (e.result.kind == SM_ARG_OPERAND) CHECK(e.result.index < n);
    CHECK_I64(e.result.dtype, result);
  }
}

TEST_MAIN(CASE(every_row_compiles_for_every_dtype_it_accepts), CASE(copies_have_no_step),
          CASE(literals_take_the_dtype_of_their_siblings), CASE(halves_are_worked_on_as_f32),
          CASE(conversions_make_halves_directly), CASE(the_index_is_i64_and_u64_beside_u64), CASE(malformed),
          CASE(too_long), CASE(dtypes_that_do_not_go_together), CASE(literals_that_do_not_fit),
          CASE(survives_mutations))
