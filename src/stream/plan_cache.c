/* SPDX-License-Identifier: Apache-2.0 */
#include "stream/plan_cache.h"

#include <string.h>

#include "base/hash.h"

struct sm_plan_node {
  sm_plan_node *next; /* in the bucket */
  sm_plan_node *newer, *older;
  void *plan;
  uint64_t hash; /* of the form */
  size_t n_records, form_len, len;
  uint64_t words[];
};

static const sm_plan_limits default_limits = {.plans = 1024, .records = 128 * 1024};

void sm_plan_cache_init(sm_plan_cache *cache, const sm_allocator *allocator, sm_counters *counters,
                        void (*discard)(void *plan)) {
  *cache = (sm_plan_cache){
      .allocator = allocator, .counters = counters, .discard = discard, .limits = default_limits};
}

/* --- The order of use ------------------------------------------------------------------- */

static void unlink_use(sm_plan_cache *cache, sm_plan_node *node) {
  *(node->newer ? &node->newer->older : &cache->newest) = node->older;
  *(node->older ? &node->older->newer : &cache->oldest) = node->newer;
}

static void link_newest(sm_plan_cache *cache, sm_plan_node *node) {
  node->newer = NULL;
  node->older = cache->newest;
  *(cache->newest ? &cache->newest->newer : &cache->oldest) = node;
  cache->newest = node;
}

/* --- Nodes --------------------------------------------------------------------------------- */

static sm_plan_node **bucket_of(sm_plan_cache *cache, uint64_t hash) {
  return &cache->buckets[hash % SM_PLAN_BUCKETS];
}

static size_t node_bytes(size_t len) { return sizeof(sm_plan_node) + len * sizeof(uint64_t); }

static void remove_node(sm_plan_cache *cache, sm_plan_node *node) {
  sm_plan_node **link = bucket_of(cache, node->hash);
  while (*link != node) link = &(*link)->next;
  *link = node->next;
  unlink_use(cache, node);
  cache->n_plans--;
  cache->n_records -= node->n_records;
  cache->discard(node->plan);
  sm_free(cache->allocator, node, node_bytes(node->len));
}

void sm_plan_cache_free(sm_plan_cache *cache) {
  while (cache->oldest) remove_node(cache, cache->oldest);
  sm_vec_free(cache->allocator, &cache->words);
}

/* --- Lookup ---------------------------------------------------------------------------------- */

static uint64_t hash_form(const sm_plan_cache *cache) {
  sm_hash hash = sm_hash_start();
  for (size_t i = 0; i < cache->form_len; i++) sm_hash_u64(&hash, cache->words.items[i]);
  return hash.lo;
}

static bool read_words(sm_plan_cache *cache, const sm_segment *segment) {
  cache->words.len = 0;
  if (!sm_relative_form(segment, cache->allocator, &cache->words)) return false;
  cache->form_len = cache->words.len;
  return sm_relative_sizes(segment, cache->allocator, &cache->words);
}

static bool same_words(const sm_plan_cache *cache, const sm_plan_node *node, size_t begin, size_t end) {
  return memcmp(cache->words.items + begin, node->words + begin, (end - begin) * sizeof(uint64_t)) == 0;
}

/* The form first: it tells guard misses from new programs. */
static sm_plan_node *find_node(sm_plan_cache *cache, bool *same_form) {
  uint64_t hash = hash_form(cache);
  for (sm_plan_node *node = *bucket_of(cache, hash); node; node = node->next) {
    bool candidate = node->hash == hash && node->len == cache->words.len && node->form_len == cache->form_len;
    if (!candidate || !same_words(cache, node, 0, cache->form_len)) continue;
    *same_form = true;
    if (same_words(cache, node, cache->form_len, cache->words.len)) return node;
  }
  return NULL;
}

void *sm_plan_cache_find(sm_plan_cache *cache, const sm_segment *segment, bool *known) {
  bool same_form = false;
  *known = read_words(cache, segment);
  sm_plan_node *node = *known ? find_node(cache, &same_form) : NULL;
  if (!node) {
    sm_count(&cache->counters->explorations, 1);
    sm_count(&cache->counters->guard_misses, same_form);
    return NULL;
  }
  sm_count(&cache->counters->plan_hits, 1);
  unlink_use(cache, node);
  link_newest(cache, node);
  return node->plan;
}

/* --- Adding ------------------------------------------------------------------------------------ */

static void make_room(sm_plan_cache *cache) {
  while (cache->oldest != cache->newest &&
         (cache->n_plans > cache->limits.plans || cache->n_records > cache->limits.records))
    remove_node(cache, cache->oldest);
}

bool sm_plan_cache_add(sm_plan_cache *cache, const sm_segment *segment, void *plan) {
  size_t len = cache->words.len;
  sm_plan_node *node = sm_alloc(cache->allocator, node_bytes(len));
  if (!node) return false;
  *node = (sm_plan_node){.plan = plan,
                         .hash = hash_form(cache),
                         .n_records = segment->ops.len,
                         .form_len = cache->form_len,
                         .len = len};
  memcpy(node->words, cache->words.items, len * sizeof *node->words);
  sm_plan_node **bucket = bucket_of(cache, node->hash);
  node->next = *bucket;
  *bucket = node;
  link_newest(cache, node);
  cache->n_plans++;
  cache->n_records += node->n_records;
  make_room(cache);
  return true;
}
