/* SPDX-License-Identifier: Apache-2.0
 *
 * Kernels made ready to run: which loop, where each value is kept, where loops end. */
#include "kir/kir_program.h"

#include "base/error.h"

static void prepare_kop(const sm_kir_kernel *k, sm_cpu_level level, const sm_kir_ins *ins, sm_kir_op *ops,
                        sm_kir_op *op) {
  const sm_kop_info *info = sm_kop_info_of((sm_kop)ins->kop);
  smelt_dtype dtype = k->ins.items[ins->args[info->result == SM_RESULT_SELECT]].type.dtype;
  op->loop = sm_kop_eval_level(level, (sm_kop)ins->kop, dtype, ins->type.dtype);
  op->arity = info->arity;
  for (int a = 0; a < info->arity; a++) {
    if (ops[ins->args[a]].place.lanes < op->place.lanes) op->uniform |= (uint8_t)(1 << a);
  }
}

/* The END that belongs to the FOR at `at`. */
static int32_t matching_end(const sm_kir_kernel *k, int32_t at) {
  int depth = 1;
  while (depth > 0) {
    uint8_t kind = k->ins.items[++at].kind;
    depth += (kind == SM_KIR_FOR) - (kind == SM_KIR_END);
  }
  return at;
}

static void prepare_ops(sm_kir_program *p, sm_cpu_level level, const sm_kir_place *places) {
  for (int32_t i = 0; i < (int32_t)p->k->ins.len; i++) {
    const sm_kir_ins *ins = &p->k->ins.items[i];
    sm_kir_op *op = &p->ops[i];
    *op = (sm_kir_op){.place = places[i], .size = (uint8_t)smelt_dtype_size(ins->type.dtype)};
    if (ins->kind == SM_KIR_KOP) prepare_kop(p->k, level, ins, p->ops, op);
    if (ins->kind != SM_KIR_FOR) continue;
    op->end = matching_end(p->k, i);
    p->n_loops++;
  }
}

smelt_status sm_kir_prepare(const sm_kir_kernel *k, sm_cpu_level level, sm_kir_program *out,
                            smelt_error *err) {
  size_t n = k->ins.len;
  *out = (sm_kir_program){.k = k};
  sm_kir_place *places = sm_calloc(k->allocator, n, sizeof *places);
  out->ops = sm_calloc(k->allocator, n, sizeof *out->ops);
  bool ok = !n || (places && out->ops && sm_kir_place_values(k, places, &out->value_bytes));
  if (ok) prepare_ops(out, level, places);
  else sm_kir_program_free(out);
  sm_free(k->allocator, places, n * sizeof *places);
  return ok ? SMELT_OK : sm_error_memory(err, "the places of a kernel's values");
}

void sm_kir_program_free(sm_kir_program *p) {
  if (p->ops) sm_free(p->k->allocator, p->ops, p->k->ins.len * sizeof *p->ops);
  *p = (sm_kir_program){.k = NULL};
}
