/* SPDX-License-Identifier: Apache-2.0
 *
 * Rows that are reduced and used again, as in softmax and normalizations: one launch, bytes
 * of inputs and outputs once, values of the device ref bit for bit. All extents and dtypes
 * go through one context, so that a kernel that is found where it does not belong is seen. */
#define _POSIX_C_SOURCE 200809L
#include <math.h>
#include <stdlib.h>

#include "api_fixture.h"

enum { MOST_OUTPUTS = 3 };

/* Values of the tensor that is normalized, number `salt` of a program. */
typedef struct problem {
  smelt_dtype dtype;
  int64_t rows, columns;
  int axis;
  bool special;            /* there are infinities and NaNs */
  bool transposed, sliced; /* it is such a view */
} problem;

static double value_number(const problem *p, int64_t i, int salt) {
  static const double special[] = {INFINITY, -INFINITY, NAN, 0.0, -0.0};
  uint64_t h = ((uint64_t)i + 1) * UINT64_C(0x9E3779B97F4A7C15) * (uint64_t)(2 * salt + 1);
  h ^= h >> 29;
  if (p->special && h % 97 == 0) return special[h / 97 % 5];
  return (double)((h >> 20) % 4001) / 500.0 - 4.0;
}

static smelt_tensor *filled(smelt_context *ctx, const problem *p, int64_t rows, int64_t columns, int salt) {
  size_t n = (size_t)(rows * columns);
  double *values = malloc((n + 1) * sizeof *values);
  CHECK(values != NULL);
  for (size_t i = 0; i < n; i++) values[i] = value_number(p, (int64_t)i, salt);
  smelt_tensor *t = smelt_from_host(ctx, SMELT_F64, DIMS(rows, columns), values);
  free(values);
  return smelt_astype(t, p->dtype);
}

/* In memory, of shape [rows, columns]. */
static smelt_tensor *input(smelt_context *ctx, const problem *p, int salt) {
  int64_t more = p->sliced ? 3 : 0;
  smelt_tensor *t = p->transposed ? filled(ctx, p, p->columns + more, p->rows, salt)
                                  : filled(ctx, p, p->rows, p->columns + more, salt);
  CHECK_STATUS(smelt_eval((const smelt_tensor *[]){t}, 1, NULL), SMELT_OK);
  if (p->transposed) t = smelt_swapaxes(t, 0, 1);
  return p->sliced ? smelt_slice(t, (smelt_range[]){{0, p->rows, 1}, {1, 1 + p->columns, 1}}, 2) : t;
}

/* --- Programs -------------------------------------------------------------------------- */

/* Takes x; how many results there are. */
typedef int program(smelt_context *ctx, const problem *p, smelt_tensor *x, smelt_tensor **out);

static smelt_tensor *max_of(const problem *p, smelt_tensor *x) { return smelt_max(x, &p->axis, 1, true); }
static smelt_tensor *mean_of(const problem *p, smelt_tensor *x) { return smelt_mean(x, &p->axis, 1, true); }
static smelt_tensor *sum_of(const problem *p, smelt_tensor *x) {
  return smelt_sum(x, &p->axis, 1, true, SMELT_DTYPE_NONE);
}

static smelt_tensor *exp_of_shifted(const problem *p, smelt_tensor *x) {
  return smelt_exp(smelt_subtract(smelt_ref(x), max_of(p, x)));
}

static int softmax(smelt_context *ctx, const problem *p, smelt_tensor *x, smelt_tensor **out) {
  (void)ctx;
  smelt_tensor *e = exp_of_shifted(p, x);
  smelt_tensor *sum = sum_of(p, smelt_ref(e));
  out[0] = smelt_divide(e, sum);
  return 1;
}

/* What lies between lives on. */
static int kept_softmax(smelt_context *ctx, const problem *p, smelt_tensor *x, smelt_tensor **out) {
  (void)ctx;
  out[0] = exp_of_shifted(p, x);
  out[1] = sum_of(p, smelt_ref(out[0]));
  out[2] = smelt_divide(smelt_ref(out[0]), smelt_ref(out[1]));
  return 3;
}

