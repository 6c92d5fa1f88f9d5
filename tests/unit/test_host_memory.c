/* SPDX-License-Identifier: Apache-2.0
 *
 * Pools of tensor memory: classes and alignment, reuse, the cap, exhaustion,
 * many threads, and guard mode. */
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "harness.h"
#include "rt/host_memory.h"

static const size_t mib = (size_t)1 << 20;

static sm_host_pool *make_pool(int64_t cap, smelt_switch guard) {
  smelt_error err = {0};
  sm_host_pool *pool;
  sm_host_pool_options options = {.cap = cap, .guard = guard};
  CHECK_OK(sm_host_pool_create(&sm_malloc_allocator, &options, &pool, &err), err);
  return pool;
}

static void *get(sm_host_pool *pool, size_t bytes) {
  void *data = sm_host_pool_alloc(pool, bytes);
  CHECK(data);
  return data;
}

static uint32_t next_random(uint32_t *state) {
  *state = *state * 1664525 + 1013904223;
  return *state >> 8;
}

/* --- Blocks ------------------------------------------------------------------------------- */

TEST(aligned_and_whole) {
  sm_host_pool *pool = make_pool(-1, SMELT_OFF);
  for (size_t power = 1; power <= 64 * mib; power *= 2) {
    for (size_t bytes = power - (power > 1); bytes <= power + 1; bytes++) {
      char *data = get(pool, bytes);
      CHECK_I64((uintptr_t)data % (bytes >= 2 * mib ? 2 * mib : 64), 0);
      data[0] = data[bytes - 1] = 1;
      size_t block = sm_host_pool_stats(pool).live;
      CHECK(block >= bytes && block - bytes <= (bytes / 8 > 63 ? bytes / 8 : 63));
      sm_host_pool_free(pool, data, bytes);
      CHECK_I64(sm_host_pool_stats(pool).live, 0);
    }
  }
  CHECK_I64(sm_host_pool_stats(pool).hits, 0);
  sm_host_pool_destroy(pool);
}

TEST(reuse) {
  sm_host_pool *pool = make_pool((int64_t)(64 * mib), SMELT_OFF);
  void *small = get(pool, 1000), *large = get(pool, 8 * mib);
  CHECK_I64(sm_host_pool_stats(pool).misses, 2);
  CHECK_I64(sm_host_pool_stats(pool).live, 1024 + 8 * mib);
  sm_host_pool_free(pool, small, 1000);
  sm_host_pool_free(pool, large, 8 * mib);
  CHECK_I64(sm_host_pool_stats(pool).cached, 1024 + 8 * mib);
  /* Another size of the same class. */
  CHECK(get(pool, 8 * mib - 5) == large);
  CHECK(get(pool, 1024) == small);
  void *other = get(pool, 1025);
  CHECK(other != large);
  sm_host_memory_stats stats = sm_host_pool_stats(pool);
  CHECK_I64(stats.hits, 2);
  CHECK_I64(stats.misses, 3);
  CHECK_I64(stats.cached, 0);
  CHECK_I64(stats.peak, 1024 + 8 * mib + 1152);
  sm_host_pool_free(pool, large, 8 * mib - 5);
  sm_host_pool_free(pool, small, 1024);
  sm_host_pool_free(pool, other, 1025);
  sm_host_pool_free(pool, NULL, 10);
  CHECK_I64(sm_host_pool_stats(pool).live, 0);
  sm_host_pool_trim(pool);
  CHECK_I64(sm_host_pool_stats(pool).cached, 0);
  sm_host_pool_destroy(pool);
}

TEST(cap) {
  sm_host_pool *pool = make_pool((int64_t)(16 * mib), SMELT_OFF);
  void *blocks[8];
  for (int i = 0; i < 8; i++) blocks[i] = get(pool, 4 * mib);
  for (int i = 0; i < 8; i++) {
    sm_host_pool_free(pool, blocks[i], 4 * mib);
    CHECK(sm_host_pool_stats(pool).cached <= 16 * mib);
  }
  /* The first four have gone, the last one comes first. */
  for (int i = 7; i >= 4; i--) CHECK(get(pool, 4 * mib) == blocks[i]);
  CHECK_I64(sm_host_pool_stats(pool).cached, 0);
  sm_host_pool_free(pool, blocks[7], 4 * mib);
  /* Greater than the cap: gone at once, and nothing has to make room. */
  void *giant = get(pool, 17 * mib);
  sm_host_pool_free(pool, giant, 17 * mib);
  CHECK_I64(sm_host_pool_stats(pool).cached, 4 * mib);
  CHECK(get(pool, 4 * mib) == blocks[7]);
  for (int i = 7; i >= 4; i--) sm_host_pool_free(pool, blocks[i], 4 * mib);
  sm_host_pool_destroy(pool);
}

