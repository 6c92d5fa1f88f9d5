/* SPDX-License-Identifier: Apache-2.0 */
#include "launch/run_trace.h"

#include "base/error.h"
#include "launch/elementwise_skeleton.h"
#include "rt/report.h"

/* --- Buffers ---------------------------------------------------------------------------- */

static void drop_outputs(const sm_trace *trace, sm_buffer **buffers) {
  for (size_t i = 0; i < trace->outputs.len; i++) {
    sm_buffer **out = &buffers[trace->outputs.items[i]];
    if (*out) sm_buffer_drop(*out);
    *out = NULL;
  }
}

static smelt_status create_outputs(const sm_launch_env *env, const sm_trace *trace, sm_buffer **buffers,
                                   smelt_error *err) {
  for (size_t i = 0; i < trace->outputs.len; i++) {
    uint32_t v = trace->outputs.items[i];
    const sm_value *value = &trace->segment->values.items[v];
    size_t bytes = (size_t)sm_shape_bytes(&value->shape, value->dtype);
    SM_TRY(sm_buffer_create(env->device, bytes, &buffers[v], err));
  }
  return SMELT_OK;
}

static sm_kir_span span_of(const sm_buffer *buffer) { return (sm_kir_span){buffer->data, buffer->bytes}; }

/* --- The launch ---------------------------------------------------------------------------- */

static uint64_t total_bytes(sm_buffer *const *buffers, const uint32_t *values, size_t n) {
  uint64_t bytes = 0;
  for (size_t i = 0; i < n; i++) bytes += buffers[values[i]]->bytes;
  return bytes;
}

static smelt_status enter_driver(const sm_launch_env *env, const char *fuser, const sm_trace *trace,
                                 const sm_kernel_entry *kernel, const sm_launch *launch, sm_buffer **buffers,
                                 smelt_error *err) {
  sm_launch_report report = {fuser, kernel->name,
                             total_bytes(buffers, trace->inputs.items, trace->inputs.len),
                             total_bytes(buffers, trace->outputs.items, trace->outputs.len)};
  sm_report_launch(env->log, env->device->allocator, env->counters, &report);
  return env->device->driver->launch(env->device, kernel->kernel, launch, err);
}

/* A kernel that is ready to be launched. */
typedef struct ready_kernel {
  const sm_kernel_entry *entry;
  sm_elementwise_form form;
  sm_size_list sizes;
} ready_kernel;

/* Which buffers follow the work item, where the space has one axis. */
static bool *find_moves(const sm_trace *trace, const sm_launch_plan *plan, sm_arena *arena) {
  size_t n_in = trace->inputs.len, n_out = trace->outputs.len;
  bool *moves = sm_arena_zalloc(arena, n_in + n_out, sizeof *moves);
  for (size_t i = 0; moves && i < n_in + n_out; i++) {
    moves[i] = i >= n_in;
    for (size_t b = 0; b < trace->blocks.len && i < n_in; b++) {
      moves[i] = moves[i] || sm_block_plan_strides(&plan->blocks[b], (int32_t)i)[0] != 0;
    }
  }
  return moves;
}

static smelt_status launch_kernel(const sm_launch_env *env, const char *fuser, const sm_trace *trace,
                                  const sm_launch_plan *plan, const ready_kernel *kernel, sm_arena *arena,
                                  sm_buffer **buffers, smelt_error *err) {
  size_t n_in = trace->inputs.len, n_out = trace->outputs.len, n_scalars = trace->scalars.len;
  sm_kir_span *spans = sm_arena_zalloc(arena, n_in + n_out, sizeof *spans);
  sm_word *scalars = sm_arena_zalloc(arena, n_scalars, sizeof *scalars);
  bool *moves = find_moves(trace, plan, arena);
  if (!spans || !scalars || !moves) return sm_error_memory(err, "a launch");
  for (size_t i = 0; i < n_in; i++) spans[i] = span_of(buffers[trace->inputs.items[i]]);
  for (size_t i = 0; i < n_out; i++) spans[n_in + i] = span_of(buffers[trace->outputs.items[i]]);
  for (size_t i = 0; i < n_scalars; i++) scalars[i] = trace->scalars.items[i].value;
  sm_launch launch = {.buffers = spans,
                      .n_buffers = n_in + n_out,
                      .sizes = kernel->sizes.items,
                      .n_sizes = kernel->sizes.len,
                      .scalars = scalars,
                      .n_scalars = n_scalars,
                      .work_items = plan->work_items,
                      .grain = plan->grain,
                      .padded = kernel->form.padded,
                      .moves = moves,
                      .cost_ns = kernel->form.cost_ns};
  if (launch.padded) launch.grain = (int64_t)kernel->form.width * kernel->form.unroll;
  return enter_driver(env, fuser, trace, kernel->entry, &launch, buffers, err);
}