static int scaled_masked_softmax(smelt_context *ctx, const problem *p, smelt_tensor *x, smelt_tensor **out) {
  smelt_tensor *mask = smelt_greater(input(ctx, p, 2), -2.0);
  smelt_tensor *e = exp_of_shifted(p, smelt_where(mask, smelt_mul(x, 0.125), -INFINITY));
  out[0] = smelt_mul(smelt_ref(e), smelt_reciprocal(sum_of(p, e)));
  return 1;
}

static int composite_softmax(smelt_context *ctx, const problem *p, smelt_tensor *x, smelt_tensor **out) {
  (void)ctx;
  out[0] = smelt_softmax(smelt_ref(x), p->axis);
  out[1] = smelt_log_softmax(x, p->axis);
  return 2;
}

static smelt_tensor *centred(const problem *p, smelt_tensor *x) {
  return smelt_subtract(smelt_ref(x), mean_of(p, x));
}

static int layer_norm(smelt_context *ctx, const problem *p, smelt_tensor *x, smelt_tensor **out) {
  smelt_tensor *gamma = filled(ctx, p, 1, p->columns, 3), *beta = filled(ctx, p, 1, p->columns, 4);
  CHECK_STATUS(smelt_eval((const smelt_tensor *[]){gamma, beta}, 2, NULL), SMELT_OK);
  smelt_tensor *d = centred(p, x), *variance = mean_of(p, smelt_square(smelt_ref(d)));
  smelt_tensor *y = smelt_mul(d, smelt_rsqrt(smelt_add(variance, 1e-5)));
  out[0] = smelt_add(smelt_mul(y, gamma), beta);
  return 1;
}

static int rms_norm(smelt_context *ctx, const problem *p, smelt_tensor *x, smelt_tensor **out) {
  (void)ctx;
  out[0] = smelt_rms_norm(x, &p->axis, 1, 1e-5);
  return 1;
}

/* Of two tensors, in a single pass. */
static int dot(smelt_context *ctx, const problem *p, smelt_tensor *x, smelt_tensor **out) {
  out[0] = sum_of(p, smelt_add(smelt_mul(x, input(ctx, p, 7)), 0.25));
  return 1;
}

static int z_score(smelt_context *ctx, const problem *p, smelt_tensor *x, smelt_tensor **out) {
  (void)ctx;
  smelt_tensor *std = smelt_std(smelt_ref(x), &p->axis, 1, true, 1.0);
  out[0] = smelt_divide(centred(p, smelt_ref(x)), smelt_ref(std));
  out[1] = std;
  smelt_drop(x);
  return 2;
}

/* Several inputs, and a row scalar among them. */
static int several_inputs(smelt_context *ctx, const problem *p, smelt_tensor *x, smelt_tensor **out) {
  smelt_tensor *bias = p->axis == 1 ? filled(ctx, p, p->rows, 1, 5) : filled(ctx, p, 1, p->columns, 5);
  CHECK_STATUS(smelt_eval((const smelt_tensor *[]){bias}, 1, NULL), SMELT_OK);
  smelt_tensor *y = smelt_add(smelt_mul(x, input(ctx, p, 6)), smelt_ref(bias));
  smelt_tensor *scale = smelt_mul(max_of(p, smelt_ref(y)), bias);
  out[0] = smelt_subtract(y, scale);
  return 1;
}

/* Variances without keepdims, of means with it. */
static int variance(smelt_context *ctx, const problem *p, smelt_tensor *x, smelt_tensor **out) {
  (void)ctx;
  out[0] = smelt_var(x, &p->axis, 1, false, 0.0);
  return 1;
}

/* Where largest elements are: an index is a row scalar too. */
static int largest(smelt_context *ctx, const problem *p, smelt_tensor *x, smelt_tensor **out) {
  (void)ctx;
  smelt_tensor *at = smelt_astype(smelt_argmax(smelt_ref(x), &p->axis, 1, true), p->dtype);
  smelt_tensor *equal = smelt_equal(smelt_ref(x), max_of(p, smelt_ref(x)));
  out[0] = smelt_add(smelt_astype(equal, p->dtype), smelt_mul(x, at));
  return 1;
}

