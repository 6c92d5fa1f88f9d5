/* SPDX-License-Identifier: Apache-2.0
 *
 * The skeleton of reductions by brute force: kernels over many extents, in one stage and
 * in two, in random chunks, run by the evaluator, by generated code and, for groups of threads, on
 * an OpenCL device, against a model of the canonical tree. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "codegen/llvm_codegen.h"
#include "drivers/drivers.h"
#include "harness.h"
#include "launch/reduce_skeleton.h"
#include "rt/object_loader.h"
#include "tree_model.h"

enum { MAX_BUFFERS = 1 + 3 * SM_REDUCE_TASKS, MAX_CHUNKS = 3 };

static uint64_t state = 5;

static int64_t below(int64_t n) {
  state = state * 6364136223846793005u + 1442695040888963407u;
  return (int64_t)(state >> 33) % n;
}

static const sm_profile
    processor = {.name = "processor", .vector_bytes = 64},
    teams = {.name = "teams", .vector_bytes = 16, .plane = 32, .max_group = 256, .shared_bytes = 48 * 1024},
    small_teams = {
        .name = "small teams", .vector_bytes = 4, .plane = 16, .max_group = 64, .shared_bytes = 4096};
static const sm_profile *profile = &processor;

static const char *const names[] = {
    [SM_REDUCTION_SUM] = "sum", [SM_REDUCTION_MEAN] = "mean",     [SM_REDUCTION_PROD] = "prod",
    [SM_REDUCTION_MAX] = "max", [SM_REDUCTION_MIN] = "min",       [SM_REDUCTION_ANY] = "any",
    [SM_REDUCTION_ALL] = "all", [SM_REDUCTION_ARGMAX] = "argmax", [SM_REDUCTION_ARGMIN] = "argmin"};

/* --- A problem ------------------------------------------------------------------------------- */

/* Buffers: the elements, a result of each task, then what is between stages. */
typedef struct problem {
  sm_reduce_extents extents;
  smelt_dtype dtype;
  int n;
  sm_reduce_task tasks[SM_REDUCE_TASKS];
  bool doubles; /* elements are doubled before, results after: work that is fused */
  int n_buffers;
  sm_kir_span buffers[MAX_BUFFERS];
} problem;

static int64_t count_elements(const problem *p) {
  return p->extents.outer * p->extents.reduced * p->extents.inner;
}
static int64_t count_results(const problem *p) { return p->extents.outer * p->extents.inner; }

static bool gives_index(const problem *p, int t) { return sm_reduction_gives_index(p->tasks[t].reduction); }
static smelt_dtype result_dtype(const problem *p, int t) {
  return gives_index(p, t) ? SMELT_I64 : p->tasks[t].dtype;
}

/* Of all buffers, one after another. */
static _Alignas(64) unsigned char memory[1 << 24];
static size_t used;

static void add_buffer(problem *p, int64_t elements, smelt_dtype dtype) {
  size_t bytes = (size_t)elements * smelt_dtype_size(dtype), space = (bytes + 63) / 64 * 64;
  CHECK(p->n_buffers < MAX_BUFFERS && space <= sizeof memory - used);
  p->buffers[p->n_buffers++] = (sm_kir_span){memory + used, bytes};
  used += space;
}

static void fill_element(problem *p, int64_t i) {
  static const double special[] = {0.0, -0.0, INFINITY, -INFINITY, NAN};
  double value = ((double)below(1 << 24) + 1) / (1 << 24) * (below(3) ? 1 : -1) * (below(8) ? 1 : 300);
  if (below(300) == 0) value = special[below(5)];
  void *at = (char *)p->buffers[0].data + (size_t)i * smelt_dtype_size(p->dtype);
  if (p->dtype == SMELT_F32) memcpy(at, &(float){(float)value}, 4);
  else if (p->dtype == SMELT_F64) memcpy(at, &value, 8);
  else if (p->dtype == SMELT_BOOL) memcpy(at, &(bool){below(300) == 0}, 1);
  else memcpy(at, &(int64_t){below(7) - 3}, smelt_dtype_size(p->dtype));
}

