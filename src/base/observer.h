/* SPDX-License-Identifier: Apache-2.0
 *
 * Telling an observer (smelt/observe.h), where the log and the timeline are told. Where
 * there is none that is one branch, and nothing of the event is evaluated.
 *
 * The caller holds no lock. Meanwhile the thread is `inside` (base/thread.h): what the
 * observer calls is refused, and what it drops waits until the thread leaves a stream. */
#ifndef SM_BASE_OBSERVER_H
#define SM_BASE_OBSERVER_H

#include "base/log.h"
#include "base/thread.h"
#include "smelt/observe.h"

/* Whether somebody wants such an event. */
#define sm_observed(log, event) ((log)->observer && (log)->observer->event)

/* Tells of what `what` points to. */
#define sm_pass_on(log, event, what)                                \
  do {                                                              \
    if (!sm_observed(log, event)) break;                            \
    sm_thread *sm_self = sm_thread_self();                          \
    assert(!sm_self->held && "observers are called without locks"); \
    bool sm_was_inside = sm_self->inside;                           \
    sm_self->inside = true;                                         \
    (log)->observer->event((log)->observer->user, what);            \
    sm_self->inside = sm_was_inside;                                \
  } while (0)

/* sm_tell(log, kernel, .name = name): an event with these members. */
#define sm_tell(log, event, ...) \
  sm_pass_on(log, event, (&(smelt_##event##_event){.size = sizeof(smelt_##event##_event), __VA_ARGS__}))

#endif
