/* SPDX-License-Identifier: Apache-2.0
 *
 * Functions replaced by their steps. Literals come first in the new kernel, once
 * for each width they are needed in: there every region can use them. */
#include <string.h>

#include "base/error.h"
#include "core/functions.h"
#include "kir/kir.h"

typedef struct literal {
  smelt_dtype dtype;
  int width;
  uint64_t bits;
  int32_t value;
} literal;

typedef struct expander {
  const sm_kir_kernel *in;
  sm_kir_kernel *out;
  sm_vec(literal) literals;
  int32_t *renamed; /* the new value of each old one */
} expander;

/* The function that an instruction applies, NULL if it is anything else. */
static const sm_function *function_of(const sm_kir_kernel *k, const sm_kir_ins *ins) {
  if (ins->kind != SM_KIR_KOP) return NULL;
  int32_t operand = ins->args[sm_kop_info_of((sm_kop)ins->kop)->arity - 1];
  return sm_kop_function((sm_kop)ins->kop, k->ins.items[operand].type.dtype);
}

/* --- Literals ------------------------------------------------------------------- */

static uint64_t literal_bits(const sm_function_step *step) {
  uint64_t bits = 0;
  memcpy(&bits, &step->literal, smelt_dtype_size((smelt_dtype)step->dtype));
  return bits;
}

/* Its value in the new kernel, SM_KIR_NONE if it is not there yet. */
static int32_t find_literal(const expander *e, const sm_function_step *step, int width) {
  uint64_t bits = literal_bits(step);
  for (size_t i = 0; i < e->literals.len; i++) {
    const literal *l = &e->literals.items[i];
    if (l->bits == bits && l->width == width && l->dtype == (smelt_dtype)step->dtype) return l->value;
  }
  return SM_KIR_NONE;
}

static void add_literal(expander *e, const sm_function_step *step, int width) {
  smelt_dtype dtype = (smelt_dtype)step->dtype;
  if (find_literal(e, step, width) != SM_KIR_NONE) return;
  int32_t value;
  if (width == 1) {
    value = sm_kir_const(e->out, dtype, step->literal);
  } else {
    add_literal(e, step, 1);
    value = sm_kir_splat(e->out, find_literal(e, step, 1), width);
  }
  literal l = {dtype, width, literal_bits(step), value};
  if (!sm_vec_push(e->out->allocator, &e->literals, l)) e->out->failed = true;
}

static void add_literals(expander *e) {
  for (size_t i = 0; i < e->in->ins.len; i++) {
    const sm_kir_ins *ins = &e->in->ins.items[i];
    const sm_function *f = function_of(e->in, ins);
    for (int s = 0; f && s < f->n_steps; s++) {
      if (f->steps[s].kop == SM_KOP_NONE) add_literal(e, &f->steps[s], ins->type.width);
    }
  }
}

/* --- Instructions ------------------------------------------------------------------ */

static int32_t add_step(expander *e, const sm_function_step *step, const int32_t *values, int width) {
  if (step->kop == SM_KOP_NONE) return find_literal(e, step, width);
  int32_t args[SM_FUNCTION_ARGS] = {SM_KIR_NONE, SM_KIR_NONE, SM_KIR_NONE};
  int arity = sm_kop_info_of((sm_kop)step->kop)->arity;
  for (int a = 0; a < arity; a++) args[a] = values[step->args[a]];
  return sm_kir_kop(e->out, (sm_kop)step->kop, args[0], args[1], args[2], (smelt_dtype)step->dtype);
}

/* The last step's value. */
static int32_t add_function(expander *e, const sm_function *f, const sm_kir_ins *ins) {
  int32_t values[SM_FUNCTION_ARGS + SM_FUNCTION_STEPS];
  for (int a = 0; a < f->arity; a++) values[a] = e->renamed[ins->args[a]];
  for (int s = 0; s < f->n_steps; s++) {
    values[f->arity + s] = add_step(e, &f->steps[s], values, ins->type.width);
  }
  return values[f->arity + f->n_steps - 1];
}

static void add_instructions(expander *e) {
  for (size_t i = 0; i < e->in->ins.len && !e->out->failed; i++) {
    const sm_kir_ins *ins = &e->in->ins.items[i];
    const sm_function *f = function_of(e->in, ins);
    e->renamed[i] = f ? add_function(e, f, ins) : sm_kir_copy(e->out, ins, e->renamed);
  }
}

smelt_status sm_kir_expand(const sm_kir_kernel *in, sm_kir_kernel *out, smelt_error *err) {
  sm_kir_copy_signature(in, out);
  size_t bytes = in->ins.len * sizeof(int32_t);
  expander e = {.in = in, .out = out, .renamed = sm_alloc(in->allocator, bytes)};
  if (bytes && !e.renamed) out->failed = true;
  if (!out->failed) add_literals(&e);
  if (!out->failed) add_instructions(&e);
  sm_free(in->allocator, e.renamed, bytes);
  sm_vec_free(in->allocator, &e.literals);
  smelt_status status = sm_kir_finish(out, err);
  if (status != SMELT_OK) sm_kir_free(out);
  return status;
}
