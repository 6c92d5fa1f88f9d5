/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "api/context_state.h"

#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/leaks.h"
#include "api/reference.h"
#include "base/error.h"
#include "base/os.h"
#include "base/timeline.h"
#include "core/limits.h"
#include "core/mode.h"
#include "drivers/drivers.h"
#include "launch/buffer_executor.h"
#include "rt/call_driver.h"

/* --- Misuses -------------------------------------------------------------------------- */

/* A log_fn that misuses references itself is told of that once, not for ever. */
static _Thread_local bool reporting;

void sm_context_report_misuse(const void *owner, const char *text) {
  sm_log log = sm_streams_count_misuse(owner);
  if (reporting || !sm_log_on(&log, SM_LOG_MEMORY)) return;
  sm_text line;
  sm_text_init(&line, &sm_malloc_allocator);
  sm_text_addf(&line, "[memory] %s", text);
  reporting = true;
  sm_log_text(&log, &line);
  reporting = false;
}

/* --- Creation ----------------------------------------------------------------------------- */

/* With elevated privileges the environment is not to be trusted. */
static const char *trusted_env(const char *name) { return secure_getenv(name); }

/* The option first, then the variable, which is 0 or 1. */
static smelt_status find_switch(smelt_switch option, const char *variable, bool *out, smelt_error *err) {
  int64_t on = 1;
  SM_TRY(sm_os_setting(variable, 0, 1, &on, err));
  *out = option == SMELT_DEFAULT ? on != 0 : option == SMELT_ON;
  return SMELT_OK;
}

/* The option first, then the environment. */
static smelt_status init_mode(smelt_context *ctx, const smelt_context_desc *desc, smelt_error *err) {
  const char *env = trusted_env("SMELT_MODE");
  smelt_error cause;
  ctx->mode = desc->mode;
  if (desc->mode != SMELT_MODE_DEFAULT || !env || sm_mode_find(env, &ctx->mode, &cause) == SMELT_OK)
    return SMELT_OK;
  return sm_error_set(err, cause.code, "SMELT_MODE: %s", cause.text);
}

static smelt_status check_switch(smelt_switch option, const char *member, smelt_error *err) {
  if (option == SMELT_DEFAULT || option == SMELT_ON || option == SMELT_OFF) return SMELT_OK;
  return sm_error_set(err, SMELT_ERR_ARGUMENT, "smelt_context_desc.%s is %d, which is no smelt_switch",
                      member, (int)option);
}

static smelt_status check_desc(const smelt_context_desc *desc, smelt_error *err) {
  if (desc->size != sizeof *desc) {
    return sm_error_set(err, SMELT_ERR_ARGUMENT, "smelt_context_desc.size is %zu, not %zu", desc->size,
                        sizeof *desc);
  }
  SM_TRY(check_switch(desc->fusion, "fusion", err));
  SM_TRY(check_switch(desc->flatten, "flatten", err));
  if (desc->observer && desc->observer->size != sizeof *desc->observer) {
    return sm_error_set(err, SMELT_ERR_ARGUMENT, "smelt_observer.size is %zu, not %zu", desc->observer->size,
                        sizeof *desc->observer);
  }
  if (desc->max_ops < 0 || desc->max_segment_ops < 0) {
    return sm_error_set(err, SMELT_ERR_ARGUMENT, "max_ops and max_segment_ops must not be negative");
  }
  if (!sm_mode_valid(desc->mode)) {
    return sm_error_set(err, SMELT_ERR_ARGUMENT, "smelt_context_desc.mode is %d, which is no mode",
                        (int)desc->mode);
  }
  return SMELT_OK;
}

/* The option first, then the environment. */
static smelt_status init_log(smelt_context *ctx, const smelt_context_desc *desc, smelt_error *err) {
  const char *categories = desc->log ? desc->log : trusted_env("SMELT_LOG");
  ctx->log = (sm_log){.fn = desc->log_fn, .user = desc->log_user};
  if (desc->observer) ctx->observer = *desc->observer;
  if (desc->observer) ctx->log.observer = &ctx->observer;
  return categories ? sm_log_parse(categories, &ctx->log.enabled, err) : SMELT_OK;
}

