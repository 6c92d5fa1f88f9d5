/* SPDX-License-Identifier: Apache-2.0
 *
 * The one way of a kernel into a driver: counted, logged and, if somebody asks, timed. */
#ifndef SM_LAUNCH_ENTER_DRIVER_H
#define SM_LAUNCH_ENTER_DRIVER_H

#include "launch/run_trace.h"

/* What moves, and for whom; the rest of a report follows from kernel and launch. */
typedef struct sm_launch_traffic {
  const char *fuser;
  uint64_t read, written; /* bytes of tensor memory */
  int in_place;           /* outputs written over an input */
} sm_launch_traffic;

smelt_status sm_enter_driver(const sm_launch_env *env, const sm_kernel_entry *kernel, const sm_launch *launch,
                             sm_launch_traffic traffic, smelt_error *err);

#endif
