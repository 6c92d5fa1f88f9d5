/* SPDX-License-Identifier: Apache-2.0
 *
 * What the macros of ops.h are made of.
 *
 * C does not say in which order the arguments of a call are evaluated, but
 * operations take their operands, so order matters:
 *
 *   smelt_multiply(smelt_ref(x), smelt_sigmoid(x))
 *
 * is correct from left to right and a use after take from right to left. Hence
 * an operation with two or more operands, or with a scalar operand, is a
 * function and also a macro of the same name, with these promises:
 *
 *  - operands are evaluated from left to right, each exactly once, before the
 *    attributes (dtype, rank, dims, axis), whose order is open;
 *  - an operand may be a C scalar of any real arithmetic type; it becomes a
 *    weak scalar tensor (smelt_scalar_f64, ...);
 *  - a void pointer is taken as a tensor, so that a null pointer gives a
 *    poisoned result; any other pointer, `const smelt_tensor *` too, is an
 *    error of the compiler;
 *  - the text of an operand is expanded once, so that nesting stays cheap;
 *  - (smelt_add)(x, y) and &smelt_add are the function itself.
 *
 * Three forms keep them. GNU C: a statement expression that binds each operand
 * to a variable of its own name. C++: a braced list, whose order the language
 * fixes, and overloads. Other C compilers, or if SMELT_NO_STATEMENT_EXPRESSIONS
 * is defined: comma expressions that put operands on a small stack of the
 * thread; without a way to name a type, the text of an operand doubles there
 * at each level of nesting, and nesting is limited by SMELT__MAX_HELD.
 *
 * Limits of the language. A compound literal inside an operand lives until the
 * operation returns: give it to smelt_from_host, not to smelt_wrap. A bit-field
 * needs a cast to be a scalar. In C, `true` and comparisons are of type int:
 * write (bool)true for a bool scalar. In C++ write nullptr, not NULL.
 *
 * smelt__apply<n>[_<attributes>](f, ...) are the entry points that ops.h uses,
 * one for each combination of operands and attributes that a macro needs. */
#ifndef SMELT_MACROS_H
#define SMELT_MACROS_H

#include "smelt/places.h"

/* Functions by number of operands and by attributes, as in smelt_op_info. */
typedef smelt_tensor *smelt__fn2(smelt_tensor *, smelt_tensor *);
typedef smelt_tensor *smelt__fn2_x(smelt_tensor *, smelt_tensor *, int);
typedef smelt_tensor *smelt__fn3(smelt_tensor *, smelt_tensor *, smelt_tensor *);
typedef smelt_tensor *smelt__fn1_ts(smelt_context *, smelt_tensor *, smelt_dtype, int, const int64_t *);
typedef smelt_tensor *smelt__fn3_t(smelt_context *, smelt_tensor *, smelt_tensor *, smelt_tensor *,
                                   smelt_dtype);

/* The stack of held operands, for compilers without statement expressions.
 * smelt__hold takes `t`; smelt__release gives the last one that was held back.
 * Beyond SMELT__MAX_HELD an operand is dropped and comes back as NULL, which
 * poisons the operation. Each thread has its own stack. */
#define SMELT__MAX_HELD 128
#ifdef __cplusplus
extern "C" {
#endif
SMELT_API SMELT_TAKES(1) void smelt__hold(smelt_tensor *t);
SMELT_API SMELT_GIVES smelt_tensor *smelt__release(void);
#ifdef __cplusplus
}
#endif

/* An operand in its turn. The static analyzer gets a function that takes one
 * reference and gives another: so it sees operands taken one by one, in order.
 * (Clang 14 crashes where one call takes a parameter of its caller twice.) */
#if defined(__clang_analyzer__)
SMELT_TAKES(1) SMELT_GIVES smelt_tensor *smelt__from_tensor(smelt_tensor *t);
#elif defined(__cplusplus)
inline smelt_tensor *smelt__from_tensor(smelt_tensor *t) { return t; }
#else
static inline smelt_tensor *smelt__from_tensor(smelt_tensor *t) { return t; }
#endif

#if defined(__cplusplus)

/* --- C++ ------------------------------------------------------------------- */

