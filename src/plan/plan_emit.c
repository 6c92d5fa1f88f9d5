/* SPDX-License-Identifier: Apache-2.0
 *
 * From the clusters that a search has found to the plan: in which order they run, where long
 * ones are cut, what is stored and where values die. */
#include <limits.h>
#include <string.h>

#include "base/error.h"
#include "plan/cut.h"
#include "plan/plan_search.h"

/* Whether all clusters above `root` have been emitted. */
static bool ready(const sm_search *s, uint32_t root, const uint64_t *emitted) {
  const uint64_t *above = sm_graph_above(&s->graph, root), *own = sm_search_members(s, root);
  for (size_t w = 0; w < s->graph.words; w++) {
    if (above[w] & ~(emitted[w] | own[w])) return false;
  }
  return true;
}

/* Operands of the records, of their guests in the place of what those make. */
static void count_uses(const sm_search *s, const uint32_t *ops, int n, uint32_t *uses) {
  for (int i = 0; i < n; i++) {
    if (!s->graph.dissolved[ops[i]]) sm_graph_count_uses(&s->graph, ops[i], uses);
  }
}

/* Results that live on, or that other clusters read, are stored. */
static void mark_written(sm_search *s, const sm_cluster *c) {
  const sm_segment *seg = s->graph.segment;
  uint32_t *inside = s->value_scratch; /* uses within the cluster */
  count_uses(s, c->ops, c->n_ops, inside);
  for (int i = 0; i < c->n_ops; i++) {
    uint32_t out = seg->ops.items[c->ops[i]].out;
    s->plan->written[out] = seg->values.items[out].live || s->graph.uses[out] > inside[out];
  }
  memset(inside, 0, seg->values.len * sizeof *inside);
}

static void mark_reads(sm_search *s, const sm_cluster *c) {
  for (int i = 0; i < c->n_ops; i++) {
    const sm_op *record = &s->graph.segment->ops.items[c->ops[i]];
    s->plan->cluster_of[c->ops[i]] = (uint32_t)s->plan->n_clusters;
    for (int k = 0; k < record->n_operands; k++) {
      if (record->operands[k].is_scalar) continue;
      s->plan->last_reader[record->operands[k].use.value] = (uint32_t)s->plan->n_clusters;
    }
  }
}

static bool add_cluster(sm_search *s, uint32_t root, const uint32_t *ops, int n, int bindings) {
  sm_plan *plan = s->plan;
  sm_cluster *c = &plan->clusters[plan->n_clusters];
  *c = (sm_cluster){.fuser = s->fuser[root], .bindings = bindings};
  if (!c->fuser) c->refused = s->alone[root];
  c->n_ops = n;
  ops = sm_search_add_guests(s, ops, &c->n_ops);
  c->n_guests = c->n_ops - n;
  c->ops = sm_arena_copy(&plan->arena, ops, (size_t)c->n_ops * sizeof *ops);
  if (!c->ops) return false;
  mark_written(s, c);
  mark_reads(s, c);
  plan->n_clusters++;
  return true;
}

/* Which results of the list are wanted outside of it. */
static const bool *find_escapes(const sm_search *s, const uint32_t *ops, int n) {
  const sm_segment *seg = s->graph.segment;
  bool *escapes = sm_arena_zalloc(s->scratch, seg->values.len, sizeof *escapes);
  uint32_t *inside = s->value_scratch;
  if (escapes) count_uses(s, ops, n, inside);
  for (int i = 0; escapes && i < n; i++) {
    uint32_t out = seg->ops.items[ops[i]].out;
    escapes[out] = seg->values.items[out].live || s->graph.uses[out] > inside[out];
  }
  memset(inside, 0, seg->values.len * sizeof *inside);
  return escapes;
}

/* Adds the first kernel of what is left of a cluster. What is carried over may be too much
 * for the bindings; one record alone never is. */
static bool emit_piece(sm_search *s, uint32_t root, const sm_cut *cut, int *taken) {
  sm_limits any_length = *cut->limits;
  any_length.max_ops = INT_MAX;
  sm_piece piece;
  if (!sm_cut_find(cut, s->scratch, &piece)) return false;
  sm_fit fit = sm_search_fit(s, s->fuser[root], cut->ops, piece.n_ops, &any_length);
  while (fit.reason != SM_REASON_NONE && piece.n_ops > 1) {
    sm_cut_shorten(&piece);
    fit = sm_search_fit(s, s->fuser[root], cut->ops, piece.n_ops, &any_length);
  }
  *taken = piece.n_ops;
  if (piece.n_ops < cut->n_ops) s->cut[root] = piece.reason;
  return add_cluster(s, root, cut->ops, piece.n_ops, fit.bindings);
}

