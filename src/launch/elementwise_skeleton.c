/* SPDX-License-Identifier: Apache-2.0 */
#include "launch/elementwise_skeleton.h"

#include <string.h>

#include "base/error.h"
#include "launch/elementwise_parts.h"

/* --- Sizes -------------------------------------------------------- */

int64_t sm_size_value(const sm_trace *trace, const sm_launch_plan *plan, const sm_size_source *source) {
  const sm_trace_loop *loop = &trace->blocks.items[source->block].loop;
  const sm_block_plan *block = &plan->blocks[source->block];
  switch (source->kind) {
    case SM_SIZE_EXTENT:
      return block->dims[source->axis];
    case SM_SIZE_STRIDE:
      return sm_block_plan_strides(block, source->buffer)[source->axis];
    case SM_SIZE_FIRST:
      return plan->first[source->buffer];
    case SM_SIZE_GATHERED_EXTENT:
      return plan->gathered[source->buffer].extent;
    case SM_SIZE_GATHERED_STRIDE:
      return plan->gathered[source->buffer].stride;
    case SM_SIZE_TRIPS:
      return loop->trips;
    case SM_SIZE_ROW:
      break;
  }
  return loop->row;
}

static int32_t add_size(sm_skeleton *s, sm_size_kind kind, int axis, int32_t buffer) {
  sm_size_source source = {kind, (int32_t)(s->block - s->trace->blocks.items), axis, buffer};
  if (!sm_vec_push(s->allocator, s->sizes, source)) s->failed = true;
  return sm_kir_size(s->kernel, sm_kir_add_size(s->kernel));
}

int32_t sm_skeleton_add_extent(sm_skeleton *s, int axis) { return add_size(s, SM_SIZE_EXTENT, axis, 0); }

int32_t sm_skeleton_add_stride(sm_skeleton *s, int axis, int32_t buffer) {
  return add_size(s, SM_SIZE_STRIDE, axis, buffer);
}

/* --- Blocks ---------------------------------------------------------------------------------- */

static void begin_gathered(sm_skeleton *s, int32_t input) {
  if (!sm_skeleton_has_step(s, SM_STEP_GATHER, input)) return;
  bool steps = s->launch->gathered[input].stride == 1;
  s->extent[input] = add_size(s, SM_SIZE_GATHERED_EXTENT, 0, input);
  s->place_stride[input] = steps ? SM_KIR_NONE : add_size(s, SM_SIZE_GATHERED_STRIDE, 0, input);
}

static void begin_buffers(sm_skeleton *s) {
  for (int32_t i = 0; i < sm_skeleton_buffers(s); i++) {
    int64_t stride = sm_skeleton_inner_stride_of(s, i);
    bool other = stride != 0 && stride != 1 && sm_skeleton_touches(s, i);
    s->inner_stride[i] = other ? sm_skeleton_add_stride(s, s->plan->rank - 1, i) : SM_KIR_NONE;
    bool shifted = s->launch->first[i] && sm_skeleton_touches(s, i);
    s->base[i] = shifted ? add_size(s, SM_SIZE_FIRST, 0, i) : SM_KIR_NONE;
    if (i < sm_skeleton_inputs(s)) begin_gathered(s, i);
  }
}

/* Slots lie on the stack of whichever thread runs the kernel, and threads may have
 * little of it. */
enum { SLOT_BYTES = 64 * 1024 };

/* The form's tile, or as many rounds as leave this block's slots within its share. */
static void fit_tile(sm_skeleton *s) {
  int64_t bytes = 0, share = SLOT_BYTES / (int64_t)s->trace->blocks.len;
  for (int slot = 0; slot < s->segments.n_slots; slot++)
    bytes += (int64_t)smelt_dtype_size(s->segments.dtype[slot]);
  s->tile = s->form.tile;
  if (bytes == 0 || bytes * (s->tile + s->form.width) <= share) return;
  int64_t round = (int64_t)s->form.width * s->form.unroll, fits = share / bytes - s->form.width;
  s->tile = (int)(fits - fits % round);
  s->too_large = s->tile < round;
}

static void add_slots(sm_skeleton *s) {
  s->first_slot = (int)s->kernel->buffers.len;
  for (int slot = 0; slot < s->segments.n_slots; slot++) {
    /* One vector more than a tile, so that slots do not lie a power of two apart,
     * which makes processors take a store for another's. */
    sm_kir_add_local(s->kernel, s->segments.dtype[slot], (uint32_t)(s->tile + s->form.width));
  }
}

