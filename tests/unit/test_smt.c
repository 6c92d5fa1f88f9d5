/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ir/infer.h"
#include "ir/smt.h"

/* After the table of operations, which has a macro TEST of its own. */
#include "harness.h"

static sm_smt parse_ok(const char *text) {
  sm_smt smt;
  smelt_error err;
  CHECK_OK(sm_smt_parse(&sm_malloc_allocator, text, strlen(text), &smt, &err), err);
  return smt;
}

static void check_fault_n(const char *text, size_t n, const char *message) {
  sm_smt smt;
  smelt_error err;
  CHECK_STATUS(sm_smt_parse(&sm_malloc_allocator, text, n, &smt, &err), SMELT_ERR_FORMAT);
  CHECK_STR(err.text, message);
}

static void check_fault(const char *text, const char *message) { check_fault_n(text, strlen(text), message); }

/* --- The parser ------------------------------------------------------------------- */

TEST(reads_operations) {
  sm_smt smt = parse_ok(
      "smt 1  # comment\r\n"
      "\n"
      "a = input f32[2,2] {1, -2.5, inf, nan}\r\n"
      "  b = add ( &a , 2 ) # kept\n"
      "c = where(true, a, &b)\n"
      "d = zeros(dtype=u8, shape=[2,0])\n"
      "drop c, d");
  CHECK_I64(smt.stmts.len, 5);
  CHECK_I64(smt.names.len, 4);
  const sm_smt_stmt *s = smt.stmts.items;
  CHECK(s[0].kind == SM_SMT_INPUT && s[0].type.dtype == SMELT_F32 && s[0].type.rank == 2);
  CHECK_I64(s[0].line, 3);
  CHECK_I64(s[0].data.n, 4);
  CHECK_F64(s[0].data.items[1].as.f64, -2.5);
  CHECK(s[1].kind == SM_SMT_CALL && s[1].code == SM_OP_ADD && s[1].n_operands == 2);
  CHECK(s[1].operands[0].use == SM_SMT_KEEP && s[1].operands[0].name == 0);
  CHECK(s[1].operands[1].use == SM_SMT_SCALAR && s[1].operands[1].scalar.kind == SM_KIND_SINT);
  CHECK_I64(s[1].operands[1].scalar.as.i64, 2);
  CHECK(s[2].operands[0].scalar.kind == SM_KIND_BOOL && s[2].operands[1].use == SM_SMT_TAKE);
  CHECK(s[3].attrs.dtype == SMELT_U8 && s[3].attrs.rank == 2 && s[3].attrs.dims[1] == 0);
  CHECK(!s[3].attrs.axes && !s[3].attrs.ranges && s[1].attrs.rank == -1);
  CHECK(s[4].kind == SM_SMT_DROP && s[4].n_operands == 2 && s[4].operands[1].name == 3);
  CHECK_STR(smt.names.items[3], "d");
  sm_smt_free(&smt);
}

static const char attributes[] =
    "smt 1\n"
    "a = input i32[2,3] iota\n"
    "b = slice(&a, ranges=[1:, ::-1])\n"
    "c = slice(&a, ranges=[ -9 : +2 : , : : 3 ])\n"
    "d = flip(&a, axes=[-1, 0])\n"
    "e = flip(&a)\n"
    "f = squeeze(&a, axes=[])\n"
    "g = take(&a, &a, axis=-1)\n"
    "h = reshape(&a, shape=[3,-1])\n"
    "i = sum(&a, axis=-1, keepdims=true, dtype=i8)\n"
    "j = var(&a, correction=1.5, axis=[0, 1], keepdims=false)\n"
    "k = layer_norm(&a)\n"
    "l = group_norm(&a, groups=3, eps=0)\n"
    "m, n = max_with_indices(&a, axis=1)\n"
    "o = max_with_indices(n)\n";

