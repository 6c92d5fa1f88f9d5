/* SPDX-License-Identifier: Apache-2.0 */
#include "fusers/explain_plan.h"

static smelt_explained_edge edge_of(const sm_refusal *refusal) {
  return (smelt_explained_edge){.size = sizeof(smelt_explained_edge),
                                .producer = refusal->producer,
                                .consumer = refusal->consumer,
                                .reason = sm_reason_code(refusal->reason),
                                .meaning = sm_reason_sentence(refusal->reason),
                                .bindings = refusal->bindings,
                                .limit = refusal->limit};
}

sm_note *sm_explain_plan(sm_explainer *explainer, const sm_segment *segment, const sm_plan *plan) {
  sm_note *note = sm_note_open(explainer, segment, (size_t)plan->n_refusals, (size_t)plan->n_clusters);
  if (!note) return NULL;
  for (size_t i = 0; i < note->n_operations; i++) {
    uint32_t cluster = plan->cluster_of[i];
    if (cluster != SM_NO_CLUSTER) note->operations[i].kernel = cluster;
  }
  for (int i = 0; i < plan->n_refusals; i++) note->edges[note->n_edges++] = edge_of(&plan->refusals[i]);
  return note;
}
