/* SPDX-License-Identifier: Apache-2.0
 *
 * Which values of elements a row kernel keeps from pass to pass, in scratch memory.
 *
 * A value that several passes use can be worked out in each of them from its operands, down
 * to inputs, which are in the caches. It is kept instead if that costs more than a store
 * and a load, as an exponential does. */
#ifndef SM_LAUNCH_REDUCE_KEEPING_H
#define SM_LAUNCH_REDUCE_KEEPING_H

#include "launch/reduce_skeleton.h"
#include "trace/trace.h"

/* Lists are by step of the trace's first block. */
typedef struct sm_reduce_keeping {
  bool *kept;
  int *first_pass; /* that uses it; -1: none */
  int slow_pass;   /* the first that takes longer than memory, otherwise the last */
} sm_reduce_keeping;

/* In `arena`; false when memory is exhausted. */
bool sm_reduce_find_kept(const sm_trace *trace, const sm_reduce_form *form, sm_arena *arena,
                         sm_reduce_keeping *out);

#endif
