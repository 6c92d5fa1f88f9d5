/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "rt/host_memory.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/error.h"
#include "base/os.h"
#include "base/thread.h"

enum { ALIGNMENT = 64 };

static size_t round_up(size_t bytes, size_t to) { return (bytes + to - 1) / to * to; }

/* --- Without a pool ------------------------------------------------------------------- */

void *sm_host_alloc(sm_device *device, size_t bytes) {
  (void)device;
  if (bytes > SIZE_MAX - ALIGNMENT) return NULL;
  return aligned_alloc(ALIGNMENT, round_up(bytes, ALIGNMENT));
}

void sm_host_free(sm_device *device, void *data, size_t bytes) {
  (void)device;
  (void)bytes;
  free(data);
}

smelt_status sm_host_upload(sm_device *device, void *data, size_t offset, const void *from, size_t bytes,
                            smelt_error *err) {
  (void)device, (void)err;
  if (bytes) memcpy((char *)data + offset, from, bytes);
  return SMELT_OK;
}

smelt_status sm_host_download(sm_device *device, const void *data, size_t offset, void *to, size_t bytes,
                              smelt_error *err) {
  (void)device, (void)err;
  if (bytes) memcpy(to, (const char *)data + offset, bytes);
  return SMELT_OK;
}

/* --- Classes -------------------------------------------------------------------------- */

enum {
  FINE_CLASSES = 16,        /* multiples of 64 bytes up to 1 KiB; */
  CLASSES_PER_DOUBLING = 8, /* beyond that */
  FINE_BITS = 10,           /* 2^10 = 1 KiB */
  MOST_BITS = 47,           /* blocks are smaller than 2^48 bytes, as address spaces are */
  N_CLASSES = FINE_CLASSES + (MOST_BITS - FINE_BITS + 1) * CLASSES_PER_DOUBLING,
};
static const size_t huge_page = (size_t)2 << 20;
static const size_t least_cap = (size_t)256 << 20;
static const size_t most_bytes = ((size_t)1 << (MOST_BITS + 1)) - 1;

typedef struct size_class {
  int index;
  size_t bytes;
} size_class;

static size_class class_of(size_t bytes) {
  size_t last = bytes ? bytes - 1 : 0;
  if (last >> FINE_BITS == 0) {
    size_t i = last / ALIGNMENT;
    return (size_class){(int)i, (i + 1) * ALIGNMENT};
  }
  int bits = 63 - __builtin_clzll(last);
  int step = bits - 3; /* 2^3 classes per doubling */
  int at = (int)(last >> step) - CLASSES_PER_DOUBLING;
  return (size_class){FINE_CLASSES + (bits - FINE_BITS) * CLASSES_PER_DOUBLING + at, ((last >> step) + 1)
                                                                                         << step};
}

/* --- Memory of the system ----------------------------------------------------------------- */

static void *map(size_t bytes) {
  void *data = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  return data == MAP_FAILED ? NULL : data;
}

static void unmap(void *data, size_t bytes) {
  if (bytes) (void)munmap(data, bytes);
}

/* Maps more than needed and cuts off both ends. */
static void *map_huge(size_t bytes) {
  char *raw = map(bytes + huge_page);
  if (!raw) return NULL;
  size_t head = round_up((uintptr_t)raw, huge_page) - (uintptr_t)raw;
  unmap(raw, head);
  unmap(raw + head + bytes, huge_page - head);
  (void)madvise(raw + head, bytes, MADV_HUGEPAGE);
  return raw + head;
}

static void *block_from_system(size_t bytes) {
  return bytes >= huge_page ? map_huge(bytes) : aligned_alloc(ALIGNMENT, bytes);
}

static void block_to_system(void *data, size_t bytes) {
  if (bytes >= huge_page) unmap(data, bytes);
  else free(data);
}

/* --- The pool's lists ------------------------------------------------------------------------ */

/* A list is a ring that its head belongs to; alone in it, the list is empty. */
typedef struct ring {
  struct ring *before, *after;
} ring;

static void make_empty(ring *list) { list->before = list->after = list; }
static bool is_empty(const ring *list) { return list->after == list; }

