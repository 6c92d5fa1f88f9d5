/* SPDX-License-Identifier: Apache-2.0 */
#include "launch/enter_driver.h"

#include "base/timeline.h"
#include "rt/call_driver.h"

smelt_status sm_enter_driver(const sm_launch_env *env, const sm_kernel_entry *kernel, const sm_launch *launch,
                             sm_launch_traffic traffic, smelt_error *err) {
  sm_device *device = env->device;
  sm_launch_report report = {.fuser = traffic.fuser,
                             .kernel = kernel->name,
                             .read = traffic.read,
                             .written = traffic.written,
                             .in_place = traffic.in_place,
                             .interpreted = kernel->interpreted,
                             .cost_ns = launch->cost_ns};
  sm_report_launch(env->log, device->allocator, env->counters, &report);
  if (!env->note && !env->log->timeline) return sm_call_launch(device, kernel->kernel, launch, err);
  int64_t begin = sm_os_now();
  smelt_status status = sm_call_launch(device, kernel->kernel, launch, err);
  if (env->note) sm_note_launch(env->note, &report, sm_os_now() - begin);
  sm_report_time(env->log, &report, begin);
  return status;
}
