/* SPDX-License-Identifier: Apache-2.0 */
#include "launch/operands.h"

#include <inttypes.h>

#include "base/error.h"

static const sm_value *value_of(const sm_operands *o, uint32_t v) { return &o->on->segment->values.items[v]; }

static sm_buffer *input_buffer(const sm_operands *o, size_t input) {
  return o->on->buffers[o->trace->inputs.items[input].value];
}

static sm_buffer **output_buffer(const sm_operands *o, size_t output) {
  return &o->on->buffers[o->trace->outputs.items[output].value];
}

void sm_operands_drop_outputs(sm_operands *o) {
  for (size_t i = 0; i < o->trace->outputs.len; i++) {
    sm_buffer **out = output_buffer(o, i);
    if (*out) sm_buffer_drop(*out);
    *out = NULL;
  }
}

/* --- The order of results in memory -------------------------------------------------------- */

static const sm_block *block_of_output(const sm_trace *trace, int32_t output) {
  for (size_t b = 0; b < trace->blocks.len; b++) {
    const sm_block *block = &trace->blocks.items[b];
    for (size_t i = 0; i < block->steps.len; i++) {
      const sm_step *step = &block->steps.items[i];
      if (step->kind == SM_STEP_WRITE && step->index == output) return block;
    }
  }
  return NULL;
}

static int64_t magnitude(int64_t stride) { return stride < 0 ? -stride : stride; }

/* A dense layout whose axes are in the order of `in`'s strides. False for one that
 * stands still along an axis: it has no order. */
static bool dense_in_order_of(const sm_layout *in, sm_layout *out) {
  bool placed[SMELT_MAX_RANK] = {false};
  int64_t stride = 1;
  *out = (sm_layout){.shape = in->shape};
  for (int n = 0; n < in->shape.rank; n++) {
    int next = -1;
    for (int axis = in->shape.rank - 1; axis >= 0; axis--) {
      bool nearer = next < 0 || magnitude(in->strides[axis]) < magnitude(in->strides[next]);
      if (!placed[axis] && nearer) next = axis;
    }
    int64_t extent = in->shape.dims[next];
    if (extent > 1 && in->strides[next] == 0) return false;
    placed[next] = true;
    out->strides[next] = extent > 1 ? stride : 0;
    stride *= extent;
  }
  return true;
}

/* The order that the input asks for: that of its memory if it fills the block's space.
 * False if it has no say. */
static bool order_of_input(const sm_operands *o, const sm_step *read, const sm_shape *space, sm_layout *out) {
  const sm_value *value = value_of(o, o->trace->inputs.items[read->index].value);
  const sm_buffer *buffer = input_buffer(o, (size_t)read->index);
  if (!sm_shape_equal(&value->shape, space)) return false;
  if (buffer->layout) return dense_in_order_of(buffer->layout, out);
  sm_layout_dense(space, out);
  return true;
}

/* Bytes of the block's inputs that lie in this order. */
static int64_t votes_for(const sm_operands *o, const sm_block *block, const sm_shape *space,
                         const sm_layout *order) {
  int64_t bytes = 0;
  for (size_t i = 0; i < block->steps.len; i++) {
    const sm_step *step = &block->steps.items[i];
    sm_layout own;
    if (step->kind != SM_STEP_READ || !order_of_input(o, step, space, &own)) continue;
    if (sm_layout_equal(&own, order)) bytes += sm_shape_bytes(space, step->dtype);
  }
  return bytes;
}

/* Row-major, unless another order has more bytes; where the flat index is computed with,
 * always. */
static void choose_order(const sm_operands *o, const sm_block *block, const sm_shape *space, sm_layout *out) {
  sm_layout_dense(space, out);
  int64_t most = votes_for(o, block, space, out);
  for (size_t i = 0; i < block->steps.len; i++) {
    const sm_step *step = &block->steps.items[i];
    sm_layout order;
    if (step->kind == SM_STEP_INDEX) {
      sm_layout_dense(space, out);
      return;
    }
    if (step->kind != SM_STEP_READ || !order_of_input(o, step, space, &order)) continue;
    int64_t votes = votes_for(o, block, space, &order);
    if (votes <= most) continue;
    most = votes;
    *out = order;
  }
}

/* --- Outputs ------------------------------------------------------------------------------- */

