/* SPDX-License-Identifier: Apache-2.0 */
#include "launch/launch_plan.h"

#include <string.h>

/* Strides along the axes of the space, by the input's map; 0 where it is broadcast. */
static void follow_map(const sm_trace_value *input, const sm_shape *operand, const sm_layout *layout,
                       int64_t *strides, sm_gathered_axis *gathered) {
  int64_t dense = 1;
  for (int axis = operand->rank - 1; axis >= 0; axis--) {
    int64_t dim = operand->dims[axis], stride = layout ? layout->strides[axis] : dense;
    if (input->map[axis] == SM_NO_AXIS) *gathered = (sm_gathered_axis){dim, stride};
    else strides[input->map[axis]] = dim == 1 ? 0 : stride;
    dense *= dim;
  }
}

/* Whether every buffer that the block has strides for goes through axes `outer` and
 * `inner` as through one. */
static bool jointly_contiguous(const sm_block_plan *p, size_t n_buffers, int outer, int inner) {
  for (size_t i = 0; i < n_buffers; i++) {
    const int64_t *strides = sm_block_plan_strides(p, (int32_t)i);
    if (strides[outer] != strides[inner] * p->dims[inner]) return false;
  }
  return true;
}

static void move_axis(sm_block_plan *p, size_t n_buffers, int from, int to) {
  p->dims[to] = p->dims[from];
  for (size_t i = 0; i < n_buffers; i++) {
    int64_t *strides = sm_block_plan_strides(p, (int32_t)i);
    strides[to] = strides[from];
  }
}

/* Drops axes of extent 1 and merges neighbours, from the innermost axis on; the
 * kept axes gather at the end and are then moved to the front. */
static void merge_axes(sm_block_plan *p, size_t n_buffers) {
  int kept = p->rank; /* the axis the next one may merge into, p->rank if none */
  for (int axis = p->rank - 1; axis >= 0; axis--) {
    if (p->dims[axis] == 1) continue;
    if (kept < p->rank && jointly_contiguous(p, n_buffers, axis, kept)) {
      p->dims[kept] *= p->dims[axis];
    } else {
      move_axis(p, n_buffers, axis, --kept);
    }
  }
  int rank = p->rank - kept;
  for (int axis = 0; axis < rank; axis++) move_axis(p, n_buffers, kept + axis, axis);
  p->rank = rank;
}

static void make_scalar_space(sm_block_plan *p, size_t n_buffers) {
  p->rank = 1;
  p->dims[0] = 1;
  for (size_t i = 0; i < n_buffers; i++) sm_block_plan_strides(p, (int32_t)i)[0] = 0;
}

/* Puts axis `from` in front of axis `to`. */
static void bring_forward(sm_block_plan *p, size_t n_buffers, int64_t *order, int from, int to) {
  for (int axis = from; axis > to; axis--) {
    int64_t stride = order[axis], dim = p->dims[axis];
    order[axis] = order[axis - 1];
    order[axis - 1] = stride;
    p->dims[axis] = p->dims[axis - 1];
    p->dims[axis - 1] = dim;
    for (size_t i = 0; i < n_buffers; i++) {
      int64_t *strides = sm_block_plan_strides(p, (int32_t)i);
      stride = strides[axis];
      strides[axis] = strides[axis - 1];
      strides[axis - 1] = stride;
    }
  }
}

/* Sorts the axes by the output's strides, the largest first. */
static void order_axes(sm_block_plan *p, size_t n_buffers, const sm_layout *output) {
  int64_t order[SMELT_MAX_RANK];
  memcpy(order, output->strides, sizeof order);
  for (int to = 0; to < p->rank; to++) {
    int largest = to;
    for (int axis = to + 1; axis < p->rank; axis++) {
      if (order[axis] > order[largest]) largest = axis;
    }
    bring_forward(p, n_buffers, order, largest, to);
  }
}

