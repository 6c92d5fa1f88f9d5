/* SPDX-License-Identifier: Apache-2.0 */
#include "launch/run_reduce.h"

#include <string.h>

#include "base/error.h"
#include "launch/dense_copy.h"
#include "launch/enter_driver.h"
#include "launch/reduce_kernel.h"

/* Each pass but the last has a task, and two stages; of each task there are parts, by field, and
 * results. */
enum { MOST_STAGES = 2 * (SM_REDUCE_TASKS + 1), MOST_PARTS = (SM_PART_FIELDS + 1) * SM_REDUCE_TASKS };

/* One launch on its way. */
typedef struct run {
  const sm_launch_env *env;
  const sm_trace *trace;
  sm_launch_cache *cache;
  const sm_segment *segment;
  sm_operands operands;
  sm_reduce_geometry geometry;
  sm_reduce_task tasks[SM_REDUCE_TASKS];
  sm_reduce_input *inputs;
  sm_kir_span *spans;  /* by buffer: inputs, outputs, parts between stages */
  sm_buffer **scratch; /* copied inputs and parts, to be given up */
  int n_scratch, n_parts;
  sm_prepared_launch *launches; /* copies of inputs, then stages */
  size_t n_copies;
  sm_reduce_form forms[MOST_STAGES];
  int n_stages;
} run;

static size_t count_operands(const run *r) { return r->trace->inputs.len + r->trace->outputs.len; }

static const sm_op *first_reduction(const run *r) {
  for (int i = 0; i < r->trace->n_ops; i++) {
    const sm_op *op = &r->segment->ops.items[r->trace->ops[i]];
    if (op->row->class == SM_CLASS_REDUCE) return op;
  }
  return NULL;
}

/* --- Inputs ----------------------------------------------------------------------------- */

static smelt_status add_scratch(run *r, size_t bytes, sm_kir_span *span, smelt_error *err) {
  sm_buffer **buffer = &r->scratch[r->n_scratch];
  SM_TRY(sm_buffer_create(r->env->device, bytes, buffer, err));
  r->n_scratch++;
  *span = (sm_kir_span){(*buffer)->data, bytes};
  return SMELT_OK;
}

/* By a copy that is dense in the order of a layout. */
static smelt_status replace_input(run *r, size_t input, const sm_layout *layout, smelt_error *err) {
  const sm_trace_value *value = &r->trace->inputs.items[input];
  sm_dense_copy copy = {.fuser = r->operands.on->fuser,
                        .from = r->operands.on->buffers[value->value],
                        .dtype = value->dtype,
                        .layout = layout};
  r->inputs[input].first = r->inputs[input].split.n = 0;
  SM_TRY(sm_prepare_dense_copy(r->env, &copy, &r->scratch[r->n_scratch], &r->launches[r->n_copies], err));
  const sm_buffer *dense = r->scratch[r->n_scratch++];
  r->n_copies++;
  r->spans[input] = (sm_kir_span){dense->data, dense->bytes};
  return SMELT_OK;
}

/* Of an input from which elements are selected. Kept axes without a single stride become dense, and
 * the gathered one is behind them. */
static smelt_status place_gathered(run *r, size_t input, const sm_layout *own, const sm_layout *wide,
                                   bool single, smelt_error *err) {
  sm_reduce_input *in = &r->inputs[input];
  int axis = (int)r->trace->inputs.items[input].gathered;
  in->extent = own->shape.dims[axis];
  in->place_stride = own->strides[axis];
  if (single) return SMELT_OK;
  sm_layout all = *wide;
  sm_reduce_gathered(&r->geometry, &all, in->strides);
  all.shape.dims[all.shape.rank] = in->extent;
  all.strides[all.shape.rank++] = in->place_stride;
  for (int a = 0; a < SM_REDUCE_AXES; a++) in->strides[a] *= in->extent;
  in->place_stride = 1;
  return replace_input(r, input, &all, err);
}

