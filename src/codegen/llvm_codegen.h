/* SPDX-License-Identifier: Apache-2.0
 *
 * From kernel IR to a relocatable object, through libLLVM.
 *
 * A pure function: kernel and processor level in, bytes out. Explicit vector
 * IR, no mid-level passes, code generation level 1. The object defines one
 * function under SM_OBJECT_ENTRY with the type sm_kernel_fn and refers to nothing
 * outside; only long kernels call functions, their own (llvm_regions.h). */
#ifndef SM_CODEGEN_LLVM_CODEGEN_H
#define SM_CODEGEN_LLVM_CODEGEN_H

#include "codegen/llvm_library.h"
#include "core/cpu_level.h"
#include "kir/kir.h"

/* What compiled CPU kernels look like: data pointers by buffer, size and scalar
 * arguments, and the chunk of work items [begin, end). */
typedef void sm_kernel_fn(void *const *buffers, const int64_t *sizes, const sm_word *scalars, int64_t begin,
                          int64_t end);
#define SM_OBJECT_ENTRY "smelt_kernel"

/* The object's bytes, the caller's to free with sm_free(allocator, …, size). */
typedef struct sm_object {
  void *data;
  size_t size;
} sm_object;

/* ERR_MEMORY; ERR_UNSUPPORTED if an operation has no form in LLVM IR or `level`
 * is the baseline; ERR_COMPILE with LLVM's words. `text` (optional) gets the
 * LLVM IR. */
smelt_status sm_llvm_compile(sm_llvm *llvm, const sm_kir_kernel *kernel, sm_cpu_level level,
                             const sm_allocator *allocator, sm_object *out, sm_text *text, smelt_error *err);

#endif
