/* SPDX-License-Identifier: Apache-2.0
 *
 * Scalar operations that are loops. One loop serves all lanes and goes on until the
 * last of them is done; in lanes that are done its rounds change nothing, so that
 * no masks are needed. */
#include "codegen/llvm_scalar_op.h"

/* --- Rounds --------------------------------------------------------------------------------- */

enum { MAX_HELD = 3 };

/* A loop of one block that is run at least once. `held` are the values of a round,
 * in the end those of the last one. */
typedef struct rounds {
  LLVMBasicBlockRef body;
  LLVMValueRef held[MAX_HELD];
} rounds;

static rounds begin_rounds(const scalar_op *o, const LLVMValueRef *first, int n) {
  const sm_llvm *l = o->e->llvm;
  rounds r = {.body = l->LLVMAppendBasicBlockInContext(o->e->context, o->e->function, "rounds")};
  LLVMBasicBlockRef before = l->LLVMGetInsertBlock(o->e->builder);
  l->LLVMBuildBr(o->e->builder, r.body);
  l->LLVMPositionBuilderAtEnd(o->e->builder, r.body);
  for (int i = 0; i < n; i++) {
    LLVMValueRef start = first[i];
    r.held[i] = BUILD(Phi, l->LLVMTypeOf(start));
    l->LLVMAddIncoming(r.held[i], &start, &before, 1);
  }
  return r;
}

static LLVMValueRef in_any_lane(const scalar_op *o, LLVMValueRef condition) {
  return o->width == 1 ? condition : intrinsic1(o, "llvm.vector.reduce.or", condition);
}

/* Another round if `again` holds in any lane. */
static void end_rounds(const scalar_op *o, rounds *r, const LLVMValueRef *next, int n, LLVMValueRef again) {
  const sm_llvm *l = o->e->llvm;
  LLVMBasicBlockRef after = l->LLVMAppendBasicBlockInContext(o->e->context, o->e->function, "done");
  for (int i = 0; i < n; i++) {
    LLVMValueRef value = next[i];
    l->LLVMAddIncoming(r->held[i], &value, &r->body, 1);
    r->held[i] = value;
  }
  l->LLVMBuildCondBr(o->e->builder, in_any_lane(o, again), r->body, after);
  l->LLVMPositionBuilderAtEnd(o->e->builder, after);
}

/* --- Powers of integers ------------------------------------------------------------------------ */

/* By squaring, modulo 2^bits. */
static LLVMValueRef power(const scalar_op *o, LLVMValueRef exponent) {
  enum { RESULT, BASE, EXPONENT, N };
  LLVMValueRef zero = integer(o, 0), one = integer(o, 1);
  rounds r = begin_rounds(o, (LLVMValueRef[N]){one, o->a, exponent}, N);
  LLVMValueRef odd = ICMP(NE, BUILD(And, r.held[EXPONENT], one), zero);
  LLVMValueRef product = BUILD(Mul, r.held[RESULT], r.held[BASE]);
  LLVMValueRef rest = BUILD(LShr, r.held[EXPONENT], one);
  LLVMValueRef next[N] = {SELECT(odd, product, r.held[RESULT]), BUILD(Mul, r.held[BASE], r.held[BASE]), rest};
  end_rounds(o, &r, next, N, ICMP(NE, rest, zero));
  return r.held[RESULT];
}

/* The truncated real result, as sm_pow_i64 has it. */
static LLVMValueRef negative_power(const scalar_op *o) {
  LLVMValueRef zero = integer(o, 0), one = integer(o, 1), minus_one = integer(o, UINT64_MAX);
  LLVMValueRef odd = ICMP(NE, BUILD(And, o->b, one), zero);
  LLVMValueRef of_minus_one = SELECT(odd, minus_one, one);
  LLVMValueRef otherwise = SELECT(ICMP(EQ, o->a, minus_one), of_minus_one, zero);
  return SELECT(ICMP(EQ, o->a, one), one, otherwise);
}

LLVMValueRef sm_llvm_integer_pow(const scalar_op *o) {
  if (!is_signed(o)) return power(o, o->b);
  LLVMValueRef zero = integer(o, 0), negative = ICMP(SLT, o->b, zero);
  LLVMValueRef usual = power(o, SELECT(negative, zero, o->b));
  return SELECT(negative, negative_power(o), usual);
}

/* --- Remainders of floats ------------------------------------------------------------------------ */

/* Of x = m 2^n and y = d 2^0 in units of y's exponent, with m and d in [1, 2), the
 * remainder is that of m, from which digits are taken: m 2^s for as large an s as
 * keeps the quotient exact, then n - s is left. With s <= DIGITS - 1 the quotient
 * q = trunc(fl(m 2^s / d)) is an integer below 2^DIGITS and at most 1 too large, so
 * that fma(-q, d, m 2^s), a multiple of d's last digit between -d and d, is exact. */
typedef struct format {
  smelt_dtype bits;    /* integers of the same size */
  unsigned digits;     /* of the fraction that is stored */
  uint64_t bias;       /* of the exponent */
  double normal, lift; /* the smallest normal number; 2^(digits + 2), which makes subnormals normal */
} format;

