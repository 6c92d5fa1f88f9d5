/* SPDX-License-Identifier: Apache-2.0
 *
 * Expressions: literals, values, and the bodies of kops.def with their words put in. */
#include <ctype.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "codegen/c_family_printer.h"

/* --- Literals ------------------------------------------------------------------------------ */

static void add_integer(sm_c_printer *p, smelt_dtype dtype, sm_word word) {
  bool wide = sm_dtype_info_of(dtype)->size == 8;
  const char *suffix = wide ? p->dialect->long_suffix : "";
  sm_scalar s = sm_scalar_of(dtype, &word);
  if (s.kind == SM_KIND_UINT) {
    sm_text_addf(p->text, "%" PRIu64 "%s%s", s.as.u64, wide || s.as.u64 > INT16_MAX ? "u" : "", suffix);
  } else if (s.as.i64 == INT64_MIN || s.as.i64 == INT32_MIN) { /* no literal is negative */
    sm_text_addf(p->text, "(%" PRId64 "%s - 1)", s.as.i64 + 1, suffix);
  } else {
    sm_text_addf(p->text, s.as.i64 < 0 ? "(%" PRId64 "%s)" : "%" PRId64 "%s", s.as.i64, suffix);
  }
}

/* In decimal, as many digits as it takes; what has no decimal form by its bits. */
static void add_float(sm_c_printer *p, smelt_dtype dtype, double value, uint64_t bits) {
  bool is_f32 = dtype == SMELT_F32;
  if (!isfinite(value)) {
    sm_c_template(p, is_f32 ? "bitcast_f32_u32" : "bitcast_f64_u64", (sm_c_scope){dtype, NULL});
    sm_text_addf(p->text, is_f32 ? "(0x%08" PRIx64 "u)" : "(0x%016" PRIx64 "u%s)", bits,
                 p->dialect->long_suffix);
    return;
  }
  if (signbit(value)) sm_text_add(p->text, "(");
  size_t from = p->text->len;
  if (is_f32) sm_text_f32(p->text, (float)value);
  else sm_text_f64(p->text, value);
  if (!strpbrk(p->text->data + (p->text->failed ? 0 : from), ".e")) sm_text_add(p->text, ".0");
  sm_text_add(p->text, is_f32 ? "f" : "");
  if (signbit(value)) sm_text_add(p->text, ")");
}

void sm_c_literal(sm_c_printer *p, smelt_dtype dtype, sm_word word) {
  if (dtype == SMELT_BOOL) sm_text_add(p->text, word.BOOL ? "true" : "false");
  else if (dtype == SMELT_F32) add_float(p, dtype, (double)word.F32, word.bits & UINT32_MAX);
  else if (dtype == SMELT_F64) add_float(p, dtype, word.F64, word.bits);
  else if (sm_kind_of(dtype) == SM_KIND_FLOAT)
    sm_text_addf(p->text, "0x%04x", (unsigned)(word.bits & UINT16_MAX));
  else add_integer(p, dtype, word);
}

/* --- Values -------------------------------------------------------------------------------- */

static bool is_constant(const sm_c_printer *p, int32_t value, int64_t number) {
  const sm_kir_ins *ins = &p->kernel->ins.items[value];
  return ins->kind == SM_KIR_CONST && ins->type.dtype == SMELT_I64 && ins->imm.constant.I64 == number;
}

/* x of x + 0, 0 + x, x - 0, x * 1 and 1 * x, which positions often are; SM_KIR_NONE for others. */
static int32_t same_as(const sm_c_printer *p, const sm_kir_ins *ins) {
  bool both = ins->kop == SM_KOP_ADD || ins->kop == SM_KOP_MUL;
  int64_t neutral = ins->kop == SM_KOP_MUL;
  if (ins->kind != SM_KIR_KOP || (!both && ins->kop != SM_KOP_SUB)) return SM_KIR_NONE;
  if (is_constant(p, ins->args[1], neutral)) return ins->args[0];
  return both && is_constant(p, ins->args[0], neutral) ? ins->args[1] : SM_KIR_NONE;
}

