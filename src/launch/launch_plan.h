/* SPDX-License-Identifier: Apache-2.0
 *
 * Launch plans: how a trace meets real shapes.
 *
 * For every block of a trace: its index space with axes merged that all
 * operands traverse jointly, and a stride per buffer and axis: of the inputs and of
 * outputs that are parts of a larger memory. A stride of 0 is a broadcast (for outputs
 * in all axes: dense), a negative one walks backwards. The axis along which an
 * input is gathered is none of these. Axes are in the order in which the
 * block's outputs have them in memory, where these are dense. Strides fall into the
 * classes 0, 1 and other, which are part of kernel identity; their values, the places
 * where inputs begin and all extents are run-time arguments. For experiments axes can
 * be kept as they are. */
#ifndef SM_LAUNCH_LAUNCH_PLAN_H
#define SM_LAUNCH_LAUNCH_PLAN_H

#include "core/layout.h"
#include "trace/trace.h"

typedef struct sm_block_plan {
  int rank;                     /* after merging, at least 1 */
  int64_t dims[SMELT_MAX_RANK]; /* outermost first */
  int64_t *strides;             /* inputs and outputs × SMELT_MAX_RANK, in elements */
} sm_block_plan;

typedef struct sm_gathered_axis {
  int64_t extent, stride; /* the extent is 0 if there is none */
} sm_gathered_axis;

typedef struct sm_launch_plan {
  sm_block_plan *blocks;      /* one a block of the trace */
  int64_t *first;             /* by buffer: where its element at the origin is, in its span */
  sm_gathered_axis *gathered; /* by input */
  int64_t work_items;         /* elements of the index space */
  int64_t grain;              /* chunks begin at multiples of this */
  bool scalar;                /* kernels are to have no vectors */
} sm_launch_plan;

/* Where operands are in memory: by input and by output a layout, NULL where it is dense
 * and row-major. A buffer's *span* begins at the lowest of its elements, or is all of its
 * memory. Outputs are in the order of their layout, the same for all of a block, and walk
 * forwards. */
typedef struct sm_operand_layouts {
  const sm_layout **inputs, **outputs;
  bool whole; /* spans are */
} sm_operand_layouts;

/* For the sizes of `segment`; `layouts` NULL: all operands are row-major. Everything lives
 * in `arena`. False when memory is exhausted. */
bool sm_launch_plan_make(const sm_trace *trace, const sm_segment *segment, const sm_operand_layouts *layouts,
                         bool keep_axes, sm_arena *arena, sm_launch_plan *out);

/* Whether vectors along the rows, of a width that divides these, begin at multiples of it in the
 * buffer's memory: where the rows begin, and what is gathered, allows it. */
bool sm_launch_plan_aligns(const sm_trace *trace, const sm_launch_plan *plan, int32_t buffer, int width);

/* Whether no extent or stride, and no place of an element or work item, is beyond 2^30. */
bool sm_launch_plan_is_narrow(const sm_trace *trace, const sm_launch_plan *plan);

/* The extents of each block: "[4,6]". */
void sm_launch_plan_print(sm_text *text, const sm_launch_plan *plan, size_t n_blocks);

/* Of a buffer: the inputs, then the outputs. */
static inline int64_t *sm_block_plan_strides(const sm_block_plan *block, int32_t buffer) {
  return block->strides + (size_t)buffer * SMELT_MAX_RANK;
}

/* Whether a buffer moves through memory of its own accord, and not with the work item. */
static inline bool sm_block_plan_strided(const sm_block_plan *block, int32_t buffer) {
  const int64_t *strides = sm_block_plan_strides(block, buffer);
  for (int axis = 0; axis < block->rank; axis++) {
    if (strides[axis]) return true;
  }
  return false;
}

/* Whether a buffer lies along the axis before the innermost one, and is walked across along that. */
static inline bool sm_block_plan_crosses(const sm_block_plan *block, int32_t buffer) {
  const int64_t *strides = sm_block_plan_strides(block, buffer);
  int inner = block->rank - 1;
  return inner > 0 && strides[inner - 1] == 1 && strides[inner] != 0 && strides[inner] != 1;
}

#endif
