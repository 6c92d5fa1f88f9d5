/* SPDX-License-Identifier: Apache-2.0
 *
 * Memory of drivers whose tensors lie in host memory.
 *
 * Purpose. sm_host_alloc, _free, _upload and _download are the entries of a driver's table
 * for drivers that need no speed. A *host pool* keeps freed *blocks* for reuse,
 * because fresh memory is expensive: the first write to 64 MiB of new pages costs
 * several times the work of a kernel that fills them.
 *
 * Blocks. Sizes are rounded up to a *class*: multiples of 64 bytes up to 1 KiB,
 * then eight classes from one power of two to the next, so less than an eighth
 * is lost. A class is what is reused as a whole; nothing is split or joined.
 * Blocks are aligned to 64 bytes; those of 2 MiB or more are mapped by
 * themselves, aligned to 2 MiB, on huge pages where the system has them.
 *
 * Bound. What is free and kept is at most the *cap*: max(256 MiB, a quarter of
 * the memory this process may use). Beyond it the blocks that have been free
 * for longest go back to the system, and a block greater than the cap at once.
 *
 * Guard mode, for tests. Each buffer ends exactly where a page begins that
 * cannot be touched, so the first byte beyond it faults, and it is unmapped
 * when it is freed, so later uses fault. Buffers are then aligned as far as
 * their size is a multiple of: enough for an element, not for a vector. Their
 * bytes are all ones at first: NaN, -1, and no bool. */
#ifndef SM_RT_HOST_MEMORY_H
#define SM_RT_HOST_MEMORY_H

#include "rt/device.h"

void *sm_host_alloc(sm_device *device, size_t bytes);
void sm_host_free(sm_device *device, void *data, size_t bytes);
smelt_status sm_host_upload(sm_device *device, void *data, size_t offset, const void *from, size_t bytes,
                            smelt_error *err);
smelt_status sm_host_download(sm_device *device, const void *data, size_t offset, void *to, size_t bytes,
                              smelt_error *err);

/* --- Pools ---------------------------------------------------------------------- */
typedef struct sm_host_pool sm_host_pool;

/* Zero means the default. */
typedef struct sm_host_pool_options {
  int64_t cap;        /* bytes; -1: keep nothing; 0: SMELT_CACHE_BYTES, or else as said above */
  smelt_switch guard; /* default off; SMELT_GUARD=1 turns the default on */
} sm_host_pool_options;

/* Sizes are those of blocks, not what was asked for. */
typedef struct sm_host_memory_stats {
  size_t live;     /* bytes in use */
  size_t peak;     /* the most there was of `live` */
  size_t cached;   /* bytes free and kept */
  uint64_t hits;   /* allocations that reused a block */
  uint64_t misses; /* those that asked the system */
} sm_host_memory_stats;

/* ERR_ARGUMENT for a variable that is no number, ERR_MEMORY. `options` NULL means
 * all defaults. */
smelt_status sm_host_pool_create(const sm_allocator *allocator, const sm_host_pool_options *options,
                                 sm_host_pool **out, smelt_error *err);
/* Every block must have been freed. NULL is allowed. */
void sm_host_pool_destroy(sm_host_pool *pool);

/* Uninitialised. When the system has no memory left, everything kept is given
 * back and it is asked once more; then NULL. Thread-safe, like all below. */
void *sm_host_pool_alloc(sm_host_pool *pool, size_t bytes);
/* `bytes` as asked for. NULL is allowed. */
void sm_host_pool_free(sm_host_pool *pool, void *data, size_t bytes);
/* Gives everything that is kept back to the system. */
void sm_host_pool_trim(sm_host_pool *pool);
sm_host_memory_stats sm_host_pool_stats(sm_host_pool *pool);

#endif
