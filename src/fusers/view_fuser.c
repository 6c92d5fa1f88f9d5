/* SPDX-License-Identifier: Apache-2.0
 *
 * Views: operations whose result has the memory of their operand. They take no kernel;
 * readers go through them. Only a reshape that strides cannot express is a copy. */
#include "base/error.h"
#include "fusers/registry.h"
#include "ir/view.h"
#include "launch/dense_copy.h"

static sm_reason accept(const sm_segment *segment, const sm_op *op) {
  (void)segment;
  return sm_op_is_view(op) ? SM_REASON_NONE : SM_REASON_VARIANT;
}

static sm_fit fit(const sm_candidate *candidate, const sm_limits *limits) {
  (void)limits;
  return (sm_fit){.reason = candidate->n_ops == 1 ? SM_REASON_NONE : SM_REASON_VIEW};
}

/* The block is the record's number. */
static smelt_status finish(const sm_segment *segment, const uint32_t *ops, int n_ops, const bool *written,
                           smelt_mode mode, const sm_allocator *allocator, void **block, smelt_error *err) {
  (void)segment, (void)n_ops, (void)written, (void)mode;
  uint32_t *op = sm_alloc(allocator, sizeof *op);
  *block = op;
  if (!op) return sm_error_memory(err, "a view");
  *op = ops[0];
  return SMELT_OK;
}

static void discard(void *block, const sm_allocator *allocator) {
  sm_free(allocator, block, sizeof(uint32_t));
}

static smelt_status run(void *env, void *block, const sm_block_run *on, smelt_error *err) {
  const sm_op *op = &on->segment->ops.items[*(uint32_t *)block];
  const sm_value *values = on->segment->values.items;
  uint32_t operand = op->operands[0].use.value;
  const sm_buffer *from = on->buffers[operand];
  sm_layout layout, seen;
  sm_buffer_layout(from, &values[operand].shape, &layout);
  if (sm_view_layout(op, &layout, &values[op->out].shape, &seen))
    return sm_buffer_view(on->buffers[operand], values[operand].dtype, &seen, &on->buffers[op->out], err);
  sm_dense_copy copy = {
      .fuser = on->fuser, .row = op->row, .from = from, .dtype = values[operand].dtype, .layout = &layout};
  return sm_run_dense_copy(env, &copy, &on->buffers[op->out], err);
}

const sm_fuser sm_fuser_view = {
    .name = "View",
    .available = true,
    .apart = SM_REASON_VIEW,
    .settings = {.vectorization = true},
    .accept = accept,
    .fit = fit,
    .finish = finish,
    .run = run,
    .discard = discard,
};
