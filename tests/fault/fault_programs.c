/* SPDX-License-Identifier: Apache-2.0
 *
 * fault_programs [OPTIONS]: programs of the public interface while memory runs
 * out, allocation by allocation, in one process.
 *
 * A program answers OK if all its values were exact, or ERR_MEMORY; it never
 * sees a wrong value or another error, and it gives up its references in any
 * case. Each is run in two ways. *Inside*: in a context that has a tensor
 * already; afterwards that tensor is intact, and the program, run again, gives
 * the right values. *Around*: creating and destroying the context may fail too.
 * In the end of each round nothing leaks and the library holds as many blocks as
 * before. All this with one failing allocation, and with all from one on. */
#define _DEFAULT_SOURCE
#include <inttypes.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "failing_alloc.h"
#include "fault_loop.h"
#include "smelt/io.h"
#include "smelt/smelt.h"

/* --- What a program may see ------------------------------------------------------------------ */

/* The first thing that was wrong in this round; empty if nothing was. */
static char wrong[700];

static void complain(const char *what, const char *detail) {
  if (!*wrong) (void)snprintf(wrong, sizeof wrong, "%s: %s", what, detail);
}

/* OK or ERR_MEMORY; anything else is wrong. */
static smelt_status bear(const char *what, smelt_status status, const smelt_error *err) {
  if (status != SMELT_OK && status != SMELT_ERR_MEMORY) complain(what, err->text);
  if (status == SMELT_ERR_MEMORY && !fail_alloc_happened())
    complain(what, "out of memory although nothing failed");
  return status;
}

static smelt_status worse(smelt_status a, smelt_status b) { return a == SMELT_OK ? b : a; }

/* Reads the last use of `t`. */
static smelt_status expect(const char *what, smelt_tensor *t, smelt_dtype dtype, const void *values,
                           size_t bytes) {
  unsigned char buf[4096];
  smelt_error err;
  smelt_status status = bear(what, smelt_into_host(t, dtype, buf, bytes, &err), &err);
  if (status == SMELT_OK && memcmp(buf, values, bytes) != 0) complain(what, "wrong values");
  return status;
}

#define EXPECT_F32(t, ...) \
  expect(__func__, t, SMELT_F32, (float[]){__VA_ARGS__}, sizeof((float[]){__VA_ARGS__}))
#define EXPECT_I64(t, ...) \
  expect(__func__, t, SMELT_I64, (int64_t[]){__VA_ARGS__}, sizeof((int64_t[]){__VA_ARGS__}))

static smelt_tensor *f32s(smelt_context *ctx, int64_t n, const float *values) {
  return smelt_from_host(ctx, SMELT_F32, 1, &n, values);
}
#define F32S(ctx, ...) \
  f32s(ctx, (int64_t)(sizeof((float[]){__VA_ARGS__}) / sizeof(float)), (float[]){__VA_ARGS__})

/* --- The programs --------------------------------------------------------------------------- */

static smelt_status expression(smelt_context *ctx) {
  smelt_tensor *a = F32S(ctx, 1, 2, 3), *b = F32S(ctx, 2, 3, 4), *c = F32S(ctx, 0.5f, 0, -1);
  return EXPECT_F32(smelt_sqrt(smelt_square(smelt_add(smelt_mul(a, b), c))), 2.5f, 6, 11);
}

static smelt_status conversions(smelt_context *ctx) {
  smelt_tensor *a = smelt_from_host(ctx, SMELT_I32, 2, (int64_t[]){2, 1}, (int32_t[]){1, 2});
  smelt_tensor *b = smelt_from_host(ctx, SMELT_I64, 1, (int64_t[]){3}, (int64_t[]){10, 20, 30});
  smelt_tensor *sum = smelt_add(smelt_ref(a), b);
  smelt_status status = EXPECT_I64(sum, 11, 21, 31, 12, 22, 32);
  return worse(status, EXPECT_I64(smelt_astype(a, SMELT_I64), 1, 2));
}

