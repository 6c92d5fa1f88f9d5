/* SPDX-License-Identifier: Apache-2.0
 *
 * Contexts: options, counters, accounting, leaks, segment limits, and operands
 * of several contexts. */
#include <stdio.h>
#include <stdlib.h>

#include "api_fixture.h"

/* --- Creation ----------------------------------------------------------------------- */

static void refuses(const smelt_context_desc *desc, smelt_status status, const char *part) {
  smelt_error err = {0};
  CHECK(smelt_context_create(desc, &err) == NULL);
  CHECK_STATUS(err.code, status);
  CHECK_CONTAINS(err.text, part);
  CHECK(smelt_context_create(desc, NULL) == NULL);
}

TEST(options_that_are_wrong) {
  smelt_context_desc desc = SMELT_CONTEXT_DESC_INIT;
  desc.size = 8;
  refuses(&desc, SMELT_ERR_ARGUMENT, "smelt_context_desc.size is 8");
  desc = (smelt_context_desc)SMELT_CONTEXT_DESC_INIT;
  desc.device = "gpu9";
  refuses(&desc, SMELT_ERR_DEVICE, "no device \"gpu9\"");
  desc.device = "";
  refuses(&desc, SMELT_ERR_DEVICE, "no device \"\"");
  desc.device = "cpu:x";
  refuses(&desc, SMELT_ERR_DEVICE, "device cpu takes no argument");
  desc.device = "null:x";
  refuses(&desc, SMELT_ERR_DEVICE, "no profile \"x\"");
  desc.device = NULL;
  desc.log = "register,nonsense";
  refuses(&desc, SMELT_ERR_ARGUMENT, "unknown log category \"nonsense\"");
  desc.log = NULL;
  desc.fusion = (smelt_switch)3;
  refuses(&desc, SMELT_ERR_ARGUMENT, "smelt_context_desc.fusion is 3");
  desc.fusion = SMELT_DEFAULT;
  desc.flatten = (smelt_switch)3;
  refuses(&desc, SMELT_ERR_ARGUMENT, "smelt_context_desc.flatten is 3");
  desc.flatten = SMELT_DEFAULT;
  desc.max_ops = -1;
  refuses(&desc, SMELT_ERR_ARGUMENT, "max_ops");
  desc.max_ops = 0;
  desc.max_segment_ops = -1;
  refuses(&desc, SMELT_ERR_ARGUMENT, "max_segment_ops");
}

TEST(names_of_devices) {
  smelt_context_desc desc = SMELT_CONTEXT_DESC_INIT;
  desc.fusion = SMELT_ON;
  smelt_context *ctx = open_context_with(&desc);
  CHECK(strncmp(smelt_device_name(ctx), "fusion<cpu<", 11) == 0);
  close_context(ctx);
  desc.fusion = SMELT_OFF;
  ctx = open_context_with(&desc);
  CHECK(strncmp(smelt_device_name(ctx), "cpu<", 4) == 0);
  close_context(ctx);
  ctx = open_device("ref");
  CHECK_STR(smelt_device_name(ctx), "ref");
  close_context(ctx);
  ctx = open_device("null:metal");
  CHECK_CONTAINS(smelt_device_name(ctx), "null<metal>");
  close_context(ctx);
  CHECK_STR(smelt_device_name(NULL), "none");
}

TEST(null_contexts) {
  smelt_error err = {0};
  smelt_counters c = SMELT_COUNTERS_INIT;
  CHECK_STATUS(smelt_context_destroy(NULL, &err), SMELT_OK);
  CHECK_STATUS(smelt_sync(NULL, &err), SMELT_ERR_ARGUMENT);
  CHECK_STATUS(smelt_seed(NULL, 1), SMELT_ERR_ARGUMENT);
  CHECK_STATUS(smelt_context_counters(NULL, &c), SMELT_ERR_ARGUMENT);
}

typedef struct meter {
  size_t live;
  int left;
} meter;

/* Gives up after `left` allocations and sees that sizes add up. */
static void *measured(void *user, void *ptr, size_t old, size_t size) {
  meter *m = user;
  if (size && m->left-- <= 0) return NULL;
  m->live += size - (ptr ? old : 0);
  if (size) return realloc(ptr, size);
  free(ptr);
  return NULL;
}

TEST(the_users_allocator_gets_everything_back) {
  meter m = {0, 0};
  smelt_context_desc desc = SMELT_CONTEXT_DESC_INIT;
  desc.alloc = measured;
  desc.alloc_user = &m;
  refuses(&desc, SMELT_ERR_MEMORY, "out of memory");
  int allowed = 1;
  smelt_context *ctx = NULL;
  for (; !ctx; allowed++) {
    m.left = allowed;
    ctx = smelt_context_create(&desc, NULL);
    CHECK(ctx || m.live == 0);
    CHECK(allowed < 1000);
  }
  m.left = 100000;
  CHECK_F64(value_of(smelt_exp(number(ctx, 0))), 1);
  smelt_error err;
  CHECK_OK(smelt_context_destroy(ctx, &err), err);
  CHECK_I64(m.live, 0);
}

