/* SPDX-License-Identifier: Apache-2.0
 *
 * Streams, with an executor that computes nothing: it writes down what it is
 * given, hands out numbered buffers, and fails on demand. */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "harness.h"
#include "stream/streams.h"

/* --- The executor ------------------------------------------------------------------- */

struct sm_buffer {
  int number, refs;
};

typedef struct fake {
  int runs, ops, live; /* of the last run: records and live results */
  int made, released;  /* buffers */
  const char *fails;   /* operation whose results fail */
  sm_stream *reenter;  /* a release that calls back */
  sm_tensor *to_drop;
} fake;

static void run_fake(void *self, sm_job *job) {
  fake *f = self;
  const sm_segment *seg = job->segment;
  smelt_error err;
  smelt_status sound = sm_segment_verify(seg, &err);
  if (sound != SMELT_ERR_MEMORY) CHECK_OK(sound, err);
  f->runs++;
  f->ops = (int)seg->ops.len;
  f->live = 0;
  for (size_t v = 0; v < seg->values.len; v++) {
    const sm_value *value = &seg->values.items[v];
    if (value->producer == SM_NO_OP) {
      CHECK(job->buffers[v] != NULL);
      continue;
    }
    if (!value->live) continue;
    f->live++;
    const char *name = seg->ops.items[value->producer].row->name;
    if (f->fails && strcmp(f->fails, name) == 0) {
      sm_error_set(&err, SMELT_ERR_LAUNCH, "%s failed", name);
      job->causes[v] = sm_cause_create(&err);
      continue;
    }
    job->buffers[v] = malloc(sizeof *job->buffers[v]);
    CHECK(job->buffers[v] != NULL);
    *job->buffers[v] = (sm_buffer){++f->made, 1};
  }
}

static sm_buffer *retain_fake(void *self, sm_buffer *buffer) {
  (void)self;
  buffer->refs++;
  return buffer;
}

static void release_fake(void *self, sm_buffer *buffer) {
  fake *f = self;
  if (--buffer->refs) return;
  f->released++;
  free(buffer);
  if (f->to_drop) {
    sm_tensor *t = f->to_drop;
    f->to_drop = NULL;
    sm_stream_drop(t);
  }
  if (f->reenter) {
    CHECK_STATUS(sm_stream_flush(f->reenter, NULL), SMELT_ERR_REENTRANT);
    CHECK_STATUS(sm_stream_seed(f->reenter, 1), SMELT_ERR_REENTRANT);
  }
}

/* --- A stream ------------------------------------------------------------------------- */

typedef struct fixture {
  fake f;
  sm_streams set;
  sm_stream *s; /* this thread's */
  sm_counters counters;
  sm_log log;
} fixture;

static void open_fixture(fixture *x, int64_t max_ops, int64_t max_bytes) {
  memset(x, 0, sizeof *x);
  x->set = (sm_streams){.allocator = &sm_malloc_allocator,
                        .log = &x->log,
                        .counters = &x->counters,
                        .executor = {&x->f, run_fake, retain_fake, release_fake},
                        .options = {max_ops, max_bytes}};
  CHECK(sm_streams_open(&x->set));
  CHECK((x->s = sm_streams_mine(&x->set)) != NULL);
}

/* Whatever is alive is freed, and every buffer with it. */
static void close_fixture(fixture *x) {
  sm_streams_close(&x->set);
  sm_streams_free(&x->set);
  CHECK_I64(x->f.released, x->f.made);
}

static sm_tensor *input_of(fixture *x, smelt_dtype dtype, int64_t extent) {
  sm_buffer *buffer = malloc(sizeof *buffer);
  sm_tensor *t = NULL;
  smelt_error err;
  sm_shape shape = {1, {extent}};
  CHECK(buffer != NULL);
  *buffer = (sm_buffer){++x->f.made, 1};
  CHECK_OK(sm_stream_input(x->s, dtype, &shape, buffer, "from_host", &t, &err), err);
  return t;
}

static sm_tensor *input(fixture *x) { return input_of(x, SMELT_F32, 4); }

static sm_tensor *ref(sm_tensor *t) {
  atomic_fetch_add(&t->refs, 1);
  return t;
}

static sm_tensor *record(fixture *x, sm_opcode code, sm_tensor *a, sm_tensor *b) {
  sm_argument arguments[] = {{.tensor = a}, {.tensor = b}};
  sm_cause *cause = NULL;
  sm_tensor *t = sm_stream_record(x->s, sm_op_row_of(code), arguments, b ? 2 : 1, NULL, &cause);
  CHECK(t != NULL);
  return t;
}

static sm_tensor *exp_of(fixture *x, sm_tensor *t) { return record(x, SM_OP_EXP, t, NULL); }

