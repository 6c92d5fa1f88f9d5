/* SPDX-License-Identifier: Apache-2.0 */
#include "base/error.h"
#include "launch/reduce_emitter.h"

static int32_t value_of(const sm_reduce_emitter *e, int32_t i);

/* --- Steps ------------------------------------------------------------------------------ */

static int32_t emit_index(const sm_reduce_emitter *e) {
  if (e->at->width == 1) return e->at->index;
  if (e->at->step == SM_KIR_NONE) return sm_kir_iota(e->kernel, e->at->index, e->at->width);
  int32_t lanes = sm_kir_iota(e->kernel, sm_kir_i64(e->kernel, 0), e->at->width);
  return sm_emit_add(e, sm_emit_splat(e, e->at->index),
                     sm_emit_i64(e, SM_KOP_MUL, lanes, sm_emit_splat(e, e->at->step)));
}

static int32_t emit_compute(const sm_reduce_emitter *e, const sm_step *step) {
  int32_t args[3];
  for (int k = 0; k < 3; k++)
    args[k] = step->args[k] == SM_NO_LOCAL ? SM_KIR_NONE : value_of(e, step->args[k]);
  return sm_kir_kop(e->kernel, step->kop, args[0], args[1], args[2], step->dtype);
}

/* Whether results wait in scratch memory for later passes: those of a strip or a band. */
static bool spreads_by_memory(const sm_reduce_emitter *e) {
  return sm_reduce_has_strips(e->form) || sm_reduce_has_bands(e->form);
}

static int32_t emit_spread(const sm_reduce_emitter *e, int32_t local) {
  const sm_spread_local *s = &e->spread[local];
  if (sm_reduce_has_strips(e->form))
    return sm_kir_load(e->kernel, s->memory, e->at->column, SM_KIR_NONE, e->at->width);
  if (spreads_by_memory(e))
    return sm_emit_splat(e, sm_kir_load(e->kernel, s->memory, e->at->column, SM_KIR_NONE, 1));
  if (e->form->columns) return s->value;
  return s->lanes != SM_KIR_NONE && e->at->width == SM_TREE_LANES ? s->lanes : sm_emit_splat(e, s->value);
}

static int32_t emit_step(const sm_reduce_emitter *e, const sm_step *step) {
  switch (step->kind) {
    case SM_STEP_READ:
      return sm_reduce_read(e, step->index);
    case SM_STEP_SCALAR:
      return sm_emit_splat(e, sm_kir_scalar(e->kernel, step->index));
    case SM_STEP_LITERAL:
      return sm_emit_splat(e, sm_kir_const(e->kernel, step->dtype, step->literal));
    case SM_STEP_INDEX:
      return emit_index(e);
    case SM_STEP_REDUCED:
      return e->reduced[step->index];
    case SM_STEP_SPREAD:
      return emit_spread(e, step->index);
    case SM_STEP_EXTENT:
      return sm_emit_splat(e, sm_emit_size(e, step->index, SM_REDUCE_INPUT_EXTENT));
    case SM_STEP_GATHER:
      return sm_reduce_select(e, step->index, value_of(e, step->args[0]));
    default:
      return emit_compute(e, step);
  }
}

/* Works out a local of the block that is being emitted. */
static int32_t work_out(const sm_reduce_emitter *e, int32_t i) {
  bool is_there =
      sm_emits_elements(e) && i == e->keeping.staged && !e->staging && e->at->pass == 0 && e->at->width > 1;
  if (!is_there) return emit_step(e, &e->block->steps.items[i]);
  int32_t apart = sm_kir_i64(e->kernel, e->form->across);
  return sm_kir_load(e->kernel, e->stage, e->at->reduced, apart, e->at->width);
}

static bool is_kept(const sm_reduce_emitter *e, int32_t i) {
  return sm_emits_elements(e) && e->keeping.row[i] != SM_REDUCE_NO_ROW;
}

static int32_t load_kept(const sm_reduce_emitter *e, int32_t i) {
  return sm_kir_load(e->kernel, e->kept[e->keeping.row[i]], e->at->kept, SM_KIR_NONE, e->at->width);
}

