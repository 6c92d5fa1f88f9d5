/* SPDX-License-Identifier: Apache-2.0
 *
 * Public reports about other tensor libraries, tried on this one: those about elementwise
 * work, views and copies (in place and aliased, strides and offsets, extents of 1 and 0,
 * limits, caches). The numbers are those of the project's list:
 *
 *   aliasing   B047 B048 B049 B051 B055 B056 B057 B059 B061 B063 B064 B067 B068 B069 B072
 *              B073 B077 B079
 *   strides    B081 B084 B087 B088 B095 B096 B097 B099 B100 B101
 *   extents    B104 B107 B112 B113 B115
 *   limits     B127 B128 B129 B131 B132 B135 B136 B137 B139 (the last tests)
 *   caches     B243 B244 B245 B251 B253 B256 B257 */
#define _POSIX_C_SOURCE 200809L
#include "reports.h"

static const report aliasing[] = {
    {"B047: results written over what later steps read",
     "a0 = input f32[17] iota\na = add(a0, 1)\nb = add(a, 1)\nc = add(&b, 2)\ny1 = multiply(&b, b)\n"
     "y2 = divide(&y1, &c)\n"
     "expect y1 f32[17] {4, 9, 16, 25, 36, 49, 64, 81, 100, 121, 144, 169, 196, 225, 256, 289, 324}\n"
     "z = divide(y1, c)\nsame = equal(y2, z)\nexpect same bool[17] fill true\n"},
    {"B048: a slice over an overlapping slice",
     "x = input i32[3,3] iota\nfirst = slice(&x, ranges=[:, :1])\nrest = slice(x, ranges=[:, :-1])\n"
     "y = concat(first, rest, axis=1)\nexpect y i32[3,3] {0, 0, 1, 3, 3, 4, 6, 6, 7}\n"},
    {"B049: cross update",
     "a = input f32[4] fill 2\nb = input f32[4] fill 3\na1 = add(a, &b)\nb1 = add(b, &a1)\n"
     "expect a1 {5, 5, 5, 5}\nexpect b1 {8, 8, 8, 8}\n"},
    {"B051: double diamond",
     "a = input f32[4] fill 2\nb = input f32[4] fill 3\np = multiply(&a, 4)\nq = add(&b, 3)\n"
     "b1 = add(b, p)\na1 = add(a, q)\nexpect b1 {11, 11, 11, 11}\nexpect a1 {8, 8, 8, 8}\n"},
    {"B055: flipped read and flipped write",
     "x = input f32[16] iota\nf = flip(&x)\ns = add(f, x)\ny = flip(s)\nexpect y f32[16] fill 15\n"},
    {"B056: the transpose as operand of an update",
     "a = input f32[200,200] iota\nb = input f32[200,200] iota\nt = permute_dims(&a)\nc = add(t, &b)\n"
     "eval c\nu = permute_dims(a)\nv = add(u, b)\nsame = equal(v, c)\nexpect same bool[200,200] fill true\n"},
    {"B057: x + x.T over x",
     "x = input f32[2,2] {1, 2, 3, 4}\nt = permute_dims(&x)\ny = add(x, t)\nexpect y {2, 5, 5, 8}\n"},
    {"B057: with ones",
     "x = input f32[100,100] fill 1\nt = permute_dims(&x)\ny = add(t, x)\nexpect y f32[100,100] fill 2\n"},
    {"B059: half a buffer onto the other half",
     "b0 = input i32[1024] fill 0\nn1 = input i32[512] fill 1\nn2 = input i32[512] fill 2\n"
     "n3 = input i32[512] fill 3\nh0 = slice(b0, ranges=[512:])\nb1 = concat(h0, n1, axis=0)\n"
     "h1 = slice(b1, ranges=[512:])\nb2 = concat(h1, n2, axis=0)\nh2 = slice(b2, ranges=[512:])\n"
     "b3 = concat(h2, n3, axis=0)\nleft = slice(&b3, ranges=[:512])\nright = slice(b3, ranges=[512:])\n"
     "expect left i32[512] fill 2\nexpect right i32[512] fill 3\n"},
    {"B061: a shifted frame buffer",
     "b = input i32[3,1] {0, 1, 2}\ni0 = input i32[1,1] {10}\ni1 = input i32[1,1] {11}\n"
     "t0 = slice(b, ranges=[1:])\nn0 = concat(t0, i0, axis=0)\no0 = slice(&n0, ranges=[0:1])\nexpect o0 {1}\n"
     "t1 = slice(n0, ranges=[1:])\nn1 = concat(t1, i1, axis=0)\no1 = slice(&n1, ranges=[0:1])\nexpect o1 "
     "{2}\n"
     "o2 = slice(&n1, ranges=[1:2])\nexpect o2 {10}\no3 = slice(n1, ranges=[2:])\nexpect o3 {11}\n"},
    {"B063: a view of what is gone",
     "a = input f32[64] iota\nv = slice(a, ranges=[16:32])\nc = input f32[64] fill 5\nd = add(&c, 1)\n"
     "e = multiply(&c, &d)\ny = add(v, 1)\n"
     "expect y {17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31, 32}\nexpect d f32[64] fill 6\n"
     "expect e f32[64] fill 30\n"},
    {"B064: the output is an input",
     "b = input f32[2,3] fill 0\na = input f32[2,3] iota\nm = multiply(&a, 100)\ns = add(m, a)\n"
     "y = subtract(s, b)\nexpect y {0, 101, 202, 303, 404, 505}\n"},
    {"B067: two outputs, two inputs that are gone",
     "x = input f32[8] iota\nz = input f32[8] fill 2\np = add(&x, &z)\nq = subtract(x, z)\n"
     "expect p {2, 3, 4, 5, 6, 7, 8, 9}\nexpect q {-2, -1, 0, 1, 2, 3, 4, 5}\n"},
    {"B068: over an expanded input",
     "x = input f32[3] {1, 2, 3}\ne = broadcast_to(x, shape=[2,3])\ny = add(e, 1)\n"
     "expect y {2, 3, 4, 2, 3, 4}\n"},
    {"B069: the wrong candidate",
     "a = input f32[3,3] iota\nb = input f32[3,3] fill 2\nu = multiply(a, &b)\nw = add(&b, 1)\n"
     "expect u {0, 2, 4, 6, 8, 10, 12, 14, 16}\nexpect w f32[3,3] fill 3\nexpect b f32[3,3] fill 2\n"},
    {"B072: twice over the same buffer",
     "t = input f64[1] {1}\nt1 = sin(t)\nt2 = sin(t1)\nexpect t2 {0.7456241416655579} ulp 8\n"},
    {"B073: another handle of the operand",
     "y = input f32[1] {0}\nx = input f32[1] {1}\ny1 = exp(&y)\ne = exp(y)\ns = add(y1, x)\no = add(s, e)\n"
     "expect o {3}\n"},
    {"B077: through a view of a row",
     "a = input i32[2,3] {1, 2, 3, 4, 5, 6}\nr = slice(&a, ranges=[0:1])\nno = input bool[1,3] fill false\n"
     "b = where(no, r, 9)\nexpect b {9, 9, 9}\nexpect a {1, 2, 3, 4, 5, 6}\n"},
    {"B079: two handles of a result",
     "x = input f32[2] {1, 2}\nd = add(&x, x)\nq = add(&d, d)\nr = reshape(&q, shape=[2])\ns = multiply(q, "
     "10)\n"
     "expect r {4, 8}\nexpect s {40, 80}\n"},
};