static void resolve(sm_tensor *t) {
  smelt_error err;
  CHECK_OK(sm_stream_resolve(t, &err), err);
}

/* --- Segments ---------------------------------------------------------------------------- */

TEST(nothing_runs_until_it_is_needed) {
  fixture x;
  open_fixture(&x, 100, 1000000);
  sm_tensor *y = exp_of(&x, exp_of(&x, input(&x)));
  CHECK_I64(x.f.runs, 0);
  CHECK_I64(y->state, SM_PENDING);
  resolve(y);
  CHECK_I64(x.f.runs, 1);
  CHECK_I64(x.f.ops, 2);
  CHECK_I64(x.f.live, 1);
  CHECK_I64(y->state, SM_READY);
  resolve(y);
  CHECK_I64(x.f.runs, 1);
  CHECK_I64(sm_streams_operations(&x.set), 2);
  CHECK_I64(atomic_load(&x.counters.segments), 1);
  sm_stream_drop(y);
  CHECK(x.s->tensors == NULL);
  close_fixture(&x);
}

TEST(every_end_runs_all_that_is_live) {
  fixture x;
  open_fixture(&x, 100, 1000000);
  sm_tensor *a = exp_of(&x, input(&x)), *b = exp_of(&x, input(&x)), *c = exp_of(&x, input(&x));
  sm_stream_drop(c);
  resolve(a);
  CHECK_I64(b->state, SM_READY);
  CHECK_I64(x.f.ops, 3);
  CHECK_I64(x.f.live, 2);
  sm_stream_drop(a);
  sm_stream_drop(b);
  CHECK(x.s->tensors == NULL);
  close_fixture(&x);
}

TEST(a_flush_of_nothing_runs_nothing) {
  fixture x;
  open_fixture(&x, 100, 1000000);
  CHECK_STATUS(sm_stream_flush(x.s, NULL), SMELT_OK);
  sm_tensor *a = input(&x);
  resolve(a);
  CHECK_STATUS(sm_stream_flush(x.s, NULL), SMELT_OK);
  CHECK_I64(x.f.runs, 0);
  CHECK_I64(atomic_load(&x.counters.segments), 0);
  sm_stream_drop(a);
  close_fixture(&x);
}

TEST(full_segments_end_themselves) {
  for (int n = 6; n <= 8; n++) {
    fixture x;
    open_fixture(&x, 7, 1000000);
    sm_tensor *t = input(&x);
    for (int i = 0; i < n; i++) t = exp_of(&x, t);
    CHECK_I64(x.f.runs, n >= 7);
    if (n >= 7) CHECK_I64(x.f.ops, 7);
    CHECK_I64(t->state, n == 7 ? SM_READY : SM_PENDING);
    CHECK_I64(x.s->segment.ops.len, n % 7);
    close_fixture(&x);
  }
}

TEST(live_bytes_end_a_segment) {
  fixture x;
  open_fixture(&x, 100, 64); /* four results of 16 bytes, and not one more */
  sm_tensor *a = input(&x), *kept[5];
  for (int i = 0; i < 4; i++) kept[i] = exp_of(&x, ref(a));
  CHECK_I64(x.f.runs, 0);
  sm_stream_drop(kept[3]);
  kept[3] = exp_of(&x, exp_of(&x, ref(a))); /* the temporary is dead */
  CHECK_I64(x.f.runs, 0);
  CHECK_I64(x.s->live_bytes, 64);
  kept[4] = exp_of(&x, ref(a));
  CHECK_I64(x.f.runs, 1);
  CHECK_I64(x.s->live_bytes, 0);
  for (int i = 0; i < 5; i++) sm_stream_drop(kept[i]);
  CHECK_I64(x.s->live_bytes, 0);
  sm_stream_drop(a);
  CHECK(x.s->tensors == NULL);
  close_fixture(&x);
}

/* --- Uses ------------------------------------------------------------------------------- */

static const sm_op *last_op(const fixture *x) { return &x->s->segment.ops.items[x->s->segment.ops.len - 1]; }

TEST(last_uses_are_read_write) {
  fixture x;
  open_fixture(&x, 100, 1000000);
  sm_tensor *a = input(&x);
  sm_tensor *y = record(&x, SM_OP_MULTIPLY, ref(a), a);
  CHECK_I64(last_op(&x)->operands[0].use.status, SM_READ_ONLY);
  CHECK_I64(last_op(&x)->operands[1].use.status, SM_READ_WRITE);
  CHECK_I64(last_op(&x)->operands[0].use.value, last_op(&x)->operands[1].use.value);
  sm_tensor *z = exp_of(&x, ref(y));
  CHECK_I64(last_op(&x)->operands[0].use.status, SM_READ_ONLY);
  resolve(y);
  CHECK_I64(x.f.live, 2);
  sm_tensor *w = exp_of(&x, z); /* READY now: a source of the next segment */
  CHECK_I64(last_op(&x)->operands[0].use.status, SM_READ_WRITE);
  resolve(w);
  CHECK_I64(x.f.ops, 1);
  close_fixture(&x);
}

