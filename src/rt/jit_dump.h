/* SPDX-License-Identifier: Apache-2.0
 *
 * The file format in which programs that generate code tell `perf` about it, as
 * the Linux sources specify it (tools/perf/Documentation/jitdump-specification.txt).
 *
 * A *dump* is a header and records; ours has one kind of record, "code is loaded",
 * with name, address and bytes of the code. Times are CLOCK_MONOTONIC, so programs
 * are recorded with `perf record -k mono`. perf learns of the dump by the *marker*:
 * a mapping of the file that is executable, which nobody uses, and which stays until
 * the process ends. That this process has one is the only thing remembered. */
#ifndef SM_RT_JIT_DUMP_H
#define SM_RT_JIT_DUMP_H

#include "rt/object_loader.h"

/* Appends a record to the dump `fd`, which is open for reading and appending and
 * locked. What an earlier process of the same number has left is removed first.
 * Adds none where files may not be mapped executable or grow so far. */
void sm_jit_dump_write(int fd, const sm_code *code, const char *name);

#endif
