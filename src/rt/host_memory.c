/* SPDX-License-Identifier: Apache-2.0 */
#include "rt/host_memory.h"

#include <stdlib.h>
#include <string.h>

enum { ALIGNMENT = 64 };

void *sm_host_alloc(sm_device *device, size_t bytes) {
  (void)device;
  if (bytes > SIZE_MAX - ALIGNMENT) return NULL;
  return aligned_alloc(ALIGNMENT, (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT);
}

void sm_host_free(sm_device *device, void *data, size_t bytes) {
  (void)device;
  (void)bytes;
  free(data);
}

smelt_status sm_host_copy(sm_device *device, void *to, const void *from, size_t bytes, smelt_error *err) {
  (void)device;
  (void)err;
  if (bytes) memcpy(to, from, bytes);
  return SMELT_OK;
}
