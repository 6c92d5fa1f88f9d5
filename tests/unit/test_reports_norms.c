/* SPDX-License-Identifier: Apache-2.0
 *
 * Public reports about other tensor libraries, tried on this one: those about work around reductions
 * (reports.h says how).
 *
 *   fused       B003 B004 B005 B007 B011 B015 B021 B029 B033 B035 B036 B037 B039
 *   specials    B203 B204
 *   in C        B221
 *
 * The numbers are those of the project's list of reports. */
#define _POSIX_C_SOURCE 200809L
#include <math.h>

#include "reports.h"

static const report fused[] = {
    {"B003: the variance along an axis that was swapped",
     "x = input f32[1,2,4] {0.03365147, 0.64734447, 0.74192876, 0.06468803, 0.39552283, 0.55383015, "
     "0.4253056, 0.8396726}\n"
     "t = swapaxes(x, axes=[1, 2])\n"
     "m = mean(&t, axis=2, keepdims=true)\n"
     "d = subtract(t, m)\n"
     "s = square(d)\n"
     "v = mean(s, axis=2)\n"
     "expect v f32[1,4] {0.03273772, 0.002186232, 0.025062556, 0.15015027} ulp 16\n"},
    {"B004: differently swapped operands of a sum",
     "p = input f32[4,2,1] iota\n"
     "a = swapaxes(p, axes=[0, 2])\n"
     "q = arange(16, 24, 1, dtype=f32)\n"
     "r = reshape(q, shape=[1,4,2])\n"
     "b = swapaxes(r, axes=[1, 2])\n"
     "s = add(a, b)\n"
     "y = sum(&s, axis=2, keepdims=true)\n"
     "expect y f32[1,2,1] {88, 96}\n"
     "t = arange(32, 40, 1, dtype=f32)\n"
     "c = reshape(t, shape=[1,2,4])\n"
     "u = add(s, c)\n"
     "z = sum(u, axis=2, keepdims=true)\n"
     "expect z f32[1,2,1] {222, 246}\n"},
    {"B005: a reshaped operand of a sum",
     "x = input f32[4,4] iota\n"
     "a = reshape(&x, shape=[1,4,4])\n"
     "b = add(a, 5)\n"
     "y = sum(b, axis=2)\n"
     "expect y f32[1,4] {26, 42, 58, 74}\n"
     "c = reshape(x, shape=[2,2,4])\n"
     "d = reshape(c, shape=[1,4,4])\n"
     "e = add(d, 5)\n"
     "z = sum(e, axis=-1)\n"
     "expect z f32[1,4] {26, 42, 58, 74}\n"},
    {"B007: what is local to a reduction and wanted too",
     "x = input f32[128,1,1] fill 32\n"
     "q = square(&x)\n"
     "s = sum(q, axis=2, keepdims=true)\n"
     "p = add(s, 1e-5)\n"
     "g = sqrt(p)\n"
     "m = mean(&g, axis=1, keepdims=true)\n"
     "n = divide(&g, m)\n"
     "w = multiply(&x, n)\n"
     "o = add(w, x)\n"
     "y = sum(o)\n"
     "expect y f32[] {8192}\n"
     "expect g f32[128,1,1] fill 32 ulp 1\n"},
    {"B011: softmax along the first stored axis",
     "x = input f32[3,4] {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}\n"
     "t = permute_dims(x)\n"
     "y = softmax(t, axis=1)\n"
     "r = slice(y, ranges=[3:])\n"
     "expect r f32[1,3] {3.2932044e-4, 1.7980287e-2, 0.98169035} ulp 4\n"},
    {"B015: a layer norm between two changes of layout",
     "x = input f32[1,4,2,3] iota\n"
     "a = reshape(x, shape=[1,4,6])\n"
     "b = swapaxes(a, axes=[1, 2])\n"
     "c = layer_norm(b, axis=-1)\n"
     "d = swapaxes(c, axes=[1, 2])\n"
     "y = reshape(d, shape=[1,4,2,3])\n"
     "expect y f32[1,4,2,3] {-1.3416406, -1.3416406, -1.3416406, -1.3416406, -1.3416406, -1.3416406, "
     "-0.44721355, -0.44721355, -0.44721355, -0.44721355, -0.44721355, -0.44721355, 0.44721355, 0.44721355, "
     "0.44721355, 0.44721355, 0.44721355, 0.44721355, 1.3416406, 1.3416406, 1.3416406, 1.3416406, 1.3416406, "
     "1.3416406} ulp 4\n"},
    {"B021: no output of the shape of an input",
     "v = input f32[1,2,3,3] {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 20, 30, 40, 50, 60, 70, 80, 90}\n"
     "s = sum(&v, axis=[2, 3])\n"
     "w = reshape(v, shape=[2,3,3,1])\n"
     "e = input f32[2] {-0.4, 0.133333333}\n"
     "p = multiply(w, e)\n"
     "y = sum(p, axis=[1, 2])\n"
     "expect s f32[1,2] {45, 450}\n"
     "expect y f32[2,2] {-18, 6, -180, 60} ulp 4\n"},
    {"B029: the largest of two inner axes and where it came from",
     "x = rand(shape=[1,2,2,2,2,64], dtype=f32)\n"
     "m = max(&x, axis=[2, 4], keepdims=true)\n"
     "y = equal(x, m)\n"
     "a = any(y, axis=[2, 4])\n"
     "expect a bool[1,2,2,64] fill true\n"},
    {"B033: a product of matrices by broadcasting",
     "a = input f32[3,2] {1, 2, 3, 4, 5, 6}\n"
     "b = input f32[3,2] {1, 0, 0, 1, 1, 1}\n"
     "p = expand_dims(a, axis=2)\n"
     "q = expand_dims(b, axis=1)\n"
     "m = multiply(p, q)\n"
     "y = sum(m, axis=0)\n"
     "expect y f32[2,2] {6, 8, 8, 10}\n"},
    {"B035: the epsilon of a norm",
     "x = input f32[1,4] fill 0.01\n"
     "y0 = rms_norm(&x, axis=1, eps=0)\n"
     "expect y0 f32[1,4] fill 1 ulp 4\n"
     "y1 = rms_norm(&x, axis=1, eps=1e-6)\n"
     "expect y1 f32[1,4] fill 0.9950372 ulp 4\n"
     "y2 = rms_norm(&x, axis=1, eps=1e-4)\n"
     "expect y2 f32[1,4] fill 0.70710677 ulp 4\n"
     "y3 = rms_norm(&x, axis=1, eps=0.1)\n"
     "expect y3 f32[1,4] fill 0.031606976 ulp 4\n"
     "y4 = rms_norm(&x, axis=1, eps=1)\n"
     "expect y4 f32[1,4] fill 0.0099995 ulp 4\n"},
    {"B036: a weight for each row",
     "x = input f32[3,8] iota\n"
     "w = input f32[3,1] {1, 2, 3}\n"
     "n = rms_norm(&x, axis=1)\n"
     "p = rms_norm(x, axis=1)\n"
     "y = multiply(p, &w)\n"
     "z = multiply(n, w)\n"
     "same = equal(y, z)\n"
     "expect same bool[3,8] fill true\n"},
    {"B037: which operand of the addition",
     "x = input f32[1,4] fill 1\n"
     "w = input f32[4] fill 2\n"
     "b = input f32[4] {1, 2, 3, 4}\n"
     "n = rms_norm(x, axis=-1, eps=0)\n"
     "p = multiply(n, w)\n"
     "y = add(&p, &b)\n"
     "z = add(b, p)\n"
     "expect y f32[1,4] {3, 4, 5, 6}\n"
     "expect z f32[1,4] {3, 4, 5, 6}\n"},
    {"B039: sums of permuted tensors",
     "x = input f32[2,3] iota\n"
     "t = permute_dims(x)\n"
     "s = sum(t)\n"
     "expect s f32[] {15}\n"
     "y = input f32[4,5,6] iota\n"
     "u = permute_dims(y, axes=[2, 0, 1])\n"
     "v = sum(u)\n"
     "expect v f32[] {7140}\n"},
};

