/* SPDX-License-Identifier: Apache-2.0
 *
 * Planning: from a segment to kernels, as clusters of operations.
 *
 * Vocabulary. The *graph* has the segment's needed records as nodes and their
 * values as edges. A *cluster* is a set of records that one fuser turns into
 * one kernel. Contracting an edge merges two clusters. A cluster is *convex*
 * if no path between two of its records leaves it; only convex clusters can be
 * run one after another.
 *
 * The search. Dead records are removed; some dissolve into their readers
 * (plan/dissolve.h), and later some clusters do (plan/recompute.c). Every other record starts as a cluster of
 * its own. Clusters with an *anchor* (a reduction, a product) are offered their neighbours first, as long as
 * they take some. Edges are then contracted greedily: larger carried tensors first, then those that save more
 * reads, then by operation index; an edge is refused with a reason if the fuser's limits, the shapes or
 * convexity forbid it. Afterwards independent clusters of one shape join in operation order. Clusters that
 * are too long for one kernel are cut (plan/cut.h). With fusion off nothing is merged. Finally clusters are
 * ordered topologically, ties by lowest operation index; this order is the execution order.
 *
 * A plan is a pure function of the segment's relative form and size order
 * (ir/relative.h), the fusers and the limits, and serves every such segment. */
#ifndef SM_PLAN_PLAN_H
#define SM_PLAN_PLAN_H

#include "plan/fuser.h"

typedef struct sm_cluster {
  const sm_fuser *fuser; /* NULL: a single record that cannot be run, for the reason `refused` */
  sm_reason refused;
  uint32_t *ops; /* ascending, guests (plan/dissolve.h) among them */
  int n_ops, n_guests;
  int bindings;    /* estimated */
  uint32_t *dying; /* values that it reads and nobody later, and that nobody wants */
  int n_dying;
} sm_cluster;

/* Two records that use a common value but are not in one kernel. */
typedef struct sm_refusal {
  uint32_t producer, consumer;
  sm_reason reason;
  int bindings, limit; /* where buffers were counted: how many, of how many; 0 */
} sm_refusal;

typedef struct sm_plan {
  sm_arena arena;
  sm_cluster *clusters; /* in execution order */
  int n_clusters;
  uint32_t *cluster_of;  /* by record: its cluster, SM_NO_CLUSTER if it is dead */
  uint32_t *last_reader; /* by value: the last cluster that reads it, SM_NO_CLUSTER */
  bool *written;         /* by value: its cluster stores it */
  sm_refusal *refusals;
  int n_refusals;
} sm_plan;

#define SM_NO_CLUSTER UINT32_MAX

typedef struct sm_plan_options {
  const sm_fuser *const *fusers; /* NULL-terminated, in order of preference */
  sm_limits limits;
  bool fusion;
} sm_plan_options;

/* The plan is the caller's to free, also on failure. ERR_MEMORY. */
smelt_status sm_plan_make(const sm_segment *segment, const sm_plan_options *options,
                          const sm_allocator *allocator, sm_plan *out, smelt_error *err);
void sm_plan_free(sm_plan *plan);

/* Whose a record is when it is alone; NULL: nobody's. */
const sm_fuser *sm_plan_fuser_of(const sm_plan_options *options, const sm_segment *segment,
                                 const sm_op *record);

/* Why a cluster without a fuser cannot be run: ERR_UNSUPPORTED or ERR_LIMIT. */
smelt_status sm_plan_explain(const sm_segment *segment, const sm_cluster *cluster, const sm_limits *limits,
                             smelt_error *err);

/* Bytes that a cluster reads from outside and writes for the outside, each value once. */
typedef struct sm_traffic {
  uint64_t read, written;
} sm_traffic;

sm_traffic sm_cluster_traffic(const sm_segment *segment, const sm_plan *plan, const sm_cluster *cluster);

/* One line a cluster: its fuser, operations, values read and written, bytes. */
void sm_plan_print(sm_text *text, const sm_segment *segment, const sm_plan *plan);
/* The same as a picture for Graphviz: "digraph segment {...}" (plan_dot.c). */
void sm_plan_print_dot(sm_text *text, const sm_segment *segment, const sm_plan *plan);
/* "[block] 3 op(s): NumericFloat(F32, Mul), NumericFloat(F32, Add), Float(F32, Exp)" */
void sm_plan_print_block(sm_text *text, const sm_segment *segment, const sm_cluster *cluster);
/* "[refuse] Float(F32, Exp) after NumericFloat(F32, Add): bindings (...) est_bindings=29/28" */
void sm_plan_print_refusal(sm_text *text, const sm_segment *segment, const sm_refusal *refusal);

#endif
