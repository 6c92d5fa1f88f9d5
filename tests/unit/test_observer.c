/* SPDX-License-Identifier: Apache-2.0
 *
 * Observers: each event with its values, from plans and kernels that are found as from new
 * ones. */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>

#include "api_fixture.h"
#include "custom_fixture.h"

enum { MOST = 64 };

/* What has been told. Strings are gone after the call, so the last ones are kept here. */
typedef struct told {
  smelt_observer observer;
  smelt_operation_event operations[MOST];
  smelt_block_event blocks[MOST];
  smelt_apart_event aparts[MOST];
  smelt_kernel_event kernels[MOST];
  smelt_launch_event launches[MOST];
  smelt_poison_event poisons[MOST];
  smelt_memory_event memories[MOST];
  smelt_leak leaks[MOST];
  int n_operations, n_blocks, n_aparts, n_kernels, n_launches, n_poisons, n_memories, n_leaks;
  char operation[MOST][64], kernel[MOST][64], launched[MOST][64], poison[MOST][200];
  uint64_t in_block[MOST][8];
} told;

#define KEEP(list, count, event)               \
  do {                                         \
    CHECK(t->count < MOST);                    \
    CHECK_I64((event)->size, sizeof *(event)); \
    t->list[t->count] = *(event);              \
  } while (0)

static void keep_text(char *to, size_t size, const char *text) { (void)snprintf(to, size, "%s", text); }

static void on_operation(void *user, const smelt_operation_event *event) {
  told *t = user;
  KEEP(operations, n_operations, event);
  keep_text(t->operation[t->n_operations++], sizeof t->operation[0], event->name);
}

static void on_block(void *user, const smelt_block_event *event) {
  told *t = user;
  KEEP(blocks, n_blocks, event);
  for (size_t i = 0; i < event->operations && i < 8; i++) t->in_block[t->n_blocks][i] = event->tensors[i];
  t->n_blocks++;
}

static void on_apart(void *user, const smelt_apart_event *event) {
  told *t = user;
  KEEP(aparts, n_aparts, event);
  t->n_aparts++;
}

static void on_kernel(void *user, const smelt_kernel_event *event) {
  told *t = user;
  KEEP(kernels, n_kernels, event);
  keep_text(t->kernel[t->n_kernels++], sizeof t->kernel[0], event->name);
}

static void on_launch(void *user, const smelt_launch_event *event) {
  told *t = user;
  KEEP(launches, n_launches, event);
  keep_text(t->launched[t->n_launches++], sizeof t->launched[0], event->kernel);
}

static void on_poison(void *user, const smelt_poison_event *event) {
  told *t = user;
  KEEP(poisons, n_poisons, event);
  keep_text(t->poison[t->n_poisons++], sizeof t->poison[0], event->text);
}

static void on_memory(void *user, const smelt_memory_event *event) {
  told *t = user;
  KEEP(memories, n_memories, event);
  t->n_memories++;
}

static void on_leak(void *user, const smelt_leak *leak) {
  told *t = user;
  KEEP(leaks, n_leaks, leak);
  t->n_leaks++;
}

static smelt_context *open_observed(const char *device, told *t) {
  *t = (told){.observer = {sizeof(smelt_observer), t, on_operation, on_block, on_apart, on_kernel, on_launch,
                           on_poison, on_memory, on_leak}};
  smelt_context *ctx = open_with_observer(device, &t->observer);
  t->observer = (smelt_observer){.size = 0}; /* the context has a copy */
  return ctx;
}

static const char *const kernel_devices[] = {"cpu", "null:cpu-avx512"};

/* --- Each event ------------------------------------------------------------------------ */

/* exp(a) + b in one kernel, over a */
static void compute(smelt_context *ctx) {
  smelt_tensor *a = smelt_from_host(ctx, SMELT_F32, DIMS(2, 2), (float[]){1, 2, 3, 4});
  smelt_tensor *b = smelt_from_host(ctx, SMELT_F32, DIMS(2, 2), (float[]){1, 2, 3, 4});
  smelt_tensor *y = smelt_add(smelt_exp(a), b);
  float out[4];
  CHECK_STATUS(smelt_into_host(y, SMELT_F32, out, sizeof out, NULL), SMELT_OK);
}

