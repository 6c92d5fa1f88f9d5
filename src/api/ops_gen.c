/* SPDX-License-Identifier: Apache-2.0
 *
 * The functions of ops.h. Generated from src/ir/ops.def by opgen: do not edit.
 * Parentheses around the names keep the macros of ops.h away. */
#include "api/record.h"
#include "smelt/ops.h"

const smelt_op_info sm_op_infos[SM_OP_COUNT] = {
    [SM_OP_ZEROS] = {"zeros", "", "ts", "Base",
        "A tensor of zeros (false for bool)."},
    [SM_OP_ONES] = {"ones", "", "ts", "Base",
        "A tensor of ones (true for bool)."},
    [SM_OP_FULL] = {"full", "S", "ts", "Numeric",
        "A tensor filled with one value."},
    [SM_OP_ARANGE] = {"arange", "SSS", "t", "Numeric",
        "start + i*step for i = 0, 1, ... while below stop (above it for a negative step). Elements have to fit the dtype, stop does not."},
    [SM_OP_RAND] = {"rand", "", "ts", "Float",
        "Uniform random numbers in [0, 1), from Philox 4x32-10 at the flat index."},
    [SM_OP_RANDN] = {"randn", "", "ts", "Float",
        "Normal random numbers (mean 0, variance 1), by Box and Muller's transform."},
    [SM_OP_ASTYPE] = {"astype", "T", "t", "Base",
        "Conversion: floats to integers truncate and saturate (NaN gives 0), integers wrap, bool is not-zero."},
    [SM_OP_ADD] = {"add", "AA", "", "Numeric",
        "Sum; integers wrap."},
    [SM_OP_SUBTRACT] = {"subtract", "AA", "", "Numeric",
        "Difference; integers wrap."},
    [SM_OP_MULTIPLY] = {"multiply", "AA", "", "Numeric",
        "Product; integers wrap."},
    [SM_OP_DIVIDE] = {"divide", "AA", "", "Numeric",
        "Quotient of floats; integers have floor_divide and trunc_divide."},
    [SM_OP_FLOOR_DIVIDE] = {"floor_divide", "AA", "", "Numeric",
        "floor(x / y), of floats with the quotient rounded first; an integer divided by zero gives 0."},
    [SM_OP_TRUNC_DIVIDE] = {"trunc_divide", "AA", "", "Numeric",
        "Quotient rounded toward zero; an integer divided by zero gives 0."},
    [SM_OP_REMAINDER] = {"remainder", "AA", "", "Numeric",
        "Remainder with the sign of the divisor, as Python's %; integers by zero give 0."},
    [SM_OP_FMOD] = {"fmod", "AA", "", "Numeric",
        "Remainder with the sign of the dividend, as C's fmod; integers by zero give 0."},
    [SM_OP_POW] = {"pow", "AA", "", "Float",
        "Power; integers wrap, a negative integer exponent gives the truncated result."},
    [SM_OP_MAXIMUM] = {"maximum", "AA", "", "Numeric",
        "The larger, y of equal ones (-0.0 equals 0.0); NaN propagates."},
    [SM_OP_MINIMUM] = {"minimum", "AA", "", "Numeric",
        "The smaller, y of equal ones (-0.0 equals 0.0); NaN propagates."},
    [SM_OP_ATAN2] = {"atan2", "AA", "", "Float",
        "Angle of the point (y, x), with the first operand as ordinate."},
    [SM_OP_HYPOT] = {"hypot", "AA", "", "Float",
        "sqrt(x*x + y*y) without overflow in between."},
    [SM_OP_COPYSIGN] = {"copysign", "AA", "", "Float",
        "The first operand's magnitude with the second's sign."},
    [SM_OP_NEGATIVE] = {"negative", "T", "", "Numeric",
        "Negation; integers wrap."},
    [SM_OP_POSITIVE] = {"positive", "T", "", "Numeric",
        "The operand itself."},
    [SM_OP_ABS] = {"abs", "T", "", "Numeric",
        "Magnitude; the smallest integer stays."},
    [SM_OP_SIGN] = {"sign", "T", "", "Numeric",
        "-1, 0 or 1; both zeros give +0, NaN stays NaN."},
    [SM_OP_SQUARE] = {"square", "T", "", "Numeric",
        "x*x."},
    [SM_OP_RECIPROCAL] = {"reciprocal", "T", "", "Float",
        "1/x."},
    [SM_OP_SQRT] = {"sqrt", "T", "", "Float",
        "Square root."},
    [SM_OP_RSQRT] = {"rsqrt", "T", "", "Float",
        "1/sqrt(x)."},
    [SM_OP_EXP] = {"exp", "T", "", "Float",
        "e to the x."},
    [SM_OP_EXP2] = {"exp2", "T", "", "Float",
        "2 to the x."},
    [SM_OP_EXPM1] = {"expm1", "T", "", "Float",
        "exp(x) - 1, accurate near 0."},
    [SM_OP_LOG] = {"log", "T", "", "Float",
        "Natural logarithm."},
    [SM_OP_LOG2] = {"log2", "T", "", "Float",
        "Binary logarithm."},
    [SM_OP_LOG10] = {"log10", "T", "", "Float",
        "Decimal logarithm."},
    [SM_OP_LOG1P] = {"log1p", "T", "", "Float",
        "log(1 + x), accurate near 0."},
    [SM_OP_SIN] = {"sin", "T", "", "Float",
        "Sine of radians."},
    [SM_OP_COS] = {"cos", "T", "", "Float",
        "Cosine of radians."},
    [SM_OP_TAN] = {"tan", "T", "", "Float",
        "Tangent of radians."},
    [SM_OP_ASIN] = {"asin", "T", "", "Float",
        "Inverse sine."},
    [SM_OP_ACOS] = {"acos", "T", "", "Float",
        "Inverse cosine."},
    [SM_OP_ATAN] = {"atan", "T", "", "Float",
        "Inverse tangent."},
    [SM_OP_SINH] = {"sinh", "T", "", "Float",
        "Hyperbolic sine."},
    [SM_OP_COSH] = {"cosh", "T", "", "Float",
        "Hyperbolic cosine."},
    [SM_OP_TANH] = {"tanh", "T", "", "Float",
        "Hyperbolic tangent."},
    [SM_OP_ASINH] = {"asinh", "T", "", "Float",
        "Inverse hyperbolic sine."},
    [SM_OP_ACOSH] = {"acosh", "T", "", "Float",
        "Inverse hyperbolic cosine."},
    [SM_OP_ATANH] = {"atanh", "T", "", "Float",
        "Inverse hyperbolic tangent."},
    [SM_OP_ERF] = {"erf", "T", "", "Float",
        "Error function."},
    [SM_OP_SIGMOID] = {"sigmoid", "T", "", "Float",
        "1/(1 + exp(-x))."},
    [SM_OP_FLOOR] = {"floor", "T", "", "Float",
        "Rounded down."},
    [SM_OP_CEIL] = {"ceil", "T", "", "Float",
        "Rounded up."},
    [SM_OP_ROUND] = {"round", "T", "", "Float",
        "Rounded to nearest, half to even."},
    [SM_OP_TRUNC] = {"trunc", "T", "", "Float",
        "Rounded toward zero."},
    [SM_OP_ISNAN] = {"isnan", "T", "", "Float",
        "Whether the element is NaN."},
    [SM_OP_ISINF] = {"isinf", "T", "", "Float",
        "Whether the element is infinite."},
    [SM_OP_ISFINITE] = {"isfinite", "T", "", "Float",
        "Whether the element is neither infinite nor NaN."},
    [SM_OP_SIGNBIT] = {"signbit", "T", "", "Float",
        "Whether the sign bit is set (also of -0 and NaN)."},
    [SM_OP_EQUAL] = {"equal", "AA", "", "Base",
        "x == y; NaN equals nothing."},
    [SM_OP_NOT_EQUAL] = {"not_equal", "AA", "", "Base",
        "x != y; true for NaN."},
    [SM_OP_LESS] = {"less", "AA", "", "Numeric",
        "x < y; false for NaN."},
    [SM_OP_LESS_EQUAL] = {"less_equal", "AA", "", "Numeric",
        "x <= y; false for NaN."},
    [SM_OP_GREATER] = {"greater", "AA", "", "Numeric",
        "x > y; false for NaN."},
    [SM_OP_GREATER_EQUAL] = {"greater_equal", "AA", "", "Numeric",
        "x >= y; false for NaN."},
    [SM_OP_LOGICAL_AND] = {"logical_and", "AA", "", "Bool",
        "Both."},
    [SM_OP_LOGICAL_OR] = {"logical_or", "AA", "", "Bool",
        "At least one."},
    [SM_OP_LOGICAL_XOR] = {"logical_xor", "AA", "", "Bool",
        "Exactly one."},
    [SM_OP_LOGICAL_NOT] = {"logical_not", "T", "", "Bool",
        "Negation."},
    [SM_OP_BITWISE_AND] = {"bitwise_and", "AA", "", "Int",
        "Bits set in both."},
    [SM_OP_BITWISE_OR] = {"bitwise_or", "AA", "", "Int",
        "Bits set in at least one."},
    [SM_OP_BITWISE_XOR] = {"bitwise_xor", "AA", "", "Int",
        "Bits set in exactly one."},
    [SM_OP_BITWISE_INVERT] = {"bitwise_invert", "T", "", "Int",
        "All bits flipped."},
    [SM_OP_BITWISE_LEFT_SHIFT] = {"bitwise_left_shift", "AA", "", "Int",
        "x * 2^y; a count that is negative or at least the width gives 0."},
    [SM_OP_BITWISE_RIGHT_SHIFT] = {"bitwise_right_shift", "AA", "", "Int",
        "x / 2^y rounded down; a count that is negative or at least the width leaves only sign bits."},
    [SM_OP_WHERE] = {"where", "BAA", "", "Base",
        "The second operand where the first is true, elsewhere the third."},
    [SM_OP_CLIP] = {"clip", "TAA", "", "Numeric",
        "Limited to [lo, hi]; a NaN anywhere gives NaN, lo > hi gives hi."},
    [SM_OP_RESHAPE] = {"reshape", "T", "s", "Base",
        "The elements in row-major order under another shape; one extent may be -1 and follows from the others."},
    [SM_OP_SQUEEZE] = {"squeeze", "T", "a", "Base",
        "Without these axes, which have extent 1; without all of extent 1 if none are given."},
    [SM_OP_EXPAND_DIMS] = {"expand_dims", "T", "x", "Base",
        "With an axis of extent 1 put in at this place of the result."},
    [SM_OP_PERMUTE_DIMS] = {"permute_dims", "T", "a", "Base",
        "The axes in this order; reversed if none are given."},
    [SM_OP_SWAPAXES] = {"swapaxes", "T", "p", "Base",
        "Two axes exchanged."},
    [SM_OP_FLIP] = {"flip", "T", "a", "Base",
        "These axes backwards; all of them if none are given."},
    [SM_OP_SLICE] = {"slice", "T", "r", "Base",
        "Ranges of the first axes, as Python's x[start:stop:step, ...]; further axes stay whole."},
    [SM_OP_BROADCAST_TO] = {"broadcast_to", "T", "s", "Base",
        "Broadcast to this shape."},
    [SM_OP_TAKE] = {"take", "TI", "x", "Base",
        "The places of an axis that indices name; negative ones count from the end, others beyond the axis are cut to it."},
    [SM_OP_TAKE_ALONG_AXIS] = {"take_along_axis", "TI", "x", "Base",
        "Along an axis the element that the index at the same place names, as take does; other axes broadcast."},
    [SM_OP_CONCAT] = {"concat", "L", "x", "Base",
        "The tensors one after another along an axis; their other extents are equal."},
    [SM_OP_SUM] = {"sum", "T", "okd", "Numeric",
        "Sum of the elements, 0 of none; integers wrap, half types are added in f32."},
    [SM_OP_PROD] = {"prod", "T", "okd", "Numeric",
        "Product of the elements, 1 of none; integers wrap, half types are multiplied in f32."},
    [SM_OP_MEAN] = {"mean", "T", "ok", "Numeric",
        "Sum divided by the number of elements, NaN of none; half types are rounded only in the end."},
    [SM_OP_MAX] = {"max", "T", "ok", "Numeric",
        "The largest element; NaN propagates, there has to be an element."},
    [SM_OP_MIN] = {"min", "T", "ok", "Numeric",
        "The smallest element; NaN propagates, there has to be an element."},
    [SM_OP_ANY] = {"any", "T", "ok", "Base",
        "Whether an element is true or not zero (NaN is not zero); false of none."},
    [SM_OP_ALL] = {"all", "T", "ok", "Base",
        "Whether all elements are true or not zero (NaN is not zero); true of none."},
    [SM_OP_ARGMAX] = {"argmax", "T", "ok", "Base",
        "Row-major index over these axes of the first NaN, otherwise of the first largest element."},
    [SM_OP_ARGMIN] = {"argmin", "T", "ok", "Base",
        "Row-major index over these axes of the first NaN, otherwise of the first smallest element."},
    [SM_OP_MAX_ABS] = {"max_abs", "T", "ok", "Numeric",
        "max(abs(x))."},
    [SM_OP_MAX_WITH_INDICES] = {"max_with_indices", "T", "oki", "Numeric",
        "max(x), and argmax(x) as a second result: both of the first NaN, otherwise of the first largest element."},
    [SM_OP_MIN_WITH_INDICES] = {"min_with_indices", "T", "oki", "Numeric",
        "min(x), and argmin(x) as a second result: both of the first NaN, otherwise of the first smallest element."},
    [SM_OP_COUNT_NONZERO] = {"count_nonzero", "T", "ok", "Base",
        "sum(astype(x, bool)): NaN counts."},
    [SM_OP_VAR] = {"var", "T", "okc", "Float",
        "sum(square(x - mean(x))) / max(n - correction, 0), where n elements are reduced to one."},
    [SM_OP_STD] = {"std", "T", "okc", "Float",
        "sqrt(var(x))."},
    [SM_OP_LOGSUMEXP] = {"logsumexp", "T", "ok", "Float",
        "log(sum(exp(x - m))) + m with m = max(x), or 0 where that is not finite."},
    [SM_OP_VECTOR_NORM] = {"vector_norm", "T", "okn", "Float",
        "sum(abs(x)**ord)**(1/ord); ord inf is max(abs(x)), -inf min(abs(x)), 0 how many are not zero."},
    [SM_OP_SOFTMAX] = {"softmax", "T", "x", "Float",
        "e * (1/sum(e)) with e = exp(x - max(x)) along the axis."},
    [SM_OP_LOG_SOFTMAX] = {"log_softmax", "T", "x", "Float",
        "y - log(sum(exp(y))) with y = x - max(x) along the axis."},
    [SM_OP_LAYER_NORM] = {"layer_norm", "T", "oe", "Float",
        "y * rsqrt(mean(square(y)) + eps) with y = x - mean(x) over the axes."},
    [SM_OP_RMS_NORM] = {"rms_norm", "T", "oe", "Float",
        "x * rsqrt(mean(square(x)) + eps) over the axes."},
    [SM_OP_GROUP_NORM] = {"group_norm", "T", "ge", "Float",
        "layer_norm over each of so many groups of axis 1, together with all axes behind it."},
    [SM_OP_NORMALIZE] = {"normalize", "T", "oe", "Float",
        "x / maximum(sqrt(sum(square(x))), eps) over the axes."},
    [SM_OP_CROSS_ENTROPY] = {"cross_entropy", "TI", "x", "Float",
        "-log_softmax(x) along the axis at the place that the label names, as take does."},
};

