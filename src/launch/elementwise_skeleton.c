/* SPDX-License-Identifier: Apache-2.0
 *
 * Vocabulary here: a *span* is a contiguous range along the innermost axis; a
 * *round* is one pass of a loop's body, over `unroll` vectors of `width`. */
#include "launch/elementwise_skeleton.h"

#include <string.h>

#include "base/error.h"
#include "launch/row_places.h"
#include "launch/segments.h"

typedef struct skeleton {
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
} skeleton;

/* --- Sizes and index arithmetic -------------------------------------------------------- */

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

static int32_t add_size(skeleton *s, sm_size_kind kind, int axis, int32_t buffer) {
  sm_size_source source = {kind, (int32_t)(s->block - s->trace->blocks.items), axis, buffer};
  if (!sm_vec_push(s->allocator, s->sizes, source)) s->failed = true;
  return sm_kir_size(s->kernel, sm_kir_add_size(s->kernel));
}

static int32_t add_extent(skeleton *s, int axis) { return add_size(s, SM_SIZE_EXTENT, axis, 0); }

static int32_t add_stride(skeleton *s, int axis, int32_t buffer) {
  return add_size(s, SM_SIZE_STRIDE, axis, buffer);
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

static int32_t n_inputs(const skeleton *s) { return (int32_t)s->trace->inputs.len; }
static int32_t n_buffers(const skeleton *s) { return n_inputs(s) + (int32_t)s->trace->outputs.len; }

/* Along the innermost axis. */
static int64_t inner_stride_of(const skeleton *s, int32_t buffer) {
  return sm_block_plan_strides(s->plan, buffer)[s->plan->rank - 1];
}

static bool has_step(const skeleton *s, sm_step_kind kind, int32_t index) {
  for (size_t i = 0; i < s->block->steps.len; i++) {
    const sm_step *step = &s->block->steps.items[i];
    if (step->kind == kind && step->index == index) return true;
  }
  return false;
}

static bool reads_input(const skeleton *s, int32_t input) { return has_step(s, SM_STEP_READ, input); }

/* Whether the block has elements of the buffer at places of its own. */
static bool touches(const skeleton *s, int32_t buffer) {
  if (buffer >= n_inputs(s)) return has_step(s, SM_STEP_WRITE, buffer - n_inputs(s));
  return reads_input(s, buffer) || has_step(s, SM_STEP_GATHER, buffer);
}

/* --- One step of a body ------------------------------------------------------------------ */

/* Where a body stands: `position` counts along the innermost axis, `row` is
 * the flat position of the row's first element and `tile` the position where
 * the tile begins (NONE is 0). */
typedef struct place {
  int width;
  int32_t position, row, tile;
  int32_t *locals; /* of this vector of the round */
} place;

static int32_t widen(skeleton *s, const place *p, int32_t value) {
  return p->width == 1 ? value : sm_kir_splat(s->kernel, value, p->width);
}

/* Where a buffer that moves along the innermost axis is, in a row that begins at `base`. */
static int32_t emit_position(skeleton *s, int32_t position, int32_t buffer, int32_t base) {
  int32_t argument = s->inner_stride[buffer];
  return add(s, base, argument == SM_KIR_NONE ? position : arithmetic(s, SM_KOP_MUL, position, argument));
}

static int32_t emit_read(skeleton *s, const place *p, int32_t input, int32_t base) {
  if (inner_stride_of(s, input) == 0)
    return widen(s, p, sm_kir_load(s->kernel, input, or_zero(s, base), SM_KIR_NONE, 1));
  return sm_kir_load(s->kernel, input, emit_position(s, p->position, input, base), s->inner_stride[input],
                     p->width);
}

static int32_t emit_index(skeleton *s, const place *p) {
  int32_t flat = add(s, p->row, p->position);
  return p->width == 1 ? flat : sm_kir_iota(s->kernel, flat, p->width);
}

/* The position of this vector in a slot. */
static int32_t slot_position(skeleton *s, const place *p) {
  return p->tile == SM_KIR_NONE ? p->position : arithmetic(s, SM_KOP_SUB, p->position, p->tile);
}

static int32_t emit_leaf(skeleton *s, const place *p, const sm_step *step) {
  switch (step->kind) {
    case SM_STEP_READ:
      return emit_read(s, p, step->index, s->base[step->index]);
    case SM_STEP_SCALAR:
      return widen(s, p, sm_kir_scalar(s->kernel, step->index));
    case SM_STEP_LITERAL:
      return widen(s, p, sm_kir_const(s->kernel, step->dtype, step->literal));
    case SM_STEP_EXTENT:
      return widen(s, p, s->extent[step->index]);
    default:
      return emit_index(s, p);
  }
}

/* The value of step `i`: from this body, from its slot, or, where it is not
 * computed, done here. What is the same for all vectors of a round is shared. */
static int32_t value_of(skeleton *s, const place *p, int32_t i) {
  const sm_step *step = &s->block->steps.items[i];
  bool same = step->kind == SM_STEP_SCALAR || step->kind == SM_STEP_LITERAL || step->kind == SM_STEP_TABLE ||
              step->kind == SM_STEP_EXTENT;
  int32_t *local = same ? &s->locals[i] : &p->locals[i];
  if (*local != SM_KIR_NONE) return *local;
  int slot = s->first_slot + s->segments.slot[i];
  *local = sm_step_is_kept(step) ? sm_kir_load(s->kernel, slot, slot_position(s, p), SM_KIR_NONE, p->width)
                                 : emit_leaf(s, p, step);
  return *local;
}

/* How far the lanes have come on the axes of the space, NONE is 0. */
static int32_t emit_lanes(skeleton *s, const place *p, int32_t input) {
  int32_t base = s->base[input];
  if (inner_stride_of(s, input) == 0) return base == SM_KIR_NONE ? base : widen(s, p, base);
  int32_t lanes = emit_position(s, p->position, input, base), argument = s->inner_stride[input];
  if (p->width == 1) return lanes;
  if (argument == SM_KIR_NONE) return sm_kir_iota(s->kernel, lanes, p->width);
  int32_t steps = sm_kir_iota(s->kernel, sm_kir_i64(s->kernel, 0), p->width);
  return add(s, widen(s, p, lanes), arithmetic(s, SM_KOP_MUL, steps, widen(s, p, argument)));
}

static int32_t emit_gather(skeleton *s, const place *p, int32_t i) {
  const sm_step *step = &s->block->steps.items[i];
  int32_t input = step->index, stride = s->place_stride[input];
  if (s->places.fixed[i]) return emit_read(s, p, input, s->row_values[i]);
  int32_t index = value_of(s, p, step->args[0]);
  if (stride != SM_KIR_NONE) index = arithmetic(s, SM_KOP_MUL, index, widen(s, p, stride));
  index = add(s, emit_lanes(s, p, input), index);
  if (p->width == 1) return sm_kir_load(s->kernel, input, index, SM_KIR_NONE, 1);
  return sm_kir_gather(s->kernel, input, index);
}

static int32_t emit_kop(skeleton *s, const place *p, const sm_step *step) {
  int32_t args[3];
  for (int k = 0; k < 3; k++)
    args[k] = step->args[k] == SM_NO_LOCAL ? SM_KIR_NONE : value_of(s, p, step->args[k]);
  return sm_kir_kop(s->kernel, step->kop, args[0], args[1], args[2], step->dtype);
}

/* Stores the value of step `i` if later segments use it. */
static void keep(skeleton *s, const place *p, int32_t i) {
  int slot = s->segments.slot[i];
  if (slot != SM_NO_SLOT)
    sm_kir_store(s->kernel, s->first_slot + slot, slot_position(s, p), SM_KIR_NONE, p->locals[i]);
}

static void emit_compute(skeleton *s, const place *p, int32_t i) {
  const sm_step *step = &s->block->steps.items[i];
  p->locals[i] = step->kind == SM_STEP_GATHER ? emit_gather(s, p, i) : emit_kop(s, p, step);
  keep(s, p, i);
}

static void emit_write(skeleton *s, const place *p, const sm_step *step) {
  int32_t buffer = n_inputs(s) + step->index, value = value_of(s, p, step->args[0]);
  bool strided = sm_block_plan_strided(s->plan, buffer);
  int32_t flat = strided ? p->position : add(s, p->row, p->position);
  int32_t index = emit_position(s, flat, buffer, s->base[buffer]);
  if (s->form.streaming) sm_kir_stream(s->kernel, buffer, index, value);
  else sm_kir_store(s->kernel, buffer, index, s->inner_stride[buffer], value);
}

/* --- Loops --------------------------------------------------------------------------- */

/* Where a loop is: along the innermost axis, in which row and tile. */
typedef struct span {
  int32_t begin, end, row, tile;
} span;

/* Values of earlier segments, before anything is stored (see segments.c). */
static void load_slots(skeleton *s, int segment, const place *places, int n) {
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
static void emit_invariants(skeleton *s, const place *p) {
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
static void emit_row(skeleton *s, const place *p, int32_t trip) {
  const sm_trace_loop *loop = &s->block->loop;
  int32_t columns = sm_kir_i64(s->kernel, loop->columns);
  int32_t row = add(s, s->row, arithmetic(s, SM_KOP_MUL, trip, columns));
  for (int32_t i = loop->begin; i < loop->end; i++) {
    const sm_step *step = &s->block->steps.items[i];
    if (step->kind != SM_STEP_TABLE) continue;
    int32_t element = arithmetic(s, SM_KOP_ADD, row, sm_kir_i64(s->kernel, step->index));
    s->locals[i] = widen(s, p, sm_kir_table(s->kernel, step->dtype, element));
  }
}

static void emit_loop_begin(skeleton *s, const place *places, int n) {
  const sm_trace_loop *loop = &s->block->loop;
  for (int u = 0; u < n; u++) emit_invariants(s, &places[u]);
  int32_t trip = sm_kir_for(s->kernel, sm_kir_i64(s->kernel, 0), s->trips, 1);
  for (int32_t i = loop->begin + 1; s->block->steps.items[i].kind == SM_STEP_CARRY; i++) {
    int32_t start = s->block->steps.items[i].args[0];
    for (int u = 0; u < n; u++) places[u].locals[i] = sm_kir_carry(s->kernel, value_of(s, &places[u], start));
  }
  if (loop->columns) emit_row(s, &places[0], trip);
}

static void emit_next(skeleton *s, const place *p, const sm_step *step) {
  sm_kir_next(s->kernel, p->locals[step->args[0]], value_of(s, p, step->args[1]));
}

/* Results stand right behind the loop, all of them before any is stored. */
static void emit_loop_end(skeleton *s, const place *places, int n, int32_t end) {
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
static void emit_steps(skeleton *s, int segment, const place *places, int n) {
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

/* While a tile is worked on, or a round with a loop, the inputs of the next one come
 * from memory; the processor's own prefetching stops in between. Measured: a third less
 * time for a chain of 64 steps. */
static void emit_prefetches(skeleton *s, const place *p, int64_t distance) {
  for (int32_t i = 0; i < n_inputs(s); i++) {
    if (inner_stride_of(s, i) != 1 || !reads_input(s, i)) continue;
    int32_t ahead = arithmetic(s, SM_KOP_ADD, p->position, sm_kir_i64(s->kernel, distance));
    sm_kir_prefetch(s->kernel, i, add(s, s->base[i], ahead), p->width);
  }
}

/* The segment that does it: not the first, which still reads this tile. */
static bool prefetches(const skeleton *s, int segment) {
  return s->segments.n > 1 && segment == s->segments.n / 2;
}

enum { MAX_UNROLL = 16 };

/* `n` vectors of `width` from `position` on. */
static void emit_round(skeleton *s, int segment, const span *at, int32_t position, int width, int n) {
  place places[MAX_UNROLL] = {{.width = width}};
  size_t n_steps = s->block->steps.len;
  for (size_t i = 0; i < n_steps * (size_t)n; i++) s->locals[i] = SM_KIR_NONE;
  for (int u = 0; u < n; u++) {
    int32_t own =
        u ? arithmetic(s, SM_KOP_ADD, position, sm_kir_i64(s->kernel, (int64_t)u * width)) : position;
    places[u] = (place){width, own, at->row, at->tile, s->locals + n_steps * (size_t)u};
  }
  bool rolled = s->block->loop.trips && !s->tile && !s->form.threads;
  for (int u = 0; u < n && width == s->form.width && rolled; u++)
    emit_prefetches(s, &places[u], (int64_t)width * n);
  load_slots(s, segment, places, n);
  emit_steps(s, segment, places, n);
  for (int u = 0; u < n && width == s->form.width && prefetches(s, segment); u++)
    emit_prefetches(s, &places[u], s->tile);
}

/* A loop over [begin, end) by rounds. */
static void emit_loop(skeleton *s, int segment, const span *at, int width, int n) {
  int32_t position = sm_kir_for(s->kernel, at->begin, at->end, (int64_t)width * n);
  emit_round(s, segment, at, position, width, n);
  sm_kir_end(s->kernel);
}

/* The rounds of `n` vectors of `width` that a span has; `at` becomes what is left. */
static void emit_whole_rounds(skeleton *s, int segment, span *at, int width, int n) {
  int32_t round = sm_kir_i64(s->kernel, (int64_t)width * n);
  int32_t rounds = arithmetic(s, SM_KOP_TRUNC_DIV, arithmetic(s, SM_KOP_SUB, at->end, at->begin), round);
  int32_t end = arithmetic(s, SM_KOP_ADD, at->begin, arithmetic(s, SM_KOP_MUL, rounds, round));
  emit_loop(s, segment, &(span){at->begin, end, at->row, at->tile}, width, n);
  at->begin = end;
}

/* What whole vectors leave over is run by ever narrower ones: in short rows that is much,
 * and an element alone costs as much as a vector. Measured: x + row of 31 takes 0.6 of the
 * time, interpreted rows of 500 a fortieth, and code another third to compile. Long bodies,
 * which are tiled, have no such loops: they are slow to compile. */
enum { NARROWER = 4 };

/* Vectors side by side. Beside loops, whose trips wait for one another, straight segments
 * need none. */
static int unroll_of(const skeleton *s, int segment) {
  bool straight = !s->block->loop.trips || s->block->loop.begin < s->segments.begin[segment] ||
                  s->block->loop.begin >= s->segments.begin[segment + 1];
  return straight && s->form.loops ? 1 : s->form.unroll;
}

/* Whole rounds only, or (where latency counts, whole rounds, then) whole vectors, narrower
 * ones and then single elements. */
static void emit_segment(skeleton *s, int segment, const span *at) {
  int unroll = unroll_of(s, segment);
  if (s->form.padded || s->form.threads) {
    emit_loop(s, segment, at, s->form.width, unroll);
    return;
  }
  span rest = *at;
  if (unroll > 1) emit_whole_rounds(s, segment, &rest, s->form.width, unroll);
  for (int width = s->form.width; width > 1; width = s->tile ? 1 : width / NARROWER)
    emit_whole_rounds(s, segment, &rest, width, 1);
  emit_loop(s, segment, &rest, 1, 1);
}

static void emit_span(skeleton *s, const span *at) {
  if (!s->tile) {
    emit_segment(s, 0, at);
    return;
  }
  int32_t tile = sm_kir_for(s->kernel, at->begin, at->end, s->tile);
  int32_t full = arithmetic(s, SM_KOP_ADD, tile, sm_kir_i64(s->kernel, s->tile));
  span inside = {tile, arithmetic(s, SM_KOP_MIN, full, at->end), at->row, tile};
  for (int segment = 0; segment < s->segments.n; segment++) emit_segment(s, segment, &inside);
  sm_kir_end(s->kernel);
}

/* --- Rows -------------------------------------------------------------------------------- */

/* Adds coordinate × stride to the base of every buffer that moves along `axis`. */
static void advance_bases(skeleton *s, int axis, int32_t coordinate) {
  for (int32_t i = 0; i < n_buffers(s); i++) {
    int64_t stride = sm_block_plan_strides(s->plan, i)[axis];
    if (stride == 0 || !touches(s, i)) continue;
    int32_t step = coordinate;
    if (stride != 1) step = arithmetic(s, SM_KOP_MUL, coordinate, add_stride(s, axis, i));
    s->base[i] = add(s, s->base[i], step);
  }
}

/* Row number to coordinates, innermost of the outer axes first. */
static void decode_row(skeleton *s, int32_t row_number) {
  int32_t rest = row_number;
  for (int axis = s->plan->rank - 2; axis > 0; axis--) {
    int32_t extent = add_extent(s, axis);
    advance_bases(s, axis, arithmetic(s, SM_KOP_FMOD, rest, extent));
    rest = arithmetic(s, SM_KOP_TRUNC_DIV, rest, extent);
  }
  advance_bases(s, 0, rest);
}

/* Where a fixed gather's row begins. */
static int32_t emit_fixed(skeleton *s, const sm_step *gather) {
  int32_t stride = s->place_stride[gather->index], at = s->row_values[gather->args[0]];
  if (stride != SM_KIR_NONE) at = arithmetic(s, SM_KOP_MUL, at, stride);
  return add(s, s->base[gather->index], at);
}

static int32_t emit_row_kop(skeleton *s, const sm_step *step) {
  int32_t args[3];
  for (int k = 0; k < 3; k++)
    args[k] = step->args[k] == SM_NO_LOCAL ? SM_KIR_NONE : s->row_values[step->args[k]];
  return sm_kir_kop(s->kernel, step->kop, args[0], args[1], args[2], step->dtype);
}

/* Whatever fixed gathers need, before the elements of the row. */
static void emit_row_values(skeleton *s) {
  const place row = {.width = 1, .locals = s->row_values};
  for (int32_t i = 0; i < (int32_t)s->block->steps.len; i++) {
    const sm_step *step = &s->block->steps.items[i];
    if (s->places.fixed[i]) s->row_values[i] = emit_fixed(s, step);
    else if (!s->places.in_row[i]) continue;
    else if (step->kind != SM_STEP_COMPUTE) s->row_values[i] = emit_leaf(s, &row, step);
    else s->row_values[i] = emit_row_kop(s, step);
  }
}

static void emit_rows(skeleton *s) {
  sm_kir_kernel *k = s->kernel;
  int32_t extent = add_extent(s, s->plan->rank - 1);
  int32_t first = arithmetic(s, SM_KOP_TRUNC_DIV, sm_kir_chunk_begin(k), extent);
  int32_t last = arithmetic(s, SM_KOP_TRUNC_DIV, sm_kir_chunk_end(k), extent);
  int32_t row_number = sm_kir_for(k, first, last, 1);
  decode_row(s, row_number);
  emit_row_values(s);
  int32_t row = arithmetic(s, SM_KOP_MUL, row_number, extent);
  emit_span(s, &(span){sm_kir_i64(k, 0), extent, row, SM_KIR_NONE});
  sm_kir_end(k);
}

/* The vector of a thread, wherever it is. */
static void emit_vector(skeleton *s) {
  sm_kir_kernel *k = s->kernel;
  int32_t extent = add_extent(s, s->plan->rank - 1);
  int32_t flat = sm_kir_for(k, sm_kir_chunk_begin(k), sm_kir_chunk_end(k), s->form.width);
  int32_t row_number = arithmetic(s, SM_KOP_TRUNC_DIV, flat, extent);
  int32_t row = arithmetic(s, SM_KOP_MUL, row_number, extent);
  decode_row(s, row_number);
  emit_row_values(s);
  const span at = {.row = row, .tile = SM_KIR_NONE};
  emit_round(s, 0, &at, arithmetic(s, SM_KOP_SUB, flat, row), s->form.width, 1);
  sm_kir_end(k);
}

/* The whole chunk. */
static void emit_only_row(skeleton *s) {
  int32_t begin = sm_kir_chunk_begin(s->kernel), end = sm_kir_chunk_end(s->kernel);
  emit_row_values(s);
  emit_span(s, &(span){begin, end, SM_KIR_NONE, SM_KIR_NONE});
}

/* --- Blocks ---------------------------------------------------------------------------------- */

static void begin_gathered(skeleton *s, int32_t input) {
  if (!has_step(s, SM_STEP_GATHER, input)) return;
  bool steps = s->launch->gathered[input].stride == 1;
  s->extent[input] = add_size(s, SM_SIZE_GATHERED_EXTENT, 0, input);
  s->place_stride[input] = steps ? SM_KIR_NONE : add_size(s, SM_SIZE_GATHERED_STRIDE, 0, input);
}

static void begin_buffers(skeleton *s) {
  for (int32_t i = 0; i < n_buffers(s); i++) {
    int64_t stride = inner_stride_of(s, i);
    bool other = stride != 0 && stride != 1 && touches(s, i);
    s->inner_stride[i] = other ? add_stride(s, s->plan->rank - 1, i) : SM_KIR_NONE;
    bool shifted = s->launch->first[i] && touches(s, i);
    s->base[i] = shifted ? add_size(s, SM_SIZE_FIRST, 0, i) : SM_KIR_NONE;
    if (i < n_inputs(s)) begin_gathered(s, i);
  }
}

/* Slots lie on the stack of whichever thread runs the kernel, and threads may have
 * little of it. */
enum { SLOT_BYTES = 64 * 1024 };

/* The form's tile, or as many rounds as leave this block's slots within its share. */
static void fit_tile(skeleton *s) {
  int64_t bytes = 0, share = SLOT_BYTES / (int64_t)s->trace->blocks.len;
  for (int slot = 0; slot < s->segments.n_slots; slot++)
    bytes += (int64_t)smelt_dtype_size(s->segments.dtype[slot]);
  s->tile = s->form.tile;
  if (bytes == 0 || bytes * (s->tile + s->form.width) <= share) return;
  int64_t round = (int64_t)s->form.width * s->form.unroll, fits = share / bytes - s->form.width;
  s->tile = (int)(fits - fits % round);
  s->too_large = s->tile < round;
}

static void add_slots(skeleton *s) {
  s->first_slot = (int)s->kernel->buffers.len;
  for (int slot = 0; slot < s->segments.n_slots; slot++) {
    /* One vector more than a tile, so that slots do not lie a power of two apart,
     * which makes processors take a store for another's. */
    sm_kir_add_local(s->kernel, s->segments.dtype[slot], (uint32_t)(s->tile + s->form.width));
  }
}

static bool prepare_block(skeleton *s, sm_arena *arena) {
  size_t n = s->block->steps.len;
  s->locals = sm_arena_zalloc(arena, n * (size_t)s->form.unroll, sizeof *s->locals);
  s->row_values = sm_arena_zalloc(arena, n, sizeof *s->row_values);
  return s->locals && s->row_values && sm_row_places_find(s->block, s->plan, arena, &s->places) &&
         sm_segments_cut(s->block, s->form.segment, arena, &s->segments);
}

static void emit_block(skeleton *s, sm_arena *arena) {
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
  if (s->plan->rank == 1) emit_only_row(s);
  else if (s->form.threads) emit_vector(s);
  else emit_rows(s);
}

/* --- The kernel --------------------------------------------------------------------------------- */

static void declare_arguments(const sm_trace *trace, sm_kir_kernel *k) {
  for (size_t i = 0; i < trace->inputs.len; i++) sm_kir_add_buffer(k, trace->inputs.items[i].dtype, false);
  for (size_t i = 0; i < trace->outputs.len; i++) sm_kir_add_buffer(k, trace->outputs.items[i].dtype, true);
  for (size_t i = 0; i < trace->scalars.len; i++) sm_kir_add_scalar(k, trace->scalars.items[i].dtype);
}

static void emit_blocks(skeleton *s, const sm_launch_plan *plan, sm_arena *arena) {
  size_t n_in = (size_t)n_inputs(s), n = (size_t)n_buffers(s);
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

smelt_status sm_elementwise_kernel(const sm_trace *trace, const sm_launch_plan *plan,
                                   sm_elementwise_form form, const sm_allocator *allocator,
                                   sm_kir_kernel *out, sm_size_list *sizes, smelt_error *err) {
  sm_kir_init(out, allocator);
  memset(sizes, 0, sizeof *sizes);
  declare_arguments(trace, out);
  sm_arena arena;
  sm_arena_init(&arena, allocator);
  skeleton s = {.trace = trace, .form = form, .allocator = allocator, .kernel = out, .sizes = sizes};
  emit_blocks(&s, plan, &arena);
  sm_arena_free(&arena);
  if (s.failed) return sm_error_memory(err, "a kernel");
  if (s.too_large) return sm_error_set(err, SMELT_ERR_UNSUPPORTED, "a kernel keeps too many values at once");
  return sm_kir_built(out, err);
}
