/* SPDX-License-Identifier: Apache-2.0
 *
 * Memory and threads of a floor. */
#define _GNU_SOURCE
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/error.h"
#include "base/thread.h"
#include "base/vec.h"
#include "bench_floor_work.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

enum { SHARE = 64 * 1024, HUGE_PAGE = 2 << 20 };

struct bench_floor {
  bench_floor_loop *loop;
  bench_floor_work work;
  float *arrays[BENCH_MAX_INPUTS + 1]; /* inputs, then the result unless it is over the first */
  int inputs;
  size_t count; /* a multiple of BENCH_BLOCK */
  size_t share; /* the same */
  size_t pitch;
  _Atomic size_t next; /* the first element that nobody has taken */
  sm_vec(pthread_t) workers;
  sm_mutex lock;
  pthread_cond_t changed; /* any of what follows */
  uint64_t run;           /* number of the run that workers may join */
  bool running;
  size_t working; /* workers that have joined it and are not done */
  bool closing;
};

static const struct {
  const char *name;
  bench_floor_form form;
  int inputs;
} floors[] = {
#define BENCH_FLOOR(name, form, inputs) {#name, BENCH_FORM_##form, inputs},
#include "bench_floors.def"
#undef BENCH_FLOOR
};

const char *bench_floor_name(bench_floor_kind kind) { return floors[kind].name; }
int bench_floor_inputs(bench_floor_kind kind) { return floors[kind].inputs; }
bench_floor_form bench_floor_form_of(bench_floor_kind kind) { return floors[kind].form; }

/* --- Scalars ---------------------------------------------------------------------------- */

float bench_chain_scalar(int k) { return k % 2 ? 1e-4f * (float)k : 1 + 1e-4f * (float)k; }

/* Of mul, add, sub and max in turn: what comes out is finite, for any input between
 * -1 and 1. */
float bench_mixed_scalar(int k) {
  static const float scalars[] = {0.75f, 0.25f, 1.f, -0.5f};
  int cycle = k / 4;
  return scalars[k % 4] + 1e-3f * (float)cycle;
}

static void set_scalars(bench_floor *floor, bench_floor_kind kind) {
  for (int k = 0; k < BENCH_SCALARS; k++)
    floor->work.scalars[k] = kind == BENCH_FLOOR_mixed65 ? bench_mixed_scalar(k) : bench_chain_scalar(k);
}

/* --- Running ----------------------------------------------------------------------------- */

static void run_shares(bench_floor *floor) {
  for (;;) {
    size_t begin = atomic_fetch_add_explicit(&floor->next, floor->share, memory_order_relaxed);
    if (begin >= floor->count) break;
    size_t left = floor->count - begin;
    floor->loop(&floor->work, begin, begin + (left < floor->share ? left : floor->share));
  }
#if defined(__x86_64__)
  _mm_sfence(); /* stores past the caches are ordered by nothing else */
#endif
}

/* Joins the next run after number `last`; false at the end of all. */
static bool join_run(bench_floor *floor, uint64_t *last) {
  sm_lock(&floor->lock);
  while (!floor->closing && !(floor->running && floor->run > *last))
    (void)pthread_cond_wait(&floor->changed, &floor->lock.handle);
  bool joined = !floor->closing;
  if (joined) {
    *last = floor->run;
    floor->working++;
  }
  sm_unlock(&floor->lock);
  return joined;
}

static void leave_run(bench_floor *floor) {
  sm_lock(&floor->lock);
  if (--floor->working == 0) (void)pthread_cond_broadcast(&floor->changed);
  sm_unlock(&floor->lock);
}

static void *work_along(void *user) {
  bench_floor *floor = user;
  for (uint64_t last = 0; join_run(floor, &last); leave_run(floor)) run_shares(floor);
  return NULL;
}

/* Workers that have not woken up when all is taken are not waited for. */
void bench_floor_run(bench_floor *floor) {
  sm_lock(&floor->lock);
  atomic_store_explicit(&floor->next, 0, memory_order_relaxed);
  floor->run++;
  floor->running = true;
  (void)pthread_cond_broadcast(&floor->changed);
  sm_unlock(&floor->lock);
  run_shares(floor);
  sm_lock(&floor->lock);
  floor->running = false;
  while (floor->working) (void)pthread_cond_wait(&floor->changed, &floor->lock.handle);
  sm_unlock(&floor->lock);
}

