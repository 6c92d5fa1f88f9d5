/* SPDX-License-Identifier: Apache-2.0
 *
 * Locks, waiting, fork, and the thread's own block.
 *
 * Lock order. Each lock has a *level*; a thread takes locks in ascending order and
 * never holds two of one level. Builds with assertions check that at every sm_lock.
 * The levels below are the whole order. No lock is held while a user's function
 * runs, the allocator included.
 *
 * Fork. A handler takes every living lock, level by level, and gives all back on both
 * sides, so the child finds nothing half done. Therefore locks are made and destroyed
 * while none is held. What other threads were doing never ends in the child: whoever
 * waits for a thread compares sm_thread_process with what it was when that thread began.
 *
 * The block. `inside` is set while a thread is in a part of the library that may
 * run a user's callback; operations called from there are answered with
 * SMELT_ERR_REENTRANT, and drops wait in `dropped` until that part is left. */
#ifndef SM_BASE_THREAD_H
#define SM_BASE_THREAD_H

#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

typedef enum sm_lock_level {
  SM_LOCK_TOOL,       /* of programs around the library */
  SM_LOCK_REGISTRY,   /* the living contexts */
  SM_LOCK_STREAM,     /* what a thread has recorded */
  SM_LOCK_PLANS,      /* the plans of a device */
  SM_LOCK_KERNELS,    /* the kernels of a device */
  SM_LOCK_DRIVER,     /* a driver's own state */
  SM_LOCK_DEVICE,     /* spare buffers of a device */
  SM_LOCK_EXPLAINER,  /* what is kept for an explanation */
  SM_LOCK_TIMELINE,   /* the file of a trace */
  SM_LOCK_MEMORY,     /* kept blocks of tensor memory */
  SM_LOCK_REFERENCES, /* the reference table */
  SM_LOCK_LEVELS
} sm_lock_level;

typedef struct sm_mutex {
  pthread_mutex_t handle;
  sm_lock_level level;
  struct sm_mutex *prev, *next; /* all of the level */
} sm_mutex;
/* For locks that live as long as the process; sm_mutex_enlist tells the fork handler of them. */
#define SM_MUTEX_INIT(level) \
  { PTHREAD_MUTEX_INITIALIZER, level, NULL, NULL }

bool sm_mutex_init(sm_mutex *m, sm_lock_level level);
void sm_mutex_destroy(sm_mutex *m);
/* For a lock from SM_MUTEX_INIT, once. */
void sm_mutex_enlist(sm_mutex *m);

/* One thread's. All members belong to the modules that are named. */
typedef struct sm_thread {
  bool inside;                       /* see above */
  bool in_job;                       /* runs a chunk of a pool's job; jobs that it starts there are its
                                        own alone (rt/pool.h) */
  bool running;                      /* a job; then it waits for no other (stream) */
  bool draining;                     /* applies `dropped` (stream) */
  uint32_t held;                     /* levels, a bit each; where the order is checked */
  struct sm_tensor *dropped;         /* by callbacks (stream) */
  struct sm_stream *stream;          /* the one used last, (stream) */
  uint64_t streams;                  /* and the serial of its context's streams (stream) */
  struct sm_stream_of_thread *first; /* all of them (stream) */
} sm_thread;

sm_thread *sm_thread_self(void);

#ifdef NDEBUG
static inline void sm_check_lock(const sm_mutex *m) { (void)m; }
static inline void sm_check_unlock(const sm_mutex *m) { (void)m; }
#else
static inline void sm_check_lock(const sm_mutex *m) {
  sm_thread *self = sm_thread_self();
  assert(self->held >> m->level == 0 && "locks are taken in ascending order");
  self->held |= UINT32_C(1) << m->level;
}
static inline void sm_check_unlock(const sm_mutex *m) {
  sm_thread_self()->held &= ~(UINT32_C(1) << m->level);
}
#endif

static inline void sm_lock(sm_mutex *m) {
  sm_check_lock(m);
  (void)pthread_mutex_lock(&m->handle);
}
static inline void sm_unlock(sm_mutex *m) {
  (void)pthread_mutex_unlock(&m->handle);
  sm_check_unlock(m);
}

/* Something that happens again and again and that threads wait for. The counts are
 * guarded by the lock that is passed. */
typedef struct sm_event {
  _Atomic uint32_t happened;
  uint32_t waiting;
} sm_event;

/* Gives the lock back, waits and takes it again; also returns for no reason. */
void sm_event_wait(sm_event *event, sm_mutex *lock);
/* Wakes all; the lock is held. */
void sm_event_signal(sm_event *event);

/* Has the fork handler installed. False if that fails. */
bool sm_thread_handle_forks(void);
/* Changes with each fork, in the child. */
uint32_t sm_thread_process(void);

#endif
