/* SPDX-License-Identifier: Apache-2.0
 *
 * What the builders of traces share.
 *
 * A *builder* makes one trace. Records are *lowered* to steps of a block: what is the same is
 * computed once (trace_steps.c), an operation is its element expression (trace_records.c),
 * what repeats is a loop (trace_loops.c), and reductions make two blocks (trace_reduce.c), in fewer
 * passes where that is allowed (trace_center.c). What is there can be edited (trace_edit.c).
 * Functions that answer a local answer SM_NO_LOCAL when memory is exhausted. */
#ifndef SM_TRACE_TRACE_BUILDER_H
#define SM_TRACE_TRACE_BUILDER_H

#include "base/error.h"
#include "ir/expr.h"
#include "plan/roll.h"
#include "trace/reduce_spaces.h"
#include "trace/trace.h"

enum { SM_STEP_BUCKETS = 256 };

/* The steps of a block by hash. */
typedef struct sm_known_steps {
  int32_t newest[SM_STEP_BUCKETS]; /* the newest step, or NO_LOCAL */
  sm_vec(int32_t) older;           /* by step: the one before it with that hash, or NO_LOCAL */
} sm_known_steps;

typedef struct sm_trace_builder {
  const sm_segment *segment;
  const sm_allocator *allocator;
  sm_trace *trace;
  sm_arena *scratch;
  int32_t *part;       /* by record position in trace->ops: representative of its part */
  uint32_t *part_ops;  /* the records of the part that is being lowered */
  int32_t *carry;      /* for the roll that is being lowered */
  int32_t *local_of;   /* by value: its local in the block of its producer */
  const bool *written; /* by value: it is stored; NULL: every result is */
  smelt_mode mode;
  sm_known_steps known[2]; /* of the block that is being built; of both blocks of a reduction */
  /* Of a reduction: */
  sm_reduce_records records;
  sm_reduce_space *spaces; /* by record position */
  sm_block *results;       /* the second block */
  bool centers;            /* squares of what elements differ from their mean need no pass of their own */
  int part_operand;        /* of a concatenation, the one that is lowered */
} sm_trace_builder;

static inline const sm_op *sm_trace_record_at(const sm_trace_builder *b, int32_t i) {
  return &b->segment->ops.items[b->trace->ops[i]];
}

/* A step without arguments. */
static inline sm_step sm_trace_make_leaf(sm_step_kind kind, smelt_dtype dtype, int32_t index) {
  return (sm_step){
      .kind = kind, .dtype = dtype, .index = index, .args = {SM_NO_LOCAL, SM_NO_LOCAL, SM_NO_LOCAL}};
}

static inline sm_step sm_trace_make_step(sm_step_kind kind, smelt_dtype dtype, int32_t a, int32_t b) {
  return (sm_step){.kind = kind, .dtype = dtype, .args = {a, b, SM_NO_LOCAL}};
}

static inline smelt_dtype sm_trace_dtype_of(const sm_block *block, int32_t local) {
  return block->steps.items[local].dtype;
}

static inline bool sm_trace_concatenates(const sm_op *op) { return op->row->shape == SM_SHAPE_CONCAT; }

static inline bool sm_trace_selects(const sm_op *op) {
  return op->row->class == SM_CLASS_SELECT && !sm_trace_concatenates(op);
}

/* The position of the record that defines `v` within the cluster, or -1. */
int32_t sm_trace_position_of(const sm_trace_builder *b, uint32_t v);

/* --- trace_steps.c ----------------------------------------------------------------------- */

/* A block begins. */
void sm_trace_forget_steps(sm_trace_builder *b);
int32_t sm_trace_push(sm_trace_builder *b, sm_block *block, sm_step step);
/* The local of an equal step, or of this one. */
int32_t sm_trace_share(sm_trace_builder *b, sm_block *block, sm_step step);
int32_t sm_trace_cast(sm_trace_builder *b, sm_block *block, int32_t local, smelt_dtype to);
/* The number of a value in a list, appended if it is new; -1 without memory. */
int32_t sm_trace_number_value(sm_trace_builder *b, sm_trace_values *list, const sm_trace_value *entry);
/* A value that follows no axis yet. */
sm_trace_value sm_trace_bound_value(const sm_segment *segment, uint32_t v);
/* Axes from `from` on follow those of the space, the first of them axis `to`. */
void sm_trace_follow(sm_trace_value *v, int from, int rank, int to);
/* Operand `k` of a record. */
int32_t sm_trace_read_tensor(sm_trace_builder *b, sm_block *block, const sm_op *op, int k);
int32_t sm_trace_read_scalar(sm_trace_builder *b, sm_block *block, const sm_op *op, int k);

/* --- trace_records.c --------------------------------------------------------------------- */

/* A record whose operands are there. */
typedef struct sm_trace_lowering {
  sm_trace_builder *b;
  sm_block *block;
  const sm_op *op;
  int32_t operands[SM_MAX_OPERANDS];
  int32_t steps[SM_EXPR_STEPS];
} sm_trace_lowering;

smelt_status sm_trace_lower_operation(sm_trace_lowering *l, smelt_error *err);
/* Stores a result that is wanted. */
bool sm_trace_write_result(sm_trace_builder *b, sm_block *block, uint32_t v);
/* All of a record. */
smelt_status sm_trace_lower_record(sm_trace_builder *b, sm_block *block, const sm_op *op, smelt_error *err);

/* --- trace_loops.c ------------------------------------------------------------------------ */

/* A roll that is being lowered: positions count in `ops`, the records of its part. */
typedef struct sm_trace_rolling {
  sm_trace_builder *b;
  sm_block *block;
  const uint32_t *ops;
  sm_roll roll;
  int32_t *carry; /* by place in the period: the CARRY of its result, or NO_LOCAL */
} sm_trace_rolling;

smelt_status sm_trace_lower_roll(sm_trace_rolling *r, smelt_error *err);

/* --- trace_reduce.c ----------------------------------------------------------------------- */

/* Both blocks of a trace with reductions. */
smelt_status sm_trace_lower_reductions(sm_trace_builder *b, smelt_error *err);

/* --- trace_center.c ------------------------------------------------------------------------ */

/* Makes it a centered task (core/reduction.h) if it is to sum up or average what that is. */
void sm_trace_center_task(const sm_trace_builder *b, const sm_block *elements, sm_trace_task *task);

/* --- trace_edit.c -------------------------------------------------------------------------- */

/* In how many places local `local` of block `b` is named. */
int sm_trace_count_uses(sm_trace *trace, size_t b, int32_t local);
/* Removes a step that nobody uses. */
void sm_trace_remove_step(sm_trace *trace, size_t b, int32_t at);
/* Of a trace with reductions, all steps and tasks that are for nothing. */
void sm_trace_drop_unused(sm_trace *trace);

#endif