/* What the block's outputs have in common; NULL if they are row-major. */
static const sm_layout *output_layout(const sm_block *block, const sm_operand_layouts *layouts) {
  for (size_t i = 0; layouts && i < block->steps.len; i++) {
    if (block->steps.items[i].kind == SM_STEP_WRITE) return layouts->outputs[block->steps.items[i].index];
  }
  return NULL;
}

/* Whether there is nothing between its elements. */
static bool fills_its_span(const sm_layout *l) {
  int64_t begin, end;
  sm_layout_bounds(l, &begin, &end);
  return end - begin == sm_shape_count(&l->shape);
}

/* A launch that is being planned. */
typedef struct planning {
  const sm_trace *trace;
  const sm_segment *segment;
  const sm_operand_layouts *layouts;
  bool keep_axes;
  sm_launch_plan *plan;
} planning;

static void find_strides(const planning *l, const sm_step *step, sm_block_plan *p) {
  bool reads = step->kind == SM_STEP_READ || step->kind == SM_STEP_GATHER;
  if (reads) {
    const sm_trace_value *input = &l->trace->inputs.items[step->index];
    follow_map(input, &l->segment->values.items[input->value].shape,
               l->layouts ? l->layouts->inputs[step->index] : NULL, sm_block_plan_strides(p, step->index),
               &l->plan->gathered[step->index]);
  } else if (step->kind == SM_STEP_WRITE && l->layouts) {
    const sm_layout *part = l->layouts->outputs[step->index];
    int32_t buffer = (int32_t)l->trace->inputs.len + step->index;
    if (part && !fills_its_span(part))
      memcpy(sm_block_plan_strides(p, buffer), part->strides, (size_t)p->rank * sizeof *part->strides);
  }
}

/* Buffers of other blocks keep zero strides, which merge with anything. */
static void plan_block(const planning *l, const sm_block *block, sm_block_plan *p) {
  const sm_shape *space = sm_block_shape(l->segment, block);
  size_t n_buffers = l->trace->inputs.len + l->trace->outputs.len;
  p->rank = space->rank;
  for (int axis = 0; axis < p->rank; axis++) p->dims[axis] = space->dims[axis];
  for (size_t i = 0; i < block->steps.len; i++) find_strides(l, &block->steps.items[i], p);
  const sm_layout *output = output_layout(block, l->layouts);
  if (output) order_axes(p, n_buffers, output);
  if (!l->keep_axes) merge_axes(p, n_buffers);
  if (p->rank == 0) make_scalar_space(p, n_buffers);
}

/* Rows of different lengths have no common grain short of the whole. */
static void find_grain(sm_launch_plan *plan, size_t n_blocks) {
  plan->grain = 1;
  for (size_t b = 0; b < n_blocks; b++) {
    const sm_block_plan *p = &plan->blocks[b];
    int64_t grain = p->rank == 1 ? 1 : p->dims[p->rank - 1];
    if (plan->grain == 1) plan->grain = grain;
    else if (grain != 1 && grain != plan->grain) plan->grain = plan->work_items;
  }
}

static int64_t first_of(const sm_layout *layout, bool whole) {
  int64_t begin = 0, end;
  if (!layout) return 0;
  if (!whole) sm_layout_bounds(layout, &begin, &end);
  return layout->offset - begin;
}

static void find_firsts(const sm_trace *trace, const sm_operand_layouts *layouts, int64_t *first) {
  size_t n_in = trace->inputs.len;
  for (size_t i = 0; layouts && i < n_in; i++) first[i] = first_of(layouts->inputs[i], layouts->whole);
  for (size_t i = 0; layouts && i < trace->outputs.len; i++)
    first[n_in + i] = first_of(layouts->outputs[i], layouts->whole);
}

