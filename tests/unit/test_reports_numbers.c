/* SPDX-License-Identifier: Apache-2.0
 *
 * Public reports of wrong numbers (reports.h): integers, conversions, what is no number, the
 * last bit. Right is what docs/operations.md and docs/modes.md say where libraries disagree.
 * B157 B159 B160 B161 B163 B164 B168 B169 B171 B172 B173 B175 B176 B177 B179 B181 B183 B184
 * B188 B189 B192 B193 B195 B197 B199 B200 B201 B205 B207 B208 B209 B211 B212 B312 B313 B319
 * B320 B321. Constants that are printed or folded wrongly (B200) are literals here too. */
#define _POSIX_C_SOURCE 200809L
#include "reports.h"

static const report integers[] = {
    {"B157: wraps before it is widened",
     "x = input u8[1] {128}\na = add(&x, x)\ny = astype(a, dtype=i16)\nexpect y i16[1] {0}\n"},
    {"B159: what is negated and unsigned is compared",
     "x = input u8[1] {6}\nn = negative(x)\nl = less(n, 4)\nexpect l {false}\nz = input u8[1] {5}\n"
     "m = negative(&z)\nk = less(z, m)\nexpect k {true}\n"},
    {"B160: what is negated and unsigned becomes a float",
     "c = input u8[1] {7}\nx = input f32[2] {1.541, -0.2934}\nn = negative(c)\nf = astype(n, dtype=f32)\n"
     "y = add(f, x)\nexpect y f32[2] {250.541, 248.7066}\n"},
    {"B163: the smallest by -1",
     "a = input i32[1] {-2147483648}\nb = input i32[1] {-1}\nq = floor_divide(&a, &b)\nr = remainder(a, b)\n"
     "y = subtract(q, r)\nexpect y {-2147483648}\n"},
    {"B171: the sign is shifted in",
     "x = input i32[1] {-1}\ny = bitwise_right_shift(x, 31)\nexpect y {-1}\n"},
    {"B175: integers to a negative power",
     "x = input i32[2] {2, 4}\nf = astype(&x, dtype=f32)\ny = pow(f, -1.0)\nexpect y {0.5, 0.25}\n"
     "z = pow(x, -1.0)\nexpect z poisoned ERR_DTYPE \"float scalar\"\n"},
    {"B176: division by zero",
     "x = input i32[2] {1, 2}\nq = floor_divide(&x, 0)\nr = remainder(x, 0)\ny = add(q, r)\nexpect y {0, "
     "0}\n"},
    {"B177: remainders with and without sign",
     "u = input u32[10] {1, 2, 3, 4, 5, 6, 7, 8, 9, 10}\ni = astype(&u, dtype=i32)\nr = remainder(u, 3)\n"
     "s = remainder(i, 3)\nexpect r u32[10] {1, 2, 0, 1, 2, 0, 1, 2, 0, 1}\n"
     "expect s i32[10] {1, 2, 0, 1, 2, 0, 1, 2, 0, 1}\n"},
    {"B179: no quotient of indices",
     "x = input i32[1] {110}\nq = floor_divide(&x, 55)\nr = remainder(x, 55)\nexpect q {2}\nexpect r {0}\n"
     "i = arange(0, 16, 1, dtype=i32)\nd = subtract(i, 7)\nf = floor_divide(d, 4)\n"
     "expect f {-2, -2, -2, -1, -1, -1, -1, 0, 0, 0, 0, 1, 1, 1, 1, 2}\n"},
    {"B181: the dtype of results does not depend on extents",
     "a = input i8[1] {2}\nb = input i8[2] {2, 3}\np = prod(&a, axis=0)\nq = prod(&b, axis=0)\n"
     "expect p i64[] {2}\nexpect q i64[] {6}\ns = sum(&a, axis=0)\nt = sum(&b, axis=0)\nexpect s i64[] {2}\n"
     "expect t i64[] {5}\nm = max(a, axis=0)\nn = max(b, axis=0)\nexpect m i8[] {2}\nexpect n i8[] {3}\n"},
    {"B183: a square that wrapped is negative",
     "x = input i8[1] {12}\ns = square(x)\nm = maximum(&s, 0)\ng = greater_equal(&s, 0)\nexpect s {-112}\n"
     "expect m {0}\nexpect g {false}\n"},
    {"B184: or is no and",
     "a = input bool[4] {false, false, true, true}\nb = input bool[4] {false, true, false, true}\n"
     "y = logical_or(a, b)\nexpect y {false, true, true, true}\n"},
    {"B188: unsigned numbers have an absolute value",
     "x = input u32[2] {0, 5}\ny = abs(x)\nexpect y u32[2] {0, 5}\n"},
};

TEST(numbers_that_wrap) { RUN(integers); }

