/* SPDX-License-Identifier: Apache-2.0 */
#include "stream/stock.h"

#include <assert.h>
#include <string.h>

static void push(sm_stock_block **list, void *block, size_t size) {
  assert(size >= sizeof(sm_stock_block));
  *(sm_stock_block *)block = (sm_stock_block){*list, size};
  *list = block;
}

/* Of exactly that size, which is what it is given back with. */
static void *take(sm_stock *stock, size_t size) {
  sm_stock_block **link = &stock->blocks;
  while (*link && (*link)->size != size) link = &(*link)->next;
  sm_stock_block *block = *link;
  if (block) *link = block->next;
  else stock->wanted = size;
  return block;
}

static void *serve(void *user, void *ptr, size_t old, size_t size) {
  sm_stock *stock = user;
  void *block = size ? take(stock, size) : NULL;
  if (size && !block) return NULL;
  if (block && ptr) memcpy(block, ptr, old < size ? old : size);
  if (ptr) push(&stock->returned, ptr, old);
  return block;
}

void sm_stock_init(sm_stock *stock) { *stock = (sm_stock){.allocator = {serve, stock}}; }

void sm_stock_put(sm_stock *stock, void *block, size_t size) { push(&stock->blocks, block, size); }

void sm_stock_free_blocks(sm_stock_block *blocks, const sm_allocator *from) {
  for (sm_stock_block *b = blocks, *next; b; b = next) {
    next = b->next;
    sm_free(from, b, b->size);
  }
}
