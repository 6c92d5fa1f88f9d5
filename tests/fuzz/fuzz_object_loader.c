/* SPDX-License-Identifier: Apache-2.0
 *
 * For libFuzzer: loads any bytes as an object, and links them as one for AArch64,
 * whatever machine this is. What loads is not run. To build and run it for as
 * long as one likes, best from a folder with sound objects:
 *
 *   cmake -B build/fuzz -G Ninja -DCMAKE_C_COMPILER=clang -DSMELT_FUZZ=ON \
 *     -DSMELT_SANITIZE=fuzzer-no-link,address,undefined
 *   cmake --build build/fuzz --target fuzz_object_loader
 *   build/fuzz/tests/fuzz_object_loader CORPUS */
#include "rt/object_loader.h"

#include <stdlib.h>

#include "rt/object_image.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void link_for_aarch64(const uint8_t *data, size_t size) {
  sm_object_image image;
  if (sm_object_image_read(&image, data, size, EM_AARCH64, SM_OBJECT_ENTRY, NULL) != SMELT_OK) return;
  unsigned char *bytes = calloc(1, image.image_bytes);
  if (bytes) (void)sm_object_image_fill(&image, bytes, 0x7f0000001000);
  free(bytes);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  sm_code code;
  link_for_aarch64(data, size);
  if (sm_code_load(data, size, SM_OBJECT_ENTRY, &code, NULL) == SMELT_OK) sm_code_free(&code);
  return 0;
}