TEST(reads_attributes) {
  sm_smt smt = parse_ok(attributes);
  const sm_smt_stmt *s = smt.stmts.items;
  CHECK_I64(s[1].attrs.n_ranges, 2);
  const smelt_range *r = s[1].attrs.ranges;
  CHECK(r[0].start == 1 && r[0].stop == SMELT_ABSENT && r[0].step == SMELT_ABSENT);
  CHECK(r[1].start == SMELT_ABSENT && r[1].stop == SMELT_ABSENT && r[1].step == -1);
  r = s[2].attrs.ranges;
  CHECK(r[0].start == -9 && r[0].stop == 2 && r[0].step == SMELT_ABSENT);
  CHECK(r[1].start == SMELT_ABSENT && r[1].stop == SMELT_ABSENT && r[1].step == 3);
  CHECK(s[3].attrs.n_axes == 2 && s[3].attrs.axes[0] == -1 && s[3].attrs.axes[1] == 0);
  CHECK(!s[4].attrs.axes && s[5].attrs.axes && s[5].attrs.n_axes == 0);
  CHECK(s[6].attrs.n_axes == 1 && s[6].attrs.axes[0] == -1);
  CHECK(s[7].attrs.rank == 2 && s[7].attrs.dims[1] == -1);
  CHECK(s[8].attrs.n_axes == 1 && s[8].attrs.axes[0] == -1);
  CHECK(s[8].attrs.keepdims && s[8].attrs.dtype == SMELT_I8);
  CHECK(s[9].attrs.n_axes == 2 && s[9].attrs.axes[1] == 1 && !s[9].attrs.keepdims);
  CHECK_F64(s[9].attrs.number, 1.5);
  CHECK(!s[10].attrs.axes && s[10].attrs.number == 1e-5);
  CHECK(s[11].attrs.groups == 3 && s[11].attrs.number == 0);
  CHECK(s[12].has_second && s[12].second == s[12].name + 1 && !s[12].attrs.indices);
  CHECK(!s[13].has_second && s[13].operands[0].name == s[12].second);
  sm_smt_free(&smt);
}

TEST(reads_expectations) {
  sm_smt smt = parse_ok(
      "smt 1\noption fusion off\noption max_ops 65\noption mode strict\n"
      "x = input f32[] fill 0.5\nseed 18446744073709551615\n"
      "expect x f32[] {0.5} ulp 2\nexpect x iota\nexpect x f32[]\n"
      "expect x poisoned ERR_SHAPE \"f32[2]\"\nexpect x poisoned ERR_DTYPE\n"
      "expect launches 3\nexpect blocks 0\nexpect line \"a \\\"b\\\" \\\\\"\n"
      "marker \"d.read()\"\neval x\nread x\nsync\n");
  const sm_smt_stmt *s = smt.stmts.items;
  CHECK_I64(smt.stmts.len, 17);
  CHECK(s[0].option == SM_SMT_FUSION && s[0].number == 0);
  CHECK(s[1].option == SM_SMT_MAX_OPS && s[1].number == 65);
  CHECK(s[2].option == SM_SMT_MODE && s[2].number == SMELT_MODE_STRICT);
  CHECK(s[3].data.fill == SM_SMT_FILL && s[3].type.rank == 0);
  CHECK(s[4].kind == SM_SMT_SEED && s[4].number == UINT64_MAX);
  CHECK(s[5].kind == SM_SMT_EXPECT_VALUE && s[5].ulp == 2 && s[5].type.dtype == SMELT_F32);
  CHECK(s[6].data.fill == SM_SMT_IOTA && s[6].ulp == SM_SMT_EXACT && s[6].type.dtype == SMELT_DTYPE_NONE);
  CHECK(s[7].data.fill == SM_SMT_NO_DATA && s[7].type.rank == 0);
  CHECK(s[8].kind == SM_SMT_EXPECT_POISONED && s[8].status == SMELT_ERR_SHAPE);
  CHECK_STR(s[8].string, "f32[2]");
  CHECK(s[9].status == SMELT_ERR_DTYPE && !s[9].string);
  CHECK(s[10].kind == SM_SMT_EXPECT_LAUNCHES && s[10].number == 3);
  CHECK(s[11].kind == SM_SMT_EXPECT_BLOCKS && s[11].number == 0);
  CHECK_STR(s[12].string, "a \"b\" \\");
  CHECK(s[13].kind == SM_SMT_MARKER && s[14].kind == SM_SMT_EVAL && s[15].kind == SM_SMT_READ);
  CHECK(s[16].kind == SM_SMT_SYNC);
  sm_smt_free(&smt);
}