static void open_problem(problem *p) {
  add_buffer(p, count_elements(p), p->dtype);
  for (int64_t i = 0; i < count_elements(p); i++) fill_element(p, i);
  for (int t = 0; t < p->n; t++) add_buffer(p, count_results(p), result_dtype(p, t));
}

static void close_problem(problem *p) {
  p->n_buffers = 0;
  used = 0;
}

/* --- Kernels ------------------------------------------------------------------------------------ */

static int32_t twice(sm_kir_kernel *k, int32_t value) {
  return sm_kir_kop(k, SM_KOP_ADD, value, value, SM_KIR_NONE, SMELT_DTYPE_NONE);
}

static void load_elements(void *user, sm_kir_kernel *k, const sm_reduce_place *at, int n,
                          int32_t (*values)[SM_REDUCE_TASKS]) {
  const problem *p = user;
  for (int i = 0; i < n; i++) {
    int32_t value = sm_kir_load(k, 0, at[i].index, SM_KIR_NONE, at[i].width);
    if (p->doubles) value = twice(k, value);
    for (int t = 0; t < p->n; t++) values[i][t] = value;
  }
}

static void store_results(void *user, sm_kir_kernel *k, const sm_reduce_place *at, const int32_t *values) {
  const problem *p = user;
  bool team = at->writes != SM_KIR_NONE;
  if (team) (void)sm_kir_for(k, sm_kir_i64(k, 0), at->writes, 1);
  for (int t = 0; t < p->n; t++) {
    int32_t value = p->doubles && !gives_index(p, t) ? twice(k, values[t]) : values[t];
    sm_kir_store(k, 1 + t, at->index, SM_KIR_NONE, value);
  }
  if (team) sm_kir_end(k);
}

/* A stage: its form, its kernel, and the buffers that it binds. */
typedef struct stage {
  sm_reduce_form form;
  sm_kir_kernel kernel;
  int64_t sizes[SM_REDUCE_SIZES], items;
} stage;

static void open_stage(problem *p, sm_reduce_stage which, stage *s) {
  smelt_error err;
  sm_reduce_body body = {p, load_elements, store_results, NULL, NULL};
  s->form = sm_reduce_choose(p->tasks, p->n, 1, 0, &p->extents, which, profile);
  s->items = sm_reduce_work_items(&s->form, &p->extents);
  sm_reduce_size_values(&s->form, &p->extents, s->sizes);
  sm_kir_init(&s->kernel, &sm_malloc_allocator);
  strcpy(s->kernel.name, "reduce");
  (void)sm_kir_add_buffer(&s->kernel, p->dtype, false);
  for (int t = 0; t < p->n; t++) (void)sm_kir_add_buffer(&s->kernel, result_dtype(p, t), true);
  sm_reduce_kernel(&s->kernel, p->tasks, p->n, &s->form, &body);
  CHECK_OK(sm_kir_finish(&s->kernel, &err), err);
}

/* The first item of each chunk, and the end of the last. */
static int cut_chunks(int64_t items, int64_t *ends) {
  int n = 0;
  ends[0] = 0;
  while (n + 1 < MAX_CHUNKS && ends[n] < items) {
    ends[n + 1] = ends[n] + 1 + below(items - ends[n]);
    n++;
  }
  if (ends[n] < items) ends[++n] = items;
  return n;
}

static void evaluate(problem *p, const stage *s) {
  int64_t ends[MAX_CHUNKS + 1];
  for (int n = cut_chunks(s->items, ends); n-- > 0;) {
    smelt_error err;
    sm_kir_call call = {.buffers = p->buffers, .sizes = s->sizes, .begin = ends[n], .end = ends[n + 1]};
    CHECK_OK(sm_kir_eval(&s->kernel, &call, &err), err);
  }
}