extern "C++" {

inline smelt_tensor *smelt__operand(smelt_tensor *t) { return smelt__from_tensor(t); }
inline smelt_tensor *smelt__operand(void *t) { return smelt__from_tensor(static_cast<smelt_tensor *>(t)); }
inline smelt_tensor *smelt__operand(decltype(nullptr)) { return nullptr; }
template <class T>
smelt_tensor *smelt__operand(T *) = delete;

inline smelt_tensor *smelt__operand(bool v) { return smelt_scalar_bool(v); }
inline smelt_tensor *smelt__operand(char v) { return smelt_scalar_i64(v); }
inline smelt_tensor *smelt__operand(signed char v) { return smelt_scalar_i64(v); }
inline smelt_tensor *smelt__operand(short v) { return smelt_scalar_i64(v); }
inline smelt_tensor *smelt__operand(int v) { return smelt_scalar_i64(v); }
inline smelt_tensor *smelt__operand(long v) { return smelt_scalar_i64(v); }
inline smelt_tensor *smelt__operand(long long v) { return smelt_scalar_i64(v); }
inline smelt_tensor *smelt__operand(unsigned char v) { return smelt_scalar_u64(v); }
inline smelt_tensor *smelt__operand(unsigned short v) { return smelt_scalar_u64(v); }
inline smelt_tensor *smelt__operand(unsigned v) { return smelt_scalar_u64(v); }
inline smelt_tensor *smelt__operand(unsigned long v) { return smelt_scalar_u64(v); }
inline smelt_tensor *smelt__operand(unsigned long long v) { return smelt_scalar_u64(v); }
inline smelt_tensor *smelt__operand(float v) { return smelt_scalar_f64(static_cast<double>(v)); }
inline smelt_tensor *smelt__operand(double v) { return smelt_scalar_f64(v); }
inline smelt_tensor *smelt__operand(long double v) { return smelt_scalar_f64(static_cast<double>(v)); }

/* Filled by a braced list, from left to right. */
struct smelt__operands1 {
  smelt_tensor *x;
};
struct smelt__operands2 {
  smelt_tensor *x, *y;
};
struct smelt__operands3 {
  smelt_tensor *x, *y, *z;
};

SMELT_MUST_USE inline smelt_tensor *smelt__call2(smelt__fn2 *f, smelt__operands2 o) { return f(o.x, o.y); }
SMELT_MUST_USE inline smelt_tensor *smelt__call3(smelt__fn3 *f, smelt__operands3 o) {
  return f(o.x, o.y, o.z);
}

/* Operands that wait for attributes: what is called is evaluated before the
 * arguments of the call. */
struct smelt__bound1_ts {
  smelt__fn1_ts *f;
  smelt_context *ctx;
  smelt__operands1 o;
  SMELT_MUST_USE smelt_tensor *operator()(smelt_dtype dtype, int rank, const int64_t *dims) const {
    return f(ctx, o.x, dtype, rank, dims);
  }
};
struct smelt__bound2_x {
  smelt__fn2_x *f;
  smelt__operands2 o;
  SMELT_MUST_USE smelt_tensor *operator()(int axis) const { return f(o.x, o.y, axis); }
};
struct smelt__bound3_t {
  smelt__fn3_t *f;
  smelt_context *ctx;
  smelt__operands3 o;
  SMELT_MUST_USE smelt_tensor *operator()(smelt_dtype dtype) const { return f(ctx, o.x, o.y, o.z, dtype); }
};

inline smelt__bound1_ts smelt__bind1_ts(smelt__fn1_ts *f, smelt_context *ctx, smelt__operands1 o) {
  return {f, ctx, o};
}
inline smelt__bound2_x smelt__bind2_x(smelt__fn2_x *f, smelt__operands2 o) { return {f, o}; }
inline smelt__bound3_t smelt__bind3_t(smelt__fn3_t *f, smelt_context *ctx, smelt__operands3 o) {
  return {f, ctx, o};
}

} /* extern "C++" */

#define smelt__apply2(f, x, y) smelt__call2(f, {smelt__operand(x), smelt__operand(y)})
#define smelt__apply3(f, x, y, z) smelt__call3(f, {smelt__operand(x), smelt__operand(y), smelt__operand(z)})
#define smelt__apply1_ts(f, ctx, x, ...) smelt__bind1_ts(f, ctx, {smelt__operand(x)})(__VA_ARGS__)
#define smelt__apply2_x(f, x, y, ...) smelt__bind2_x(f, {smelt__operand(x), smelt__operand(y)})(__VA_ARGS__)
#define smelt__apply3_t(f, ctx, x, y, z, ...) \
  smelt__bind3_t(f, ctx, {smelt__operand(x), smelt__operand(y), smelt__operand(z)})(__VA_ARGS__)

#else

/* --- C: from an operand of any type to a tensor ------------------------------ */

static inline smelt_tensor *smelt__from_float(float v) { return smelt_scalar_f64((double)v); }
static inline smelt_tensor *smelt__from_long_double(long double v) { return smelt_scalar_f64((double)v); }

#define smelt__operand(v) \
  _Generic((v),                                 \
      smelt_tensor *: smelt__from_tensor,       \
      void *: smelt__from_tensor,               \
      bool: smelt_scalar_bool,                  \
      char: smelt_scalar_i64,                   \
      signed char: smelt_scalar_i64,            \
      short: smelt_scalar_i64,                  \
      int: smelt_scalar_i64,                    \
      long: smelt_scalar_i64,                   \
      long long: smelt_scalar_i64,              \
      unsigned char: smelt_scalar_u64,          \
      unsigned short: smelt_scalar_u64,         \
      unsigned: smelt_scalar_u64,               \
      unsigned long: smelt_scalar_u64,          \
      unsigned long long: smelt_scalar_u64,     \
      float: smelt__from_float,                 \
      double: smelt_scalar_f64,                 \
      long double: smelt__from_long_double)(v)