static sm_scalar scalar_of(const char *text) {
  char line[160];
  (void)snprintf(line, sizeof line, "smt 1\nx = add(%s)", text);
  sm_smt smt = parse_ok(line);
  sm_scalar s = smt.stmts.items[0].operands[0].scalar;
  sm_smt_free(&smt);
  return s;
}

TEST(reads_scalars) {
  CHECK_I64(scalar_of("-9223372036854775808").as.i64, INT64_MIN);
  CHECK(scalar_of("18446744073709551615").kind == SM_KIND_UINT);
  CHECK(scalar_of("18446744073709551615").as.u64 == UINT64_MAX);
  CHECK(scalar_of("+7").kind == SM_KIND_SINT);
  CHECK_F64(scalar_of("-0").as.f64, -0.0);
  CHECK_F64(scalar_of("1.").as.f64, 1.0);
  CHECK_F64(scalar_of("25e-1").as.f64, 2.5);
  CHECK_F64(scalar_of("1E+2").as.f64, 100.0);
  CHECK_F64(scalar_of("1e-400").as.f64, 0.0);
  CHECK_F64(scalar_of("-inf").as.f64, -(double)INFINITY);
  CHECK(isnan(scalar_of("nan").as.f64));
  CHECK(scalar_of("false").kind == SM_KIND_BOOL && !scalar_of("false").as.b);
}

