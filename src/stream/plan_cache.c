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

static const sm_plan_limits default_limits = {.plans = 1024, .records = (size_t)128 * 1024};

bool sm_plan_cache_init(sm_plan_cache *cache, const sm_allocator *allocator, sm_counters *counters,
                        sm_plan_sharing sharing) {
  memset(cache, 0, sizeof *cache);
  cache->allocator = allocator;
  cache->counters = counters;
  cache->sharing = sharing;
  cache->limits = default_limits;
  return sm_mutex_init(&cache->lock, SM_LOCK_PLANS);
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

/* Puts the node on the list `gone`, for after the lock. */
static void remove_node(sm_plan_cache *cache, sm_plan_node *node, sm_plan_node **gone) {
  sm_plan_node **link = bucket_of(cache, node->hash);
  while (*link != node) link = &(*link)->next;
  *link = node->next;
  unlink_use(cache, node);
  cache->n_plans--;
  cache->n_records -= node->n_records;
  node->next = *gone;
  *gone = node;
}

static void free_nodes(const sm_plan_cache *cache, sm_plan_node *gone) {
  for (sm_plan_node *node = gone, *next; node; node = next) {
    next = node->next;
    cache->sharing.release(node->plan);
    sm_free(cache->allocator, node, node_bytes(node->len));
  }
}

void sm_plan_cache_free(sm_plan_cache *cache) {
  sm_plan_node *gone = NULL;
  while (cache->oldest) remove_node(cache, cache->oldest, &gone);
  free_nodes(cache, gone);
  sm_mutex_destroy(&cache->lock);
}

/* --- Lookup ---------------------------------------------------------------------------------- */

static uint64_t hash_form(const sm_plan_key *key) {
  sm_hash hash = sm_hash_start();
  for (size_t i = 0; i < key->form_len; i++) sm_hash_u64(&hash, key->words.items[i]);
  return hash.lo;
}

static bool make_key(const sm_segment *segment, const sm_allocator *allocator, sm_plan_key *key) {
  key->words.len = 0;
  bool made = sm_relative_form(segment, allocator, &key->words);
  key->form_len = key->words.len;
  made = made && sm_relative_sizes(segment, allocator, &key->words);
  if (made) key->hash = hash_form(key);
  else key->words.len = 0;
  return made;
}

static bool same_words(const sm_plan_key *key, const sm_plan_node *node, size_t begin, size_t end) {
  return memcmp(key->words.items + begin, node->words + begin, (end - begin) * sizeof(uint64_t)) == 0;
}

/* The form first: it tells guard misses from new programs. */
static sm_plan_node *find_node(sm_plan_cache *cache, const sm_plan_key *key, bool *same_form) {
  for (sm_plan_node *node = *bucket_of(cache, key->hash); node; node = node->next) {
    bool candidate =
        node->hash == key->hash && node->len == key->words.len && node->form_len == key->form_len;
    if (!candidate || !same_words(key, node, 0, key->form_len)) continue;
    *same_form = true;
    if (same_words(key, node, key->form_len, key->words.len)) return node;
  }
  return NULL;
}

/* Marks what it finds as used, and retains it. */
static void *use_plan(sm_plan_cache *cache, const sm_plan_key *key, bool *same_form) {
  sm_lock(&cache->lock);
  sm_plan_node *node = find_node(cache, key, same_form);
  void *plan = node ? node->plan : NULL;
  if (node) {
    unlink_use(cache, node);
    link_newest(cache, node);
    cache->sharing.retain(plan);
  }
  sm_unlock(&cache->lock);
  return plan;
}

void *sm_plan_cache_find(sm_plan_cache *cache, const sm_segment *segment, sm_plan_key *key) {
  bool same_form = false;
  void *plan = make_key(segment, cache->allocator, key) ? use_plan(cache, key, &same_form) : NULL;
  sm_count(plan ? &cache->counters->plan_hits : &cache->counters->explorations, 1);
  if (!plan && same_form) sm_count(&cache->counters->guard_misses, 1);
  return plan;
}

/* --- Adding ------------------------------------------------------------------------------------ */

static sm_plan_node *new_node(const sm_plan_cache *cache, const sm_segment *segment, const sm_plan_key *key,
                              void *plan) {
  size_t len = key->words.len;
  sm_plan_node *node = len ? sm_alloc(cache->allocator, node_bytes(len)) : NULL;
  if (!node) return NULL;
  *node = (sm_plan_node){
      .plan = plan, .hash = key->hash, .n_records = segment->ops.len, .form_len = key->form_len, .len = len};
  memcpy(node->words, key->words.items, len * sizeof *node->words);
  return node;
}

static void link_node(sm_plan_cache *cache, sm_plan_node *node) {
  sm_plan_node **bucket = bucket_of(cache, node->hash);
  node->next = *bucket;
  *bucket = node;
  link_newest(cache, node);
  cache->n_plans++;
  cache->n_records += node->n_records;
  cache->sharing.retain(node->plan);
}

static void make_room(sm_plan_cache *cache, sm_plan_node **gone) {
  while (cache->oldest != cache->newest &&
         (cache->n_plans > cache->limits.plans || cache->n_records > cache->limits.records))
    remove_node(cache, cache->oldest, gone);
}

bool sm_plan_cache_add(sm_plan_cache *cache, const sm_segment *segment, const sm_plan_key *key, void *plan) {
  bool same_form = false;
  sm_plan_node *gone = NULL, *node = new_node(cache, segment, key, plan);
  if (!node) return false;
  sm_lock(&cache->lock);
  bool first = !find_node(cache, key, &same_form);
  if (first) link_node(cache, node);
  make_room(cache, &gone);
  sm_unlock(&cache->lock);
  free_nodes(cache, gone);
  if (!first) sm_free(cache->allocator, node, node_bytes(node->len));
  return first;
}