static const report conversions[] = {
    {"B161: negative floats as unsigned integers",
     "x = input f32[5] {1.541, -0.2934, -2.1788, 0.5684, -1.0845}\ny = astype(x, dtype=u8)\n"
     "expect y u8[5] {1, 0, 0, 0, 0}\n"},
    {"B168: a conversion and back is not nothing",
     "x = input f32[3] {1.0001, 2049, 70000}\nh = astype(x, dtype=f16)\ny = astype(h, dtype=f32)\n"
     "expect y f32[3] {1, 2048, inf}\n"},
    {"B169: every result of the strict mode is a half",
     "option mode strict\nx = input f16[3] {5000, 30000, inf}\nk = input f16[3] {5000, 200, 1}\n"
     "p = multiply(x, k)\ny = divide(p, 200)\nexpect y f16[3] {inf, inf, inf}\n"},
    {"B172: scalars are halves before they are used",
     "x = input f16[1] {0.01}\ny = multiply(x, 65536)\nexpect y f16[1] {inf}\n"},
    {"B173: floats that no integer has",
     "x = input f32[4] {1e20, -1e20, nan, 3e9}\ni = astype(&x, dtype=i32)\nu = astype(x, dtype=u8)\n"
     "expect i {2147483647, -2147483648, 0, 2147483647}\nexpect u {255, 0, 0, 255}\n"},
    {"B189: wider and of another kind",
     "x = input f16[3] {1.7, -1.7, 3}\ni = astype(x, dtype=i64)\ny = multiply(i, 2)\n"
     "expect y i64[3] {2, -2, 6}\n"},
};

TEST(conversions_that_saturate_or_round) { RUN(conversions); }

static const report no_numbers[] = {
    {"B192: a bound is no number for what is none",
     "x = input f32[3] {nan, -1, 2}\ny = clip(x, 0.0, 1.0)\nexpect y {nan, 0.0, 1}\n"},
    {"B193: on either side, in vectors and behind them",
     "n = full(nan, dtype=f32, shape=[37])\no = ones(dtype=f32, shape=[37])\na = maximum(&n, &o)\n"
     "b = maximum(&o, &n)\nc = minimum(&n, &o)\nd = minimum(o, &n)\ne = maximum(n, 0.0)\nexpect a fill nan\n"
     "expect b fill nan\nexpect c fill nan\nexpect d fill nan\nexpect e fill nan\n"},
    {"B193: of halves",
     "n = full(nan, dtype=f16, shape=[37])\no = ones(dtype=f16, shape=[37])\na = maximum(&n, &o)\n"
     "b = minimum(o, &n)\nc = maximum(n, 0.0)\nexpect a fill nan\nexpect b fill nan\nexpect c fill nan\n"},
    {"B195: the least and where it is",
     "x = input f32[3] {3, nan, 1}\nm = min(&x, axis=0)\ni = argmin(x, axis=0)\nexpect m {nan}\nexpect i "
     "{1}\n"},
    {"B197: by zero is not zero",
     "x = input f32[4] {nan, inf, -inf, 1}\ny = multiply(x, 0.0)\nexpect y {nan, nan, nan, 0.0}\n"},
    {"B197: by a literal",
     "x = input f32[4] {nan, inf, -inf, 1}\nz = zeros(dtype=f32, shape=[4])\ny = multiply(x, z)\n"
     "expect y {nan, nan, nan, 0.0}\n"},
    {"B199: negation is no difference",
     "x = input f32[1] {0.0}\nn = negative(x)\ny = reciprocal(&n)\nexpect n {-0}\nexpect y {-inf}\n"},
    {"B200: a literal with its sign",
     "x = full(-0.0, dtype=f32, shape=[2])\ny = reciprocal(x)\nexpect y {-inf, -inf}\n"
     "z = input f32[1] {1}\nq = divide(z, -0.0)\nexpect q {-inf}\n"},
    {"B205: no inverse is left out",
     "x = input f32[1] {3.4028235e38}\ns = square(x)\na = abs(s)\ny = sqrt(a)\nexpect y {inf}\n"
     "e = input f32[1] {89}\np = exp(e)\nl = log(p)\nexpect l {inf}\n"},
    {"B207: the logarithm of a power",
     "x = input f32[1] {-1.5}\np = pow(&x, x)\ny = log(p)\nexpect y {nan}\n"},
    {"B208: by itself is not one", "x = input f32[2] {0.0, 1}\ny = divide(&x, x)\nexpect y {nan, 1}\n"},
    {"B208: of a literal",
     "x = zeros(dtype=f32, shape=[2])\ny = divide(&x, x)\ns = sign(y)\nexpect s {nan, nan}\n"},
    {"B209: no overflow in between",
     "x = input f32[10] {44, 45, 46, 89, 1e4, -44, -45, -46, -89, -1e4}\ny = tanh(x)\n"
     "expect y {1, 1, 1, 1, 1, -1, -1, -1, -1, -1}\n"},
    {"B211: what is tested was computed",
     "x = input f32[2] {0.0, 1}\nz = input f32[2] {0.0, 0.0}\nq = divide(x, z)\nn = isnan(&q)\ni = isinf(q)\n"
     "expect n {true, false}\nexpect i {false, true}\n"},
    {"B212: tests of both widths",
     "x = input f32[3] {nan, 1, inf}\nd = astype(&x, dtype=f64)\na = isnan(&x)\nb = isinf(x)\nc = isnan(&d)\n"
     "e = isinf(d)\nexpect a {true, false, false}\nexpect b {false, false, true}\n"
     "expect c {true, false, false}\nexpect e {false, false, true}\n"},
};

