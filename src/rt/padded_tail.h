/* SPDX-License-Identifier: Apache-2.0
 *
 * What is left of a padded launch.
 *
 * A padded kernel runs whole grains. The work items behind the last whole one
 * are run on copies: one grain of every buffer that follows the work item,
 * filled with the elements there are, and results copied back. Pointers are
 * moved so that the kernel finds the copies at the positions it asks for. */
#ifndef SM_RT_PADDED_TAIL_H
#define SM_RT_PADDED_TAIL_H

#include "rt/device.h"

/* Runs a kernel over [begin, end) of `buffers`. */
typedef smelt_status sm_range_fn(void *user, const sm_kir_span *buffers, int64_t begin, int64_t end,
                                 smelt_error *err);

/* The whole grains of the launch. */
static inline int64_t sm_launch_whole(const sm_launch *l) { return l->work_items / l->grain * l->grain; }

/* Runs what is behind them; nothing if there is nothing. ERR_MEMORY, or what
 * `run` answers. */
smelt_status sm_run_padded_tail(const sm_device *device, const sm_kir_kernel *ir, const sm_launch *launch,
                                sm_range_fn *run, void *user, smelt_error *err);

#endif
