/* SPDX-License-Identifier: Apache-2.0
 *
 * The op-level reference of views and selections: for each element of the result
 * the place it comes from, from the record alone. */
#ifndef SM_DRIVERS_REF_MOVED_H
#define SM_DRIVERS_REF_MOVED_H

#include "ir/op.h"
#include "rt/device.h"

/* Fills the buffer of the record's result; all buffers are dense. */
void sm_ref_move(const sm_segment *segment, const sm_op *op, sm_buffer *const *buffers);

#endif
