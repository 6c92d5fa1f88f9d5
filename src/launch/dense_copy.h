/* SPDX-License-Identifier: Apache-2.0
 *
 * Dense copies of what a layout finds in a buffer, made on the device: an elementwise
 * kernel reads through the layout and writes in row-major order. Bits are copied, whatever
 * they mean, so that all dtypes of one size share kernels, and so do all copies of one
 * executor. */
#ifndef SM_LAUNCH_DENSE_COPY_H
#define SM_LAUNCH_DENSE_COPY_H

#include "launch/run_trace.h"

/* What is copied. */
typedef struct sm_dense_copy {
  const sm_fuser *fuser; /* for which it is made */
  const sm_op_row *row;  /* of the operation that is the copy and names its kernel; NULL: it serves another */
  const sm_buffer *from;
  smelt_dtype dtype;
  const sm_layout *layout; /* over all of the buffer's memory */
} sm_dense_copy;

/* Makes the kernels' caches, and gives them back. */
void sm_copy_kernels_init(sm_copy_kernels *kernels, const sm_allocator *allocator);
void sm_copy_kernels_free(sm_copy_kernels *kernels);

/* Creates the copy's buffer, and the launch that fills it. On failure neither is there. */
smelt_status sm_prepare_dense_copy(const sm_launch_env *env, const sm_dense_copy *copy, sm_buffer **out,
                                   sm_prepared_launch *launch, smelt_error *err);

/* A launch of its own. */
smelt_status sm_run_dense_copy(const sm_launch_env *env, const sm_dense_copy *copy, sm_buffer **out,
                               smelt_error *err);

#endif
