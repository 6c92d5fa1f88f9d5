/* SPDX-License-Identifier: Apache-2.0 */
#include "stream/stream.h"

#include <inttypes.h>
#include <string.h>

#include "base/error.h"
#include "stream/stream_tensor.h"

/* --- Entering and leaving -------------------------------------------------------- */

sm_thread *sm_stream_enter(sm_stream *s) {
  sm_thread *self = sm_thread_self();
  if (self->inside) return NULL;
  self->inside = true;
  sm_lock(&s->lock);
  return self;
}

/* One call of the log for each line. */
static void write_lines(const sm_stream *s, sm_text *lines) {
  char *line = lines->data, *end;
  while (!lines->failed && (end = strchr(line, '\n'))) {
    *end = 0;
    sm_log_line(s->set->log, line);
    line = end + 1;
  }
  sm_text_free(lines);
}

void sm_stream_unlock(sm_stream *s) {
  sm_tensor *trash = s->trash;
  sm_stock_block *returned = s->stock.returned;
  sm_text lines = s->lines;
  sm_notice *notices = sm_notices_take(&s->notices);
  s->trash = NULL;
  s->stock.returned = NULL;
  if (lines.cap) sm_text_init(&s->lines, &sm_malloc_allocator);
  sm_unlock(&s->lock);
  if (returned) sm_stock_free_blocks(returned, s->set->allocator);
  if (lines.cap) write_lines(s, &lines);
  if (notices) sm_notices_tell(notices, s->set->log);
  if (trash) sm_tensor_empty_trash(s, trash);
}

bool sm_stream_restock(sm_stream *s) {
  size_t size = s->stock.wanted;
  s->stock.wanted = 0;
  if (!size) return false;
  sm_stream_unlock(s);
  void *block = sm_alloc(s->set->allocator, size);
  sm_lock(&s->lock);
  if (block) sm_stock_put(&s->stock, block, size);
  return block != NULL;
}

/* The last reference is gone. What another thread's segment mentions stays until that
 * has ended, whose form must not depend on this thread. */
static void give_up(sm_tensor *t) {
  sm_stream *s = t->stream;
  sm_thread *self = sm_stream_enter(s);
  sm_stream_log(s, SM_LOG_REGISTER, "[registered] Drop in=[t%" PRIu64 ":ReadWrite] out=[]\n", t->id);
  if (atomic_load_explicit(&s->thread, memory_order_relaxed) != self && sm_tensor_in_segment(t)) {
    t->link = s->late_drops;
    s->late_drops = t;
  } else {
    sm_tensor_bury(s, t);
  }
  sm_stream_leave(s, self);
}

/* Freeing a tensor may call the user back and add more. */
static void drain_drops(sm_thread *self) {
  self->draining = true;
  for (sm_tensor *t; (t = self->dropped);) {
    self->dropped = t->link;
    give_up(t);
  }
  self->draining = false;
}

void sm_stream_leave(sm_stream *s, sm_thread *self) {
  sm_stream_unlock(s);
  self->inside = false;
  if (self->dropped && !self->draining) drain_drops(self);
}

void sm_stream_call_user(void (*function)(void *argument), void *argument) {
  sm_thread *self = sm_thread_self();
  self->inside = true;
  function(argument);
  self->inside = false;
  if (self->dropped && !self->draining) drain_drops(self);
}

smelt_status sm_stream_refuse_reentry(smelt_error *err) {
  return sm_error_set(err, SMELT_ERR_REENTRANT, "called from inside a callback of Smelt");
}

smelt_status sm_stream_check_entry(smelt_error *err) {
  return sm_thread_self()->inside ? sm_stream_refuse_reentry(err) : SMELT_OK;
}

/* --- Life ---------------------------------------------------------------------------- */

bool sm_stream_init(sm_stream *s, sm_streams *set) {
  memset(s, 0, sizeof *s);
  s->set = set;
  s->epoch = 1;
  sm_stock_init(&s->stock);
  sm_segment_init(&s->segment, &s->stock.allocator);
  sm_segment_init(&s->job_segment, set->allocator);
  sm_arena_init(&s->job.scratch, set->allocator);
  sm_text_init(&s->lines, &sm_malloc_allocator);
  return sm_mutex_init(&s->lock, SM_LOCK_STREAM);
}

void sm_stream_adopt(sm_stream *s, uint64_t number) {
  sm_lock(&s->lock);
  s->number = number;
  s->seed = s->set->seed + (number - 1) * UINT64_C(0x9e3779b97f4a7c15);
  s->random_calls = 0;
  sm_unlock(&s->lock);
}

