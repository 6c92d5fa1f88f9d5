/* SPDX-License-Identifier: Apache-2.0
 *
 * Vectors in dialects that have them: statements about all lanes at once, of f32 and where memory
 * is accessed. Compilers of OpenCL make vector code of these only; a kernel of exp takes ten times
 * as long when it is written lane by lane. What is not here is, since lanes can be had one by one
 * too. */
#include <inttypes.h>
#include <stdio.h>

#include "codegen/c_family_printer.h"

/* Those whose bodies mean for vectors what they mean for numbers. */
static bool is_whole(sm_kop kop) {
  static const bool whole[SM_KOP_COUNT] = {
      [SM_KOP_ADD] = true,       [SM_KOP_SUB] = true,   [SM_KOP_MUL] = true,    [SM_KOP_DIV] = true,
      [SM_KOP_TRUNC_DIV] = true, [SM_KOP_NEG] = true,   [SM_KOP_ABS] = true,    [SM_KOP_FLOOR_DIV] = true,
      [SM_KOP_MAX] = true,       [SM_KOP_MIN] = true,   [SM_KOP_FMA] = true,    [SM_KOP_SQRT] = true,
      [SM_KOP_FLOOR] = true,     [SM_KOP_CEIL] = true,  [SM_KOP_TRUNC] = true,  [SM_KOP_ROUND] = true,
      [SM_KOP_LDEXP] = true,     [SM_KOP_EQ] = true,    [SM_KOP_NE] = true,     [SM_KOP_LT] = true,
      [SM_KOP_LE] = true,        [SM_KOP_ISNAN] = true, [SM_KOP_SELECT] = true,
  };
  return whole[kop];
}

/* The element of a vector that is in use as one, NULL for others. Bools are what comparisons make. */
static const char *element_of(const sm_c_printer *p, sm_kir_type type) {
  bool has_width = type.width == 2 || type.width == 4 || type.width == 8 || type.width == 16;
  if (!p->dialect->native_vectors || !has_width) return NULL;
  return type.dtype == SMELT_BOOL ? "char" : p->dialect->types[type.dtype];
}

bool sm_c_native_type(sm_c_printer *p, sm_kir_type type) {
  const char *element = element_of(p, type);
  if (!element) return false;
  sm_text_addf(p->text, "typedef union { %s%d v; %s l[%d]; } %sx%d;\n", element, type.width, element,
               type.width, smelt_dtype_name(type.dtype), type.width);
  return true;
}

/* A value in a statement about all lanes. */
void sm_c_native_value(sm_c_printer *p, int32_t value) {
  const sm_kir_ins *ins = &p->kernel->ins.items[value];
  if (ins->kind == SM_KIR_RESULT) {
    sm_c_native_value(p, ins->args[0]);
    return;
  }
  if (ins->kind != SM_KIR_SPLAT) {
    sm_text_addf(p->text, "v%" PRId32 ".v", value);
    return;
  }
  sm_text_addf(p->text, "(%s%d)(", element_of(p, ins->type), ins->type.width);
  bool whole = p->whole;
  p->whole = false;
  sm_c_value(p, ins->args[0]);
  p->whole = whole;
  sm_text_add(p->text, ")");
}

/* "f32x4 v7; v7.v = " */
static void begin_value(sm_c_printer *p, int32_t i) {
  const sm_kir_type type = p->kernel->ins.items[i].type;
  sm_text_addf(p->text, "%*s", 2 * p->depth, "");
  sm_c_type(p, type.dtype, type.width);
  sm_text_addf(p->text, " v%" PRId32 "; v%" PRId32 ".v = ", i, i);
}

/* --- Lanes as they are ------------------------------------------------------------------ */

bool sm_c_is_native_value(const sm_c_printer *p, int32_t value) {
  const sm_kir_ins *ins = &p->kernel->ins.items[value];
  return element_of(p, ins->type) && ins->kind != SM_KIR_IOTA;
}