/* Three passes, of which the last reduces. */
static int log_sum(smelt_context *ctx, const problem *p, smelt_tensor *x, smelt_tensor **out) {
  (void)ctx;
  smelt_tensor *top = max_of(p, smelt_ref(x)), *e = smelt_exp(smelt_subtract(x, smelt_ref(top)));
  smelt_tensor *share = smelt_divide(smelt_ref(e), sum_of(p, smelt_ref(e)));
  out[0] = smelt_add(sum_of(p, smelt_mul(share, e)), top);
  return 1;
}

/* A label for each row, or column, some of them from the end and some beyond it. */
static smelt_tensor *labels(smelt_context *ctx, const problem *p) {
  int64_t length = p->axis ? p->columns : p->rows, n = p->axis ? p->rows : p->columns, at[2600];
  CHECK(n <= 2600);
  for (int64_t i = 0; i < n; i++) at[i] = i % 17 == 5 ? length + 3 : i * 7 % length - (i % 3 ? 0 : length);
  return smelt_from_host(ctx, SMELT_I64, DIMS(p->axis ? n : 1, p->axis ? 1 : n), at);
}

static int cross_entropy(smelt_context *ctx, const problem *p, smelt_tensor *x, smelt_tensor **out) {
  smelt_tensor *top = max_of(p, smelt_ref(x)), *at = smelt_add(labels(ctx, p), 0);
  smelt_tensor *chosen = smelt_take_along_axis(smelt_ref(x), at, p->axis);
  smelt_tensor *sum = sum_of(p, smelt_exp(smelt_subtract(x, smelt_ref(top))));
  out[0] = smelt_subtract(smelt_add(smelt_log(sum), top), chosen);
  return 1;
}

/* Of integers, too. */
static int shifted(smelt_context *ctx, const problem *p, smelt_tensor *x, smelt_tensor **out) {
  (void)ctx;
  smelt_tensor *low = smelt_min(smelt_ref(x), &p->axis, 1, true);
  smelt_tensor *y = smelt_subtract(x, low);
  out[0] = smelt_sub(smelt_mul(smelt_ref(y), 2), max_of(p, y));
  return 1;
}

/* --- Comparing ---------------------------------------------------------------------------- */

static double *read_all(smelt_tensor *t, int64_t n) {
  smelt_error err;
  double *values = malloc((size_t)(n + 1) * sizeof *values);
  CHECK(values != NULL);
  CHECK_OK(smelt_into_host(smelt_astype(t, SMELT_F64), SMELT_F64, values, (size_t)n * sizeof *values, &err),
           err);
  return values;
}

/* Takes both. */
static void check_values(smelt_tensor *actual, smelt_tensor *expected) {
  int64_t n = smelt_count(actual);
  CHECK_I64(n, smelt_count(expected));
  CHECK_I64(smelt_dtype_of(actual), smelt_dtype_of(expected));
  double *x = read_all(actual, n), *y = read_all(expected, n);
  for (int64_t i = 0; i < n; i++) CHECK_F64(x[i], y[i]);
  free(x);
  free(y);
}

/* The contexts of a test, which see all its problems. */
typedef struct judges {
  smelt_context *cpu, *ref;
} judges;

static judges open_judges(smelt_mode mode) {
  smelt_context_desc desc = SMELT_CONTEXT_DESC_INIT;
  desc.mode = mode;
  judges j = {.cpu = open_context_with(&desc)};
  desc.device = "ref";
  j.ref = open_context_with(&desc);
  return j;
}

static void close_judges(judges *j) {
  close_context(j->cpu);
  close_context(j->ref);
}

