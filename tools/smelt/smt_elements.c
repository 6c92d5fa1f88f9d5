/* SPDX-License-Identifier: Apache-2.0 */
#include "smt_elements.h"

#include <math.h>
#include <string.h>

#include "base/error.h"
#include "core/kops.h"

/* --- Writing ------------------------------------------------------------------ */

static smelt_status write_list(const sm_smt_data *data, smelt_dtype dtype, unsigned char *out,
                               smelt_error *err) {
  size_t size = smelt_dtype_size(dtype);
  for (size_t i = 0; i < data->n; i++) {
    sm_word word;
    SM_TRY(sm_scalar_convert(data->items[i], dtype, &word, err));
    memcpy(out + i * size, &word, size);
  }
  return SMELT_OK;
}

static smelt_status write_fill(const sm_smt_data *data, smelt_dtype dtype, size_t count, unsigned char *out,
                               smelt_error *err) {
  size_t size = smelt_dtype_size(dtype);
  sm_word word;
  SM_TRY(sm_scalar_convert(data->items[0], dtype, &word, err));
  for (size_t i = 0; i < count; i++) memcpy(out + i * size, &word, size);
  return SMELT_OK;
}

enum { IOTA_STEP = 512 };

/* Element i is i, converted as astype converts an i64. */
static void write_iota(smelt_dtype dtype, size_t count, unsigned char *out) {
  sm_kop_loop *cast = sm_kop_eval(SM_KOP_CAST, SMELT_I64, dtype);
  int64_t index[IOTA_STEP];
  for (size_t from = 0; from < count; from += IOTA_STEP) {
    size_t n = count - from < IOTA_STEP ? count - from : IOTA_STEP;
    for (size_t i = 0; i < n; i++) index[i] = (int64_t)(from + i);
    cast(n, out + from * smelt_dtype_size(dtype), (const void *const[]){index}, 0);
  }
}

smelt_status smt_elements_write(const sm_smt_data *data, smelt_dtype dtype, size_t count, void *out,
                                smelt_error *err) {
  if (data->fill == SM_SMT_LIST) return write_list(data, dtype, out, err);
  if (data->fill == SM_SMT_FILL) return write_fill(data, dtype, count, out, err);
  write_iota(dtype, count, out);
  return SMELT_OK;
}

/* --- Comparing ------------------------------------------------------------------ */

typedef struct float_bits {
  double value;
  uint64_t magnitude; /* the bits without the sign: counts representable floats from 0 */
  bool negative;
} float_bits;

static float_bits bits_of(smelt_dtype dtype, const void *element) {
  sm_word word = {.bits = 0};
  memcpy(&word, element, smelt_dtype_size(dtype));
  size_t sign = 8 * smelt_dtype_size(dtype) - 1;
  return (float_bits){
      .value = sm_scalar_of(dtype, element).as.f64,
      .magnitude = word.bits & (((uint64_t)1 << sign) - 1),
      .negative = word.bits >> sign & 1,
  };
}

static bool is_near(float_bits a, float_bits b, uint64_t ulp) {
  if (isinf(a.value) || isinf(b.value)) return a.value == b.value;
  if (a.negative != b.negative) return a.magnitude + b.magnitude <= ulp;
  return (a.magnitude > b.magnitude ? a.magnitude - b.magnitude : b.magnitude - a.magnitude) <= ulp;
}

bool smt_element_matches(smelt_dtype dtype, const void *actual, const void *expected, int64_t ulp) {
  if (memcmp(actual, expected, smelt_dtype_size(dtype)) == 0) return true;
  if (sm_kind_of(dtype) != SM_KIND_FLOAT) return false;
  float_bits a = bits_of(dtype, actual), b = bits_of(dtype, expected);
  if (isnan(a.value) || isnan(b.value)) return isnan(a.value) && isnan(b.value);
  return ulp != SM_SMT_EXACT && is_near(a, b, (uint64_t)ulp);
}
