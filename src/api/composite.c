/* SPDX-License-Identifier: Apache-2.0 */
#include "api/composite.h"

#include <math.h>

#include "smelt/ops.h"

/* A call, whose operand is at hand in the dtype that it is worked on in. */
typedef struct composite {
  smelt_dtype working;
  const sm_attrs *over;
  double number;
  int64_t n; /* elements that are reduced to one */
} composite;

typedef smelt_tensor *composite_fn(const composite *c, smelt_tensor *x);
typedef smelt_tensor *reduction_fn(smelt_tensor *x, const int *axes, size_t n_axes, bool keepdims);

/* --- Reductions over the call's axes --------------------------------------------------- */

/* With the shape that the result is to have. */
static smelt_tensor *reduce(const composite *c, reduction_fn *f, smelt_tensor *x) {
  return f(x, c->over->axes, (size_t)c->over->n, c->over->keepdims);
}

static smelt_tensor *sum(const composite *c, smelt_tensor *x) {
  return smelt_sum(x, c->over->axes, (size_t)c->over->n, c->over->keepdims, SMELT_DTYPE_NONE);
}

/* With a shape that broadcasts with that of the operand. */
static smelt_tensor *reduce_kept(const composite *c, reduction_fn *f, smelt_tensor *x) {
  return f(x, c->over->axes, (size_t)c->over->n, true);
}

static smelt_tensor *sum_kept(const composite *c, smelt_tensor *x) {
  return smelt_sum(x, c->over->axes, (size_t)c->over->n, true, SMELT_DTYPE_NONE);
}

/* x minus a reduction of it. */
static smelt_tensor *minus(const composite *c, reduction_fn *f, smelt_tensor *x) {
  smelt_tensor *shift = reduce_kept(c, f, smelt_ref(x));
  return smelt_subtract(x, shift);
}

/* --- Reductions ---------------------------------------------------------------------------- */

static smelt_tensor *max_abs(const composite *c, smelt_tensor *x) {
  return reduce(c, smelt_max, smelt_abs(x));
}

static smelt_tensor *count_nonzero(const composite *c, smelt_tensor *x) {
  return sum(c, smelt_astype(x, SMELT_BOOL));
}

/* In two passes: squares of what is left of the mean do not cancel. */
static smelt_tensor *var(const composite *c, smelt_tensor *x) {
  double n = (double)c->n - c->number;
  return smelt_divide(sum(c, smelt_square(minus(c, smelt_mean, x))), n > 0 ? n : 0.0);
}

static smelt_tensor *std(const composite *c, smelt_tensor *x) { return smelt_sqrt(var(c, x)); }

/* Largest elements as shifts: no exponential overflows. Infinite ones shift nothing. */
static smelt_tensor *finite_shift(const composite *c, smelt_tensor *x) {
  smelt_tensor *largest = reduce_kept(c, smelt_max, x);
  return smelt_where(smelt_isfinite(smelt_ref(largest)), largest, 0.0);
}

static smelt_tensor *logsumexp(const composite *c, smelt_tensor *x) {
  if (c->n == 0) return smelt_log(sum(c, x));
  smelt_tensor *shift = finite_shift(c, smelt_ref(x));
  smelt_tensor *small = smelt_log(sum_kept(c, smelt_exp(smelt_subtract(x, smelt_ref(shift)))));
  smelt_tensor *result = smelt_add(small, shift);
  return c->over->keepdims ? result : smelt_squeeze(result, c->over->axes, (size_t)c->over->n);
}

static smelt_tensor *vector_norm(const composite *c, smelt_tensor *x) {
  double p = c->number;
  if (p == 0) return sum(c, smelt_astype(smelt_not_equal(x, 0.0), c->working));
  if (p == 2) return smelt_sqrt(sum(c, smelt_square(x)));
  if (isinf(p)) return reduce(c, p > 0 ? smelt_max : smelt_min, smelt_abs(x));
  if (p == 1) return sum(c, smelt_abs(x));
  return smelt_pow(sum(c, smelt_pow(smelt_abs(x), p)), 1 / p);
}

/* --- Normalizations -------------------------------------------------------------------------- */

/* Of nothing there is no largest element, and nothing to normalize. */
static smelt_tensor *softmax(const composite *c, smelt_tensor *x) {
  if (c->n == 0) return x;
  smelt_tensor *e = smelt_exp(minus(c, smelt_max, x));
  return smelt_multiply(smelt_ref(e), smelt_reciprocal(sum_kept(c, e)));
}

static smelt_tensor *log_softmax(const composite *c, smelt_tensor *x) {
  if (c->n == 0) return x;
  smelt_tensor *y = minus(c, smelt_max, x);
  return smelt_subtract(smelt_ref(y), smelt_log(sum_kept(c, smelt_exp(y))));
}

static smelt_tensor *rms_norm(const composite *c, smelt_tensor *x) {
  smelt_tensor *mean = reduce_kept(c, smelt_mean, smelt_square(smelt_ref(x)));
  return smelt_multiply(x, smelt_rsqrt(smelt_add(mean, c->number)));
}

static smelt_tensor *layer_norm(const composite *c, smelt_tensor *x) {
  return rms_norm(c, minus(c, smelt_mean, x));
}

/* --- The call ----------------------------------------------------------------------------------- */

static composite_fn *const composites[SM_OP_COUNT] = {
    [SM_OP_MAX_ABS] = max_abs,   [SM_OP_COUNT_NONZERO] = count_nonzero, [SM_OP_VAR] = var,
    [SM_OP_STD] = std,           [SM_OP_LOGSUMEXP] = logsumexp,         [SM_OP_VECTOR_NORM] = vector_norm,
    [SM_OP_SOFTMAX] = softmax,   [SM_OP_LOG_SOFTMAX] = log_softmax,     [SM_OP_LAYER_NORM] = layer_norm,
    [SM_OP_RMS_NORM] = rms_norm,
};

smelt_tensor *sm_composite_record(sm_opcode code, smelt_tensor *x, const sm_shape *shape,
                                  const sm_inferred *inferred, double number) {
  smelt_dtype dtype = inferred->dtype, working = sm_dtype_working(dtype);
  composite c = {.working = working, .over = &inferred->attrs, .number = number, .n = 1};
  for (int i = 0; i < c.over->n; i++) c.n *= shape->dims[c.over->axes[i]];
  if (working == dtype) return composites[code](&c, x);
  return smelt_astype(composites[code](&c, smelt_astype(x, working)), dtype);
}
