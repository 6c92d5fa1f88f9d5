/* SPDX-License-Identifier: Apache-2.0 */
#include "launch/reduce_kernel.h"

#include "base/error.h"
#include "launch/reduce_keeping.h"

enum { ELEMENTS, RESULTS };

/* A local of the second block that elements use: of rows its value, alone and in all lanes
 * of a vector, of columns the scratch memory of a strip of them. */
typedef struct spread_local {
  bool used;
  int32_t value, lanes, memory;
} spread_local;

typedef struct emitter {
  const sm_trace *trace;
  const sm_reduce_form *form;
  const sm_reduce_input *inputs;
  int *sizes;         /* by input: its first size argument */
  int32_t *row_place; /* by input: where the row is along a split outer axis */
  sm_kir_kernel *kernel;
  sm_arena *arena;
  sm_reduce_keeping keeping;
  int *kept;            /* by row of the form's `keep` elements: scratch memory */
  int32_t stage;        /* scratch memory of what is staged */
  bool staging;         /* it is being worked out */
  spread_local *spread; /* by local of the second block */
  /* While a block is emitted: */
  const sm_block *block;
  const sm_reduce_place *at;
  int lanes; /* the axis that lanes follow */
  const int32_t *reduced;
  int32_t *locals;
  bool failed;
} emitter;

static int32_t arithmetic(const emitter *e, sm_kop kop, int32_t a, int32_t b) {
  return sm_kir_kop(e->kernel, kop, a, b, SM_KIR_NONE, SMELT_I64);
}

static int32_t add(const emitter *e, int32_t a, int32_t b) {
  return a == SM_KIR_NONE ? b : arithmetic(e, SM_KOP_ADD, a, b);
}

static int32_t size_of_input(const emitter *e, int32_t input, int which) {
  return sm_kir_size(e->kernel, e->sizes[input] + which);
}

static int32_t splat(const emitter *e, int32_t value) {
  return e->at->width == 1 ? value : sm_kir_splat(e->kernel, value, e->at->width);
}

static int32_t value_of(const emitter *e, int32_t i);

/* --- Reads ---------------------------------------------------------------------------- */

static int32_t coordinate(const emitter *e, int axis) {
  const int32_t coordinates[] = {
      [SM_OUTER] = e->at->outer, [SM_REDUCED] = e->at->reduced, [SM_INNER] = e->at->inner};
  return coordinates[axis];
}

/* Where the first lane's element is; NONE is 0. */
static int32_t place_of(const emitter *e, int32_t input) {
  const sm_reduce_input *in = &e->inputs[input];
  int32_t place = in->first ? size_of_input(e, input, SM_REDUCE_INPUT_FIRST) : SM_KIR_NONE;
  if (in->split.n) place = add(e, place, e->row_place[input]);
  for (int axis = 0; axis < SM_REDUCE_AXES; axis++) {
    bool of_results = e->block == &e->trace->blocks.items[RESULTS];
    if (in->strides[axis] == 0 || (of_results && axis == SM_REDUCED)) continue;
    int32_t steps = coordinate(e, axis);
    if (in->strides[axis] != 1) steps = arithmetic(e, SM_KOP_MUL, steps, size_of_input(e, input, axis));
    place = add(e, place, steps);
  }
  return place == SM_KIR_NONE ? sm_kir_i64(e->kernel, 0) : place;
}

/* Rows taken across that follow each other are a known number of elements apart. */
static int32_t step_of(const emitter *e, int32_t input) {
  int64_t stride = e->inputs[input].strides[e->lanes];
  if (stride == 1) return SM_KIR_NONE;
  if (stride == e->form->across) return sm_kir_i64(e->kernel, stride);
  return size_of_input(e, input, e->lanes);
}

static int32_t emit_read(const emitter *e, int32_t input) {
  int64_t stride = e->inputs[input].strides[e->lanes];
  int32_t place = place_of(e, input);
  if (stride == 0 || e->at->width == 1) return splat(e, sm_kir_load(e->kernel, input, place, SM_KIR_NONE, 1));
  return sm_kir_load(e->kernel, input, place, step_of(e, input), e->at->width);
}

