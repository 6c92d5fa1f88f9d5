/* SPDX-License-Identifier: Apache-2.0 */
#include "stream/stream.h"

#include <inttypes.h>
#include <string.h>

#include "base/error.h"
#include "stream/stream_tensor.h"

/* --- Entering and leaving -------------------------------------------------------- */

static bool in_segment(const sm_tensor *t) { return t->epoch == t->stream->epoch; }

/* The tensor's last reference is gone. */
static void bury(sm_stream *s, sm_tensor *t) {
  t->dead = true;
  if (!in_segment(t)) {
    sm_tensor_free(s, t);
  } else if (t->state == SM_PENDING) {
    s->live_bytes -= sm_shape_bytes(&t->shape, t->dtype);
  }
}

static void log_drop(const sm_stream *s, const sm_tensor *t) {
  if (!sm_log_on(s->log, SM_LOG_REGISTER)) return;
  sm_text text;
  sm_text_init(&text, s->allocator);
  sm_text_addf(&text, "[registered] Drop in=[t%" PRIu64 ":ReadWrite] out=[]", t->id);
  sm_log_text(s->log, &text);
}

/* Freeing a tensor may call the user back and queue more. */
static void apply_queued_drops(sm_stream *s) {
  /* Looking first is much cheaper than an exchange, and there is hardly ever one. */
  sm_tensor *t = atomic_load(&s->dropped) ? atomic_exchange(&s->dropped, NULL) : NULL;
  while (t) {
    sm_tensor *next = t->next_dropped;
    log_drop(s, t);
    bury(s, t);
    t = next ? next : atomic_exchange(&s->dropped, NULL);
  }
}

/* False from inside a callback. */
static bool enter(sm_stream *s) {
  if (sm_thread_inside()) return false;
  sm_lock(&s->lock);
  sm_thread_set_inside(true);
  apply_queued_drops(s);
  return true;
}

static void leave(sm_stream *s) {
  apply_queued_drops(s);
  sm_thread_set_inside(false);
  sm_unlock(&s->lock);
}

static smelt_status refuse_reentry(smelt_error *err) {
  return sm_error_set(err, SMELT_ERR_REENTRANT, "called from inside a callback of Smelt");
}

/* --- Life ---------------------------------------------------------------------------- */

bool sm_stream_init(sm_stream *s, const sm_allocator *allocator, const sm_log *log, sm_counters *counters,
                    sm_executor executor, sm_stream_options options) {
  memset(s, 0, sizeof *s);
  s->allocator = allocator;
  s->log = log;
  s->counters = counters;
  s->executor = executor;
  s->options = options;
  s->epoch = 1;
  s->next_id = 1;
  sm_segment_init(&s->segment, allocator);
  return sm_mutex_init(&s->lock);
}

void sm_stream_free(sm_stream *s) {
  sm_thread_set_inside(true);
  while (s->tensors) sm_tensor_free(s, s->tensors);
  sm_thread_set_inside(false);
  sm_tensor_free_spares(s);
  sm_segment_free(&s->segment);
  sm_mutex_destroy(&s->lock);
}

static void log_input(const sm_stream *s, const sm_tensor *t) {
  if (!sm_log_on(s->log, SM_LOG_REGISTER)) return;
  sm_text text;
  sm_text_init(&text, s->allocator);
  sm_text_addf(&text, "[registered] Init in=[] out=[t%" PRIu64 ":NotInit]", t->id);
  sm_log_text(s->log, &text);
}

smelt_status sm_stream_input(sm_stream *s, smelt_dtype dtype, const sm_shape *shape, sm_buffer *buffer,
                             const char *origin, sm_tensor **out, smelt_error *err) {
  if (!enter(s)) return refuse_reentry(err);
  sm_tensor *t = sm_tensor_create(s, SM_READY, dtype, shape, origin);
  if (t) {
    t->id = s->next_id++;
    t->buffer = buffer;
    log_input(s, t);
  }
  leave(s);
  *out = t;
  return t ? SMELT_OK : sm_error_memory(err, "a tensor");
}

