/* SPDX-License-Identifier: Apache-2.0 */
#include "core/cpu_level.h"

#include <stdbool.h>

#if defined(__x86_64__)
sm_cpu_level sm_cpu_detect(void) {
  __builtin_cpu_init();
  bool avx2 =
      __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("bmi2");
  bool avx512 = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl") &&
                __builtin_cpu_supports("avx512cd");
  return avx2 && avx512 ? SM_CPU_AVX512 : avx2 ? SM_CPU_AVX2 : SM_CPU_BASELINE;
}
#else
sm_cpu_level sm_cpu_detect(void) { return SM_CPU_BASELINE; }
#endif

const char *sm_cpu_level_name(sm_cpu_level level) {
  static const char *const names[] = {"baseline", "avx2", "avx512"};
  return names[level];
}

int sm_cpu_vector_bytes(sm_cpu_level level) {
  static const int bytes[] = {16, 32, 64};
  return bytes[level];
}
