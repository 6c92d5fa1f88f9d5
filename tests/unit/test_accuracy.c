/* SPDX-License-Identifier: Apache-2.0
 *
 * How exact functions of floats are, in units of the last place (ULP) of the true
 * result: f32 against libm's double functions at values spread over all floats, f64
 * against its long double functions at samples. No error may exceed the
 * function's bound, and docs/accuracy.md must say what is measured.
 *
 *   test_accuracy --write       writes docs/accuracy.md
 *   test_accuracy --exhaustive [NAME...]  every f32, for all functions of one
 *                               operand or those named; prints rows of the table */
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/kops.h"
#include "core/scalar.h"
#include "harness.h"

enum { BATCH = 1024, SAMPLES = 1 << 16, LINE = 160 };

static const char table_path[] = "docs/accuracy.md";
/* Every how many-th float is tested; prime, so that all fractions occur. */
static uint64_t stride = 2039;

/* --- References ------------------------------------------------------------------------ */

static double sigmoid(double x) { return 1 / (1 + exp(-x)); }
static long double sigmoidl(long double x) { return 1 / (1 + expl(-x)); }

/* `lo` to `hi` is where a function of f64 is sampled most densely. */
typedef struct unary {
  const char *name;
  double (*f32_truth)(double);
  long double (*f64_truth)(long double);
  double bound, lo, hi;
} unary;

static const unary unaries[] = {
    {"exp", exp, expl, 2, -750, 720},
    {"exp2", exp2, exp2l, 2, -1080, 1030},
    {"expm1", expm1, expm1l, 4, -40, 720},
    {"log", log, logl, 2, 0, 4},
    {"log2", log2, log2l, 2, 0, 4},
    {"log10", log10, log10l, 4, 0, 4},
    {"log1p", log1p, log1pl, 4, -1, 3},
    {"sin", sin, sinl, 2, -100, 100},
    {"cos", cos, cosl, 2, -100, 100},
    {"tan", tan, tanl, 4, -100, 100},
    {"asin", asin, asinl, 4, -1, 1},
    {"acos", acos, acosl, 4, -1, 1},
    {"atan", atan, atanl, 4, -4, 4},
    {"sinh", sinh, sinhl, 4, -5, 5},
    {"cosh", cosh, coshl, 4, -5, 5},
    {"tanh", tanh, tanhl, 2, -5, 5},
    {"asinh", asinh, asinhl, 4, -5, 5},
    {"acosh", acosh, acoshl, 4, 1, 5},
    {"atanh", atanh, atanhl, 4, -1, 1},
    {"erf", erf, erfl, 2, -6, 6},
    {"sigmoid", sigmoid, sigmoidl, 2, -40, 40},
};

typedef struct binary {
  const char *name;
  double (*f32_truth)(double, double);
  long double (*f64_truth)(long double, long double);
} binary;

static const binary binaries[] = {
    {"pow", pow, powl},
    {"atan2", atan2, atan2l},
    {"hypot", hypot, hypotl},
};
enum { N_UNARY = sizeof unaries / sizeof unaries[0], N_BINARY = sizeof binaries / sizeof binaries[0] };
static const double binary_bound = 4;

/* sin, cos and tan are promised up to here. */
static const double reduction_limit = 0x1p20;

static bool is_trigonometric(const char *name) {
  return strcmp(name, "sin") == 0 || strcmp(name, "cos") == 0 || strcmp(name, "tan") == 0;
}

/* --- Errors ------------------------------------------------------------------------------ */

/* The largest error so far and where it was. */
typedef struct worst {
  double ulp, x, y;
} worst;

/* The error of `got`, whose format has `digits` binary digits and `lowest` as the
 * exponent of its smallest normal number. An infinity counts as the power of two
 * that it stands in for. */
static double error_of(long double got, long double truth, int digits, int lowest) {
  if (isnan(truth) || isnan(got)) return isnan(truth) && isnan(got) ? 0 : INFINITY;
  if (isinf(truth)) return got == truth ? 0 : INFINITY;
  int highest = 1 - lowest, exponent = truth == 0 ? lowest : ilogbl(truth);
  long double limit = ldexpl(1, highest + 1);
  if (isinf(got)) got = copysignl(limit, got);
  if (fabsl(truth) > limit) truth = copysignl(limit, truth);
  if (exponent < lowest) exponent = lowest;
  if (exponent > highest) exponent = highest;
  return (double)ldexpl(fabsl(got - truth), digits - 1 - exponent);
}

