/* SPDX-License-Identifier: Apache-2.0
 *
 * What is counted, logged and told the observer when a kernel enters a driver. */
#ifndef SM_RT_REPORT_H
#define SM_RT_REPORT_H

#include "base/counters.h"
#include "base/log.h"

typedef struct sm_launch_report {
  const char *fuser; /* "ElementWise"; the device's name where nothing fuses */
  const char *kernel;
  uint64_t read, written; /* bytes of tensor memory */
  int in_place;           /* outputs written over an input */
  bool interpreted;
  int64_t cost_ns; /* the estimate of one thread's time; 0: there is none */
} sm_launch_report;

/* One counter step, one event for the observer and one line:
 * "[launch] [main] ElementWise elemwise_fuse_1234abcd read=48 written=16". The
 * thread is "main" or its number. */
void sm_report_launch(const sm_log *log, const sm_allocator *allocator, sm_counters *counters,
                      const sm_launch_report *report);

/* For the timeline, if there is one: it began then and ends now. */
void sm_report_time(const sm_log *log, const sm_launch_report *report, int64_t begin);

#endif