static smelt_status kept_values(smelt_context *ctx) {
  smelt_tensor *x = F32S(ctx, 1, 4, 9);
  smelt_tensor *root = smelt_sqrt(smelt_ref(x));
  smelt_tensor *half = smelt_mul(smelt_ref(root), 0.5);
  smelt_tensor *sum = smelt_add(smelt_ref(half), smelt_ref(root));
  smelt_drop(smelt_exp(smelt_ref(sum)));
  smelt_status status = EXPECT_F32(half, 0.5f, 1, 1.5f);
  status = worse(status, EXPECT_F32(sum, 1.5f, 3, 4.5f));
  status = worse(status, EXPECT_F32(root, 1, 2, 3));
  return worse(status, EXPECT_F32(x, 1, 4, 9));
}

static smelt_status weak_scalars(smelt_context *ctx) {
  smelt_tensor *seven = smelt_add(smelt_mul(2, 3), 1);
  smelt_tensor *t = smelt_sub(F32S(ctx, 10, 20), smelt_ref(seven));
  int64_t item = 0;
  smelt_error err;
  smelt_status status = bear(__func__, smelt_item_i64(seven, &item, &err), &err);
  if (status == SMELT_OK && item != 7) complain(__func__, "2*3 + 1 is not 7");
  smelt_drop(seven);
  return worse(status, EXPECT_F32(t, 3, 13));
}

static smelt_status creation(smelt_context *ctx) {
  smelt_tensor *i = smelt_arange(ctx, 0, 6, 1, SMELT_I64);
  smelt_tensor *even = smelt_equal(smelt_remainder(smelt_ref(i), 2), 0);
  smelt_tensor *zeros = smelt_zeros(ctx, SMELT_I64, 1, (int64_t[]){6});
  return EXPECT_I64(smelt_where(even, i, smelt_sub(zeros, 1)), 0, -1, 2, -1, 4, -1);
}

static smelt_status views(smelt_context *ctx) {
  smelt_tensor *x = smelt_reshape(F32S(ctx, 0, 1, 2, 3, 4, 5), 2, (int64_t[]){2, -1});
  smelt_tensor *y = smelt_slice(smelt_ref(x), (smelt_range[]){{SMELT_ABSENT, SMELT_ABSENT, -1}}, 1);
  smelt_status status = EXPECT_F32(smelt_add(smelt_permute_dims(y, NULL, 0), 1), 4, 1, 5, 2, 6, 3);
  return worse(status, EXPECT_F32(smelt_flip(x, NULL, 0), 5, 4, 3, 2, 1, 0));
}

static smelt_status reductions(smelt_context *ctx) {
  smelt_tensor *x = smelt_reshape(F32S(ctx, 1, 2, 3, 4), 2, (int64_t[]){2, 2});
  smelt_tensor *i = smelt_argmax(smelt_ref(x), (int[]){0}, 1, false);
  smelt_status status = EXPECT_F32(smelt_sum(smelt_ref(x), (int[]){1}, 1, false, SMELT_DTYPE_NONE), 3, 7);
  status = worse(status, EXPECT_I64(i, 1, 1));
  status = worse(status, EXPECT_F32(smelt_var(smelt_ref(x), (int[]){0}, 1, true, 0), 1, 1));
  return worse(status, EXPECT_F32(smelt_softmax(smelt_mul(x, 0), 1), 0.5f, 0.5f, 0.5f, 0.5f));
}

/* A list that is longer than a record's operands. */
static smelt_status selections(smelt_context *ctx) {
  smelt_tensor *list[12], *x = F32S(ctx, 7);
  for (int i = 0; i < 12; i++) list[i] = smelt_mul(smelt_ref(x), i);
  smelt_drop(x);
  smelt_tensor *joined = smelt_concat(list, 12, 0);
  smelt_tensor *indices = smelt_from_host(ctx, SMELT_I64, 1, (int64_t[]){3}, (int64_t[]){-1, 2, 99});
  return EXPECT_F32(smelt_take(joined, indices, 0), 77, 14, 77);
}

