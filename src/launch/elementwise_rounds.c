/* SPDX-License-Identifier: Apache-2.0
 *
 * From a chunk of work items to rows, spans, tiles and rounds. */
#include "launch/elementwise_parts.h"

/* --- Spans -------------------------------------------------------------------------------- */

/* While a tile is worked on, or a round with a loop, the inputs of the next one come
 * from memory; the processor's own prefetching stops in between. Measured: a third less
 * time for a chain of 64 steps. */
static void emit_prefetches(sm_skeleton *s, const sm_place *p, int64_t distance) {
  for (int32_t i = 0; i < sm_skeleton_inputs(s); i++) {
    if (sm_skeleton_inner_stride_of(s, i) != 1 || !sm_skeleton_reads_input(s, i)) continue;
    int32_t ahead = sm_skeleton_arithmetic(s, SM_KOP_ADD, p->position, sm_kir_i64(s->kernel, distance));
    sm_kir_prefetch(s->kernel, i, sm_skeleton_add(s, s->base[i], ahead), p->width);
  }
}

/* The segment that does it: not the first, which still reads this tile. */
static bool prefetches(const sm_skeleton *s, int segment) {
  return s->segments.n > 1 && segment == s->segments.n / 2;
}

enum { MAX_UNROLL = 16 };

/* `n` vectors of `width` from `position` on. */
static void emit_round(sm_skeleton *s, int segment, const sm_span *at, int32_t position, int width, int n) {
  sm_place places[MAX_UNROLL] = {{.width = width}};
  size_t n_steps = s->block->steps.len;
  for (size_t i = 0; i < n_steps * (size_t)n; i++) s->locals[i] = SM_KIR_NONE;
  for (int u = 0; u < n; u++) {
    int32_t own =
        u ? sm_skeleton_arithmetic(s, SM_KOP_ADD, position, sm_kir_i64(s->kernel, (int64_t)u * width))
          : position;
    places[u] = (sm_place){width, own, at->row, at->tile, s->locals + n_steps * (size_t)u};
  }
  bool rolled = s->block->loop.trips && !s->tile && !s->form.threads;
  for (int u = 0; u < n && width == s->form.width && rolled; u++)
    emit_prefetches(s, &places[u], (int64_t)width * n);
  sm_skeleton_load_slots(s, segment, places, n);
  sm_skeleton_emit_steps(s, segment, places, n);
  for (int u = 0; u < n && width == s->form.width && prefetches(s, segment); u++)
    emit_prefetches(s, &places[u], s->tile);
}

/* A loop over [begin, end) by rounds. */
static void emit_loop(sm_skeleton *s, int segment, const sm_span *at, int width, int n) {
  int32_t position = sm_kir_for(s->kernel, at->begin, at->end, (int64_t)width * n);
  emit_round(s, segment, at, position, width, n);
  sm_kir_end(s->kernel);
}

/* The rounds of `n` vectors of `width` that a span has; `at` becomes what is left. */
static void emit_whole_rounds(sm_skeleton *s, int segment, sm_span *at, int width, int n) {
  int32_t round = sm_kir_i64(s->kernel, (int64_t)width * n);
  int32_t rounds = sm_skeleton_arithmetic(s, SM_KOP_TRUNC_DIV,
                                          sm_skeleton_arithmetic(s, SM_KOP_SUB, at->end, at->begin), round);
  int32_t end =
      sm_skeleton_arithmetic(s, SM_KOP_ADD, at->begin, sm_skeleton_arithmetic(s, SM_KOP_MUL, rounds, round));
  emit_loop(s, segment, &(sm_span){at->begin, end, at->row, at->tile}, width, n);
  at->begin = end;
}

/* What whole vectors leave over is run by ever narrower ones: in short rows that is much,
 * and an element alone costs as much as a vector. Measured: x + row of 31 takes 0.6 of the
 * time, interpreted rows of 500 a fortieth, and code another third to compile. Long bodies,
 * which are tiled, have no such loops: they are slow to compile. */
enum { NARROWER = 4 };

/* Vectors side by side. Beside loops, whose trips wait for one another, straight segments
 * need none. */