static const report strides[] = {
    {"B081: flips and steps",
     "x = input f32[8] iota\nf = flip(x)\ny = multiply(f, 2)\nexpect y {14, 12, 10, 8, 6, 4, 2, 0}\n"
     "z = input f32[4,6] iota\ns = slice(z, ranges=[::-1, ::2])\nt = multiply(s, 3)\n"
     "expect t f32[4,3] {54, 60, 66, 36, 42, 48, 18, 24, 30, 0, 6, 12}\n"
     "w = input i32[2,2,3,2] iota\nv = slice(w, ranges=[::-1, :, ::-1])\nu = add(v, 1)\n"
     "expect u i32[2,2,3,2] {17, 18, 15, 16, 13, 14, 23, 24, 21, 22, 19, 20, 5, 6, 3, 4, 1, 2, 11, 12, 9, "
     "10, "
     "7, 8}\n"},
    {"B084: along axes of extent 1",
     "x = input f32[1,1,3] fill 2\ni = input i64[2] {0, 0}\nj = input i64[3] {0, 0, 0}\na = take(x, i, "
     "axis=0)\n"
     "b = take(a, j, axis=1)\nexpect b f32[2,3,3] fill 2\n"},
    {"B087: a transposed input",
     "b = input i64[2,5] iota\nt = permute_dims(b)\ny = multiply(t, 2)\n"
     "expect y i64[5,2] {0, 10, 2, 12, 4, 14, 6, 16, 8, 18}\n"},
    {"B088: a column of records",
     "x = input f64[3,3] {0, 9, 9, 1, 9, 9, 2, 9, 9}\nc = slice(x, ranges=[:, 0:1])\ny = exp(c)\n"
     "expect y f64[3,1] {1, 2.718281828459045, 7.38905609893065} ulp 4\n"},
    {"B095: permuted, then taken from in the middle",
     "x = input i64[2,3,2] {0, 6, 2, 8, 4, 10, 1, 7, 3, 9, 5, 11}\np = permute_dims(x, axes=[0,2,1])\n"
     "i = input i64[2] {1, 1}\ny = take(p, i, axis=1)\n"
     "expect y i64[2,2,3] {6, 8, 10, 6, 8, 10, 7, 9, 11, 7, 9, 11}\n"},
    {"B096: shapes of what is pending",
     "x = input i32[12] iota\ny = add(x, 1)\nz = reshape(&y, shape=[3,4])\nw = reshape(&y, shape=[4,3])\n"
     "expect y i32[12] {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}\n"
     "expect w i32[4,3] {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}\n"
     "expect z i32[3,4] {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}\n"},
    {"B097: the last element of a copy",
     "x = input i32[27,31,31] iota\np = permute_dims(x, axes=[1,2,0])\nc = reshape(p, shape=[-1])\n"
     "i = input i32[3] {-1, 1, 27}\ny = take(&c, i, axis=0)\nexpect y {25946, 961, 1}\n"},
    {"B099: overlapping windows",
     "x = input i32[12] iota\ni = input i32[9,1] iota\nj = input i32[4] iota\nk = add(i, j)\n"
     "w = take(x, k, axis=0)\ny = add(w, 1)\nr = slice(y, ranges=[-1:])\nexpect r i32[1,4] {9, 10, 11, "
     "12}\n"},
    {"B100: rows that are not aligned",
     "x = input f32[4,1185] iota\nv = slice(x, ranges=[:, 1:])\ny = multiply(v, 2)\n"
     "b = input f32[4,1184] iota\nc = input f32[4,1] {1, 2, 3, 4}\ne = add(b, c)\nf = multiply(e, 2)\n"
     "same = equal(y, f)\nexpect same bool[4,1184] fill true\n"},
    {"B101: a stride of 1 along another axis",
     "x = input f32[8,4] iota\nt = permute_dims(x)\ny = add(t, 1)\n"
     "r = slice(y, ranges=[1:2])\nexpect r {2, 6, 10, 14, 18, 22, 26, 30}\n"},
};

