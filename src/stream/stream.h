/* SPDX-License-Identifier: Apache-2.0
 *
 * Streams: what was recorded and not yet run.
 *
 * Purpose. A stream turns calls into records of its current segment, decides
 * when the segment ends, has it run by an *executor* and hands the results to
 * the tensors that wait for them. It knows no devices and no kernels.
 *
 * Vocabulary. A *tensor* (sm_tensor) is what references point to: PENDING while
 * only recorded, READY when its buffer has data, POISONED with a cause. It is
 * *dead* once its last reference is gone. The *epoch* counts segments; a
 * tensor's `value` is its number in the segment of its epoch.
 *
 * Invariants.
 *  - Last use is decided by one fetch_sub on `refs`; never load, then decide.
 *  - `dead` is set under the stream's lock by whoever took the last reference;
 *    only dead tensors are freed, at once or when the segment they are in ends.
 *  - A PENDING tensor belongs to the current segment of its stream.
 *  - Every end runs the whole segment: what is live is computed, nothing else.
 *
 * All functions take the stream's lock themselves. A drop that comes from
 * inside a callback is queued and applied at the next entry. */
#ifndef SM_STREAM_STREAM_H
#define SM_STREAM_STREAM_H

#include "base/cause.h"
#include "base/counters.h"
#include "base/log.h"
#include "base/thread.h"
#include "ir/infer.h"
#include "ir/op.h"

typedef struct sm_buffer sm_buffer; /* the executor's */

/* An ended segment on its way through an executor. `buffers` and `causes` have
 * one entry a value: sources come with their buffer; the executor gives every
 * live value either a buffer (whose reference it hands over) or a cause. The
 * reference of a source that is not live is the job's: the executor may give it up
 * (and clear the entry) as soon as nobody reads it. */
typedef struct sm_job {
  const sm_segment *segment;
  sm_buffer **buffers;
  sm_cause **causes;
} sm_job;

typedef struct sm_executor {
  void *self;
  void (*run)(void *self, sm_job *job);
  void (*release)(void *self, sm_buffer *buffer);
} sm_executor;

typedef enum sm_tensor_state { SM_PENDING, SM_READY, SM_POISONED } sm_tensor_state;

typedef struct sm_stream sm_stream;

typedef struct sm_tensor {
  _Atomic uint32_t refs;
  uint8_t state; /* sm_tensor_state */
  bool dead;
  smelt_dtype dtype;
  sm_shape shape;
  uint64_t id;
  sm_stream *stream;
  uint64_t epoch; /* of the segment `value` belongs to */
  uint32_t value;
  sm_buffer *buffer;              /* READY */
  sm_cause *cause;                /* POISONED */
  const char *origin;             /* the operation or function that made it; static */
  struct sm_tensor *prev, *next;  /* all tensors of the stream */
  struct sm_tensor *next_dropped; /* drops queued from callbacks */
} sm_tensor;

typedef struct sm_stream_options {
  int64_t max_ops;   /* records a segment holds */
  int64_t max_bytes; /* of live results a segment holds */
} sm_stream_options;

struct sm_stream {
  const sm_allocator *allocator;
  const sm_log *log;
  sm_counters *counters;
  sm_executor executor;
  sm_stream_options options;
  void *owner; /* the context; opaque here */
  sm_mutex lock;
  sm_segment segment;
  uint64_t epoch;
  uint64_t next_id;   /* of tensors */
  int64_t live_bytes; /* of results in the segment that are not dead */
  uint64_t seed, random_calls;
  sm_tensor *tensors;
  sm_tensor *spare; /* freed ones, for the next ones: the steady state allocates none */
  _Atomic(sm_tensor *) dropped;
};

/* False if the lock cannot be made. */
bool sm_stream_init(sm_stream *s, const sm_allocator *allocator, const sm_log *log, sm_counters *counters,
                    sm_executor executor, sm_stream_options options);
/* Frees everything, whatever is still alive; runs nothing. */
void sm_stream_free(sm_stream *s);

/* A new READY tensor with one reference; takes over the buffer's reference.
 * On failure the buffer stays the caller's. */
smelt_status sm_stream_input(sm_stream *s, smelt_dtype dtype, const sm_shape *shape, sm_buffer *buffer,
                             const char *origin, sm_tensor **out, smelt_error *err);

/* One operand of a call. A tensor's reference is taken in any case. */
typedef struct sm_argument {
  sm_tensor *tensor; /* NULL: a scalar */
  sm_scalar scalar;
} sm_argument;

/* Records `code`; inserts conversions where dtypes differ. The result has one
 * reference. On failure nothing is recorded, and `cause` (a reference for the
 * caller) says why: the first poisoned operand's cause or a new one. */
sm_tensor *sm_stream_record(sm_stream *s, sm_opcode code, const sm_argument *arguments, int n,
                            const smelt_attrs *attrs, sm_cause **cause);

/* Gives one reference up. */
void sm_stream_drop(sm_tensor *t);

/* Makes the tensor READY or POISONED and answers which. The buffer or cause
 * stays the tensor's. ERR_REENTRANT from inside a callback. */
smelt_status sm_stream_resolve(sm_tensor *t, smelt_error *err);
/* The state without running anything. */
smelt_status sm_stream_check(const sm_tensor *t, smelt_error *err);
/* Ends the current segment. */
smelt_status sm_stream_flush(sm_stream *s, smelt_error *err);
/* Starts the random numbers over. */
smelt_status sm_stream_seed(sm_stream *s, uint64_t seed);

#endif