bool sm_c_is_inline(const sm_c_printer *p, int32_t value) {
  const sm_kir_ins *ins = &p->kernel->ins.items[value];
  return ins->kind == SM_KIR_CONST || ins->kind == SM_KIR_SPLAT || ins->kind == SM_KIR_RESULT ||
         ins->kind == SM_KIR_IOTA || ins->kind == SM_KIR_CHUNK_BEGIN || ins->kind == SM_KIR_CHUNK_END ||
         same_as(p, ins) != SM_KIR_NONE;
}

void sm_c_value(sm_c_printer *p, int32_t value) {
  const sm_kir_ins *ins = &p->kernel->ins.items[value];
  int32_t same = same_as(p, ins);
  if (p->whole) {
    sm_c_native_value(p, value);
    return;
  }
  if (same != SM_KIR_NONE) {
    sm_c_value(p, same);
    return;
  }
  switch (ins->kind) {
    case SM_KIR_CONST:
      sm_c_literal(p, sm_c_dtype(p, value), ins->imm.constant);
      break;
    case SM_KIR_SPLAT:
    case SM_KIR_RESULT:
      sm_c_value(p, ins->args[0]);
      break;
    case SM_KIR_IOTA:
      if (ins->type.width > 1) sm_text_add(p->text, "(");
      sm_c_value(p, ins->args[0]);
      if (ins->type.width > 1) sm_text_add(p->text, " + l)");
      break;
    case SM_KIR_CHUNK_BEGIN:
      sm_text_add(p->text, "begin");
      break;
    case SM_KIR_CHUNK_END:
      sm_text_add(p->text, "end");
      break;
    default:
      sm_text_addf(p->text, sm_c_is_array(p, value) ? "v%" PRId32 ".l[l]" : "v%" PRId32, value);
      break;
  }
}

/* The vector is no value that lanes can be counted in where it is written in its place. */
void sm_c_half(sm_c_printer *p, const sm_kir_ins *ins) {
  const char *lane = ins->type.width > 1 ? " + l" : "";
  int32_t whole = ins->args[0], first = ins->imm.index * ins->type.width;
  const sm_kir_ins *from = &p->kernel->ins.items[whole];
  for (; from->kind == SM_KIR_RESULT || same_as(p, from) != SM_KIR_NONE; from = &p->kernel->ins.items[whole])
    whole = from->kind == SM_KIR_RESULT ? from->args[0] : same_as(p, from);
  if (from->kind == SM_KIR_SPLAT) {
    sm_c_value(p, from->args[0]);
  } else if (from->kind == SM_KIR_IOTA) {
    sm_c_value(p, from->args[0]);
    sm_text_addf(p->text, " + %" PRId32 "%s", first, lane);
  } else {
    sm_text_addf(p->text, "v%" PRId32 ".l[%" PRId32 "%s]", whole, first, lane);
  }
}

/* --- Templates ------------------------------------------------------------------------------ */

static bool is_word(const char *word, size_t n, const char *other) {
  return strlen(other) == n && memcmp(word, other, n) == 0;
}

static size_t word_length(const char *s) {
  size_t n = 0;
  if (isalpha((unsigned char)s[0]) || s[0] == '_') {
    while (isalnum((unsigned char)s[n]) || s[n] == '_') n++;
  }
  return n;
}

/* The unsigned type that integers are computed in. */
static smelt_dtype unsigned_word(smelt_dtype dtype) {
  return sm_dtype_info_of(dtype)->size == 8 ? SMELT_U64 : SMELT_U32;
}

static bool is_rounding(const char *name, size_t n) {
  static const char *const names[] = {"rint", "floor", "ceil", "trunc"};
  for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
    if (is_word(name, n, names[i])) return true;
  }
  return false;
}

