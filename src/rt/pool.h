/* SPDX-License-Identifier: Apache-2.0
 *
 * The thread pool of a CPU device.
 *
 * Purpose. A *job* is a function to be called for all of its work items, in
 * *chunks*: contiguous ranges that begin at multiples of the job's grain and
 * that threads take one after another from a counter. The calling thread takes
 * part from the start. *Workers* join when they notice; at the end the caller
 * waits for those that have entered and for nobody else, so a worker that is
 * slow to wake costs nothing (late join).
 *
 * Workers. Threads of the pool, made when the first job is worth it, one fewer
 * than the pool's number of threads; if the system has no more threads, there
 * are fewer. After a job a worker looks out for the next one for a while
 * (spins: a job starts within a microsecond), then sleeps until one is worth
 * waking it, or several short ones in a row are. Workers take no signals, except those that a fault of their
 * own raises.
 *
 * Rules.
 * - Each work item is in exactly one chunk. Where chunks begin depends on the
 *   job and the pool's options, never on timing; which thread runs which chunk
 *   does.
 * - Every thread runs chunks in the floating-point environment of
 *   base/float_env.h, whatever the caller has set.
 * - What a job wrote is visible to the caller when sm_pool_run returns.
 * - Several threads may run jobs at once; workers divide themselves among them.
 * - A job that is started from within a job runs on that thread alone.
 * - After fork the child has no workers. It gets its own with the first job that
 *   is worth waking some (the process id is compared then, and only then). A
 *   job must not fork. */
#ifndef SM_RT_POOL_H
#define SM_RT_POOL_H

#include <stdint.h>

#include "base/alloc.h"

enum { SM_POOL_MAX_THREADS = 1024 };

typedef struct sm_pool sm_pool;

/* Zero means the default. */
typedef struct sm_pool_options {
  int threads;       /* of a job, the caller included; SMELT_THREADS, or else sm_os_processors */
  smelt_switch spin; /* whether workers spin; SMELT_SPIN=0 turns the default off. They never do if
                        there are more threads than processors */
  uint64_t shuffle;  /* for tests: the caller runs the chunks alone, in an order that depends on this */
} sm_pool_options;

/* Chunks are run by `run(user, begin, end)`, 0 <= begin < end <= work_items. */
typedef struct sm_pool_job {
  void (*run)(void *user, int64_t begin, int64_t end);
  void *user;
  int64_t work_items;
  int64_t grain;   /* chunks begin at multiples of this; at least 1 */
  int64_t chunk;   /* work items of a chunk, rounded up to the grain; 0: the pool chooses */
  int64_t cost_ns; /* what one thread would take for the job, roughly; 0: unknown, worth every thread */
} sm_pool_job;

/* ERR_ARGUMENT for a number of threads or a variable that is no such number,
 * ERR_MEMORY. `options` NULL means all defaults. */
smelt_status sm_pool_create(const sm_allocator *allocator, const sm_pool_options *options, sm_pool **out,
                            smelt_error *err);
/* Ends and joins the workers. No job may be running. NULL is allowed. */
void sm_pool_destroy(sm_pool *pool);

/* Threads of a job at most, the caller included. */
int sm_pool_threads(const sm_pool *pool);

/* Runs the job and returns when all of it is done. Never fails: without help the
 * caller does everything. Thread-safe. */
void sm_pool_run(sm_pool *pool, const sm_pool_job *job);

#endif