TEST(names_line_and_column) {
  static const struct {
    const char *line, *message;
  } faults[] = {
      {"u = exp(t", "line 3, column 10: expected ')', found the end of the line"},
      {"u = exp(t))", "line 3, column 11: expected the end of the line, found ')'"},
      {"u = expp(t)", "line 3, column 5: there is no operation 'expp'"},
      {"u = exp(v)", "line 3, column 9: v is not defined"},
      {"u = exp(u)", "line 3, column 9: u is not defined"},
      {"u = exp(&2)", "line 3, column 10: expected a name, found '2'"},
      {"u = exp(t, dtype=f32)", "line 3, column 12: exp has no attribute 'dtype'"},
      {"u = zeros(dtype=f32, dtype=f32)", "line 3, column 22: 'dtype' is given twice"},
      {"u = astype(dtype=f32, t)", "line 3, column 23: expected an attribute, found 't'"},
      {"u = flip(t, axis=0)", "line 3, column 13: flip has no attribute 'axis'"},
      {"u = flip(t, axes=0)", "line 3, column 18: expected '[', found '0'"},
      {"u = flip(t, axes=[0], axes=[0])", "line 3, column 23: 'axes' is given twice"},
      {"u = flip(t, axes=[], t)", "line 3, column 22: expected an attribute, found 't'"},
      {"u = flip(t, axes=[1.5])", "line 3, column 19: an axis is an integer below 2^63"},
      {"u = flip(t, axes=[4294967296])", "line 3, column 19: an axis is between -2^31 and 2^31 - 1"},
      {"u = sum(t, keepdims=1)", "line 3, column 21: expected true or false, found '1'"},
      {"u = sum(t, keepdims=false, t)", "line 3, column 28: expected an attribute, found 't'"},
      {"u = max(t, axis=[0], axis=0)", "line 3, column 22: 'axis' is given twice"},
      {"u = max(t, dtype=f32)", "line 3, column 12: max has no attribute 'dtype'"},
      {"u = var(t, correction=true)", "line 3, column 23: expected a number"},
      {"u = group_norm(t, groups=-1)", "line 3, column 26: expected an integer that is not negative"},
      {"u = group_norm(t, groups=18446744073709551615)", "line 3, column 26: there are not that many groups"},
      {"u, v = exp(t)", "line 3, column 7: there is only one result"},
      {"u, v = input f32[1] {1}", "line 3, column 7: there is only one result"},
      {"u, = max_with_indices(t)", "line 3, column 4: expected a name, found '='"},
      {"u, v max_with_indices(t)", "line 3, column 6: expected '=', found 'm'"},
      {"u, u = max_with_indices(t)", "line 3, column 4: u is already defined"},
      {"u, v, w = max_with_indices(t)", "line 3, column 5: expected '=', found ','"},
      {"u = max_with_indices(t, indices=[0])",
       "line 3, column 25: max_with_indices has no attribute 'indices'"},
      {"u = slice(t, ranges=[1])", "line 3, column 23: expected ':', found ']'"},
      {"u = slice(t, ranges=[1:2:3:4])", "line 3, column 27: expected ']', found ':'"},
      {"u = slice(t, ranges=[-0:])", "line 3, column 22: a place is an integer below 2^63"},
      {"u = slice(t, ranges=[1:2", "line 3, column 25: expected ']', found the end of the line"},
      {"t = exp(t)", "line 3, column 1: t is already defined"},
      {"inf = exp(t)", "line 3, column 1: 'inf' cannot be a name"},
      {"u = input f8[1] {1}", "line 3, column 11: 'f8' is not a dtype"},
      {"u = input f32[2] {1}", "line 3, column 18: 1 elements for a shape of 2"},
      {"u = input u8[2] {1, 256}", "line 3, column 21: scalar 256 does not fit dtype u8"},
      {"u = input f32[1] {1e39}", "line 3, column 19: the number does not fit f32"},
      {"u = input f32[1] {1e400}", "line 3, column 19: the number does not fit f64"},
      {"u = input f32[1] {0x1p3}", "line 3, column 19: '0x1p3' is not a number"},
      {"u = input f32[-1] {}", "line 3, column 11: extent -1 of axis 0 is negative"},
      {"u = input i64[1] {99999999999999999999}",
       "line 3, column 19: integer out of range (a float has a point or an exponent)"},
      {"u = input f32[1] {1111111111.1111111111111111111111111111111111111}",
       "line 3, column 19: the number has more than 47 characters"},
      {"eval", "line 3, column 5: expected a name, found the end of the line"},
      {"expect t", "line 3, column 9: expected a dtype, found the end of the line"},
      {"expect t poisoned OK", "line 3, column 19: 'OK' is not an error code"},
      {"expect launches -1", "line 3, column 17: expected an integer that is not negative"},
      {"marker \"a\\n\"", "line 3, column 11: expected '\"' or '\\' after '\\', found 'n'"},
      {"u = input f16[1] {65520}", "line 3, column 19: the number does not fit f16"},
      {"option fusion on", "line 3, column 8: options come before everything else"},
      {"undo t", "line 3, column 1: 'undo' does not begin a statement"},
      {"\xc3\xa9 = exp(t)", "line 3, column 1: expected a statement, found byte 0xc3"},
  };
  for (size_t i = 0; i < sizeof faults / sizeof faults[0]; i++) {
    char text[200];
    (void)snprintf(text, sizeof text, "smt 1\nt = input f32[2] {1, 2}\n%s\n", faults[i].line);
    check_fault(text, faults[i].message);
  }
}

TEST(wants_a_mode_that_there_is) {
  check_fault("smt 1\noption mode loose\n",
              "line 2, column 13: there is no mode 'loose', but strict, default and fast");
}

TEST(wants_the_version) {
  check_fault("", "line 1, column 1: the first line has to be \"smt 1\"");
  check_fault("# smt 1\n", "line 1, column 1: the first line has to be \"smt 1\"");
  check_fault("smt 2\n", "line 1, column 5: this build reads version 1 of the format");
  check_fault("smt 1 sync\n", "line 1, column 7: expected the end of the line, found 's'");
}