static const report extents[] = {
    {"B104: an empty part",
     "x = input f32[2,3] iota\ne = input f32[2,0] {}\ny = concat(&x, &e, axis=1)\nexpect y f32[2,3] iota\n"
     "z = concat(e, x, axis=1)\nexpect z f32[2,3] iota\n"},
    {"B107: results of different shapes",
     "x = input f32[2] {1, 2}\ny = input f32[2,2] {3, 4, 5, 6}\na = multiply(&x, 1)\nb = add(x, y)\n"
     "expect a f32[2] {1, 2}\nexpect b f32[2,2] {4, 6, 6, 8}\n"},
    {"B112: the same program, then with an extent of 1",
     "a = input f32[2,4] iota\nb = input f32[2,4] fill 2\nc = multiply(a, &b)\nexpect c {0, 2, 4, 6, 8, 10, "
     "12, 14}\n"
     "d = input f32[1,4] iota\ne = multiply(d, b)\nexpect e f32[2,4] {0, 2, 4, 6, 0, 2, 4, 6}\n"},
    {"B113: nothing is loaded of an empty operand",
     "x = input f32[4] iota\ne = slice(&x, ranges=[0:0])\nr = slice(x, ranges=[2:4])\nc = concat(e, r, "
     "axis=0)\n"
     "y = add(c, 1)\nexpect y {3, 4}\n"},
    {"B115: bool stays bool",
     "x = input bool[2,2] {true, false, false, true}\ny = logical_xor(x, true)\n"
     "expect y bool[2,2] {false, true, true, false}\n"},
};

