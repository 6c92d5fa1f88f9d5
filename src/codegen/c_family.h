/* SPDX-License-Identifier: Apache-2.0
 *
 * From kernel IR to text of the C family: CUDA, HIP, OpenCL C, Metal, C.
 *
 * Purpose. A pure function: kernel and dialect in, source text out, the same text
 * every time. One printer for all; what differs is in the *dialect*, plain data
 * (c_dialects.c). Functions such as exp are replaced by their steps first, so that
 * the text computes the bits that every other target computes.
 *
 * Vocabulary. A *work item* is one step of the space that CHUNK_BEGIN and CHUNK_END
 * count. A *thread* runs `grain` work items in a row: thread t runs the chunk
 *
 *   [t * grain, min((t + 1) * grain, items))
 *
 * so ceil(items / grain) threads have work and others do nothing. (The grain is in the text if the
 * kernel has one.) Of a kernel with
 * `threads` > 1 a group of that many threads runs a chunk together, group g that which
 * thread g would run, and MEMBER tells its threads apart.
 *
 * The entry has the kernel's name and these parameters:
 *
 *   1. a pointer for each buffer that is an argument, in their order. Elements are as
 *      the host has them: bools are bytes, half types the 16 bits of theirs. Two
 *      may be the same memory (in place). They are aligned to their elements, no more; aligned
 *      buffers of the kernel to 64 bytes.
 *   2. the *words*, 8 bytes each: items, grain, then the size arguments, then the
 *      scalar arguments (sm_word). A struct by value if sm_c_family_by_value says so,
 *      else a pointer to device memory that holds it.
 *   3. only if the kernel has a TABLE: a pointer to the scalar table's words.
 *
 *   dialect   entry                        parameter 2                  thread
 *   cuda      extern "C" __global__        by value                     x of grid and block
 *   hip       the same                     by value                     the same
 *   opencl    __kernel                     by value or __global const   get_global_id(0)
 *   msl       [[kernel]]                   constant &, [[buffer(n)]]    x of grid and group
 *   c         a function of type           (see there: the caller       (none: begin and end
 *             sm_kernel_fn                 gives the chunk)             are parameters)
 *
 * Metal numbers its parameters in this order, [[buffer(0)]] the first. Grids and groups
 * have one dimension.
 *
 * The compiler must neither contract nor reorder: nothing is left to say in OpenCL,
 * Metal and C texts; CUDA and HIP need --fmad=false (-ffp-contract=off), and their
 * defaults for the rest: no fast math, exact division and square root, denormals
 * kept. An OpenCL program is to be built with -cl-fp32-correctly-rounded-divide-sqrt where
 * the device has it. */
#ifndef SM_CODEGEN_C_FAMILY_H
#define SM_CODEGEN_C_FAMILY_H

#include "kir/kir.h"

typedef struct sm_dialect sm_dialect;

extern const sm_dialect sm_dialect_cuda, sm_dialect_hip, sm_dialect_opencl, sm_dialect_msl, sm_dialect_c;

/* The dialect of that name, NULL if there is none. */
const sm_dialect *sm_dialect_find(const char *name);

/* What a text is specialised for. */
typedef struct sm_text_form {
  int group; /* the most threads that a group has; 0: unknown */
} sm_text_form;

/* Appends the text. ERR_UNSUPPORTED if the dialect has no form for something in the kernel,
 * with its name (f64 in Metal, groups in C); ERR_MEMORY. */
smelt_status sm_c_family_text(const sm_kir_kernel *kernel, const sm_dialect *dialect, sm_text_form form,
                              sm_text *out, smelt_error *err);
/* How the words are passed. */
bool sm_c_family_by_value(const sm_kir_kernel *kernel, const sm_dialect *dialect);
/* Bytes of the group's memory that a launch has to give: all that its shared buffers take, if the dialect
 * cannot declare so much; else 0. */
uint32_t sm_c_family_given_shared(const sm_kir_kernel *kernel, const sm_dialect *dialect);
/* Whether there is a third parameter. */
bool sm_c_family_has_table(const sm_kir_kernel *kernel);

#endif