/* Without the lock: nobody else is there. */
void sm_stream_free(sm_stream *s) {
  sm_thread *self = sm_thread_self();
  self->inside = true;
  while (s->tensors) sm_tensor_free(s, s->tensors);
  sm_tensor_empty_trash(s, s->trash);
  self->inside = false;
  sm_tensor_free_spares(s);
  s->segment.arena.allocator = s->set->allocator;
  sm_segment_free(&s->segment);
  sm_segment_free(&s->job_segment);
  sm_stock_free_blocks(s->stock.blocks, s->set->allocator);
  sm_stock_free_blocks(s->stock.returned, s->set->allocator);
  sm_arena_free(&s->job.scratch);
  sm_plan_key_free(&s->job.key, s->set->allocator);
  sm_text_free(&s->lines);
  sm_mutex_destroy(&s->lock);
}

smelt_status sm_stream_input(sm_stream *s, smelt_dtype dtype, const sm_shape *shape, sm_buffer *buffer,
                             const char *origin, sm_tensor **out, smelt_error *err) {
  sm_thread *self = sm_stream_enter(s);
  if (!self) return sm_stream_refuse_reentry(err);
  while (!sm_tensor_reserve(s, 1) && sm_stream_restock(s)) continue;
  sm_tensor *t = sm_tensor_create(s, SM_READY, dtype, shape, origin);
  if (t) {
    t->id = sm_stream_new_id(s);
    t->buffer = buffer;
    sm_stream_log(s, SM_LOG_REGISTER, "[registered] Init in=[] out=[t%" PRIu64 ":NotInit]\n", t->id);
  }
  sm_stream_leave(s, self);
  *out = t;
  return t ? SMELT_OK : sm_error_memory(err, "a tensor");
}

/* --- Everything else -------------------------------------------------------------------- */

void sm_stream_drop(sm_tensor *t) {
  if (atomic_fetch_sub(&t->refs, 1) != 1) return;
  sm_thread *self = sm_thread_self();
  if (self->inside) {
    t->link = self->dropped;
    self->dropped = t;
  } else {
    give_up(t);
  }
}

/* Of a tensor whose state is for ever, or of one that is not poisoned yet. */
static smelt_status state_of(const sm_tensor *t, smelt_error *err) {
  if (atomic_load_explicit(&t->state, memory_order_acquire) != SM_POISONED) return SMELT_OK;
  if (err) *err = t->cause->error;
  return t->cause->error.code;
}

static void compute(sm_tensor *t) {
  sm_stream *s = t->stream;
  sm_thread *self = sm_stream_enter(s);
  while (!sm_tensor_is_final(t)) {
    if (t->state == SM_PENDING) sm_segment_end(s, s->epoch);
    else sm_job_await(s);
  }
  sm_stream_leave(s, self);
}

smelt_status sm_stream_resolve(sm_tensor *t, smelt_error *err) {
  SM_TRY(sm_stream_check_entry(err));
  if (!sm_tensor_is_final(t)) compute(t);
  return state_of(t, err);
}

smelt_status sm_stream_check(const sm_tensor *t, smelt_error *err) {
  SM_TRY(sm_stream_check_entry(err));
  return state_of(t, err);
}

void sm_stream_await(sm_stream *s) {
  sm_thread *self = sm_stream_enter(s);
  if (!self) return;
  sm_job_await(s);
  sm_stream_leave(s, self);
}

smelt_status sm_stream_flush(sm_stream *s, smelt_error *err) {
  sm_thread *self = sm_stream_enter(s);
  if (!self) return sm_stream_refuse_reentry(err);
  sm_segment_end(s, s->epoch);
  sm_job_await(s);
  sm_stream_leave(s, self);
  return SMELT_OK;
}

smelt_status sm_stream_look(sm_stream *s, void (*look)(void *user, const sm_segment *segment), void *user,
                            smelt_error *err) {
  sm_thread *self = sm_stream_enter(s);
  if (!self) return sm_stream_refuse_reentry(err);
  sm_segment_mark_live(s, false);
  look(user, &s->segment);
  sm_stream_leave(s, self);
  return SMELT_OK;
}

smelt_status sm_stream_look_at_tensors(sm_stream *s, void (*look)(void *user, const sm_tensor *t), void *user,
                                       smelt_error *err) {
  sm_thread *self = sm_stream_enter(s);
  if (!self) return sm_stream_refuse_reentry(err);
  for (const sm_tensor *t = s->tensors; t; t = t->next) look(user, t);
  sm_stream_leave(s, self);
  return SMELT_OK;
}

smelt_status sm_stream_seed(sm_stream *s, uint64_t seed) {
  sm_thread *self = sm_stream_enter(s);
  if (!self) return sm_stream_refuse_reentry(NULL);
  s->seed = seed;
  s->random_calls = 0;
  sm_stream_leave(s, self);
  return SMELT_OK;
}