static int unroll_of(const sm_skeleton *s, int segment) {
  bool straight = !s->block->loop.trips || s->block->loop.begin < s->segments.begin[segment] ||
                  s->block->loop.begin >= s->segments.begin[segment + 1];
  return straight && s->form.loops ? 1 : s->form.unroll;
}

/* Whole rounds only, or (where latency counts, whole rounds, then) whole vectors, narrower
 * ones and then single elements. */
static void emit_segment(sm_skeleton *s, int segment, const sm_span *at) {
  int unroll = unroll_of(s, segment);
  if (s->form.padded || s->form.threads) {
    emit_loop(s, segment, at, s->form.width, unroll);
    return;
  }
  sm_span rest = *at;
  if (unroll > 1) emit_whole_rounds(s, segment, &rest, s->form.width, unroll);
  for (int width = s->form.width; width > 1; width = s->tile ? 1 : width / NARROWER)
    emit_whole_rounds(s, segment, &rest, width, 1);
  emit_loop(s, segment, &rest, 1, 1);
}

/* Begins a loop over [begin, end) by `step`; `stop` is where its pass ends. */
static int32_t begin_parts(sm_skeleton *s, int32_t begin, int32_t end, int64_t step, int32_t *stop) {
  int32_t part = sm_kir_for(s->kernel, begin, end, step);
  int32_t whole = sm_skeleton_arithmetic(s, SM_KOP_ADD, part, sm_kir_i64(s->kernel, step));
  *stop = sm_skeleton_arithmetic(s, SM_KOP_MIN, whole, end);
  return part;
}

static void emit_span(sm_skeleton *s, const sm_span *at) {
  if (!s->tile) {
    emit_segment(s, 0, at);
    return;
  }
  int32_t end, tile = begin_parts(s, at->begin, at->end, s->tile, &end);
  sm_span inside = {tile, end, at->row, tile};
  for (int segment = 0; segment < s->segments.n; segment++) emit_segment(s, segment, &inside);
  sm_kir_end(s->kernel);
}

/* --- Rows -------------------------------------------------------------------------------- */

/* Adds coordinate × stride to the base of every buffer that moves along `axis`. */
static void advance_bases(sm_skeleton *s, int axis, int32_t coordinate) {
  for (int32_t i = 0; i < sm_skeleton_buffers(s); i++) {
    int64_t stride = sm_block_plan_strides(s->plan, i)[axis];
    if (stride == 0 || !sm_skeleton_touches(s, i)) continue;
    int32_t step = coordinate;
    if (stride != 1)
      step = sm_skeleton_arithmetic(s, SM_KOP_MUL, coordinate, sm_skeleton_add_stride(s, axis, i));
    s->base[i] = sm_skeleton_add(s, s->base[i], step);
  }
}

/* Row number to coordinates, innermost of the outer axes first. */
static void decode_row(sm_skeleton *s, int32_t row_number) {
  int32_t rest = row_number;
  for (int axis = s->plan->rank - 2; axis > 0; axis--) {
    int32_t extent = sm_skeleton_add_extent(s, axis);
    advance_bases(s, axis, sm_skeleton_arithmetic(s, SM_KOP_FMOD, rest, extent));
    rest = sm_skeleton_arithmetic(s, SM_KOP_TRUNC_DIV, rest, extent);
  }
  advance_bases(s, 0, rest);
}

/* Where a fixed gather's row begins. */
static int32_t emit_fixed(sm_skeleton *s, const sm_step *gather) {
  int32_t stride = s->place_stride[gather->index], at = s->row_values[gather->args[0]];
  if (stride != SM_KIR_NONE) at = sm_skeleton_arithmetic(s, SM_KOP_MUL, at, stride);
  return sm_skeleton_add(s, s->base[gather->index], at);
}

static int32_t emit_row_kop(sm_skeleton *s, const sm_step *step) {
  int32_t args[3];
  for (int k = 0; k < 3; k++)
    args[k] = step->args[k] == SM_NO_LOCAL ? SM_KIR_NONE : s->row_values[step->args[k]];
  return sm_kir_kop(s->kernel, step->kop, args[0], args[1], args[2], step->dtype);
}

