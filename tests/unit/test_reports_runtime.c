/* SPDX-License-Identifier: Apache-2.0
 *
 * Public reports about other lazy libraries, tried on this one: threads, errors, memory,
 * recursion and time to compile, as far as elementwise work goes. The numbers are those
 * of the project's list:
 *
 *   threads    B265 B267 B268 B271 B272 B273 B275 B276
 *   errors     B269 B279 B280 B281
 *   memory     B284 B285 B287 B288 B289 B291 B292 B293 B295 B296
 *   recursion  B297 B299 B300 B301
 *   time       B303 B304 B307 B308 B309 */
#define _POSIX_C_SOURCE 200809L
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>

#include "api_fixture.h"
#include "custom_fixture.h"

static smelt_tensor *filled(smelt_context *ctx, int64_t n, double value) {
  return smelt_full(ctx, value, SMELT_F32, 1, &n);
}

/* All elements have that value. */
static void check_all(smelt_tensor *t, double value) {
  double least = value_of(smelt_min(smelt_ref(t), NULL, 0, false)),
         most = value_of(smelt_max(t, NULL, 0, false));
  CHECK_F64(least, value);
  CHECK_F64(most, value);
}

static void compute(const smelt_tensor *t) {
  smelt_error err;
  CHECK_OK(smelt_eval(&t, 1, &err), err);
}

/* --- Threads --------------------------------------------------------------------------- */

typedef struct crew {
  smelt_context *ctx;
  pthread_mutex_t lock;
  smelt_tensor *shared;
  bool done;
  _Atomic int next; /* number of a thread */
} crew;

static void run_crew(crew *c, int n, void *(*work)(void *)) {
  pthread_t threads[30];
  for (int i = 0; i < n; i++) CHECK_I64(pthread_create(&threads[i], NULL, work, c), 0);
  for (int i = 0; i < n; i++) CHECK_I64(pthread_join(threads[i], NULL), 0);
}

static smelt_tensor *look(crew *c, bool *done) {
  (void)pthread_mutex_lock(&c->lock);
  smelt_tensor *t = smelt_ref(c->shared);
  *done = c->done;
  (void)pthread_mutex_unlock(&c->lock);
  return t;
}

static void *read_shared(void *user) {
  for (bool done = false; !done;) {
    float out[4];
    smelt_error err;
    CHECK_OK(smelt_into_host(smelt_mul(look(user, &done), 2), SMELT_F32, out, sizeof out, &err), err);
    CHECK(out[0] == out[1] && out[0] == out[2] && out[0] == out[3] && (int)out[0] % 2 == 0);
  }
  return NULL;
}

static void *write_shared(void *user) {
  crew *c = user;
  bool done;
  for (int i = 0; i < 1000; i++) {
    smelt_tensor *old = look(c, &done), *next = smelt_add(old, 1);
    (void)pthread_mutex_lock(&c->lock);
    smelt_tensor *gone = c->shared;
    c->shared = next;
    c->done = i == 999;
    (void)pthread_mutex_unlock(&c->lock);
    smelt_drop(gone);
  }
  return NULL;
}

static void *read_or_write(void *user) {
  return atomic_fetch_add(&((crew *)user)->next, 1) == 0 ? write_shared(user) : read_shared(user);
}

TEST(b265_readers_and_a_writer) {
  crew c = {.ctx = open_context(), .lock = PTHREAD_MUTEX_INITIALIZER};
  c.shared = filled(c.ctx, 4, 0);
  run_crew(&c, 5, read_or_write);
  check_all(c.shared, 1000);
  close_context(c.ctx);
}

static void *double_own(void *user) {
  crew *c = user;
  int number = atomic_fetch_add(&c->next, 1);
  smelt_tensor *a = filled(c->ctx, 100000, number);
  check_all(smelt_add(smelt_ref(a), a), 2 * number);
  return NULL;
}

TEST(b267_thirty_threads) {
  crew c = {.ctx = open_context()};
  run_crew(&c, 30, double_own);
  close_context(c.ctx);
}

static smelt_tensor *nth_expression(smelt_context *ctx, int i) {
  smelt_tensor *a = filled(ctx, 100000, i + 1.0), *b = filled(ctx, 100000, 2.0 * (i + 1));
  return i == 0 ? smelt_add(a, b) : i == 1 ? smelt_sub(a, b) : i == 2 ? smelt_mul(a, b) : smelt_div(a, b);
}

