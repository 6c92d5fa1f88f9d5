/* SPDX-License-Identifier: Apache-2.0
 *
 * Functions that bodies of kops.def are written with, where one expression is
 * not enough. Everything here is inline and pure. */
#ifndef SM_CORE_KOP_FUNCTIONS_H
#define SM_CORE_KOP_FUNCTIONS_H

#include <math.h>
#include <stdint.h>
#include <string.h>

/* The bits of a float, and back. */
static inline uint32_t sm_kop_BITCAST_U32_F32(float a) {
  uint32_t bits;
  memcpy(&bits, &a, sizeof bits);
  return bits;
}

static inline float sm_kop_BITCAST_F32_U32(uint32_t bits) {
  float a;
  memcpy(&a, &bits, sizeof a);
  return a;
}

static inline uint64_t sm_kop_BITCAST_U64_F64(double a) {
  uint64_t bits;
  memcpy(&bits, &a, sizeof bits);
  return bits;
}

static inline double sm_kop_BITCAST_F64_U64(uint64_t bits) {
  double a;
  memcpy(&a, &bits, sizeof a);
  return a;
}

/* 2^n for an integral n from -126 to 127 (-1022 to 1023), otherwise any value:
 * the sum's lowest bits are the exponent. */
static inline float sm_power_of_2f(float n) {
  return sm_kop_BITCAST_F32_U32(sm_kop_BITCAST_U32_F32(n + (0x1.8p23f + 127)) << 23);
}

static inline double sm_power_of_2(double n) {
  return sm_kop_BITCAST_F64_U64(sm_kop_BITCAST_U64_F64(n + (0x1.8p52 + 1023)) << 52);
}

static inline float sm_ldexpf(float a, float b) {
  float half = floorf(b * 0.5f);
  return a * sm_power_of_2f(half) * sm_power_of_2f(b - half);
}

static inline double sm_ldexp(double a, double b) {
  double half = floor(b * 0.5);
  return a * sm_power_of_2(half) * sm_power_of_2(b - half);
}

/* Integer power modulo 2^64, by squaring. */
static inline uint64_t sm_pow_u64(uint64_t base, uint64_t exponent) {
  uint64_t result = 1;
  for (; exponent; exponent >>= 1, base *= base) {
    if (exponent & 1) result *= base;
  }
  return result;
}

/* A negative exponent gives the truncated real result: ±1 for a base of ±1,
 * otherwise 0 (0 to a negative power too). */
static inline int64_t sm_pow_i64(int64_t base, int64_t exponent) {
  if (exponent >= 0) return (int64_t)sm_pow_u64((uint64_t)base, (uint64_t)exponent);
  if (base == 1) return 1;
  if (base == -1) return exponent % 2 ? -1 : 1;
  return 0;
}

/* One Philox 4x32-10 block; half 0 is words 0 and 1, half 1 words 2 and 3, the
 * lower word in the lower bits. */
static inline uint64_t sm_philox(uint64_t index, uint64_t call, uint64_t key, int half) {
  uint32_t c0 = (uint32_t)index, c1 = (uint32_t)(index >> 32);
  uint32_t c2 = (uint32_t)call, c3 = (uint32_t)(call >> 32);
  uint32_t k0 = (uint32_t)key, k1 = (uint32_t)(key >> 32);
  for (int round = 0; round < 10; round++) {
    uint64_t p0 = (uint64_t)0xD2511F53u * c0, p1 = (uint64_t)0xCD9E8D57u * c2;
    uint32_t n0 = (uint32_t)(p1 >> 32) ^ c1 ^ k0, n2 = (uint32_t)(p0 >> 32) ^ c3 ^ k1;
    c1 = (uint32_t)p1;
    c3 = (uint32_t)p0;
    c0 = n0;
    c2 = n2;
    k0 += 0x9E3779B9u;
    k1 += 0xBB67AE85u;
  }
  return half ? (uint64_t)c3 << 32 | c2 : (uint64_t)c1 << 32 | c0;
}

#endif
