/* SPDX-License-Identifier: Apache-2.0
 *
 * Functions of whole vectors, for dialects that have them: those of c_family_functions.c once
 * more, in the order and with the roundings of the functions for one number. `#` stands for
 * the lanes. */
#include "codegen/c_family_printer.h"

static const char *const functions[SM_C_NATIVE_COUNT] = {
    [SM_C_NATIVE_LDEXP] =
        "static inline float# ldexp_f32x#(float# a, float# b) {\n"
        "  const float# part = floor(b * 0.5f), rest = b - part;\n"
        "  return a * as_float#(as_uint#(part + 12583039.0f) << 23) *\n"
        "         as_float#(as_uint#(rest + 12583039.0f) << 23);\n"
        "}\n",
    [SM_C_NATIVE_WIDEN_BF16] =
        "static inline float# widen_bf16x#(ushort# a) {\n"
        "  return as_float#(convert_uint#(a) << 16);\n"
        "}\n",
    [SM_C_NATIVE_NARROW_BF16] =
        "static inline ushort# narrow_bf16x#(float# a) {\n"
        "  const uint# bits = as_uint#(a), top = bits >> 16;\n"
        "  return convert_ushort#(a != a ? top | 0x40u : (bits + 0x7fffu + (top & 1u)) >> 16);\n"
        "}\n",
    [SM_C_NATIVE_WIDEN_F16] =
        "static inline float# widen_f16x#(ushort# a) {\n"
        "  const uint# sign = convert_uint#(a & (ushort)0x8000) << 16, rest = convert_uint#(a & "
        "(ushort)0x7fff);\n"
        "  const uint# small = as_uint#(convert_float#(rest) * 5.9604645e-08f), normal = (rest << 13) + "
        "0x38000000u,\n"
        "              large = (rest << 13 | 0x7f800000u) | (rest > 0x7c00u ? (uint#)0x400000u : "
        "(uint#)0u);\n"
        "  return as_float#(sign | (rest >= 0x7c00u ? large : rest >= 0x400u ? normal : small));\n"
        "}\n",
    [SM_C_NATIVE_NARROW_F16] =
        "static inline ushort# narrow_f16x#(float# a) {\n"
        "  const uint# bits = as_uint#(a), rest = bits & 0x7fffffffu, sign = bits >> 16 & 0x8000u;\n"
        "  const uint# small = as_uint#(fabs(a) + 0.5f) - 0x3f000000u,\n"
        "              normal = ((rest + 0xfffu + (rest >> 13 & 1u)) >> 13) - 0x1c000u,\n"
        "              large = rest > 0x7f800000u ? (rest >> 13 & 0x3ffu) | 0x7e00u : (uint#)0x7c00u;\n"
        "  return convert_ushort#(sign | (rest >= 0x477ff000u ? large : rest >= 0x38800000u ? normal : "
        "small));\n"
        "}\n",
};

static void add_function(sm_c_printer *p, const char *text, int width) {
  for (; *text; text++) {
    if (*text == '#') sm_text_addf(p->text, "%d", width);
    else sm_text_add_n(p->text, text, 1);
  }
}

void sm_c_native_functions(sm_c_printer *p) {
  for (int f = 0; f < SM_C_NATIVE_COUNT; f++) {
    for (unsigned width = 2; width <= 16; width *= 2) {
      if (p->native[f] & width) add_function(p, functions[f], (int)width);
    }
  }
}