/* A random call that failed has drawn no number, so that the next one draws it. */
static smelt_status random_numbers(smelt_context *ctx) {
  static uint64_t first[2], second[2]; /* the bits */
  static bool known;
  uint64_t a[2], b[2];
  smelt_error err;
  bool seeded = false;
  for (int tries = 0; tries < 3 && !seeded; tries++) seeded = smelt_seed(ctx, 7) == SMELT_OK;
  smelt_tensor *x = smelt_rand(ctx, SMELT_F64, 1, (int64_t[]){2});
  for (int tries = 0; tries < 3 && smelt_check(x, NULL) == SMELT_ERR_MEMORY; tries++) {
    smelt_drop(x);
    x = smelt_rand(ctx, SMELT_F64, 1, (int64_t[]){2});
  }
  smelt_tensor *y = smelt_rand(ctx, SMELT_F64, 1, (int64_t[]){2});
  bool drawn = seeded && smelt_check(x, NULL) == SMELT_OK;
  smelt_status status = bear(__func__, smelt_into_host(x, SMELT_F64, a, sizeof a, &err), &err);
  smelt_status then = bear(__func__, smelt_into_host(y, SMELT_F64, b, sizeof b, &err), &err);
  if (!known && seeded && status == SMELT_OK && then == SMELT_OK) {
    memcpy(first, a, sizeof a);
    memcpy(second, b, sizeof b);
    known = true;
  }
  if (seeded && status == SMELT_OK && memcmp(a, first, sizeof a) != 0)
    complain(__func__, "other numbers at first");
  if (drawn && then == SMELT_OK && memcmp(b, second, sizeof b) != 0)
    complain(__func__, "other numbers at second");
  return worse(status, then);
}

/* Longer than a kernel and than a segment may be. */
static smelt_status long_chain(smelt_context *ctx) {
  smelt_tensor *t = F32S(ctx, 0, 1);
  for (int i = 0; i < 300; i++) t = smelt_sub(smelt_add(t, 2), 1);
  return EXPECT_F32(t, 300, 301);
}

static void count_call(void *user) { ++*(int *)user; }

static smelt_status wrapped_memory(smelt_context *ctx) {
  static const float data[] = {1, 2, 3, 4};
  int freed = 0;
  smelt_tensor *t = smelt_wrap(ctx, SMELT_F32, 2, (int64_t[]){2, 2}, data, count_call, &freed);
  smelt_status status = EXPECT_F32(smelt_negative(t), -1, -2, -3, -4);
  (void)smelt_sync(ctx, NULL);
  if (freed != 1) complain(__func__, "the free function did not run once");
  return status;
}

static smelt_status wrong_shapes(smelt_context *ctx) {
  smelt_tensor *bad = smelt_add(F32S(ctx, 1, 2), F32S(ctx, 1, 2, 3));
  smelt_tensor *more = smelt_exp(smelt_ref(bad));
  smelt_tensor *good = smelt_abs(F32S(ctx, -1));
  smelt_status cause = smelt_check(bad, NULL), inherited = smelt_check(more, NULL);
  if (cause != SMELT_ERR_SHAPE && cause != SMELT_ERR_MEMORY) complain(__func__, "another cause");
  if (inherited != cause && inherited != SMELT_ERR_MEMORY) complain(__func__, "another cause inherited");
  smelt_drop(bad);
  smelt_drop(more);
  return worse(EXPECT_F32(good, 1), inherited == SMELT_ERR_SHAPE ? SMELT_OK : SMELT_ERR_MEMORY);
}

static smelt_status stale_references(smelt_context *ctx) {
  smelt_tensor *x = F32S(ctx, 4);
  smelt_tensor *same; /* as the analyzer does not see, which would be right to complain */
  memcpy(&same, &x, sizeof same);
  smelt_tensor *root = smelt_sqrt(x);
  smelt_tensor *stale = smelt_negative(same);
  smelt_status cause = smelt_check(stale, NULL);
  if (cause != SMELT_ERR_STALE && cause != SMELT_ERR_MEMORY) complain(__func__, "not stale");
  smelt_drop(stale);
  return worse(EXPECT_F32(root, 2), cause == SMELT_ERR_STALE ? SMELT_OK : SMELT_ERR_MEMORY);
}

