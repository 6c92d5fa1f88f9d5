/* SPDX-License-Identifier: Apache-2.0
 *
 * Loops over lanes, and which statements share one. In a group nothing is stored, so lanes may be
 * worked on one after another, and what lies between its statements goes ahead of it. */
#include <inttypes.h>

#include "codegen/c_family_printer.h"

void sm_c_lanes(sm_c_printer *p, int width) {
  if (width == 1) return;
  sm_text_addf(p->text, "LANES(%d) ", width);
  p->lanes = true;
}

/* "f32x4 v7" */
static void declare(sm_c_printer *p, int32_t i, int width) {
  sm_c_type(p, sm_c_dtype(p, i), width);
  sm_text_addf(p->text, " v%" PRId32, i);
}

void sm_c_begin_value(sm_c_printer *p, int32_t i, bool constant) {
  int width = p->kernel->ins.items[i].type.width;
  bool array = sm_c_is_array(p, i), grouped = i < p->group_end;
  sm_c_indent(p);
  if (!array && constant) sm_text_add(p->text, "const ");
  if (!array) declare(p, i, 1);
  else if (!grouped) declare(p, i, width);
  if (array && !grouped) {
    sm_text_add(p->text, "; ");
    sm_c_lanes(p, width);
  }
  if (array) sm_text_addf(p->text, "v%" PRId32 ".l[l]", i);
  sm_text_add(p->text, " = ");
}

/* --- Groups ------------------------------------------------------------------------------------- */

static bool is_load(const sm_kir_ins *ins) { return ins->kind == SM_KIR_LOAD || ins->kind == SM_KIR_GATHER; }

/* Whether the instruction is no text. */
static bool is_silent(const sm_c_printer *p, int32_t i) {
  return !p->used[i] || sm_c_is_inline(p, i) || p->kernel->ins.items[i].kind == SM_KIR_PREFETCH;
}

static bool is_by_lanes(const sm_c_printer *p, const sm_kir_ins *ins) {
  if (ins->type.width == 1) return false;
  if (is_load(ins)) return !sm_c_loads_at_once(p, ins);
  bool computes = ins->kind == SM_KIR_HALF || ins->kind == SM_KIR_SHUFFLE || ins->kind == SM_KIR_KOP;
  return computes && !sm_c_is_native(p, ins);
}

/* Whether a statement can stand before a group from `first` on: it is none of a lane, and needs none. */
static bool goes_ahead(const sm_c_printer *p, int32_t first, const sm_kir_ins *ins) {
  bool at_once = ins->type.width == 1 || sm_c_is_native(p, ins) || is_load(ins);
  bool computes = ins->kind == SM_KIR_KOP || ins->kind == SM_KIR_SIZE || ins->kind == SM_KIR_SCALAR ||
                  ins->kind == SM_KIR_TABLE || ins->kind == SM_KIR_MEMBER || is_load(ins);
  bool ahead = at_once && computes;
  for (int a = 0; a < SM_KIR_ARGS && ahead; a++) {
    int32_t arg = ins->args[a];
    ahead = arg < first || sm_c_is_inline(p, arg) || !is_by_lanes(p, &p->kernel->ins.items[arg]);
  }
  return ahead;
}

/* Behind the last statement of a group from `first` on, that has some; SM_KIR_NONE if there is none. */
static int32_t find_end(const sm_c_printer *p, int32_t first) {
  const sm_kir_ins *items = p->kernel->ins.items;
  int32_t end = SM_KIR_NONE;
  for (int32_t i = first + 1; i < (int32_t)p->kernel->ins.len; i++) {
    if (is_silent(p, i)) continue;
    if (is_by_lanes(p, &items[i]) && items[i].type.width == items[first].type.width) end = i + 1;
    else if (is_by_lanes(p, &items[i]) || !goes_ahead(p, first, &items[i])) break;
  }
  return end;
}

/* What the group needs: statements that stand before it, variables of its own. */
static void prepare(sm_c_printer *p, int32_t i, int32_t end) {
  const sm_kir_ins *ins = &p->kernel->ins.items[i];
  if (!is_by_lanes(p, ins)) {
    sm_c_statement(p, i);
    return;
  }
  p->alone[i] = p->last_use[i] < end;
  if (p->alone[i]) return;
  sm_c_indent(p);
  declare(p, i, ins->type.width);
  sm_text_add(p->text, ";\n");
}

void sm_c_begin_group(sm_c_printer *p, int32_t first) {
  const sm_kir_ins *ins = &p->kernel->ins.items[first];
  bool begins = !is_silent(p, first) && is_by_lanes(p, ins);
  int32_t end = begins ? find_end(p, first) : SM_KIR_NONE;
  if (end == SM_KIR_NONE) return;
  for (int32_t i = first; i < end; i++) {
    if (!is_silent(p, i)) prepare(p, i, end);
  }
  p->group_end = end;
  sm_c_indent(p);
  sm_c_lanes(p, ins->type.width);
  sm_text_add(p->text, "{\n");
  p->depth++;
}

bool sm_c_is_ahead(const sm_c_printer *p, int32_t i) {
  return i < p->group_end && !is_by_lanes(p, &p->kernel->ins.items[i]);
}

void sm_c_end_group(sm_c_printer *p) {
  p->depth--;
  sm_c_indent(p);
  sm_text_add(p->text, "}\n");
}