typedef struct machine {
  sm_llvm llvm;
  sm_cpu_level level;
} machine;

static void run_code(problem *p, const stage *s, machine *m) {
  smelt_error err;
  sm_kir_kernel primitive;
  sm_object object;
  sm_code code;
  CHECK_OK(sm_kir_expand(&s->kernel, &primitive, &err), err);
  CHECK_OK(sm_llvm_compile(&m->llvm, &primitive, m->level, &sm_malloc_allocator, &object, NULL, &err), err);
  CHECK_OK(sm_code_load(object.data, object.size, SM_OBJECT_ENTRY, &code, &err), err);
  sm_free(&sm_malloc_allocator, object.data, object.size);
  void *data[MAX_BUFFERS];
  int64_t ends[MAX_CHUNKS + 1];
  for (int i = 0; i < p->n_buffers; i++) data[i] = p->buffers[i].data;
  for (int n = cut_chunks(s->items, ends); n-- > 0;) code.entry(data, s->sizes, NULL, ends[n], ends[n + 1]);
  sm_code_free(&code);
  sm_kir_free(&primitive);
}

/* The device gets all buffers, and gives all back. */
static void run_on_device(problem *p, stage *s, sm_device *device) {
  const sm_driver *driver = device->driver;
  sm_kir_span spans[MAX_BUFFERS];
  sm_kernel *kernel;
  smelt_error err;
  CHECK_OK(driver->compile(device, &s->kernel, &kernel, &err), err);
  for (int i = 0; i < p->n_buffers; i++) {
    size_t bytes = p->buffers[i].bytes ? p->buffers[i].bytes : 1;
    spans[i] = (sm_kir_span){driver->alloc(device, bytes), bytes};
    CHECK_OK(driver->upload(device, spans[i].data, 0, p->buffers[i].data, p->buffers[i].bytes, &err), err);
  }
  sm_launch launch = {.buffers = spans,
                      .n_buffers = (size_t)p->n_buffers,
                      .sizes = s->sizes,
                      .n_sizes = SM_REDUCE_SIZES,
                      .work_items = s->items,
                      .grain = s->form.abreast};
  CHECK_OK(driver->launch(device, kernel, &launch, &err), err);
  for (int i = 0; i < p->n_buffers; i++) {
    CHECK_OK(driver->download(device, spans[i].data, 0, p->buffers[i].data, p->buffers[i].bytes, &err), err);
    driver->free(device, spans[i].data, spans[i].bytes);
  }
  driver->release(device, kernel);
}

/* What runs kernels: a device, generated code, or the evaluator if there is neither. */
typedef struct runner {
  machine *code;
  sm_device *device;
} runner;

static void run_stage(problem *p, sm_reduce_stage which, runner on) {
  stage s;
  open_stage(p, which, &s);
  if (on.device) {
    run_on_device(p, &s, on.device);
    return;
  }
  if (on.code) run_code(p, &s, on.code);
  else evaluate(p, &s);
  sm_kir_free(&s.kernel);
}

static void run_two_stages(problem *p, runner on) {
  int before = p->n_buffers;
  size_t used_before = used;
  sm_reduce_form form = sm_reduce_choose(p->tasks, p->n, 1, 0, &p->extents, SM_REDUCE_PARTIAL, profile);
  int64_t parts = sm_reduce_partials(&form, &p->extents);
  for (int t = 0; t < p->n; t++) {
    add_buffer(p, parts, p->tasks[t].dtype);
    if (gives_index(p, t)) add_buffer(p, parts, SMELT_I64);
  }
  run_stage(p, SM_REDUCE_PARTIAL, on);
  run_stage(p, SM_REDUCE_COMBINE, on);
  p->n_buffers = before;
  used = used_before;
}