bool sm_launch_plan_make(const sm_trace *trace, const sm_segment *segment, const sm_operand_layouts *layouts,
                         bool keep_axes, sm_arena *arena, sm_launch_plan *out) {
  size_t n_inputs = trace->inputs.len, n_buffers = n_inputs + trace->outputs.len;
  const planning l = {trace, segment, layouts, keep_axes, out};
  out->blocks = sm_arena_zalloc(arena, trace->blocks.len, sizeof *out->blocks);
  out->first = sm_arena_zalloc(arena, n_buffers, sizeof *out->first);
  out->gathered = sm_arena_zalloc(arena, n_inputs, sizeof *out->gathered);
  out->scalar = false;
  if (!out->blocks || !out->first || !out->gathered) return false;
  out->work_items = sm_shape_count(sm_block_shape(segment, &trace->blocks.items[0]));
  for (size_t b = 0; b < trace->blocks.len; b++) {
    sm_block_plan *p = &out->blocks[b];
    p->strides = sm_arena_zalloc(arena, n_buffers * SMELT_MAX_RANK, sizeof *p->strides);
    if (!p->strides) return false;
    plan_block(&l, &trace->blocks.items[b], p);
  }
  find_firsts(trace, layouts, out->first);
  find_grain(out, trace->blocks.len);
  return true;
}

static bool aligns_rows(const sm_block_plan *block, int32_t buffer, int width) {
  const int64_t *strides = sm_block_plan_strides(block, buffer);
  for (int axis = 0; axis < block->rank - 1; axis++) {
    if (strides[axis] % width) return false;
  }
  return strides[block->rank - 1] == 0 || strides[block->rank - 1] == 1;
}

bool sm_launch_plan_aligns(const sm_trace *trace, const sm_launch_plan *plan, int32_t buffer, int width) {
  bool is_input = buffer < (int32_t)trace->inputs.len;
  if (plan->first[buffer] % width || (is_input && plan->gathered[buffer].stride % width)) return false;
  for (size_t b = 0; b < trace->blocks.len; b++) {
    if (!aligns_rows(&plan->blocks[b], buffer, width)) return false;
  }
  return true;
}

enum { NARROW = 1 << 30 };

/* How far elements lie from the first along an axis, which is no further than that; else -1. */
static int64_t axis_reach(int64_t extent, int64_t stride) {
  if (stride < -NARROW || stride > NARROW || extent > NARROW) return -1;
  int64_t reach = extent > 1 ? (extent - 1) * (stride < 0 ? -stride : stride) : 0;
  return reach <= NARROW ? reach : -1;
}

/* From the element at the origin on, whichever way strides go. */
static bool is_narrow_block(const sm_block_plan *block, int32_t buffer, int64_t first) {
  const int64_t *strides = sm_block_plan_strides(block, buffer);
  int64_t reach = first;
  for (int axis = 0; axis < block->rank; axis++) {
    int64_t further = axis_reach(block->dims[axis], strides[axis]);
    if (further < 0) return false;
    reach += further;
  }
  return reach <= NARROW;
}

bool sm_launch_plan_is_narrow(const sm_trace *trace, const sm_launch_plan *plan) {
  int32_t n_in = (int32_t)trace->inputs.len, n = n_in + (int32_t)trace->outputs.len;
  if (plan->work_items > NARROW) return false;
  for (int32_t i = 0; i < n; i++) {
    int64_t first = plan->first[i], gathered = 0;
    if (i < n_in) gathered = axis_reach(plan->gathered[i].extent, plan->gathered[i].stride);
    if (gathered < 0 || first > NARROW) return false;
    for (size_t b = 0; b < trace->blocks.len; b++) {
      if (!is_narrow_block(&plan->blocks[b], i, first + gathered)) return false;
    }
  }
  return true;
}

void sm_launch_plan_print(sm_text *text, const sm_launch_plan *plan, size_t n_blocks) {
  for (size_t b = 0; b < n_blocks; b++) {
    sm_shape extents = {.rank = plan->blocks[b].rank};
    memcpy(extents.dims, plan->blocks[b].dims, sizeof extents.dims);
    if (b) sm_text_add(text, " ");
    sm_shape_print(text, &extents);
  }
}
