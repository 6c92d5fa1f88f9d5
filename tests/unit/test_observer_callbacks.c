/* SPDX-License-Identifier: Apache-2.0
 *
 * Observers: what their callbacks may do, and several threads that call them. */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdatomic.h>

#include "api_fixture.h"

/* --- What a callback does ------------------------------------------------------------------ */

typedef struct intruder {
  smelt_context *ctx; /* NULL: it does nothing */
  smelt_tensor *kept, *gone;
  int calls;
} intruder;

static void intrude(intruder *in) {
  if (!in->ctx) return;
  in->calls++;
  check_poison(smelt_exp(smelt_ref(in->kept)), SMELT_ERR_REENTRANT, "callback");
  check_poison(number(in->ctx, 1), SMELT_ERR_REENTRANT, "callback");
  CHECK_STATUS(smelt_sync(in->ctx, NULL), SMELT_ERR_REENTRANT);
  if (in->gone) smelt_drop(in->gone);
  in->gone = NULL;
}

#define INTRUDE(event)                                                         \
  static void intrude_on_##event(void *user, const smelt_##event##_event *e) { \
    (void)e;                                                                   \
    intrude(user);                                                             \
  }
INTRUDE(operation)
INTRUDE(block)
INTRUDE(apart)
INTRUDE(kernel)
INTRUDE(launch)
INTRUDE(poison)
INTRUDE(memory)

/* Each event but leaks happens; the callback of one of them intrudes. */
static void check_intruder(smelt_observer observer) {
  intruder in = {.ctx = NULL};
  observer.size = sizeof observer;
  observer.user = &in;
  smelt_context *ctx = open_with_observer("cpu", &observer);
  in = (intruder){.kept = number(ctx, 5), .gone = number(ctx, 6)};
  smelt_tensor *row = smelt_from_host(ctx, SMELT_F32, DIMS(1, 2), (float[]){0, 1});
  in.ctx = ctx;
  smelt_tensor *column = smelt_from_host(ctx, SMELT_F32, DIMS(5, 1), (float[]){1, 2, 3, 4, 5});
  smelt_drop(smelt_add(smelt_ones(ctx, SMELT_F32, DIMS(2)), smelt_ones(ctx, SMELT_F32, DIMS(3))));
  smelt_tensor *y = smelt_add(smelt_exp(row), column);
  CHECK_STATUS(smelt_eval((const smelt_tensor *[]){y}, 1, NULL), SMELT_OK);
  CHECK(in.calls > 0);
  CHECK_I64(counters_of(ctx).live_references, 2); /* the drop has taken effect */
  CHECK_I64(counters_of(ctx).live_bytes, 44);
  smelt_drop(y);
  in.ctx = NULL;
  CHECK_F64(value_of(in.kept), 5);
  close_context(ctx);
}

TEST(callbacks_are_refused) {
  check_intruder((smelt_observer){.operation = intrude_on_operation});
  check_intruder((smelt_observer){.block = intrude_on_block});
  check_intruder((smelt_observer){.apart = intrude_on_apart});
  check_intruder((smelt_observer){.kernel = intrude_on_kernel});
  check_intruder((smelt_observer){.launch = intrude_on_launch});
  check_intruder((smelt_observer){.poison = intrude_on_poison});
  check_intruder((smelt_observer){.memory = intrude_on_memory});
}

static void drop_the_leak(void *user, const smelt_leak *leak) {
  (void)leak;
  intrude(user);
}

TEST(a_leak_is_dropped_while_it_is_told_of) {
  intruder in = {.ctx = NULL};
  smelt_observer observer = {.size = sizeof observer, .user = &in, .leak = drop_the_leak};
  smelt_context *ctx = open_with_observer("cpu", &observer);
  in = (intruder){.ctx = ctx, .kept = number(ctx, 5), .gone = number(ctx, 6)};
  CHECK_STATUS(smelt_context_destroy(ctx, NULL), SMELT_ERR_LEAK);
  CHECK_I64(in.calls, 2);
  CHECK_STATUS(smelt_check(in.kept, NULL), SMELT_ERR_STALE);
}

/* --- Threads -------------------------------------------------------------------------------- */

enum { ROUNDS = 200 };

typedef struct tally {
  _Atomic uint64_t operations, launches, read, written, kernels;
  _Atomic int64_t bytes;
} tally;

static void count_operation(void *user, const smelt_operation_event *event) {
  CHECK(event->stream == 1 || event->stream == 2);
  ((tally *)user)->operations++;
}
static void count_launch(void *user, const smelt_launch_event *event) {
  tally *t = user;
  t->launches++;
  t->read += event->bytes_read;
  t->written += event->bytes_written;
}
static void count_kernel(void *user, const smelt_kernel_event *event) {
  (void)event;
  ((tally *)user)->kernels++;
}
static void count_memory(void *user, const smelt_memory_event *event) {
  ((tally *)user)->bytes += event->bytes;
}

static void *compute_often(void *ctx) {
  for (int i = 0; i < ROUNDS; i++) CHECK(value_of(smelt_add(smelt_exp(number(ctx, 0)), number(ctx, 2))) == 3);
  return NULL;
}

TEST(two_threads) {
  tally t = {0};
  smelt_observer observer = {.size = sizeof observer,
                             .user = &t,
                             .operation = count_operation,
                             .kernel = count_kernel,
                             .launch = count_launch,
                             .memory = count_memory};
  smelt_context *ctx = open_with_observer("cpu", &observer);
  pthread_t thread;
  CHECK_I64(pthread_create(&thread, NULL, compute_often, ctx), 0);
  (void)compute_often(ctx);
  CHECK_I64(pthread_join(thread, NULL), 0);
  smelt_counters c = counters_of(ctx);
  CHECK_I64(t.operations, 4 * ROUNDS);
  CHECK_I64(t.operations, c.operations);
  CHECK_I64(t.launches, c.launches);
  CHECK_I64(t.read, c.bytes_read);
  CHECK_I64(t.written, c.bytes_written);
  CHECK_I64(t.kernels, c.kernels_compiled);
  close_context(ctx);
  CHECK_I64(t.bytes, 0);
}

TEST_MAIN(CASE(callbacks_are_refused), CASE(a_leak_is_dropped_while_it_is_told_of), CASE(two_threads))
