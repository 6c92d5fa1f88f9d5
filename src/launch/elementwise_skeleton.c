/* SPDX-License-Identifier: Apache-2.0 */
#include "launch/elementwise_skeleton.h"

#include <string.h>

#include "base/error.h"

typedef struct skeleton {
  const sm_trace *trace;
  const sm_block *block;
  const sm_block_plan *plan;
  int width;
  const sm_allocator *allocator;
  sm_kir_kernel *kernel;
  sm_size_list *sizes;
  int32_t *base;    /* by input: position of the row's first element, NONE is 0 */
  int32_t *locals;  /* by step of the block, while a body is emitted */
  bool failed;      /* memory ran out for `sizes` */
} skeleton;

/* --- Sizes and index arithmetic -------------------------------------------------------- */

static int32_t add_size(skeleton *s, int64_t value) {
  if (!sm_vec_push(s->allocator, s->sizes, value)) s->failed = true;
  return sm_kir_size(s->kernel, sm_kir_add_size(s->kernel));
}

static int32_t arithmetic(skeleton *s, sm_kop kop, int32_t a, int32_t b) {
  return sm_kir_kop(s->kernel, kop, a, b, SM_KIR_NONE, SMELT_I64);
}

/* a + b where NONE stands for 0. */
static int32_t add(skeleton *s, int32_t a, int32_t b) {
  if (a == SM_KIR_NONE) return b;
  return b == SM_KIR_NONE ? a : arithmetic(s, SM_KOP_ADD, a, b);
}

static int32_t or_zero(skeleton *s, int32_t position) {
  return position == SM_KIR_NONE ? sm_kir_i64(s->kernel, 0) : position;
}

static bool reads_input(const skeleton *s, int32_t input) {
  for (size_t i = 0; i < s->block->steps.len; i++) {
    const sm_step *step = &s->block->steps.items[i];
    if (step->kind == SM_STEP_READ && step->index == input) return true;
  }
  return false;
}

/* --- One step of a body ------------------------------------------------------------------ */

/* Where a body stands: `position` counts along the innermost axis, `row` is
 * the flat position of the row's first element (NONE is 0). */
typedef struct place {
  int width;
  int32_t position, row;
  const int32_t *inner_stride;  /* by input: size argument of class "other", or NONE */
} place;

static int32_t widen(skeleton *s, const place *p, int32_t value) {
  return p->width == 1 ? value : sm_kir_splat(s->kernel, value, p->width);
}

static int32_t emit_read(skeleton *s, const place *p, int32_t input) {
  int64_t stride = sm_block_plan_strides(s->plan, input)[s->plan->rank - 1];
  int32_t base = s->base[input];
  if (stride == 0) return widen(s, p, sm_kir_load(s->kernel, input, or_zero(s, base), SM_KIR_NONE, 1));
  int32_t argument = p->inner_stride[input];
  int32_t offset = argument == SM_KIR_NONE ? p->position : arithmetic(s, SM_KOP_MUL, p->position, argument);
  return sm_kir_load(s->kernel, input, add(s, base, offset), argument, p->width);
}

static int32_t emit_index(skeleton *s, const place *p) {
  int32_t flat = add(s, p->row, p->position);
  return p->width == 1 ? flat : sm_kir_iota(s->kernel, flat, p->width);
}

static int32_t emit_compute(skeleton *s, const sm_step *step) {
  int32_t args[3];
  for (int k = 0; k < 3; k++) args[k] = step->args[k] == SM_NO_LOCAL ? SM_KIR_NONE : s->locals[step->args[k]];
  return sm_kir_kop(s->kernel, step->kop, args[0], args[1], args[2], step->dtype);
}

static int32_t emit_step(skeleton *s, const place *p, const sm_step *step) {
  switch (step->kind) {
    case SM_STEP_READ: return emit_read(s, p, step->index);
    case SM_STEP_SCALAR: return widen(s, p, sm_kir_scalar(s->kernel, step->index));
    case SM_STEP_LITERAL: return widen(s, p, sm_kir_const(s->kernel, step->dtype, step->literal));
    case SM_STEP_INDEX: return emit_index(s, p);
    case SM_STEP_COMPUTE: return emit_compute(s, step);
    case SM_STEP_WRITE: break;
  }
  int32_t buffer = (int32_t)s->trace->inputs.len + step->index;
  sm_kir_store(s->kernel, buffer, add(s, p->row, p->position), SM_KIR_NONE, s->locals[step->args[0]]);
  return SM_KIR_NONE;
}

static void emit_body(skeleton *s, const place *p) {
  for (size_t i = 0; i < s->block->steps.len; i++) s->locals[i] = emit_step(s, p, &s->block->steps.items[i]);
}

/* --- Loops ---------------------------------------------------------------------------------- */

/* The loop over [begin, end): whole vectors, then single elements. */
static void emit_inner(skeleton *s, int32_t begin, int32_t end, int32_t row, const int32_t *inner_stride) {
  sm_kir_kernel *k = s->kernel;
  int32_t width = sm_kir_i64(k, s->width);
  int32_t count = arithmetic(s, SM_KOP_SUB, end, begin);
  int32_t whole = arithmetic(s, SM_KOP_MUL, arithmetic(s, SM_KOP_TRUNC_DIV, count, width), width);
  int32_t middle = arithmetic(s, SM_KOP_ADD, begin, whole);
  int32_t i = sm_kir_for(k, begin, middle, s->width);
  emit_body(s, &(place){s->width, i, row, inner_stride});
  sm_kir_end(k);
  i = sm_kir_for(k, middle, end, 1);
  emit_body(s, &(place){1, i, row, inner_stride});
  sm_kir_end(k);
}

