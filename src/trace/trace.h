/* SPDX-License-Identifier: Apache-2.0
 *
 * Traces: what one kernel reads, computes and writes.
 *
 * Vocabulary. A *block* is straight-line work over one index space; a kernel
 * may have several, one after another. A *step* defines one *local*, named by
 * its index within the block. Values used only inside a block are locals and
 * never reach memory. *Inputs* and *outputs* are values of the segment, each
 * bound once per kernel and map. *Scalars* are run-time arguments: the same trace with
 * other scalar values is the same kernel.
 *
 * A trace is *relative*: it names values and records by their number in the
 * segment and holds no sizes and no scalar values, so that it serves every
 * segment with the same relative form (ir/relative.h).
 *
 * An input has a *map* from its axes to those of its block's space: operands of
 * elementwise operations are aligned at the last axis, those of take are where the
 * operation puts them. A value that is read by two maps is two inputs. One axis may
 * follow none; along it the input is *gathered*: a step says the place.
 *
 * A block may hold one *loop*, which runs its steps `trips` times: what the program
 * recorded unrolled (plan/roll.h). Its CARRYs are what a trip begins with, its NEXTs what
 * the next one does, RESULTs what the last one leaves. Scalars of a loop are rows of
 * the *table*, a row a trip.
 *
 * Blocks may be equal *chains*: the same steps on other inputs, outputs and scalars. Then one
 * kernel serves any number of them.
 *
 * The trace of a reduction has *tasks* and two blocks (trace/reduce_spaces.h): the first
 * makes, of every element, a value for each task to combine; the second works on what they
 * were combined to. Where the first uses values of the second, which are *spread* over
 * their elements, a kernel has to look at the elements several times: in each *pass* it can
 * make what needs only what earlier passes have reduced. The maps of inputs then
 * tell axes of the elements in both blocks.
 *
 * Invariants. Arguments of a step are earlier locals of the same block. An input
 * is read at most once per block, into one local; a gathered one at any number of
 * places. Blocks are independent of each other.
 *
 * Half types. A result of dtype f16 or bf16 that is written is rounded once, and
 * later steps use the rounded value (in fast mode the f32). One that is not written
 * stays the f32 that it was computed as; in strict mode it is rounded too.
 *
 * In fast mode a product that is a term of a sum, and nothing else, is not rounded
 * before it is added; and a trace may have *centered* tasks. */
#ifndef SM_TRACE_TRACE_H
#define SM_TRACE_TRACE_H

#include "core/kops.h"
#include "core/reduction.h"
#include "ir/op.h"

enum { SM_NO_LOCAL = -1, SM_NO_AXIS = -1 };

typedef enum sm_step_kind {
  SM_STEP_READ,   /* input `index` at the block's position */
  SM_STEP_SCALAR, /* run-time scalar `index` */
  SM_STEP_LITERAL,
  SM_STEP_INDEX,   /* flat row-major position in the block, i64 */
  SM_STEP_COMPUTE, /* kop of args */
  SM_STEP_WRITE,   /* args[0] to output `index`; defines nothing */
  SM_STEP_TABLE,   /* column `index` of the trip's row of the table */
  SM_STEP_LOOP,    /* begins the loop; defines nothing */
  SM_STEP_CARRY,   /* what the trip begins with; the first one with args[0] */
  SM_STEP_NEXT,    /* the CARRY args[0] is args[1] in the next trip; defines nothing */
  SM_STEP_END,     /* ends the loop; defines nothing */
  SM_STEP_RESULT,  /* what the last trip has left in the CARRY args[0] */
  SM_STEP_EXTENT,  /* of the axis along which input `index` is gathered, i64 */
  SM_STEP_GATHER,  /* input `index` at the block's position and, along that axis, at the place args[0] */
  SM_STEP_REDUCED, /* in the second block: what task `index` has made */
  SM_STEP_SPREAD   /* in the first block: local `index` of the second one, where the element belongs to it */
} sm_step_kind;

typedef struct sm_step {
  sm_step_kind kind;
  sm_kop kop;
  smelt_dtype dtype;
  int32_t args[3];
  int32_t index;
  int32_t pass; /* of a reduction: the first pass in which it can be made */
  sm_word literal;
} sm_step;

/* A block's loop, from the step LOOP to the step END. */
typedef struct sm_trace_loop {
  int32_t begin, end;
  int32_t trips;   /* 0: there is no loop */
  int32_t columns; /* of the table */
  int32_t row;     /* index in the table where the first row begins */
} sm_trace_loop;

typedef struct sm_block {
  uint32_t space; /* the value whose shape is the index space */
  sm_trace_loop loop;
  sm_vec(sm_step) steps;
} sm_block;

/* A tensor that a kernel binds. */
typedef struct sm_trace_value {
  uint32_t value;
  smelt_dtype dtype;
  /* Of an input: */
  int8_t map[SMELT_MAX_RANK]; /* by axis: the one of the space that it follows, or NO_AXIS */
  int8_t gathered;            /* the axis that follows none, or NO_AXIS */
} sm_trace_value;

