/* SPDX-License-Identifier: Apache-2.0
 *
 * Memory for use under a lock, fetched without it.
 *
 * The user's allocator must not be called with a lock held. So what is allocated under
 * the lock of a stream comes from the stock, through an allocator like any other. If
 * the stock has no block of that size the allocation fails, and the stock remembers what
 * was `wanted`: the caller gives the lock back, fetches a block, puts it into the stock
 * and tries again. Blocks that are given up under the lock wait in `returned` until it
 * is free. All of it is guarded by that lock. */
#ifndef SM_STREAM_STOCK_H
#define SM_STREAM_STOCK_H

#include "base/alloc.h"

/* Written into a block while nobody uses it; so blocks are at least this large. */
typedef struct sm_stock_block {
  struct sm_stock_block *next;
  size_t size;
} sm_stock_block;

typedef struct sm_stock {
  sm_allocator allocator; /* of blocks in the stock */
  sm_stock_block *blocks;
  sm_stock_block *returned;
  size_t wanted; /* 0: nothing */
} sm_stock;

void sm_stock_init(sm_stock *stock);
/* Adds a block that was fetched from elsewhere. */
void sm_stock_put(sm_stock *stock, void *block, size_t size);
/* Gives a list of blocks back to where they were fetched. */
void sm_stock_free_blocks(sm_stock_block *blocks, const sm_allocator *from);

#endif