static void check_program(const judges *j, program *run, const problem *p) {
  smelt_tensor *out[MOST_OUTPUTS], *expected[MOST_OUTPUTS];
  smelt_tensor *x = input(j->cpu, p, 1);
  smelt_error err = {0};
  int n = run(j->cpu, p, x, out);
  CHECK_OK(smelt_eval((const smelt_tensor **)out, (size_t)n, &err), err);
  CHECK_I64(run(j->ref, p, input(j->ref, p, 1), expected), n);
  for (int i = 0; i < n; i++) check_values(out[i], expected[i]);
}

static program *const float_programs[] = {softmax,
                                          kept_softmax,
                                          scaled_masked_softmax,
                                          composite_softmax,
                                          layer_norm,
                                          rms_norm,
                                          z_score,
                                          several_inputs,
                                          variance,
                                          largest,
                                          log_sum,
                                          cross_entropy,
                                          shifted,
                                          dot};
static program *const integer_programs[] = {shifted, several_inputs, largest};
enum {
  FLOAT_PROGRAMS = sizeof float_programs / sizeof float_programs[0],
  INTEGER_PROGRAMS = sizeof integer_programs / sizeof integer_programs[0]
};

#define EACH(list, i) for (size_t i = 0; i < sizeof(list) / sizeof *(list); i++)

static void check_all(const judges *j, const problem *p) {
  bool floats =
      p->dtype == SMELT_F16 || p->dtype == SMELT_BF16 || p->dtype == SMELT_F32 || p->dtype == SMELT_F64;
  bool few = p->dtype != SMELT_F32 || p->special || p->transposed || p->sliced;
  size_t n = (size_t)(few ? tries(FLOAT_PROGRAMS, 3) : FLOAT_PROGRAMS);
  for (size_t i = 0; i < n && floats; i++) check_program(j, float_programs[i], p);
  for (size_t i = 0; i < INTEGER_PROGRAMS && !floats; i++) check_program(j, integer_programs[i], p);
}

static void check_some(const judges *j, const problem *p) {
  static program *const programs[] = {kept_softmax, layer_norm, largest};
  EACH(programs, i) check_program(j, programs[i], p);
}

/* Multiples of a block and its neighbours, one element, lanes and their neighbours. */
static const int64_t lengths[] = {257, 1, 512, 16, 256, 15, 255, 17, 1024, 1000, 512, 64, 31};
enum { FEW = 5, ALL = sizeof lengths / sizeof lengths[0] };

static void check_lengths(const judges *j, problem p, int n_lengths) {
  for (int i = 0; i < tries(n_lengths, 1); i++) {
    for (p.axis = 0; p.axis < 2; p.axis++) {
      p.rows = p.axis ? 5 : lengths[i];
      p.columns = p.axis ? lengths[i] : 37;
      check_all(j, &p);
    }
  }
}

TEST(lengths_and_dtypes_in_one_context) {
  static const smelt_dtype dtypes[] = {SMELT_F32, SMELT_F64,  SMELT_I32, SMELT_F16,
                                       SMELT_U8,  SMELT_BF16, SMELT_I64};
  judges j = open_judges(SMELT_MODE_STRICT);
  EACH(dtypes, i) check_lengths(&j, (problem){.dtype = dtypes[i]}, dtypes[i] == SMELT_F32 ? ALL : FEW);
  close_judges(&j);
}

/* Rows taken across: many of few elements, also where the last columns fill no vector. */
TEST(many_short_rows) {
  judges j = open_judges(SMELT_MODE_DEFAULT);
  for (int columns = 2; columns <= tries(24, 2); columns += 11) {
    check_all(&j, &(problem){.dtype = SMELT_F32, .rows = 1003, .columns = columns, .axis = 1});
    check_some(&j,
               &(problem){.dtype = SMELT_F64, .rows = 100, .columns = columns, .axis = 1, .sliced = true});
    check_some(
        &j, &(problem){.dtype = SMELT_F32, .rows = 2500, .columns = columns, .axis = 1, .transposed = true});
  }
  close_judges(&j);
}

