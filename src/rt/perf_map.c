/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "rt/perf_map.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file_limit.h"

enum { MAX_LINE = 160 };

/* The folder is everybody's: a link or a file of another user may be there. */
static int open_map(void) {
  char path[40];
  (void)snprintf(path, sizeof path, "/tmp/perf-%ld.map", (long)getpid());
  int fd = open(path, O_WRONLY | O_APPEND | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0600);
  struct stat st;
  if (fd < 0) return -1;
  if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_uid == geteuid() && st.st_nlink == 1 &&
      sm_file_size_allowed((uint64_t)st.st_size + MAX_LINE)) {
    return fd;
  }
  (void)close(fd);
  return -1;
}

void sm_perf_map_add(const sm_code *code, const char *name) {
  const char *wanted = secure_getenv("SMELT_PERF");
  if (!wanted || strcmp(wanted, "map") != 0) return;
  int fd = open_map();
  if (fd < 0) return;
  char line[MAX_LINE];
  int n =
      snprintf(line, sizeof line, "%" PRIxPTR " %zx smelt:%.100s\n", (uintptr_t)code->base, code->size, name);
  /* One write, so that lines of several threads do not mix. A lost line only
   * leaves a name out. */
  ssize_t written = write(fd, line, (size_t)n);
  (void)written;
  (void)close(fd);
}
