/* SPDX-License-Identifier: Apache-2.0
 *
 * What the processor offers, as the few levels that code is generated for.
 *
 * A level belongs to one architecture, except for the baseline, which every
 * processor has; those of one architecture stand in order, each includes the
 * ones before. The list of features that belongs to a level is our own: it goes
 * to the code generator and into cache keys, so a cached kernel never depends on
 * how a compiler names processors. */
#ifndef SM_CORE_CPU_LEVEL_H
#define SM_CORE_CPU_LEVEL_H

#include <stdbool.h>

typedef enum sm_cpu_level {
  SM_CPU_BASELINE, /* interpreted only */
  SM_CPU_AVX2,     /* x86-64: AVX2, FMA, F16C, BMI */
  SM_CPU_AVX512,   /* x86-64: AVX-512 F, BW, DQ, VL, CD */
  SM_CPU_NEON,     /* little-endian AArch64: Advanced SIMD, of which FMA is a part */
  SM_CPU_LEVEL_COUNT
} sm_cpu_level;

/* Whether this processor and its system support the level. Thread-safe. */
bool sm_cpu_supports(sm_cpu_level level);
/* The best level they support. Thread-safe. */
sm_cpu_level sm_cpu_detect(void);
/* "baseline", "avx2", "avx512", "neon". */
const char *sm_cpu_level_name(sm_cpu_level level);
/* Widest vector in bytes; 16 for the baseline. */
int sm_cpu_vector_bytes(sm_cpu_level level);

#endif
