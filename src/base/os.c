/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "base/os.h"

#include <errno.h>
#include <limits.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/error.h"

static int64_t smaller(int64_t a, int64_t b) { return a < b ? a : b; }

/* --- Time and threads ------------------------------------------------------------------ */

int64_t sm_os_now(void) {
  struct timespec t;
  (void)clock_gettime(CLOCK_MONOTONIC, &t);
  return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

int64_t sm_os_thread(void) { return syscall(SYS_gettid); }

/* --- Files of a control group -------------------------------------------------------- */

/* The file's two integers. "max", -1, or a file that is missing: INT64_MAX; so is
 * a missing second one. */
typedef struct numbers {
  int64_t first, second;
} numbers;

static int64_t parse_limit(const char *text, char **end) {
  errno = 0;
  long long value = strtoll(text, end, 10);
  return *end == text || errno || value < 0 ? INT64_MAX : value;
}

static numbers read_numbers(const char *folder, const char *name) {
  numbers n = {INT64_MAX, INT64_MAX};
  char path[PATH_MAX], line[64], *end;
  int length = snprintf(path, sizeof path, "%s/%s", folder, name);
  if (length < 0 || (size_t)length >= sizeof path) return n;
  FILE *file = fopen(path, "re");
  if (!file) return n;
  if (fgets(line, sizeof line, file)) {
    n.first = parse_limit(line, &end);
    n.second = parse_limit(end, &end);
  }
  (void)fclose(file);
  return n;
}

/* Processors' worth of time in each period, rounded up. */
static int64_t processors(int64_t quota, int64_t period) {
  if (quota == INT64_MAX || period <= 0 || period == INT64_MAX) return INT64_MAX;
  return quota <= period ? 1 : quota / period + (quota % period != 0);
}

static int64_t processors_v1(const char *folder) {
  return processors(read_numbers(folder, "cpu.cfs_quota_us").first,
                    read_numbers(folder, "cpu.cfs_period_us").first);
}

static int64_t processors_v2(const char *folder) {
  numbers n = read_numbers(folder, "cpu.max");
  return processors(n.first, n.second);
}

static int64_t memory_v1(const char *folder) { return read_numbers(folder, "memory.limit_in_bytes").first; }
static int64_t memory_v2(const char *folder) { return read_numbers(folder, "memory.max").first; }

/* --- The groups of the process ---------------------------------------------------------- */

/* A resource, as the two versions name and answer it. */
typedef struct resource {
  const char *controller; /* version 1 */
  int64_t (*v1)(const char *folder);
  int64_t (*v2)(const char *folder);
} resource;

/* The smallest limit of root/mount/group and the groups above it. */
static int64_t limit_on_path(const char *root, const char *mount, const char *group,
                             int64_t (*read)(const char *folder)) {
  char folder[PATH_MAX];
  int top = snprintf(folder, sizeof folder, "%s/sys/fs/cgroup%s", root, mount);
  int all = snprintf(folder, sizeof folder, "%s/sys/fs/cgroup%s%s", root, mount, group);
  if (top < 0 || all < 0 || (size_t)all >= sizeof folder) return INT64_MAX;
  int64_t limit = read(folder);
  for (int i = all - 1; i >= top; i--) {
    if (folder[i] != '/') continue;
    folder[i] = 0;
    limit = smaller(limit, read(folder));
  }
  return limit;
}

static bool lists(const char *controllers, const char *name) {
  size_t n = strlen(name);
  for (const char *at = controllers; (at = strstr(at, name)); at += n) {
    bool begins = at == controllers || at[-1] == ',';
    if (begins && (at[n] == ',' || at[n] == 0)) return true;
  }
  return false;
}

/* What a line "number:controllers:group" of /proc/self/cgroup says. */
static int64_t limit_of_line(const char *root, char *line, const resource *r) {
  char *controllers = strchr(line, ':');
  char *group = controllers ? strchr(++controllers, ':') : NULL;
  if (!group) return INT64_MAX;
  *group++ = 0;
  group[strcspn(group, "\n")] = 0;
  if (*controllers == 0) {
    return smaller(limit_on_path(root, "", group, r->v2), limit_on_path(root, "/unified", group, r->v2));
  }
  char mount[32];
  (void)snprintf(mount, sizeof mount, "/%s", r->controller);
  return lists(controllers, r->controller) ? limit_on_path(root, mount, group, r->v1) : INT64_MAX;
}

static int64_t group_limit(const char *root, const resource *r) {
  char path[PATH_MAX], *line = NULL;
  size_t room = 0;
  int64_t limit = INT64_MAX;
  (void)snprintf(path, sizeof path, "%s/proc/self/cgroup", root);
  FILE *file = fopen(path, "re");
  if (!file) return limit;
  while (getline(&line, &room, file) > 0) limit = smaller(limit, limit_of_line(root, line, r));
  free(line);
  (void)fclose(file);
  return limit;
}

int64_t sm_os_group_processors(const char *root) {
  return group_limit(root, &(resource){"cpu", processors_v1, processors_v2});
}

int64_t sm_os_group_memory(const char *root) {
  return group_limit(root, &(resource){"memory", memory_v1, memory_v2});
}

/* --- The machine ------------------------------------------------------------------------ */

/* Linux has up to 8192 processors, more than one cpu_set_t holds. */
static int64_t processors_in_affinity_mask(void) {
  cpu_set_t sets[8];
  if (sched_getaffinity(0, sizeof sets, sets) == 0) return CPU_COUNT_S(sizeof sets, sets);
  return sysconf(_SC_NPROCESSORS_ONLN);
}

int sm_os_processors(void) {
  int64_t n = smaller(processors_in_affinity_mask(), sm_os_group_processors(""));
  return n < 1 ? 1 : (int)smaller(n, INT_MAX);
}

int64_t sm_os_memory(void) {
  long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
  int64_t machine = pages > 0 && page > 0 ? (int64_t)pages * page : INT64_MAX;
  return smaller(machine, sm_os_group_memory(""));
}

/* --- Caches ------------------------------------------------------------------------------ */

/* Sizes are written in KiB, "32768K". */
int64_t sm_os_cache_described(const char *folder) {
  int64_t bytes = 0, highest = 0;
  for (int i = 0;; i++) {
    char index[PATH_MAX];
    (void)snprintf(index, sizeof index, "%s/index%d", folder, i);
    int64_t level = read_numbers(index, "level").first, size = read_numbers(index, "size").first;
    if (level == INT64_MAX || size > INT64_MAX / 1024) return bytes;
    if (level >= highest) bytes = size * 1024;
    if (level >= highest) highest = level;
  }
}

int64_t sm_os_cache(void) {
  int64_t described = sm_os_cache_described("/sys/devices/system/cpu/cpu0/cache");
  if (described > 0) return described;
  long bytes = sysconf(_SC_LEVEL3_CACHE_SIZE);
  if (bytes <= 0) bytes = sysconf(_SC_LEVEL2_CACHE_SIZE);
  return bytes > 0 ? bytes : 0;
}

/* --- Settings ---------------------------------------------------------------------------- */

smelt_status sm_os_setting(const char *name, int64_t min, int64_t max, int64_t *value, smelt_error *err) {
  const char *text = secure_getenv(name);
  if (!text) return SMELT_OK;
  char *end;
  errno = 0;
  long long number = strtoll(text, &end, 10);
  if (end == text || *end || errno || number < min || number > max) {
    return sm_error_set(err, SMELT_ERR_ARGUMENT, "%s is \"%.60s\", not a number from %lld to %lld", name,
                        text, (long long)min, (long long)max);
  }
  *value = number;
  return SMELT_OK;
}
