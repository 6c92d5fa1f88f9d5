/* SPDX-License-Identifier: Apache-2.0
 *
 * The elementwise skeleton: from a trace and its launch plan to kernel IR.
 *
 * Each block becomes a loop nest of its own over the chunk. A block of one axis
 * is a vector loop and a scalar tail; a block of more axes has a loop over rows
 * around them, in which the row number is decoded once into coordinates and a
 * base position for each input. */
#ifndef SM_LAUNCH_ELEMENTWISE_SKELETON_H
#define SM_LAUNCH_ELEMENTWISE_SKELETON_H

#include "kir/kir.h"
#include "launch/launch_plan.h"

typedef sm_vec(int64_t) sm_size_list;

/* Builds the kernel: buffers are the trace's inputs, then its outputs; scalars
 * are the trace's. `sizes` gets the values of the size arguments. Both are the
 * caller's to free, also on failure. */
smelt_status sm_elementwise_kernel(const sm_trace *trace, const sm_launch_plan *plan, int width,
                                   const sm_allocator *allocator, sm_kir_kernel *out, sm_size_list *sizes,
                                   smelt_error *err);

#endif
