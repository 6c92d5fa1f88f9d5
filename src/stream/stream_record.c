/* SPDX-License-Identifier: Apache-2.0
 *
 * How a call becomes a record of its stream's segment. */
#include <inttypes.h>

#include "base/error.h"
#include "base/observer.h"
#include "base/timeline.h"
#include "stream/stream_tensor.h"

/* A call on its way into the segment. */
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

/* --- The record ------------------------------------------------------------------------ */

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
  a->id = sm_stream_new_id(s);
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
  sm_value out = {.id = sm_stream_new_id(r->stream), .dtype = r->inferred.operand[i], .shape = from->shape};
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
  t->id = sm_stream_new_id(s);
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
  while (!(sm_segment_reserve(&s->segment, r->n) && sm_tensor_reserve(s, tensors)) && sm_stream_restock(s))
    continue;
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

/* --- References of the call ------------------------------------------------------------ */

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
  sm_stream_refuse_reentry(&err);
  drop_all(arguments, n);
  *cause = sm_cause_create(&err);
  return NULL;
}

/* --- The call -------------------------------------------------------------------------- */

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