static void *repeat_own(void *user) {
  static const double expected[] = {3, -2, 18, 0.5};
  crew *c = user;
  int i = atomic_fetch_add(&c->next, 1) % 4;
  for (int round = 0; round < 5; round++) check_all(nth_expression(c->ctx, i), expected[i]);
  return NULL;
}

TEST(b268_the_last_expression_is_the_threads) {
  crew c = {.ctx = open_context()};
  run_crew(&c, 8, repeat_own);
  close_context(c.ctx);
}

TEST(b271_any_number_of_threads) {
  static const char *const counts[] = {"1", "8", "2", "16"};
  for (int i = 0; i < 4; i++) {
    CHECK_I64(setenv("SMELT_THREADS", counts[i], 1), 0);
    smelt_context *ctx = open_context();
    smelt_tensor *x = smelt_arange(ctx, 0, 100000, 1, SMELT_I64);
    CHECK_F64(value_of(smelt_sum(x, NULL, 0, false, SMELT_DTYPE_NONE)), 4999950000);
    close_context(ctx);
  }
}

/* Chain number i has i operations, which differ. */
static void *build_chains(void *user) {
  crew *c = user;
  for (int i = 1; i <= 20; i++) {
    smelt_tensor *t = number(c->ctx, 0.5F);
    for (int k = 0; k < i; k++) t = i >> (k % 5) & 1 ? smelt_abs(t) : smelt_add(t, 1);
    int added = 0;
    for (int k = 0; k < i; k++) added += !(i >> (k % 5) & 1);
    CHECK_F64(value_of(t), 0.5 + added);
  }
  return NULL;
}

TEST(b272_kernels_that_threads_make_at_once) {
  crew c = {.ctx = open_context()};
  run_crew(&c, 8, build_chains);
  CHECK(counters_of(c.ctx).kernels_compiled <= 20);
  close_context(c.ctx);
}

static void *record_much(void *user) {
  crew *c = user;
  bool longer = atomic_fetch_add(&c->next, 1) % 2;
  for (int round = 0; round < 5; round++) {
    smelt_tensor *t = filled(c->ctx, 10, 0);
    for (int i = 0; i < (longer ? 1000 : 300); i++) t = smelt_add(t, longer ? 1 : 2);
    check_all(t, longer ? 1000 : 600);
  }
  return NULL;
}

TEST(b273_records_of_threads_stay_apart) {
  crew c = {.ctx = open_context()};
  run_crew(&c, 2, record_much);
  close_context(c.ctx);
}

TEST(b275_one_operation_with_two_dtypes) {
  smelt_context *ctx = open_context();
  smelt_op_desc desc = SMELT_OP_DESC_INIT;
  desc.name = "add_one";
  desc.n_operands = 1;
  desc.expression = "add(x, 1)";
  CHECK_STATUS(smelt_op_register(ctx, &desc, NULL), SMELT_OK);
  smelt_tensor *x = number(ctx, 2), *half = smelt_astype(number(ctx, 3), SMELT_F16);
  smelt_tensor *y = smelt_call(NULL, "add_one", &x, 1, NULL),
               *z = smelt_call(NULL, "add_one", &half, 1, NULL);
  CHECK_F64(value_of(y), 3);
  CHECK_F64(value_of(z), 4);
  close_context(ctx);
}

static void *draw(void *user) {
  crew *c = user;
  float out[8], *all = (float *)c->shared;
  CHECK_STATUS(smelt_seed(c->ctx, 7), SMELT_OK);
  smelt_tensor *t = smelt_add(smelt_rand(c->ctx, SMELT_F32, DIMS(8)), 1);
  CHECK_STATUS(smelt_into_host(t, SMELT_F32, out, sizeof out, NULL), SMELT_OK);
  memcpy(all + 8L * atomic_fetch_add(&c->next, 1), out, sizeof out);
  return NULL;
}

TEST(b276_seeds_of_threads) {
  float all[16];
  crew c = {.ctx = open_context(), .shared = (smelt_tensor *)all};
  run_crew(&c, 1, draw);
  run_crew(&c, 1, draw);
  CHECK(memcmp(all, all + 8, sizeof all / 2) == 0);
  CHECK(all[0] != all[1]);
  close_context(c.ctx);
}

/* --- Errors -------------------------------------------------------------------------------- */

static smelt_tensor *failing(smelt_context *ctx, smelt_tensor *x) {
  return smelt_call(ctx, "fail", &x, 1, NULL);
}

