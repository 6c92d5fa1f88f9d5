/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>

#include "plan/plan.h"

static void print_ops(sm_text *text, const sm_segment *segment, const sm_cluster *cluster) {
  for (int i = 0; i < cluster->n_ops; i++) {
    if (i) sm_text_add(text, ", ");
    sm_op_print_log_name(text, segment, &segment->ops.items[cluster->ops[i]]);
  }
}

void sm_plan_print(sm_text *text, const sm_segment *segment, const sm_plan *plan) {
  for (int i = 0; i < plan->n_clusters; i++) {
    const sm_cluster *c = &plan->clusters[i];
    sm_text_addf(text, "%d %s read=%" PRIu64 " written=%" PRIu64 " est_bindings=%d: ", i,
                 c->fuser ? c->fuser->name : "none", c->read, c->written, c->bindings);
    print_ops(text, segment, c);
    sm_text_add(text, "\n");
  }
}

void sm_plan_print_block(sm_text *text, const sm_segment *segment, const sm_cluster *cluster) {
  sm_text_addf(text, "[block] %d op(s): ", cluster->n_ops);
  print_ops(text, segment, cluster);
}

void sm_plan_print_refusal(sm_text *text, const sm_segment *segment, const sm_refusal *refusal,
                           const sm_limits *limits) {
  sm_text_add(text, "[refuse] ");
  sm_op_print_log_name(text, segment, &segment->ops.items[refusal->consumer]);
  sm_text_add(text, " after ");
  sm_op_print_log_name(text, segment, &segment->ops.items[refusal->producer]);
  sm_text_addf(text, ": %s (%s)", sm_reason_code(refusal->reason), sm_reason_sentence(refusal->reason));
  if (refusal->bindings) sm_text_addf(text, " est_bindings=%d/%d", refusal->bindings, limits->max_bindings);
}
