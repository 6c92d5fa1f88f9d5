/* SPDX-License-Identifier: Apache-2.0
 *
 * Concatenations: each operand is copied, by a kernel of its own, to its part of the
 * result, so that every element is read and written once. */
#include "base/error.h"
#include "fusers/registry.h"
#include "launch/run_trace.h"

static sm_reason accept(const sm_segment *segment, const sm_op *op) {
  (void)segment;
  bool joins = op->row->shape == SM_SHAPE_CONCAT;
  return joins ? SM_REASON_NONE : SM_REASON_VARIANT;
}

static sm_fit fit(const sm_candidate *candidate, const sm_limits *limits) {
  (void)limits;
  return (sm_fit){.reason = candidate->n_ops == 1 ? SM_REASON_NONE : SM_REASON_MEMORY};
}

/* The copy of an operand. */
typedef struct part {
  sm_trace copy;
  sm_launch_cache launches;
} part;

typedef struct concat_block {
  uint32_t op;
  int n;
  part parts[SM_MAX_OPERANDS];
} concat_block;

static void discard(void *block, const sm_allocator *allocator) {
  concat_block *b = block;
  for (int k = 0; k < b->n; k++) {
    sm_trace_free(&b->parts[k].copy, allocator);
    sm_launch_cache_free(&b->parts[k].launches);
  }
  sm_free(allocator, b, sizeof *b);
}

static smelt_status finish_parts(concat_block *b, const sm_segment *segment, const uint32_t *ops,
                                 const sm_allocator *allocator, smelt_error *err) {
  b->op = ops[0];
  for (int k = 0; k < segment->ops.items[b->op].n_operands; k++) {
    part *p = &b->parts[b->n++];
    sm_launch_cache_init(&p->launches, allocator);
    SM_TRY(sm_trace_build_copy(segment, ops, k, allocator, &p->copy, err));
  }
  return SMELT_OK;
}

static smelt_status finish(const sm_segment *segment, const uint32_t *ops, int n_ops, const bool *written,
                           smelt_mode mode, const sm_allocator *allocator, void **block, smelt_error *err) {
  (void)n_ops, (void)written, (void)mode;
  concat_block *b = sm_calloc(allocator, 1, sizeof *b);
  *block = b;
  if (!b) return sm_error_memory(err, "a concatenation");
  smelt_status status = finish_parts(b, segment, ops, allocator, err);
  if (status != SMELT_OK) {
    discard(b, allocator);
    *block = NULL;
  }
  return status;
}

/* --- Running ------------------------------------------------------------------------------ */

/* Copies operand `k` to `part` of the result, which is where the trace's output goes. */
static smelt_status copy_operand(void *env, concat_block *b, int k, const sm_block_run *on, sm_buffer *whole,
                                 const sm_layout *layout, smelt_error *err) {
  sm_buffer *target;
  uint32_t out = on->segment->ops.items[b->op].out;
  SM_TRY(sm_buffer_view(whole, on->segment->values.items[out].dtype, layout, &target, err));
  part *p = &b->parts[k];
  smelt_status status = sm_run_elementwise(env, "Concat", &p->copy, &p->launches, on, target, err);
  sm_buffer_drop(target);
  if (status != SMELT_OK) return status;
  sm_buffer_drop(on->buffers[out]);
  on->buffers[out] = NULL;
  return SMELT_OK;
}

/* Where the next operand, of this shape, goes: `place` is where it begins on the axis. */
static void part_layout(const sm_layout *whole, const sm_shape *shape, int axis, int64_t place,
                        sm_layout *out) {
  smelt_range ranges[SMELT_MAX_RANK];
  for (int i = 0; i < shape->rank; i++) ranges[i] = (smelt_range){0, shape->dims[i], 1};
  ranges[axis].start = place;
  ranges[axis].stop = place + shape->dims[axis];
  sm_layout_slice(whole, ranges, shape, out);
}

static smelt_status copy_operands(void *env, concat_block *b, const sm_block_run *on, sm_buffer *result,
                                  smelt_error *err) {
  const sm_op *op = &on->segment->ops.items[b->op];
  const sm_value *values = on->segment->values.items;
  sm_layout whole, layout;
  int64_t place = 0;
  int axis = op->attrs->axes[0];
  sm_layout_dense(&values[op->out].shape, &whole);
  for (int k = 0; k < b->n; k++) {
    const sm_shape *shape = &values[op->operands[k].use.value].shape;
    if (sm_shape_count(shape) == 0) continue;
    part_layout(&whole, shape, axis, place, &layout);
    SM_TRY(copy_operand(env, b, k, on, result, &layout, err));
    place += shape->dims[axis];
  }
  return SMELT_OK;
}

static smelt_status run(void *env, void *block, const sm_block_run *on, smelt_error *err) {
  concat_block *b = block;
  const sm_launch_env *launch = env;
  const sm_value *out = &on->segment->values.items[on->segment->ops.items[b->op].out];
  sm_buffer *result;
  size_t bytes = (size_t)sm_shape_bytes(&out->shape, out->dtype);
  SM_TRY(sm_buffer_create(launch->device, bytes, &result, err));
  smelt_status status = copy_operands(env, b, on, result, err);
  if (status == SMELT_OK) on->buffers[on->segment->ops.items[b->op].out] = result;
  else sm_buffer_drop(result);
  return status;
}

const sm_fuser sm_fuser_concat = {
    .name = "Concat",
    .available = true,
    .apart = SM_REASON_MEMORY,
    .accept = accept,
    .fit = fit,
    .finish = finish,
    .run = run,
    .discard = discard,
};