static void check_computed(const told *t, const smelt_counters *c) {
  CHECK_I64(t->n_operations, 2);
  CHECK_STR(t->operation[0], "Float(F32, Exp)");
  CHECK_STR(t->operation[1], "NumericFloat(F32, Add)");
  CHECK_I64(t->operations[1].tensor, 4);
  CHECK_I64(t->operations[1].stream, 1);
  CHECK_I64(t->operations[1].dtype, SMELT_F32);
  CHECK_I64(t->operations[1].rank, 2);
  CHECK_I64(t->operations[1].dims[1], 2);
  CHECK_I64(t->n_blocks, 1);
  CHECK_STR(t->blocks[0].fuser, "ElementWise");
  CHECK_I64(t->blocks[0].operations, 2);
  CHECK_I64(t->in_block[0][0], 3);
  CHECK_I64(t->in_block[0][1], 4);
  CHECK_I64(t->n_kernels, c->kernels_compiled);
  CHECK(t->n_kernels == 1 && t->kernels[0].ns > 0);
  CHECK_I64(t->n_launches, c->launches);
  CHECK_STR(t->launches[0].fuser, "ElementWise");
  CHECK_STR(t->launched[0], t->kernel[0]);
  CHECK_CONTAINS(t->launched[0], "elemwise_fuse_");
  CHECK_I64(t->launches[0].bytes_read, c->bytes_read);
  CHECK_I64(t->launches[0].bytes_written, c->bytes_written);
  CHECK_I64(t->launches[0].bytes_read, 32);
  CHECK_I64(t->launches[0].bytes_written, 16);
  CHECK_I64(t->launches[0].in_place, 1);
  CHECK_I64(t->n_aparts + t->n_poisons + t->n_leaks, 0);
}

/* Two inputs; the result is written over one of them. */
static void check_memory(const told *t) {
  static const int bytes[] = {16, 16, -16, -16}, live[] = {16, 32, 16, 0};
  CHECK_I64(t->n_memories, 4);
  for (int i = 0; i < 4; i++) {
    CHECK_I64(t->memories[i].bytes, bytes[i]);
    CHECK_I64(t->memories[i].live_bytes, live[i]);
  }
}

TEST(what_is_computed) {
  static told t;
  for (int d = 0; d < 2; d++) {
    smelt_context *ctx = open_observed(kernel_devices[d], &t);
    compute(ctx);
    smelt_counters c = counters_of(ctx);
    close_context(ctx);
    check_computed(&t, &c);
    check_memory(&t);
  }
}

TEST(plans_and_kernels_that_are_found) {
  static told t;
  for (int d = 0; d < 2; d++) {
    smelt_context *ctx = open_observed(kernel_devices[d], &t);
    compute(ctx);
    compute(ctx);
    CHECK_I64(counters_of(ctx).plan_hits, 1);
    close_context(ctx);
    CHECK_I64(t.n_operations, 4);
    CHECK_I64(t.n_kernels, 1);
    CHECK_I64(t.n_blocks, 2);
    CHECK_I64(t.in_block[1][1], t.operations[3].tensor);
    CHECK_I64(t.n_launches, 2);
    CHECK_STR(t.launched[1], t.launched[0]);
  }
}

TEST(kernels_from_disk) {
  static told t;
  char folder[] = "/tmp/smelt-observer-XXXXXX", command[64];
  CHECK(mkdtemp(folder) != NULL);
  CHECK_I64(setenv("SMELT_CACHE_DIR", folder, 1), 0);
  for (int again = 0; again < 2; again++) {
    smelt_context *ctx = open_observed("cpu", &t);
    compute(ctx);
    close_context(ctx);
    CHECK_I64(t.n_kernels, 1);
    CHECK_I64(t.kernels[0].from_cache, again && !t.kernels[0].interpreted);
  }
  (void)snprintf(command, sizeof command, "rm -r %s", folder);
  CHECK_I64(system(command), 0);
}

TEST(records_that_are_apart) {
  static told t;
  for (int d = 0; d < 2; d++) {
    smelt_context *ctx = open_observed(kernel_devices[d], &t);
    smelt_tensor *row = smelt_from_host(ctx, SMELT_F32, DIMS(1, 2), (float[]){0, 1});
    smelt_tensor *column = smelt_from_host(ctx, SMELT_F32, DIMS(5, 1), (float[]){1, 2, 3, 4, 5});
    smelt_tensor *y = smelt_add(smelt_exp(row), column);
    CHECK_STATUS(smelt_sync(ctx, NULL), SMELT_OK);
    smelt_drop(y);
    close_context(ctx);
    CHECK_I64(t.n_aparts, 1);
    CHECK_I64(t.aparts[0].producer, t.operations[0].tensor);
    CHECK_I64(t.aparts[0].consumer, t.operations[1].tensor);
    CHECK_STR(t.aparts[0].reason, "shape");
    CHECK_STR(t.aparts[0].meaning, "the results have different shapes");
    CHECK_I64(t.aparts[0].bindings + t.aparts[0].limit, 0);
    CHECK_I64(t.n_blocks, 2);
  }
}

