/* SPDX-License-Identifier: Apache-2.0
 *
 * Loops and the values that they carry: variables that are declared before the loop and assigned at its
 * end. */
#include <inttypes.h>

#include "codegen/c_family_printer.h"

static void end_statement(sm_c_printer *p) { sm_text_add(p->text, ";\n"); }

/* Whether a loop over the chunk has one round: its step is as large as chunks, which nobody but the
 * thread's own number gives to a text that has words. */
bool sm_c_is_once(const sm_c_printer *p, const sm_kir_ins *ins) {
  const sm_kir_ins *items = p->kernel->ins.items;
  return ins->kind == SM_KIR_FOR && p->dialect->words && p->kernel->grain &&
         ins->imm.step >= p->kernel->grain && items[ins->args[0]].kind == SM_KIR_CHUNK_BEGIN &&
         items[ins->args[1]].kind == SM_KIR_CHUNK_END;
}

static void add_carry(sm_c_printer *p, int32_t i) {
  int32_t start = p->kernel->ins.items[i].args[0];
  if (sm_c_is_native_value(p, start)) {
    sm_c_native_carry(p, i);
  } else {
    sm_c_begin_value(p, i, false);
    sm_c_value(p, start);
  }
  end_statement(p);
}

/* "for (i64 v3 = v1; v3 < v2; v3 += 4) {", or of one round "{ const i64 v3 = begin;". Skeletons have
 * unrolled what is worth it: compilers of devices take most of their time for what they unroll once more. */
void sm_c_begin_loop(sm_c_printer *p, int32_t i) {
  const sm_kir_ins *ins = &p->kernel->ins.items[i];
  bool once = sm_c_is_once(p, ins);
  for (int32_t c = i + 1; c <= i + sm_kir_carries(p->kernel, i); c++) add_carry(p, c);
  sm_c_indent(p);
  p->depth++;
  if (!once) sm_text_add(p->text, p->dialect->loop);
  sm_text_add(p->text, once ? "{ const " : "for (");
  sm_c_type(p, sm_c_dtype(p, i), 1);
  sm_text_addf(p->text, " v%" PRId32 " = ", i);
  sm_c_value(p, ins->args[0]);
  if (once) {
    end_statement(p);
    return;
  }
  sm_text_addf(p->text, "; v%" PRId32 " < ", i);
  sm_c_value(p, ins->args[1]);
  sm_text_addf(p->text, "; v%" PRId32 " += %" PRId64 ") {\n", i, ins->imm.step);
}

/* Whether a NEXT before `i` of the same loop has given its value a new one. */
static bool is_overwritten(const sm_c_printer *p, int32_t value, int32_t i) {
  while (--i >= 0 && p->kernel->ins.items[i].kind == SM_KIR_NEXT) {
    if (p->kernel->ins.items[i].args[0] == value) return true;
  }
  return false;
}

/* What a later NEXT reads and an earlier one writes is kept: all take effect at once. */
static void add_kept(sm_c_printer *p, int32_t first, int32_t end) {
  for (int32_t i = first; i < end; i++) {
    int32_t value = p->kernel->ins.items[i].args[1];
    sm_kir_type type = p->kernel->ins.items[i].type;
    if (!is_overwritten(p, value, i)) continue;
    sm_c_indent(p);
    sm_text_add(p->text, "const ");
    sm_c_type(p, type.dtype, type.width);
    sm_text_addf(p->text, " v%" PRId32 " = v%" PRId32, i, value);
    end_statement(p);
  }
}

/* "v3 = v7", with what stands behind the names of vectors. */
static void add_next(sm_c_printer *p, int32_t i) {
  const sm_kir_ins *ins = &p->kernel->ins.items[i];
  bool native = sm_c_is_native_value(p, ins->args[1]);
  const char *lanes = native ? ".v" : ins->type.width > 1 ? ".l[l]" : "";
  sm_c_indent(p);
  if (!native) sm_c_lanes(p, ins->type.width);
  sm_text_addf(p->text, "v%" PRId32 "%s = ", ins->args[0], lanes);
  if (is_overwritten(p, ins->args[1], i)) sm_text_addf(p->text, "v%" PRId32 "%s", i, lanes);
  else if (native) sm_c_native_value(p, ins->args[1]);
  else sm_c_value(p, ins->args[1]);
  end_statement(p);
}

/* All NEXTs of a loop, from the first. */
void sm_c_nexts(sm_c_printer *p, int32_t first) {
  int32_t end = first;
  while (p->kernel->ins.items[end].kind == SM_KIR_NEXT) end++;
  add_kept(p, first, end);
  for (int32_t i = first; i < end; i++) {
    const sm_kir_ins *ins = &p->kernel->ins.items[i];
    if (ins->args[0] != ins->args[1]) add_next(p, i);
  }
}