/* The element that data choose, of each lane. */
static int32_t emit_gather(const emitter *e, const sm_step *step) {
  int32_t input = step->index, stride = size_of_input(e, input, SM_REDUCE_INPUT_PLACE_STRIDE);
  int32_t chosen = arithmetic(e, SM_KOP_MUL, value_of(e, step->args[0]), splat(e, stride));
  int32_t place = add(e, splat(e, place_of(e, input)), chosen);
  if (e->at->width == 1) return sm_kir_load(e->kernel, input, place, SM_KIR_NONE, 1);
  if (e->inputs[input].strides[e->lanes] != 0) {
    int32_t lanes = sm_kir_iota(e->kernel, sm_kir_i64(e->kernel, 0), e->at->width);
    int32_t apart = splat(e, size_of_input(e, input, e->lanes));
    place = add(e, place, arithmetic(e, SM_KOP_MUL, lanes, apart));
  }
  return sm_kir_gather(e->kernel, input, place);
}

/* The number of the row has a digit for each part of the axis, from the fastest. */
static int32_t split_place(const emitter *e, int32_t input, int32_t row) {
  int32_t place = SM_KIR_NONE;
  for (int part = e->inputs[input].split.n - 1; part >= 0; part--) {
    int at = SM_REDUCE_INPUT_SIZES + 2 * part;
    int32_t extent = size_of_input(e, input, at), stride = size_of_input(e, input, at + 1);
    int32_t digit = part ? arithmetic(e, SM_KOP_FMOD, row, extent) : row;
    place = add(e, place, arithmetic(e, SM_KOP_MUL, digit, stride));
    if (part) row = arithmetic(e, SM_KOP_TRUNC_DIV, row, extent);
  }
  return place;
}

static void begin_row(void *user, sm_kir_kernel *k, int32_t outer) {
  emitter *e = user;
  (void)k;
  for (size_t i = 0; i < e->trace->inputs.len; i++) {
    if (e->inputs[i].split.n) e->row_place[i] = split_place(e, (int32_t)i, outer);
  }
}

/* --- Steps ------------------------------------------------------------------------------ */

static int32_t emit_index(const emitter *e) {
  if (e->at->width == 1) return e->at->index;
  if (e->at->step == SM_KIR_NONE) return sm_kir_iota(e->kernel, e->at->index, e->at->width);
  int32_t lanes = sm_kir_iota(e->kernel, sm_kir_i64(e->kernel, 0), e->at->width);
  return add(e, splat(e, e->at->index), arithmetic(e, SM_KOP_MUL, lanes, splat(e, e->at->step)));
}

static int32_t emit_compute(const emitter *e, const sm_step *step) {
  int32_t args[3];
  for (int k = 0; k < 3; k++)
    args[k] = step->args[k] == SM_NO_LOCAL ? SM_KIR_NONE : value_of(e, step->args[k]);
  return sm_kir_kop(e->kernel, step->kop, args[0], args[1], args[2], step->dtype);
}

/* Whether results wait in scratch memory for later passes: those of a strip or a band. */
static bool spreads_by_memory(const emitter *e) {
  return sm_reduce_has_strips(e->form) || sm_reduce_has_bands(e->form);
}

static int32_t emit_spread(const emitter *e, int32_t local) {
  const spread_local *s = &e->spread[local];
  if (sm_reduce_has_strips(e->form))
    return sm_kir_load(e->kernel, s->memory, e->at->column, SM_KIR_NONE, e->at->width);
  if (spreads_by_memory(e)) return splat(e, sm_kir_load(e->kernel, s->memory, e->at->column, SM_KIR_NONE, 1));
  if (e->form->columns) return s->value;
  return s->lanes != SM_KIR_NONE && e->at->width == SM_TREE_LANES ? s->lanes : splat(e, s->value);
}

static int32_t emit_step(const emitter *e, const sm_step *step) {
  switch (step->kind) {
    case SM_STEP_READ:
      return emit_read(e, step->index);
    case SM_STEP_SCALAR:
      return splat(e, sm_kir_scalar(e->kernel, step->index));
    case SM_STEP_LITERAL:
      return splat(e, sm_kir_const(e->kernel, step->dtype, step->literal));
    case SM_STEP_INDEX:
      return emit_index(e);
    case SM_STEP_REDUCED:
      return e->reduced[step->index];
    case SM_STEP_SPREAD:
      return emit_spread(e, step->index);
    case SM_STEP_EXTENT:
      return splat(e, size_of_input(e, step->index, SM_REDUCE_INPUT_EXTENT));
    case SM_STEP_GATHER:
      return emit_gather(e, step);
    default:
      return emit_compute(e, step);
  }
}

