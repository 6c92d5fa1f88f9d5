/* SPDX-License-Identifier: Apache-2.0
 *
 * The half types f16 (IEEE binary16) and bf16 (the upper half of an f32).
 *
 * Purpose. Nothing is computed in half types: a value is widened to f32, worked
 * on there, and rounded back. These conversions are the only place where that is
 * written in C; code generators reproduce their bits.
 *
 * Vocabulary. A half value is the uint16_t of its bits. *Widening* is exact.
 * *Narrowing* rounds to nearest, ties to even, once; what is too large becomes
 * infinite, denormals are kept, a NaN stays one: it keeps its sign and the upper
 * bits of its payload and becomes quiet, as F16C instructions have it. Widening
 * makes an f16 NaN quiet too, and leaves the bits of a bf16 alone. */
#ifndef SM_CORE_HALF_H
#define SM_CORE_HALF_H

#include <math.h>
#include <stdint.h>

#include "core/kop_functions.h"

/* --- f16 --------------------------------------------------------------------- */

static inline float sm_f16_to_f32(uint16_t a) {
  uint32_t sign = (uint32_t)(a & 0x8000) << 16, rest = a & 0x7fff, bits;
  if (rest >= 0x7c00) bits = 0x7f800000 | rest << 13 | (rest > 0x7c00 ? 0x400000 : 0);
  else if (rest >= 0x400) bits = (rest << 13) + ((127 - 15) << 23);
  else bits = sm_kop_BITCAST_U32_F32((float)rest * 0x1p-24f);
  return sm_kop_BITCAST_F32_U32(sign | bits);
}

static inline uint16_t sm_f16_from_f32(float a) {
  uint32_t bits = sm_kop_BITCAST_U32_F32(a), rest = bits & 0x7fffffff, result;
  if (rest > 0x7f800000) result = 0x7e00 | (rest >> 13 & 0x3ff);
  else if (rest >= 0x477ff000) result = 0x7c00; /* 65520, halfway to the next power of two */
  else if (rest >= 0x38800000) result = ((rest + 0xfff + (rest >> 13 & 1)) >> 13) - ((127 - 15) << 10);
  /* The last bit of numbers around 0.5 has the weight of f16's last. */
  else result = sm_kop_BITCAST_U32_F32(fabsf(a) + 0.5f) - 0x3f000000;
  return (uint16_t)((bits >> 16 & 0x8000) | result);
}

/* --- bf16 -------------------------------------------------------------------- */

static inline float sm_bf16_to_f32(uint16_t a) { return sm_kop_BITCAST_F32_U32((uint32_t)a << 16); }

static inline uint16_t sm_bf16_from_f32(float a) {
  uint32_t bits = sm_kop_BITCAST_U32_F32(a), top = bits >> 16;
  if (a != a) return (uint16_t)(top | 0x40);
  return (uint16_t)((bits + 0x7fff + (top & 1)) >> 16);
}

/* --- From f64 ------------------------------------------------------------------ */

/* Rounded to odd: an inexact result is the neighbour with an odd last bit. A
 * second rounding to a half type, which is at least two bits shorter, then gives
 * what rounding once would have given. */
static inline float sm_f32_odd_from_f64(double a) {
  float nearest = (float)a;
  uint32_t bits = sm_kop_BITCAST_U32_F32(nearest);
  double back = (double)nearest;
  if (back == a || a != a) return nearest;
  return sm_kop_BITCAST_F32_U32((bits - (fabs(back) > fabs(a))) | 1);
}

static inline uint16_t sm_f16_from_f64(double a) { return sm_f16_from_f32(sm_f32_odd_from_f64(a)); }
static inline uint16_t sm_bf16_from_f64(double a) { return sm_bf16_from_f32(sm_f32_odd_from_f64(a)); }

#endif
