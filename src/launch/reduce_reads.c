/* SPDX-License-Identifier: Apache-2.0 */
#include "launch/reduce_emitter.h"

/* Whether lanes are rows of which each has a place of its own. */
static bool is_split(const sm_reduce_emitter *e, int32_t input) {
  return e->inputs[input].split.n > 0 && e->lanes == SM_OUTER && e->at->width > 1;
}

static int32_t add_steps(const sm_reduce_emitter *e, int32_t place, int32_t input, int axis, int32_t steps) {
  int64_t stride = e->inputs[input].strides[axis];
  if (stride == 0) return place;
  if (stride != 1) steps = sm_emit_i64(e, SM_KOP_MUL, steps, sm_emit_size(e, input, axis));
  return sm_emit_add(e, place, steps);
}

/* The parts of a split axis are not in it. */
static int32_t place_along_outer(const sm_reduce_emitter *e, int32_t input, int32_t outer) {
  bool first = e->inputs[input].first != 0;
  int32_t place = first ? sm_emit_size(e, input, SM_REDUCE_INPUT_FIRST) : SM_KIR_NONE;
  return add_steps(e, place, input, SM_OUTER, outer);
}

int32_t sm_reduce_place_of(const sm_reduce_emitter *e, int32_t input) {
  bool is_known = e->at->outer == e->row && !is_split(e, input);
  int32_t place = is_known ? e->row_place[input] : place_along_outer(e, input, e->at->outer);
  if (sm_emits_elements(e)) place = add_steps(e, place, input, SM_REDUCED, e->at->reduced);
  place = add_steps(e, place, input, SM_INNER, e->at->inner);
  return place == SM_KIR_NONE ? sm_kir_i64(e->kernel, 0) : place;
}

/* Rows taken across that follow each other are a known number of elements apart. */
static int32_t step_of(const sm_reduce_emitter *e, int32_t input) {
  int64_t stride = e->inputs[input].strides[e->lanes];
  if (stride == 1) return SM_KIR_NONE;
  if (stride == e->form->across) return sm_kir_i64(e->kernel, stride);
  return sm_emit_size(e, input, e->lanes);
}

/* The number of each lane, of those that are not there that of the last one. */
static int32_t lane_numbers(const sm_reduce_emitter *e) {
  int32_t lanes = sm_kir_iota(e->kernel, sm_kir_i64(e->kernel, 0), e->at->width);
  if (e->at->there == SM_KIR_NONE) return lanes;
  int32_t last = sm_emit_i64(e, SM_KOP_SUB, e->at->there, sm_kir_i64(e->kernel, 1));
  return sm_emit_i64(e, SM_KOP_MIN, lanes, sm_emit_splat(e, last));
}

/* The number of a row has a digit for each part of the axis, from the fastest. `width` is the row's. */
static int32_t split_place(const sm_reduce_emitter *e, int32_t input, int32_t row, int width) {
  int32_t place = SM_KIR_NONE;
  for (int part = e->inputs[input].split.n - 1; part >= 0; part--) {
    int at = SM_REDUCE_INPUT_SIZES + 2 * part;
    int32_t extent = sm_emit_size(e, input, at), stride = sm_emit_size(e, input, at + 1);
    if (width > 1) extent = sm_kir_splat(e->kernel, extent, width);
    if (width > 1) stride = sm_kir_splat(e->kernel, stride, width);
    int32_t digit = part ? sm_emit_i64(e, SM_KOP_FMOD, row, extent) : row;
    place = sm_emit_add(e, place, sm_emit_i64(e, SM_KOP_MUL, digit, stride));
    if (part) row = sm_emit_i64(e, SM_KOP_TRUNC_DIV, row, extent);
  }
  return place;
}

/* Where the elements of all lanes are. */
static int32_t lane_places(const sm_reduce_emitter *e, int32_t input) {
  int32_t first = sm_emit_splat(e, sm_reduce_place_of(e, input)), lanes = lane_numbers(e);
  if (is_split(e, input)) {
    int32_t rows = sm_emit_add(e, sm_emit_splat(e, e->at->outer), lanes);
    return sm_emit_add(e, first, split_place(e, input, rows, e->at->width));
  }
  if (e->inputs[input].strides[e->lanes] == 0) return first;
  int32_t apart = sm_emit_splat(e, sm_emit_size(e, input, e->lanes));
  return sm_emit_add(e, first, sm_emit_i64(e, SM_KOP_MUL, lanes, apart));
}

int32_t sm_reduce_read(const sm_reduce_emitter *e, int32_t input) {
  int64_t stride = e->inputs[input].strides[e->lanes];
  if (is_split(e, input)) return sm_kir_gather(e->kernel, input, lane_places(e, input));
  int32_t place = sm_reduce_place_of(e, input);
  if (stride == 0 || e->at->width == 1)
    return sm_emit_splat(e, sm_kir_load(e->kernel, input, place, SM_KIR_NONE, 1));
  int32_t step = step_of(e, input);
  if (e->at->there == SM_KIR_NONE) return sm_kir_load(e->kernel, input, place, step, e->at->width);
  if (step != SM_KIR_NONE) return sm_kir_gather(e->kernel, input, lane_places(e, input));
  return sm_kir_load_first(e->kernel, input, place, e->at->there, e->at->width);
}

/* Lanes that are not there choose what is first. */
static int32_t chosen_there(const sm_reduce_emitter *e, int32_t chosen) {
  if (e->at->there == SM_KIR_NONE) return chosen;
  int32_t none = sm_emit_splat(e, sm_kir_i64(e->kernel, 0));
  int32_t lanes = sm_kir_iota(e->kernel, sm_kir_i64(e->kernel, 0), e->at->width);
  int32_t there = sm_emit_i64(e, SM_KOP_LT, lanes, sm_emit_splat(e, e->at->there));
  return sm_kir_kop(e->kernel, SM_KOP_SELECT, there, chosen, none, SMELT_I64);
}

int32_t sm_reduce_select(const sm_reduce_emitter *e, int32_t input, int32_t chosen) {
  int32_t stride = sm_emit_splat(e, sm_emit_size(e, input, SM_REDUCE_INPUT_PLACE_STRIDE));
  int32_t steps = sm_emit_i64(e, SM_KOP_MUL, chosen_there(e, chosen), stride);
  if (e->at->width == 1) {
    int32_t place = sm_emit_add(e, sm_reduce_place_of(e, input), steps);
    return sm_kir_load(e->kernel, input, place, SM_KIR_NONE, 1);
  }
  return sm_kir_gather(e->kernel, input, sm_emit_add(e, lane_places(e, input), steps));
}

void sm_reduce_prefetch(const sm_reduce_emitter *e, int32_t input) {
  int32_t place = add_steps(e, e->row_ahead[input], input, SM_REDUCED, e->at->reduced);
  sm_kir_prefetch(e->kernel, input, place, e->at->width);
}

void sm_reduce_find_row_places(sm_reduce_emitter *e, int32_t outer, int32_t ahead) {
  e->row = outer;
  for (int32_t i = 0; i < (int32_t)e->trace->inputs.len; i++) {
    e->row_place[i] = place_along_outer(e, i, outer);
    if (e->inputs[i].split.n) e->row_place[i] = sm_emit_add(e, e->row_place[i], split_place(e, i, outer, 1));
    e->row_ahead[i] = add_steps(e, e->row_place[i], i, SM_OUTER, ahead);
  }
}
