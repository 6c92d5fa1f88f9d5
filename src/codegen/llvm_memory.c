/* SPDX-License-Identifier: Apache-2.0 */
#include "codegen/llvm_emitter.h"

/* Bools are bytes in memory. */
LLVMTypeRef sm_llvm_memory_type(const sm_llvm_emitter *e, smelt_dtype dtype, int width) {
  return sm_llvm_type(e, dtype == SMELT_BOOL ? SMELT_U8 : dtype, width);
}

LLVMValueRef sm_llvm_from_memory(const sm_llvm_emitter *e, smelt_dtype dtype, int width, LLVMValueRef value) {
  if (dtype != SMELT_BOOL) return value;
  return e->llvm->LLVMBuildICmp(e->builder, SM_LLVM_NE, value, sm_llvm_int(e, SMELT_U8, width, 0), "");
}

static LLVMValueRef to_memory(const sm_llvm_emitter *e, smelt_dtype dtype, int width, LLVMValueRef value) {
  if (dtype != SMELT_BOOL) return value;
  return e->llvm->LLVMBuildZExt(e->builder, value, sm_llvm_memory_type(e, dtype, width), "");
}

LLVMValueRef sm_llvm_local(const sm_llvm_emitter *e, const sm_kir_buffer *buffer) {
  LLVMValueRef count = e->llvm->LLVMConstInt(sm_llvm_bits(e, 64), buffer->local, 0);
  LLVMTypeRef element = sm_llvm_memory_type(e, buffer->dtype, 1);
  LLVMValueRef data = e->llvm->LLVMBuildArrayAlloca(e->builder, element, count, "");
  e->llvm->LLVMSetAlignment(data, 64);
  return data;
}

LLVMValueRef sm_llvm_lane_numbers(const sm_llvm_emitter *e, unsigned bits, int width) {
  LLVMValueRef lanes[UINT8_MAX + 1];
  for (int lane = 0; lane < width; lane++)
    lanes[lane] = e->llvm->LLVMConstInt(sm_llvm_bits(e, bits), (unsigned long long)lane, 0);
  return width == 1 ? lanes[0] : e->llvm->LLVMConstVector(lanes, (unsigned)width);
}

/* Of the first lane. */
static LLVMValueRef address_of(const sm_llvm_emitter *e, const sm_kir_ins *ins) {
  LLVMTypeRef element = sm_llvm_memory_type(e, ins->type.dtype, 1);
  return sm_llvm_element(e, element, e->data[ins->buffer], e->values[ins->args[0]]);
}

/* The address of lane `lane` of a strided access. */
static LLVMValueRef lane_address(const sm_llvm_emitter *e, const sm_kir_ins *ins, LLVMTypeRef element,
                                 LLVMValueRef data, int lane) {
  const sm_llvm *l = e->llvm;
  LLVMValueRef number = l->LLVMConstInt(sm_llvm_bits(e, 64), (unsigned long long)lane, 0);
  LLVMValueRef offset = l->LLVMBuildMul(e->builder, e->values[ins->args[1]], number, "");
  LLVMValueRef index = l->LLVMBuildAdd(e->builder, e->values[ins->args[0]], offset, "");
  return sm_llvm_element(e, element, data, index);
}

static LLVMValueRef emit_strided_load(const sm_llvm_emitter *e, const sm_kir_ins *ins) {
  const sm_llvm *l = e->llvm;
  unsigned size = sm_dtype_info_of(ins->type.dtype)->size;
  LLVMTypeRef element = sm_llvm_memory_type(e, ins->type.dtype, 1);
  LLVMValueRef data = e->data[ins->buffer];
  LLVMValueRef vector = l->LLVMGetUndef(sm_llvm_memory_type(e, ins->type.dtype, ins->type.width));
  for (int lane = 0; lane < ins->type.width; lane++) {
    LLVMValueRef value = sm_llvm_load_from(e, element, lane_address(e, ins, element, data, lane), size);
    vector = l->LLVMBuildInsertElement(e->builder, vector, value, sm_llvm_lane(e, lane), "");
  }
  return sm_llvm_from_memory(e, ins->type.dtype, ins->type.width, vector);
}

