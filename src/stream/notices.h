/* SPDX-License-Identifier: Apache-2.0
 *
 * Notices: events that happen under a stream's lock, kept for the observer until that is
 * given back, in their order. A notice for which there is no memory is lost, as a line of
 * the log is. */
#ifndef SM_STREAM_NOTICES_H
#define SM_STREAM_NOTICES_H

#include "base/log.h"
#include "ir/op.h"

typedef struct sm_notice sm_notice;

typedef struct sm_notices {
  sm_notice *first, *last;
} sm_notices;

void sm_notices_add_operation(sm_notices *notices, uint64_t stream, const sm_segment *segment,
                              const sm_op *op);
/* `tensor` 0: of a call. */
void sm_notices_add_poison(sm_notices *notices, uint64_t tensor, const smelt_error *err);

/* What there is becomes the caller's; NULL if there is nothing. */
static inline sm_notice *sm_notices_take(sm_notices *notices) {
  sm_notice *first = notices->first;
  notices->first = NULL;
  return first;
}

/* Tells the observer and frees them. */
void sm_notices_tell(sm_notice *first, const sm_log *log);

#endif
