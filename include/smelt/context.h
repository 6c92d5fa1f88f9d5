/* SPDX-License-Identifier: Apache-2.0
 *
 * A context owns everything: its device, the streams on which operations are
 * recorded, caches, counters. Nothing is shared between contexts. */
#ifndef SMELT_CONTEXT_H
#define SMELT_CONTEXT_H

#include "smelt/base.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct smelt_context smelt_context;

/* malloc, realloc and free in one: `size` 0 frees and returns NULL, `ptr` NULL
 * allocates, otherwise the block is resized. `old` is the size asked for
 * before. Must return memory aligned for any object, or NULL. Called without
 * locks from any thread; must not call Smelt. */
typedef void *smelt_alloc_fn(void *user, void *ptr, size_t old, size_t size);

/* Receives one finished log line, without newline. Called without locks from
 * any thread, by several at once; must not record operations. */
typedef void smelt_log_fn(void *user, const char *line);

struct smelt_observer; /* smelt/observe.h */

typedef enum smelt_switch { SMELT_DEFAULT = 0, SMELT_ON = 1, SMELT_OFF = 2 } smelt_switch;

/* Options of a context. Zero means the default; start from
 * SMELT_CONTEXT_DESC_INIT so that new members stay compatible. */
typedef struct smelt_context_desc {
  size_t size;             /* sizeof(smelt_context_desc) */
  const char *device;      /* "cpu" (default), "opencl", "ref", "null:PROFILE"; also from SMELT_DEVICE */
  smelt_switch fusion;     /* default on; SMELT_FUSION=0 turns the default off */
  uint64_t seed;           /* of rand and randn; 0 is a seed like any other */
  int64_t max_ops;         /* recorded operations per kernel, default 256 */
  int64_t max_segment_ops; /* recorded operations per segment, default 512 */
  const char *log;         /* categories, as in SMELT_LOG: "register,block,launch" */
  smelt_log_fn *log_fn;    /* where log lines go, default: stderr */
  void *log_user;          /* first argument of log_fn */
  smelt_alloc_fn *alloc;   /* host bookkeeping memory, default: malloc */
  void *alloc_user;        /* first argument of alloc */
  smelt_mode mode;         /* default: SMELT_MODE=strict|default|fast, or SMELT_MODE_DEFAULT */
  smelt_switch flatten;    /* of axes that lie alike one; default on, SMELT_FLATTEN=0 turns that off */
  const char *trace;       /* a file for what happens when (docs/observing.md), default: SMELT_TRACE */
  const char *reproduce;   /* a folder for segments that fail, default: SMELT_REPRODUCE */
  const struct smelt_observer *observer; /* is told what happens; copied */
} smelt_context_desc;

#define SMELT_CONTEXT_DESC_INIT                                                                              \
  {                                                                                                          \
    sizeof(smelt_context_desc), 0, SMELT_DEFAULT, 0, 0, 0, 0, 0, 0, 0, 0, SMELT_MODE_DEFAULT, SMELT_DEFAULT, \
        0, 0, 0                                                                                              \
  }

/* Creates a context. `desc` NULL means all defaults. NULL on failure, with the
 * reason in `err` (optional): ERR_ARGUMENT, ERR_DEVICE, ERR_IO (of trace or reproducers), ERR_MEMORY.
 * Thread-safe. */
SMELT_API smelt_context *smelt_context_create(const smelt_context_desc *desc, smelt_error *err);

/* Frees the context and everything in it, always. References that are still
 * alive are leaks: they are counted, named in `err` and answered with ERR_LEAK;
 * from then on they are stale, and what is pending, on whatever thread, is never
 * computed. ERR_IO if there are no leaks, but events are missing in the trace. Waits for
 * threads that compute in the context because they end. NULL is allowed. No other thread may use the context
 * during or after the call. */
SMELT_API smelt_status smelt_context_destroy(smelt_context *ctx, smelt_error *err);

/* Computes everything that the calling thread has recorded and that is pending, and waits
 * until the device has done it.
 * Errors of execution poison the tensors they concern and are not reported here.
 * ERR_ARGUMENT for NULL, ERR_MEMORY, ERR_REENTRANT from inside a callback.
 * Thread-safe. */
SMELT_API smelt_status smelt_sync(smelt_context *ctx, smelt_error *err);

/* Restarts the calling thread's random numbers: the same seed and the same sequence
 * of random operations give the same numbers on every device. A thread that has not
 * been seeded has numbers of its own, which follow from the context's seed and from
 * how many threads used the context before. ERR_ARGUMENT for NULL, ERR_MEMORY,
 * ERR_REENTRANT from inside a callback. Thread-safe. */
SMELT_API smelt_status smelt_seed(smelt_context *ctx, uint64_t seed);

/* How operations run: "fusion<cpu<llvm>>", "cpu<llvm>", "ref".
 * Owned by the context. Thread-safe. */
SMELT_API const char *smelt_device_name(const smelt_context *ctx);

/* What happened so far. All numbers since the context was created, except the
 * live_ ones. */
typedef struct smelt_counters {
  size_t size;               /* sizeof(smelt_counters), set by the caller */
  uint64_t operations;       /* recorded operations */
  uint64_t segments;         /* segments that ended with work in them */
  uint64_t launches;         /* entries into the device driver */
  uint64_t kernels_compiled; /* kernels that were not in a cache */
  uint64_t explorations;     /* segments for which a plan was searched */
  uint64_t plan_hits;        /* segments whose plan was there */
  uint64_t guard_misses;     /* explorations of a known program because of other sizes */
  uint64_t bytes_read;       /* by launches, from tensor memory */
  uint64_t bytes_written;    /* by launches, to tensor memory */
  uint64_t in_place_writes;  /* results written over a tensor that nobody wants any more */
  uint64_t misuses;          /* stale or invalid references passed in */
  uint64_t live_references;  /* references not yet taken or dropped */
  uint64_t live_bytes;       /* tensor memory in use */
} smelt_counters;

#define SMELT_COUNTERS_INIT \
  { sizeof(smelt_counters), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0 }

/* Fills `out`. ERR_ARGUMENT if a pointer is NULL or `size` is unknown.
 * Thread-safe. */
SMELT_API smelt_status smelt_context_counters(const smelt_context *ctx, smelt_counters *out);

#ifdef __cplusplus
}
#endif
#endif
