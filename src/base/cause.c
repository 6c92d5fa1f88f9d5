/* SPDX-License-Identifier: Apache-2.0 */
#include "base/cause.h"

/* Its count is never touched: it is recognised by address. */
static sm_cause out_of_memory = {
    .refs = 1, .error = {.code = SMELT_ERR_MEMORY, .text = "out of memory: no room for an error message"}};

sm_cause *sm_cause_of_memory(void) { return &out_of_memory; }

sm_cause *sm_cause_create(const smelt_error *error) {
  sm_cause *cause = sm_alloc(&sm_malloc_allocator, sizeof *cause);
  if (!cause) return sm_cause_of_memory();
  atomic_init(&cause->refs, 1);
  cause->error = *error;
  return cause;
}

sm_cause *sm_cause_ref(sm_cause *cause) {
  if (cause != &out_of_memory) atomic_fetch_add(&cause->refs, 1);
  return cause;
}

void sm_cause_drop(sm_cause *cause) {
  if (!cause || cause == &out_of_memory) return;
  if (atomic_fetch_sub(&cause->refs, 1) == 1) sm_free(&sm_malloc_allocator, cause, sizeof *cause);
}
