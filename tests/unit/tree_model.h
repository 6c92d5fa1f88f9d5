/* SPDX-License-Identifier: Apache-2.0
 *
 * The canonical tree once more, as a recursion over a list of floats: what tests compare
 * reductions with. model_float("sum", x, n), model_double(...) and so on. */
#ifndef TESTS_TREE_MODEL_H
#define TESTS_TREE_MODEL_H

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

/* The largest power of two below n. */
static int64_t power_below(int64_t n) {
  int64_t p = 1;
  while (2 * p < n) p *= 2;
  return p;
}

#define DEFINE_TREE(T)                                                                    \
  static T add_##T(T a, T b) { return a + b; }                                            \
  static T mul_##T(T a, T b) { return a * b; }                                            \
  static T max_##T(T a, T b) { return isnan(a) ? a : isnan(b) ? b : a > b ? a : b; }      \
  static T min_##T(T a, T b) { return isnan(a) ? a : isnan(b) ? b : a < b ? a : b; }      \
  /* Lanes first, first + step, ... of a block. */                                        \
  static T lanes_##T(T (*op)(T, T), T none, const T *x, int64_t n, int first, int step) { \
    if (step < 16) {                                                                      \
      T a = lanes_##T(op, none, x, n, first, 2 * step);                                   \
      return op(a, lanes_##T(op, none, x, n, first + step, 2 * step));                    \
    }                                                                                     \
    T sum = none;                                                                         \
    for (int64_t i = first; i < n; i += 16) sum = op(sum, x[i]);                          \
    return sum;                                                                           \
  }                                                                                       \
  static T tree_##T(T (*op)(T, T), T none, const T *x, int64_t n) {                       \
    int64_t blocks = (n + 255) / 256, left = 256 * power_below(blocks);                   \
    if (blocks <= 1) return lanes_##T(op, none, x, n, 0, 1);                              \
    T a = tree_##T(op, none, x, left);                                                    \
    return op(a, tree_##T(op, none, x + left, n - left));                                 \
  }                                                                                       \
  static T model_##T(const char *name, const T *x, int64_t n) {                           \
    if (!strcmp(name, "prod")) return tree_##T(mul_##T, 1, x, n);                         \
    if (!strcmp(name, "max")) return tree_##T(max_##T, -(T)INFINITY, x, n);               \
    if (!strcmp(name, "min")) return tree_##T(min_##T, (T)INFINITY, x, n);                \
    T sum = n ? tree_##T(add_##T, (T)-0.0, x, n) : 0;                                     \
    return !strcmp(name, "mean") ? sum / (T)n : sum;                                      \
  }
DEFINE_TREE(float)
DEFINE_TREE(double)

/* The sum of squares of what elements differ from their mean, or their mean; by no tree, in two passes. */
static inline double model_centered(bool averages, const double *x, int64_t n) {
  double mean = 0, squares = 0;
  for (int64_t i = 0; i < n; i++) mean += x[i] / (double)n;
  for (int64_t i = 0; i < n; i++) squares += (x[i] - mean) * (x[i] - mean);
  return averages ? squares / (double)n : squares;
}

/* A NaN is better than anything else, the first one wins. */
static bool model_better(double a, double best, bool largest) {
  if (isnan(best)) return false;
  return isnan(a) || (largest ? a > best : a < best);
}

/* For argmax and argmin. */
static int64_t model_index(const char *name, const double *x, int64_t n) {
  int64_t found = 0;
  for (int64_t i = 1; i < n; i++) found = model_better(x[i], x[found], !strcmp(name, "argmax")) ? i : found;
  return found;
}

/* Sums and products of integers, modulo 2^64. */
static uint64_t model_word(const char *name, const double *x, int64_t n) {
  uint64_t sum = 0, product = 1;
  for (int64_t i = 0; i < n; i++) sum += (uint64_t)(int64_t)x[i];
  for (int64_t i = 0; i < n; i++) product *= (uint64_t)(int64_t)x[i];
  return strcmp(name, "sum") ? product : sum;
}

static bool model_truth(const char *name, const double *x, int64_t n) {
  bool any = false, all = true;
  for (int64_t i = 0; i < n; i++) {
    any = any || x[i] != 0;
    all = all && x[i] != 0;
  }
  return strcmp(name, "any") ? all : any;
}

#endif
