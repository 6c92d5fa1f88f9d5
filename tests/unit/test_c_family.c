/* SPDX-License-Identifier: Apache-2.0
 *
 * What can be said of texts of the C family without a compiler. */
#include "kernel_text.h"
#include "operation_kernels.h"

/* --- What is refused ------------------------------------------------------------------------------ */

TEST(metal_has_no_f64) {
  sm_kir_kernel k;
  operation list[MOST_BUFFERS] = {{SM_KOP_NONE, SMELT_DTYPE_NONE, SMELT_DTYPE_NONE}};
  build_operations(&k, list, list_operations(SMELT_F64, true, list), 1, true);
  check_no_text(&k, &sm_dialect_msl, "msl has no f64");
  sm_kir_free(&k);
}

/* Nothing is written lane by lane; only numbers may have more digits. */
static void compare_lengths(const sm_dialect *dialect) {
  size_t lengths[2];
  for (int i = 0; i < 2; i++) {
    sm_kir_kernel k;
    build_all_forms(&k, i ? 8 : 4);
    sm_text text = text_of(&k, dialect, (sm_text_form){0});
    lengths[i] = text.len;
    sm_text_free(&text);
    sm_kir_free(&k);
  }
  enum { DIGITS = 8 };
  CHECK(lengths[1] >= lengths[0] && lengths[1] <= lengths[0] + DIGITS);
}

TEST(length_does_not_grow_with_the_width) {
  static const char *const names[] = {"cuda", "hip", "opencl", "msl", "c"};
  for (size_t d = 0; d < sizeof names / sizeof names[0]; d++) compare_lengths(sm_dialect_find(names[d]));
}

/* Also where no value is a vector. */
TEST(loops_over_lanes_are_defined) {
  static const char *const names[] = {"cuda", "hip", "msl", "c"}; /* OpenCL stores whole vectors */
  for (size_t d = 0; d < sizeof names / sizeof names[0]; d++) {
    sm_kir_kernel k;
    sm_kir_init(&k, &sm_malloc_allocator);
    sm_kir_add_buffer(&k, SMELT_I32, true);
    int32_t zero = sm_kir_i64(&k, 0), one = sm_kir_const(&k, SMELT_I32, (sm_word){.I32 = 1});
    sm_kir_store(&k, 0, zero, SM_KIR_NONE, sm_kir_splat(&k, one, 4));
    sm_text text = text_of(&k, sm_dialect_find(names[d]), (sm_text_form){0});
    CHECK_CONTAINS(text.data, "#define LANES(n)");
    CHECK_CONTAINS(text.data, "LANES(4) b0[");
    sm_text_free(&text);
    sm_kir_free(&k);
  }
}

/* OpenCL has vectors: a comparison, a choice, what is loaded and stored. */
TEST(vectors_of_the_dialect) {
  sm_kir_kernel k;
  sm_kir_init(&k, &sm_malloc_allocator);
  sm_kir_add_buffer(&k, SMELT_F32, true);
  int32_t zero = sm_kir_i64(&k, 0), one = sm_kir_const(&k, SMELT_F32, (sm_word){.F32 = 1});
  int32_t ones = sm_kir_splat(&k, one, 8), x = sm_kir_load(&k, 0, zero, SM_KIR_NONE, 8);
  int32_t less = sm_kir_kop(&k, SM_KOP_LT, x, ones, SM_KIR_NONE, SMELT_DTYPE_NONE);
  sm_kir_store(&k, 0, zero, SM_KIR_NONE, sm_kir_kop(&k, SM_KOP_SELECT, less, ones, x, SMELT_DTYPE_NONE));
  sm_text text = text_of(&k, &sm_dialect_opencl, (sm_text_form){0});
  CHECK_CONTAINS(text.data, "vload8(0, b0 + 0l)");
  CHECK_CONTAINS(text.data, "-convert_char8(v3.v < (float8)(1.0f))");
  CHECK_CONTAINS(text.data, "-convert_int8(v4.v) ? (float8)(1.0f) : v3.v");
  CHECK_CONTAINS(text.data, "vstore8(v5.v, 0, b0 + 0l)");
  CHECK(strstr(text.data, "LANES") == NULL);
  sm_text_free(&text);
  sm_kir_free(&k);
}

