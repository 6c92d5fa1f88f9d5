/* SPDX-License-Identifier: Apache-2.0
 *
 * Which i64 values 32 bits are enough for, when sizes, work items and places in buffers
 * are all that small. Two reasons, that hold whatever else a kernel computes with
 * integers:
 *
 *   exact   the value is that small: sizes, chunks, counters, and what division,
 *           remainder, minimum and maximum make of them
 *   low     only places in buffers are made of it, by additions, subtractions and
 *           multiplications: those are right modulo 2^32, so they are right
 *
 * A low value that is not exact is used for nothing else, so it is never widened. */
#include "codegen/c_family_printer.h"

static bool is_index(const sm_kir_ins *ins) { return ins->type.dtype == SMELT_I64 && ins->type.width == 1; }

static bool is_ring(const sm_kir_ins *ins) {
  return ins->kind == SM_KIR_KOP &&
         (ins->kop == SM_KOP_ADD || ins->kop == SM_KOP_SUB || ins->kop == SM_KOP_MUL);
}

/* The result is between operands and 0, or an operand. */
static bool stays_small(const sm_kir_ins *ins) {
  return ins->kind == SM_KIR_KOP && (ins->kop == SM_KOP_TRUNC_DIV || ins->kop == SM_KOP_FMOD ||
                                     ins->kop == SM_KOP_MIN || ins->kop == SM_KOP_MAX);
}

/* -2^31 divided by -1 is not that small, but no size is -2^31. */
static bool is_exact(const sm_c_printer *p, const sm_kir_ins *ins) {
  int64_t number = ins->imm.constant.I64;
  if (ins->kind == SM_KIR_CONST) return number > INT32_MIN && number <= INT32_MAX;
  if (ins->kind == SM_KIR_FOR || stays_small(ins)) return p->narrow[ins->args[0]] && p->narrow[ins->args[1]];
  return ins->kind == SM_KIR_SIZE || ins->kind == SM_KIR_CHUNK_BEGIN || ins->kind == SM_KIR_CHUNK_END ||
         ins->kind == SM_KIR_MEMBER;
}

/* Whether the instruction takes its argument number `a` modulo 2^32. */
static bool takes_low(const sm_kir_ins *ins, int a, bool is_low) {
  bool place = (ins->kind == SM_KIR_LOAD || ins->kind == SM_KIR_STORE) && a < 2;
  bool first = (ins->kind == SM_KIR_LOAD_FIRST || ins->kind == SM_KIR_STORE_FIRST) && a < 1;
  return place || first || (is_ring(ins) && is_low);
}

void sm_c_find_narrow(sm_c_printer *p, bool *low) {
  int32_t n = (int32_t)p->kernel->ins.len;
  const sm_kir_ins *items = p->kernel->ins.items;
  for (int32_t i = 0; i < n; i++) {
    p->narrow[i] = is_index(&items[i]) && is_exact(p, &items[i]);
    low[i] = true; /* until a use says otherwise */
  }
  for (int32_t i = n - 1; i >= 0; i--) {
    low[i] = low[i] && is_index(&items[i]) && is_ring(&items[i]);
    for (int a = 0; a < SM_KIR_ARGS && p->used[i]; a++) {
      int32_t arg = items[i].args[a];
      if (arg != SM_KIR_NONE && !takes_low(&items[i], a, low[i])) low[arg] = false;
    }
  }
  for (int32_t i = 0; i < n; i++) p->narrow[i] = p->narrow[i] || low[i];
}