/* The same for f32, fast: the true result is a double, which has digits to spare. */
static double error_f32(float got, double truth) {
  float rounded = (float)truth;
  sm_word word = {.F32 = rounded};
  int exponent = (int)(word.U32 >> 23 & 255);
  if (exponent == 0 || exponent == 255)
    return error_of((long double)got, (long double)truth, FLT_MANT_DIG, FLT_MIN_EXP - 1);
  sm_word unit = {.F64 = 0};
  unit.U64 = (uint64_t)(1023 + 150 - exponent) << 52;
  double error = fabs((double)got - truth) * unit.F64;
  return isnan(error) ? INFINITY : error;
}

static void note(worst *w, double error, double x, double y) {
  if (error > w->ulp) *w = (worst){error, x, y};
}

static sm_kop_loop *find_loop(const char *name, smelt_dtype dtype) {
  sm_kop kop = sm_kop_find(name, strlen(name));
  CHECK(kop != SM_KOP_NONE);
  return sm_kop_eval(kop, dtype, dtype);
}

/* --- Functions of one f32 -------------------------------------------------------------------- */

/* Whether there is nothing to measure, only limits to be kept. */
static bool is_beyond(const unary *f, float x, float got) {
  if (!is_trigonometric(f->name) || !(fabsf(x) > (float)reduction_limit) || isinf(x)) return false;
  bool is_tangent = f->name[0] == 't';
  CHECK(!isnan(got) && (is_tangent || fabsf(got) <= 1));
  return true;
}

static void measure_batch(const unary *f, sm_kop_loop *loop, const float *x, size_t n, worst *w) {
  float got[BATCH];
  loop(n, got, (const void *const[]){x}, 0);
  for (size_t i = 0; i < n; i++) {
    if (is_beyond(f, x[i], got[i])) continue;
    note(w, error_f32(got[i], f->f32_truth((double)x[i])), (double)x[i], 0);
  }
}

static worst measure_unary_f32(const unary *f) {
  sm_kop_loop *loop = find_loop(f->name, SMELT_F32);
  worst w = {0, 0, 0};
  float x[BATCH];
  size_t n = 0;
  for (uint64_t bits = 0; bits <= UINT32_MAX; bits += stride) {
    x[n++] = (sm_word){.U32 = (uint32_t)bits}.F32;
    if (n < BATCH && bits + stride <= UINT32_MAX) continue;
    measure_batch(f, loop, x, n, &w);
    n = 0;
  }
  return w;
}

/* --- Samples ------------------------------------------------------------------------------------- */

/* SplitMix64 (Steele et al., 2014). */
static uint64_t next_bits(uint64_t *state) {
  uint64_t z = *state += 0x9E3779B97F4A7C15u;
  z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9u;
  z = (z ^ z >> 27) * 0x94D049BB133111EBu;
  return z ^ z >> 31;
}

static double between(uint64_t *state, double lo, double hi) {
  return lo + (hi - lo) * ((double)(next_bits(state) >> 11) * 0x1p-53);
}

/* A random sign and fraction with an exponent below `limit` in magnitude. */
static double spread(uint64_t *state, double limit) {
  double magnitude = exp2(between(state, -limit, limit));
  return next_bits(state) & 1 ? magnitude : -magnitude;
}

/* --- Functions of one f64 -------------------------------------------------------------------------- */

/* Of four samples two are between lo and hi, one has any exponent, one a small one. */
static double sample_unary(const unary *f, uint64_t *state) {
  double x = between(state, f->lo, f->hi);
  uint64_t choice = next_bits(state) & 3;
  if (choice == 0) x = spread(state, 1074);
  if (choice == 1) x = spread(state, 25);
  return is_trigonometric(f->name) ? fmod(x, reduction_limit) : x;
}