TEST(refuses_nul_bytes) {
  static const char in_name[] = "smt 1\nt\0 = exp(1)\n", in_string[] = "smt 1\nmarker \"a\0b\"\n";
  check_fault_n(in_name, sizeof in_name - 1, "line 2, column 1: 't' does not begin a statement");
  check_fault_n(in_string, sizeof in_string - 1, "line 2, column 10: expected '\"', found byte 0x00");
  sm_smt smt;
  static const char in_comment[] = "smt 1\nsync # \0\n";
  CHECK_STATUS(sm_smt_parse(&sm_malloc_allocator, in_comment, sizeof in_comment - 1, &smt, NULL), SMELT_OK);
  sm_smt_free(&smt);
}

TEST(finds_many_names) {
  sm_text text;
  sm_text_init(&text, &sm_malloc_allocator);
  sm_text_add(&text, "smt 1\n");
  for (int i = 0; i < 5000; i++) sm_text_addf(&text, "n%d = input i8[] {1}\n", i);
  for (int i = 0; i < 5000; i++) sm_text_addf(&text, "drop n%d\n", i);
  CHECK(!text.failed);
  sm_smt smt = parse_ok(text.data);
  for (int i = 0; i < 5000; i++) CHECK_I64(smt.stmts.items[5000 + i].operands[0].name, i);
  sm_smt_free(&smt);
  sm_text_free(&text);
}

/* --- Any bytes -------------------------------------------------------------------- */

static const char sample[] =
    "smt 1\noption max_ops 65\nt1 = input f32[2,2] {1, -2.5e-3, inf, nan}\nt2 = input i64[3] iota\n"
    "t3 = multiply(t1, &t1) # twice\nt4 = full(7, dtype=u8, shape=[1,2,3])\nseed 42\nexpect t3 f32[2,2] fill "
    "3 ulp 2\n"
    "t5 = slice(&t2, ranges=[1:, :-2:-1])\nt6 = permute_dims(&t2, axes=[1,-2])\nt7 = take(t5, t6, axis=-1)\n"
    "t8 = sum(&t3, axis=[-1, 0], keepdims=true, dtype=f64)\nt9 = var(&t3, correction=1.5e0, axis=1)\n"
    "expect t4 poisoned ERR_SHAPE \"no \\\"fit\\\"\"\nexpect line \"[block] 1 op(s): *\"\nmarker "
    "\"d.read()\"\nread t3, t4\n";

static uint64_t next_random(uint64_t *state) {
  *state = *state * 6364136223846793005u + 1442695040888963407u;
  return *state >> 33;
}

/* Copies the sample with some bytes replaced, removed or repeated. */
static size_t mutate(char *out, size_t size, uint64_t *state) {
  static const char alphabet[] = "\0\n\"#&(),={}[]-+.0189eftinax_\\ \xff";
  size_t n = 0;
  for (size_t i = 0; i < sizeof sample - 1 && n + 2 < size; i++) {
    uint64_t r = next_random(state) % 200;
    if (r == 0) out[n++] = alphabet[next_random(state) % (sizeof alphabet - 1)];
    if (r == 1) i += next_random(state) % 20;
    if (r == 2) i -= next_random(state) % (i < 20 ? i + 1 : 20);
    out[n++] = i < sizeof sample - 1 ? sample[i] : '\n';
  }
  return n;
}

TEST(survives_mutations) {
  uint64_t state = 1;
  int good = 0;
  for (int round = 0; round < 20000; round++) {
    char text[2 * sizeof sample];
    size_t n = mutate(text, sizeof text, &state);
    sm_smt smt;
    smelt_error err;
    smelt_status status = sm_smt_parse(&sm_malloc_allocator, text, n, &smt, &err);
    if (status == SMELT_OK) {
      good++;
      sm_smt_free(&smt);
    } else {
      CHECK_STATUS(status, SMELT_ERR_FORMAT);
      CHECK_CONTAINS(err.text, "line ");
    }
  }
  CHECK(good > 0 && good < 20000);
}

