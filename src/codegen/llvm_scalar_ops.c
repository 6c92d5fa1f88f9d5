/* SPDX-License-Identifier: Apache-2.0
 *
 * Scalar operations in LLVM IR: one emit function each, in one table. Every
 * body follows the C expression of kops.def. */
#include <string.h>

#include "codegen/llvm_scalar_op.h"

/* --- Types and constants ---------------------------------------------------------------- */

LLVMTypeRef sm_llvm_type(const sm_llvm_emitter *e, smelt_dtype dtype, int width) {
  const sm_llvm *l = e->llvm;
  LLVMTypeRef type;
  if (dtype == SMELT_F32) type = l->LLVMFloatTypeInContext(e->context);
  else if (dtype == SMELT_F64) type = l->LLVMDoubleTypeInContext(e->context);
  else if (dtype == SMELT_BOOL) type = l->LLVMIntTypeInContext(e->context, 1);
  else type = l->LLVMIntTypeInContext(e->context, 8 * sm_dtype_info_of(dtype)->size);
  return width == 1 ? type : l->LLVMVectorType(type, (unsigned)width);
}

LLVMValueRef sm_llvm_splat(const sm_llvm_emitter *e, LLVMValueRef value, int width) {
  if (width == 1) return value;
  const sm_llvm *l = e->llvm;
  LLVMTypeRef i32 = l->LLVMIntTypeInContext(e->context, 32);
  LLVMTypeRef vector = l->LLVMVectorType(l->LLVMTypeOf(value), (unsigned)width);
  LLVMValueRef undef = l->LLVMGetUndef(vector);
  LLVMValueRef one = l->LLVMBuildInsertElement(e->builder, undef, value, l->LLVMConstInt(i32, 0, 0), "");
  LLVMValueRef zeros = l->LLVMConstNull(l->LLVMVectorType(i32, (unsigned)width));
  return l->LLVMBuildShuffleVector(e->builder, one, undef, zeros, "");
}

LLVMValueRef sm_llvm_int(const sm_llvm_emitter *e, smelt_dtype dtype, int width, uint64_t value) {
  return sm_llvm_splat(e, e->llvm->LLVMConstInt(sm_llvm_type(e, dtype, 1), value, 0), width);
}

/* By its bits, so that every value is exact. */
LLVMValueRef sm_llvm_real(const sm_llvm_emitter *e, smelt_dtype dtype, int width, double value) {
  sm_word word = {.bits = 0};
  if (dtype == SMELT_F32) word.F32 = (float)value;
  else word.F64 = value;
  smelt_dtype bits = dtype == SMELT_F32 ? SMELT_U32 : SMELT_U64;
  LLVMValueRef integer = e->llvm->LLVMConstInt(sm_llvm_type(e, bits, 1), word.bits, 0);
  return sm_llvm_splat(e, e->llvm->LLVMConstBitCast(integer, sm_llvm_type(e, dtype, 1)), width);
}

LLVMValueRef sm_llvm_intrinsic(const sm_llvm_emitter *e, const char *name, LLVMTypeRef *types, size_t n_types,
                               LLVMValueRef *args, unsigned n_args) {
  const sm_llvm *l = e->llvm;
  unsigned id = l->LLVMLookupIntrinsicID(name, strlen(name));
  if (!id) return NULL;
  LLVMValueRef function = l->LLVMGetIntrinsicDeclaration(e->module, id, types, n_types);
  return l->LLVMBuildCall2(e->builder, l->LLVMGlobalGetValueType(function), function, args, n_args, "");
}

/* --- Arithmetic ------------------------------------------------------------------------------- */

static LLVMValueRef emit_add(const scalar_op *o) {
  return is_float(o) ? BUILD(FAdd, o->a, o->b) : BUILD(Add, o->a, o->b);
}
static LLVMValueRef emit_sub(const scalar_op *o) {
  return is_float(o) ? BUILD(FSub, o->a, o->b) : BUILD(Sub, o->a, o->b);
}
static LLVMValueRef emit_mul(const scalar_op *o) {
  return is_float(o) ? BUILD(FMul, o->a, o->b) : BUILD(Mul, o->a, o->b);
}
static LLVMValueRef emit_div(const scalar_op *o) { return BUILD(FDiv, o->a, o->b); }
static LLVMValueRef emit_neg(const scalar_op *o) {
  return is_float(o) ? BUILD(FNeg, o->a) : BUILD(Neg, o->a);
}

