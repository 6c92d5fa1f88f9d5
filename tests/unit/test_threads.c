/* SPDX-License-Identifier: Apache-2.0
 *
 * Threads that use one context: streams that come and go, aliases, callbacks that wait,
 * random numbers, kernels that several threads need at once, and fork. */
#define _GNU_SOURCE
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "api/context_state.h"
#include "api_fixture.h"
#include "peer.h"

#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
static const bool has_sanitizer_malloc = true;
#elif defined(__has_feature)
static const bool has_sanitizer_malloc = __has_feature(thread_sanitizer) || __has_feature(address_sanitizer);
#else
static const bool has_sanitizer_malloc = false;
#endif

/* What a step works on. */
typedef struct work {
  smelt_context *ctx;
  smelt_tensor *t, *out;
  double value;
} work;

static void wait_for(atomic_int *flag) {
  while (!atomic_load(flag)) (void)usleep(100);
}

/* --- Streams ----------------------------------------------------------------------------- */

static int count_streams(const smelt_context *ctx) {
  int n = 0;
  for (const sm_stream *s = atomic_load(&ctx->streams.first); s; s = s->next) n++;
  return n;
}

/* out = t + 1, pending. */
static void add_one(void *user) {
  work *w = user;
  w->out = smelt_add(w->t, 1.0);
}

static void add_one_and_leave(work *w) {
  peer p;
  peer_open(&p);
  peer_do(&p, add_one, w);
  peer_close(&p);
}

TEST(what_a_thread_leaves_pending_is_computed) {
  work w = {.ctx = open_context()};
  w.t = number(w.ctx, 1);
  add_one_and_leave(&w);
  uint64_t segments = counters_of(w.ctx).segments;
  CHECK_I64(segments, 1);
  CHECK_F64(value_of(w.out), 2);
  CHECK_I64(counters_of(w.ctx).segments, segments);
  close_context(w.ctx);
}

TEST(short_lived_threads_need_few_streams) {
  work w = {.ctx = open_context()};
  for (int i = 0; i < 20; i++) {
    w.t = number(w.ctx, (float)i);
    add_one_and_leave(&w);
    CHECK_F64(value_of(w.out), i + 1);
  }
  CHECK_I64(count_streams(w.ctx), 2);
  close_context(w.ctx);
}

/* A stream whose tensors are still wanted is nobody else's. */
TEST(a_stream_with_tensors_is_not_taken_over) {
  work w = {.ctx = open_context()};
  smelt_tensor *kept[4];
  for (int i = 0; i < 4; i++) {
    w.t = number(w.ctx, (float)i);
    add_one_and_leave(&w);
    kept[i] = w.out;
  }
  CHECK_I64(count_streams(w.ctx), 5);
  for (int i = 0; i < 4; i++) CHECK_F64(value_of(kept[i]), i + 1);
  w.t = number(w.ctx, 7);
  add_one_and_leave(&w);
  CHECK_I64(count_streams(w.ctx), 5);
  CHECK_F64(value_of(w.out), 8);
  close_context(w.ctx);
}

static void check_stale(void *user) { CHECK_STATUS(smelt_check(((work *)user)->out, NULL), SMELT_ERR_STALE); }

/* A thread may outlive a context in which it has work pending, and use another. */
TEST(a_context_goes_before_its_threads) {
  peer p;
  peer_open(&p);
  for (int i = 0; i < 3; i++) {
    work w = {.ctx = open_context()};
    w.t = number(w.ctx, 1);
    peer_do(&p, add_one, &w);
    CHECK_STATUS(smelt_context_destroy(w.ctx, NULL), SMELT_ERR_LEAK);
    peer_do(&p, check_stale, &w);
  }
  peer_close(&p);
}

static void use_two_contexts(void *user) {
  work *w = user;
  for (int i = 0; i < 3; i++) {
    CHECK_F64(value_of(smelt_add(number(w[0].ctx, 1), 1.0)), 2);
    CHECK_F64(value_of(smelt_add(number(w[1].ctx, 2), 1.0)), 3);
  }
}

