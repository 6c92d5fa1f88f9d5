/* SPDX-License-Identifier: Apache-2.0
 *
 * thread_stress [--seconds N] [--seed N]
 *
 * Threads that do at random what threads may do: record, share, drop, read, compute,
 * end, make contexts of their own. In each *generation* one context serves eight
 * threads; at its end nothing may be left alive. Every tensor's elements are equal and
 * known, so each read is checked. Tensors go from thread to thread by way of *places*,
 * where a thread puts a reference and others take one more. */
#define _POSIX_C_SOURCE 200809L
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "smelt/smelt.h"

enum { THREADS = 8, PLACES = 12, HELD = 6, STEPS = 300, ELEMENTS = 40, MOST = 1000 };

/* --- What is wrong ends the program ------------------------------------------------- */

static uint64_t seed = 1;

static void require(bool good, const char *what, const char *detail) {
  if (good) return;
  (void)printf("thread_stress --seed %" PRIu64 ": %s: %s\n", seed, what, detail);
  (void)fflush(stdout);
  abort();
}

static void require_ok(smelt_status status, const char *what, const smelt_error *err) {
  require(status == SMELT_OK, what, status == SMELT_OK ? "" : err->text);
}

/* --- Tensors whose elements are known --------------------------------------------------- */

typedef struct known {
  smelt_tensor *t; /* NULL: none */
  int value;
} known;

typedef struct place {
  pthread_mutex_t lock;
  known held;
} place;

typedef struct generation {
  smelt_context *ctx;
  place places[PLACES];
} generation;

typedef struct actor {
  pthread_t thread;
  generation *g;
  uint64_t random;
  known held[HELD];
} actor;

static uint32_t draw(actor *a, uint32_t n) {
  a->random = a->random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
  return (uint32_t)(a->random >> 33) % n;
}

static known *any_held(actor *a) { return &a->held[draw(a, HELD)]; }
static place *any_place(actor *a) { return &a->g->places[draw(a, PLACES)]; }

static void replace(known *k, known by) {
  if (k->t) smelt_drop(k->t);
  *k = by;
}

static known another(const known *k) { return (known){k->t ? smelt_ref(k->t) : NULL, k->value}; }

static void check_value(const known *k) {
  float out[ELEMENTS];
  smelt_error err;
  require_ok(smelt_read(k->t, SMELT_F32, out, sizeof out, &err), "read", &err);
  for (int i = 0; i < ELEMENTS; i++) require(out[i] == (float)k->value, "read", "another value");
}

/* --- What actors do ----------------------------------------------------------------------- */

static known make(smelt_context *ctx, int value) {
  float data[ELEMENTS];
  for (int i = 0; i < ELEMENTS; i++) data[i] = (float)value;
  return (known){smelt_from_host(ctx, SMELT_F32, 1, (int64_t[]){ELEMENTS}, data), value};
}

static void create(actor *a) { replace(any_held(a), make(a->g->ctx, (int)draw(a, 100))); }

/* Takes what `k` holds; values stay whole numbers that floats have. */
static void add_scalar(actor *a) {
  known *k = any_held(a);
  int by = (int)draw(a, 5);
  if (!k->t || k->value > MOST || k->value < -MOST) return;
  *k = (known){smelt_add(k->t, by), k->value + by};
}

static void combine(actor *a) {
  const known *x = any_held(a), *y = any_held(a);
  if (!x->t || !y->t || abs(x->value) > MOST || abs(y->value) > MOST) return;
  int value = x->value - y->value;
  replace(any_held(a), (known){smelt_sub(smelt_ref(x->t), smelt_ref(y->t)), value});
}

static void put(actor *a) {
  place *p = any_place(a);
  known mine = another(any_held(a));
  (void)pthread_mutex_lock(&p->lock);
  known old = p->held;
  p->held = mine;
  (void)pthread_mutex_unlock(&p->lock);
  replace(&old, (known){NULL, 0});
}

static void get(actor *a) {
  place *p = any_place(a);
  (void)pthread_mutex_lock(&p->lock);
  known k = another(&p->held);
  (void)pthread_mutex_unlock(&p->lock);
  replace(any_held(a), k);
}

/* The reference itself moves. */
static void move(actor *a) {
  place *p = any_place(a);
  known *k = any_held(a);
  (void)pthread_mutex_lock(&p->lock);
  known taken = p->held;
  p->held = *k;
  (void)pthread_mutex_unlock(&p->lock);
  *k = taken;
}

static void drop(actor *a) { replace(any_held(a), (known){NULL, 0}); }

static void read_one(actor *a) {
  const known *k = any_held(a);
  if (k->t) check_value(k);
}

static void share(actor *a) {
  smelt_error err;
  const known *k = any_held(a);
  if (k->t) require_ok(smelt_share(k->t, &err), "share", &err);
}

