/* SPDX-License-Identifier: Apache-2.0
 *
 * Functions that a text brings along: those of core/kop_functions.h and core/half.h
 * once more, because the compilers of devices have no headers of ours. The tests
 * compare them bit for bit. A function comes after those that it calls. */
#include <string.h>

#include "codegen/c_family_printer.h"

/* `dtype` is what T is. `body` NULL: the dialect has it. */
typedef struct c_function {
  const char *name;
  smelt_dtype dtype;
  const char *signature, *body;
} c_function;

enum { FIRST_BITCAST, WIDEN_F16 = FIRST_BITCAST + SM_C_BITS_COUNT, NARROW_F16, NARROW_BF16 };

static const c_function functions[] = {
    [SM_C_U32_F32] = {"bitcast_u32_f32", SMELT_F32, "u32 bitcast_u32_f32(f32 a)",
                      "  union { f32 f; u32 u; } bits;\n  bits.f = a;\n  return bits.u;\n"},
    [SM_C_F32_U32] = {"bitcast_f32_u32", SMELT_F32, "f32 bitcast_f32_u32(u32 a)",
                      "  union { f32 f; u32 u; } bits;\n  bits.u = a;\n  return bits.f;\n"},
    [SM_C_U64_F64] = {"bitcast_u64_f64", SMELT_F64, "u64 bitcast_u64_f64(f64 a)",
                      "  union { f64 f; u64 u; } bits;\n  bits.f = a;\n  return bits.u;\n"},
    [SM_C_F64_U64] = {"bitcast_f64_u64", SMELT_F64, "f64 bitcast_f64_u64(u64 a)",
                      "  union { f64 f; u64 u; } bits;\n  bits.u = a;\n  return bits.f;\n"},
    [WIDEN_F16] = {"widen_f16", SMELT_F32, "f32 widen_f16(u16 a)",
                   "  const u32 sign = (u32)(a & 0x8000) << 16, rest = a & 0x7fff;\n"
                   "  if (rest >= 0x7c00) return bitcast_f32_u32(sign | 0x7f800000 | rest << 13 | "
                   "(rest > 0x7c00 ? 0x400000 : 0));\n"
                   "  if (rest >= 0x400) return bitcast_f32_u32(sign | ((rest << 13) + 0x38000000));\n"
                   "  return bitcast_f32_u32(sign | bitcast_u32_f32((f32)rest * 5.9604645e-08f));\n"},
    [NARROW_F16] =
        {"narrow_f16", SMELT_F32, "u16 narrow_f16(f32 a)",
         "  const u32 bits = bitcast_u32_f32(a), rest = bits & 0x7fffffff, sign = bits >> 16 & 0x8000;\n"
         "  if (rest > 0x7f800000) return (u16)(sign | 0x7e00 | (rest >> 13 & 0x3ff));\n"
         "  if (rest >= 0x477ff000) return (u16)(sign | 0x7c00);\n"
         "  if (rest >= 0x38800000) return (u16)(sign | (((rest + 0xfff + (rest >> 13 & 1)) >> 13) - "
         "0x1c000));\n"
         "  return (u16)(sign | (bitcast_u32_f32(FN(fabs)(a) + 0.5f) - 0x3f000000));\n"},
    [NARROW_BF16] = {"narrow_bf16", SMELT_F32, "u16 narrow_bf16(f32 a)",
                     "  const u32 bits = bitcast_u32_f32(a), top = bits >> 16;\n"
                     "  return (u16)(a != a ? top | 0x40 : (bits + 0x7fff + (top & 1)) >> 16);\n"},
    {"widen_bf16", SMELT_F32, "f32 widen_bf16(u16 a)", "  return bitcast_f32_u32((u32)a << 16);\n"},
    {"f32_odd", SMELT_F64, "f32 f32_odd(f64 a)",
     "  const f32 nearest = (f32)a;\n"
     "  const f64 back = (f64)nearest;\n"
     "  if (back == a || a != a) return nearest;\n"
     "  return bitcast_f32_u32((bitcast_u32_f32(nearest) - (FN(fabs)(back) > FN(fabs)(a) ? 1 : 0)) | 1);\n"},
    {"power_of_2_f32", SMELT_F32, "f32 power_of_2_f32(f32 n)",
     "  return bitcast_f32_u32(bitcast_u32_f32(n + 12583039.0f) << 23);\n"},
    {"ldexp_f32", SMELT_F32, "f32 ldexp_f32(f32 a, f32 b)",
     "  const f32 part = FN(floor)(b * 0.5f);\n"
     "  return a * power_of_2_f32(part) * power_of_2_f32(b - part);\n"},
    {"power_of_2_f64", SMELT_F64, "f64 power_of_2_f64(f64 n)",
     "  return bitcast_f64_u64(bitcast_u64_f64(n + 6755399441056767.0) << 52);\n"},
    {"ldexp_f64", SMELT_F64, "f64 ldexp_f64(f64 a, f64 b)",
     "  const f64 part = FN(floor)(b * 0.5);\n"
     "  return a * power_of_2_f64(part) * power_of_2_f64(b - part);\n"},
    {"pow_u64", SMELT_U64, "u64 pow_u64(u64 base, u64 exponent)",
     "  u64 result = 1;\n"
     "  for (; exponent; exponent >>= 1, base *= base) {\n"
     "    if (exponent & 1) result *= base;\n"
     "  }\n"
     "  return result;\n"},
    {"pow_i64", SMELT_I64, "i64 pow_i64(i64 base, i64 exponent)",
     "  if (exponent >= 0) return (i64)pow_u64((u64)base, (u64)exponent);\n"
     "  if (base == 1) return 1;\n"
     "  if (base == -1) return exponent % 2 ? -1 : 1;\n"
     "  return 0;\n"},
    {"philox", SMELT_U64, "u64 philox(u64 index, u64 call, u64 key, i32 part)",
     "  u32 c0 = (u32)index, c1 = (u32)(index >> 32), c2 = (u32)call, c3 = (u32)(call >> 32);\n"
     "  u32 k0 = (u32)key, k1 = (u32)(key >> 32);\n"
     "  for (i32 round = 0; round < 10; round++) {\n"
     "    const u64 p0 = (u64)0xD2511F53u * c0, p1 = (u64)0xCD9E8D57u * c2;\n"
     "    const u32 n0 = (u32)(p1 >> 32) ^ c1 ^ k0, n2 = (u32)(p0 >> 32) ^ c3 ^ k1;\n"
     "    c1 = (u32)p1;\n"
     "    c3 = (u32)p0;\n"
     "    c0 = n0;\n"
     "    c2 = n2;\n"
     "    k0 += 0x9E3779B9u;\n"
     "    k1 += 0xBB67AE85u;\n"
     "  }\n"
     "  return part ? (u64)c3 << 32 | c2 : (u64)c1 << 32 | c0;\n"},
};