static const report caches[] = {
    {"B243: which leaf is used twice",
     "a = input f32[20] fill 3\nb = input f32[20] fill 5\nc = input f32[20] fill 2\nd = add(&a, &b)\ne = "
     "add(&a, &c)\n"
     "m = multiply(d, &e)\nx = subtract(m, e)\nexpect x f32[20] fill 35\n"
     "f = add(&a, b)\ng = add(a, c)\nn = multiply(&f, g)\ny = subtract(n, f)\nexpect y f32[20] fill 32\n"},
    {"B244: c - d and d - c",
     "a = input f32[5,5] fill 2\nb = input f32[5,5] fill 1\nc = add(&a, &b)\nd = subtract(a, b)\n"
     "e = multiply(&c, &d)\nexpect e f32[5,5] fill 3\nf = subtract(&c, &d)\nexpect f f32[5,5] fill 2\n"
     "g = subtract(d, c)\nexpect g f32[5,5] fill -2\n"},
    {"B245: other dtypes",
     "a = input u16[2,1] {10, 20}\nb = input i8[1,2] {1, 2}\np = astype(&a, dtype=i32)\nq = astype(&b, "
     "dtype=i32)\n"
     "y = multiply(p, q)\nexpect y i32[2,2] {10, 20, 20, 40}\n"
     "c = astype(a, dtype=i8)\nd = astype(b, dtype=u16)\nr = astype(c, dtype=i32)\ns = astype(d, dtype=i32)\n"
     "z = multiply(r, s)\nexpect z i32[2,2] {10, 20, 20, 40}\n"},
    {"B253: kernels that differ in an axis",
     "x = input i32[2,2] iota\ni = input i32[2] {1, 1}\na = take(&x, &i, axis=0)\nexpect a {2, 3, 2, 3}\n"
     "b = take(&x, i, axis=1)\nexpect b {1, 1, 3, 3}\nf = flip(&x, axes=[0])\ng = add(f, 1)\nexpect g {3, 4, "
     "1, 2}\n"
     "h = flip(x, axes=[1])\nj = add(h, 1)\nexpect j {2, 1, 4, 3}\n"},
    {"B256: another alignment, another length",
     "x = input f32[17] iota\na = slice(&x, ranges=[:16])\nb = add(a, 1)\n"
     "expect b {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16}\nc = slice(&x, ranges=[1:])\nd = "
     "add(c, 1)\n"
     "expect d {2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17}\ne = add(x, 1)\n"
     "expect e {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17}\n"},
    {"B257: over an input of another layout",
     "x = input f32[6,4] iota\nt = permute_dims(x)\na = add(t, 0)\neval a\ny = add(a, 1)\n"
     "expect y f32[4,6] {1, 5, 9, 13, 17, 21, 2, 6, 10, 14, 18, 22, 3, 7, 11, 15, 19, 23, 4, 8, 12, 16, 20, "
     "24}\n"},
};

/* --- Programs ------------------------------------------------------------------------------------- */

TEST(in_place_and_aliased) { RUN(aliasing); }
TEST(strides_and_offsets) { RUN(strides); }
TEST(extents_of_one_and_zero) { RUN(extents); }
TEST(kept_plans_and_kernels) { RUN(caches); }

/* --- Limits -------------------------------------------------------------------------------------- */

static void check_floats(smelt_tensor *t, size_t n, float (*expected)(size_t i)) {
  float *items = malloc(n * sizeof *items);
  smelt_error err;
  CHECK(items != NULL);
  CHECK_OK(smelt_into_host(t, SMELT_F32, items, n * sizeof *items, &err), err);
  for (size_t i = 0; i < n; i++) CHECK_F64(items[i], expected(i));
  free(items);
}

static float row_number_plus_1(size_t i) {
  size_t row = i / 4;
  return (float)row + 1;
}
static float doubled(size_t i) { return 2 * (float)i; }
static float three_hundred(size_t i) { return 300 + 0 * (float)i; }
static float five(size_t i) { return 5 + 0 * (float)i; }

/* B127, B131: one operation with more inputs than a kernel binds. */
TEST(long_lists) {
  enum { N = 200, PARTS = 600 };
  smelt_context *ctx = open_context();
  smelt_tensor *list[PARTS];
  for (int i = 0; i < N; i++) {
    float row[4] = {(float)i, (float)i, (float)i, (float)i};
    list[i] = smelt_from_host(ctx, SMELT_F32, DIMS(1, 4), row);
  }
  check_floats(smelt_add(smelt_concat(list, N, 0), 1), (size_t)N * 4, row_number_plus_1);
  smelt_tensor *x = smelt_arange(ctx, 0, PARTS, 1, SMELT_F32);
  for (int i = 0; i < PARTS; i++) {
    smelt_range range = {i, i + 1, 1};
    list[i] = smelt_mul(smelt_slice(smelt_ref(x), &range, 1), 2);
  }
  smelt_drop(x);
  check_floats(smelt_concat(list, PARTS, 0), PARTS, doubled);
  close_context(ctx);
}

