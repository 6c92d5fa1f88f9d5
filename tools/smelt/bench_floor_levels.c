/* SPDX-License-Identifier: Apache-2.0
 *
 * The loops of the floors for each level of processors. */
#include <math.h>
#include <string.h>

#include "bench_floor_work.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#define PASTE_(a, b) a##_##b
#define PASTE(a, b) PASTE_(a, b)
#define CALL(name) PASTE(name, LEVEL)
#define LOOP(name) TARGET static void CALL(name)(const bench_floor_work *work, size_t begin, size_t end)
#define HELPER_OF(type, name) TARGET static inline __attribute__((always_inline)) type CALL(name)
#define HELPER(name) HELPER_OF(VEC, name)
#define ALIGNED _Alignas(64)
#define FETCH(p) __builtin_prefetch(p)
enum { SUMS = 4, ROW_BUFFER = 16384 };

#if defined(__clang__)
#define UNROLL _Pragma("clang loop unroll(full)")
#else
#define UNROLL _Pragma("GCC unroll 16")
#endif

/* --- Any processor: one element at a time -------------------------------------------- */

static inline float scale_float(float x, float n) {
  uint32_t bits = (uint32_t)((int32_t)n + 127) << 23;
  float power;
  memcpy(&power, &bits, sizeof power);
  return x * power;
}

#define LEVEL baseline
#define TARGET
#define VEC float
#define LANES 1
#define FLIGHT 16
#define LOAD(p) (*(p))
#define STREAM(p, v) (*(p) = (v))
#define STORE(p, v) (*(p) = (v))
#define SET(s) (s)
#define FMA(a, b, c) ((a) * (b) + (c))
#define MAX(a, b) ((a) > (b) ? (a) : (b))
#define ABS(v) fabsf(v)
#define SQRT(v) sqrtf(v)
#define ROUND(v) rintf(v)
#define SCALE(x, n) scale_float(x, n)
#include "bench_floor_loops.h"

#if defined(__x86_64__)

/* --- AVX2 and FMA --------------------------------------------------------------------- */

#define LEVEL avx2
#define TARGET __attribute__((target("avx2,fma")))
#define VEC __m256
#define LANES 8
#define FLIGHT 8
#define LOAD(p) _mm256_load_ps(p)
#define STREAM(p, v) _mm256_stream_ps(p, v)
#define STORE(p, v) _mm256_store_ps(p, v)
#define SET(s) _mm256_set1_ps(s)
#define FMA(a, b, c) _mm256_fmadd_ps(a, b, c)
#define MAX(a, b) _mm256_max_ps(a, b)
#define ABS(v) _mm256_andnot_ps(SET(-0.f), v)
#define SQRT(v) _mm256_sqrt_ps(v)
#define ROUND(v) _mm256_round_ps(v, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC)
#define SCALE(x, n) scale_avx2(x, n)

TARGET static inline __attribute__((always_inline)) VEC scale_avx2(VEC x, VEC n) {
  __m256i exponent = _mm256_add_epi32(_mm256_cvtps_epi32(n), _mm256_set1_epi32(127));
  return x * _mm256_castsi256_ps(_mm256_slli_epi32(exponent, 23));
}
#include "bench_floor_loops.h"

/* --- AVX-512 ----------------------------------------------------------------------------- */

#define LEVEL avx512
#define TARGET __attribute__((target("avx512f")))
#define VEC __m512
#define LANES 16
#define FLIGHT 16
#define LOAD(p) _mm512_load_ps(p)
#define STREAM(p, v) _mm512_stream_ps(p, v)
#define STORE(p, v) _mm512_store_ps(p, v)
#define SET(s) _mm512_set1_ps(s)
#define FMA(a, b, c) _mm512_fmadd_ps(a, b, c)
#define MAX(a, b) _mm512_max_ps(a, b)
#define ABS(v) _mm512_abs_ps(v)
#define SQRT(v) _mm512_sqrt_ps(v)
/* A macro without optimisation, whose mask changes its sign. */
#pragma GCC diagnostic ignored "-Wsign-conversion"
#define ROUND(v) _mm512_roundscale_ps(v, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC)
#define SCALE(x, n) _mm512_scalef_ps(x, n)
#include "bench_floor_loops.h"

#endif

/* --- The table ------------------------------------------------------------------------------ */

bench_floor_loop *bench_floor_find(bench_floor_kind kind, sm_cpu_level level) {
  static bench_floor_loop *const loops[][BENCH_FLOOR_COUNT] = {
#define BENCH_FLOOR(name, form, inputs) name##_baseline,
    {
#include "bench_floors.def"
    },
#undef BENCH_FLOOR
#if defined(__x86_64__)
#define BENCH_FLOOR(name, form, inputs) name##_avx2,
    {
#include "bench_floors.def"
    },
#undef BENCH_FLOOR
#define BENCH_FLOOR(name, form, inputs) name##_avx512,
    {
#include "bench_floors.def"
    },
#undef BENCH_FLOOR
#endif
  };
  enum { LEVELS = sizeof loops / sizeof loops[0] };
  return loops[(int)level < LEVELS ? (int)level : LEVELS - 1][kind];
}
