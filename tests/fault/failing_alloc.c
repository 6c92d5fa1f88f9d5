/* SPDX-License-Identifier: Apache-2.0 */
#define _POSIX_C_SOURCE 200809L
#include "failing_alloc.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

static _Atomic uint64_t count, limit; /* limit 0: nothing fails */
static atomic_int mode = SHORT_ONCE;
static atomic_bool happened;
static _Atomic int64_t blocks;

void fail_alloc_at(uint64_t n, shortage how) {
  atomic_store(&limit, 0);
  atomic_store(&count, 0);
  atomic_store(&mode, (int)how);
  atomic_store(&happened, false);
  atomic_store(&limit, n);
}

uint64_t fail_alloc_count(void) { return atomic_load(&count); }
bool fail_alloc_happened(void) { return atomic_load(&happened); }
int64_t fail_alloc_blocks(void) { return atomic_load(&blocks); }

/* Whether this allocation fails. */
static bool runs_out(void) {
  uint64_t n = atomic_fetch_add(&count, 1) + 1, at = atomic_load(&limit);
  bool fails = at && (n == at || (n > at && atomic_load(&mode) == SHORT_FROM_THEN_ON));
  if (!fails) return false;
  atomic_store(&happened, true);
  errno = ENOMEM;
  return true;
}

static void *counted(void *block) {
  if (block) atomic_fetch_add(&blocks, 1);
  return block;
}

/* What the copies of the libraries call. */
void *failing_malloc(size_t size);
void *failing_calloc(size_t n, size_t size);
void *failing_realloc(void *block, size_t size);
void *failing_aligned_alloc(size_t alignment, size_t size);
void failing_free(void *block);
ssize_t failing_getdelim(char **line, size_t *room, int end, FILE *file);
ssize_t failing_getline(char **line, size_t *room, FILE *file);

void *failing_malloc(size_t size) { return runs_out() ? NULL : counted(malloc(size)); }
void *failing_calloc(size_t n, size_t size) { return runs_out() ? NULL : counted(calloc(n, size)); }

void *failing_realloc(void *block, size_t size) {
  if (runs_out()) return NULL;
  void *moved = realloc(block, size);
  return block ? moved : counted(moved);
}

void *failing_aligned_alloc(size_t alignment, size_t size) {
  return runs_out() ? NULL : counted(aligned_alloc(alignment, size));
}

void failing_free(void *block) {
  if (block) atomic_fetch_sub(&blocks, 1);
  free(block);
}

/* A line that needs memory of its own. getline is this with another name. */
ssize_t failing_getdelim(char **line, size_t *room, int end, FILE *file) {
  bool fresh = !*line;
  if (fresh && runs_out()) return -1;
  ssize_t length = getdelim(line, room, end, file);
  if (fresh) (void)counted(*line);
  return length;
}

ssize_t failing_getline(char **line, size_t *room, FILE *file) {
  return failing_getdelim(line, room, '\n', file);
}

/* Before main: the environment's wish. */
__attribute__((constructor)) static void read_environment(void) {
  const char *n = getenv("SMELT_FAIL_ALLOC");
  if (n) fail_alloc_at(strtoull(n, NULL, 10), SHORT_ONCE);
}
