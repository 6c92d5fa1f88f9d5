/* SPDX-License-Identifier: Apache-2.0
 *
 * Streams: what was recorded and not yet run.
 *
 * Purpose. A stream turns the calls of one thread into records of its current
 * *segment*, decides when that ends, has it run by an *executor* and hands the
 * results to the tensors that wait for them. It knows no devices and no kernels.
 *
 * Vocabulary. A *tensor* (sm_tensor) is what references point to. It is *native* to
 * the stream that made it and *foreign* to others. It is PENDING while only recorded,
 * SCHEDULED while a job writes it, READY when its buffer has data, POISONED with a
 * cause. It is *dead* once its last reference is gone. A *job* is an ended segment,
 * which nobody changes any more. The *epoch* counts segments; a tensor's `value` is
 * its number in the segment of its epoch. An *alias* stands for a foreign tensor in a
 * segment: it shares the buffer and has an id of its own; there is one for each
 * foreign tensor that a segment uses.
 *
 * Threads. A stream records what its own thread calls (see streams.h). Any thread may
 * end its segment, by waiting for a tensor: it detaches the segment as the stream's
 * job, under the lock, runs the job without it, and hands out the results under it
 * again. A stream has one job at a time; who wants to detach another waits. A job
 * needs nothing but what was READY when it was detached, so those who run jobs never
 * wait for anybody, and waiting never forms a cycle.
 *
 * Invariants.
 *  - Last use is decided by one fetch_sub on `refs`; never load, then decide.
 *  - `dead` is set under the stream's lock by whoever took the last reference; only
 *    dead tensors are freed, at once or when the segment or job they are in is done.
 *  - A PENDING tensor belongs to the current segment of its stream, a SCHEDULED one to
 *    its job. READY and POISONED are for ever, and can be seen without the lock.
 *  - Every end runs the whole segment: what is live is computed, nothing else.
 *  - What enters a segment's relative form depends on its own thread alone: a drop by
 *    another thread of a tensor that the segment mentions is applied when it has ended,
 *    and so are aliases given up.
 *  - A thread never holds the locks of two streams: foreign operands are resolved
 *    before the own lock is taken.
 *  - Functions of the user (the allocator, free functions, the log) are called without
 *    the lock.
 *
 * All functions take the locks they need. A drop that comes from inside a callback
 * is applied when the call that is under way is done. */
#ifndef SM_STREAM_STREAM_H
#define SM_STREAM_STREAM_H

#include "base/cause.h"
#include "base/counters.h"
#include "base/log.h"
#include "base/thread.h"
#include "ir/infer.h"
#include "ir/op.h"
#include "stream/notices.h"
#include "stream/plan_cache.h"
#include "stream/stock.h"

typedef struct sm_buffer sm_buffer; /* the executor's */
typedef struct sm_note sm_note;     /* so */

/* An ended segment on its way through an executor. `buffers` and `causes` have
 * one entry a value: sources come with their buffer or their cause; the executor gives
 * every live value either a buffer (whose reference it hands over) or a cause. The
 * reference of a source that is not live is the job's: the executor may give it up
 * (and clear the entry) as soon as nobody reads it. The rest is memory that the
 * executor may use meanwhile, which is kept from job to job. */
typedef struct sm_job {
  const sm_segment *segment;
  sm_buffer **buffers;
  sm_cause **causes;
  sm_arena scratch;
  sm_plan_key key;
  sm_note *note; /* for an explanation, while it runs */
} sm_job;

typedef struct sm_executor {
  void *self;
  void (*run)(void *self, sm_job *job); /* by several threads at once */
  sm_buffer *(*retain)(void *self, sm_buffer *buffer);
  void (*release)(void *self, sm_buffer *buffer);
} sm_executor;

/* From READY on a state is for ever. */
typedef enum sm_tensor_state { SM_PENDING, SM_SCHEDULED, SM_READY, SM_POISONED } sm_tensor_state;

typedef struct sm_stream sm_stream;
typedef struct sm_streams sm_streams;

typedef struct sm_tensor {
  _Atomic uint32_t refs;
  _Atomic uint8_t state; /* sm_tensor_state */
  smelt_dtype dtype;
  sm_shape shape;
  sm_stream *stream;
  const char *origin;            /* the operation or function that made it; static */
  struct sm_tensor *next, *prev; /* all tensors of the stream */
  uint64_t id;                   /* here and below: zeros in a new one */
  uint64_t source;               /* of an alias: the id of the tensor it stands for; 0 */
  uint64_t epoch;                /* of the segment `value` belongs to */
  uint32_t value;
  bool dead;
  sm_buffer *buffer;           /* READY */
  sm_cause *cause;             /* POISONED */
  _Atomic(const char *) where; /* it was called, if that is known; static */
  struct sm_tensor *link;      /* the one list of drops or aliases that it is in */
} sm_tensor;

