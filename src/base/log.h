/* SPDX-License-Identifier: Apache-2.0
 *
 * The log: one line per event, in categories that can be switched on; and where the
 * times of events go, if there is a timeline, and who else is told (base/observer.h).
 *
 * A line is built only if its category is on, then handed whole to the user's
 * function or written to stderr. The library prints nothing else, ever. Lines
 * are emitted without any lock held by the caller's module being relied on, so
 * the function may be called from several threads at once. */
#ifndef SM_BASE_LOG_H
#define SM_BASE_LOG_H

#include "base/alloc.h"
#include "base/text.h"

typedef enum sm_log_category {
#define LOG(id, name, doc) SM_LOG_##id,
#include "base/log.def"
#undef LOG
  SM_LOG_CATEGORY_COUNT
} sm_log_category;

typedef struct sm_timeline sm_timeline; /* base/timeline.h */

typedef struct sm_log {
  uint32_t enabled; /* bit i: category i is on */
  smelt_log_fn *fn; /* NULL: stderr */
  void *user;
  sm_timeline *timeline;                 /* where the times of events go; NULL: nowhere */
  const struct smelt_observer *observer; /* NULL: there is none */
} sm_log;

static inline bool sm_log_on(const sm_log *log, sm_log_category category) {
  return log->enabled >> category & 1;
}

/* Reads "register,block" or "all"; false and the offending word in `err` if a
 * category is unknown. */
smelt_status sm_log_parse(const char *categories, uint32_t *enabled, smelt_error *err);

/* Emits one line. */
void sm_log_line(const sm_log *log, const char *line);
/* Emits `text` without a final newline (nothing if building it failed) and
 * frees it. */
void sm_log_text(const sm_log *log, sm_text *text);

#endif
