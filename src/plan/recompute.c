/* SPDX-License-Identifier: Apache-2.0 */
#include "plan/recompute.h"

#include "ir/relative.h"

static const sm_op *record(const sm_recomputed *what, int i) {
  return &what->segment->ops.items[what->ops[i]];
}

bool sm_recompute_allowed(const sm_recomputed *what) {
  for (int i = 0; i < what->n_ops; i++) {
    const sm_op *op = record(what, i);
    if (!sm_op_is_pointwise(op) || what->segment->values.items[op->out].live) return false;
  }
  return true;
}

bool sm_recompute_reads(sm_recomputed *what, uint32_t producer, uint32_t consumer) {
  const sm_op *op = &what->segment->ops.items[consumer];
  uint32_t made = what->segment->ops.items[producer].out;
  bool direct = false;
  /* A selection does not broadcast what it reads. */
  if (op->row->class != SM_CLASS_ELEMENTWISE) return false;
  for (int k = 0; k < op->n_operands; k++) {
    if (op->operands[k].is_scalar || op->operands[k].use.value != made) continue;
    int ratio = sm_relative_ratio(what->segment, op, k);
    if (ratio > what->ratio) what->ratio = ratio;
    direct = true;
  }
  return direct;
}

static bool is_member(const sm_recomputed *what, int32_t producer) {
  for (int i = 0; i < what->n_ops; i++) {
    if ((int32_t)what->ops[i] == producer) return true;
  }
  return false;
}

static bool used_inside(const sm_recomputed *what, uint32_t v) {
  for (int i = 0; i < what->n_ops; i++) {
    const sm_op *op = record(what, i);
    for (int k = 0; k < op->n_operands; k++) {
      if (!op->operands[k].is_scalar && op->operands[k].use.value == v) return true;
    }
  }
  return false;
}

/* Bytes of an element of what the records read from outside, once for each operand. */
static int64_t bytes_read(const sm_recomputed *what) {
  int64_t bytes = 0;
  for (int i = 0; i < what->n_ops; i++) {
    const sm_op *op = record(what, i);
    for (int k = 0; k < op->n_operands; k++) {
      const sm_operand *o = &op->operands[k];
      bool outside = !o->is_scalar && !is_member(what, what->segment->values.items[o->use.value].producer);
      if (outside) bytes += (int64_t)smelt_dtype_size(o->dtype);
    }
  }
  return bytes;
}

/* And of what they make for others, at least. */
static int64_t bytes_made(const sm_recomputed *what) {
  int64_t bytes = 0;
  for (int i = 0; i < what->n_ops; i++) {
    uint32_t out = record(what, i)->out;
    if (!used_inside(what, out)) bytes += (int64_t)smelt_dtype_size(what->segment->values.items[out].dtype);
  }
  return bytes;
}

/* n readers of the operands, against one, a write, and n readers of the results. */
bool sm_recompute_pays(const sm_recomputed *what) {
  int64_t n = what->readers, from = bytes_read(what), to = bytes_made(what);
  return n > 0 && n * what->ratio <= SM_RATIO_MOST && n * from < from + (1 + n) * to;
}