static bool prepare_block(sm_skeleton *s, sm_arena *arena) {
  size_t n = s->block->steps.len;
  s->locals = sm_arena_zalloc(arena, n * (size_t)s->form.unroll, sizeof *s->locals);
  s->row_values = sm_arena_zalloc(arena, n, sizeof *s->row_values);
  return s->locals && s->row_values && sm_row_places_find(s->block, s->plan, arena, &s->places) &&
         sm_segments_cut(s->block, s->form.segment, arena, &s->segments);
}

static void emit_block(sm_skeleton *s, sm_arena *arena) {
  if (!prepare_block(s, arena)) {
    s->failed = true;
    return;
  }
  fit_tile(s);
  if (s->too_large) return;
  add_slots(s);
  begin_buffers(s);
  if (s->block->loop.trips) s->trips = add_size(s, SM_SIZE_TRIPS, 0, 0);
  if (s->block->loop.columns) s->row = add_size(s, SM_SIZE_ROW, 0, 0);
  if (s->plan->rank == 1) sm_skeleton_emit_only_row(s);
  else if (s->form.threads) sm_skeleton_emit_vector(s);
  else sm_skeleton_emit_rows(s);
}

/* --- The kernel --------------------------------------------------------------------------------- */

static void declare_arguments(const sm_trace *trace, sm_kir_kernel *k) {
  for (size_t i = 0; i < trace->inputs.len; i++) sm_kir_add_buffer(k, trace->inputs.items[i].dtype, false);
  for (size_t i = 0; i < trace->outputs.len; i++) sm_kir_add_buffer(k, trace->outputs.items[i].dtype, true);
  for (size_t i = 0; i < trace->scalars.len; i++) sm_kir_add_scalar(k, trace->scalars.items[i].dtype);
}

static void emit_blocks(sm_skeleton *s, const sm_launch_plan *plan, sm_arena *arena) {
  size_t n_in = (size_t)sm_skeleton_inputs(s), n = (size_t)sm_skeleton_buffers(s);
  s->base = sm_arena_zalloc(arena, n, sizeof *s->base);
  s->inner_stride = sm_arena_zalloc(arena, n, sizeof *s->inner_stride);
  s->extent = sm_arena_zalloc(arena, n_in, sizeof *s->extent);
  s->place_stride = sm_arena_zalloc(arena, n_in, sizeof *s->place_stride);
  s->launch = plan;
  s->failed = !s->base || !s->inner_stride || !s->extent || !s->place_stride;
  for (size_t b = 0; b < s->trace->blocks.len && !s->failed && !s->too_large; b++) {
    s->block = &s->trace->blocks.items[b];
    s->plan = &plan->blocks[b];
    emit_block(s, arena);
  }
  if (s->form.streaming) sm_kir_fence(s->kernel);
}

/* What is known of threads, and of their vectors. */
static void describe_threads(const sm_trace *trace, const sm_launch_plan *plan, int width, sm_kir_kernel *k) {
  k->grain = width;
  k->narrow = sm_launch_plan_is_narrow(trace, plan);
  for (int32_t i = 0; i < (int32_t)(trace->inputs.len + trace->outputs.len); i++) {
    if (sm_launch_plan_aligns(trace, plan, i, width)) sm_kir_align_buffer(k, i);
  }
}

smelt_status sm_elementwise_kernel(const sm_trace *trace, const sm_launch_plan *plan,
                                   sm_elementwise_form form, const sm_allocator *allocator,
                                   sm_kir_kernel *out, sm_size_list *sizes, smelt_error *err) {
  sm_kir_init(out, allocator);
  memset(sizes, 0, sizeof *sizes);
  declare_arguments(trace, out);
  if (form.threads) describe_threads(trace, plan, form.width, out);
  sm_arena arena;
  sm_arena_init(&arena, allocator);
  sm_skeleton s = {.trace = trace, .form = form, .allocator = allocator, .kernel = out, .sizes = sizes};
  emit_blocks(&s, plan, &arena);
  sm_arena_free(&arena);
  if (s.failed) return sm_error_memory(err, "a kernel");
  if (s.too_large) return sm_error_set(err, SMELT_ERR_UNSUPPORTED, "a kernel keeps too many values at once");
  return sm_kir_built(out, err);
}
