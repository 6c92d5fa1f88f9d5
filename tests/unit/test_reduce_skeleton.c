/* SPDX-License-Identifier: Apache-2.0
 *
 * The skeleton of reductions on processors, by brute force (reduce_problems.h). */
#include "reduce_problems.h"

static void check_code(problem *p, sm_cpu_level level) {
  smelt_error err;
  machine m = {.level = level};
  if (level == SM_CPU_BASELINE || !sm_cpu_supports(level) || sm_llvm_open(&m.llvm, "", &err) != SMELT_OK)
    return;
  check_stages(p, (runner){.code = &m});
  sm_llvm_close(&m.llvm);
}

/* In one stage and in two, by the evaluator and by code for one level or the other. */
static void check_problem(problem *p) {
  open_problem(p);
  check_stages(p, (runner){0});
  check_code(p, below(2) ? SM_CPU_AVX2 : sm_cpu_detect());
  close_problem(p);
}

/* Rows and columns have them beside others; rows across and teams do not. */
static problem centered_tasks(smelt_dtype dtype, int64_t outer, int64_t reduced, int64_t inner) {
  problem p = {.extents = {outer, reduced, inner, false, false, 0}, .dtype = dtype};
  add_task(&p, SM_REDUCTION_DEVIATIONS);
  add_task(&p, SM_REDUCTION_MEAN);
  if (reduced % 3 == 0) add_task(&p, SM_REDUCTION_ARGMAX);
  add_task(&p, SM_REDUCTION_VARIANCE);
  return p;
}

TEST(centered) {
  static const int64_t inner[] = {1, 2, 16, 37, 100};
  for (int i = 0; i < 5 * LENGTHS; i++) {
    problem p = centered_tasks(i % 2 ? SMELT_F64 : SMELT_F32, 1 + i % 3, lengths[i / 5], inner[i % 5]);
    if (sm_reduce_wants_across(p.tasks, p.n, &p.extents, profile)) continue;
    p.doubles = i % 4 == 0;
    check_problem(&p);
  }
  problem p = centered_tasks(SMELT_F32, 1, 100001, 1);
  check_problem(&p);
  p = centered_tasks(SMELT_F32, 3000, 31, 1); /* some with an infinity in their last lane */
  check_problem(&p);
  p = centered_tasks(SMELT_F32, 2, 300, 1500);
  check_problem(&p);
}

/* Taken wide. */
TEST(few_columns) {
  static const sm_reduction reductions[] = {SM_REDUCTION_SUM, SM_REDUCTION_MAX, SM_REDUCTION_MEAN};
  for (int inner = 2; inner < 130; inner += 1 + inner / 32) {
    smelt_dtype dtype = inner % 3 ? SMELT_F32 : dtypes[inner / 3 % (DTYPES - 1)];
    problem p = {.extents = {1 + inner % 2, lengths[inner % LENGTHS], inner, false, true, 0}, .dtype = dtype};
    int n = sm_kind_of(dtype) == SM_KIND_FLOAT ? 3 : 2;
    for (int t = 0; t < n; t++) add_task(&p, reductions[t]);
    check_problem(&p);
  }
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
  CHECK(sm_reduce_wants_stages(&(sm_reduce_extents){1, 1 << 24, 1, false, false, 0}, 1, profile));
  CHECK(sm_reduce_wants_stages(&(sm_reduce_extents){1, 1 << 20, 8, false, false, 0}, 1, profile));
  CHECK(!sm_reduce_wants_stages(&(sm_reduce_extents){4096, 1 << 20, 1, false, false, 0}, 1, profile));
  CHECK(!sm_reduce_wants_stages(&(sm_reduce_extents){1, 4096, 1, false, false, 0}, 1, profile));
  CHECK(sm_reduce_wants_stages(&(sm_reduce_extents){1, 1 << 20, 1, false, false, 0}, 3, profile));
  CHECK(sm_reduce_wants_stages(&(sm_reduce_extents){16, 1 << 16, 1, false, false, 0}, 1, profile));
  CHECK(!sm_reduce_wants_stages(&(sm_reduce_extents){16, 1 << 16, 1, false, false, 0}, 3, profile));
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
    add_task(&p, SM_REDUCTION_VARIANCE);
    sm_reduce_body body = {&p, load_elements, store_results, NULL, NULL, NULL, NULL};
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

TEST_MAIN(CASE(rows), CASE(columns), CASE(few_columns), CASE(short_rows), CASE(many_columns), CASE(long_ones),
          CASE(one_task_alone), CASE(work_before_and_after), CASE(nothing_to_do), CASE(centered), CASE(forms),
          CASE(lack_of_memory))
