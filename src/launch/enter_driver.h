/* SPDX-License-Identifier: Apache-2.0
 *
 * The one way of kernels into a driver: counted, logged and, if somebody asks, timed. */
#ifndef SM_LAUNCH_ENTER_DRIVER_H
#define SM_LAUNCH_ENTER_DRIVER_H

#include "launch/run_trace.h"

/* Enters n >= 1 launches, one after the other, as one for `fuser`; it has the name of the first that is
 * no help, and moves the bytes of all. They are chained; those without elements are left out. */
smelt_status sm_enter_driver(const sm_launch_env *env, const char *fuser, sm_prepared_launch *all, size_t n,
                             smelt_error *err);

#endif
