/* SPDX-License-Identifier: Apache-2.0
 *
 * Tensor operations. Generated from src/ir/ops.def by opgen: do not edit.
 *
 * Every operation takes its operands and returns a reference that is the
 * caller's. None fails: a wrong call returns a poisoned tensor with
 * ERR_ARGUMENT, ERR_SHAPE, ERR_DTYPE, ERR_DEVICE, ERR_STALE or ERR_MEMORY, and a
 * poisoned operand passes its cause on. Nothing is computed until a value is
 * needed. All operations are thread-safe.
 *
 * Operations with several operands or a scalar operand are macros too: they
 * evaluate operands from left to right, each once, and accept C scalars
 * (macros.h says how). (smelt_add)(x, y) is the function.
 *
 * Vocabulary: an *integer* is i8 to i64 or u8 to u64, a *float* f16, bf16, f32 or f64, a
 * *number* either. Dtypes of tensors are promoted and shapes broadcast by the
 * rules of the Python Array API; a scalar takes the dtype of the tensors beside
 * it. `dims` has `rank` extents, NULL is allowed for rank 0. Negative axes count
 * from the end; NULL in place of a list of axes leaves them out, so that a reduction
 * is over all of them; with `keepdims` reduced axes stay, with extent 1. `indices` gets
 * a second result, which is the caller's too, and poisoned if the first is, because the
 * call is wrong; it is NULL if the second result is not wanted. A list of tensors
 * is taken whole; write its elements in statements of their own, or at least so
 * that their order does not matter: C leaves it open inside braces. */
#ifndef SMELT_OPS_H
#define SMELT_OPS_H

#include "smelt/macros.h"

