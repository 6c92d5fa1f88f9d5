/* SPDX-License-Identifier: Apache-2.0
 *
 * What the files of the stream module share: entering and leaving a stream (stream.c), making
 * and freeing tensors (stream_tensor.c), recording (stream_record.c) and ending a segment
 * (segment_end.c). */
#ifndef SM_STREAM_STREAM_TENSOR_H
#define SM_STREAM_STREAM_TENSOR_H

#include "stream/streams.h"

/* --- The lock ---------------------------------------------------------------------- */

/* Takes the lock. NULL, and it is not taken, from inside a callback. */
sm_thread *sm_stream_enter(sm_stream *s);
/* Gives the lock back, then does what had to wait for that: log lines, releases, and
 * drops by callbacks. */
void sm_stream_leave(sm_stream *s, sm_thread *self);
/* The same in the middle, where callbacks stay forbidden. */
void sm_stream_unlock(sm_stream *s);
/* Fetches the memory that was wanted. Gives the lock back meanwhile. False if there is none. */
bool sm_stream_restock(sm_stream *s);
/* ERR_REENTRANT: what a call from inside a callback is answered. */
smelt_status sm_stream_refuse_reentry(smelt_error *err);

/* --- With the lock held --------------------------------------------------------------- */

/* A tensor with one reference, linked into the stream; NULL unless
 * there is one in reserve. */
sm_tensor *sm_tensor_create(sm_stream *s, sm_tensor_state state, smelt_dtype dtype, const sm_shape *shape,
                            const char *origin);
/* Makes sure that `n` tensors can be made. False if memory has to be fetched for that. */
bool sm_tensor_reserve(sm_stream *s, int n);
/* Unlinks it and frees its cause; its buffer is released later (sm_stream_unlock). Its
 * memory is kept for the next. */
void sm_tensor_free(sm_stream *s, sm_tensor *t);
/* The tensor's last reference is gone: it is freed as soon as no segment needs it. */
void sm_tensor_bury(sm_stream *s, sm_tensor *t);

/* Adds a line to the log. */
#define sm_stream_log(s, category, ...) \
  (sm_log_on((s)->set->log, category) ? sm_text_addf(&(s)->lines, __VA_ARGS__) : (void)0)

static inline uint64_t sm_stream_new_id(sm_stream *s) {
  return atomic_fetch_add_explicit(&s->set->next_id, 1, memory_order_relaxed);
}

static inline bool sm_tensor_in_segment(const sm_tensor *t) { return t->epoch == t->stream->epoch; }

/* Runs the segment of that epoch, unless another thread ends it first: settles its live
 * results, frees its dead tensors and starts the next one. Gives the lock back
 * meanwhile. */
void sm_segment_end(sm_stream *s, uint64_t epoch);
/* Marks the values of the current segment that are alive now; if it is about to end those that
 * it makes are SCHEDULED. */
void sm_segment_mark_live(sm_stream *s, bool scheduled);
/* Waits until no job runs. Gives the lock back meanwhile. */
void sm_job_await(sm_stream *s);

/* --- Without the lock ------------------------------------------------------------------- */

void sm_tensor_free_spares(sm_stream *s);
/* Releases what `trash` is a list of. */
void sm_tensor_empty_trash(sm_stream *s, sm_tensor *trash);

#endif
