/* SPDX-License-Identifier: Apache-2.0 */
#include "base/vec.h"

bool sm_vec_grow_(const sm_allocator *a, void **items, size_t len, size_t *cap, size_t extra, size_t size) {
  if (extra <= *cap - len) return true;
  if (extra > SIZE_MAX / 4 / size - len) return false;
  size_t wanted = *cap ? *cap : 8;
  while (wanted < len + extra) wanted *= 2;
  void *grown = sm_realloc(a, *items, *cap * size, wanted * size);
  if (!grown) return false;
  *items = grown;
  *cap = wanted;
  return true;
}