TEST(several_contexts) {
  work w[2] = {{.ctx = open_context()}, {.ctx = open_device("ref")}};
  peer p;
  peer_open(&p);
  peer_do(&p, use_two_contexts, w);
  use_two_contexts(w);
  peer_close(&p);
  close_context(w[0].ctx);
  close_context(w[1].ctx);
}

/* --- Sharing ---------------------------------------------------------------------------------- */

typedef struct lines {
  char text[4000];
} lines;

static void keep_line(void *user, const char *line) {
  lines *l = user;
  size_t n = strlen(l->text);
  (void)snprintf(l->text + n, sizeof l->text - n, "%s\n", line);
}

static smelt_context *open_logged(lines *l, const char *categories) {
  smelt_context_desc desc = SMELT_CONTEXT_DESC_INIT;
  desc.log = categories;
  desc.log_fn = keep_line;
  desc.log_user = l;
  return open_context_with(&desc);
}

/* out = t*t + t; t is kept. */
static void square_plus(void *user) {
  work *w = user;
  w->out = smelt_add(smelt_mul(smelt_ref(w->t), smelt_ref(w->t)), smelt_ref(w->t));
}

TEST(one_alias_however_often_it_is_used) {
  lines l = {""};
  work w = {.ctx = open_logged(&l, "register")};
  peer p;
  peer_open(&p);
  w.t = number(w.ctx, 3);
  peer_do(&p, square_plus, &w);
  CHECK_STR(l.text,
            "[registered] Init in=[] out=[t1:NotInit]\n"
            "[registered] Alias in=[t1:ReadOnly] out=[t2:NotInit] stream=2 home=1\n"
            "[registered] NumericFloat(F32, Mul) in=[t2:ReadOnly, t2:ReadOnly] out=[t3:NotInit]\n"
            "[registered] NumericFloat(F32, Add) in=[t3:ReadWrite, t2:ReadOnly] out=[t4:NotInit]\n");
  CHECK_F64(value_of(w.out), 12);
  smelt_drop(w.t);
  peer_close(&p);
  close_context(w.ctx);
}

/* Neither side may write over what both hold. */
TEST(no_in_place_writes_of_what_is_shared) {
  work w = {.ctx = open_context()};
  peer p;
  peer_open(&p);
  smelt_tensor *x = number(w.ctx, 3);
  w.t = smelt_ref(x);
  peer_do(&p, add_one, &w); /* pending: the alias holds the buffer */
  CHECK_F64(value_of(smelt_mul(x, 2.0)), 6);
  CHECK_I64(counters_of(w.ctx).in_place_writes, 0);
  CHECK_F64(value_of(w.out), 4);
  CHECK_I64(counters_of(w.ctx).in_place_writes, 0);
  peer_close(&p);
  close_context(w.ctx);
}

TEST(what_was_shared_ends_nothing) {
  work w = {.ctx = open_context()};
  smelt_error err;
  peer p;
  peer_open(&p);
  w.t = smelt_mul(number(w.ctx, 3), 2.0);
  CHECK_OK(smelt_share(w.t, &err), err);
  smelt_tensor *pending = smelt_mul(number(w.ctx, 1), 2.0);
  CHECK_I64(counters_of(w.ctx).segments, 1);
  peer_do(&p, square_plus, &w);
  CHECK_I64(counters_of(w.ctx).segments, 1);
  CHECK_F64(value_of(w.out), 42);
  CHECK_F64(value_of(pending), 2);
  smelt_drop(w.t);
  peer_close(&p);
  close_context(w.ctx);
}

