/* SPDX-License-Identifier: Apache-2.0
 *
 * The plans of a device, by what segments they are for.
 *
 * Purpose. A program that does the same work again must not plan again. The cache
 * maps a segment's relative form and size order (ir/relative.h), its *key*, to a *plan*,
 * which is the executor's own and opaque here. Plans are shared: by the cache and by
 * the threads that run them.
 *
 * Vocabulary. A *hit* finds a plan. A *guard miss* finds the form, but only with
 * other size orders. An *exploration* is a search for a new plan; it follows every
 * lookup that is no hit.
 *
 * Invariants. Hashes only choose the bucket, the words are compared in full. A hit
 * allocates nothing once the longest form has been seen. The number of plans and the
 * records in them are bounded; the plan that was not used for the longest time goes
 * first. Any thread may use the cache; the lock is held for lookups only, and not while
 * plans are freed. */
#ifndef SM_STREAM_PLAN_CACHE_H
#define SM_STREAM_PLAN_CACHE_H

#include "base/counters.h"
#include "base/thread.h"
#include "ir/relative.h"

typedef struct sm_plan_node sm_plan_node;

enum { SM_PLAN_BUCKETS = 1024 };

typedef struct sm_plan_limits {
  size_t plans, records;
} sm_plan_limits;

/* How plans are shared. */
typedef struct sm_plan_sharing {
  void (*retain)(void *plan);
  void (*release)(void *plan); /* the last one frees it */
} sm_plan_sharing;

typedef struct sm_plan_key {
  sm_words words; /* the form, then the size order; empty: there was no memory */
  size_t form_len;
  uint64_t hash; /* of the form */
} sm_plan_key;

typedef struct sm_plan_cache {
  const sm_allocator *allocator;
  sm_counters *counters;
  sm_plan_sharing sharing;
  sm_plan_limits limits;
  sm_mutex lock; /* guards: */
  sm_plan_node *buckets[SM_PLAN_BUCKETS];
  sm_plan_node *newest, *oldest; /* by last use */
  size_t n_plans, n_records;
} sm_plan_cache;

/* False if the lock cannot be made. */
bool sm_plan_cache_init(sm_plan_cache *cache, const sm_allocator *allocator, sm_counters *counters,
                        sm_plan_sharing sharing);
/* Releases every plan. */
void sm_plan_cache_free(sm_plan_cache *cache);

/* The plan for this segment, retained for the caller; NULL if there is none. Makes
 * `key`, whose memory (zeroed at first) is used again. */
void *sm_plan_cache_find(sm_plan_cache *cache, const sm_segment *segment, sm_plan_key *key);

/* Retains `plan` for segments with this key, and releases others beyond the limits.
 * False, and nothing is kept, if memory is exhausted or another thread was first. */
bool sm_plan_cache_add(sm_plan_cache *cache, const sm_segment *segment, const sm_plan_key *key, void *plan);

static inline void sm_plan_key_free(sm_plan_key *key, const sm_allocator *allocator) {
  sm_vec_free(allocator, &key->words);
}

#endif
