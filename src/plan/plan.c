/* SPDX-License-Identifier: Apache-2.0
 *
 * The search. While it runs, a cluster is named by its first record (`root`);
 * members are lists linked through `next`, and bitsets for convexity. */
#include "plan/plan.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "plan/cut.h"
#include "plan/plan_graph.h"
#include "plan/recompute.h"

enum { OFFERS = 32 /* a record */ };

typedef struct edge {
  uint32_t producer, consumer;
  int64_t bytes;  /* of the carried tensor */
  uint32_t reads; /* of the carried tensor in the segment */
} edge;

typedef struct search {
  const sm_plan_options *options;
  sm_arena *scratch; /* for what only the search needs */
  sm_plan *plan;
  sm_graph graph;
  uint32_t *root;         /* by record */
  const sm_fuser **fuser; /* by record */
  uint64_t *members;      /* by root: bitset of records */
  int *n_members;         /* by root */
  int *bindings;          /* by root */
  sm_reason *alone;       /* by record: why it cannot be run at all */
  sm_reason *cut;         /* by root: why it is more than one kernel */
  edge *edges;
  size_t n_edges;
  int offers;              /* of clusters to be joined that are left: the search is bounded by a count */
  uint32_t *list;          /* scratch: records of a candidate */
  uint32_t *value_scratch; /* for sm_candidate */
  uint64_t *contract_scratch;
  uint64_t *guest_scratch;
  uint32_t *with_guests;
} search;

static uint64_t *members_of(const search *s, uint32_t root) { return s->members + root * s->graph.words; }

/* --- Candidates --------------------------------------------------------------------- */

static int list_bits(const uint64_t *set, size_t words, uint32_t *list) {
  int n = 0;
  for (size_t w = 0; w < words; w++) {
    for (uint64_t left = set[w]; left; left &= left - 1) {
      list[n++] = (uint32_t)(64 * w) + (uint32_t)__builtin_ctzll(left);
    }
  }
  return n;
}

static int list_members(const search *s, const uint64_t *members) {
  return list_bits(members, s->graph.words, s->list);
}

static void add_guests_of(const search *s, uint32_t op) {
  const sm_op *record = &s->graph.segment->ops.items[op];
  for (int k = 0; k < record->n_operands; k++) {
    if (record->operands[k].is_scalar) continue;
    int32_t producer = s->graph.segment->values.items[record->operands[k].use.value].producer;
    if (producer == SM_NO_OP || !s->graph.dissolved[producer]) continue;
    sm_bitset_add(s->guest_scratch, (size_t)producer);
    add_guests_of(s, (uint32_t)producer);
  }
}

/* The records with their guests, ascending. Valid until the next call. */
static const uint32_t *add_guests(const search *s, const uint32_t *ops, int *n_ops) {
  int n = *n_ops;
  if (!s->graph.any_dissolved) return ops;
  memset(s->guest_scratch, 0, s->graph.words * sizeof *s->guest_scratch);
  for (int i = 0; i < n; i++) {
    sm_bitset_add(s->guest_scratch, ops[i]);
    add_guests_of(s, ops[i]);
  }
  *n_ops = list_bits(s->guest_scratch, s->graph.words, s->with_guests);
  return s->with_guests;
}

static sm_fit fit_list(const search *s, const sm_fuser *fuser, const uint32_t *ops, int n,
                       const sm_limits *limits) {
  ops = add_guests(s, ops, &n);
  sm_candidate candidate = {.segment = s->graph.segment,
                            .ops = ops,
                            .n_ops = n,
                            .uses = s->graph.uses,
                            .guest = s->graph.dissolved,
                            .scratch = s->value_scratch};
  return fuser->fit(&candidate, limits);
}

/* Clusters with an anchor are never cut: for them the limit on records holds. */
static sm_fit fit_union(const search *s, const sm_fuser *fuser, uint32_t a, uint32_t b, sm_limits limits) {
  if (!fuser->anchor) limits.max_ops = INT_MAX;
  uint64_t *both = s->contract_scratch;
  memcpy(both, members_of(s, a), s->graph.words * sizeof *both);
  sm_bitset_union(both, members_of(s, b), s->graph.words);
  int n = list_members(s, both);
  return fit_list(s, fuser, s->list, n, &limits);
}

static bool has_anchor(const search *s, uint32_t root) { return s->fuser[root] && s->fuser[root]->anchor; }

/* --- Merging -------------------------------------------------------------------------- */

