/* SPDX-License-Identifier: Apache-2.0
 *
 * The graph a plan is searched in: needed records, uses of values, and who
 * reaches whom, kept up to date while clusters are contracted. */
#ifndef SM_PLAN_PLAN_GRAPH_H
#define SM_PLAN_PLAN_GRAPH_H

#include "base/bitset.h"
#include "plan/fuser.h"

typedef struct sm_graph {
  const sm_segment *segment;
  uint32_t n_ops;
  size_t words;    /* of one bitset over records */
  bool *needed;    /* by record: it is in the graph */
  bool *dissolved; /* by record: it is not, but its readers use what it uses */
  bool any_dissolved;
  uint32_t *uses;  /* by value: operands of needed records */
  uint64_t *below; /* by record: the records it reaches, itself included */
  uint64_t *above; /* by record: the records that reach it, itself included */
} sm_graph;

/* `fuser` is by record; what dissolves does so if `dissolve` is set. Everything lives in
 * `arena`. False when memory is exhausted. */
bool sm_graph_build(sm_graph *g, const sm_segment *segment, const sm_fuser *const *fuser, bool dissolve,
                    sm_arena *arena);

static inline uint64_t *sm_graph_below(const sm_graph *g, uint32_t op) { return g->below + op * g->words; }
static inline uint64_t *sm_graph_above(const sm_graph *g, uint32_t op) { return g->above + op * g->words; }

/* Adds what a record uses, what its guests use in the place of what they make. */
void sm_graph_count_uses(const sm_graph *g, uint32_t op, uint32_t *uses);

/* Whether a path leads from one member of the merged set {a, b} to another
 * through a record outside. Both sets are closed: every member of a cluster has
 * the reachability of the whole cluster. */
bool sm_graph_convex(const sm_graph *g, uint32_t a, uint32_t b, const uint64_t *members_a,
                     const uint64_t *members_b);
/* Makes the members of both clusters reach and be reached alike. `scratch` has room for so
 * many sets. */
enum { SM_CONTRACT_SETS = 4 };
void sm_graph_contract(sm_graph *g, uint32_t a, uint32_t b, uint64_t *scratch);

/* Makes the needed records `ops` guests of their readers, or guests needed again. */
void sm_graph_dissolve(sm_graph *g, const uint32_t *ops, int n, bool dissolved);
/* Then forgets that others reach them, or are reached. */
void sm_graph_leave_out(sm_graph *g, const uint64_t *members);

#endif