TEST(what_is_no_number) { RUN(no_numbers); }

static const report last_bits[] = {
    {"B164: the quotient is rounded before its floor",
     "a = input f64[3] {1, 0.5, 6}\nb = input f64[3] {0.1, 0.1, 0.2}\ny = floor_divide(a, b)\n"
     "expect y f64[3] {10, 5, 30}\nc = input f32[3] {1, 0.5, 6}\nd = input f32[3] {0.1, 0.1, 0.2}\n"
     "z = floor_divide(c, d)\nexpect z f32[3] {10, 5, 30}\n"},
    {"B312: subnormal numbers stay",
     "x = input f64[1] {2.225e-313}\ny = add(x, 0.0)\nexpect y f64[1] {2.225e-313}\n"},
    {"B313: logarithms of subnormal numbers",
     "x = input f32[2] {1.1754942e-38, 1e-45}\ny = log2(x)\nexpect y {-126, -149}\n"},
    {"B321: a scalar divided", "x = input f32[1] {7}\ny = divide(11.0, x)\nexpect y {1.5714285373687744}\n"},
};

TEST(the_last_bit) { RUN(last_bits); }

/* B201: +0 and -0 are equal, and of equal ones the second is chosen. */
static const report zeros[] = {
    {"B201: maximum and minimum of zeros",
     "p = input f32[2] {0.0, -0}\nn = input f32[2] {-0, 0.0}\na = maximum(&p, &n)\nb = minimum(p, n)\n"
     "expect a {-0, 0.0}\nexpect b {-0, 0.0}\n"},
};

TEST(signs_of_zeros) { RUN(zeros); }

/* --- Many numbers --------------------------------------------------------------------------- */

/* B319: one function has the same bits alone and among others, whatever runs it. */
static smelt_tensor *sigmoid_of(smelt_context *ctx, bool among_others) {
  smelt_tensor *x = smelt_sub(smelt_mul(smelt_arange(ctx, 0, 1000000, 1, SMELT_F32), 4e-5), 20);
  if (!among_others) CHECK_STATUS(smelt_eval((const smelt_tensor *[]){x}, 1, NULL), SMELT_OK);
  smelt_tensor *y = smelt_sigmoid(x);
  return among_others ? smelt_neg(smelt_neg(y)) : y;
}

static void check_sigmoid(smelt_context *ctx) {
  smelt_tensor *differ = smelt_not_equal(sigmoid_of(ctx, false), sigmoid_of(ctx, true));
  CHECK_F64(value_of(smelt_sum(differ, NULL, 0, false, SMELT_DTYPE_NONE)), 0);
}

TEST(sigmoids_of_a_million) { run_on_processor(check_sigmoid); }

/* B320: quotients and roots are the nearest numbers there are. */
static void check_exact(smelt_context *ctx) {
  float quotients[1000], roots[1000], thirds[1];
  smelt_error err;
  smelt_tensor *x = smelt_arange(ctx, 1, 1001, 1, SMELT_F32);
  smelt_tensor *q = smelt_div(smelt_ref(x), smelt_ref(x)), *r = smelt_sqrt(smelt_square(x));
  smelt_tensor *t = smelt_mul(smelt_div(number(ctx, 1), 3), 3);
  CHECK_OK(smelt_into_host(q, SMELT_F32, quotients, sizeof quotients, &err), err);
  CHECK_OK(smelt_into_host(r, SMELT_F32, roots, sizeof roots, &err), err);
  CHECK_OK(smelt_into_host(t, SMELT_F32, thirds, sizeof thirds, &err), err);
  CHECK_F64(thirds[0], 1);
  for (int i = 0; i < 1000; i++) {
    CHECK_F64(quotients[i], 1);
    CHECK_F64(roots[i], i + 1);
  }
}

TEST(quotients_and_roots) { run_on_processor(check_exact); }

TEST_MAIN(CASE(numbers_that_wrap), CASE(conversions_that_saturate_or_round), CASE(what_is_no_number),
          CASE(the_last_bit), CASE(signs_of_zeros), CASE(sigmoids_of_a_million), CASE(quotients_and_roots))
