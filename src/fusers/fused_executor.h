/* SPDX-License-Identifier: Apache-2.0
 *
 * The fusing executor: a stream's executor for devices that run kernels. Plans
 * the segment, unless it has a plan already, then runs its clusters in order. A cluster that fails poisons
 * what it was to write; what depends on it inherits the cause; everything else
 * goes on. With fusion off every record is a cluster of its own.
 *
 * Any number of threads run jobs at once. They share plans, with the blocks of their
 * clusters, and kernels; what they need for themselves is in the job. */
#ifndef SM_FUSERS_FUSED_EXECUTOR_H
#define SM_FUSERS_FUSED_EXECUTOR_H

#include "launch/run_trace.h"
#include "plan/plan.h"
#include "stream/plan_cache.h"
#include "stream/stream.h"

typedef struct sm_fused_executor {
  sm_launch_env env;
  sm_kernel_table kernels;
  sm_copy_kernels copies;
  sm_plan_cache plans;
  sm_plan_options options;
  smelt_mode mode;
  sm_explainer *explainer; /* NULL at first */
} sm_fused_executor;

typedef struct sm_fused_options {
  int max_ops; /* records in a kernel */
  bool exact;  /* see sm_limits */
  bool fusion;
  smelt_mode mode;
} sm_fused_options;

/* False if locks cannot be made. */
bool sm_fused_executor_init(sm_fused_executor *e, sm_device *device, const sm_log *log, sm_counters *counters,
                            sm_fused_options options);
void sm_fused_executor_free(sm_fused_executor *e);

/* sm_executor.run; self is the sm_fused_executor. */
void sm_fused_executor_run(void *self, sm_job *job);

#endif
