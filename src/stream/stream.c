/* SPDX-License-Identifier: Apache-2.0 */
#include "stream/stream.h"

#include <inttypes.h>
#include <string.h>

#include "base/error.h"
#include "base/observer.h"
#include "base/timeline.h"
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

/* Fetches what was wanted. Gives the lock back meanwhile. False if there is no memory. */
static bool restock(sm_stream *s) {
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

static smelt_status refuse_reentry(smelt_error *err) {
  return sm_error_set(err, SMELT_ERR_REENTRANT, "called from inside a callback of Smelt");
}

smelt_status sm_stream_check_entry(smelt_error *err) {
  return sm_thread_self()->inside ? refuse_reentry(err) : SMELT_OK;
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

static uint64_t new_id(sm_stream *s) {
  return atomic_fetch_add_explicit(&s->set->next_id, 1, memory_order_relaxed);
}

smelt_status sm_stream_input(sm_stream *s, smelt_dtype dtype, const sm_shape *shape, sm_buffer *buffer,
                             const char *origin, sm_tensor **out, smelt_error *err) {
  sm_thread *self = sm_stream_enter(s);
  if (!self) return refuse_reentry(err);
  while (!sm_tensor_reserve(s, 1) && restock(s)) continue;
  sm_tensor *t = sm_tensor_create(s, SM_READY, dtype, shape, origin);
  if (t) {
    t->id = new_id(s);
    t->buffer = buffer;
    sm_stream_log(s, SM_LOG_REGISTER, "[registered] Init in=[] out=[t%" PRIu64 ":NotInit]\n", t->id);
  }
  sm_stream_leave(s, self);
  *out = t;
  return t ? SMELT_OK : sm_error_memory(err, "a tensor");
}

/* --- Recording ------------------------------------------------------------------------- */

/* A call on its way into the segment. `taken` counts the operands whose
 * reference has been given up. */
typedef struct recording {
  sm_stream *stream;
  const sm_op_row *row;
  const sm_argument *arguments;
  int n;
  sm_inferred inferred;
  sm_operand operands[SM_MAX_OPERANDS];
  bool last[SM_MAX_OPERANDS]; /* the operand's last reference was taken */
} recording;

/* Zeros in the rest, more than a KiB, would be a tenth of what recording costs. */
static void begin_recording(recording *r, sm_stream *s, const sm_op_row *row, const sm_argument *arguments,
                            int n) {
  r->stream = s;
  r->row = row;
  r->arguments = arguments;
  r->n = n;
}

static smelt_status infer_call(recording *r, const smelt_attrs *attrs, smelt_error *err) {
  sm_call_operand operands[SM_MAX_OPERANDS];
  for (int i = 0; i < r->n; i++) {
    const sm_argument *a = &r->arguments[i];
    operands[i] = a->tensor ? (sm_call_operand){.dtype = a->tensor->dtype, .shape = &a->tensor->shape}
                            : (sm_call_operand){.is_scalar = true, .scalar = a->scalar};
  }
  return sm_infer(r->row, operands, r->n, attrs, &r->inferred, err);
}

/* What stands for a foreign tensor in this segment. Nobody has a reference: it is given
 * up when the segment has ended. */
static sm_tensor *alias_of(sm_stream *s, const sm_tensor *t) {
  const sm_executor *executor = &s->set->executor;
  sm_tensor *a = s->aliases;
  while (a && a->source != t->id) a = a->link;
  if (a) return a;
  a = sm_tensor_create(s, SM_READY, t->dtype, &t->shape, t->origin);
  if (!a) return NULL;
  atomic_init(&a->refs, 0);
  a->id = new_id(s);
  a->source = t->id;
  a->buffer = executor->retain(executor->self, t->buffer);
  a->link = s->aliases;
  s->aliases = a;
  sm_stream_log(s, SM_LOG_REGISTER,
                "[registered] Alias in=[t%" PRIu64 ":ReadOnly] out=[t%" PRIu64 ":NotInit] stream=%" PRIu64
                " home=%" PRIu64 "\n",
                t->id, a->id, s->number, t->stream->number);
  return a;
}

/* What a segment knows of it, whose producer is still to be said. All members are named: a
 * compiler writes zeros first if one is not. */
static sm_value value_of(sm_tensor *t) {
  return (sm_value){
      .id = t->id, .dtype = t->dtype, .shape = t->shape, .producer = SM_NO_OP, .live = false, .tensor = t};
}

/* The tensor's number in the current segment; one from outside becomes a source. */
static bool number_tensor(sm_stream *s, sm_tensor *t, uint32_t *value) {
  if (t->stream != s && !(t = alias_of(s, t))) return false;
  if (!sm_tensor_in_segment(t)) {
    sm_value source = value_of(t);
    if (!sm_segment_add_source(&s->segment, &source, &t->value)) return false;
    t->epoch = s->epoch;
  }
  *value = t->value;
  return true;
}

static void report_record(sm_stream *s) {
  uint64_t n = atomic_load_explicit(&s->operations, memory_order_relaxed);
  atomic_store_explicit(&s->operations, n + 1, memory_order_relaxed);
  if (s->set->log->timeline && s->segment.ops.len == 1) {
    s->since = sm_os_now();
    s->recorder = sm_os_thread();
  }
  const sm_op *op = &s->segment.ops.items[s->segment.ops.len - 1];
  if (sm_observed(s->set->log, operation)) sm_notices_add_operation(&s->notices, s->number, &s->segment, op);
  if (!sm_log_on(s->set->log, SM_LOG_REGISTER)) return;
  sm_op_print_registered(&s->lines, &s->segment, op);
  sm_text_add(&s->lines, "\n");
}

/* Converts operand i by an astype record of its own. */
static bool convert_operand(recording *r, int i) {
  sm_operand *o = &r->operands[i];
  const sm_value *from = &r->stream->segment.values.items[o->use.value];
  sm_value out = {.id = new_id(r->stream), .dtype = r->inferred.operand[i], .shape = from->shape};
  if (!sm_segment_append(&r->stream->segment, SM_OP_ASTYPE, o, 1, &out, &o->use.value)) return false;
  o->use.status = SM_READ_WRITE;
  o->dtype = out.dtype;
  report_record(r->stream);
  return true;
}

static bool build_operand(recording *r, int i) {
  const sm_argument *a = &r->arguments[i];
  sm_operand *o = &r->operands[i];
  if (!a->tensor) {
    *o = (sm_operand){.is_scalar = true, .dtype = r->inferred.operand[i], .scalar = r->inferred.scalar[i]};
    return true;
  }
  *o = (sm_operand){.dtype = a->tensor->dtype};
  o->use.status = r->last[i] ? SM_READ_WRITE : SM_READ_ONLY;
  return number_tensor(r->stream, a->tensor, &o->use.value);
}

/* Random operations draw the number of the call and the stream's seed. The call
 * counts when it is recorded, so that one that failed can be made again. */
static void draw_random(recording *r) {
  uint64_t drawn[SM_RANDOM_SCALARS] = {r->stream->random_calls, r->stream->seed};
  for (int i = 0; i < SM_RANDOM_SCALARS; i++) {
    r->operands[r->n++] = (sm_operand){.is_scalar = true, .dtype = SMELT_U64, .scalar.U64 = drawn[i]};
  }
}

static sm_tensor *append(recording *r) {
  sm_stream *s = r->stream;
  for (int i = 0; i < r->n; i++) {
    if (!build_operand(r, i)) return NULL;
  }
  for (int i = 0; i < r->n; i++) {
    if (r->operands[i].dtype != r->inferred.operand[i] && !convert_operand(r, i)) return NULL;
  }
  const sm_op_row *row = r->row;
  sm_tensor *t = sm_tensor_create(s, SM_PENDING, r->inferred.dtype, &r->inferred.shape, row->name);
  if (!t) return NULL;
  if (row->random) draw_random(r);
  t->id = new_id(s);
  sm_value out = value_of(t);
  const sm_attrs *attrs = sm_op_has_attrs(row) ? &r->inferred.attrs : NULL;
  if (!sm_segment_append_with(&s->segment, row, r->operands, r->n, attrs, &out, &t->value)) {
    sm_tensor_free(s, t);
    return NULL;
  }
  t->epoch = s->epoch;
  if (row->random) s->random_calls++;
  s->live_bytes += sm_shape_bytes(&t->shape, t->dtype);
  report_record(s);
  return t;
}

/* Makes sure that nothing is allocated while the call is recorded. The lock is given back
 * while memory is fetched, so references must still be the call's: one that it has taken
 * keeps no other thread from freeing the tensor. */
static void make_room(const recording *r) {
  sm_stream *s = r->stream;
  int tensors = 1; /* the result, and an alias for each foreign operand */
  for (int i = 0; i < r->n; i++) tensors += r->arguments[i].tensor && r->arguments[i].tensor->stream != s;
  while (!(sm_segment_reserve(&s->segment, r->n) && sm_tensor_reserve(s, tensors)) && restock(s)) continue;
}

/* The cause of the first poisoned operand, as a reference of its own. */
static sm_cause *find_poison(const recording *r) {
  for (int i = 0; i < r->n; i++) {
    const sm_tensor *t = r->arguments[i].tensor;
    bool poisoned = t && atomic_load_explicit(&t->state, memory_order_acquire) == SM_POISONED;
    if (poisoned) return sm_cause_ref(t->cause);
  }
  return NULL;
}

static sm_tensor *try_record(recording *r, const smelt_attrs *attrs, sm_cause **cause) {
  *cause = find_poison(r);
  if (*cause) return NULL;
  smelt_error err;
  sm_tensor *t = NULL;
  if (infer_call(r, attrs, &err) == SMELT_OK) {
    t = append(r);
    if (!t) sm_error_memory(&err, r->row->name);
  }
  if (!t) {
    sm_stream_log(r->stream, SM_LOG_POISON, "[poison] %s\n", err.text);
    if (sm_observed(r->stream->set->log, poison)) sm_notices_add_poison(&r->stream->notices, 0, &err);
    *cause = sm_cause_create(&err);
  }
  return t;
}

/* --- References of the call --- */

/* References to foreign tensors are given up when the own lock is free again. */
static void take_references(recording *r) {
  for (int i = 0; i < r->n; i++) {
    sm_tensor *t = r->arguments[i].tensor;
    r->last[i] = t && t->stream == r->stream && atomic_fetch_sub(&t->refs, 1) == 1;
  }
}

/* A last reference that no record holds (the call failed) is a drop. */
static void bury_taken(recording *r, int n) {
  for (int i = 0; i < n; i++) {
    if (r->last[i]) sm_tensor_bury(r->stream, r->arguments[i].tensor);
  }
}

static bool segment_is_full(const sm_stream *s) {
  return (int64_t)s->segment.ops.len >= s->set->options.max_ops || s->live_bytes > s->set->options.max_bytes;
}

static void drop_all(const sm_argument *arguments, int n) {
  for (int i = 0; i < n; i++) {
    if (arguments[i].tensor) sm_stream_drop(arguments[i].tensor);
  }
}

/* From inside a callback operands are still given up, by the queue. */
static sm_tensor *refuse_record(const sm_argument *arguments, int n, sm_cause **cause) {
  smelt_error err;
  refuse_reentry(&err);
  drop_all(arguments, n);
  *cause = sm_cause_create(&err);
  return NULL;
}

/* --- The call --- */

static sm_tensor *record(sm_stream *s, sm_thread *self, const sm_op_row *row, const sm_argument *arguments,
                         int n, const smelt_attrs *attrs, sm_cause **cause) {
  recording r;
  begin_recording(&r, s, row, arguments, n);
  make_room(&r);
  take_references(&r);
  sm_tensor *t = try_record(&r, attrs, cause);
  bury_taken(&r, n);
  if (segment_is_full(s)) sm_segment_end(s, s->epoch);
  sm_stream_leave(s, self);
  return t;
}

/* The foreign tensors of a call; what they are poisoned with is found when it is recorded. */
static int find_foreign(const sm_stream *s, const sm_argument *arguments, int n, sm_argument *foreign) {
  int found = 0;
  for (int i = 0; i < n; i++) {
    sm_tensor *t = arguments[i].tensor;
    if (t && t->stream != s) foreign[found++] = arguments[i];
  }
  return found;
}

sm_tensor *sm_stream_record(sm_stream *s, const sm_op_row *row, const sm_argument *arguments, int n,
                            const smelt_attrs *attrs, sm_cause **cause) {
  sm_argument foreign[SM_MAX_OPERANDS];
  int n_foreign = find_foreign(s, arguments, n, foreign);
  if (sm_thread_self()->inside) return refuse_record(arguments, n, cause);
  for (int i = 0; i < n_foreign; i++) (void)sm_stream_resolve(foreign[i].tensor, NULL);
  sm_tensor *t = record(s, sm_stream_enter(s), row, arguments, n, attrs, cause);
  drop_all(foreign, n_foreign);
  return t;
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
  if (!self) return refuse_reentry(err);
  sm_segment_end(s, s->epoch);
  sm_job_await(s);
  sm_stream_leave(s, self);
  return SMELT_OK;
}

smelt_status sm_stream_look(sm_stream *s, void (*look)(void *user, const sm_segment *segment), void *user,
                            smelt_error *err) {
  sm_thread *self = sm_stream_enter(s);
  if (!self) return refuse_reentry(err);
  sm_segment_mark_live(s, false);
  look(user, &s->segment);
  sm_stream_leave(s, self);
  return SMELT_OK;
}

smelt_status sm_stream_look_at_tensors(sm_stream *s, void (*look)(void *user, const sm_tensor *t), void *user,
                                       smelt_error *err) {
  sm_thread *self = sm_stream_enter(s);
  if (!self) return refuse_reentry(err);
  for (const sm_tensor *t = s->tensors; t; t = t->next) look(user, t);
  sm_stream_leave(s, self);
  return SMELT_OK;
}

smelt_status sm_stream_seed(sm_stream *s, uint64_t seed) {
  sm_thread *self = sm_stream_enter(s);
  if (!self) return refuse_reentry(NULL);
  s->seed = seed;
  s->random_calls = 0;
  sm_stream_leave(s, self);
  return SMELT_OK;
}
