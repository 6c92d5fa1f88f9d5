/* SPDX-License-Identifier: Apache-2.0
 *
 * Mistakes of ownership, one a function. check-ownership.sh demands that the
 * analyzer reports exactly the marked lines. Never built. */
#include "smelt/smelt.h"

smelt_tensor *use_after_take(smelt_tensor *x) {
  smelt_tensor *y = smelt_exp(x);
  smelt_tensor *z = smelt_negative(x); /* OWNERSHIP: x was taken by smelt_exp */
  return smelt_add(y, z);
}

smelt_tensor *double_take(smelt_tensor *x) {
  return smelt_multiply(x, x); /* OWNERSHIP: the second x was taken as the first */
}

smelt_tensor *use_after_take_by_a_macro(smelt_tensor *x, smelt_tensor *y) {
  smelt_tensor *sum = smelt_add(x, 1);
  return smelt_where(y, sum, x); /* OWNERSHIP: x was taken by smelt_add */
}

smelt_tensor *reference_too_late(smelt_tensor *x) {
  smelt_tensor *y = smelt_sigmoid(x);
  return smelt_multiply(y, smelt_ref(x)); /* OWNERSHIP: smelt_ref of a taken reference */
}

smelt_tensor *operands_in_the_wrong_order(smelt_tensor *x) {
  return smelt_multiply(smelt_sigmoid(x), smelt_ref(x)); /* OWNERSHIP: keep x at its first use */
}

smelt_status leak_on_early_return(smelt_tensor *x, double *out) {
  smelt_tensor *y = smelt_sqrt(x);
  smelt_status status = smelt_check(y, NULL);
  if (status != SMELT_OK) return status; /* OWNERSHIP: y is not dropped */
  status = smelt_item_f64(y, out, NULL);
  smelt_drop(y);
  return status;
}

smelt_tensor *forgotten_reference(smelt_tensor *x) {
  smelt_tensor *keep = smelt_ref(x);
  smelt_print(keep, NULL);
  return smelt_exp(x); /* OWNERSHIP: keep is never given up */
}

smelt_tensor *taken_in_a_loop(smelt_tensor *x, smelt_tensor *step) {
  for (int i = 0; i < 3; i++) x = smelt_add(x, step); /* OWNERSHIP: step was taken in the first round */
  return x;
}

void drop_after_take(smelt_tensor *x, double *out) {
  smelt_tensor *y = smelt_exp(x);
  smelt_item_f64(y, out, NULL);
  smelt_drop(y);
  smelt_drop(x); /* OWNERSHIP: x belongs to smelt_exp */
}

void overwritten(smelt_context *ctx, smelt_tensor **out) {
  smelt_tensor *x = smelt_full(ctx, 1, SMELT_F32, 0, NULL);
  x = smelt_full(ctx, 2, SMELT_F32, 0, NULL);
  *out = x; /* OWNERSHIP: the first tensor is lost; the second moves out here */
}

void read_after_last_use(smelt_tensor *x, float *out) {
  smelt_into_host(x, SMELT_F32, out, sizeof *out, NULL);
  smelt_print(x, NULL); /* OWNERSHIP: x was taken by smelt_into_host */
}
