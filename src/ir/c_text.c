/* SPDX-License-Identifier: Apache-2.0 */
#include "ir/c_text.h"

#include <inttypes.h>
#include <math.h>

#include "ir/smt.h"

void sm_c_text_dtype(sm_text *text, smelt_dtype dtype) {
  const char *name = sm_dtype_info_of(dtype)->log;
  sm_text_addf(text, "SMELT_%s", name ? name : "DTYPE_NONE");
}

const char *sm_c_text_type(smelt_dtype dtype) {
  static const char *const types[SM_DTYPE_LIMIT] = {
#define DTYPE(id, value, name, ctype, kind, npy) [SMELT_##id] = #ctype,
#include "smelt/dtype.def"
#undef DTYPE
  };
  return strcmp(types[dtype], "_Bool") ? types[dtype] : "bool";
}

/* --- Numbers ---------------------------------------------------------------------------- */

static void add_i64(sm_text *text, int64_t value) {
  if (value == INT64_MIN) sm_text_add(text, "INT64_MIN");
  else sm_text_addf(text, "%" PRId64, value);
}

/* Digits that read back as this value of the dtype, f32 or f64. */
static void add_float(sm_text *text, smelt_dtype dtype, const void *element) {
  double value = sm_scalar_of(dtype, element).as.f64;
  if (isnan(value)) {
    sm_text_add(text, "NAN");
  } else if (isinf(value)) {
    sm_text_add(text, value < 0 ? "-INFINITY" : "INFINITY");
  } else {
    sm_smt_print_element(text, dtype, element);
    if (dtype == SMELT_F32) sm_text_add(text, "f");
  }
}

/* As an element of an array of the dtype's C type. */
void sm_c_text_element(sm_text *text, smelt_dtype dtype, const void *element) {
  uint16_t bits;
  memcpy(&bits, element, sm_dtype_is_half(dtype) ? sizeof bits : 0);
  if (sm_dtype_is_half(dtype)) sm_text_addf(text, "0x%04x", bits);
  else if (sm_kind_of(dtype) == SM_KIND_FLOAT) add_float(text, dtype, element);
  else if (dtype == SMELT_I64) add_i64(text, sm_scalar_of(dtype, element).as.i64);
  else sm_smt_print_element(text, dtype, element);
  if (dtype == SMELT_U64) sm_text_add(text, "u");
}

void sm_c_text_scalar(sm_text *text, sm_scalar s) {
  static const struct {
    const char *name;
    smelt_dtype dtype;
  } forms[] = {[SM_KIND_BOOL] = {"bool", SMELT_BOOL},
               [SM_KIND_SINT] = {"i64", SMELT_I64},
               [SM_KIND_UINT] = {"u64", SMELT_U64},
               [SM_KIND_FLOAT] = {"f64", SMELT_F64}};
  sm_word word;
  (void)sm_scalar_convert(s, forms[s.kind].dtype, &word, NULL);
  sm_text_addf(text, "smelt_scalar_%s(", forms[s.kind].name);
  sm_c_text_element(text, forms[s.kind].dtype, &word);
  sm_text_add(text, ")");
}

/* --- Attributes --------------------------------------------------------------------------- */

void sm_c_text_dims(sm_text *text, int rank, const int64_t *dims) {
  if (rank <= 0) {
    sm_text_add(text, "NULL");
    return;
  }
  sm_text_add(text, "(int64_t[]){");
  for (int i = 0; i < rank; i++) {
    if (i) sm_text_add(text, ", ");
    add_i64(text, dims[i]);
  }
  sm_text_add(text, "}");
}

/* An empty list is not one that was left out. */
static void add_axes(sm_text *text, const smelt_attrs *a) {
  if (!a->axes) {
    sm_text_add(text, "NULL");
    return;
  }
  sm_text_add(text, "(int[]){");
  for (size_t i = 0; i < a->n_axes; i++) sm_text_addf(text, "%s%d", i ? ", " : "", a->axes[i]);
  sm_text_add(text, a->n_axes ? "}" : "0}");
}

static void add_place(sm_text *text, int64_t place) {
  if (place == SMELT_ABSENT) sm_text_add(text, "SMELT_ABSENT");
  else add_i64(text, place);
}

static void add_ranges(sm_text *text, const smelt_attrs *a) {
  if (!a->n_ranges) {
    sm_text_add(text, "NULL");
    return;
  }
  sm_text_add(text, "(smelt_range[]){");
  for (size_t i = 0; i < a->n_ranges; i++) {
    sm_text_add(text, i ? ", {" : "{");
    add_place(text, a->ranges[i].start);
    sm_text_add(text, ", ");
    add_place(text, a->ranges[i].stop);
    sm_text_add(text, ", ");
    add_place(text, a->ranges[i].step);
    sm_text_add(text, "}");
  }
  sm_text_add(text, "}");
}

/* As arguments of the operation's function. */
void sm_c_text_attribute(sm_text *text, char letter, const smelt_attrs *a) {
  switch (letter) {
    case 't':
    case 'd':
      sm_c_text_dtype(text, a->dtype);
      break;
    case 's':
      sm_text_addf(text, "%d, ", a->rank);
      sm_c_text_dims(text, a->rank, a->dims);
      break;
    case 'k':
      sm_text_add(text, a->keepdims ? "true" : "false");
      break;
    case 'x':
      sm_text_addf(text, "%d", a->axes[0]);
      break;
    case 'p':
      sm_text_addf(text, "%d, %d", a->axes[0], a->axes[1]);
      break;
    case 'r':
      add_ranges(text, a);
      sm_text_addf(text, ", %zu", a->n_ranges);
      break;
    case 'g':
      add_i64(text, a->groups);
      break;
    case 'c':
    case 'n':
    case 'e':
      sm_c_text_element(text, SMELT_F64, &a->number);
      break;
    default:
      add_axes(text, a);
      sm_text_addf(text, ", %zu", a->n_axes);
      break;
  }
}

void sm_c_text_attrs(sm_text *text, const smelt_attrs *a) {
  sm_text_add(text, "&(smelt_attrs){sizeof(smelt_attrs), ");
  sm_c_text_dtype(text, a->dtype);
  sm_text_addf(text, ", %d, ", a->rank);
  sm_c_text_dims(text, a->rank, a->dims);
  sm_text_add(text, ", ");
  add_axes(text, a);
  sm_text_addf(text, ", %zu, ", a->n_axes);
  add_ranges(text, a);
  sm_text_addf(text, ", %zu, %s, ", a->n_ranges, a->keepdims ? "true" : "false");
  sm_c_text_element(text, SMELT_F64, &a->number);
  sm_text_add(text, ", ");
  add_i64(text, a->groups);
}