/* --- Counters ---------------------------------------------------------------------------- */

TEST(counters) {
  for (int fusion = 0; fusion < 2; fusion++) {
    smelt_context_desc desc = SMELT_CONTEXT_DESC_INIT;
    desc.fusion = fusion ? SMELT_ON : SMELT_OFF;
    smelt_context *ctx = open_context_with(&desc);
    smelt_tensor *x = smelt_zeros(ctx, SMELT_F32, DIMS(100));
    CHECK_STATUS(smelt_eval((const smelt_tensor *[]){x}, 1, NULL), SMELT_OK);
    smelt_counters before = counters_of(ctx);
    CHECK_I64(before.operations, 1);
    CHECK_I64(before.segments, 1);
    CHECK_I64(before.launches, 1);
    CHECK_I64(before.bytes_written, 400);
    CHECK_I64(before.live_references, 1);
    smelt_tensor *y = smelt_exp(smelt_mul(smelt_ref(x), 2.0));
    CHECK_I64(counters_of(ctx).launches, 1);
    CHECK_STATUS(smelt_sync(ctx, NULL), SMELT_OK);
    smelt_counters after = counters_of(ctx);
    CHECK_I64(after.operations, 3);
    CHECK_I64(after.segments, 2);
    CHECK_I64(after.launches, fusion ? 2 : 3);
    CHECK_I64(after.bytes_read - before.bytes_read, fusion ? 400 : 800);
    CHECK_I64(after.bytes_written - before.bytes_written, fusion ? 400 : 800);
    CHECK_I64(after.live_references, 2);
    CHECK_I64(after.live_bytes, 800);
    CHECK_I64(after.misuses, 0);
    smelt_drop(x);
    smelt_drop(y);
    close_context(ctx);
  }
}

TEST(counters_check_their_size) {
  smelt_context *ctx = open_context();
  smelt_counters c = SMELT_COUNTERS_INIT;
  c.size = 8;
  CHECK_STATUS(smelt_context_counters(ctx, &c), SMELT_ERR_ARGUMENT);
  CHECK_STATUS(smelt_context_counters(ctx, NULL), SMELT_ERR_ARGUMENT);
  close_context(ctx);
}

/* The same program again compiles nothing. */
TEST(kernels_are_kept) {
  smelt_context *ctx = open_context();
  uint64_t compiled = 0;
  for (int i = 0; i < 10; i++) {
    float value = (float)i;
    smelt_tensor *x = smelt_from_host(ctx, SMELT_F32, DIMS(1), &value);
    CHECK_F64(value_of(smelt_add(smelt_mul(x, i), i)), i * i + i);
    if (i == 0) compiled = counters_of(ctx).kernels_compiled;
  }
  CHECK_I64(counters_of(ctx).kernels_compiled, (int64_t)compiled);
  CHECK_I64(compiled, 1);
  close_context(ctx);
}

/* A result that nobody waits for is not computed. */
TEST(dropped_results_do_not_run) {
  smelt_context *ctx = open_context();
  smelt_tensor *x = number(ctx, 1);
  smelt_drop(smelt_exp(smelt_add(smelt_ref(x), smelt_ref(x))));
  CHECK_STATUS(smelt_sync(ctx, NULL), SMELT_OK);
  CHECK_I64(counters_of(ctx).launches, 0);
  CHECK_I64(counters_of(ctx).segments, 1);
  smelt_drop(x);
  close_context(ctx);
}

/* --- Segments ------------------------------------------------------------------------------ */

TEST(segments_end_at_their_limit) {
  smelt_context_desc desc = SMELT_CONTEXT_DESC_INIT;
  desc.max_segment_ops = 10;
  smelt_context *ctx = open_context_with(&desc);
  smelt_tensor *t = number(ctx, 0);
  for (int i = 1; i <= 35; i++) {
    t = smelt_add(t, 1);
    CHECK_I64(counters_of(ctx).segments, i / 10);
  }
  CHECK_F64(value_of(t), 35);
  CHECK_I64(counters_of(ctx).segments, 4);
  close_context(ctx);
}

TEST(a_limit_of_one_is_eager) {
  smelt_context_desc desc = SMELT_CONTEXT_DESC_INIT;
  desc.max_segment_ops = 1;
  smelt_context *ctx = open_context_with(&desc);
  smelt_tensor *t = smelt_exp(smelt_add(number(ctx, -1), 1));
  CHECK_I64(counters_of(ctx).launches, 2);
  CHECK_F64(value_of(t), 1);
  close_context(ctx);
}

