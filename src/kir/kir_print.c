/* SPDX-License-Identifier: Apache-2.0
 *
 * Kernels as text:
 *
 *   kernel scale(b0 f32, b1 f32 written, n0, s0 f32) {
 *     %0 = chunk_begin
 *     %1 = chunk_end
 *     %2 = scalar f32 s0
 *     %3 = splat f32x16 %2
 *     %4 = for %0 .. %1 step 16 {
 *       %5 = load f32x16 b0[%4]
 *       %6 = mul f32x16 %5, %3
 *       store b1[%4] %6
 *     }
 *   }
 *
 * Loops that carry values are shown in kir.h. `n` is a size, `s` a scalar, `b` a buffer; `b0[%4 * %9]` has
 * the stride %9 from lane to lane, of `b0[%4 first %9]` the first %9 lanes are there. Kernels that the
 * verifier refuses can be printed too. */
#include <inttypes.h>
#include <math.h>

#include "kir/kir.h"

static void print_signature(sm_text *text, const sm_kir_kernel *k) {
  const char *comma = "";
  sm_text_addf(text, "kernel %s(", k->name);
  for (size_t i = 0; i < k->buffers.len; i++, comma = ", ") {
    sm_kir_buffer b = k->buffers.items[i];
    sm_text_addf(text, "%sb%zu %s", comma, i, smelt_dtype_name(b.dtype));
    if (b.local) sm_text_addf(text, "[%" PRIu32 "] %s", b.local, b.shared ? "shared" : "local");
    else if (b.written) sm_text_add(text, " written");
    if (b.aligned) sm_text_add(text, " aligned");
  }
  for (int i = 0; i < k->n_sizes; i++, comma = ", ") sm_text_addf(text, "%sn%d", comma, i);
  for (size_t i = 0; i < k->scalars.len; i++, comma = ", ") {
    sm_text_addf(text, "%ss%zu %s", comma, i, smelt_dtype_name(k->scalars.items[i]));
  }
  sm_text_add(text, ")");
  if (k->threads) sm_text_addf(text, " threads %d", k->threads);
  if (k->grain) sm_text_addf(text, " grain %d", k->grain);
  if (k->narrow) sm_text_add(text, " narrow");
  sm_text_add(text, " {\n");
}

/* " f32" or " f32x16". */
static void print_type(sm_text *text, sm_kir_type type) {
  sm_text_addf(text, " %s", smelt_dtype_name(type.dtype));
  if (type.width != 1) sm_text_addf(text, "x%u", (unsigned)type.width);
}

/* Floats in their own precision; of a NaN the bits, because they are not all one. */
static void print_constant(sm_text *text, smelt_dtype dtype, const sm_word *word) {
  sm_scalar s = sm_scalar_of(dtype, word);
  if (s.kind != SM_KIND_FLOAT) {
    sm_scalar_print(text, s);
  } else if (isnan(s.as.f64)) {
    size_t size = smelt_dtype_size(dtype);
    sm_text_addf(text, "nan:0x%0*" PRIx64, (int)(2 * size), word->bits & UINT64_MAX >> (64 - 8 * size));
  } else {
    sm_scalar_print_digits(text, dtype, s.as.f64);
  }
}

/* " b0[%4 * %9]" */
static void print_place(sm_text *text, const sm_kir_ins *ins) {
  sm_text_addf(text, " b%u[%%%" PRId32, (unsigned)ins->buffer, ins->args[0]);
  if (ins->args[1] != SM_KIR_NONE) sm_text_addf(text, " * %%%" PRId32, ins->args[1]);
  sm_text_add(text, "]");
}

/* " b0[%4 first %9]" */
static void print_first(sm_text *text, const sm_kir_ins *ins) {
  sm_text_addf(text, " b%u[%%%" PRId32 " first %%%" PRId32 "]", (unsigned)ins->buffer, ins->args[0],
               ins->args[1]);
}

static void print_args(sm_text *text, const sm_kir_ins *ins) {
  for (int a = 0; a < SM_KIR_ARGS && ins->args[a] != SM_KIR_NONE; a++) {
    sm_text_addf(text, "%s%%%" PRId32, a ? ", " : " ", ins->args[a]);
  }
}

static void print_typed(sm_text *text, const char *name, const sm_kir_ins *ins) {
  sm_text_add(text, name);
  print_type(text, ins->type);
  print_args(text, ins);
}