static void evaluate(actor *a) {
  smelt_error err;
  const smelt_tensor *list[HELD];
  size_t n = 0;
  for (int i = 0; i < HELD; i++) {
    if (a->held[i].t) list[n++] = a->held[i].t;
  }
  require_ok(smelt_eval(list, n, &err), "eval", &err);
}

static void synchronize(actor *a) {
  smelt_error err;
  require_ok(smelt_sync(a->g->ctx, &err), "sync", &err);
}

static void use_own_context(actor *a) {
  smelt_error err;
  smelt_context_desc desc = SMELT_CONTEXT_DESC_INIT;
  desc.device = "ref";
  smelt_context *ctx = smelt_context_create(&desc, &err);
  require(ctx != NULL, "context", "none");
  known k = make(ctx, 3);
  known sum = {smelt_add(k.t, 4), 7};
  if (draw(a, 2)) check_value(&sum);
  smelt_drop(sum.t);
  require_ok(smelt_context_destroy(ctx, &err), "destroy", &err);
}

static const struct action {
  void (*act)(actor *a);
  uint32_t weight;
} actions[] = {{create, 20}, {add_scalar, 60}, {combine, 30},    {put, 20},
               {get, 20},    {move, 10},       {drop, 15},       {read_one, 10},
               {share, 4},   {evaluate, 3},    {synchronize, 2}, {use_own_context, 1}};

static void act(actor *a) {
  uint32_t at = draw(a, 195);
  size_t i = 0;
  for (; at >= actions[i].weight; i++) at -= actions[i].weight;
  actions[i].act(a);
}

/* What is pending at the end stays in the places, for others. */
static void *live(void *argument) {
  actor *a = argument;
  for (int i = 0; i < STEPS; i++) act(a);
  for (int i = 0; i < HELD; i++) replace(&a->held[i], (known){NULL, 0});
  return NULL;
}

/* --- Generations ------------------------------------------------------------------------------ */

static void ignore_line(void *user, const char *line) { (void)user, (void)line; }

static smelt_context *open_context(uint64_t number) {
  smelt_error err;
  smelt_context_desc desc = SMELT_CONTEXT_DESC_INIT;
  desc.device = number % 2 ? "cpu" : "ref";
  desc.max_segment_ops = number % 3 ? 0 : 5;
  desc.log = number % 4 == 3 ? "all" : "";
  desc.log_fn = ignore_line;
  smelt_context *ctx = smelt_context_create(&desc, &err);
  require(ctx != NULL, "context", "none");
  return ctx;
}

static void check_end(smelt_context *ctx) {
  smelt_error err;
  smelt_counters c = SMELT_COUNTERS_INIT;
  require(smelt_context_counters(ctx, &c) == SMELT_OK, "counters", "none");
  require(c.live_references == 0, "the end", "references are alive");
  require(c.live_bytes == 0, "the end", "bytes are alive");
  require(c.misuses == 0, "the end", "references were misused");
  require_ok(smelt_context_destroy(ctx, &err), "destroy", &err);
}

/* A second set of threads follows the first, so that streams are taken over. */
static void run_threads(generation *g, uint64_t random) {
  actor actors[THREADS];
  for (int i = 0; i < THREADS; i++) {
    actors[i] = (actor){.g = g, .random = random * THREADS + (uint64_t)i};
    require(pthread_create(&actors[i].thread, NULL, live, &actors[i]) == 0, "thread", "none");
  }
  for (int i = 0; i < THREADS; i++) (void)pthread_join(actors[i].thread, NULL);
}

static void run_generation(uint64_t number) {
  generation g = {.ctx = open_context(number)};
  for (int i = 0; i < PLACES; i++) g.places[i] = (place){.lock = PTHREAD_MUTEX_INITIALIZER};
  run_threads(&g, seed + 2 * number);
  run_threads(&g, seed + 2 * number + 1);
  for (int i = 0; i < PLACES; i++) {
    if (g.places[i].held.t) check_value(&g.places[i].held);
    replace(&g.places[i].held, (known){NULL, 0});
  }
  check_end(g.ctx);
}

int main(int argc, char **argv) {
  double seconds = 2;
  for (int i = 1; i + 1 < argc; i += 2) {
    if (strcmp(argv[i], "--seconds") == 0) seconds = strtod(argv[i + 1], NULL);
    if (strcmp(argv[i], "--seed") == 0) seed = strtoull(argv[i + 1], NULL, 10);
  }
  struct timespec start, now;
  uint64_t generations = 0;
  (void)clock_gettime(CLOCK_MONOTONIC, &start);
  do {
    run_generation(generations++);
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
  } while ((double)(now.tv_sec - start.tv_sec) + (double)(now.tv_nsec - start.tv_nsec) / 1e9 < seconds);
  (void)printf("seed %" PRIu64 ", %" PRIu64 " generations of %d threads\n1 passed, 0 failed\n", seed,
               generations, 2 * THREADS);
  return EXIT_SUCCESS;
}