/* --- What is right --------------------------------------------------------------------------------- */

static double number_at(smelt_dtype dtype, const void *items, int64_t i) {
  sm_scalar s = sm_scalar_of(dtype, (const char *)items + (size_t)i * smelt_dtype_size(dtype));
  return s.kind == SM_KIND_FLOAT  ? s.as.f64
         : s.kind == SM_KIND_SINT ? (double)s.as.i64
         : s.kind == SM_KIND_UINT ? (double)s.as.u64
                                  : (double)s.as.b;
}

/* Of an integer dtype what wrapped sums and products leave. */
static double wrapped(smelt_dtype dtype, uint64_t word) { return number_at(dtype, &word, 0); }

static double model_result(const problem *p, int t, const double *x, int64_t n) {
  const char *name = names[p->tasks[t].reduction];
  static float narrow[1 << 17];
  if (gives_index(p, t)) return (double)model_index(name, x, n);
  if (p->dtype == SMELT_BOOL) return model_truth(name, x, n);
  bool is_float = p->dtype == SMELT_F32 || p->dtype == SMELT_F64;
  bool is_word = !is_float && strcmp(name, "max") != 0 && strcmp(name, "min") != 0;
  if (is_word) return wrapped(p->dtype, model_word(name, x, n));
  if (p->dtype != SMELT_F32) return model_double(name, x, n);
  CHECK(n <= 1 << 17);
  for (int64_t i = 0; i < n; i++) narrow[i] = (float)x[i];
  return (double)model_float(name, narrow, n);
}

static void check_result(const problem *p, int64_t outer, int64_t inner, double *x) {
  const sm_reduce_extents *e = &p->extents;
  double factor = p->doubles ? 2 : 1;
  for (int64_t r = 0; r < e->reduced; r++)
    x[r] = factor * number_at(p->dtype, p->buffers[0].data, (outer * e->reduced + r) * e->inner + inner);
  for (int t = 0; t < p->n; t++) {
    double expected = model_result(p, t, x, e->reduced);
    double actual = number_at(result_dtype(p, t), p->buffers[1 + t].data, outer * e->inner + inner);
    CHECK_F64(actual, gives_index(p, t) ? expected : factor * expected);
  }
}

static void check_results(problem *p) {
  double *x = malloc((size_t)(p->extents.reduced + 1) * sizeof *x);
  for (int64_t o = 0; o < p->extents.outer; o++)
    for (int64_t i = 0; i < p->extents.inner; i++) check_result(p, o, i, x);
  free(x);
  for (int t = 0; t < p->n; t++) memset(p->buffers[1 + t].data, 0xa5, p->buffers[1 + t].bytes);
}

static void check_stages(problem *p, runner on) {
  run_stage(p, SM_REDUCE_WHOLE, on);
  check_results(p);
  run_two_stages(p, on);
  check_results(p);
}

static void check_code(problem *p, sm_cpu_level level) {
  smelt_error err;
  machine m = {.level = level};
  if (level == SM_CPU_BASELINE || !sm_cpu_supports(level) || sm_llvm_open(&m.llvm, "", &err) != SMELT_OK)
    return;
  check_stages(p, (runner){.code = &m});
  sm_llvm_close(&m.llvm);
}

/* By the evaluator alone: groups of threads are nothing for processors. */
static void check_teams(problem *p, const sm_profile *device) {
  profile = device;
  check_stages(p, (runner){0});
  profile = &processor;
}

/* In one stage and in two, by the evaluator and by code for one level or the other. */
static void check_problem(problem *p) {
  open_problem(p);
  check_stages(p, (runner){0});
  check_code(p, below(2) ? SM_CPU_AVX2 : sm_cpu_detect());
  check_teams(p, &teams);
  check_teams(p, &small_teams);
  close_problem(p);
}

/* --- The tests ---------------------------------------------------------------------------------------- */

