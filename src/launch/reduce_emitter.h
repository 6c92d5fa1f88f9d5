/* SPDX-License-Identifier: Apache-2.0
 *
 * What the files that make kernels of reduction traces (reduce_kernel.h) have in common: the state
 * while one is made, and how inputs are read (reduce_reads.c). */
#ifndef SM_LAUNCH_REDUCE_EMITTER_H
#define SM_LAUNCH_REDUCE_EMITTER_H

#include "launch/reduce_keeping.h"
#include "launch/reduce_kernel.h"

/* Blocks of the trace. */
enum { SM_REDUCE_ELEMENTS, SM_REDUCE_RESULTS };

/* A local of the second block that elements use: of rows its value, alone and in all lanes
 * of a vector, of columns the scratch memory of a strip of them. */
typedef struct sm_spread_local {
  bool used;
  int32_t value, lanes, memory;
} sm_spread_local;

typedef struct sm_reduce_emitter {
  const sm_trace *trace;
  const sm_reduce_form *form;
  const sm_reduce_input *inputs;
  int *sizes;         /* by input: its first size argument */
  int32_t row;        /* the index along the outer axis that is at work */
  int32_t *row_place; /* by input: where that row begins; NONE: at 0 */
  int32_t *row_ahead; /* by input: how far off the row is that will be wanted from memory */
  sm_kir_kernel *kernel;
  sm_arena *arena;
  sm_reduce_keeping keeping;
  int *kept;               /* by row of the form's `keep` elements: scratch memory */
  int32_t stage;           /* scratch memory of what is staged */
  bool staging;            /* it is being worked out */
  sm_spread_local *spread; /* by local of the second block */
  /* While a block is emitted: */
  const sm_block *block;
  const sm_reduce_place *at;
  int lanes; /* the axis that lanes follow */
  const int32_t *reduced;
  int32_t *locals;
  bool failed;
} sm_reduce_emitter;

static inline bool sm_emits_elements(const sm_reduce_emitter *e) {
  return e->block == &e->trace->blocks.items[SM_REDUCE_ELEMENTS];
}

static inline int32_t sm_emit_i64(const sm_reduce_emitter *e, sm_kop kop, int32_t a, int32_t b) {
  return sm_kir_kop(e->kernel, kop, a, b, SM_KIR_NONE, SMELT_I64);
}

/* NONE is 0. */
static inline int32_t sm_emit_add(const sm_reduce_emitter *e, int32_t a, int32_t b) {
  return a == SM_KIR_NONE ? b : sm_emit_i64(e, SM_KOP_ADD, a, b);
}

static inline int32_t sm_emit_size(const sm_reduce_emitter *e, int32_t input, int which) {
  return sm_kir_size(e->kernel, e->sizes[input] + which);
}

static inline int32_t sm_emit_splat(const sm_reduce_emitter *e, int32_t value) {
  return e->at->width == 1 ? value : sm_kir_splat(e->kernel, value, e->at->width);
}

/* --- Reads (reduce_reads.c) ------------------------------------------------------------------- */

/* Where the first lane's element of an input is. */
int32_t sm_reduce_place_of(const sm_reduce_emitter *e, int32_t input);
/* An input's elements, of each lane one. */
int32_t sm_reduce_read(const sm_reduce_emitter *e, int32_t input);
/* Those that data, `chosen` of each lane, select. */
int32_t sm_reduce_select(const sm_reduce_emitter *e, int32_t input, int32_t chosen);
/* What follows is at that index along the outer axis: finds where inputs are there, once for all places. */
void sm_reduce_find_row_places(sm_reduce_emitter *e, int32_t outer, int32_t ahead);
/* Asks for what the first lane's element of the row so far ahead is, and those behind it. */
void sm_reduce_prefetch(const sm_reduce_emitter *e, int32_t input);

#endif
