/* SPDX-License-Identifier: Apache-2.0
 *
 * Our own loader of compiled kernels: relocatable ELF64 objects for the machine
 * that it runs on, x86-64 or little-endian AArch64.
 *
 * Purpose. Code comes from src/codegen or from a file of the cache; neither
 * linker nor LLVM is needed to run it. What an object may hold, and how it becomes
 * an image in memory, is in object_image.h.
 *
 * Rule. The image is written, then made executable, never both at once. Where a
 * mapping that was writable may not become executable, the code goes into a
 * memory file that is mapped executable and filled by write(). */
#ifndef SM_RT_OBJECT_LOADER_H
#define SM_RT_OBJECT_LOADER_H

#include "base/error.h"
#include "codegen/llvm_codegen.h"

typedef struct sm_code {
  void *base;  /* the mapping; NULL if there is none */
  size_t size; /* whole pages */
  sm_kernel_fn *entry;
} sm_code;

/* Loads an object and finds the global function `entry`. `object` is not needed
 * afterwards. On failure `out` is empty: ERR_FORMAT if the object is malformed,
 * ERR_UNSUPPORTED if it needs what is not offered or memory cannot be made
 * executable (the caller then interprets), ERR_MEMORY. Thread-safe. */
smelt_status sm_code_load(const void *object, size_t size, const char *entry, sm_code *out, smelt_error *err);
/* Nothing may run the code any more. An empty one is allowed. */
void sm_code_free(sm_code *code);

#endif
