/* SPDX-License-Identifier: Apache-2.0
 *
 * The chains of a launch: equal blocks that one kernel serves.
 *
 * The kernel is made of the first chain only and runs once for each over a chunk of work
 * items, with buffers, sizes and scalars of its own (rt/device.h, `repeats`). So it is the
 * kernel of one chain alone, and their number makes no new kernel. That needs operands that
 * lie alike: blocks whose operands do not are one kernel together, which here is one chain,
 * the whole trace. */
#ifndef SM_LAUNCH_CHAINS_H
#define SM_LAUNCH_CHAINS_H

#include "launch/launch_cache.h"

typedef struct sm_chains {
  const sm_trace *trace; /* of one: the whole one, or a part of it */
  size_t n;
  const sm_launch_plan *plans; /* by chain */
  sm_layout_class layout;      /* of each */
  const int32_t *buffers;      /* as in sm_trace_chains; NULL: the trace's own */
} sm_chains;

/* Of a planned launch on a device with this profile. Everything lives in `arena`. False when
 * memory is exhausted. */
bool sm_chains_find(const sm_trace *trace, const sm_launch_plan *plan, const sm_profile *profile,
                    bool streaming, sm_arena *arena, sm_chains *out);

/* Buffers of one chain. */
static inline size_t sm_chains_n_buffers(const sm_chains *chains) {
  return chains->trace->inputs.len + chains->trace->outputs.len;
}

/* The number that a chain's buffer has in the whole trace. */
static inline size_t sm_chains_buffer(const sm_chains *chains, size_t chain, size_t buffer) {
  return chains->buffers ? (size_t)chains->buffers[chain * sm_chains_n_buffers(chains) + buffer] : buffer;
}

#endif
