/* SPDX-License-Identifier: Apache-2.0
 *
 * Identity of kernels. Only bytes that mean something are hashed: unions and
 * structs have others, whose contents are not defined. */
#include "kir/kir.h"

static void hash_signature(sm_hash *h, const sm_kir_kernel *k) {
  sm_hash_u64(h, k->buffers.len);
  for (size_t i = 0; i < k->buffers.len; i++) {
    sm_hash_u64(h, (uint64_t)k->buffers.items[i].dtype << 1 | k->buffers.items[i].written);
    sm_hash_u64(h, (uint64_t)k->buffers.items[i].aligned << 33 | (uint64_t)k->buffers.items[i].local << 1 |
                       k->buffers.items[i].shared);
  }
  sm_hash_u64(h, k->scalars.len);
  for (size_t i = 0; i < k->scalars.len; i++) sm_hash_u64(h, k->scalars.items[i]);
  sm_hash_u64(h, (uint64_t)k->n_sizes | (uint64_t)k->threads << 32 | (uint64_t)k->grain << 48 |
                     (uint64_t)k->narrow << 63);
}

static void hash_immediate(sm_hash *h, const sm_kir_ins *ins) {
  switch (ins->kind) {
    case SM_KIR_CONST:
      sm_hash_bytes(h, &ins->imm.constant, smelt_dtype_size(ins->type.dtype));
      break;
    case SM_KIR_SIZE:
    case SM_KIR_SCALAR:
    case SM_KIR_HALF:
    case SM_KIR_SHUFFLE:
      sm_hash_u64(h, (uint64_t)ins->imm.index);
      break;
    case SM_KIR_FOR:
      sm_hash_u64(h, (uint64_t)ins->imm.step);
      break;
    case SM_KIR_STORE:
      sm_hash_u64(h, ins->imm.streaming);
      break;
    default:
      break;
  }
}

static void hash_ins(sm_hash *h, const sm_kir_ins *ins) {
  uint64_t head = ins->kind | (uint64_t)ins->kop << 8 | (uint64_t)ins->buffer << 16;
  sm_hash_u64(h, head | (uint64_t)ins->type.width << 32 | (uint64_t)ins->type.dtype << 48);
  for (int a = 0; a < SM_KIR_ARGS; a++) sm_hash_u64(h, (uint64_t)ins->args[a]);
  hash_immediate(h, ins);
}

sm_hash sm_kir_hash(const sm_kir_kernel *k) {
  sm_hash h = sm_hash_start();
  hash_signature(&h, k);
  sm_hash_u64(&h, k->ins.len);
  for (size_t i = 0; i < k->ins.len; i++) hash_ins(&h, &k->ins.items[i]);
  return h;
}