smelt_tensor *(smelt_zeros)(smelt_context *ctx, smelt_dtype dtype, int rank, const int64_t *dims) {
  const smelt_attrs attrs = {.size = sizeof attrs, .dtype = dtype, .rank = rank, .dims = dims};
  return sm_record_call(ctx, SM_OP_ZEROS, NULL, 0, &attrs);
}

smelt_tensor *(smelt_ones)(smelt_context *ctx, smelt_dtype dtype, int rank, const int64_t *dims) {
  const smelt_attrs attrs = {.size = sizeof attrs, .dtype = dtype, .rank = rank, .dims = dims};
  return sm_record_call(ctx, SM_OP_ONES, NULL, 0, &attrs);
}

smelt_tensor *(smelt_full)(smelt_context *ctx, smelt_tensor *value,
    smelt_dtype dtype, int rank, const int64_t *dims) {
  smelt_tensor *const operands[] = {value};
  const smelt_attrs attrs = {.size = sizeof attrs, .dtype = dtype, .rank = rank, .dims = dims};
  return sm_record_call(ctx, SM_OP_FULL, operands, 1, &attrs);
}

smelt_tensor *(smelt_arange)(smelt_context *ctx, smelt_tensor *start, smelt_tensor *stop, smelt_tensor *step,
    smelt_dtype dtype) {
  smelt_tensor *const operands[] = {start, stop, step};
  const smelt_attrs attrs = {.size = sizeof attrs, .dtype = dtype};
  return sm_record_call(ctx, SM_OP_ARANGE, operands, 3, &attrs);
}

