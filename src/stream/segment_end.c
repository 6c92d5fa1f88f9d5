/* SPDX-License-Identifier: Apache-2.0
 *
 * The end of a segment: from records to results. */
#include <inttypes.h>

#include "base/error.h"
#include "base/float_env.h"
#include "base/observer.h"
#include "base/timeline.h"
#include "stream/stream_tensor.h"

/* --- Detaching: with the lock --------------------------------------------------------- */

/* What is alive now is to be computed, and so are drops by others that come too late. */
void sm_segment_mark_live(sm_stream *s, bool scheduled) {
  for (size_t v = 0; v < s->segment.values.len; v++) {
    sm_value *value = &s->segment.values.items[v];
    sm_tensor *t = value->tensor;
    value->live = t && !t->dead;
    if (scheduled && value->producer != SM_NO_OP && value->live)
      atomic_store_explicit(&t->state, SM_SCHEDULED, memory_order_relaxed);
  }
}

/* What was done with the operations of the current segment or the job. */
static void add_times(const sm_stream *s, const sm_segment *segment, sm_span span) {
  const sm_fact facts[] = {{.name = "operations", .number = segment->ops.len},
                           {.name = "stream", .number = s->number}};
  sm_timeline_add(s->set->log, span, facts, sizeof facts / sizeof facts[0]);
}

/* The segment becomes the job's, and the one of the last job, which is empty, the
 * current one. */
static void detach(sm_stream *s) {
  sm_segment next = s->job_segment;
  if (s->segment.ops.len)
    add_times(s, &s->segment, (sm_span){"record", "record a segment", s->since, s->recorder});
  sm_segment_mark_live(s, true);
  s->job_segment = s->segment;
  s->segment = next;
  s->job_segment.arena.allocator = s->set->allocator;
  s->segment.arena.allocator = &s->stock.allocator;
  s->job_epoch = s->epoch++;
  s->job_process = sm_thread_process();
  s->live_bytes = 0;
}

static void bury_list(sm_stream *s, sm_tensor **list) {
  sm_tensor *t = *list;
  *list = NULL;
  for (sm_tensor *next; t; t = next) {
    next = t->link;
    sm_tensor_bury(s, t);
  }
}

/* --- Running: without the lock ----------------------------------------------------------- */

/* Tensors that the job mentions are not freed before it is done. */
static bool prepare_job(sm_stream *s) {
  sm_segment *seg = &s->job_segment;
  sm_job *job = &s->job;
  job->segment = seg;
  job->buffers = sm_arena_zalloc(&seg->arena, seg->values.len, sizeof *job->buffers);
  job->causes = sm_arena_zalloc(&seg->arena, seg->values.len, sizeof *job->causes);
  if (!job->buffers || !job->causes) return false;
  for (size_t v = 0; v < seg->values.len; v++) {
    const sm_value *value = &seg->values.items[v];
    sm_tensor *t = value->tensor;
    if (value->producer != SM_NO_OP) continue;
    job->buffers[v] = t->buffer;
    if (t->cause) job->causes[v] = sm_cause_ref(t->cause);
    if (!value->live) t->buffer = NULL;
  }
  return true;
}

/* Sources that nobody wants and that the executor did not give up. */
static void release_sources(const sm_stream *s) {
  const sm_job *job = &s->job;
  const sm_executor *executor = &s->set->executor;
  for (size_t v = 0; v < job->segment->values.len; v++) {
    const sm_value *value = &job->segment->values.items[v];
    if (value->producer != SM_NO_OP) continue;
    sm_cause_drop(job->causes[v]);
    if (!value->live && job->buffers[v]) executor->release(executor->self, job->buffers[v]);
  }
}

/* False if there was no memory to run anything. */
static bool run_job(sm_stream *s) {
  sm_count(&s->set->counters->segments, 1);
  if (!prepare_job(s)) return false;
  sm_thread *self = sm_thread_self();
  sm_float_env host = sm_float_env_enter();
  int64_t begin = sm_timeline_begin(s->set->log);
  self->running = true;
  s->set->executor.run(s->set->executor.self, &s->job);
  self->running = false;
  sm_float_env_leave(&host);
  add_times(s, s->job.segment, (sm_span){.category = "segment", .name = "run a segment", .begin = begin});
  release_sources(s);
  return true;
}

