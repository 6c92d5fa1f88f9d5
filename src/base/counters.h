/* SPDX-License-Identifier: Apache-2.0
 *
 * Counters of one context. Every module adds to its own; the public
 * smelt_counters is filled from here, but for what streams count: operations, and the
 * references of threads that have one. */
#ifndef SM_BASE_COUNTERS_H
#define SM_BASE_COUNTERS_H

#include <stdatomic.h>
#include <stdint.h>

typedef struct sm_counters {
  _Atomic uint64_t segments, launches, kernels_compiled;
  _Atomic uint64_t explorations, plan_hits, guard_misses;
  _Atomic uint64_t bytes_read, bytes_written, in_place_writes, misuses, live_references;
} sm_counters;

static inline void sm_count(_Atomic uint64_t *counter, uint64_t n) {
  atomic_fetch_add_explicit(counter, n, memory_order_relaxed);
}

#endif