static smelt_status place_input(run *r, size_t input, smelt_error *err) {
  const sm_trace_value *value = &r->trace->inputs.items[input];
  sm_layout own, wide;
  int64_t begin, end;
  sm_buffer_layout(r->operands.on->buffers[value->value], &r->segment->values.items[value->value].shape,
                   &own);
  sm_layout_bounds(&own, &begin, &end);
  if (sm_operands_are_whole(&r->operands)) begin = 0;
  r->inputs[input].first = own.offset - begin;
  r->spans[input] = sm_operands_span(&r->operands, input);
  sm_reduce_input *in = &r->inputs[input];
  bool single = sm_reduce_strides(&r->geometry, value->map, &own, &wide, in->strides, &in->split);
  if (value->gathered != SM_NO_AXIS) return place_gathered(r, input, &own, &wide, single, err);
  if (single) return SMELT_OK;
  sm_reduce_gathered(&r->geometry, &wide, r->inputs[input].strides);
  return replace_input(r, input, &wide, err);
}

static smelt_status place_operands(run *r, smelt_error *err) {
  for (size_t i = 0; i < r->trace->inputs.len; i++) SM_TRY(place_input(r, i, err));
  for (size_t i = r->trace->inputs.len; i < count_operands(r); i++)
    r->spans[i] = sm_operands_span(&r->operands, i);
  return SMELT_OK;
}

/* Whether rows of columns follow each other in what elements are made of. */
static bool is_dense(const run *r) {
  const sm_block *block = &r->trace->blocks.items[0];
  int64_t inner = r->geometry.extents.inner;
  bool dense = !r->geometry.extents.across;
  for (size_t i = 0; i < block->steps.len; i++) {
    const sm_step *step = &block->steps.items[i];
    if (step->kind != SM_STEP_READ) continue;
    const int64_t *strides = r->inputs[step->index].strides;
    bool same = strides[SM_REDUCED] == 0 && strides[SM_INNER] == 0;
    dense = dense && (same || (strides[SM_REDUCED] == inner && strides[SM_INNER] == 1));
  }
  return dense;
}

/* Bytes of the widest element that is read or written for each of the reduced ones. */
static int element_bytes(const sm_trace *trace) {
  const sm_block *elements = &trace->blocks.items[0];
  size_t widest = 0;
  for (size_t i = 0; i < elements->steps.len; i++) {
    const sm_step *step = &elements->steps.items[i];
    size_t own = 0;
    if (step->kind == SM_STEP_READ) own = smelt_dtype_size(trace->inputs.items[step->index].dtype);
    if (step->kind == SM_STEP_WRITE) own = smelt_dtype_size(trace->outputs.items[step->index].dtype);
    widest = own > widest ? own : widest;
  }
  return (int)widest;
}

/* --- Stages ------------------------------------------------------------------------------ */

static void add_stage(run *r, int pass, sm_reduce_stage stage) {
  int n = (int)r->trace->tasks.len, passes = sm_trace_passes(r->trace);
  r->forms[r->n_stages++] =
      sm_reduce_choose(r->tasks, n, passes, pass, &r->geometry.extents, stage, r->env->device->profile);
}

static bool has_tasks(const run *r, int pass) {
  bool any = false;
  for (size_t t = 0; t < r->trace->tasks.len; t++) any = any || r->tasks[t].pass == pass;
  return any;
}

static void choose_forms(run *r) {
  int passes = sm_trace_passes(r->trace);
  if (!sm_reduce_wants_stages(&r->geometry.extents, passes, r->env->device->profile)) {
    add_stage(r, 0, SM_REDUCE_WHOLE);
    return;
  }
  for (int pass = 0; pass < passes; pass++) {
    add_stage(r, pass, SM_REDUCE_PARTIAL);
    if (has_tasks(r, pass)) add_stage(r, pass, SM_REDUCE_COMBINE);
  }
}

/* Whether all vectors of elements begin at a line of memory: rows do, or rows of columns. */
static bool has_aligned_rows(const run *r) {
  enum { LINE = 64 };
  const sm_reduce_extents *e = &r->geometry.extents;
  int64_t length = e->inner > 1 ? e->inner : e->outer > 1 ? e->reduced : LINE;
  bool aligned = !e->across;
  for (size_t i = 0; i < r->trace->outputs.len; i++)
    aligned = aligned && length * (int64_t)smelt_dtype_size(r->trace->outputs.items[i].dtype) % LINE == 0;
  return aligned;
}

