/* SPDX-License-Identifier: Apache-2.0
 *
 * The state of a search for a plan, for its parts: plan.c merges clusters, recompute.c
 * gives some up to their readers, plan_emit.c orders, cuts and writes down what is left.
 *
 * While the search runs, a cluster is named by its first record (`root`), and its members
 * are a bitset. */
#ifndef SM_PLAN_PLAN_SEARCH_H
#define SM_PLAN_PLAN_SEARCH_H

#include "plan/plan.h"
#include "plan/plan_graph.h"

typedef struct sm_edge {
  uint32_t producer, consumer;
  int64_t bytes;  /* of the carried tensor */
  uint32_t reads; /* of the carried tensor in the segment */
} sm_edge;

typedef struct sm_search {
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
  sm_edge *edges;
  size_t n_edges;
  int offers;              /* of clusters to be joined that are left: the search is bounded by a count */
  uint32_t *list;          /* scratch: records of a candidate */
  uint32_t *value_scratch; /* for sm_candidate */
  uint64_t *contract_scratch;
  uint64_t *guest_scratch;
  uint32_t *with_guests;
} sm_search;

static inline uint64_t *sm_search_members(const sm_search *s, uint32_t root) {
  return s->members + root * s->graph.words;
}

static inline bool sm_search_has_anchor(const sm_search *s, uint32_t root) {
  return s->fuser[root] && s->fuser[root]->anchor;
}

/* Lists the members in s->list; how many is the answer. */
int sm_search_list(const sm_search *s, const uint64_t *members);
/* The records with their guests, ascending. Valid until the next call. */
const uint32_t *sm_search_add_guests(const sm_search *s, const uint32_t *ops, int *n_ops);
/* Whether the records, with their guests, may be a kernel of this fuser. */
sm_fit sm_search_fit(const sm_search *s, const sm_fuser *fuser, const uint32_t *ops, int n,
                     const sm_limits *limits);
void sm_search_refuse(sm_search *s, uint32_t producer, uint32_t consumer, sm_fit fit);

/* recompute.c: gives clusters up to their readers. */
void sm_search_recompute(sm_search *s);
/* plan_emit.c: from clusters to the plan. ERR_MEMORY. */
smelt_status sm_search_emit(sm_search *s, smelt_error *err);

#endif