/* FN(name): a function of the text's, by dtype, or one of the language. */
static void add_float_function(sm_c_printer *p, const char *name, size_t n, smelt_dtype dtype) {
  char own[32];
  int len = snprintf(own, sizeof own, "%.*s_%s", n > 3 ? (int)n - 3 : 0, name + 3, smelt_dtype_name(dtype));
  p->rounds = p->rounds || is_rounding(name, n);
  bool is_own = strncmp(name, "sm_", 3) == 0 && sm_c_need_function(p, own, (size_t)len);
  if (is_own) sm_text_add(p->text, own);
  else sm_text_addf(p->text, "%.*s%s", (int)n, name, dtype == SMELT_F32 ? p->dialect->float_suffix : "");
}

static smelt_dtype find_dtype(const char *word, size_t n) {
  char name[8];
  (void)snprintf(name, sizeof name, "%.*s", (int)n, word);
  return smelt_dtype_find(name);
}

/* A word that means the same everywhere: the name of a dtype or a function, or no word of ours. */
static void add_common_word(sm_c_printer *p, const char *word, size_t n) {
  smelt_dtype dtype = find_dtype(word, n);
  if (strncmp(word, "sm_", 3) == 0) word += 3, n -= 3;
  (void)sm_c_need_function(p, word, n);
  if (dtype != SMELT_DTYPE_NONE) sm_c_type(p, dtype, 1);
  else sm_text_add_n(p->text, word, n);
}

/* Returns what follows the word. */
static const char *add_word(sm_c_printer *p, const char *word, size_t n, sm_c_scope scope) {
  if (scope.abc && n == 1 && word[0] >= 'a' && word[0] <= 'c') {
    sm_c_value(p, scope.abc[word[0] - 'a']);
  } else if (is_word(word, n, "T")) {
    sm_c_type(p, scope.dtype, 1);
  } else if (is_word(word, n, "W")) {
    sm_c_type(p, unsigned_word(scope.dtype), 1);
  } else if (is_word(word, n, "WRAP")) {
    sm_c_template(p, "(T)", scope);
  } else if (is_word(word, n, "BITS")) {
    sm_text_addf(p->text, "%d", 8 * (int)sm_dtype_info_of(scope.dtype)->size);
  } else if (is_word(word, n, "INFINITY")) {
    sm_c_literal(p, scope.dtype,
                 scope.dtype == SMELT_F32 ? (sm_word){.F32 = INFINITY} : (sm_word){.F64 = (double)INFINITY});
  } else if (is_word(word, n, "FN")) {
    size_t name = word_length(word + 3); /* behind the parenthesis */
    add_float_function(p, word + 3, name, scope.dtype);
    return word + 3 + name + 1;
  } else {
    add_common_word(p, word, n);
  }
  return word + n;
}

void sm_c_template(sm_c_printer *p, const char *template, sm_c_scope scope) {
  for (const char *at = template; *at;) {
    size_t n = word_length(at), other = 0;
    if (n) {
      at = add_word(p, at, n, scope);
      continue;
    }
    if (isdigit((unsigned char)*at)) { /* numbers, with their suffixes */
      while (isalnum((unsigned char)at[other]) || at[other] == '.') other++;
    }
    other += other == 0;
    sm_text_add_n(p->text, at, other);
    at += other;
  }
}

/* --- Conversions ------------------------------------------------------------------------------ */

static sm_word integer_limit(smelt_dtype dtype, bool top) {
  unsigned bits = 8 * sm_dtype_info_of(dtype)->size;
  uint64_t all = UINT64_MAX >> (64 - bits), low = sm_kind_of(dtype) == SM_KIND_SINT ? (all >> 1) + 1 : 0;
  return (sm_word){.bits = top ? all - low : low};
}

static void add_float_limit(sm_c_printer *p, smelt_dtype dtype, double value) {
  sm_word word = {.bits = 0};
  if (dtype == SMELT_F32) word.F32 = (float)value;
  else word.F64 = value;
  sm_c_literal(p, dtype, word);
}

/* An operand, as f32 if it is a half. */
static void add_operand(sm_c_printer *p, int32_t value, smelt_dtype dtype) {
  if (sm_dtype_is_half(dtype))
    sm_c_template(p, dtype == SMELT_F16 ? "widen_f16(a)" : "widen_bf16(a)", (sm_c_scope){dtype, &value});
  else sm_c_value(p, value);
}

