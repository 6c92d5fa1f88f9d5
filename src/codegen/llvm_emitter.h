/* SPDX-License-Identifier: Apache-2.0
 *
 * What the files that turn kernel IR into LLVM IR share.
 *
 * Vocabulary. *Lanes* of a kernel value are an LLVM vector of the same width,
 * a plain value for width 1. Bools are i1 in values and bytes of 0 or 1 in
 * memory. Half types are integers of their bits. Integers carry no sign in LLVM; instructions do, by the
 * kernel value's dtype.
 *
 * Rules. Strict floating point: no fast-math flag is ever set, and the only
 * fused operation is FMA. Nothing may become a call: an operation that this
 * file cannot express is refused, and the kernel is interpreted. */
#ifndef SM_CODEGEN_LLVM_EMITTER_H
#define SM_CODEGEN_LLVM_EMITTER_H

#include "codegen/llvm_library.h"
#include "core/cpu_level.h"
#include "kir/kir.h"

typedef struct sm_llvm_emitter {
  const sm_llvm *llvm;
  const sm_kir_kernel *kernel;
  sm_cpu_level level;
  LLVMContextRef context;
  LLVMModuleRef module;
  LLVMBuilderRef builder;
  LLVMValueRef function;
  LLVMValueRef *values; /* by instruction */
  LLVMValueRef *data;   /* by buffer: where it begins */
} sm_llvm_emitter;

/* LLVMIntPredicate and LLVMRealPredicate. */
enum {
  SM_LLVM_EQ = 32,
  SM_LLVM_NE,
  SM_LLVM_UGT,
  SM_LLVM_UGE,
  SM_LLVM_ULT,
  SM_LLVM_ULE,
  SM_LLVM_SGT,
  SM_LLVM_SGE,
  SM_LLVM_SLT,
  SM_LLVM_SLE
};
enum {
  SM_LLVM_OEQ = 1,
  SM_LLVM_OGT,
  SM_LLVM_OGE,
  SM_LLVM_OLT,
  SM_LLVM_OLE,
  SM_LLVM_ONE,
  SM_LLVM_ORD,
  SM_LLVM_UNO,
  SM_LLVM_UEQ,
  SM_LLVM_FUGT,
  SM_LLVM_FUGE,
  SM_LLVM_FULT,
  SM_LLVM_FULE,
  SM_LLVM_UNE
};

/* The element's type in values; with `width` lanes. */
LLVMTypeRef sm_llvm_type(const sm_llvm_emitter *e, smelt_dtype dtype, int width);
/* A constant of the type's lanes: an integer, or a float by its value. */
LLVMValueRef sm_llvm_int(const sm_llvm_emitter *e, smelt_dtype dtype, int width, uint64_t value);
LLVMValueRef sm_llvm_real(const sm_llvm_emitter *e, smelt_dtype dtype, int width, double value);
/* The same value in every lane. */
LLVMValueRef sm_llvm_splat(const sm_llvm_emitter *e, LLVMValueRef value, int width);
/* Calls an intrinsic that is overloaded on `types`. */
LLVMValueRef sm_llvm_intrinsic(const sm_llvm_emitter *e, const char *name, LLVMTypeRef *types, size_t n_types,
                               LLVMValueRef *args, unsigned n_args);

/* Pointers, and integers of so many bits. */
static inline LLVMTypeRef sm_llvm_pointer(const sm_llvm_emitter *e) {
  return e->llvm->LLVMPointerTypeInContext(e->context, 0);
}
static inline LLVMTypeRef sm_llvm_bits(const sm_llvm_emitter *e, unsigned bits) {
  return e->llvm->LLVMIntTypeInContext(e->context, bits);
}

/* &base[index] for elements of `type`. */
static inline LLVMValueRef sm_llvm_element(const sm_llvm_emitter *e, LLVMTypeRef type, LLVMValueRef base,
                                           LLVMValueRef index) {
  return e->llvm->LLVMBuildGEP2(e->builder, type, base, &index, 1, "");
}

static inline LLVMValueRef sm_llvm_load_from(const sm_llvm_emitter *e, LLVMTypeRef type, LLVMValueRef address,
                                             unsigned alignment) {
  LLVMValueRef value = e->llvm->LLVMBuildLoad2(e->builder, type, address, "");
  e->llvm->LLVMSetAlignment(value, alignment);
  return value;
}

/* Those of all lanes, UINT8_MAX at most, as integers of so many bits. */
LLVMValueRef sm_llvm_lane_numbers(const sm_llvm_emitter *e, unsigned bits, int width);

/* The number of a lane, as instructions on vectors want it. */
static inline LLVMValueRef sm_llvm_lane(const sm_llvm_emitter *e, int lane) {
  return e->llvm->LLVMConstInt(sm_llvm_bits(e, 32), (unsigned long long)lane, 0);
}

/* --- Memory (llvm_memory.c) ---------------------------------------------------------------- */

/* The element's type there. */
LLVMTypeRef sm_llvm_memory_type(const sm_llvm_emitter *e, smelt_dtype dtype, int width);
LLVMValueRef sm_llvm_from_memory(const sm_llvm_emitter *e, smelt_dtype dtype, int width, LLVMValueRef value);
/* A local buffer's memory. */
LLVMValueRef sm_llvm_local(const sm_llvm_emitter *e, const sm_kir_buffer *buffer);
/* One instruction each. */
LLVMValueRef sm_llvm_load(const sm_llvm_emitter *e, const sm_kir_ins *ins);
LLVMValueRef sm_llvm_load_first(const sm_llvm_emitter *e, const sm_kir_ins *ins);
LLVMValueRef sm_llvm_gather(const sm_llvm_emitter *e, const sm_kir_ins *ins);
void sm_llvm_store(const sm_llvm_emitter *e, const sm_kir_ins *ins);
void sm_llvm_store_first(const sm_llvm_emitter *e, const sm_kir_ins *ins);
void sm_llvm_prefetch(const sm_llvm_emitter *e, const sm_kir_ins *ins);
void sm_llvm_fence(const sm_llvm_emitter *e);

/* --- Loops (llvm_loops.c) -------------------------------------------------------------------- */

/* A loop that is being emitted. It is entered past a test, and tested at its
 * end, which is the form the code generator does best with. */
typedef struct sm_llvm_loop {
  const sm_kir_ins *ins;
  LLVMBasicBlockRef before, body, exit;
  LLVMValueRef counter;
} sm_llvm_loop;

/* The counter, and what a loop carries. */
LLVMValueRef sm_llvm_begin_loop(const sm_llvm_emitter *e, sm_llvm_loop *loop, const sm_kir_ins *ins);
LLVMValueRef sm_llvm_begin_carry(const sm_llvm_emitter *e, const sm_llvm_loop *loop, const sm_kir_ins *ins);
/* By the END at `end`. */
void sm_llvm_end_loop(const sm_llvm_emitter *e, const sm_llvm_loop *loop, int32_t end);

/* --- Operations (llvm_scalar_ops.c) ------------------------------------------------------------ */

/* One KOP instruction on the values of its arguments; NULL if it is refused. */
LLVMValueRef sm_llvm_kop(const sm_llvm_emitter *e, const sm_kir_ins *ins);

#endif
