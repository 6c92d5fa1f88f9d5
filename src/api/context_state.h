/* SPDX-License-Identifier: Apache-2.0
 *
 * The context: where the parts of the pipeline are wired together.
 */
#ifndef SM_API_CONTEXT_STATE_H
#define SM_API_CONTEXT_STATE_H

#include "api/custom_ops.h"
#include "api/reproduce.h"
#include "fusers/fused_executor.h"
#include "launch/op_executor.h"
#include "stream/streams.h"

struct smelt_context {
  sm_allocator allocator;
  sm_log log;
  smelt_observer observer;
  sm_counters counters;
  sm_device device;
  sm_fused_executor fused; /* where the driver runs kernels, */
  sm_op_executor ops;      /* and where it runs records */
  sm_streams streams;
  sm_explainer explainer;
  sm_reproducing reproducing;
  sm_custom_list customs;
  bool fusion;
  smelt_mode mode;
  char name[96]; /* smelt_device_name */
};

/* The calling thread's stream, NULL with ERR_MEMORY. */
sm_stream *sm_context_stream(smelt_context *ctx, smelt_error *err);

/* The file that the option (NULL: the environment) names, if any: ERR_IO, ERR_MEMORY.
 * context_trace.c */
smelt_status sm_context_open_trace(smelt_context *ctx, const char *path, smelt_error *err);

/* Counts and logs a misuse for `owner`, if that is a living context. */
void sm_context_report_misuse(const void *owner, const char *text);

#endif