/* Columns taken wide: with scratch memory for what is kept and without, and by threads together. */
TEST(few_columns) {
  static const int64_t rows[] = {3, 100, 1029, 9001, 30011};
  judges j = open_judges(SMELT_MODE_STRICT);
  EACH(rows, i) {
    int64_t columns = i % 2 ? 12 : 3;
    check_all(&j, &(problem){.dtype = SMELT_F32, .rows = rows[i], .columns = columns, .special = i == 1});
    check_some(&j, &(problem){.dtype = SMELT_F64, .rows = rows[i], .columns = columns + 2});
    check_some(&j, &(problem){.dtype = SMELT_BF16, .rows = rows[i], .columns = columns + 17});
  }
  close_judges(&j);
}

TEST(views_as_inputs) {
  judges j = open_judges(SMELT_MODE_DEFAULT);
  for (int view = tries(0, 1); view < 4; view++)
    check_lengths(&j, (problem){.dtype = SMELT_F32, .transposed = view & 1, .sliced = view & 2}, FEW);
  close_judges(&j);
}

TEST(infinities_and_nans) {
  judges j = open_judges(SMELT_MODE_DEFAULT);
  check_lengths(&j, (problem){.dtype = SMELT_F32, .special = true}, FEW);
  check_lengths(&j, (problem){.dtype = SMELT_F64, .special = true}, FEW);
  close_judges(&j);
}

TEST(the_interpreter_agrees) {
  if (getenv("SMELT_DEVICE")) TEST_SKIP("other devices have no interpreter");
  (void)setenv("SMELT_LLVM", "0", 1);
  judges j = open_judges(SMELT_MODE_DEFAULT);
  check_lengths(&j, (problem){.dtype = SMELT_F32, .special = true}, FEW);
  close_judges(&j);
}

/* Rows that no scratch memory holds, and columns of which a strip is no wider than a line. */
TEST(long_rows_and_columns) {
  judges j = open_judges(SMELT_MODE_DEFAULT);
  check_some(&j, &(problem){.dtype = SMELT_F32, .rows = 9, .columns = 20000, .axis = 1});
  check_some(&j, &(problem){.dtype = SMELT_F32, .rows = 9000, .columns = 40, .axis = 0});
  check_some(&j, &(problem){.dtype = SMELT_F64, .rows = 9, .columns = 8192, .axis = 1});
  close_judges(&j);
}

/* So few and so long that threads share each of them: passes are stages. */
TEST(few_long_rows_and_columns) {
  judges j = open_judges(SMELT_MODE_DEFAULT);
  check_some(&j, &(problem){.dtype = SMELT_F32, .rows = 1, .columns = 1 << 17, .axis = 1});
  check_some(&j, &(problem){.dtype = SMELT_F32, .rows = 2, .columns = 70001, .axis = 1, .special = true});
  check_some(&j, &(problem){.dtype = SMELT_F64, .rows = 20000, .columns = 7, .axis = 0, .sliced = true});
  check_program(&j, shifted, &(problem){.dtype = SMELT_I64, .rows = 1, .columns = 1 << 17, .axis = 1});
  close_judges(&j);
}

/* --- Launches and bytes ------------------------------------------------------------------------ */

enum { N = 100, M = 4 * N * N };

typedef struct expectation {
  program *run;
  int64_t inputs, outputs; /* bytes */
} expectation;

/* Launches of reductions alone: programs bring inputs of their own, which are launched too. */
typedef struct seen {
  int64_t launches, read, written;
} seen;

static void note_launch(void *user, const char *line) {
  seen *s = user;
  const char *read = strstr(line, "read="), *written = strstr(line, "written=");
  if (!strstr(line, "[launch]") || !strstr(line, " reduce_broadcasted_fuse_") || !read || !written) return;
  s->launches++;
  s->read += atoll(read + strlen("read="));
  s->written += atoll(written + strlen("written="));
}