static LLVMValueRef emit_fma(const scalar_op *o) {
  LLVMTypeRef type = o->e->llvm->LLVMTypeOf(o->a);
  return sm_llvm_intrinsic(o->e, "llvm.fma", &type, 1, (LLVMValueRef[]){o->a, o->b, o->c}, 3);
}

/* Integer division traps on 0 and on the smallest value by -1; those divisors
 * are replaced by 1 and the results chosen afterwards. */
typedef struct safe_division {
  LLVMValueRef by_zero, by_minus_one, divisor;
} safe_division;

static safe_division make_safe(const scalar_op *o) {
  safe_division s;
  s.by_zero = ICMP(EQ, o->b, integer(o, 0));
  s.by_minus_one = is_signed(o) ? ICMP(EQ, o->b, integer(o, UINT64_MAX)) : NULL;
  LLVMValueRef unsafe = s.by_minus_one ? BUILD(Or, s.by_zero, s.by_minus_one) : s.by_zero;
  s.divisor = SELECT(unsafe, integer(o, 1), o->b);
  return s;
}

/* 0 where the divisor is 0, `minus_one` where it is -1, otherwise `usual`. */
static LLVMValueRef choose_safe(const scalar_op *o, const safe_division *s, LLVMValueRef minus_one,
                                LLVMValueRef usual) {
  if (s->by_minus_one) usual = SELECT(s->by_minus_one, minus_one, usual);
  return SELECT(s->by_zero, integer(o, 0), usual);
}

static LLVMValueRef quotient(const scalar_op *o, const safe_division *s) {
  return is_signed(o) ? BUILD(SDiv, o->a, s->divisor) : BUILD(UDiv, o->a, s->divisor);
}
static LLVMValueRef rest(const scalar_op *o, const safe_division *s) {
  return is_signed(o) ? BUILD(SRem, o->a, s->divisor) : BUILD(URem, o->a, s->divisor);
}

/* Where the rest is not zero and its sign is not the divisor's. */
static LLVMValueRef needs_floor(const scalar_op *o, const safe_division *s, LLVMValueRef r) {
  LLVMValueRef zero = integer(o, 0);
  LLVMValueRef below = ICMP(SLT, o->a, zero), divisor_below = ICMP(SLT, s->divisor, zero);
  LLVMValueRef signs = BUILD(Xor, below, divisor_below);
  return BUILD(And, ICMP(NE, r, zero), signs);
}

static LLVMValueRef emit_trunc_div(const scalar_op *o) {
  if (is_float(o)) return intrinsic1(o, "llvm.trunc", BUILD(FDiv, o->a, o->b));
  safe_division s = make_safe(o);
  LLVMValueRef negative = is_signed(o) ? BUILD(Neg, o->a) : NULL;
  return choose_safe(o, &s, negative, quotient(o, &s));
}

static LLVMValueRef emit_floor_div(const scalar_op *o) {
  if (is_float(o)) return intrinsic1(o, "llvm.floor", BUILD(FDiv, o->a, o->b));
  safe_division s = make_safe(o);
  LLVMValueRef q = quotient(o, &s);
  if (!is_signed(o)) return choose_safe(o, &s, NULL, q);
  LLVMValueRef lower = needs_floor(o, &s, rest(o, &s));
  LLVMValueRef negative = BUILD(Neg, o->a);
  return choose_safe(o, &s, negative, SELECT(lower, BUILD(Sub, q, integer(o, 1)), q));
}

static LLVMValueRef emit_rem(const scalar_op *o) {
  if (is_float(o)) return NULL;
  safe_division s = make_safe(o);
  LLVMValueRef r = rest(o, &s);
  if (!is_signed(o)) return choose_safe(o, &s, NULL, r);
  LLVMValueRef lower = needs_floor(o, &s, r);
  return choose_safe(o, &s, integer(o, 0), SELECT(lower, BUILD(Add, r, o->b), r));
}

static LLVMValueRef emit_fmod(const scalar_op *o) {
  if (is_float(o)) return sm_llvm_fmod(o);
  safe_division s = make_safe(o);
  return choose_safe(o, &s, is_signed(o) ? integer(o, 0) : NULL, rest(o, &s));
}

