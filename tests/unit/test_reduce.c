/* SPDX-License-Identifier: Apache-2.0
 *
 * Reductions through the public interface on the device ref: random shapes and axes
 * against a model that gathers the elements of each result and combines them by the
 * canonical tree, written as a recursion; and what calls take. */
#include <math.h>
#include <stdlib.h>

#include "api_fixture.h"
#include "core/half.h"
#include "tree_model.h"

enum { RANK = 4, MAX_ITEMS = 20000 };

static uint64_t state = 11;

static int below(int n) {
  state = state * 6364136223846793005u + 1442695040888963407u;
  return (int)(state >> 33) % n;
}

/* --- Elements -------------------------------------------------------------------------------- */

/* A tensor, a dense array in its dtype. */
typedef struct array {
  smelt_dtype dtype;
  int rank;
  int64_t dims[RANK], n;
  union {
    float f32[MAX_ITEMS];
    double f64[MAX_ITEMS];
    uint16_t half[MAX_ITEMS];
    int8_t i8[MAX_ITEMS];
    uint32_t u32[MAX_ITEMS];
    bool truth[MAX_ITEMS];
  } items;
} array;

static double draw_float(void) {
  static const double special[] = {0.0, -0.0, 1, -1, INFINITY, -INFINITY, NAN};
  if (below(40) == 0) return special[below(7)];
  return ((double)below(1 << 30) + 1) / (1 << 30) * (below(3) ? 1 : -1) * (below(8) ? 1 : 300);
}

static void fill_item(array *a, int64_t i) {
  double value = draw_float();
  switch (a->dtype) {
    case SMELT_F64:
      a->items.f64[i] = value;
      break;
    case SMELT_F16:
      a->items.half[i] = sm_f16_from_f64(value);
      break;
    case SMELT_BF16:
      a->items.half[i] = sm_bf16_from_f64(value);
      break;
    case SMELT_I8:
      a->items.i8[i] = (int8_t)(below(7) - 3);
      break;
    case SMELT_U32:
      a->items.u32[i] = (uint32_t)below(1 << 30) * 4u;
      break;
    case SMELT_BOOL:
      a->items.truth[i] = below(40) == 0;
      break;
    default:
      a->items.f32[i] = (float)value;
      break;
  }
}

static void draw_items(array *a) {
  a->n = 1;
  for (int axis = 0; axis < a->rank; axis++) a->n *= a->dims[axis];
  CHECK(a->n <= MAX_ITEMS);
  for (int64_t i = 0; i < a->n; i++) fill_item(a, i);
}

/* Element i in what sums are made in. */
static double number_at(const array *a, int64_t i) {
  switch (a->dtype) {
    case SMELT_F64:
      return a->items.f64[i];
    case SMELT_F16:
      return (double)sm_f16_to_f32(a->items.half[i]);
    case SMELT_BF16:
      return (double)sm_bf16_to_f32(a->items.half[i]);
    case SMELT_I8:
      return a->items.i8[i];
    case SMELT_U32:
      return a->items.u32[i];
    case SMELT_BOOL:
      return a->items.truth[i];
    default:
      return (double)a->items.f32[i];
  }
}

/* --- The model -------------------------------------------------------------------------------- */

/* The places of the elements that become element `index` of the result, in order. */
static int64_t gather(const array *a, unsigned axes, int64_t index, int64_t *places) {
  int64_t n = 0, rest[RANK], at[RANK];
  for (int axis = a->rank; axis-- > 0;) {
    if (axes >> axis & 1) continue;
    rest[axis] = index % a->dims[axis];
    index /= a->dims[axis];
  }
  for (int64_t i = 0; i < a->n; i++) {
    int64_t position = i;
    bool belongs = true;
    for (int axis = a->rank; axis-- > 0; position /= a->dims[axis]) {
      at[axis] = position % a->dims[axis];
      belongs = belongs && (axes >> axis & 1 || at[axis] == rest[axis]);
    }
    if (belongs) places[n++] = i;
  }
  return n;
}

