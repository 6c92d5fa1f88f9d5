/* SPDX-License-Identifier: Apache-2.0
 *
 * The streams of a context, one for each thread that uses it.
 *
 * Purpose. A *set* holds what the streams of a context have in common. A thread's
 * stream is made when it first needs one (sm_streams_mine) and found again through the
 * thread's block, without a lock.
 *
 * A thread that ends has its live results computed, because references to them may be
 * with other threads; its streams then belong to nobody. The tensors stay where they
 * are. Once they are gone the stream serves the next new thread, so that any number of
 * short-lived threads needs no more streams than there are at one time.
 *
 * The *registry* lists the living sets of the process. With its help a thread that
 * ends knows which of its contexts still exist: sets have serials that are never used
 * again, and a thread that ends is a *visitor* whom sm_streams_close waits for. */
#ifndef SM_STREAM_STREAMS_H
#define SM_STREAM_STREAMS_H

#include "stream/stream.h"

struct sm_streams {
  /* Filled in by the caller of sm_streams_open: */
  const sm_allocator *allocator;
  const sm_log *log;
  sm_counters *counters;
  sm_executor executor;
  sm_stream_options options;
  uint64_t seed;
  const void *owner; /* the context; opaque here */
  /* The rest is theirs: */
  uint64_t serial;
  _Atomic uint64_t threads;   /* that have got a stream */
  _Atomic(sm_stream *) first; /* all streams, the latest first; none goes before the set */
  /* Guarded by the registry's lock: */
  sm_streams *next;
  sm_event left; /* a visitor has */
  int visitors;
  uint32_t process; /* sm_thread_process of the visitors: those of a parent do not count */
  /* What all threads change all the time shares no cache line with what they read. */
  char apart[64];
  _Atomic uint64_t next_id; /* of tensors */
};

/* False if the process has no room for it. */
bool sm_streams_open(sm_streams *set);
/* Takes the set off the registry and waits until no thread visits it or runs a job of
 * it. What is pending stays so for ever. */
void sm_streams_close(sm_streams *set);
/* Frees a closed set with all tensors. */
void sm_streams_free(sm_streams *set);

/* The calling thread's stream; NULL without memory. */
sm_stream *sm_streams_mine(sm_streams *set);

/* Operations recorded so far. */
uint64_t sm_streams_operations(const sm_streams *set);

/* References to tensors of the set. */
void sm_streams_count_references(sm_streams *set, uint64_t change);
uint64_t sm_streams_references(const sm_streams *set);
/* Shows every tensor, dead ones too, of one stream after the other, while nobody changes that.
 * ERR_REENTRANT from inside a callback. */
smelt_status sm_streams_look(sm_streams *set, void (*look)(void *user, const sm_tensor *t), void *user,
                             smelt_error *err);

/* Counts a misuse for `owner` if a living set belongs to it, and says where to report
 * it; otherwise the log is off. */
sm_log sm_streams_count_misuse(const void *owner);

#endif
