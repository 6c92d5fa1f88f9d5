/* SPDX-License-Identifier: Apache-2.0
 *
 * The skeleton of reductions for groups of threads, by brute force (reduce_problems.h). */
#include "reduce_problems.h"

static const sm_profile
    teams = {.name = "teams", .vector_bytes = 16, .plane = 32, .max_group = 256, .shared_bytes = 48 * 1024},
    small_teams = {.name = "small teams",
                   .vector_bytes = 4,
                   .plane = 16,
                   .max_group = 64,
                   .shared_bytes = 16 * 1024},
    smallest_teams = {
        .name = "smallest teams", .vector_bytes = 64, .plane = 8, .max_group = 48, .shared_bytes = 16 * 1024};

static const sm_profile *const profiles[] = {&teams, &small_teams, &smallest_teams};
enum { PROFILES = sizeof profiles / sizeof profiles[0] };

/* With shuffles and without. */
static void check_problem(problem *p) {
  open_problem(p);
  for (int i = 0; i < 2 * PROFILES; i++) {
    sm_profile own = *profiles[i / 2];
    if (i % 2) own.shuffle = own.plane;
    profile = &own;
    check_stages(p, (runner){0});
  }
  sm_profile wide = teams;
  wide.shuffle = wide.plane;
  profile = &wide;
  p->extents.bytes = 2; /* twice as many at once */
  check_stages(p, (runner){0});
  close_problem(p);
}

static void store_by_all(void *user, sm_kir_kernel *k, const sm_reduce_place *at, const int32_t *values) {
  (void)user, (void)at;
  sm_kir_store(k, 1, sm_kir_member(k), SM_KIR_NONE, values[0]);
}

/* Of two zeros the largest is the second one, whichever of them a thread had. */
static void check_zeros(sm_reduction reduction, int64_t n) {
  float zeros[4096], results[256];
  smelt_error err;
  sm_kir_kernel k;
  problem p = {.extents = {1, n, 1, false, false, 0}, .dtype = SMELT_F32};
  sm_profile own = teams;
  int64_t sizes[SM_REDUCE_SIZES];
  sm_reduce_body body = {&p, load_elements, store_by_all, NULL, NULL, NULL, NULL};
  own.shuffle = own.plane;
  add_task(&p, reduction);
  for (int64_t i = 0; i < n; i++) zeros[i] = below(2) ? 0.f : -0.f;
  sm_reduce_form f = sm_reduce_choose(p.tasks, 1, 1, 0, &p.extents, SM_REDUCE_WHOLE, &own);
  CHECK(f.shuffle > 1);
  sm_reduce_size_values(&f, &p.extents, sizes);
  sm_kir_init(&k, &sm_malloc_allocator);
  strcpy(k.name, "zeros");
  (void)sm_kir_add_buffer(&k, SMELT_F32, false);
  (void)sm_kir_add_buffer(&k, SMELT_F32, true);
  sm_reduce_kernel(&k, p.tasks, p.n, &f, &body);
  CHECK_OK(sm_kir_finish(&k, &err), err);
  sm_kir_span spans[] = {{zeros, sizeof zeros}, {results, sizeof results}};
  CHECK_OK(sm_kir_eval(&k, &(sm_kir_call){.buffers = spans, .sizes = sizes, .end = 1}, &err), err);
  for (int t = 0; t < f.threads / f.abreast; t++) {
    float expected = model_float(names[reduction], zeros, n);
    CHECK(results[t] == 0 && signbit(results[t]) == signbit(expected));
  }
  sm_kir_free(&k);
}

TEST(order_of_zeros) {
  for (int round = 0; round < 20; round++) {
    check_zeros(SM_REDUCTION_MAX, 2048 << (round % 2));
    check_zeros(SM_REDUCTION_MIN, 1100 + below(2997));
  }
}

/* A device of 48 threads a group has teams of 32: of more parts than that some would be nobody's. */
TEST(parts_of_columns_are_shared_out_evenly) {
  for (int64_t inner = 16; inner <= 64; inner += 16) {
    problem p = {.extents = {2, 2048, inner, false, false, 0}, .dtype = SMELT_F32};
    add_task(&p, SM_REDUCTION_SUM);
    check_problem(&p);
  }
}

/* Parts of so many groups as no elements are there for. */
static problem open_parts(int64_t groups) {
  problem p = all_tasks(SMELT_F32, 1, (int64_t)SM_TREE_BLOCK * 64 * groups, 1);
  add_buffer(&p, 0, SMELT_F32);
  for (int t = 0; t < p.n; t++) add_buffer(&p, 1, result_dtype(&p, t));
  for (int t = 0; t < p.n; t++) {
    add_buffer(&p, groups, SMELT_F32);
    float *values = p.buffers[p.n_buffers - 1].data;
    for (int64_t g = 0; g < groups; g++) values[g] = (float)below(1 << 20) / (1 << 18) - 2;
    if (!gives_index(&p, t)) continue;
    add_buffer(&p, groups, SMELT_I64);
    int64_t *indices = p.buffers[p.n_buffers - 1].data;
    for (int64_t g = 0; g < groups; g++) indices[g] = g * 20000;
  }
  return p;
}

