/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "rt/pool.h"

#include <limits.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <time.h>
#include <unistd.h>

#include "base/error.h"
#include "base/float_env.h"
#include "base/futex.h"
#include "base/os.h"
#include "base/thread.h"

/* All thresholds, in nanoseconds. */
enum {
  WORTH_SHARING = 1500, /* cost of a job that is shared with workers that are awake */
  WORTH_WAKING = 50000, /* cost of a job for which sleeping workers are woken or made */
  SPIN_TIME = 150000,   /* how long a thread looks out before it sleeps */
  CHUNK_TIME = 20000,   /* what a chunk should take, so that threads end nearly together; */
  CHUNK_TIME_MIN = 500, /* less for short jobs, but the counter must not matter */
};

enum {
  SLOTS = 8,             /* jobs that workers can help with at once */
  CHUNKS_PER_THREAD = 4, /* of short jobs */
  CHUNKS_UNKNOWN_COST = 16,
  PAUSES_PER_YIELD = 32, /* while spinning; about a microsecond */
};

/* A job with its chunks. Counted in grains, so that nothing overflows. */
typedef struct division {
  sm_pool_job job;
  int64_t grains; /* of a chunk */
  int64_t chunks;
} division;

/* Bits of a slot's state, above the number of workers that are inside. */
#define TAKEN (UINT32_C(1) << 31)   /* a caller owns it */
#define OPEN (UINT32_C(1) << 30)    /* workers may enter */
#define WAITING (UINT32_C(1) << 29) /* the caller sleeps until the last worker has left */
#define INSIDE (WAITING - 1)

/* Where a running job lies for workers to find. Only the owner writes `work`,
 * and not while the slot is open or a worker inside. */
typedef struct slot {
  _Atomic uint32_t state;
  _Atomic int64_t remaining; /* chunks not yet taken; negative when threads came too late */
  division work;
  char apart[48]; /* so that slots share no hot cache line */
} slot;
_Static_assert(sizeof(slot) == 128, "two cache lines");

/* The workers of one process. */
typedef struct crew {
  _Atomic uint32_t epoch; /* counts jobs; what idle workers watch and sleep on */
  char apart[124];
  _Atomic int workers;    /* that have been made */
  _Atomic int sleeping;   /* of them */
  _Atomic int64_t missed; /* cost of the jobs that stayed on their callers because all slept */
  _Atomic bool started;   /* making them has begun */
  _Atomic bool stop;
  bool spin;
  pid_t process;
  struct crew *previous; /* of the process that this one was forked from; kept for jobs then running */
  slot slots[SLOTS];
  pthread_t threads[]; /* one fewer than the pool has */
} crew;

struct sm_pool {
  const sm_allocator *allocator;
  sm_pool_options options; /* all defaults resolved */
  _Atomic(crew *) crew;
};

/* --- Waiting -------------------------------------------------------------------------- */

static void pause_briefly(void) {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  __asm__ volatile("isb");
#endif
}

/* Looks at *word until it is not `value`, but not for long: false. Yields now and
 * then, because the thread that it waits for may need the same processor. */
static bool spin_until_changed(_Atomic uint32_t *word, uint32_t value) {
  for (int64_t end = sm_os_now() + SPIN_TIME; sm_os_now() < end; (void)sched_yield()) {
    for (int i = 0; i < PAUSES_PER_YIELD; i++) {
      if (atomic_load_explicit(word, memory_order_relaxed) != value) return true;
      pause_briefly();
    }
  }
  return false;
}

/* --- Chunks ----------------------------------------------------------------------------- */

static int64_t divide_up(int64_t a, int64_t b) { return a / b + (a % b != 0); }
static int64_t smaller(int64_t a, int64_t b) { return a < b ? a : b; }
static int64_t larger(int64_t a, int64_t b) { return a > b ? a : b; }

/* In how many chunks a job is best divided that doesn't say. */
static int64_t wanted_chunks(int threads, int64_t cost_ns) {
  if (cost_ns == 0) return (int64_t)CHUNKS_UNKNOWN_COST * threads;
  int64_t few = smaller((int64_t)CHUNKS_PER_THREAD * threads, cost_ns / CHUNK_TIME_MIN);
  return larger(larger(few, cost_ns / CHUNK_TIME), 1);
}

