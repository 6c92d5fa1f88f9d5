/* SPDX-License-Identifier: Apache-2.0
 *
 * References: every way to misuse one is found exactly, named and counted, and
 * harms nothing else. */
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>

#include "api_fixture.h"
#include "core/limits.h"

static void check_stale(smelt_tensor *t, const char *part) { check_poison(t, SMELT_ERR_STALE, part); }

/* --- Use after take -------------------------------------------------------------------- */

TEST(use_after_take_names_the_taker) {
  smelt_context *ctx = open_context();
  smelt_tensor *x = number(ctx, 1);
  smelt_tensor *y = smelt_exp(x), *z = smelt_negative(x);
  check_stale(z, "smelt_negative: t1 (made by from_host) was taken by smelt_exp; use smelt_ref to keep it");
  CHECK_I64(counters_of(ctx).misuses, 1);
  double value;
  smelt_error err;
  CHECK_OK(smelt_item_f64(y, &value, &err), err);
  CHECK_F64(value, 2.7182817459106445);
  smelt_drop(y);
  close_context(ctx);
}

TEST(use_after_drop) {
  smelt_context *ctx = open_context();
  smelt_tensor *x = number(ctx, 1);
  smelt_drop(x);
  check_stale(smelt_exp(x), "was dropped before");
  check_stale(smelt_ref(x), "smelt_ref: t1 (made by from_host) was dropped before");
  CHECK_I64(smelt_rank(x), -1);
  CHECK_I64(smelt_dims(x, NULL), -1);
  CHECK_I64(smelt_count(x), -1);
  CHECK_I64(smelt_dtype_of(x), SMELT_DTYPE_NONE);
  CHECK_STATUS(smelt_eval((const smelt_tensor *[]){x}, 1, NULL), SMELT_ERR_STALE);
  float f;
  CHECK_STATUS(smelt_read(x, SMELT_F32, &f, sizeof f, NULL), SMELT_ERR_STALE);
  CHECK_STATUS(smelt_into_host(x, SMELT_F32, &f, sizeof f, NULL), SMELT_ERR_STALE);
  CHECK_STATUS(smelt_format(x, NULL, 0, NULL, NULL), SMELT_ERR_STALE);
  CHECK_I64(counters_of(ctx).misuses, 10);
  close_context(ctx);
}

TEST(double_take_in_one_call) {
  smelt_context *ctx = open_context();
  smelt_tensor *x = number(ctx, 3);
  check_stale(smelt_mul(x, x), "smelt_multiply: t1 (made by from_host) was taken by smelt_multiply");
  CHECK_I64(counters_of(ctx).misuses, 1);
  CHECK_I64(counters_of(ctx).live_references, 0);
  CHECK_I64(counters_of(ctx).live_bytes, 0);
  close_context(ctx);
}

TEST(double_drop_only_reports) {
  smelt_context *ctx = open_context();
  smelt_tensor *x = number(ctx, 1), *other = smelt_ref(x);
  smelt_drop(x);
  smelt_drop(x);
  smelt_drop(x);
  CHECK_I64(counters_of(ctx).misuses, 2);
  CHECK_I64(counters_of(ctx).live_references, 1);
  CHECK_STATUS(smelt_check(other, NULL), SMELT_OK);
  smelt_drop(other);
  close_context(ctx);
}

TEST(drop_of_a_taken_reference) {
  smelt_context *ctx = open_context();
  smelt_tensor *x = number(ctx, 1), *y = smelt_exp(x);
  smelt_drop(x);
  CHECK_I64(counters_of(ctx).misuses, 1);
  CHECK_STATUS(smelt_check(y, NULL), SMELT_OK);
  smelt_drop(y);
  close_context(ctx);
}

TEST(a_reused_slot_is_not_confused) {
  smelt_context *ctx = open_context();
  smelt_tensor *x = number(ctx, 1), *y = smelt_exp(x);
  for (int i = 0; i < 3 * SM_STALE_QUEUE; i++) {
    smelt_tensor *t = number(ctx, (float)i);
    CHECK(t != x);
    smelt_drop(t);
  }
  check_stale(smelt_negative(x), "smelt_negative: the reference was taken or dropped earlier");
  smelt_drop(y);
  close_context(ctx);
}

/* The queue is at least as long as promised, and not endless. */
TEST(the_taker_is_remembered_while_the_slot_waits) {
  smelt_context *ctx = open_context();
  smelt_tensor *x = number(ctx, 1);
  smelt_drop(smelt_exp(x));
  for (int taken = 2; taken < SM_STALE_QUEUE;
       taken++) { /* each also takes one slot for check_stale's result */
    if (taken % 2 == 0) check_stale(smelt_negative(x), "was taken by smelt_exp");
    else smelt_drop(number(ctx, 2));
  }
  for (int i = 0; i < 2 * SM_STALE_QUEUE; i++) smelt_drop(number(ctx, 2));
  check_stale(smelt_negative(x), "taken or dropped earlier");
  close_context(ctx);
}

