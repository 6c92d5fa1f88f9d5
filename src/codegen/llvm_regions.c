/* SPDX-License-Identifier: Apache-2.0 */
#include "codegen/llvm_regions.h"

#include <string.h>

typedef struct describer {
  const sm_kir_kernel *kernel;
  sm_llvm_region *region;
} describer;

static int32_t find_end(const sm_kir_kernel *k, int32_t begin) {
  int depth = 1;
  int32_t at = begin;
  while (depth > 0) {
    uint8_t kind = k->ins.items[++at].kind;
    depth += (kind == SM_KIR_FOR) - (kind == SM_KIR_END);
  }
  return at;
}

static void add_word(sm_llvm_region *r, uint64_t word) { r->form[r->form_len++] = word; }

static int number_buffer(sm_llvm_region *r, uint16_t buffer) {
  int i = 0;
  while (i < r->n_buffers && r->buffers[i] != buffer) i++;
  if (i == r->n_buffers) r->buffers[r->n_buffers++] = buffer;
  return i;
}

static int number_external(sm_llvm_region *r, int32_t value) {
  int i = 0;
  while (i < r->n_externals && r->externals[i] != value) i++;
  if (i == r->n_externals) r->externals[r->n_externals++] = value;
  return i;
}

/* The constant behind a value that is one or is one in every lane. */
static const sm_kir_ins *constant_of(const sm_kir_kernel *k, int32_t value) {
  const sm_kir_ins *ins = &k->ins.items[value];
  if (ins->kind == SM_KIR_SPLAT) ins = &k->ins.items[ins->args[0]];
  return ins->kind == SM_KIR_CONST ? ins : NULL;
}

/* How an argument is written; each way of writing has a tag of its own. */
enum { TAG_NONE, TAG_INSIDE, TAG_CONSTANT, TAG_EXTERNAL };

static bool add_argument(describer *d, int32_t arg) {
  sm_llvm_region *r = d->region;
  if (arg == SM_KIR_NONE) {
    add_word(r, TAG_NONE);
    return true;
  }
  if (arg >= r->begin) {
    add_word(r, TAG_INSIDE | (uint64_t)(arg - r->begin) << 8);
    return true;
  }
  sm_kir_type type = d->kernel->ins.items[arg].type;
  const sm_kir_ins *constant = constant_of(d->kernel, arg);
  if (constant) {
    sm_word bits = {.bits = 0};
    memcpy(&bits, &constant->imm.constant, smelt_dtype_size(type.dtype));
    add_word(r, TAG_CONSTANT | (uint64_t)type.dtype << 8 | (uint64_t)type.width << 16);
    add_word(r, bits.bits);
    return true;
  }
  if (type.dtype != SMELT_I64 || type.width != 1) return false;
  add_word(r, TAG_EXTERNAL | (uint64_t)number_external(r, arg) << 8);
  return true;
}

static uint64_t immediate(const sm_kir_ins *ins) {
  sm_word bits = {.bits = 0};
  switch (ins->kind) {
    case SM_KIR_CONST:
      memcpy(&bits, &ins->imm.constant, smelt_dtype_size(ins->type.dtype));
      return bits.bits;
    case SM_KIR_SIZE:
    case SM_KIR_SCALAR:
    case SM_KIR_HALF:
      return (uint64_t)ins->imm.index;
    case SM_KIR_FOR:
      return (uint64_t)ins->imm.step;
    case SM_KIR_STORE:
      return ins->imm.streaming;
    default:
      return 0;
  }
}

static bool add_ins(describer *d, const sm_kir_ins *ins) {
  uint64_t buffer = sm_kir_accesses(ins) ? (uint64_t)number_buffer(d->region, ins->buffer) : 0;
  add_word(d->region, ins->kind | (uint64_t)ins->kop << 8 | buffer << 16 | (uint64_t)ins->type.width << 32 |
                          (uint64_t)ins->type.dtype << 48);
  add_word(d->region, immediate(ins));
  for (int a = 0; a < SM_KIR_ARGS; a++) {
    if (!add_argument(d, ins->args[a])) return false;
  }
  return true;
}

bool sm_llvm_region_describe(const sm_kir_kernel *kernel, int32_t begin, sm_arena *arena,
                             sm_llvm_region *out) {
  enum { WORDS = 2 + 2 * SM_KIR_ARGS };
  if (sm_kir_carries(kernel, begin)) return false;
  *out = (sm_llvm_region){.begin = begin, .end = find_end(kernel, begin)};
  size_t n = (size_t)(out->end - begin + 1);
  out->form = sm_arena_zalloc(arena, n * WORDS, sizeof *out->form);
  out->externals = sm_arena_zalloc(arena, n * SM_KIR_ARGS, sizeof *out->externals);
  out->buffers = sm_arena_zalloc(arena, n, sizeof *out->buffers);
  if (!out->form || !out->externals || !out->buffers) return false;
  describer d = {kernel, out};
  for (int32_t i = begin; i <= out->end; i++) {
    if (!add_ins(&d, &kernel->ins.items[i])) return false;
  }
  return true;
}

bool sm_llvm_region_equal(const sm_llvm_region *a, const sm_llvm_region *b) {
  return a->form_len == b->form_len && memcmp(a->form, b->form, a->form_len * sizeof *a->form) == 0;
}
