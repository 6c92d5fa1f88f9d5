/* SPDX-License-Identifier: Apache-2.0
 *
 * What the system grants this process: processors, memory, settings, time.
 *
 * Containers are limited by control groups. A limit holds for a group and
 * everything below it, so the smallest one on the way from the process's own
 * group up to the root counts. Both versions are read where they are usually
 * mounted: version 2 in /sys/fs/cgroup or /sys/fs/cgroup/unified, version 1 in
 * /sys/fs/cgroup/cpu and /sys/fs/cgroup/memory. What cannot be read limits
 * nothing. Answers are for the moment; the files are read anew each time. */
#ifndef SM_BASE_OS_H
#define SM_BASE_OS_H

#include "smelt/base.h"

/* Processors that threads of this process can use at once: those in its
 * affinity mask, not more than the group's limit. At least 1. */
int sm_os_processors(void);
/* Bytes of memory this process can use: the machine's, not more than the
 * group's limit. */
int64_t sm_os_memory(void);

/* Bytes of the last-level cache that the first processor shares; 0 if unknown.
 * The C library adds up the caches of a whole package, of which a virtual
 * machine may see a part, so the system's own description comes first. */
int64_t sm_os_cache(void);
/* The same from a description in the form of /sys/devices/system/cpu/cpu0/cache. */
int64_t sm_os_cache_described(const char *folder);

/* Nanoseconds of a clock that never goes back, and the system's number of the calling
 * thread, which of the first one is the process's. */
int64_t sm_os_now(void);
int64_t sm_os_thread(void);

/* The groups' limits, read below `root` ("" for the system, a folder for
 * tests); INT64_MAX if there is none. A share of a processor counts as one. */
int64_t sm_os_group_processors(const char *root);
int64_t sm_os_group_memory(const char *root);

/* Reads an environment variable that must be an integer from min to max. Without
 * the variable, or if the process has elevated privileges and must not trust
 * it, *value stays. ERR_ARGUMENT for any other text. */
smelt_status sm_os_setting(const char *name, int64_t min, int64_t max, int64_t *value, smelt_error *err);

#endif