static smelt_status text_of(const smelt_tensor *t, const char *expected) {
  char buf[200];
  smelt_error err;
  smelt_status status = bear(__func__, smelt_format(t, buf, sizeof buf, NULL, &err), &err);
  if (status == SMELT_OK && strcmp(buf, expected) != 0) complain("text", buf);
  return status;
}

static smelt_status printed(smelt_context *ctx) {
  smelt_tensor *t =
      smelt_mul(smelt_from_host(ctx, SMELT_F32, 2, (int64_t[]){2, 2}, (float[]){1, 2.5f, 3, -4}), 2);
  smelt_status status = text_of(t, "[[ 2.  5.]\n [ 6. -8.]]");
  smelt_drop(t);
  return status;
}

static smelt_status several_at_once(smelt_context *ctx) {
  smelt_tensor *x = F32S(ctx, 1, 2), *y = smelt_add(smelt_ref(x), 1), *z = smelt_mul(x, 3);
  smelt_error err;
  smelt_status status = bear(__func__, smelt_eval((const smelt_tensor *[]){y, z}, 2, &err), &err);
  status = worse(status, EXPECT_F32(y, 2, 3));
  return worse(status, EXPECT_F32(z, 3, 6));
}

static void *add_elsewhere(void *argument) {
  smelt_tensor **t = argument;
  t[1] = smelt_mul(smelt_ref(t[0]), 2);
  t[0] = smelt_add(t[0], 1);
  return NULL;
}

/* A thread uses a tensor that is pending here, and leaves with its own work pending. */
static smelt_status another_thread(smelt_context *ctx) {
  smelt_tensor *x = smelt_mul(F32S(ctx, 1, 2), 3), *t[] = {smelt_ref(x), NULL};
  pthread_t thread;
  if (pthread_create(&thread, NULL, add_elsewhere, t) != 0) complain(__func__, "no thread");
  else (void)pthread_join(thread, NULL);
  smelt_status status = worse(EXPECT_F32(t[0], 4, 7), EXPECT_F32(t[1], 6, 12));
  return worse(status, EXPECT_F32(x, 3, 6));
}

static smelt_status files(smelt_context *ctx) {
  char path[] = "/tmp/smelt-fault-XXXXXX.npy";
  int file = mkstemps(path, 4);
  if (file < 0 || close(file) != 0 || unlink(path) != 0) complain(__func__, "no temporary file");
  smelt_tensor *t = smelt_add(F32S(ctx, 1, 2, 3), 1), *loaded = NULL;
  smelt_error err;
  smelt_status status = bear(__func__, smelt_npy_save(t, path, &err), &err);
  if ((access(path, F_OK) == 0) != (status == SMELT_OK)) complain(__func__, "a file is there or missing");
  if (status == SMELT_OK) status = bear(__func__, smelt_npy_load(ctx, path, &loaded, &err), &err);
  if (status == SMELT_OK) status = EXPECT_F32(loaded, 2, 3, 4);
  smelt_drop(t);
  (void)unlink(path);
  return status;
}

static smelt_status copied(smelt_context *ctx) {
  smelt_context_desc desc = SMELT_CONTEXT_DESC_INIT;
  smelt_error err;
  desc.device = "ref";
  smelt_context *other = smelt_context_create(&desc, &err);
  if (!other) return bear(__func__, err.code, &err);
  smelt_tensor *copy = smelt_to_device(smelt_add(F32S(ctx, 1, 2), 1), other);
  smelt_status status = EXPECT_F32(smelt_mul(copy, 2), 4, 6);
  if (smelt_context_destroy(other, &err) != SMELT_OK) complain(__func__, err.text);
  return status;
}

static smelt_status explained(smelt_context *ctx) {
  smelt_error err;
  smelt_explanation *e;
  smelt_status status = bear(__func__, smelt_explain_begin(ctx, &err), &err);
  status = worse(status, expression(ctx));
  status = worse(status, bear(__func__, smelt_explain_end(ctx, &e, &err), &err));
  if (status == SMELT_OK && smelt_explanation_kernels(e) == 0) complain(__func__, "nothing is explained");
  if (e)
    status =
        worse(status,
              bear(__func__, smelt_explanation_format(e, SMELT_EXPLANATION_JSON, NULL, 0, NULL, &err), &err));
  smelt_explanation_free(e);
  return status;
}