/* Blocks that nobody asks for any more make room, whatever their size. */
TEST(old_sizes_leave) {
  sm_host_pool *pool = make_pool((int64_t)(4 * mib), SMELT_OFF);
  void *blocks[4096];
  for (int i = 0; i < 4096; i++) blocks[i] = get(pool, 1024);
  for (int i = 0; i < 4096; i++) sm_host_pool_free(pool, blocks[i], 1024);
  CHECK_I64(sm_host_pool_stats(pool).cached, 4 * mib);
  for (int i = 0; i < 3; i++) sm_host_pool_free(pool, get(pool, 3 * mib), 3 * mib);
  CHECK_I64(sm_host_pool_stats(pool).hits, 2);
  CHECK_I64(sm_host_pool_stats(pool).cached, 4 * mib);
  sm_host_pool_destroy(pool);
}

TEST(settings) {
  smelt_error err = {0};
  sm_host_pool *pool;
  (void)unsetenv("SMELT_GUARD");
  CHECK_I64(setenv("SMELT_CACHE_BYTES", "65536", 1), 0);
  CHECK_OK(sm_host_pool_create(&sm_malloc_allocator, NULL, &pool, &err), err);
  sm_host_pool_free(pool, get(pool, 65536), 65536);
  CHECK_I64(sm_host_pool_stats(pool).cached, 65536);
  sm_host_pool_free(pool, get(pool, 65537), 65537);
  CHECK_I64(sm_host_pool_stats(pool).cached, 65536);
  sm_host_pool_destroy(pool);
  CHECK_I64(setenv("SMELT_CACHE_BYTES", "1G", 1), 0);
  CHECK_STATUS(sm_host_pool_create(&sm_malloc_allocator, NULL, &pool, &err), SMELT_ERR_ARGUMENT);
  CHECK_STR(err.text, "SMELT_CACHE_BYTES is \"1G\", not a number from 0 to 9223372036854775807");
  CHECK(!pool);
  CHECK_I64(unsetenv("SMELT_CACHE_BYTES"), 0);
  CHECK_I64(setenv("SMELT_GUARD", "yes", 1), 0);
  CHECK_STATUS(sm_host_pool_create(&sm_malloc_allocator, NULL, &pool, &err), SMELT_ERR_ARGUMENT);
}

/* Without the variable at least 256 MiB are kept. */
TEST(default_cap) {
  CHECK_I64(unsetenv("SMELT_CACHE_BYTES"), 0);
  sm_host_pool *pool = make_pool(0, SMELT_OFF);
  sm_host_pool_free(pool, get(pool, 256 * mib), 256 * mib);
  CHECK_I64(sm_host_pool_stats(pool).cached, 256 * mib);
  sm_host_pool_destroy(pool);
}

/* --- Exhaustion ------------------------------------------------------------------------------ */

TEST(absurd_sizes) {
  sm_host_pool *pool = make_pool(0, SMELT_DEFAULT);
  for (int bits = 48; bits < 64; bits++) {
    CHECK(!sm_host_pool_alloc(pool, (size_t)1 << bits));
    CHECK(!sm_host_pool_alloc(pool, ((size_t)1 << bits) - 1));
  }
  CHECK(!sm_host_pool_alloc(pool, SIZE_MAX));
  CHECK_I64(sm_host_pool_stats(pool).live, 0);
  sm_host_pool_destroy(pool);
}

/* The process's address space. */
static size_t space_used(void) {
  FILE *file = fopen("/proc/self/statm", "r");
  unsigned long pages = 0;
  CHECK(file && fscanf(file, "%lu", &pages) == 1 && fclose(file) == 0);
  return pages * (size_t)sysconf(_SC_PAGESIZE);
}

/* What is kept is given up before an allocation fails. */
TEST(trims_and_tries_again) {
  sm_host_pool *pool = make_pool((int64_t)(1024 * mib), SMELT_OFF);
  size_t limit = space_used() + 300 * mib;
  CHECK_I64(setrlimit(RLIMIT_AS, &(struct rlimit){limit, limit}), 0);
  struct rlimit accepted;
  CHECK_I64(getrlimit(RLIMIT_AS, &accepted), 0);
  if (accepted.rlim_cur != limit) TEST_SKIP("the address space cannot be limited, as in an emulator");
  sm_host_pool_free(pool, get(pool, 200 * mib), 200 * mib);
  CHECK_I64(sm_host_pool_stats(pool).cached, 208 * mib);
  char *data = get(pool, 250 * mib);
  data[250 * mib - 1] = 1;
  CHECK_I64(sm_host_pool_stats(pool).cached, 0);
  CHECK(!sm_host_pool_alloc(pool, 250 * mib));
  sm_host_pool_free(pool, data, 250 * mib);
  sm_host_pool_free(pool, get(pool, 250 * mib), 250 * mib);
  CHECK_I64(sm_host_pool_stats(pool).hits, 1);
  sm_host_pool_destroy(pool);
}

/* --- Stress ------------------------------------------------------------------------------------- */

typedef struct held {
  unsigned char *data;
  size_t bytes;
  unsigned char pattern;
} held;

