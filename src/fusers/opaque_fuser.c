/* SPDX-License-Identifier: Apache-2.0
 *
 * Opaque: operations that a function of the program computes, each by itself. */
#include "base/error.h"
#include "base/timeline.h"
#include "fusers/registry.h"
#include "launch/run_opaque.h"
#include "launch/run_trace.h"
#include "rt/report.h"

static sm_reason accept(const sm_segment *segment, const sm_op *op) {
  (void)segment;
  return op->row->class == SM_CLASS_OPAQUE ? SM_REASON_NONE : SM_REASON_VARIANT;
}

static sm_fit fit(const sm_candidate *candidate, const sm_limits *limits) {
  (void)limits;
  return (sm_fit){.reason = candidate->n_ops == 1 ? SM_REASON_NONE : SM_REASON_OPAQUE};
}

/* The block is nothing but the record's number. */
static smelt_status finish(const sm_segment *segment, const uint32_t *ops, int n_ops, const bool *written,
                           smelt_mode mode, const sm_allocator *allocator, void **block, smelt_error *err) {
  (void)segment, (void)n_ops, (void)written, (void)mode;
  uint32_t *op = sm_alloc(allocator, sizeof *op);
  *block = op;
  if (!op) return sm_error_memory(err, "a block");
  *op = ops[0];
  return SMELT_OK;
}

static void discard(void *block, const sm_allocator *allocator) {
  sm_free(allocator, block, sizeof(uint32_t));
}

static void report(const sm_launch_env *env, const sm_block_run *on, const sm_op *op, int64_t begin) {
  sm_launch_report r = {.fuser = sm_fuser_opaque.name, .kernel = op->row->name};
  for (int k = 0; k < op->n_operands; k++) {
    const sm_value *value = &on->segment->values.items[op->operands[k].use.value];
    r.read += (uint64_t)sm_shape_bytes(&value->shape, value->dtype);
  }
  r.written = on->buffers[op->out]->bytes;
  sm_report_launch(env->log, env->device->allocator, env->counters, &r);
  if (env->note) sm_note_launch(env->note, &r, sm_os_now() - begin);
  sm_report_time(env->log, &r, begin);
}

static smelt_status run(void *env, void *block, const sm_block_run *on, smelt_error *err) {
  const sm_launch_env *launch = env;
  const sm_op *op = &on->segment->ops.items[*(const uint32_t *)block];
  int64_t begin = launch->note ? sm_os_now() : sm_timeline_begin(launch->log);
  SM_TRY(sm_run_opaque(launch->device, on->segment, op, on->buffers, err));
  if (on->buffers[op->out]->bytes) report(launch, on, op, begin);
  return SMELT_OK;
}

const sm_fuser sm_fuser_opaque = {
    .name = "Opaque",
    .available = true,
    .apart = SM_REASON_OPAQUE,
    .accept = accept,
    .fit = fit,
    .finish = finish,
    .run = run,
    .discard = discard,
};
