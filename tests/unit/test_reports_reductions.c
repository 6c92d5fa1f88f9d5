/* SPDX-License-Identifier: Apache-2.0
 *
 * Public reports about other tensor libraries, tried on this one: those about reductions
 * (reports.h says how).
 *
 *   views       B083 B092 B093
 *   empty       B103 B109
 *   identities  B119 B120 B121 B123 B124 B125
 *   dtypes      B167 B180 B185 B191 B215 B216 B217 B219 B220 B224 B225 B227
 *   truths      B228
 *   in C        B196 B223
 *
 * The numbers are those of the project's list of reports. */
#define _POSIX_C_SOURCE 200809L
#include <math.h>

#include "reports.h"

static const report views[] = {
    {"B083: columns of a flipped tensor",
     "i = arange(1, 32769, 1, dtype=i32)\n"
     "x = reshape(i, shape=[2,1024,16])\n"
     "f = flip(x, axes=[0])\n"
     "s = sum(f, axis=1)\n"
     "expect s i64[2,16] {25158656, 25159680, 25160704, 25161728, 25162752, 25163776, 25164800, 25165824, "
     "25166848, 25167872, 25168896, 25169920, 25170944, 25171968, 25172992, 25174016, 8381440, 8382464, "
     "8383488, 8384512, 8385536, 8386560, 8387584, 8388608, 8389632, 8390656, 8391680, 8392704, 8393728, "
     "8394752, 8395776, 8396800}\n"},
    {"B092: the sum of one element",
     "x = input i32[8] {9, 9, 9, 9, 9, -1, 9, 9}\n"
     "v = slice(x, ranges=[5:6])\n"
     "s = sum(v)\n"
     "expect s i64[] {-1}\n"},
    {"B093: a part of an array",
     "x = arange(0, 8192, 1, dtype=f64)\n"
     "v = slice(x, ranges=[0:4095])\n"
     "s = sum(v)\n"
     "expect s f64[] {8382465}\n"},
};

static const report empty[] = {
    {"B103: reductions of nothing",
     "e = input f32[0] {}\n"
     "a = sum(&e)\n"
     "expect a f32[] {0}\n"
     "b = prod(&e)\n"
     "expect b f32[] {1}\n"
     "c = mean(&e)\n"
     "expect c f32[] {nan}\n"
     "d = max(&e)\n"
     "expect d poisoned ERR_SHAPE \"no element\"\n"
     "f = argmax(e)\n"
     "expect f poisoned ERR_SHAPE \"no element\"\n"
     "g = input f32[3,0] {}\n"
     "h = sum(g, axis=1, keepdims=true)\n"
     "expect h f32[3,1] {0, 0, 0}\n"
     "i = input f32[0,3] {}\n"
     "j = sum(i, axis=1, keepdims=true)\n"
     "expect j f32[0,1]\n"},
    {"B109: mean and variance of nothing",
     "e = input f32[0] {}\n"
     "v = var(&e)\n"
     "m = mean(e)\n"
     "expect v f32[] {nan}\n"
     "expect m f32[] {nan}\n"},
};

static const report identities[] = {
    {"B119: below zero everywhere",
     "i = arange(0, 2704, 1, dtype=f32)\n"
     "r = remainder(i, 7)\n"
     "n = subtract(-1, r)\n"
     "h = astype(n, dtype=f16)\n"
     "x = reshape(h, shape=[1,16,13,13])\n"
     "a = max(&x, axis=[2, 3])\n"
     "expect a f16[1,16] fill -1\n"
     "b = max(x, axis=3)\n"
     "c = max(&b)\n"
     "d = min(b)\n"
     "expect c f16[] {-1}\n"
     "expect d f16[] {-1}\n"},
    {"B120: beyond 16 bits",
     "x = input i32[2] {32768, 32767}\n"
     "a = min(x)\n"
     "expect a i32[] {32767}\n"
     "y = input i32[2] {-32768, -32767}\n"
     "b = max(y)\n"
     "expect b i32[] {-32767}\n"},
    {"B121: nothing but infinities",
     "x = input f32[2] {-inf, -inf}\n"
     "a = max(x)\n"
     "expect a f32[] {-inf}\n"
     "y = input f32[2] {inf, inf}\n"
     "b = min(y)\n"
     "expect b f32[] {inf}\n"},
    {"B123: arrays of what reductions begin with",
     "x = input u32[3] {0, 0, 0}\n"
     "a = argmax(x)\n"
     "expect a i64[] {0}\n"
     "y = input f64[3] fill 1.7976931348623157e308\n"
     "b = argmin(y)\n"
     "expect b i64[] {0}\n"
     "z = input f32[2] {-inf, -inf}\n"
     "c = argmax(z)\n"
     "expect c i64[] {0}\n"},
    {"B124: the first element is what the search begins with",
     "x = input f64[1] {-inf}\n"
     "a = argmax(x)\n"
     "expect a i64[] {0}\n"
     "y = input f64[3] {-inf, -inf, -inf}\n"
     "b = argmax(y)\n"
     "expect b i64[] {0}\n"},
    {"B125: truth values have any and all for max and min",
     "x = input bool[2,2] {false, true, true, true}\n"
     "a = any(&x, axis=0)\n"
     "expect a bool[2] {true, true}\n"
     "b = all(&x, axis=0)\n"
     "expect b bool[2] {false, true}\n"
     "c = max(x)\n"
     "expect c poisoned ERR_DTYPE \"wants numbers\"\n"},
};

