/* SPDX-License-Identifier: Apache-2.0 */
#include "rt/kept_memory.h"

#include <string.h>

#include "base/os.h"

bool sm_kept_init(sm_kept_memory *kept, void (*release)(void *user, void *data), void *user) {
  *kept = (sm_kept_memory){.release = release, .user = user};
  return sm_mutex_init(&kept->lock, SM_LOCK_MEMORY);
}

smelt_status sm_kept_limit(sm_kept_memory *kept, uint64_t device_bytes, smelt_error *err) {
  int64_t least = INT64_C(256) << 20, quarter = (int64_t)(device_bytes / 4);
  int64_t most = quarter > least ? quarter : least;
  SM_TRY(sm_os_setting("SMELT_CACHE_BYTES", 0, INT64_MAX, &most, err));
  kept->most = (size_t)most;
  return SMELT_OK;
}

void sm_kept_close(sm_kept_memory *kept) { sm_mutex_destroy(&kept->lock); }

/* --- With the lock ------------------------------------------------------------------------ */

static void *remove_block(sm_kept_memory *kept, size_t i) {
  sm_kept_block *block = &kept->blocks[i], removed = *block;
  kept->bytes -= removed.bytes;
  kept->n--;
  memmove(block, block + 1, (kept->n - i) * sizeof *block);
  return removed.data;
}

/* Gives the oldest back until at most so much is kept. */
static void shrink_to(sm_kept_memory *kept, size_t bytes, size_t blocks) {
  while (kept->bytes > bytes || kept->n > blocks) kept->release(kept->user, remove_block(kept, 0));
}

/* --- Without ------------------------------------------------------------------------------ */

size_t sm_kept_class(size_t bytes) {
  size_t step = 256;
  while (bytes / 16 >= step) step *= 2;
  return (bytes + step - 1) / step * step;
}

void *sm_kept_take(sm_kept_memory *kept, size_t bytes) {
  void *data = NULL;
  sm_lock(&kept->lock);
  size_t i = kept->n;
  while (i > 0 && kept->blocks[i - 1].bytes != bytes) i--;
  if (i > 0) data = remove_block(kept, i - 1);
  sm_unlock(&kept->lock);
  return data;
}

void sm_kept_put(sm_kept_memory *kept, void *data, size_t bytes) {
  sm_lock(&kept->lock);
  shrink_to(kept, SIZE_MAX, SM_KEPT_BLOCKS - 1);
  kept->blocks[kept->n++] = (sm_kept_block){data, bytes};
  kept->bytes += bytes;
  shrink_to(kept, kept->most, SM_KEPT_BLOCKS);
  sm_unlock(&kept->lock);
}

void sm_kept_trim(sm_kept_memory *kept) {
  sm_lock(&kept->lock);
  shrink_to(kept, 0, 0);
  sm_unlock(&kept->lock);
}
