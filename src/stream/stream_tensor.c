/* SPDX-License-Identifier: Apache-2.0 */
#include "stream/stream_tensor.h"

#include <string.h>

sm_tensor *sm_tensor_create(sm_stream *s, sm_tensor_state state, smelt_dtype dtype, const sm_shape *shape,
                            const char *origin) {
  sm_tensor *t = s->spare;
  if (t) s->spare = t->next;
  else t = sm_alloc(s->allocator, sizeof *t);
  if (!t) return NULL;
  memset(t, 0, sizeof *t);
  atomic_init(&t->refs, 1);
  t->state = (uint8_t)state;
  t->dtype = dtype;
  t->shape = *shape;
  t->stream = s;
  t->origin = origin;
  t->next = s->tensors;
  if (t->next) t->next->prev = t;
  s->tensors = t;
  return t;
}

void sm_tensor_free(sm_stream *s, sm_tensor *t) {
  if (t->prev) t->prev->next = t->next;
  else s->tensors = t->next;
  if (t->next) t->next->prev = t->prev;
  if (t->buffer) s->executor.release(s->executor.self, t->buffer);
  sm_cause_drop(t->cause);
  t->next = s->spare;
  s->spare = t;
}

void sm_tensor_free_spares(sm_stream *s) {
  for (sm_tensor *t = s->spare, *next; t; t = next) {
    next = t->next;
    sm_free(s->allocator, t, sizeof *t);
  }
  s->spare = NULL;
}