smelt_tensor *(smelt_rand)(smelt_context *ctx, smelt_dtype dtype, int rank, const int64_t *dims) {
  const smelt_attrs attrs = {.size = sizeof attrs, .dtype = dtype, .rank = rank, .dims = dims};
  return sm_record_call(ctx, SM_OP_RAND, NULL, 0, &attrs);
}

smelt_tensor *(smelt_randn)(smelt_context *ctx, smelt_dtype dtype, int rank, const int64_t *dims) {
  const smelt_attrs attrs = {.size = sizeof attrs, .dtype = dtype, .rank = rank, .dims = dims};
  return sm_record_call(ctx, SM_OP_RANDN, NULL, 0, &attrs);
}

smelt_tensor *(smelt_astype)(smelt_tensor *x, smelt_dtype dtype) {
  smelt_tensor *const operands[] = {x};
  const smelt_attrs attrs = {.size = sizeof attrs, .dtype = dtype};
  return sm_record_call(NULL, SM_OP_ASTYPE, operands, 1, &attrs);
}

smelt_tensor *(smelt_add)(smelt_tensor *x, smelt_tensor *y) {
  smelt_tensor *const operands[] = {x, y};
  return sm_record_call(NULL, SM_OP_ADD, operands, 2, NULL);
}

smelt_tensor *(smelt_subtract)(smelt_tensor *x, smelt_tensor *y) {
  smelt_tensor *const operands[] = {x, y};
  return sm_record_call(NULL, SM_OP_SUBTRACT, operands, 2, NULL);
}