#if defined(__GNUC__) && !defined(SMELT_NO_STATEMENT_EXPRESSIONS)

/* --- GNU C ------------------------------------------------------------------- */

/* Every use has a number `n` of its own in the names of its variables, so that
 * nested operations shadow nothing. */
#define smelt__numbered(macro, n, ...) macro(n, __VA_ARGS__)
#define smelt__bind(name, x)      \
  __auto_type name##_as_is = (x); \
  smelt_tensor *name = smelt__operand(name##_as_is)

#define smelt__apply2(...) smelt__numbered(smelt__ordered2, __COUNTER__, __VA_ARGS__)
#define smelt__ordered2(n, f, x, y) \
  __extension__({                   \
    smelt__bind(smelt__x##n, x);    \
    smelt__bind(smelt__y##n, y);    \
    (f)(smelt__x##n, smelt__y##n);  \
  })

#define smelt__apply2_x(...) smelt__numbered(smelt__ordered2_x, __COUNTER__, __VA_ARGS__)
#define smelt__ordered2_x(n, f, x, y, ...)      \
  __extension__({                               \
    smelt__bind(smelt__x##n, x);                \
    smelt__bind(smelt__y##n, y);                \
    (f)(smelt__x##n, smelt__y##n, __VA_ARGS__); \
  })

#define smelt__apply3(...) smelt__numbered(smelt__ordered3, __COUNTER__, __VA_ARGS__)
#define smelt__ordered3(n, f, x, y, z)          \
  __extension__({                               \
    smelt__bind(smelt__x##n, x);                \
    smelt__bind(smelt__y##n, y);                \
    smelt__bind(smelt__z##n, z);                \
    (f)(smelt__x##n, smelt__y##n, smelt__z##n); \
  })

#define smelt__apply1_ts(...) smelt__numbered(smelt__ordered1_ts, __COUNTER__, __VA_ARGS__)
#define smelt__ordered1_ts(n, f, ctx, x, ...) \
  __extension__({                             \
    smelt__bind(smelt__x##n, x);              \
    (f)(ctx, smelt__x##n, __VA_ARGS__);       \
  })

#define smelt__apply3_t(...) smelt__numbered(smelt__ordered3_t, __COUNTER__, __VA_ARGS__)
#define smelt__ordered3_t(n, f, ctx, x, y, z, ...)                \
  __extension__({                                                 \
    smelt__bind(smelt__x##n, x);                                  \
    smelt__bind(smelt__y##n, y);                                  \
    smelt__bind(smelt__z##n, z);                                  \
    (f)(ctx, smelt__x##n, smelt__y##n, smelt__z##n, __VA_ARGS__); \
  })

#else

/* --- Other C ------------------------------------------------------------------ */

SMELT_MUST_USE static inline smelt_tensor *smelt__held2(smelt__fn2 *f) {
  smelt_tensor *y = smelt__release(), *x = smelt__release();
  return f(x, y);
}
SMELT_MUST_USE static inline smelt_tensor *smelt__held2_x(smelt__fn2_x *f, int axis) {
  smelt_tensor *y = smelt__release(), *x = smelt__release();
  return f(x, y, axis);
}
SMELT_MUST_USE static inline smelt_tensor *smelt__held3(smelt__fn3 *f) {
  smelt_tensor *z = smelt__release(), *y = smelt__release(), *x = smelt__release();
  return f(x, y, z);
}
SMELT_MUST_USE static inline smelt_tensor *smelt__held1_ts(smelt__fn1_ts *f, smelt_context *ctx,
                                                           smelt_dtype dtype, int rank, const int64_t *dims) {
  smelt_tensor *x = smelt__release();
  return f(ctx, x, dtype, rank, dims);
}
SMELT_MUST_USE static inline smelt_tensor *smelt__held3_t(smelt__fn3_t *f, smelt_context *ctx,
                                                          smelt_dtype dtype) {
  smelt_tensor *z = smelt__release(), *y = smelt__release(), *x = smelt__release();
  return f(ctx, x, y, z, dtype);
}

#define smelt__held(x) smelt__hold(smelt__operand(x))
#define smelt__apply2(f, x, y) (smelt__held(x), smelt__held(y), smelt__held2(f))
#define smelt__apply2_x(f, x, y, ...) (smelt__held(x), smelt__held(y), smelt__held2_x(f, __VA_ARGS__))
#define smelt__apply3(f, x, y, z) (smelt__held(x), smelt__held(y), smelt__held(z), smelt__held3(f))
#define smelt__apply1_ts(f, ctx, x, ...) (smelt__held(x), smelt__held1_ts(f, ctx, __VA_ARGS__))
#define smelt__apply3_t(f, ctx, x, y, z, ...) \
  (smelt__held(x), smelt__held(y), smelt__held(z), smelt__held3_t(f, ctx, __VA_ARGS__))

#endif
#endif
#endif