/* --- Recording ------------------------------------------------------------------------- */

/* A call on its way into the segment. `taken` counts the operands whose
 * reference has been given up. */
typedef struct recording {
  sm_stream *stream;
  sm_opcode code;
  const sm_argument *arguments;
  int n;
  sm_inferred inferred;
  sm_operand operands[SM_MAX_OPERANDS];
  bool last[SM_MAX_OPERANDS]; /* the operand's last reference was taken */
} recording;

static void log_wrong_call(const sm_stream *s, const smelt_error *err) {
  if (!sm_log_on(s->log, SM_LOG_POISON)) return;
  sm_text text;
  sm_text_init(&text, s->allocator);
  sm_text_addf(&text, "[poison] %s", err->text);
  sm_log_text(s->log, &text);
}

static smelt_status infer_call(recording *r, const smelt_attrs *attrs, smelt_error *err) {
  sm_call_operand operands[SM_MAX_OPERANDS];
  for (int i = 0; i < r->n; i++) {
    const sm_argument *a = &r->arguments[i];
    operands[i] = a->tensor ? (sm_call_operand){.dtype = a->tensor->dtype, .shape = &a->tensor->shape}
                            : (sm_call_operand){.is_scalar = true, .scalar = a->scalar};
  }
  return sm_infer(r->code, operands, r->n, attrs, &r->inferred, err);
}

/* The tensor's number in the current segment; a READY one becomes a source. */
static bool number_tensor(sm_stream *s, sm_tensor *t, uint32_t *value) {
  if (!in_segment(t)) {
    sm_value source = {.id = t->id, .dtype = t->dtype, .shape = t->shape, .tensor = t};
    if (!sm_segment_add_source(&s->segment, &source, &t->value)) return false;
    t->epoch = s->epoch;
  }
  *value = t->value;
  return true;
}

static void log_record(const sm_stream *s) {
  sm_count(&s->counters->operations, 1);
  if (!sm_log_on(s->log, SM_LOG_REGISTER)) return;
  sm_text text;
  sm_text_init(&text, s->allocator);
  sm_op_print_registered(&text, &s->segment, &s->segment.ops.items[s->segment.ops.len - 1]);
  sm_log_text(s->log, &text);
}

/* Converts operand i by an astype record of its own. */
static bool convert_operand(recording *r, int i) {
  sm_operand *o = &r->operands[i];
  const sm_value *from = &r->stream->segment.values.items[o->use.value];
  sm_value out = {.id = r->stream->next_id, .dtype = r->inferred.operand[i], .shape = from->shape};
  if (!sm_segment_append(&r->stream->segment, SM_OP_ASTYPE, o, 1, &out, &o->use.value)) return false;
  r->stream->next_id++;
  o->use.status = SM_READ_WRITE;
  o->dtype = out.dtype;
  log_record(r->stream);
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
  const sm_op_row *row = sm_op_row_of(r->code);
  sm_tensor *t = sm_tensor_create(s, SM_PENDING, r->inferred.dtype, &r->inferred.shape, row->name);
  if (!t) return NULL;
  if (row->random) draw_random(r);
  t->id = s->next_id;
  sm_value out = {.id = t->id, .dtype = t->dtype, .shape = t->shape, .tensor = t};
  const sm_attrs *attrs = sm_op_has_attrs(row) ? &r->inferred.attrs : NULL;
  if (!sm_segment_append_with(&s->segment, r->code, r->operands, r->n, attrs, &out, &t->value)) {
    sm_tensor_free(s, t);
    return NULL;
  }
  t->epoch = s->epoch;
  s->next_id++;
  if (row->random) s->random_calls++;
  s->live_bytes += sm_shape_bytes(&t->shape, t->dtype);
  log_record(s);
  return t;
}