/* Truncated and saturated; NaN gives 0. All limits are exact as floats. */
static void add_float_to_integer(sm_c_printer *p, int32_t value, smelt_dtype from, smelt_dtype to) {
  int bits = 8 * (int)sm_dtype_info_of(to)->size;
  bool is_signed = sm_kind_of(to) == SM_KIND_SINT;
  smelt_dtype real = sm_dtype_working(from);
  add_operand(p, value, from);
  sm_text_add(p->text, " != ");
  add_operand(p, value, from);
  sm_text_add(p->text, " ? 0 : ");
  add_operand(p, value, from);
  sm_text_add(p->text, " <= ");
  add_float_limit(p, real, is_signed ? -ldexp(1, bits - 1) : 0);
  sm_text_add(p->text, " ? ");
  sm_c_literal(p, to, integer_limit(to, false));
  sm_text_add(p->text, " : ");
  add_operand(p, value, from);
  sm_text_add(p->text, " >= ");
  add_float_limit(p, real, ldexp(1, is_signed ? bits - 1 : bits));
  sm_text_add(p->text, " ? ");
  sm_c_literal(p, to, integer_limit(to, true));
  sm_c_template(p, " : (T)", (sm_c_scope){to, NULL});
  add_operand(p, value, from);
}

static void add_to_half(sm_c_printer *p, int32_t value, smelt_dtype from, smelt_dtype to) {
  sm_c_template(p, to == SMELT_F16 ? "narrow_f16(" : "narrow_bf16(", (sm_c_scope){to, NULL});
  sm_c_template(p, from == SMELT_F64 ? "f32_odd(" : "(f32)(", (sm_c_scope){to, NULL});
  add_operand(p, value, from);
  sm_text_add(p->text, "))");
}

static void add_cast(sm_c_printer *p, int32_t value, smelt_dtype from, smelt_dtype to) {
  bool to_integer = sm_kind_of(to) == SM_KIND_SINT || sm_kind_of(to) == SM_KIND_UINT;
  if (from == to) {
    sm_c_value(p, value);
  } else if (sm_dtype_is_half(to)) {
    add_to_half(p, value, from, to);
  } else if (to == SMELT_BOOL) {
    add_operand(p, value, from);
    sm_text_add(p->text, " != 0");
  } else if (to_integer && sm_kind_of(from) == SM_KIND_FLOAT) {
    add_float_to_integer(p, value, from, to);
  } else {
    sm_c_template(p, "(T)", (sm_c_scope){to, NULL});
    add_operand(p, value, from);
  }
}

/* Integers and halves are their bits. */
static void add_bitcast(sm_c_printer *p, int32_t value, smelt_dtype from, smelt_dtype to) {
  bool from_float = from == SMELT_F32 || from == SMELT_F64, to_float = to == SMELT_F32 || to == SMELT_F64;
  bool wide = sm_dtype_info_of(to)->size == 8;
  const char *template = "(T)a";
  if (from_float && !to_float) template = wide ? "(T)bitcast_u64_f64(a)" : "(T)bitcast_u32_f32(a)";
  if (!from_float && to_float) template = wide ? "bitcast_f64_u64((W)a)" : "bitcast_f32_u32((W)a)";
  if (from == to) template = "a";
  sm_c_template(p, template, (sm_c_scope){to, &value});
}

/* The upper bits of a u64, as many as are exact. */
static void add_unit(sm_c_printer *p, int32_t value, smelt_dtype to) {
  const char *template = to == SMELT_F64   ? "(f64)(a >> 11) * 1.1102230246251565e-16"
                         : to == SMELT_F32 ? "(f32)(a >> 40) * 5.9604645e-08f"
                         : to == SMELT_F16 ? "narrow_f16((f32)(a >> 53) * 0.00048828125f)"
                                           : "narrow_bf16((f32)(a >> 56) * 0.00390625f)";
  sm_c_template(p, template, (sm_c_scope){to, &value});
}

