/* SPDX-License-Identifier: Apache-2.0
 *
 * How a reduction meets real shapes: its axes as three, and where operands are along them.
 *
 * The axes of the elements become [outer, reduced, inner]. Where the reduced ones are
 * neighbours, what is before them is outer and what is behind them inner; elsewhere all
 * kept axes are outer. An operand has one stride for each of the three, if its memory
 * allows that. Where it has none along the outer axis, as a mask that is broadcast to an axis
 * between others, that is *split* into parts with a stride each; otherwise it has to be gathered. */
#ifndef SM_LAUNCH_REDUCE_GEOMETRY_H
#define SM_LAUNCH_REDUCE_GEOMETRY_H

#include "core/layout.h"
#include "ir/op.h"
#include "launch/reduce_skeleton.h"

enum { SM_OUTER, SM_REDUCED, SM_INNER, SM_REDUCE_AXES };

typedef struct sm_reduce_geometry {
  sm_reduce_extents extents;
  sm_shape elements;
  bool reduced[SMELT_MAX_RANK]; /* by axis of the elements */
  int order[SMELT_MAX_RANK];    /* these axes, grouped */
  int begin[SM_REDUCE_AXES + 1];
  bool neighbours; /* the flat index of elements is row-major in the three axes */
} sm_reduce_geometry;

/* The parts of the outer axis, from the slowest; of none it has a single stride. */
typedef struct sm_reduce_split {
  int n;
  int64_t extents[SMELT_MAX_RANK], strides[SMELT_MAX_RANK];
} sm_reduce_split;

/* Whether the reduced axes of a shape are neighbours, but for those of extent 1. */
bool sm_reduce_neighbours(const sm_op *reduction, const sm_shape *elements);

sm_reduce_geometry sm_reduce_geometry_of(const sm_op *reduction, const sm_shape *elements);

/* For rows that are taken across (reduce_skeleton.h): the kept axes become inner ones. */
void sm_reduce_turn_rows(sm_reduce_geometry *g);

/* The strides of an operand with the layout `own`, whose axes follow those of the elements
 * that `map` says; one that follows none has no part in it. False if the reduced or the inner group
 * has no single one. `wide` becomes its layout over the grouped axes. */
bool sm_reduce_strides(const sm_reduce_geometry *g, const int8_t *map, const sm_layout *own, sm_layout *wide,
                       int64_t strides[SM_REDUCE_AXES], sm_reduce_split *split);

/* The strides when it has been gathered by that layout, which loses the reduced axes if the
 * operand stands still along them. */
void sm_reduce_gathered(const sm_reduce_geometry *g, sm_layout *wide, int64_t strides[SM_REDUCE_AXES]);

#endif
