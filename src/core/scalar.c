/* SPDX-License-Identifier: Apache-2.0 */
#include "core/scalar.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "core/half.h"

smelt_dtype sm_scalar_dtype(sm_scalar s) {
  static const smelt_dtype of_kind[] = {[SM_KIND_NONE] = SMELT_DTYPE_NONE,
                                        [SM_KIND_BOOL] = SMELT_BOOL,
                                        [SM_KIND_SINT] = SMELT_I64,
                                        [SM_KIND_UINT] = SMELT_U64,
                                        [SM_KIND_FLOAT] = SMELT_F64};
  return of_kind[s.kind];
}

static bool is_negative(sm_scalar s) { return s.kind == SM_KIND_SINT && s.as.i64 < 0; }

/* Whether an integer scalar fits an integer dtype: its bits, truncated and
 * widened again, must be the same number. */
static bool fits(sm_scalar s, smelt_dtype dtype) {
  unsigned bits = 8 * sm_dtype_info_of(dtype)->size;
  bool is_signed = sm_kind_of(dtype) == SM_KIND_SINT;
  if (is_negative(s)) return is_signed && s.as.i64 >= -((int64_t)1 << (bits - 2)) * 2;
  uint64_t max = UINT64_MAX >> (64 - bits + (is_signed ? 1 : 0));
  return s.as.u64 <= max;
}

/* Stores an integer that fits, or any number into a float dtype. */
static void store(sm_scalar s, smelt_dtype dtype, sm_word *out) {
  double as_double = s.kind == SM_KIND_FLOAT  ? s.as.f64
                     : s.kind == SM_KIND_UINT ? (double)s.as.u64
                                              : (double)s.as.i64;
  /* One rounding only: an integer goes to f32 directly, not through f64. */
  float as_float = s.kind == SM_KIND_FLOAT  ? (float)s.as.f64
                   : s.kind == SM_KIND_UINT ? (float)s.as.u64
                                            : (float)s.as.i64;
  switch (sm_kind_of(dtype)) {
    case SM_KIND_BOOL:
      out->BOOL = s.as.b;
      break;
    case SM_KIND_FLOAT:
      if (dtype == SMELT_F16) out->F16 = sm_f16_from_f64(as_double);
      else if (dtype == SMELT_BF16) out->BF16 = sm_bf16_from_f64(as_double);
      else if (dtype == SMELT_F32) out->F32 = as_float;
      else out->F64 = as_double;
      break;
    default:
      memcpy(out, &s.as.u64, smelt_dtype_size(dtype));
      break;
  }
}

static const char *const kind_words[] = {[SM_KIND_NONE] = "an empty",
                                         [SM_KIND_BOOL] = "a bool",
                                         [SM_KIND_SINT] = "an integer",
                                         [SM_KIND_UINT] = "an integer",
                                         [SM_KIND_FLOAT] = "a float"};

smelt_status sm_scalar_convert(sm_scalar s, smelt_dtype dtype, sm_word *out, smelt_error *err) {
  sm_kind kind = sm_kind_of(dtype);
  bool integer_value = s.kind == SM_KIND_SINT || s.kind == SM_KIND_UINT;
  bool integer_dtype = kind == SM_KIND_SINT || kind == SM_KIND_UINT;
  bool meets = kind == SM_KIND_FLOAT  ? s.kind == SM_KIND_FLOAT || integer_value
               : kind == SM_KIND_BOOL ? s.kind == SM_KIND_BOOL
                                      : integer_dtype && integer_value;
  if (!meets) {
    return sm_error_set(err, SMELT_ERR_DTYPE, "%s scalar does not go with dtype %s", kind_words[s.kind],
                        smelt_dtype_name(dtype));
  }
  if (integer_dtype && !fits(s, dtype)) {
    char value[24];
    (void)snprintf(value, sizeof value, is_negative(s) ? "%" PRId64 : "%" PRIu64, s.as.u64);
    return sm_error_set(err, SMELT_ERR_ARGUMENT, "scalar %s does not fit dtype %s", value,
                        smelt_dtype_name(dtype));
  }
  out->bits = 0;
  store(s, dtype, out);
  return SMELT_OK;
}

static double half_value(smelt_dtype dtype, const void *element) {
  uint16_t bits;
  memcpy(&bits, element, sizeof bits);
  return dtype == SMELT_F16 ? sm_f16_to_f32(bits) : sm_bf16_to_f32(bits);
}

sm_scalar sm_scalar_of(smelt_dtype dtype, const void *element) {
  sm_scalar s = {.kind = sm_kind_of(dtype)};
  switch (dtype) {
#define DTYPE(id, value, name, ctype, kind_, npy)            \
  case SMELT_##id: {                                         \
    ctype v;                                                 \
    memcpy(&v, element, sizeof v);                           \
    if (s.kind == SM_KIND_FLOAT) s.as.f64 = (double)v;       \
    else if (s.kind == SM_KIND_UINT) s.as.u64 = (uint64_t)v; \
    else if (s.kind == SM_KIND_SINT) s.as.i64 = (int64_t)v;  \
    else s.as.b = v != 0;                                    \
    break;                                                   \
  }
#define HALF_DTYPE(id, value, name, ctype, kind_, npy) \
  case SMELT_##id:                                     \
    s.as.f64 = half_value(dtype, element);             \
    break;
#include "smelt/dtype.def"
#undef DTYPE
    case SMELT_DTYPE_NONE:
      break;
  }
  return s;
}

static bool reads_back_f16(const char *s, double value) {
  return sm_f16_from_f64(strtod(s, NULL)) == sm_f16_from_f64(value);
}

static bool reads_back_bf16(const char *s, double value) {
  return sm_bf16_from_f64(strtod(s, NULL)) == sm_bf16_from_f64(value);
}

void sm_scalar_print_digits(sm_text *text, smelt_dtype dtype, double value) {
  if (dtype == SMELT_F16) sm_text_shortest(text, value, 5, reads_back_f16);
  else if (dtype == SMELT_BF16) sm_text_shortest(text, value, 4, reads_back_bf16);
  else if (dtype == SMELT_F32) sm_text_f32(text, (float)value);
  else sm_text_f64(text, value);
}

/* "3" to "3.0"; "1e+30", "inf" and "nan" stay. */
static void add_point(sm_text *text, size_t from) {
  if (!strpbrk(text->data + from, ".einf")) sm_text_add(text, ".0");
}

void sm_scalar_print(sm_text *text, sm_scalar s) {
  size_t from = text->len;
  switch (s.kind) {
    case SM_KIND_NONE:
      break;
    case SM_KIND_BOOL:
      sm_text_add(text, s.as.b ? "true" : "false");
      break;
    case SM_KIND_SINT:
      sm_text_addf(text, "%" PRId64, s.as.i64);
      break;
    case SM_KIND_UINT:
      sm_text_addf(text, "%" PRIu64, s.as.u64);
      break;
    case SM_KIND_FLOAT:
      sm_text_f64(text, s.as.f64);
      add_point(text, from);
      break;
  }
}
