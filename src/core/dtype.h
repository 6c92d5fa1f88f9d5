/* SPDX-License-Identifier: Apache-2.0
 *
 * Facts about element types, from the table smelt/dtype.def.
 *
 * Internal arrays indexed by dtype have SM_DTYPE_LIMIT entries; the enum has
 * holes for reserved values. */
#ifndef SM_CORE_DTYPE_H
#define SM_CORE_DTYPE_H

#include "smelt/base.h"

enum { SM_DTYPE_LIMIT = 16 };

typedef enum sm_kind { SM_KIND_NONE, SM_KIND_BOOL, SM_KIND_SINT, SM_KIND_UINT, SM_KIND_FLOAT } sm_kind;

typedef struct sm_dtype_info {
  const char *name; /* "f32" */
  const char *log;  /* "F32", as log lines print it */
  uint8_t size;     /* bytes of one element */
  sm_kind kind;
  char npy; /* type letter in .npy headers */
} sm_dtype_info;

/* All-zero for values that are no dtype. */
const sm_dtype_info *sm_dtype_info_of(smelt_dtype dtype);
static inline bool sm_dtype_valid(smelt_dtype dtype) { return smelt_dtype_size(dtype) != 0; }
static inline sm_kind sm_kind_of(smelt_dtype dtype) { return sm_dtype_info_of(dtype)->kind; }

/* f16 and bf16: stored, but not computed with (core/half.h). */
static inline bool sm_dtype_is_half(smelt_dtype dtype) { return dtype == SMELT_F16 || dtype == SMELT_BF16; }
/* What elements of the dtype are computed in. */
static inline smelt_dtype sm_dtype_working(smelt_dtype dtype) {
  return sm_dtype_is_half(dtype) ? SMELT_F32 : dtype;
}

#endif
