/* SPDX-License-Identifier: Apache-2.0
 *
 * The thread pool: every work item once, late join, the floating-point
 * environment, many callers, fork, the system's limits. */
#define _GNU_SOURCE
#include <dirent.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "harness.h"
#include "rt/pool.h"

static sm_pool *make_pool_with(sm_pool_options options) {
  smelt_error err = {0};
  sm_pool *pool;
  CHECK_OK(sm_pool_create(&sm_malloc_allocator, &options, &pool, &err), err);
  return pool;
}

static sm_pool *make_pool(int threads) { return make_pool_with((sm_pool_options){.threads = threads}); }

static int threads_of_process(void) {
  DIR *tasks = opendir("/proc/self/task");
  CHECK(tasks);
  int n = 0;
  for (const struct dirent *entry; (entry = readdir(tasks));) n += entry->d_name[0] != '.';
  CHECK_I64(closedir(tasks), 0);
  return n;
}

/* --- Every work item once ----------------------------------------------------------------- */

typedef struct tally {
  int64_t work_items, grain;
  _Atomic int64_t chunks;
  _Atomic unsigned char *times; /* by work item */
} tally;

static void count_times(void *user, int64_t begin, int64_t end) {
  tally *t = user;
  CHECK(0 <= begin && begin < end && end <= t->work_items);
  CHECK(begin % t->grain == 0 && (end % t->grain == 0 || end == t->work_items));
  atomic_fetch_add(&t->chunks, 1);
  for (int64_t i = begin; i < end; i++) atomic_fetch_add_explicit(&t->times[i], 1, memory_order_relaxed);
}

/* Runs a job and checks; returns the number of calls it took. */
static int64_t run_and_check(sm_pool *pool, int64_t work_items, int64_t grain, int64_t chunk, int64_t cost) {
  tally t = {.work_items = work_items, .grain = grain};
  t.times = calloc((size_t)work_items + 1, 1);
  CHECK(t.times);
  sm_pool_job job = {.run = count_times, .user = &t, .work_items = work_items, .grain = grain};
  job.chunk = chunk;
  job.cost_ns = cost;
  sm_pool_run(pool, &job);
  for (int64_t i = 0; i < work_items; i++) CHECK_I64(t.times[i], 1);
  free((void *)t.times);
  return t.chunks;
}

TEST(every_item_once) {
  const int threads[] = {1, 2, 3, 8};
  const int64_t sizes[] = {0, 1, 2, 7, 64, 1000, 4096, 100001}, grains[] = {1, 3, 16, 5000};
  const int64_t chunks[] = {0, 1, 100, 1000000}, costs[] = {0, 1, 5000, 60000, 50000000};
  for (int t = 0; t < 4; t++) {
    sm_pool *pool = make_pool(threads[t]);
    CHECK_I64(sm_pool_threads(pool), threads[t]);
    for (int i = 0; i < 8 * 4 * 4 * 5; i++) {
      (void)run_and_check(pool, sizes[i % 8], grains[i / 8 % 4], chunks[i / 32 % 4], costs[i / 128]);
    }
    sm_pool_destroy(pool);
  }
}

/* Sizes near the end of the type, whose work items nobody touches. */
static void add_length(void *user, int64_t begin, int64_t end) {
  _Atomic int64_t *sum = user;
  CHECK(begin < end);
  atomic_fetch_add(sum, end - begin);
}

TEST(huge_numbers) {
  sm_pool *pool = make_pool(3);
  const int64_t large[] = {INT64_MAX, INT64_MAX - 1, INT64_MAX / 2 + 1};
  for (int i = 0; i < 9; i++) {
    _Atomic int64_t sum = 0;
    sm_pool_job job = {.run = add_length, .user = &sum, .work_items = large[i % 3]};
    job.grain = i / 3 == 0 ? 1 : i / 3 == 1 ? 1000 : INT64_MAX;
    sm_pool_run(pool, &job);
    CHECK_I64(sum, job.work_items);
    job.chunk = INT64_MAX;
    sm_pool_run(pool, &job);
    job.chunk = 0;
    job.cost_ns = INT64_MAX / 1000000000000;
    sm_pool_run(pool, &job);
  }
  sm_pool_destroy(pool);
}