/* Whether a cluster can be cut at all. */
static bool is_whole(const sm_search *s, uint32_t root, int n) {
  bool shorter = n <= s->options->limits.max_ops && (n < SM_CUT_PERIODS || s->options->limits.exact);
  return shorter || !s->fuser[root] || s->fuser[root]->anchor;
}

/* Records of a cluster ascend, so whatever part of it comes first can run first. */
static bool emit_cluster(sm_search *s, uint32_t root) {
  int n = sm_search_list(s, sm_search_members(s, root));
  if (is_whole(s, root, n)) return add_cluster(s, root, s->list, n, s->bindings[root]);
  sm_cut cut = {.segment = s->graph.segment,
                .ops = s->list,
                .n_ops = n,
                .limits = &s->options->limits,
                .escapes = find_escapes(s, s->list, n),
                .guest = s->graph.dissolved};
  for (int taken = 0; cut.n_ops > 0; cut.ops += taken, cut.n_ops -= taken) {
    if (!cut.escapes || !emit_piece(s, root, &cut, &taken)) return false;
  }
  return true;
}

/* Edges that were contracted and then cut. */
static void refuse_cut_edges(sm_search *s) {
  for (size_t i = 0; i < s->n_edges; i++) {
    const sm_edge *e = &s->edges[i];
    bool together = s->root[e->producer] == s->root[e->consumer];
    if (together && s->plan->cluster_of[e->producer] != s->plan->cluster_of[e->consumer])
      sm_search_refuse(s, e->producer, e->consumer,
                       (sm_fit){s->cut[s->root[e->producer]], s->bindings[s->root[e->producer]]});
  }
}

/* The cluster that value `v` dies in, or SM_NO_CLUSTER. */
static uint32_t dies_in(const sm_search *s, uint32_t v) {
  return s->graph.segment->values.items[v].live ? SM_NO_CLUSTER : s->plan->last_reader[v];
}

/* Once all clusters are known, and so who reads what last. */
static bool list_dying(sm_search *s) {
  uint32_t n_values = (uint32_t)s->graph.segment->values.len;
  sm_cluster *clusters = s->plan->clusters;
  for (uint32_t v = 0; v < n_values; v++) {
    if (dies_in(s, v) != SM_NO_CLUSTER) clusters[dies_in(s, v)].n_dying++;
  }
  for (int i = 0; i < s->plan->n_clusters; i++) {
    clusters[i].dying = sm_arena_alloc(&s->plan->arena, (size_t)clusters[i].n_dying * sizeof(uint32_t));
    if (!clusters[i].dying) return false;
    clusters[i].n_dying = 0;
  }
  for (uint32_t v = 0; v < n_values; v++) {
    if (dies_in(s, v) == SM_NO_CLUSTER) continue;
    sm_cluster *c = &clusters[dies_in(s, v)];
    c->dying[c->n_dying++] = v;
  }
  return true;
}

/* The first root, by operation index, whose inputs are all there. */
static uint32_t next_ready(const sm_search *s, const uint64_t *emitted) {
  for (uint32_t op = 0; op < s->graph.n_ops; op++) {
    bool open = s->n_members[op] > 0 && !sm_bitset_has(emitted, op);
    if (open && ready(s, op, emitted)) return op;
  }
  return s->graph.n_ops;
}

smelt_status sm_search_emit(sm_search *s, smelt_error *err) {
  size_t n = s->graph.n_ops;
  uint64_t *emitted = sm_arena_zalloc(s->scratch, s->graph.words, sizeof *emitted);
  s->plan->clusters = sm_arena_zalloc(&s->plan->arena, n, sizeof *s->plan->clusters);
  if (!emitted || !s->plan->clusters) return sm_error_memory(err, "a plan");
  for (size_t v = 0; v < s->graph.segment->values.len; v++) s->plan->last_reader[v] = SM_NO_CLUSTER;
  for (size_t op = 0; op < n; op++) s->plan->cluster_of[op] = SM_NO_CLUSTER;
  for (uint32_t root; (root = next_ready(s, emitted)) < n;) {
    sm_bitset_union(emitted, sm_search_members(s, root), s->graph.words);
    if (!emit_cluster(s, root)) return sm_error_memory(err, "a plan");
  }
  refuse_cut_edges(s);
  return list_dying(s) ? SMELT_OK : sm_error_memory(err, "a plan");
}