enum { N_FUNCTIONS = sizeof functions / sizeof functions[0] };

bool sm_c_need_function(sm_c_printer *p, const char *name, size_t n) {
  for (int i = 0; i < N_FUNCTIONS; i++) {
    if (strlen(functions[i].name) != n || memcmp(functions[i].name, name, n) != 0) continue;
    p->functions |= (uint64_t)1 << i;
    return true;
  }
  return false;
}

/* The dialect's own word for a bit cast, its own body of a conversion; or NULL. */
static const char *own_form(const sm_dialect *d, int i) {
  if (i < FIRST_BITCAST + SM_C_BITS_COUNT) return d->bitcast[i - FIRST_BITCAST];
  return i == WIDEN_F16     ? d->widen_f16
         : i == NARROW_F16  ? d->narrow_f16
         : i == NARROW_BF16 ? d->narrow_bf16
                            : NULL;
}

static void add_body(sm_c_printer *p, int i, const char *own) {
  sm_c_scope scope = {functions[i].dtype, NULL};
  const char *condition = i == NARROW_BF16 ? p->dialect->has_narrow_bf16 : NULL;
  if (condition) sm_text_addf(p->text, "#if %s\n", condition);
  if (own) sm_c_template(p, own, scope);
  if (condition) sm_text_add(p->text, "#else\n");
  if (!own || condition) sm_c_template(p, functions[i].body, scope);
  if (condition) sm_text_add(p->text, "#endif\n");
}

static void add_function(sm_c_printer *p, int i) {
  const c_function *f = &functions[i];
  const char *own = own_form(p->dialect, i);
  if (own && i < FIRST_BITCAST + SM_C_BITS_COUNT) {
    sm_text_addf(p->text, "#define %s %s\n", f->name, own);
    return;
  }
  sm_text_add(p->text, p->dialect->function);
  sm_c_template(p, f->signature, (sm_c_scope){f->dtype, NULL});
  sm_text_add(p->text, " {\n");
  add_body(p, i, own);
  sm_text_add(p->text, "}\n");
}

void sm_c_functions(sm_c_printer *p) {
  sm_text *text = p->text, scratch;
  sm_text_init(&scratch, text->allocator);
  p->text = &scratch;
  for (int i = N_FUNCTIONS - 1; i >= 0; i--) {
    if (p->functions >> i & 1) add_function(p, i);
  }
  p->text = text;
  for (int i = 0; i < N_FUNCTIONS; i++) {
    if (p->functions >> i & 1) add_function(p, i);
  }
  p->failed = p->failed || scratch.failed;
  sm_text_free(&scratch);
}