static LLVMValueRef emit_pow(const scalar_op *o) { return is_float(o) ? NULL : sm_llvm_integer_pow(o); }

static LLVMValueRef emit_abs(const scalar_op *o) {
  if (is_float(o)) return intrinsic1(o, "llvm.fabs", o->a);
  if (!is_signed(o)) return o->a;
  LLVMValueRef negated = BUILD(Neg, o->a);
  return SELECT(ICMP(SLT, o->a, integer(o, 0)), negated, o->a);
}

static LLVMValueRef emit_sign(const scalar_op *o) {
  if (is_float(o)) {
    LLVMValueRef zero = real(o, 0);
    LLVMValueRef rest_of = SELECT(FCMP(OEQ, o->a, zero), zero, o->a);
    LLVMValueRef below = SELECT(FCMP(OLT, o->a, zero), real(o, -1), rest_of);
    return SELECT(FCMP(OGT, o->a, zero), real(o, 1), below);
  }
  LLVMValueRef zero = integer(o, 0), one = integer(o, 1);
  if (!is_signed(o)) return SELECT(ICMP(EQ, o->a, zero), zero, one);
  LLVMValueRef below = SELECT(ICMP(SLT, o->a, zero), integer(o, UINT64_MAX), zero);
  return SELECT(ICMP(SGT, o->a, zero), one, below);
}

/* NaN propagates; of equal operands the second is returned. An ordered comparison with NaN has
 * chosen the second operand, so that only the first is left to look at. */
static LLVMValueRef propagate_nan(const scalar_op *o, LLVMValueRef chosen) {
  return SELECT(FCMP(UNO, o->a, o->a), o->a, chosen);
}

static LLVMValueRef emit_max(const scalar_op *o) {
  if (is_float(o)) return propagate_nan(o, SELECT(FCMP(OGT, o->a, o->b), o->a, o->b));
  return SELECT(is_signed(o) ? ICMP(SGT, o->a, o->b) : ICMP(UGT, o->a, o->b), o->a, o->b);
}
static LLVMValueRef emit_min(const scalar_op *o) {
  if (is_float(o)) return propagate_nan(o, SELECT(FCMP(OLT, o->a, o->b), o->a, o->b));
  return SELECT(is_signed(o) ? ICMP(SLT, o->a, o->b) : ICMP(ULT, o->a, o->b), o->a, o->b);
}

/* Powers of two as in core/kop_functions.h: the sum's lowest bits are the
 * exponent, which a shift moves into place. */
static LLVMValueRef power_of_2(const scalar_op *o, LLVMValueRef n) {
  bool single = o->in == SMELT_F32;
  smelt_dtype bits = bits_dtype(o->in);
  LLVMValueRef sum = BUILD(FAdd, n, real(o, single ? 0x1.8p23 + 127 : 0x1.8p52 + 1023));
  LLVMValueRef word = BUILD(BitCast, sum, sm_llvm_type(o->e, bits, o->width));
  LLVMValueRef shifted = BUILD(Shl, word, sm_llvm_int(o->e, bits, o->width, single ? 23 : 52));
  return BUILD(BitCast, shifted, sm_llvm_type(o->e, o->in, o->width));
}

/* One AVX-512 instruction on a whole register, rounding as the environment. */
static LLVMValueRef scale(const scalar_op *o) {
  enum { CURRENT_DIRECTION = 4 };
  const sm_llvm *l = o->e->llvm;
  bool single = o->in == SMELT_F32;
  LLVMTypeRef mask = l->LLVMIntTypeInContext(o->e->context, single ? 16 : 8);
  LLVMTypeRef i32 = l->LLVMIntTypeInContext(o->e->context, 32);
  LLVMValueRef args[] = {o->a, o->b, o->a, l->LLVMConstInt(mask, UINT16_MAX, 0),
                         l->LLVMConstInt(i32, CURRENT_DIRECTION, 0)};
  const char *name = single ? "llvm.x86.avx512.mask.scalef.ps.512" : "llvm.x86.avx512.mask.scalef.pd.512";
  return sm_llvm_intrinsic(o->e, name, NULL, 0, args, 5);
}