static division divide(const sm_pool *pool, const sm_pool_job *job) {
  int64_t all = divide_up(job->work_items, job->grain);
  int64_t grains = job->chunk ? divide_up(job->chunk, job->grain)
                              : divide_up(all, wanted_chunks(pool->options.threads, job->cost_ns));
  return (division){.job = *job, .grains = grains, .chunks = divide_up(all, grains)};
}

static void run_chunk(const division *d, int64_t i) {
  int64_t begin = i * d->grains * d->job.grain;
  int64_t end = i == d->chunks - 1 ? d->job.work_items : begin + d->grains * d->job.grain;
  d->job.run(d->job.user, begin, end);
}

/* Takes chunks until there are none. */
static void run_chunks(slot *s) {
  for (int64_t n; (n = atomic_fetch_sub_explicit(&s->remaining, 1, memory_order_relaxed)) > 0;) {
    run_chunk(&s->work, s->work.chunks - n);
  }
}

/* --- Workers ------------------------------------------------------------------------------ */

static bool enter(slot *s) {
  uint32_t state = atomic_load_explicit(&s->state, memory_order_relaxed);
  while (state & OPEN) {
    if (atomic_compare_exchange_weak_explicit(&s->state, &state, state + 1, memory_order_acquire,
                                              memory_order_relaxed)) {
      return true;
    }
  }
  return false;
}

/* The wake-up may come when the slot is in use again; its caller then looks once
 * more and goes on sleeping. */
static void leave(slot *s) {
  uint32_t before = atomic_fetch_sub_explicit(&s->state, 1, memory_order_release);
  if ((before & WAITING) && (before & INSIDE) == 1) sm_futex_wake(&s->state, 1);
}

static void help(slot *s) {
  if (atomic_load_explicit(&s->remaining, memory_order_relaxed) <= 0 || !enter(s)) return;
  sm_float_env saved = sm_float_env_enter();
  run_chunks(s);
  sm_float_env_leave(&saved);
  leave(s);
}

/* A caller first counts the epoch up, then reads `sleeping`; a worker does it the
 * other way round. So either the worker sees the new epoch or the caller sees
 * the worker. */
static void wait_for_job(crew *c, uint32_t seen) {
  if (c->spin && spin_until_changed(&c->epoch, seen)) return;
  atomic_fetch_add(&c->sleeping, 1);
  sm_futex_wait(&c->epoch, seen);
  atomic_fetch_sub(&c->sleeping, 1);
}

/* The life of a worker. Each begins its rounds at another slot, so that jobs that
 * run at once all get help. */
static void *work(void *argument) {
  crew *c = argument;
  int first = atomic_load(&c->workers) % SLOTS;
  sm_thread_self()->in_job = true;
  for (;;) {
    uint32_t seen = atomic_load(&c->epoch);
    if (atomic_load(&c->stop)) return NULL;
    for (int i = 0; i < SLOTS; i++) help(&c->slots[(first + i) % SLOTS]);
    wait_for_job(c, seen);
  }
}

/* A fault's signal stays: blocked, it would end the process without the handler
 * that the host has for it. */
static void block_signals(sigset_t *before) {
  static const int faults[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS};
  sigset_t blocked;
  (void)sigfillset(&blocked);
  for (size_t i = 0; i < sizeof faults / sizeof faults[0]; i++) (void)sigdelset(&blocked, faults[i]);
  (void)pthread_sigmask(SIG_BLOCK, &blocked, before);
}

/* Makes the workers, as many as the system gives. */
static void start_workers(crew *c, int n) {
  if (atomic_exchange(&c->started, true)) return;
  sigset_t mask;
  block_signals(&mask);
  for (int i = 0; i < n && pthread_create(&c->threads[i], NULL, work, c) == 0; i++) {
    atomic_fetch_add(&c->workers, 1);
  }
  (void)pthread_sigmask(SIG_SETMASK, &mask, NULL);
}

static void stop_workers(crew *c) {
  atomic_store(&c->stop, true);
  atomic_fetch_add(&c->epoch, 1);
  sm_futex_wake(&c->epoch, INT_MAX);
  for (int i = 0; i < atomic_load(&c->workers); i++) (void)pthread_join(c->threads[i], NULL);
}

