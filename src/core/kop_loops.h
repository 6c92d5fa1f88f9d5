/* SPDX-License-Identifier: Apache-2.0
 *
 * The loops of one element type, for kop_types.h. No include guard: kops.c
 * includes it once for each dtype. */

/* --- Bodies of kops.def ----------------------------------------------------- */
#define DECLARE_SAME(id, body) DECLARE_LOOP(id, T, body)
#define DECLARE_TEST(id, body) DECLARE_LOOP(id, bool, body)
#ifdef CLASS_FLOAT
#define KOP_FLOAT(id, body) DECLARE_SAME(id, body)
#define KOP_FLOAT_TEST(id, body) DECLARE_TEST(id, body)
#define KOP_FUNCTION(id, body) DECLARE_SAME(id, body)
#endif
#ifdef CLASS_SINT
#define KOP_SINT(id, body) DECLARE_SAME(id, body)
#endif
#ifdef CLASS_UINT
#define KOP_UINT(id, body) DECLARE_SAME(id, body)
#endif
#if defined(CLASS_SINT) || defined(CLASS_UINT)
#define KOP_INT(id, body) DECLARE_SAME(id, body)
#define KOP_INT_TEST(id, body) DECLARE_TEST(id, body)
#endif
#ifdef CLASS_BOOL
#define KOP_BOOL(id, body) DECLARE_SAME(id, body)
#endif
#ifdef CLASS_U64
#define KOP_U64(id, body) DECLARE_SAME(id, body)
#endif
#include "core/kops_rows.h"

/* --- Choice ------------------------------------------------------------------ */
DEFINE_LOOP(LOOP(SELECT), 3, T, bool, T, T, a ? b : c)

/* --- Casts to this type -------------------------------------------------------- */
#define DECLARE_CAST(id, ctype, kind, value) \
  DEFINE_LOOP(KOP_CAT(KOP_CAT(cast, id), D), 1, T, ctype, bool, bool, CAST_BODY(kind, value))
#define DTYPE(id, value, name, ctype, kind, npy) DECLARE_CAST(id, ctype, kind, a)
#define HALF_DTYPE(id, value, name, ctype, kind, npy) DECLARE_CAST(id, ctype, kind, WIDEN_##id(a))
#include "smelt/dtype.def"
#undef DTYPE

static sm_kop_loop *const KOP_CAT(casts, D)[SM_DTYPE_LIMIT] = {
#define DTYPE(id, value, name, ctype, kind, npy) [SMELT_##id] = KOP_CAT(KOP_CAT(cast, id), D),
#include "smelt/dtype.def"
#undef DTYPE
};

DEFINE_LOOP(LOOP(BITCAST), 1, T, T, bool, bool, a)

/* --- Random bits to the unit interval -------------------------------------------- */
#define UNIT_VALUE(F) ((F)(a >> (64 - UNIT_BITS)) * ((F)1 / (F)((uint64_t)1 << UNIT_BITS)))
#ifdef CLASS_FLOAT
DEFINE_LOOP(KOP_CAT(loop_unit, D), 1, T, uint64_t, bool, bool, UNIT_VALUE(T))
#endif
#ifdef CLASS_HALF
DEFINE_LOOP(KOP_CAT(loop_unit, D), 1, T, uint64_t, bool, bool, NARROW(UNIT_VALUE(float)))
#endif

/* --- The table --------------------------------------------------------------------- */
static sm_kop_loop *const KOP_CAT(loops, D)[SM_KOP_COUNT] = {
    [SM_KOP_SELECT] = LOOP(SELECT),
#define ENTER(id) [SM_KOP_##id] = LOOP(id),
#ifdef CLASS_FLOAT
#define KOP_FLOAT(id, body) ENTER(id)
#define KOP_FLOAT_TEST(id, body) ENTER(id)
#define KOP_FUNCTION(id, body) ENTER(id)
#endif
#ifdef CLASS_SINT
#define KOP_SINT(id, body) ENTER(id)
#endif
#ifdef CLASS_UINT
#define KOP_UINT(id, body) ENTER(id)
#endif
#if defined(CLASS_SINT) || defined(CLASS_UINT)
#define KOP_INT(id, body) ENTER(id)
#define KOP_INT_TEST(id, body) ENTER(id)
#endif
#ifdef CLASS_BOOL
#define KOP_BOOL(id, body) ENTER(id)
#endif
#ifdef CLASS_U64
#define KOP_U64(id, body) ENTER(id)
#endif
#include "core/kops_rows.h"
};

#undef DECLARE_SAME
#undef DECLARE_TEST
#undef DECLARE_CAST
#undef UNIT_VALUE
#undef ENTER
