/* SPDX-License-Identifier: Apache-2.0 */
#include "core/cpu_level.h"

#if defined(__aarch64__) && defined(__linux__)
#include <sys/auxv.h>
#endif

static const struct {
  const char *name;
  int vector_bytes;
} levels[SM_CPU_LEVEL_COUNT] = {
    [SM_CPU_BASELINE] = {"baseline", 16},
    [SM_CPU_AVX2] = {"avx2", 32},
    [SM_CPU_AVX512] = {"avx512", 64},
    [SM_CPU_NEON] = {"neon", 16},
};

#if defined(__x86_64__)

static bool has_avx2(void) {
  return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("bmi2");
}

static bool has_avx512(void) {
  return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
         __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl") &&
         __builtin_cpu_supports("avx512cd");
}

static bool has_more(sm_cpu_level level) {
  __builtin_cpu_init();
  return (level == SM_CPU_AVX2 || level == SM_CPU_AVX512) && has_avx2() &&
         (level == SM_CPU_AVX2 || has_avx512());
}

#elif defined(__aarch64__) && defined(__linux__)

/* From Linux' table of processor features, <asm/hwcap.h>. */
enum { HAS_FP = 1 << 0, HAS_ASIMD = 1 << 1 };

static bool has_more(sm_cpu_level level) {
  const unsigned long needed = HAS_FP | HAS_ASIMD;
  bool little_endian = __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__;
  return level == SM_CPU_NEON && little_endian && (getauxval(AT_HWCAP) & needed) == needed;
}

#else

static bool has_more(sm_cpu_level level) {
  (void)level;
  return false;
}

#endif

bool sm_cpu_supports(sm_cpu_level level) { return level == SM_CPU_BASELINE || has_more(level); }

sm_cpu_level sm_cpu_detect(void) {
  sm_cpu_level best = SM_CPU_BASELINE;
  for (sm_cpu_level level = best; level < SM_CPU_LEVEL_COUNT; level++) {
    if (sm_cpu_supports(level)) best = level;
  }
  return best;
}

const char *sm_cpu_level_name(sm_cpu_level level) { return levels[level].name; }

int sm_cpu_vector_bytes(sm_cpu_level level) { return levels[level].vector_bytes; }