/* --- Which threads ---------------------------------------------------------------------------- */

/* A job whose chunks wait until `wanted` of them have begun: that many threads. */
typedef struct meeting {
  int wanted;
  _Atomic int arrived;
} meeting;

static void meet(void *user, int64_t begin, int64_t end) {
  (void)begin;
  (void)end;
  meeting *m = user;
  atomic_fetch_add(&m->arrived, 1);
  while (atomic_load(&m->arrived) < m->wanted) (void)sched_yield();
}

/* Returns only if every thread of the pool takes part. */
static void meet_all(sm_pool *pool) {
  meeting m = {.wanted = sm_pool_threads(pool)};
  sm_pool_run(pool, &(sm_pool_job){.run = meet, .user = &m, .work_items = m.wanted, .grain = 1, .chunk = 1});
}

static void workers_come(smelt_switch spin) {
  int before = threads_of_process();
  sm_pool *pool = make_pool_with((sm_pool_options){.threads = 4, .spin = spin});
  CHECK_I64(threads_of_process(), before);
  for (int i = 0; i < 200; i++) {
    meet_all(pool);
    if (i % 50 == 0) (void)usleep(2000); /* let them fall asleep */
  }
  CHECK(threads_of_process() >= before + 3);
  sm_pool_destroy(pool);
}

TEST(workers_come_spinning) { workers_come(SMELT_ON); }
TEST(workers_come_from_sleep) { workers_come(SMELT_OFF); }

TEST(small_work_stays) {
  int before = threads_of_process();
  sm_pool *pool = make_pool(4);
  CHECK_I64(run_and_check(pool, 1000, 1, 1, 49999), 1);
  for (int i = 0; i < 100; i++) CHECK_I64(run_and_check(pool, 1000, 1, 1, 1499), 1);
  CHECK_I64(threads_of_process(), before);
  CHECK_I64(run_and_check(pool, 1000, 1, 1, 50000), 1000);
  meet_all(pool);
  CHECK_I64(run_and_check(pool, 1000, 1, 1, 1499), 1);
  CHECK_I64(run_and_check(pool, 1000, 10, 25, 50000), 34);
  sm_pool_destroy(pool);
}

TEST(short_jobs_in_a_row) {
  sm_pool *pool = make_pool(4);
  for (int i = 0; i < 4; i++) CHECK_I64(run_and_check(pool, 1000, 1, 1, 10000), 1);
  CHECK_I64(run_and_check(pool, 1000, 1, 1, 10000), 1000);
  sm_pool_destroy(pool);
}

TEST(one_thread) {
  int before = threads_of_process();
  CHECK_I64(setenv("SMELT_THREADS", "1", 1), 0);
  sm_pool *pool = make_pool(0);
  CHECK_I64(sm_pool_threads(pool), 1);
  CHECK_I64(run_and_check(pool, 1000, 1, 1, 0), 1);
  CHECK_I64(threads_of_process(), before);
  sm_pool_destroy(pool);
}

TEST(settings) {
  smelt_error err = {0};
  sm_pool *pool;
  CHECK_I64(setenv("SMELT_THREADS", "3", 1), 0);
  CHECK_I64(setenv("SMELT_SPIN", "0", 1), 0);
  CHECK_OK(sm_pool_create(&sm_malloc_allocator, NULL, &pool, &err), err);
  CHECK_I64(sm_pool_threads(pool), 3);
  meet_all(pool);
  sm_pool_destroy(pool);
  CHECK_I64(setenv("SMELT_SPIN", "maybe", 1), 0);
  CHECK_STATUS(sm_pool_create(&sm_malloc_allocator, NULL, &pool, &err), SMELT_ERR_ARGUMENT);
  CHECK_STR(err.text, "SMELT_SPIN is \"maybe\", not a number from 0 to 1");
  CHECK_I64(setenv("SMELT_THREADS", "0", 1), 0);
  CHECK_STATUS(sm_pool_create(&sm_malloc_allocator, NULL, &pool, &err), SMELT_ERR_ARGUMENT);
  CHECK_STR(err.text, "SMELT_THREADS is \"0\", not a number from 1 to 1024");
  CHECK_STATUS(sm_pool_create(&sm_malloc_allocator, &(sm_pool_options){.threads = -1}, &pool, &err),
               SMELT_ERR_ARGUMENT);
  CHECK(!pool);
}

