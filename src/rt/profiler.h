/* SPDX-License-Identifier: Apache-2.0
 *
 * Kernels for the profiler `perf`, which knows nothing of code that is in no file.
 * SMELT_PERF chooses what is written when a kernel is loaded:
 *
 *   map      a line with its name in /tmp/perf-PID.map; `perf report` finds it
 *   jitdump  name and code in /tmp/jit-PID.dump (jit_dump.h); `perf inject` makes
 *            files of it, so that `perf annotate` works too
 *
 * It is read once for a device, since a program may change its environment while kernels
 * are loaded.
 *
 * Nothing is removed when code is freed; for an address what was written last counts. */
#ifndef SM_RT_PROFILER_H
#define SM_RT_PROFILER_H

#include "rt/object_loader.h"

typedef struct sm_profiler sm_profiler;

/* What SMELT_PERF chooses, forever; NULL without it or with elevated privileges. */
const sm_profiler *sm_profiler_choose(void);

/* Does nothing for NULL, or if the file is not ours. Thread-safe. */
void sm_profiler_add(const sm_profiler *profiler, const sm_code *code, const char *name);

#endif