static format format_of(const scalar_op *o) {
  if (o->in == SMELT_F32) return (format){SMELT_I32, 23, 127, 0x1p-126, 0x1p25};
  return (format){SMELT_I64, 52, 1023, 0x1p-1022, 0x1p54};
}

static LLVMValueRef word(const scalar_op *o, const format *f, uint64_t value) {
  return sm_llvm_int(o->e, f->bits, o->width, value);
}
static LLVMValueRef to_word(const scalar_op *o, const format *f, LLVMValueRef x) {
  return BUILD(BitCast, x, sm_llvm_type(o->e, f->bits, o->width));
}
static LLVMValueRef to_float(const scalar_op *o, LLVMValueRef x) {
  return BUILD(BitCast, x, sm_llvm_type(o->e, o->in, o->width));
}

/* A magnitude as fraction * power * unlift, the fraction in [1, 2). */
typedef struct parts {
  LLVMValueRef fraction, power, unlift;
  LLVMValueRef exponent; /* of power * unlift, biased */
} parts;

static parts take_apart(const scalar_op *o, const format *f, LLVMValueRef magnitude) {
  uint64_t fraction_mask = ((uint64_t)1 << f->digits) - 1;
  LLVMValueRef one = real(o, 1), subnormal = FCMP(OLT, magnitude, real(o, f->normal));
  LLVMValueRef lifted = BUILD(FMul, magnitude, SELECT(subnormal, real(o, f->lift), one));
  LLVMValueRef bits = to_word(o, f, lifted), fraction = BUILD(And, bits, word(o, f, fraction_mask));
  LLVMValueRef power = BUILD(Sub, bits, fraction), exponent = BUILD(LShr, power, word(o, f, f->digits));
  LLVMValueRef by = SELECT(subnormal, word(o, f, f->digits + 2), word(o, f, 0));
  return (parts){.fraction = to_float(o, BUILD(Or, fraction, word(o, f, f->bias << f->digits))),
                 .power = to_float(o, power),
                 .unlift = SELECT(subnormal, real(o, 1 / f->lift), one),
                 .exponent = BUILD(Sub, exponent, by)};
}

/* The remainder of a number below 2^(digits + 1), which the power of two makes of
 * `m`, by `d`. */
static LLVMValueRef reduce(const scalar_op *o, LLVMValueRef m, LLVMValueRef power, LLVMValueRef d) {
  LLVMTypeRef type = o->e->llvm->LLVMTypeOf(m);
  LLVMValueRef x = BUILD(FMul, m, power);
  LLVMValueRef quotient = intrinsic1(o, "llvm.trunc", BUILD(FDiv, x, d));
  LLVMValueRef args[] = {BUILD(FNeg, quotient), d, x};
  LLVMValueRef rest = sm_llvm_intrinsic(o->e, "llvm.fma", &type, 1, args, 3);
  LLVMValueRef raised = BUILD(FAdd, rest, d);
  return SELECT(FCMP(OLT, rest, real(o, 0)), raised, rest);
}

/* The remainder of m 2^n by d; n is at least 0. */
static LLVMValueRef remainder_of(const scalar_op *o, const format *f, LLVMValueRef m, LLVMValueRef n,
                                 LLVMValueRef d) {
  enum { REST, EXPONENT, N };
  LLVMValueRef most = word(o, f, f->digits);
  rounds r = begin_rounds(o, (LLVMValueRef[N]){m, n}, N);
  LLVMValueRef step = SELECT(ICMP(ULT, r.held[EXPONENT], most), r.held[EXPONENT], most);
  LLVMValueRef biased = BUILD(Add, step, word(o, f, f->bias));
  LLVMValueRef power = to_float(o, BUILD(Shl, biased, word(o, f, f->digits)));
  LLVMValueRef left = BUILD(Sub, r.held[EXPONENT], step);
  end_rounds(o, &r, (LLVMValueRef[N]){reduce(o, r.held[REST], power, d), left}, N,
             ICMP(NE, left, word(o, f, 0)));
  return r.held[REST];
}

/* As C has it: exact, with the sign of the dividend, NaN for an infinite dividend or
 * a divisor of 0. */
LLVMValueRef sm_llvm_fmod(const scalar_op *o) {
  format f = format_of(o);
  LLVMValueRef x = intrinsic1(o, "llvm.fabs", o->a), y = intrinsic1(o, "llvm.fabs", o->b);
  LLVMValueRef infinity = real(o, (double)__builtin_inf()), nan = real(o, (double)__builtin_nan(""));
  LLVMValueRef finite = FCMP(OLT, x, infinity);
  LLVMValueRef valid = BUILD(And, finite, FCMP(OGT, y, real(o, 0)));
  LLVMValueRef divides = BUILD(And, valid, FCMP(OGE, x, y));
  parts m = take_apart(o, &f, x), d = take_apart(o, &f, y);
  LLVMValueRef n = SELECT(divides, BUILD(Sub, m.exponent, d.exponent), word(o, &f, 0));
  LLVMValueRef rest = remainder_of(o, &f, m.fraction, n, d.fraction);
  LLVMValueRef magnitude = BUILD(FMul, BUILD(FMul, rest, d.power), d.unlift);
  LLVMValueRef divided = intrinsic2(o, "llvm.copysign", magnitude, o->a);
  return SELECT(valid, SELECT(divides, divided, o->a), nan);
}