static LLVMValueRef emit_ldexp(const scalar_op *o) {
  if (o->e->level == SM_CPU_AVX512 && (unsigned)o->width * bits_of(o->in) == 512) return scale(o);
  LLVMValueRef half = intrinsic1(o, "llvm.floor", BUILD(FMul, o->b, real(o, 0.5)));
  LLVMValueRef first = BUILD(FMul, o->a, power_of_2(o, half));
  return BUILD(FMul, first, power_of_2(o, BUILD(FSub, o->b, half)));
}

static LLVMValueRef emit_sqrt(const scalar_op *o) { return intrinsic1(o, "llvm.sqrt", o->a); }
static LLVMValueRef emit_floor(const scalar_op *o) { return intrinsic1(o, "llvm.floor", o->a); }
static LLVMValueRef emit_ceil(const scalar_op *o) { return intrinsic1(o, "llvm.ceil", o->a); }
static LLVMValueRef emit_trunc(const scalar_op *o) { return intrinsic1(o, "llvm.trunc", o->a); }
static LLVMValueRef emit_round(const scalar_op *o) { return intrinsic1(o, "llvm.rint", o->a); }
static LLVMValueRef emit_copysign(const scalar_op *o) { return intrinsic2(o, "llvm.copysign", o->a, o->b); }

/* --- Tests ------------------------------------------------------------------------------------- */

static LLVMValueRef emit_eq(const scalar_op *o) {
  return is_float(o) ? FCMP(OEQ, o->a, o->b) : ICMP(EQ, o->a, o->b);
}
static LLVMValueRef emit_ne(const scalar_op *o) {
  return is_float(o) ? FCMP(UNE, o->a, o->b) : ICMP(NE, o->a, o->b);
}
static LLVMValueRef emit_lt(const scalar_op *o) {
  if (is_float(o)) return FCMP(OLT, o->a, o->b);
  return is_signed(o) ? ICMP(SLT, o->a, o->b) : ICMP(ULT, o->a, o->b);
}
static LLVMValueRef emit_le(const scalar_op *o) {
  if (is_float(o)) return FCMP(OLE, o->a, o->b);
  return is_signed(o) ? ICMP(SLE, o->a, o->b) : ICMP(ULE, o->a, o->b);
}
static LLVMValueRef emit_isnan(const scalar_op *o) { return FCMP(UNO, o->a, o->a); }
static LLVMValueRef emit_isinf(const scalar_op *o) {
  return FCMP(OEQ, intrinsic1(o, "llvm.fabs", o->a), real(o, (double)__builtin_inf()));
}
static LLVMValueRef emit_signbit(const scalar_op *o) {
  smelt_dtype bits = bits_dtype(o->in);
  LLVMValueRef word = BUILD(BitCast, o->a, sm_llvm_type(o->e, bits, o->width));
  return ICMP(SLT, word, sm_llvm_int(o->e, bits, o->width, 0));
}

/* --- Logic and bits ------------------------------------------------------------------------------- */

static LLVMValueRef emit_and(const scalar_op *o) { return BUILD(And, o->a, o->b); }
static LLVMValueRef emit_or(const scalar_op *o) { return BUILD(Or, o->a, o->b); }
static LLVMValueRef emit_xor(const scalar_op *o) { return BUILD(Xor, o->a, o->b); }
static LLVMValueRef emit_not(const scalar_op *o) { return BUILD(Not, o->a); }

/* A count that is out of range would be undefined. As an unsigned number a
 * negative count is beyond the width too. */
static LLVMValueRef count_is_out(const scalar_op *o) { return ICMP(UGE, o->b, integer(o, bits_of(o->in))); }

static LLVMValueRef emit_shl(const scalar_op *o) {
  LLVMValueRef out = count_is_out(o), zero = integer(o, 0);
  return SELECT(out, zero, BUILD(Shl, o->a, SELECT(out, zero, o->b)));
}
static LLVMValueRef emit_shr(const scalar_op *o) {
  LLVMValueRef out = count_is_out(o), zero = integer(o, 0);
  if (is_signed(o)) return BUILD(AShr, o->a, SELECT(out, integer(o, bits_of(o->in) - 1), o->b));
  return SELECT(out, zero, BUILD(LShr, o->a, SELECT(out, zero, o->b)));
}

/* --- Choice and conversion --------------------------------------------------------------------------- */

