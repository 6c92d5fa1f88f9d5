/* SPDX-License-Identifier: Apache-2.0
 *
 * For libFuzzer: loads any bytes as an object. What loads is not run. To build
 * and run it for as long as one likes, best from a folder with sound objects:
 *
 *   cmake -B build/fuzz -G Ninja -DCMAKE_C_COMPILER=clang -DSMELT_FUZZ=ON \
 *     -DSMELT_SANITIZE=fuzzer-no-link,address,undefined
 *   cmake --build build/fuzz --target fuzz_object_loader
 *   build/fuzz/tests/fuzz_object_loader CORPUS */
#include "rt/object_loader.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  sm_code code;
  if (sm_code_load(data, size, SM_OBJECT_ENTRY, &code, NULL) == SMELT_OK) sm_code_free(&code);
  return 0;
}