smelt_tensor *(smelt_multiply)(smelt_tensor *x, smelt_tensor *y) {
  smelt_tensor *const operands[] = {x, y};
  return sm_record_call(NULL, SM_OP_MULTIPLY, operands, 2, NULL);
}

smelt_tensor *(smelt_divide)(smelt_tensor *x, smelt_tensor *y) {
  smelt_tensor *const operands[] = {x, y};
  return sm_record_call(NULL, SM_OP_DIVIDE, operands, 2, NULL);
}

smelt_tensor *(smelt_floor_divide)(smelt_tensor *x, smelt_tensor *y) {
  smelt_tensor *const operands[] = {x, y};
  return sm_record_call(NULL, SM_OP_FLOOR_DIVIDE, operands, 2, NULL);
}

smelt_tensor *(smelt_trunc_divide)(smelt_tensor *x, smelt_tensor *y) {
  smelt_tensor *const operands[] = {x, y};
  return sm_record_call(NULL, SM_OP_TRUNC_DIVIDE, operands, 2, NULL);
}

smelt_tensor *(smelt_remainder)(smelt_tensor *x, smelt_tensor *y) {
  smelt_tensor *const operands[] = {x, y};
  return sm_record_call(NULL, SM_OP_REMAINDER, operands, 2, NULL);
}

smelt_tensor *(smelt_fmod)(smelt_tensor *x, smelt_tensor *y) {
  smelt_tensor *const operands[] = {x, y};
  return sm_record_call(NULL, SM_OP_FMOD, operands, 2, NULL);
}

smelt_tensor *(smelt_pow)(smelt_tensor *x, smelt_tensor *y) {
  smelt_tensor *const operands[] = {x, y};
  return sm_record_call(NULL, SM_OP_POW, operands, 2, NULL);
}

smelt_tensor *(smelt_maximum)(smelt_tensor *x, smelt_tensor *y) {
  smelt_tensor *const operands[] = {x, y};
  return sm_record_call(NULL, SM_OP_MAXIMUM, operands, 2, NULL);
}

smelt_tensor *(smelt_minimum)(smelt_tensor *x, smelt_tensor *y) {
  smelt_tensor *const operands[] = {x, y};
  return sm_record_call(NULL, SM_OP_MINIMUM, operands, 2, NULL);
}

smelt_tensor *(smelt_atan2)(smelt_tensor *x, smelt_tensor *y) {
  smelt_tensor *const operands[] = {x, y};
  return sm_record_call(NULL, SM_OP_ATAN2, operands, 2, NULL);
}

smelt_tensor *(smelt_hypot)(smelt_tensor *x, smelt_tensor *y) {
  smelt_tensor *const operands[] = {x, y};
  return sm_record_call(NULL, SM_OP_HYPOT, operands, 2, NULL);
}

smelt_tensor *(smelt_copysign)(smelt_tensor *x, smelt_tensor *y) {
  smelt_tensor *const operands[] = {x, y};
  return sm_record_call(NULL, SM_OP_COPYSIGN, operands, 2, NULL);
}

smelt_tensor *(smelt_negative)(smelt_tensor *x) {
  smelt_tensor *const operands[] = {x};
  return sm_record_call(NULL, SM_OP_NEGATIVE, operands, 1, NULL);
}

smelt_tensor *(smelt_positive)(smelt_tensor *x) {
  smelt_tensor *const operands[] = {x};
  return sm_record_call(NULL, SM_OP_POSITIVE, operands, 1, NULL);
}

smelt_tensor *(smelt_abs)(smelt_tensor *x) {
  smelt_tensor *const operands[] = {x};
  return sm_record_call(NULL, SM_OP_ABS, operands, 1, NULL);
}

smelt_tensor *(smelt_sign)(smelt_tensor *x) {
  smelt_tensor *const operands[] = {x};
  return sm_record_call(NULL, SM_OP_SIGN, operands, 1, NULL);
}

smelt_tensor *(smelt_square)(smelt_tensor *x) {
  smelt_tensor *const operands[] = {x};
  return sm_record_call(NULL, SM_OP_SQUARE, operands, 1, NULL);
}

smelt_tensor *(smelt_reciprocal)(smelt_tensor *x) {
  smelt_tensor *const operands[] = {x};
  return sm_record_call(NULL, SM_OP_RECIPROCAL, operands, 1, NULL);
}

smelt_tensor *(smelt_sqrt)(smelt_tensor *x) {
  smelt_tensor *const operands[] = {x};
  return sm_record_call(NULL, SM_OP_SQRT, operands, 1, NULL);
}

smelt_tensor *(smelt_rsqrt)(smelt_tensor *x) {
  smelt_tensor *const operands[] = {x};
  return sm_record_call(NULL, SM_OP_RSQRT, operands, 1, NULL);
}

smelt_tensor *(smelt_exp)(smelt_tensor *x) {
  smelt_tensor *const operands[] = {x};
  return sm_record_call(NULL, SM_OP_EXP, operands, 1, NULL);
}

smelt_tensor *(smelt_exp2)(smelt_tensor *x) {
  smelt_tensor *const operands[] = {x};
  return sm_record_call(NULL, SM_OP_EXP2, operands, 1, NULL);
}

smelt_tensor *(smelt_expm1)(smelt_tensor *x) {
  smelt_tensor *const operands[] = {x};
  return sm_record_call(NULL, SM_OP_EXPM1, operands, 1, NULL);
}

