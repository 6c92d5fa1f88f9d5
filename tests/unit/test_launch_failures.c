/* SPDX-License-Identifier: Apache-2.0
 *
 * Launches, compilations and allocations that fail: what is poisoned, and what goes on. The
 * driver is the CPU's with functions in front of it that fail on demand. */
#include <pthread.h>
#include <string.h>

#include "base/error.h"
#include "drivers/drivers.h"
#include "fusers/fused_executor.h"
#include "stream/streams.h"
#include "harness.h"
#include "launch/buffer_executor.h"

/* --- A driver that fails ---------------------------------------------------------------- */

/* Counts down with each call; the call that reaches 0 fails. */
static atomic_int until_launch_fails, until_compile_fails, until_alloc_fails, compiles;

static smelt_status launch(sm_device *device, sm_kernel *kernel, const sm_launch *l, smelt_error *err) {
  if (--until_launch_fails == 0) return sm_error_set(err, SMELT_ERR_LAUNCH, "the launch was made to fail");
  return sm_driver_cpu.launch(device, kernel, l, err);
}

static smelt_status compile(sm_device *device, sm_kir_kernel *ir, sm_kernel **out, smelt_error *err) {
  compiles++;
  if (--until_compile_fails == 0)
    return sm_error_set(err, SMELT_ERR_COMPILE, "the compiler was made to fail");
  return sm_driver_cpu.compile(device, ir, out, err);
}

static void *alloc(sm_device *device, size_t bytes) {
  return --until_alloc_fails == 0 ? NULL : sm_driver_cpu.alloc(device, bytes);
}

/* --- A stream on it ------------------------------------------------------------------------ */

typedef struct fixture {
  sm_driver driver;
  sm_log log;
  sm_counters counters;
  sm_device device;
  sm_fused_executor executor;
  sm_streams streams;
  sm_stream *stream; /* this thread's */
} fixture;

static void open_stream(fixture *f, int max_ops, bool fusion) {
  const sm_driver *const drivers[] = {&f->driver, NULL};
  smelt_error err;
  memset(f, 0, sizeof *f);
  f->driver = sm_driver_cpu;
  f->driver.launch = launch;
  f->driver.compile = compile;
  f->driver.alloc = alloc;
  CHECK_OK(sm_device_open(&f->device, "cpu", drivers, &sm_malloc_allocator, &f->log, &err), err);
  CHECK(sm_fused_executor_init(&f->executor, &f->device, &f->log, &f->counters,
                               (sm_fused_options){max_ops, true, fusion, SMELT_MODE_DEFAULT}));
  f->streams = (sm_streams){.allocator = &sm_malloc_allocator,
                            .log = &f->log,
                            .counters = &f->counters,
                            .executor = sm_buffer_executor(&f->executor, sm_fused_executor_run),
                            .options = {.max_ops = 512, .max_bytes = INT64_MAX}};
  CHECK(sm_streams_open(&f->streams));
  CHECK((f->stream = sm_streams_mine(&f->streams)) != NULL);
}

/* All tensors have been dropped. */
static void close_stream(fixture *f) {
  smelt_error err;
  CHECK_OK(sm_stream_flush(f->stream, &err), err);
  CHECK(f->stream->tensors == NULL);
  CHECK_I64(f->device.live_bytes, 0);
  sm_streams_close(&f->streams);
  sm_streams_free(&f->streams);
  sm_fused_executor_free(&f->executor);
  sm_device_close(&f->device);
}

/* --- Tensors ---------------------------------------------------------------------------------- */

enum { MOST = 4 };

static sm_tensor *input_on(fixture *f, sm_stream *stream, int64_t n, float first) {
  sm_shape shape = {.rank = 1, .dims = {n}};
  float values[MOST];
  sm_buffer *buffer;
  sm_tensor *t;
  smelt_error err;
  for (int64_t i = 0; i < n; i++) values[i] = first + (float)i;
  CHECK_OK(sm_buffer_create(&f->device, (size_t)n * sizeof *values, &buffer, &err), err);
  CHECK_OK(f->driver.upload(&f->device, buffer->data, 0, values, buffer->bytes, &err), err);
  CHECK_OK(sm_stream_input(stream, SMELT_F32, &shape, buffer, "input", &t, &err), err);
  return t;
}