static LLVMValueRef emit_bitcast(const scalar_op *o) {
  return BUILD(BitCast, o->a, sm_llvm_type(o->e, o->out, o->width));
}

static LLVMValueRef emit_select(const scalar_op *o) { return SELECT(o->a, o->b, o->c); }

static LLVMValueRef cast_to_bool(const scalar_op *o) {
  if (o->in == SMELT_BOOL) return o->a;
  return is_float(o) ? FCMP(UNE, o->a, real(o, 0)) : ICMP(NE, o->a, integer(o, 0));
}

static LLVMValueRef cast_float_to_int(const scalar_op *o, LLVMTypeRef to) {
  const char *name = sm_kind_of(o->out) == SM_KIND_SINT ? "llvm.fptosi.sat" : "llvm.fptoui.sat";
  LLVMTypeRef types[] = {to, o->e->llvm->LLVMTypeOf(o->a)};
  LLVMValueRef a = o->a;
  return sm_llvm_intrinsic(o->e, name, types, 2, &a, 1);
}

static LLVMValueRef cast_int_to_int(const scalar_op *o, LLVMTypeRef to) {
  if (o->in == SMELT_BOOL) return BUILD(ZExt, o->a, to);
  if (bits_of(o->out) == bits_of(o->in)) return o->a;
  if (bits_of(o->out) < bits_of(o->in)) return BUILD(Trunc, o->a, to);
  return is_signed(o) ? BUILD(SExt, o->a, to) : BUILD(ZExt, o->a, to);
}

static LLVMValueRef cast_to_float(const scalar_op *o, LLVMTypeRef to) {
  if (o->in == o->out) return o->a;
  if (is_float(o))
    return bits_of(o->out) > bits_of(o->in) ? BUILD(FPExt, o->a, to) : BUILD(FPTrunc, o->a, to);
  return is_signed(o) ? BUILD(SIToFP, o->a, to) : BUILD(UIToFP, o->a, to);
}

static LLVMValueRef cast_number(const scalar_op *o) {
  LLVMTypeRef to = sm_llvm_type(o->e, o->out, o->width);
  if (o->out == SMELT_BOOL) return cast_to_bool(o);
  if (sm_kind_of(o->out) == SM_KIND_FLOAT) return cast_to_float(o, to);
  return is_float(o) ? cast_float_to_int(o, to) : cast_int_to_int(o, to);
}

/* Half types as in core/half.h. Their values are integers of 16 bits here; f16 has
 * instructions, bf16 is shifted and rounded by hand. */
static LLVMTypeRef half_type(const scalar_op *o) {
  LLVMTypeRef type = o->e->llvm->LLVMHalfTypeInContext(o->e->context);
  return o->width == 1 ? type : o->e->llvm->LLVMVectorType(type, (unsigned)o->width);
}

static LLVMValueRef bits_value(const scalar_op *o, smelt_dtype dtype, uint64_t value) {
  return sm_llvm_int(o->e, dtype, o->width, value);
}

static LLVMValueRef as_bits(const scalar_op *o, LLVMValueRef f32) {
  return BUILD(BitCast, f32, sm_llvm_type(o->e, SMELT_U32, o->width));
}

static LLVMValueRef widen_half(const scalar_op *o) {
  LLVMTypeRef f32 = sm_llvm_type(o->e, SMELT_F32, o->width);
  if (o->in == SMELT_F16) return BUILD(FPExt, BUILD(BitCast, o->a, half_type(o)), f32);
  LLVMValueRef word = BUILD(ZExt, o->a, sm_llvm_type(o->e, SMELT_U32, o->width));
  return BUILD(BitCast, BUILD(Shl, word, bits_value(o, SMELT_U32, 16)), f32);
}

static LLVMValueRef narrow_bf16(const scalar_op *o, LLVMValueRef f32) {
  LLVMValueRef bits = as_bits(o, f32), sixteen = bits_value(o, SMELT_U32, 16);
  LLVMValueRef top = BUILD(LShr, bits, sixteen);
  LLVMValueRef even =
      BUILD(Add, BUILD(And, top, bits_value(o, SMELT_U32, 1)), bits_value(o, SMELT_U32, 0x7fff));
  LLVMValueRef rounded = BUILD(LShr, BUILD(Add, bits, even), sixteen);
  LLVMValueRef quiet = BUILD(Or, top, bits_value(o, SMELT_U32, 0x40));
  LLVMValueRef result = SELECT(FCMP(UNO, f32, f32), quiet, rounded);
  return BUILD(Trunc, result, sm_llvm_type(o->e, SMELT_U16, o->width));
}

