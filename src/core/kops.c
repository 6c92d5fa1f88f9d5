/* SPDX-License-Identifier: Apache-2.0 */
#include "core/kops.h"

#include <string.h>

static const sm_kop_info infos[SM_KOP_COUNT] = {
    [SM_KOP_NONE] = {.name = "none"},
#define KOP(id, name_, arity_, result_, cost_) \
  [SM_KOP_##id] = {.name = name_, .arity = arity_, .result = SM_RESULT_##result_, .cost = cost_},
#include "core/kops_rows.h"
};

const sm_kop_info *sm_kop_info_of(sm_kop kop) { return &infos[kop]; }

sm_kop sm_kop_find(const char *name, size_t n) {
  for (int k = 1; k < SM_KOP_COUNT; k++) {
    if (strlen(infos[k].name) == n && memcmp(infos[k].name, name, n) == 0) return (sm_kop)k;
  }
  return SM_KOP_NONE;
}

sm_kop_loop *sm_kop_eval(sm_kop kop, smelt_dtype in, smelt_dtype out) {
  return sm_kop_eval_baseline(kop, in, out);
}

sm_kop_loop *sm_kop_eval_level(sm_cpu_level level, sm_kop kop, smelt_dtype in, smelt_dtype out) {
  static sm_kop_loop *(*const by_level[SM_CPU_LEVEL_COUNT])(sm_kop, smelt_dtype, smelt_dtype) = {
    [SM_CPU_BASELINE] = sm_kop_eval_baseline,
#if defined(__x86_64__)
    [SM_CPU_AVX2] = sm_kop_eval_avx2,
    [SM_CPU_AVX512] = sm_kop_eval_avx512,
#elif defined(__aarch64__)
    [SM_CPU_NEON] = sm_kop_eval_baseline, /* compilers use its instructions anyway */
#endif
  };
  return by_level[level](kop, in, out);
}