/* Whatever the system refuses, the caller does it. */
TEST(no_more_threads) {
  int before = threads_of_process();
  pthread_attr_t attributes;
  CHECK_I64(pthread_attr_init(&attributes), 0);
  CHECK_I64(pthread_attr_setstacksize(&attributes, (size_t)1 << 48), 0);
  CHECK_I64(pthread_setattr_default_np(&attributes), 0);
  sm_pool *pool = make_pool(4);
  for (int i = 0; i < 3; i++) CHECK(run_and_check(pool, 100000, 16, 0, 0) > 1);
  CHECK_I64(threads_of_process(), before);
  sm_pool_destroy(pool);
}

/* --- Order -------------------------------------------------------------------------------------- */

typedef struct order {
  pthread_t caller;
  int n;
  int64_t begins[64];
} order;

static void note_order(void *user, int64_t begin, int64_t end) {
  (void)end;
  order *o = user;
  CHECK(pthread_equal(o->caller, pthread_self()));
  o->begins[o->n++] = begin;
}

static order order_of(uint64_t shuffle) {
  sm_pool *pool = make_pool_with((sm_pool_options){.threads = 4, .shuffle = shuffle});
  order o = {.caller = pthread_self()};
  sm_pool_run(pool,
              &(sm_pool_job){.run = note_order, .user = &o, .work_items = 640, .grain = 1, .chunk = 10});
  sm_pool_destroy(pool);
  return o;
}

TEST(shuffled) {
  order first = order_of(12345), again = order_of(12345), other = order_of(777), plain = order_of(1);
  CHECK_I64(first.n, 64);
  CHECK(memcmp(first.begins, again.begins, sizeof first.begins) == 0);
  CHECK(memcmp(first.begins, other.begins, sizeof first.begins) != 0);
  for (int i = 0; i < 64; i++) CHECK_I64(plain.begins[i], 10 * i);
  for (uint64_t seed = 1; seed < 100; seed++) {
    sm_pool *pool = make_pool_with((sm_pool_options){.threads = 4, .shuffle = seed * seed * 7919});
    (void)run_and_check(pool, (int64_t)seed * 11, 1, 0, 0);
    sm_pool_destroy(pool);
  }
}

/* --- Late join -------------------------------------------------------------------------------------- */

/* Chunks that are held until they are let go. */
typedef struct barrier {
  sm_pool *pool;
  _Atomic int held, done;
  _Atomic bool open;
} barrier;

static void hold(void *user, int64_t begin, int64_t end) {
  (void)end;
  barrier *b = user;
  atomic_fetch_add(&b->held, 1);
  while (!atomic_load(&b->open)) (void)usleep(100);
  if (begin == 1) (void)usleep(20000); /* one thread is much later than the other */
  atomic_fetch_add(&b->done, 1);
}

static void *run_held_job(void *user) {
  barrier *b = user;
  sm_pool_run(b->pool, &(sm_pool_job){.run = hold, .user = b, .work_items = 2, .grain = 1, .chunk = 1});
  CHECK_I64(atomic_load(&b->done), 2); /* it waited for the one that had entered */
  return NULL;
}

/* The only worker is held in the job of another thread: this one must end
 * without it, and that one not before it. */