static void insert_after(ring *at, ring *member) {
  member->before = at;
  member->after = at->after;
  at->after->before = member;
  at->after = member;
}

static void take_out(ring *member) {
  member->before->after = member->after;
  member->after->before = member->before;
}

/* What is written into a block while it is free. */
typedef struct free_block {
  ring of_class, by_age;
  size_t bytes;
} free_block;

struct sm_host_pool {
  const sm_allocator *allocator;
  size_t cap, page;
  bool guard;
  sm_mutex lock; /* of all below */
  sm_host_memory_stats stats;
  ring by_age; /* of all free blocks, the youngest first */
  ring classes[N_CLASSES];
};

static free_block *block_by_age(ring *member) {
  return (free_block *)(void *)((char *)member - offsetof(free_block, by_age));
}

static void keep(sm_host_pool *pool, void *data, size_class c) {
  free_block *block = data;
  block->bytes = c.bytes;
  insert_after(&pool->classes[c.index], &block->of_class);
  insert_after(&pool->by_age, &block->by_age);
  pool->stats.cached += c.bytes;
}

static void unkeep(sm_host_pool *pool, free_block *block) {
  take_out(&block->of_class);
  take_out(&block->by_age);
  pool->stats.cached -= block->bytes;
}

/* The block freed last, whose memory is the most likely to be in a cache. */
static void *reuse(sm_host_pool *pool, int class_index) {
  ring *list = &pool->classes[class_index];
  if (is_empty(list)) return NULL;
  free_block *block = (free_block *)(void *)list->after; /* of_class is its first member */
  unkeep(pool, block);
  return block;
}

/* Moves the oldest blocks to `gone` until at most `bytes` are kept. */
static void shrink(sm_host_pool *pool, size_t bytes, ring *gone) {
  while (pool->stats.cached > bytes) {
    free_block *oldest = block_by_age(pool->by_age.before);
    unkeep(pool, oldest);
    insert_after(gone, &oldest->by_age);
  }
}

/* Without the lock: this may take long. */
static void give_back(const ring *gone) {
  for (ring *member = gone->after, *next; member != gone; member = next) {
    next = member->after;
    free_block *block = block_by_age(member);
    block_to_system(block, block->bytes);
  }
}

static void count_live(sm_host_memory_stats *stats, size_t bytes) {
  stats->live += bytes;
  if (stats->live > stats->peak) stats->peak = stats->live;
}

/* --- Guard mode ---------------------------------------------------------------------------------- */

static void *guarded_alloc(const sm_host_pool *pool, size_t bytes) {
  size_t usable = round_up(bytes, pool->page);
  char *base = map(usable + pool->page);
  if (!base) return NULL;
  if (mprotect(base + usable, pool->page, PROT_NONE) != 0) {
    unmap(base, usable + pool->page);
    return NULL;
  }
  return memset(base + usable - bytes, 0xff, bytes);
}

static void guarded_free(const sm_host_pool *pool, void *data, size_t bytes) {
  size_t usable = round_up(bytes, pool->page);
  unmap((char *)data + bytes - usable, usable + pool->page);
}

/* --- Allocation ------------------------------------------------------------------------------------ */

/* What a buffer of this size takes. */
static size_t block_bytes(const sm_host_pool *pool, size_t bytes) {
  return pool->guard ? round_up(bytes, pool->page) : class_of(bytes).bytes;
}

static void *take_kept(sm_host_pool *pool, size_t bytes) {
  size_class c = class_of(bytes);
  sm_lock(&pool->lock);
  void *data = reuse(pool, c.index);
  if (data) {
    pool->stats.hits++;
    count_live(&pool->stats, c.bytes);
  }
  sm_unlock(&pool->lock);
  return data;
}

static void *ask_system(sm_host_pool *pool, size_t bytes) {
  return pool->guard ? guarded_alloc(pool, bytes) : block_from_system(block_bytes(pool, bytes));
}