/* --- Opening and closing ------------------------------------------------------------------ */

static float *make_array(size_t count) {
  size_t bytes = (count * sizeof(float) + HUGE_PAGE - 1) / HUGE_PAGE * HUGE_PAGE;
  float *array = aligned_alloc(HUGE_PAGE, bytes);
  if (!array) return NULL;
#if defined(MADV_HUGEPAGE)
  (void)madvise(array, bytes, MADV_HUGEPAGE);
#endif
  return memset(array, 0, bytes);
}

static bool make_arrays(bench_floor *floor, bool over) {
  for (int k = 0; k < floor->inputs + !over; k++) {
    floor->arrays[k] = make_array(floor->count);
    if (!floor->arrays[k]) return false;
    if (k < floor->inputs) floor->work.in[k] = floor->arrays[k];
  }
  floor->work.out = floor->arrays[over ? 0 : floor->inputs];
  return true;
}

static bool start_workers(bench_floor *floor, int n) {
  if (!sm_vec_reserve(&sm_malloc_allocator, &floor->workers, (size_t)n)) return false;
  for (int k = 0; k < n; k++) {
    if (pthread_create(&floor->workers.items[k], NULL, work_along, floor) != 0) return false;
    floor->workers.len++;
  }
  return true;
}

static size_t whole_blocks(size_t n) { return (n + BENCH_BLOCK - 1) / BENCH_BLOCK * BENCH_BLOCK; }

static void cut_into_shares(bench_floor *floor, bench_floor_form form, size_t rows, size_t columns) {
  bool whole_rows = form == BENCH_FORM_ROWS || form == BENCH_FORM_NUMBERS;
  floor->pitch = whole_rows ? whole_blocks(columns) : columns;
  floor->count = whole_blocks(rows * floor->pitch);
  floor->share = SHARE;
  floor->work.columns = floor->pitch;
  if (whole_rows && columns) floor->share = floor->pitch * (SHARE / floor->pitch + (floor->pitch > SHARE));
}

smelt_status bench_floor_open(bench_floor **out, bench_floor_kind kind, size_t rows, size_t columns,
                              int threads, sm_cpu_level level, smelt_error *err) {
  bench_floor *floor = calloc(1, sizeof *floor);
  if (!floor) return sm_error_memory(err, "a floor");
  floor->loop = bench_floor_find(kind, level);
  floor->inputs = floors[kind].inputs;
  cut_into_shares(floor, floors[kind].form, rows, columns);
  set_scalars(floor, kind);
  (void)sm_mutex_init(&floor->lock, SM_LOCK_TOOL);
  (void)pthread_cond_init(&floor->changed, NULL);
  if (!make_arrays(floor, floors[kind].form == BENCH_FORM_OVER) || !start_workers(floor, threads - 1)) {
    bench_floor_close(floor);
    return sm_error_memory(err, "arrays and threads of a floor");
  }
  *out = floor;
  return SMELT_OK;
}

void bench_floor_close(bench_floor *floor) {
  if (!floor) return;
  sm_lock(&floor->lock);
  floor->closing = true;
  (void)pthread_cond_broadcast(&floor->changed);
  sm_unlock(&floor->lock);
  for (size_t k = 0; k < floor->workers.len; k++) (void)pthread_join(floor->workers.items[k], NULL);
  for (int k = 0; k <= BENCH_MAX_INPUTS; k++) free(floor->arrays[k]);
  sm_vec_free(&sm_malloc_allocator, &floor->workers);
  sm_mutex_destroy(&floor->lock);
  (void)pthread_cond_destroy(&floor->changed);
  free(floor);
}

float *bench_floor_input(bench_floor *floor, int which) { return floor->arrays[which]; }
size_t bench_floor_pitch(const bench_floor *floor) { return floor->pitch; }
const float *bench_floor_result(const bench_floor *floor) { return floor->work.out; }
