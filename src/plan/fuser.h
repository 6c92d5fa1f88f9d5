/* SPDX-License-Identifier: Apache-2.0
 *
 * The interface between the planner and fusers.
 *
 * A *fuser* knows how to turn one kind of cluster into one kernel. The planner
 * asks it two questions while it searches, and has it finish and run the
 * clusters that were found:
 *
 *   accept   is this operation yours?
 *   fit      may these operations together be a kernel of yours, and would they stay
 *            within the limits? An anchor is asked about operations of others too.
 *   finish   make a block (the fuser's own plain data) of a cluster
 *   run      run a block on buffers
 *   discard  free a block
 *
 * Fusers are constant tables without state; answers depend on their arguments
 * only. The planner owns this interface and knows no fuser by name. */
#ifndef SM_PLAN_FUSER_H
#define SM_PLAN_FUSER_H

#include "base/error.h"
#include "ir/op.h"

typedef enum sm_reason {
#define REASON(id, code, sentence) SM_REASON_##id,
#include "plan/reasons.def"
#undef REASON
  SM_REASON_COUNT
} sm_reason;

const char *sm_reason_code(sm_reason reason); /* "bindings" */
const char *sm_reason_sentence(sm_reason reason);

/* How a fuser lays out its elementwise kernels. Reductions do neither of the first two. */
typedef struct sm_fuser_settings {
  bool inplace;              /* results may be written over an input that nobody wants any more */
  bool choose_output_layout; /* results lie as most bytes of the inputs do; else they are row-major */
  bool vectorization;        /* else kernels take one element at a time */
} sm_fuser_settings;

typedef struct sm_limits {
  int max_ops;      /* records in a kernel, guests not counted */
  bool exact;       /* every one of them counts; otherwise what repeats counts once */
  int max_bindings; /* buffers a kernel may bind, metadata included */
} sm_limits;

/* What `fit` finds out about a candidate. */
typedef struct sm_fit {
  sm_reason reason;
  int bindings; /* estimated: inputs, outputs and one for metadata */
} sm_fit;

/* Operations of one segment, ascending, with the number of uses each value has
 * in the whole segment. */
typedef struct sm_candidate {
  const sm_segment *segment;
  const uint32_t *ops;
  int n_ops;
  const uint32_t *uses; /* by value: operands of needed records, guests in the place of what they serve */
  const bool *guest;    /* by record: it dissolves into its readers (plan/dissolve.h), whatever its shape */
  uint32_t *scratch;    /* one zeroed entry a value; left zeroed */
} sm_candidate;

typedef struct sm_buffer sm_buffer; /* the executor's */
typedef struct sm_fuser sm_fuser;

/* What a block is run on. `buffers` has one entry a value of the segment: inputs are
 * there, outputs are created. Nobody reads the values `dying` after this block, so
 * that outputs may take over their buffers. */
typedef struct sm_block_run {
  const sm_fuser *fuser; /* whose block it is: its name and settings hold */
  const sm_segment *segment;
  sm_buffer **buffers;
  const uint32_t *dying;
  int n_dying;
} sm_block_run;

struct sm_fuser {
  const char *name;
  bool available;        /* false: the name is reserved, nothing is accepted yet */
  bool anchor;           /* clusters of its records grow first and may take in records of others */
  const sm_fuser *wider; /* is asked about what this one refuses, and takes over its cluster; or NULL */
  sm_reason apart;       /* not NONE: its records run alone, without a kernel if that is possible */
  sm_fuser_settings settings;
  sm_reason (*accept)(const sm_segment *segment, const sm_op *op);
  sm_fit (*fit)(const sm_candidate *candidate, const sm_limits *limits);
  /* Makes the block; `written` says by value whether it is stored, NULL stores
   * every result; `mode` is what the block may do to results. `ops` outlives the
   * block; the block serves every segment with the same relative form. */
  smelt_status (*finish)(const sm_segment *segment, const uint32_t *ops, int n_ops, const bool *written,
                         smelt_mode mode, const sm_allocator *allocator, void **block, smelt_error *err);
  /* `env` is what the executor was made with. On failure no output is left. */
  smelt_status (*run)(void *env, void *block, const sm_block_run *run, smelt_error *err);
  void (*discard)(void *block, const sm_allocator *allocator);
};

/* Counts the buffers that kernels of these operations would bind: values read
 * from outside, values written because they are live or used outside. */
int sm_candidate_buffers(const sm_candidate *candidate);
/* Counts the records that are no guests. */
int sm_candidate_records(const sm_candidate *candidate);
/* Whether the candidate is within the limits, if its kernel binds `others` beside what
 * sm_candidate_buffers counts and one for metadata. */
sm_fit sm_candidate_fit(const sm_candidate *candidate, const sm_limits *limits, int others);

#endif
