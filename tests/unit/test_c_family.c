/* SPDX-License-Identifier: Apache-2.0
 *
 * Texts of the C family that can run here: C, by the system's compiler, against the
 * evaluator; and what is said about others without a compiler of theirs. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>

#include "codegen/c_family.h"
#include "codegen/llvm_codegen.h"

#include "compiled_text.h"
#include "operation_kernels.h"

/* --- C ------------------------------------------------------------------------------------ */

typedef struct compiled_c {
  void *library;
  sm_kernel_fn *entry;
} compiled_c;

static compiled_c compile_c(const sm_kir_kernel *k) {
  compiled_c c;
  text_files f = write_text(k, &sm_dialect_c, (sm_text_form){0}, ".c");
  run_compiler(
      "cc -std=c11 -O1 -ffp-contract=off -fno-math-errno -fPIC -shared -Wall -Werror -o %s/out.so %s -lm",
      f.folder, f.source);
  (void)snprintf(f.output, sizeof f.output, "%s/out.so", f.folder);
  c.library = dlopen(f.output, RTLD_NOW | RTLD_LOCAL);
  CHECK(c.library != NULL);
  *(void **)&c.entry = dlsym(c.library, k->name);
  CHECK(c.entry != NULL);
  remove_text(&f);
  return c;
}

static void try_operations(smelt_dtype in, int width) {
  static operation_data data;
  operation list[MOST_BUFFERS];
  int n = list_operations(in, list);
  uint64_t state = 88172645463325252u;
  sm_kir_kernel k;
  build_operations(&k, list, n, width, false);
  compiled_c c = compile_c(&k);
  for (int round = 0; round < 20; round++) {
    prepare_operations(&data, &k, &state);
    c.entry(data.buffers, NULL, NULL, 0, ELEMENTS);
    compare_operations(&data, list, n);
  }
  (void)dlclose(c.library);
  sm_kir_free(&k);
}

TEST(operations_have_the_same_bits_in_c) {
  for (int dtype = 1; dtype < SM_DTYPE_LIMIT; dtype++) {
    if (sm_dtype_valid((smelt_dtype)dtype)) try_operations((smelt_dtype)dtype, 4);
  }
}

TEST_MAIN(CASE(operations_have_the_same_bits_in_c))