static sm_tensor *input(fixture *f, int64_t n, float first) { return input_on(f, f->stream, n, first); }

static sm_tensor *keep(sm_tensor *t) {
  atomic_fetch_add(&t->refs, 1);
  return t;
}

/* Takes the operands; `b` may be NULL. */
static sm_tensor *call_on(sm_stream *stream, sm_opcode code, sm_tensor *a, sm_tensor *b) {
  sm_argument arguments[2] = {{.tensor = a}, {.tensor = b}};
  sm_cause *cause = NULL;
  sm_tensor *t = sm_stream_record(stream, sm_op_row_of(code), arguments, b ? 2 : 1, NULL, &cause);
  if (!t) sm_cause_drop(cause);
  CHECK(t != NULL);
  return t;
}

static sm_tensor *call(fixture *f, sm_opcode code, sm_tensor *a, sm_tensor *b) {
  return call_on(f->stream, code, a, b);
}

/* Takes `t`. */
static void check_values(sm_tensor *t, float first, float step) {
  float values[MOST];
  smelt_error err;
  CHECK_OK(sm_stream_resolve(t, &err), err);
  sm_device *device = t->buffer->device;
  CHECK_OK(device->driver->download(device, t->buffer->data, 0, values, t->buffer->bytes, &err), err);
  for (int i = 0; i < (int)(t->buffer->bytes / sizeof *values); i++) {
    CHECK_F64(values[i], first + (float)i * step);
  }
  sm_stream_drop(t);
}

/* Takes `t`; answers its cause, which lives as long as another tensor has it. */
static const sm_cause *check_poisoned(sm_tensor *t, smelt_status status) {
  const char *text = status == SMELT_ERR_MEMORY ? "out of memory: 4 bytes" : "was made to fail";
  smelt_error err = {.code = SMELT_OK};
  CHECK_STATUS(sm_stream_resolve(t, &err), status);
  CHECK_STATUS(err.code, status);
  CHECK_CONTAINS(err.text, text);
  CHECK(t->buffer == NULL);
  const sm_cause *cause = t->cause;
  sm_stream_drop(t);
  return cause;
}

/* --- Launches ------------------------------------------------------------------------------------- */

static void flush(fixture *f) {
  smelt_error err;
  CHECK_OK(sm_stream_flush(f->stream, &err), err);
}

/* Chains of their own shapes are kernels of their own, in the order of recording. */
TEST(a_failed_launch_poisons_its_results_only) {
  fixture f;
  open_stream(&f, 256, true);
  sm_tensor *before = call(&f, SM_OP_NEGATIVE, input(&f, 2, 1), NULL);
  sm_tensor *one = call(&f, SM_OP_NEGATIVE, input(&f, 3, 1), NULL);
  sm_tensor *two = call(&f, SM_OP_ABS, keep(one), NULL);
  sm_tensor *after = call(&f, SM_OP_POSITIVE, call(&f, SM_OP_ABS, input(&f, 4, 5), NULL), NULL);
  until_launch_fails = 2;
  flush(&f);
  CHECK_I64(f.counters.launches, 3);
  check_values(before, -1, -1);
  check_values(after, 5, 1);
  CHECK(check_poisoned(keep(one), SMELT_ERR_LAUNCH) == check_poisoned(two, SMELT_ERR_LAUNCH));
  sm_stream_drop(one);
  close_stream(&f);
}