/* "elemwise_fuse", or the operation's name if there is one only. */
static void kernel_prefix(sm_text *text, const sm_trace *trace) {
  if (trace->n_ops > 1) sm_text_add(text, "elemwise_fuse");
  else sm_op_print_kernel_name(text, &trace->segment->ops.items[trace->ops[0]]);
}

static smelt_status build_kernel(const sm_launch_env *env, const sm_trace *trace, const sm_launch_plan *plan,
                                 bool interpreted, ready_kernel *out, smelt_error *err) {
  const sm_allocator *allocator = env->device->allocator;
  sm_kir_kernel ir;
  smelt_status status = sm_elementwise_kernel(trace, plan, out->form, allocator, &ir, &out->sizes, err);
  if (status != SMELT_OK) {
    sm_kir_free(&ir);
    return status;
  }
  sm_text prefix;
  sm_text_init(&prefix, allocator);
  kernel_prefix(&prefix, trace);
  status = sm_kernel_table_get(env->kernels, &ir, prefix.data, interpreted, &out->entry, err);
  sm_text_free(&prefix);
  return status;
}

/* Compiled, or where that cannot be, in the interpreter's form. */
static smelt_status get_kernel(const sm_launch_env *env, const sm_trace *trace, const sm_launch_plan *plan,
                               const sm_launch_facts *facts, sm_arena *arena, ready_kernel *out,
                               smelt_error *err) {
  const sm_profile *profile = env->device->profile;
  out->form = sm_elementwise_choose(trace, plan, profile, facts, arena);
  smelt_status status = build_kernel(env, trace, plan, false, out, err);
  if (status != SMELT_ERR_UNSUPPORTED || !env->device->driver->interpret) return status;
  out->form = sm_elementwise_interpreted(trace, plan, profile);
  sm_vec_free(env->device->allocator, &out->sizes);
  return build_kernel(env, trace, plan, true, out, err);
}

/* Streaming stores want whole vectors at aligned addresses. */
static bool outputs_aligned(const sm_trace *trace, sm_buffer *const *buffers) {
  enum { ALIGNMENT = 64 };
  for (size_t i = 0; i < trace->outputs.len; i++) {
    if ((uintptr_t)buffers[trace->outputs.items[i]]->data % ALIGNMENT) return false;
  }
  return true;
}

static smelt_status plan_and_launch(const sm_launch_env *env, const char *fuser, const sm_trace *trace,
                                    sm_arena *arena, sm_buffer **buffers, smelt_error *err) {
  sm_launch_plan plan;
  ready_kernel kernel = {.sizes = {0}};
  if (!sm_launch_plan_make(trace, arena, &plan)) return sm_error_memory(err, "a launch plan");
  if (plan.work_items == 0) return SMELT_OK;
  sm_launch_facts facts = {.bytes = total_bytes(buffers, trace->inputs.items, trace->inputs.len) +
                                    total_bytes(buffers, trace->outputs.items, trace->outputs.len),
                           .aligned = outputs_aligned(trace, buffers)};
  smelt_status status = get_kernel(env, trace, &plan, &facts, arena, &kernel, err);
  if (status == SMELT_OK) status = launch_kernel(env, fuser, trace, &plan, &kernel, arena, buffers, err);
  sm_vec_free(env->device->allocator, &kernel.sizes);
  return status;
}

smelt_status sm_run_elementwise(const sm_launch_env *env, const char *fuser, const sm_trace *trace,
                                sm_buffer **buffers, smelt_error *err) {
  sm_arena arena;
  sm_arena_init(&arena, env->device->allocator);
  smelt_status status = create_outputs(env, trace, buffers, err);
  if (status == SMELT_OK) status = plan_and_launch(env, fuser, trace, &arena, buffers, err);
  if (status != SMELT_OK) drop_outputs(trace, buffers);
  sm_arena_free(&arena);
  return status;
}
