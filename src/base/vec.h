/* SPDX-License-Identifier: Apache-2.0
 *
 * Growing arrays: sm_vec(T) is a struct of items, len and cap. Elements move
 * when the array grows, so keep indices, not pointers. */
#ifndef SM_BASE_VEC_H
#define SM_BASE_VEC_H

#include "base/alloc.h"

#define sm_vec(T) \
  struct {        \
    T *items;     \
    size_t len;   \
    size_t cap;   \
  }

/* Makes room for `extra` more elements. False when memory is exhausted; the
 * array is then as before. */
#define sm_vec_reserve(a, v, extra) \
  sm_vec_grow_((a), (void **)&(v)->items, (v)->len, &(v)->cap, (extra), sizeof *(v)->items)

/* Appends one element; false when memory is exhausted. */
#define sm_vec_push(a, v, ...) \
  (sm_vec_reserve((a), (v), 1) ? ((v)->items[(v)->len++] = (__VA_ARGS__), true) : false)

#define sm_vec_free(a, v)                                    \
  do {                                                       \
    sm_free((a), (v)->items, (v)->cap * sizeof *(v)->items); \
    (v)->items = NULL;                                       \
    (v)->len = (v)->cap = 0;                                 \
  } while (0)

bool sm_vec_grow_(const sm_allocator *a, void **items, size_t len, size_t *cap, size_t extra, size_t size);

#endif