static worst measure_unary_f64(const unary *f) {
  sm_kop_loop *loop = find_loop(f->name, SMELT_F64);
  worst w = {0, 0, 0};
  uint64_t state = 1;
  for (int i = 0; i < SAMPLES; i++) {
    double x = sample_unary(f, &state), got;
    loop(1, &got, (const void *const[]){&x}, 0);
    note(&w, error_of((long double)got, f->f64_truth((long double)x), DBL_MANT_DIG, DBL_MIN_EXP - 1), x, 0);
  }
  return w;
}

/* --- Functions of two operands ------------------------------------------------------------------------ */

/* Operands whose power is neither 0 nor infinite, up to the exponent `limit`. */
static void sample_power(uint64_t *state, double limit, double *x, double *y) {
  double small = exp2(between(state, -20, log2(limit)));
  *x = exp2(next_bits(state) & 1 ? small : -small);
  *y = between(state, -limit, limit) / log2(*x);
  if (next_bits(state) % 8 == 0) *x = -*x, *y = rint(*y);
}

static void sample_pair(const binary *f, uint64_t *state, double limit, double *x, double *y) {
  if (strcmp(f->name, "pow") == 0) {
    sample_power(state, limit, x, y);
    return;
  }
  bool near = next_bits(state) & 1;
  *x = near ? between(state, -4, 4) : spread(state, limit);
  *y = near                   ? between(state, -4, 4)
       : next_bits(state) & 1 ? spread(state, limit)
                              : *x * between(state, -2, 2);
}

static worst measure_binary_f32(const binary *f) {
  sm_kop_loop *loop = find_loop(f->name, SMELT_F32);
  worst w = {0, 0, 0};
  uint64_t state = 1, n = (uint64_t)SAMPLES * 16 * 2039 / stride;
  for (uint64_t i = 0; i < n; i++) {
    double a, b;
    sample_pair(f, &state, 149, &a, &b);
    float x = (float)a, y = (float)b, got;
    loop(1, &got, (const void *const[]){&x, &y}, 0);
    note(&w, error_f32(got, f->f32_truth((double)x, (double)y)), (double)x, (double)y);
  }
  return w;
}

static worst measure_binary_f64(const binary *f) {
  sm_kop_loop *loop = find_loop(f->name, SMELT_F64);
  worst w = {0, 0, 0};
  uint64_t state = 1;
  for (int i = 0; i < SAMPLES; i++) {
    double x, y, got;
    sample_pair(f, &state, 1074, &x, &y);
    loop(1, &got, (const void *const[]){&x, &y}, 0);
    long double truth = f->f64_truth((long double)x, (long double)y);
    note(&w, error_of((long double)got, truth, DBL_MANT_DIG, DBL_MIN_EXP - 1), x, y);
  }
  return w;
}

/* --- The table ---------------------------------------------------------------------------------------------
 */

static const char table_head[] =
    "<!-- Written by test_accuracy --write: do not edit. -->\n"
    "\n"
    "# Accuracy\n"
    "\n"
    "How far functions of floats are from the true result, in units of the last place of the true\n"
    "result. The error is the largest that the test finds, at the operands beside it; the bound is what\n"
    "Smelt promises. f32 is tested at values spread over all floats (`test_accuracy --exhaustive`: at\n"
    "all), functions of two operands and f64 at samples. `add`, `subtract`, `multiply`, `divide` and `sqrt`\n"
    "are rounded correctly, `rsqrt` is the two operations in it, `remainder` and `fmod` are exact before "
    "they\n"
    "are rounded.\n"
    "\n"
    "sin, cos and tan keep the bound up to a magnitude of 2^20. Beyond that they lose digits, but sin and\n"
    "cos stay in [-1, 1]. All functions accept and return denormal numbers, and give the same bits on every\n"
    "CPU.\n"
    "\n"
    "| Function | dtype | Error (ULP) | at | Bound |\n"
    "| --- | --- | --- | --- | --- |\n";

static void format_row(char line[LINE], const char *name, const char *dtype, bool pair, const worst *w,
                       double bound) {
  char place[64];
  if (pair) (void)snprintf(place, sizeof place, "%.17g, %.17g", w->x, w->y);
  else (void)snprintf(place, sizeof place, "%.17g", w->x);
  (void)snprintf(line, LINE, "| %s | %s | %.2f | %s | %g |\n", name, dtype, w->ulp, place, bound);
}