static const sm_reduction of_numbers[] = {SM_REDUCTION_SUM, SM_REDUCTION_PROD,   SM_REDUCTION_MAX,
                                          SM_REDUCTION_MIN, SM_REDUCTION_ARGMAX, SM_REDUCTION_ARGMIN};

static bool needs_elements(sm_reduction r) { return sm_reduction_needs_elements(r); }

static void add_task(problem *p, sm_reduction r) {
  if (p->extents.reduced == 0 && needs_elements(r)) return;
  p->tasks[p->n++] = (sm_reduce_task){r, p->dtype, 0};
}

/* All reductions that the dtype has, in one kernel. */
static problem all_tasks(smelt_dtype dtype, int64_t outer, int64_t reduced, int64_t inner) {
  problem p = {.extents = {outer, reduced, inner}, .dtype = dtype};
  if (dtype == SMELT_BOOL) {
    add_task(&p, SM_REDUCTION_ANY);
    add_task(&p, SM_REDUCTION_ALL);
    return p;
  }
  for (size_t i = 0; i < sizeof of_numbers / sizeof of_numbers[0]; i++) add_task(&p, of_numbers[i]);
  if (dtype == SMELT_F32 || dtype == SMELT_F64) add_task(&p, SM_REDUCTION_MEAN);
  return p;
}

static const smelt_dtype dtypes[] = {SMELT_F32, SMELT_F64, SMELT_I32, SMELT_U8, SMELT_I64, SMELT_BOOL};
enum { DTYPES = sizeof dtypes / sizeof dtypes[0] };
static const int64_t lengths[] = {0,   1,   2,   15,  16,  17,  31,  33,   64,   240,  255, 256,
                                  257, 271, 511, 512, 513, 767, 769, 1024, 2049, 4096, 4099};
enum { LENGTHS = sizeof lengths / sizeof lengths[0] };

TEST(rows) {
  for (int i = 0; i < LENGTHS; i++) {
    problem p = all_tasks(SMELT_F32, 2, lengths[i], 1);
    check_problem(&p);
    p = all_tasks(dtypes[i % DTYPES], 1 + i % 3, lengths[i], 1);
    if (p.dtype != SMELT_F32) check_problem(&p);
  }
}

TEST(columns) {
  static const int64_t inner[] = {2, 3, 16, 17, 37};
  for (int i = 0; i < LENGTHS; i++) {
    problem p = all_tasks(dtypes[i % DTYPES], 1 + i % 2, lengths[i], inner[i % 5]);
    check_problem(&p);
  }
}

/* More columns than a strip has. */
TEST(many_columns) {
  problem p = all_tasks(SMELT_F32, 2, 300, 1500);
  check_problem(&p);
  p = all_tasks(SMELT_BOOL, 1, 40, 3001);
  check_problem(&p);
}

TEST(long_ones) {
  problem p = all_tasks(SMELT_F32, 1, 100001, 1);
  check_problem(&p);
  p = all_tasks(SMELT_F32, 1, 20011, 3);
  check_problem(&p);
}

TEST(one_task_alone) {
  for (size_t i = 0; i < sizeof of_numbers / sizeof of_numbers[0]; i++) {
    for (int inner = 1; inner < 20; inner += 18) {
      problem p = {.extents = {3, 777, inner}, .dtype = SMELT_F32};
      add_task(&p, of_numbers[i]);
      check_problem(&p);
    }
  }
}

TEST(work_before_and_after) {
  for (int inner = 1; inner < 40; inner += 19) {
    problem p = all_tasks(SMELT_F32, 2, 600, inner);
    p.doubles = true;
    check_problem(&p);
  }
}

TEST(nothing_to_do) {
  problem p = all_tasks(SMELT_F32, 0, 5, 1);
  check_problem(&p);
  p = all_tasks(SMELT_F32, 3, 5, 0);
  check_problem(&p);
}

