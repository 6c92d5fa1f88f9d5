/* SPDX-License-Identifier: Apache-2.0
 *
 * Causes: errors that tensors carry.
 *
 * The first error becomes one reference-counted cause; every tensor that is
 * poisoned by it, however indirectly, shares it. When even a cause cannot be
 * allocated, sm_cause_of_memory stands in: it is static and never freed. */
#ifndef SM_BASE_CAUSE_H
#define SM_BASE_CAUSE_H

#include <stdatomic.h>

#include "base/alloc.h"

typedef struct sm_cause {
  _Atomic uint32_t refs;
  smelt_error error;
} sm_cause;

/* Never NULL. Causes outlive contexts, so they come from malloc. */
sm_cause *sm_cause_create(const smelt_error *error);
sm_cause *sm_cause_of_memory(void);
sm_cause *sm_cause_ref(sm_cause *cause);
/* NULL is allowed. */
void sm_cause_drop(sm_cause *cause);

#endif