typedef struct subject {
  const char *name;
  smelt_status (*run)(smelt_context *ctx);
  smelt_context_desc desc;
} subject;

static void ignore_line(void *user, const char *line) { (void)user, (void)line; }

static const smelt_context_desc by_default = SMELT_CONTEXT_DESC_INIT;

/* --- One round --------------------------------------------------------------------------------- */

static void check_end(smelt_context *ctx, int64_t blocks) {
  smelt_error err;
  smelt_counters c = SMELT_COUNTERS_INIT;
  (void)smelt_sync(ctx, NULL);
  (void)smelt_context_counters(ctx, &c);
  if (c.live_bytes || c.live_references) complain("the end", "bytes or references are in use");
  if (smelt_context_destroy(ctx, &err) != SMELT_OK) complain("the end", err.text);
  if (fail_alloc_blocks() != blocks) complain("the end", "memory is lost");
}

/* Answers the number of allocations that could fail. */
static uint64_t run_inside(const subject *s, uint64_t n, shortage how) {
  int64_t blocks = fail_alloc_blocks();
  smelt_context *ctx = smelt_context_create(&s->desc, NULL);
  smelt_tensor *other = smelt_mul(F32S(ctx, 1, 2), 8);
  smelt_tensor *ready = F32S(ctx, 5, 6);
  fail_alloc_at(n, how);
  (void)s->run(ctx);
  uint64_t allocations = fail_alloc_count();
  fail_alloc_at(0, SHORT_ONCE);
  if (smelt_check(other, NULL) == SMELT_ERR_MEMORY)
    smelt_drop(other); /* pending in the segment that failed */
  else (void)EXPECT_F32(other, 8, 16);
  (void)EXPECT_F32(ready, 5, 6);
  if (s->run(ctx) != SMELT_OK) complain("the second time", "no success");
  check_end(ctx, blocks);
  return allocations;
}

static uint64_t run_around(const subject *s, uint64_t n, shortage how) {
  int64_t blocks = fail_alloc_blocks();
  smelt_error err;
  fail_alloc_at(n, how);
  smelt_context *ctx = smelt_context_create(&s->desc, &err);
  if (ctx) (void)s->run(ctx);
  else (void)bear("smelt_context_create", err.code, &err);
  if (ctx && smelt_context_destroy(ctx, &err) != SMELT_OK) complain("the end", err.text);
  uint64_t allocations = fail_alloc_count();
  fail_alloc_at(0, SHORT_ONCE);
  if (fail_alloc_blocks() != blocks) complain("the end", "memory is lost");
  return allocations;
}

/* --- All rounds ----------------------------------------------------------------------------------- */

typedef uint64_t round_fn(const subject *s, uint64_t n, shortage how);

/* The round that runs, where the parent sees it if this process crashes. */
static char (*position)[200];

static uint64_t run_round(const subject *s, const char *way, round_fn *round, uint64_t n, shortage how) {
  (void)snprintf(*position, sizeof *position, "%s, %s, allocation %" PRIu64 "%s failing", s->name, way, n,
                 how == SHORT_ONCE ? "" : " and all later ones");
  uint64_t allocations = round(s, n, how);
  if (*wrong) (void)printf("%s: %s\n", *position, wrong);
  return allocations;
}

static bool run_rounds(fault_totals *totals, const subject *s, const char *way, round_fn *round,
                       shortage how) {
  double start = fault_now();
  uint64_t allocations = run_round(s, way, round, 0, how), n;
  fault_sample sample = fault_sample_make(totals, allocations, fault_now() - start);
  while (!*wrong && (n = fault_sample_next(&sample)) > 0) (void)run_round(s, way, round, n, how);
  return !*wrong;
}