/* By teams as by single threads. */
TEST(combining_many) {
  static const int64_t groups[] = {9, 64, 255, 1024, 1500};
  static const sm_profile *const ways[] = {&processor, &teams, &small_teams};
  int64_t results[3][SM_REDUCE_TASKS] = {{0}};
  for (size_t i = 0; i < sizeof groups / sizeof groups[0]; i++) {
    problem p = open_parts(groups[i]);
    for (int by = 0; by < 3; by++) {
      profile = ways[by];
      run_stage(&p, SM_REDUCE_COMBINE, (runner){0});
      for (int t = 0; t < p.n; t++) memcpy(&results[by][t], p.buffers[1 + t].data, p.buffers[1 + t].bytes);
      CHECK(memcmp(results[by], results[0], sizeof results[0]) == 0);
    }
    close_problem(&p);
  }
}

/* Where there are no GPUs the device is a processor, which would have a thread for each result, and
 * whose compiler takes seconds for a kernel of few threads. */
TEST(teams_on_a_device) {
  static const sm_log no_log = {.enabled = 0};
  smelt_error err;
  sm_device device;
  if (sm_device_open(&device, "opencl", sm_drivers, &sm_malloc_allocator, &no_log, &err) != SMELT_OK)
    TEST_SKIP(err.text);
  sm_profile own = *device.profile;
  own.shared_bytes = 32 * 1024;
  own.max_group = 16;
  profile = &own;
  for (int inner = 1; inner <= 2; inner++) {
    problem p = {.extents = {2, 5001, inner, false, false, 0}, .dtype = SMELT_F32};
    add_task(&p, SM_REDUCTION_SUM);
    open_problem(&p);
    if (inner == 1) run_two_stages(&p, (runner){.device = &device});
    else run_stage(&p, SM_REDUCE_WHOLE, (runner){.device = &device});
    check_results(&p);
    close_problem(&p);
  }
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
  p.extents = (sm_reduce_extents){1, 4096, 4096, false, false, 0};
  CHECK(sm_reduce_wants_stages(&p.extents, 1, profile));
  f = sm_reduce_choose(p.tasks, 1, 1, 0, &p.extents, SM_REDUCE_PARTIAL, profile);
  CHECK(f.threads == 256 && f.abreast == 16 && f.one_leaf && f.vector == 4);
  CHECK_I64(sm_reduce_work_items(&f, &p.extents) / f.abreast, 1024);
  p.extents = (sm_reduce_extents){1 << 20, 8, 1, false, false, 0};
  f = sm_reduce_choose(p.tasks, 1, 1, 0, &p.extents, SM_REDUCE_WHOLE, profile);
  CHECK_I64(f.threads, 0);
}

/* 16 bytes at once also of halves, but where rows are kept as what they become. */
TEST(vectors_of_halves) {
  sm_reduce_extents e = {4096, 4096, 1, false, false, 2};
  sm_reduce_task task = {SM_REDUCTION_SUM, SMELT_F32, 0};
  CHECK_I64(sm_reduce_choose(&task, 1, 1, 0, &e, SM_REDUCE_WHOLE, &teams).vector, 8);
  CHECK_I64(sm_reduce_choose(&task, 1, 1, 0, &e, SM_REDUCE_PARTIAL, &teams).vector, 8);
  sm_reduce_form f = sm_reduce_choose(&task, 1, 2, 0, &e, SM_REDUCE_WHOLE, &teams);
  CHECK(f.vector == 4 && f.keep > 0 && f.abreast == 1);
  e.reduced = 1 << 20;
  f = sm_reduce_choose(&task, 1, 2, 0, &e, SM_REDUCE_WHOLE, &teams);
  CHECK(f.vector == 8 && f.keep == 0);
  e = (sm_reduce_extents){1, 4096, 4096, false, false, 2};
  f = sm_reduce_choose(&task, 1, 1, 0, &e, SM_REDUCE_PARTIAL, &teams);
  CHECK(f.vector == 8 && f.strip == 8 && f.abreast == 8);
  CHECK_I64(sm_reduce_choose(&task, 1, 1, 0, &e, SM_REDUCE_COMBINE, &teams).vector, 4);
  e.bytes = 4;
  CHECK_I64(sm_reduce_choose(&task, 1, 1, 0, &e, SM_REDUCE_PARTIAL, &teams).vector, 4);
  e.bytes = 1;
  CHECK_I64(sm_reduce_choose(&task, 1, 1, 0, &e, SM_REDUCE_PARTIAL, &teams).vector, 8);
}

