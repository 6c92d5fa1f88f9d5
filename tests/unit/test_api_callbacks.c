/* SPDX-License-Identifier: Apache-2.0
 *
 * Callbacks that call Smelt: operations and questions are refused without a
 * deadlock, drops wait until the call that is under way is done. */
#include "api_fixture.h"
#include "custom_fixture.h"

/* What a callback tries, with tensors of the context or of another one. */
typedef struct intruder {
  smelt_context *ctx;
  smelt_tensor *t;    /* asked, used and kept */
  smelt_tensor *gone; /* dropped once */
  int calls;
} intruder;

static void check_refused(smelt_status status, const smelt_error *err) {
  CHECK_STATUS(status, SMELT_ERR_REENTRANT);
  CHECK_STR(err->text, "called from inside a callback of Smelt");
}

static void intrude(intruder *in) {
  smelt_error err = {0};
  float f;
  double d;
  in->calls++;
  check_poison(smelt_exp(smelt_ref(in->t)), SMELT_ERR_REENTRANT, "called from inside a callback of Smelt");
  check_poison(smelt_add(smelt_ref(in->t), 1.0), SMELT_ERR_REENTRANT, "callback");
  check_poison(smelt_zeros(in->ctx, SMELT_F32, 0, NULL), SMELT_ERR_REENTRANT, "callback");
  check_poison(number(in->ctx, 1), SMELT_ERR_REENTRANT, "callback");
  check_refused(smelt_read(in->t, SMELT_F32, &f, sizeof f, &err), &err);
  check_refused(smelt_item_f64(in->t, &d, &err), &err);
  check_refused(smelt_check(in->t, &err), &err);
  check_refused(smelt_eval((const smelt_tensor *[]){in->t}, 1, &err), &err);
  check_refused(smelt_sync(in->ctx, &err), &err);
  CHECK_STATUS(smelt_seed(in->ctx, 1), SMELT_ERR_REENTRANT);
  CHECK_STATUS(smelt_context_destroy(in->ctx, &err), SMELT_ERR_REENTRANT);
  CHECK_STATUS(smelt_op_register(in->ctx, &(smelt_op_desc){0}, &err), SMELT_ERR_REENTRANT);
  CHECK_F64(value_of(smelt_mul(smelt_scalar_f64(2), 3)), 6); /* scalars need no context */
  if (in->gone) smelt_drop(in->gone);
  in->gone = NULL;
}

static void intrude_once(void *user) {
  intruder *in = user;
  if (in->calls == 0) intrude(in);
}

static void intrude_on_log(void *user, const char *line) {
  (void)line;
  if (((intruder *)user)->ctx) intrude_once(user);
}

static const float data[4] = {1, 2, 3, 4};

TEST(free_functions) {
  smelt_context *ctx = open_context();
  intruder in = {.ctx = ctx, .t = number(ctx, 5), .gone = number(ctx, 6)};
  smelt_drop(smelt_wrap(ctx, SMELT_F32, DIMS(4), data, intrude_once, &in));
  CHECK_I64(in.calls, 1);
  CHECK_I64(counters_of(ctx).live_references, 1);
  CHECK_I64(counters_of(ctx).live_bytes, 4); /* the drop has taken effect */
  CHECK_F64(value_of(in.t), 5);
  close_context(ctx);
}

/* When a segment has run, its sources are given back. */
TEST(free_functions_at_the_end_of_a_segment) {
  smelt_context *ctx = open_context();
  intruder in = {.ctx = ctx, .t = smelt_exp(number(ctx, 0)), .gone = smelt_exp(number(ctx, 1))};
  smelt_tensor *y = smelt_mul(smelt_wrap(ctx, SMELT_F32, DIMS(4), data, intrude_once, &in), 2.0);
  float out[4];
  CHECK_STATUS(smelt_into_host(y, SMELT_F32, out, sizeof out, NULL), SMELT_OK);
  CHECK_F64(out[3], 8);
  CHECK_I64(in.calls, 1);
  CHECK_F64(value_of(in.t), 1);
  close_context(ctx);
}

TEST(free_functions_when_the_context_is_destroyed) {
  smelt_context *ctx = open_context();
  int64_t n = 4;
  intruder in = {.ctx = ctx, .t = number(ctx, 5), .gone = number(ctx, 6), .calls = 1}; /* does not intrude */
  CHECK(smelt_wrap(ctx, SMELT_F32, 1, &n, data, intrude_once, &in) != NULL);
  CHECK_STATUS(smelt_context_destroy(ctx, NULL), SMELT_ERR_LEAK);
  CHECK_STATUS(smelt_check(in.t, NULL), SMELT_ERR_STALE);
}

TEST(logs) {
  intruder in = {0};
  smelt_context_desc desc = SMELT_CONTEXT_DESC_INIT;
  desc.log = "register";
  desc.log_fn = intrude_on_log;
  desc.log_user = &in;
  smelt_context *ctx = open_context_with(&desc);
  in = (intruder){.t = number(ctx, 5), .gone = number(ctx, 6)};
  in.ctx = ctx;
  smelt_tensor *y = smelt_add(number(ctx, 1), 1.0);
  CHECK_I64(in.calls, 1);
  CHECK_F64(value_of(y), 2);
  CHECK_F64(value_of(in.t), 5);
  close_context(ctx);
}

