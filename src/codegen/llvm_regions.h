/* SPDX-License-Identifier: Apache-2.0
 *
 * Loops that become functions of their own.
 *
 * A long kernel is a loop over tiles with many loops inside, one a segment. Code
 * generation takes more than linear time in the size of a function, and long
 * chains repeat the same segments; so a *region*, a loop inside the outermost
 * one, becomes an internal function, and equal regions become one. What a region
 * uses from outside is passed: where its buffers begin, and index values;
 * constants need no passing.
 *
 * Two regions are equal if their *forms* are: the words of their instructions,
 * with arguments counted from the region's beginning, outside values and buffers
 * numbered by first use, and constants by their bits. */
#ifndef SM_CODEGEN_LLVM_REGIONS_H
#define SM_CODEGEN_LLVM_REGIONS_H

#include "base/arena.h"
#include "codegen/llvm_emitter.h"

typedef struct sm_llvm_region {
  int32_t begin, end; /* the FOR and its END */
  uint64_t *form;
  size_t form_len;
  int32_t *externals; /* outside values that are passed, i64 */
  int n_externals;
  uint16_t *buffers; /* in order of first use */
  int n_buffers;
  LLVMValueRef function;
  LLVMTypeRef type;
} sm_llvm_region;

/* Describes the loop at `begin`. False if it cannot be a function (it uses an
 * outside value that is neither an index nor constant, or carries values itself,
 * which functions do not return) or memory is exhausted; it is then emitted in
 * place. */
bool sm_llvm_region_describe(const sm_kir_kernel *kernel, int32_t begin, sm_arena *arena,
                             sm_llvm_region *out);
bool sm_llvm_region_equal(const sm_llvm_region *a, const sm_llvm_region *b);

#endif