/* --- Settling: with the lock --------------------------------------------------------------- */

static void set_state(sm_tensor *t, sm_tensor_state state) {
  atomic_store_explicit(&t->state, state, memory_order_release);
}

static void poison(sm_tensor *t, sm_cause *cause) {
  t->cause = cause;
  set_state(t, SM_POISONED);
}

/* Of several tensors with one cause the first, which is where it arose. */
static void report_poison(sm_stream *s, size_t v) {
  const sm_value *values = s->job_segment.values.items;
  const sm_cause *cause = s->job.causes[v];
  for (size_t u = 0; u < v; u++) {
    bool live_result = values[u].producer != SM_NO_OP && values[u].live;
    if (live_result && s->job.causes[u] == cause) return;
  }
  sm_stream_log(s, SM_LOG_POISON, "[poison] t%" PRIu64 ": %s\n", values[v].id, cause->error.text);
  if (sm_observed(s->set->log, poison)) sm_notices_add_poison(&s->notices, values[v].id, &cause->error);
}

/* Hands a live result to its tensor. */
static void settle(sm_stream *s, sm_tensor *t, size_t v, bool ran) {
  if (!ran) {
    poison(t, sm_cause_of_memory());
  } else if (s->job.causes[v]) {
    if (sm_log_on(s->set->log, SM_LOG_POISON) || sm_observed(s->set->log, poison)) report_poison(s, v);
    poison(t, s->job.causes[v]);
  } else {
    t->buffer = s->job.buffers[v];
    set_state(t, SM_READY);
  }
}

/* A tensor that the current segment mentions too waits for that one's end. */
static void free_dead(sm_stream *s) {
  for (size_t v = 0; v < s->job_segment.values.len; v++) {
    sm_tensor *t = s->job_segment.values.items[v].tensor;
    if (t && t->dead && t->epoch == s->job_epoch) sm_tensor_free(s, t);
  }
}

static void finish_job(sm_stream *s) {
  free_dead(s);
  sm_segment_reset(&s->job_segment);
  s->job_epoch = 0;
  sm_event_signal(&s->job_done);
}

static void settle_results(sm_stream *s, bool ran) {
  for (size_t v = 0; v < s->job_segment.values.len; v++) {
    const sm_value *value = &s->job_segment.values.items[v];
    if (value->producer != SM_NO_OP && value->live) settle(s, value->tensor, v, ran);
  }
}

/* --- Waiting ---------------------------------------------------------------------------------- */

/* In the child of a fork: a thread that is no more was running the job. Nobody knows how
 * far it came, so what it had in its hands is lost. */
static void abandon_job(sm_stream *s) {
  smelt_error err;
  sm_error_set(&err, SMELT_ERR_FORKED, "the process was forked while another thread was computing this");
  sm_cause *cause = sm_cause_create(&err);
  for (size_t v = 0; v < s->job_segment.values.len; v++) {
    const sm_value *value = &s->job_segment.values.items[v];
    sm_tensor *t = value->tensor;
    if (value->producer == SM_NO_OP && !value->live) t->buffer = NULL;
    if (value->producer != SM_NO_OP && value->live) poison(t, sm_cause_ref(cause));
  }
  sm_cause_drop(cause);
  finish_job(s);
}

void sm_job_await(sm_stream *s) {
  assert(!sm_thread_self()->running && "who runs a job waits for nobody");
  while (s->job_epoch) {
    if (s->job_process != sm_thread_process()) abandon_job(s);
    else sm_event_wait(&s->job_done, &s->lock);
  }
}

/* --- The end ------------------------------------------------------------------------------------ */

void sm_segment_end(sm_stream *s, uint64_t epoch) {
  bool ran = false;
  sm_job_await(s);
  if (s->epoch != epoch) return;
  detach(s);
  bury_list(s, &s->late_drops);
  bury_list(s, &s->aliases);
  if (s->job_segment.ops.len) {
    sm_stream_unlock(s);
    ran = run_job(s);
    sm_lock(&s->lock);
    settle_results(s, ran);
  }
  finish_job(s);
}
