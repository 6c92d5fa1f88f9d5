/* SPDX-License-Identifier: Apache-2.0
 *
 * Kernels that groups of threads run: the evaluator, what the verifier refuses, texts. */
#include "codegen/c_family.h"

#include "group_kernels.h"

static void run_groups(const sm_kir_kernel *k, float *in, float *out) {
  sm_kir_span spans[] = {{in, sizeof *in * GROUPS * CHUNK}, {out, sizeof *out * GROUPS}};
  for (int64_t g = 0; g < GROUPS; g++) {
    smelt_error err;
    sm_kir_call call = {.buffers = spans, .begin = g * CHUNK, .end = (g + 1) * CHUNK};
    CHECK_OK(sm_kir_eval(k, &call, &err), err);
  }
}

TEST(groups_share_memory) {
  float in[GROUPS * CHUNK], out[GROUPS];
  smelt_error err;
  sm_kir_kernel k = build_sum();
  CHECK_OK(sm_kir_finish(&k, &err), err);
  for (int i = 0; i < GROUPS * CHUNK; i++) in[i] = (float)i;
  run_groups(&k, in, out);
  for (int g = 0; g < GROUPS; g++) CHECK_I64(out[g], CHUNK * CHUNK * g + CHUNK * (CHUNK - 1) / 2);
  sm_kir_free(&k);
}

/* A load that a BARRIER follows keeps what it has read. */
TEST(values_outlive_barriers) {
  float in[GROUPS * CHUNK] = {0}, out[GROUPS];
  smelt_error err;
  sm_kir_kernel k = start();
  int shared = sm_kir_add_shared(&k, SMELT_F32, THREADS);
  int32_t member = sm_kir_member(&k), zero = sm_kir_i64(&k, 0);
  int32_t before = sm_kir_load(&k, shared, zero, NONE, 1);
  sm_kir_barrier(&k);
  sm_kir_store(&k, shared, member, NONE, sm_kir_const(&k, SMELT_F32, (sm_word){.F32 = 7}));
  sm_kir_barrier(&k);
  int32_t after = sm_kir_load(&k, shared, zero, NONE, 1);
  sm_kir_store(&k, 1, zero, NONE, op(&k, SM_KOP_SUB, after, before));
  CHECK_OK(sm_kir_finish(&k, &err), err);
  run_groups(&k, in, out);
  CHECK_F64(out[0], 7);
  sm_kir_free(&k);
}

static void check_fault(sm_kir_kernel *k, const char *part) {
  smelt_error err = {0};
  CHECK_STATUS(sm_kir_finish(k, &err), SMELT_ERR_INTERNAL);
  CHECK_CONTAINS(err.text, part);
  sm_kir_free(k);
}

TEST(barriers_have_to_be_met_by_all) {
  sm_kir_kernel k = start();
  int32_t zero = sm_kir_i64(&k, 0);
  sm_kir_for(&k, zero, sm_kir_member(&k), 1);
  sm_kir_barrier(&k);
  sm_kir_end(&k);
  check_fault(&k, "is not the same for all threads");
  k = start();
  zero = sm_kir_i64(&k, 0);
  sm_kir_for(&k, zero, sm_kir_kop(&k, SM_KOP_CAST, sm_kir_load(&k, 0, zero, NONE, 1), NONE, NONE, SMELT_I64),
             1);
  sm_kir_barrier(&k);
  sm_kir_end(&k);
  check_fault(&k, "is not the same for all threads");
}

TEST(groups_have_to_be_announced) {
  sm_kir_kernel k = start();
  k.threads = 0;
  sm_kir_barrier(&k);
  check_fault(&k, "not run by groups");
  k = start();
  k.threads = 0;
  sm_kir_member(&k);
  check_fault(&k, "not run by groups");
  k = start();
  k.threads = 0;
  sm_kir_add_shared(&k, SMELT_F32, 1);
  check_fault(&k, "no group shares it");
}

TEST(identity_has_the_threads) {
  sm_kir_kernel a = build_sum(), b = build_sum();
  CHECK(sm_hash_equal(sm_kir_hash(&a), sm_kir_hash(&b)));
  b.threads = 2 * THREADS;
  CHECK(!sm_hash_equal(sm_kir_hash(&a), sm_kir_hash(&b)));
  b.threads = THREADS;
  b.buffers.items[2].shared = false;
  CHECK(!sm_hash_equal(sm_kir_hash(&a), sm_kir_hash(&b)));
  sm_kir_free(&a);
  sm_kir_free(&b);
}

/* --- Texts ------------------------------------------------------------------------------------ */

static void check_text(const char *dialect, const char *shared, const char *barrier, const char *entry) {
  sm_kir_kernel k = build_sum();
  sm_text text;
  smelt_error err;
  sm_text_init(&text, &sm_malloc_allocator);
  CHECK_OK(sm_c_family_text(&k, sm_dialect_find(dialect), (sm_text_form){.group = 256}, &text, &err), err);
  CHECK_CONTAINS(text.data, shared);
  CHECK_CONTAINS(text.data, barrier);
  CHECK_CONTAINS(text.data, entry);
  sm_text_free(&text);
  sm_kir_free(&k);
}

TEST(texts_share_memory_and_wait) {
  check_text("cuda", "__shared__ f32 b2[4]", "__syncthreads();", "__launch_bounds__(4)");
  check_text("hip", "__shared__ f32 b2[4]", "__syncthreads();", "__launch_bounds__(4)");
  check_text("opencl", "__local f32 b2[4]", "barrier(CLK_LOCAL_MEM_FENCE", "reqd_work_group_size(4, 1, 1)");
  check_text("msl", "threadgroup f32 b2[4]", "threadgroup_barrier(", "threads_per_threadgroup(4)");
}

TEST(c_has_no_groups) {
  sm_kir_kernel k = build_sum();
  sm_text text;
  smelt_error err;
  sm_text_init(&text, &sm_malloc_allocator);
  CHECK_STATUS(sm_c_family_text(&k, &sm_dialect_c, (sm_text_form){0}, &text, &err), SMELT_ERR_UNSUPPORTED);
  CHECK_CONTAINS(err.text, "groups of threads");
  sm_text_free(&text);
  sm_kir_free(&k);
}

TEST(printed) {
  sm_kir_kernel k = build_sum();
  sm_text text;
  sm_text_init(&text, &sm_malloc_allocator);
  sm_kir_print(&text, &k);
  CHECK_CONTAINS(text.data, "kernel group_sum(b0 f32, b1 f32 written, b2 f32[4] shared) threads 4 {");
  CHECK_CONTAINS(text.data, "%2 = member\n");
  CHECK_CONTAINS(text.data, "  barrier\n");
  sm_text_free(&text);
  sm_kir_free(&k);
}

TEST_MAIN(CASE(groups_share_memory), CASE(values_outlive_barriers), CASE(barriers_have_to_be_met_by_all),
          CASE(groups_have_to_be_announced), CASE(identity_has_the_threads),
          CASE(texts_share_memory_and_wait), CASE(c_has_no_groups), CASE(printed))