static double rounded(smelt_dtype dtype, double value) {
  if (dtype == SMELT_F16) return (double)sm_f16_to_f32(sm_f16_from_f32((float)value));
  return dtype == SMELT_BF16 ? (double)sm_bf16_to_f32(sm_bf16_from_f32((float)value)) : value;
}

static double model_number(const char *name, smelt_dtype dtype, const double *x, int64_t n) {
  static float narrow[MAX_ITEMS];
  if (dtype != SMELT_F32 && dtype != SMELT_F16 && dtype != SMELT_BF16) return model_double(name, x, n);
  for (int64_t i = 0; i < n; i++) narrow[i] = (float)x[i];
  return rounded(dtype, (double)model_float(name, narrow, n));
}

/* --- Calls ------------------------------------------------------------------------------------- */

static smelt_tensor *upload(smelt_context *ctx, const array *a) {
  return smelt_from_host(ctx, a->dtype, a->rank, a->dims, &a->items);
}

/* One element of the result against the model, `x` being the elements it is made of. */
static void check_element(const char *name, smelt_dtype dtype, smelt_dtype result, const void *items,
                          int64_t index, const double *x, int64_t n) {
  array out = {.dtype = result};
  memcpy(&out.items, (const char *)items + (size_t)index * smelt_dtype_size(result),
         smelt_dtype_size(result));
  uint64_t word;
  memcpy(&word, &out.items, sizeof word);
  if (!strncmp(name, "arg", 3)) CHECK_I64(word, model_index(name, x, n));
  else if (result == SMELT_BOOL) CHECK_I64(out.items.truth[0], model_truth(name, x, n));
  else if (result == SMELT_I64 || result == SMELT_U64) CHECK_I64(word, model_word(name, x, n));
  else CHECK_F64(number_at(&out, 0), model_number(name, dtype, x, n));
}

/* Reduces a tensor by `name` over a set of axes, and compares every element. */
static void check_reduction(smelt_context *ctx, const char *name, const array *a, unsigned axes,
                            bool keepdims) {
  static double x[MAX_ITEMS], items[MAX_ITEMS];
  static int64_t places[MAX_ITEMS];
  int list[RANK], n_axes = 0;
  for (int axis = a->rank; axis-- > 0;)
    if (axes >> axis & 1) list[n_axes++] = below(2) ? axis : axis - a->rank;
  smelt_attrs attrs = {.size = sizeof attrs, .axes = list, .n_axes = (size_t)n_axes, .keepdims = keepdims};
  smelt_tensor *t = upload(ctx, a);
  t = smelt_call(NULL, name, &t, 1, &attrs);
  smelt_error err = {0};
  CHECK_OK(smelt_check(t, &err), err);
  CHECK_I64(smelt_rank(t), keepdims ? a->rank : a->rank - n_axes);
  int64_t count = smelt_count(t);
  smelt_dtype result = smelt_dtype_of(t);
  CHECK_OK(smelt_into_host(t, result, items, (size_t)count * smelt_dtype_size(result), &err), err);
  for (int64_t i = 0; i < count; i++) {
    int64_t n = gather(a, axes, i, places);
    for (int64_t k = 0; k < n; k++) x[k] = number_at(a, places[k]);
    check_element(name, a->dtype, result, items, i, x, n);
  }
}

/* Which reductions a dtype has, apart from those of nothing. */
static bool has_reduction(const char *name, smelt_dtype dtype) {
  bool is_float = dtype >= SMELT_F16;
  if (!strcmp(name, "mean")) return is_float;
  return dtype != SMELT_BOOL || (strcmp(name, "max") != 0 && strcmp(name, "min") != 0);
}

static const char *const names[] = {"sum", "mean", "prod", "max", "min", "any", "all", "argmax", "argmin"};
static const smelt_dtype dtypes[] = {SMELT_F32, SMELT_F64, SMELT_F16, SMELT_BF16,
                                     SMELT_I8,  SMELT_U32, SMELT_BOOL};
