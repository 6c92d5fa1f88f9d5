/* SPDX-License-Identifier: Apache-2.0
 *
 * A 128-bit running hash for the identity of kernels and plans.
 *
 * Two independent 64-bit lanes, each a multiply-xorshift mix of 8-byte words
 * (the finaliser constants are those of MurmurHash3, public domain). Not
 * cryptographic: files that matter are also compared in full. The value is the
 * same on every machine. */
#ifndef SM_BASE_HASH_H
#define SM_BASE_HASH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct sm_hash {
  uint64_t lo, hi;
} sm_hash;

sm_hash sm_hash_start(void);
void sm_hash_u64(sm_hash *h, uint64_t word);
/* Length first, then the bytes as little-endian words. */
void sm_hash_bytes(sm_hash *h, const void *data, size_t n);
static inline bool sm_hash_equal(sm_hash a, sm_hash b) { return a.lo == b.lo && a.hi == b.hi; }

#endif