/* Of so many groups as no elements are there for: by teams as by single threads. */
TEST(combining_many) {
  static const int64_t groups[] = {9, 64, 255, 1024, 1500};
  for (size_t i = 0; i < sizeof groups / sizeof groups[0]; i++) {
    problem p = all_tasks(SMELT_F32, 1, (int64_t)SM_TREE_BLOCK * 64 * groups[i], 1);
    unsigned char once[2 * SM_REDUCE_TASKS][sizeof(int64_t)];
    add_buffer(&p, 0, SMELT_F32);
    for (int t = 0; t < p.n; t++) add_buffer(&p, 1, result_dtype(&p, t));
    for (int t = 0; t < p.n; t++) {
      add_buffer(&p, groups[i], SMELT_F32);
      float *values = p.buffers[p.n_buffers - 1].data;
      for (int64_t g = 0; g < groups[i]; g++) values[g] = (float)below(1 << 20) / (1 << 18) - 2;
      if (!gives_index(&p, t)) continue;
      add_buffer(&p, groups[i], SMELT_I64);
      for (int64_t g = 0; g < groups[i]; g++) ((int64_t *)p.buffers[p.n_buffers - 1].data)[g] = g * 20000;
    }
    run_stage(&p, SM_REDUCE_COMBINE, (runner){0});
    for (int t = 0; t < p.n; t++) memcpy(once[t], p.buffers[1 + t].data, p.buffers[1 + t].bytes);
    for (int small = 0; small < 2; small++) {
      profile = small ? &small_teams : &teams;
      run_stage(&p, SM_REDUCE_COMBINE, (runner){0});
      for (int t = 0; t < p.n; t++)
        CHECK(memcmp(once[t], p.buffers[1 + t].data, p.buffers[1 + t].bytes) == 0);
    }
    profile = &processor;
    close_problem(&p);
  }
}

/* Where there are no GPUs the device is a processor, which would have a thread for each result. */
TEST(teams_on_a_device) {
  static const sm_log no_log = {.enabled = 0};
  static const sm_reduce_extents extents[] = {{3, 20001, 1}, {2, 1030, 6}};
  smelt_error err;
  sm_device device;
  if (sm_device_open(&device, "opencl", sm_drivers, &sm_malloc_allocator, &no_log, &err) != SMELT_OK)
    TEST_SKIP(err.text);
  sm_profile own = *device.profile;
  own.shared_bytes = 32 * 1024;
  profile = &own;
  for (size_t i = 0; i < sizeof extents / sizeof extents[0]; i++) {
    problem p = {.extents = extents[i], .dtype = SMELT_F32};
    add_task(&p, SM_REDUCTION_SUM);
    add_task(&p, SM_REDUCTION_ARGMAX);
    open_problem(&p);
    check_stages(&p, (runner){.device = &device});
    close_problem(&p);
  }
  profile = &processor;
  sm_device_close(&device);
}

/* What is read at once on a large device: rows by a team each, columns by several teams. */
TEST(forms_of_teams) {
  problem p = all_tasks(SMELT_F32, 4096, 4096, 1);
  p.n = 1;
  profile = &teams;
  sm_reduce_form f = sm_reduce_choose(p.tasks, 1, 1, 0, &p.extents, SM_REDUCE_WHOLE, profile);
  CHECK(f.threads == 64 && f.abreast == 1 && f.one_leaf && f.whole_blocks && f.vector == 4);
  CHECK(!sm_reduce_wants_stages(&p.extents, 1, profile));
  p.extents = (sm_reduce_extents){1, 4096, 4096};
  CHECK(sm_reduce_wants_stages(&p.extents, 1, profile));
  f = sm_reduce_choose(p.tasks, 1, 1, 0, &p.extents, SM_REDUCE_PARTIAL, profile);
  CHECK(f.threads == 256 && f.abreast == 16 && f.one_leaf && f.vector == 4);
  CHECK_I64(sm_reduce_work_items(&f, &p.extents) / f.abreast, 1024);
  p.extents = (sm_reduce_extents){1 << 20, 8, 1};
  f = sm_reduce_choose(p.tasks, 1, 1, 0, &p.extents, SM_REDUCE_WHOLE, profile);
  CHECK_I64(f.threads, 0);
  profile = &processor;
}