/* Lane by lane. Measured: the instruction that processors have for it is no faster, and it
 * is for some sizes only. */
LLVMValueRef sm_llvm_gather(const sm_llvm_emitter *e, const sm_kir_ins *ins) {
  const sm_llvm *l = e->llvm;
  unsigned size = sm_dtype_info_of(ins->type.dtype)->size;
  int width = ins->type.width;
  LLVMTypeRef element = sm_llvm_memory_type(e, ins->type.dtype, 1);
  LLVMValueRef data = e->data[ins->buffer], indices = e->values[ins->args[0]];
  LLVMValueRef vector = l->LLVMGetUndef(sm_llvm_memory_type(e, ins->type.dtype, width));
  for (int lane = 0; lane < width; lane++) {
    LLVMValueRef number = sm_llvm_lane(e, lane);
    LLVMValueRef index = width == 1 ? indices : l->LLVMBuildExtractElement(e->builder, indices, number, "");
    LLVMValueRef value = sm_llvm_load_from(e, element, sm_llvm_element(e, element, data, index), size);
    vector = width == 1 ? value : l->LLVMBuildInsertElement(e->builder, vector, value, number, "");
  }
  return sm_llvm_from_memory(e, ins->type.dtype, width, vector);
}

LLVMValueRef sm_llvm_load(const sm_llvm_emitter *e, const sm_kir_ins *ins) {
  smelt_dtype dtype = ins->type.dtype;
  int width = ins->type.width;
  if (ins->args[1] != SM_KIR_NONE && width > 1) return emit_strided_load(e, ins);
  LLVMTypeRef type = sm_llvm_memory_type(e, dtype, width);
  LLVMValueRef value = sm_llvm_load_from(e, type, address_of(e, ins), sm_dtype_info_of(dtype)->size);
  return sm_llvm_from_memory(e, dtype, width, value);
}

static LLVMValueRef store(const sm_llvm_emitter *e, LLVMValueRef value, LLVMValueRef address,
                          unsigned alignment) {
  LLVMValueRef instruction = e->llvm->LLVMBuildStore(e->builder, value, address);
  e->llvm->LLVMSetAlignment(instruction, alignment);
  return instruction;
}

/* Only whole vectors stream, to addresses that are multiples of their size. */
static void stream(const sm_llvm_emitter *e, LLVMValueRef value, LLVMValueRef address, unsigned bytes) {
  const sm_llvm *l = e->llvm;
  LLVMValueRef one = l->LLVMConstInt(sm_llvm_bits(e, 32), 1, 0);
  unsigned kind = l->LLVMGetMDKindIDInContext(e->context, "nontemporal", 11);
  unsigned widest = (unsigned)sm_cpu_vector_bytes(e->level);
  LLVMValueRef instruction = store(e, value, address, bytes < widest ? bytes : widest);
  l->LLVMSetMetadata(instruction, kind, l->LLVMMDNodeInContext(e->context, &one, 1));
}

void sm_llvm_store(const sm_llvm_emitter *e, const sm_kir_ins *ins) {
  smelt_dtype dtype = ins->type.dtype;
  int width = ins->type.width;
  unsigned size = sm_dtype_info_of(dtype)->size;
  LLVMTypeRef element = sm_llvm_memory_type(e, dtype, 1);
  LLVMValueRef data = e->data[ins->buffer];
  LLVMValueRef value = to_memory(e, dtype, width, e->values[ins->args[2]]);
  if (ins->args[1] == SM_KIR_NONE || width == 1) {
    LLVMValueRef address = address_of(e, ins);
    if (ins->imm.streaming && width > 1) stream(e, value, address, size * (unsigned)width);
    else store(e, value, address, size);
    return;
  }
  for (int lane = 0; lane < width; lane++) {
    LLVMValueRef one = e->llvm->LLVMBuildExtractElement(e->builder, value, sm_llvm_lane(e, lane), "");
    store(e, one, lane_address(e, ins, element, data, lane), size);
  }
}

/* --- The first lanes ------------------------------------------------------------------------- */