TEST(ref_plans_nothing) {
  static told t;
  smelt_context *ctx = open_observed("ref", &t);
  compute(ctx);
  close_context(ctx);
  CHECK_I64(t.n_operations, 2);
  CHECK_I64(t.n_blocks + t.n_kernels, 0);
  CHECK_I64(t.n_launches, 2);
  CHECK_STR(t.launches[1].fuser, "ref");
  CHECK_STR(t.launched[1], "add");
  CHECK_I64(t.launches[1].bytes_read, 32);
}

static smelt_status fail(void *user, const smelt_array *x, size_t n, smelt_array *result, smelt_error *err) {
  (void)user, (void)x, (void)n, (void)result;
  err->code = SMELT_ERR_IO;
  keep_text(err->text, sizeof err->text, "no more");
  return SMELT_ERR_IO;
}

TEST(poison) {
  static told t;
  smelt_context *ctx = open_observed("cpu", &t);
  smelt_drop(smelt_exp(smelt_add(smelt_ones(ctx, SMELT_F32, DIMS(2)), smelt_ones(ctx, SMELT_F32, DIMS(3)))));
  CHECK_I64(t.n_poisons, 1);
  CHECK_I64(t.poisons[0].tensor, 0);
  CHECK_STATUS(t.poisons[0].status, SMELT_ERR_SHAPE);
  CHECK_CONTAINS(t.poison[0], "add");
  smelt_op_desc desc = SMELT_OP_DESC_INIT;
  desc.name = "fail";
  desc.n_operands = 1;
  desc.shape = like_first;
  desc.kernel = fail;
  CHECK_STATUS(smelt_op_register(ctx, &desc, NULL), SMELT_OK);
  smelt_tensor *x = smelt_ones(ctx, SMELT_F32, DIMS(2));
  smelt_tensor *y = smelt_call(ctx, "fail", &x, 1, NULL), *z = smelt_exp(smelt_ref(y));
  CHECK_STATUS(smelt_eval((const smelt_tensor *[]){z}, 1, NULL), SMELT_ERR_IO);
  CHECK_I64(t.n_poisons, 2); /* not z, too */
  CHECK_I64(t.poisons[1].tensor, t.operations[t.n_operations - 2].tensor);
  CHECK_STATUS(t.poisons[1].status, SMELT_ERR_IO);
  CHECK_CONTAINS(t.poison[1], "no more");
  smelt_drop(y);
  smelt_drop(z);
  close_context(ctx);
}

TEST(a_call_that_no_stream_records) {
  static told t;
  smelt_context *ctx = open_observed("cpu", &t), *other = open_context();
  smelt_drop(smelt_add(number(ctx, 1), number(other, 1)));
  CHECK_I64(t.n_poisons, 1);
  CHECK_STATUS(t.poisons[0].status, SMELT_ERR_DEVICE);
  close_context(ctx);
  close_context(other);
}

TEST(leaks) {
  static told t;
  smelt_context *ctx = open_observed("cpu", &t);
  smelt_tensor *x = smelt_from_host(ctx, SMELT_F32, DIMS(3), (float[]){1, 2, 3});
  CHECK_STATUS(smelt_context_destroy(ctx, NULL), SMELT_ERR_LEAK);
  CHECK_I64(t.n_leaks, 1);
  CHECK_STR(t.leaks[0].operation, "from_host");
  CHECK_I64(t.leaks[0].bytes, 12);
  CHECK_I64(t.memories[t.n_memories - 1].bytes, -12);
  CHECK_I64(t.memories[t.n_memories - 1].live_bytes, 0);
  smelt_drop(x);
}

/* --- Options ----------------------------------------------------------------------------- */

TEST(no_callback_need_be_there) {
  smelt_observer none = SMELT_OBSERVER_INIT;
  smelt_context *ctx = open_with_observer("cpu", &none);
  compute(ctx);
  close_context(ctx);
}

TEST(another_size_is_refused) {
  smelt_observer observer = SMELT_OBSERVER_INIT;
  smelt_context_desc desc = SMELT_CONTEXT_DESC_INIT;
  smelt_error err = {0};
  observer.size = 8;
  desc.observer = &observer;
  CHECK(smelt_context_create(&desc, &err) == NULL);
  CHECK_STATUS(err.code, SMELT_ERR_ARGUMENT);
  CHECK_CONTAINS(err.text, "smelt_observer.size is 8");
}

TEST_MAIN(CASE(what_is_computed), CASE(plans_and_kernels_that_are_found), CASE(kernels_from_disk),
          CASE(records_that_are_apart), CASE(ref_plans_nothing), CASE(poison),
          CASE(a_call_that_no_stream_records), CASE(leaks), CASE(no_callback_need_be_there),
          CASE(another_size_is_refused))
