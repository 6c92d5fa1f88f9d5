/* SPDX-License-Identifier: Apache-2.0
 *
 * The search for clusters. */
#include "plan/plan.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "plan/plan_search.h"

enum { OFFERS = 32 /* a record */ };

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

int sm_search_list(const sm_search *s, const uint64_t *members) {
  return list_bits(members, s->graph.words, s->list);
}

static void add_guests_of(const sm_search *s, uint32_t op) {
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
const uint32_t *sm_search_add_guests(const sm_search *s, const uint32_t *ops, int *n_ops) {
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

sm_fit sm_search_fit(const sm_search *s, const sm_fuser *fuser, const uint32_t *ops, int n,
                     const sm_limits *limits) {
  ops = sm_search_add_guests(s, ops, &n);
  sm_candidate candidate = {.segment = s->graph.segment,
                            .ops = ops,
                            .n_ops = n,
                            .uses = s->graph.uses,
                            .guest = s->graph.dissolved,
                            .scratch = s->value_scratch};
  return fuser->fit(&candidate, limits);
}

/* Clusters with an anchor are never cut: for them the limit on records holds. */
static sm_fit fit_union(const sm_search *s, const sm_fuser *fuser, uint32_t a, uint32_t b, sm_limits limits) {
  if (!fuser->anchor) limits.max_ops = INT_MAX;
  uint64_t *both = s->contract_scratch;
  memcpy(both, sm_search_members(s, a), s->graph.words * sizeof *both);
  sm_bitset_union(both, sm_search_members(s, b), s->graph.words);
  int n = sm_search_list(s, both);
  return sm_search_fit(s, fuser, s->list, n, &limits);
}

/* --- Merging -------------------------------------------------------------------------- */

static void merge(sm_search *s, uint32_t a, uint32_t b, const sm_fuser *fuser, int bindings) {
  uint32_t root = a < b ? a : b, gone = a < b ? b : a;
  sm_graph_contract(&s->graph, a, b, s->contract_scratch);
  for (uint32_t op = 0; op < s->graph.n_ops; op++) {
    if (s->root[op] == gone) s->root[op] = root;
  }
  sm_bitset_union(sm_search_members(s, root), sm_search_members(s, gone), s->graph.words);
  s->fuser[root] = fuser;
  s->n_members[root] += s->n_members[gone];
  s->n_members[gone] = 0;
  s->bindings[root] = bindings;
}

/* Whose a cluster of both would be: of two different fusers the anchor's, of two anchors
 * the wider one's. NULL with a reason if it would be nobody's. */
static const sm_fuser *joint_fuser(const sm_search *s, uint32_t a, uint32_t b, sm_reason *reason) {
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
static sm_fit try_merge(sm_search *s, uint32_t a, uint32_t b) {
  sm_reason reason;
  if (!s->options->fusion) return (sm_fit){.reason = SM_REASON_FUSION_OFF};
  const sm_fuser *fuser = joint_fuser(s, a, b, &reason);
  if (!fuser) return (sm_fit){.reason = reason};
  if (!sm_graph_convex(&s->graph, a, b, sm_search_members(s, a), sm_search_members(s, b))) {
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

void sm_search_refuse(sm_search *s, uint32_t producer, uint32_t consumer, sm_fit fit) {
  int limit = fit.bindings ? s->options->limits.max_bindings : 0;
  s->plan->refusals[s->plan->n_refusals++] =
      (sm_refusal){producer, consumer, fit.reason, fit.bindings, limit};
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
static bool grow_once(sm_search *s) {
  bool grown = false;
  for (size_t i = 0; i < s->n_edges; i++) {
    uint32_t a = s->root[s->edges[i].producer], b = s->root[s->edges[i].consumer];
    if (a == b || !(sm_search_has_anchor(s, a) || sm_search_has_anchor(s, b))) continue;
    grown = try_merge(s, a, b).reason == SM_REASON_NONE || grown;
  }
  return grown;
}

/* Anchors come first, as long as they find something, but no more than so often. */
static void grow_anchors(sm_search *s) {
  enum { MOST_ROUNDS = 32 };
  bool grown = s->options->fusion;
  for (int round = 0; grown && round < MOST_ROUNDS; round++) grown = grow_once(s);
}

/* Clusters that become too long are cut when all are known (plan/cut.h). */
static void contract_edges(sm_search *s) {
  for (size_t i = 0; i < s->n_edges; i++) {
    const sm_edge *e = &s->edges[i];
    uint32_t a = s->root[e->producer], b = s->root[e->consumer];
    if (a == b) continue;
    sm_fit fit = try_merge(s, a, b);
    if (fit.reason != SM_REASON_NONE) sm_search_refuse(s, e->producer, e->consumer, fit);
  }
  forget_healed(s->plan, s->root);
}

/* --- Joining independent clusters --------------------------------------------------------- */

static bool independent(const sm_search *s, uint32_t a, uint32_t b) {
  return !sm_bitset_has(sm_graph_below(&s->graph, a), b) && !sm_bitset_has(sm_graph_below(&s->graph, b), a);
}

/* Joins every cluster that starts after `root` and may. */
static void join_into(sm_search *s, uint32_t root) {
  for (uint32_t op = root + 1; op < s->graph.n_ops; op++) {
    if (s->root[op] != op || !s->n_members[op] || !independent(s, root, op)) continue;
    if (s->n_members[root] + s->n_members[op] > s->options->limits.max_ops) continue;
    if (s->offers-- <= 0) return;
    (void)try_merge(s, root, op);
  }
}

static void join_independent(sm_search *s) {
  if (!s->options->fusion) return;
  s->offers = OFFERS * (int)s->graph.n_ops;
  for (uint32_t op = 0; op < s->graph.n_ops; op++) {
    if (s->graph.needed[op] && s->root[op] == op) join_into(s, op);
  }
}

/* --- Setting up ------------------------------------------------------------------------------ */

static int by_weight(const void *left, const void *right) {
  const sm_edge *a = left, *b = right;
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
static void collect_edges_of(sm_search *s, uint32_t op, uint32_t of) {
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
    s->edges[s->n_edges++] = (sm_edge){(uint32_t)value->producer, op,
                                       sm_shape_bytes(&value->shape, value->dtype), s->graph.uses[v]};
  }
}

static size_t count_operands(const sm_segment *seg) {
  size_t n = 0;
  for (size_t i = 0; i < seg->ops.len; i++) n += seg->ops.items[i].n_operands;
  return n;
}

static bool allocate(sm_search *s) {
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
  s->contract_scratch = sm_arena_zalloc(arena, SM_CONTRACT_SETS * words, sizeof *s->contract_scratch);
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

static bool choose_fusers(sm_search *s, const sm_segment *segment) {
  s->fuser = sm_arena_zalloc(s->scratch, segment->ops.len, sizeof *s->fuser);
  for (size_t op = 0; s->fuser && op < segment->ops.len; op++)
    s->fuser[op] = sm_plan_fuser_of(s->options, segment, &segment->ops.items[op]);
  return s->fuser != NULL;
}

/* A cluster for every needed record; the limits hold for the first one too. A
 * record that cannot be run stays a cluster without a fuser. */
static void start_clusters(sm_search *s) {
  for (uint32_t op = 0; op < s->graph.n_ops; op++) {
    if (!s->graph.needed[op]) continue;
    s->root[op] = op;
    sm_bitset_add(sm_search_members(s, op), op);
    s->n_members[op] = 1;
    sm_fit fit = {.reason = SM_REASON_VARIANT};
    if (s->fuser[op]) fit = sm_search_fit(s, s->fuser[op], &op, 1, &s->options->limits);
    if (fit.reason != SM_REASON_NONE) s->fuser[op] = NULL;
    s->bindings[op] = fit.bindings;
    s->alone[op] = fit.reason;
    collect_edges_of(s, op, op);
  }
  qsort(s->edges, s->n_edges, sizeof *s->edges, by_weight);
}

static smelt_status find_plan(sm_search *s, const sm_segment *segment, smelt_error *err) {
  if (!choose_fusers(s, segment) ||
      !sm_graph_build(&s->graph, segment, s->fuser, s->options->fusion, s->scratch) || !allocate(s))
    return sm_error_memory(err, "a plan");
  start_clusters(s);
  grow_anchors(s);
  contract_edges(s);
  sm_search_recompute(s);
  join_independent(s);
  return sm_search_emit(s, err);
}

smelt_status sm_plan_make(const sm_segment *segment, const sm_plan_options *options,
                          const sm_allocator *allocator, sm_plan *out, smelt_error *err) {
  memset(out, 0, sizeof *out);
  sm_arena_init(&out->arena, allocator);
  sm_arena scratch;
  sm_arena_init(&scratch, allocator);
  sm_search s = {.options = options, .scratch = &scratch, .plan = out};
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