typedef struct budget {
  int left;
  int live;
} budget;

static void *allocate_within(void *user, void *ptr, size_t old, size_t size) {
  budget *b = user;
  (void)old;
  if (size == 0) {
    b->live--;
    free(ptr);
    return NULL;
  }
  if (b->left-- <= 0) return NULL;
  b->live += ptr == NULL;
  return realloc(ptr, size);
}

TEST(survives_lack_of_memory) {
  smelt_status status = SMELT_ERR_MEMORY;
  for (int n = 0; status == SMELT_ERR_MEMORY; n++) {
    budget b = {n, 0};
    sm_allocator allocator = {allocate_within, &b};
    sm_smt smt;
    smelt_error err;
    status = sm_smt_parse(&allocator, sample, sizeof sample - 1, &smt, &err);
    if (status == SMELT_OK) sm_smt_free(&smt);
    CHECK_I64(b.live, 0);
    CHECK(n < 1000);
  }
  CHECK_STATUS(status, SMELT_OK);
}

/* --- The printer --------------------------------------------------------------------- */

static uint32_t add_source(sm_segment *seg, uint64_t id, smelt_dtype dtype, int64_t extent, bool live) {
  sm_value value = {.id = id, .dtype = dtype, .shape = {1, {extent}}, .live = live};
  uint32_t index = 0;
  CHECK(sm_segment_add_source(seg, &value, &index));
  return index;
}

static uint32_t add_record(sm_segment *seg, sm_opcode code, uint64_t id, smelt_dtype dtype, bool live,
                           const sm_operand *operands, int n) {
  sm_value value = {.id = id, .dtype = dtype, .shape = {1, {2}}, .live = live};
  uint32_t index = 0;
  CHECK(sm_segment_append(seg, code, operands, n, &value, &index));
  return index;
}

static sm_operand use(const sm_segment *seg, uint32_t value, sm_status status) {
  return (sm_operand){.use = {value, (uint8_t)status}, .dtype = seg->values.items[value].dtype};
}

static sm_operand f32_scalar(float value) {
  return (sm_operand){.is_scalar = true, .dtype = SMELT_F32, .scalar = {.F32 = value}};
}

static sm_operand u64_scalar(uint64_t value) {
  return (sm_operand){.is_scalar = true, .dtype = SMELT_U64, .scalar = {.U64 = value}};
}

/* t1 taken, t2 kept by its owner, t3 dropped later, t5 live. */
static void build(sm_segment *seg) {
  uint32_t t1 = add_source(seg, 1, SMELT_F32, 2, false), t2 = add_source(seg, 2, SMELT_F32, 2, true);
  uint32_t t3 = add_source(seg, 3, SMELT_BOOL, 2, false);
  sm_operand mul[] = {use(seg, t1, SM_READ_WRITE), use(seg, t2, SM_READ_ONLY)};
  uint32_t t4 = add_record(seg, SM_OP_MULTIPLY, 4, SMELT_F32, false, mul, 2);
  sm_operand where[] = {use(seg, t3, SM_READ_ONLY), use(seg, t4, SM_READ_WRITE), f32_scalar(0.1f)};
  add_record(seg, SM_OP_WHERE, 5, SMELT_F32, true, where, 3);
  sm_operand cast[] = {use(seg, t2, SM_READ_ONLY)};
  add_record(seg, SM_OP_ASTYPE, 6, SMELT_I32, false, cast, 1);
  sm_operand draw[] = {u64_scalar(0), u64_scalar(42)};
  add_record(seg, SM_OP_RAND, 7, SMELT_F32, true, draw, 2);
  smelt_error err;
  CHECK_OK(sm_segment_verify(seg, &err), err);
}

