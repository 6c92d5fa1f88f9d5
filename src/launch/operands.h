/* SPDX-License-Identifier: Apache-2.0
 *
 * The memory of one launch: where inputs are, and where results go.
 *
 * A result is written over a dying input where the trace and the shapes allow it and
 * nobody else holds the buffer. Otherwise it gets memory of its own, dense in the order
 * in which most bytes of the inputs of its block lie, so that transposed operands give
 * a transposed result and nothing is walked across. A result that has a buffer already goes
 * there: it is a part of a larger one, of the block's shape.
 * Inputs that are views (core/layout.h) are read where they are. */
#ifndef SM_LAUNCH_OPERANDS_H
#define SM_LAUNCH_OPERANDS_H

#include "launch/launch_plan.h"
#include "plan/fuser.h"
#include "rt/device.h"

typedef struct sm_operands {
  const sm_trace *trace;
  const sm_block_run *on;
  sm_device *device;
  const sm_log *log;
  sm_arena *arena;
  sm_operand_layouts layouts;
  bool row_major_results; /* asked for, whatever the inputs' order */
  bool row_major;         /* all of them are, so that `layouts` says nothing */
  int in_place;           /* results written over an input */
  uint64_t read, written; /* bytes of elements */
} sm_operands;

/* `o` has the members before `layouts`, and row_major_results. Creates the outputs in on->buffers; on
 * failure none is left. ERR_MEMORY. */
smelt_status sm_operands_open(sm_operands *o, smelt_error *err);
void sm_operands_drop_outputs(sm_operands *o);

/* Whether kernels are given whole buffers, as devices without addresses need it, and not the
 * part from the lowest to the highest element. */
static inline bool sm_operands_are_whole(const sm_operands *o) { return !o->device->driver->host_memory; }
/* The memory that buffer number `i` (inputs, then outputs) has for its elements. */
sm_kir_span sm_operands_span(const sm_operands *o, size_t i);
/* Whether every output begins at a multiple of 64 bytes. */
bool sm_operands_aligned(const sm_operands *o);

/* Whether results had better bypass the caches: they would not stay there anyway, and their
 * places have not just been read. Streaming stores want aligned vectors. */
bool sm_operands_should_stream(const sm_operands *o);

#endif
