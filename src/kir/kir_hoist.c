/* SPDX-License-Identifier: Apache-2.0
 *
 * What is the same in every round of a loop, moved to the kernel's beginning: one
 * pass adds what does not change, one the rest. Loads stay: what they read might
 * be written, and a loop without rounds must not read. */
#include <string.h>

#include "base/error.h"
#include "kir/kir.h"

typedef struct hoister {
  const sm_kir_kernel *in;
  sm_kir_kernel *out;
  bool *fixed;      /* by old value: it does not change */
  int32_t *renamed; /* the new value of each old one */
} hoister;

static bool is_fixed(const hoister *h, const sm_kir_ins *ins) {
  switch (ins->kind) {
    case SM_KIR_CONST:
    case SM_KIR_SIZE:
    case SM_KIR_SCALAR:
    case SM_KIR_CHUNK_BEGIN:
    case SM_KIR_CHUNK_END:
    case SM_KIR_MEMBER:
      return true;
    case SM_KIR_SPLAT:
    case SM_KIR_KOP:
      break;
    default:
      return false;
  }
  for (int a = 0; a < SM_KIR_ARGS; a++) {
    if (ins->args[a] != SM_KIR_NONE && !h->fixed[ins->args[a]]) return false;
  }
  return true;
}

static void find_fixed(hoister *h) {
  for (size_t i = 0; i < h->in->ins.len; i++) h->fixed[i] = is_fixed(h, &h->in->ins.items[i]);
}

static void move(hoister *h, bool fixed) {
  for (size_t i = 0; i < h->in->ins.len && !h->out->failed; i++) {
    if (h->fixed[i] == fixed) h->renamed[i] = sm_kir_copy(h->out, &h->in->ins.items[i], h->renamed);
  }
}

smelt_status sm_kir_hoist(const sm_kir_kernel *in, sm_kir_kernel *out, smelt_error *err) {
  sm_kir_copy_signature(in, out);
  size_t bytes = in->ins.len * (sizeof(int32_t) + sizeof(bool));
  int32_t *block = sm_alloc(in->allocator, bytes);
  hoister h = {in, out, (bool *)(block + in->ins.len), block};
  if (bytes && !block) {
    out->failed = true;
  } else {
    find_fixed(&h);
    move(&h, true);
    move(&h, false);
  }
  sm_free(in->allocator, block, bytes);
  smelt_status status = sm_kir_finish(out, err);
  if (status != SMELT_OK) sm_kir_free(out);
  return status;
}
