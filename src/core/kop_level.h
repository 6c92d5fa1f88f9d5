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

/* Of a block's lanes, which are vectorised: operands and result may be the same
 * array, but no lane reads what another writes. */
#ifdef __clang__
#pragma clang diagnostic ignored "-Wpass-failed" /* some bodies have no vector form */
#define INDEPENDENT _Pragma("clang loop vectorize(assume_safety)")
#else
#define INDEPENDENT _Pragma("GCC ivdep")
#endif

#define LANE(arity, R, A, B, C, value) \
  A a = pa[i];                         \
  B b = (arity) > 1 ? pb[i] : (B)0;    \
  C c = (arity) > 2 ? pc[i] : (C)0;    \
  (void)a, (void)b, (void)c;           \
  o[i] = (R)(value);

/* The loop `name` for operands of types A, B and C, as many as `arity`. Uniform
 * operands stay where they are from block to block. The rest of a last block is no
 * vector code (the statement that is empty sees to it), which would triple the size
 * for what is one element most of the time. */
#define DEFINE_LOOP(name, arity, R, A, B, C, value)                                        \
  static void name(size_t n, void *out, const void *const *in, unsigned uniform) {         \
    R *o = out;                                                                            \
    const A *pa = in[0];                                                                   \
    const B *pb = (arity) > 1 ? in[1] : NULL;                                              \
    const C *pc = (arity) > 2 ? in[2] : NULL;                                              \
    const size_t sa = uniform & 1 ? 0 : SM_KOP_BLOCK, sb = uniform & 2 ? 0 : SM_KOP_BLOCK; \
    const size_t sc = uniform & 4 ? 0 : SM_KOP_BLOCK;                                      \
    for (; n >= SM_KOP_BLOCK; n -= SM_KOP_BLOCK, o += SM_KOP_BLOCK) {                      \
      INDEPENDENT                                                                          \
      for (size_t i = 0; i < SM_KOP_BLOCK; i++) {                                          \
        LANE(arity, R, A, B, C, value)                                                     \
      }                                                                                    \
      pa += sa;                                                                            \
      if ((arity) > 1) pb += sb;                                                           \
      if ((arity) > 2) pc += sc;                                                           \
    }                                                                                      \
    for (size_t i = 0; i < n; i++) {                                                       \
      LANE(arity, R, A, B, C, value)                                                       \
      __asm__ volatile("");                                                                \
    }                                                                                      \
  }

/* The name of a loop: kop and dtype. */
#define LOOP(id) KOP_CAT(loop_##id, D)
#define DECLARE_LOOP(id, R, body) DEFINE_LOOP(LOOP(id), ARITY_##id, R, T, T, T, body)
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
