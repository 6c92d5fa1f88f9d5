/* SPDX-License-Identifier: Apache-2.0
 *
 * The two index spaces of a reduction's kernel, and which records work in which.
 *
 * *Elements* are what is reduced, *results* what it is reduced to. Results have the
 * elements' shape with the reduced axes left out or, with keepdims, of extent 1; both
 * forms may occur in one kernel, since their elements lie in the same order. What uses an
 * element is worked out for elements, everything else for results. A record *aside* has
 * results' shape and waits for no reduction. */
#ifndef SM_TRACE_REDUCE_SPACES_H
#define SM_TRACE_REDUCE_SPACES_H

#include "ir/op.h"

typedef enum sm_reduce_space { SM_SPACE_ELEMENTS, SM_SPACE_ASIDE, SM_SPACE_RESULTS } sm_reduce_space;

/* Records of one kernel, ascending. */
typedef struct sm_reduce_records {
  const sm_segment *segment;
  const uint32_t *ops;
  int n;
  const sm_op *first;       /* reduction; NULL: there is none */
  const sm_shape *elements; /* what it reduces */
} sm_reduce_records;

sm_reduce_records sm_reduce_records_of(const sm_segment *segment, const uint32_t *ops, int n);

static inline bool sm_is_reduction(const sm_op *op) { return op->row->class == SM_CLASS_REDUCE; }

bool sm_reduces_axis(const sm_op *reduction, int axis);

/* The position of the record that defines `v`, or -1. */
int sm_reduce_position(const sm_reduce_records *r, uint32_t v);

/* Whether it is one of the two forms. */
bool sm_reduce_has_results_shape(const sm_reduce_records *r, const sm_shape *shape);

/* Where record number `i` works; `spaces` has the answers for those before it. */
sm_reduce_space sm_reduce_space_of(const sm_reduce_records *r, int i, const sm_reduce_space *spaces);

/* Which axis of the elements an axis of results is, of a shape of that rank. */
int sm_reduce_element_axis(const sm_reduce_records *r, int rank, int axis);

#endif