/* --- What never was a reference ----------------------------------------------------------- */

TEST(null) {
  check_stale(smelt_exp(NULL), "smelt_exp: NULL is not a tensor");
  check_stale(smelt_ref(NULL), "smelt_ref: NULL is not a tensor");
  smelt_drop(NULL);
  CHECK_STATUS(smelt_check(NULL, NULL), SMELT_ERR_STALE);
  CHECK_STATUS(smelt_eval(NULL, 0, NULL), SMELT_OK);
  smelt_context *ctx = open_context();
  check_stale(smelt_add(number(ctx, 1), (smelt_tensor *)NULL), "smelt_add: NULL is not a tensor");
  check_stale(smelt_add((smelt_tensor *)NULL, number(ctx, 1)), "smelt_add: NULL is not a tensor");
  CHECK_I64(counters_of(ctx).live_references, 0);
  close_context(ctx);
}

static uint64_t next_random(uint64_t *state) {
  *state = *state * 6364136223846793005u + 1442695040888963407u;
  return *state ^ *state >> 29;
}

static smelt_tensor *token(uint64_t bits) { return (smelt_tensor *)(uintptr_t)bits; }

TEST(garbage) {
  smelt_context *ctx = open_context();
  smelt_tensor *x = number(ctx, 1);
  uint64_t valid = (uint64_t)(uintptr_t)x, state = 1;
  static const uint64_t values[] = {
      2,          3,          0xffffffff,     1ull << 32,         1ull << 33,
      1ull << 63, UINT64_MAX, 0x7fffffffffff, 0xffffffff00000001, 0xfffffffe00000001};
  for (size_t i = 0; i < sizeof values / sizeof values[0]; i++) {
    check_stale(smelt_exp(token(values[i])), "smelt_exp: not a reference to a tensor");
    smelt_drop(token(values[i]));
  }
  for (int i = 0; i < 64; i++) {
    uint64_t bits = valid ^ (uint64_t)1 << i;
    if (bits != 1) CHECK_STATUS(smelt_check(token(bits), NULL), SMELT_ERR_STALE);
  }
  for (int i = 0; i < 100000; i++) {
    uint64_t bits = next_random(&state);
    if (bits != valid) smelt_drop(token(i % 2 ? bits : bits % 4096 << 32 | (bits >> 40) % 16 * 2));
  }
  smelt_tensor *here = (smelt_tensor *)&state; /* a pointer to memory */
  CHECK_STATUS(smelt_check(here, NULL), SMELT_ERR_STALE);
  CHECK_STATUS(smelt_check(x, NULL), SMELT_OK);
  smelt_drop(x);
  close_context(ctx);
}

/* --- Destroyed contexts ---------------------------------------------------------------------- */

TEST(tokens_of_destroyed_contexts) {
  smelt_error err;
  smelt_context *ctx = open_context();
  smelt_tensor *leaked = number(ctx, 1), *pending = smelt_exp(smelt_ref(leaked)), *taken = number(ctx, 2);
  smelt_drop(taken);
  CHECK_STATUS(smelt_context_destroy(ctx, &err), SMELT_ERR_LEAK);
  CHECK_STR(err.text, "2 references leaked: t2 f32[] made by exp, t1 f32[] made by from_host");
  check_stale(smelt_exp(leaked), "the context of t1 (made by from_host) was destroyed");
  check_stale(smelt_exp(pending), "the context of t2 (made by exp) was destroyed");
  check_stale(smelt_exp(taken), "was dropped before");
  smelt_drop(leaked);
  CHECK_STATUS(smelt_check(pending, NULL), SMELT_ERR_STALE);
}

/* Another context may live where the destroyed one was. */
TEST(a_new_context_is_not_blamed) {
  smelt_tensor *leaked[20], *taken[20];
  for (int i = 0; i < 20; i++) {
    smelt_context *ctx = open_context();
    leaked[i] = number(ctx, 1);
    taken[i] = number(ctx, 2);
    smelt_drop(taken[i]);
    CHECK_STATUS(smelt_context_destroy(ctx, NULL), SMELT_ERR_LEAK);
    ctx = open_context();
    for (int k = 0; k <= i; k++) {
      CHECK_STATUS(smelt_check(leaked[k], NULL), SMELT_ERR_STALE);
      smelt_drop(taken[k]);
    }
    CHECK_I64(counters_of(ctx).misuses, 0);
    close_context(ctx);
  }
}