enum { NAMES = sizeof names / sizeof names[0], DTYPES = sizeof dtypes / sizeof dtypes[0] };

static bool needs_elements(const char *name) {
  return !strncmp(name, "arg", 3) || !strcmp(name, "max") || !strcmp(name, "min");
}

static void check_all_names(smelt_context *ctx, const array *a, unsigned axes) {
  bool empty = false;
  for (int axis = 0; axis < a->rank; axis++) empty = empty || (axes >> axis & 1 && a->dims[axis] == 0);
  for (int i = 0; i < NAMES; i++) {
    if (!has_reduction(names[i], a->dtype) || (empty && needs_elements(names[i]))) continue;
    check_reduction(ctx, names[i], a, axes, below(2));
  }
}

/* --- The tests ------------------------------------------------------------------------------------ */

TEST(lengths_at_the_edges_of_blocks) {
  static const int64_t lengths[] = {0, 1, 2, 15, 16, 17, 31, 255, 256, 257, 511, 512, 513, 768, 1025, 4099};
  smelt_context *ctx = open_device("ref");
  static array a;
  for (size_t i = 0; i < sizeof lengths / sizeof lengths[0]; i++) {
    for (int d = 0; d < DTYPES; d++) {
      a = (array){.dtype = dtypes[d], .rank = 1, .dims = {lengths[i]}};
      draw_items(&a);
      check_all_names(ctx, &a, 1);
    }
  }
  close_context(ctx);
}

TEST(random_shapes_and_axes) {
  smelt_context *ctx = open_device("ref");
  static array a;
  for (int round = 0; round < 150; round++) {
    a = (array){.dtype = dtypes[below(DTYPES)], .rank = below(RANK + 1)};
    for (int axis = 0; axis < a.rank; axis++) a.dims[axis] = below(12) ? 1 + below(7) : 0;
    if (a.rank && a.rank < 3 && below(3) == 0) a.dims[below(a.rank)] = 200 + below(200);
    draw_items(&a);
    check_all_names(ctx, &a, (unsigned)below(1 << a.rank));
  }
  close_context(ctx);
}

static smelt_tensor *range(smelt_context *ctx, int rank, const int64_t *dims, smelt_dtype dtype) {
  int64_t n = 1;
  for (int axis = 0; axis < rank; axis++) n *= dims[axis];
  return smelt_reshape(smelt_arange(ctx, 0, n, 1, dtype), rank, dims);
}

static void check_items(smelt_tensor *t, int rank, const int64_t *dims, int64_t n, const double *expected) {
  double items[64] = {0};
  int64_t shape[SMELT_MAX_RANK];
  smelt_error err = {0};
  CHECK_I64(smelt_dims(t, shape), rank);
  for (int axis = 0; axis < rank; axis++) CHECK_I64(shape[axis], dims[axis]);
  CHECK_I64(smelt_count(t), n);
  CHECK(n <= 64);
  CHECK_OK(smelt_into_host(smelt_astype(t, SMELT_F64), SMELT_F64, items, (size_t)n * 8, &err), err);
  for (int64_t i = 0; i < n; i++) CHECK_F64(items[i], expected[i]);
}
#define CHECK_ITEMS(t, rank, dims, ...)                                                   \
  check_items(t, rank, (int64_t[])dims, sizeof((double[]){__VA_ARGS__}) / sizeof(double), \
              (double[]){__VA_ARGS__})
#define LIST(...) \
  { __VA_ARGS__ }