/* Works out a local of the block that is being emitted. */
static int32_t work_out(const emitter *e, int32_t i) {
  bool is_there = e->block == &e->trace->blocks.items[ELEMENTS] && i == e->keeping.staged && !e->staging &&
                  e->at->pass == 0 && e->at->width > 1;
  if (!is_there) return emit_step(e, &e->block->steps.items[i]);
  int32_t apart = sm_kir_i64(e->kernel, e->form->across);
  return sm_kir_load(e->kernel, e->stage, e->at->reduced, apart, e->at->width);
}

static bool is_kept(const emitter *e, int32_t i) {
  return e->block == &e->trace->blocks.items[ELEMENTS] && e->keeping.row[i] != SM_REDUCE_NO_ROW;
}

static int32_t load_kept(const emitter *e, int32_t i) {
  return sm_kir_load(e->kernel, e->kept[e->keeping.row[i]], e->at->kept, e->at->next_kept, e->at->width);
}

/* Steps are emitted where they are first used, which is never before their operands. */
static int32_t value_of(const emitter *e, int32_t i) {
  if (e->locals[i] != SM_KIR_NONE) return e->locals[i];
  bool is_there = is_kept(e, i) && e->keeping.first_pass[i] < e->at->pass;
  e->locals[i] = is_there ? load_kept(e, i) : work_out(e, i);
  return e->locals[i];
}

/* What there is to write of elements is written in the last pass, when nothing will be read
 * any more; of results, in the pass that makes them. */
static bool is_written(const emitter *e, const sm_step *step) {
  bool elements = e->block == &e->trace->blocks.items[ELEMENTS];
  int pass = elements ? e->form->passes - 1 : step->pass;
  return step->kind == SM_STEP_WRITE && pass == e->at->pass;
}

static void emit_write(const emitter *e, const sm_step *step) {
  bool elements = e->block == &e->trace->blocks.items[ELEMENTS];
  int32_t buffer = (int32_t)e->trace->inputs.len + step->index, value = value_of(e, step->args[0]);
  if (elements && e->form->streaming && e->at->width > 1)
    sm_kir_stream(e->kernel, buffer, e->at->index, value);
  else sm_kir_store(e->kernel, buffer, e->at->index, e->at->step, value);
}

/* What is to be written is there first: what is loaded for it waits for no store. */
static void emit_written(const emitter *e) {
  const sm_step *steps = e->block->steps.items;
  for (size_t i = 0; i < e->block->steps.len; i++) {
    if (is_written(e, &steps[i])) (void)value_of(e, steps[i].args[0]);
  }
}

/* Of what a team's threads all know, each has the values, and one stores them. */
static void emit_writes(const emitter *e) {
  const sm_step *steps = e->block->steps.items;
  bool shared = e->at->writes != SM_KIR_NONE;
  if (shared) (void)sm_kir_for(e->kernel, sm_kir_i64(e->kernel, 0), e->at->writes, 1);
  for (size_t i = 0; i < e->block->steps.len; i++) {
    if (is_written(e, &steps[i])) emit_write(e, &steps[i]);
  }
  if (shared) sm_kir_end(e->kernel);
}

/* While a row is worked on, a later one comes from memory: in the pass that leaves most time
 * for it each vector asks for one of what the first pass will read. */
static void emit_prefetches(const emitter *e) {
  for (size_t i = 0; i < e->block->steps.len; i++) {
    const sm_step *step = &e->block->steps.items[i];
    const int64_t *strides = e->inputs[step->index].strides;
    if (step->kind != SM_STEP_READ || e->keeping.first_pass[i] != 0) continue;
    if (strides[SM_OUTER] == 0 || strides[SM_REDUCED] != 1) continue;
    int32_t rows = arithmetic(e, SM_KOP_MUL, e->at->ahead, size_of_input(e, step->index, SM_OUTER));
    sm_kir_prefetch(e->kernel, step->index, add(e, place_of(e, step->index), rows), e->at->width);
  }
}

static bool begin_block(emitter *e, int block, const sm_reduce_place *at) {
  e->block = &e->trace->blocks.items[block];
  e->at = at;
  e->locals = sm_arena_alloc(e->arena, (e->block->steps.len + 1) * sizeof *e->locals);
  for (size_t i = 0; e->locals && i < e->block->steps.len; i++) e->locals[i] = SM_KIR_NONE;
  e->failed = e->failed || !e->locals;
  return e->locals != NULL;
}

/* What this pass is the first to compute. */
static void emit_kept(const emitter *e) {
  for (int32_t i = 0; i < (int32_t)e->block->steps.len; i++) {
    if (!is_kept(e, i) || e->keeping.first_pass[i] != e->at->pass) continue;
    sm_kir_store(e->kernel, e->kept[e->keeping.row[i]], e->at->kept, e->at->next_kept, value_of(e, i));
  }
}