static const report specials[] = {
    {"B203: softmax of very large and very negative values",
     "x = input f32[3] {0.1, 0.2, 0.3}\n"
     "a = multiply(&x, 1e14)\n"
     "b = softmax(a, axis=0)\n"
     "expect b f32[3] {0, 0, 1}\n"
     "c = multiply(x, -1e14)\n"
     "d = softmax(c, axis=0)\n"
     "expect d f32[3] {1, 0, 0}\n"
     "y = input f32[2,3] {inf, inf, inf, -inf, -inf, -inf}\n"
     "e = softmax(y, axis=1)\n"
     "expect e f32[2,3] fill nan\n"},
    {"B204: a row that is masked everywhere is NaN, unless a guard says otherwise",
     "x = input f32[2,3] {1, 1, 1, 2, 2, 2}\n"
     "k = input bool[2,1] {false, true}\n"
     "m = where(k, -inf, x)\n"
     "s = softmax(m, axis=1)\n"
     "v = input f32[3] {1, 2, 3}\n"
     "p = multiply(s, v)\n"
     "y = sum(p, axis=1)\n"
     "expect y f32[2] {2, nan} ulp 4\n"
     "b = isnan(&y)\n"
     "z = where(b, 0, y)\n"
     "expect z f32[2] {2, 0} ulp 4\n"},
};

TEST(fused_reductions) { RUN_GUARDED(fused); }
TEST(infinite_rows) { RUN_GUARDED(specials); }

/* B221: channels far from zero. */
enum { CHANNELS = 8, PIXELS = 64 * 64 };

static void far_from_zero(smelt_context *ctx) {
  static float items[CHANNELS * PIXELS], y[CHANNELS * PIXELS];
  smelt_error err = {0};
  for (int i = 0; i < CHANNELS * PIXELS; i++) items[i] = (float)(1000 + sin(i));
  smelt_tensor *x = smelt_from_host(ctx, SMELT_F32, DIMS(1, CHANNELS, 64, 64), items);
  CHECK_OK(smelt_into_host(smelt_group_norm(x, CHANNELS, 1e-5), SMELT_F32, y, sizeof y, &err), err);
  for (int c = 0; c < CHANNELS; c++) {
    const float *of = items + (size_t)c * PIXELS;
    double sum = 0, squares = 0;
    for (int i = 0; i < PIXELS; i++) sum += (double)of[i];
    for (int i = 0; i < PIXELS; i++) squares += pow((double)of[i] - sum / PIXELS, 2);
    double scale = 1 / sqrt(squares / PIXELS + 1e-5);
    for (int i = 0; i < PIXELS; i++)
      CHECK(fabs((double)y[c * PIXELS + i] - ((double)of[i] - sum / PIXELS) * scale) < 1e-3);
  }
}

TEST(norms_far_from_zero) { run_on_processor(far_from_zero); }

TEST_MAIN(CASE(fused_reductions), CASE(infinite_rows), CASE(norms_far_from_zero))