TEST(functions) {
  smelt_context *ctx = open_device("ref");
  smelt_tensor *x = range(ctx, DIMS(2, 3), SMELT_F32);
  int last = -1;
  CHECK_ITEMS(smelt_sum(smelt_ref(x), &last, 1, true, SMELT_DTYPE_NONE), 2, LIST(2, 1), 3, 12);
  CHECK_ITEMS(smelt_sum(smelt_ref(x), NULL, 0, true, SMELT_F64), 2, LIST(1, 1), 15);
  CHECK_ITEMS(smelt_sum(smelt_ref(x), &last, 0, true, SMELT_F64), 2, LIST(2, 3), 0, 1, 2, 3, 4, 5);
  CHECK_ITEMS(smelt_mean(smelt_ref(x), (int[]){0}, 1, false), 1, LIST(3), 1.5, 2.5, 3.5);
  CHECK_ITEMS(smelt_argmax(smelt_ref(x), NULL, 0, false), 0, LIST(0), 5);
  CHECK_ITEMS(smelt_max_abs(smelt_neg(smelt_ref(x)), &last, 1, false), 1, LIST(2), 2, 5);
  CHECK_ITEMS(smelt_count_nonzero(smelt_ref(x), &last, 1, false), 1, LIST(2), 2, 3);
  CHECK_ITEMS(smelt_var(smelt_ref(x), &last, 1, false, 1), 1, LIST(2), 1, 1);
  CHECK_ITEMS(smelt_vector_norm(smelt_ref(x), (int[]){0}, 1, true, 1), 2, LIST(1, 3), 3, 5, 7);
  CHECK_ITEMS(smelt_vector_norm(smelt_ref(x), &last, 1, false, 0), 1, LIST(2), 2, 3);
  CHECK_ITEMS(smelt_vector_norm(smelt_ref(x), &last, 1, false, INFINITY), 1, LIST(2), 2, 5);
  CHECK_ITEMS(smelt_vector_norm(x, &last, 1, false, -(double)INFINITY), 1, LIST(2), 0, 3);
  close_context(ctx);
}

/* Sums of narrow integers are wide, and those that wrap do so in the dtype asked for. */
TEST(dtypes_of_sums) {
  smelt_context *ctx = open_device("ref");
  static const struct {
    smelt_dtype of, gives;
  } wide[] = {{SMELT_BOOL, SMELT_I64}, {SMELT_I8, SMELT_I64},  {SMELT_I64, SMELT_I64}, {SMELT_U16, SMELT_U64},
              {SMELT_U64, SMELT_U64},  {SMELT_F16, SMELT_F16}, {SMELT_F64, SMELT_F64}};
  for (size_t i = 0; i < sizeof wide / sizeof wide[0]; i++) {
    smelt_tensor *ones = smelt_ones(ctx, wide[i].of, DIMS(200));
    smelt_tensor *t = smelt_sum(smelt_ref(ones), NULL, 0, false, SMELT_DTYPE_NONE);
    CHECK_I64(smelt_dtype_of(t), wide[i].gives);
    CHECK_F64(value_of(smelt_astype(t, SMELT_F64)), 200);
    CHECK_F64(value_of(smelt_astype(smelt_sum(ones, NULL, 0, false, SMELT_I8), SMELT_F64)), -56);
  }
  close_context(ctx);
}

