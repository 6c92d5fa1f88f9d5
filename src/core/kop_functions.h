/* SPDX-License-Identifier: Apache-2.0
 *
 * Functions that bodies of kops.def are written with, where one expression is
 * not enough. Everything here is inline and pure. */
#ifndef SM_CORE_KOP_FUNCTIONS_H
#define SM_CORE_KOP_FUNCTIONS_H

#include <math.h>
#include <stdint.h>

/* Python's %: exact, sign of the divisor, a zero result too. */
static inline double sm_floor_rem(double a, double b) {
  double r = fmod(a, b);
  if (r == 0) return copysign(0.0, b);
  return (r < 0) != (b < 0) ? r + b : r;
}

static inline float sm_floor_remf(float a, float b) {
  float r = fmodf(a, b);
  if (r == 0) return copysignf(0.0f, b);
  return (r < 0) != (b < 0) ? r + b : r;
}

/* 1/(1+exp(-x)) without overflow on the negative side. */
static inline double sm_sigmoid(double x) {
  if (x >= 0) return 1 / (1 + exp(-x));
  double e = exp(x);
  return e / (1 + e);
}

static inline float sm_sigmoidf(float x) {
  if (x >= 0) return 1 / (1 + expf(-x));
  float e = expf(x);
  return e / (1 + e);
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
