/* SPDX-License-Identifier: Apache-2.0
 *
 * Running a function of the user on host memory (include/smelt/custom.h). */
#ifndef SM_LAUNCH_RUN_OPAQUE_H
#define SM_LAUNCH_RUN_OPAQUE_H

#include "ir/op.h"
#include "rt/device.h"

/* An operand or a result as functions of the user see it. */
void sm_opaque_describe(smelt_array *out, smelt_dtype dtype, const sm_shape *shape, void *data);
/* The error of a function of the operation `name` that answered `status`. */
smelt_status sm_opaque_fail(const char *name, smelt_status status, smelt_error *said, smelt_error *err);

/* Runs an opaque record by itself: its operands are in `buffers` (by value), its result
 * is put there. On failure there is none. */
smelt_status sm_run_opaque(sm_device *device, const sm_segment *segment, const sm_op *op, sm_buffer **buffers,
                           smelt_error *err);

#endif
