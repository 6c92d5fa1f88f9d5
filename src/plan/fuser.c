/* SPDX-License-Identifier: Apache-2.0 */
#include "plan/fuser.h"

static const struct {
  const char *code, *sentence;
} reasons[SM_REASON_COUNT] = {
#define REASON(id, code, sentence) [SM_REASON_##id] = {code, sentence},
#include "plan/reasons.def"
#undef REASON
};

const char *sm_reason_code(sm_reason reason) { return reasons[reason].code; }
const char *sm_reason_sentence(sm_reason reason) { return reasons[reason].sentence; }

/* --- Buffers of a candidate --------------------------------------------------------- */

/* In the scratch entry of a value: whether a record inside defines it, and how
 * often records inside use it. */
#define MADE_INSIDE ((uint32_t)1 << 31)

/* Counts the operands of a record, those of its guests instead of what they make;
 * answers how many it meets for the first time. */
static int mark_operands(const sm_candidate *c, const sm_op *op) {
  int inputs = 0;
  for (int k = 0; k < op->n_operands; k++) {
    if (op->operands[k].is_scalar) continue;
    uint32_t v = op->operands[k].use.value;
    int32_t producer = c->segment->values.items[v].producer;
    if (producer != SM_NO_OP && c->guest[producer]) {
      inputs += mark_operands(c, &c->segment->ops.items[producer]);
      continue;
    }
    if (!c->scratch[v]) inputs++;
    ++c->scratch[v];
  }
  return inputs;
}

static int mark(const sm_candidate *c) {
  int inputs = 0;
  for (int i = 0; i < c->n_ops; i++) {
    const sm_op *op = &c->segment->ops.items[c->ops[i]];
    if (c->guest[c->ops[i]]) continue;
    inputs += mark_operands(c, op);
    c->scratch[op->out] |= MADE_INSIDE;
  }
  return inputs;
}

static int count_outputs(const sm_candidate *c) {
  int outputs = 0;
  for (int i = 0; i < c->n_ops; i++) {
    uint32_t out = c->segment->ops.items[c->ops[i]].out;
    uint32_t inside = c->scratch[out] & ~MADE_INSIDE;
    if (c->segment->values.items[out].live || c->uses[out] > inside) outputs++;
  }
  return outputs;
}

static void unmark(const sm_candidate *c) {
  for (int i = 0; i < c->n_ops; i++) {
    const sm_op *op = &c->segment->ops.items[c->ops[i]];
    for (int k = 0; k < op->n_operands; k++) {
      if (!op->operands[k].is_scalar) c->scratch[op->operands[k].use.value] = 0;
    }
    c->scratch[op->out] = 0;
  }
}

int sm_candidate_buffers(const sm_candidate *candidate) {
  int inputs = mark(candidate), outputs = count_outputs(candidate);
  unmark(candidate);
  return inputs + outputs;
}

int sm_candidate_records(const sm_candidate *candidate) {
  int n = 0;
  for (int i = 0; i < candidate->n_ops; i++) n += !candidate->guest[candidate->ops[i]];
  return n;
}

sm_fit sm_candidate_fit(const sm_candidate *candidate, const sm_limits *limits, int others) {
  sm_fit fit = {.bindings = sm_candidate_buffers(candidate) + 1 + others};
  if (sm_candidate_records(candidate) > limits->max_ops) fit.reason = SM_REASON_OPS;
  else if (fit.bindings > limits->max_bindings) fit.reason = SM_REASON_BINDINGS;
  return fit;
}