/* What is not elementwise, whose attributes are as a call's. */
static uint32_t add_moved(sm_segment *seg, sm_opcode code, uint64_t id, smelt_attrs attrs,
                          const sm_operand *operands, int n) {
  sm_call_operand call[SM_MAX_OPERANDS];
  for (int k = 0; k < n; k++) {
    call[k] = (sm_call_operand){.dtype = operands[k].dtype,
                                .shape = &seg->values.items[operands[k].use.value].shape};
  }
  sm_inferred r;
  smelt_error err;
  attrs.size = sizeof attrs;
  CHECK_OK(sm_infer(sm_op_row_of(code), call, n, &attrs, &r, &err), err);
  sm_value value = {.id = id, .dtype = r.dtype, .shape = r.shape};
  uint32_t index = 0;
  const sm_attrs *own = sm_op_has_attrs(sm_op_row_of(code)) ? &r.attrs : NULL;
  CHECK(sm_segment_append_with(seg, sm_op_row_of(code), operands, n, own, &value, &index));
  return index;
}

TEST(prints_attributes) {
  sm_segment seg;
  sm_text text;
  smelt_error err;
  sm_segment_init(&seg, &sm_malloc_allocator);
  sm_text_init(&text, &sm_malloc_allocator);
  sm_operand t1[] = {use(&seg, add_source(&seg, 1, SMELT_I32, 6, true), SM_READ_ONLY)}, pair[2];
  uint32_t v = add_moved(&seg, SM_OP_RESHAPE, 2, (smelt_attrs){.rank = 2, .dims = (int64_t[]){-1, 3}}, t1, 1);
  sm_operand t2[] = {use(&seg, v, SM_READ_ONLY)};
  const smelt_range ranges[] = {{SMELT_ABSENT, SMELT_ABSENT, -1}, {-2, 9, SMELT_ABSENT}};
  (void)add_moved(&seg, SM_OP_SLICE, 3, (smelt_attrs){.ranges = ranges, .n_ranges = 2}, t2, 1);
  (void)add_moved(&seg, SM_OP_FLIP, 4, (smelt_attrs){.axes = (int[]){-1}, .n_axes = 1}, t2, 1);
  (void)add_moved(&seg, SM_OP_SWAPAXES, 5, (smelt_attrs){.axes = (int[]){-1, 0}, .n_axes = 2}, t2, 1);
  (void)add_moved(&seg, SM_OP_PERMUTE_DIMS, 6, (smelt_attrs){.axes = NULL}, t2, 1);
  pair[0] = pair[1] = t2[0];
  (void)add_moved(&seg, SM_OP_CONCAT, 7, (smelt_attrs){.axes = (int[]){-2}, .n_axes = 1}, pair, 2);
  (void)add_moved(&seg, SM_OP_MAX, 8, (smelt_attrs){.axes = (int[]){-1}, .n_axes = 1, .keepdims = true}, t2,
                  1);
  (void)add_moved(&seg, SM_OP_SUM, 9, (smelt_attrs){.dtype = SMELT_I32}, t2, 1);
  CHECK_OK(sm_segment_verify(&seg, &err), err);
  sm_smt_print(&text, &seg, &(sm_smt_writing){0});
  CHECK_CONTAINS(text.data,
                 "t2 = reshape(&t1, shape=[2,3])\n"
                 "t3 = slice(&t2, ranges=[1::-1, 1:3])\n"
                 "t4 = flip(&t2, axes=[1])\n"
                 "t5 = swapaxes(&t2, axes=[0, 1])\n"
                 "t6 = permute_dims(&t2, axes=[1, 0])\n"
                 "t7 = concat(&t2, &t2, axis=0)\n"
                 "t8 = max(&t2, axis=[1], keepdims=true)\n"
                 "t9 = sum(&t2, axis=[0, 1], dtype=i32)\n");
  sm_smt smt = parse_ok(text.data);
  CHECK(smt.stmts.items[2].attrs.ranges[0].stop == SMELT_ABSENT);
  sm_smt_free(&smt);
  sm_text_free(&text);
  sm_segment_free(&seg);
}

static const void *elements_of(void *user, const sm_value *value) {
  static const float f32[] = {1.5f, -0.0f};
  static const bool mask[] = {true, false};
  (void)user;
  return value->id == 2 ? NULL : value->dtype == SMELT_F32 ? (const void *)f32 : mask;
}

