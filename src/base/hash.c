/* SPDX-License-Identifier: Apache-2.0 */
#include "base/hash.h"

sm_hash sm_hash_start(void) { return (sm_hash){0x736d656c74000001u, 0x6675736500000001u}; }

static uint64_t mix(uint64_t x) {
  x ^= x >> 33;
  x *= 0xff51afd7ed558ccdu;
  x ^= x >> 33;
  x *= 0xc4ceb9fe1a85ec53u;
  return x ^ (x >> 33);
}

void sm_hash_u64(sm_hash *h, uint64_t word) {
  h->lo = mix(h->lo ^ word) + 0x9e3779b97f4a7c15u;
  h->hi = mix(h->hi + word * 0xd6e8feb86659fd93u) ^ h->lo >> 7;
}

void sm_hash_bytes(sm_hash *h, const void *data, size_t n) {
  const unsigned char *p = data;
  sm_hash_u64(h, n);
  for (size_t i = 0; i < n; i += 8) {
    uint64_t word = 0;
    for (size_t k = 0; k < 8 && i + k < n; k++) word |= (uint64_t)p[i + k] << (8 * k);
    sm_hash_u64(h, word);
  }
}
