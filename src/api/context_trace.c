/* SPDX-License-Identifier: Apache-2.0
 *
 * Which file a context's timeline goes to. */
#define _GNU_SOURCE
#include <inttypes.h>
#include <stdlib.h>

#include "api/context_state.h"
#include "base/error.h"
#include "base/timeline.h"

/* SMELT_TRACE is for any number of contexts and processes: the first context of a process
 * has the file, others have FILE.2 and so on; what another process writes to is passed
 * over. */
static smelt_status open_numbered(smelt_context *ctx, const char *path, smelt_error *err) {
  enum { TRIES = 1000 };
  bool busy = true;
  smelt_status status = SMELT_OK;
  for (uint64_t number = ctx->streams.serial, end = number + TRIES; busy && number < end; number++) {
    sm_text name;
    sm_text_init(&name, &sm_malloc_allocator);
    sm_text_add(&name, path);
    if (number > 1) sm_text_addf(&name, ".%" PRIu64, number);
    busy = false;
    status = name.failed ? sm_error_memory(err, "a trace")
                         : sm_timeline_open(name.data, &ctx->log.timeline, &busy, err);
    sm_text_free(&name);
  }
  return status;
}

smelt_status sm_context_open_trace(smelt_context *ctx, const char *path, smelt_error *err) {
  bool busy;
  const char *env = secure_getenv("SMELT_TRACE");
  if (path) return sm_timeline_open(path, &ctx->log.timeline, &busy, err);
  return env && *env ? open_numbered(ctx, env, err) : SMELT_OK;
}