static bool is_dying(const sm_operands *o, uint32_t v) {
  for (int i = 0; i < o->on->n_dying; i++) {
    if (o->on->dying[i] == v) return true;
  }
  return false;
}

/* Whether output value `out` may be written over input value `in`: there is something to
 * write, nobody else reads or holds that memory, and the elements lie at the same places. */
static bool may_reuse(const sm_operands *o, uint32_t out, uint32_t in) {
  const sm_buffer *buffer = o->on->buffers[in];
  return buffer->bytes && is_dying(o, in) && sm_buffer_is_unique(buffer) &&
         sm_shape_equal(&value_of(o, out)->shape, &value_of(o, in)->shape);
}

static void log_reuse(const sm_operands *o, uint32_t out, uint32_t in) {
  if (!sm_log_on(o->log, SM_LOG_MEMORY)) return;
  sm_text text;
  sm_text_init(&text, o->device->allocator);
  sm_text_addf(&text, "[memory] t%" PRIu64 " is written over t%" PRIu64, value_of(o, out)->id,
               value_of(o, in)->id);
  sm_log_text(o->log, &text);
}

/* The buffer of a dying input for an output, or NULL. */
static sm_buffer *find_reusable(const sm_operands *o, int32_t output) {
  const sm_trace *t = o->trace;
  uint32_t out = t->outputs.items[output].value;
  for (size_t i = 0; i < t->reuses.len; i++) {
    uint32_t in = t->inputs.items[t->reuses.items[i].input].value;
    if (t->reuses.items[i].output != output || !may_reuse(o, out, in)) continue;
    log_reuse(o, out, in);
    return o->on->buffers[in];
  }
  return NULL;
}

/* Memory of its own; in another order it is seen through a view of itself. */
static smelt_status create_ordered(const sm_operands *o, int32_t output, const sm_layout *order,
                                   smelt_error *err) {
  sm_buffer *memory, **out = output_buffer(o, (size_t)output);
  smelt_dtype dtype = o->trace->outputs.items[output].dtype;
  SM_TRY(sm_buffer_create(o->device, (size_t)sm_shape_bytes(&order->shape, dtype), &memory, err));
  smelt_status status = sm_buffer_view(memory, dtype, order, out, err);
  sm_buffer_drop(memory);
  return status;
}

static smelt_status create_output(sm_operands *o, int32_t output, smelt_error *err) {
  sm_buffer **out = output_buffer(o, (size_t)output);
  const sm_value *value = value_of(o, o->trace->outputs.items[output].value);
  sm_layout order;
  if (*out) return SMELT_OK;
  if (!o->row_major && !o->row_major_results) {
    choose_order(o, block_of_output(o->trace, output), &value->shape, &order);
    if (!sm_layout_is_dense(&order)) return create_ordered(o, output, &order, err);
  }
  sm_buffer *reused = o->on->fuser->settings.inplace ? find_reusable(o, output) : NULL;
  if (!reused)
    return sm_buffer_create(o->device, (size_t)sm_shape_bytes(&value->shape, value->dtype), out, err);
  *out = sm_buffer_ref(reused);
  o->in_place++;
  return SMELT_OK;
}

static smelt_status create_outputs(sm_operands *o, smelt_error *err) {
  for (size_t i = 0; i < o->trace->outputs.len; i++) SM_TRY(create_output(o, (int32_t)i, err));
  return SMELT_OK;
}

/* --- Looking at them ------------------------------------------------------------------------- */

/* Those that there are, before outputs are created. */
static bool are_row_major(const sm_operands *o) {
  for (size_t i = 0; i < o->trace->inputs.len; i++) {
    if (input_buffer(o, i)->layout) return false;
  }
  for (size_t i = 0; i < o->trace->outputs.len; i++) {
    const sm_buffer *buffer = *output_buffer(o, i);
    if (buffer && buffer->layout) return false;
  }
  return true;
}

static bool note_layouts(sm_operands *o) {
  size_t n_in = o->trace->inputs.len, n_out = o->trace->outputs.len;
  o->layouts.inputs = sm_arena_zalloc(o->arena, n_in, sizeof *o->layouts.inputs);
  o->layouts.outputs = sm_arena_zalloc(o->arena, n_out, sizeof *o->layouts.outputs);
  if (!o->layouts.inputs || !o->layouts.outputs) return false;
  o->layouts.whole = sm_operands_are_whole(o);
  for (size_t i = 0; i < n_in; i++) o->layouts.inputs[i] = input_buffer(o, i)->layout;
  for (size_t i = 0; i < n_out; i++) o->layouts.outputs[i] = (*output_buffer(o, i))->layout;
  return true;
}

