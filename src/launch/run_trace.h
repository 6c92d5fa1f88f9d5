/* SPDX-License-Identifier: Apache-2.0
 *
 * Running a trace: launch plan, kernel, buffers, driver. */
#ifndef SM_LAUNCH_RUN_TRACE_H
#define SM_LAUNCH_RUN_TRACE_H

#include "launch/explain.h"
#include "launch/launch_cache.h"
#include "launch/operands.h"

/* What copies (launch/dense_copy.h) were compiled to: elements of 1, 2, 4 and 8 bytes. */
enum { SM_COPY_SIZES = 4 };
typedef struct sm_copy_kernels {
  sm_launch_cache by_size[SM_COPY_SIZES];
} sm_copy_kernels;

typedef struct sm_launch_env {
  sm_device *device;
  const sm_log *log;
  sm_counters *counters;
  sm_kernel_table *kernels;
  sm_copy_kernels *copies;
  sm_arena *scratch; /* emptied before a block runs */
  sm_note *note;     /* on the job; NULL: nobody asks */
} sm_launch_env;

/* A launch that only has to be entered (launch/enter_driver.h). What it points to is in the scratch
 * memory or belongs to kernels. */
typedef struct sm_prepared_launch {
  const sm_kernel_entry *kernel; /* NULL: there are no elements */
  sm_launch launch;
  uint64_t read, written; /* bytes of tensor memory */
  int in_place;           /* outputs written over an input */
  bool helps;             /* what follows: that names the launch of both */
} sm_prepared_launch;

/* What a kernel's name begins with: `fused`, or the operation's name if there is one only. */
void sm_launch_kernel_prefix(sm_text *text, const sm_segment *segment, const sm_trace *trace,
                             const char *fused);

/* Logs a trace that is about to run. */
void sm_launch_log_trace(const sm_launch_env *env, const sm_segment *segment, const sm_trace *trace);

/* An elementwise trace, its own cache, and what it runs on. */
typedef struct sm_trace_run {
  const sm_trace *trace;
  sm_launch_cache *launches;
  const sm_block_run *on;
} sm_trace_run;

/* Creates outputs where no buffers are (launch/operands.h); on failure none is left. */
smelt_status sm_prepare_elementwise(const sm_launch_env *env, const sm_trace_run *run,
                                    sm_prepared_launch *out, smelt_error *err);

/* Runs n >= 1 traces, one after the other, as one launch; outputs as above. Nothing is
 * launched if there are no elements. */
smelt_status sm_run_elementwise(const sm_launch_env *env, const sm_trace_run *runs, size_t n,
                                smelt_error *err);

#endif
