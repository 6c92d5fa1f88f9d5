/* SPDX-License-Identifier: Apache-2.0
 *
 * The loops of one element type. The includer defines D (dtype), T (element
 * type) and what the bodies of its class need; everything is undefined at the
 * end. Included once per dtype by kops.c, so it has no include guard. */

#ifdef W
#define WRAP(e) ((T)(e))
#endif

/* --- Bodies of kops.def ----------------------------------------------------- */
#define DECLARE_SAME(id, body) DECLARE_LOOP(id, T, body)
#define DECLARE_TEST(id, body) DECLARE_LOOP(id, bool, body)
#ifdef CLASS_FLOAT
#define KOP_FLOAT(id, body) DECLARE_SAME(id, body)
#define KOP_FLOAT_TEST(id, body) DECLARE_TEST(id, body)
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
#if defined(CLASS_BOOL)
#define CAST_BODY(kind, v) ((v) != 0)
#elif defined(CLASS_FLOAT)
#define CAST_BODY(kind, v) ((T)(v))
#else
#define CAST_BODY(kind, v) CAST_FROM_##kind(v)
#define CAST_FROM_BOOL(v) ((T)(v))
#define CAST_FROM_SINT(v) ((T)(W)(v))
#define CAST_FROM_UINT(v) ((T)(W)(v))
/* The range is closed: T_MIN and 2^bits are exact as doubles. */
#define CAST_FROM_FLOAT(v)                     \
  ((v) != (v)                      ? (T)0      \
   : (double)(v) <= (double)T_MIN  ? (T)T_MIN  \
   : (double)(v) >= T_ABOVE        ? (T)T_MAX  \
                                   : (T)(v))
#define T_ABOVE (2.0 * (double)((uint64_t)1 << (BITS - 1)) / (T_MIN < 0 ? 2.0 : 1.0))
#endif
#define DTYPE(id, value, name, ctype, kind, npy)                                          \
  static void LOOP_CAT(LOOP_CAT(cast, id), D)(size_t n, void *out, const void *const *in) { \
    T *o = out;                                                                           \
    const ctype *a = in[0];                                                               \
    for (size_t i = 0; i < n; i++) o[i] = CAST_BODY(kind, a[i]);                          \
  }
#include "smelt/dtype.def"
#undef DTYPE

static sm_kop_loop *const LOOP_CAT(casts, D)[SM_DTYPE_LIMIT] = {
#define DTYPE(id, value, name, ctype, kind, npy) [SMELT_##id] = LOOP_CAT(LOOP_CAT(cast, id), D),
#include "smelt/dtype.def"
#undef DTYPE
};

/* --- Random bits to the unit interval -------------------------------------------- */
#ifdef CLASS_FLOAT
static void LOOP_CAT(loop_unit, D)(size_t n, void *out, const void *const *in) {
  T *o = out;
  const uint64_t *a = in[0];
  const T scale = (T)1 / (T)((uint64_t)1 << UNIT_BITS);
  for (size_t i = 0; i < n; i++) o[i] = (T)(a[i] >> (64 - UNIT_BITS)) * scale;
}
#endif

/* --- The table --------------------------------------------------------------------- */
static sm_kop_loop *const LOOP_CAT(loops, D)[SM_KOP_COUNT] = {
    [SM_KOP_SELECT] = LOOP(SELECT),
#define ENTER(id) [SM_KOP_##id] = LOOP(id),
#ifdef CLASS_FLOAT
#define KOP_FLOAT(id, body) ENTER(id)
#define KOP_FLOAT_TEST(id, body) ENTER(id)
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

#undef D
#undef T
#undef W
#undef WRAP
#undef BITS
#undef T_MIN
#undef T_MAX
#undef T_ABOVE
#undef FN
#undef UNIT_BITS
#undef CLASS_BOOL
#undef CLASS_SINT
#undef CLASS_UINT
#undef CLASS_U64
#undef CLASS_FLOAT
#undef DECLARE_SAME
#undef DECLARE_TEST
#undef ENTER
#undef CAST_BODY
#undef CAST_FROM_BOOL
#undef CAST_FROM_SINT
#undef CAST_FROM_UINT
#undef CAST_FROM_FLOAT
