/* SPDX-License-Identifier: Apache-2.0 */
#include "stream/stream_tensor.h"

#include <stddef.h>
#include <string.h>

static sm_tensor *pop(sm_tensor **list) {
  sm_tensor *t = *list;
  if (t) *list = t->next;
  return t;
}

/* Only the stream's own thread makes tensors. */
static sm_tensor *take_spare(sm_stream *s) {
  sm_tensor *t = pop(&s->kept);
  return t ? t : pop(&s->spare);
}

static int count_up_to(const sm_tensor *list, int most) {
  int n = 0;
  for (; list && n < most; list = list->next) n++;
  return n;
}

bool sm_tensor_reserve(sm_stream *s, int n) {
  if (!s->kept && atomic_load_explicit(&s->recycled, memory_order_relaxed))
    s->kept = atomic_exchange(&s->recycled, NULL);
  n -= count_up_to(s->kept, n);
  n -= count_up_to(s->spare, n);
  for (; n > 0; n--) {
    sm_tensor *t = sm_alloc(&s->stock.allocator, sizeof *t);
    if (!t) return false;
    t->next = s->spare;
    s->spare = t;
  }
  return true;
}

sm_tensor *sm_tensor_create(sm_stream *s, sm_tensor_state state, smelt_dtype dtype, const sm_shape *shape,
                            const char *origin) {
  sm_tensor *t = take_spare(s);
  if (!t) return NULL;
  memset(&t->id, 0, sizeof *t - offsetof(sm_tensor, id));
  atomic_init(&t->refs, 1);
  atomic_init(&t->state, (uint8_t)state);
  t->dtype = dtype;
  t->shape = *shape;
  t->stream = s;
  t->origin = origin;
  t->prev = NULL;
  t->next = s->tensors;
  if (t->next) t->next->prev = t;
  s->tensors = t;
  return t;
}

void sm_tensor_free(sm_stream *s, sm_tensor *t) {
  if (t->prev) t->prev->next = t->next;
  else s->tensors = t->next;
  if (t->next) t->next->prev = t->prev;
  sm_cause_drop(t->cause);
  if (t->buffer) {
    t->link = s->trash;
    s->trash = t;
  } else {
    t->next = s->spare;
    s->spare = t;
  }
}

void sm_tensor_bury(sm_stream *s, sm_tensor *t) {
  t->dead = true;
  if (sm_tensor_in_segment(t)) {
    if (atomic_load_explicit(&t->state, memory_order_relaxed) == SM_PENDING)
      s->live_bytes -= sm_shape_bytes(&t->shape, t->dtype);
  } else if (t->epoch != s->job_epoch || !s->job_epoch) {
    sm_tensor_free(s, t);
  }
}

static void recycle(sm_stream *s, sm_tensor *t) {
  if (atomic_load_explicit(&s->thread, memory_order_relaxed) == sm_thread_self()) {
    t->next = s->kept;
    s->kept = t;
    return;
  }
  sm_tensor *head = atomic_load_explicit(&s->recycled, memory_order_relaxed);
  do {
    t->next = head;
  } while (!atomic_compare_exchange_weak(&s->recycled, &head, t));
}

void sm_tensor_empty_trash(sm_stream *s, sm_tensor *trash) {
  const sm_executor *executor = &s->set->executor;
  for (sm_tensor *t = trash, *next; t; t = next) {
    next = t->link;
    executor->release(executor->self, t->buffer);
    recycle(s, t);
  }
}

static void free_list(const sm_allocator *allocator, sm_tensor *list) {
  for (sm_tensor *t = list, *next; t; t = next) {
    next = t->next;
    sm_free(allocator, t, sizeof *t);
  }
}

void sm_tensor_free_spares(sm_stream *s) {
  free_list(s->set->allocator, s->spare);
  free_list(s->set->allocator, s->kept);
  free_list(s->set->allocator, atomic_exchange(&s->recycled, NULL));
  s->spare = s->kept = NULL;
}