static LLVMValueRef narrow_to_half(const scalar_op *o, LLVMValueRef f32) {
  if (o->out == SMELT_BF16) return narrow_bf16(o, f32);
  return BUILD(BitCast, BUILD(FPTrunc, f32, half_type(o)), sm_llvm_type(o->e, SMELT_U16, o->width));
}

static LLVMValueRef round_to_odd(const scalar_op *o) {
  LLVMTypeRef f64 = sm_llvm_type(o->e, SMELT_F64, o->width), f32 = sm_llvm_type(o->e, SMELT_F32, o->width);
  LLVMValueRef nearest = BUILD(FPTrunc, o->a, f32), back = BUILD(FPExt, nearest, f64);
  LLVMValueRef size = intrinsic1(o, "llvm.fabs", o->a), size_back = intrinsic1(o, "llvm.fabs", back);
  LLVMValueRef away = FCMP(OGT, size_back, size);
  LLVMValueRef less = BUILD(ZExt, away, sm_llvm_type(o->e, SMELT_U32, o->width));
  LLVMValueRef bits = as_bits(o, nearest);
  LLVMValueRef odd = BUILD(Or, BUILD(Sub, bits, less), bits_value(o, SMELT_U32, 1));
  return BUILD(BitCast, SELECT(FCMP(ONE, back, o->a), odd, bits), f32);
}

static LLVMValueRef emit_cast(const scalar_op *o) {
  scalar_op single = *o; /* the part of the conversion that knows no half */
  if (sm_dtype_is_half(o->in)) single.a = widen_half(o);
  single.in = sm_dtype_working(o->in);
  single.out = sm_dtype_working(o->out);
  if (!sm_dtype_is_half(o->out)) return cast_number(&single);
  return narrow_to_half(o, o->in == SMELT_F64 ? round_to_odd(o) : cast_number(&single));
}

/* As many of the top bits as fit exactly, so the conversion may be signed. */
static LLVMValueRef emit_unit(const scalar_op *o) {
  static const uint8_t digits_of[SM_DTYPE_LIMIT] = {
      [SMELT_F16] = 11, [SMELT_BF16] = 8, [SMELT_F32] = 24, [SMELT_F64] = 53};
  unsigned digits = digits_of[o->out];
  smelt_dtype working = sm_dtype_working(o->out);
  LLVMTypeRef to = sm_llvm_type(o->e, working, o->width);
  LLVMValueRef top = BUILD(LShr, o->a, integer(o, 64 - digits));
  double scale = 1.0 / (double)((uint64_t)1 << digits);
  LLVMValueRef result = BUILD(FMul, BUILD(SIToFP, top, to), sm_llvm_real(o->e, working, o->width, scale));
  return sm_dtype_is_half(o->out) ? narrow_to_half(o, result) : result;
}

/* --- Random bits -----------------------------------------------------------------------------------------
 */

/* The counter and key words as 64-bit lanes below 2^32. */
typedef struct philox {
  LLVMValueRef c[4], k[2];
} philox;

static LLVMValueRef low_word(const scalar_op *o, LLVMValueRef x) {
  return BUILD(And, x, integer(o, UINT32_MAX));
}
static LLVMValueRef high_word(const scalar_op *o, LLVMValueRef x) { return BUILD(LShr, x, integer(o, 32)); }

static void split_words(const scalar_op *o, LLVMValueRef x, LLVMValueRef out[2]) {
  out[0] = low_word(o, x);
  out[1] = high_word(o, x);
}

static void philox_round(const scalar_op *o, philox *p) {
  LLVMValueRef p0 = BUILD(Mul, p->c[0], integer(o, 0xD2511F53u));
  LLVMValueRef p1 = BUILD(Mul, p->c[2], integer(o, 0xCD9E8D57u));
  LLVMValueRef n0 = BUILD(Xor, BUILD(Xor, high_word(o, p1), p->c[1]), p->k[0]);
  LLVMValueRef n2 = BUILD(Xor, BUILD(Xor, high_word(o, p0), p->c[3]), p->k[1]);
  p->c[0] = n0;
  p->c[1] = low_word(o, p1);
  p->c[2] = n2;
  p->c[3] = low_word(o, p0);
  p->k[0] = low_word(o, BUILD(Add, p->k[0], integer(o, 0x9E3779B9u)));
  p->k[1] = low_word(o, BUILD(Add, p->k[1], integer(o, 0xBB67AE85u)));
}