#ifdef __cplusplus
extern "C" {
#endif

/* --- Creation --- */

/* A tensor of zeros (false for bool).
 * Result: `dtype` (any dtype), shape `dims`. */
SMELT_API SMELT_GIVES
smelt_tensor *smelt_zeros(smelt_context *ctx, smelt_dtype dtype, int rank, const int64_t *dims);

/* A tensor of ones (true for bool).
 * Result: `dtype` (any dtype), shape `dims`. */
SMELT_API SMELT_GIVES
smelt_tensor *smelt_ones(smelt_context *ctx, smelt_dtype dtype, int rank, const int64_t *dims);

/* A tensor filled with one value.
 * value: any dtype, scalar.
 * Result: `dtype`, shape `dims`. */
SMELT_API SMELT_GIVES SMELT_TAKES(2)
smelt_tensor *smelt_full(smelt_context *ctx, smelt_tensor *value,
    smelt_dtype dtype, int rank, const int64_t *dims);
#define smelt_full(ctx, value, ...) \
  smelt__apply1_ts(smelt_full, ctx, value, __VA_ARGS__)

/* start + i*step for i = 0, 1, ... while below stop (above it for a negative step). Elements have to fit the dtype, stop does not.
 * start, stop, step: number, scalar.
 * Result: `dtype`, one axis. */
SMELT_API SMELT_GIVES SMELT_TAKES(2, 3, 4)
smelt_tensor *smelt_arange(smelt_context *ctx, smelt_tensor *start, smelt_tensor *stop, smelt_tensor *step,
    smelt_dtype dtype);
#define smelt_arange(ctx, start, stop, step, ...) \
  smelt__apply3_t(smelt_arange, ctx, start, stop, step, __VA_ARGS__)

/* Uniform random numbers in [0, 1), from Philox 4x32-10 at the flat index.
 * Result: `dtype` (float), shape `dims`. */
SMELT_API SMELT_GIVES
smelt_tensor *smelt_rand(smelt_context *ctx, smelt_dtype dtype, int rank, const int64_t *dims);

/* Normal random numbers (mean 0, variance 1), by Box and Muller's transform.
 * Result: `dtype` (float), shape `dims`. */
SMELT_API SMELT_GIVES
smelt_tensor *smelt_randn(smelt_context *ctx, smelt_dtype dtype, int rank, const int64_t *dims);

/* --- Conversion --- */

/* Conversion: floats to integers truncate and saturate (NaN gives 0), integers wrap, bool is not-zero.
 * x: any dtype, tensor.
 * Result: `dtype`, shape of x. */
SMELT_API SMELT_GIVES SMELT_TAKES(1)
smelt_tensor *smelt_astype(smelt_tensor *x, smelt_dtype dtype);

/* --- Arithmetic --- */

/* Sum; integers wrap.
 * x, y: number, tensor or scalar.
 * Result: promoted dtype, shapes broadcast. */
SMELT_API SMELT_GIVES SMELT_TAKES(1, 2)
smelt_tensor *smelt_add(smelt_tensor *x, smelt_tensor *y);
#define smelt_add(x, y) smelt__apply2(smelt_add, x, y)

/* Difference; integers wrap.
 * x, y: number, tensor or scalar.
 * Result: promoted dtype, shapes broadcast. */
SMELT_API SMELT_GIVES SMELT_TAKES(1, 2)
smelt_tensor *smelt_subtract(smelt_tensor *x, smelt_tensor *y);
#define smelt_subtract(x, y) smelt__apply2(smelt_subtract, x, y)
#define smelt_sub(x, y) smelt_subtract(x, y)

/* Product; integers wrap.
 * x, y: number, tensor or scalar.
 * Result: promoted dtype, shapes broadcast. */
SMELT_API SMELT_GIVES SMELT_TAKES(1, 2)
smelt_tensor *smelt_multiply(smelt_tensor *x, smelt_tensor *y);
#define smelt_multiply(x, y) smelt__apply2(smelt_multiply, x, y)
#define smelt_mul(x, y) smelt_multiply(x, y)

/* Quotient of floats; integers have floor_divide and trunc_divide.
 * x, y: float, tensor or scalar.
 * Result: promoted dtype, shapes broadcast. */
SMELT_API SMELT_GIVES SMELT_TAKES(1, 2)
smelt_tensor *smelt_divide(smelt_tensor *x, smelt_tensor *y);
#define smelt_divide(x, y) smelt__apply2(smelt_divide, x, y)
#define smelt_div(x, y) smelt_divide(x, y)

/* floor(x / y), of floats with the quotient rounded first; an integer divided by zero gives 0.
 * x, y: number, tensor or scalar.
 * Result: promoted dtype, shapes broadcast. */
SMELT_API SMELT_GIVES SMELT_TAKES(1, 2)
smelt_tensor *smelt_floor_divide(smelt_tensor *x, smelt_tensor *y);
#define smelt_floor_divide(x, y) smelt__apply2(smelt_floor_divide, x, y)

/* Quotient rounded toward zero; an integer divided by zero gives 0.
 * x, y: number, tensor or scalar.
 * Result: promoted dtype, shapes broadcast. */
SMELT_API SMELT_GIVES SMELT_TAKES(1, 2)
smelt_tensor *smelt_trunc_divide(smelt_tensor *x, smelt_tensor *y);
#define smelt_trunc_divide(x, y) smelt__apply2(smelt_trunc_divide, x, y)

/* Remainder with the sign of the divisor, as Python's %; integers by zero give 0.
 * x, y: number, tensor or scalar.
 * Result: promoted dtype, shapes broadcast. */
SMELT_API SMELT_GIVES SMELT_TAKES(1, 2)
smelt_tensor *smelt_remainder(smelt_tensor *x, smelt_tensor *y);
#define smelt_remainder(x, y) smelt__apply2(smelt_remainder, x, y)

/* Remainder with the sign of the dividend, as C's fmod; integers by zero give 0.
 * x, y: number, tensor or scalar.
 * Result: promoted dtype, shapes broadcast. */
SMELT_API SMELT_GIVES SMELT_TAKES(1, 2)
smelt_tensor *smelt_fmod(smelt_tensor *x, smelt_tensor *y);
#define smelt_fmod(x, y) smelt__apply2(smelt_fmod, x, y)

/* Power; integers wrap, a negative integer exponent gives the truncated result.
 * x, y: number, tensor or scalar.
 * Result: promoted dtype, shapes broadcast. */
SMELT_API SMELT_GIVES SMELT_TAKES(1, 2)
smelt_tensor *smelt_pow(smelt_tensor *x, smelt_tensor *y);
#define smelt_pow(x, y) smelt__apply2(smelt_pow, x, y)

/* The larger, y of equal ones (-0.0 equals 0.0); NaN propagates.
 * x, y: number, tensor or scalar.
 * Result: promoted dtype, shapes broadcast. */
SMELT_API SMELT_GIVES SMELT_TAKES(1, 2)
smelt_tensor *smelt_maximum(smelt_tensor *x, smelt_tensor *y);
#define smelt_maximum(x, y) smelt__apply2(smelt_maximum, x, y)

/* The smaller, y of equal ones (-0.0 equals 0.0); NaN propagates.
 * x, y: number, tensor or scalar.
 * Result: promoted dtype, shapes broadcast. */
SMELT_API SMELT_GIVES SMELT_TAKES(1, 2)
smelt_tensor *smelt_minimum(smelt_tensor *x, smelt_tensor *y);
#define smelt_minimum(x, y) smelt__apply2(smelt_minimum, x, y)

/* Angle of the point (y, x), with the first operand as ordinate.
 * x, y: float, tensor or scalar.
 * Result: promoted dtype, shapes broadcast. */
SMELT_API SMELT_GIVES SMELT_TAKES(1, 2)
smelt_tensor *smelt_atan2(smelt_tensor *x, smelt_tensor *y);
#define smelt_atan2(x, y) smelt__apply2(smelt_atan2, x, y)

/* sqrt(x*x + y*y) without overflow in between.
 * x, y: float, tensor or scalar.
 * Result: promoted dtype, shapes broadcast. */
SMELT_API SMELT_GIVES SMELT_TAKES(1, 2)
smelt_tensor *smelt_hypot(smelt_tensor *x, smelt_tensor *y);
#define smelt_hypot(x, y) smelt__apply2(smelt_hypot, x, y)

/* The first operand's magnitude with the second's sign.
 * x, y: float, tensor or scalar.
 * Result: promoted dtype, shapes broadcast. */
SMELT_API SMELT_GIVES SMELT_TAKES(1, 2)
smelt_tensor *smelt_copysign(smelt_tensor *x, smelt_tensor *y);
#define smelt_copysign(x, y) smelt__apply2(smelt_copysign, x, y)

/* Negation; integers wrap.
 * x: number, tensor.
 * Result: dtype of x, shape of x. */
SMELT_API SMELT_GIVES SMELT_TAKES(1)
smelt_tensor *smelt_negative(smelt_tensor *x);
#define smelt_neg(x) smelt_negative(x)

/* The operand itself.
 * x: number, tensor.
 * Result: dtype of x, shape of x. */
SMELT_API SMELT_GIVES SMELT_TAKES(1)
smelt_tensor *smelt_positive(smelt_tensor *x);

/* Magnitude; the smallest integer stays.
 * x: number, tensor.
 * Result: dtype of x, shape of x. */
SMELT_API SMELT_GIVES SMELT_TAKES(1)
smelt_tensor *smelt_abs(smelt_tensor *x);

/* -1, 0 or 1; both zeros give +0, NaN stays NaN.
 * x: number, tensor.
 * Result: dtype of x, shape of x. */
SMELT_API SMELT_GIVES SMELT_TAKES(1)
smelt_tensor *smelt_sign(smelt_tensor *x);

/* x*x.
 * x: number, tensor.
 * Result: dtype of x, shape of x. */
SMELT_API SMELT_GIVES SMELT_TAKES(1)
smelt_tensor *smelt_square(smelt_tensor *x);

/* 1/x.
 * x: float, tensor.
 * Result: dtype of x, shape of x. */
SMELT_API SMELT_GIVES SMELT_TAKES(1)
smelt_tensor *smelt_reciprocal(smelt_tensor *x);

/* --- Functions of floats --- */

/* Square root.
 * x: float, tensor.
 * Result: dtype of x, shape of x. */
SMELT_API SMELT_GIVES SMELT_TAKES(1)
smelt_tensor *smelt_sqrt(smelt_tensor *x);

/* 1/sqrt(x).
 * x: float, tensor.
 * Result: dtype of x, shape of x. */
SMELT_API SMELT_GIVES SMELT_TAKES(1)
smelt_tensor *smelt_rsqrt(smelt_tensor *x);

/* e to the x.
 * x: float, tensor.
 * Result: dtype of x, shape of x. */
SMELT_API SMELT_GIVES SMELT_TAKES(1)
smelt_tensor *smelt_exp(smelt_tensor *x);

/* 2 to the x.
 * x: float, tensor.
 * Result: dtype of x, shape of x. */
SMELT_API SMELT_GIVES SMELT_TAKES(1)
smelt_tensor *smelt_exp2(smelt_tensor *x);

/* exp(x) - 1, accurate near 0.
 * x: float, tensor.
 * Result: dtype of x, shape of x. */
SMELT_API SMELT_GIVES SMELT_TAKES(1)
smelt_tensor *smelt_expm1(smelt_tensor *x);

/* Natural logarithm.
 * x: float, tensor.
 * Result: dtype of x, shape of x. */
SMELT_API SMELT_GIVES SMELT_TAKES(1)
smelt_tensor *smelt_log(smelt_tensor *x);

/* Binary logarithm.
 * x: float, tensor.
 * Result: dtype of x, shape of x. */
SMELT_API SMELT_GIVES SMELT_TAKES(1)
smelt_tensor *smelt_log2(smelt_tensor *x);

/* Decimal logarithm.
 * x: float, tensor.
 * Result: dtype of x, shape of x. */
SMELT_API SMELT_GIVES SMELT_TAKES(1)
smelt_tensor *smelt_log10(smelt_tensor *x);

/* log(1 + x), accurate near 0.
 * x: float, tensor.
 * Result: dtype of x, shape of x. */
SMELT_API SMELT_GIVES SMELT_TAKES(1)
smelt_tensor *smelt_log1p(smelt_tensor *x);

/* Sine of radians.
 * x: float, tensor.
 * Result: dtype of x, shape of x. */
SMELT_API SMELT_GIVES SMELT_TAKES(1)
smelt_tensor *smelt_sin(smelt_tensor *x);

/* Cosine of radians.
 * x: float, tensor.
 * Result: dtype of x, shape of x. */
SMELT_API SMELT_GIVES SMELT_TAKES(1)
smelt_tensor *smelt_cos(smelt_tensor *x);

/* Tangent of radians.
 * x: float, tensor.
 * Result: dtype of x, shape of x. */
SMELT_API SMELT_GIVES SMELT_TAKES(1)
smelt_tensor *smelt_tan(smelt_tensor *x);

/* Inverse sine.
 * x: float, tensor.
 * Result: dtype of x, shape of x. */
SMELT_API SMELT_GIVES SMELT_TAKES(1)
smelt_tensor *smelt_asin(smelt_tensor *x);

/* Inverse cosine.
 * x: float, tensor.
 * Result: dtype of x, shape of x. */
SMELT_API SMELT_GIVES SMELT_TAKES(1)
smelt_tensor *smelt_acos(smelt_tensor *x);

/* Inverse tangent.
 * x: float, tensor.
 * Result: dtype of x, shape of x. */
SMELT_API SMELT_GIVES SMELT_TAKES(1)
smelt_tensor *smelt_atan(smelt_tensor *x);

/* Hyperbolic sine.
 * x: float, tensor.
 * Result: dtype of x, shape of x. */
SMELT_API SMELT_GIVES SMELT_TAKES(1)
smelt_tensor *smelt_sinh(smelt_tensor *x);

/* Hyperbolic cosine.
 * x: float, tensor.
 * Result: dtype of x, shape of x. */
SMELT_API SMELT_GIVES SMELT_TAKES(1)
smelt_tensor *smelt_cosh(smelt_tensor *x);

/* Hyperbolic tangent.
 * x: float, tensor.
 * Result: dtype of x, shape of x. */
SMELT_API SMELT_GIVES SMELT_TAKES(1)
smelt_tensor *smelt_tanh(smelt_tensor *x);

/* Inverse hyperbolic sine.
 * x: float, tensor.
 * Result: dtype of x, shape of x. */
SMELT_API SMELT_GIVES SMELT_TAKES(1)
smelt_tensor *smelt_asinh(smelt_tensor *x);

/* Inverse hyperbolic cosine.
 * x: float, tensor.
 * Result: dtype of x, shape of x. */
SMELT_API SMELT_GIVES SMELT_TAKES(1)
smelt_tensor *smelt_acosh(smelt_tensor *x);

/* Inverse hyperbolic tangent.
 * x: float, tensor.
 * Result: dtype of x, shape of x. */
SMELT_API SMELT_GIVES SMELT_TAKES(1)
smelt_tensor *smelt_atanh(smelt_tensor *x);

/* Error function.
 * x: float, tensor.
 * Result: dtype of x, shape of x. */
SMELT_API SMELT_GIVES SMELT_TAKES(1)
smelt_tensor *smelt_erf(smelt_tensor *x);

/* 1/(1 + exp(-x)).
 * x: float, tensor.
 * Result: dtype of x, shape of x. */
SMELT_API SMELT_GIVES SMELT_TAKES(1)
smelt_tensor *smelt_sigmoid(smelt_tensor *x);

/* Rounded down.
 * x: float, tensor.
 * Result: dtype of x, shape of x. */
SMELT_API SMELT_GIVES SMELT_TAKES(1)
smelt_tensor *smelt_floor(smelt_tensor *x);

/* Rounded up.
 * x: float, tensor.
 * Result: dtype of x, shape of x. */
SMELT_API SMELT_GIVES SMELT_TAKES(1)
smelt_tensor *smelt_ceil(smelt_tensor *x);

/* Rounded to nearest, half to even.
 * x: float, tensor.
 * Result: dtype of x, shape of x. */
SMELT_API SMELT_GIVES SMELT_TAKES(1)
smelt_tensor *smelt_round(smelt_tensor *x);

/* Rounded toward zero.
 * x: float, tensor.
 * Result: dtype of x, shape of x. */
SMELT_API SMELT_GIVES SMELT_TAKES(1)
smelt_tensor *smelt_trunc(smelt_tensor *x);

/* --- Tests --- */

/* Whether the element is NaN.
 * x: float, tensor.
 * Result: bool, shape of x. */
SMELT_API SMELT_GIVES SMELT_TAKES(1)
smelt_tensor *smelt_isnan(smelt_tensor *x);

/* Whether the element is infinite.
 * x: float, tensor.
 * Result: bool, shape of x. */
SMELT_API SMELT_GIVES SMELT_TAKES(1)
smelt_tensor *smelt_isinf(smelt_tensor *x);

/* Whether the element is neither infinite nor NaN.
 * x: float, tensor.
 * Result: bool, shape of x. */
SMELT_API SMELT_GIVES SMELT_TAKES(1)
smelt_tensor *smelt_isfinite(smelt_tensor *x);

/* Whether the sign bit is set (also of -0 and NaN).
 * x: float, tensor.
 * Result: bool, shape of x. */
SMELT_API SMELT_GIVES SMELT_TAKES(1)
smelt_tensor *smelt_signbit(smelt_tensor *x);

/* x == y; NaN equals nothing.
 * x, y: any dtype, tensor or scalar.
 * Result: bool, shapes broadcast. */
SMELT_API SMELT_GIVES SMELT_TAKES(1, 2)
smelt_tensor *smelt_equal(smelt_tensor *x, smelt_tensor *y);
#define smelt_equal(x, y) smelt__apply2(smelt_equal, x, y)

/* x != y; true for NaN.
 * x, y: any dtype, tensor or scalar.
 * Result: bool, shapes broadcast. */
SMELT_API SMELT_GIVES SMELT_TAKES(1, 2)
smelt_tensor *smelt_not_equal(smelt_tensor *x, smelt_tensor *y);
#define smelt_not_equal(x, y) smelt__apply2(smelt_not_equal, x, y)

/* x < y; false for NaN.
 * x, y: number, tensor or scalar.
 * Result: bool, shapes broadcast. */
SMELT_API SMELT_GIVES SMELT_TAKES(1, 2)
smelt_tensor *smelt_less(smelt_tensor *x, smelt_tensor *y);
#define smelt_less(x, y) smelt__apply2(smelt_less, x, y)

/* x <= y; false for NaN.
 * x, y: number, tensor or scalar.
 * Result: bool, shapes broadcast. */
SMELT_API SMELT_GIVES SMELT_TAKES(1, 2)
smelt_tensor *smelt_less_equal(smelt_tensor *x, smelt_tensor *y);
#define smelt_less_equal(x, y) smelt__apply2(smelt_less_equal, x, y)

/* x > y; false for NaN.
 * x, y: number, tensor or scalar.
 * Result: bool, shapes broadcast. */
SMELT_API SMELT_GIVES SMELT_TAKES(1, 2)
smelt_tensor *smelt_greater(smelt_tensor *x, smelt_tensor *y);
#define smelt_greater(x, y) smelt__apply2(smelt_greater, x, y)

/* x >= y; false for NaN.
 * x, y: number, tensor or scalar.
 * Result: bool, shapes broadcast. */
SMELT_API SMELT_GIVES SMELT_TAKES(1, 2)
smelt_tensor *smelt_greater_equal(smelt_tensor *x, smelt_tensor *y);
#define smelt_greater_equal(x, y) smelt__apply2(smelt_greater_equal, x, y)

/* --- Logic and bits --- */

/* Both.
 * x, y: bool, tensor or scalar.
 * Result: promoted dtype, shapes broadcast. */
SMELT_API SMELT_GIVES SMELT_TAKES(1, 2)
smelt_tensor *smelt_logical_and(smelt_tensor *x, smelt_tensor *y);
#define smelt_logical_and(x, y) smelt__apply2(smelt_logical_and, x, y)

/* At least one.
 * x, y: bool, tensor or scalar.
 * Result: promoted dtype, shapes broadcast. */
SMELT_API SMELT_GIVES SMELT_TAKES(1, 2)
smelt_tensor *smelt_logical_or(smelt_tensor *x, smelt_tensor *y);
#define smelt_logical_or(x, y) smelt__apply2(smelt_logical_or, x, y)

/* Exactly one.
 * x, y: bool, tensor or scalar.
 * Result: promoted dtype, shapes broadcast. */
SMELT_API SMELT_GIVES SMELT_TAKES(1, 2)
smelt_tensor *smelt_logical_xor(smelt_tensor *x, smelt_tensor *y);
#define smelt_logical_xor(x, y) smelt__apply2(smelt_logical_xor, x, y)

/* Negation.
 * x: bool, tensor.
 * Result: dtype of x, shape of x. */
SMELT_API SMELT_GIVES SMELT_TAKES(1)
smelt_tensor *smelt_logical_not(smelt_tensor *x);

/* Bits set in both.
 * x, y: integer or bool, tensor or scalar.
 * Result: promoted dtype, shapes broadcast. */
SMELT_API SMELT_GIVES SMELT_TAKES(1, 2)
smelt_tensor *smelt_bitwise_and(smelt_tensor *x, smelt_tensor *y);
#define smelt_bitwise_and(x, y) smelt__apply2(smelt_bitwise_and, x, y)

/* Bits set in at least one.
 * x, y: integer or bool, tensor or scalar.
 * Result: promoted dtype, shapes broadcast. */
SMELT_API SMELT_GIVES SMELT_TAKES(1, 2)
smelt_tensor *smelt_bitwise_or(smelt_tensor *x, smelt_tensor *y);
#define smelt_bitwise_or(x, y) smelt__apply2(smelt_bitwise_or, x, y)

/* Bits set in exactly one.
 * x, y: integer or bool, tensor or scalar.
 * Result: promoted dtype, shapes broadcast. */
SMELT_API SMELT_GIVES SMELT_TAKES(1, 2)
smelt_tensor *smelt_bitwise_xor(smelt_tensor *x, smelt_tensor *y);
#define smelt_bitwise_xor(x, y) smelt__apply2(smelt_bitwise_xor, x, y)

/* All bits flipped.
 * x: integer or bool, tensor.
 * Result: dtype of x, shape of x. */
SMELT_API SMELT_GIVES SMELT_TAKES(1)
smelt_tensor *smelt_bitwise_invert(smelt_tensor *x);

/* x * 2^y; a count that is negative or at least the width gives 0.
 * x, y: integer, tensor or scalar.
 * Result: promoted dtype, shapes broadcast. */
SMELT_API SMELT_GIVES SMELT_TAKES(1, 2)
smelt_tensor *smelt_bitwise_left_shift(smelt_tensor *x, smelt_tensor *y);
#define smelt_bitwise_left_shift(x, y) smelt__apply2(smelt_bitwise_left_shift, x, y)

/* x / 2^y rounded down; a count that is negative or at least the width leaves only sign bits.
 * x, y: integer, tensor or scalar.
 * Result: promoted dtype, shapes broadcast. */
SMELT_API SMELT_GIVES SMELT_TAKES(1, 2)
smelt_tensor *smelt_bitwise_right_shift(smelt_tensor *x, smelt_tensor *y);
#define smelt_bitwise_right_shift(x, y) smelt__apply2(smelt_bitwise_right_shift, x, y)

/* --- Choice --- */

/* The second operand where the first is true, elsewhere the third.
 * cond: bool, tensor; x, y: any dtype, tensor or scalar.
 * Result: promoted dtype, shapes broadcast. */
SMELT_API SMELT_GIVES SMELT_TAKES(1, 2, 3)
smelt_tensor *smelt_where(smelt_tensor *cond, smelt_tensor *x, smelt_tensor *y);
#define smelt_where(cond, x, y) smelt__apply3(smelt_where, cond, x, y)

/* Limited to [lo, hi]; a NaN anywhere gives NaN, lo > hi gives hi.
 * x: number, tensor; lo, hi: number, tensor or scalar.
 * Result: promoted dtype, shapes broadcast. */
SMELT_API SMELT_GIVES SMELT_TAKES(1, 2, 3)
smelt_tensor *smelt_clip(smelt_tensor *x, smelt_tensor *lo, smelt_tensor *hi);
#define smelt_clip(x, lo, hi) smelt__apply3(smelt_clip, x, lo, hi)

/* --- Views --- */

/* The elements in row-major order under another shape; one extent may be -1 and follows from the others.
 * x: any dtype, tensor.
 * Result: dtype of x, shape `dims`. */
SMELT_API SMELT_GIVES SMELT_TAKES(1)
smelt_tensor *smelt_reshape(smelt_tensor *x, int rank, const int64_t *dims);

/* Without these axes, which have extent 1; without all of extent 1 if none are given.
 * x: any dtype, tensor.
 * Result: dtype of x, axes left out. */
SMELT_API SMELT_GIVES SMELT_TAKES(1)
smelt_tensor *smelt_squeeze(smelt_tensor *x, const int *axes, size_t n_axes);

/* With an axis of extent 1 put in at this place of the result.
 * x: any dtype, tensor.
 * Result: dtype of x, one more axis. */
SMELT_API SMELT_GIVES SMELT_TAKES(1)
smelt_tensor *smelt_expand_dims(smelt_tensor *x, int axis);

/* The axes in this order; reversed if none are given.
 * x: any dtype, tensor.
 * Result: dtype of x, axes permuted. */
SMELT_API SMELT_GIVES SMELT_TAKES(1)
smelt_tensor *smelt_permute_dims(smelt_tensor *x, const int *axes, size_t n_axes);

/* Two axes exchanged.
 * x: any dtype, tensor.
 * Result: dtype of x, axes exchanged. */
SMELT_API SMELT_GIVES SMELT_TAKES(1)
smelt_tensor *smelt_swapaxes(smelt_tensor *x, int axis1, int axis2);

/* These axes backwards; all of them if none are given.
 * x: any dtype, tensor.
 * Result: dtype of x, shape of x. */
SMELT_API SMELT_GIVES SMELT_TAKES(1)
smelt_tensor *smelt_flip(smelt_tensor *x, const int *axes, size_t n_axes);

/* Ranges of the first axes, as Python's x[start:stop:step, ...]; further axes stay whole.
 * x: any dtype, tensor.
 * Result: dtype of x, lengths of the ranges. */
SMELT_API SMELT_GIVES SMELT_TAKES(1)
smelt_tensor *smelt_slice(smelt_tensor *x, const smelt_range *ranges, size_t n_ranges);

/* Broadcast to this shape.
 * x: any dtype, tensor.
 * Result: dtype of x, shape `dims`. */
SMELT_API SMELT_GIVES SMELT_TAKES(1)
smelt_tensor *smelt_broadcast_to(smelt_tensor *x, int rank, const int64_t *dims);

/* --- Selection --- */

/* The places of an axis that indices name; negative ones count from the end, others beyond the axis are cut to it.
 * x: any dtype, tensor; indices: integer, tensor.
 * Result: dtype of x, axis replaced by the shape of indices. */
SMELT_API SMELT_GIVES SMELT_TAKES(1, 2)
smelt_tensor *smelt_take(smelt_tensor *x, smelt_tensor *indices, int axis);
#define smelt_take(x, indices, ...) \
  smelt__apply2_x(smelt_take, x, indices, __VA_ARGS__)

/* Along an axis the element that the index at the same place names, as take does; other axes broadcast.
 * x: any dtype, tensor; indices: integer, tensor.
 * Result: dtype of x, shapes broadcast, the axis of indices. */
SMELT_API SMELT_GIVES SMELT_TAKES(1, 2)
smelt_tensor *smelt_take_along_axis(smelt_tensor *x, smelt_tensor *indices, int axis);
#define smelt_take_along_axis(x, indices, ...) \
  smelt__apply2_x(smelt_take_along_axis, x, indices, __VA_ARGS__)

/* The tensors one after another along an axis; their other extents are equal.
 * tensors: any dtype, `n` tensors, promoted.
 * Result: promoted dtype, extents of the axis added. */
SMELT_API SMELT_GIVES
smelt_tensor *smelt_concat(smelt_tensor *const *tensors, size_t n, int axis);

/* --- Reductions --- */

/* Sum of the elements, 0 of none; integers wrap, half types are added in f32.
 * x: any dtype, tensor.
 * Result: `dtype`, or if that is NONE i64, u64 or the float dtype of x, axes left out or of extent 1. */
SMELT_API SMELT_GIVES SMELT_TAKES(1)
smelt_tensor *smelt_sum(smelt_tensor *x, const int *axes, size_t n_axes, bool keepdims, smelt_dtype dtype);

/* Product of the elements, 1 of none; integers wrap, half types are multiplied in f32.
 * x: any dtype, tensor.
 * Result: `dtype`, or if that is NONE i64, u64 or the float dtype of x, axes left out or of extent 1. */
SMELT_API SMELT_GIVES SMELT_TAKES(1)
smelt_tensor *smelt_prod(smelt_tensor *x, const int *axes, size_t n_axes, bool keepdims, smelt_dtype dtype);

/* Sum divided by the number of elements, NaN of none; half types are rounded only in the end.
 * x: float, tensor.
 * Result: dtype of x, axes left out or of extent 1. */
SMELT_API SMELT_GIVES SMELT_TAKES(1)
smelt_tensor *smelt_mean(smelt_tensor *x, const int *axes, size_t n_axes, bool keepdims);

/* The largest element; NaN propagates, there has to be an element.
 * x: number, tensor.
 * Result: dtype of x, axes left out or of extent 1. */
SMELT_API SMELT_GIVES SMELT_TAKES(1)
smelt_tensor *smelt_max(smelt_tensor *x, const int *axes, size_t n_axes, bool keepdims);

/* The smallest element; NaN propagates, there has to be an element.
 * x: number, tensor.
 * Result: dtype of x, axes left out or of extent 1. */
SMELT_API SMELT_GIVES SMELT_TAKES(1)
smelt_tensor *smelt_min(smelt_tensor *x, const int *axes, size_t n_axes, bool keepdims);

/* Whether an element is true or not zero (NaN is not zero); false of none.
 * x: any dtype, tensor.
 * Result: bool, axes left out or of extent 1. */
SMELT_API SMELT_GIVES SMELT_TAKES(1)
smelt_tensor *smelt_any(smelt_tensor *x, const int *axes, size_t n_axes, bool keepdims);

/* Whether all elements are true or not zero (NaN is not zero); true of none.
 * x: any dtype, tensor.
 * Result: bool, axes left out or of extent 1. */
SMELT_API SMELT_GIVES SMELT_TAKES(1)
smelt_tensor *smelt_all(smelt_tensor *x, const int *axes, size_t n_axes, bool keepdims);

/* Row-major index over these axes of the first NaN, otherwise of the first largest element.
 * x: any dtype, tensor.
 * Result: i64, axes left out or of extent 1. */
SMELT_API SMELT_GIVES SMELT_TAKES(1)
smelt_tensor *smelt_argmax(smelt_tensor *x, const int *axes, size_t n_axes, bool keepdims);

/* Row-major index over these axes of the first NaN, otherwise of the first smallest element.
 * x: any dtype, tensor.
 * Result: i64, axes left out or of extent 1. */
SMELT_API SMELT_GIVES SMELT_TAKES(1)
smelt_tensor *smelt_argmin(smelt_tensor *x, const int *axes, size_t n_axes, bool keepdims);

/* --- Composite reductions --- */

/* max(abs(x)).
 * x: number, tensor.
 * Result: dtype of x, axes left out or of extent 1. */
SMELT_API SMELT_GIVES SMELT_TAKES(1)
smelt_tensor *smelt_max_abs(smelt_tensor *x, const int *axes, size_t n_axes, bool keepdims);

/* max(x), and argmax(x) as a second result: both of the first NaN, otherwise of the first largest element.
 * x: number, tensor.
 * Result: dtype of x, axes left out or of extent 1. */
SMELT_API SMELT_GIVES SMELT_TAKES(1)
smelt_tensor *smelt_max_with_indices(smelt_tensor *x, const int *axes, size_t n_axes, bool keepdims, smelt_tensor **indices);

/* min(x), and argmin(x) as a second result: both of the first NaN, otherwise of the first smallest element.
 * x: number, tensor.
 * Result: dtype of x, axes left out or of extent 1. */
SMELT_API SMELT_GIVES SMELT_TAKES(1)
smelt_tensor *smelt_min_with_indices(smelt_tensor *x, const int *axes, size_t n_axes, bool keepdims, smelt_tensor **indices);

/* sum(astype(x, bool)): NaN counts.
 * x: any dtype, tensor.
 * Result: i64, axes left out or of extent 1. */
SMELT_API SMELT_GIVES SMELT_TAKES(1)
smelt_tensor *smelt_count_nonzero(smelt_tensor *x, const int *axes, size_t n_axes, bool keepdims);

/* sum(square(x - mean(x))) / max(n - correction, 0), where n elements are reduced to one.
 * x: float, tensor.
 * Result: dtype of x, axes left out or of extent 1. */
SMELT_API SMELT_GIVES SMELT_TAKES(1)
smelt_tensor *smelt_var(smelt_tensor *x, const int *axes, size_t n_axes, bool keepdims, double correction);

/* sqrt(var(x)).
 * x: float, tensor.
 * Result: dtype of x, axes left out or of extent 1. */
SMELT_API SMELT_GIVES SMELT_TAKES(1)
smelt_tensor *smelt_std(smelt_tensor *x, const int *axes, size_t n_axes, bool keepdims, double correction);

/* log(sum(exp(x - m))) + m with m = max(x), or 0 where that is not finite.
 * x: float, tensor.
 * Result: dtype of x, axes left out or of extent 1. */
SMELT_API SMELT_GIVES SMELT_TAKES(1)
smelt_tensor *smelt_logsumexp(smelt_tensor *x, const int *axes, size_t n_axes, bool keepdims);

/* sum(abs(x)**ord)**(1/ord); ord inf is max(abs(x)), -inf min(abs(x)), 0 how many are not zero.
 * x: float, tensor.
 * Result: dtype of x, axes left out or of extent 1. */
SMELT_API SMELT_GIVES SMELT_TAKES(1)
smelt_tensor *smelt_vector_norm(smelt_tensor *x, const int *axes, size_t n_axes, bool keepdims, double ord);

/* --- Normalizations --- */

/* e * (1/sum(e)) with e = exp(x - max(x)) along the axis.
 * x: float, tensor.
 * Result: dtype of x, shape of x. */
SMELT_API SMELT_GIVES SMELT_TAKES(1)
smelt_tensor *smelt_softmax(smelt_tensor *x, int axis);

/* y - log(sum(exp(y))) with y = x - max(x) along the axis.
 * x: float, tensor.
 * Result: dtype of x, shape of x. */
SMELT_API SMELT_GIVES SMELT_TAKES(1)
smelt_tensor *smelt_log_softmax(smelt_tensor *x, int axis);

/* y * rsqrt(mean(square(y)) + eps) with y = x - mean(x) over the axes.
 * x: float, tensor.
 * Result: dtype of x, shape of x. */
SMELT_API SMELT_GIVES SMELT_TAKES(1)
smelt_tensor *smelt_layer_norm(smelt_tensor *x, const int *axes, size_t n_axes, double eps);

/* x * rsqrt(mean(square(x)) + eps) over the axes.
 * x: float, tensor.
 * Result: dtype of x, shape of x. */
SMELT_API SMELT_GIVES SMELT_TAKES(1)
smelt_tensor *smelt_rms_norm(smelt_tensor *x, const int *axes, size_t n_axes, double eps);

/* layer_norm over each of so many groups of axis 1, together with all axes behind it.
 * x: float, tensor.
 * Result: dtype of x, shape of x. */
SMELT_API SMELT_GIVES SMELT_TAKES(1)
smelt_tensor *smelt_group_norm(smelt_tensor *x, int64_t groups, double eps);

/* x / maximum(sqrt(sum(square(x))), eps) over the axes.
 * x: float, tensor.
 * Result: dtype of x, shape of x. */
SMELT_API SMELT_GIVES SMELT_TAKES(1)
smelt_tensor *smelt_normalize(smelt_tensor *x, const int *axes, size_t n_axes, double eps);

/* -log_softmax(x) along the axis at the place that the label names, as take does.
 * x: float, tensor; labels: integer, tensor.
 * Result: dtype of x, axis left out. */
SMELT_API SMELT_GIVES SMELT_TAKES(1, 2)
smelt_tensor *smelt_cross_entropy(smelt_tensor *x, smelt_tensor *labels, int axis);
#define smelt_cross_entropy(x, labels, ...) \
  smelt__apply2_x(smelt_cross_entropy, x, labels, __VA_ARGS__)

/* With SMELT_DEBUG each call tells where it is (places.h). */
#ifdef SMELT_DEBUG
#define smelt_zeros(...) smelt__here(smelt_zeros(__VA_ARGS__))
#define smelt_ones(...) smelt__here(smelt_ones(__VA_ARGS__))
#undef smelt_full
#define smelt_full(ctx, value, ...) \
  smelt__here(smelt__apply1_ts(smelt_full, ctx, value, __VA_ARGS__))
#undef smelt_arange
#define smelt_arange(ctx, start, stop, step, ...) \
  smelt__here(smelt__apply3_t(smelt_arange, ctx, start, stop, step, __VA_ARGS__))
#define smelt_rand(...) smelt__here(smelt_rand(__VA_ARGS__))
#define smelt_randn(...) smelt__here(smelt_randn(__VA_ARGS__))
#define smelt_astype(...) smelt__here(smelt_astype(__VA_ARGS__))
#undef smelt_add
#define smelt_add(x, y) smelt__here(smelt__apply2(smelt_add, x, y))
#undef smelt_subtract
#define smelt_subtract(x, y) smelt__here(smelt__apply2(smelt_subtract, x, y))
#undef smelt_multiply
#define smelt_multiply(x, y) smelt__here(smelt__apply2(smelt_multiply, x, y))
#undef smelt_divide
#define smelt_divide(x, y) smelt__here(smelt__apply2(smelt_divide, x, y))
#undef smelt_floor_divide
#define smelt_floor_divide(x, y) smelt__here(smelt__apply2(smelt_floor_divide, x, y))
#undef smelt_trunc_divide
#define smelt_trunc_divide(x, y) smelt__here(smelt__apply2(smelt_trunc_divide, x, y))
#undef smelt_remainder
#define smelt_remainder(x, y) smelt__here(smelt__apply2(smelt_remainder, x, y))
#undef smelt_fmod
#define smelt_fmod(x, y) smelt__here(smelt__apply2(smelt_fmod, x, y))
#undef smelt_pow
#define smelt_pow(x, y) smelt__here(smelt__apply2(smelt_pow, x, y))
#undef smelt_maximum
#define smelt_maximum(x, y) smelt__here(smelt__apply2(smelt_maximum, x, y))
#undef smelt_minimum
#define smelt_minimum(x, y) smelt__here(smelt__apply2(smelt_minimum, x, y))
#undef smelt_atan2
#define smelt_atan2(x, y) smelt__here(smelt__apply2(smelt_atan2, x, y))
#undef smelt_hypot
#define smelt_hypot(x, y) smelt__here(smelt__apply2(smelt_hypot, x, y))
#undef smelt_copysign
#define smelt_copysign(x, y) smelt__here(smelt__apply2(smelt_copysign, x, y))
#define smelt_negative(...) smelt__here(smelt_negative(__VA_ARGS__))
#define smelt_positive(...) smelt__here(smelt_positive(__VA_ARGS__))
#define smelt_abs(...) smelt__here(smelt_abs(__VA_ARGS__))
#define smelt_sign(...) smelt__here(smelt_sign(__VA_ARGS__))
#define smelt_square(...) smelt__here(smelt_square(__VA_ARGS__))
#define smelt_reciprocal(...) smelt__here(smelt_reciprocal(__VA_ARGS__))
#define smelt_sqrt(...) smelt__here(smelt_sqrt(__VA_ARGS__))
#define smelt_rsqrt(...) smelt__here(smelt_rsqrt(__VA_ARGS__))
#define smelt_exp(...) smelt__here(smelt_exp(__VA_ARGS__))
#define smelt_exp2(...) smelt__here(smelt_exp2(__VA_ARGS__))
#define smelt_expm1(...) smelt__here(smelt_expm1(__VA_ARGS__))
#define smelt_log(...) smelt__here(smelt_log(__VA_ARGS__))
#define smelt_log2(...) smelt__here(smelt_log2(__VA_ARGS__))
#define smelt_log10(...) smelt__here(smelt_log10(__VA_ARGS__))
#define smelt_log1p(...) smelt__here(smelt_log1p(__VA_ARGS__))
#define smelt_sin(...) smelt__here(smelt_sin(__VA_ARGS__))
#define smelt_cos(...) smelt__here(smelt_cos(__VA_ARGS__))
#define smelt_tan(...) smelt__here(smelt_tan(__VA_ARGS__))
#define smelt_asin(...) smelt__here(smelt_asin(__VA_ARGS__))
#define smelt_acos(...) smelt__here(smelt_acos(__VA_ARGS__))
#define smelt_atan(...) smelt__here(smelt_atan(__VA_ARGS__))
#define smelt_sinh(...) smelt__here(smelt_sinh(__VA_ARGS__))
#define smelt_cosh(...) smelt__here(smelt_cosh(__VA_ARGS__))
#define smelt_tanh(...) smelt__here(smelt_tanh(__VA_ARGS__))
#define smelt_asinh(...) smelt__here(smelt_asinh(__VA_ARGS__))
#define smelt_acosh(...) smelt__here(smelt_acosh(__VA_ARGS__))
#define smelt_atanh(...) smelt__here(smelt_atanh(__VA_ARGS__))
#define smelt_erf(...) smelt__here(smelt_erf(__VA_ARGS__))
#define smelt_sigmoid(...) smelt__here(smelt_sigmoid(__VA_ARGS__))
#define smelt_floor(...) smelt__here(smelt_floor(__VA_ARGS__))
#define smelt_ceil(...) smelt__here(smelt_ceil(__VA_ARGS__))
#define smelt_round(...) smelt__here(smelt_round(__VA_ARGS__))
#define smelt_trunc(...) smelt__here(smelt_trunc(__VA_ARGS__))
#define smelt_isnan(...) smelt__here(smelt_isnan(__VA_ARGS__))
#define smelt_isinf(...) smelt__here(smelt_isinf(__VA_ARGS__))
#define smelt_isfinite(...) smelt__here(smelt_isfinite(__VA_ARGS__))
#define smelt_signbit(...) smelt__here(smelt_signbit(__VA_ARGS__))
#undef smelt_equal
#define smelt_equal(x, y) smelt__here(smelt__apply2(smelt_equal, x, y))
#undef smelt_not_equal
#define smelt_not_equal(x, y) smelt__here(smelt__apply2(smelt_not_equal, x, y))
#undef smelt_less
#define smelt_less(x, y) smelt__here(smelt__apply2(smelt_less, x, y))
#undef smelt_less_equal
#define smelt_less_equal(x, y) smelt__here(smelt__apply2(smelt_less_equal, x, y))
#undef smelt_greater
#define smelt_greater(x, y) smelt__here(smelt__apply2(smelt_greater, x, y))
#undef smelt_greater_equal
#define smelt_greater_equal(x, y) smelt__here(smelt__apply2(smelt_greater_equal, x, y))
#undef smelt_logical_and
#define smelt_logical_and(x, y) smelt__here(smelt__apply2(smelt_logical_and, x, y))
#undef smelt_logical_or
#define smelt_logical_or(x, y) smelt__here(smelt__apply2(smelt_logical_or, x, y))
#undef smelt_logical_xor
#define smelt_logical_xor(x, y) smelt__here(smelt__apply2(smelt_logical_xor, x, y))
#define smelt_logical_not(...) smelt__here(smelt_logical_not(__VA_ARGS__))
#undef smelt_bitwise_and
#define smelt_bitwise_and(x, y) smelt__here(smelt__apply2(smelt_bitwise_and, x, y))
#undef smelt_bitwise_or
#define smelt_bitwise_or(x, y) smelt__here(smelt__apply2(smelt_bitwise_or, x, y))
#undef smelt_bitwise_xor
#define smelt_bitwise_xor(x, y) smelt__here(smelt__apply2(smelt_bitwise_xor, x, y))
#define smelt_bitwise_invert(...) smelt__here(smelt_bitwise_invert(__VA_ARGS__))
#undef smelt_bitwise_left_shift
#define smelt_bitwise_left_shift(x, y) smelt__here(smelt__apply2(smelt_bitwise_left_shift, x, y))
#undef smelt_bitwise_right_shift
#define smelt_bitwise_right_shift(x, y) smelt__here(smelt__apply2(smelt_bitwise_right_shift, x, y))
#undef smelt_where
#define smelt_where(cond, x, y) smelt__here(smelt__apply3(smelt_where, cond, x, y))
#undef smelt_clip
#define smelt_clip(x, lo, hi) smelt__here(smelt__apply3(smelt_clip, x, lo, hi))
#define smelt_reshape(...) smelt__here(smelt_reshape(__VA_ARGS__))
#define smelt_squeeze(...) smelt__here(smelt_squeeze(__VA_ARGS__))
#define smelt_expand_dims(...) smelt__here(smelt_expand_dims(__VA_ARGS__))
#define smelt_permute_dims(...) smelt__here(smelt_permute_dims(__VA_ARGS__))
#define smelt_swapaxes(...) smelt__here(smelt_swapaxes(__VA_ARGS__))
#define smelt_flip(...) smelt__here(smelt_flip(__VA_ARGS__))
#define smelt_slice(...) smelt__here(smelt_slice(__VA_ARGS__))
#define smelt_broadcast_to(...) smelt__here(smelt_broadcast_to(__VA_ARGS__))
#undef smelt_take
#define smelt_take(x, indices, ...) \
  smelt__here(smelt__apply2_x(smelt_take, x, indices, __VA_ARGS__))
#undef smelt_take_along_axis
#define smelt_take_along_axis(x, indices, ...) \
  smelt__here(smelt__apply2_x(smelt_take_along_axis, x, indices, __VA_ARGS__))
#define smelt_concat(...) smelt__here(smelt_concat(__VA_ARGS__))
#define smelt_sum(...) smelt__here(smelt_sum(__VA_ARGS__))
#define smelt_prod(...) smelt__here(smelt_prod(__VA_ARGS__))
#define smelt_mean(...) smelt__here(smelt_mean(__VA_ARGS__))
#define smelt_max(...) smelt__here(smelt_max(__VA_ARGS__))
#define smelt_min(...) smelt__here(smelt_min(__VA_ARGS__))
#define smelt_any(...) smelt__here(smelt_any(__VA_ARGS__))
#define smelt_all(...) smelt__here(smelt_all(__VA_ARGS__))
#define smelt_argmax(...) smelt__here(smelt_argmax(__VA_ARGS__))
#define smelt_argmin(...) smelt__here(smelt_argmin(__VA_ARGS__))
#define smelt_max_abs(...) smelt__here(smelt_max_abs(__VA_ARGS__))
#define smelt_max_with_indices(...) smelt__here(smelt_max_with_indices(__VA_ARGS__))
#define smelt_min_with_indices(...) smelt__here(smelt_min_with_indices(__VA_ARGS__))
#define smelt_count_nonzero(...) smelt__here(smelt_count_nonzero(__VA_ARGS__))
#define smelt_var(...) smelt__here(smelt_var(__VA_ARGS__))
#define smelt_std(...) smelt__here(smelt_std(__VA_ARGS__))
#define smelt_logsumexp(...) smelt__here(smelt_logsumexp(__VA_ARGS__))
#define smelt_vector_norm(...) smelt__here(smelt_vector_norm(__VA_ARGS__))
#define smelt_softmax(...) smelt__here(smelt_softmax(__VA_ARGS__))
#define smelt_log_softmax(...) smelt__here(smelt_log_softmax(__VA_ARGS__))
#define smelt_layer_norm(...) smelt__here(smelt_layer_norm(__VA_ARGS__))
#define smelt_rms_norm(...) smelt__here(smelt_rms_norm(__VA_ARGS__))
#define smelt_group_norm(...) smelt__here(smelt_group_norm(__VA_ARGS__))
#define smelt_normalize(...) smelt__here(smelt_normalize(__VA_ARGS__))
#undef smelt_cross_entropy
#define smelt_cross_entropy(x, labels, ...) \
  smelt__here(smelt__apply2_x(smelt_cross_entropy, x, labels, __VA_ARGS__))
#endif

#ifdef __cplusplus
}
#endif
#endif