/* The error that the checked-in table gives, NaN if it has no such row. */
static double table_error(const char *name, const char *dtype) {
  char line[LINE], start[40];
  (void)snprintf(start, sizeof start, "| %s | %s | ", name, dtype);
  double error = NAN;
  FILE *file = fopen(table_path, "r");
  CHECK(file != NULL);
  while (fgets(line, sizeof line, file)) {
    if (strncmp(line, start, strlen(start)) == 0) error = strtod(line + strlen(start), NULL);
  }
  (void)fclose(file);
  return error;
}

/* Two libms agree to more than a hundredth of an ULP. */
static void check_row(const char *name, const char *dtype, bool pair, worst w, double bound) {
  char line[LINE];
  format_row(line, name, dtype, pair, &w, bound);
  if (w.ulp > bound) printf("above the bound: %s", line);
  CHECK(w.ulp <= bound);
  if (!(fabs(table_error(name, dtype) - w.ulp) < 0.02)) printf("measured: %s", line);
  CHECK(fabs(table_error(name, dtype) - w.ulp) < 0.02);
}

TEST(f32) {
  for (size_t i = 0; i < N_UNARY; i++) {
    check_row(unaries[i].name, "f32", false, measure_unary_f32(&unaries[i]), unaries[i].bound);
  }
  for (size_t i = 0; i < N_BINARY; i++) {
    check_row(binaries[i].name, "f32", true, measure_binary_f32(&binaries[i]), binary_bound);
  }
}

TEST(f64) {
  if (LDBL_MANT_DIG < 64) TEST_SKIP("long double has no more digits than double here");
  for (size_t i = 0; i < N_UNARY; i++) {
    check_row(unaries[i].name, "f64", false, measure_unary_f64(&unaries[i]), unaries[i].bound);
  }
  for (size_t i = 0; i < N_BINARY; i++) {
    check_row(binaries[i].name, "f64", true, measure_binary_f64(&binaries[i]), binary_bound);
  }
}

static void write_row(FILE *file, const char *name, const char *dtype, bool pair, worst w, double bound) {
  char line[LINE];
  format_row(line, name, dtype, pair, &w, bound);
  (void)fputs(line, file);
}

static int write_table(void) {
  FILE *file = fopen(table_path, "w");
  if (!file) return perror(table_path), 1;
  (void)fputs(table_head, file);
  for (size_t i = 0; i < N_UNARY; i++) {
    write_row(file, unaries[i].name, "f32", false, measure_unary_f32(&unaries[i]), unaries[i].bound);
    write_row(file, unaries[i].name, "f64", false, measure_unary_f64(&unaries[i]), unaries[i].bound);
  }
  for (size_t i = 0; i < N_BINARY; i++) {
    write_row(file, binaries[i].name, "f32", true, measure_binary_f32(&binaries[i]), binary_bound);
    write_row(file, binaries[i].name, "f64", true, measure_binary_f64(&binaries[i]), binary_bound);
  }
  return fclose(file) == 0 ? 0 : 1;
}

static bool is_named(const char *name, int n, char **names) {
  for (int i = 0; i < n; i++) {
    if (strcmp(names[i], name) == 0) return true;
  }
  return n == 0;
}

/* Hours of work, so without the harness and its limit of time. */
static int measure_all(int n, char **names) {
  bool ok = true;
  stride = 1;
  for (size_t i = 0; i < N_UNARY; i++) {
    if (!is_named(unaries[i].name, n, names)) continue;
    worst w = measure_unary_f32(&unaries[i]);
    write_row(stdout, unaries[i].name, "f32", false, w, unaries[i].bound);
    (void)fflush(stdout);
    ok &= w.ulp <= unaries[i].bound;
  }
  return ok ? 0 : 1;
}

int main(int argc, char **argv) {
  static const test_case cases[] = {CASE(f32), CASE(f64)};
  if (argc == 2 && strcmp(argv[1], "--write") == 0) return write_table();
  if (argc >= 2 && strcmp(argv[1], "--exhaustive") == 0) return measure_all(argc - 2, argv + 2);
  return test_main(argc, argv, cases, sizeof cases / sizeof cases[0]);
}