/* Slots fit a small stack whatever the extents are. */
TEST(forms) {
  for (int round = 0; round < 2000; round++) {
    problem p = all_tasks(dtypes[below(DTYPES)], 1 + below(5), below((int64_t)1 << below(31)),
                          1 + below((int64_t)1 << below(14)));
    int64_t bytes = 0;
    sm_reduce_form f = sm_reduce_choose(p.tasks, p.n, 1, 0, &p.extents, (sm_reduce_stage)below(3), profile);
    for (int t = 0; t < p.n; t++) bytes += (int64_t)smelt_dtype_size(p.dtype) + (gives_index(&p, t) ? 8 : 0);
    CHECK(f.strip % f.width == 0 && f.width % f.vector == 0 && f.vector >= 1);
    CHECK(f.levels == 64 || bytes * f.strip * f.levels <= (int64_t)1 << 16);
  }
  CHECK(sm_reduce_wants_stages(&(sm_reduce_extents){1, 1 << 24, 1}, 1, profile));
  CHECK(sm_reduce_wants_stages(&(sm_reduce_extents){1, 1 << 20, 8}, 1, profile));
  CHECK(!sm_reduce_wants_stages(&(sm_reduce_extents){4096, 1 << 20, 1}, 1, profile));
  CHECK(!sm_reduce_wants_stages(&(sm_reduce_extents){1, 4096, 1}, 1, profile));
  CHECK(sm_reduce_wants_stages(&(sm_reduce_extents){1, 1 << 20, 1}, 3, profile));
  CHECK(sm_reduce_wants_stages(&(sm_reduce_extents){16, 1 << 16, 1}, 1, profile));
  CHECK(!sm_reduce_wants_stages(&(sm_reduce_extents){16, 1 << 16, 1}, 3, profile));
}

/* Memory that is left, in allocations. */
static int allocations_left;

static void *allocate_some(void *user, void *ptr, size_t old, size_t size) {
  if (size && allocations_left-- <= 0) return NULL;
  return sm_malloc_allocator.fn(user, ptr, old, size);
}

TEST(lack_of_memory) {
  const sm_allocator scarce = {.fn = allocate_some};
  bool enough = false;
  for (int most = 0; !enough; most++) {
    problem p = all_tasks(SMELT_F32, 2, 600, most % 2 ? 31 : 1);
    sm_reduce_body body = {&p, load_elements, store_results, NULL, NULL};
    sm_reduce_form form = sm_reduce_choose(p.tasks, p.n, 1, 0, &p.extents, SM_REDUCE_WHOLE, profile);
    sm_kir_kernel k;
    allocations_left = most;
    sm_kir_init(&k, &scarce);
    (void)sm_kir_add_buffer(&k, p.dtype, false);
    for (int t = 0; t < p.n; t++) (void)sm_kir_add_buffer(&k, result_dtype(&p, t), true);
    sm_reduce_kernel(&k, p.tasks, p.n, &form, &body);
    smelt_status status = sm_kir_built(&k, NULL);
    CHECK(status == SMELT_OK || status == SMELT_ERR_MEMORY);
    enough = status == SMELT_OK;
    sm_kir_free(&k);
  }
}

TEST_MAIN(CASE(rows), CASE(columns), CASE(many_columns), CASE(long_ones), CASE(one_task_alone),
          CASE(work_before_and_after), CASE(nothing_to_do), CASE(combining_many), CASE(teams_on_a_device),
          CASE(forms_of_teams), CASE(forms), CASE(lack_of_memory))