/* The cause of the first poisoned operand, as a reference of its own. */
static sm_cause *find_poison(const recording *r) {
  for (int i = 0; i < r->n; i++) {
    const sm_tensor *t = r->arguments[i].tensor;
    if (t && t->state == SM_POISONED) return sm_cause_ref(t->cause);
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
    if (!t) sm_error_memory(&err, sm_op_row_of(r->code)->name);
  }
  if (!t) {
    log_wrong_call(r->stream, &err);
    *cause = sm_cause_create(&err);
  }
  return t;
}

static void take_references(recording *r) {
  for (int i = 0; i < r->n; i++) {
    sm_tensor *t = r->arguments[i].tensor;
    r->last[i] = t && atomic_fetch_sub(&t->refs, 1) == 1;
  }
}

/* A last reference that no record holds (the call failed) is a drop. */
static void bury_taken(recording *r, int n) {
  for (int i = 0; i < n; i++) {
    if (r->last[i]) bury(r->stream, r->arguments[i].tensor);
  }
}

static bool segment_is_full(const sm_stream *s) {
  return (int64_t)s->segment.ops.len >= s->options.max_ops || s->live_bytes > s->options.max_bytes;
}

/* From inside a callback operands are still given up, by the queue. */
static sm_tensor *refuse_record(const sm_argument *arguments, int n, sm_cause **cause) {
  smelt_error err;
  refuse_reentry(&err);
  for (int i = 0; i < n; i++) {
    if (arguments[i].tensor) sm_stream_drop(arguments[i].tensor);
  }
  *cause = sm_cause_create(&err);
  return NULL;
}

sm_tensor *sm_stream_record(sm_stream *s, sm_opcode code, const sm_argument *arguments, int n,
                            const smelt_attrs *attrs, sm_cause **cause) {
  if (!enter(s)) return refuse_record(arguments, n, cause);
  recording r = {.stream = s, .code = code, .arguments = arguments, .n = n};
  take_references(&r);
  sm_tensor *t = try_record(&r, attrs, cause);
  bury_taken(&r, n);
  if (segment_is_full(s)) sm_segment_end(s);
  leave(s);
  return t;
}

/* --- Everything else -------------------------------------------------------------------- */

static void queue_drop(sm_tensor *t) {
  sm_tensor *head = atomic_load(&t->stream->dropped);
  do {
    t->next_dropped = head;
  } while (!atomic_compare_exchange_weak(&t->stream->dropped, &head, t));
}

void sm_stream_drop(sm_tensor *t) {
  sm_stream *s = t->stream;
  if (atomic_fetch_sub(&t->refs, 1) != 1) return;
  if (!enter(s)) {
    queue_drop(t);
    return;
  }
  log_drop(s, t);
  bury(s, t);
  leave(s);
}

static smelt_status state_of(const sm_tensor *t, smelt_error *err) {
  if (t->state != SM_POISONED) return SMELT_OK;
  if (err) *err = t->cause->error;
  return t->cause->error.code;
}

smelt_status sm_stream_resolve(sm_tensor *t, smelt_error *err) {
  if (!enter(t->stream)) return refuse_reentry(err);
  if (t->state == SM_PENDING) sm_segment_end(t->stream);
  smelt_status status = state_of(t, err);
  leave(t->stream);
  return status;
}

smelt_status sm_stream_check(const sm_tensor *t, smelt_error *err) {
  if (!enter(t->stream)) return refuse_reentry(err);
  smelt_status status = state_of(t, err);
  leave(t->stream);
  return status;
}

smelt_status sm_stream_flush(sm_stream *s, smelt_error *err) {
  if (!enter(s)) return refuse_reentry(err);
  sm_segment_end(s);
  leave(s);
  return SMELT_OK;
}

smelt_status sm_stream_seed(sm_stream *s, uint64_t seed) {
  if (!enter(s)) return refuse_reentry(NULL);
  s->seed = seed;
  s->random_calls = 0;
  leave(s);
  return SMELT_OK;
}
