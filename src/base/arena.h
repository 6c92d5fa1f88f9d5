/* SPDX-License-Identifier: Apache-2.0
 *
 * An arena: memory that is given back all at once.
 *
 * Segments, plans and traces put their records here. Memory comes in chunks;
 * sm_arena_reset keeps the chunks for the next round, so that the steady state
 * allocates nothing. Blocks are aligned for any object and never move. */
#ifndef SM_BASE_ARENA_H
#define SM_BASE_ARENA_H

#include "base/alloc.h"

typedef struct sm_chunk sm_chunk;

typedef struct sm_arena {
  const sm_allocator *allocator;
  sm_chunk *first;   /* all chunks, in order of use */
  sm_chunk *current; /* the one being filled, NULL while empty */
} sm_arena;

void sm_arena_init(sm_arena *arena, const sm_allocator *allocator);
/* NULL when memory is exhausted. Not zeroed. */
void *sm_arena_alloc(sm_arena *arena, size_t size);
void *sm_arena_zalloc(sm_arena *arena, size_t n, size_t size);
/* Makes sure that blocks of `bytes` in all can be had, with the padding of each. */
bool sm_arena_reserve(sm_arena *arena, size_t bytes);
/* A copy of `size` bytes. */
void *sm_arena_copy(sm_arena *arena, const void *from, size_t size);
/* Forgets all blocks, keeps the chunks. */
void sm_arena_reset(sm_arena *arena);
/* Gives everything back. The arena can be used again. */
void sm_arena_free(sm_arena *arena);

#endif