TEST(wrong_calls) {
  smelt_context *ctx = open_device("ref");
  smelt_tensor *x = range(ctx, DIMS(2, 3), SMELT_F32), *i = range(ctx, DIMS(2, 0), SMELT_I32);
  check_poison(smelt_sum(smelt_ref(x), (int[]){2}, 1, false, SMELT_DTYPE_NONE), SMELT_ERR_ARGUMENT,
               "sum(f32[2,3]): axis 2 is not between -2 and 1");
  check_poison(smelt_softmax(smelt_ref(x), -3), SMELT_ERR_ARGUMENT,
               "softmax(f32[2,3]): axis -3 is not between -2 and 1");
  check_poison(smelt_sum(smelt_ref(x), NULL, 0, false, SMELT_BOOL), SMELT_ERR_DTYPE, "not bool");
  check_poison(smelt_sum(smelt_ref(x), NULL, 0, false, (smelt_dtype)99), SMELT_ERR_DTYPE, "what is no dtype");
  check_poison(smelt_mean(smelt_ref(i), NULL, 0, false), SMELT_ERR_DTYPE, "wants floats");
  check_poison(smelt_var(smelt_ref(x), NULL, 0, false, NAN), SMELT_ERR_ARGUMENT, "correction is NaN");
  check_poison(smelt_max(smelt_ref(i), (int[]){-1}, 1, false), SMELT_ERR_SHAPE,
               "max(i32[2,0]): axis 1 is empty, so that there is no element");
  check_poison(smelt_argmin(i, NULL, 0, false), SMELT_ERR_SHAPE, "axis 1 is empty");
  check_poison(smelt_softmax(smelt_scalar_f64(1), 0), SMELT_ERR_ARGUMENT, "softmax: no operand is a tensor");
  check_poison(smelt_softmax(smelt_sum(x, (int[]){9}, 1, false, SMELT_DTYPE_NONE), 7), SMELT_ERR_ARGUMENT,
               "sum(f32[2,3]): axis 9");
  smelt_tensor *none = NULL;
  check_poison(smelt_call(ctx, "softmax", &none, 1, NULL), SMELT_ERR_STALE, "");
  x = smelt_ones(ctx, SMELT_F32, DIMS(3));
  check_poison(smelt_call(ctx, "softmax", &x, 1, NULL), SMELT_ERR_ARGUMENT, "softmax needs attributes");
  close_context(ctx);
}

/* Composites record operations that there are, and end like any other call. */
TEST(composites_are_recorded_as_primitives) {
  smelt_context *ctx = open_device("ref");
  smelt_tensor *x = range(ctx, DIMS(2, 3), SMELT_F16);
  uint64_t before = counters_of(ctx).operations;
  smelt_drop(smelt_softmax(smelt_ref(x), -1));
  CHECK_I64(counters_of(ctx).operations - before, 8); /* two of them conversions */
  before = counters_of(ctx).operations;
  smelt_drop(smelt_layer_norm(x, NULL, 0, 1e-5));
  CHECK_I64(counters_of(ctx).operations - before, 9);
  smelt_tensor *empty = smelt_zeros(ctx, SMELT_F32, DIMS(0, 2));
  smelt_tensor *nothing = smelt_log_softmax(smelt_ref(empty), 0);
  CHECK(smelt_rank(nothing) == 2 && smelt_count(nothing) == 0);
  smelt_drop(nothing);
  CHECK_ITEMS(smelt_logsumexp(smelt_ref(empty), (int[]){0}, 1, false), 1, LIST(2), -(double)INFINITY,
              -(double)INFINITY);
  CHECK_ITEMS(smelt_std(empty, (int[]){0}, 1, false, 0), 1, LIST(2), NAN, NAN);
  close_context(ctx);
}

/* The largest error of a sum of many values is that of few additions. */
TEST(long_sums_are_accurate) {
  enum { N = 1 << 17 };
  smelt_context *ctx = open_device("ref");
  static float x[N];
  long double exact = 0;
  for (int i = 0; i < N; i++) {
    x[i] = (float)below(1 << 24) / (1 << 24);
    exact += (long double)x[i];
  }
  smelt_tensor *t = smelt_from_host(ctx, SMELT_F32, DIMS(N), x);
  float sum = (float)value_of(smelt_sum(t, NULL, 0, false, SMELT_DTYPE_NONE)), right = (float)exact;
  CHECK(fabsf(sum - right) <= 2 * (nextafterf(right, INFINITY) - right));
  smelt_tensor *tens = smelt_full(ctx, 10, SMELT_F16, DIMS(10000));
  CHECK_F64(value_of(smelt_mean(tens, NULL, 0, false)), 10);
  close_context(ctx);
}

TEST_MAIN(CASE(lengths_at_the_edges_of_blocks), CASE(random_shapes_and_axes), CASE(functions),
          CASE(dtypes_of_sums), CASE(wrong_calls), CASE(composites_are_recorded_as_primitives),
          CASE(long_sums_are_accurate))
