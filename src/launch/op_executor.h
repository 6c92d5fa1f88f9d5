/* SPDX-License-Identifier: Apache-2.0
 *
 * The op-level executor: a stream's executor for devices that run operation
 * records themselves. Records run in call order, each as one launch; a record
 * whose operand failed inherits the cause. */
#ifndef SM_LAUNCH_OP_EXECUTOR_H
#define SM_LAUNCH_OP_EXECUTOR_H

#include "launch/explain.h"
#include "rt/device.h"
#include "stream/stream.h"

typedef struct sm_op_executor {
  sm_device *device;
  const sm_log *log;
  sm_counters *counters;
  sm_explainer *explainer;
} sm_op_executor;

/* sm_executor.run; self is the sm_op_executor. */
void sm_op_executor_run(void *self, sm_job *job);

#endif