static const report dtypes[] = {
    {"B167: reductions of truth values",
     "x = input bool[3] {false, true, true}\n"
     "a = argmax(&x)\n"
     "expect a i64[] {1}\n"
     "b = argmin(x)\n"
     "expect b i64[] {0}\n"
     "y = input bool[300] fill true\n"
     "c = sum(y)\n"
     "expect c i64[] {300}\n"
     "z = input u8[2] {0, 2}\n"
     "d = any(z)\n"
     "expect d bool[] {true}\n"},
    {"B180: narrow integers",
     "x = input u8[1000] fill 255\n"
     "a = sum(x)\n"
     "expect a u64[] {255000}\n"
     "y = input u8[2] {255, 255}\n"
     "b = prod(y)\n"
     "expect b u64[] {65025}\n"},
    {"B185: one truth value",
     "x = input bool[3] {true, false, false}\n"
     "s = sum(x)\n"
     "y = maximum(s, 1)\n"
     "expect y i64[] {1}\n"},
    {"B191: four truth values",
     "x = ones(shape=[4], dtype=bool)\n"
     "y = sum(x)\n"
     "expect y i64[] {4}\n"},
    {"B215: a mean whose sum is too large",
     "x = input f16[10000] fill 10\n"
     "y = mean(x)\n"
     "expect y f16[] {10}\n"},
    {"B216, B217: sums of many ones",
     "x = input f16[20000] fill 1\n"
     "a = sum(x)\n"
     "expect a f16[] {20000}\n"
     "y = input bf16[70000] fill 1\n"
     "b = sum(&y)\n"
     "expect b bf16[] {70144}\n"
     "c = mean(y)\n"
     "expect c bf16[] {1}\n"
     "z = input f16[4096] fill 1\n"
     "d = sum(&z)\n"
     "expect d f16[] {4096}\n"
     "e = mean(z)\n"
     "expect e f16[] {1}\n"},
    {"B219: a mean of integers is asked for in floats",
     "x = input i32[3] {2147483647, 2147483647, 1}\n"
     "a = mean(&x)\n"
     "expect a poisoned ERR_DTYPE \"wants floats\"\n"
     "y = astype(x, dtype=f64)\n"
     "b = mean(y)\n"
     "expect b f64[] {1431655765}\n"},
    {"B220: a mean of more ones than f32 can count",
     "x = input f32[1,1] {1}\n"
     "b = broadcast_to(x, shape=[17825792,2])\n"
     "y = mean(b, axis=0)\n"
     "expect y f32[2] {1, 1}\n"},
    {"B224, B225: the largest of what is negative",
     "x = arange(-1, -11, -1, dtype=i64)\n"
     "a = argmax(x)\n"
     "expect a i64[] {0}\n"
     "y = input f16[3] {-3, -1, -2}\n"
     "b = argmax(y)\n"
     "expect b i64[] {1}\n"},
    {"B227: results at the end of their memory",
     "x = input f32[33,65] fill 1\n"
     "y = multiply(x, 2)\n"
     "s = sum(y, axis=1)\n"
     "expect s f32[33] fill 130\n"
     "z = input f32[1000,3] fill 1\n"
     "w = multiply(z, 2)\n"
     "t = sum(w, axis=1)\n"
     "expect t f32[1000] fill 6\n"},
};