static smelt_context *open_failing(void) {
  smelt_context *ctx = open_context();
  smelt_op_desc desc = SMELT_OP_DESC_INIT;
  desc.name = "fail";
  desc.n_operands = 1;
  desc.shape = like_first;
  desc.kernel = fail_to_launch;
  CHECK_STATUS(smelt_op_register(ctx, &desc, NULL), SMELT_OK);
  return ctx;
}

/* Also B269: an error of a worker is no result. */
TEST(b279_a_failure_among_others) {
  smelt_context *ctx = open_failing();
  smelt_tensor *a = number(ctx, 3), *b = smelt_mul(smelt_ref(a), 2), *c = failing(ctx, a);
  CHECK_F64(value_of(b), 6);
  check_poison(c, SMELT_ERR_LAUNCH, "fail: ");
  smelt_tensor *d = smelt_add(filled(ctx, 512, 2), 1);
  CHECK_F64(value_of(smelt_sum(d, NULL, 0, false, SMELT_DTYPE_NONE)), 1536);
  close_context(ctx);
}

TEST(b280_too_much_is_refused_once) {
  smelt_context *ctx = open_context();
  smelt_tensor *huge = smelt_exp(filled(ctx, (int64_t)1 << 50, 1));
  CHECK_STATUS(smelt_eval((const smelt_tensor *[]){huge}, 1, NULL), SMELT_ERR_MEMORY);
  smelt_drop(huge);
  for (int i = 0; i < 3; i++) CHECK_F64(value_of(smelt_add(number(ctx, 1), i)), 1 + i);
  close_context(ctx);
}

TEST(b281_errors_are_told_where_they_belong) {
  smelt_context *ctx = open_failing();
  smelt_tensor *x = failing(ctx, number(ctx, 1)), *y = smelt_add(number(ctx, 2), 1);
  CHECK_F64(value_of(y), 3);
  check_poison(x, SMELT_ERR_LAUNCH, "fail: ");
  close_context(ctx);
}

/* --- Memory ----------------------------------------------------------------------------------- */

/* Of this process, in KiB; a test has a process of its own. */
static long peak(void) {
  struct rusage usage;
  CHECK_I64(getrusage(RUSAGE_SELF, &usage), 0);
  return usage.ru_maxrss;
}

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
enum { PEAK_IS_KNOWN = false }; /* sanitizers keep what is freed */
#else
enum { PEAK_IS_KNOWN = true };
#endif

static double mean_of_randoms(smelt_context *ctx, int rank, const int64_t *dims) {
  smelt_tensor *r = smelt_zeros(ctx, SMELT_F32, rank, dims);
  for (int i = 0; i < 20; i++) r = smelt_add(r, smelt_rand(ctx, SMELT_F32, rank, dims));
  return value_of(smelt_mean(r, NULL, 0, false));
}

TEST(b284_an_accumulator_that_is_not_read) {
  enum { ROWS = 1000, COLUMNS = 2000 };
  smelt_context *ctx = open_context();
  (void)mean_of_randoms(ctx, DIMS(1, 1)); /* what compiles is there */
  long before = peak();
  double mean = mean_of_randoms(ctx, DIMS(ROWS, COLUMNS));
  CHECK(mean > 9.9 && mean < 10.1);
  if (PEAK_IS_KNOWN) CHECK(peak() - before < 10L * ROWS * COLUMNS * 4 / 1024);
  close_context(ctx);
}

TEST(b285_results_that_nobody_wants) {
  smelt_context *ctx = open_context();
  smelt_tensor *x = filled(ctx, 1000, 1);
  compute(x);
  uint64_t launches = counters_of(ctx).launches, bytes = counters_of(ctx).live_bytes;
  for (int k = 0; k < 10000; k++) smelt_drop(smelt_mul(smelt_ref(x), k));
  CHECK_STATUS(smelt_sync(ctx, NULL), SMELT_OK);
  /* Where a segment was full the last result was still wanted. */
  CHECK(counters_of(ctx).launches - launches <= 10000 / 512);
  CHECK_I64(counters_of(ctx).live_bytes, bytes);
  smelt_drop(x);
  close_context(ctx);
}