TEST(late_join) {
  for (int spin = SMELT_ON; spin <= SMELT_OFF; spin++) {
    barrier b = {.pool = make_pool_with((sm_pool_options){.threads = 2, .spin = (smelt_switch)spin})};
    pthread_t other;
    CHECK_I64(pthread_create(&other, NULL, run_held_job, &b), 0);
    while (atomic_load(&b.held) < 2) (void)usleep(100);
    for (int i = 0; i < 20; i++) CHECK(run_and_check(b.pool, 10000, 1, 0, 0) > 1);
    CHECK_I64(atomic_load(&b.done), 0);
    atomic_store(&b.open, true);
    CHECK_I64(pthread_join(other, NULL), 0);
    sm_pool_destroy(b.pool);
  }
}

/* --- Many callers, jobs in jobs --------------------------------------------------------------------- */

typedef struct caller {
  sm_pool *pool;
  int64_t seed;
} caller;

static void *run_many_jobs(void *user) {
  const caller *c = user;
  const int64_t costs[] = {0, 2000, 100000};
  for (int64_t i = 0; i < 150; i++) {
    (void)run_and_check(c->pool, (c->seed * 977 + i * 131) % 5000, 1 + i % 7, i % 50, costs[i % 3]);
  }
  return NULL;
}

/* More of them than there are slots for jobs. */
static void many_callers(int threads, smelt_switch spin) {
  enum { CALLERS = 20 };
  sm_pool *pool = make_pool_with((sm_pool_options){.threads = threads, .spin = spin});
  pthread_t all[CALLERS];
  caller each[CALLERS];
  for (int i = 0; i < CALLERS; i++) {
    each[i] = (caller){pool, i};
    CHECK_I64(pthread_create(&all[i], NULL, run_many_jobs, &each[i]), 0);
  }
  for (int i = 0; i < CALLERS; i++) CHECK_I64(pthread_join(all[i], NULL), 0);
  sm_pool_destroy(pool);
}

TEST(many_callers_spinning) { many_callers(2, SMELT_ON); }
TEST(many_callers_sleeping) { many_callers(5, SMELT_OFF); }

/* What a job writes without atomics, its caller reads, and the next job too. */
static void add_one(void *user, int64_t begin, int64_t end) {
  int *values = user;
  for (int64_t i = begin; i < end; i++) values[i]++;
}

TEST(results_are_visible) {
  enum { N = 4096 };
  static int values[N];
  sm_pool *pool = make_pool(3);
  for (int round = 1; round <= 300; round++) {
    sm_pool_run(pool,
                &(sm_pool_job){.run = add_one, .user = values, .work_items = N, .grain = 1, .chunk = 64});
    for (int i = 0; i < N; i++) CHECK_I64(values[i], round);
  }
  sm_pool_destroy(pool);
}

static void run_inner_job(void *user, int64_t begin, int64_t end) {
  (void)begin;
  (void)end;
  CHECK_I64(run_and_check(user, 1000, 1, 1, 0), 1);
}

TEST(jobs_in_jobs) {
  sm_pool *pool = make_pool(3);
  for (int i = 0; i < 20; i++) {
    sm_pool_run(pool,
                &(sm_pool_job){.run = run_inner_job, .user = pool, .work_items = 30, .grain = 1, .chunk = 1});
  }
  meet_all(pool);
  sm_pool_destroy(pool);
}

TEST(created_and_destroyed) {
  for (int i = 0; i < 200; i++) {
    sm_pool *pool = make_pool(1 + i % 5);
    if (i % 3 == 1) (void)run_and_check(pool, 1000, 1, 0, 0);
    if (i % 3 == 2) meet_all(pool);
    sm_pool_destroy(pool);
  }
  sm_pool_destroy(NULL);
}

/* --- The floating-point environment ------------------------------------------------------------------- */

#if defined(__x86_64__)
#define KNOWN_REGISTERS 1

/* The registers that say how to compute; status is what the x87 has met so far. */
typedef struct registers {
  uint32_t mxcsr;
  uint16_t control, status;
} registers;

static registers read_registers(void) {
  registers r;
  __asm__ volatile("stmxcsr %0\n\tfnstcw %1\n\tfnstsw %2" : "=m"(r.mxcsr), "=m"(r.control), "=m"(r.status));
  return r;
}

