/* SPDX-License-Identifier: Apache-2.0
 *
 * What one round of a block's loop does: its steps, side by side over the round's vectors,
 * and a block's own loop around some of them. */
#include "launch/elementwise_parts.h"

/* --- One step of a body ------------------------------------------------------------------ */

/* Where a buffer that moves along the innermost axis is, in a row that begins at `base`. */
static int32_t emit_position(sm_skeleton *s, int32_t position, int32_t buffer, int32_t base) {
  int32_t argument = s->inner_stride[buffer];
  return sm_skeleton_add(
      s, base,
      argument == SM_KIR_NONE ? position : sm_skeleton_arithmetic(s, SM_KOP_MUL, position, argument));
}

static int32_t emit_read(sm_skeleton *s, const sm_place *p, int32_t input, int32_t base) {
  if (sm_skeleton_inner_stride_of(s, input) == 0)
    return sm_skeleton_widen(s, p,
                             sm_kir_load(s->kernel, input, sm_skeleton_or_zero(s, base), SM_KIR_NONE, 1));
  return sm_kir_load(s->kernel, input, emit_position(s, p->position, input, base), s->inner_stride[input],
                     p->width);
}

static int32_t emit_index(sm_skeleton *s, const sm_place *p) {
  int32_t flat = sm_skeleton_add(s, p->row, p->position);
  return p->width == 1 ? flat : sm_kir_iota(s->kernel, flat, p->width);
}

/* The position of this vector in a slot. */
static int32_t slot_position(sm_skeleton *s, const sm_place *p) {
  return p->tile == SM_KIR_NONE ? p->position : sm_skeleton_arithmetic(s, SM_KOP_SUB, p->position, p->tile);
}

int32_t sm_skeleton_emit_leaf(sm_skeleton *s, const sm_place *p, const sm_step *step) {
  switch (step->kind) {
    case SM_STEP_READ:
      return emit_read(s, p, step->index, s->base[step->index]);
    case SM_STEP_SCALAR:
      return sm_skeleton_widen(s, p, sm_kir_scalar(s->kernel, step->index));
    case SM_STEP_LITERAL:
      return sm_skeleton_widen(s, p, sm_kir_const(s->kernel, step->dtype, step->literal));
    case SM_STEP_EXTENT:
      return sm_skeleton_widen(s, p, s->extent[step->index]);
    default:
      return emit_index(s, p);
  }
}

/* The value of step `i`: from this body, from its slot, or, where it is not
 * computed, done here. What is the same for all vectors of a round is shared. */
static int32_t value_of(sm_skeleton *s, const sm_place *p, int32_t i) {
  const sm_step *step = &s->block->steps.items[i];
  bool same = step->kind == SM_STEP_SCALAR || step->kind == SM_STEP_LITERAL || step->kind == SM_STEP_TABLE ||
              step->kind == SM_STEP_EXTENT;
  int32_t *local = same ? &s->locals[i] : &p->locals[i];
  if (*local != SM_KIR_NONE) return *local;
  int slot = s->first_slot + s->segments.slot[i];
  *local = sm_step_is_kept(step) ? sm_kir_load(s->kernel, slot, slot_position(s, p), SM_KIR_NONE, p->width)
                                 : sm_skeleton_emit_leaf(s, p, step);
  return *local;
}

/* How far the lanes have come on the axes of the space, NONE is 0. */
static int32_t emit_lanes(sm_skeleton *s, const sm_place *p, int32_t input) {
  int32_t base = s->base[input];
  if (sm_skeleton_inner_stride_of(s, input) == 0)
    return base == SM_KIR_NONE ? base : sm_skeleton_widen(s, p, base);
  int32_t lanes = emit_position(s, p->position, input, base), argument = s->inner_stride[input];
  if (p->width == 1) return lanes;
  if (argument == SM_KIR_NONE) return sm_kir_iota(s->kernel, lanes, p->width);
  int32_t steps = sm_kir_iota(s->kernel, sm_kir_i64(s->kernel, 0), p->width);
  return sm_skeleton_add(s, sm_skeleton_widen(s, p, lanes),
                         sm_skeleton_arithmetic(s, SM_KOP_MUL, steps, sm_skeleton_widen(s, p, argument)));
}