/* Elements are written in the last pass. */
static void choose_streaming(run *r) {
  bool streams = has_aligned_rows(r) && sm_operands_should_stream(&r->operands);
  for (int stage = 0; stage < r->n_stages; stage++) {
    sm_reduce_form *f = &r->forms[stage];
    bool writes = f->stage == SM_REDUCE_WHOLE || (f->stage == SM_REDUCE_PARTIAL && f->pass == f->passes - 1);
    f->streaming = streams && writes && f->passes > 1;
  }
}

static smelt_status add_part(run *r, int64_t n, smelt_dtype dtype, smelt_error *err) {
  sm_kir_span *span = &r->spans[count_operands(r) + (size_t)r->n_parts++];
  return add_scratch(r, (size_t)n * smelt_dtype_size(dtype), span, err);
}

/* What a task's stages leave for each other. */
static smelt_status add_parts(run *r, int64_t n, const sm_reduce_task *task, smelt_error *err) {
  for (int field = 0; field < SM_PART_FIELDS; field++) {
    smelt_dtype dtype = sm_reduce_part_dtype(task, field);
    if (dtype != SMELT_DTYPE_NONE) SM_TRY(add_part(r, n, dtype, err));
  }
  return SMELT_OK;
}

/* What lies between stages: for each task its parts; between passes its results. */
static smelt_status create_parts(run *r, smelt_error *err) {
  const sm_reduce_extents *extents = &r->geometry.extents;
  if (r->n_stages == 1) return SMELT_OK;
  int64_t n = sm_reduce_partials(&r->forms[0], extents);
  for (size_t t = 0; t < r->trace->tasks.len; t++) SM_TRY(add_parts(r, n, &r->tasks[t], err));
  for (size_t t = 0; t < r->trace->tasks.len && r->forms[0].passes > 1; t++) {
    bool index = sm_reduction_gives_index(r->tasks[t].reduction);
    SM_TRY(add_part(r, extents->outer * extents->inner, index ? SMELT_I64 : r->tasks[t].dtype, err));
  }
  return SMELT_OK;
}

/* --- Kernels -------------------------------------------------------------------------------- */

_Static_assert(sizeof(sm_reduce_form) == 19 * sizeof(int), "what is added to a form enters the key too");

/* All that enters the kernel of a stage, but for the trace. */
static bool key_of(const run *r, int stage, sm_layout_class *out) {
  const sm_reduce_form *f = &r->forms[stage];
  const int fields[] = {(int)f->stage, f->passes,    f->pass,         f->columns,      f->across,  f->width,
                        f->vector,     f->strip,     f->levels,       f->group,        f->keep,    f->side,
                        f->one_leaf,   f->streaming, f->whole_blocks, f->whole_pieces, f->threads, f->abreast,
                        f->parts,      f->aligned,   f->shuffle,      f->wide};
  size_t n_in = r->trace->inputs.len;
  out->len = sizeof fields + n_in * (SM_REDUCE_AXES + 4);
  out->bytes = sm_arena_alloc(r->env->scratch, out->len);
  if (!out->bytes) return false;
  memcpy(out->bytes, fields, sizeof fields);
  uint8_t *to = out->bytes + sizeof fields;
  for (size_t i = 0; i < n_in; i++) {
    for (int axis = 0; axis < SM_REDUCE_AXES; axis++) *to++ = sm_stride_class_of(r->inputs[i].strides[axis]);
    *to++ = r->inputs[i].first != 0;
    *to++ = f->across && r->inputs[i].strides[SM_INNER] == f->across;
    *to++ = (uint8_t)r->inputs[i].split.n;
    *to++ = sm_reduce_aligns(f, &r->inputs[i]);
  }
  return true;
}