/* Adds coordinate × stride to the base of every input that moves along `axis`. */
static void advance_bases(skeleton *s, int axis, int32_t coordinate) {
  for (size_t i = 0; i < s->trace->inputs.len; i++) {
    int64_t stride = sm_block_plan_strides(s->plan, (int32_t)i)[axis];
    if (stride == 0 || !reads_input(s, (int32_t)i)) continue;
    int32_t step = coordinate;
    if (stride != 1) step = arithmetic(s, SM_KOP_MUL, coordinate, add_size(s, stride));
    s->base[i] = add(s, s->base[i], step);
  }
}

/* Row number to coordinates, innermost of the outer axes first. */
static void decode_row(skeleton *s, int32_t row_number) {
  int32_t rest = row_number;
  for (int axis = s->plan->rank - 2; axis > 0; axis--) {
    int32_t extent = add_size(s, s->plan->dims[axis]);
    advance_bases(s, axis, arithmetic(s, SM_KOP_FMOD, rest, extent));
    rest = arithmetic(s, SM_KOP_TRUNC_DIV, rest, extent);
  }
  advance_bases(s, 0, rest);
}

static void emit_rows(skeleton *s, const int32_t *inner_stride) {
  sm_kir_kernel *k = s->kernel;
  int32_t extent = add_size(s, s->plan->dims[s->plan->rank - 1]);
  int32_t first = arithmetic(s, SM_KOP_TRUNC_DIV, sm_kir_chunk_begin(k), extent);
  int32_t last = arithmetic(s, SM_KOP_TRUNC_DIV, sm_kir_chunk_end(k), extent);
  int32_t row_number = sm_kir_for(k, first, last, 1);
  decode_row(s, row_number);
  int32_t row = arithmetic(s, SM_KOP_MUL, row_number, extent);
  emit_inner(s, sm_kir_i64(k, 0), extent, row, inner_stride);
  sm_kir_end(k);
}

static void emit_block(skeleton *s, int32_t *inner_stride) {
  for (size_t i = 0; i < s->trace->inputs.len; i++) {
    int64_t stride = sm_block_plan_strides(s->plan, (int32_t)i)[s->plan->rank - 1];
    bool other = stride != 0 && stride != 1 && reads_input(s, (int32_t)i);
    inner_stride[i] = other ? add_size(s, stride) : SM_KIR_NONE;
    s->base[i] = SM_KIR_NONE;
  }
  if (s->plan->rank > 1) {
    emit_rows(s, inner_stride);
  } else {
    emit_inner(s, sm_kir_chunk_begin(s->kernel), sm_kir_chunk_end(s->kernel), SM_KIR_NONE, inner_stride);
  }
}

/* --- The kernel --------------------------------------------------------------------------------- */

static void declare_arguments(const sm_trace *trace, sm_kir_kernel *k) {
  const sm_value *values = trace->segment->values.items;
  for (size_t i = 0; i < trace->inputs.len; i++) sm_kir_add_buffer(k, values[trace->inputs.items[i]].dtype, false);
  for (size_t i = 0; i < trace->outputs.len; i++) sm_kir_add_buffer(k, values[trace->outputs.items[i]].dtype, true);
  for (size_t i = 0; i < trace->scalars.len; i++) sm_kir_add_scalar(k, trace->scalars.items[i].dtype);
}

static size_t longest_block(const sm_trace *trace) {
  size_t n = 0;
  for (size_t b = 0; b < trace->blocks.len; b++) {
    if (trace->blocks.items[b].steps.len > n) n = trace->blocks.items[b].steps.len;
  }
  return n;
}

smelt_status sm_elementwise_kernel(const sm_trace *trace, const sm_launch_plan *plan, int width,
                                   const sm_allocator *allocator, sm_kir_kernel *out, sm_size_list *sizes,
                                   smelt_error *err) {
  sm_kir_init(out, allocator);
  memset(sizes, 0, sizeof *sizes);
  declare_arguments(trace, out);
  sm_arena scratch;
  sm_arena_init(&scratch, allocator);
  size_t n_inputs = trace->inputs.len;
  skeleton s = {.trace = trace, .width = width, .allocator = allocator, .kernel = out, .sizes = sizes};
  s.base = sm_arena_zalloc(&scratch, n_inputs, sizeof *s.base);
  s.locals = sm_arena_zalloc(&scratch, longest_block(trace), sizeof *s.locals);
  int32_t *inner_stride = sm_arena_zalloc(&scratch, n_inputs, sizeof *inner_stride);
  s.failed = !s.base || !s.locals || !inner_stride;
  for (size_t b = 0; b < trace->blocks.len && !s.failed; b++) {
    s.block = &trace->blocks.items[b];
    s.plan = &plan->blocks[b];
    emit_block(&s, inner_stride);
  }
  sm_arena_free(&scratch);
  return s.failed ? sm_error_memory(err, "a kernel") : sm_kir_finish(out, err);
}