static LLVMValueRef emit_philox(const scalar_op *o) {
  philox p;
  split_words(o, o->a, &p.c[0]);
  split_words(o, o->b, &p.c[2]);
  split_words(o, o->c, &p.k[0]);
  for (int round = 0; round < 10; round++) philox_round(o, &p);
  int first = o->kop == SM_KOP_PHILOX_LO ? 0 : 2;
  return BUILD(Or, BUILD(Shl, p.c[first + 1], integer(o, 32)), p.c[first]);
}

/* --- The table
 * ------------------------------------------------------------------------------------------------ */

typedef LLVMValueRef emit_fn(const scalar_op *o);

/* A kop without an entry is refused. */
static emit_fn *const emitters[SM_KOP_COUNT] = {
    [SM_KOP_ADD] = emit_add,
    [SM_KOP_SUB] = emit_sub,
    [SM_KOP_MUL] = emit_mul,
    [SM_KOP_DIV] = emit_div,
    [SM_KOP_FMA] = emit_fma,
    [SM_KOP_LDEXP] = emit_ldexp,
    [SM_KOP_TRUNC_DIV] = emit_trunc_div,
    [SM_KOP_FLOOR_DIV] = emit_floor_div,
    [SM_KOP_REM] = emit_rem,
    [SM_KOP_FMOD] = emit_fmod,
    [SM_KOP_POW] = emit_pow,
    [SM_KOP_NEG] = emit_neg,
    [SM_KOP_ABS] = emit_abs,
    [SM_KOP_SIGN] = emit_sign,
    [SM_KOP_MAX] = emit_max,
    [SM_KOP_MIN] = emit_min,
    [SM_KOP_SQRT] = emit_sqrt,
    [SM_KOP_COPYSIGN] = emit_copysign,
    [SM_KOP_FLOOR] = emit_floor,
    [SM_KOP_CEIL] = emit_ceil,
    [SM_KOP_TRUNC] = emit_trunc,
    [SM_KOP_ROUND] = emit_round,
    [SM_KOP_EQ] = emit_eq,
    [SM_KOP_NE] = emit_ne,
    [SM_KOP_LT] = emit_lt,
    [SM_KOP_LE] = emit_le,
    [SM_KOP_ISNAN] = emit_isnan,
    [SM_KOP_ISINF] = emit_isinf,
    [SM_KOP_SIGNBIT] = emit_signbit,
    [SM_KOP_AND] = emit_and,
    [SM_KOP_OR] = emit_or,
    [SM_KOP_XOR] = emit_xor,
    [SM_KOP_NOT] = emit_not,
    [SM_KOP_SHL] = emit_shl,
    [SM_KOP_SHR] = emit_shr,
    [SM_KOP_SELECT] = emit_select,
    [SM_KOP_CAST] = emit_cast,
    [SM_KOP_BITCAST] = emit_bitcast,
    [SM_KOP_UNIT] = emit_unit,
    [SM_KOP_PHILOX_LO] = emit_philox,
    [SM_KOP_PHILOX_HI] = emit_philox,
};

static LLVMValueRef argument(const sm_llvm_emitter *e, int32_t arg) {
  return arg == SM_KIR_NONE ? NULL : e->values[arg];
}

LLVMValueRef sm_llvm_kop(const sm_llvm_emitter *e, const sm_kir_ins *ins) {
  sm_kop kop = (sm_kop)ins->kop;
  int32_t last = ins->args[sm_kop_info_of(kop)->arity - 1];
  scalar_op o = {.e = e,
                 .kop = kop,
                 .in = e->kernel->ins.items[last].type.dtype,
                 .out = ins->type.dtype,
                 .width = ins->type.width,
                 .a = argument(e, ins->args[0]),
                 .b = argument(e, ins->args[1]),
                 .c = argument(e, ins->args[2])};
  return emitters[kop] ? emitters[kop](&o) : NULL;
}
