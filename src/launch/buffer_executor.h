/* SPDX-License-Identifier: Apache-2.0
 *
 * Executors on devices: the buffers that streams hold are those of rt/device.h. */
#ifndef SM_LAUNCH_BUFFER_EXECUTOR_H
#define SM_LAUNCH_BUFFER_EXECUTOR_H

#include "stream/stream.h"

/* An executor that runs jobs by `run(self, job)`. */
sm_executor sm_buffer_executor(void *self, void (*run)(void *self, sm_job *job));

#endif