static void check_expectation(const expectation *e, int axis) {
  seen s = {0};
  smelt_context_desc desc = SMELT_CONTEXT_DESC_INIT;
  desc.log = "launch";
  desc.log_fn = note_launch;
  desc.log_user = &s;
  smelt_context *ctx = open_context_with(&desc);
  problem p = {.dtype = SMELT_F32, .rows = N, .columns = N, .axis = axis};
  smelt_tensor *out[MOST_OUTPUTS];
  int n = e->run(ctx, &p, input(ctx, &p, 1), out);
  CHECK_STATUS(smelt_eval((const smelt_tensor **)out, (size_t)n, NULL), SMELT_OK);
  CHECK_I64(s.launches, 1);
  CHECK_I64(s.read, e->inputs);
  CHECK_I64(s.written, e->outputs);
  while (n > 0) smelt_drop(out[--n]);
  close_context(ctx);
}

TEST(one_launch_and_each_byte_once) {
  static const expectation expectations[] = {{softmax, M, M},
                                             {kept_softmax, M, 2L * M + 4L * N},
                                             {scaled_masked_softmax, 2L * M, M},
                                             {composite_softmax, M, 2L * M},
                                             {layer_norm, M + 8L * N, M},
                                             {rms_norm, M, M},
                                             {log_sum, M, 4L * N},
                                             {z_score, M, M + 4L * N},
                                             {variance, M, 4L * N},
                                             {cross_entropy, M + 4L * N + 8L * N, 4L * N}};
  EACH(expectations, i) {
    for (int axis = 0; axis < 2; axis++) check_expectation(&expectations[i], axis);
  }
}

/* Kept axes that have no single stride: what is selected from is copied for that. */
static smelt_tensor *moved_cross_entropy(smelt_context *ctx, int64_t outer, int64_t inner, int64_t length) {
  problem p = {.dtype = SMELT_F32};
  smelt_tensor *flat = filled(ctx, &p, outer * length, inner, 8), *at = filled(ctx, &p, outer, inner, 9);
  CHECK_STATUS(smelt_eval((const smelt_tensor *[]){flat, at}, 2, NULL), SMELT_OK);
  smelt_tensor *x = smelt_reshape(flat, 3, (int64_t[]){outer, length, inner});
  x = smelt_permute_dims(x, (int[]){2, 0, 1}, 3); /* [inner, outer, length] */
  at = smelt_reshape(smelt_swapaxes(at, 0, 1), 3, (int64_t[]){inner, outer, 1});
  smelt_tensor *chosen = smelt_take_along_axis(smelt_ref(x), smelt_astype(at, SMELT_I32), 2);
  return smelt_subtract(smelt_sum(x, (int[]){2}, 1, true, SMELT_DTYPE_NONE), chosen);
}

TEST(selected_from_axes_apart) {
  judges j = open_judges(SMELT_MODE_DEFAULT);
  static const int64_t extents[][3] = {{3, 5, 7}, {70, 3, 40}, {2, 3, 300}, {9, 8, 16}};
  EACH(extents, i) {
    const int64_t *e = extents[i];
    check_values(moved_cross_entropy(j.cpu, e[0], e[1], e[2]), moved_cross_entropy(j.ref, e[0], e[1], e[2]));
  }
  close_judges(&j);
}

/* In memory, of shape [dims[0], dims[1], dims[2], dims[3]]. */
static smelt_tensor *filled4(smelt_context *ctx, const int64_t *dims, int salt) {
  problem p = {.dtype = SMELT_F32};
  smelt_tensor *t = filled(ctx, &p, dims[0] * dims[1], dims[2] * dims[3], salt);
  CHECK_STATUS(smelt_eval((const smelt_tensor *[]){t}, 1, NULL), SMELT_OK);
  return smelt_reshape(t, 4, dims);
}

/* Softmax of attention along an axis, with a mask that is broadcast to heads and one that is broadcast
 * to all but heads and places, and sums that are multiplied by what is broadcast to heads. */