static bool are_usual(registers r) { return (r.mxcsr & 0xffc0U) == 0x1f80 && r.control == 0x037f; }

/* Flushes denormals, rounds upwards, traps division by 0, has met an inexact result. */
static void set_host_environment(void) {
  const registers r = {.mxcsr = (0x1f80U | 0x8040U | 0x4000U | 0x0020U) & ~0x0200U, .control = 0x0b7b};
  volatile long double three = 3;
  three = 1 / three;
  __asm__ volatile("ldmxcsr %0\n\tfldcw %1" : : "m"(r.mxcsr), "m"(r.control));
  CHECK(read_registers().status & 0x20);
}

#elif defined(__aarch64__)
#define KNOWN_REGISTERS 1

/* The registers that say how to compute, and what has been met so far. */
typedef struct registers {
  uint64_t control, status;
} registers;

static registers read_registers(void) {
  registers r;
  __asm__ volatile("mrs %0, fpcr\n\tmrs %1, fpsr" : "=r"(r.control), "=r"(r.status));
  return r;
}

static bool are_usual(registers r) { return r.control == 0; }

/* Flushes denormals, rounds upwards, forgets which NaN it was, has met an inexact
 * result. */
static void set_host_environment(void) {
  const uint64_t flush = 1 << 24, upwards = 1 << 22, one_nan = 1 << 25, inexact = 1 << 4;
  __asm__ volatile("msr fpcr, %0\n\tmsr fpsr, %1" : : "r"(flush | upwards | one_nan), "r"(inexact));
  CHECK_I64(read_registers().control, flush | upwards | one_nan);
  CHECK_I64(read_registers().status, inexact);
}
#endif

#if defined(KNOWN_REGISTERS)
/* Each of them as without the host's settings; raises flags. */
static void compute(void *user, int64_t begin, int64_t end) {
  volatile double least = 0x1p-1074, one = 1, ten = 10, zero = 0;
  volatile long double long_one = 1, long_ten = 10;
  CHECK_F64(least * 3, 0x1.8p-1073);
  CHECK_F64(0x1p-1000 * (least * 0x1p100), 0);
  CHECK_F64(one / ten, 0.1);
  CHECK(long_one / long_ten == 0.1L);
  CHECK(long_one / (long_ten - 10) > 1);
  CHECK(one / zero > 1);
  CHECK((one - 1) / zero != 0);
  CHECK(are_usual(read_registers()));
  meet(user, begin, end);
}

TEST(host_has_set_everything) {
  const int threads[] = {1, 2, 4};
  set_host_environment();
  const registers before = read_registers();
  for (int t = 0; t < 3; t++) {
    sm_pool *pool = make_pool(threads[t]);
    for (int i = 0; i < 20; i++) {
      meeting m = {.wanted = threads[t]};
      sm_pool_run(pool,
                  &(sm_pool_job){.run = compute, .user = &m, .work_items = m.wanted, .grain = 1, .chunk = 1});
      registers after = read_registers();
      CHECK(memcmp(&after, &before, sizeof after) == 0);
    }
    sm_pool_destroy(pool);
  }
}
#else
TEST(host_has_set_everything) { TEST_SKIP("written for x86-64 and AArch64"); }
#endif

/* --- Signals and fork ------------------------------------------------------------------------------------
 */

typedef struct masks {
  meeting meeting;
  pthread_t caller;
} masks;

static void check_mask(void *user, int64_t begin, int64_t end) {
  masks *m = user;
  sigset_t blocked;
  CHECK_I64(pthread_sigmask(SIG_BLOCK, NULL, &blocked), 0);
  int expected = !pthread_equal(pthread_self(), m->caller);
  const int asynchronous[] = {SIGTERM, SIGINT, SIGALRM, SIGUSR1, SIGCHLD, SIGPROF};
  for (int i = 0; i < 6; i++) CHECK_I64(sigismember(&blocked, asynchronous[i]), expected);
  CHECK_I64(sigismember(&blocked, SIGSEGV), 0);
  CHECK_I64(sigismember(&blocked, SIGFPE), 0);
  meet(&m->meeting, begin, end);
}

