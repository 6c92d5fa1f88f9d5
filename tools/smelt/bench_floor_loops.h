/* SPDX-License-Identifier: Apache-2.0
 *
 * The loops of the floors, for one level of processors.
 *
 * Included once for each level, by bench_floor_levels.c, which defines what a
 * vector is and what can be done with it:
 *
 *   LOOP(name), HELPER(name)   begin of a function: attributes, and its name for this level
 *   VEC, LANES, FLIGHT         type, elements, how many vectors fit into registers and
 *                              hide each other's latency (of the chain, of functions)
 *   UNROLL                     before a loop that is to be unrolled
 *   LOAD STREAM STORE SET FMA MAX ABS SQRT ROUND SCALE(x, n): x * 2^n for whole n
 *
 * They are undefined at the end. The operators + - * / work on VEC. `begin` and `end` are multiples of
 * BENCH_BLOCK, which is a multiple of LANES * FLIGHT and of LANES * SUMS. */

LOOP(r1w1) {
  const float *x = work->in[0];
  for (size_t i = begin; i < end; i += LANES) STREAM(work->out + i, LOAD(x + i));
}

LOOP(r2w1) {
  const float *a = work->in[0], *b = work->in[1];
  for (size_t i = begin; i < end; i += LANES) STREAM(work->out + i, LOAD(a + i) * LOAD(b + i));
}

LOOP(r3w1) {
  const float *a = work->in[0], *b = work->in[1], *c = work->in[2];
  for (size_t i = begin; i < end; i += LANES) STREAM(work->out + i, LOAD(a + i) * LOAD(b + i) + LOAD(c + i));
}

LOOP(r3w1over) {
  const float *b = work->in[1], *c = work->in[2];
  float *a = work->out;
  for (size_t i = begin; i < end; i += LANES) STORE(a + i, LOAD(a + i) * LOAD(b + i) + LOAD(c + i));
}

/* One statement for all vectors in flight; they stay in registers. */
#define EACH(statement) \
  UNROLL for (int u = 0; u < FLIGHT; u++) { statement; }

LOOP(chain64) {
  const float *x = work->in[0], *scalars = work->scalars;
  for (size_t i = begin; i < end; i += (size_t)LANES * FLIGHT) {
    VEC v[FLIGHT];
    EACH(v[u] = LOAD(x + i + (size_t)u * LANES))
    for (int k = 0; k < BENCH_SCALARS; k += 2) {
      VEC m = SET(scalars[k]), a = SET(scalars[k + 1]);
      EACH(v[u] = v[u] * m)
      EACH(v[u] = v[u] + a)
    }
    EACH(STREAM(work->out + i + (size_t)u * LANES, v[u]))
  }
}

/* 2^n e^r with r = x - n ln 2, and the series of e^r up to r^6. For |x| < 87. */
HELPER(exp)(VEC x) {
  VEC n = ROUND(x * SET(1.44269504f));
  VEC r = FMA(n, SET(-0.693145752f), x);
  r = FMA(n, SET(-1.42860677e-6f), r);
  VEC p = FMA(r, SET(1.f / 720), SET(1.f / 120));
  p = FMA(p, r, SET(1.f / 24));
  p = FMA(p, r, SET(1.f / 6));
  p = FMA(p, r, SET(0.5f));
  p = FMA(p, r, SET(1.f));
  p = FMA(p, r, SET(1.f));
  return SCALE(p, n);
}

/* 1 - 2 / (e^2x + 1). For |x| < 43. */
HELPER(tanh)(VEC x) { return SET(1.f) - SET(2.f) / (CALL(exp)(x + x) + SET(1.f)); }

/* Half the vectors of the chain: functions need registers for their constants. */
#define EACH2(statement) \
  UNROLL for (int u = 0; u < FLIGHT / 2; u++) { statement; }

LOOP(mixed65) {
  const float *x = work->in[0];
  for (size_t i = begin; i < end; i += (size_t)LANES * FLIGHT / 2) {
    VEC v[FLIGHT / 2];
    EACH2(v[u] = LOAD(x + i + (size_t)u * LANES))
    for (int k = 0; k < 8; k++) {
      const float *scalars = work->scalars + 4 * k;
      EACH2(v[u] = v[u] * SET(scalars[0]))
      EACH2(v[u] = v[u] + SET(scalars[1]))
      EACH2(v[u] = CALL(exp)(v[u]))
      EACH2(v[u] = v[u] - SET(scalars[2]))
      EACH2(v[u] = MAX(v[u], SET(scalars[3])))
      EACH2(v[u] = ABS(v[u]))
      EACH2(v[u] = CALL(tanh)(v[u]))
      EACH2(v[u] = SQRT(v[u]))
    }
    EACH2(v[u] = v[u] * SET(work->scalars[32]))
    EACH2(STREAM(work->out + i + (size_t)u * LANES, v[u]))
  }
}
#undef EACH
#undef EACH2

#include "bench_floor_rows.h"

#undef LEVEL
#undef TARGET
#undef VEC
#undef LANES
#undef FLIGHT
#undef LOAD
#undef STREAM
#undef STORE
#undef SET
#undef FMA
#undef MAX
#undef ABS
#undef SQRT
#undef ROUND
#undef SCALE
