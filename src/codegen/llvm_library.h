/* SPDX-License-Identifier: Apache-2.0
 *
 * libLLVM, opened at run time.
 *
 * It is never linked: a process that finds its kernels in the cache does not
 * map it, and Smelt works without it. The functions come from llvm.def; the
 * table's members have their names. Opened with RTLD_LOCAL, so that another
 * LLVM in the process is not disturbed. What LLVM keeps in globals after its
 * targets were initialised stays until the process ends. */
#ifndef SM_CODEGEN_LLVM_LIBRARY_H
#define SM_CODEGEN_LLVM_LIBRARY_H

#include <stdatomic.h>

#include "base/error.h"
#include "core/cpu_level.h"

typedef struct LLVMOpaqueContext *LLVMContextRef;
typedef struct LLVMOpaqueModule *LLVMModuleRef;
typedef struct LLVMOpaqueType *LLVMTypeRef;
typedef struct LLVMOpaqueValue *LLVMValueRef;
typedef struct LLVMOpaqueBasicBlock *LLVMBasicBlockRef;
typedef struct LLVMOpaqueBuilder *LLVMBuilderRef;
typedef struct LLVMOpaqueAttributeRef *LLVMAttributeRef;
typedef struct LLVMOpaqueTargetData *LLVMTargetDataRef;
typedef struct LLVMTarget *LLVMTargetRef;
typedef struct LLVMOpaqueTargetMachine *LLVMTargetMachineRef;
typedef struct LLVMOpaqueMemoryBuffer *LLVMMemoryBufferRef;
typedef int LLVMBool;

typedef struct sm_llvm {
  void *handle;
  char name[64];                                           /* the file that was opened */
  _Atomic(LLVMTargetMachineRef) spare[SM_CPU_LEVEL_COUNT]; /* see llvm_machine.h */
#define LLVM(result, name, parameters) result(*name) parameters;
#include "codegen/llvm.def"
} sm_llvm;

/* Opens the first of the known file names that has all functions. ERR_COMPILE
 * with "libLLVM not found, tried …". `chosen` is the value of SMELT_LLVM, another file
 * or "0" for none; empty without it. */
smelt_status sm_llvm_open(sm_llvm *llvm, const char *chosen, smelt_error *err);
void sm_llvm_close(sm_llvm *llvm);

#endif