/* --- Crews ---------------------------------------------------------------------------------- */

static size_t crew_size(const sm_pool *pool) {
  return sizeof(crew) + (size_t)(pool->options.threads - 1) * sizeof(pthread_t);
}

static crew *new_crew(const sm_pool *pool, crew *previous) {
  crew *c = sm_calloc(pool->allocator, 1, crew_size(pool));
  if (!c) return NULL;
  c->process = getpid();
  c->spin = pool->options.spin == SMELT_ON;
  c->previous = previous;
  return c;
}

/* The crew of this process, or NULL without memory. After fork this is a new one;
 * what other threads had left in the old one's slots is none of its business. */
static crew *own_crew(sm_pool *pool) {
  crew *c = atomic_load(&pool->crew);
  if (c->process == getpid()) return c;
  crew *fresh = new_crew(pool, c);
  if (!fresh) return NULL;
  if (atomic_compare_exchange_strong(&pool->crew, &c, fresh)) return fresh;
  sm_free(pool->allocator, fresh, crew_size(pool));
  return c;
}

/* Who is to run a job. */
typedef enum helpers { NOBODY, THOSE_AWAKE, EVERYBODY } helpers;

/* Short jobs in a row become worth waking workers together. */
static helpers helpers_for(sm_pool *pool, const division *d) {
  int64_t cost = d->job.cost_ns;
  if (pool->options.threads == 1 || d->chunks == 1 || sm_thread_self()->in_job) return NOBODY;
  if (cost == 0 || cost >= WORTH_WAKING) return EVERYBODY;
  if (cost < WORTH_SHARING) return NOBODY;
  crew *c = atomic_load(&pool->crew);
  if (atomic_load(&c->workers) > atomic_load(&c->sleeping)) return THOSE_AWAKE;
  return atomic_fetch_add(&c->missed, cost) + cost >= WORTH_WAKING ? EVERYBODY : NOBODY;
}

/* --- Running a job ---------------------------------------------------------------------------- */

static slot *take_slot(crew *c) {
  for (int i = 0; i < SLOTS; i++) {
    uint32_t unused = 0;
    if (atomic_load_explicit(&c->slots[i].state, memory_order_relaxed) == 0 &&
        atomic_compare_exchange_strong(&c->slots[i].state, &unused, TAKEN)) {
      return &c->slots[i];
    }
  }
  return NULL;
}

static void publish(crew *c, slot *s, const division *d) {
  s->work = *d;
  atomic_store_explicit(&s->remaining, d->chunks, memory_order_relaxed);
  atomic_store_explicit(&s->state, TAKEN | OPEN, memory_order_release);
  atomic_fetch_add(&c->epoch, 1);
}

static void wake_workers(const sm_pool *pool, crew *c, const division *d) {
  atomic_store(&c->missed, 0);
  if (!atomic_load(&c->started)) start_workers(c, pool->options.threads - 1);
  int64_t n = smaller(atomic_load(&c->sleeping), d->chunks - 1);
  if (n > 0) sm_futex_wake(&c->epoch, (int)n);
}

static void sleep_until_left(slot *s) {
  uint32_t state = atomic_fetch_or(&s->state, WAITING) | WAITING;
  if (state & INSIDE) sm_futex_wait(&s->state, state);
}

/* Lets no more workers in and waits for those inside. */
static void close_slot(const crew *c, slot *s) {
  uint32_t state = atomic_fetch_and(&s->state, ~OPEN) & ~OPEN;
  while (state & INSIDE) {
    if (!c->spin || !spin_until_changed(&s->state, state)) sleep_until_left(s);
    state = atomic_load_explicit(&s->state, memory_order_acquire);
  }
  atomic_store_explicit(&s->state, 0, memory_order_release);
}

/* False if there is no crew, or no slot for the job. */
static bool run_together(sm_pool *pool, const division *d, bool wake) {
  crew *c = wake ? own_crew(pool) : atomic_load(&pool->crew);
  slot *s = c ? take_slot(c) : NULL;
  if (!s) return false;
  publish(c, s, d);
  if (wake) wake_workers(pool, c, d);
  run_chunks(s);
  close_slot(c, s);
  return true;
}