/* Of vectors that are no variables there is none. */
static bool is_native_half(const sm_c_printer *p, const sm_kir_ins *ins) {
  return ins->kind == SM_KIR_HALF && element_of(p, ins->type) && sm_c_is_native_value(p, ins->args[0]) &&
         p->kernel->ins.items[ins->args[0]].kind != SM_KIR_SPLAT;
}

/* "v7.v = v5.v.hi" */
static void add_half(sm_c_printer *p, const sm_kir_ins *ins) {
  sm_c_native_value(p, ins->args[0]);
  sm_text_add(p->text, ins->imm.index ? ".hi" : ".lo");
}

void sm_c_native_carry(sm_c_printer *p, int32_t i) {
  begin_value(p, i);
  sm_c_native_value(p, p->kernel->ins.items[i].args[0]);
}

/* --- Scalar operations ------------------------------------------------------------------ */

/* Comparisons are -1 where they hold, and choices go by the sign; bools are 0 and 1. */
static void add_body(sm_c_printer *p, const sm_kir_ins *ins) {
  char template[96];
  int width = ins->type.width;
  sm_kop kop = (sm_kop)ins->kop;
  const char *body = sm_c_kop_body(kop, SMELT_F32);
  if (kop == SM_KOP_SELECT) (void)snprintf(template, sizeof template, "-convert_int%d(a) ? b : c", width);
  else if (kop == SM_KOP_LDEXP) (void)snprintf(template, sizeof template, "ldexp_f32x%d(a, b)", width);
  else if (ins->type.dtype == SMELT_BOOL)
    (void)snprintf(template, sizeof template, "-convert_char%d(%s)", width, body);
  else (void)snprintf(template, sizeof template, "%s", body);
  if (kop == SM_KOP_LDEXP) p->native[SM_C_NATIVE_LDEXP] |= (unsigned)width, p->rounds = true;
  p->whole = true;
  sm_c_template(p, template, (sm_c_scope){SMELT_F32, ins->args});
  p->whole = false;
}

/* Between f32 and a half type. */
static bool is_half_cast(const sm_c_printer *p, const sm_kir_ins *ins) {
  smelt_dtype from = p->kernel->ins.items[ins->args[0]].type.dtype, to = ins->type.dtype;
  bool widens = sm_dtype_is_half(from) && to == SMELT_F32,
       narrows = from == SMELT_F32 && sm_dtype_is_half(to);
  return ins->kop == SM_KOP_CAST && (widens || narrows);
}

/* "widen_f16x4(v5.v)" */
static void add_half_cast(sm_c_printer *p, const sm_kir_ins *ins) {
  smelt_dtype from = p->kernel->ins.items[ins->args[0]].type.dtype, to = ins->type.dtype;
  bool widens = to == SMELT_F32, is_f16 = (widens ? from : to) == SMELT_F16;
  sm_c_native function = widens   ? is_f16 ? SM_C_NATIVE_WIDEN_F16 : SM_C_NATIVE_WIDEN_BF16
                         : is_f16 ? SM_C_NATIVE_NARROW_F16
                                  : SM_C_NATIVE_NARROW_BF16;
  p->native[function] |= ins->type.width;
  sm_text_addf(p->text, "%s_%sx%d(", widens ? "widen" : "narrow", is_f16 ? "f16" : "bf16", ins->type.width);
  sm_c_native_value(p, ins->args[0]);
  sm_text_add(p->text, ")");
}

static smelt_dtype operand_dtype(const sm_c_printer *p, const sm_kir_ins *ins) {
  return p->kernel->ins.items[ins->args[sm_kop_info_of((sm_kop)ins->kop)->arity - 1]].type.dtype;
}

static bool is_native_kop(const sm_c_printer *p, const sm_kir_ins *ins) {
  if (!element_of(p, ins->type)) return false;
  return is_half_cast(p, ins) || (is_whole((sm_kop)ins->kop) && operand_dtype(p, ins) == SMELT_F32);
}

void sm_c_native_statement(sm_c_printer *p, int32_t i) {
  const sm_kir_ins *ins = &p->kernel->ins.items[i];
  begin_value(p, i);
  if (ins->kind == SM_KIR_HALF) add_half(p, ins);
  else if (is_half_cast(p, ins)) add_half_cast(p, ins);
  else add_body(p, ins);
  sm_text_add(p->text, ";\n");
}

