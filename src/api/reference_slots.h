/* SPDX-License-Identifier: Apache-2.0
 *
 * The slots of the reference table, and who may use which next.
 *
 * A *slot* has a token's target and generation (api/reference.h). One whose token was
 * taken *waits* at the end of a queue and remembers by whom. A queue gives its oldest
 * slot only while SM_STALE_QUEUE others wait, so a slot rests at least that long.
 *
 * Each thread has a queue of its own and some *ready* slots, which have rested or are
 * fresh; so claiming and releasing need no lock. What is ready comes from the queue of
 * the process or from the end of the table, some at a time and under the lock. A thread
 * that gives up more than it makes hands its oldest to the queue of the process; one
 * that ends leaves all of its there. */
#ifndef SM_API_REFERENCE_SLOTS_H
#define SM_API_REFERENCE_SLOTS_H

#include <stdatomic.h>

#include "base/cause.h"
#include "core/scalar.h"
#include "stream/streams.h"

typedef enum sm_target_kind { SM_TARGET_TENSOR, SM_TARGET_SCALAR, SM_TARGET_POISON } sm_target_kind;

/* What a reference points to. A tensor's count or a cause's reference moves
 * with it. */
typedef struct sm_target {
  sm_target_kind kind;
  sm_tensor *tensor;
  sm_scalar scalar;
  sm_cause *cause;
} sm_target;

typedef struct sm_slot {
  _Atomic uint32_t generation; /* odd: in use */
  uint32_t next;               /* in its queue */
  sm_target target;
  /* For messages about a token that is gone, which other threads may read at any time: */
  _Atomic(const char *) taker;
  _Atomic(const char *) origin;
  _Atomic uint64_t tensor_id; /* 0: a scalar or a poisoned tensor */
  _Atomic(const void *) owner;
} sm_slot;

/* The number of a slot that is nobody else's; 0 if there is none to be had. */
uint32_t sm_slot_claim(void);
/* The token was taken: the slot waits. One whose generation is used up is retired. */
void sm_slot_release(uint32_t index);

/* The slot of that number; NULL if it was never claimed. */
sm_slot *sm_slot_at(uint32_t index);
/* Numbers are below this. */
uint32_t sm_slots_used(void);

/* Has the fork handler know of the lock. */
void sm_slots_handle_forks(void);

#endif
