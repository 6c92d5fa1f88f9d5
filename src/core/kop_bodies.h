/* SPDX-License-Identifier: Apache-2.0
 *
 * The primitives of one element type as C functions, for kop_types.h. No include
 * guard: kop_primitives.h includes it once for each dtype. */
#define BODY(id) KOP_CAT(sm_kop_##id, D)
#define DECLARE_BODY(id, R, body)           \
  static inline R BODY(id)(T a, T b, T c) { \
    (void)a, (void)b, (void)c;              \
    return (R)(body);                       \
  }
#define DECLARE_SAME(id, body) DECLARE_BODY(id, T, body)
#define DECLARE_TEST(id, body) DECLARE_BODY(id, bool, body)
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
#include "core/kops_rows.h"

static inline T BODY(SELECT)(bool a, T b, T c) { return a ? b : c; }

/* sm_kop_CAST_TO_FROM */
#define DTYPE(id, value, name, ctype, kind, npy) \
  static inline T KOP_CAT(KOP_CAT(sm_kop_CAST, D), id)(ctype a) { return CAST_BODY(kind, a); }
#define HALF_DTYPE(id, value, name, ctype, kind, npy) \
  static inline T KOP_CAT(KOP_CAT(sm_kop_CAST, D), id)(ctype a) { return CAST_BODY(kind, WIDEN_##id(a)); }
#include "smelt/dtype.def"
#undef DTYPE

#undef BODY
#undef DECLARE_BODY
#undef DECLARE_SAME
#undef DECLARE_TEST