static smelt_status build(const run *r, int stage, bool interpreted, const sm_kernel_entry **out,
                          smelt_error *err) {
  const sm_allocator *allocator = r->env->device->allocator;
  sm_kir_kernel ir;
  smelt_status status = sm_reduce_trace_kernel(r->trace, r->inputs, &r->forms[stage], allocator, &ir, err);
  if (status != SMELT_OK) {
    sm_kir_free(&ir);
    return status;
  }
  sm_text prefix;
  sm_text_init(&prefix, allocator);
  const char *fused = sm_trace_passes(r->trace) > 1 ? "reduce_broadcasted_fuse" : "reduce_fuse";
  sm_launch_kernel_prefix(&prefix, r->segment, r->trace, fused);
  status = sm_kernel_table_get(r->env->kernels, &ir, prefix.data, interpreted, out, err);
  sm_text_free(&prefix);
  return status;
}

static smelt_status get_kernel(const run *r, int stage, const sm_kernel_entry **out, smelt_error *err) {
  sm_layout_class key;
  if (!key_of(r, stage, &key)) return sm_error_memory(err, "a launch");
  const sm_ready_kernel *known = sm_launch_cache_find(r->cache, &key);
  *out = known ? known->entry : NULL;
  if (known) return SMELT_OK;
  smelt_status status = build(r, stage, false, out, err);
  if (status == SMELT_ERR_UNSUPPORTED && r->env->device->driver->interpret)
    status = build(r, stage, true, out, err);
  SM_TRY(status);
  sm_ready_kernel made = {.entry = *out};
  return sm_launch_cache_add(r->cache, &key, &made) ? SMELT_OK : sm_error_memory(err, "a launch");
}

/* --- The launch ------------------------------------------------------------------------------- */

static void fill_sizes(const run *r, int stage, int64_t *sizes) {
  for (size_t i = 0; i < r->trace->inputs.len; i++) {
    memcpy(sizes, r->inputs[i].strides, sizeof r->inputs[i].strides);
    sizes[SM_REDUCE_INPUT_FIRST] = r->inputs[i].first;
    sizes[SM_REDUCE_INPUT_PLACE_STRIDE] = r->inputs[i].place_stride;
    sizes[SM_REDUCE_INPUT_EXTENT] = r->inputs[i].extent;
    sizes += SM_REDUCE_INPUT_SIZES;
    for (int part = 0; part < r->inputs[i].split.n; part++) {
      *sizes++ = r->inputs[i].split.extents[part];
      *sizes++ = r->inputs[i].split.strides[part];
    }
  }
  sm_reduce_size_values(&r->forms[stage], &r->geometry.extents, sizes);
}

static int64_t estimate_ns(const run *r) {
  int64_t cost = 0, elements = sm_shape_count(&r->geometry.elements);
  const sm_block *block = &r->trace->blocks.items[0];
  for (size_t i = 0; i < block->steps.len; i++) {
    if (block->steps.items[i].kind == SM_STEP_COMPUTE)
      cost += sm_kop_info_of(block->steps.items[i].kop)->cost;
  }
  int64_t memory = (int64_t)((r->operands.read + r->operands.written) / 20),
          compute = elements / 100 * (cost + 1);
  return 1 + (memory > compute ? memory : compute);
}

static smelt_status prepare_stage(const run *r, int stage, const sm_word *scalars, sm_prepared_launch *out,
                                  smelt_error *err) {
  size_t n_sizes = SM_REDUCE_SIZES;
  for (size_t i = 0; i < r->trace->inputs.len; i++) n_sizes += (size_t)sm_reduce_count_sizes(&r->inputs[i]);
  int64_t *sizes = sm_arena_alloc(r->env->scratch, n_sizes * sizeof *sizes);
  if (!sizes) return sm_error_memory(err, "a launch");
  fill_sizes(r, stage, sizes);
  out->launch = (sm_launch){.buffers = r->spans,
                            .n_buffers = count_operands(r) + (size_t)r->n_parts,
                            .sizes = sizes,
                            .n_sizes = n_sizes,
                            .scalars = scalars,
                            .n_scalars = r->trace->scalars.len,
                            .work_items = sm_reduce_work_items(&r->forms[stage], &r->geometry.extents),
                            .grain = r->forms[stage].abreast,
                            .cost_ns = r->forms[stage].stage == SM_REDUCE_COMBINE ? 1 : estimate_ns(r),
                            .passes = 1};
  return get_kernel(r, stage, &out->kernel, err);
}