/* --- Custom operations: what a shape rule and a kernel are without the intruder, and with --- */

static smelt_status pass_on(void *user, const smelt_array *x, size_t n, smelt_array *result,
                            smelt_error *err) {
  (void)user, (void)n, (void)err;
  memcpy(result->data, x->data, sizeof(float));
  return SMELT_OK;
}

static smelt_status intrude_on_shape(void *user, const smelt_array *x, size_t n, smelt_array *result,
                                     smelt_error *err) {
  intrude_once(user);
  return like_first(user, x, n, result, err);
}

static smelt_status intrude_on_kernel(void *user, const smelt_array *x, size_t n, smelt_array *result,
                                      smelt_error *err) {
  intrude_once(user);
  return pass_on(user, x, n, result, err);
}

static void intrude_on_operation(const char *device, smelt_array_fn *shape, smelt_array_fn *kernel) {
  smelt_context *ctx = open_device(device);
  intruder in = {.ctx = ctx, .t = smelt_exp(number(ctx, 0)), .gone = smelt_exp(number(ctx, 1))};
  smelt_op_desc desc = SMELT_OP_DESC_INIT;
  desc.name = "intrude";
  desc.n_operands = 1;
  desc.shape = shape;
  desc.kernel = kernel;
  desc.user = &in;
  CHECK_STATUS(smelt_op_register(ctx, &desc, NULL), SMELT_OK);
  smelt_tensor *x = number(ctx, 7);
  CHECK_F64(value_of(smelt_add(smelt_call(ctx, "intrude", &x, 1, NULL), 1)), 8);
  CHECK_I64(in.calls, 1);
  CHECK_I64(counters_of(ctx).live_references, 1); /* the drop has taken effect */
  CHECK_F64(value_of(in.t), 1);
  close_context(ctx);
}

TEST(custom_operations) {
  static const char *const devices[] = {"cpu", "ref"};
  for (int d = 0; d < 2; d++) {
    intrude_on_operation(devices[d], intrude_on_shape, pass_on);
    intrude_on_operation(devices[d], like_first, intrude_on_kernel);
  }
}

static void drop_again(void *user, const char *line) {
  (void)line;
  intruder *in = user;
  if (++in->calls < 1000) smelt_drop(in->gone);
}

/* A log_fn is not told for ever of the mistake that it makes each time. */
TEST(logs_of_misuse_in_a_log) {
  intruder in = {0};
  smelt_context_desc desc = SMELT_CONTEXT_DESC_INIT;
  desc.log = "memory";
  desc.log_fn = drop_again;
  desc.log_user = &in;
  smelt_context *ctx = open_context_with(&desc);
  in.gone = number(ctx, 6);
  smelt_drop(in.gone);
  CHECK_I64(in.calls, 0);
  smelt_drop(in.gone);
  CHECK_I64(in.calls, 1);
  CHECK_I64(counters_of(ctx).misuses, 2);
  close_context(ctx);
}

/* The flag is the thread's, so another context is refused as well. */
TEST(another_context) {
  smelt_context *ctx = open_context(), *other = open_context();
  intruder in = {.ctx = other, .t = number(other, 5), .gone = number(other, 6)};
  smelt_drop(smelt_wrap(ctx, SMELT_F32, DIMS(4), data, intrude_once, &in));
  CHECK_I64(in.calls, 1);
  CHECK_F64(value_of(in.t), 5); /* and with it the queued drop */
  close_context(other);
  close_context(ctx);
}

/* A drop that is still queued is not a leak, nor is it named as one. */
TEST(queued_drops_are_no_leaks) {
  smelt_error err = {0};
  smelt_context *ctx = open_context(), *other = open_context();
  intruder in = {.ctx = other, .t = number(other, 5), .gone = number(other, 6)};
  smelt_drop(smelt_wrap(ctx, SMELT_F32, DIMS(4), data, intrude_once, &in));
  close_context(ctx);
  CHECK_STATUS(smelt_context_destroy(other, &err), SMELT_ERR_LEAK);
  CHECK_STR(err.text, "1 reference leaked: t1 f32[] made by from_host");
}

/* Drops whose free functions drop in turn. */
typedef struct link {
  smelt_tensor *next;
  int *freed;
} link;

static void free_link(void *user) {
  link *l = user;
  ++*l->freed;
  smelt_drop(l->next);
}

TEST(chains_of_free_functions) {
  enum { N = 100 };
  static link links[N];
  int freed = 0;
  smelt_context *ctx = open_context();
  smelt_tensor *t = NULL;
  for (int i = 0; i < N; i++) {
    links[i] = (link){t, &freed};
    t = smelt_wrap(ctx, SMELT_F32, DIMS(4), data, free_link, &links[i]);
  }
  smelt_drop(t);
  CHECK_I64(freed, N);
  close_context(ctx);
}

TEST_MAIN(CASE(free_functions), CASE(free_functions_at_the_end_of_a_segment),
          CASE(free_functions_when_the_context_is_destroyed), CASE(logs), CASE(custom_operations),
          CASE(logs_of_misuse_in_a_log), CASE(another_context), CASE(queued_drops_are_no_leaks),
          CASE(chains_of_free_functions))
