/* SPDX-License-Identifier: Apache-2.0 */
#include "codegen/llvm_machine.h"

#define X86_64 "x86_64-unknown-linux-gnu"
#define AARCH64 "aarch64-unknown-linux-gnu"
#define AVX2 "+avx,+avx2,+fma,+bmi,+bmi2,+f16c"
#define AVX512 AVX2 ",+avx512f,+avx512bw,+avx512dq,+avx512vl,+avx512cd"

/* Feature lists are ours (see core/cpu_level.h); the names are LLVM's. */
static const struct {
  const char *triple, *cpu, *features;
} targets[SM_CPU_LEVEL_COUNT] = {
    [SM_CPU_AVX2] = {X86_64, "x86-64-v3", AVX2},
    [SM_CPU_AVX512] = {X86_64, "x86-64-v4", AVX512},
    [SM_CPU_NEON] = {AARCH64, "generic", "+fp-armv8,+neon"},
};

smelt_status sm_llvm_failed(const sm_llvm *l, char *message, smelt_error *err) {
  smelt_status status = sm_error_set(err, SMELT_ERR_COMPILE, "LLVM: %.300s", message ? message : "failed");
  if (message) l->LLVMDisposeMessage(message);
  return status;
}

static smelt_status create(const sm_llvm *l, sm_cpu_level level, LLVMTargetMachineRef *out,
                           smelt_error *err) {
  const char *triple = targets[level].triple;
  enum { LEVEL_LESS = 1, RELOC_PIC = 2, CODE_MODEL_SMALL = 3 };
  LLVMTargetRef target;
  char *message = NULL;
  if (l->LLVMGetTargetFromTriple(triple, &target, &message)) return sm_llvm_failed(l, message, err);
  *out = l->LLVMCreateTargetMachine(target, triple, targets[level].cpu, targets[level].features, LEVEL_LESS,
                                    RELOC_PIC, CODE_MODEL_SMALL);
  return *out ? SMELT_OK : sm_llvm_failed(l, NULL, err);
}

smelt_status sm_llvm_machine_take(sm_llvm *llvm, sm_cpu_level level, LLVMTargetMachineRef *out,
                                  smelt_error *err) {
  *out = atomic_exchange(&llvm->spare[level], NULL);
  return *out ? SMELT_OK : create(llvm, level, out, err);
}

void sm_llvm_machine_give(sm_llvm *llvm, sm_cpu_level level, LLVMTargetMachineRef machine) {
  LLVMTargetMachineRef other = atomic_exchange(&llvm->spare[level], machine);
  if (other) llvm->LLVMDisposeTargetMachine(other);
}
