/* SPDX-License-Identifier: Apache-2.0 */
#include "launch/run_trace.h"

#include <inttypes.h>
#include <string.h>

#include "base/error.h"
#include "launch/chains.h"
#include "launch/enter_driver.h"

/* One launch on its way. */
typedef struct run {
  const sm_launch_env *env;
  const sm_trace *trace;
  sm_launch_cache *cache;
  const sm_segment *segment;
  sm_operands operands;
  sm_launch_plan plan;
  sm_chains chains;
  const sm_ready_kernel *kernel; /* NULL: there are no elements */
  sm_launch launch;
} run;

/* --- Kernels ------------------------------------------------------------------------------ */

void sm_launch_kernel_prefix(sm_text *text, const sm_segment *segment, const sm_trace *trace,
                             const char *fused) {
  if (trace->n_ops > 1) sm_text_add(text, fused);
  else sm_op_print_kernel_name(text, &segment->ops.items[trace->ops[0]]);
}

static smelt_status build_kernel(const run *r, sm_ready_kernel *out, sm_size_list *sizes, smelt_error *err) {
  const sm_allocator *allocator = r->env->device->allocator;
  const sm_trace *trace = r->chains.trace;
  sm_kir_kernel ir;
  smelt_status status = sm_elementwise_kernel(trace, r->chains.plans, out->form, allocator, &ir, sizes, err);
  if (status != SMELT_OK) {
    sm_kir_free(&ir);
    return status;
  }
  sm_text prefix;
  sm_text_init(&prefix, allocator);
  sm_launch_kernel_prefix(&prefix, r->segment, trace, "elemwise_fuse");
  status = sm_kernel_table_get(r->env->kernels, &ir, prefix.data, out->form.interpreted, &out->entry, err);
  sm_text_free(&prefix);
  return status;
}

/* Which buffers follow the work item, where the space has one axis. */
static bool find_moves(const run *r, sm_ready_kernel *out) {
  const sm_trace *trace = r->chains.trace;
  size_t n_in = trace->inputs.len;
  out->n_moves = sm_chains_n_buffers(&r->chains);
  out->moves = sm_arena_zalloc(r->env->scratch, out->n_moves, sizeof *out->moves);
  for (size_t i = 0; out->moves && i < out->n_moves; i++) {
    out->moves[i] = i >= n_in;
    for (size_t b = 0; b < trace->blocks.len && i < n_in; b++) {
      const sm_block_plan *block = &r->chains.plans[0].blocks[b];
      out->moves[i] = out->moves[i] || sm_block_plan_strides(block, (int32_t)i)[0] != 0;
    }
  }
  return out->moves != NULL;
}

static smelt_status finish_kernel(const run *r, sm_ready_kernel *out, smelt_error *err) {
  sm_size_list sizes;
  const sm_allocator *allocator = r->env->device->allocator;
  smelt_status status = build_kernel(r, out, &sizes, err);
  if (status == SMELT_OK) {
    out->n_sizes = sizes.len;
    out->sizes = sm_arena_copy(r->env->scratch, sizes.items, sizes.len * sizeof *sizes.items);
    if (!out->sizes || !find_moves(r, out)) status = sm_error_memory(err, "a kernel");
  }
  sm_vec_free(allocator, &sizes);
  return status;
}

/* Compiled, or where that cannot be, in the interpreter's form. */
static smelt_status make_kernel(const run *r, bool streaming, sm_ready_kernel *out, smelt_error *err) {
  const sm_device *device = r->env->device;
  const sm_trace *trace = r->chains.trace;
  const sm_launch_plan *plan = r->chains.plans;
  *out = (sm_ready_kernel){
      .form = sm_elementwise_choose(trace, plan, device->profile, streaming, r->env->scratch)};
  smelt_status status = finish_kernel(r, out, err);
  if (status != SMELT_ERR_UNSUPPORTED || !device->driver->interpret) return status;
  out->form = sm_elementwise_interpreted(trace, plan, device->profile);
  return finish_kernel(r, out, err);
}