/* Steps are emitted where they are first used, which is never before their operands. */
static int32_t value_of(const sm_reduce_emitter *e, int32_t i) {
  if (e->locals[i] != SM_KIR_NONE) return e->locals[i];
  bool is_there = is_kept(e, i) && e->keeping.first_pass[i] < e->at->pass;
  e->locals[i] = is_there ? load_kept(e, i) : work_out(e, i);
  return e->locals[i];
}

/* What there is to write of elements is written in the last pass, when nothing will be read
 * any more; of results, in the pass that makes them. */
static bool is_written(const sm_reduce_emitter *e, const sm_step *step) {
  bool elements = sm_emits_elements(e);
  int pass = elements ? e->form->passes - 1 : step->pass;
  return step->kind == SM_STEP_WRITE && pass == e->at->pass;
}

static void emit_write(const sm_reduce_emitter *e, const sm_step *step) {
  bool elements = sm_emits_elements(e);
  int32_t buffer = (int32_t)e->trace->inputs.len + step->index, value = value_of(e, step->args[0]);
  if (elements && e->form->streaming && e->at->width > 1 && e->at->there == SM_KIR_NONE)
    sm_kir_stream(e->kernel, buffer, e->at->index, value);
  else if (e->at->there != SM_KIR_NONE)
    sm_kir_store_first(e->kernel, buffer, e->at->index, e->at->there, value);
  else sm_kir_store(e->kernel, buffer, e->at->index, e->at->step, value);
}

/* What is to be written is there first: what is loaded for it waits for no store. */
static void emit_written(const sm_reduce_emitter *e) {
  const sm_step *steps = e->block->steps.items;
  for (size_t i = 0; i < e->block->steps.len; i++) {
    if (is_written(e, &steps[i])) (void)value_of(e, steps[i].args[0]);
  }
}

static bool writes_any(const sm_reduce_emitter *e) {
  for (size_t i = 0; i < e->block->steps.len; i++) {
    if (is_written(e, &e->block->steps.items[i])) return true;
  }
  return false;
}

/* Of what a team's threads all know, each has the values, and one stores them. */
static void emit_writes(const sm_reduce_emitter *e) {
  const sm_step *steps = e->block->steps.items;
  bool shared = e->at->writes != SM_KIR_NONE && writes_any(e);
  if (shared) (void)sm_kir_for(e->kernel, sm_kir_i64(e->kernel, 0), e->at->writes, 1);
  for (size_t i = 0; i < e->block->steps.len; i++) {
    if (is_written(e, &steps[i])) emit_write(e, &steps[i]);
  }
  if (shared) sm_kir_end(e->kernel);
}

/* While a row is worked on, a later one comes from memory: in the pass that leaves most time
 * for it each vector asks for one of what the first pass will read. */
static void emit_prefetches(const sm_reduce_emitter *e) {
  for (size_t i = 0; i < e->block->steps.len; i++) {
    const sm_step *step = &e->block->steps.items[i];
    const int64_t *strides = e->inputs[step->index].strides;
    if (step->kind != SM_STEP_READ || e->keeping.first_pass[i] != 0) continue;
    if (strides[SM_OUTER] == 0 || strides[SM_REDUCED] != 1) continue;
    sm_reduce_prefetch(e, step->index);
  }
}

static void begin_row(void *user, sm_kir_kernel *k, int32_t outer, int32_t ahead) {
  (void)k;
  sm_reduce_find_row_places(user, outer, ahead);
}

static bool begin_block(sm_reduce_emitter *e, int block, const sm_reduce_place *at) {
  e->block = &e->trace->blocks.items[block];
  e->at = at;
  e->locals = sm_arena_alloc(e->arena, (e->block->steps.len + 1) * sizeof *e->locals);
  for (size_t i = 0; e->locals && i < e->block->steps.len; i++) e->locals[i] = SM_KIR_NONE;
  e->failed = e->failed || !e->locals;
  return e->locals != NULL;
}

