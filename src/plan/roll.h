/* SPDX-License-Identifier: Apache-2.0
 *
 * Loops in a program that recorded them unrolled.
 *
 * A program that iterates records the same operations again and again. A *roll* is
 * the part of a list of records that repeats with a *period*: kernels hold the period
 * once and run it `trips` times, so that the number of iterations makes no new kernel.
 *
 * Period after period the operations and dtypes are the same, and every operand is
 *   - a scalar in all of them, whatever its value,
 *   - the same value from before the roll in all of them (*invariant*),
 *   - the result at the same place of the same period, or
 *   - the result at the same place of the period before it (*carried*); the first
 *     period uses some value from before the roll there.
 * Only carried results of the last period are used behind the roll or stored.
 *
 * A *repeat* is the same, but that an operand may also be a new value from outside the list
 * in every period. It is no roll, since a kernel binds a fixed number of buffers; it says
 * where a list is to be cut (plan/cut.h). */
#ifndef SM_PLAN_ROLL_H
#define SM_PLAN_ROLL_H

#include "ir/op.h"

typedef struct sm_roll {
  int first;  /* position in the list */
  int period; /* records */
  int trips;  /* 0: nothing repeats often enough */
} sm_roll;

enum { SM_ROLL_TRIPS = 3 /* fewer stay straight */ };

/* Finds the roll that saves most records of the list `ops` (ascending), the one with
 * the shortest period of equal ones. `escapes` says by value whether it is stored or
 * used by records outside the list. False when memory is exhausted. */
bool sm_roll_find(const sm_segment *segment, const uint32_t *ops, int n_ops, const bool *escapes,
                  sm_arena *arena, sm_roll *out);

/* Likewise the repeat. The result of a `guest` (by record, plan/dissolve.h) is like no other
 * value. */
bool sm_roll_find_repeat(const sm_segment *segment, const uint32_t *ops, int n_ops, const bool *escapes,
                         const bool *guest, sm_arena *arena, sm_roll *out);

/* Records that the roll spares a kernel. */
static inline int sm_roll_saved(const sm_roll *roll) {
  return roll->trips ? (roll->trips - 1) * roll->period : 0;
}

/* Records that a kernel with this roll holds. */
static inline int sm_roll_kept(const sm_roll *roll, int n_ops) { return n_ops - sm_roll_saved(roll); }

#endif