/* Of long rows where a group may have much memory. */
TEST(kept_rows) {
  sm_reduce_extents e = {4096, 16384, 1, false, false, 4};
  sm_reduce_task task = {SM_REDUCTION_SUM, SMELT_F32, 0};
  sm_profile large = teams;
  CHECK_I64(sm_reduce_choose(&task, 1, 2, 0, &e, SM_REDUCE_WHOLE, &large).keep, 0);
  large.shared_bytes = 227 * 1024;
  sm_reduce_form f = sm_reduce_choose(&task, 1, 2, 0, &e, SM_REDUCE_WHOLE, &large);
  CHECK(f.keep == 16384 && f.threads == 256 && f.one_leaf);
  CHECK_I64(sm_reduce_kept_bytes(&f), 64 * 1024);
  CHECK_I64(sm_reduce_choose(&task, 1, 1, 0, &e, SM_REDUCE_WHOLE, &large).keep, 0);
  e.reduced++;
  CHECK_I64(sm_reduce_choose(&task, 1, 2, 0, &e, SM_REDUCE_WHOLE, &large).keep, 0);
  e.reduced = 8192;
  CHECK_I64(sm_reduce_choose(&task, 1, 2, 0, &e, SM_REDUCE_WHOLE, &teams).keep, 8192);
}

static void resume_nothing(void *user, sm_kir_kernel *k, const sm_reduce_place *at, const int32_t *values) {
  (void)user, (void)k, (void)at, (void)values;
}

/* Memory in common is for the tasks of a stage, and keeps other teams from a processor. */
TEST(passes_without_tasks_have_no_memory) {
  smelt_error err;
  sm_kir_kernel k;
  problem p = all_tasks(SMELT_F32, 1, 1000003, 1);
  sm_reduce_body body = {&p, load_elements, store_results, resume_nothing, NULL, NULL, NULL};
  sm_reduce_form f = sm_reduce_choose(p.tasks, p.n, 2, 1, &p.extents, SM_REDUCE_PARTIAL, &teams);
  CHECK(f.threads > 0);
  sm_kir_init(&k, &sm_malloc_allocator);
  strcpy(k.name, "visit");
  (void)sm_kir_add_buffer(&k, SMELT_F32, false);
  sm_reduce_kernel(&k, p.tasks, p.n, &f, &body);
  CHECK_OK(sm_kir_finish(&k, &err), err);
  for (size_t b = 0; b < k.buffers.len; b++) CHECK(!k.buffers.items[b].shared);
  sm_kir_free(&k);
}

/* Teams fit the device whatever the extents are. */
TEST(sizes_of_teams) {
  for (int round = 0; round < 2000; round++) {
    problem p = all_tasks(dtypes[below(DTYPES)], 1 + below(5), below((int64_t)1 << below(31)),
                          1 + below((int64_t)1 << below(14)));
    sm_profile own = *profiles[below(PROFILES)];
    if (below(2)) own.shuffle = own.plane;
    profile = &own;
    p.extents.bytes = below(5) ? 1 << below(4) : 0;
    sm_reduce_form f = sm_reduce_choose(p.tasks, p.n, 1, 0, &p.extents, (sm_reduce_stage)below(3), profile);
    if (f.threads == 0) continue;
    CHECK(f.threads <= profile->max_group && (f.threads & (f.threads - 1)) == 0);
    CHECK(f.threads % f.abreast == 0 && (f.parts & (f.parts - 1)) == 0);
    CHECK(!f.columns || p.extents.inner % f.vector == 0);
    int64_t bytes = 0;
    for (int t = 0; t < p.n; t++) bytes += (int64_t)smelt_dtype_size(p.dtype) + (gives_index(&p, t) ? 8 : 0);
    CHECK(f.shuffle == 1 || (!f.columns && f.shuffle <= own.shuffle && f.threads % own.shuffle == 0));
    CHECK(bytes * (f.parts + (f.one_leaf ? 0 : f.levels)) * f.abreast * f.strip <= 1 << 14);
  }
}

TEST_MAIN(CASE(rows), CASE(order_of_zeros), CASE(columns), CASE(short_rows), CASE(many_columns),
          CASE(long_ones), CASE(one_task_alone), CASE(work_before_and_after), CASE(nothing_to_do),
          CASE(parts_of_columns_are_shared_out_evenly), CASE(combining_many), CASE(teams_on_a_device),
          CASE(forms_of_teams), CASE(vectors_of_halves), CASE(kept_rows),
          CASE(passes_without_tasks_have_no_memory), CASE(sizes_of_teams))
