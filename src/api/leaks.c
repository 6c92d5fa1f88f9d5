/* SPDX-License-Identifier: Apache-2.0 */
#include "api/leaks.h"

#include <inttypes.h>

#include "api/context_state.h"
#include "base/error.h"
#include "base/observer.h"

/* --- Finding ------------------------------------------------------------------------- */

typedef struct finding {
  sm_leaks *leaks;
  bool failed;
} finding;

static void add_leak(void *user, const sm_tensor *t) {
  finding *f = user;
  const char *where = atomic_load_explicit(&t->where, memory_order_relaxed);
  smelt_leak leak = {.size = sizeof leak,
                     .tensor = t->id,
                     .references = atomic_load(&t->refs),
                     .operation = t->origin,
                     .where = where ? where : "",
                     .dtype = t->dtype,
                     .rank = t->shape.rank,
                     .bytes = sm_shape_bytes(&t->shape, t->dtype)};
  memcpy(leak.dims, t->shape.dims, sizeof leak.dims);
  if (leak.references && !sm_vec_push(&sm_malloc_allocator, f->leaks, leak)) f->failed = true;
}

smelt_status sm_leaks_find(smelt_context *ctx, sm_leaks *out, smelt_error *err) {
  finding f = {.leaks = out};
  *out = (sm_leaks){NULL, 0, 0};
  SM_TRY(sm_streams_look(&ctx->streams, add_leak, &f, err));
  return f.failed ? sm_error_memory(err, "a list of tensors") : SMELT_OK;
}

smelt_status smelt_leaks(smelt_context *ctx, smelt_leak_fn *fn, void *user, smelt_error *err) {
  if (!ctx || !fn) return sm_error_set(err, SMELT_ERR_ARGUMENT, "smelt_leaks: no context, or nobody to tell");
  sm_leaks leaks;
  smelt_status status = sm_leaks_find(ctx, &leaks, err);
  for (size_t i = 0; status == SMELT_OK && i < leaks.len; i++) fn(user, &leaks.items[i]);
  sm_vec_free(&sm_malloc_allocator, &leaks);
  return status;
}

/* --- Reporting ----------------------------------------------------------------------------- */

/* "t5 f32[2,2]", then what the format says, then "made by exp at main.c:12" */
static void add_description(sm_text *text, const smelt_leak *leak, bool sizes) {
  char type[SM_SHAPE_TEXT];
  sm_shape shape = {.rank = leak->rank};
  memcpy(shape.dims, leak->dims, sizeof shape.dims);
  sm_text_addf(text, "t%" PRIu64 " %s", leak->tensor, sm_shape_text(type, leak->dtype, &shape));
  if (sizes)
    sm_text_addf(text, ", %" PRId64 " bytes, %" PRIu64 " reference%s,", leak->bytes, leak->references,
                 leak->references == 1 ? "" : "s");
  sm_text_addf(text, " made by %s", leak->operation);
  if (*leak->where) sm_text_addf(text, " at %s", leak->where);
}

static void report_leak(const sm_log *log, const smelt_leak *leak) {
  sm_pass_on(log, leak, leak);
  if (!sm_log_on(log, SM_LOG_MEMORY)) return;
  sm_text line;
  sm_text_init(&line, &sm_malloc_allocator);
  sm_text_add(&line, "[memory] leaked: ");
  add_description(&line, leak, true);
  sm_log_text(log, &line);
}

typedef struct report {
  const sm_log *log;
  const sm_leaks *leaks;
} report;

static void report_leaks(void *argument) {
  const report *r = argument;
  for (size_t i = 0; i < r->leaks->len; i++) report_leak(r->log, &r->leaks->items[i]);
}

smelt_status sm_leaks_report(smelt_context *ctx, smelt_error *err) {
  uint64_t n = sm_streams_references(&ctx->streams);
  if (!n) return SMELT_OK;
  sm_leaks leaks;
  sm_text text;
  sm_text_init(&text, &sm_malloc_allocator);
  (void)sm_leaks_find(ctx, &leaks, NULL); /* without memory they are counted only */
  for (size_t i = 0; i < leaks.len; i++) {
    sm_text_add(&text, i ? ", " : ": ");
    add_description(&text, &leaks.items[i], false);
  }
  sm_stream_call_user(report_leaks, &(report){&ctx->log, &leaks});
  sm_error_set(err, SMELT_ERR_LEAK, "%" PRIu64 " reference%s leaked%s", n, n == 1 ? "" : "s", text.data);
  sm_vec_free(&sm_malloc_allocator, &leaks);
  sm_text_free(&text);
  return SMELT_ERR_LEAK;
}
