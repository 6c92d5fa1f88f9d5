/* SPDX-License-Identifier: Apache-2.0
 *
 * Fixed-size sets of small integers, as words the caller allocated with
 * sm_bitset_words(n) zeroed uint64_t. */
#ifndef SM_BASE_BITSET_H
#define SM_BASE_BITSET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

static inline size_t sm_bitset_words(size_t n) { return (n + 63) / 64; }
static inline void sm_bitset_add(uint64_t *set, size_t i) { set[i / 64] |= (uint64_t)1 << (i % 64); }
static inline bool sm_bitset_has(const uint64_t *set, size_t i) { return set[i / 64] >> (i % 64) & 1; }
static inline void sm_bitset_union(uint64_t *into, const uint64_t *from, size_t words) {
  for (size_t w = 0; w < words; w++) into[w] |= from[w];
}

#endif