TEST(conversions_are_records) {
  fixture x;
  open_fixture(&x, 100, 1000000);
  sm_tensor *a = input_of(&x, SMELT_I8, 4);
  sm_tensor *y = record(&x, SM_OP_ADD, ref(a), input_of(&x, SMELT_U8, 4));
  CHECK_I64(y->dtype, SMELT_I16);
  CHECK_I64(x.s->segment.ops.len, 3);
  CHECK_I64(x.s->segment.ops.items[0].row->code, SM_OP_ASTYPE);
  CHECK_I64(x.s->segment.ops.items[1].row->code, SM_OP_ASTYPE);
  CHECK_I64(sm_streams_operations(&x.set), 3);
  resolve(y); /* the executor verifies */
  CHECK_I64(x.f.live, 1);
  sm_tensor *z = record(&x, SM_OP_ADD, y, a);
  resolve(z);
  CHECK_I64(x.f.ops, 2);
  sm_stream_drop(z);
  CHECK(x.s->tensors == NULL);
  close_fixture(&x);
}

TEST(ids_count_from_one) {
  fixture x;
  open_fixture(&x, 100, 1000000);
  sm_tensor *a = input(&x), *b = exp_of(&x, a);
  CHECK_I64(b->id, 2);
  resolve(b);
  sm_tensor *c = exp_of(&x, b);
  CHECK_I64(c->id, 3);
  close_fixture(&x);
}

/* --- Failures ------------------------------------------------------------------------------ */

static sm_cause *refused(fixture *x, sm_opcode code, const sm_argument *arguments, int n) {
  sm_cause *cause = NULL;
  CHECK(sm_stream_record(x->s, sm_op_row_of(code), arguments, n, NULL, &cause) == NULL);
  CHECK(cause != NULL);
  return cause;
}

TEST(a_wrong_call_takes_its_operands) {
  fixture x;
  open_fixture(&x, 100, 1000000);
  sm_tensor *kept = input_of(&x, SMELT_F32, 3);
  sm_argument arguments[] = {{.tensor = input(&x)}, {.tensor = ref(kept)}};
  sm_cause *cause = refused(&x, SM_OP_ADD, arguments, 2);
  CHECK_STR(cause->error.text, "add(f32[4], f32[3]): the shapes do not broadcast");
  sm_cause_drop(cause);
  CHECK_I64(x.s->segment.ops.len, 0);
  CHECK_I64(atomic_load(&kept->refs), 1);
  CHECK(x.s->tensors == kept && kept->next == NULL);
  CHECK_I64(sm_streams_operations(&x.set), 0);
  close_fixture(&x);
}

TEST(a_failure_poisons_what_it_concerns) {
  fixture x;
  smelt_error err;
  open_fixture(&x, 100, 1000000);
  x.f.fails = "log";
  sm_tensor *good = exp_of(&x, input(&x)), *bad = record(&x, SM_OP_LOG, input(&x), NULL);
  CHECK_STATUS(sm_stream_check(bad, &err), SMELT_OK); /* not run yet */
  CHECK_STATUS(sm_stream_resolve(bad, &err), SMELT_ERR_LAUNCH);
  CHECK_STR(err.text, "log failed");
  CHECK_STATUS(sm_stream_check(bad, NULL), SMELT_ERR_LAUNCH);
  resolve(good);
  sm_argument arguments[] = {{.tensor = good}, {.tensor = bad}};
  sm_cause *first = bad->cause,
           *cause = refused(&x, SM_OP_ADD, (arguments[1].tensor = ref(bad), arguments), 2);
  CHECK(cause == first);
  sm_cause_drop(cause);
  sm_stream_drop(bad);
  CHECK(x.s->tensors == NULL);
  close_fixture(&x);
}

static void *fail_when(void *armed, void *ptr, size_t old, size_t size) {
  if (size && --*(int *)armed < 0) return NULL;
  return sm_malloc_allocator.fn(NULL, ptr, old, size);
}