/* What this pass is the first to compute. */
static void emit_kept(const sm_reduce_emitter *e) {
  for (int32_t i = 0; i < (int32_t)e->block->steps.len; i++) {
    if (!is_kept(e, i) || e->keeping.first_pass[i] != e->at->pass) continue;
    sm_kir_store(e->kernel, e->kept[e->keeping.row[i]], e->at->kept, SM_KIR_NONE, value_of(e, i));
  }
}

static void emit_values(sm_reduce_emitter *e, const sm_reduce_place *at, int32_t *values) {
  bool begun = begin_block(e, SM_REDUCE_ELEMENTS, at);
  for (size_t t = 0; t < e->trace->tasks.len; t++) {
    const sm_trace_task *task = &e->trace->tasks.items[t];
    if (task->pass != at->pass) continue;
    *values++ = begun ? value_of(e, task->local)
                      : sm_emit_splat(e, sm_kir_const(e->kernel, task->dtype, (sm_word){.bits = 0}));
  }
  if (begun) emit_written(e);
}

static bool wants_prefetches(const sm_reduce_emitter *e) {
  bool resident = e->form->passes > 1 && e->form->stage == SM_REDUCE_WHOLE;
  return resident && !e->form->threads && !e->form->columns && e->at->width == SM_TREE_LANES &&
         e->at->pass == e->keeping.slow_pass;
}

static void emit_elements(void *user, sm_kir_kernel *k, const sm_reduce_place *at, int n,
                          int32_t (*values)[SM_REDUCE_TASKS]) {
  sm_reduce_emitter *e = user;
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
  sm_reduce_emitter *e = user;
  e->lanes = SM_REDUCED;
  e->staging = true;
  if (begin_block(e, SM_REDUCE_ELEMENTS, at))
    sm_kir_store(k, e->stage, at->reduced, SM_KIR_NONE, value_of(e, e->keeping.staged));
  e->staging = false;
}

static void store_spread(const sm_reduce_emitter *e, const sm_spread_local *s, int32_t to) {
  if (e->at->there != SM_KIR_NONE) sm_kir_store_first(e->kernel, s->memory, to, e->at->there, s->value);
  else sm_kir_store(e->kernel, s->memory, to, SM_KIR_NONE, s->value);
}

/* Each row of a sheet needs it. */
static void spread_over_sheet(const sm_reduce_emitter *e, const sm_spread_local *s) {
  int32_t wide = sm_kir_i64(e->kernel, e->form->wide), end = sm_kir_i64(e->kernel, SM_TREE_LANES);
  int32_t row = sm_kir_for(e->kernel, sm_kir_i64(e->kernel, 0), end, 1);
  int32_t to = sm_emit_add(e, sm_emit_i64(e, SM_KOP_MUL, row, wide), e->at->column);
  store_spread(e, s, to);
  sm_kir_end(e->kernel);
}

static void spread(const sm_reduce_emitter *e, int32_t local) {
  sm_spread_local *s = &e->spread[local];
  s->value = value_of(e, local);
  s->lanes = SM_KIR_NONE;
  if (e->form->wide) spread_over_sheet(e, s);
  else if (spreads_by_memory(e)) store_spread(e, s, e->at->column);
  else if (!e->form->threads) s->lanes = sm_kir_splat(e->kernel, s->value, SM_TREE_LANES);
}

/* What results of the passes from `first` to `last` are for later elements. */
static void spread_all(const sm_reduce_emitter *e, int first, int last) {
  for (size_t i = 0; i < e->block->steps.len; i++) {
    int pass = e->block->steps.items[i].pass;
    if (e->spread[i].used && pass >= first && pass <= last) spread(e, (int32_t)i);
  }
}

static bool begin_results(sm_reduce_emitter *e, const sm_reduce_place *at, const int32_t *values) {
  e->reduced = values;
  e->lanes = sm_reduce_joins_rows(e->form) ? SM_OUTER : SM_INNER;
  return begin_block(e, SM_REDUCE_RESULTS, at);
}