static void check_pattern(const held *h) {
  for (size_t i = 0; i<h->bytes; i += h->bytes> 4096 ? 509 : 1) CHECK_I64(h->data[i], h->pattern);
  CHECK_I64(h->data[h->bytes - 1], h->pattern);
}

typedef struct stress {
  sm_host_pool *pool;
  uint32_t seed;
} stress;

static void *allocate_at_random(void *user) {
  const stress *s = user;
  held all[24] = {{NULL, 0, 0}};
  uint32_t random = s->seed;
  for (int step = 0; step < 3000; step++) {
    held *h = &all[next_random(&random) % 24];
    if (h->data) {
      check_pattern(h);
      sm_host_pool_free(s->pool, h->data, h->bytes);
      h->data = NULL;
      continue;
    }
    size_t most = (size_t)1 << next_random(&random) % 22;
    *h = (held){.bytes = 1 + next_random(&random) % (2 * most),
                .pattern = (unsigned char)next_random(&random)};
    h->data = get(s->pool, h->bytes);
    memset(h->data, h->pattern, h->bytes);
  }
  for (int i = 0; i < 24; i++) sm_host_pool_free(s->pool, all[i].data, all[i].bytes);
  return NULL;
}

static void stress_pool(int64_t cap, smelt_switch guard) {
  enum { THREADS = 4 };
  sm_host_pool *pool = make_pool(cap, guard);
  pthread_t threads[THREADS];
  stress each[THREADS];
  for (int i = 0; i < THREADS; i++) {
    each[i] = (stress){pool, (uint32_t)i + 1};
    CHECK_I64(pthread_create(&threads[i], NULL, allocate_at_random, &each[i]), 0);
  }
  for (int i = 0; i < THREADS; i++) CHECK_I64(pthread_join(threads[i], NULL), 0);
  sm_host_memory_stats stats = sm_host_pool_stats(pool);
  CHECK_I64(stats.live, 0);
  CHECK(stats.cached <= (size_t)(cap > 0 ? cap : 0));
  CHECK(guard == SMELT_ON ? stats.hits == 0 : stats.hits > 0 || cap < 0);
  sm_host_pool_destroy(pool);
}

TEST(stress_kept) { stress_pool((int64_t)(256 * mib), SMELT_OFF); }
TEST(stress_little_kept) { stress_pool((int64_t)mib, SMELT_OFF); }
TEST(stress_nothing_kept) { stress_pool(-1, SMELT_OFF); }
TEST(stress_guarded) { stress_pool((int64_t)(256 * mib), SMELT_ON); }

/* --- Guard mode ------------------------------------------------------------------------------------ */

/* How a process ends that touches data[at]: 0, or the signal. */
static int touch_in_child(volatile unsigned char *data, size_t at) {
  pid_t child = fork();
  if (child == 0) {
    (void)signal(SIGSEGV, SIG_DFL); /* sanitizers have their own handler */
    data[at] = 1;
    _exit(0);
  }
  int status = 0;
  CHECK(child > 0 && waitpid(child, &status, 0) == child);
  return WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status);
}

TEST(overrun_faults) {
  CHECK_I64(setenv("SMELT_GUARD", "1", 1), 0);
  sm_host_pool *pool = make_pool(0, SMELT_DEFAULT);
  const size_t sizes[] = {1, 2, 4, 7, 8, 12, 64, 100, 4095, 4096, 4097, 65536, 2 * mib, 3 * mib + 4};
  for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
    unsigned char *data = get(pool, sizes[i]);
    CHECK_I64((uintptr_t)data % (sizes[i] & -sizes[i]) % 4096, 0);
    CHECK_I64(touch_in_child(data, sizes[i] - 1), 0);
    CHECK_I64(touch_in_child(data, sizes[i]), SIGSEGV);
    sm_host_pool_free(pool, data, sizes[i]);
  }
  sm_host_pool_destroy(pool);
}

TEST(use_after_free_faults) {
  sm_host_pool *pool = make_pool(0, SMELT_ON);
  unsigned char *data = get(pool, 1000);
  sm_host_pool_free(pool, data, 1000);
  CHECK_I64(touch_in_child(data, 0), SIGSEGV);
  CHECK_I64(sm_host_pool_stats(pool).cached, 0);
  sm_host_pool_destroy(pool);
}

TEST(guarded_memory_is_no_zero) {
  sm_host_pool *pool = make_pool(0, SMELT_ON);
  double *data = get(pool, 10 * sizeof *data);
  for (int i = 0; i < 10; i++) CHECK(data[i] != data[i]);
  sm_host_pool_free(pool, data, 10 * sizeof *data);
  sm_host_pool_destroy(pool);
}

TEST_MAIN(CASE(aligned_and_whole), CASE(reuse), CASE(cap), CASE(old_sizes_leave), CASE(settings),
          CASE(default_cap), CASE(absurd_sizes), CASE(trims_and_tries_again), CASE(stress_kept),
          CASE(stress_little_kept), CASE(stress_nothing_kept), CASE(stress_guarded), CASE(overrun_faults),
          CASE(use_after_free_faults), CASE(guarded_memory_is_no_zero))