/* --- Kops ---------------------------------------------------------------------------------------- */

/* The bodies by kind of dtype, as they stand: nothing in them may be expanded, so each macro makes
 * its text by itself. */
static const char *const float_bodies[SM_KOP_COUNT] = {
#define KOP_FLOAT(id, body) [SM_KOP_##id] = #body,
#define KOP_FLOAT_TEST(id, body) [SM_KOP_##id] = #body,
#include "core/kops_rows.h"
};
static const char *const signed_bodies[SM_KOP_COUNT] = {
#define KOP_SINT(id, body) [SM_KOP_##id] = #body,
#define KOP_INT(id, body) [SM_KOP_##id] = #body,
#define KOP_INT_TEST(id, body) [SM_KOP_##id] = #body,
#include "core/kops_rows.h"
};
static const char *const unsigned_bodies[SM_KOP_COUNT] = {
#define KOP_UINT(id, body) [SM_KOP_##id] = #body,
#define KOP_U64(id, body) [SM_KOP_##id] = #body,
#define KOP_INT(id, body) [SM_KOP_##id] = #body,
#define KOP_INT_TEST(id, body) [SM_KOP_##id] = #body,
#include "core/kops_rows.h"
};
static const char *const bool_bodies[SM_KOP_COUNT] = {
#define KOP_BOOL(id, body) [SM_KOP_##id] = #body,
#include "core/kops_rows.h"
};

const char *sm_c_kop_body(sm_kop kop, smelt_dtype dtype) {
  static const char *const *const bodies[] = {
      [SM_KIND_BOOL] = bool_bodies,
      [SM_KIND_SINT] = signed_bodies,
      [SM_KIND_UINT] = unsigned_bodies,
      [SM_KIND_FLOAT] = float_bodies,
  };
  return kop == SM_KOP_SELECT ? "a ? b : c" : bodies[sm_kind_of(dtype)][kop];
}

/* What has no cases: division by a constant other than 0 and -1, shifting by one that is in range. */
static const char *simple_body(const sm_c_printer *p, const sm_kir_ins *ins) {
  static const char *const bodies[SM_KOP_COUNT] = {[SM_KOP_TRUNC_DIV] = "a / b",
                                                   [SM_KOP_FMOD] = "a % b",
                                                   [SM_KOP_SHL] = "(T)((W)a << b)",
                                                   [SM_KOP_SHR] = "a >> b"};
  bool shifts = ins->kop == SM_KOP_SHL || ins->kop == SM_KOP_SHR;
  if (!bodies[ins->kop] || ins->type.dtype != SMELT_I64) return NULL;
  const sm_kir_ins *by = &p->kernel->ins.items[ins->args[1]];
  if (by->kind != SM_KIR_CONST) return NULL;
  int64_t number = by->imm.constant.I64;
  if (shifts ? number < 0 || number >= 64 : number == 0 || number == -1) return NULL;
  return bodies[ins->kop];
}

void sm_c_kop(sm_c_printer *p, int32_t value) {
  const sm_kir_ins *ins = &p->kernel->ins.items[value];
  sm_kop kop = (sm_kop)ins->kop;
  smelt_dtype in = p->kernel->ins.items[ins->args[sm_kop_info_of(kop)->arity - 1]].type.dtype;
  if (p->narrow[value]) in = SMELT_I32;
  const char *simple = simple_body(p, ins), *body = simple ? simple : sm_c_kop_body(kop, in);
  if (kop == SM_KOP_CAST) add_cast(p, ins->args[0], in, ins->type.dtype);
  else if (kop == SM_KOP_BITCAST) add_bitcast(p, ins->args[0], in, ins->type.dtype);
  else if (kop == SM_KOP_UNIT) add_unit(p, ins->args[0], ins->type.dtype);
  else if (body) sm_c_template(p, body, (sm_c_scope){in, ins->args});
  else p->missing = sm_kop_info_of(kop)->name;
}