static void emit_results(void *user, sm_kir_kernel *k, const sm_reduce_place *at, const int32_t *values) {
  sm_reduce_emitter *e = user;
  (void)k;
  if (!begin_results(e, at, values)) return;
  emit_written(e);
  emit_writes(e);
  if (e->form->stage == SM_REDUCE_WHOLE) spread_all(e, at->pass, at->pass);
}

static void emit_resumed(void *user, sm_kir_kernel *k, const sm_reduce_place *at, const int32_t *values) {
  sm_reduce_emitter *e = user;
  (void)k;
  if (begin_results(e, at, values)) spread_all(e, 0, at->pass - 1);
}

/* --- The kernel ------------------------------------------------------------------------------ */

bool sm_reduce_aligns(const sm_reduce_form *form, const sm_reduce_input *input) {
  int lanes = form->columns ? SM_INNER : SM_REDUCED;
  bool aligned = form->threads && input->strides[lanes] == 1 && input->first % form->vector == 0;
  for (int axis = 0; axis < SM_REDUCE_AXES; axis++)
    aligned = aligned && (axis == lanes || input->strides[axis] % form->vector == 0);
  for (int part = 0; part < input->split.n; part++)
    aligned = aligned && input->split.strides[part] % form->vector == 0;
  return aligned;
}

static void declare_buffer(sm_kir_kernel *k, smelt_dtype dtype, bool written, bool aligned) {
  int buffer = sm_kir_add_buffer(k, dtype, written);
  if (aligned) sm_kir_align_buffer(k, buffer);
}

static void declare_arguments(const sm_reduce_emitter *e, sm_kir_kernel *k) {
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

static bool allocate(sm_reduce_emitter *e) {
  const sm_block *blocks = e->trace->blocks.items;
  size_t n = blocks[SM_REDUCE_ELEMENTS].steps.len, n_in = e->trace->inputs.len;
  e->sizes = sm_arena_alloc(e->arena, (n_in + 1) * sizeof *e->sizes);
  e->row_place = sm_arena_alloc(e->arena, (n_in + 1) * sizeof *e->row_place);
  e->row_ahead = sm_arena_alloc(e->arena, (n_in + 1) * sizeof *e->row_ahead);
  e->kept = sm_arena_alloc(e->arena, n * sizeof *e->kept);
  e->spread = sm_arena_zalloc(e->arena, blocks[SM_REDUCE_RESULTS].steps.len, sizeof *e->spread);
  return e->sizes && e->row_place && e->row_ahead && e->kept && e->spread &&
         sm_reduce_find_kept(e->trace, e->inputs, e->form, e->arena, &e->keeping);
}

static int add_row(const sm_reduce_emitter *e, sm_kir_kernel *k, smelt_dtype dtype) {
  uint32_t elements = (uint32_t)e->form->keep;
  if (!e->form->threads) return sm_kir_add_local(k, dtype, elements);
  int row = sm_kir_add_shared(k, dtype, elements);
  sm_kir_align_buffer(k, row);
  return row;
}

static void add_scratch(void *user, sm_kir_kernel *k) {
  sm_reduce_emitter *e = user;
  const sm_block *elements = &e->trace->blocks.items[SM_REDUCE_ELEMENTS],
                 *results = &e->trace->blocks.items[SM_REDUCE_RESULTS];
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
    sm_spread_local *s = &e->spread[i];
    int n = e->form->wide ? sm_reduce_sheet(e->form) : e->form->strip;
    if (s->used) s->memory = sm_kir_add_local(k, results->steps.items[i].dtype, (uint32_t)n);
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
  sm_reduce_emitter e = {.trace = trace, .form = form, .inputs = inputs, .kernel = out, .arena = &arena};
  sm_reduce_body body = {&e, emit_elements, emit_results, emit_resumed, add_scratch, begin_row, emit_stage};
  e.failed = !allocate(&e);
  if (!e.failed && e.keeping.staged == SM_NO_LOCAL) body.stage = NULL;
  if (!e.failed) declare_arguments(&e, out);
  if (!e.failed) sm_reduce_kernel(out, tasks, n_tasks, form, &body);
  sm_arena_free(&arena);
  return e.failed ? sm_error_memory(err, "a kernel") : sm_kir_built(out, err);
}