TEST(sharing_what_is_poisoned) {
  smelt_context *ctx = open_context();
  smelt_error err = {0};
  smelt_tensor *bad = smelt_add(smelt_zeros(ctx, SMELT_F32, DIMS(2)), smelt_zeros(ctx, SMELT_F32, DIMS(3)));
  CHECK_STATUS(smelt_share(bad, &err), SMELT_ERR_SHAPE);
  CHECK_CONTAINS(err.text, "do not broadcast");
  smelt_drop(bad);
  CHECK_STATUS(smelt_share(NULL, &err), SMELT_ERR_STALE);
  smelt_tensor *two = smelt_scalar_f64(2);
  CHECK_STATUS(smelt_share(two, &err), SMELT_OK);
  smelt_drop(two);
  close_context(ctx);
}

static void check_device(void *user) {
  work *w = user;
  check_poison(smelt_add(smelt_ref(w->t), number(w->ctx, 1)), SMELT_ERR_DEVICE, "different contexts");
}

TEST(other_threads_see_other_contexts_too) {
  smelt_context *ctx = open_context();
  work w = {.ctx = open_context(), .t = number(ctx, 1)};
  peer p;
  peer_open(&p);
  peer_do(&p, check_device, &w);
  smelt_drop(w.t);
  peer_close(&p);
  close_context(w.ctx);
  close_context(ctx);
}

/* --- Random numbers ---------------------------------------------------------------------------- */

static void draw(void *user) {
  work *w = user;
  w->value = value_of(smelt_rand(w->ctx, SMELT_F64, 0, NULL));
}

/* What one thread draws is not what another draws, and does not depend on when. */
TEST(each_thread_has_its_random_numbers) {
  double first[2], second[2];
  for (int round = 0; round < 2; round++) {
    work w = {.ctx = open_context()};
    peer p;
    peer_open(&p);
    draw(&w);
    first[round] = w.value;
    if (round) draw(&w);
    peer_do(&p, draw, &w);
    second[round] = w.value;
    peer_close(&p);
    close_context(w.ctx);
  }
  CHECK_F64(first[0], first[1]);
  CHECK_F64(second[0], second[1]);
  CHECK(first[0] != second[0]);
}

/* --- One kernel for all ----------------------------------------------------------------------------- */

enum { CROWD = 8 };

typedef struct rush {
  smelt_context *ctx;
  atomic_int *go;
  pthread_t thread;
} rush;

static void *compute_at_once(void *argument) {
  rush *r = argument;
  smelt_tensor *y = smelt_exp(smelt_mul(smelt_add(number(r->ctx, 1), -1.0), 3.0));
  while (!atomic_load(r->go)) continue;
  CHECK_F64(value_of(y), 1);
  return NULL;
}

TEST(a_kernel_is_made_once) {
  for (int round = 0; round < 4; round++) {
    smelt_context *ctx = open_context();
    atomic_int go = 0;
    rush crowd[CROWD];
    for (int i = 0; i < CROWD; i++) {
      crowd[i] = (rush){.ctx = ctx, .go = &go};
      CHECK_I64(pthread_create(&crowd[i].thread, NULL, compute_at_once, &crowd[i]), 0);
    }
    atomic_store(&go, 1);
    for (int i = 0; i < CROWD; i++) CHECK_I64(pthread_join(crowd[i].thread, NULL), 0);
    CHECK_I64(counters_of(ctx).kernels_compiled, 1);
    CHECK_I64(counters_of(ctx).launches, CROWD);
    close_context(ctx);
  }
}

/* --- Callbacks without locks --- */

#ifndef NDEBUG
static atomic_int calls_with_locks, allocations, log_lines, frees;

static void note_locks(atomic_int *calls) {
  atomic_fetch_add(calls, 1);
  if (sm_thread_self()->held) atomic_fetch_add(&calls_with_locks, 1);
}

static void *allocate_noting(void *user, void *ptr, size_t old, size_t size) {
  (void)user;
  note_locks(&allocations);
  return sm_malloc_allocator.fn(NULL, ptr, old, size);
}

