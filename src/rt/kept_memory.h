/* SPDX-License-Identifier: Apache-2.0
 *
 * Freed device memory that is kept for reuse, as getting it from a driver takes longer than
 * a small kernel. Its driver runs whatever it is told in one order, so what was freed can be
 * used by what comes later without waiting. What the memory is only the driver knows.
 *
 * Sizes are rounded up to a *class*, which is reused as a whole: multiples of a sixteenth to
 * an eighth of themselves. So many bytes and blocks are kept at most, those that were freed
 * last. */
#ifndef SM_RT_KEPT_MEMORY_H
#define SM_RT_KEPT_MEMORY_H

#include "base/error.h"
#include "base/thread.h"

enum { SM_KEPT_BLOCKS = 256 };

typedef struct sm_kept_block {
  void *data;
  size_t bytes;
} sm_kept_block;

typedef struct sm_kept_memory {
  void (*release)(void *user, void *data); /* gives it back to the driver */
  void *user;
  size_t most;                          /* bytes kept */
  sm_mutex lock;                        /* guards: */
  sm_kept_block blocks[SM_KEPT_BLOCKS]; /* the oldest first */
  size_t n, bytes;
} sm_kept_memory;

/* False without a lock. Nothing is kept before there is a limit. */
bool sm_kept_init(sm_kept_memory *kept, void (*release)(void *user, void *data), void *user);
/* SMELT_CACHE_BYTES, or a quarter of the device's memory and at least 256 MiB. ERR_ARGUMENT. */
smelt_status sm_kept_limit(sm_kept_memory *kept, uint64_t device_bytes, smelt_error *err);
/* Forgets what is kept: what is to be given back has been trimmed before. */
void sm_kept_close(sm_kept_memory *kept);

size_t sm_kept_class(size_t bytes);
/* Memory of that class, the last that was freed, or NULL. */
void *sm_kept_take(sm_kept_memory *kept, size_t bytes);
/* Memory of that class that nobody uses any more: kept or given back. */
void sm_kept_put(sm_kept_memory *kept, void *data, size_t bytes);
/* Gives all that is kept back. */
void sm_kept_trim(sm_kept_memory *kept);

#endif