smelt_tensor *(smelt_log)(smelt_tensor *x) {
  smelt_tensor *const operands[] = {x};
  return sm_record_call(NULL, SM_OP_LOG, operands, 1, NULL);
}

smelt_tensor *(smelt_log2)(smelt_tensor *x) {
  smelt_tensor *const operands[] = {x};
  return sm_record_call(NULL, SM_OP_LOG2, operands, 1, NULL);
}

smelt_tensor *(smelt_log10)(smelt_tensor *x) {
  smelt_tensor *const operands[] = {x};
  return sm_record_call(NULL, SM_OP_LOG10, operands, 1, NULL);
}

smelt_tensor *(smelt_log1p)(smelt_tensor *x) {
  smelt_tensor *const operands[] = {x};
  return sm_record_call(NULL, SM_OP_LOG1P, operands, 1, NULL);
}

smelt_tensor *(smelt_sin)(smelt_tensor *x) {
  smelt_tensor *const operands[] = {x};
  return sm_record_call(NULL, SM_OP_SIN, operands, 1, NULL);
}

smelt_tensor *(smelt_cos)(smelt_tensor *x) {
  smelt_tensor *const operands[] = {x};
  return sm_record_call(NULL, SM_OP_COS, operands, 1, NULL);
}

smelt_tensor *(smelt_tan)(smelt_tensor *x) {
  smelt_tensor *const operands[] = {x};
  return sm_record_call(NULL, SM_OP_TAN, operands, 1, NULL);
}

smelt_tensor *(smelt_asin)(smelt_tensor *x) {
  smelt_tensor *const operands[] = {x};
  return sm_record_call(NULL, SM_OP_ASIN, operands, 1, NULL);
}

smelt_tensor *(smelt_acos)(smelt_tensor *x) {
  smelt_tensor *const operands[] = {x};
  return sm_record_call(NULL, SM_OP_ACOS, operands, 1, NULL);
}

smelt_tensor *(smelt_atan)(smelt_tensor *x) {
  smelt_tensor *const operands[] = {x};
  return sm_record_call(NULL, SM_OP_ATAN, operands, 1, NULL);
}

smelt_tensor *(smelt_sinh)(smelt_tensor *x) {
  smelt_tensor *const operands[] = {x};
  return sm_record_call(NULL, SM_OP_SINH, operands, 1, NULL);
}

smelt_tensor *(smelt_cosh)(smelt_tensor *x) {
  smelt_tensor *const operands[] = {x};
  return sm_record_call(NULL, SM_OP_COSH, operands, 1, NULL);
}

smelt_tensor *(smelt_tanh)(smelt_tensor *x) {
  smelt_tensor *const operands[] = {x};
  return sm_record_call(NULL, SM_OP_TANH, operands, 1, NULL);
}

smelt_tensor *(smelt_asinh)(smelt_tensor *x) {
  smelt_tensor *const operands[] = {x};
  return sm_record_call(NULL, SM_OP_ASINH, operands, 1, NULL);
}

smelt_tensor *(smelt_acosh)(smelt_tensor *x) {
  smelt_tensor *const operands[] = {x};
  return sm_record_call(NULL, SM_OP_ACOSH, operands, 1, NULL);
}

smelt_tensor *(smelt_atanh)(smelt_tensor *x) {
  smelt_tensor *const operands[] = {x};
  return sm_record_call(NULL, SM_OP_ATANH, operands, 1, NULL);
}

smelt_tensor *(smelt_erf)(smelt_tensor *x) {
  smelt_tensor *const operands[] = {x};
  return sm_record_call(NULL, SM_OP_ERF, operands, 1, NULL);
}

smelt_tensor *(smelt_sigmoid)(smelt_tensor *x) {
  smelt_tensor *const operands[] = {x};
  return sm_record_call(NULL, SM_OP_SIGMOID, operands, 1, NULL);
}

smelt_tensor *(smelt_floor)(smelt_tensor *x) {
  smelt_tensor *const operands[] = {x};
  return sm_record_call(NULL, SM_OP_FLOOR, operands, 1, NULL);
}

smelt_tensor *(smelt_ceil)(smelt_tensor *x) {
  smelt_tensor *const operands[] = {x};
  return sm_record_call(NULL, SM_OP_CEIL, operands, 1, NULL);
}

smelt_tensor *(smelt_round)(smelt_tensor *x) {
  smelt_tensor *const operands[] = {x};
  return sm_record_call(NULL, SM_OP_ROUND, operands, 1, NULL);
}

smelt_tensor *(smelt_trunc)(smelt_tensor *x) {
  smelt_tensor *const operands[] = {x};
  return sm_record_call(NULL, SM_OP_TRUNC, operands, 1, NULL);
}

smelt_tensor *(smelt_isnan)(smelt_tensor *x) {
  smelt_tensor *const operands[] = {x};
  return sm_record_call(NULL, SM_OP_ISNAN, operands, 1, NULL);
}

smelt_tensor *(smelt_isinf)(smelt_tensor *x) {
  smelt_tensor *const operands[] = {x};
  return sm_record_call(NULL, SM_OP_ISINF, operands, 1, NULL);
}

smelt_tensor *(smelt_isfinite)(smelt_tensor *x) {
  smelt_tensor *const operands[] = {x};
  return sm_record_call(NULL, SM_OP_ISFINITE, operands, 1, NULL);
}

smelt_tensor *(smelt_signbit)(smelt_tensor *x) {
  smelt_tensor *const operands[] = {x};
  return sm_record_call(NULL, SM_OP_SIGNBIT, operands, 1, NULL);
}

smelt_tensor *(smelt_equal)(smelt_tensor *x, smelt_tensor *y) {
  smelt_tensor *const operands[] = {x, y};
  return sm_record_call(NULL, SM_OP_EQUAL, operands, 2, NULL);
}

smelt_tensor *(smelt_not_equal)(smelt_tensor *x, smelt_tensor *y) {
  smelt_tensor *const operands[] = {x, y};
  return sm_record_call(NULL, SM_OP_NOT_EQUAL, operands, 2, NULL);
}