/* q and r are one kernel, which is taken apart because p failed. */
TEST(what_does_not_depend_on_a_failure_runs) {
  fixture f;
  open_stream(&f, 256, true);
  sm_tensor *p = call(&f, SM_OP_NEGATIVE, input(&f, 1, 1), NULL);
  sm_tensor *q = call(&f, SM_OP_ADD, keep(p), input(&f, 3, 1));
  sm_tensor *r = call(&f, SM_OP_NEGATIVE, input(&f, 3, 7), NULL);
  until_launch_fails = 1;
  flush(&f);
  check_values(r, -7, -1);
  CHECK(check_poisoned(keep(p), SMELT_ERR_LAUNCH) == check_poisoned(q, SMELT_ERR_LAUNCH));
  sm_stream_drop(p);
  close_stream(&f);
}

/* Takes the operands: joined along their only axis. */
static sm_tensor *join(fixture *f, sm_tensor *a, sm_tensor *b) {
  const smelt_attrs attrs = {.size = sizeof attrs, .axes = (int[]){0}, .n_axes = 1};
  sm_argument arguments[2] = {{.tensor = a}, {.tensor = b}};
  sm_cause *cause = NULL;
  sm_tensor *t = sm_stream_record(f->stream, sm_op_row_of(SM_OP_CONCAT), arguments, 2, &attrs, &cause);
  CHECK(t != NULL);
  return t;
}

/* So is a kernel with an anchor; its records are not all the anchor's when they are alone. */
TEST(a_kernel_with_an_anchor_is_taken_apart) {
  fixture f;
  open_stream(&f, 256, true);
  sm_tensor *p = call(&f, SM_OP_NEGATIVE, input(&f, 1, 1), NULL);
  sm_tensor *negated = call(&f, SM_OP_NEGATIVE, input(&f, 2, 7), NULL);
  sm_tensor *joined = join(&f, negated, input(&f, 1, -9));
  sm_tensor *q = call(&f, SM_OP_ADD, keep(p), keep(joined));
  until_launch_fails = 1;
  flush(&f);
  CHECK_I64(f.counters.launches, 3);
  check_values(joined, -7, -1);
  CHECK(check_poisoned(keep(p), SMELT_ERR_LAUNCH) == check_poisoned(q, SMELT_ERR_LAUNCH));
  sm_stream_drop(p);
  close_stream(&f);
}

/* --- Everything in a graph --------------------------------------------------------------------- */

enum { RECORDS = 6 };

/* a = -x, b = |a|, c = a*a, d = b + c, e = -y, g = d + e; x and y are 1. */
static void record_graph(fixture *f, sm_tensor *out[RECORDS]) {
  out[0] = call(f, SM_OP_NEGATIVE, input(f, 1, 1), NULL);
  out[1] = call(f, SM_OP_ABS, keep(out[0]), NULL);
  out[2] = call(f, SM_OP_SQUARE, keep(out[0]), NULL);
  out[3] = call(f, SM_OP_ADD, keep(out[1]), keep(out[2]));
  out[4] = call(f, SM_OP_NEGATIVE, input(f, 1, 1), NULL);
  out[5] = call(f, SM_OP_ADD, keep(out[3]), keep(out[4]));
}

static const float graph_values[RECORDS] = {-1, 1, 1, 2, -1, 1};

/* By record: itself and what it depends on, as bits. */
static const unsigned above[RECORDS] = {0x01, 0x03, 0x05, 0x0f, 0x10, 0x3f};

/* The graph is computed, and record `failing` of it fails, counted from 1. */
static void check_graph(fixture *f, int failing, smelt_status status) {
  sm_tensor *t[RECORDS];
  const sm_cause *causes[RECORDS + 1] = {NULL};
  record_graph(f, t);
  flush(f);
  for (int i = 0; i < RECORDS; i++) {
    bool poisoned = above[i] >> (failing - 1) & 1;
    if (poisoned) causes[i] = check_poisoned(keep(t[i]), status);
    else check_values(keep(t[i]), graph_values[i], 0);
  }
  for (int i = 0; i < RECORDS; i++) CHECK(!causes[i] || causes[i] == causes[failing - 1]);
  for (int i = 0; i < RECORDS; i++) sm_stream_drop(t[i]);
}

