/* SPDX-License-Identifier: Apache-2.0
 *
 * Names for the profiler: with SMELT_PERF=map loaded kernels are appended to
 * /tmp/perf-PID.map, where `perf report` finds the names of code that is in no
 * file. Addresses are not removed when code is freed; the last line counts. */
#ifndef SM_RT_PERF_MAP_H
#define SM_RT_PERF_MAP_H

#include "rt/object_loader.h"

/* Does nothing without SMELT_PERF=map, with elevated privileges, or if the file
 * is not ours. Thread-safe. */
void sm_perf_map_add(const sm_code *code, const char *name);

#endif
