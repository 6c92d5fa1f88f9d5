/* SPDX-License-Identifier: Apache-2.0 */
#include "api/composite.h"

#include <math.h>

#include "smelt/ops.h"

/* A call, whose first operand is at hand in the dtype that it is worked on in. */
typedef struct composite {
  smelt_dtype working;
  const sm_shape *shape; /* of the first operand */
  const sm_attrs *over;
  const smelt_attrs *attrs;
  smelt_tensor *labels; /* the second operand */
  int64_t n;            /* elements that are reduced to one */
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

/* Both reductions of one operand, so that one pass gives them. */
static smelt_tensor *with_indices(const composite *c, reduction_fn *best, reduction_fn *place,
                                  smelt_tensor *x) {
  if (c->attrs->indices) *c->attrs->indices = reduce(c, place, smelt_ref(x));
  return reduce(c, best, x);
}

static smelt_tensor *max_with_indices(const composite *c, smelt_tensor *x) {
  return with_indices(c, smelt_max, smelt_argmax, x);
}

static smelt_tensor *min_with_indices(const composite *c, smelt_tensor *x) {
  return with_indices(c, smelt_min, smelt_argmin, x);
}

static smelt_tensor *count_nonzero(const composite *c, smelt_tensor *x) {
  return sum(c, smelt_astype(x, SMELT_BOOL));
}

/* In two passes: squares of what is left of the mean do not cancel. */
static smelt_tensor *var(const composite *c, smelt_tensor *x) {
  double n = (double)c->n - c->attrs->number;
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
  double p = c->attrs->number;
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
  return smelt_multiply(x, smelt_rsqrt(smelt_add(mean, c->attrs->number)));
}

static smelt_tensor *layer_norm(const composite *c, smelt_tensor *x) {
  return rms_norm(c, minus(c, smelt_mean, x));
}

/* A group's elements become one axis. */
static smelt_tensor *group_norm(const composite *c, smelt_tensor *x) {
  static const sm_attrs last = {.n = 1, .axes = {2}};
  int64_t dims[] = {c->shape->dims[0], c->attrs->groups, c->shape->dims[1] / c->attrs->groups};
  for (int axis = 2; axis < c->shape->rank; axis++) dims[2] *= c->shape->dims[axis];
  composite grouped = *c;
  grouped.over = &last;
  smelt_tensor *y = layer_norm(&grouped, smelt_reshape(x, 3, dims));
  return smelt_reshape(y, c->shape->rank, c->shape->dims);
}

static smelt_tensor *normalize(const composite *c, smelt_tensor *x) {
  smelt_tensor *norm = smelt_sqrt(sum_kept(c, smelt_square(smelt_ref(x))));
  return smelt_divide(x, smelt_maximum(norm, c->attrs->number));
}

/* The element that a label names is read from the operand, where it needs no pass, and
 * comes near the largest before anything is rounded. */
static smelt_tensor *cross_entropy(const composite *c, smelt_tensor *x) {
  int axis = c->over->axes[0];
  smelt_tensor *largest = reduce_kept(c, smelt_max, smelt_ref(x));
  smelt_tensor *labels = smelt_expand_dims(c->labels, axis);
  smelt_tensor *chosen =
      smelt_subtract(smelt_take_along_axis(smelt_ref(x), labels, axis), smelt_ref(largest));
  smelt_tensor *e = smelt_exp(smelt_subtract(x, largest));
  return smelt_squeeze(smelt_subtract(smelt_log(sum_kept(c, e)), chosen), &axis, 1);
}

/* --- The call ----------------------------------------------------------------------------------- */

static composite_fn *const composites[SM_OP_COUNT] = {
    [SM_OP_MAX_ABS] = max_abs,
    [SM_OP_COUNT_NONZERO] = count_nonzero,
    [SM_OP_VAR] = var,
    [SM_OP_STD] = std,
    [SM_OP_LOGSUMEXP] = logsumexp,
    [SM_OP_VECTOR_NORM] = vector_norm,
    [SM_OP_SOFTMAX] = softmax,
    [SM_OP_LOG_SOFTMAX] = log_softmax,
    [SM_OP_LAYER_NORM] = layer_norm,
    [SM_OP_RMS_NORM] = rms_norm,
    [SM_OP_GROUP_NORM] = group_norm,
    [SM_OP_NORMALIZE] = normalize,
    [SM_OP_CROSS_ENTROPY] = cross_entropy,
    [SM_OP_MAX_WITH_INDICES] = max_with_indices,
    [SM_OP_MIN_WITH_INDICES] = min_with_indices,
};

smelt_tensor *sm_composite_record(sm_opcode code, smelt_tensor *const *operands, const sm_shape *shape,
                                  const sm_inferred *inferred, const smelt_attrs *attrs) {
  smelt_dtype dtype = inferred->dtype, working = sm_dtype_working(dtype);
  composite c = {.working = working, .shape = shape, .over = &inferred->attrs, .attrs = attrs, .n = 1};
  if (sm_op_row_of(code)->operands[1]) c.labels = operands[1];
  for (int i = 0; i < c.over->n; i++) c.n *= shape->dims[c.over->axes[i]];
  if (working == dtype) return composites[code](&c, operands[0]);
  return smelt_astype(composites[code](&c, smelt_astype(operands[0], working)), dtype);
}
