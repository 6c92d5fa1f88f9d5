/* SPDX-License-Identifier: Apache-2.0
 *
 * Constants computed here, by the kops' own evaluators, and not by a code generator: LLVM 19
 * makes `d == 0 ? 0 : d` 0 where it finds out late that d is 0/0. */
#include "core/kops.h"
#include "kir/kir.h"

typedef struct folder {
  sm_kir_kernel *out;
  int32_t *renamed; /* the new value of each old one */
} folder;

/* What a value is in every lane; NULL if that is not known. */
static const sm_word *constant_of(const folder *f, int32_t old) {
  const sm_kir_ins *items = f->out->ins.items, *ins = &items[f->renamed[old]];
  if (ins->kind == SM_KIR_SPLAT) ins = &items[ins->args[0]];
  return ins->kind == SM_KIR_CONST ? &ins->imm.constant : NULL;
}

/* SM_KIR_NONE if that is not known either. */
static int32_t choose(const folder *f, const sm_kir_ins *ins) {
  const sm_word *condition = constant_of(f, ins->args[0]);
  if (!condition) return SM_KIR_NONE;
  return f->renamed[ins->args[condition->BOOL ? 1 : 2]];
}

static int32_t compute(const folder *f, const sm_kir_ins *ins) {
  const void *operands[SM_KIR_ARGS];
  int arity = sm_kop_info_of((sm_kop)ins->kop)->arity;
  for (int a = 0; a < arity; a++) {
    operands[a] = constant_of(f, ins->args[a]);
    if (!operands[a]) return SM_KIR_NONE;
  }
  smelt_dtype from = f->out->ins.items[f->renamed[ins->args[arity - 1]]].type.dtype;
  sm_word result = {.bits = 0};
  sm_kop_eval((sm_kop)ins->kop, from, ins->type.dtype)(1, &result, operands, 0);
  int32_t value = sm_kir_const(f->out, ins->type.dtype, result);
  return ins->type.width == 1 ? value : sm_kir_splat(f->out, value, ins->type.width);
}

static int32_t fold(const folder *f, const sm_kir_ins *ins) {
  int32_t value = SM_KIR_NONE;
  if (ins->kind == SM_KIR_KOP && ins->kop == SM_KOP_SELECT) value = choose(f, ins);
  else if (ins->kind == SM_KIR_KOP) value = compute(f, ins);
  return value == SM_KIR_NONE ? sm_kir_copy(f->out, ins, f->renamed) : value;
}

smelt_status sm_kir_fold(const sm_kir_kernel *in, sm_kir_kernel *out, smelt_error *err) {
  sm_kir_copy_signature(in, out);
  size_t bytes = in->ins.len * sizeof(int32_t);
  folder f = {out, sm_alloc(in->allocator, bytes)};
  if (bytes && !f.renamed) out->failed = true;
  for (size_t i = 0; i < in->ins.len && !out->failed; i++) f.renamed[i] = fold(&f, &in->ins.items[i]);
  sm_free(in->allocator, f.renamed, bytes);
  smelt_status status = sm_kir_finish(out, err);
  if (status != SMELT_OK) sm_kir_free(out);
  return status;
}
