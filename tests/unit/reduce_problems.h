/* SPDX-License-Identifier: Apache-2.0
 *
 * Problems for the skeleton of reductions: kernels over given extents, in one stage and in two,
 * in random chunks, run by the evaluator, by generated code or on a device, against a model of
 * the canonical tree. */
#ifndef TESTS_REDUCE_PROBLEMS_H
#define TESTS_REDUCE_PROBLEMS_H

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "codegen/llvm_codegen.h"
#include "drivers/drivers.h"
#include "harness.h"
#include "launch/reduce_skeleton.h"
#include "rt/object_loader.h"
#include "tree_model.h"

enum { MAX_BUFFERS = 1 + (1 + SM_PART_FIELDS) * SM_REDUCE_TASKS, MAX_CHUNKS = 3 };

static uint64_t state = 5;

static inline int64_t below(int64_t n) {
  state = state * 6364136223846793005u + 1442695040888963407u;
  return (int64_t)(state >> 33) % n;
}

static const sm_profile processor = {.name = "processor", .vector_bytes = 64};
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

static inline int64_t count_elements(const problem *p) {
  return p->extents.outer * p->extents.reduced * p->extents.inner;
}
static inline int64_t count_results(const problem *p) { return p->extents.outer * p->extents.inner; }

static inline bool gives_index(const problem *p, int t) {
  return sm_reduction_gives_index(p->tasks[t].reduction);
}
static inline smelt_dtype result_dtype(const problem *p, int t) {
  return gives_index(p, t) ? SMELT_I64 : p->tasks[t].dtype;
}

/* Of all buffers, one after another. */
static _Alignas(64) unsigned char memory[1 << 24];
static size_t used;

static inline void add_buffer(problem *p, int64_t elements, smelt_dtype dtype) {
  size_t bytes = (size_t)elements * smelt_dtype_size(dtype), space = (bytes + 63) / 64 * 64;
  CHECK(p->n_buffers < MAX_BUFFERS && space <= sizeof memory - used);
  p->buffers[p->n_buffers++] = (sm_kir_span){memory + used, bytes};
  used += space;
}

static inline void fill_element(problem *p, int64_t i) {
  static const double special[] = {0.0, -0.0, INFINITY, -INFINITY, NAN};
  double value = ((double)below(1 << 24) + 1) / (1 << 24) * (below(3) ? 1 : -1) * (below(8) ? 1 : 300);
  if (below(300) == 0) value = special[below(5)];
  void *at = (char *)p->buffers[0].data + (size_t)i * smelt_dtype_size(p->dtype);
  if (p->dtype == SMELT_F32) memcpy(at, &(float){(float)value}, 4);
  else if (p->dtype == SMELT_F64) memcpy(at, &value, 8);
  else if (p->dtype == SMELT_BOOL) memcpy(at, &(bool){below(300) == 0}, 1);
  else memcpy(at, &(int64_t){below(7) - 3}, smelt_dtype_size(p->dtype));
}

static inline void open_problem(problem *p) {
  add_buffer(p, count_elements(p), p->dtype);
  for (int64_t i = 0; i < count_elements(p); i++) fill_element(p, i);
  for (int t = 0; t < p->n; t++) add_buffer(p, count_results(p), result_dtype(p, t));
}

static inline void close_problem(problem *p) {
  p->n_buffers = 0;
  used = 0;
}

/* --- Kernels ------------------------------------------------------------------------------------ */

static inline int32_t twice(sm_kir_kernel *k, int32_t value) {
  return sm_kir_kop(k, SM_KOP_ADD, value, value, SM_KIR_NONE, SMELT_DTYPE_NONE);
}

static inline void load_elements(void *user, sm_kir_kernel *k, const sm_reduce_place *at, int n,
                                 int32_t (*values)[SM_REDUCE_TASKS]) {
  const problem *p = user;
  for (int i = 0; i < n; i++) {
    bool all = at[i].there == SM_KIR_NONE;
    int32_t value = all ? sm_kir_load(k, 0, at[i].index, at[i].step, at[i].width)
                        : sm_kir_load_first(k, 0, at[i].index, at[i].there, at[i].width);
    if (p->doubles) value = twice(k, value);
    for (int t = 0; t < p->n; t++) values[i][t] = value;
  }
}

static inline void store_results(void *user, sm_kir_kernel *k, const sm_reduce_place *at,
                                 const int32_t *values) {
  const problem *p = user;
  bool team = at->writes != SM_KIR_NONE;
  if (team) (void)sm_kir_for(k, sm_kir_i64(k, 0), at->writes, 1);
  for (int t = 0; t < p->n; t++) {
    int32_t value = p->doubles && !gives_index(p, t) ? twice(k, values[t]) : values[t];
    if (at->there == SM_KIR_NONE) sm_kir_store(k, 1 + t, at->index, SM_KIR_NONE, value);
    else sm_kir_store_first(k, 1 + t, at->index, at->there, value);
  }
  if (team) sm_kir_end(k);
}

/* A stage: its form, its kernel, and the buffers that it binds. */
typedef struct stage {
  sm_reduce_form form;
  sm_kir_kernel kernel;
  int64_t sizes[SM_REDUCE_SIZES], items;
} stage;