static const char *kop_name(const sm_kir_ins *ins) {
  return sm_kop_info_of(ins->kop < SM_KOP_COUNT ? (sm_kop)ins->kop : SM_KOP_NONE)->name;
}

static void print_ins(sm_text *text, const sm_kir_ins *ins) {
  switch (ins->kind) {
    case SM_KIR_CONST:
      sm_text_addf(text, "const %s ", smelt_dtype_name(ins->type.dtype));
      print_constant(text, ins->type.dtype, &ins->imm.constant);
      break;
    case SM_KIR_SIZE:
      sm_text_addf(text, "size n%" PRId32, ins->imm.index);
      break;
    case SM_KIR_SCALAR:
      sm_text_addf(text, "scalar %s s%" PRId32, smelt_dtype_name(ins->type.dtype), ins->imm.index);
      break;
    case SM_KIR_TABLE:
      sm_text_addf(text, "table %s %%%" PRId32, smelt_dtype_name(ins->type.dtype), ins->args[0]);
      break;
    case SM_KIR_CHUNK_BEGIN:
      sm_text_add(text, "chunk_begin");
      break;
    case SM_KIR_CHUNK_END:
      sm_text_add(text, "chunk_end");
      break;
    case SM_KIR_MEMBER:
      sm_text_add(text, "member");
      break;
    case SM_KIR_SHUFFLE:
      print_typed(text, "shuffle", ins);
      sm_text_addf(text, " ^ %" PRId32, ins->imm.index);
      break;
    case SM_KIR_BARRIER:
      sm_text_add(text, "barrier");
      break;
    case SM_KIR_FOR:
      sm_text_addf(text, "for %%%" PRId32 " .. %%%" PRId32, ins->args[0], ins->args[1]);
      sm_text_addf(text, " step %" PRId64 " {", ins->imm.step);
      break;
    case SM_KIR_END:
      sm_text_add(text, "}");
      break;
    case SM_KIR_CARRY:
      print_typed(text, "carry", ins);
      break;
    case SM_KIR_NEXT:
      sm_text_add(text, "next");
      print_args(text, ins);
      break;
    case SM_KIR_RESULT:
      print_typed(text, "result", ins);
      break;
    case SM_KIR_PREFETCH:
      sm_text_add(text, "prefetch");
      print_type(text, ins->type);
      print_place(text, ins);
      break;
    case SM_KIR_FENCE:
      sm_text_add(text, "fence");
      break;
    case SM_KIR_SPLAT:
      print_typed(text, "splat", ins);
      break;
    case SM_KIR_IOTA:
      print_typed(text, "iota", ins);
      break;
    case SM_KIR_HALF:
      print_typed(text, ins->imm.index ? "upper" : "lower", ins);
      break;
    case SM_KIR_KOP:
      print_typed(text, kop_name(ins), ins);
      break;
    case SM_KIR_LOAD:
      sm_text_add(text, "load");
      print_type(text, ins->type);
      print_place(text, ins);
      break;
    case SM_KIR_GATHER:
      sm_text_add(text, "gather");
      print_type(text, ins->type);
      print_place(text, ins);
      break;
    case SM_KIR_LOAD_FIRST:
      sm_text_add(text, "load");
      print_type(text, ins->type);
      print_first(text, ins);
      break;
    case SM_KIR_STORE_FIRST:
      sm_text_add(text, "store");
      print_first(text, ins);
      sm_text_addf(text, " %%%" PRId32, ins->args[2]);
      break;
    case SM_KIR_STORE:
      sm_text_add(text, ins->imm.streaming ? "stream" : "store");
      print_place(text, ins);
      sm_text_addf(text, " %%%" PRId32, ins->args[2]);
      break;
    default:
      sm_text_addf(text, "unknown kind %u", (unsigned)ins->kind);
      break;
  }
}

void sm_kir_print(sm_text *text, const sm_kir_kernel *k) {
  int depth = 1;
  print_signature(text, k);
  for (size_t i = 0; i < k->ins.len; i++) {
    const sm_kir_ins *ins = &k->ins.items[i];
    if (ins->kind == SM_KIR_END && depth > 1) depth--;
    sm_text_addf(text, "%*s", 2 * depth, "");
    if (sm_kir_defines_value(ins)) sm_text_addf(text, "%%%zu = ", i);
    print_ins(text, ins);
    sm_text_add(text, "\n");
    if (ins->kind == SM_KIR_FOR) depth++;
  }
  sm_text_add(text, "}\n");
}