TEST(misuses_count_for_the_context_they_belong_to) {
  smelt_context *a = open_context(), *b = open_context();
  smelt_tensor *x = number(a, 1), *y = number(b, 1);
  smelt_drop(x);
  smelt_drop(x);
  smelt_drop(y);
  smelt_drop(y);
  smelt_drop(y);
  CHECK_I64(counters_of(a).misuses, 1);
  CHECK_I64(counters_of(b).misuses, 2);
  close_context(a);
  smelt_drop(x);
  CHECK_I64(counters_of(b).misuses, 2);
  close_context(b);
}

static void keep_line(void *user, const char *line) { (void)snprintf(user, 600, "%s", line); }

TEST(misuses_are_logged) {
  char line[600] = "";
  smelt_context_desc desc = SMELT_CONTEXT_DESC_INIT;
  desc.log = "memory";
  desc.log_fn = keep_line;
  desc.log_user = line;
  smelt_context *ctx = smelt_context_create(&desc, NULL);
  smelt_tensor *x = number(ctx, 1);
  smelt_drop(x);
  smelt_drop(x);
  CHECK_STR(line, "[memory] smelt_drop: t1 (made by from_host) was dropped before");
  CHECK(number(ctx, 1) != NULL);
  CHECK_STATUS(smelt_context_destroy(ctx, NULL), SMELT_ERR_LEAK);
  CHECK_STR(line, "[memory] leaked: t2 f32[], 4 bytes, 1 reference, made by from_host");
}

/* --- Many references ---------------------------------------------------------------------------- */

TEST(many_references) {
  enum { N = 20000 };
  static smelt_tensor *refs[N];
  smelt_context *ctx = open_context();
  smelt_tensor *x = number(ctx, 1);
  for (int round = 0; round < 3; round++) {
    for (int i = 0; i < N; i++) refs[i] = smelt_ref(x);
    CHECK_I64(counters_of(ctx).live_references, N + 1);
    for (int i = 0; i < N; i++) CHECK_STATUS(smelt_check(refs[i], NULL), SMELT_OK);
    for (int i = round; i < N + round; i++) smelt_drop(refs[i % N]);
    CHECK_I64(counters_of(ctx).live_references, 1);
    for (int i = 0; i < N; i++) CHECK_STATUS(smelt_check(refs[i], NULL), SMELT_ERR_STALE);
  }
  smelt_drop(x);
  close_context(ctx);
}

TEST(poisoned_references_are_references) {
  smelt_tensor *p = smelt_exp(NULL), *q = smelt_ref(p);
  smelt_drop(p);
  check_stale(smelt_exp(p), "a scalar or poisoned tensor was dropped before");
  check_stale(q, "smelt_exp: NULL is not a tensor");
  smelt_tensor *s = smelt_scalar_f64(1);
  smelt_drop(s);
  check_stale(smelt_exp(s), "a scalar or poisoned tensor was dropped before");
}

/* --- Threads ---------------------------------------------------------------------------------------- */

enum { ROUNDS = 100000 };

/* Two threads meet at `round`, then both take the token that is there. */
typedef struct duel {
  smelt_context *ctx;
  _Atomic(smelt_tensor *) token;
  _Atomic int arrived, won, lost;
} duel;

static void wait_for(duel *d, int target) {
  while (atomic_load(&d->arrived) < target) (void)sched_yield();
}

static void meet(duel *d, int target) {
  atomic_fetch_add(&d->arrived, 1);
  wait_for(d, target);
}

static void take_once(duel *d, smelt_tensor *t) {
  smelt_tensor *y = smelt_negative(t);
  smelt_status status = smelt_check(y, NULL);
  if (status == SMELT_OK) atomic_fetch_add(&d->won, 1);
  if (status == SMELT_ERR_STALE) atomic_fetch_add(&d->lost, 1);
  smelt_drop(y);
}

static void *fight(void *user) {
  duel *d = user;
  for (int round = 0; round < ROUNDS; round++) {
    meet(d, 4 * round + 2);
    take_once(d, atomic_load(&d->token));
    meet(d, 4 * round + 4);
  }
  return NULL;
}

TEST(of_two_threads_one_takes_the_token) {
  duel d = {.ctx = open_context()};
  pthread_t other;
  atomic_store(&d.token, number(d.ctx, 1));
  CHECK_I64(pthread_create(&other, NULL, fight, &d), 0);
  for (int round = 0; round < ROUNDS; round++) {
    meet(&d, 4 * round + 2);
    take_once(&d, atomic_load(&d.token));
    wait_for(&d, 4 * round + 3); /* the other has taken its turn */
    CHECK_I64(atomic_load(&d.won), round + 1);
    CHECK_I64(atomic_load(&d.lost), round + 1);
    if (round + 1 < ROUNDS) atomic_store(&d.token, number(d.ctx, 1));
    meet(&d, 4 * round + 4);
  }
  CHECK_I64(pthread_join(other, NULL), 0);
  CHECK_I64(counters_of(d.ctx).misuses, ROUNDS);
  CHECK_I64(counters_of(d.ctx).live_references, 0);
  close_context(d.ctx);
}