void *sm_host_pool_alloc(sm_host_pool *pool, size_t bytes) {
  if (bytes > most_bytes) return NULL;
  void *data = take_kept(pool, bytes);
  if (data) return data;
  data = ask_system(pool, bytes);
  if (!data) {
    sm_host_pool_trim(pool);
    data = ask_system(pool, bytes);
  }
  if (!data) return NULL;
  sm_lock(&pool->lock);
  pool->stats.misses++;
  count_live(&pool->stats, block_bytes(pool, bytes));
  sm_unlock(&pool->lock);
  return data;
}

static void keep_or_give_back(sm_host_pool *pool, void *data, size_t bytes) {
  size_class c = class_of(bytes);
  ring gone;
  make_empty(&gone);
  sm_lock(&pool->lock);
  pool->stats.live -= c.bytes;
  if (c.bytes <= pool->cap) keep(pool, data, c);
  shrink(pool, pool->cap, &gone);
  sm_unlock(&pool->lock);
  give_back(&gone);
  if (c.bytes > pool->cap) block_to_system(data, c.bytes);
}

void sm_host_pool_free(sm_host_pool *pool, void *data, size_t bytes) {
  if (!data) return;
  if (!pool->guard) {
    keep_or_give_back(pool, data, bytes);
    return;
  }
  guarded_free(pool, data, bytes);
  sm_lock(&pool->lock);
  pool->stats.live -= block_bytes(pool, bytes);
  sm_unlock(&pool->lock);
}

void sm_host_pool_trim(sm_host_pool *pool) {
  ring gone;
  make_empty(&gone);
  sm_lock(&pool->lock);
  shrink(pool, 0, &gone);
  sm_unlock(&pool->lock);
  give_back(&gone);
}

sm_host_memory_stats sm_host_pool_stats(sm_host_pool *pool) {
  sm_lock(&pool->lock);
  sm_host_memory_stats stats = pool->stats;
  sm_unlock(&pool->lock);
  return stats;
}

/* --- The pool ---------------------------------------------------------------------------------------- */

static size_t default_cap(void) {
  size_t quarter = (size_t)sm_os_memory() / 4;
  return quarter > least_cap ? quarter : least_cap;
}

/* The option first, then the environment, then what the machine has. */
static smelt_status resolve_cap(const sm_host_pool_options *options, size_t *cap, smelt_error *err) {
  int64_t chosen = options->cap < 0 ? 0 : options->cap;
  if (options->cap == 0) {
    chosen = -1;
    SM_TRY(sm_os_setting("SMELT_CACHE_BYTES", 0, INT64_MAX, &chosen, err));
  }
  *cap = chosen < 0 ? default_cap() : (size_t)chosen;
  return SMELT_OK;
}

static smelt_status resolve_guard(const sm_host_pool_options *options, bool *guard, smelt_error *err) {
  int64_t on = options->guard == SMELT_ON;
  if (options->guard == SMELT_DEFAULT) SM_TRY(sm_os_setting("SMELT_GUARD", 0, 1, &on, err));
  *guard = on;
  return SMELT_OK;
}

smelt_status sm_host_pool_create(const sm_allocator *allocator, const sm_host_pool_options *options,
                                 sm_host_pool **out, smelt_error *err) {
  static const sm_host_pool_options defaults = {0};
  size_t cap;
  bool guard;
  *out = NULL;
  SM_TRY(resolve_cap(options ? options : &defaults, &cap, err));
  SM_TRY(resolve_guard(options ? options : &defaults, &guard, err));
  sm_host_pool *pool = sm_calloc(allocator, 1, sizeof *pool);
  if (!pool || !sm_mutex_init(&pool->lock, SM_LOCK_MEMORY)) {
    sm_free(allocator, pool, sizeof *pool);
    return sm_error_memory(err, "a pool of tensor memory");
  }
  pool->allocator = allocator;
  pool->cap = cap;
  pool->guard = guard;
  pool->page = (size_t)sysconf(_SC_PAGESIZE);
  make_empty(&pool->by_age);
  for (int i = 0; i < N_CLASSES; i++) make_empty(&pool->classes[i]);
  *out = pool;
  return SMELT_OK;
}

void sm_host_pool_destroy(sm_host_pool *pool) {
  if (!pool) return;
  sm_host_pool_trim(pool);
  sm_mutex_destroy(&pool->lock);
  sm_free(pool->allocator, pool, sizeof *pool);
}
