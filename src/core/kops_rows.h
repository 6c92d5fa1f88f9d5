/* SPDX-License-Identifier: Apache-2.0
 *
 * Includes kops.def with every macro the includer left out defined as empty,
 * and undefines them all afterwards. No include guard: it is an X-macro. */
#ifndef KOP
#define KOP(id, name, arity, result, cost)
#endif
#ifndef KOP_FLOAT
#define KOP_FLOAT(id, body)
#define KOP_FLOAT_TEST(id, body)
#endif
#ifndef KOP_FUNCTION
#define KOP_FUNCTION(id, body)
#endif
#ifndef KOP_SINT
#define KOP_SINT(id, body)
#endif
#ifndef KOP_UINT
#define KOP_UINT(id, body)
#endif
#ifndef KOP_INT
#define KOP_INT(id, body)
#define KOP_INT_TEST(id, body)
#endif
#ifndef KOP_BOOL
#define KOP_BOOL(id, body)
#endif
#ifndef KOP_U64
#define KOP_U64(id, body)
#endif
#include "core/kops.def"
#undef KOP
#undef KOP_FLOAT
#undef KOP_FLOAT_TEST
#undef KOP_FUNCTION
#undef KOP_SINT
#undef KOP_UINT
#undef KOP_INT
#undef KOP_INT_TEST
#undef KOP_BOOL
#undef KOP_U64