TEST(workers_take_no_signals) {
  sm_pool *pool = make_pool(3);
  masks m = {.meeting = {.wanted = 3}, .caller = pthread_self()};
  sm_pool_run(pool, &(sm_pool_job){.run = check_mask, .user = &m, .work_items = 3, .grain = 1, .chunk = 1});
  sm_pool_destroy(pool);
}

#ifdef __has_feature
#if __has_feature(thread_sanitizer)
#define __SANITIZE_THREAD__ 1
#endif
#endif

/* A child that uses its parent's pool, then has a child itself. */
static void use_in_child(sm_pool *pool, int generations) {
  pid_t child = fork();
  if (child == 0) {
    (void)alarm(60);
    CHECK_I64(threads_of_process(), 1);
    (void)run_and_check(pool, 1000, 1, 0, 2000); /* still believes in the parent's workers */
    meet_all(pool);
    CHECK_I64(threads_of_process(), 3);
    if (generations > 1) use_in_child(pool, generations - 1);
    sm_pool_destroy(pool);
    _exit(0);
  }
  int status = -1;
  CHECK(child > 0 && waitpid(child, &status, 0) == child);
  CHECK_I64(status, 0);
}

TEST(forked) {
#ifdef __SANITIZE_THREAD__
  TEST_SKIP("the thread sanitizer allows no threads after a fork with threads");
#endif
  if (threads_of_process() > 1) TEST_SKIP("an emulator with threads of its own allows none after a fork");
  sm_pool *pool = make_pool(3);
  meet_all(pool);
  use_in_child(pool, 2);
  meet_all(pool);
  sm_pool_destroy(pool);
}

/* Jobs of other threads that were under way lie in the child's slots for ever. */
TEST(forked_during_jobs) {
#ifdef __SANITIZE_THREAD__
  TEST_SKIP("the thread sanitizer allows no threads after a fork with threads");
#endif
  enum { OTHERS = 8 };
  if (threads_of_process() > 1) TEST_SKIP("an emulator with threads of its own allows none after a fork");
  sm_pool *pool = make_pool(3);
  barrier all[OTHERS] = {{NULL, 0, 0, false}};
  pthread_t others[OTHERS];
  meet_all(pool);
  for (int i = 0; i < OTHERS; i++) {
    all[i].pool = pool;
    CHECK_I64(pthread_create(&others[i], NULL, run_held_job, &all[i]), 0);
  }
  for (int i = 0; i < OTHERS; i++) {
    while (atomic_load(&all[i].held) == 0) (void)usleep(100);
  }
  use_in_child(pool, 1);
  for (int i = 0; i < OTHERS; i++) atomic_store(&all[i].open, true);
  for (int i = 0; i < OTHERS; i++) CHECK_I64(pthread_join(others[i], NULL), 0);
  sm_pool_destroy(pool);
}

/* A pool that its parent never used, destroyed in the child only. */
TEST(forked_before_use) {
  sm_pool *pool = make_pool(2);
  pid_t child = fork();
  if (child == 0) {
    sm_pool_destroy(pool);
    _exit(0);
  }
  int status = -1;
  CHECK(child > 0 && waitpid(child, &status, 0) == child);
  CHECK_I64(status, 0);
  meet_all(pool);
  sm_pool_destroy(pool);
}

TEST_MAIN(CASE(every_item_once), CASE(huge_numbers), CASE(workers_come_spinning),
          CASE(workers_come_from_sleep), CASE(small_work_stays), CASE(short_jobs_in_a_row), CASE(one_thread),
          CASE(settings), CASE(no_more_threads), CASE(shuffled), CASE(late_join), CASE(many_callers_spinning),
          CASE(many_callers_sleeping), CASE(results_are_visible), CASE(jobs_in_jobs),
          CASE(created_and_destroyed), CASE(host_has_set_everything), CASE(workers_take_no_signals),
          CASE(forked), CASE(forked_during_jobs), CASE(forked_before_use))