typedef sm_vec(sm_trace_value) sm_trace_values;

/* Operand `operand` of record `op`. */
typedef struct sm_trace_scalar {
  uint32_t op;
  int operand;
  smelt_dtype dtype;
} sm_trace_scalar;

/* A reduction: `local` of the first block is combined, in its dtype. Ascending by pass. */
typedef struct sm_trace_task {
  sm_reduction reduction;
  smelt_dtype dtype;
  int32_t local;
  int32_t pass;
} sm_trace_task;

/* Output `output` may be written over input `input`, if they have equal shapes and
 * nobody else wants the input: no step uses an element of it after the write. */
typedef struct sm_trace_reuse {
  int32_t output, input;
} sm_trace_reuse;

/* What is one block's, if the blocks are chains. */
typedef struct sm_trace_chains {
  int32_t n_inputs, n_outputs, n_scalars;
  /* By chain: in the place of each input and then output of the first one, its own, numbered
   * through all inputs and outputs of the trace. Empty if the blocks are no chains. */
  sm_vec(int32_t) buffers;
} sm_trace_chains;

typedef struct sm_trace {
  const uint32_t *ops; /* the records it was built from */
  int n_ops;
  sm_trace_values inputs, outputs;
  sm_vec(sm_trace_scalar) scalars, table;
  sm_vec(sm_block) blocks;
  sm_vec(sm_trace_task) tasks;
  sm_vec(sm_trace_reuse) reuses; /* by input */
  sm_trace_chains chains;
} sm_trace;

/* Builds the trace of elementwise records (ascending). `written` says by value
 * whether a result is stored; NULL stores every one. The trace refers to
 * ops, and is the caller's to free, also on failure. ERR_MEMORY,
 * ERR_INTERNAL. */
smelt_status sm_trace_build(const sm_segment *segment, const uint32_t *ops, int n_ops, const bool *written,
                            smelt_mode mode, const sm_allocator *allocator, sm_trace *out, smelt_error *err);
/* The trace of reductions (records of SM_CLASS_REDUCE) of equal operand shapes over the same
 * axes, and of elementwise records on their elements and results. As above. */
smelt_status sm_trace_build_reduce(const sm_segment *segment, const uint32_t *ops, int n_ops,
                                   const bool *written, smelt_mode mode, const sm_allocator *allocator,
                                   sm_trace *out, smelt_error *err);
/* The same in fast mode, with centered tasks (core/reduction.h) wherever there can be some: a trace of
 * fewer passes. As above. */
smelt_status sm_trace_build_centered(const sm_segment *segment, const uint32_t *ops, int n_ops,
                                     const bool *written, const sm_allocator *allocator, sm_trace *out,
                                     smelt_error *err);
/* Whether it has any. */
bool sm_trace_centers(const sm_trace *trace);
/* The trace of elementwise records and one concatenation, over the elements of that one's
 * operand `k`, which stands for its result. As above. */
smelt_status sm_trace_build_part(const sm_segment *segment, const uint32_t *ops, int n_ops, int k,
                                 const bool *written, smelt_mode mode, const sm_allocator *allocator,
                                 sm_trace *out, smelt_error *err);
void sm_trace_free(sm_trace *trace, const sm_allocator *allocator);

/* trace_contract.c: makes fused multiply-adds of products and sums. */
void sm_trace_contract(sm_trace *trace);
/* trace_reuse.c: fills in `reuses` of a trace that is complete otherwise. False when
 * memory is exhausted. */
bool sm_trace_find_reuses(sm_trace *trace, const sm_allocator *allocator);

/* trace_chains.c: fills in `chains`, likewise. */
bool sm_trace_find_chains(sm_trace *trace, const sm_allocator *allocator);
/* How many passes over the elements the trace of a reduction takes. */
int sm_trace_passes(const sm_trace *trace);

/* Whether its value is made in the block, and not there from the start. */
static inline bool sm_step_computes(const sm_step *step) {
  return step->kind == SM_STEP_COMPUTE || step->kind == SM_STEP_GATHER;
}

/* Whether step `i` is inside the loop, LOOP and END included. */
static inline bool sm_block_in_loop(const sm_block *block, int32_t i) {
  return block->loop.trips && i >= block->loop.begin && i <= block->loop.end;
}

static inline const sm_shape *sm_block_shape(const sm_segment *segment, const sm_block *block) {
  return &segment->values.items[block->space].shape;
}

static inline sm_word sm_trace_scalar_word(const sm_segment *segment, const sm_trace_scalar *scalar) {
  return segment->ops.items[scalar->op].operands[scalar->operand].scalar;
}

/* "block 0 over [2,2]", then a line a step: "l2 = mul l0, l1", "write t6 = l5". */
void sm_trace_print(sm_text *text, const sm_segment *segment, const sm_trace *trace);

#endif