static const report truths[] = {
    {"B228: any and all of 257 columns",
     "r = input i32[4,1] {0, 1, 2, 0}\n"
     "c = arange(0, 257, 1, dtype=i32)\n"
     "m = remainder(c, 3)\n"
     "third = equal(m, 0)\n"
     "one = equal(&r, 1)\n"
     "two = equal(r, 2)\n"
     "some = logical_and(two, third)\n"
     "x = logical_or(one, some)\n"
     "f = astype(&x, dtype=f32)\n"
     "i = astype(&x, dtype=i8)\n"
     "anyx = any(&x, axis=1)\n"
     "expect anyx bool[4] {false, true, true, false}\n"
     "allx = all(&x, axis=1)\n"
     "expect allx bool[4] {false, true, false, false}\n"
     "anyf = any(&f, axis=1)\n"
     "expect anyf bool[4] {false, true, true, false}\n"
     "allf = all(&f, axis=1)\n"
     "expect allf bool[4] {false, true, false, false}\n"
     "anyi = any(&i, axis=1)\n"
     "expect anyi bool[4] {false, true, true, false}\n"
     "alli = all(&i, axis=1)\n"
     "expect alli bool[4] {false, true, false, false}\n"
     "a = any(&x, axis=1, keepdims=true)\n"
     "b = logical_or(a, &x)\n"
     "p = sum(b, axis=1)\n"
     "expect p i64[4] {0, 257, 257, 0}\n"
     "d = all(&x, axis=1, keepdims=true)\n"
     "e = logical_and(d, x)\n"
     "q = sum(e, axis=1)\n"
     "expect q i64[4] {0, 257, 0, 0}\n"},
};

TEST(reductions_of_views) { RUN_GUARDED(views); }
TEST(reductions_of_nothing) { RUN_GUARDED(empty); }
TEST(what_reductions_begin_with) { RUN_GUARDED(identities); }
TEST(dtypes_of_reductions) { RUN_GUARDED(dtypes); }
TEST(any_and_all) { RUN_GUARDED(truths); }

/* B196: NaN in every lane. */
static void nan_anywhere(smelt_context *ctx) {
  for (int n = 8; n <= 40; n += 4) {
    for (int at = 0; at < n; at++) {
      float items[40];
      for (int i = 0; i < n; i++) items[i] = i == at ? NAN : (float)(i % 5);
      smelt_tensor *x = smelt_from_host(ctx, SMELT_F32, DIMS(n), items);
      CHECK_F64(value_of(smelt_max(smelt_ref(x), NULL, 0, false)), NAN);
      CHECK_F64(value_of(smelt_min(smelt_ref(x), NULL, 0, false)), NAN);
      CHECK_F64(value_of(smelt_argmax(smelt_ref(x), NULL, 0, false)), at);
      CHECK_F64(value_of(smelt_sum(x, NULL, 0, false, SMELT_DTYPE_NONE)), NAN);
    }
  }
}

TEST(nan_in_every_lane) { run_on_processor(nan_anywhere); }

/* B223: of equal elements the first one, wherever lanes and blocks end. */
static void ties(smelt_context *ctx) {
  float items[300];
  for (int i = 0; i < 300; i++) items[i] = i == 3 || i == 200 ? 2 : 1;
  for (int n = 1; n <= 300; n++) {
    smelt_tensor *ones = smelt_ones(ctx, SMELT_F32, DIMS(n));
    CHECK_F64(value_of(smelt_argmax(smelt_ref(ones), NULL, 0, false)), 0);
    CHECK_F64(value_of(smelt_argmin(ones, NULL, 0, false)), 0);
    smelt_tensor *twos = smelt_from_host(ctx, SMELT_F32, DIMS(n), items);
    CHECK_F64(value_of(smelt_argmax(twos, NULL, 0, false)), n > 3 ? 3 : 0);
  }
}

TEST(ties_across_lanes) { run_on_processor(ties); }

TEST_MAIN(CASE(reductions_of_views), CASE(reductions_of_nothing), CASE(what_reductions_begin_with),
          CASE(dtypes_of_reductions), CASE(any_and_all), CASE(nan_in_every_lane), CASE(ties_across_lanes))