static void merge(search *s, uint32_t a, uint32_t b, const sm_fuser *fuser, int bindings) {
  uint32_t root = a < b ? a : b, gone = a < b ? b : a;
  sm_graph_contract(&s->graph, a, b, s->contract_scratch);
  for (uint32_t op = 0; op < s->graph.n_ops; op++) {
    if (s->root[op] == gone) s->root[op] = root;
  }
  sm_bitset_union(members_of(s, root), members_of(s, gone), s->graph.words);
  s->fuser[root] = fuser;
  s->n_members[root] += s->n_members[gone];
  s->n_members[gone] = 0;
  s->bindings[root] = bindings;
}

/* Whose a cluster of both would be: of two different fusers the anchor's, of two anchors
 * the wider one's. NULL with a reason if it would be nobody's. */
static const sm_fuser *joint_fuser(const search *s, uint32_t a, uint32_t b, sm_reason *reason) {
  const sm_fuser *x = s->fuser[a], *y = s->fuser[b];
  *reason = SM_REASON_VARIANT;
  if (!x || !y) return NULL;
  if (x->apart || y->apart) *reason = x->apart ? x->apart : y->apart;
  if (x->apart || y->apart) return NULL;
  if (x == y || y->wider == x) return x;
  if (x->wider == y) return y;
  if (x->anchor == y->anchor) return NULL;
  return x->anchor ? x : y;
}

/* Makes one cluster of a and b, or says why they cannot be one, cheapest question first. */
static sm_fit try_merge(search *s, uint32_t a, uint32_t b) {
  sm_reason reason;
  if (!s->options->fusion) return (sm_fit){.reason = SM_REASON_FUSION_OFF};
  const sm_fuser *fuser = joint_fuser(s, a, b, &reason);
  if (!fuser) return (sm_fit){.reason = reason};
  if (!sm_graph_convex(&s->graph, a, b, members_of(s, a), members_of(s, b))) {
    return (sm_fit){.reason = SM_REASON_PATH};
  }
  sm_fit fit = fit_union(s, fuser, a, b, s->options->limits);
  while (fit.reason != SM_REASON_NONE && fuser->wider) {
    fuser = fuser->wider;
    fit = fit_union(s, fuser, a, b, s->options->limits);
  }
  if (fit.reason == SM_REASON_NONE) merge(s, a, b, fuser, fit.bindings);
  return fit;
}

static void refuse(search *s, uint32_t producer, uint32_t consumer, sm_fit fit) {
  s->plan->refusals[s->plan->n_refusals++] = (sm_refusal){producer, consumer, fit.reason, fit.bindings};
}

/* Refusals whose records came together by other edges. */
static void forget_healed(sm_plan *plan, const uint32_t *root) {
  int kept = 0;
  for (int i = 0; i < plan->n_refusals; i++) {
    const sm_refusal *r = &plan->refusals[i];
    if (root[r->producer] != root[r->consumer]) plan->refusals[kept++] = *r;
  }
  plan->n_refusals = kept;
}

/* One round in which clusters with an anchor are offered their neighbours. */
static bool grow_once(search *s) {
  bool grown = false;
  for (size_t i = 0; i < s->n_edges; i++) {
    uint32_t a = s->root[s->edges[i].producer], b = s->root[s->edges[i].consumer];
    if (a == b || !(has_anchor(s, a) || has_anchor(s, b))) continue;
    grown = try_merge(s, a, b).reason == SM_REASON_NONE || grown;
  }
  return grown;
}

/* Anchors come first, as long as they find something, but no more than so often. */
static void grow_anchors(search *s) {
  enum { MOST_ROUNDS = 32 };
  bool grown = s->options->fusion;
  for (int round = 0; grown && round < MOST_ROUNDS; round++) grown = grow_once(s);
}

/* Clusters that become too long are cut when all are known (plan/cut.h). */
static void contract_edges(search *s) {
  for (size_t i = 0; i < s->n_edges; i++) {
    const edge *e = &s->edges[i];
    uint32_t a = s->root[e->producer], b = s->root[e->consumer];
    if (a == b) continue;
    sm_fit fit = try_merge(s, a, b);
    if (fit.reason != SM_REASON_NONE) refuse(s, e->producer, e->consumer, fit);
  }
  forget_healed(s->plan, s->root);
}

/* --- Clusters done again in their readers -------------------------------------------------- */

