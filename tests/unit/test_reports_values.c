/* SPDX-License-Identifier: Apache-2.0
 *
 * Public reports of wrong values after fusion, as far as elementwise work goes
 * (reports.h): B008 B009 B013 B023 B024 B025 B027 B028 B031 B032 B041 B052 B076 B080. */
#define _POSIX_C_SOURCE 200809L
#include "reports.h"

static const report values[] = {
    {"B008: two selections in a row",
     "x = input f32[1,3,10,10] fill 1\ni = input i64[3] {1, 2, 3}\na = take(x, &i, axis=2)\n"
     "b = take(a, i, axis=3)\nexpect b f32[1,3,3,3] fill 1\n"},
    {"B009: rows gathered inside a kernel",
     "x = input f32[4,2] iota\ni = input i64[4] {1, 0, 3, 2}\na = take(x, i, axis=0)\nb = multiply(a, 1)\n"
     "y = add(b, 0)\nexpect y {2, 3, 0, 1, 6, 7, 4, 5}\n"},
    {"B023: what is still wanted is not reused",
     "x = input f32[2,2] {1, 2, 3, 4}\na = add(&x, 1)\ny = multiply(a, 2)\nexpect y {4, 6, 8, 10}\n"
     "expect x {1, 2, 3, 4}\n"},
    {"B024: stride 0 on an axis of length 1, in place",
     "x = input f32[2,4,1] {1, 2, 3, 4, 5, 6, 7, 8}\nr = broadcast_to(x, shape=[2,4,1])\n"
     "bias = input f32[1,4,1] {10, 20, 30, 40}\ns = add(r, bias)\ny = multiply(s, 2)\n"
     "expect y f32[2,4,1] {22, 44, 66, 88, 30, 52, 74, 96}\n"},
    {"B027: segments that are not aligned to vectors",
     "a = input f32[2,3] {1, 2, 3, 4, 5, 6}\nb = input f32[2,5] {10, 20, 30, 40, 50, 60, 70, 80, 90, 100}\n"
     "c = concat(a, b, axis=1)\ny = add(c, 1)\n"
     "expect y f32[2,8] {2, 3, 4, 11, 21, 31, 41, 51, 5, 6, 7, 61, 71, 81, 91, 101}\n"},
    {"B027: three parts",
     "a = input f32[2,1,2] {1, 2, 3, 4}\nb = input f32[2,2,2] {5, 6, 7, 8, 9, 10, 11, 12}\n"
     "c = input f32[2,1,2] {13, 14, 15, 16}\nd = concat(a, b, c, axis=1)\ny = multiply(d, 2)\n"
     "expect y f32[2,4,2] {2, 4, 10, 12, 14, 16, 26, 28, 6, 8, 18, 20, 22, 24, 30, 32}\n"},
    {"B028: bits, and a cast to float, in one kernel",
     "l = input i32[4] {13, 7, 3, 12}\nr = input i32[4] {11, 3, 5, 9}\nx = bitwise_xor(&l, r)\n"
     "a = bitwise_and(x, 7)\ns = bitwise_right_shift(a, 1)\nn = bitwise_invert(l)\no = bitwise_or(s, n)\n"
     "f = astype(o, dtype=f32)\ny = multiply(f, 0.5)\nexpect y f32[4] {-6.5, -3, -0.5, -6.5}\n"},
    {"B031: broadcast before a transpose",
     "a = input f32[3,1] {0, 1, 2}\nb = input f32[3,4] {0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 2, 3}\ny = add(&a, "
     "&b)\n"
     "expect y f32[3,4] {0, 1, 2, 3, 1, 2, 3, 4, 2, 3, 4, 5}\ne = broadcast_to(a, shape=[3,4])\n"
     "f = permute_dims(e)\ng = permute_dims(b)\nz = add(f, g)\n"
     "expect z f32[4,3] {0, 1, 2, 1, 2, 3, 2, 3, 4, 3, 4, 5}\n"},
    {"B032: slices, stacked on a new last axis",
     "x = input f32[2,4] iota\nl = slice(&x, ranges=[:, :2])\nr = slice(x, ranges=[:, 2:])\np = multiply(l, "
     "2)\n"
     "q = add(r, 1)\np1 = expand_dims(p, axis=-1)\nq1 = expand_dims(q, axis=-1)\ny = concat(p1, q1, axis=2)\n"
     "expect y f32[2,2,2] {0, 3, 2, 4, 8, 7, 10, 8}\n"},
    {"B041: transposed, reshaped, multiplied",
     "x = input i32[2,4] iota\nt = permute_dims(x)\nr = reshape(t, shape=[2,2,2])\ny = multiply(r, 2)\n"
     "expect y i32[2,2,2] {0, 8, 2, 10, 4, 12, 6, 14}\n"},
    {"B013: a narrow result beside a wide one",
     "x = full(0.03, dtype=f16, shape=[1,8,32,32])\nm = zeros(dtype=f16, shape=[1,8,1,1])\n"
     "v = ones(dtype=f16, shape=[1,8,1,1])\nw = add(v, 1e-5)\nr = sqrt(w)\na = subtract(&x, &m)\n"
     "b = divide(a, &r)\nc = subtract(x, m)\nd = divide(c, &r)\ny = add(b, d)\n"
     "expect y f16[1,8,32,32] fill 0.06 ulp 2\nexpect r f16[1,8,1,1] fill 1\n"},
    {"B052: a double diamond through reductions",
     "A = full(10.0, dtype=f32, shape=[16,16])\nB = full(20.0, dtype=f32, shape=[16,16])\n"
     "u = ones(dtype=f32, shape=[16])\nv = full(2.0, dtype=f32, shape=[16])\na = subtract(A, &v)\n"
     "b = subtract(B, &u)\nr0 = sum(a, axis=1)\nr1 = sum(b, axis=1)\np = multiply(r0, u)\n"
     "q = multiply(r1, v)\nexpect p f32[16] fill 128\nexpect q f32[16] fill 608\n"},
    {"B076: both operands are one tensor that is given up",
     "x = input f32[2,4] {1, 1, 1, 1, 3, -3, 3, -3}\nn = rms_norm(&x, axis=-1, eps=0.0)\ny = multiply(n, x)\n"
     "expect y {1, 1, 1, 1, 3, 3, 3, 3}\n"},
    {"B076: one of two is given up",
     "x = input f32[2,4] {1, 1, 1, 1, 3, -3, 3, -3}\nw = input f32[2,4] iota\n"
     "n = rms_norm(x, axis=-1, eps=0.0)\ny = multiply(n, &w)\nexpect y {0, 1, 2, 3, 4, -5, 6, -7}\n"
     "expect w iota\nz = input f32[2,4] {1, 1, 1, 1, 3, -3, 3, -3}\nm = rms_norm(&z, axis=-1, eps=0.0)\n"
     "q = multiply(m, w)\nexpect q {0, 1, 2, 3, 4, -5, 6, -7}\nexpect z {1, 1, 1, 1, 3, -3, 3, -3}\n"},
    {"B080: an axis of length 1 of bools that were put together",
     "f = zeros(dtype=bool, shape=[1,1])\nt = ones(dtype=bool, shape=[1,1])\nb = concat(&f, t, f, axis=1)\n"
     "n = not_equal(b, false)\ny = all(n, axis=0)\nexpect y bool[3] {false, true, false}\n"},
};

TEST(wrong_values_after_fusion) { RUN(values); }

/* B025: what was found once is not looked for again. */
TEST(one_exploration_for_the_same_program) {
  smelt_context *ctx = open_context();
  for (int i = 0; i < 2; i++) {
    smelt_tensor *x = smelt_from_host(ctx, SMELT_F32, DIMS(2, 2), (float[]){1, 2, 3, 4});
    smelt_tensor *a = smelt_exp(smelt_mul(x, 0.0)), *list[] = {a, smelt_zeros(ctx, SMELT_F32, DIMS(1, 2))};
    smelt_tensor *c = smelt_concat(list, 2, 0);
    CHECK_STATUS(smelt_sync(ctx, NULL), SMELT_OK);
    CHECK_F64(value_of(smelt_sum(c, NULL, 0, false, SMELT_DTYPE_NONE)), 4);
  }
  CHECK_I64(counters_of(ctx).explorations, 2); /* of the program and of the sum */
  CHECK_I64(counters_of(ctx).plan_hits, 2);
  close_context(ctx);
}

TEST_MAIN(CASE(wrong_values_after_fusion), CASE(one_exploration_for_the_same_program))
