/* SPDX-License-Identifier: Apache-2.0
 *
 * Reading and writing buffers: element by element, or whole vectors at once where the dialect can.
 * That needs their alignment: of a buffer that has it the text says so, for others a function
 * finds it out at every access (c_family_types.c), and compilers put no loads before it.
 * Bools are bytes in memory. */
#include <inttypes.h>

#include "codegen/c_family_printer.h"

/* Where arguments need none, pointers have no address space. */
const char *sm_c_space(const sm_c_printer *p, int buffer) {
  bool shared = p->kernel->buffers.items[buffer].shared && p->dialect->global[0];
  return shared ? p->dialect->shared : p->dialect->global;
}

/* --- Elements ------------------------------------------------------------------------- */

static bool is_first(const sm_kir_ins *ins) {
  return ins->kind == SM_KIR_LOAD_FIRST || ins->kind == SM_KIR_STORE_FIRST;
}

/* "l < v6", where only the first lanes are there. */
static void add_lane_test(sm_c_printer *p, const sm_kir_ins *ins) {
  sm_text_add(p->text, "l < ");
  sm_c_value(p, ins->args[1]);
}

/* b2[v5], for lane l of a vector b2[v5 + l] or b2[v5 + l * v6]. */
static void add_element(sm_c_printer *p, const sm_kir_ins *ins) {
  sm_text_addf(p->text, "b%u[", (unsigned)ins->buffer);
  sm_c_value(p, ins->args[0]);
  if (ins->type.width > 1 && ins->kind != SM_KIR_GATHER) sm_text_add(p->text, " + l");
  if (ins->type.width > 1 && ins->kind != SM_KIR_GATHER && !is_first(ins) && ins->args[1] != SM_KIR_NONE) {
    sm_text_add(p->text, " * ");
    sm_c_value(p, ins->args[1]);
  }
  sm_text_add(p->text, "]");
}

static void load_elements(sm_c_printer *p, int32_t i) {
  const sm_kir_ins *ins = &p->kernel->ins.items[i];
  bool is_bool = ins->type.dtype == SMELT_BOOL;
  sm_c_begin_value(p, i, true);
  if (is_first(ins)) add_lane_test(p, ins);
  if (is_first(ins)) sm_text_add(p->text, is_bool ? " && " : " ? ");
  add_element(p, ins);
  sm_text_add(p->text, is_bool ? " != 0;\n" : is_first(ins) ? " : 0;\n" : ";\n");
}

static void store_elements(sm_c_printer *p, const sm_kir_ins *ins) {
  sm_c_indent(p);
  sm_c_lanes(p, ins->type.width);
  if (is_first(ins)) {
    sm_text_add(p->text, "if (");
    add_lane_test(p, ins);
    sm_text_add(p->text, ") ");
  }
  add_element(p, ins);
  sm_text_add(p->text, " = ");
  sm_c_value(p, ins->args[2]);
  sm_text_add(p->text, ";\n");
}

/* --- Vectors ---------------------------------------------------------------------------- */

static sm_kir_type in_memory(sm_kir_type type) {
  if (type.dtype == SMELT_BOOL) type.dtype = SMELT_U8;
  return type;
}

/* Whether a whole vector is read or written at once. */
static bool is_wide(const sm_c_printer *p, const sm_kir_ins *ins) {
  const sm_kir_buffer *b = &p->kernel->buffers.items[ins->buffer];
  return (!b->local || b->aligned) && ins->args[1] == SM_KIR_NONE && sm_c_is_wide(p, in_memory(ins->type));
}

/* "*(f32x4 const*)(b0 + v5", or where the place is not known to be aligned "read_f32x4(b0 + v5". Returns
 * whether it is. */
static bool begin_access(sm_c_printer *p, const sm_kir_ins *ins) {
  sm_kir_type type = in_memory(ins->type);
  sm_c_vector *vector = sm_c_vector_of(p, type);
  bool aligned = p->kernel->buffers.items[ins->buffer].aligned, store = ins->kind == SM_KIR_STORE;
  if (vector && !aligned) *(store ? &vector->written : &vector->read) = p->lanes = true;
  if (aligned) sm_text_addf(p->text, "*(%s", sm_c_space(p, ins->buffer));
  else sm_text_add(p->text, store ? "write_" : "read_");
  sm_c_type(p, type.dtype, type.width);
  if (aligned) sm_text_add(p->text, store ? " *)" : " const*)");
  sm_text_addf(p->text, "(b%u + ", (unsigned)ins->buffer);
  sm_c_value(p, ins->args[0]);
  return aligned;
}

/* "*(f32x4 *)(b0 + v5) = v7;", or "write_f32x4(b0 + v5, v7);". */
static void add_write(sm_c_printer *p, const sm_kir_ins *ins, char letter, int32_t value) {
  sm_c_indent(p);
  bool aligned = begin_access(p, ins);
  sm_text_addf(p->text, aligned ? ") = %c%" PRId32 ";\n" : ", %c%" PRId32 ");\n", letter, value);
}

/* "const f32x4 v7 = "; bools are first m7, their bytes. */
static void load_vector(sm_c_printer *p, int32_t i) {
  const sm_kir_ins *ins = &p->kernel->ins.items[i];
  sm_kir_type type = in_memory(ins->type);
  bool bytes = ins->type.dtype == SMELT_BOOL;
  sm_c_indent(p);
  sm_text_add(p->text, "const ");
  sm_c_type(p, type.dtype, type.width);
  sm_text_addf(p->text, " %c%" PRId32 " = ", bytes ? 'm' : 'v', i);
  (void)begin_access(p, ins);
  sm_text_add(p->text, ");\n");
  if (!bytes) return;
  sm_c_begin_value(p, i, true);
  sm_text_addf(p->text, "m%" PRId32 ".l[l] != 0;\n", i);
}

/* Store number i has the bytes m<i>. */
static void store_bytes(sm_c_printer *p, int32_t i) {
  const sm_kir_ins *ins = &p->kernel->ins.items[i];
  sm_c_indent(p);
  sm_c_type(p, SMELT_U8, ins->type.width);
  sm_text_addf(p->text, " m%" PRId32 "; ", i);
  sm_c_lanes(p, ins->type.width);
  sm_text_addf(p->text, "m%" PRId32 ".l[l] = ", i);
  sm_c_value(p, ins->args[2]);
  sm_text_add(p->text, ";\n");
  add_write(p, ins, 'm', i);
}

/* --- Instructions --------------------------------------------------------------------------- */

bool sm_c_loads_at_once(const sm_c_printer *p, const sm_kir_ins *ins) {
  return sm_c_is_native(p, ins) || (ins->kind == SM_KIR_LOAD && is_wide(p, ins));
}

void sm_c_load(sm_c_printer *p, int32_t i) {
  const sm_kir_ins *ins = &p->kernel->ins.items[i];
  if (sm_c_is_native(p, ins)) sm_c_native_load(p, i);
  else if (sm_c_loads_at_once(p, ins)) load_vector(p, i);
  else load_elements(p, i);
}

void sm_c_store(sm_c_printer *p, int32_t i) {
  const sm_kir_ins *ins = &p->kernel->ins.items[i];
  if (sm_c_native_store(p, ins)) return;
  if (!is_wide(p, ins) || sm_c_is_inline(p, ins->args[2])) store_elements(p, ins);
  else if (ins->type.dtype == SMELT_BOOL) store_bytes(p, i);
  else add_write(p, ins, 'v', ins->args[2]);
}