/* Whether an edge leads from cluster `root` to another one. */
static bool leads_out(const search *s, const edge *e, uint32_t root) {
  return s->root[e->producer] == root && s->root[e->consumer] != root;
}

/* Notes what those who read the cluster's results would do; false if one cannot. */
static bool look_at_readers(search *s, uint32_t root, sm_recomputed *what) {
  uint64_t *seen = s->contract_scratch;
  memset(seen, 0, s->graph.words * sizeof *seen);
  for (size_t i = 0; i < s->n_edges; i++) {
    const edge *e = &s->edges[i];
    if (!leads_out(s, e, root)) continue;
    uint32_t reader = s->root[e->consumer];
    if (s->fuser[reader] != s->fuser[root] || !sm_recompute_reads(what, e->producer, e->consumer))
      return false;
    what->readers += !sm_bitset_has(seen, reader);
    sm_bitset_add(seen, reader);
  }
  return true;
}

/* Whether each reader is a kernel with the cluster's records as its guests; notes what it
 * binds then. */
static bool readers_fit(search *s, uint32_t root) {
  sm_limits any_length = s->options->limits;
  any_length.max_ops = INT_MAX;
  for (size_t i = 0; i < s->n_edges; i++) {
    if (!leads_out(s, &s->edges[i], root)) continue;
    uint32_t reader = s->root[s->edges[i].consumer];
    int n = list_members(s, members_of(s, reader));
    sm_fit fit = fit_list(s, s->fuser[reader], s->list, n, &any_length);
    if (fit.reason != SM_REASON_NONE) return false;
    s->bindings[reader] = fit.bindings;
  }
  return true;
}