TEST(prints_a_segment) {
  sm_segment seg;
  sm_text text;
  sm_segment_init(&seg, &sm_malloc_allocator);
  sm_text_init(&text, &sm_malloc_allocator);
  build(&seg);
  sm_smt_print(&text, &seg, &(sm_smt_writing){.source = elements_of});
  CHECK_STR(text.data,
            "smt 1\n"
            "t1 = input f32[2] {1.5, -0.0}\n"
            "t2 = input f32[2] iota  # the elements were not at hand\n"
            "t3 = input bool[2] {true, false}\n"
            "t4 = multiply(t1, &t2)\n"
            "t5 = where(&t3, t4, 0.1)\n"
            "t6 = astype(&t2, dtype=i32)\n"
            "seed 42\n"
            "t7 = rand(dtype=f32, shape=[2])\n"
            "drop t3, t6\n"
            "eval t5, t7\n");
  sm_smt smt = parse_ok(text.data);
  CHECK_I64(smt.stmts.len, 10);
  CHECK_I64(smt.names.len, 7);
  sm_smt_free(&smt);
  sm_text_free(&text);
  sm_segment_free(&seg);
}

TEST(prints_without_live_results) {
  sm_segment seg;
  sm_text text;
  sm_segment_init(&seg, &sm_malloc_allocator);
  sm_text_init(&text, &sm_malloc_allocator);
  sm_operand draw[] = {u64_scalar(3), u64_scalar(1)};
  add_record(&seg, SM_OP_RAND, 9, SMELT_F64, false, draw, 2);
  sm_smt_print(&text, &seg, &(sm_smt_writing){0});
  CHECK_STR(text.data,
            "smt 1\n"
            "seed 1  # this was call 3 after the seed: other numbers\n"
            "t9 = rand(dtype=f64, shape=[2])\n"
            "drop t9\n"
            "sync\n");
  sm_text_free(&text);
  sm_segment_free(&seg);
}

static void check_f32_reads_back(float value) {
  sm_text text;
  sm_text_init(&text, &sm_malloc_allocator);
  sm_text_add(&text, "smt 1\nx = add(");
  sm_smt_print_element(&text, SMELT_F32, &value);
  sm_text_add(&text, ")");
  sm_smt smt = parse_ok(text.data);
  sm_word word;
  sm_scalar s = smt.stmts.items[0].operands[0].scalar;
  CHECK(s.kind == SM_KIND_FLOAT);
  CHECK_STATUS(sm_scalar_convert(s, SMELT_F32, &word, NULL), SMELT_OK);
  CHECK_F64(word.F32, value);
  sm_smt_free(&smt);
  sm_text_free(&text);
}

TEST(prints_f32_that_reads_back) {
  /* The last one is rounded twice when its shortest digits go through f64. */
  static const float values[] = {0.1f,   -0.0f,    3.0f,      16777216.0f, 3.4028235e38f,
                                 1e-45f, INFINITY, -INFINITY, NAN,         7.038531e-26f};
  for (size_t i = 0; i < sizeof values / sizeof values[0]; i++) check_f32_reads_back(values[i]);
  uint64_t state = 7;
  for (int i = 0; i < 2000; i++) {
    uint32_t bits = (uint32_t)next_random(&state) ^ (uint32_t)next_random(&state) << 8;
    float value;
    memcpy(&value, &bits, sizeof value);
    check_f32_reads_back(value);
  }
}

TEST_MAIN(CASE(reads_operations), CASE(reads_attributes), CASE(prints_attributes), CASE(reads_expectations),
          CASE(reads_scalars), CASE(names_line_and_column), CASE(wants_a_mode_that_there_is),
          CASE(wants_the_version), CASE(refuses_nul_bytes), CASE(finds_many_names), CASE(survives_mutations),
          CASE(survives_lack_of_memory), CASE(prints_a_segment), CASE(prints_without_live_results),
          CASE(prints_f32_that_reads_back))