/* B128, B137: sums of as many tensors as a kernel binds, and one more and less. */
TEST(as_many_bindings_as_there_are) {
  static const int counts[] = {25, 26, 27, 125, 126, 127, 128, 1500};
  for (int metal = 0; metal < 2; metal++) {
    smelt_context *ctx = open_device(metal ? "null:metal" : NULL);
    for (size_t c = 0; c < sizeof counts / sizeof counts[0]; c++) {
      smelt_tensor *sum = number(ctx, 0);
      for (int k = 1; k <= counts[c]; k++) sum = smelt_add(sum, number(ctx, (float)k));
      double value = value_of(sum);
      if (!metal) CHECK_F64(value, counts[c] * (counts[c] + 1.0) / 2);
    }
    close_context(ctx);
  }
}

/* B129: slices fan out and in. */
TEST(fan_out_and_in) {
  enum { N = 64 };
  smelt_context *ctx = open_context();
  smelt_tensor *x = smelt_arange(ctx, 0, N, 1, SMELT_F32), *parts[N];
  for (int i = 0; i < N; i++) {
    smelt_range range = {i, i + 1, 1};
    parts[i] = smelt_add(smelt_slice(smelt_ref(x), &range, 1), i);
  }
  smelt_drop(x);
  for (size_t n = N; n > 1; n /= 2) {
    for (size_t i = 0; i < n / 2; i++) parts[i] = smelt_add(parts[2 * i], parts[2 * i + 1]);
  }
  CHECK_F64(value_of(parts[0]), 2 * 2016);
  close_context(ctx);
}

/* B132: a row of what is kept, added again and again. */
TEST(accumulated_rows) {
  smelt_context *ctx = open_context();
  smelt_tensor *y = smelt_ones(ctx, SMELT_F32, DIMS(3, 4)), *x = smelt_zeros(ctx, SMELT_F32, DIMS(1, 4));
  for (int i = 0; i < 300; i++) {
    smelt_range range = {0, 1, 1};
    x = smelt_add(x, smelt_slice(smelt_ref(y), &range, 1));
  }
  smelt_drop(y);
  check_floats(x, 4, three_hundred);
  close_context(ctx);
}

/* B135: chains under tight limits. B136: twice what had to be split. */
TEST(split_chains) {
  static const int64_t launches[] = {20, 10, 7};
  for (int max_ops = 1; max_ops <= 3; max_ops++) {
    smelt_context_desc desc = SMELT_CONTEXT_DESC_INIT;
    desc.max_ops = max_ops;
    smelt_context *ctx = open_context_with(&desc);
    for (int round = 0; round < 2; round++) {
      uint64_t before = counters_of(ctx).launches;
      smelt_tensor *x = number(ctx, 1);
      for (int i = 0; i < 20; i++) x = i % 2 ? smelt_sub(x, 1) : smelt_mul(x, 2);
      CHECK_F64(value_of(x), 1);
      CHECK_I64(counters_of(ctx).launches - before, launches[max_ops - 1]);
    }
    close_context(ctx);
  }
}

/* B139: one element, many times. */
TEST(repeated_elements) {
  smelt_context *ctx = open_context();
  for (int axis = 0; axis < 2; axis++) {
    int64_t dims[] = {axis ? 1 : 1 << 21, axis ? 1 << 21 : 1};
    smelt_tensor *five_there = smelt_add(smelt_broadcast_to(number(ctx, 4), 2, dims), 1);
    check_floats(five_there, (size_t)1 << 21, five);
  }
  close_context(ctx);
}

/* B251: scalars are no part of a kernel. */
TEST(one_kernel_for_all_scalars) {
  smelt_context *ctx = open_context();
  for (int k = 1; k <= 1000; k++) CHECK_F64(value_of(smelt_add(number(ctx, 1), k)), 1 + k);
  CHECK_I64(counters_of(ctx).kernels_compiled, 1);
  CHECK_I64(counters_of(ctx).explorations, 1);
  close_context(ctx);
}

TEST_MAIN(CASE(in_place_and_aliased), CASE(strides_and_offsets), CASE(extents_of_one_and_zero),
          CASE(kept_plans_and_kernels), CASE(long_lists), CASE(as_many_bindings_as_there_are),
          CASE(fan_out_and_in), CASE(accumulated_rows), CASE(split_chains), CASE(repeated_elements),
          CASE(one_kernel_for_all_scalars))
