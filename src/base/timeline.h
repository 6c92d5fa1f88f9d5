/* SPDX-License-Identifier: Apache-2.0
 *
 * A timeline: what a context did when, as a file that Perfetto and chrome://tracing
 * show (the Trace Event Format, as JSON).
 *
 * Each event is written when it is over, by one write that also ends the file anew. So
 * the file is valid JSON at any moment, whatever becomes of the process. Its member
 * "complete" turns from false to true when it is closed with all events in it. If a
 * write fails the file is left as it was before it, nothing more is written, and
 * closing answers the error.
 *
 * A file belongs to one timeline, by a lock of the system's. A child of fork writes
 * nothing. Any thread may add events. */
#ifndef SM_BASE_TIMELINE_H
#define SM_BASE_TIMELINE_H

#include "base/log.h"
#include "base/os.h"

/* Creates or replaces the file. On failure there is none, or what was there before:
 * ERR_IO, which names it, with `*busy` if another timeline has it; ERR_MEMORY. */
smelt_status sm_timeline_open(const char *path, sm_timeline **out, bool *busy, smelt_error *err);
/* ERR_IO or ERR_MEMORY if events are missing. NULL is allowed. */
smelt_status sm_timeline_close(sm_timeline *t, smelt_error *err);

typedef struct sm_span {
  const char *category; /* "launch" */
  const char *name;
  int64_t begin;  /* sm_os_now */
  int64_t thread; /* sm_os_thread; 0: the calling one */
} sm_span;

/* What else there is to say. */
typedef struct sm_fact {
  const char *name;
  uint64_t number;
  const char *text; /* instead of the number; NULL */
} sm_fact;

void sm_timeline_write(sm_timeline *t, sm_span span, const sm_fact *facts, size_t n);

/* An event that ends now; nothing where there is no timeline. */
static inline void sm_timeline_add(const sm_log *log, sm_span span, const sm_fact *facts, size_t n) {
  if (log->timeline) sm_timeline_write(log->timeline, span, facts, n);
}

/* When a span begins; 0 where nobody is told. */
static inline int64_t sm_timeline_begin(const sm_log *log) {
  return log->timeline || log->observer ? sm_os_now() : 0;
}

#endif