/* The same kernel is the same text; 32-bit indices leave no 64-bit arithmetic in it. */
TEST(indices_of_32_bits) {
  sm_kir_kernel k;
  build_all_forms(&k, 4);
  sm_text wide = text_of(&k, &sm_dialect_cuda, (sm_text_form){.group = 256});
  sm_text again = text_of(&k, &sm_dialect_cuda, (sm_text_form){.group = 256});
  k.narrow = true;
  sm_text narrow = text_of(&k, &sm_dialect_cuda, (sm_text_form){.group = 256});
  CHECK_STR(again.data, wide.data);
  CHECK_CONTAINS(wide.data, "for (i64 ");
  CHECK(strstr(narrow.data, "for (i64 ") == NULL);
  CHECK_CONTAINS(narrow.data, "for (i32 ");
  sm_text_free(&wide);
  sm_text_free(&again);
  sm_text_free(&narrow);
  sm_kir_free(&k);
}

/* Whole vectors at aligned places, past the caches and not, and bytes that are bools. */
TEST(vectors_in_memory) {
  sm_kir_kernel k;
  sm_kir_init(&k, &sm_malloc_allocator);
  sm_kir_align_buffer(&k, sm_kir_add_buffer(&k, SMELT_BOOL, true));
  sm_kir_align_buffer(&k, sm_kir_add_buffer(&k, SMELT_I32, true));
  int32_t zero = sm_kir_i64(&k, 0), b = sm_kir_load(&k, 0, zero, SM_KIR_NONE, 16);
  sm_kir_store(&k, 0, zero, SM_KIR_NONE, b);
  sm_kir_stream(&k, 1, zero, sm_kir_load(&k, 1, zero, SM_KIR_NONE, 4));
  sm_kir_fence(&k);
  sm_text text = text_of(&k, &sm_dialect_opencl, (sm_text_form){0});
  CHECK_CONTAINS(text.data, "v1.v = -(*(__global uchar16 const*)(b0 + 0l) != (uchar)0);");
  CHECK_CONTAINS(text.data, "*(__global uchar16 *)(b0 + 0l) = as_uchar16(v1.v);");
  CHECK_CONTAINS(text.data, "STREAM(v3.v, (__global int4 *)(b1 + 0l));");
  CHECK_CONTAINS(text.data, "#define STREAM(value, pointer)");
  sm_text_free(&text);
  text = text_of(&k, &sm_dialect_cuda, (sm_text_form){0});
  CHECK_CONTAINS(text.data, "const u8x16 m1 = *(u8x16 const*)(b0 + 0ll);");
  CHECK_CONTAINS(text.data, "LANES(16) v1.l[l] = m1.l[l] != 0;");
  CHECK_CONTAINS(text.data, "*(u8x16 *)(b0 + 0ll) = m2;");
  CHECK_CONTAINS(text.data, "*(i32x4 *)(b1 + 0ll) = v3;");
  sm_text_free(&text);
  sm_kir_free(&k);
}

/* Conversions of halves too: with the widths that are used. */
TEST(vectors_of_halves) {
  sm_kir_kernel k;
  sm_kir_init(&k, &sm_malloc_allocator);
  sm_kir_add_buffer(&k, SMELT_F16, false);
  sm_kir_add_buffer(&k, SMELT_BF16, true);
  int32_t zero = sm_kir_i64(&k, 0), x = sm_kir_load(&k, 0, zero, SM_KIR_NONE, 8);
  int32_t wide = sm_kir_kop(&k, SM_KOP_CAST, x, SM_KIR_NONE, SM_KIR_NONE, SMELT_F32);
  sm_kir_store(&k, 1, zero, SM_KIR_NONE,
               sm_kir_kop(&k, SM_KOP_CAST, wide, SM_KIR_NONE, SM_KIR_NONE, SMELT_BF16));
  sm_text text = text_of(&k, &sm_dialect_opencl, (sm_text_form){0});
  CHECK_CONTAINS(text.data, "v2.v = widen_f16x8(v1.v);");
  CHECK_CONTAINS(text.data, "v3.v = narrow_bf16x8(v2.v);");
  CHECK_CONTAINS(text.data, "static inline float8 widen_f16x8(ushort8 a)");
  CHECK_CONTAINS(text.data, "static inline ushort8 narrow_bf16x8(float8 a)");
  CHECK(strstr(text.data, "narrow_f16x8") == NULL);
  sm_text_free(&text);
  sm_kir_free(&k);
}

TEST_MAIN(CASE(metal_has_no_f64), CASE(length_does_not_grow_with_the_width),
          CASE(loops_over_lanes_are_defined), CASE(vectors_of_the_dialect), CASE(vectors_in_memory),
          CASE(vectors_of_halves), CASE(indices_of_32_bits))
