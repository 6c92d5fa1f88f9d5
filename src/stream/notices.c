/* SPDX-License-Identifier: Apache-2.0 */
#include "stream/notices.h"

#include <string.h>

#include "base/observer.h"

struct sm_notice {
  sm_notice *next;
  bool poison;
  union {
    smelt_operation_event operation;
    smelt_poison_event poison;
  } event;
  sm_text text; /* of the event */
};

static void free_notice(sm_notice *notice) {
  sm_text_free(&notice->text);
  sm_free(&sm_malloc_allocator, notice, sizeof *notice);
}

/* Memory of malloc, as under the lock the user's allocator is not called. */
static sm_notice *new_notice(void) {
  sm_notice *notice = sm_calloc(&sm_malloc_allocator, 1, sizeof *notice);
  if (notice) sm_text_init(&notice->text, &sm_malloc_allocator);
  return notice;
}

static void append(sm_notices *notices, sm_notice *notice) {
  if (notice->text.failed) {
    free_notice(notice);
    return;
  }
  *(notices->first ? &notices->last->next : &notices->first) = notice;
  notices->last = notice;
}

void sm_notices_add_operation(sm_notices *notices, uint64_t stream, const sm_segment *segment,
                              const sm_op *op) {
  const sm_value *value = &segment->values.items[op->out];
  sm_notice *notice = new_notice();
  if (!notice) return;
  sm_op_print_log_name(&notice->text, segment, op);
  smelt_operation_event *event = &notice->event.operation;
  *event = (smelt_operation_event){.size = sizeof *event,
                                   .stream = stream,
                                   .tensor = value->id,
                                   .name = notice->text.data,
                                   .dtype = value->dtype,
                                   .rank = value->shape.rank};
  memcpy(event->dims, value->shape.dims, sizeof event->dims);
  append(notices, notice);
}

void sm_notices_add_poison(sm_notices *notices, uint64_t tensor, const smelt_error *err) {
  sm_notice *notice = new_notice();
  if (!notice) return;
  sm_text_add(&notice->text, err->text);
  smelt_poison_event *event = &notice->event.poison;
  *event = (smelt_poison_event){
      .size = sizeof *event, .tensor = tensor, .status = err->code, .text = notice->text.data};
  notice->poison = true;
  append(notices, notice);
}

void sm_notices_tell(sm_notice *first, const sm_log *log) {
  for (sm_notice *notice = first, *next; notice; notice = next) {
    next = notice->next;
    if (notice->poison) sm_pass_on(log, poison, &notice->event.poison);
    else sm_pass_on(log, operation, &notice->event.operation);
    free_notice(notice);
  }
}
