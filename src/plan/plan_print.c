/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>

#include "plan/plan.h"

static void print_ops(sm_text *text, const sm_segment *segment, const sm_cluster *cluster) {
  for (int i = 0; i < cluster->n_ops; i++) {
    if (i) sm_text_add(text, ", ");
    sm_op_print_log_name(text, segment, &segment->ops.items[cluster->ops[i]]);
  }
}

/* Whether an operand of the cluster before the k-th of its i-th record is value `v`. */
static bool read_before(const sm_segment *segment, const sm_cluster *cluster, int i, int k, uint32_t v) {
  for (int earlier = 0; earlier <= i; earlier++) {
    const sm_op *op = &segment->ops.items[cluster->ops[earlier]];
    int n = earlier < i ? op->n_operands : k;
    for (int operand = 0; operand < n; operand++) {
      if (!op->operands[operand].is_scalar && op->operands[operand].use.value == v) return true;
    }
  }
  return false;
}

static uint64_t bytes_of(const sm_segment *segment, uint32_t v) {
  const sm_value *value = &segment->values.items[v];
  return (uint64_t)sm_shape_bytes(&value->shape, value->dtype);
}

sm_traffic sm_cluster_traffic(const sm_segment *segment, const sm_plan *plan, const sm_cluster *cluster) {
  sm_traffic t = {0, 0};
  for (int i = 0; i < cluster->n_ops; i++) {
    const sm_op *op = &segment->ops.items[cluster->ops[i]];
    for (int k = 0; k < op->n_operands; k++) {
      uint32_t v = op->operands[k].use.value;
      if (op->operands[k].is_scalar || read_before(segment, cluster, i, k, v)) continue;
      int32_t producer = segment->values.items[v].producer;
      bool own = producer != SM_NO_OP && plan->cluster_of[producer] == plan->cluster_of[cluster->ops[0]];
      if (!own) t.read += bytes_of(segment, v);
    }
    if (plan->written[op->out]) t.written += bytes_of(segment, op->out);
  }
  return t;
}

void sm_plan_print(sm_text *text, const sm_segment *segment, const sm_plan *plan) {
  for (int i = 0; i < plan->n_clusters; i++) {
    const sm_cluster *c = &plan->clusters[i];
    sm_traffic traffic = sm_cluster_traffic(segment, plan, c);
    sm_text_addf(text, "%d %s read=%" PRIu64 " written=%" PRIu64 " est_bindings=%d: ", i,
                 c->fuser ? c->fuser->name : "none", traffic.read, traffic.written, c->bindings);
    print_ops(text, segment, c);
    sm_text_add(text, "\n");
  }
}

void sm_plan_print_block(sm_text *text, const sm_segment *segment, const sm_cluster *cluster) {
  sm_text_addf(text, "[block] %d op(s): ", cluster->n_ops);
  print_ops(text, segment, cluster);
}

void sm_plan_print_refusal(sm_text *text, const sm_segment *segment, const sm_refusal *refusal) {
  sm_text_add(text, "[refuse] ");
  sm_op_print_log_name(text, segment, &segment->ops.items[refusal->consumer]);
  sm_text_add(text, " after ");
  sm_op_print_log_name(text, segment, &segment->ops.items[refusal->producer]);
  sm_text_addf(text, ": %s (%s)", sm_reason_code(refusal->reason), sm_reason_sentence(refusal->reason));
  if (refusal->bindings) sm_text_addf(text, " est_bindings=%d/%d", refusal->bindings, refusal->limit);
}