/* The cluster is none any more. Its records have a root that no cluster has. */
static void give_up_cluster(search *s, uint32_t root) {
  size_t kept = 0;
  sm_graph_leave_out(&s->graph, members_of(s, root));
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

static bool try_recomputing(search *s, uint32_t root) {
  sm_recomputed what = {.segment = s->graph.segment};
  if (s->n_members[root] > SM_RECOMPUTED_OPS || !s->fuser[root] || s->fuser[root]->apart ||
      has_anchor(s, root))
    return false;
  what.n_ops = list_members(s, members_of(s, root));
  memcpy(what.ops, s->list, (size_t)what.n_ops * sizeof *what.ops);
  if (!sm_recompute_allowed(&what) || !look_at_readers(s, root, &what) || !sm_recompute_pays(&what))
    return false;
  sm_graph_dissolve(&s->graph, what.ops, what.n_ops, true);
  if (readers_fit(s, root)) return true;
  sm_graph_dissolve(&s->graph, what.ops, what.n_ops, false);
  return false;
}

/* Later clusters first: what reads a guest is no guest. */
static void recompute_clusters(search *s) {
  if (!s->options->fusion) return;
  for (uint32_t root = s->graph.n_ops; root-- > 0;) {
    if (s->n_members[root] && try_recomputing(s, root)) give_up_cluster(s, root);
  }
}

/* --- Joining independent clusters --------------------------------------------------------- */

static bool independent(const search *s, uint32_t a, uint32_t b) {
  return !sm_bitset_has(sm_graph_below(&s->graph, a), b) && !sm_bitset_has(sm_graph_below(&s->graph, b), a);
}

/* Joins every cluster that starts after `root` and may. */
static void join_into(search *s, uint32_t root) {
  for (uint32_t op = root + 1; op < s->graph.n_ops; op++) {
    if (s->root[op] != op || !s->n_members[op] || !independent(s, root, op)) continue;
    if (s->n_members[root] + s->n_members[op] > s->options->limits.max_ops) continue;
    if (s->offers-- <= 0) return;
    (void)try_merge(s, root, op);
  }
}

static void join_independent(search *s) {
  if (!s->options->fusion) return;
  s->offers = OFFERS * (int)s->graph.n_ops;
  for (uint32_t op = 0; op < s->graph.n_ops; op++) {
    if (s->graph.needed[op] && s->root[op] == op) join_into(s, op);
  }
}

/* --- Setting up ------------------------------------------------------------------------------ */

static int by_weight(const void *left, const void *right) {
  const edge *a = left, *b = right;
  if (a->bytes != b->bytes) return a->bytes > b->bytes ? -1 : 1;
  if (a->reads != b->reads) return a->reads > b->reads ? -1 : 1;
  if (a->consumer != b->consumer) return a->consumer < b->consumer ? -1 : 1;
  return a->producer < b->producer ? -1 : a->producer > b->producer;
}

/* Whether an operand before the k-th is the same value. */
static bool used_before(const sm_op *record, int k) {
  for (int i = 0; i < k; i++) {
    const sm_operand *o = &record->operands[i];
    if (!o->is_scalar && o->use.value == record->operands[k].use.value) return true;
  }
  return false;
}

/* From the producers of a record's operands, or of those of its guest `of`, which has one
 * tensor operand at most. */
static void collect_edges_of(search *s, uint32_t op, uint32_t of) {
  const sm_segment *seg = s->graph.segment;
  const sm_op *record = &seg->ops.items[of];
  for (int k = 0; k < record->n_operands; k++) {
    if (record->operands[k].is_scalar) continue;
    uint32_t v = record->operands[k].use.value;
    const sm_value *value = &seg->values.items[v];
    if (value->producer == SM_NO_OP || used_before(record, k)) continue;
    if (s->graph.dissolved[value->producer]) {
      collect_edges_of(s, op, (uint32_t)value->producer);
      continue;
    }
    s->edges[s->n_edges++] =
        (edge){(uint32_t)value->producer, op, sm_shape_bytes(&value->shape, value->dtype), s->graph.uses[v]};
  }
}

static size_t count_operands(const sm_segment *seg) {
  size_t n = 0;
  for (size_t i = 0; i < seg->ops.len; i++) n += seg->ops.items[i].n_operands;
  return n;
}

static bool allocate(search *s) {
  sm_arena *arena = s->scratch, *kept = &s->plan->arena;
  size_t n = s->graph.n_ops, words = s->graph.words, n_values = s->graph.segment->values.len;
  size_t n_edges = count_operands(s->graph.segment);
  s->root = sm_arena_zalloc(arena, n, sizeof *s->root);
  s->members = sm_arena_zalloc(arena, n * words, sizeof *s->members);
  s->n_members = sm_arena_zalloc(arena, n, sizeof *s->n_members);
  s->bindings = sm_arena_zalloc(arena, n, sizeof *s->bindings);
  s->alone = sm_arena_zalloc(arena, n, sizeof *s->alone);
  s->cut = sm_arena_zalloc(arena, n, sizeof *s->cut);
  s->edges = sm_arena_zalloc(arena, n_edges, sizeof *s->edges);
  s->list = sm_arena_zalloc(arena, n, sizeof *s->list);
  s->value_scratch = sm_arena_zalloc(arena, n_values, sizeof *s->value_scratch);
  s->guest_scratch = sm_arena_zalloc(arena, words, sizeof *s->guest_scratch);
  s->with_guests = sm_arena_zalloc(arena, n, sizeof *s->with_guests);
  s->contract_scratch = sm_arena_zalloc(arena, 2 * words, sizeof *s->contract_scratch);
  s->plan->refusals = sm_arena_zalloc(kept, n_edges, sizeof *s->plan->refusals);
  s->plan->cluster_of = sm_arena_zalloc(kept, n, sizeof *s->plan->cluster_of);
  s->plan->last_reader = sm_arena_zalloc(kept, n_values, sizeof *s->plan->last_reader);
  s->plan->written = sm_arena_zalloc(kept, n_values, sizeof *s->plan->written);
  return s->root && s->members && s->n_members && s->bindings && s->alone && s->cut && s->edges && s->list &&
         s->value_scratch && s->contract_scratch && s->guest_scratch && s->with_guests && s->plan->refusals &&
         s->plan->cluster_of && s->plan->last_reader && s->plan->written;
}

const sm_fuser *sm_plan_fuser_of(const sm_plan_options *options, const sm_segment *segment,
                                 const sm_op *record) {
  for (const sm_fuser *const *f = options->fusers; *f; f++) {
    if ((*f)->available && (*f)->accept(segment, record) == SM_REASON_NONE) return *f;
  }
  return NULL;
}

static bool choose_fusers(search *s, const sm_segment *segment) {
  s->fuser = sm_arena_zalloc(s->scratch, segment->ops.len, sizeof *s->fuser);
  for (size_t op = 0; s->fuser && op < segment->ops.len; op++)
    s->fuser[op] = sm_plan_fuser_of(s->options, segment, &segment->ops.items[op]);
  return s->fuser != NULL;
}

/* A cluster for every needed record; the limits hold for the first one too. A
 * record that cannot be run stays a cluster without a fuser. */
static void start_clusters(search *s) {
  for (uint32_t op = 0; op < s->graph.n_ops; op++) {
    if (!s->graph.needed[op]) continue;
    s->root[op] = op;
    sm_bitset_add(members_of(s, op), op);
    s->n_members[op] = 1;
    sm_fit fit = {.reason = SM_REASON_VARIANT};
    if (s->fuser[op]) fit = fit_list(s, s->fuser[op], &op, 1, &s->options->limits);
    if (fit.reason != SM_REASON_NONE) s->fuser[op] = NULL;
    s->bindings[op] = fit.bindings;
    s->alone[op] = fit.reason;
    collect_edges_of(s, op, op);
  }
  qsort(s->edges, s->n_edges, sizeof *s->edges, by_weight);
}

/* --- The result ---------------------------------------------------------------------------------- */

/* Whether all clusters above `root` have been emitted. */
static bool ready(const search *s, uint32_t root, const uint64_t *emitted) {
  const uint64_t *above = sm_graph_above(&s->graph, root), *own = members_of(s, root);
  for (size_t w = 0; w < s->graph.words; w++) {
    if (above[w] & ~(emitted[w] | own[w])) return false;
  }
  return true;
}

/* Operands of the records, of their guests in the place of what those make. */
static void count_uses(const search *s, const uint32_t *ops, int n, uint32_t *uses) {
  for (int i = 0; i < n; i++) {
    if (!s->graph.dissolved[ops[i]]) sm_graph_count_uses(&s->graph, ops[i], uses);
  }
}

/* Results that live on, or that other clusters read, are stored. */
static void mark_written(search *s, const sm_cluster *c) {
  const sm_segment *seg = s->graph.segment;
  uint32_t *inside = s->value_scratch; /* uses within the cluster */
  count_uses(s, c->ops, c->n_ops, inside);
  for (int i = 0; i < c->n_ops; i++) {
    uint32_t out = seg->ops.items[c->ops[i]].out;
    s->plan->written[out] = seg->values.items[out].live || s->graph.uses[out] > inside[out];
  }
  memset(inside, 0, seg->values.len * sizeof *inside);
}

static void mark_reads(search *s, const sm_cluster *c) {
  for (int i = 0; i < c->n_ops; i++) {
    const sm_op *record = &s->graph.segment->ops.items[c->ops[i]];
    s->plan->cluster_of[c->ops[i]] = (uint32_t)s->plan->n_clusters;
    for (int k = 0; k < record->n_operands; k++) {
      if (record->operands[k].is_scalar) continue;
      s->plan->last_reader[record->operands[k].use.value] = (uint32_t)s->plan->n_clusters;
    }
  }
}

static bool add_cluster(search *s, uint32_t root, const uint32_t *ops, int n, int bindings) {
  sm_plan *plan = s->plan;
  sm_cluster *c = &plan->clusters[plan->n_clusters];
  *c = (sm_cluster){.fuser = s->fuser[root], .bindings = bindings};
  if (!c->fuser) c->refused = s->alone[root];
  c->n_ops = n;
  ops = add_guests(s, ops, &c->n_ops);
  c->n_guests = c->n_ops - n;
  c->ops = sm_arena_copy(&plan->arena, ops, (size_t)c->n_ops * sizeof *ops);
  if (!c->ops) return false;
  mark_written(s, c);
  mark_reads(s, c);
  plan->n_clusters++;
  return true;
}

/* Which results of the list are wanted outside of it. */
static const bool *find_escapes(const search *s, const uint32_t *ops, int n) {
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
static bool emit_piece(search *s, uint32_t root, const sm_cut *cut, int *taken) {
  sm_limits any_length = *cut->limits;
  any_length.max_ops = INT_MAX;
  sm_piece piece;
  if (!sm_cut_find(cut, s->scratch, &piece)) return false;
  sm_fit fit = fit_list(s, s->fuser[root], cut->ops, piece.n_ops, &any_length);
  while (fit.reason != SM_REASON_NONE && piece.n_ops > 1) {
    sm_cut_shorten(&piece);
    fit = fit_list(s, s->fuser[root], cut->ops, piece.n_ops, &any_length);
  }
  *taken = piece.n_ops;
  if (piece.n_ops < cut->n_ops) s->cut[root] = piece.reason;
  return add_cluster(s, root, cut->ops, piece.n_ops, fit.bindings);
}

/* Whether a cluster can be cut at all. */
static bool is_whole(const search *s, uint32_t root, int n) {
  bool shorter = n <= s->options->limits.max_ops && (n < SM_CUT_PERIODS || s->options->limits.exact);
  return shorter || !s->fuser[root] || s->fuser[root]->anchor;
}

/* Records of a cluster ascend, so whatever part of it comes first can run first. */
static bool emit_cluster(search *s, uint32_t root) {
  int n = list_members(s, members_of(s, root));
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
static void refuse_cut_edges(search *s) {
  for (size_t i = 0; i < s->n_edges; i++) {
    const edge *e = &s->edges[i];
    bool together = s->root[e->producer] == s->root[e->consumer];
    if (together && s->plan->cluster_of[e->producer] != s->plan->cluster_of[e->consumer])
      refuse(s, e->producer, e->consumer,
             (sm_fit){s->cut[s->root[e->producer]], s->bindings[s->root[e->producer]]});
  }
}

/* The cluster that value `v` dies in, or SM_NO_CLUSTER. */
static uint32_t dies_in(const search *s, uint32_t v) {
  return s->graph.segment->values.items[v].live ? SM_NO_CLUSTER : s->plan->last_reader[v];
}

/* Once all clusters are known, and so who reads what last. */
static bool list_dying(search *s) {
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
static uint32_t next_ready(const search *s, const uint64_t *emitted) {
  for (uint32_t op = 0; op < s->graph.n_ops; op++) {
    bool open = s->n_members[op] > 0 && !sm_bitset_has(emitted, op);
    if (open && ready(s, op, emitted)) return op;
  }
  return s->graph.n_ops;
}

static smelt_status order_clusters(search *s, smelt_error *err) {
  size_t n = s->graph.n_ops;
  uint64_t *emitted = sm_arena_zalloc(s->scratch, s->graph.words, sizeof *emitted);
  s->plan->clusters = sm_arena_zalloc(&s->plan->arena, n, sizeof *s->plan->clusters);
  if (!emitted || !s->plan->clusters) return sm_error_memory(err, "a plan");
  for (size_t v = 0; v < s->graph.segment->values.len; v++) s->plan->last_reader[v] = SM_NO_CLUSTER;
  for (size_t op = 0; op < n; op++) s->plan->cluster_of[op] = SM_NO_CLUSTER;
  for (uint32_t root; (root = next_ready(s, emitted)) < n;) {
    sm_bitset_union(emitted, members_of(s, root), s->graph.words);
    if (!emit_cluster(s, root)) return sm_error_memory(err, "a plan");
  }
  refuse_cut_edges(s);
  return list_dying(s) ? SMELT_OK : sm_error_memory(err, "a plan");
}

static smelt_status find_plan(search *s, const sm_segment *segment, smelt_error *err) {
  if (!choose_fusers(s, segment) ||
      !sm_graph_build(&s->graph, segment, s->fuser, s->options->fusion, s->scratch) || !allocate(s))
    return sm_error_memory(err, "a plan");
  start_clusters(s);
  grow_anchors(s);
  contract_edges(s);
  recompute_clusters(s);
  join_independent(s);
  return order_clusters(s, err);
}

smelt_status sm_plan_make(const sm_segment *segment, const sm_plan_options *options,
                          const sm_allocator *allocator, sm_plan *out, smelt_error *err) {
  memset(out, 0, sizeof *out);
  sm_arena_init(&out->arena, allocator);
  sm_arena scratch;
  sm_arena_init(&scratch, allocator);
  search s = {.options = options, .scratch = &scratch, .plan = out};
  smelt_status status = find_plan(&s, segment, err);
  sm_arena_free(&scratch);
  return status;
}

void sm_plan_free(sm_plan *plan) { sm_arena_free(&plan->arena); }

smelt_status sm_plan_explain(const sm_segment *segment, const sm_cluster *cluster, const sm_limits *limits,
                             smelt_error *err) {
  const char *name = segment->ops.items[cluster->ops[0]].row->name;
  if (cluster->refused == SM_REASON_VARIANT) {
    return sm_error_set(err, SMELT_ERR_UNSUPPORTED, "%s: no fuser takes this operation", name);
  }
  return sm_error_set(err, SMELT_ERR_LIMIT, "%s alone exceeds a limit: %s (est_bindings=%d/%d)", name,
                      sm_reason_sentence(cluster->refused), cluster->bindings, limits->max_bindings);
}