static uint64_t greatest_common_divisor(uint64_t a, uint64_t b) {
  while (b) {
    uint64_t rest = a % b;
    a = b;
    b = rest;
  }
  return a;
}

/* All chunks, in steps that have no divisor in common with their number. */
static void run_shuffled(const division *d, uint64_t seed) {
  uint64_t n = (uint64_t)d->chunks, step = seed % n, at = seed / n % n;
  while (greatest_common_divisor(step, n) != 1) step++;
  for (uint64_t i = 0; i < n; i++) {
    run_chunk(d, (int64_t)at);
    at = (at + step) % n;
  }
}

static void run_division(sm_pool *pool, const division *d) {
  if (pool->options.shuffle) {
    run_shuffled(d, pool->options.shuffle);
    return;
  }
  helpers who = helpers_for(pool, d);
  sm_thread *self = sm_thread_self();
  bool in_job = self->in_job;
  self->in_job = true;
  if (who == NOBODY || !run_together(pool, d, who == EVERYBODY))
    d->job.run(d->job.user, 0, d->job.work_items);
  self->in_job = in_job;
}

void sm_pool_run(sm_pool *pool, const sm_pool_job *job) {
  if (job->work_items <= 0) return;
  division d = divide(pool, job);
  sm_float_env saved = sm_float_env_enter();
  run_division(pool, &d);
  sm_float_env_leave(&saved);
}

/* --- The pool ----------------------------------------------------------------------------------- */

/* The option first, then the environment, then what the machine has. */
static smelt_status resolve_threads(sm_pool_options *options, int processors, smelt_error *err) {
  int64_t threads = processors < SM_POOL_MAX_THREADS ? processors : SM_POOL_MAX_THREADS;
  if (options->threads < 0 || options->threads > SM_POOL_MAX_THREADS) {
    return sm_error_set(err, SMELT_ERR_ARGUMENT, "%d threads; a pool has 1 to %d", options->threads,
                        SM_POOL_MAX_THREADS);
  }
  if (options->threads) return SMELT_OK;
  SM_TRY(sm_os_setting("SMELT_THREADS", 1, SM_POOL_MAX_THREADS, &threads, err));
  options->threads = (int)threads;
  return SMELT_OK;
}

static smelt_status resolve_spin(sm_pool_options *options, int processors, smelt_error *err) {
  int64_t spin = 1;
  if (options->spin == SMELT_DEFAULT) SM_TRY(sm_os_setting("SMELT_SPIN", 0, 1, &spin, err));
  bool off = options->spin == SMELT_OFF || spin == 0 || options->threads > processors;
  options->spin = off ? SMELT_OFF : SMELT_ON;
  return SMELT_OK;
}

smelt_status sm_pool_create(const sm_allocator *allocator, const sm_pool_options *options, sm_pool **out,
                            smelt_error *err) {
  sm_pool_options resolved = options ? *options : (sm_pool_options){0};
  int processors = sm_os_processors();
  *out = NULL;
  SM_TRY(resolve_threads(&resolved, processors, err));
  SM_TRY(resolve_spin(&resolved, processors, err));
  sm_pool *pool = sm_calloc(allocator, 1, sizeof *pool);
  if (!pool) return sm_error_memory(err, "a thread pool");
  pool->allocator = allocator;
  pool->options = resolved;
  crew *first = new_crew(pool, NULL);
  if (!first) {
    sm_free(allocator, pool, sizeof *pool);
    return sm_error_memory(err, "a thread pool");
  }
  atomic_init(&pool->crew, first);
  *out = pool;
  return SMELT_OK;
}

void sm_pool_destroy(sm_pool *pool) {
  if (!pool) return;
  crew *c = atomic_load(&pool->crew);
  if (c->process == getpid()) stop_workers(c);
  while (c) {
    crew *previous = c->previous;
    sm_free(pool->allocator, c, crew_size(pool));
    c = previous;
  }
  sm_free(pool->allocator, pool, sizeof *pool);
}

int sm_pool_threads(const sm_pool *pool) { return pool->options.threads; }
