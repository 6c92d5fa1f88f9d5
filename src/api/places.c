/* SPDX-License-Identifier: Apache-2.0
 *
 * Where a tensor was made, told by the caller just after it was: nobody else knows of
 * the reference yet. */
#include <stdio.h>

#include "api/reference.h"
#include "smelt/places.h"

/* A cause that is older belongs to others too, and was met elsewhere. */
static void locate_cause(sm_cause *cause, const char *where) {
  bool own = cause != sm_cause_of_memory() && atomic_load(&cause->refs) == 1;
  if (own && !*cause->error.where) (void)snprintf(cause->error.where, sizeof cause->error.where, "%s", where);
}

smelt_tensor *smelt__locate(smelt_tensor *t, const char *where) {
  sm_target target;
  if (sm_reference_peek(t, "locate", &target, NULL) != SMELT_OK) return t;
  if (target.kind == SM_TARGET_TENSOR)
    atomic_store_explicit(&target.tensor->where, where, memory_order_relaxed);
  if (target.kind == SM_TARGET_POISON) locate_cause(target.cause, where);
  return t;
}
