/* SPDX-License-Identifier: Apache-2.0
 *
 * Peers: threads that do what a test tells them, one step at a time. So a test says
 * in which order threads do things, and a step is done when peer_do returns. */
#ifndef TESTS_PEER_H
#define TESTS_PEER_H

#include <pthread.h>

#include "harness.h"

typedef void peer_step(void *user);

typedef struct peer {
  pthread_t thread;
  pthread_mutex_t lock;
  pthread_cond_t changed;
  peer_step *step; /* to be done; NULL when it is */
  void *user;
  bool leaves;
} peer;

static inline void *peer_live(void *argument) {
  peer *p = argument;
  (void)pthread_mutex_lock(&p->lock);
  while (!p->leaves) {
    if (p->step) {
      p->step(p->user);
      p->step = NULL;
      (void)pthread_cond_broadcast(&p->changed);
    } else {
      (void)pthread_cond_wait(&p->changed, &p->lock);
    }
  }
  (void)pthread_mutex_unlock(&p->lock);
  return NULL;
}

static inline void peer_open(peer *p) {
  *p = (peer){.lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};
  CHECK_I64(pthread_create(&p->thread, NULL, peer_live, p), 0);
}

/* Has the peer do a step, and waits until it is done. */
static inline void peer_do(peer *p, peer_step *step, void *user) {
  (void)pthread_mutex_lock(&p->lock);
  p->step = step;
  p->user = user;
  (void)pthread_cond_broadcast(&p->changed);
  while (p->step) (void)pthread_cond_wait(&p->changed, &p->lock);
  (void)pthread_mutex_unlock(&p->lock);
}

/* Ends the thread and waits for it. */
static inline void peer_close(peer *p) {
  (void)pthread_mutex_lock(&p->lock);
  p->leaves = true;
  (void)pthread_cond_broadcast(&p->changed);
  (void)pthread_mutex_unlock(&p->lock);
  CHECK_I64(pthread_join(p->thread, NULL), 0);
}

#endif
