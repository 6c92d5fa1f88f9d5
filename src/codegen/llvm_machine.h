/* SPDX-License-Identifier: Apache-2.0
 *
 * LLVM's target machines, one for each processor level.
 *
 * A machine belongs to one thread at a time. Making one takes LLVM a fifth of what a
 * small kernel takes to compile, so the last one of each level is kept for the next
 * kernel. Nothing that a kernel leaves in it changes another's code: LLVM keeps there
 * what it knows of the processor. */
#ifndef SM_CODEGEN_LLVM_MACHINE_H
#define SM_CODEGEN_LLVM_MACHINE_H

#include "codegen/llvm_library.h"

/* A machine for this thread until it is given back. ERR_COMPILE with LLVM's words. */
smelt_status sm_llvm_machine_take(sm_llvm *llvm, sm_cpu_level level, LLVMTargetMachineRef *out,
                                  smelt_error *err);
void sm_llvm_machine_give(sm_llvm *llvm, sm_cpu_level level, LLVMTargetMachineRef machine);

/* ERR_COMPILE with LLVM's words, which are freed; NULL is "failed". */
smelt_status sm_llvm_failed(const sm_llvm *llvm, char *message, smelt_error *err);

#endif