/* --- Memory ------------------------------------------------------------------------------- */

/* Whether neighbours become lanes. */
static bool is_contiguous(const sm_c_printer *p, const sm_kir_ins *ins) {
  return element_of(p, ins->type) && ins->args[1] == SM_KIR_NONE;
}

/* "b0 + v5" */
static void add_place(sm_c_printer *p, const sm_kir_ins *ins) {
  sm_text_addf(p->text, "b%u + ", (unsigned)ins->buffer);
  sm_c_value(p, ins->args[0]);
}

/* "(__global float4 *)(b0 + v5)" */
static void add_pointer(sm_c_printer *p, const sm_kir_ins *ins) {
  const char *element = ins->type.dtype == SMELT_BOOL ? "uchar" : element_of(p, ins->type);
  sm_text_addf(p->text, "(%s%s%d %s*)(", sm_c_space(p, ins->buffer), element, ins->type.width,
               ins->kind == SM_KIR_LOAD ? "const" : "");
  add_place(p, ins);
  sm_text_add(p->text, ")");
}

static bool is_aligned(const sm_c_printer *p, const sm_kir_ins *ins) {
  return p->kernel->buffers.items[ins->buffer].aligned;
}

/* "v7.v = *(__global float4 const*)(b0 + v5);", where places are not known to be aligned "vload4(0, b0 +
 * v5);" */
void sm_c_native_load(sm_c_printer *p, int32_t i) {
  const sm_kir_ins *ins = &p->kernel->ins.items[i];
  bool is_bool = ins->type.dtype == SMELT_BOOL;
  begin_value(p, i);
  if (is_bool) sm_text_add(p->text, "-(");
  if (is_aligned(p, ins)) {
    sm_text_add(p->text, "*");
    add_pointer(p, ins);
  } else {
    sm_text_addf(p->text, "vload%d(0, ", ins->type.width);
    add_place(p, ins);
    sm_text_add(p->text, ")");
  }
  sm_text_add(p->text, is_bool ? " != (uchar)0);\n" : ";\n");
}

bool sm_c_is_native(const sm_c_printer *p, const sm_kir_ins *ins) {
  if (ins->kind == SM_KIR_LOAD) return is_contiguous(p, ins);
  return ins->kind == SM_KIR_KOP ? is_native_kop(p, ins) : is_native_half(p, ins);
}

static void add_stored(sm_c_printer *p, const sm_kir_ins *ins) {
  bool is_bool = ins->type.dtype == SMELT_BOOL;
  if (is_bool) sm_text_addf(p->text, "as_uchar%d(", ins->type.width);
  sm_c_native_value(p, ins->args[2]);
  if (is_bool) sm_text_add(p->text, ")");
}

/* "*(__global float4 *)(b0 + v5) = v7.v;", "STREAM(v7.v, (__global float4 *)(b0 + v5));", or
 * "vstore4(v7.v, 0, b0 + v5);" */
bool sm_c_native_store(sm_c_printer *p, const sm_kir_ins *ins) {
  if (!is_contiguous(p, ins) || p->kernel->ins.items[ins->args[2]].kind == SM_KIR_IOTA) return false;
  bool aligned = is_aligned(p, ins), streams = aligned && ins->imm.streaming;
  sm_c_indent(p);
  if (aligned && !streams) {
    sm_text_add(p->text, "*");
    add_pointer(p, ins);
    sm_text_add(p->text, " = ");
    add_stored(p, ins);
    sm_text_add(p->text, ";\n");
    return true;
  }
  if (streams) sm_text_add(p->text, "STREAM(");
  else sm_text_addf(p->text, "vstore%d(", ins->type.width);
  add_stored(p, ins);
  sm_text_add(p->text, streams ? ", " : ", 0, ");
  if (streams) add_pointer(p, ins);
  else add_place(p, ins);
  sm_text_add(p->text, ");\n");
  p->streams = p->streams || streams;
  return true;
}
