/* SPDX-License-Identifier: Apache-2.0
 *
 * The op-level reference of reductions: the canonical tree of core/reduction.h, one
 * element of the result after the other. */
#ifndef SM_DRIVERS_REF_REDUCE_H
#define SM_DRIVERS_REF_REDUCE_H

#include "ir/op.h"
#include "rt/device.h"

/* Fills the buffer of the record's result; all buffers are dense. */
void sm_ref_reduce(const sm_segment *segment, const sm_op *op, sm_buffer *const *buffers);

#endif