TEST(the_default_is_512) {
  smelt_context *ctx = open_context();
  smelt_tensor *t = number(ctx, 0);
  for (int i = 0; i < 511; i++) t = smelt_add(t, 1);
  CHECK_I64(counters_of(ctx).segments, 0);
  t = smelt_add(t, 1);
  CHECK_I64(counters_of(ctx).segments, 1);
  CHECK_I64(counters_of(ctx).launches, 1); /* a kernel with a loop */
  CHECK_F64(value_of(t), 512);
  close_context(ctx);
}

/* --- Accounting ----------------------------------------------------------------------------- */

TEST(every_path_gives_its_references_back) {
  smelt_context *ctx = open_context();
  smelt_tensor *x = number(ctx, 2), *keep = smelt_ref(x);
  CHECK_I64(counters_of(ctx).live_references, 2);
  smelt_tensor *y = smelt_add(x, smelt_ref(keep));
  CHECK_I64(counters_of(ctx).live_references, 2);
  check_poison(smelt_logical_not(smelt_ref(keep)), SMELT_ERR_DTYPE, "wants bool");
  check_poison(smelt_add(smelt_ref(keep), smelt_zeros(ctx, SMELT_I32, 0, NULL)), SMELT_ERR_DTYPE,
               "no common dtype");
  check_poison(smelt_add(smelt_exp(NULL), smelt_ref(keep)), SMELT_ERR_STALE, "NULL");
  CHECK_I64(counters_of(ctx).live_references, 2);
  float out;
  CHECK_STATUS(smelt_into_host(y, SMELT_F32, &out, sizeof out, NULL), SMELT_OK);
  CHECK_F64(out, 4);
  CHECK_STATUS(smelt_into_host(keep, SMELT_F64, &out, sizeof out, NULL), SMELT_ERR_DTYPE);
  CHECK_I64(counters_of(ctx).live_references, 0);
  close_context(ctx);
}

/* Endless loops stay bounded. */
TEST(loops_do_not_grow) {
  smelt_context *ctx = open_context();
  smelt_tensor *t = smelt_zeros(ctx, SMELT_F32, DIMS(1000));
  uint64_t most = 0;
  for (int i = 0; i < 5000; i++) {
    t = smelt_add(t, 1.0);
    uint64_t now = counters_of(ctx).live_bytes;
    if (now > most) most = now;
  }
  CHECK(most <= 8000);
  smelt_drop(t);
  close_context(ctx);
}

TEST(leaks_are_named) {
  smelt_error err;
  smelt_context *ctx = open_context();
  smelt_tensor *x = smelt_from_host(ctx, SMELT_I32, DIMS(2, 2), (int32_t[]){1, 2, 3, 4});
  smelt_tensor *again = smelt_ref(x), *y = smelt_add(smelt_ref(x), 1);
  static const float data[1] = {0};
  smelt_tensor *w = smelt_wrap(ctx, SMELT_F32, DIMS(1), data, NULL, NULL);
  CHECK(again != x && y != x && w != x);
  CHECK_STATUS(smelt_context_destroy(ctx, &err), SMELT_ERR_LEAK);
  CHECK_STR(err.text,
            "4 references leaked: t3 f32[1] made by wrap, t2 i32[2,2] made by add, "
            "t1 i32[2,2] made by from_host");
  ctx = open_context();
  for (int i = 0; i < 1000; i++) CHECK(number(ctx, 1) != NULL);
  CHECK_STATUS(smelt_context_destroy(ctx, &err), SMELT_ERR_LEAK);
  CHECK_CONTAINS(err.text, "1000 references leaked: t1000 f32[] made by from_host, ");
}

/* --- Several contexts -------------------------------------------------------------------------- */

TEST(operands_of_different_contexts) {
  smelt_context *a = open_context(), *b = open_device("ref");
  check_poison(smelt_add(number(a, 1), number(b, 1)), SMELT_ERR_DEVICE,
               "add: the operands belong to different contexts (smelt_to_device copies one)");
  smelt_tensor *x = number(a, 1);
  check_poison(smelt_call(b, "exp", &x, 1, NULL), SMELT_ERR_DEVICE,
               "exp: the operands belong to different contexts (smelt_to_device copies one)");
  smelt_tensor *good = smelt_mul(number(a, 2), 5.0);
  smelt_tensor *bad = smelt_add(smelt_ref(good), number(b, 1)), *worse = smelt_add(bad, 1);
  CHECK_F64(value_of(good), 10);
  check_poison(worse, SMELT_ERR_DEVICE,
               "add: the operands belong to different contexts (smelt_to_device copies one)");
  close_context(a);
  close_context(b);
}

