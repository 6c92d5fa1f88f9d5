/* SPDX-License-Identifier: Apache-2.0
 *
 * The limit on the size of files (RLIMIT_FSIZE), asked before writing: a write
 * beyond it raises a signal that ends the process. */
#ifndef SM_BASE_FILE_LIMIT_H
#define SM_BASE_FILE_LIMIT_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/resource.h>

static inline bool sm_file_size_allowed(uint64_t bytes) {
  struct rlimit limit;
  return getrlimit(RLIMIT_FSIZE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY || bytes <= limit.rlim_cur;
}

#endif
