/* SPDX-License-Identifier: Apache-2.0
 *
 * The elementwise skeleton: from a trace and its launch plan to kernel IR.
 *
 * On devices that are not chunked each thread takes one vector, and finds the place of its
 * row by itself; the width divides rows, so that nothing is left over. What follows is about
 * chunks of work items.
 *
 * Each block becomes a loop nest of its own over the chunk. A block of more
 * than one axis has a loop over rows, in which the row number is decoded once
 * into a base position for each input, and places that gathers have for the whole row are
 * found (launch/row_places.h). Within a row, or over the whole chunk,
 * the *form* says how the steps are run:
 *
 *   one loop     short bodies
 *   tiled        long bodies: segments of steps, each a loop over a tile that
 *                stays in the first-level cache; values that cross segments go
 *                through local buffers
 *
 * Where an input lies across the rows, one loop runs *strips* of neighbouring rows instead of
 * one row after the other.
 *
 * A round takes one vector, or several side by side where a chain of cheap
 * steps would wait for itself. What a loop carries stays in registers, and a round is
 * over when all its trips are: however long, a loop is one segment.
 *
 * A *padded* kernel runs whole rounds only; the driver pads what is left. Any
 * other has loops over narrower vectors and over single elements behind the vectors. */
#ifndef SM_LAUNCH_ELEMENTWISE_SKELETON_H
#define SM_LAUNCH_ELEMENTWISE_SKELETON_H

#include "kir/kir.h"
#include "launch/launch_plan.h"
#include "rt/device.h"

typedef struct sm_elementwise_form {
  int width;      /* lanes of a vector */
  int unroll;     /* vectors side by side in a round; more than 1 only if padded or for loops */
  bool loops;     /* some block has a loop */
  int tile;       /* elements of a tile, a multiple of a round's; 0: one loop */
  int segment;    /* cost of the steps that a segment of a tiled kernel may have */
  bool streaming; /* results bypass the caches */
  bool padded;
  bool threads; /* a chunk is one vector: the device spreads them over threads */
  bool interpreted;
  int64_t work; /* cost of all blocks' steps, all trips of loops */
} sm_elementwise_form;

/* The form for this trace on a device, and that for its interpreter. `streaming`: where
 * the form allows it results are to bypass the caches; `arena` is for scratch. */
sm_elementwise_form sm_elementwise_choose(const sm_trace *trace, const sm_launch_plan *plan,
                                          const sm_profile *profile, bool streaming, sm_arena *arena);
sm_elementwise_form sm_elementwise_interpreted(const sm_trace *trace, const sm_launch_plan *plan,
                                               const sm_profile *profile);

/* Lanes of a vector, for this plan. */
int sm_elementwise_width(const sm_trace *trace, const sm_launch_plan *plan, const sm_profile *profile);

/* Estimate of one thread's time for a launch, in nanoseconds. */
int64_t sm_elementwise_ns(const sm_elementwise_form *form, int64_t work_items, uint64_t bytes);

typedef enum sm_size_kind {
  SM_SIZE_EXTENT,          /* of `axis` */
  SM_SIZE_STRIDE,          /* of `buffer` along `axis` */
  SM_SIZE_FIRST,           /* where `buffer` has the element at the origin */
  SM_SIZE_GATHERED_EXTENT, /* of the axis along which `buffer` is gathered */
  SM_SIZE_GATHERED_STRIDE,
  SM_SIZE_TRIPS, /* of the loop */
  SM_SIZE_ROW    /* element of the table where the loop's rows begin */
} sm_size_kind;

/* What a size argument is, of which block. */
typedef struct sm_size_source {
  sm_size_kind kind;
  int32_t block, axis, buffer;
} sm_size_source;

typedef sm_vec(sm_size_source) sm_size_list;

/* The size argument's value in a launch. */
int64_t sm_size_value(const sm_trace *trace, const sm_launch_plan *plan, const sm_size_source *source);

/* Builds the kernel, which is not verified yet: buffers are the trace's inputs, then its
 * outputs; scalars are the trace's. `sizes` gets what the size arguments are; of `plan`
 * only the ranks and the classes of the strides enter the kernel. Both are the caller's
 * to free, also on failure. */
smelt_status sm_elementwise_kernel(const sm_trace *trace, const sm_launch_plan *plan,
                                   sm_elementwise_form form, const sm_allocator *allocator,
                                   sm_kir_kernel *out, sm_size_list *sizes, smelt_error *err);

#endif