/* Whatever fixed gathers need, before the elements of the row. */
static void emit_row_values(sm_skeleton *s) {
  const sm_place row = {.width = 1, .locals = s->row_values};
  for (int32_t i = 0; i < (int32_t)s->block->steps.len; i++) {
    const sm_step *step = &s->block->steps.items[i];
    if (s->places.fixed[i]) s->row_values[i] = emit_fixed(s, step);
    else if (!s->places.in_row[i]) continue;
    else if (step->kind != SM_STEP_COMPUTE) s->row_values[i] = sm_skeleton_emit_leaf(s, &row, step);
    else s->row_values[i] = emit_row_kop(s, step);
  }
}

/* A part of a row. */
static void emit_row(sm_skeleton *s, int32_t row_number, int32_t extent, int32_t begin, int32_t end) {
  decode_row(s, row_number);
  emit_row_values(s);
  int32_t row = sm_skeleton_arithmetic(s, SM_KOP_MUL, row_number, extent);
  emit_span(s, &(sm_span){begin, end, row, SM_KIR_NONE});
}

/* Whether an input is walked across along the rows of this block, and lies along the next axis. */
static bool lies_across(const sm_skeleton *s) {
  for (int32_t i = 0; i < sm_skeleton_inputs(s); i++) {
    if (sm_skeleton_reads_input(s, i) && sm_block_plan_crosses(s->plan, i)) return true;
  }
  return false;
}

/* Strips of neighbouring rows, so that a line of an input that lies across them is still in the cache
 * for the next row. Measured: a transposed matrix of 4096 rows is copied in a fifth of the time. */
static void emit_strips(sm_skeleton *s, int32_t first, int32_t last, int32_t extent) {
  enum { ROWS = 32, STRIP = 16 };
  int32_t last_row, end;
  int32_t rows = begin_parts(s, first, last, ROWS, &last_row);
  int32_t begin = begin_parts(s, sm_kir_i64(s->kernel, 0), extent, STRIP, &end);
  int32_t row_number = sm_kir_for(s->kernel, rows, last_row, 1);
  emit_row(s, row_number, extent, begin, end);
  for (int loop = 0; loop < 3; loop++) sm_kir_end(s->kernel);
}

void sm_skeleton_emit_rows(sm_skeleton *s) {
  sm_kir_kernel *k = s->kernel;
  int32_t extent = sm_skeleton_add_extent(s, s->plan->rank - 1);
  int32_t first = sm_skeleton_arithmetic(s, SM_KOP_TRUNC_DIV, sm_kir_chunk_begin(k), extent);
  int32_t last = sm_skeleton_arithmetic(s, SM_KOP_TRUNC_DIV, sm_kir_chunk_end(k), extent);
  if (!s->form.interpreted && !s->tile && lies_across(s)) {
    emit_strips(s, first, last, extent);
    return;
  }
  int32_t row_number = sm_kir_for(k, first, last, 1);
  emit_row(s, row_number, extent, sm_kir_i64(k, 0), extent);
  sm_kir_end(k);
}

/* The vector of a thread, wherever it is. */
void sm_skeleton_emit_vector(sm_skeleton *s) {
  sm_kir_kernel *k = s->kernel;
  int32_t extent = sm_skeleton_add_extent(s, s->plan->rank - 1);
  int32_t flat = sm_kir_for(k, sm_kir_chunk_begin(k), sm_kir_chunk_end(k), s->form.width);
  int32_t row_number = sm_skeleton_arithmetic(s, SM_KOP_TRUNC_DIV, flat, extent);
  int32_t row = sm_skeleton_arithmetic(s, SM_KOP_MUL, row_number, extent);
  decode_row(s, row_number);
  emit_row_values(s);
  const sm_span at = {.row = row, .tile = SM_KIR_NONE};
  emit_round(s, 0, &at, sm_skeleton_arithmetic(s, SM_KOP_SUB, flat, row), s->form.width, 1);
  sm_kir_end(k);
}

/* The whole chunk. */
void sm_skeleton_emit_only_row(sm_skeleton *s) {
  int32_t begin = sm_kir_chunk_begin(s->kernel), end = sm_kir_chunk_end(s->kernel);
  emit_row_values(s);
  emit_span(s, &(sm_span){begin, end, SM_KIR_NONE, SM_KIR_NONE});
}