static void run_subject(fault_totals *totals, const subject *s) {
  bool good = run_rounds(totals, s, "inside", run_inside, SHORT_ONCE) &&
              run_rounds(totals, s, "inside", run_inside, SHORT_FROM_THEN_ON) &&
              run_rounds(totals, s, "around", run_around, SHORT_ONCE) &&
              run_rounds(totals, s, "around", run_around, SHORT_FROM_THEN_ON);
  totals->subjects++;
  totals->failed += !good;
  *wrong = 0;
}

/* Makes the table of references so large that no program lets it grow: it is
 * never given back. */
static void warm_up(void) {
  static smelt_tensor *refs[3000];
  enum { N = sizeof refs / sizeof refs[0] };
  for (int i = 0; i < N; i++) refs[i] = smelt_scalar_i64(i);
  for (int i = 0; i < N; i++) smelt_drop(refs[i]);
}

/* Here the table does grow: in processes of their own. */
static void many_references(void *user) {
  (void)user;
  enum { N = 1500 };
  static smelt_tensor *refs[N];
  smelt_context *ctx = smelt_context_create(NULL, NULL);
  if (!ctx) return;
  smelt_tensor *t = F32S(ctx, 1);
  for (int i = 0; i < N; i++) refs[i] = smelt_ref(t);
  for (int i = 0; i < N; i++) {
    smelt_status status = EXPECT_F32(refs[i], 1);
    if (status != SMELT_OK && status != SMELT_ERR_MEMORY) complain(__func__, "another status");
  }
  smelt_drop(t);
  if (smelt_context_destroy(ctx, NULL) != SMELT_OK) complain(__func__, "a leak");
  if (*wrong) {
    (void)printf("%s\n", wrong);
    exit(EXIT_FAILURE);
  }
}

static int run_all(int argc, char **argv) {
  smelt_context_desc unfused = by_default, logged = by_default, tight = by_default, ref = by_default;
  unfused.fusion = SMELT_OFF;
  logged.log = "all";
  logged.log_fn = ignore_line;
  tight.max_ops = 3;
  tight.max_segment_ops = 4;
  ref.device = "ref";
  const subject subjects[] = {
      {"expression", expression, by_default},
      {"expression, logged", expression, logged},
      {"expression, unfused", expression, unfused},
      {"expression, ref", expression, ref},
      {"conversions", conversions, by_default},
      {"conversions, logged", conversions, logged},
      {"kept values", kept_values, by_default},
      {"kept values, tight", kept_values, tight},
      {"kept values, ref", kept_values, ref},
      {"weak scalars", weak_scalars, by_default},
      {"creation", creation, by_default},
      {"creation, tight", creation, tight},
      {"random numbers", random_numbers, by_default},
      {"views, ref", views, ref},
      {"reductions, ref", reductions, ref},
      {"selections, ref", selections, ref},
      {"long chain", long_chain, by_default},
      {"wrapped memory", wrapped_memory, by_default},
      {"wrong shapes", wrong_shapes, by_default},
      {"stale references", stale_references, logged},
      {"printed", printed, by_default},
      {"several at once", several_at_once, by_default},
      {"another thread", another_thread, by_default},
      {"another thread, ref", another_thread, ref},
      {"files", files, by_default},
      {"copied", copied, by_default},
      {"explained", explained, by_default},
      {"explained, ref", explained, ref},
  };
  fault_totals totals = {.all = false};
  (void)fault_options(&totals, argc, argv);
  fault_loop(&totals, "many references", many_references, NULL);
  warm_up();
  for (size_t i = 0; i < sizeof subjects / sizeof subjects[0]; i++) run_subject(&totals, &subjects[i]);
  return fault_report(&totals, "programs");
}

int main(int argc, char **argv) {
  position = mmap(NULL, sizeof *position, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  int status = 0;
  pid_t child = fork();
  if (child == 0) return run_all(argc, argv);
  if (child < 0 || waitpid(child, &status, 0) != child) return EXIT_FAILURE;
  if (WIFEXITED(status) && WEXITSTATUS(status) <= EXIT_FAILURE) return WEXITSTATUS(status);
  (void)printf("%s: no end\n", *position);
  return EXIT_FAILURE;
}