static smelt_status init_executor(smelt_context *ctx, const smelt_context_desc *desc, sm_executor *out,
                                  smelt_error *err) {
  int64_t max_ops = desc->max_ops ? desc->max_ops : SM_MAX_KERNEL_OPS;
  int capped = max_ops < INT_MAX ? (int)max_ops : INT_MAX;
  ctx->ops = (sm_op_executor){&ctx->device, &ctx->log, &ctx->counters, &ctx->explainer};
  *out = sm_buffer_executor(&ctx->ops, sm_op_executor_run);
  if (!ctx->device.driver->runs_kernels) return SMELT_OK;
  if (!sm_fused_executor_init(&ctx->fused, &ctx->device, &ctx->log, &ctx->counters,
                              (sm_fused_options){capped, desc->max_ops != 0, ctx->fusion, ctx->mode}))
    return sm_error_memory(err, "a lock");
  ctx->fused.explainer = &ctx->explainer;
  *out = sm_buffer_executor(&ctx->fused, sm_fused_executor_run);
  return SMELT_OK;
}

static void free_executor(smelt_context *ctx) {
  if (ctx->device.driver->runs_kernels) sm_fused_executor_free(&ctx->fused);
}

/* "fusion<cpu<llvm>>", "cpu<llvm>", "ref". */
static void name_device(smelt_context *ctx) {
  const sm_driver *driver = ctx->device.driver;
  const char *format = !driver->runs_kernels ? "%s" : ctx->fused.options.fusion ? "fusion<%s<%s>>" : "%s<%s>";
  const char *detail = ctx->device.detail ? ctx->device.detail : ctx->device.profile->name;
  (void)snprintf(ctx->name, sizeof ctx->name, format, driver->name, detail);
}

static smelt_status init_streams(smelt_context *ctx, const smelt_context_desc *desc, smelt_error *err) {
  ctx->streams = (sm_streams){
      .allocator = &ctx->allocator,
      .log = &ctx->log,
      .counters = &ctx->counters,
      .options = {.max_ops = desc->max_segment_ops ? desc->max_segment_ops : SM_MAX_SEGMENT_OPS,
                  .max_bytes = sm_os_memory() / 4},
      .seed = desc->seed,
      .owner = ctx,
  };
  SM_TRY(init_executor(ctx, desc, &ctx->streams.executor, err));
  if (sm_streams_open(&ctx->streams)) return SMELT_OK;
  free_executor(ctx);
  return sm_error_memory(err, "a lock");
}

/* The option first, then the environment. */
static const char *choose_device(const smelt_context_desc *desc) {
  const char *env = trusted_env("SMELT_DEVICE");
  return desc->device ? desc->device : env ? env : "cpu";
}

static smelt_status init_context(smelt_context *ctx, const smelt_context_desc *desc, smelt_error *err) {
  sm_slots_handle_forks();
  SM_TRY(init_log(ctx, desc, err));
  bool flatten;
  SM_TRY(find_switch(desc->fusion, "SMELT_FUSION", &ctx->fusion, err));
  SM_TRY(find_switch(desc->flatten, "SMELT_FLATTEN", &flatten, err));
  SM_TRY(init_mode(ctx, desc, err));
  SM_TRY(sm_device_open(&ctx->device, choose_device(desc), sm_drivers, &ctx->allocator, &ctx->log, err));
  ctx->device.keep_axes = !flatten;
  smelt_status status = init_streams(ctx, desc, err);
  if (status != SMELT_OK) sm_device_close(&ctx->device);
  return status;
}

static smelt_status init_all(smelt_context *ctx, const smelt_context_desc *desc, smelt_error *err) {
  if (!sm_explainer_init(&ctx->explainer, &sm_malloc_allocator)) return sm_error_memory(err, "a lock");
  smelt_status status = init_context(ctx, desc, err);
  if (status != SMELT_OK) sm_explainer_free(&ctx->explainer);
  return status;
}