static void log_noting(void *user, const char *line) {
  (void)user, (void)line;
  note_locks(&log_lines);
}

static void free_noting(void *user) {
  (void)user;
  note_locks(&frees);
}

/* Conversions, foreign operands, many records, failures: what takes memory. */
static void use_much(void *user) {
  work *w = user;
  static const float data = 2;
  smelt_tensor *x = smelt_wrap(w->ctx, SMELT_F32, 0, NULL, &data, free_noting, NULL);
  for (int i = 0; i < 40; i++) x = smelt_add(smelt_mul(x, smelt_ref(w->t)), 1.0);
  smelt_tensor *small = smelt_add(smelt_astype(smelt_ref(w->t), SMELT_I8), smelt_astype(x, SMELT_I16));
  CHECK_STATUS(smelt_eval((const smelt_tensor *[]){small}, 1, NULL), SMELT_OK);
  smelt_drop(small);
  smelt_tensor *two = smelt_zeros(w->ctx, SMELT_F32, DIMS(2)),
               *three = smelt_zeros(w->ctx, SMELT_F32, DIMS(3));
  check_poison(smelt_add(two, three), SMELT_ERR_SHAPE, "broadcast");
}
#endif

TEST(callbacks_are_called_without_locks) {
#ifdef NDEBUG
  TEST_SKIP("which locks a thread holds is known in builds with assertions");
#else
  smelt_context_desc desc = SMELT_CONTEXT_DESC_INIT;
  desc.alloc = allocate_noting;
  desc.log = "all";
  desc.log_fn = log_noting;
  desc.max_segment_ops = 30;
  work w = {.ctx = open_context_with(&desc)};
  peer p;
  peer_open(&p);
  w.t = number(w.ctx, 1);
  use_much(&w);
  peer_do(&p, use_much, &w);
  smelt_drop(w.t);
  peer_close(&p);
  close_context(w.ctx);
  CHECK(atomic_load(&allocations) > 100 && atomic_load(&log_lines) > 100);
  CHECK_I64(atomic_load(&frees), 2);
  CHECK_I64(atomic_load(&calls_with_locks), 0);
#endif
}

/* While memory for a call is fetched another thread gives up the operand's other
 * reference. */
typedef struct trap {
  peer p;
  smelt_tensor *t; /* to be given up; NULL when it has been */
} trap;

static void drop_trapped(void *user) { smelt_drop(((trap *)user)->t); }

static void *allocate_and_drop(void *user, void *ptr, size_t old, size_t size) {
  trap *x = user;
  if (x->t && size) {
    peer_do(&x->p, drop_trapped, x);
    x->t = NULL;
  }
  return sm_malloc_allocator.fn(NULL, ptr, old, size);
}

TEST(operands_outlive_the_fetching_of_memory) {
  trap x = {.t = NULL};
  smelt_context_desc desc = SMELT_CONTEXT_DESC_INIT;
  desc.alloc = allocate_and_drop;
  desc.alloc_user = &x;
  peer_open(&x.p);
  smelt_context *ctx = open_context_with(&desc);
  smelt_tensor *t = number(ctx, 1);
  x.t = smelt_ref(t);
  smelt_tensor *y = smelt_add(t, 1); /* the first record of all */
  CHECK(x.t == NULL);
  CHECK_F64(value_of(y), 2);
  close_context(ctx);
  peer_close(&x.p);
}

/* --- Callbacks that wait -------------------------------------------------------------------------------- */

/* A log that stops the first launch of another thread until it is told to go on. */
typedef struct gate {
  pthread_t main;
  atomic_int reached, open;
} gate;

static void stop_at_launch(void *user, const char *line) {
  gate *g = user;
  if (pthread_equal(pthread_self(), g->main) || strncmp(line, "[launch]", 8) != 0) return;
  atomic_store(&g->reached, 1);
  wait_for(&g->open);
}

typedef struct stopped {
  gate gate;
  smelt_context *ctx;
  smelt_tensor *t;
  pthread_t thread;
} stopped;