static smelt_status get_kernel(run *r, smelt_error *err) {
  sm_ready_kernel made;
  bool streaming = sm_operands_should_stream(&r->operands);
  if (!sm_chains_find(r->trace, &r->plan, r->env->device->profile, streaming, r->env->scratch, &r->chains))
    return sm_error_memory(err, "a launch");
  r->kernel = sm_launch_cache_find(r->cache, &r->chains.layout);
  if (r->kernel) return SMELT_OK;
  SM_TRY(make_kernel(r, streaming, &made, err));
  r->kernel = sm_launch_cache_add(r->cache, &r->chains.layout, &made);
  return r->kernel ? SMELT_OK : sm_error_memory(err, "a launch");
}

/* --- The launch ---------------------------------------------------------------------------- */

/* Of each chain. */
static void fill_buffers(const run *r, sm_kir_span *buffers) {
  size_t n = sm_chains_n_buffers(&r->chains);
  for (size_t c = 0; c < r->chains.n; c++) {
    for (size_t i = 0; i < n; i++)
      *buffers++ = sm_operands_span(&r->operands, sm_chains_buffer(&r->chains, c, i));
  }
}

static void fill_sizes(const run *r, const sm_ready_kernel *kernel, int64_t *sizes) {
  for (size_t c = 0; c < r->chains.n; c++) {
    for (size_t i = 0; i < kernel->n_sizes; i++)
      *sizes++ = sm_size_value(r->chains.trace, &r->chains.plans[c], &kernel->sizes[i]);
  }
}

/* Those of one chain follow those of the other. */
static void fill_scalars(const run *r, sm_word *scalars) {
  const sm_trace *t = r->trace;
  for (size_t i = 0; i < t->scalars.len; i++)
    scalars[i] = sm_trace_scalar_word(r->segment, &t->scalars.items[i]);
  for (size_t i = 0; i < t->table.len; i++)
    scalars[t->scalars.len + i] = sm_trace_scalar_word(r->segment, &t->table.items[i]);
}

/* Tables of arguments for the kernel: buffers, sizes and scalars of this run. */
static bool fill_arguments(run *r) {
  const sm_trace *t = r->trace;
  sm_arena *scratch = r->env->scratch;
  size_t n = r->chains.n;
  sm_kir_span *buffers = sm_arena_alloc(scratch, n * r->launch.n_buffers * sizeof *buffers);
  int64_t *sizes = sm_arena_alloc(scratch, n * r->kernel->n_sizes * sizeof *sizes);
  sm_word *scalars = sm_arena_alloc(scratch, (t->scalars.len + t->table.len) * sizeof *scalars);
  if (!buffers || !sizes || !scalars) return false;
  fill_buffers(r, buffers);
  fill_sizes(r, r->kernel, sizes);
  fill_scalars(r, scalars);
  r->launch.buffers = buffers;
  r->launch.sizes = sizes;
  r->launch.scalars = scalars;
  return true;
}

static void add_launch_size(sm_text *text, const sm_launch *launch, const sm_profile *profile) {
  if (profile->chunked) {
    sm_text_addf(text, " grain=%" PRId64, launch->grain);
    return;
  }
  sm_launch_size size = sm_launch_size_of(profile, (launch->work_items + launch->grain - 1) / launch->grain);
  sm_text_addf(text, " threads=%d groups=%" PRId64, size.threads, size.groups);
}

/* " t5 strides=[1,2]" for each result that is not row-major. */
static void add_strides(sm_text *text, const run *r) {
  const sm_operands *o = &r->operands;
  for (size_t i = 0; !o->row_major && i < r->trace->outputs.len; i++) {
    const sm_layout *layout = o->layouts.outputs[i];
    if (!layout) continue;
    sm_shape strides = {.rank = layout->shape.rank};
    memcpy(strides.dims, layout->strides, sizeof strides.dims);
    const sm_value *value = &r->segment->values.items[r->trace->outputs.items[i].value];
    sm_text_addf(text, " t%" PRIu64 " strides=", value->id);
    sm_shape_print(text, &strides);
  }
}

/* "[layout] over [4,6] width=2 items=24 threads=64 groups=1" */
static void log_layout(const run *r) {
  if (!sm_log_on(r->env->log, SM_LOG_LAYOUT)) return;
  sm_text text;
  sm_text_init(&text, r->env->device->allocator);
  sm_text_add(&text, "[layout] over ");
  sm_launch_plan_print(&text, &r->plan, r->trace->blocks.len);
  sm_text_addf(&text, " width=%d items=%" PRId64, r->kernel->form.width, r->launch.work_items);
  add_launch_size(&text, &r->launch, r->env->device->profile);
  add_strides(&text, r);
  sm_log_text(r->env->log, &text);
}

