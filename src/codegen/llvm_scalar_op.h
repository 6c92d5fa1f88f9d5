/* SPDX-License-Identifier: Apache-2.0
 *
 * One scalar operation on its way into LLVM IR: what emit functions get, and the
 * shorthands that they are written with. */
#ifndef SM_CODEGEN_LLVM_SCALAR_OP_H
#define SM_CODEGEN_LLVM_SCALAR_OP_H

#include "codegen/llvm_emitter.h"

/* `in` is the dtype the operands share (SELECT: that of the choices). */
typedef struct scalar_op {
  const sm_llvm_emitter *e;
  sm_kop kop;
  smelt_dtype in, out;
  int width;
  LLVMValueRef a, b, c;
} scalar_op;

static inline bool is_float(const scalar_op *o) { return sm_kind_of(o->in) == SM_KIND_FLOAT; }
static inline bool is_signed(const scalar_op *o) { return sm_kind_of(o->in) == SM_KIND_SINT; }
static inline unsigned bits_of(smelt_dtype dtype) { return 8 * sm_dtype_info_of(dtype)->size; }
/* The integers that have a float's bits. */
static inline smelt_dtype bits_dtype(smelt_dtype dtype) {
  return bits_of(dtype) == 32 ? SMELT_I32 : SMELT_I64;
}

static inline LLVMValueRef integer(const scalar_op *o, uint64_t value) {
  return sm_llvm_int(o->e, o->in, o->width, value);
}
static inline LLVMValueRef real(const scalar_op *o, double value) {
  return sm_llvm_real(o->e, o->in, o->width, value);
}

/* Shorthands for building; o names the operation in progress. At most one argument
 * of a call builds something: C leaves the order of arguments open, and code must
 * not depend on which compiler built this file. */
#define BUILD(name, ...) o->e->llvm->LLVMBuild##name(o->e->builder, __VA_ARGS__, "")
#define ICMP(predicate, x, y) BUILD(ICmp, SM_LLVM_##predicate, x, y)
#define FCMP(predicate, x, y) BUILD(FCmp, SM_LLVM_##predicate, x, y)
#define SELECT(condition, x, y) BUILD(Select, condition, x, y)

static inline LLVMValueRef intrinsic1(const scalar_op *o, const char *name, LLVMValueRef x) {
  LLVMTypeRef type = o->e->llvm->LLVMTypeOf(x);
  return sm_llvm_intrinsic(o->e, name, &type, 1, &x, 1);
}

static inline LLVMValueRef intrinsic2(const scalar_op *o, const char *name, LLVMValueRef x, LLVMValueRef y) {
  LLVMTypeRef type = o->e->llvm->LLVMTypeOf(x);
  return sm_llvm_intrinsic(o->e, name, &type, 1, (LLVMValueRef[]){x, y}, 2);
}

/* llvm_lane_loops.c: operations whose number of steps depends on their operands. */
LLVMValueRef sm_llvm_fmod(const scalar_op *o);        /* of floats */
LLVMValueRef sm_llvm_integer_pow(const scalar_op *o); /* of integers */

#endif
