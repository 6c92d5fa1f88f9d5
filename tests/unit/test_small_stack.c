/* SPDX-License-Identifier: Apache-2.0
 *
 * Threads with little stack: whoever waits for a result takes part in running
 * its kernels, and kernels keep values on the stack. */
#include <pthread.h>

#include "api_fixture.h"

enum { LENGTH = 1000, MAX_KEPT = 480 };

/* x + 0, x + 1 and so on are kept until the last, and added from its end. */
static smelt_tensor *sum_of_kept(smelt_context *ctx, const double *x, int n) {
  smelt_tensor *kept[MAX_KEPT] = {0}, *t = smelt_from_host(ctx, SMELT_F64, DIMS(LENGTH), x);
  for (int i = 0; i < n; i++) kept[i] = smelt_add(smelt_ref(t), (double)i);
  smelt_tensor *sum = smelt_mul(t, 0.0);
  for (int i = n - 1; i >= 0; i--) sum = smelt_add(sum, kept[i]);
  return sum;
}

static void check_kept(smelt_context *ctx, int n) {
  double x[LENGTH], y[LENGTH];
  smelt_error err = {0};
  for (int i = 0; i < LENGTH; i++) x[i] = i % 7;
  CHECK_OK(smelt_into_host(sum_of_kept(ctx, x, n), SMELT_F64, y, sizeof y, &err), err);
  for (int i = 0; i < LENGTH; i++) CHECK_F64(y[i], n * (n - 1) / 2.0 + n * x[i]);
}

static void *run(void *user) {
  smelt_context_desc desc = SMELT_CONTEXT_DESC_INIT;
  (void)user;
  desc.max_ops = desc.max_segment_ops = 2 * MAX_KEPT + 1;
  smelt_context *ctx = open_context_with(&desc);
  check_kept(ctx, 20);
  check_kept(ctx, 120);
  check_kept(ctx, MAX_KEPT); /* beyond what a compiled kernel can keep */
  CHECK_I64(counters_of(ctx).launches, 3);
  close_context(ctx);
  return NULL;
}

TEST(kernels_run_on_little_stack) {
  pthread_attr_t attributes;
  pthread_t thread;
  CHECK_I64(pthread_attr_init(&attributes), 0);
  CHECK_I64(pthread_attr_setstacksize(&attributes, (size_t)256 * 1024), 0);
  CHECK_I64(pthread_create(&thread, &attributes, run, NULL), 0);
  CHECK_I64(pthread_join(thread, NULL), 0);
  CHECK_I64(pthread_attr_destroy(&attributes), 0);
}

TEST_MAIN(CASE(kernels_run_on_little_stack))