static void *compute_t(void *argument) {
  stopped *s = argument;
  s->t = smelt_add(number(s->ctx, 1), 1.0);
  smelt_drop(smelt_ref(s->t));
  CHECK_STATUS(smelt_eval((const smelt_tensor *[]){s->t}, 1, NULL), SMELT_OK);
  atomic_store(&s->gate.reached, 1); /* also where the line could not be written */
  return NULL;
}

/* The thread is in the middle of computing t when this returns. */
static void stop_in_launch(stopped *s) {
  smelt_context_desc desc = SMELT_CONTEXT_DESC_INIT;
  s->gate.main = pthread_self();
  desc.log = "launch";
  desc.log_fn = stop_at_launch;
  desc.log_user = &s->gate;
  s->ctx = open_context_with(&desc);
  CHECK_I64(pthread_create(&s->thread, NULL, compute_t, s), 0);
  wait_for(&s->gate.reached);
}

static void go_on(stopped *s) {
  atomic_store(&s->gate.open, 1);
  CHECK_I64(pthread_join(s->thread, NULL), 0);
}

/* While one thread is in a callback, others work in the same context, also with what it
 * is computing as long as they do not need the data. */
TEST(callbacks_hold_nobody_up) {
  stopped s = {.ctx = NULL};
  stop_in_launch(&s);
  CHECK_F64(value_of(smelt_exp(number(s.ctx, 0))), 1);
  CHECK_STATUS(smelt_check(s.t, NULL), SMELT_OK);
  smelt_drop(smelt_ref(s.t));
  CHECK_STATUS(smelt_sync(s.ctx, NULL), SMELT_OK);
  go_on(&s);
  CHECK_F64(value_of(s.t), 2);
  close_context(s.ctx);
}

static void free_when_told(void *user) {
  gate *g = user;
  atomic_store(&g->reached, 1);
  wait_for(&g->open);
}

static void *drop_wrapped(void *argument) {
  stopped *s = argument;
  static const float data = 1;
  smelt_drop(smelt_wrap(s->ctx, SMELT_F32, 0, NULL, &data, free_when_told, &s->gate));
  return NULL;
}

TEST(free_functions_hold_nobody_up) {
  stopped s = {.ctx = open_context()};
  CHECK_I64(pthread_create(&s.thread, NULL, drop_wrapped, &s), 0);
  wait_for(&s.gate.reached);
  CHECK_F64(value_of(smelt_exp(number(s.ctx, 0))), 1);
  go_on(&s);
  close_context(s.ctx);
}

/* --- Fork ------------------------------------------------------------------------------------------ */