static int32_t emit_gather(sm_skeleton *s, const sm_place *p, int32_t i) {
  const sm_step *step = &s->block->steps.items[i];
  int32_t input = step->index, stride = s->place_stride[input];
  if (s->places.fixed[i]) return emit_read(s, p, input, s->row_values[i]);
  int32_t index = value_of(s, p, step->args[0]);
  if (stride != SM_KIR_NONE)
    index = sm_skeleton_arithmetic(s, SM_KOP_MUL, index, sm_skeleton_widen(s, p, stride));
  index = sm_skeleton_add(s, emit_lanes(s, p, input), index);
  if (p->width == 1) return sm_kir_load(s->kernel, input, index, SM_KIR_NONE, 1);
  return sm_kir_gather(s->kernel, input, index);
}

static int32_t emit_kop(sm_skeleton *s, const sm_place *p, const sm_step *step) {
  int32_t args[3];
  for (int k = 0; k < 3; k++)
    args[k] = step->args[k] == SM_NO_LOCAL ? SM_KIR_NONE : value_of(s, p, step->args[k]);
  return sm_kir_kop(s->kernel, step->kop, args[0], args[1], args[2], step->dtype);
}

/* Stores the value of step `i` if later segments use it. */
static void keep(sm_skeleton *s, const sm_place *p, int32_t i) {
  int slot = s->segments.slot[i];
  if (slot != SM_NO_SLOT)
    sm_kir_store(s->kernel, s->first_slot + slot, slot_position(s, p), SM_KIR_NONE, p->locals[i]);
}

static void emit_compute(sm_skeleton *s, const sm_place *p, int32_t i) {
  const sm_step *step = &s->block->steps.items[i];
  p->locals[i] = step->kind == SM_STEP_GATHER ? emit_gather(s, p, i) : emit_kop(s, p, step);
  keep(s, p, i);
}

static void emit_write(sm_skeleton *s, const sm_place *p, const sm_step *step) {
  int32_t buffer = sm_skeleton_inputs(s) + step->index, value = value_of(s, p, step->args[0]);
  bool strided = sm_block_plan_strided(s->plan, buffer);
  int32_t flat = strided ? p->position : sm_skeleton_add(s, p->row, p->position);
  int32_t index = emit_position(s, flat, buffer, s->base[buffer]);
  if (s->form.streaming) sm_kir_stream(s->kernel, buffer, index, value);
  else sm_kir_store(s->kernel, buffer, index, s->inner_stride[buffer], value);
}

/* --- All steps --------------------------------------------------------------------------- */

/* Values of earlier segments, before anything is stored (see segments.c). */
void sm_skeleton_load_slots(sm_skeleton *s, int segment, const sm_place *places, int n) {
  for (int32_t i = s->segments.begin[segment]; i < s->segments.begin[segment + 1]; i++) {
    for (int k = 0; k < 3; k++) {
      int32_t arg = sm_row_places_body_arg(&s->places, s->block, i, k);
      bool earlier = arg != SM_NO_LOCAL && arg < s->segments.begin[segment];
      if (!earlier || s->segments.slot[arg] == SM_NO_SLOT) continue;
      for (int u = 0; u < n; u++) (void)value_of(s, &places[u], arg);
    }
  }
}

static bool is_invariant_leaf(const sm_step *step) {
  return step->kind == SM_STEP_READ || step->kind == SM_STEP_LITERAL || step->kind == SM_STEP_INDEX ||
         step->kind == SM_STEP_EXTENT;
}

