/* SPDX-License-Identifier: Apache-2.0
 *
 * Kernels that groups of threads run: the evaluator, what the verifier refuses, texts. */
#include "group_kernels.h"
#include "kernel_text.h"

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

/* Each thread's number with that of the others, digit by digit, two lanes at once. */
static sm_kir_kernel build_shuffles(void) {
  sm_kir_kernel k = start();
  int32_t member = sm_kir_member(&k), value = sm_kir_iota(&k, member, 2);
  for (int digit = 1; digit < THREADS; digit *= 2)
    value = op(&k, SM_KOP_SUB, op(&k, SM_KOP_ADD, value, value), sm_kir_shuffle(&k, value, digit));
  value = sm_kir_kop(&k, SM_KOP_CAST, sm_kir_half(&k, value, 1), NONE, NONE, SMELT_F32);
  sm_kir_store(&k, 1, member, NONE, value);
  return k;
}

TEST(threads_exchange_values) {
  float in[GROUPS * CHUNK] = {0}, out[THREADS];
  smelt_error err;
  sm_kir_kernel k = build_shuffles();
  CHECK_OK(sm_kir_finish(&k, &err), err);
  sm_kir_span spans[] = {{in, sizeof in}, {out, sizeof out}};
  CHECK_OK(sm_kir_eval(&k, &(sm_kir_call){.buffers = spans, .end = 1}, &err), err);
  float values[THREADS], others[THREADS];
  for (int t = 0; t < THREADS; t++) values[t] = (float)(t + 1);
  for (int digit = 1; digit < THREADS; digit *= 2) {
    memcpy(others, values, sizeof others);
    for (int t = 0; t < THREADS; t++) values[t] = 2 * others[t] - others[t ^ digit];
  }
  for (int t = 0; t < THREADS; t++) CHECK_F64(out[t], values[t]);
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

TEST(shuffles_have_to_be_met_by_pairs) {
  for (int digit = 0; digit <= 2 * THREADS; digit++) {
    sm_kir_kernel k = start();
    sm_kir_shuffle(&k, sm_kir_member(&k), digit);
    smelt_error err = {0};
    bool pairs = digit == 1 || digit == 2;
    CHECK_STATUS(sm_kir_finish(&k, &err), pairs ? SMELT_OK : SMELT_ERR_INTERNAL);
    if (!pairs) CHECK_CONTAINS(err.text, "4 threads have no pairs that differ in");
    sm_kir_free(&k);
  }
  sm_kir_kernel k = start();
  sm_kir_for(&k, sm_kir_i64(&k, 0), sm_kir_member(&k), 1);
  sm_kir_shuffle(&k, sm_kir_i64(&k, 0), 1);
  sm_kir_end(&k);
  check_fault(&k, "is not the same for all threads");
  k = start();
  int32_t other = sm_kir_shuffle(&k, sm_kir_i64(&k, 4), 1);
  sm_kir_for(&k, sm_kir_i64(&k, 0), other, 1);
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
  sm_kir_kernel c = start(), d = start();
  sm_kir_shuffle(&c, sm_kir_member(&c), 1);
  sm_kir_shuffle(&d, sm_kir_member(&d), 2);
  CHECK(!sm_hash_equal(sm_kir_hash(&c), sm_kir_hash(&d)));
  sm_kir_free(&c);
  sm_kir_free(&d);
  sm_kir_free(&a);
  sm_kir_free(&b);
}

/* --- Texts ------------------------------------------------------------------------------------ */

static void check_text(const char *dialect, const char *shared, const char *barrier, const char *entry) {
  sm_kir_kernel k = build_sum();
  sm_text text = text_of(&k, sm_dialect_find(dialect), (sm_text_form){.group = 256});
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

static sm_kir_kernel build_shuffle(smelt_dtype dtype) {
  sm_kir_kernel k = start();
  int out = sm_kir_add_buffer(&k, dtype, true);
  int32_t zero = sm_kir_i64(&k, 0);
  sm_kir_store(&k, out, zero, NONE, sm_kir_shuffle(&k, sm_kir_load(&k, out, zero, NONE, 1), 2));
  return k;
}

static void check_shuffle(const char *dialect, smelt_dtype dtype, const char *function, const char *body) {
  sm_kir_kernel k = build_shuffle(dtype);
  sm_text text = text_of(&k, sm_dialect_find(dialect), (sm_text_form){0});
  CHECK_CONTAINS(text.data, function);
  CHECK_CONTAINS(text.data, body);
  sm_text_free(&text);
  sm_kir_free(&k);
}

TEST(texts_exchange_values) {
  check_shuffle("cuda", SMELT_F32, "= shuffle_f32(v1, 2);", "(f32)__shfl_xor_sync(0xffffffffu, a, digit)");
  check_shuffle("hip", SMELT_F64, "= shuffle_f64(v1, 2);", "(f64)__shfl_xor(a, digit)");
  check_shuffle("msl", SMELT_I64, "= shuffle_i64(v1, 2);", "as_type<i64>(simd_shuffle_xor(as_type<uint2>(a)");
  check_shuffle("msl", SMELT_BOOL, "bool shuffle_bool(u8 a, ", "(bool)simd_shuffle_xor(a, digit)");
  sm_kir_kernel k = build_shuffle(SMELT_F32);
  check_no_text(&k, &sm_dialect_opencl, "opencl has no values of other threads");
  sm_kir_free(&k);
}

/* What CUDA cannot declare the launch gives. */
TEST(much_memory_is_given) {
  sm_kir_kernel k = build_sum();
  (void)sm_kir_add_shared(&k, SMELT_F32, 12 * 1024 - 4);
  CHECK_I64(sm_c_family_given_shared(&k, &sm_dialect_cuda), 0);
  sm_kir_align_buffer(&k, sm_kir_add_shared(&k, SMELT_BOOL, 1));
  CHECK_I64(sm_c_family_given_shared(&k, &sm_dialect_cuda), 48 * 1024 + 16);
  CHECK_I64(sm_c_family_given_shared(&k, &sm_dialect_hip), 0);
  sm_text text = text_of(&k, &sm_dialect_cuda, (sm_text_form){.group = 256});
  CHECK_CONTAINS(text.data, "extern __shared__ __align__(16) unsigned char shared[];");
  CHECK_CONTAINS(text.data, "f32 * const b3 = (f32 *)(shared + 16);");
  CHECK_CONTAINS(text.data, "u8 * const b4 = (u8 *)(shared + 49152);");
  sm_text_free(&text);
  sm_kir_free(&k);
}

TEST(only_what_groups_share_is_aligned) {
  sm_kir_kernel k = start();
  sm_kir_align_buffer(&k, sm_kir_add_local(&k, SMELT_F32, 4));
  check_fault(&k, "local and aligned");
}

TEST(c_has_no_groups) {
  sm_kir_kernel k = build_sum();
  check_no_text(&k, &sm_dialect_c, "c has no groups of threads");
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
  k = build_shuffles();
  sm_text_init(&text, &sm_malloc_allocator);
  sm_kir_print(&text, &k);
  CHECK_CONTAINS(text.data, "shuffle i64x2 %1 ^ 1\n");
  sm_text_free(&text);
  sm_kir_free(&k);
}

TEST_MAIN(CASE(groups_share_memory), CASE(values_outlive_barriers), CASE(threads_exchange_values),
          CASE(shuffles_have_to_be_met_by_pairs), CASE(barriers_have_to_be_met_by_all),
          CASE(groups_have_to_be_announced), CASE(identity_has_the_threads),
          CASE(texts_share_memory_and_wait), CASE(texts_exchange_values), CASE(much_memory_is_given),
          CASE(only_what_groups_share_is_aligned), CASE(c_has_no_groups), CASE(printed))
