/* SPDX-License-Identifier: Apache-2.0 */
#include "core/dtype.h"

#include <string.h>

static const sm_dtype_info infos[SM_DTYPE_LIMIT] = {
#define DTYPE(id, value, name_, ctype, kind_, npy_) \
  [SMELT_##id] = {.name = name_, .log = #id, .size = sizeof(ctype), .kind = SM_KIND_##kind_, .npy = npy_},
#include "smelt/dtype.def"
#undef DTYPE
};

const sm_dtype_info *sm_dtype_info_of(smelt_dtype dtype) {
  return &infos[(unsigned)dtype < SM_DTYPE_LIMIT ? dtype : SMELT_DTYPE_NONE];
}

const char *smelt_dtype_name(smelt_dtype dtype) {
  const char *name = sm_dtype_info_of(dtype)->name;
  return name ? name : "none";
}

size_t smelt_dtype_size(smelt_dtype dtype) { return sm_dtype_info_of(dtype)->size; }

smelt_dtype smelt_dtype_find(const char *name) {
  for (int i = 0; name && i < SM_DTYPE_LIMIT; i++) {
    if (infos[i].name && strcmp(infos[i].name, name) == 0) return (smelt_dtype)i;
  }
  return SMELT_DTYPE_NONE;
}

static smelt_dtype wider(smelt_dtype a, smelt_dtype b) { return infos[a].size >= infos[b].size ? a : b; }

/* f16 and bf16 each have values that the other lacks. */
static smelt_dtype floats_over(smelt_dtype a, smelt_dtype b) {
  bool two_halves = a != b && sm_dtype_is_half(a) && sm_dtype_is_half(b);
  return two_halves ? SMELT_F32 : wider(a, b);
}

/* The smallest signed type that holds all values of both. */
static smelt_dtype signed_over(smelt_dtype sint, smelt_dtype uint) {
  static const smelt_dtype above[] = {[1] = SMELT_I16, [2] = SMELT_I32, [4] = SMELT_I64};
  if (infos[uint].size == 8) return SMELT_DTYPE_NONE;
  return wider(sint, above[infos[uint].size]);
}

smelt_dtype smelt_dtype_promote(smelt_dtype a, smelt_dtype b) {
  sm_kind ka = sm_kind_of(a), kb = sm_kind_of(b);
  if (ka == SM_KIND_NONE || kb == SM_KIND_NONE) return SMELT_DTYPE_NONE;
  if (ka == kb) return ka == SM_KIND_FLOAT ? floats_over(a, b) : wider(a, b);
  if (ka == SM_KIND_SINT && kb == SM_KIND_UINT) return signed_over(a, b);
  if (ka == SM_KIND_UINT && kb == SM_KIND_SINT) return signed_over(b, a);
  return SMELT_DTYPE_NONE;
}