/* Views too, whose elements do not lie one after another. */
TEST(copies_in_another_context) {
  float elements[6], expected[6] = {2, 5, 8, 3, 6, 9};
  smelt_context *a = open_context(), *b = open_device("ref");
  smelt_tensor *x = smelt_from_host(a, SMELT_F32, DIMS(3, 2), (float[]){1, 2, 4, 5, 7, 8});
  smelt_tensor *y = smelt_to_device(smelt_permute_dims(smelt_add(x, 1.0), NULL, 0), b);
  CHECK_I64(smelt_dims(y, NULL), 2);
  smelt_tensor *sum = smelt_add(y, smelt_to_device(number(a, 0), b));
  CHECK_STATUS(smelt_into_host(sum, SMELT_F32, elements, sizeof elements, NULL), SMELT_OK);
  CHECK(memcmp(elements, expected, sizeof elements) == 0);
  smelt_tensor *empty = smelt_to_device(smelt_from_host(a, SMELT_I64, DIMS(0, 3), NULL), b);
  CHECK_I64(smelt_count(empty), 0);
  CHECK_STATUS(smelt_into_host(empty, SMELT_I64, NULL, 0, NULL), SMELT_OK);
  close_context(a);
  close_context(b);
}

TEST(copies_of_what_needs_none) {
  smelt_context *a = open_context(), *b = open_device("ref");
  smelt_counters before = counters_of(a);
  CHECK_F64(value_of(smelt_to_device(smelt_add(number(a, 1), 1.0), a)), 2);
  CHECK_I64(counters_of(a).launches - before.launches, 1);
  CHECK_F64(value_of(smelt_mul(number(b, 2), smelt_to_device(smelt_scalar_f64(3), b))), 6);
  check_poison(smelt_to_device(number(a, 1), NULL), SMELT_ERR_ARGUMENT, "to_device: the context is NULL");
  smelt_tensor *bad = smelt_add(number(a, 1), smelt_scalar_bool(true));
  check_poison(smelt_to_device(smelt_ref(bad), b), SMELT_ERR_DTYPE, "add");
  check_poison(smelt_to_device((smelt_add)(bad, smelt_scalar_f64(1)), NULL), SMELT_ERR_DTYPE, "add");
  check_poison(smelt_to_device(smelt_scalar_f64(1), NULL), SMELT_ERR_ARGUMENT, "the context is NULL");
  close_context(a);
  close_context(b);
}

TEST(contexts_do_not_share) {
  smelt_context *contexts[10];
  smelt_tensor *t[10];
  for (int i = 0; i < 10; i++) {
    contexts[i] = open_context();
    t[i] = smelt_add(number(contexts[i], (float)i), 1.0);
  }
  for (int i = 9; i >= 0; i -= 2) {
    CHECK_F64(value_of(t[i]), i + 1);
    close_context(contexts[i]);
  }
  for (int i = 0; i < 10; i += 2) {
    CHECK_I64(counters_of(contexts[i]).launches, 0);
    CHECK_F64(value_of(t[i]), i + 1);
    close_context(contexts[i]);
  }
}

TEST(seeds) {
  double drawn[4];
  for (int i = 0; i < 4; i++) {
    smelt_context_desc desc = SMELT_CONTEXT_DESC_INIT;
    desc.seed = i == 1 ? 8 : 7;
    if (i == 2) desc.device = "ref";
    smelt_context *ctx = open_context_with(&desc);
    if (i == 3) {
      smelt_drop(smelt_rand(ctx, SMELT_F64, 0, NULL));
      CHECK_STATUS(smelt_seed(ctx, 7), SMELT_OK);
    }
    drawn[i] = value_of(smelt_rand(ctx, SMELT_F64, 0, NULL));
    close_context(ctx);
  }
  CHECK(drawn[0] != drawn[1]);
  CHECK_F64(drawn[2], drawn[0]);
  CHECK_F64(drawn[3], drawn[0]);
}

TEST_MAIN(CASE(options_that_are_wrong), CASE(names_of_devices), CASE(null_contexts),
          CASE(the_users_allocator_gets_everything_back), CASE(counters), CASE(counters_check_their_size),
          CASE(kernels_are_kept), CASE(dropped_results_do_not_run), CASE(segments_end_at_their_limit),
          CASE(a_limit_of_one_is_eager), CASE(the_default_is_512), CASE(every_path_gives_its_references_back),
          CASE(loops_do_not_grow), CASE(leaks_are_named), CASE(operands_of_different_contexts),
          CASE(copies_in_another_context), CASE(copies_of_what_needs_none), CASE(contexts_do_not_share),
          CASE(seeds))