static uint64_t smaller(uint64_t a, uint64_t b) { return a < b ? a : b; }

/* From the lowest to the highest element. */
static uint64_t spanned_bytes(const sm_layout *layout, smelt_dtype dtype) {
  int64_t begin, end;
  sm_layout_bounds(layout, &begin, &end);
  return (uint64_t)(end - begin) * smelt_dtype_size(dtype);
}

/* Whether a block selects elements of an input. */
static bool gathers(const sm_block *block, size_t input) {
  for (size_t i = 0; i < block->steps.len; i++) {
    const sm_step *step = &block->steps.items[i];
    if (step->kind == SM_STEP_GATHER && step->index == (int32_t)input) return true;
  }
  return false;
}

/* Of the block that selects elements of an input. */
static const sm_shape *gathering_space(const sm_operands *o, size_t input) {
  size_t block = 0;
  while (block + 1 < o->trace->blocks.len && !gathers(&o->trace->blocks.items[block], input)) block++;
  return sm_block_shape(o->on->segment, &o->trace->blocks.items[block]);
}

/* A view that stands still somewhere has fewer bytes than its shape; of what is gathered
 * an element is read for each of the space. */
static uint64_t bytes_of(const sm_operands *o, const sm_trace_values *list, size_t i) {
  const sm_trace_value *v = &list->items[i];
  const sm_buffer *buffer = o->on->buffers[v->value];
  const sm_shape *shape = buffer->layout ? &buffer->layout->shape : &value_of(o, v->value)->shape;
  uint64_t bytes = (uint64_t)sm_shape_bytes(shape, v->dtype);
  if (buffer->layout) bytes = smaller(bytes, spanned_bytes(buffer->layout, v->dtype));
  if (v->gathered == SM_NO_AXIS) return bytes;
  return smaller(bytes, (uint64_t)sm_shape_bytes(gathering_space(o, i), v->dtype));
}

static uint64_t count_bytes(const sm_operands *o, const sm_trace_values *list) {
  uint64_t bytes = 0;
  for (size_t i = 0; i < list->len; i++) bytes += bytes_of(o, list, i);
  return bytes;
}

smelt_status sm_operands_open(sm_operands *o, smelt_error *err) {
  o->row_major = are_row_major(o);
  smelt_status status = create_outputs(o, err);
  if (status == SMELT_OK && !o->row_major && !note_layouts(o)) status = sm_error_memory(err, "a launch");
  if (status != SMELT_OK) {
    sm_operands_drop_outputs(o);
    return status;
  }
  o->read = count_bytes(o, &o->trace->inputs);
  o->written = count_bytes(o, &o->trace->outputs);
  return SMELT_OK;
}

sm_kir_span sm_operands_span(const sm_operands *o, size_t i) {
  size_t n_in = o->trace->inputs.len;
  const sm_trace_value *operand = i < n_in ? &o->trace->inputs.items[i] : &o->trace->outputs.items[i - n_in];
  const sm_buffer *buffer = o->on->buffers[operand->value];
  if (!buffer->layout || sm_operands_are_whole(o)) return (sm_kir_span){buffer->data, buffer->bytes};
  int64_t begin, end;
  size_t size = smelt_dtype_size(operand->dtype);
  sm_layout_bounds(buffer->layout, &begin, &end);
  return (sm_kir_span){(char *)buffer->data + (size_t)begin * size, (size_t)(end - begin) * size};
}

bool sm_operands_aligned(const sm_operands *o) {
  enum { ALIGNMENT = 64 };
  if (sm_operands_are_whole(o)) return true;
  for (size_t i = 0; i < o->trace->outputs.len; i++) {
    if ((uintptr_t)sm_operands_span(o, o->trace->inputs.len + i).data % ALIGNMENT) return false;
  }
  return true;
}

bool sm_operands_should_stream(const sm_operands *o) {
  uint64_t cache = o->device->profile->cache_bytes, bytes = o->read + o->written;
  return cache && !o->in_place && bytes > cache + cache / 2 && sm_operands_aligned(o);
}