static float weights_after(bool sync, int rounds) {
  smelt_context *ctx = open_context();
  smelt_tensor *w = filled(ctx, 32, 1), *a = filled(ctx, 32, 0.5), *b = filled(ctx, 32, 0.25);
  float out[32];
  for (int i = 0; i < rounds; i++) {
    smelt_tensor *gradient = smelt_sub(smelt_mul(smelt_ref(w), smelt_ref(a)), smelt_ref(b));
    w = smelt_sub(w, smelt_mul(gradient, 0.01));
    if (sync) CHECK_STATUS(smelt_sync(ctx, NULL), SMELT_OK);
  }
  smelt_drop(a);
  smelt_drop(b);
  CHECK_STATUS(smelt_into_host(w, SMELT_F32, out, sizeof out, NULL), SMELT_OK);
  CHECK(counters_of(ctx).explorations < 10);
  close_context(ctx);
  return out[31];
}

TEST(b287_a_loop_without_a_sync) { CHECK_F64(weights_after(false, 1000), weights_after(true, 1000)); }

TEST(b288_a_shape_needs_no_program_of_its_own) {
  smelt_context *ctx = open_context();
  for (int n = 1; n <= 2000; n++) {
    smelt_tensor *y = smelt_add(smelt_mul(filled(ctx, n, 3), 2), 1);
    compute(y);
    smelt_drop(y);
  }
  CHECK(counters_of(ctx).explorations <= 4);
  CHECK(counters_of(ctx).kernels_compiled <= 4);
  close_context(ctx);
}

/* And B291. */
TEST(b289_plans_hold_no_memory) {
  smelt_context *ctx = open_context();
  for (int round = 0; round < 3; round++) {
    smelt_tensor *x = filled(ctx, 1 << 20, 1), *y;
    compute(x);
    y = smelt_add(x, 1);
    compute(y);
    CHECK_I64(counters_of(ctx).live_bytes, 4 << 20);
    smelt_drop(y);
    CHECK_STATUS(smelt_sync(ctx, NULL), SMELT_OK);
    CHECK_I64(counters_of(ctx).live_bytes, 0);
  }
  close_context(ctx);
}

TEST(b292_temporaries_go_when_they_are_read) {
  enum { N = 4 << 20 };
  smelt_context_desc desc = SMELT_CONTEXT_DESC_INIT;
  desc.max_ops = 5;
  smelt_context *ctx = open_context_with(&desc);
  check_all(smelt_exp(filled(ctx, 8, 0)), 1);
  long before = peak();
  smelt_tensor *t = filled(ctx, N, 0);
  for (int i = 0; i < 50; i++) t = i % 2 ? smelt_abs(t) : smelt_add(t, 1);
  compute(t);
  if (PEAK_IS_KNOWN) CHECK(peak() - before < 3L * N * 4 / 1024 + 20000);
  check_all(t, 25);
  close_context(ctx);
}

TEST(b293_many_lazy_operations) {
  smelt_context *ctx = open_context();
  smelt_tensor *t = number(ctx, 0);
  long warm = 0;
  for (int i = 1; i <= 200000; i++) {
    t = smelt_add(t, i % 2 ? 1 : -1);
    if (i % 1000 == 0) compute(t);
    if (i == 20000) warm = peak();
  }
  if (PEAK_IS_KNOWN) CHECK(peak() - warm < 4096);
  CHECK_F64(value_of(t), 0);
  close_context(ctx);
}

TEST(b295_host_data_that_nobody_reads) {
  enum { N = 1 << 18 };
  smelt_context *ctx = open_context();
  float *data = calloc(N, sizeof *data);
  smelt_drop(smelt_from_host(ctx, SMELT_F32, DIMS(N), data));
  long warm = peak();
  for (int i = 0; i < 1000; i++) smelt_drop(smelt_from_host(ctx, SMELT_F32, DIMS(N), data));
  if (PEAK_IS_KNOWN) CHECK(peak() - warm < 8192);
  CHECK_I64(counters_of(ctx).live_bytes, 0);
  free(data);
  close_context(ctx);
}

TEST(b296_a_large_tensor_that_is_given_up) {
  enum { N = 16 << 20 };
  smelt_context *ctx = open_context();
  check_all(smelt_add(filled(ctx, 64, 1), 1), 2);
  smelt_tensor *x = filled(ctx, N, 1);
  compute(x);
  long before = peak();
  smelt_tensor *y = smelt_add(x, 1);
  compute(y);
  CHECK_I64(counters_of(ctx).in_place_writes, 1);
  if (PEAK_IS_KNOWN) CHECK(peak() - before < 20000);
  smelt_drop(y);
  close_context(ctx);
}

/* --- Recursion ----------------------------------------------------------------------------------- */

