/* SPDX-License-Identifier: Apache-2.0
 *
 * The end of a segment: from records to results. */
#include <inttypes.h>

#include "base/float_env.h"
#include "stream/stream_tensor.h"

static void mark_live(sm_segment *seg) {
  for (size_t v = 0; v < seg->values.len; v++) {
    sm_value *value = &seg->values.items[v];
    const sm_tensor *t = value->tensor;
    value->live = t && !t->dead;
  }
}

static bool prepare_job(sm_stream *s, sm_job *job) {
  sm_segment *seg = &s->segment;
  job->segment = seg;
  job->buffers = sm_arena_zalloc(&seg->arena, seg->values.len, sizeof *job->buffers);
  job->causes = sm_arena_zalloc(&seg->arena, seg->values.len, sizeof *job->causes);
  if (!job->buffers || !job->causes) return false;
  for (size_t v = 0; v < seg->values.len; v++) {
    const sm_value *value = &seg->values.items[v];
    sm_tensor *t = value->tensor;
    if (value->producer != SM_NO_OP) continue;
    job->buffers[v] = t->buffer;
    if (!value->live) t->buffer = NULL;
  }
  return true;
}

/* Sources that nobody wants and that the executor did not give up. */
static void release_sources(const sm_stream *s, const sm_job *job) {
  for (size_t v = 0; v < s->segment.values.len; v++) {
    const sm_value *value = &s->segment.values.items[v];
    bool ours = value->producer == SM_NO_OP && !value->live && job->buffers[v];
    if (ours) s->executor.release(s->executor.self, job->buffers[v]);
  }
}

static void log_poison(const sm_stream *s, const sm_tensor *t) {
  if (!sm_log_on(s->log, SM_LOG_POISON)) return;
  sm_text text;
  sm_text_init(&text, s->allocator);
  sm_text_addf(&text, "[poison] t%" PRIu64 ": %s", t->id, t->cause->error.text);
  sm_log_text(s->log, &text);
}

static void poison(const sm_stream *s, sm_tensor *t, sm_cause *cause) {
  t->state = SM_POISONED;
  t->cause = cause;
  log_poison(s, t);
}

/* Hands a live result to its tensor. `job` is NULL if there was no memory to
 * run anything. */
static void settle(const sm_stream *s, sm_tensor *t, const sm_job *job, size_t v) {
  if (!job) {
    poison(s, t, sm_cause_of_memory());
  } else if (job->causes[v]) {
    poison(s, t, job->causes[v]);
  } else {
    t->state = SM_READY;
    t->buffer = job->buffers[v];
  }
}

static void settle_results(const sm_stream *s, const sm_job *job) {
  const sm_segment *seg = &s->segment;
  for (size_t v = 0; v < seg->values.len; v++) {
    const sm_value *value = &seg->values.items[v];
    if (value->producer != SM_NO_OP && value->live) settle(s, value->tensor, job, v);
  }
}

static void run(sm_stream *s) {
  sm_job job;
  sm_count(&s->counters->segments, 1);
  mark_live(&s->segment);
  bool ready = prepare_job(s, &job);
  sm_float_env host = sm_float_env_enter();
  if (ready) s->executor.run(s->executor.self, &job);
  sm_float_env_leave(&host);
  if (ready) release_sources(s, &job);
  settle_results(s, ready ? &job : NULL);
}

static void free_dead(sm_stream *s) {
  for (size_t v = 0; v < s->segment.values.len; v++) {
    sm_tensor *t = s->segment.values.items[v].tensor;
    if (t && t->dead) sm_tensor_free(s, t);
  }
}

void sm_segment_end(sm_stream *s) {
  if (s->segment.ops.len) run(s);
  free_dead(s);
  sm_segment_reset(&s->segment);
  s->live_bytes = 0;
  s->epoch++;
}
