/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "codegen/c_family_dialect.h"

/* Types of C with these names for 8 to 64 bits; halves are their bits. */
#define TYPES(i8, i16, i32, i64, u8, u16, u32, u64)                                                \
  [SMELT_BOOL] = "bool", [SMELT_I8] = i8, [SMELT_I16] = i16, [SMELT_I32] = i32, [SMELT_I64] = i64, \
  [SMELT_U8] = u8, [SMELT_U16] = u16, [SMELT_U32] = u32, [SMELT_U64] = u64, [SMELT_F16] = u16,     \
  [SMELT_BF16] = u16, [SMELT_F32] = "float"

/* CUDA and HIP are the same but for what is said here. */
#define CUDA_LIKE                                                                                         \
  .types = {TYPES("signed char", "short", "int", "long long", "unsigned char", "unsigned short",          \
                  "unsigned int", "unsigned long long"),                                                  \
            [SMELT_F64] = "double"},                                                                      \
  .long_suffix = "ll", .float_suffix = "f", .function = "static __device__ __forceinline__ ",             \
  .entry = "extern \"C\" __global__ void ",                                                               \
  .group_entry = "extern \"C\" __global__ __launch_bounds__(%d) void ", .global = "", .constant = "",     \
  .shared = "__shared__ ", .aligned = "__align__(16) ", .vector = "__align__(%d) ", .wide_access = true,  \
  .unroll = "_Pragma(\"unroll\") ", .loop = "_Pragma(\"unroll 1\") ", .words = "smelt_words const words", \
  .by_value = 4096, .thread = "((i64)blockIdx.x * blockDim.x + threadIdx.x)", .group = "(i64)blockIdx.x", \
  .member = "(i64)threadIdx.x", .barrier = "__syncthreads();",                                            \
  .bitcast = {"__float_as_uint", "__uint_as_float", "__double_as_longlong", "__longlong_as_double"}

const sm_dialect sm_dialect_cuda = {
    .name = "cuda",
    .head = "",
    .widen_f16 = "  f32 v;\n  asm(\"cvt.f32.f16 %0, %1;\" : \"=f\"(v) : \"h\"(a));\n  return v;\n",
    .narrow_f16 = "  u16 v;\n  asm(\"cvt.rn.f16.f32 %0, %1;\" : \"=h\"(v) : \"f\"(a));\n  return v;\n",
    .shuffle = "(T)__shfl_xor_sync(0xffffffffu, a, digit)",
    .narrow_bf16 = "  u16 v;\n  asm(\"cvt.rn.bf16.f32 %0, %1;\" : \"=h\"(v) : \"f\"(a));\n  return v;\n",
    .has_narrow_bf16 = "__CUDA_ARCH__ >= 800",
    .most_shared = 48 * 1024,
    .given_shared = "extern __shared__ __align__(16) unsigned char shared[];",
    CUDA_LIKE,
};

const sm_dialect sm_dialect_hip = {
    .name = "hip",
    .head = "#include <hip/hip_runtime.h>\n#pragma clang fp contract(off)\n",
    .widen_f16 = "  return (f32)__builtin_bit_cast(_Float16, a);\n",
    .narrow_f16 = "  return __builtin_bit_cast(u16, (_Float16)a);\n",
    .shuffle = "(T)__shfl_xor(a, digit)",
    CUDA_LIKE,
};