static void emit_values(emitter *e, const sm_reduce_place *at, int32_t *values) {
  bool begun = begin_block(e, ELEMENTS, at);
  for (size_t t = 0; t < e->trace->tasks.len; t++) {
    const sm_trace_task *task = &e->trace->tasks.items[t];
    if (task->pass != at->pass) continue;
    *values++ = begun ? value_of(e, task->local)
                      : splat(e, sm_kir_const(e->kernel, task->dtype, (sm_word){.bits = 0}));
  }
  if (begun) emit_written(e);
}

static bool wants_prefetches(const emitter *e) {
  bool resident = e->form->passes > 1 && e->form->stage == SM_REDUCE_WHOLE;
  return resident && !e->form->threads && !e->form->columns && e->at->width == SM_TREE_LANES &&
         e->at->pass == e->keeping.slow_pass;
}

static void emit_elements(void *user, sm_kir_kernel *k, const sm_reduce_place *at, int n,
                          int32_t (*values)[SM_REDUCE_TASKS]) {
  emitter *e = user;
  int32_t *locals[SM_REDUCE_PLACES];
  (void)k;
  e->lanes = e->form->columns ? SM_INNER : SM_REDUCED;
  for (int i = 0; i < n; i++) {
    emit_values(e, &at[i], values[i]);
    locals[i] = e->locals;
  }
  for (int i = 0; i < n && !e->failed; i++) {
    e->at = &at[i];
    e->locals = locals[i];
    emit_kept(e);
    emit_writes(e);
    if (wants_prefetches(e)) emit_prefetches(e);
  }
}

static void emit_stage(void *user, sm_kir_kernel *k, const sm_reduce_place *at) {
  emitter *e = user;
  e->lanes = SM_REDUCED;
  e->staging = true;
  if (begin_block(e, ELEMENTS, at))
    sm_kir_store(k, e->stage, at->reduced, SM_KIR_NONE, value_of(e, e->keeping.staged));
  e->staging = false;
}

static void spread(const emitter *e, int32_t local) {
  spread_local *s = &e->spread[local];
  s->value = value_of(e, local);
  s->lanes = SM_KIR_NONE;
  if (spreads_by_memory(e)) sm_kir_store(e->kernel, s->memory, e->at->column, SM_KIR_NONE, s->value);
  else if (!e->form->threads) s->lanes = sm_kir_splat(e->kernel, s->value, SM_TREE_LANES);
}

/* What results of the passes from `first` to `last` are for later elements. */
static void spread_all(const emitter *e, int first, int last) {
  for (size_t i = 0; i < e->block->steps.len; i++) {
    int pass = e->block->steps.items[i].pass;
    if (e->spread[i].used && pass >= first && pass <= last) spread(e, (int32_t)i);
  }
}

static bool begin_results(emitter *e, const sm_reduce_place *at, const int32_t *values) {
  e->reduced = values;
  e->lanes = SM_INNER;
  return begin_block(e, RESULTS, at);
}

static void emit_results(void *user, sm_kir_kernel *k, const sm_reduce_place *at, const int32_t *values) {
  emitter *e = user;
  (void)k;
  if (!begin_results(e, at, values)) return;
  emit_written(e);
  emit_writes(e);
  if (e->form->stage == SM_REDUCE_WHOLE) spread_all(e, at->pass, at->pass);
}

static void emit_resumed(void *user, sm_kir_kernel *k, const sm_reduce_place *at, const int32_t *values) {
  emitter *e = user;
  (void)k;
  if (begin_results(e, at, values)) spread_all(e, 0, at->pass - 1);
}

/* --- The kernel ------------------------------------------------------------------------------ */

bool sm_reduce_aligns(const sm_reduce_form *form, const sm_reduce_input *input) {
  int lanes = form->columns ? SM_INNER : SM_REDUCED;
  bool aligned = form->threads && input->strides[lanes] == 1 && input->first % form->vector == 0;
  for (int axis = 0; axis < SM_REDUCE_AXES; axis++)
    aligned = aligned && (axis == lanes || input->strides[axis] % form->vector == 0);
  return aligned;
}

static void declare_buffer(sm_kir_kernel *k, smelt_dtype dtype, bool written, bool aligned) {
  int buffer = sm_kir_add_buffer(k, dtype, written);
  if (aligned) sm_kir_align_buffer(k, buffer);
}