static smelt_status prepare_launch(run *r, smelt_error *err) {
  const sm_elementwise_form *form = &r->kernel->form;
  int64_t steps = r->plan.work_items * (int64_t)r->chains.n;
  r->launch = (sm_launch){
      .n_buffers = sm_chains_n_buffers(&r->chains),
      .n_sizes = r->kernel->n_sizes,
      .n_scalars = r->chains.trace->scalars.len,
      .n_table = r->trace->table.len,
      .work_items = r->plan.work_items,
      .grain = form->padded || form->threads ? (int64_t)form->width * form->unroll : r->plan.grain,
      .padded = form->padded,
      .moves = r->kernel->moves,
      .repeats = r->chains.n - 1,
      .passes = (int)r->trace->blocks.len,
      .cost_ns = sm_elementwise_ns(form, steps, r->operands.read + r->operands.written)};
  if (!fill_arguments(r)) return sm_error_memory(err, "a launch");
  log_layout(r);
  return SMELT_OK;
}

/* Its outputs are there. */
static smelt_status prepare_opened(run *r, smelt_error *err) {
  const sm_launch_env *env = r->env;
  const sm_operand_layouts *layouts = r->operands.row_major ? NULL : &r->operands.layouts;
  if (!sm_launch_plan_make(r->trace, r->segment, layouts, env->device->keep_axes, env->scratch, &r->plan))
    return sm_error_memory(err, "a launch plan");
  if (r->plan.work_items == 0) return SMELT_OK;
  r->plan.scalar = !r->operands.on->fuser->settings.vectorization;
  SM_TRY(get_kernel(r, err));
  return prepare_launch(r, err);
}

smelt_status sm_prepare_elementwise(const sm_launch_env *env, const sm_trace_run *what,
                                    sm_prepared_launch *out, smelt_error *err) {
  run r = {.env = env,
           .trace = what->trace,
           .cache = what->launches,
           .segment = what->on->segment,
           .operands = {.trace = what->trace,
                        .on = what->on,
                        .device = env->device,
                        .log = env->log,
                        .arena = env->scratch,
                        .row_major_results = !what->on->fuser->settings.choose_output_layout}};
  SM_TRY(sm_operands_open(&r.operands, err));
  smelt_status status = prepare_opened(&r, err);
  if (status != SMELT_OK) sm_operands_drop_outputs(&r.operands);
  *out = (sm_prepared_launch){.kernel = r.kernel ? r.kernel->entry : NULL,
                              .launch = r.launch,
                              .read = r.operands.read,
                              .written = r.operands.written,
                              .in_place = r.operands.in_place};
  return status;
}

static void drop_outputs(const sm_trace_run *what) {
  sm_operands outputs = {.trace = what->trace, .on = what->on};
  sm_operands_drop_outputs(&outputs);
}

smelt_status sm_run_elementwise(const sm_launch_env *env, const sm_trace_run *runs, size_t n,
                                smelt_error *err) {
  sm_prepared_launch *all = sm_arena_alloc(env->scratch, n * sizeof *all);
  smelt_status status = all ? SMELT_OK : sm_error_memory(err, "a launch");
  size_t prepared = 0;
  while (prepared < n && status == SMELT_OK) {
    status = sm_prepare_elementwise(env, &runs[prepared], &all[prepared], err);
    prepared += status == SMELT_OK;
  }
  if (status == SMELT_OK) status = sm_enter_driver(env, runs->on->fuser->name, all, n, err);
  for (size_t i = 0; i < prepared && status != SMELT_OK; i++) drop_outputs(&runs[i]);
  return status;
}

void sm_launch_log_trace(const sm_launch_env *env, const sm_segment *segment, const sm_trace *trace) {
  if (!sm_log_on(env->log, SM_LOG_TRACE)) return;
  sm_text text;
  sm_text_init(&text, env->device->allocator);
  sm_text_add(&text, "[trace] ");
  sm_trace_print(&text, segment, trace);
  sm_log_text(env->log, &text);
}
