/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "rt/report.h"

#include <inttypes.h>
#include <unistd.h>

#include "base/observer.h"
#include "base/timeline.h"

static void add_thread(sm_text *text) {
  int64_t thread = sm_os_thread();
  if (thread == (int64_t)getpid()) sm_text_add(text, "[main]");
  else sm_text_addf(text, "[thread %" PRId64 "]", thread);
}

void sm_report_launch(const sm_log *log, const sm_allocator *allocator, sm_counters *counters,
                      const sm_launch_report *report) {
  sm_count(&counters->launches, 1);
  sm_count(&counters->bytes_read, report->read);
  sm_count(&counters->bytes_written, report->written);
  if (report->in_place) sm_count(&counters->in_place_writes, (uint64_t)report->in_place);
  sm_tell(log, launch, .fuser = report->fuser, .kernel = report->kernel, .bytes_read = report->read,
          .bytes_written = report->written, .in_place = (uint64_t)report->in_place,
          .interpreted = report->interpreted);
  if (!sm_log_on(log, SM_LOG_LAUNCH)) return;
  sm_text text;
  sm_text_init(&text, allocator);
  sm_text_add(&text, "[launch] ");
  add_thread(&text);
  sm_text_addf(&text, " %s %s read=%" PRIu64 " written=%" PRIu64, report->fuser, report->kernel, report->read,
               report->written);
  sm_log_text(log, &text);
}

void sm_report_time(const sm_log *log, const sm_launch_report *report, int64_t begin) {
  const sm_fact facts[] = {{.name = "fuser", .text = report->fuser},
                           {.name = "read", .number = report->read},
                           {.name = "written", .number = report->written},
                           {.name = "interpreted", .number = report->interpreted}};
  sm_span span = {.category = "launch", .name = report->kernel, .begin = begin};
  sm_timeline_add(log, span, facts, sizeof facts / sizeof facts[0]);
}