smelt_tensor *(smelt_less)(smelt_tensor *x, smelt_tensor *y) {
  smelt_tensor *const operands[] = {x, y};
  return sm_record_call(NULL, SM_OP_LESS, operands, 2, NULL);
}

smelt_tensor *(smelt_less_equal)(smelt_tensor *x, smelt_tensor *y) {
  smelt_tensor *const operands[] = {x, y};
  return sm_record_call(NULL, SM_OP_LESS_EQUAL, operands, 2, NULL);
}

smelt_tensor *(smelt_greater)(smelt_tensor *x, smelt_tensor *y) {
  smelt_tensor *const operands[] = {x, y};
  return sm_record_call(NULL, SM_OP_GREATER, operands, 2, NULL);
}

smelt_tensor *(smelt_greater_equal)(smelt_tensor *x, smelt_tensor *y) {
  smelt_tensor *const operands[] = {x, y};
  return sm_record_call(NULL, SM_OP_GREATER_EQUAL, operands, 2, NULL);
}

smelt_tensor *(smelt_logical_and)(smelt_tensor *x, smelt_tensor *y) {
  smelt_tensor *const operands[] = {x, y};
  return sm_record_call(NULL, SM_OP_LOGICAL_AND, operands, 2, NULL);
}

smelt_tensor *(smelt_logical_or)(smelt_tensor *x, smelt_tensor *y) {
  smelt_tensor *const operands[] = {x, y};
  return sm_record_call(NULL, SM_OP_LOGICAL_OR, operands, 2, NULL);
}

smelt_tensor *(smelt_logical_xor)(smelt_tensor *x, smelt_tensor *y) {
  smelt_tensor *const operands[] = {x, y};
  return sm_record_call(NULL, SM_OP_LOGICAL_XOR, operands, 2, NULL);
}

smelt_tensor *(smelt_logical_not)(smelt_tensor *x) {
  smelt_tensor *const operands[] = {x};
  return sm_record_call(NULL, SM_OP_LOGICAL_NOT, operands, 1, NULL);
}

smelt_tensor *(smelt_bitwise_and)(smelt_tensor *x, smelt_tensor *y) {
  smelt_tensor *const operands[] = {x, y};
  return sm_record_call(NULL, SM_OP_BITWISE_AND, operands, 2, NULL);
}

smelt_tensor *(smelt_bitwise_or)(smelt_tensor *x, smelt_tensor *y) {
  smelt_tensor *const operands[] = {x, y};
  return sm_record_call(NULL, SM_OP_BITWISE_OR, operands, 2, NULL);
}

smelt_tensor *(smelt_bitwise_xor)(smelt_tensor *x, smelt_tensor *y) {
  smelt_tensor *const operands[] = {x, y};
  return sm_record_call(NULL, SM_OP_BITWISE_XOR, operands, 2, NULL);
}

smelt_tensor *(smelt_bitwise_invert)(smelt_tensor *x) {
  smelt_tensor *const operands[] = {x};
  return sm_record_call(NULL, SM_OP_BITWISE_INVERT, operands, 1, NULL);
}

smelt_tensor *(smelt_bitwise_left_shift)(smelt_tensor *x, smelt_tensor *y) {
  smelt_tensor *const operands[] = {x, y};
  return sm_record_call(NULL, SM_OP_BITWISE_LEFT_SHIFT, operands, 2, NULL);
}

smelt_tensor *(smelt_bitwise_right_shift)(smelt_tensor *x, smelt_tensor *y) {
  smelt_tensor *const operands[] = {x, y};
  return sm_record_call(NULL, SM_OP_BITWISE_RIGHT_SHIFT, operands, 2, NULL);
}

smelt_tensor *(smelt_where)(smelt_tensor *cond, smelt_tensor *x, smelt_tensor *y) {
  smelt_tensor *const operands[] = {cond, x, y};
  return sm_record_call(NULL, SM_OP_WHERE, operands, 3, NULL);
}

smelt_tensor *(smelt_clip)(smelt_tensor *x, smelt_tensor *lo, smelt_tensor *hi) {
  smelt_tensor *const operands[] = {x, lo, hi};
  return sm_record_call(NULL, SM_OP_CLIP, operands, 3, NULL);
}

smelt_tensor *(smelt_reshape)(smelt_tensor *x, int rank, const int64_t *dims) {
  smelt_tensor *const operands[] = {x};
  const smelt_attrs attrs = {.size = sizeof attrs, .rank = rank, .dims = dims};
  return sm_record_call(NULL, SM_OP_RESHAPE, operands, 1, &attrs);
}

smelt_tensor *(smelt_squeeze)(smelt_tensor *x, const int *axes, size_t n_axes) {
  smelt_tensor *const operands[] = {x};
  const smelt_attrs attrs = {.size = sizeof attrs, .axes = axes, .n_axes = n_axes};
  return sm_record_call(NULL, SM_OP_SQUEEZE, operands, 1, &attrs);
}

smelt_tensor *(smelt_expand_dims)(smelt_tensor *x, int axis) {
  smelt_tensor *const operands[] = {x};
  const smelt_attrs attrs = {.size = sizeof attrs, .axes = &axis, .n_axes = 1};
  return sm_record_call(NULL, SM_OP_EXPAND_DIMS, operands, 1, &attrs);
}

smelt_tensor *(smelt_permute_dims)(smelt_tensor *x, const int *axes, size_t n_axes) {
  smelt_tensor *const operands[] = {x};
  const smelt_attrs attrs = {.size = sizeof attrs, .axes = axes, .n_axes = n_axes};
  return sm_record_call(NULL, SM_OP_PERMUTE_DIMS, operands, 1, &attrs);
}

smelt_tensor *(smelt_swapaxes)(smelt_tensor *x, int axis1, int axis2) {
  smelt_tensor *const operands[] = {x};
  const smelt_attrs attrs = {.size = sizeof attrs, .axes = (const int[]){axis1, axis2}, .n_axes = 2};
  return sm_record_call(NULL, SM_OP_SWAPAXES, operands, 1, &attrs);
}