static void on_little_stack(void *(*work)(void *)) {
  pthread_attr_t attributes;
  pthread_t thread;
  CHECK_I64(pthread_attr_init(&attributes), 0);
  CHECK_I64(pthread_attr_setstacksize(&attributes, (size_t)256 * 1024), 0);
  CHECK_I64(pthread_create(&thread, &attributes, work, NULL), 0);
  CHECK_I64(pthread_join(thread, NULL), 0);
  CHECK_I64(pthread_attr_destroy(&attributes), 0);
}

static void *drop_long_chain(void *unused) {
  smelt_context *ctx = open_context();
  smelt_tensor *y = filled(ctx, 8, 1);
  for (int i = 0; i < 100000; i++) y = smelt_sin(y);
  smelt_drop(y);
  close_context(ctx);
  return unused;
}

TEST(b297_a_long_chain_that_is_dropped) { on_little_stack(drop_long_chain); }

static void *nest_selections(void *unused) {
  smelt_context_desc desc = SMELT_CONTEXT_DESC_INIT;
  desc.max_ops = desc.max_segment_ops = 1000;
  smelt_context *ctx = open_context_with(&desc);
  smelt_tensor *x = filled(ctx, 64, 5), *t = filled(ctx, 64, 0);
  for (int i = 0; i < 60; i++) t = smelt_where(smelt_greater(smelt_ref(x), i), smelt_add(smelt_ref(t), 1), t);
  smelt_drop(x);
  check_all(t, 5);
  close_context(ctx);
  return unused;
}

TEST(b301_nested_selections) { on_little_stack(nest_selections); }

/* In seconds of the processor, so that others on the machine do not matter. */
static double now(void) {
  struct timespec t;
  CHECK_I64(clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t), 0);
  return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

TEST(b299_a_thousand_multiplications_in_one_kernel) {
  smelt_context_desc desc = SMELT_CONTEXT_DESC_INIT;
  desc.max_ops = desc.max_segment_ops = 2000;
  smelt_context *ctx = open_context_with(&desc);
  double begin = now();
  smelt_tensor *t = filled(ctx, 16, 3);
  for (int i = 0; i < 1000; i++) t = smelt_mul(t, 1.0);
  check_all(t, 3);
  CHECK(now() - begin < 5);
  close_context(ctx);
}

/* a becomes a + b, b becomes b/2 + a; in turn, with and without fusion. */
static void alternate(smelt_switch fusion, float *out) {
  smelt_context_desc desc = SMELT_CONTEXT_DESC_INIT;
  desc.fusion = fusion;
  smelt_context *ctx = open_context_with(&desc);
  smelt_tensor *a = number(ctx, 1e-30F), *b = number(ctx, 2e-30F);
  for (int i = 0; i < 1000; i++) {
    a = smelt_mul(smelt_add(a, smelt_ref(b)), 0.5);
    b = smelt_add(smelt_mul(b, 0.5), smelt_ref(a));
  }
  out[0] = (float)value_of(a);
  out[1] = (float)value_of(b);
  close_context(ctx);
}

TEST(b300_two_values_that_need_each_other) {
  float fused[2], apart[2];
  alternate(SMELT_ON, fused);
  alternate(SMELT_OFF, apart);
  CHECK(memcmp(fused, apart, sizeof fused) == 0);
}

/* --- Time to plan and compile ------------------------------------------------------------------------ */

/* The sum of n tensors, planned and compiled for the first time. */
static double time_of_sum(int n) {
  smelt_context *ctx = open_device("null:cpu-avx512");
  double begin = now();
  smelt_tensor *sum = filled(ctx, 16, 0);
  for (int i = 0; i < n; i++) {
    float data[16] = {0};
    sum = smelt_add(sum, smelt_from_host(ctx, SMELT_F32, DIMS(16), data));
  }
  compute(sum);
  double seconds = now() - begin;
  smelt_drop(sum);
  close_context(ctx);
  return seconds;
}

/* Least of several, as a single one may be disturbed. */
static double least(double (*measure)(int n), int n) {
  double best = measure(n);
  for (int i = 0; i < 5; i++) {
    double again = measure(n);
    if (again < best) best = again;
  }
  return best;
}

TEST(b303_sums_of_many_tensors) {
  CHECK(least(time_of_sum, 120) / 120 < 4 * least(time_of_sum, 30) / 30 + 2e-5);
}

