/* SPDX-License-Identifier: Apache-2.0
 *
 * Locks and the thread's own block.
 *
 * Lock order: context registry < stream < {reference table, spare buffers of a
 * device}. A thread never
 * holds two locks of one level. `inside` is set while a thread is in a part of
 * the library that may run a user's callback; operations called from there are
 * answered with SMELT_ERR_REENTRANT instead of a deadlock. */
#ifndef SM_BASE_THREAD_H
#define SM_BASE_THREAD_H

#include <pthread.h>
#include <stdbool.h>

typedef pthread_mutex_t sm_mutex;
#define SM_MUTEX_INIT PTHREAD_MUTEX_INITIALIZER

static inline bool sm_mutex_init(sm_mutex *m) { return pthread_mutex_init(m, NULL) == 0; }
static inline void sm_mutex_destroy(sm_mutex *m) { (void)pthread_mutex_destroy(m); }
static inline void sm_lock(sm_mutex *m) { (void)pthread_mutex_lock(m); }
static inline void sm_unlock(sm_mutex *m) { (void)pthread_mutex_unlock(m); }

/* Whether the calling thread is inside a stream (see above). */
bool sm_thread_inside(void);
void sm_thread_set_inside(bool inside);

/* Whether the calling thread is running a chunk of a pool's job; jobs that it
 * starts there are its own alone (rt/pool.h). */
bool sm_thread_in_job(void);
void sm_thread_set_in_job(bool in_job);

#endif
