/* SPDX-License-Identifier: Apache-2.0
 *
 * The first program: exp(a*b + c), computed by one kernel.
 *
 * Calls only record; what is needed runs when a value is asked for. Operations
 * take the tensors they are given: after smelt_mul(a, b) those two references
 * are gone. smelt_ref makes one more where a tensor is needed again. */
#include <stdio.h>

#include <smelt/smelt.h>

int main(void) {
  smelt_context *ctx = smelt_context_create(NULL, NULL); /* owns everything below */
  const int64_t dims[] = {2, 2};
  smelt_tensor *a = smelt_from_host(ctx, SMELT_F32, 2, dims, (float[]){1, 2, 3, 4});
  smelt_tensor *b = smelt_from_host(ctx, SMELT_F32, 2, dims, (float[]){0.5F, 0.25F, 0, -0.25F});

  /* a is kept for later, b is used for the last time; the number 1.0 is a tensor
   * wherever one is wanted. Nothing is computed yet. */
  smelt_tensor *d = smelt_exp(smelt_add(smelt_mul(smelt_ref(a), b), 1.0));

  /* Printing needs the values: multiply, add and exp run now, as one kernel. */
  smelt_print(d, NULL);

  /* a is still there. Its shape does not fit this tensor of three elements: no
   * call fails, but the result is poisoned, and so is what is made of it. The
   * first cause can be asked for at the end. */
  smelt_tensor *three = smelt_from_host(ctx, SMELT_F32, 1, (int64_t[]){3}, (float[]){1, 2, 3});
  smelt_tensor *wrong = smelt_sqrt(smelt_add(a, three));
  smelt_error err;
  if (smelt_check(wrong, &err) != SMELT_OK) printf("%s\n", err.text);

  /* What was not taken is given up. A reference that is forgotten is found here
   * and named. */
  smelt_drop(wrong);
  smelt_drop(d);
  if (smelt_context_destroy(ctx, &err) == SMELT_OK) return 0;
  printf("%s\n", err.text);
  return 1;
}
