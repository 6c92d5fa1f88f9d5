/* SPDX-License-Identifier: Apache-2.0 */
#include "codegen/llvm_library.h"

#include <stdio.h>
#include <string.h>

#include "base/library.h"

/* The version that kernels are developed with first. */
static const char *const file_names[] = {
    "libLLVM-19.so.1", "libLLVM.so.19.1", "libLLVM-19.so", "libLLVM-16.so.1", "libLLVM-15.so.1",
};
enum { N_FILE_NAMES = sizeof file_names / sizeof file_names[0] };

static bool find_symbols(sm_llvm *llvm) {
  bool all = true;
#define LLVM(result, name, parameters) all = sm_library_symbol(llvm->handle, #name, &llvm->name) && all;
#include "codegen/llvm.def"
  return all;
}

/* Announces an architecture to LLVM, if it has it. */
static void initialize_target(void *handle, const char *target) {
  static const char *const parts[] = {"TargetInfo", "Target", "TargetMC", "AsmPrinter"};
  enum { N_PARTS = sizeof parts / sizeof parts[0] };
  void (*functions[N_PARTS])(void);
  char name[64];
  for (int i = 0; i < N_PARTS; i++) {
    (void)snprintf(name, sizeof name, "LLVMInitialize%s%s", target, parts[i]);
    if (!sm_library_symbol(handle, name, &functions[i])) return;
  }
  for (int i = 0; i < N_PARTS; i++) functions[i]();
}

static void initialize_targets(void *handle) {
#define LLVM_TARGET(name) initialize_target(handle, #name);
#include "codegen/llvm.def"
}

static bool open_file(sm_llvm *llvm, const char *file) {
  llvm->handle = sm_library_open(file);
  if (!llvm->handle) return false;
  if (!find_symbols(llvm)) {
    sm_llvm_close(llvm);
    return false;
  }
  (void)snprintf(llvm->name, sizeof llvm->name, "%s", file);
  initialize_targets(llvm->handle);
  return true;
}

smelt_status sm_llvm_open(sm_llvm *llvm, const char *chosen, smelt_error *err) {
  memset(llvm, 0, sizeof *llvm);
  if (strcmp(chosen, "0") == 0) {
    return sm_error_set(err, SMELT_ERR_COMPILE, "libLLVM is switched off by SMELT_LLVM=0");
  }
  if (*chosen) {
    if (open_file(llvm, chosen)) return SMELT_OK;
    return sm_error_set(err, SMELT_ERR_COMPILE, "SMELT_LLVM=%.200s is not a libLLVM that can be used",
                        chosen);
  }
  for (int i = 0; i < N_FILE_NAMES; i++) {
    if (open_file(llvm, file_names[i])) return SMELT_OK;
  }
  return sm_library_not_found("libLLVM", file_names, N_FILE_NAMES, SMELT_ERR_COMPILE, err);
}

void sm_llvm_close(sm_llvm *llvm) {
  for (int level = 0; level < SM_CPU_LEVEL_COUNT; level++) {
    LLVMTargetMachineRef spare = atomic_exchange(&llvm->spare[level], NULL);
    if (spare) llvm->LLVMDisposeTargetMachine(spare);
  }
  if (llvm->handle) sm_library_close(llvm->handle);
  llvm->handle = NULL;
}