/* Without fusion every record is a launch. The last round has no failure. */
TEST(exactly_what_depends_on_a_failure_is_poisoned) {
  fixture f;
  open_stream(&f, 256, false);
  for (int failing = 1; failing <= RECORDS + 1; failing++) {
    until_launch_fails = failing;
    check_graph(&f, failing, SMELT_ERR_LAUNCH);
  }
  close_stream(&f);
}

/* A result that there is no memory for is a failure like any other. Two inputs come first;
 * a and e are written over them. */
TEST(every_allocation_fails_once) {
  static const int failing[] = {2, 3, 4, 6, RECORDS + 1};
  fixture f;
  open_stream(&f, 256, false);
  for (int n = 0; n < 5; n++) {
    until_alloc_fails = 2 + 1 + n;
    check_graph(&f, failing[n], SMELT_ERR_MEMORY);
  }
  close_stream(&f);
}

/* Of the records the first four need kernels of their own. What failed is not kept as
 * good: in the same stream the graph is right the next time. */
TEST(every_compilation_fails_once) {
  enum { KERNELS = 4 };
  for (int failing = 1; failing <= KERNELS; failing++) {
    fixture f;
    open_stream(&f, 256, false);
    until_compile_fails = failing;
    check_graph(&f, failing, SMELT_ERR_COMPILE);
    check_graph(&f, RECORDS + 1, SMELT_OK);
    CHECK_I64(f.counters.kernels_compiled, KERNELS);
    close_stream(&f);
  }
}

/* The same where only the last result is wanted. */
TEST(temporaries_of_failed_launches_are_freed) {
  fixture f;
  open_stream(&f, 256, false);
  for (int failing = 1; failing <= RECORDS + 1; failing++) {
    sm_tensor *t[RECORDS];
    record_graph(&f, t);
    for (int i = 0; i < RECORDS - 1; i++) sm_stream_drop(t[i]);
    until_launch_fails = failing;
    flush(&f);
    if (failing > RECORDS) check_values(t[RECORDS - 1], graph_values[RECORDS - 1], 0);
    else (void)check_poisoned(t[RECORDS - 1], SMELT_ERR_LAUNCH);
    CHECK_I64(f.device.live_bytes, 0);
  }
  close_stream(&f);
}

TEST(a_poisoned_tensor_poisons_what_is_recorded_later) {
  fixture f;
  open_stream(&f, 256, true);
  sm_tensor *bad = call(&f, SM_OP_NEGATIVE, input(&f, 2, 1), NULL);
  until_launch_fails = 1;
  flush(&f);
  sm_cause *cause = NULL;
  sm_argument argument = {.tensor = keep(bad)};
  CHECK(sm_stream_record(f.stream, sm_op_row_of(SM_OP_ABS), &argument, 1, NULL, &cause) == NULL);
  CHECK(cause == bad->cause);
  sm_cause_drop(cause);
  sm_stream_drop(bad);
  check_values(call(&f, SM_OP_ABS, input(&f, 2, 3), NULL), 3, 1);
  close_stream(&f);
}

/* --- Compilation ------------------------------------------------------------------------------------- */

static sm_tensor *negated(fixture *f) { return call(f, SM_OP_NEGATIVE, input(f, 4, 1), NULL); }

TEST(a_failed_compilation_is_tried_again) {
  fixture f;
  open_stream(&f, 256, true);
  until_compile_fails = 1;
  (void)check_poisoned(negated(&f), SMELT_ERR_COMPILE);
  CHECK_I64(f.counters.kernels_compiled, 0);
  check_values(negated(&f), -1, -1);
  check_values(negated(&f), -1, -1);
  CHECK_I64(compiles, 2);
  CHECK_I64(f.counters.kernels_compiled, 1);
  close_stream(&f);
}

