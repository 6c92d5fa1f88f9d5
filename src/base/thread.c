/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "base/thread.h"

#include <limits.h>

#include "base/futex.h"

/* --- The block --------------------------------------------------------------------- */

static _Thread_local sm_thread thread_self;

sm_thread *sm_thread_self(void) { return &thread_self; }

/* --- All locks ------------------------------------------------------------------------ */

static struct {
  pthread_mutex_t lock;
  sm_mutex *first[SM_LOCK_LEVELS];
} all_locks = {.lock = PTHREAD_MUTEX_INITIALIZER};

void sm_mutex_enlist(sm_mutex *m) {
  (void)pthread_mutex_lock(&all_locks.lock);
  sm_mutex **first = &all_locks.first[m->level];
  m->prev = NULL;
  m->next = *first;
  if (m->next) m->next->prev = m;
  *first = m;
  (void)pthread_mutex_unlock(&all_locks.lock);
}

static void delist(sm_mutex *m) {
  (void)pthread_mutex_lock(&all_locks.lock);
  if (m->prev) m->prev->next = m->next;
  else all_locks.first[m->level] = m->next;
  if (m->next) m->next->prev = m->prev;
  (void)pthread_mutex_unlock(&all_locks.lock);
}

bool sm_mutex_init(sm_mutex *m, sm_lock_level level) {
  if (pthread_mutex_init(&m->handle, NULL) != 0) return false;
  m->level = level;
  sm_mutex_enlist(m);
  return true;
}

void sm_mutex_destroy(sm_mutex *m) {
  delist(m);
  (void)pthread_mutex_destroy(&m->handle);
}

/* --- Waiting ---------------------------------------------------------------------------- */

void sm_event_wait(sm_event *event, sm_mutex *lock) {
  uint32_t seen = atomic_load(&event->happened);
  event->waiting++;
  sm_unlock(lock);
  sm_futex_wait(&event->happened, seen);
  sm_lock(lock);
  event->waiting--;
}

void sm_event_signal(sm_event *event) {
  if (!event->waiting) return;
  atomic_fetch_add(&event->happened, 1);
  sm_futex_wake(&event->happened, INT_MAX);
}

/* --- Fork --------------------------------------------------------------------------------- */

static struct {
  pthread_once_t once;
  bool installed;
  _Atomic uint32_t children; /* of children: how many forks led here */
} forks = {.once = PTHREAD_ONCE_INIT};

uint32_t sm_thread_process(void) { return atomic_load_explicit(&forks.children, memory_order_relaxed); }

/* In the order of levels, as every thread takes them; so this ends. */
static void take_all(void) {
  (void)pthread_mutex_lock(&all_locks.lock);
  for (int level = 0; level < SM_LOCK_LEVELS; level++) {
    for (sm_mutex *m = all_locks.first[level]; m; m = m->next) (void)pthread_mutex_lock(&m->handle);
  }
}

static void give_all_back(void) {
  for (int level = SM_LOCK_LEVELS - 1; level >= 0; level--) {
    for (sm_mutex *m = all_locks.first[level]; m; m = m->next) (void)pthread_mutex_unlock(&m->handle);
  }
  (void)pthread_mutex_unlock(&all_locks.lock);
}

static void begin_child(void) {
  atomic_fetch_add(&forks.children, 1);
  give_all_back();
}

static void install_handler(void) {
  forks.installed = pthread_atfork(take_all, give_all_back, begin_child) == 0;
}

bool sm_thread_handle_forks(void) {
  (void)pthread_once(&forks.once, install_handler);
  return forks.installed;
}
