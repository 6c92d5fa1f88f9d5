/* SPDX-License-Identifier: Apache-2.0
 *
 * A plan as a picture, in the language of Graphviz: a box a kernel with its operations,
 * tensors that enter or leave one between them. */
#include <inttypes.h>

#include "plan/plan.h"

typedef struct drawing {
  sm_text *text;
  const sm_segment *segment;
  const sm_plan *plan;
} drawing;

static void add_tensor_label(const drawing *d, uint32_t v) {
  char shape[SM_SHAPE_TEXT];
  const sm_value *value = &d->segment->values.items[v];
  sm_text_addf(d->text, "t%" PRIu64 "\\n%s", value->id, sm_shape_text(shape, value->dtype, &value->shape));
}

/* Tensors in memory: what comes from outside and what kernels write; bold if it lives on. */
static void draw_tensors(const drawing *d) {
  for (uint32_t v = 0; v < d->segment->values.len; v++) {
    const sm_value *value = &d->segment->values.items[v];
    if (value->producer != SM_NO_OP && !d->plan->written[v]) continue;
    sm_text_addf(d->text, "  v%" PRIu32 " [shape=ellipse, label=\"", v);
    add_tensor_label(d, v);
    sm_text_addf(d->text, "\"%s];\n", value->live ? ", style=bold" : "");
  }
}

static void draw_cluster(const drawing *d, int index) {
  const sm_cluster *c = &d->plan->clusters[index];
  sm_traffic traffic = sm_cluster_traffic(d->segment, d->plan, c);
  sm_text_addf(d->text,
               "  subgraph cluster_%d {\n    label=\"%d %s, read %" PRIu64 ", written %" PRIu64 "\";\n",
               index, index, c->fuser ? c->fuser->name : "none", traffic.read, traffic.written);
  for (int i = 0; i < c->n_ops; i++) {
    sm_text_addf(d->text, "    k%d_%" PRIu32 " [shape=box, label=\"", index, c->ops[i]);
    sm_op_print_log_name(d->text, d->segment, &d->segment->ops.items[c->ops[i]]);
    sm_text_add(d->text, "\"];\n");
  }
  sm_text_add(d->text, "  }\n");
}

static bool has_record(const sm_cluster *c, int32_t op) {
  for (int i = 0; i < c->n_ops; i++) {
    if (c->ops[i] == (uint32_t)op) return true;
  }
  return false;
}

/* From where the kernel has each operand: its own operation or memory. */
static void draw_operands(const drawing *d, int index, uint32_t op) {
  const sm_op *record = &d->segment->ops.items[op];
  for (int k = 0; k < record->n_operands; k++) {
    if (record->operands[k].is_scalar) continue;
    uint32_t v = record->operands[k].use.value;
    int32_t producer = d->segment->values.items[v].producer;
    bool own = producer != SM_NO_OP && has_record(&d->plan->clusters[index], producer);
    if (own) sm_text_addf(d->text, "  k%d_%" PRId32 " -> k%d_%" PRIu32 ";\n", index, producer, index, op);
    else sm_text_addf(d->text, "  v%" PRIu32 " -> k%d_%" PRIu32 ";\n", v, index, op);
  }
  bool home = d->plan->cluster_of[op] == (uint32_t)index;
  if (home && d->plan->written[record->out])
    sm_text_addf(d->text, "  k%d_%" PRIu32 " -> v%" PRIu32 ";\n", index, op, record->out);
}

void sm_plan_print_dot(sm_text *text, const sm_segment *segment, const sm_plan *plan) {
  drawing d = {text, segment, plan};
  sm_text_add(text, "digraph segment {\n");
  draw_tensors(&d);
  for (int i = 0; i < plan->n_clusters; i++) draw_cluster(&d, i);
  for (int i = 0; i < plan->n_clusters; i++) {
    for (int k = 0; k < plan->clusters[i].n_ops; k++) draw_operands(&d, i, plan->clusters[i].ops[k]);
  }
  sm_text_add(text, "}\n");
}
