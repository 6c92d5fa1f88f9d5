/* SPDX-License-Identifier: Apache-2.0 */
#include "base/arena.h"

#include <stdalign.h>
#include <string.h>

enum { CHUNK_BYTES = 16 * 1024, ALIGN = alignof(max_align_t) };

struct sm_chunk {
  sm_chunk *next;
  size_t size; /* of data */
  size_t used;
  alignas(max_align_t) unsigned char data[];
};

void sm_arena_init(sm_arena *arena, const sm_allocator *allocator) {
  *arena = (sm_arena){.allocator = allocator};
}

static sm_chunk *add_chunk(sm_arena *arena, size_t size) {
  size_t bytes = size > CHUNK_BYTES ? size : CHUNK_BYTES;
  sm_chunk *chunk = sm_alloc(arena->allocator, sizeof *chunk + bytes);
  if (!chunk) return NULL;
  *chunk = (sm_chunk){.size = bytes};
  if (arena->current) {
    chunk->next = arena->current->next;
    arena->current->next = chunk;
  } else {
    chunk->next = arena->first;
    arena->first = chunk;
  }
  return chunk;
}

/* The next chunk that can hold `size` bytes: a kept one if the very next one is
 * large enough, otherwise a fresh one put in front of it. */
static sm_chunk *next_chunk(sm_arena *arena, size_t size) {
  sm_chunk *kept = arena->current ? arena->current->next : arena->first;
  if (!kept || kept->size < size) kept = add_chunk(arena, size);
  if (kept) kept->used = 0;
  return kept;
}

void *sm_arena_alloc(sm_arena *arena, size_t size) {
  if (size > SIZE_MAX / 2) return NULL;
  size = (size + ALIGN - 1) / ALIGN * ALIGN;
  sm_chunk *chunk = arena->current;
  if (!chunk || chunk->size - chunk->used < size) {
    chunk = next_chunk(arena, size);
    if (!chunk) return NULL;
    arena->current = chunk;
  }
  void *block = chunk->data + chunk->used;
  chunk->used += size;
  return block;
}

bool sm_arena_reserve(sm_arena *arena, size_t bytes) {
  sm_chunk *chunk = arena->current, *next = chunk ? chunk->next : arena->first;
  bool there = (chunk && chunk->size - chunk->used >= bytes) || (next && next->size >= bytes);
  return there || add_chunk(arena, bytes);
}

void *sm_arena_zalloc(sm_arena *arena, size_t n, size_t size) {
  size_t bytes;
  if (__builtin_mul_overflow(n, size, &bytes)) return NULL;
  void *block = sm_arena_alloc(arena, bytes);
  if (block) memset(block, 0, bytes);
  return block;
}

void *sm_arena_copy(sm_arena *arena, const void *from, size_t size) {
  void *block = sm_arena_alloc(arena, size);
  if (block && size) memcpy(block, from, size);
  return block;
}

void sm_arena_reset(sm_arena *arena) { arena->current = NULL; }

void sm_arena_free(sm_arena *arena) {
  for (sm_chunk *c = arena->first, *next; c; c = next) {
    next = c->next;
    sm_free(arena->allocator, c, sizeof *c + c->size);
  }
  arena->first = arena->current = NULL;
}
