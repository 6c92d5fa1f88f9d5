/* SPDX-License-Identifier: Apache-2.0
 *
 * Operations of your own: one that fuses and one that is a function.
 *
 * `swish` says what an element is, and becomes a part of the kernel that uses it.
 * `running_sum` is beyond expressions: each element needs those before it. */
#include <stdio.h>
#include <string.h>

#include <smelt/smelt.h>

/* What running_sum makes of an operand: the same dtype and shape. */
static smelt_status running_sum_shape(void *user, const smelt_array *x, size_t n, smelt_array *result,
                                      smelt_error *err) {
  (void)user, (void)n;
  if (x->dtype != SMELT_F32 || x->rank < 1) {
    (void)strcpy(err->text, "x has to be f32, with at least one axis");
    return SMELT_ERR_DTYPE;
  }
  *result = *x;
  return SMELT_OK;
}

static void add_up_row(const float *x, float *y, int64_t n) {
  float sum = 0;
  for (int64_t i = 0; i < n; i++) y[i] = sum += x[i];
}

/* Along the last axis; what lies before it are rows. */
static smelt_status running_sum(void *user, const smelt_array *x, size_t n, smelt_array *result,
                                smelt_error *err) {
  (void)user, (void)n, (void)err;
  int64_t length = x->dims[x->rank - 1], rows = 1;
  for (int axis = 0; axis < x->rank - 1; axis++) rows *= x->dims[axis];
  for (int64_t r = 0; r < rows; r++)
    add_up_row((const float *)x->data + r * length, (float *)result->data + r * length, length);
  return SMELT_OK;
}

static bool add_operations(smelt_context *ctx) {
  smelt_op_desc swish = SMELT_OP_DESC_INIT, sum = SMELT_OP_DESC_INIT;
  smelt_error err;
  swish.name = "swish";
  swish.n_operands = 2;
  swish.expression = "mul(x, sigmoid(mul(x, y)))";
  sum.name = "running_sum";
  sum.n_operands = 1;
  sum.shape = running_sum_shape;
  sum.kernel = running_sum;
  if (!smelt_op_register(ctx, &swish, &err) && !smelt_op_register(ctx, &sum, &err)) return true;
  printf("%s\n", err.text);
  return false;
}

/* Calls like those of smelt/ops.h. Operands are taken, and may be numbers. */
static smelt_tensor *my_swish(smelt_tensor *x, double beta) {
  return smelt_call(NULL, "swish", (smelt_tensor *[]){x, smelt_scalar_f64(beta)}, 2, NULL);
}

static smelt_tensor *my_running_sum(smelt_tensor *x) { return smelt_call(NULL, "running_sum", &x, 1, NULL); }

int main(void) {
  smelt_error err;
  smelt_context *ctx = smelt_context_create(NULL, NULL);
  if (!ctx || !add_operations(ctx)) return 1;
  smelt_tensor *x = smelt_from_host(ctx, SMELT_F32, 2, (int64_t[]){2, 3}, (float[]){0, 1, 2, 3, 4, 5});

  /* Two kernels run: one for what stands before running_sum, one for what is behind. */
  smelt_tensor *y = smelt_mul(my_running_sum(smelt_add(my_swish(smelt_ref(x), 0.0), 1.0)), 10.0);
  smelt_print(y, NULL);

  /* A shape rule refuses when the call is made. */
  smelt_tensor *wrong = my_running_sum(smelt_astype(x, SMELT_I32));
  if (smelt_check(wrong, &err) != SMELT_OK) printf("%s\n", err.text);
  smelt_drop(wrong);
  smelt_drop(y);
  return smelt_context_destroy(ctx, NULL) != SMELT_OK;
}
