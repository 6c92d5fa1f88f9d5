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
static void LOOP(SELECT)(size_t n, void *out, const void *const *in) {
  T *o = out;
  const bool *a = in[0];
  const T *b = in[1], *c = in[2];
  for (size_t i = 0; i < n; i++) o[i] = a[i] ? b[i] : c[i];
}

/* --- Casts to this type -------------------------------------------------------- */
#define DECLARE_CAST(id, ctype, kind, value)                                              \
  static void KOP_CAT(KOP_CAT(cast, id), D)(size_t n, void *out, const void *const *in) { \
    T *o = out;                                                                           \
    const ctype *a = in[0];                                                               \
    for (size_t i = 0; i < n; i++) o[i] = CAST_BODY(kind, value);                         \
  }
#define DTYPE(id, value, name, ctype, kind, npy) DECLARE_CAST(id, ctype, kind, a[i])
#define HALF_DTYPE(id, value, name, ctype, kind, npy) DECLARE_CAST(id, ctype, kind, WIDEN_##id(a[i]))
#include "smelt/dtype.def"
#undef DTYPE

static sm_kop_loop *const KOP_CAT(casts, D)[SM_DTYPE_LIMIT] = {
#define DTYPE(id, value, name, ctype, kind, npy) [SMELT_##id] = KOP_CAT(KOP_CAT(cast, id), D),
#include "smelt/dtype.def"
#undef DTYPE
};

static void LOOP(BITCAST)(size_t n, void *out, const void *const *in) { memmove(out, in[0], n * sizeof(T)); }

/* --- Random bits to the unit interval -------------------------------------------- */
#ifdef CLASS_FLOAT
static void KOP_CAT(loop_unit, D)(size_t n, void *out, const void *const *in) {
  T *o = out;
  const uint64_t *a = in[0];
  const T scale = (T)1 / (T)((uint64_t)1 << UNIT_BITS);
  for (size_t i = 0; i < n; i++) o[i] = (T)(a[i] >> (64 - UNIT_BITS)) * scale;
}
#endif
#ifdef CLASS_HALF
static void KOP_CAT(loop_unit, D)(size_t n, void *out, const void *const *in) {
  T *o = out;
  const uint64_t *a = in[0];
  const float scale = 1.0f / (float)(1 << UNIT_BITS);
  for (size_t i = 0; i < n; i++) o[i] = NARROW((float)(a[i] >> (64 - UNIT_BITS)) * scale);
}
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
#undef ENTER