/* What the loop's trips have in common is there before the first one. */
static void emit_invariants(sm_skeleton *s, const sm_place *p) {
  const sm_trace_loop *loop = &s->block->loop;
  for (int32_t i = loop->begin; i < loop->end; i++) {
    const sm_step *step = &s->block->steps.items[i];
    if (is_invariant_leaf(step)) (void)value_of(s, p, i);
    for (int k = 0; k < 3; k++) {
      int32_t arg = sm_row_places_body_arg(&s->places, s->block, i, k);
      bool outside = arg != SM_NO_LOCAL && arg < loop->begin;
      if (outside) (void)value_of(s, p, arg);
    }
  }
}

/* The trip's row of the table is read once for all vectors of the round. */
static void emit_row(sm_skeleton *s, const sm_place *p, int32_t trip) {
  const sm_trace_loop *loop = &s->block->loop;
  int32_t columns = sm_kir_i64(s->kernel, loop->columns);
  int32_t row = sm_skeleton_add(s, s->row, sm_skeleton_arithmetic(s, SM_KOP_MUL, trip, columns));
  for (int32_t i = loop->begin; i < loop->end; i++) {
    const sm_step *step = &s->block->steps.items[i];
    if (step->kind != SM_STEP_TABLE) continue;
    int32_t element = sm_skeleton_arithmetic(s, SM_KOP_ADD, row, sm_kir_i64(s->kernel, step->index));
    s->locals[i] = sm_skeleton_widen(s, p, sm_kir_table(s->kernel, step->dtype, element));
  }
}

static void emit_loop_begin(sm_skeleton *s, const sm_place *places, int n) {
  const sm_trace_loop *loop = &s->block->loop;
  for (int u = 0; u < n; u++) emit_invariants(s, &places[u]);
  int32_t trip = sm_kir_for(s->kernel, sm_kir_i64(s->kernel, 0), s->trips, 1);
  for (int32_t i = loop->begin + 1; s->block->steps.items[i].kind == SM_STEP_CARRY; i++) {
    int32_t start = s->block->steps.items[i].args[0];
    for (int u = 0; u < n; u++) places[u].locals[i] = sm_kir_carry(s->kernel, value_of(s, &places[u], start));
  }
  if (loop->columns) emit_row(s, &places[0], trip);
}

static void emit_next(sm_skeleton *s, const sm_place *p, const sm_step *step) {
  sm_kir_next(s->kernel, p->locals[step->args[0]], value_of(s, p, step->args[1]));
}

/* Results stand right behind the loop, all of them before any is stored. */
static void emit_loop_end(sm_skeleton *s, const sm_place *places, int n, int32_t end) {
  const sm_step *steps = s->block->steps.items;
  sm_kir_end(s->kernel);
  for (int32_t i = end + 1; i < (int32_t)s->block->steps.len && steps[i].kind == SM_STEP_RESULT; i++) {
    for (int u = 0; u < n; u++)
      places[u].locals[i] = sm_kir_result(s->kernel, places[u].locals[steps[i].args[0]]);
  }
}

/* The steps of a segment, side by side over the round's vectors, so that one
 * vector's latency is another's time. Leaves are emitted where they are first
 * used. */
void sm_skeleton_emit_steps(sm_skeleton *s, int segment, const sm_place *places, int n) {
  for (int32_t i = s->segments.begin[segment]; i < s->segments.begin[segment + 1]; i++) {
    const sm_step *step = &s->block->steps.items[i];
    if (step->kind == SM_STEP_LOOP) emit_loop_begin(s, places, n);
    else if (step->kind == SM_STEP_END) emit_loop_end(s, places, n, i);
    for (int u = 0; u < n; u++) {
      if (sm_step_computes(step) && s->places.in_body[i]) emit_compute(s, &places[u], i);
      else if (step->kind == SM_STEP_NEXT) emit_next(s, &places[u], step);
      else if (step->kind == SM_STEP_RESULT) keep(s, &places[u], i);
      else if (step->kind == SM_STEP_WRITE) emit_write(s, &places[u], step);
    }
  }
}