/* The child ends with status 0 if all is well. */
static void check_child(pid_t child) {
  int status = -1;
  CHECK_I64(waitpid(child, &status, 0), child);
  CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

/* What has been computed, or can be, is there in a child, unless the device has memory of its own: such
 * devices do not work there. */
static void check_in_child(smelt_tensor *t, const smelt_context *ctx, double expected) {
  float value = 0;
  bool works = ctx->device.driver->host_memory;
  CHECK_STATUS(smelt_into_host(t, SMELT_F32, &value, sizeof value, NULL),
               works ? SMELT_OK : SMELT_ERR_FORKED);
  if (works) CHECK_F64(value, expected);
}

/* What the other thread was computing is lost in the child. */
TEST(fork_while_another_thread_computes) {
  stopped s = {.ctx = NULL};
  stop_in_launch(&s);
  smelt_tensor *ready = number(s.ctx, 5), *pending = smelt_add(number(s.ctx, 1), 1.0);
  pid_t child = fork();
  if (child == 0) {
    smelt_error err = {0};
    float value;
    (void)alarm(20);
    CHECK_STATUS(smelt_read(s.t, SMELT_F32, &value, sizeof value, &err), SMELT_ERR_FORKED);
    CHECK_CONTAINS(err.text, "forked");
    check_in_child(ready, s.ctx, 5);
    check_in_child(pending, s.ctx, 2);
    check_poison(smelt_add(s.t, 1.0), SMELT_ERR_FORKED, "forked");
    CHECK_STATUS(smelt_context_destroy(s.ctx, NULL), SMELT_OK);
    _exit(0);
  }
  check_child(child);
  go_on(&s);
  CHECK_F64(value_of(s.t), 2);
  CHECK_F64(value_of(ready), 5);
  CHECK_F64(value_of(pending), 2);
  close_context(s.ctx);
}

typedef struct busy {
  smelt_context *ctx;
  atomic_int stop;
} busy;

static void *keep_busy(void *argument) {
  busy *b = argument;
  for (float i = 0; !atomic_load(&b->stop); i++, (void)usleep(20))
    CHECK_F64(value_of(smelt_add(number(b->ctx, i), 1.0)), i + 1);
  return NULL;
}

/* Whatever other threads hold when the process is forked, the child can go on. Not with
 * sanitizers whose malloc may stay locked in the child. */
TEST(fork_while_others_are_busy) {
  if (has_sanitizer_malloc) TEST_SKIP("the sanitizer's malloc does not survive a fork");
  busy b = {.ctx = open_device("ref")};
  pthread_t threads[3];
  for (int i = 0; i < 3; i++) CHECK_I64(pthread_create(&threads[i], NULL, keep_busy, &b), 0);
  for (int round = 0; round < 10; round++) {
    pid_t child = fork();
    if (child == 0) {
      (void)alarm(20);
      CHECK_F64(value_of(smelt_add(number(b.ctx, 1), 1.0)), 2);
      smelt_context *own = open_device("ref");
      CHECK_F64(value_of(smelt_add(number(own, 1), 2.0)), 3);
      close_context(own);
      _exit(0);
    }
    check_child(child);
  }
  atomic_store(&b.stop, 1);
  for (int i = 0; i < 3; i++) CHECK_I64(pthread_join(threads[i], NULL), 0);
  close_context(b.ctx);
}

/* --- The order of locks -------------------------------------------------------------------------------- */

TEST(locks_are_taken_in_order) {
#ifdef NDEBUG
  TEST_SKIP("the order is checked in builds with assertions");
#else
  sm_mutex first, second;
  CHECK(sm_mutex_init(&first, SM_LOCK_STREAM) && sm_mutex_init(&second, SM_LOCK_MEMORY));
  sm_lock(&first);
  sm_lock(&second);
  sm_unlock(&second);
  sm_unlock(&first);
  pid_t child = fork();
  if (child == 0) {
    (void)close(STDERR_FILENO);
    sm_lock(&second);
    sm_lock(&first);
    _exit(0);
  }
  int status = 0;
  CHECK_I64(waitpid(child, &status, 0), child);
  CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
  sm_mutex_destroy(&first);
  sm_mutex_destroy(&second);
#endif
}

TEST_MAIN(CASE(what_a_thread_leaves_pending_is_computed), CASE(short_lived_threads_need_few_streams),
          CASE(a_stream_with_tensors_is_not_taken_over), CASE(a_context_goes_before_its_threads),
          CASE(several_contexts), CASE(one_alias_however_often_it_is_used),
          CASE(no_in_place_writes_of_what_is_shared), CASE(what_was_shared_ends_nothing),
          CASE(sharing_what_is_poisoned), CASE(other_threads_see_other_contexts_too),
          CASE(each_thread_has_its_random_numbers), CASE(a_kernel_is_made_once),
          CASE(callbacks_are_called_without_locks), CASE(operands_outlive_the_fetching_of_memory),
          CASE(callbacks_hold_nobody_up), CASE(free_functions_hold_nobody_up),
          CASE(fork_while_another_thread_computes), CASE(fork_while_others_are_busy),
          CASE(locks_are_taken_in_order))
