/* SPDX-License-Identifier: Apache-2.0 */
#include "row_programs.h"

smelt_tensor *row_sum(smelt_tensor *x, int axis, bool keepdims) {
  return smelt_sum(x, &axis, 1, keepdims, SMELT_DTYPE_NONE);
}

smelt_tensor *row_softmax(smelt_tensor *x, int axis) {
  smelt_tensor *largest = smelt_max(smelt_ref(x), &axis, 1, true);
  smelt_tensor *e = smelt_exp(smelt_sub(x, largest));
  smelt_tensor *total = row_sum(smelt_ref(e), axis, true);
  return smelt_div(e, total);
}

smelt_tensor *row_rms_norm(smelt_tensor *x, int axis) {
  smelt_tensor *square = smelt_mul(smelt_ref(x), smelt_ref(x));
  return smelt_mul(x, smelt_rsqrt(smelt_add(smelt_mean(square, &axis, 1, true), 1e-5)));
}

smelt_tensor *row_layer_norm(smelt_tensor *x, int axis) {
  smelt_tensor *mean = smelt_mean(smelt_ref(x), &axis, 1, true);
  return row_rms_norm(smelt_sub(x, mean), axis);
}