smelt_tensor *(smelt_flip)(smelt_tensor *x, const int *axes, size_t n_axes) {
  smelt_tensor *const operands[] = {x};
  const smelt_attrs attrs = {.size = sizeof attrs, .axes = axes, .n_axes = n_axes};
  return sm_record_call(NULL, SM_OP_FLIP, operands, 1, &attrs);
}

smelt_tensor *(smelt_slice)(smelt_tensor *x, const smelt_range *ranges, size_t n_ranges) {
  smelt_tensor *const operands[] = {x};
  const smelt_attrs attrs = {.size = sizeof attrs, .ranges = ranges, .n_ranges = n_ranges};
  return sm_record_call(NULL, SM_OP_SLICE, operands, 1, &attrs);
}

smelt_tensor *(smelt_broadcast_to)(smelt_tensor *x, int rank, const int64_t *dims) {
  smelt_tensor *const operands[] = {x};
  const smelt_attrs attrs = {.size = sizeof attrs, .rank = rank, .dims = dims};
  return sm_record_call(NULL, SM_OP_BROADCAST_TO, operands, 1, &attrs);
}

smelt_tensor *(smelt_take)(smelt_tensor *x, smelt_tensor *indices, int axis) {
  smelt_tensor *const operands[] = {x, indices};
  const smelt_attrs attrs = {.size = sizeof attrs, .axes = &axis, .n_axes = 1};
  return sm_record_call(NULL, SM_OP_TAKE, operands, 2, &attrs);
}

smelt_tensor *(smelt_take_along_axis)(smelt_tensor *x, smelt_tensor *indices, int axis) {
  smelt_tensor *const operands[] = {x, indices};
  const smelt_attrs attrs = {.size = sizeof attrs, .axes = &axis, .n_axes = 1};
  return sm_record_call(NULL, SM_OP_TAKE_ALONG_AXIS, operands, 2, &attrs);
}

smelt_tensor *(smelt_concat)(smelt_tensor *const *tensors, size_t n, int axis) {
  const smelt_attrs attrs = {.size = sizeof attrs, .axes = &axis, .n_axes = 1};
  return sm_record_list(NULL, SM_OP_CONCAT, tensors, n, &attrs);
}

smelt_tensor *(smelt_sum)(smelt_tensor *x, const int *axes, size_t n_axes, bool keepdims, smelt_dtype dtype) {
  smelt_tensor *const operands[] = {x};
  const smelt_attrs attrs = {.size = sizeof attrs, .axes = axes, .n_axes = n_axes, .keepdims = keepdims, .dtype = dtype};
  return sm_record_call(NULL, SM_OP_SUM, operands, 1, &attrs);
}

smelt_tensor *(smelt_prod)(smelt_tensor *x, const int *axes, size_t n_axes, bool keepdims, smelt_dtype dtype) {
  smelt_tensor *const operands[] = {x};
  const smelt_attrs attrs = {.size = sizeof attrs, .axes = axes, .n_axes = n_axes, .keepdims = keepdims, .dtype = dtype};
  return sm_record_call(NULL, SM_OP_PROD, operands, 1, &attrs);
}

smelt_tensor *(smelt_mean)(smelt_tensor *x, const int *axes, size_t n_axes, bool keepdims) {
  smelt_tensor *const operands[] = {x};
  const smelt_attrs attrs = {.size = sizeof attrs, .axes = axes, .n_axes = n_axes, .keepdims = keepdims};
  return sm_record_call(NULL, SM_OP_MEAN, operands, 1, &attrs);
}

smelt_tensor *(smelt_max)(smelt_tensor *x, const int *axes, size_t n_axes, bool keepdims) {
  smelt_tensor *const operands[] = {x};
  const smelt_attrs attrs = {.size = sizeof attrs, .axes = axes, .n_axes = n_axes, .keepdims = keepdims};
  return sm_record_call(NULL, SM_OP_MAX, operands, 1, &attrs);
}

smelt_tensor *(smelt_min)(smelt_tensor *x, const int *axes, size_t n_axes, bool keepdims) {
  smelt_tensor *const operands[] = {x};
  const smelt_attrs attrs = {.size = sizeof attrs, .axes = axes, .n_axes = n_axes, .keepdims = keepdims};
  return sm_record_call(NULL, SM_OP_MIN, operands, 1, &attrs);
}

smelt_tensor *(smelt_any)(smelt_tensor *x, const int *axes, size_t n_axes, bool keepdims) {
  smelt_tensor *const operands[] = {x};
  const smelt_attrs attrs = {.size = sizeof attrs, .axes = axes, .n_axes = n_axes, .keepdims = keepdims};
  return sm_record_call(NULL, SM_OP_ANY, operands, 1, &attrs);
}

smelt_tensor *(smelt_all)(smelt_tensor *x, const int *axes, size_t n_axes, bool keepdims) {
  smelt_tensor *const operands[] = {x};
  const smelt_attrs attrs = {.size = sizeof attrs, .axes = axes, .n_axes = n_axes, .keepdims = keepdims};
  return sm_record_call(NULL, SM_OP_ALL, operands, 1, &attrs);
}

smelt_tensor *(smelt_argmax)(smelt_tensor *x, const int *axes, size_t n_axes, bool keepdims) {
  smelt_tensor *const operands[] = {x};
  const smelt_attrs attrs = {.size = sizeof attrs, .axes = axes, .n_axes = n_axes, .keepdims = keepdims};
  return sm_record_call(NULL, SM_OP_ARGMAX, operands, 1, &attrs);
}

smelt_tensor *(smelt_argmin)(smelt_tensor *x, const int *axes, size_t n_axes, bool keepdims) {
  smelt_tensor *const operands[] = {x};
  const smelt_attrs attrs = {.size = sizeof attrs, .axes = axes, .n_axes = n_axes, .keepdims = keepdims};
  return sm_record_call(NULL, SM_OP_ARGMIN, operands, 1, &attrs);
}