static inline void open_stage(problem *p, sm_reduce_stage which, stage *s) {
  smelt_error err;
  sm_reduce_body body = {p, load_elements, store_results, NULL, NULL, NULL, NULL};
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
static inline int cut_chunks(int64_t items, int64_t *ends) {
  int n = 0;
  ends[0] = 0;
  while (n + 1 < MAX_CHUNKS && ends[n] < items) {
    ends[n + 1] = ends[n] + 1 + below(items - ends[n]);
    n++;
  }
  if (ends[n] < items) ends[++n] = items;
  return n;
}

static inline void evaluate(problem *p, const stage *s) {
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

static inline void run_code(problem *p, const stage *s, machine *m) {
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
static inline void run_on_device(problem *p, stage *s, sm_device *device) {
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

static inline void run_stage(problem *p, sm_reduce_stage which, runner on) {
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

static inline void run_two_stages(problem *p, runner on) {
  int before = p->n_buffers;
  size_t used_before = used;
  sm_reduce_form form = sm_reduce_choose(p->tasks, p->n, 1, 0, &p->extents, SM_REDUCE_PARTIAL, profile);
  int64_t parts = sm_reduce_partials(&form, &p->extents);
  for (int t = 0; t < p->n; t++) {
    for (int field = 0; field < SM_PART_FIELDS; field++) {
      smelt_dtype dtype = sm_reduce_part_dtype(&p->tasks[t], field);
      if (dtype != SMELT_DTYPE_NONE) add_buffer(p, parts, dtype);
    }
  }
  run_stage(p, SM_REDUCE_PARTIAL, on);
  run_stage(p, SM_REDUCE_COMBINE, on);
  p->n_buffers = before;
  used = used_before;
}

/* --- What is right --------------------------------------------------------------------------------- */

static inline double number_at(smelt_dtype dtype, const void *items, int64_t i) {
  sm_scalar s = sm_scalar_of(dtype, (const char *)items + (size_t)i * smelt_dtype_size(dtype));
  return s.kind == SM_KIND_FLOAT  ? s.as.f64
         : s.kind == SM_KIND_SINT ? (double)s.as.i64
         : s.kind == SM_KIND_UINT ? (double)s.as.u64
                                  : (double)s.as.b;
}

/* Of an integer dtype what wrapped sums and products leave. */
static inline double wrapped(smelt_dtype dtype, uint64_t word) { return number_at(dtype, &word, 0); }

static inline double model_result(const problem *p, int t, const double *x, int64_t n) {
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

static inline void check_centered(const problem *p, int t, double actual, const double *x) {
  double expected = model_centered(p->tasks[t].reduction == SM_REDUCTION_VARIANCE, x, p->extents.reduced);
  if (p->doubles) expected *= 2;
  CHECK(isnan(expected) ? isnan(actual)
                        : fabs(actual - expected) <= (p->dtype == SMELT_F64 ? 1e-13 : 1e-5) * expected);
}

static inline void check_result(const problem *p, int64_t outer, int64_t inner, double *x) {
  const sm_reduce_extents *e = &p->extents;
  double factor = p->doubles ? 2 : 1;
  for (int64_t r = 0; r < e->reduced; r++) {
    int64_t i = e->across ? inner * e->reduced + r : (outer * e->reduced + r) * e->inner + inner;
    x[r] = factor * number_at(p->dtype, p->buffers[0].data, i);
  }
  for (int t = 0; t < p->n; t++) {
    double actual = number_at(result_dtype(p, t), p->buffers[1 + t].data, outer * e->inner + inner);
    if (sm_reduction_is_centered(p->tasks[t].reduction)) {
      check_centered(p, t, actual, x);
      continue;
    }
    double expected = model_result(p, t, x, e->reduced);
    CHECK_F64(actual, gives_index(p, t) ? expected : factor * expected);
  }
}

static inline void check_results(problem *p) {
  double *x = malloc((size_t)(p->extents.reduced + 1) * sizeof *x);
  for (int64_t o = 0; o < p->extents.outer; o++)
    for (int64_t i = 0; i < p->extents.inner; i++) check_result(p, o, i, x);
  free(x);
  for (int t = 0; t < p->n; t++) memset(p->buffers[1 + t].data, 0xa5, p->buffers[1 + t].bytes);
}

/* Short rows are taken across, and in one stage. */
static inline void check_stages(problem *p, runner on) {
  if (sm_reduce_wants_across(p->tasks, p->n, &p->extents, profile))
    p->extents = sm_reduce_turned(&p->extents);
  run_stage(p, SM_REDUCE_WHOLE, on);
  check_results(p);
  if (p->extents.across) return;
  run_two_stages(p, on);
  check_results(p);
}

/* --- Tasks and extents ---------------------------------------------------------------------------- */

static const sm_reduction of_numbers[] = {SM_REDUCTION_SUM, SM_REDUCTION_PROD,   SM_REDUCTION_MAX,
                                          SM_REDUCTION_MIN, SM_REDUCTION_ARGMAX, SM_REDUCTION_ARGMIN};

static inline bool needs_elements(sm_reduction r) { return sm_reduction_needs_elements(r); }

static inline void add_task(problem *p, sm_reduction r) {
  if (p->extents.reduced == 0 && needs_elements(r)) return;
  p->tasks[p->n++] = (sm_reduce_task){r, p->dtype, 0};
}

/* All reductions that the dtype has, in one kernel. */
static inline problem all_tasks(smelt_dtype dtype, int64_t outer, int64_t reduced, int64_t inner) {
  problem p = {.extents = {outer, reduced, inner, false, false, 0}, .dtype = dtype};
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

/* --- Tests of whoever includes this, who says what is done with a problem ------------------------- */

static void check_problem(problem *p);

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

/* Taken across: the last columns of a strip fill no vector, lanes have no, one and two elements. */
TEST(short_rows) {
  static const int64_t rows[] = {1, 63, 64, 100, 1111, 2500};
  for (int reduced = 1; reduced <= 33; reduced++) {
    problem p =
        all_tasks(reduced % 4 ? SMELT_F32 : dtypes[reduced / 4 % DTYPES], rows[reduced % 6], reduced, 1);
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
      problem p = {.extents = {3, 777, inner, false, false, 0}, .dtype = SMELT_F32};
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

#endif