typedef struct sm_stream_options {
  int64_t max_ops;   /* records a segment holds */
  int64_t max_bytes; /* of live results a segment holds */
} sm_stream_options;

struct sm_stream {
  sm_streams *set;             /* of the context */
  sm_stream *next;             /* in the set */
  uint64_t number;             /* in the order of creation, from 1 */
  _Atomic(sm_thread *) thread; /* whose calls are recorded here; NULL when it has ended */
  _Atomic uint64_t operations; /* recorded so far; written by that thread */
  _Atomic uint64_t references; /* made by that thread, less those that it gave up */
  sm_mutex lock;               /* guards: */
  sm_stock stock;              /* what is used under the lock */
  sm_segment segment;
  uint64_t epoch;     /* of the segment */
  int64_t live_bytes; /* of results in the segment that are not dead */
  int64_t since;      /* the segment has records, for the timeline */
  int64_t recorder;   /* whose (sm_os_thread) */
  uint64_t seed, random_calls;
  sm_tensor *tensors;
  sm_tensor *aliases;    /* in the segment */
  sm_tensor *late_drops; /* by other threads, of tensors in the segment */
  sm_tensor *trash;      /* freed tensors whose buffers are to be released without the lock */
  sm_tensor *spare;      /* freed ones, for the next ones: the steady state allocates none */
  sm_text lines;         /* of the log, to be written without the lock */
  sm_notices notices;    /* for the observer, so */
  uint64_t job_epoch;    /* of the job that runs; 0: none */
  uint32_t job_process;  /* sm_thread_process when it began */
  sm_event job_done;
  /* Not guarded: */
  sm_segment job_segment;        /* the job's: nobody changes it while that runs */
  sm_job job;                    /* of the thread that runs it */
  sm_tensor *kept;               /* freed ones too; the stream's own thread put them here, and takes them */
  _Atomic(sm_tensor *) recycled; /* and those that other threads released */
};

/* False if the lock cannot be made. */
bool sm_stream_init(sm_stream *s, sm_streams *set);
/* Frees everything, whatever is still alive; runs nothing. No other thread uses it. */
void sm_stream_free(sm_stream *s);
/* A thread begins to use the stream, which has no tensors. Random numbers start over: the
 * first thread's are those of the context's seed, each other thread's are its own. */
void sm_stream_adopt(sm_stream *s, uint64_t number);

/* A new READY tensor with one reference; takes over the buffer's reference.
 * On failure the buffer stays the caller's. */
smelt_status sm_stream_input(sm_stream *s, smelt_dtype dtype, const sm_shape *shape, sm_buffer *buffer,
                             const char *origin, sm_tensor **out, smelt_error *err);

/* One operand of a call. A tensor's reference is taken in any case. */
typedef struct sm_argument {
  sm_tensor *tensor; /* NULL: a scalar */
  sm_scalar scalar;
} sm_argument;

/* Records the operation; inserts conversions where dtypes differ. The result has one
 * reference. On failure nothing is recorded, and `cause` (a reference for the
 * caller) says why: the first poisoned operand's cause or a new one. Foreign operands
 * are of the same set; they are resolved first. */
sm_tensor *sm_stream_record(sm_stream *s, const sm_op_row *row, const sm_argument *arguments, int n,
                            const smelt_attrs *attrs, sm_cause **cause);

/* Calls a function of the user; what it drops is given up when it is done. Not from inside a
 * callback. */
void sm_stream_call_user(void (*function)(void *argument), void *argument);

/* ERR_REENTRANT from inside a callback. */
smelt_status sm_stream_check_entry(smelt_error *err);

/* Gives one reference up. */
void sm_stream_drop(sm_tensor *t);

/* Makes the tensor READY or POISONED and answers which. The buffer or cause
 * stays the tensor's. ERR_REENTRANT from inside a callback. */
smelt_status sm_stream_resolve(sm_tensor *t, smelt_error *err);
/* The state without running anything. */
smelt_status sm_stream_check(const sm_tensor *t, smelt_error *err);
/* Ends the current segment. */
smelt_status sm_stream_flush(sm_stream *s, smelt_error *err);
/* Waits for the job that runs, if there is one. */
void sm_stream_await(sm_stream *s);
/* Shows the current segment, with what is live marked, while nobody changes it. ERR_REENTRANT
 * from inside a callback. */
smelt_status sm_stream_look(sm_stream *s, void (*look)(void *user, const sm_segment *segment), void *user,
                            smelt_error *err);
/* The same with all its tensors, the latest first. */
smelt_status sm_stream_look_at_tensors(sm_stream *s, void (*look)(void *user, const sm_tensor *t), void *user,
                                       smelt_error *err);
/* Starts the random numbers over. */
smelt_status sm_stream_seed(sm_stream *s, uint64_t seed);

static inline bool sm_tensor_is_final(const sm_tensor *t) {
  return atomic_load_explicit(&t->state, memory_order_acquire) >= SM_READY;
}

#endif
