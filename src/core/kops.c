/* SPDX-License-Identifier: Apache-2.0
 *
 * One loop per (kop, dtype), by including kop_loops.h once for each element
 * type with the class of its bodies switched on. */
#include "core/kops.h"

#include <string.h>

#include "core/kop_functions.h"

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

#define LOOP_CAT2(a, b) a##_##b
#define LOOP_CAT(a, b) LOOP_CAT2(a, b)
/* The name of a loop: kop and dtype. */
#define LOOP(id) LOOP_CAT(loop_##id, D)
#define DECLARE_LOOP(id, R, body)                                        \
  static void LOOP(id)(size_t n, void *out, const void *const *in) {     \
    R *o = out;                                                          \
    const T *pa = in[0];                                                 \
    const T *pb = ARITY_##id > 1 ? in[1] : pa;                           \
    const T *pc = ARITY_##id > 2 ? in[2] : pa;                           \
    for (size_t i = 0; i < n; i++) {                                     \
      T a = pa[i], b = pb[i], c = pc[i];                                 \
      (void)a, (void)b, (void)c;                                         \
      o[i] = (R)(body);                                                 \
    }                                                                    \
  }
enum {
#define KOP(id, name, arity, result, cost) ARITY_##id = arity,
#include "core/kops_rows.h"
};

#define D BOOL
#define T bool
#define CLASS_BOOL 1
#include "core/kop_loops.h"

#define D I8
#define T int8_t
#define W uint32_t
#define BITS 8
#define T_MIN INT8_MIN
#define T_MAX INT8_MAX
#define CLASS_SINT 1
#include "core/kop_loops.h"

#define D I16
#define T int16_t
#define W uint32_t
#define BITS 16
#define T_MIN INT16_MIN
#define T_MAX INT16_MAX
#define CLASS_SINT 1
#include "core/kop_loops.h"

#define D I32
#define T int32_t
#define W uint32_t
#define BITS 32
#define T_MIN INT32_MIN
#define T_MAX INT32_MAX
#define CLASS_SINT 1
#include "core/kop_loops.h"

#define D I64
#define T int64_t
#define W uint64_t
#define BITS 64
#define T_MIN INT64_MIN
#define T_MAX INT64_MAX
#define CLASS_SINT 1
#include "core/kop_loops.h"

#define D U8
#define T uint8_t
#define W uint32_t
#define BITS 8
#define T_MIN 0
#define T_MAX UINT8_MAX
#define CLASS_UINT 1
#include "core/kop_loops.h"

#define D U16
#define T uint16_t
#define W uint32_t
#define BITS 16
#define T_MIN 0
#define T_MAX UINT16_MAX
#define CLASS_UINT 1
#include "core/kop_loops.h"

#define D U32
#define T uint32_t
#define W uint32_t
#define BITS 32
#define T_MIN 0
#define T_MAX UINT32_MAX
#define CLASS_UINT 1
#include "core/kop_loops.h"

#define D U64
#define T uint64_t
#define W uint64_t
#define BITS 64
#define T_MIN 0
#define T_MAX UINT64_MAX
#define CLASS_UINT 1
#define CLASS_U64 1
#include "core/kop_loops.h"

#define D F32
#define T float
#define FN(name) name##f
#define UNIT_BITS 24
#define CLASS_FLOAT 1
#include "core/kop_loops.h"

#define D F64
#define T double
#define FN(name) name
#define UNIT_BITS 53
#define CLASS_FLOAT 1
#include "core/kop_loops.h"

static sm_kop_loop *const *const same_loops[SM_DTYPE_LIMIT] = {
#define DTYPE(id, value, name, ctype, kind, npy) [SMELT_##id] = loops_##id,
#include "smelt/dtype.def"
#undef DTYPE
};

static sm_kop_loop *const *const cast_loops[SM_DTYPE_LIMIT] = {
#define DTYPE(id, value, name, ctype, kind, npy) [SMELT_##id] = casts_##id,
#include "smelt/dtype.def"
#undef DTYPE
};

static sm_kop_loop *const unit_loops[SM_DTYPE_LIMIT] = {
    [SMELT_F32] = loop_unit_F32,
    [SMELT_F64] = loop_unit_F64,
};

sm_kop_loop *sm_kop_eval(sm_kop kop, smelt_dtype in, smelt_dtype out) {
  if (!sm_dtype_valid(in) || !sm_dtype_valid(out)) return NULL;
  if (kop == SM_KOP_CAST) return cast_loops[out][in];
  if (kop == SM_KOP_UNIT) return in == SMELT_U64 ? unit_loops[out] : NULL;
  return sm_kop_result_dtype(kop, in) == out ? same_loops[in][kop] : NULL;
}
