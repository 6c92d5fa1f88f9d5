/* SPDX-License-Identifier: Apache-2.0 */
#include "launch/enter_driver.h"

#include "base/timeline.h"
#include "rt/call_driver.h"

/* Makes each the next of the one before it. The first; NULL if there are no elements. */
static const sm_prepared_launch *chain(sm_prepared_launch *all, size_t n) {
  const sm_prepared_launch *first = NULL;
  for (size_t i = n; i-- > 0;) {
    sm_prepared_launch *p = &all[i];
    if (!p->kernel) continue;
    p->launch.next = first ? &first->launch : NULL;
    p->launch.next_kernel = first ? first->kernel->kernel : NULL;
    first = p;
  }
  return first;
}

static sm_launch_report report_of(const char *fuser, const sm_prepared_launch *first,
                                  const sm_prepared_launch *all, size_t n) {
  const sm_prepared_launch *named = first;
  sm_launch_report report = {.fuser = fuser};
  for (size_t i = 0; i < n; i++) {
    const sm_prepared_launch *p = &all[i];
    if (!p->kernel) continue;
    if (named->helps && !p->helps) named = p;
    report.read += p->read;
    report.written += p->written;
    report.in_place += p->in_place;
    report.interpreted = report.interpreted || p->kernel->interpreted;
  }
  report.kernel = named->kernel->name;
  report.cost_ns = named->launch.cost_ns;
  return report;
}

smelt_status sm_enter_driver(const sm_launch_env *env, const char *fuser, sm_prepared_launch *all, size_t n,
                             smelt_error *err) {
  sm_device *device = env->device;
  const sm_prepared_launch *first = chain(all, n);
  if (!first) return SMELT_OK;
  sm_launch_report report = report_of(fuser, first, all, n);
  sm_report_launch(env->log, device->allocator, env->counters, &report);
  if (!env->note && !env->log->timeline)
    return sm_call_launch(device, first->kernel->kernel, &first->launch, err);
  int64_t begin = sm_os_now();
  smelt_status status = sm_call_launch(device, first->kernel->kernel, &first->launch, err);
  if (env->note) sm_note_launch(env->note, &report, sm_os_now() - begin);
  sm_report_time(env->log, &report, begin);
  return status;
}