/* Threads with references of their own to shared tensors, each its own context
 * too, which come and go. */
static void *work(void *user) {
  smelt_tensor *mine = user;
  for (int round = 0; round < 300; round++) {
    smelt_context *ctx = open_context();
    smelt_tensor *own = smelt_exp(number(ctx, 1)), *stale = smelt_ref(own);
    smelt_drop(stale);
    smelt_drop(stale);
    CHECK_I64(counters_of(ctx).misuses, 1);
    smelt_tensor *y = smelt_add(smelt_ref(mine), smelt_mul(smelt_ref(mine), 2.0));
    double value;
    smelt_error err;
    CHECK_OK(smelt_item_f64(y, &value, &err), err);
    CHECK_F64(value, 9);
    smelt_drop(y);
    if (round % 2) {
      smelt_drop(own);
      close_context(ctx);
    } else {
      CHECK_STATUS(smelt_context_destroy(ctx, NULL), SMELT_ERR_LEAK);
      CHECK_STATUS(smelt_check(own, NULL), SMELT_ERR_STALE);
    }
  }
  smelt_drop(mine);
  return NULL;
}

TEST(threads_share_tensors_and_the_table) {
  smelt_context *ctx = open_context();
  smelt_tensor *shared = smelt_add(number(ctx, 1), 2.0);
  pthread_t threads[4];
  for (int i = 0; i < 4; i++) CHECK_I64(pthread_create(&threads[i], NULL, work, smelt_ref(shared)), 0);
  for (int i = 0; i < 4; i++) CHECK_I64(pthread_join(threads[i], NULL), 0);
  smelt_drop(shared);
  CHECK_I64(counters_of(ctx).live_references, 0);
  close_context(ctx);
}

/* --- The table does not grow for ever --- */

static uint32_t slot_of(smelt_tensor *t) {
  uint32_t slot = (uint32_t)((uint64_t)(uintptr_t)t >> 32);
  smelt_drop(t);
  return slot;
}

static void *use_some(void *user) {
  (void)user;
  for (int i = 0; i < SM_STALE_QUEUE; i++) smelt_drop(smelt_scalar_i64(i));
  return NULL;
}

/* What a thread had is used again when it has ended. */
TEST(threads_that_come_and_go) {
  for (int i = 0; i < 50; i++) {
    pthread_t thread;
    CHECK_I64(pthread_create(&thread, NULL, use_some, NULL), 0);
    CHECK_I64(pthread_join(thread, NULL), 0);
  }
  CHECK(slot_of(smelt_scalar_i64(0)) < 5 * SM_STALE_QUEUE);
}

static void *drop_what_comes(void *user) {
  duel *d = user;
  for (int i = 0; i < 8 * SM_STALE_QUEUE; i++) {
    smelt_tensor *t;
    while (!(t = atomic_exchange(&d->token, NULL))) (void)sched_yield();
    smelt_drop(t);
  }
  return NULL;
}

/* One thread makes references, another gives them up. */
TEST(a_thread_that_only_drops) {
  duel d = {.ctx = NULL};
  pthread_t other;
  CHECK_I64(pthread_create(&other, NULL, drop_what_comes, &d), 0);
  for (int i = 0; i < 8 * SM_STALE_QUEUE; i++) {
    smelt_tensor *expected = NULL, *t = smelt_scalar_i64(i);
    while (!atomic_compare_exchange_weak(&d.token, &expected, t)) {
      expected = NULL;
      (void)sched_yield();
    }
  }
  CHECK_I64(pthread_join(other, NULL), 0);
  CHECK(slot_of(smelt_scalar_i64(0)) < 5 * SM_STALE_QUEUE);
}

TEST_MAIN(CASE(use_after_take_names_the_taker), CASE(use_after_drop), CASE(double_take_in_one_call),
          CASE(double_drop_only_reports), CASE(drop_of_a_taken_reference),
          CASE(a_reused_slot_is_not_confused), CASE(the_taker_is_remembered_while_the_slot_waits), CASE(null),
          CASE(garbage), CASE(tokens_of_destroyed_contexts), CASE(a_new_context_is_not_blamed),
          CASE(misuses_count_for_the_context_they_belong_to), CASE(misuses_are_logged), CASE(many_references),
          CASE(poisoned_references_are_references), CASE(of_two_threads_one_takes_the_token),
          CASE(threads_share_tensors_and_the_table), CASE(threads_that_come_and_go),
          CASE(a_thread_that_only_drops))