/* Whatever allocation fails: no record of a failed call, or a poisoned result. */
TEST(lack_of_memory) {
  int failures = 0;
  for (int allowed = 0; allowed < 40; allowed++) {
    fixture x;
    int left = 1000000;
    sm_allocator allocator = {fail_when, &left};
    open_fixture(&x, 100, 1000000);
    x.set.allocator = &allocator;
    sm_tensor *a = input_of(&x, SMELT_I8, 4), *b = input_of(&x, SMELT_U8, 4);
    sm_argument arguments[] = {{.tensor = a}, {.tensor = b}};
    sm_cause *cause = NULL;
    left = allowed;
    sm_tensor *t = sm_stream_record(x.s, sm_op_row_of(SM_OP_ADD), arguments, 2, NULL, &cause);
    smelt_error err = {0};
    smelt_status status = t ? sm_stream_resolve(t, &err) : cause->error.code;
    CHECK(status == SMELT_OK || status == SMELT_ERR_MEMORY);
    failures += status != SMELT_OK;
    sm_cause_drop(cause);
    left = 1000000;
    if (t) sm_stream_drop(t);
    CHECK_STATUS(sm_stream_flush(x.s, NULL), SMELT_OK);
    CHECK(x.s->tensors == NULL);
    close_fixture(&x);
  }
  CHECK(failures >= 4 && failures < 40);
}

/* --- Callbacks -------------------------------------------------------------------------------- */

TEST(callbacks_may_not_come_back_in) {
  fixture x;
  open_fixture(&x, 100, 1000000);
  sm_tensor *a = input(&x);
  x.f.reenter = x.s;
  sm_stream_drop(a);
  CHECK_I64(x.f.released, 1);
  x.f.reenter = NULL;
  close_fixture(&x);
}

TEST(drops_from_callbacks_wait_for_the_next_entry) {
  fixture x;
  open_fixture(&x, 100, 1000000);
  sm_tensor *a = input(&x), *b = input(&x), *kept = exp_of(&x, input(&x));
  x.f.to_drop = b;
  sm_stream_drop(a);
  CHECK_STATUS(sm_stream_check(kept, NULL), SMELT_OK);
  CHECK_I64(x.f.released, 2);
  x.f.to_drop = kept; /* pending: it must not be computed */
  sm_stream_drop(input(&x));
  CHECK_STATUS(sm_stream_flush(x.s, NULL), SMELT_OK);
  CHECK_I64(x.f.live, 0);
  CHECK(x.s->tensors == NULL);
  close_fixture(&x);
}

TEST(what_is_alive_is_freed_with_the_stream) {
  fixture x;
  open_fixture(&x, 100, 1000000);
  sm_tensor *a = input(&x), *pending = exp_of(&x, ref(a));
  x.f.fails = "log";
  CHECK_STATUS(sm_stream_resolve(record(&x, SM_OP_LOG, ref(a), NULL), NULL), SMELT_ERR_LAUNCH);
  CHECK_I64(pending->state, SM_READY);
  exp_of(&x, a);
  x.f.to_drop = ref(pending);
  close_fixture(&x);
}

/* --- Random ------------------------------------------------------------------------------------ */

static uint64_t drawn(const fixture *x, int k) {
  const sm_op *op = last_op(x);
  return op->operands[op->n_operands - SM_RANDOM_SCALARS + k].scalar.U64;
}

TEST(random_calls_are_numbered_from_the_seed) {
  fixture x;
  open_fixture(&x, 100, 1000000);
  smelt_attrs attrs = {.size = sizeof attrs, .dtype = SMELT_F32, .rank = 1, .dims = (int64_t[]){4}};
  sm_cause *cause;
  for (uint64_t seed = 5; seed < 8; seed++) {
    CHECK_STATUS(sm_stream_seed(x.s, seed), SMELT_OK);
    for (uint64_t call = 0; call < 3; call++) {
      CHECK(sm_stream_record(x.s, sm_op_row_of(SM_OP_RAND), NULL, 0, &attrs, &cause) != NULL);
      CHECK_I64(drawn(&x, 0), call);
      CHECK_I64(drawn(&x, 1), seed);
    }
  }
  close_fixture(&x);
}

TEST_MAIN(CASE(nothing_runs_until_it_is_needed), CASE(every_end_runs_all_that_is_live),
          CASE(a_flush_of_nothing_runs_nothing), CASE(full_segments_end_themselves),
          CASE(live_bytes_end_a_segment), CASE(last_uses_are_read_write), CASE(conversions_are_records),
          CASE(ids_count_from_one), CASE(a_wrong_call_takes_its_operands),
          CASE(a_failure_poisons_what_it_concerns), CASE(lack_of_memory),
          CASE(callbacks_may_not_come_back_in), CASE(drops_from_callbacks_wait_for_the_next_entry),
          CASE(what_is_alive_is_freed_with_the_stream), CASE(random_calls_are_numbered_from_the_seed))
