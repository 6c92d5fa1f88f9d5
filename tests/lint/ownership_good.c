/* SPDX-License-Identifier: Apache-2.0
 *
 * Correct uses of references, about which the analyzer must say nothing. Never
 * built. */
#include "smelt/smelt.h"

typedef struct layer {
  smelt_tensor *weight, *bias;
} layer;

smelt_tensor *nesting(smelt_tensor *a, smelt_tensor *b, smelt_tensor *c) {
  return smelt_exp(smelt_add(smelt_mul(a, b), c));
}

smelt_tensor *last_use_taken(smelt_tensor *x) { return smelt_mul(smelt_ref(x), smelt_sigmoid(x)); }

smelt_tensor *variance(smelt_tensor *x, smelt_tensor *mean) {
  smelt_tensor *d = smelt_sub(x, mean);
  return smelt_mul(smelt_ref(d), d);
}

smelt_tensor *scalars(smelt_tensor *x) { return smelt_clip(smelt_add(1, smelt_mul(x, 2.0)), 0, 6u); }

smelt_tensor *rebinding_in_a_loop(smelt_tensor *x, int n) {
  for (int i = 0; i < n; i++) x = smelt_tanh(smelt_add(x, i));
  return x;
}

smelt_tensor *accumulating(smelt_context *ctx, smelt_tensor *term, int n) {
  smelt_tensor *sum = smelt_full(ctx, 0, SMELT_F32, 0, NULL);
  for (int i = 0; i < n; i++) sum = smelt_add(sum, smelt_ref(term));
  smelt_drop(term);
  return sum;
}

smelt_status early_return(smelt_tensor *x, double *out) {
  smelt_tensor *y = smelt_sqrt(x);
  smelt_status status = smelt_check(y, NULL);
  if (status == SMELT_OK) status = smelt_item_f64(y, out, NULL);
  smelt_drop(y);
  return status;
}

smelt_status last_read(smelt_context *ctx, float *out) {
  smelt_tensor *x = smelt_arange(ctx, 0, 4, 1, SMELT_F32);
  return smelt_into_host(x, SMELT_F32, out, 4 * sizeof *out, NULL);
}

void queries_keep(smelt_tensor *x) {
  smelt_tensor *shared = smelt_ref(x);
  if (smelt_rank(x) > 0 && smelt_dtype_of(shared) == SMELT_F32) smelt_print(x, NULL);
  smelt_drop(shared);
  smelt_drop(x);
}

void in_a_struct(layer *l, smelt_context *ctx, const int64_t *dims) {
  l->weight = smelt_randn(ctx, SMELT_F32, 2, dims);
  l->bias = smelt_zeros(ctx, SMELT_F32, 1, dims);
}

smelt_tensor *forward(const layer *l, smelt_tensor *x) {
  return smelt_add(smelt_mul(x, smelt_ref(l->weight)), smelt_ref(l->bias));
}

void update(layer *l, smelt_tensor *gradient, double rate) {
  l->weight = smelt_sub(l->weight, smelt_mul(gradient, rate));
}

void drop_layer(layer *l) {
  smelt_drop(l->weight);
  smelt_drop(l->bias);
  l->weight = l->bias = NULL;
}

smelt_tensor *by_name(smelt_context *ctx, smelt_tensor *x, smelt_tensor *y) {
  smelt_tensor *operands[] = {x, y};
  return smelt_call(ctx, "add", operands, 2, NULL);
}

smelt_tensor *chosen(smelt_tensor *x, smelt_tensor *y, bool first) {
  smelt_drop(first ? y : x);
  return first ? x : y;
}

smelt_tensor *plain_functions(smelt_tensor *x, smelt_tensor *y) { return (smelt_add)(x, smelt_exp(y)); }
