/* SPDX-License-Identifier: Apache-2.0
 *
 * Clusters that are done again by whoever reads them.
 *
 * A small tensor that is computed from others and then broadcast cannot be in one kernel
 * with its readers, which have another shape. If they compute it themselves, it is neither
 * written nor read, and a launch is saved; but each of its elements is computed several
 * times. So a cluster becomes a guest of all its readers (plan/dissolve.h) if that moves
 * fewer bytes and its elements are computed SM_RATIO_MOST times at most, which is what
 * plans know of sizes (ir/relative.h). What reads a guest is none itself. */
#include <limits.h>
#include <string.h>

#include "ir/relative.h"
#include "plan/plan_search.h"

/* More records than this are not done again: they cost more than memory. */
enum { SM_RECOMPUTED_OPS = 4 };

/* A cluster that may be. */
typedef struct recomputed {
  const sm_segment *segment;
  uint32_t ops[SM_RECOMPUTED_OPS];
  int n_ops;
  int readers; /* clusters */
  int ratio;   /* how often an element is computed, in the reader that does so most */
} recomputed;

/* --- One cluster ---------------------------------------------------------------------- */

static const sm_op *record(const recomputed *what, int i) { return &what->segment->ops.items[what->ops[i]]; }

/* Whether its records can be computed at any place, and nobody else wants their results. */
static bool is_allowed(const recomputed *what) {
  for (int i = 0; i < what->n_ops; i++) {
    const sm_op *op = record(what, i);
    if (!sm_op_is_pointwise(op) || what->segment->values.items[op->out].live) return false;
  }
  return true;
}

/* Notes that record `consumer` of another cluster reads the result of `producer`; false if
 * it cannot compute that itself. */
static bool note_reader(recomputed *what, uint32_t producer, uint32_t consumer) {
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

static bool is_member(const recomputed *what, int32_t producer) {
  for (int i = 0; i < what->n_ops; i++) {
    if ((int32_t)what->ops[i] == producer) return true;
  }
  return false;
}

static bool used_inside(const recomputed *what, uint32_t v) {
  for (int i = 0; i < what->n_ops; i++) {
    const sm_op *op = record(what, i);
    for (int k = 0; k < op->n_operands; k++) {
      if (!op->operands[k].is_scalar && op->operands[k].use.value == v) return true;
    }
  }
  return false;
}

/* Bytes of an element of what the records read from outside, once for each operand. */
static int64_t bytes_read(const recomputed *what) {
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
static int64_t bytes_made(const recomputed *what) {
  int64_t bytes = 0;
  for (int i = 0; i < what->n_ops; i++) {
    uint32_t out = record(what, i)->out;
    if (!used_inside(what, out)) bytes += (int64_t)smelt_dtype_size(what->segment->values.items[out].dtype);
  }
  return bytes;
}

/* n readers of the operands, against one, a write, and n readers of the results. */
static bool pays(const recomputed *what) {
  int64_t n = what->readers, from = bytes_read(what), to = bytes_made(what);
  return n > 0 && n * what->ratio <= SM_RATIO_MOST && n * from < from + (1 + n) * to;
}

/* --- In the search --------------------------------------------------------------------- */

/* Whether an edge leads from cluster `root` to another one. */
static bool leads_out(const sm_search *s, const sm_edge *e, uint32_t root) {
  return s->root[e->producer] == root && s->root[e->consumer] != root;
}

/* Notes what those who read the cluster's results would do; false if one cannot. */
static bool look_at_readers(sm_search *s, uint32_t root, recomputed *what) {
  uint64_t *seen = s->contract_scratch;
  memset(seen, 0, s->graph.words * sizeof *seen);
  for (size_t i = 0; i < s->n_edges; i++) {
    const sm_edge *e = &s->edges[i];
    if (!leads_out(s, e, root)) continue;
    uint32_t reader = s->root[e->consumer];
    if (s->fuser[reader] != s->fuser[root] || !note_reader(what, e->producer, e->consumer)) return false;
    what->readers += !sm_bitset_has(seen, reader);
    sm_bitset_add(seen, reader);
  }
  return true;
}

/* Whether each reader is a kernel with the cluster's records as its guests; notes what it
 * binds then. */
static bool readers_fit(sm_search *s, uint32_t root) {
  sm_limits any_length = s->options->limits;
  any_length.max_ops = INT_MAX;
  for (size_t i = 0; i < s->n_edges; i++) {
    if (!leads_out(s, &s->edges[i], root)) continue;
    uint32_t reader = s->root[s->edges[i].consumer];
    int n = sm_search_list(s, sm_search_members(s, reader));
    sm_fit fit = sm_search_fit(s, s->fuser[reader], s->list, n, &any_length);
    if (fit.reason != SM_REASON_NONE) return false;
    s->bindings[reader] = fit.bindings;
  }
  return true;
}

/* The cluster is none any more. Its records have a root that no cluster has. */
static void give_up_cluster(sm_search *s, uint32_t root) {
  size_t kept = 0;
  sm_graph_leave_out(&s->graph, sm_search_members(s, root));
  s->n_members[root] = 0;
  for (size_t i = 0; i < s->n_edges; i++) {
    bool touches = s->root[s->edges[i].producer] == root || s->root[s->edges[i].consumer] == root;
    if (!touches) s->edges[kept++] = s->edges[i];
  }
  s->n_edges = kept;
  kept = 0;
  for (int i = 0; i < s->plan->n_refusals; i++) {
    if (s->root[s->plan->refusals[i].producer] != root) s->plan->refusals[kept++] = s->plan->refusals[i];
  }
  s->plan->n_refusals = (int)kept;
}

static bool try_recomputing(sm_search *s, uint32_t root) {
  recomputed what = {.segment = s->graph.segment};
  if (s->n_members[root] > SM_RECOMPUTED_OPS || !s->fuser[root] || s->fuser[root]->apart ||
      sm_search_has_anchor(s, root))
    return false;
  what.n_ops = sm_search_list(s, sm_search_members(s, root));
  memcpy(what.ops, s->list, (size_t)what.n_ops * sizeof *what.ops);
  if (!is_allowed(&what) || !look_at_readers(s, root, &what) || !pays(&what)) return false;
  sm_graph_dissolve(&s->graph, what.ops, what.n_ops, true);
  if (readers_fit(s, root)) return true;
  sm_graph_dissolve(&s->graph, what.ops, what.n_ops, false);
  return false;
}

/* Later clusters first: what reads a guest is no guest. */
void sm_search_recompute(sm_search *s) {
  if (!s->options->fusion) return;
  for (uint32_t root = s->graph.n_ops; root-- > 0;) {
    if (s->n_members[root] && try_recomputing(s, root)) give_up_cluster(s, root);
  }
}