static smelt_tensor *masked_attention(smelt_context *ctx, const int64_t *d, int axis) {
  smelt_tensor *x = filled4(ctx, d, 1);
  smelt_tensor *mask = filled4(ctx, (const int64_t[]){d[0], 1, d[2], d[3]}, 2);
  smelt_tensor *bias = filled4(ctx, (const int64_t[]){1, d[1], 1, d[3]}, 3);
  smelt_tensor *y = smelt_add(smelt_add(x, mask), bias);
  smelt_tensor *e = smelt_exp(smelt_subtract(smelt_ref(y), smelt_max(y, &axis, 1, true)));
  smelt_tensor *sum = smelt_sum(smelt_ref(e), &axis, 1, true, SMELT_DTYPE_NONE);
  int64_t results[] = {d[0], 1, axis == 2 ? 1 : d[2], axis == 3 ? 1 : d[3]};
  return smelt_divide(e, smelt_mul(sum, filled4(ctx, results, 4)));
}

TEST(masks_broadcast_to_axes_between) {
  static const int64_t extents[][4] = {
      {2, 3, 5, 40}, {3, 7, 11, 33}, {3, 2, 4, 256}, {2, 70, 2, 9}, {2, 2, 2, 70001}};
  judges j = open_judges(SMELT_MODE_DEFAULT);
  EACH(extents, i) {
    for (int axis = 2; axis < 4 && (axis == 3 || i < 4); axis++)
      check_values(masked_attention(j.cpu, extents[i], axis), masked_attention(j.ref, extents[i], axis));
  }
  close_judges(&j);
}

/* In one pass a float's largest, whose tree has an order, and whether any is not zero, which has none: each
 * element is worked out once, over what it is made of. */
static void check_both_orders(const judges *j, int64_t rows, int64_t columns) {
  smelt_context *contexts[] = {j->cpu, j->ref};
  smelt_tensor *results[2][3];
  for (int c = 0; c < 2; c++) {
    problem p = {.dtype = SMELT_F32};
    smelt_tensor *y = smelt_softmax(filled(contexts[c], &p, rows, columns, 1), 1);
    results[c][0] = smelt_logsumexp(smelt_ref(y), (int[]){1}, 1, false);
    results[c][1] = smelt_any(smelt_ref(y), (int[]){1}, 1, false);
    results[c][2] = y;
    CHECK_STATUS(smelt_eval((const smelt_tensor *const *)results[c], 3, NULL), SMELT_OK);
  }
  for (int r = 0; r < 3; r++) check_values(results[0][r], results[1][r]);
}

TEST(tasks_with_and_without_an_order) {
  judges j = open_judges(SMELT_MODE_STRICT);
  for (int64_t n = 1; n < 70; n += n < 35 ? 1 : 7) check_both_orders(&j, 5, n);
  for (int64_t n = 255; n < 1100; n += 107) check_both_orders(&j, 2, n);
  close_judges(&j);
}

/* Other numbers of rows and lengths of one class find plan and kernel. */
TEST(extents_are_not_identity) {
  if (getenv("SMELT_DEVICE")) TEST_SKIP("elsewhere vectors divide rows, whose lengths make kernels");
  judges j = open_judges(SMELT_MODE_DEFAULT);
  smelt_counters before = counters_of(j.cpu);
  for (int64_t n = 1025; n <= 2000; n += 300) {
    problem p = {.dtype = SMELT_F32, .rows = n / 100, .columns = n, .axis = 1};
    check_program(&j, softmax, &p);
    if (n == 1025) before = counters_of(j.cpu);
  }
  CHECK_I64(counters_of(j.cpu).kernels_compiled, before.kernels_compiled);
  CHECK_I64(counters_of(j.cpu).explorations, before.explorations);
  close_judges(&j);
}

TEST_MAIN(CASE(lengths_and_dtypes_in_one_context), CASE(many_short_rows), CASE(few_columns),
          CASE(views_as_inputs), CASE(infinities_and_nans), CASE(the_interpreter_agrees),
          CASE(long_rows_and_columns), CASE(few_long_rows_and_columns), CASE(one_launch_and_each_byte_once),
          CASE(selected_from_axes_apart), CASE(masks_broadcast_to_axes_between),
          CASE(tasks_with_and_without_an_order), CASE(extents_are_not_identity))
