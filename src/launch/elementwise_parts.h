/* SPDX-License-Identifier: Apache-2.0
 *
 * What the parts of the elementwise skeleton share: elementwise_skeleton.c has the kernel and
 * its blocks, elementwise_rounds.c loops over rows, tiles and rounds, elementwise_body.c what
 * one round does.
 *
 * Vocabulary here: a *span* is a contiguous range along the innermost axis; a *round* is one
 * pass of a loop's body, over `unroll` vectors of `width`. Positions that are NONE stand for 0. */
#ifndef SM_LAUNCH_ELEMENTWISE_PARTS_H
#define SM_LAUNCH_ELEMENTWISE_PARTS_H

#include "launch/elementwise_skeleton.h"
#include "launch/row_places.h"
#include "launch/segments.h"

typedef struct sm_skeleton {
  const sm_trace *trace;
  const sm_block *block;
  const sm_block_plan *plan;
  const sm_launch_plan *launch;
  sm_elementwise_form form;
  const sm_allocator *allocator;
  sm_kir_kernel *kernel;
  sm_size_list *sizes;
  sm_segments segments;
  int tile;              /* elements of this block's tiles, or 0 */
  int first_slot;        /* local buffer of slot 0 */
  int32_t *base;         /* by buffer: position of the row's first element, NONE is 0 */
  int32_t *inner_stride; /* by buffer: size argument of class "other", or NONE */
  int32_t *extent;       /* by input: of the axis along which it is gathered */
  int32_t *place_stride; /* by input: of that axis, NONE is 1 */
  sm_row_places places;
  int32_t *row_values; /* by step: its value for the row; of a fixed gather where the row begins */
  int32_t trips, row;  /* of the block's loop, as size arguments: how often, where its rows begin */
  int32_t *locals;     /* unroll × steps: values in the body being emitted, or NONE */
  bool failed;         /* memory ran out */
  bool too_large;      /* slots do not fit into local memory */
} sm_skeleton;

/* Where a body stands: `position` counts along the innermost axis, `row` is
 * the flat position of the row's first element and `tile` the position where
 * the tile begins (NONE is 0). */
typedef struct sm_place {
  int width;
  int32_t position, row, tile;
  int32_t *locals; /* of this vector of the round */
} sm_place;

/* Where a loop is: along the innermost axis, in which row and tile. */
typedef struct sm_span {
  int32_t begin, end, row, tile;
} sm_span;

static inline int32_t sm_skeleton_arithmetic(sm_skeleton *s, sm_kop kop, int32_t a, int32_t b) {
  return sm_kir_kop(s->kernel, kop, a, b, SM_KIR_NONE, SMELT_I64);
}

/* a + b where NONE stands for 0. */
static inline int32_t sm_skeleton_add(sm_skeleton *s, int32_t a, int32_t b) {
  if (a == SM_KIR_NONE) return b;
  return b == SM_KIR_NONE ? a : sm_skeleton_arithmetic(s, SM_KOP_ADD, a, b);
}

static inline int32_t sm_skeleton_or_zero(sm_skeleton *s, int32_t position) {
  return position == SM_KIR_NONE ? sm_kir_i64(s->kernel, 0) : position;
}

static inline int32_t sm_skeleton_inputs(const sm_skeleton *s) { return (int32_t)s->trace->inputs.len; }

static inline int32_t sm_skeleton_buffers(const sm_skeleton *s) {
  return sm_skeleton_inputs(s) + (int32_t)s->trace->outputs.len;
}

/* Along the innermost axis. */
static inline int64_t sm_skeleton_inner_stride_of(const sm_skeleton *s, int32_t buffer) {
  return sm_block_plan_strides(s->plan, buffer)[s->plan->rank - 1];
}

static inline bool sm_skeleton_has_step(const sm_skeleton *s, sm_step_kind kind, int32_t index) {
  for (size_t i = 0; i < s->block->steps.len; i++) {
    const sm_step *step = &s->block->steps.items[i];
    if (step->kind == kind && step->index == index) return true;
  }
  return false;
}

static inline bool sm_skeleton_reads_input(const sm_skeleton *s, int32_t input) {
  return sm_skeleton_has_step(s, SM_STEP_READ, input);
}

/* Whether the block has elements of the buffer at places of its own. */
static inline bool sm_skeleton_touches(const sm_skeleton *s, int32_t buffer) {
  if (buffer >= sm_skeleton_inputs(s))
    return sm_skeleton_has_step(s, SM_STEP_WRITE, buffer - sm_skeleton_inputs(s));
  return sm_skeleton_reads_input(s, buffer) || sm_skeleton_has_step(s, SM_STEP_GATHER, buffer);
}

static inline int32_t sm_skeleton_widen(sm_skeleton *s, const sm_place *p, int32_t value) {
  return p->width == 1 ? value : sm_kir_splat(s->kernel, value, p->width);
}

/* --- elementwise_skeleton.c --------------------------------------------------------------- */

/* Size arguments of the block that is being emitted; their values. */
int32_t sm_skeleton_add_extent(sm_skeleton *s, int axis);
int32_t sm_skeleton_add_stride(sm_skeleton *s, int axis, int32_t buffer);

/* --- elementwise_body.c ------------------------------------------------------------------- */

/* The value of a step that computes nothing. */
int32_t sm_skeleton_emit_leaf(sm_skeleton *s, const sm_place *p, const sm_step *step);
/* Values of earlier segments, before anything is stored (launch/segments.c). */
void sm_skeleton_load_slots(sm_skeleton *s, int segment, const sm_place *places, int n);
/* The steps of a segment, for the n vectors of a round. */
void sm_skeleton_emit_steps(sm_skeleton *s, int segment, const sm_place *places, int n);

/* --- elementwise_rounds.c ----------------------------------------------------------------- */

/* The block over a chunk of work items: rows of its space, a vector of one, or the only row. */
void sm_skeleton_emit_rows(sm_skeleton *s);
void sm_skeleton_emit_vector(sm_skeleton *s);
void sm_skeleton_emit_only_row(sm_skeleton *s);

#endif
