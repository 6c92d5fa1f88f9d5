/* SPDX-License-Identifier: Apache-2.0
 *
 * The loops of one processor level: one per (kop, dtype), by including
 * kop_loops.h once for each element type. Included by one file a level, which
 * defines KOP_LEVEL and is compiled with that level's instructions. All levels
 * have the same bits: nothing here is contracted or reordered. */
#ifndef SM_CORE_KOP_LEVEL_H
#define SM_CORE_KOP_LEVEL_H

#include "core/functions_gen.h"
#include "core/kops.h"

/* The name of a loop: kop and dtype. */
#define LOOP(id) KOP_CAT(loop_##id, D)
#define DECLARE_LOOP(id, R, body)                                    \
  static void LOOP(id)(size_t n, void *out, const void *const *in) { \
    R *o = out;                                                      \
    const T *pa = in[0];                                             \
    const T *pb = ARITY_##id > 1 ? in[1] : pa;                       \
    const T *pc = ARITY_##id > 2 ? in[2] : pa;                       \
    for (size_t i = 0; i < n; i++) {                                 \
      T a = pa[i], b = pb[i], c = pc[i];                             \
      (void)a, (void)b, (void)c;                                     \
      o[i] = (R)(body);                                              \
    }                                                                \
  }
enum {
#define KOP(id, name, arity, result, cost) ARITY_##id = arity,
#include "core/kops_rows.h"
};

#define KOP_EACH_TYPE "core/kop_loops.h"
#include "core/kop_types.h"

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

static sm_kop_loop *const bitcast_loops[SM_DTYPE_LIMIT] = {
#define DTYPE(id, value, name, ctype, kind, npy) [SMELT_##id] = loop_BITCAST_##id,
#include "smelt/dtype.def"
#undef DTYPE
};

static sm_kop_loop *const unit_loops[SM_DTYPE_LIMIT] = {
    [SMELT_F16] = loop_unit_F16,
    [SMELT_BF16] = loop_unit_BF16,
    [SMELT_F32] = loop_unit_F32,
    [SMELT_F64] = loop_unit_F64,
};

/* Not every byte is a bool. */
static bool can_share_bits(smelt_dtype a, smelt_dtype b) {
  return smelt_dtype_size(a) == smelt_dtype_size(b) && a != SMELT_BOOL && b != SMELT_BOOL;
}

sm_kop_loop *KOP_LEVEL(sm_kop kop, smelt_dtype in, smelt_dtype out) {
  if (!sm_dtype_valid(in) || !sm_dtype_valid(out)) return NULL;
  if (kop == SM_KOP_CAST) return cast_loops[out][in];
  if (kop == SM_KOP_BITCAST) return can_share_bits(in, out) ? bitcast_loops[out] : NULL;
  if (kop == SM_KOP_UNIT) return in == SMELT_U64 ? unit_loops[out] : NULL;
  return sm_kop_result_dtype(kop, in) == out ? same_loops[in][kop] : NULL;
}

#endif