smelt_context *smelt_context_create(const smelt_context_desc *desc, smelt_error *err) {
  static const smelt_context_desc defaults = SMELT_CONTEXT_DESC_INIT;
  if (!desc) desc = &defaults;
  if (check_desc(desc, err) != SMELT_OK) return NULL;
  sm_allocator allocator = desc->alloc ? (sm_allocator){desc->alloc, desc->alloc_user} : sm_malloc_allocator;
  smelt_context *ctx = sm_calloc(&allocator, 1, sizeof *ctx);
  if (!ctx) {
    sm_error_memory(err, "a context");
    return NULL;
  }
  ctx->allocator = allocator;
  if (init_all(ctx, desc, err) != SMELT_OK) {
    sm_free(&allocator, ctx, sizeof *ctx);
    return NULL;
  }
  name_device(ctx);
  sm_text_init(&ctx->reproducing.folder, &sm_malloc_allocator);
  /* The trace last: it is a file, which a context that fails must not leave. */
  if (sm_reproduce_into(ctx, desc->reproduce, err) == SMELT_OK &&
      sm_context_open_trace(ctx, desc->trace, err) == SMELT_OK)
    return ctx;
  (void)smelt_context_destroy(ctx, NULL);
  return NULL;
}

/* --- Destruction -------------------------------------------------------------------------------- */

smelt_status smelt_context_destroy(smelt_context *ctx, smelt_error *err) {
  if (!ctx) return SMELT_OK;
  if (sm_thread_self()->inside) {
    return sm_error_set(err, SMELT_ERR_REENTRANT, "smelt_context_destroy was called from inside a callback");
  }
  sm_streams_close(&ctx->streams);
  smelt_status status = sm_leaks_report(ctx, err);
  sm_reference_forget(ctx, "context_destroy");
  sm_streams_free(&ctx->streams);
  sm_custom_free(&ctx->customs, &ctx->allocator);
  free_executor(ctx);
  sm_explainer_free(&ctx->explainer);
  sm_reproducing_free(&ctx->reproducing);
  sm_device_close(&ctx->device);
  smelt_status written = sm_timeline_close(ctx->log.timeline, status == SMELT_OK ? err : NULL);
  if (status == SMELT_OK) status = written;
  sm_allocator allocator = ctx->allocator;
  sm_free(&allocator, ctx, sizeof *ctx);
  return status;
}

/* --- The calling thread's stream ---------------------------------------------------------------------- */

sm_stream *sm_context_stream(smelt_context *ctx, smelt_error *err) {
  sm_stream *s = sm_streams_mine(&ctx->streams);
  if (!s) sm_error_memory(err, "a stream");
  return s;
}

smelt_status smelt_sync(smelt_context *ctx, smelt_error *err) {
  if (!ctx) return sm_error_set(err, SMELT_ERR_ARGUMENT, "smelt_sync: the context is NULL");
  sm_stream *s = sm_context_stream(ctx, err);
  if (!s) return SMELT_ERR_MEMORY;
  SM_TRY(sm_stream_flush(s, err));
  return sm_call_wait(&ctx->device, err);
}

smelt_status smelt_seed(smelt_context *ctx, uint64_t seed) {
  if (!ctx) return SMELT_ERR_ARGUMENT;
  sm_stream *s = sm_context_stream(ctx, NULL);
  return s ? sm_stream_seed(s, seed) : SMELT_ERR_MEMORY;
}

/* --- Queries --------------------------------------------------------------------------------------- */

const char *smelt_device_name(const smelt_context *ctx) { return ctx ? ctx->name : "none"; }

smelt_status smelt_context_counters(const smelt_context *ctx, smelt_counters *out) {
  if (!ctx || !out || out->size != sizeof *out) return SMELT_ERR_ARGUMENT;
  const sm_counters *c = &ctx->counters;
  *out = (smelt_counters){
      .size = sizeof *out,
      .operations = sm_streams_operations(&ctx->streams),
      .segments = atomic_load(&c->segments),
      .launches = atomic_load(&c->launches),
      .kernels_compiled = atomic_load(&c->kernels_compiled),
      .explorations = atomic_load(&c->explorations),
      .plan_hits = atomic_load(&c->plan_hits),
      .guard_misses = atomic_load(&c->guard_misses),
      .bytes_read = atomic_load(&c->bytes_read),
      .bytes_written = atomic_load(&c->bytes_written),
      .in_place_writes = atomic_load(&c->in_place_writes),
      .misuses = atomic_load(&c->misuses),
      .live_references = sm_streams_references(&ctx->streams),
      .live_bytes = atomic_load(&ctx->device.live_bytes),
  };
  return SMELT_OK;
}
