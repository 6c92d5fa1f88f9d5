/* SPDX-License-Identifier: Apache-2.0
 *
 * Host memory for bookkeeping.
 *
 * All memory of a context goes through its sm_allocator, which is malloc unless
 * the user gave another one. The shape of the function (old and new size in one
 * call) makes accounting and failure injection trivial. Tensor data does not
 * come from here; devices own it.
 *
 * Invariants: a size of 0 means free; every block is given back with the size
 * it was asked with; NULL answers are passed up as SMELT_ERR_MEMORY, never
 * ignored. */
#ifndef SM_BASE_ALLOC_H
#define SM_BASE_ALLOC_H

#include "smelt/context.h"

typedef struct sm_allocator {
  smelt_alloc_fn *fn;
  void *user;
} sm_allocator;

/* The default: malloc, realloc, free. */
extern const sm_allocator sm_malloc_allocator;

void *sm_alloc(const sm_allocator *a, size_t size);
/* Zeroed, with the product checked for overflow. */
void *sm_calloc(const sm_allocator *a, size_t n, size_t size);
/* Grows or shrinks; on failure the old block stays valid. */
void *sm_realloc(const sm_allocator *a, void *ptr, size_t old, size_t size);
void sm_free(const sm_allocator *a, void *ptr, size_t size);

#endif