static void declare_arguments(const emitter *e, sm_kir_kernel *k) {
  const sm_trace *trace = e->trace;
  for (size_t i = 0; i < trace->inputs.len; i++)
    declare_buffer(k, trace->inputs.items[i].dtype, false, sm_reduce_aligns(e->form, &e->inputs[i]));
  for (size_t i = 0; i < trace->outputs.len; i++)
    declare_buffer(k, trace->outputs.items[i].dtype, true, e->form->aligned);
  for (size_t i = 0; i < trace->scalars.len; i++) sm_kir_add_scalar(k, trace->scalars.items[i].dtype);
  for (size_t i = 0; i < trace->inputs.len; i++) {
    e->sizes[i] = k->n_sizes;
    for (int n = sm_reduce_count_sizes(&e->inputs[i]); n > 0; n--) (void)sm_kir_add_size(k);
  }
}

static bool allocate(emitter *e) {
  const sm_block *blocks = e->trace->blocks.items;
  size_t n = blocks[ELEMENTS].steps.len, n_in = e->trace->inputs.len;
  e->sizes = sm_arena_alloc(e->arena, (n_in + 1) * sizeof *e->sizes);
  e->row_place = sm_arena_alloc(e->arena, (n_in + 1) * sizeof *e->row_place);
  e->kept = sm_arena_alloc(e->arena, n * sizeof *e->kept);
  e->spread = sm_arena_zalloc(e->arena, blocks[RESULTS].steps.len, sizeof *e->spread);
  return e->sizes && e->row_place && e->kept && e->spread &&
         sm_reduce_find_kept(e->trace, e->inputs, e->form, e->arena, &e->keeping);
}

static int add_row(const emitter *e, sm_kir_kernel *k, smelt_dtype dtype) {
  uint32_t elements = (uint32_t)e->form->keep;
  return e->form->threads ? sm_kir_add_shared(k, dtype, elements) : sm_kir_add_local(k, dtype, elements);
}

static void add_scratch(void *user, sm_kir_kernel *k) {
  emitter *e = user;
  const sm_block *elements = &e->trace->blocks.items[ELEMENTS], *results = &e->trace->blocks.items[RESULTS];
  for (size_t i = 0; i < elements->steps.len; i++) {
    const sm_step *step = &elements->steps.items[i];
    if (step->kind == SM_STEP_SPREAD) e->spread[step->index].used = true;
  }
  for (int row = 0; row < e->keeping.rows; row++) e->kept[row] = add_row(e, k, e->keeping.dtypes[row]);
  if (e->keeping.staged != SM_NO_LOCAL) {
    uint32_t n = (uint32_t)(e->form->across * e->form->width);
    e->stage = sm_kir_add_local(k, elements->steps.items[e->keeping.staged].dtype, n);
  }
  for (size_t i = 0; i < results->steps.len && spreads_by_memory(e); i++) {
    spread_local *s = &e->spread[i];
    if (s->used) s->memory = sm_kir_add_local(k, results->steps.items[i].dtype, (uint32_t)e->form->strip);
  }
}

int sm_reduce_trace_tasks(const sm_trace *trace, sm_reduce_task tasks[SM_REDUCE_TASKS]) {
  for (size_t t = 0; t < trace->tasks.len; t++) {
    const sm_trace_task *task = &trace->tasks.items[t];
    tasks[t] = (sm_reduce_task){task->reduction, task->dtype, task->pass};
  }
  return (int)trace->tasks.len;
}

smelt_status sm_reduce_trace_kernel(const sm_trace *trace, const sm_reduce_input *inputs,
                                    const sm_reduce_form *form, const sm_allocator *allocator,
                                    sm_kir_kernel *out, smelt_error *err) {
  sm_arena arena;
  sm_reduce_task tasks[SM_REDUCE_TASKS];
  int n_tasks = sm_reduce_trace_tasks(trace, tasks);
  sm_kir_init(out, allocator);
  sm_arena_init(&arena, allocator);
  emitter e = {.trace = trace, .form = form, .inputs = inputs, .kernel = out, .arena = &arena};
  sm_reduce_body body = {&e, emit_elements, emit_results, emit_resumed, add_scratch, begin_row, emit_stage};
  e.failed = !allocate(&e);
  if (!e.failed && e.keeping.staged == SM_NO_LOCAL) body.stage = NULL;
  if (!e.failed) declare_arguments(&e, out);
  if (!e.failed) sm_reduce_kernel(out, tasks, n_tasks, form, &body);
  sm_arena_free(&arena);
  return e.failed ? sm_error_memory(err, "a kernel") : sm_kir_built(out, err);
}
