/* SPDX-License-Identifier: Apache-2.0
 *
 * Includes the file that KOP_EACH_TYPE names once for each element type, with
 * what bodies of kops.def need: D (dtype), T (element type), the class of the
 * type's bodies, and so on. KOP_EACH_TYPE is undefined at the end. No include
 * guard: it is an X-macro. */
#ifndef KOP_CAT
#define KOP_CAT2(a, b) a##_##b
#define KOP_CAT(a, b) KOP_CAT2(a, b)
/* The value of a half. */
#define WIDEN_F16(v) sm_f16_to_f32(v)
#define WIDEN_BF16(v) sm_bf16_to_f32(v)
#endif

#define D BOOL
#define T bool
#define CLASS_BOOL 1
#include "core/kop_type.h"

#define D I8
#define T int8_t
#define W uint32_t
#define BITS 8
#define T_MIN INT8_MIN
#define T_MAX INT8_MAX
#define CLASS_SINT 1
#include "core/kop_type.h"

#define D I16
#define T int16_t
#define W uint32_t
#define BITS 16
#define T_MIN INT16_MIN
#define T_MAX INT16_MAX
#define CLASS_SINT 1
#include "core/kop_type.h"

#define D I32
#define T int32_t
#define W uint32_t
#define BITS 32
#define T_MIN INT32_MIN
#define T_MAX INT32_MAX
#define CLASS_SINT 1
#include "core/kop_type.h"

#define D I64
#define T int64_t
#define W uint64_t
#define BITS 64
#define T_MIN INT64_MIN
#define T_MAX INT64_MAX
#define CLASS_SINT 1
#include "core/kop_type.h"

#define D U8
#define T uint8_t
#define W uint32_t
#define BITS 8
#define T_MIN 0
#define T_MAX UINT8_MAX
#define CLASS_UINT 1
#include "core/kop_type.h"

#define D U16
#define T uint16_t
#define W uint32_t
#define BITS 16
#define T_MIN 0
#define T_MAX UINT16_MAX
#define CLASS_UINT 1
#include "core/kop_type.h"

#define D U32
#define T uint32_t
#define W uint32_t
#define BITS 32
#define T_MIN 0
#define T_MAX UINT32_MAX
#define CLASS_UINT 1
#include "core/kop_type.h"

#define D U64
#define T uint64_t
#define W uint64_t
#define BITS 64
#define T_MIN 0
#define T_MAX UINT64_MAX
#define CLASS_UINT 1
#define CLASS_U64 1
#include "core/kop_type.h"

#define D F16
#define T uint16_t
#define NARROW(v) sm_f16_from_f32(v)
#define NARROW_F64(v) sm_f16_from_f64(v)
#define UNIT_BITS 11
#define CLASS_HALF 1
#include "core/kop_type.h"

#define D BF16
#define T uint16_t
#define NARROW(v) sm_bf16_from_f32(v)
#define NARROW_F64(v) sm_bf16_from_f64(v)
#define UNIT_BITS 8
#define CLASS_HALF 1
#include "core/kop_type.h"

#define D F32
#define T float
#define FN(name) name##f
#define FUNCTION(name) sm_fn_##name##_f32
#define UNIT_BITS 24
#define CLASS_FLOAT 1
#include "core/kop_type.h"

#define D F64
#define T double
#define FN(name) name
#define FUNCTION(name) sm_fn_##name##_f64
#define UNIT_BITS 53
#define CLASS_FLOAT 1
#include "core/kop_type.h"
#undef KOP_EACH_TYPE
