/* SPDX-License-Identifier: Apache-2.0
 *
 * Which values of elements a kernel keeps from pass to pass, in scratch memory.
 *
 * A value that several passes use can be worked out in each of them from its operands, down
 * to inputs, which are in the caches. It is kept instead if that costs more than a store
 * and a load, as an exponential does, or lanes that are apart in memory; by a team, whose caches are
 * small and shared by many, even what is read. A *row* of scratch memory has a value of all elements;
 * one that is used for the last time leaves its row to one that is new in that pass, where all loads come
 * before all stores. */
#ifndef SM_LAUNCH_REDUCE_KEEPING_H
#define SM_LAUNCH_REDUCE_KEEPING_H

#include "launch/reduce_kernel.h"
#include "trace/trace.h"

enum { SM_REDUCE_NO_ROW = -1 };

/* Lists are by step of the trace's first block, or by row. */
typedef struct sm_reduce_keeping {
  int *row;        /* that keeps it, or NO_ROW */
  int *first_pass; /* that uses it; -1: none */
  int32_t staged;  /* local that is staged (reduce_kernel.h), or NO_LOCAL */
  int slow_pass;   /* the first that takes longer than memory, otherwise the last */
  smelt_dtype *dtypes;
  int rows;
} sm_reduce_keeping;

/* In `arena`; false when memory is exhausted. */
bool sm_reduce_find_kept(const sm_trace *trace, const sm_reduce_input *inputs, const sm_reduce_form *form,
                         sm_arena *arena, sm_reduce_keeping *out);

#endif
