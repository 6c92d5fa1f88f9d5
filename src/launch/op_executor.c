/* SPDX-License-Identifier: Apache-2.0 */
#include "launch/op_executor.h"

#include "base/error.h"
#include "base/timeline.h"
#include "drivers/drivers.h"
#include "ir/liveness.h"
#include "launch/run_opaque.h"
#include "rt/report.h"

/* --- One record -------------------------------------------------------------------------- */

static void note_launch(sm_job *job, const sm_op *op, const sm_launch_report *report, int64_t begin) {
  if (!job->note) return;
  job->note->operations[op - job->segment->ops.items].kernel = (int64_t)job->note->n_kernels;
  sm_note_kernel(job->note, report->fuser, 1);
  sm_note_launch(job->note, report, sm_os_now() - begin);
}

/* Of what began then, if anybody asks. */
static void report(const sm_op_executor *e, sm_job *job, const sm_op *op, int64_t begin) {
  sm_text name;
  sm_text_init(&name, e->device->allocator);
  sm_op_print_kernel_name(&name, op);
  uint64_t read = 0;
  for (int k = 0; k < op->n_operands; k++) {
    if (!op->operands[k].is_scalar) read += job->buffers[op->operands[k].use.value]->bytes;
  }
  sm_launch_report report = {
      .fuser = "ref", .kernel = name.data, .read = read, .written = job->buffers[op->out]->bytes};
  sm_report_launch(e->log, e->device->allocator, e->counters, &report);
  sm_report_time(e->log, &report, begin);
  note_launch(job, op, &report, begin);
  sm_text_free(&name);
}

static smelt_status run_op(const sm_op_executor *e, sm_job *job, const sm_op *op, smelt_error *err) {
  bool opaque = op->row->class == SM_CLASS_OPAQUE;
  int64_t begin = job->note ? sm_os_now() : sm_timeline_begin(e->log);
  SM_TRY((opaque ? sm_run_opaque : sm_ref_run_op)(e->device, job->segment, op, job->buffers, err));
  report(e, job, op, begin);
  return SMELT_OK;
}

/* The cause of an operand that failed before, or NULL. */
static sm_cause *inherited(const sm_job *job, const sm_op *op) {
  for (int k = 0; k < op->n_operands; k++) {
    sm_cause *cause = op->operands[k].is_scalar ? NULL : job->causes[op->operands[k].use.value];
    if (cause) return sm_cause_ref(cause);
  }
  return NULL;
}

static void run_or_fail(const sm_op_executor *e, sm_job *job, const sm_op *op) {
  smelt_error err;
  job->causes[op->out] = inherited(job, op);
  if (job->causes[op->out]) return;
  if (run_op(e, job, op, &err) != SMELT_OK) job->causes[op->out] = sm_cause_create(&err);
}

/* --- The segment ---------------------------------------------------------------------------- */

/* Gives up what no later record reads. */
static void release_unwanted(sm_job *job, uint32_t v) {
  if (job->segment->values.items[v].live) return;
  if (job->buffers[v]) sm_buffer_drop(job->buffers[v]);
  sm_cause_drop(job->causes[v]);
  job->buffers[v] = NULL;
  job->causes[v] = NULL;
}

static void release_last_uses(sm_job *job, const sm_op *op) {
  for (int k = 0; k < op->n_operands; k++) {
    const sm_operand *o = &op->operands[k];
    if (!o->is_scalar && o->use.status == SM_READ_WRITE) release_unwanted(job, o->use.value);
  }
}

static void fail_all(sm_job *job) {
  for (size_t v = 0; v < job->segment->values.len; v++) job->causes[v] = sm_cause_of_memory();
}

void sm_op_executor_run(void *self, sm_job *job) {
  const sm_op_executor *e = self;
  const sm_segment *seg = job->segment;
  bool *needed = sm_calloc(e->device->allocator, seg->ops.len, sizeof *needed);
  if (!needed) {
    fail_all(job);
    return;
  }
  sm_segment_needed(seg, needed);
  job->note = sm_note_open(e->explainer, seg, 0, seg->ops.len);
  for (size_t i = 0; i < seg->ops.len; i++) {
    const sm_op *op = &seg->ops.items[i];
    if (needed[i]) run_or_fail(e, job, op);
    release_last_uses(job, op);
  }
  for (uint32_t v = 0; v < seg->values.len; v++) release_unwanted(job, v);
  sm_note_close(e->explainer, job->note);
  job->note = NULL;
  sm_free(e->device->allocator, needed, seg->ops.len * sizeof *needed);
}
