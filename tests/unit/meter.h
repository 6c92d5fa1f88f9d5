/* SPDX-License-Identifier: Apache-2.0
 *
 * An allocator that runs out of memory, and counts what is not given back with the size
 * that it had. */
#ifndef TESTS_METER_H
#define TESTS_METER_H

#include <stdlib.h>

typedef struct meter {
  int left; /* allocations before NULL */
  size_t live;
} meter;

static inline void *metered(void *user, void *ptr, size_t old, size_t size) {
  meter *m = user;
  if (size && m->left-- <= 0) return NULL;
  m->live += size - old;
  if (size) return realloc(ptr, size);
  free(ptr);
  return NULL;
}

#endif