/* Which lanes those are. */
static LLVMValueRef first_lanes(const sm_llvm_emitter *e, const sm_kir_ins *ins) {
  enum { BITS = 32 };
  int width = ins->type.width;
  LLVMValueRef n = e->llvm->LLVMBuildTrunc(e->builder, e->values[ins->args[1]], sm_llvm_bits(e, BITS), "");
  LLVMValueRef numbers = sm_llvm_lane_numbers(e, BITS, width);
  return e->llvm->LLVMBuildICmp(e->builder, SM_LLVM_ULT, numbers, sm_llvm_splat(e, n, width), "");
}

/* The alignment that the intrinsics want to hear of. */
static LLVMValueRef alignment_of(const sm_llvm_emitter *e, const sm_kir_ins *ins) {
  return sm_llvm_lane(e, (int)sm_dtype_info_of(ins->type.dtype)->size);
}

LLVMValueRef sm_llvm_load_first(const sm_llvm_emitter *e, const sm_kir_ins *ins) {
  smelt_dtype dtype = ins->type.dtype;
  LLVMTypeRef type = sm_llvm_memory_type(e, dtype, ins->type.width), types[] = {type, sm_llvm_pointer(e)};
  LLVMValueRef args[] = {address_of(e, ins), alignment_of(e, ins), first_lanes(e, ins),
                         e->llvm->LLVMConstNull(type)};
  LLVMValueRef value = sm_llvm_intrinsic(e, "llvm.masked.load", types, 2, args, 4);
  return sm_llvm_from_memory(e, dtype, ins->type.width, value);
}

void sm_llvm_store_first(const sm_llvm_emitter *e, const sm_kir_ins *ins) {
  smelt_dtype dtype = ins->type.dtype;
  LLVMTypeRef types[] = {sm_llvm_memory_type(e, dtype, ins->type.width), sm_llvm_pointer(e)};
  LLVMValueRef value = to_memory(e, dtype, ins->type.width, e->values[ins->args[2]]);
  LLVMValueRef args[] = {value, address_of(e, ins), alignment_of(e, ins), first_lanes(e, ins)};
  sm_llvm_intrinsic(e, "llvm.masked.store", types, 2, args, 4);
}

/* --- Hints and order ---------------------------------------------------------------------------- */

/* One hint for each line of memory. */
void sm_llvm_prefetch(const sm_llvm_emitter *e, const sm_kir_ins *ins) {
  enum { LINE = 64, READ = 0, KEEP = 3, DATA = 1 };
  const sm_llvm *l = e->llvm;
  LLVMTypeRef pointer = sm_llvm_pointer(e), i32 = sm_llvm_bits(e, 32),
              element = sm_llvm_memory_type(e, ins->type.dtype, 1);
  unsigned bytes = (unsigned)ins->type.width * sm_dtype_info_of(ins->type.dtype)->size;
  LLVMValueRef first = sm_llvm_element(e, element, e->data[ins->buffer], e->values[ins->args[0]]);
  for (unsigned at = 0; at < bytes; at += LINE) {
    LLVMValueRef offset = l->LLVMConstInt(sm_llvm_bits(e, 64), at, 0);
    LLVMValueRef args[] = {sm_llvm_element(e, sm_llvm_bits(e, 8), first, offset),
                           l->LLVMConstInt(i32, READ, 0), l->LLVMConstInt(i32, KEEP, 0),
                           l->LLVMConstInt(i32, DATA, 0)};
    sm_llvm_intrinsic(e, "llvm.prefetch", &pointer, 1, args, 4);
  }
}

/* Orders streaming stores before what is stored later. */
void sm_llvm_fence(const sm_llvm_emitter *e) {
  enum { INNER_SHAREABLE_STORES = 10 };
  LLVMValueRef domain = e->llvm->LLVMConstInt(sm_llvm_bits(e, 32), INNER_SHAREABLE_STORES, 0);
  if (e->level == SM_CPU_NEON) sm_llvm_intrinsic(e, "llvm.aarch64.dmb", NULL, 0, &domain, 1);
  else sm_llvm_intrinsic(e, "llvm.x86.sse.sfence", NULL, 0, NULL, 0);
}
