/* SPDX-License-Identifier: Apache-2.0
 *
 * Kernels of reduction traces: the skeleton (reduce_skeleton.h) with the trace's work on
 * elements before it and its work on results behind it.
 *
 * A value of elements that several passes use is worked out in each of them, or where that
 * costs more than memory *kept*: the first pass stores the row to scratch memory, if the form
 * says that it fits there.
 *
 * An element that is made of several inputs, of which rows are taken across, is *staged*: worked out in
 * the order of memory, so that only one value has to be loaded lane by lane.
 *
 * Of every input a kernel knows the class of its strides along the three axes (0, 1 or
 * other), into how many parts the outer one is split, whether it begins at its first element and where
 * vectors of it may lie; strides, extents and places are arguments. So are stride and extent of an axis
 * along which elements are selected. */
#ifndef SM_LAUNCH_REDUCE_KERNEL_H
#define SM_LAUNCH_REDUCE_KERNEL_H

#include "launch/reduce_geometry.h"
#include "trace/trace.h"

typedef struct sm_reduce_input {
  int64_t strides[SM_REDUCE_AXES];
  sm_reduce_split split;
  int64_t first; /* where its element at the origin is, in its span */
  /* Of the axis along which it is gathered: */
  int64_t place_stride, extent;
} sm_reduce_input;

/* Size arguments of an input, in this order, then an extent and a stride for each part of a
 * split axis; the skeleton's are behind all of them. */
enum {
  SM_REDUCE_INPUT_FIRST = SM_REDUCE_AXES,
  SM_REDUCE_INPUT_PLACE_STRIDE,
  SM_REDUCE_INPUT_EXTENT,
  SM_REDUCE_INPUT_SIZES
};

static inline int sm_reduce_count_sizes(const sm_reduce_input *input) {
  return SM_REDUCE_INPUT_SIZES + 2 * input->split.n;
}

/* The skeleton's tasks of a trace; how many there are. */
int sm_reduce_trace_tasks(const sm_trace *trace, sm_reduce_task tasks[SM_REDUCE_TASKS]);

/* Whether vectors of an input's elements begin at multiples of their width, in a team's form. */
bool sm_reduce_aligns(const sm_reduce_form *form, const sm_reduce_input *input);

/* Makes the kernel, not verified yet, the caller's to free also on failure. Buffers are the
 * trace's inputs and outputs, then the skeleton's. ERR_MEMORY. */
smelt_status sm_reduce_trace_kernel(const sm_trace *trace, const sm_reduce_input *inputs,
                                    const sm_reduce_form *form, const sm_allocator *allocator,
                                    sm_kir_kernel *out, smelt_error *err);

#endif