smelt_tensor *(smelt_max_abs)(smelt_tensor *x, const int *axes, size_t n_axes, bool keepdims) {
  smelt_tensor *const operands[] = {x};
  const smelt_attrs attrs = {.size = sizeof attrs, .axes = axes, .n_axes = n_axes, .keepdims = keepdims};
  return sm_record_call(NULL, SM_OP_MAX_ABS, operands, 1, &attrs);
}

smelt_tensor *(smelt_max_with_indices)(smelt_tensor *x, const int *axes, size_t n_axes, bool keepdims, smelt_tensor **indices) {
  smelt_tensor *const operands[] = {x};
  const smelt_attrs attrs = {.size = sizeof attrs, .axes = axes, .n_axes = n_axes, .keepdims = keepdims, .indices = indices};
  return sm_record_call(NULL, SM_OP_MAX_WITH_INDICES, operands, 1, &attrs);
}

smelt_tensor *(smelt_min_with_indices)(smelt_tensor *x, const int *axes, size_t n_axes, bool keepdims, smelt_tensor **indices) {
  smelt_tensor *const operands[] = {x};
  const smelt_attrs attrs = {.size = sizeof attrs, .axes = axes, .n_axes = n_axes, .keepdims = keepdims, .indices = indices};
  return sm_record_call(NULL, SM_OP_MIN_WITH_INDICES, operands, 1, &attrs);
}

smelt_tensor *(smelt_count_nonzero)(smelt_tensor *x, const int *axes, size_t n_axes, bool keepdims) {
  smelt_tensor *const operands[] = {x};
  const smelt_attrs attrs = {.size = sizeof attrs, .axes = axes, .n_axes = n_axes, .keepdims = keepdims};
  return sm_record_call(NULL, SM_OP_COUNT_NONZERO, operands, 1, &attrs);
}

smelt_tensor *(smelt_var)(smelt_tensor *x, const int *axes, size_t n_axes, bool keepdims, double correction) {
  smelt_tensor *const operands[] = {x};
  const smelt_attrs attrs = {.size = sizeof attrs, .axes = axes, .n_axes = n_axes, .keepdims = keepdims, .number = correction};
  return sm_record_call(NULL, SM_OP_VAR, operands, 1, &attrs);
}

smelt_tensor *(smelt_std)(smelt_tensor *x, const int *axes, size_t n_axes, bool keepdims, double correction) {
  smelt_tensor *const operands[] = {x};
  const smelt_attrs attrs = {.size = sizeof attrs, .axes = axes, .n_axes = n_axes, .keepdims = keepdims, .number = correction};
  return sm_record_call(NULL, SM_OP_STD, operands, 1, &attrs);
}

smelt_tensor *(smelt_logsumexp)(smelt_tensor *x, const int *axes, size_t n_axes, bool keepdims) {
  smelt_tensor *const operands[] = {x};
  const smelt_attrs attrs = {.size = sizeof attrs, .axes = axes, .n_axes = n_axes, .keepdims = keepdims};
  return sm_record_call(NULL, SM_OP_LOGSUMEXP, operands, 1, &attrs);
}

smelt_tensor *(smelt_vector_norm)(smelt_tensor *x, const int *axes, size_t n_axes, bool keepdims, double ord) {
  smelt_tensor *const operands[] = {x};
  const smelt_attrs attrs = {.size = sizeof attrs, .axes = axes, .n_axes = n_axes, .keepdims = keepdims, .number = ord};
  return sm_record_call(NULL, SM_OP_VECTOR_NORM, operands, 1, &attrs);
}

smelt_tensor *(smelt_softmax)(smelt_tensor *x, int axis) {
  smelt_tensor *const operands[] = {x};
  const smelt_attrs attrs = {.size = sizeof attrs, .axes = &axis, .n_axes = 1};
  return sm_record_call(NULL, SM_OP_SOFTMAX, operands, 1, &attrs);
}

smelt_tensor *(smelt_log_softmax)(smelt_tensor *x, int axis) {
  smelt_tensor *const operands[] = {x};
  const smelt_attrs attrs = {.size = sizeof attrs, .axes = &axis, .n_axes = 1};
  return sm_record_call(NULL, SM_OP_LOG_SOFTMAX, operands, 1, &attrs);
}

smelt_tensor *(smelt_layer_norm)(smelt_tensor *x, const int *axes, size_t n_axes, double eps) {
  smelt_tensor *const operands[] = {x};
  const smelt_attrs attrs = {.size = sizeof attrs, .axes = axes, .n_axes = n_axes, .number = eps};
  return sm_record_call(NULL, SM_OP_LAYER_NORM, operands, 1, &attrs);
}

smelt_tensor *(smelt_rms_norm)(smelt_tensor *x, const int *axes, size_t n_axes, double eps) {
  smelt_tensor *const operands[] = {x};
  const smelt_attrs attrs = {.size = sizeof attrs, .axes = axes, .n_axes = n_axes, .number = eps};
  return sm_record_call(NULL, SM_OP_RMS_NORM, operands, 1, &attrs);
}

smelt_tensor *(smelt_group_norm)(smelt_tensor *x, int64_t groups, double eps) {
  smelt_tensor *const operands[] = {x};
  const smelt_attrs attrs = {.size = sizeof attrs, .groups = groups, .number = eps};
  return sm_record_call(NULL, SM_OP_GROUP_NORM, operands, 1, &attrs);
}

smelt_tensor *(smelt_normalize)(smelt_tensor *x, const int *axes, size_t n_axes, double eps) {
  smelt_tensor *const operands[] = {x};
  const smelt_attrs attrs = {.size = sizeof attrs, .axes = axes, .n_axes = n_axes, .number = eps};
  return sm_record_call(NULL, SM_OP_NORMALIZE, operands, 1, &attrs);
}

smelt_tensor *(smelt_cross_entropy)(smelt_tensor *x, smelt_tensor *labels, int axis) {
  smelt_tensor *const operands[] = {x, labels};
  const smelt_attrs attrs = {.size = sizeof attrs, .axes = &axis, .n_axes = 1};
  return sm_record_call(NULL, SM_OP_CROSS_ENTROPY, operands, 2, &attrs);
}
