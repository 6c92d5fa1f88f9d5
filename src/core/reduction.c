/* SPDX-License-Identifier: Apache-2.0 */
#include "core/reduction.h"

#include <math.h>

const char *sm_reduction_name(sm_reduction reduction) {
  static const char *const names[] = {"none", "sum", "mean",   "prod",   "max",        "min",
                                      "any",  "all", "argmax", "argmin", "deviations", "variance"};
  return names[reduction];
}

sm_kop sm_reduction_kop(sm_reduction reduction) {
  static const sm_kop kops[] = {
      [SM_REDUCTION_NONE] = SM_KOP_NONE,      [SM_REDUCTION_SUM] = SM_KOP_ADD,
      [SM_REDUCTION_MEAN] = SM_KOP_ADD,       [SM_REDUCTION_PROD] = SM_KOP_MUL,
      [SM_REDUCTION_MAX] = SM_KOP_MAX,        [SM_REDUCTION_MIN] = SM_KOP_MIN,
      [SM_REDUCTION_ANY] = SM_KOP_OR,         [SM_REDUCTION_ALL] = SM_KOP_AND,
      [SM_REDUCTION_ARGMAX] = SM_KOP_MAX,     [SM_REDUCTION_ARGMIN] = SM_KOP_MIN,
      [SM_REDUCTION_DEVIATIONS] = SM_KOP_ADD, [SM_REDUCTION_VARIANCE] = SM_KOP_ADD,
  };
  return kops[reduction];
}

static sm_word float_word(smelt_dtype dtype, double value) {
  return dtype == SMELT_F64 ? (sm_word){.F64 = value} : (sm_word){.F32 = (float)value};
}

static uint64_t low_bits(unsigned n) { return n < 64 ? ((uint64_t)1 << n) - 1 : UINT64_MAX; }

/* The smallest or the largest value. Signed integers are stored in two's complement. */
static sm_word extreme(smelt_dtype dtype, bool largest) {
  unsigned bits = 8 * (unsigned)smelt_dtype_size(dtype);
  switch (sm_kind_of(dtype)) {
    case SM_KIND_FLOAT:
      return float_word(dtype, largest ? INFINITY : -INFINITY);
    case SM_KIND_SINT:
      return (sm_word){.bits = largest ? low_bits(bits - 1) : (uint64_t)1 << (bits - 1)};
    default:
      return (sm_word){.bits = largest ? low_bits(bits) : 0};
  }
}

sm_word sm_reduction_neutral(sm_reduction reduction, smelt_dtype dtype) {
  bool is_float = sm_kind_of(dtype) == SM_KIND_FLOAT;
  switch (sm_reduction_kop(reduction)) {
    case SM_KOP_ADD:
      return is_float ? float_word(dtype, -0.0) : (sm_word){.bits = 0};
    case SM_KOP_MUL:
      return is_float ? float_word(dtype, 1) : (sm_word){.bits = 1};
    case SM_KOP_AND:
      return (sm_word){.BOOL = true};
    case SM_KOP_MAX:
      return extreme(dtype, false);
    case SM_KOP_MIN:
      return extreme(dtype, true);
    default:
      return (sm_word){.bits = 0};
  }
}
