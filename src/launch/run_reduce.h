/* SPDX-License-Identifier: Apache-2.0
 *
 * Running the trace of reductions: geometry, kernels, buffers, driver. */
#ifndef SM_LAUNCH_RUN_REDUCE_H
#define SM_LAUNCH_RUN_REDUCE_H

#include "launch/run_trace.h"

/* One launch, of two stages where few results come from many elements. An input that has
 * no strides along the three axes (reduce_geometry.h) is copied first, as a part of the launch.
 * `cache` is the trace's own. On failure no output is left. */
smelt_status sm_run_reduce(const sm_launch_env *env, const sm_trace *trace, sm_launch_cache *cache,
                           const sm_block_run *on, smelt_error *err);

/* Whether that reads elements from memory again in passes after the first, on a device where one pass
 * can be as fast as others (reduce_centered.c). */
bool sm_run_reduce_rereads(const sm_launch_env *env, const sm_trace *trace, const sm_segment *segment);

#endif