/* Of threads that need one kernel at a time, the one that fails to make it is alone: the
 * next tries again, and the others wait for that. */
typedef struct member {
  pthread_t thread;
  fixture *f;
  smelt_status status;
} member;

static void *negate_together(void *argument) {
  member *m = argument;
  sm_stream *stream = sm_streams_mine(&m->f->streams);
  CHECK(stream != NULL);
  sm_tensor *t = call_on(stream, SM_OP_NEGATIVE, input_on(m->f, stream, 4, 1), NULL);
  m->status = sm_stream_resolve(t, NULL);
  sm_stream_drop(t);
  return NULL;
}

TEST(a_failed_compilation_stays_with_its_thread) {
  enum { MEMBERS = 6 };
  for (int round = 0; round < 20; round++) {
    fixture f;
    member members[MEMBERS];
    int failed = 0;
    open_stream(&f, 256, true);
    until_compile_fails = 1;
    compiles = 0;
    for (int i = 0; i < MEMBERS; i++) {
      members[i] = (member){.f = &f};
      CHECK_I64(pthread_create(&members[i].thread, NULL, negate_together, &members[i]), 0);
    }
    for (int i = 0; i < MEMBERS; i++) {
      CHECK_I64(pthread_join(members[i].thread, NULL), 0);
      CHECK(members[i].status == SMELT_OK || members[i].status == SMELT_ERR_COMPILE);
      failed += members[i].status != SMELT_OK;
    }
    CHECK_I64(failed, 1);
    CHECK_I64(compiles, 2);
    close_stream(&f);
  }
}

/* A kernel whose launch failed is still a good kernel. */
TEST(a_failed_launch_leaves_its_kernel) {
  fixture f;
  open_stream(&f, 256, true);
  until_launch_fails = 1;
  (void)check_poisoned(negated(&f), SMELT_ERR_LAUNCH);
  check_values(negated(&f), -1, -1);
  CHECK_I64(compiles, 1);
  close_stream(&f);
}

/* A record that binds more than the device can is poisoned with what depends on
 * it; the rest of the segment is computed. */
TEST(a_record_beyond_a_limit_poisons_its_results_only) {
  fixture f;
  smelt_error err;
  open_stream(&f, 256, true);
  f.executor.options.limits.max_bindings = 3; /* two tensors and the metadata */
  sm_tensor *sum = call(&f, SM_OP_ADD, input(&f, 2, 1), input(&f, 2, 5));
  sm_tensor *root = call(&f, SM_OP_ABS, keep(sum), NULL);
  sm_tensor *other = call(&f, SM_OP_NEGATIVE, input(&f, 3, 1), NULL);
  flush(&f);
  check_values(other, -1, -1);
  CHECK_STATUS(sm_stream_resolve(sum, &err), SMELT_ERR_LIMIT);
  CHECK_STR(err.text, "add alone exceeds a limit: binding limit of the device (est_bindings=4/3)");
  CHECK_STATUS(sm_stream_resolve(root, &err), SMELT_ERR_LIMIT);
  CHECK(sum->cause == root->cause);
  sm_stream_drop(sum);
  sm_stream_drop(root);
  close_stream(&f);
}

TEST_MAIN(CASE(a_record_beyond_a_limit_poisons_its_results_only),
          CASE(a_failed_launch_poisons_its_results_only), CASE(what_does_not_depend_on_a_failure_runs),
          CASE(a_kernel_with_an_anchor_is_taken_apart), CASE(exactly_what_depends_on_a_failure_is_poisoned),
          CASE(temporaries_of_failed_launches_are_freed), CASE(every_allocation_fails_once),
          CASE(every_compilation_fails_once), CASE(a_poisoned_tensor_poisons_what_is_recorded_later),
          CASE(a_failed_compilation_is_tried_again), CASE(a_failed_compilation_stays_with_its_thread),
          CASE(a_failed_launch_leaves_its_kernel))
