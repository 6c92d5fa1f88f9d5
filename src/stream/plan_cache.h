/* SPDX-License-Identifier: Apache-2.0
 *
 * The plans of a device, by what segments they are for.
 *
 * Purpose. A program that does the same work again must not plan again. The cache
 * maps a segment's relative form and size order (ir/relative.h) to a *plan*, which is
 * the executor's own and opaque here.
 *
 * Vocabulary. A *hit* finds a plan. A *guard miss* finds the form, but only with
 * other size orders. An *exploration* is a search for a new plan; it follows every
 * lookup that is no hit.
 *
 * Invariants. Hashes only choose the bucket, the words are compared in full. A hit
 * allocates nothing once the longest form has been seen. The number of plans and the
 * records in them are bounded; the plan that was not used for the longest time goes
 * first. Used under the stream's lock. */
#ifndef SM_STREAM_PLAN_CACHE_H
#define SM_STREAM_PLAN_CACHE_H

#include "base/counters.h"
#include "ir/relative.h"

typedef struct sm_plan_node sm_plan_node;

enum { SM_PLAN_BUCKETS = 1024 };

typedef struct sm_plan_limits {
  size_t plans, records;
} sm_plan_limits;

typedef struct sm_plan_cache {
  const sm_allocator *allocator;
  sm_counters *counters;
  void (*discard)(void *plan); /* called for every plan that leaves the cache */
  sm_plan_limits limits;
  sm_plan_node *buckets[SM_PLAN_BUCKETS];
  sm_plan_node *newest, *oldest; /* by last use */
  size_t n_plans, n_records;
  sm_words words; /* of the segment that was looked up last: the form, then the size order */
  size_t form_len;
} sm_plan_cache;

void sm_plan_cache_init(sm_plan_cache *cache, const sm_allocator *allocator, sm_counters *counters,
                        void (*discard)(void *plan));
/* Discards every plan. */
void sm_plan_cache_free(sm_plan_cache *cache);

/* The plan for this segment, NULL if there is none. It stays valid until the next
 * call of sm_plan_cache_add or _free. `*known` is false if memory ran out; nothing
 * can be added for this segment then. */
void *sm_plan_cache_find(sm_plan_cache *cache, const sm_segment *segment, bool *known);

/* Keeps `plan` for the segment that was looked up last, and discards others beyond the
 * limits. False when memory is exhausted: the plan is still the caller's. */
bool sm_plan_cache_add(sm_plan_cache *cache, const sm_segment *segment, void *plan);

#endif