const sm_dialect sm_dialect_opencl = {
    .name = "opencl",
    .head = "#pragma OPENCL FP_CONTRACT OFF\n",
    .f64_head = "#pragma OPENCL EXTENSION cl_khr_fp64 : enable\n",
    /* PoCL has a dozen instructions for rint, where processors have one. */
    .rounding_head =
        "#ifdef __has_builtin\n"
        "#if __has_builtin(__builtin_elementwise_roundeven)\n"
        "#define rint __builtin_elementwise_roundeven\n"
        "#define floor __builtin_elementwise_floor\n"
        "#define ceil __builtin_elementwise_ceil\n"
        "#define trunc __builtin_elementwise_trunc\n"
        "#endif\n"
        "#endif\n",
    .streaming_head =
        "#define STREAM(value, pointer) *(pointer) = value\n"
        "#ifdef __has_builtin\n"
        "#if __has_builtin(__builtin_nontemporal_store)\n"
        "#undef STREAM\n"
        "#define STREAM(value, pointer) __builtin_nontemporal_store(value, pointer)\n"
        "#endif\n"
        "#endif\n",
    .types = {TYPES("char", "short", "int", "long", "uchar", "ushort", "uint", "ulong"), [SMELT_F64] =
                                                                                             "double"},
    .long_suffix = "l",
    .float_suffix = "",
    .function = "static inline ",
    .entry = "__kernel void ",
    .group_entry = "__kernel __attribute__((reqd_work_group_size(%d, 1, 1))) void ",
    .exact_groups = true,
    .global = "__global ",
    .constant = "__global ",
    .shared = "__local ",
    .aligned = "__attribute__((aligned(64))) ",
    .vector = "",
    .native_vectors = true,
    .unroll = "",
    .loop = "",
    .words = "smelt_words const words",
    .by_value = 1024,
    .thread = "(i64)get_global_id(0)",
    .group = "(i64)get_group_id(0)",
    .member = "(i64)get_local_id(0)",
    .barrier = "barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);",
    .bitcast = {"as_uint", "as_float", "as_ulong", "as_double"},
    .widen_f16 = "  return vload_half(0, (half const*)&a);\n",
    .narrow_f16 = "  u16 v;\n  vstore_half_rte(a, 0, (half *)&v);\n  return v;\n",
};

const sm_dialect sm_dialect_msl = {
    .name = "msl",
    .head = "#include <metal_stdlib>\nusing namespace metal;\n#pragma clang fp contract(off)\n",
    .types = {TYPES("char", "short", "int", "long", "uchar", "ushort", "uint", "ulong")},
    .long_suffix = "l",
    .float_suffix = "",
    .function = "static inline ",
    .entry = "[[kernel]] void ",
    .group_entry = "[[max_total_threads_per_threadgroup(%d)]] [[kernel]] void ",
    .global = "device ",
    .constant = "constant ",
    .shared = "threadgroup ",
    .aligned = "alignas(16) ",
    .vector = "alignas(%d) ",
    .wide_access = true,
    .unroll = "_Pragma(\"unroll\") ",
    .loop = "_Pragma(\"unroll 1\") ",
    .words = "constant smelt_words& words",
    .binding = " [[buffer(%d)]]",
    .builtins = ", uint const thread_position_in_grid [[thread_position_in_grid]]",
    .group_builtins =
        ", uint const threadgroup_position_in_grid [[threadgroup_position_in_grid]], uint const "
        "thread_index_in_threadgroup [[thread_index_in_threadgroup]]",
    .thread = "(i64)thread_position_in_grid",
    .group = "(i64)threadgroup_position_in_grid",
    .member = "(i64)thread_index_in_threadgroup",
    .barrier = "threadgroup_barrier(mem_flags::mem_threadgroup | mem_flags::mem_device);",
    .shuffle = "(T)simd_shuffle_xor(a, digit)",
    .shuffle_long = "as_type<T>(simd_shuffle_xor(as_type<uint2>(a), digit))",
    .bitcast = {"as_type<uint>", "as_type<float>"},
    .widen_f16 = "  return (f32)as_type<half>(a);\n",
    .narrow_f16 = "  return as_type<ushort>((half)a);\n",
    .init_begin = "// Init locals begin",
    .init_end = "// Init locals end",
    .body_begin = "// Fuse on write begin",
    .body_end = "// Fuse on write end",
};

const sm_dialect sm_dialect_c = {
    .name = "c",
    .head = "#include <math.h>\n#include <stdbool.h>\n#include <stdint.h>\n",
    .types = {TYPES("int8_t", "int16_t", "int32_t", "int64_t", "uint8_t", "uint16_t", "uint32_t", "uint64_t"),
              [SMELT_F64] = "double"},
    .long_suffix = "ll",
    .float_suffix = "f",
    .function = "static inline ",
    .entry = "void ",
    .global = "",
    .constant = "",
    .vector = "",
    .unroll = "",
    .loop = "",
};

const sm_dialect *sm_dialect_find(const char *name) {
  static const sm_dialect *const all[] = {&sm_dialect_cuda, &sm_dialect_hip, &sm_dialect_opencl,
                                          &sm_dialect_msl, &sm_dialect_c};
  for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
    if (strcmp(all[i]->name, name) == 0) return all[i];
  }
  return NULL;
}