TEST(b304_halves_of_the_same) {
  smelt_context *ctx = open_context();
  smelt_tensor *p = number(ctx, 1);
  for (int i = 0; i < 60; i++) p = smelt_add(smelt_mul(smelt_ref(p), 0.5), smelt_mul(p, 0.5));
  CHECK_I64(counters_of(ctx).operations, 180);
  CHECK_F64(value_of(p), 1);
  close_context(ctx);
}

TEST(b307_many_axes) {
  smelt_context *ctx = open_context();
  int64_t dims[12];
  float data[4096], out[4096];
  for (int i = 0; i < 12; i++) dims[i] = 2;
  for (int i = 0; i < 4096; i++) data[i] = (float)i;
  smelt_tensor *x = smelt_from_host(ctx, SMELT_F32, 12, dims, data);
  smelt_tensor *y = smelt_add(smelt_permute_dims(x, NULL, 0), 1);
  CHECK_STATUS(smelt_into_host(y, SMELT_F32, out, sizeof out, NULL), SMELT_OK);
  for (int i = 0; i < 4096; i++) {
    int reversed = 0;
    for (int bit = 0; bit < 12; bit++) reversed |= (i >> bit & 1) << (11 - bit);
    CHECK_F64(out[i], reversed + 1);
  }
  close_context(ctx);
}

/* A tensor that n operations use, all of which are added. */
static double time_of_fan(int n) {
  CHECK(n > 0);
  smelt_context *ctx = open_device("null:cpu-avx512");
  smelt_tensor **list = malloc((size_t)n * sizeof *list), *x = filled(ctx, 4, 1);
  double begin = now();
  for (int i = 0; i < n; i++) list[i] = smelt_add(smelt_ref(x), i);
  for (int left = n; left > 1; left = (left + 1) / 2) {
    for (int i = 0; i < left / 2; i++) list[i] = smelt_add(list[2L * i], list[2L * i + 1]);
    if (left % 2) list[left / 2] = list[left - 1];
  }
  compute(list[0]);
  double seconds = now() - begin;
  smelt_drop(list[0]);
  smelt_drop(x);
  free(list);
  close_context(ctx);
  return seconds;
}

TEST(b308_many_readers_of_one_tensor) {
  CHECK(least(time_of_fan, 2000) < 4 * 4 * least(time_of_fan, 500) + 1e-3);
}

/* Small operations of five shapes, which have nothing to do with each other. */
static double time_of_many(int n) {
  smelt_context *ctx = open_device("null:cpu-avx512");
  smelt_tensor **list = malloc((size_t)n * sizeof *list);
  double begin = now();
  for (int i = 0; i < n; i++) list[i] = smelt_exp(filled(ctx, 1 + i % 5, i));
  CHECK_STATUS(smelt_sync(ctx, NULL), SMELT_OK);
  double seconds = now() - begin;
  for (int i = 0; i < n; i++) smelt_drop(list[i]);
  free(list);
  close_context(ctx);
  return seconds;
}

TEST(b309_independent_operations) {
  CHECK(least(time_of_many, 2000) < 4 * 4 * least(time_of_many, 500) + 1e-3);
}

TEST_MAIN(CASE(b265_readers_and_a_writer), CASE(b267_thirty_threads),
          CASE(b268_the_last_expression_is_the_threads), CASE(b271_any_number_of_threads),
          CASE(b272_kernels_that_threads_make_at_once), CASE(b273_records_of_threads_stay_apart),
          CASE(b275_one_operation_with_two_dtypes), CASE(b276_seeds_of_threads),
          CASE(b279_a_failure_among_others), CASE(b280_too_much_is_refused_once),
          CASE(b281_errors_are_told_where_they_belong), CASE(b284_an_accumulator_that_is_not_read),
          CASE(b285_results_that_nobody_wants), CASE(b287_a_loop_without_a_sync),
          CASE(b288_a_shape_needs_no_program_of_its_own), CASE(b289_plans_hold_no_memory),
          CASE(b292_temporaries_go_when_they_are_read), CASE(b293_many_lazy_operations),
          CASE(b295_host_data_that_nobody_reads), CASE(b296_a_large_tensor_that_is_given_up),
          CASE(b297_a_long_chain_that_is_dropped), CASE(b299_a_thousand_multiplications_in_one_kernel),
          CASE(b300_two_values_that_need_each_other), CASE(b301_nested_selections),
          CASE(b303_sums_of_many_tensors), CASE(b304_halves_of_the_same), CASE(b307_many_axes),
          CASE(b308_many_readers_of_one_tensor), CASE(b309_independent_operations))
