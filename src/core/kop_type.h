/* SPDX-License-Identifier: Apache-2.0
 *
 * The rest of what kop_types.h says about one element type, the included file,
 * and the end of it all. No include guard: it is an X-macro. */
#ifdef W
#define WRAP(e) ((T)(e))
#endif

/* Casts to this type from a value `v` of another kind. */
#if defined(CLASS_BOOL)
#define CAST_BODY(kind, v) ((v) != 0)
#elif defined(CLASS_FLOAT)
#define CAST_BODY(kind, v) ((T)(v))
#elif defined(CLASS_HALF)
#define CAST_BODY(kind, v) _Generic((v), double : NARROW_F64((double)(v)), default : NARROW((float)(v)))
#else
#define CAST_BODY(kind, v) CAST_FROM_##kind(v)
#define CAST_FROM_BOOL(v) ((T)(v))
#define CAST_FROM_SINT(v) ((T)(W)(v))
#define CAST_FROM_UINT(v) ((T)(W)(v))
/* The range is closed: T_MIN and 2^bits are exact as doubles. */
#define CAST_FROM_FLOAT(v) \
  ((v) != (v) ? (T)0 : (double)(v) <= (double)T_MIN ? (T)T_MIN : (double)(v) >= T_ABOVE ? (T)T_MAX : (T)(v))
#define T_ABOVE (2.0 * (double)((uint64_t)1 << (BITS - 1)) / (T_MIN < 0 ? 2.0 : 1.0))
#endif

#include KOP_EACH_TYPE

#undef D
#undef T
#undef W
#undef WRAP
#undef BITS
#undef T_MIN
#undef T_MAX
#undef T_ABOVE
#undef FN
#undef FUNCTION
#undef NARROW
#undef NARROW_F64
#undef UNIT_BITS
#undef CLASS_BOOL
#undef CLASS_SINT
#undef CLASS_UINT
#undef CLASS_U64
#undef CLASS_FLOAT
#undef CLASS_HALF
#undef CAST_BODY
#undef CAST_FROM_BOOL
#undef CAST_FROM_SINT
#undef CAST_FROM_UINT
#undef CAST_FROM_FLOAT
