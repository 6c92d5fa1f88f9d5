/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "rt/profiler.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file_limit.h"
#include "rt/jit_dump.h"

static void write_line(int fd, const sm_code *code, const char *name) {
  char line[160];
  int n =
      snprintf(line, sizeof line, "%" PRIxPTR " %zx smelt:%.100s\n", (uintptr_t)code->base, code->size, name);
  struct stat st;
  if (fstat(fd, &st) != 0 || !sm_file_size_allowed((uint64_t)st.st_size + (uint64_t)n)) return;
  /* A lost line only leaves a name out. */
  ssize_t written = write(fd, line, (size_t)n);
  (void)written;
}

struct sm_profiler {
  const char *value; /* of SMELT_PERF */
  const char *path;  /* with the process's number */
  void (*write)(int fd, const sm_code *code, const char *name);
};

static const sm_profiler profilers[] = {
    {"map", "/tmp/perf-%ld.map", write_line},
    {"jitdump", "/tmp/jit-%ld.dump", sm_jit_dump_write},
};

const sm_profiler *sm_profiler_choose(void) {
  const char *wanted = secure_getenv("SMELT_PERF");
  for (size_t i = 0; wanted && i < sizeof profilers / sizeof profilers[0]; i++) {
    if (strcmp(wanted, profilers[i].value) == 0) return &profilers[i];
  }
  return NULL;
}

/* The folder is everybody's: a link or a file of another user may be there. */
static int open_ours(const char *path) {
  int fd = open(path, O_RDWR | O_APPEND | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0600);
  struct stat st;
  if (fd < 0) return -1;
  if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_uid == geteuid() && st.st_nlink == 1) return fd;
  (void)close(fd);
  return -1;
}

/* One thread at a time: the file is locked. (The lock is of the file as opened here,
 * and given back by name, because a child of fork may have it open too.) */
void sm_profiler_add(const sm_profiler *profiler, const sm_code *code, const char *name) {
  char path[40];
  if (!profiler) return;
  (void)snprintf(path, sizeof path, profiler->path, (long)getpid());
  int fd = open_ours(path);
  if (fd < 0) return;
  if (flock(fd, LOCK_EX) == 0) {
    profiler->write(fd, code, name);
    (void)flock(fd, LOCK_UN);
  }
  (void)close(fd);
}
