/* SPDX-License-Identifier: Apache-2.0 */
#include "base/alloc.h"

#include <stdlib.h>
#include <string.h>

static void *use_malloc(void *user, void *ptr, size_t old, size_t size) {
  (void)user;
  (void)old;
  if (size == 0) {
    free(ptr);
    return NULL;
  }
  return realloc(ptr, size);
}

const sm_allocator sm_malloc_allocator = {use_malloc, NULL};

void *sm_alloc(const sm_allocator *a, size_t size) { return a->fn(a->user, NULL, 0, size ? size : 1); }

void *sm_calloc(const sm_allocator *a, size_t n, size_t size) {
  size_t bytes;
  if (__builtin_mul_overflow(n, size, &bytes)) return NULL;
  void *p = sm_alloc(a, bytes);
  if (p) memset(p, 0, bytes);
  return p;
}

void *sm_realloc(const sm_allocator *a, void *ptr, size_t old, size_t size) {
  return a->fn(a->user, ptr, old, size ? size : 1);
}

void sm_free(const sm_allocator *a, void *ptr, size_t size) {
  if (ptr) a->fn(a->user, ptr, size ? size : 1, 0);
}