static smelt_status launch_stages(const run *r, smelt_error *err) {
  const sm_launch_env *env = r->env;
  sm_prepared_launch *stages = r->launches + r->n_copies;
  sm_word *scalars = sm_arena_alloc(env->scratch, r->trace->scalars.len * sizeof *scalars);
  if (!scalars) return sm_error_memory(err, "a launch");
  for (size_t i = 0; i < r->trace->scalars.len; i++)
    scalars[i] = sm_trace_scalar_word(r->segment, &r->trace->scalars.items[i]);
  for (int stage = 0; stage < r->n_stages; stage++)
    SM_TRY(prepare_stage(r, stage, scalars, &stages[stage], err));
  stages[0].read = r->operands.read;
  stages[0].written = r->operands.written;
  return sm_enter_driver(env, r->operands.on->fuser->name, r->launches, r->n_copies + (size_t)r->n_stages,
                         err);
}

static bool allocate(run *r) {
  size_t n_in = r->trace->inputs.len;
  r->inputs = sm_arena_zalloc(r->env->scratch, n_in, sizeof *r->inputs);
  r->spans = sm_arena_zalloc(r->env->scratch, count_operands(r) + MOST_PARTS, sizeof *r->spans);
  r->scratch = sm_arena_zalloc(r->env->scratch, n_in + MOST_PARTS, sizeof *r->scratch);
  r->launches = sm_arena_zalloc(r->env->scratch, n_in + MOST_STAGES, sizeof *r->launches);
  return r->inputs && r->spans && r->scratch && r->launches;
}

static void find_geometry(run *r) {
  r->geometry =
      sm_reduce_geometry_of(first_reduction(r), sm_block_shape(r->segment, &r->trace->blocks.items[0]));
  int n_tasks = sm_reduce_trace_tasks(r->trace, r->tasks);
  r->geometry.extents.bytes = element_bytes(r->trace);
  if (sm_reduce_wants_across(r->tasks, n_tasks, &r->geometry.extents, r->env->device->profile))
    sm_reduce_turn_rows(&r->geometry);
}

static smelt_status plan_and_launch(run *r, smelt_error *err) {
  if (!allocate(r)) return sm_error_memory(err, "a launch");
  find_geometry(r);
  if (r->geometry.extents.outer * r->geometry.extents.inner == 0) return SMELT_OK;
  smelt_status status = place_operands(r, err);
  r->geometry.extents.dense = is_dense(r);
  choose_forms(r);
  choose_streaming(r);
  if (status == SMELT_OK) status = create_parts(r, err);
  if (status == SMELT_OK) status = launch_stages(r, err);
  for (int i = 0; i < r->n_scratch; i++) sm_buffer_drop(r->scratch[i]);
  return status;
}

bool sm_run_reduce_rereads(const sm_launch_env *env, const sm_trace *trace, const sm_segment *segment) {
  run r = {.env = env, .trace = trace, .segment = segment};
  find_geometry(&r);
  if (!env->device->profile->chunked || sm_shape_count(&r.geometry.elements) == 0) return false;
  choose_forms(&r);
  return sm_reduce_rereads(&r.forms[0], &r.geometry.extents);
}

smelt_status sm_run_reduce(const sm_launch_env *env, const sm_trace *trace, sm_launch_cache *cache,
                           const sm_block_run *on, smelt_error *err) {
  run r = {.env = env, .trace = trace, .cache = cache, .segment = on->segment};
  sm_arena_reset(env->scratch);
  r.operands = (sm_operands){.trace = trace,
                             .on = on,
                             .device = env->device,
                             .log = env->log,
                             .arena = env->scratch,
                             .row_major_results = true};
  SM_TRY(sm_operands_open(&r.operands, err));
  smelt_status status = plan_and_launch(&r, err);
  if (status != SMELT_OK) sm_operands_drop_outputs(&r.operands);
  return status;
}
