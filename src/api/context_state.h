/* SPDX-License-Identifier: Apache-2.0
 *
 * The context: where the parts of the pipeline are wired together.
 *
 * Living contexts are in a process-wide list, so that a misused token can be
 * reported to the context it belonged to if that still exists. */
#ifndef SM_API_CONTEXT_STATE_H
#define SM_API_CONTEXT_STATE_H

#include "fusers/fused_executor.h"
#include "launch/op_executor.h"
#include "stream/stream.h"

struct smelt_context {
  sm_allocator allocator;
  sm_log log;
  sm_counters counters;
  sm_device device;
  sm_fused_executor fused; /* where the driver runs kernels, */
  sm_op_executor ops;      /* and where it runs records */
  sm_stream stream;
  bool fusion;
  smelt_mode mode;
  char name[96];       /* smelt_device_name */
  smelt_context *next; /* in the list of living contexts */
};

/* Counts and logs a misuse for `owner`, if that is a living context. */
void sm_context_report_misuse(const void *owner, const char *text);

#endif
