/* SPDX-License-Identifier: Apache-2.0
 *
 * What the system grants: control groups as fake files, and the settings. */
#define _GNU_SOURCE
#include <ftw.h>
#include <limits.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/os.h"
#include "harness.h"

/* --- A fake root folder -------------------------------------------------------------- */

static char root[] = "/tmp/smelt-test-os-XXXXXX";

static void make_root(void) { CHECK(mkdtemp(root)); }

static int remove_one(const char *path, const struct stat *about, int kind, struct FTW *where) {
  (void)about;
  (void)kind;
  (void)where;
  return remove(path);
}

static void remove_root(void) { CHECK_I64(nftw(root, remove_one, 8, FTW_DEPTH | FTW_PHYS), 0); }

/* Writes root/path and makes its folders. */
static void put(const char *path, const char *text) {
  char full[PATH_MAX];
  (void)snprintf(full, sizeof full, "%s/%s", root, path);
  for (char *slash = full + sizeof root; (slash = strchr(slash, '/')); *slash++ = '/') {
    *slash = 0;
    (void)mkdir(full, 0700);
  }
  FILE *file = fopen(full, "w");
  CHECK(file && fputs(text, file) >= 0 && fclose(file) == 0);
}

/* --- Groups ------------------------------------------------------------------------------ */

TEST(no_groups) {
  make_root();
  CHECK_I64(sm_os_group_processors(root), INT64_MAX);
  CHECK_I64(sm_os_group_memory(root), INT64_MAX);
  put("proc/self/cgroup", "0::/a/b\nnonsense\n7:cpu\n");
  CHECK_I64(sm_os_group_processors(root), INT64_MAX);
  CHECK_I64(sm_os_group_memory(root), INT64_MAX);
  remove_root();
}

TEST(version_2) {
  make_root();
  put("proc/self/cgroup", "0::/app.slice/job\n");
  put("sys/fs/cgroup/app.slice/job/cpu.max", "max 100000\n");
  put("sys/fs/cgroup/app.slice/job/memory.max", "max\n");
  CHECK_I64(sm_os_group_processors(root), INT64_MAX);
  CHECK_I64(sm_os_group_memory(root), INT64_MAX);
  put("sys/fs/cgroup/app.slice/cpu.max", "250000 100000\n");
  put("sys/fs/cgroup/app.slice/memory.max", "1073741824\n");
  CHECK_I64(sm_os_group_processors(root), 3);
  CHECK_I64(sm_os_group_memory(root), 1 << 30);
  put("sys/fs/cgroup/app.slice/job/cpu.max", "50000 100000\n");
  put("sys/fs/cgroup/app.slice/job/memory.max", "4096\n");
  CHECK_I64(sm_os_group_processors(root), 1);
  CHECK_I64(sm_os_group_memory(root), 4096);
  remove_root();
}

/* In a container the group's path is that outside, but the mount begins inside. */
TEST(path_of_outside) {
  make_root();
  put("proc/self/cgroup", "0::/docker/0123456789abcdef\n");
  put("sys/fs/cgroup/cpu.max", "400000 100000\n");
  put("sys/fs/cgroup/memory.max", "536870912\n");
  CHECK_I64(sm_os_group_processors(root), 4);
  CHECK_I64(sm_os_group_memory(root), 512 << 20);
  put("proc/self/cgroup", "0::/\n");
  CHECK_I64(sm_os_group_processors(root), 4);
  put("proc/self/cgroup", "0::/../../elsewhere\n");
  CHECK_I64(sm_os_group_processors(root), 4);
  remove_root();
}

TEST(version_1) {
  make_root();
  put("proc/self/cgroup", "5:memory:/box\n4:cpuset:/box\n3:cpu,cpuacct:/box\n1:name=systemd:/\n0::/\n");
  put("sys/fs/cgroup/cpu/box/cpu.cfs_quota_us", "-1\n");
  put("sys/fs/cgroup/cpu/box/cpu.cfs_period_us", "100000\n");
  put("sys/fs/cgroup/memory/box/memory.limit_in_bytes", "9223372036854771712\n");
  CHECK_I64(sm_os_group_processors(root), INT64_MAX);
  CHECK(sm_os_group_memory(root) >= INT64_MAX - 4095);
  put("sys/fs/cgroup/cpu/box/cpu.cfs_quota_us", "150000\n");
  put("sys/fs/cgroup/memory/memory.limit_in_bytes", "2147483648\n");
  CHECK_I64(sm_os_group_processors(root), 2);
  CHECK_I64(sm_os_group_memory(root), INT64_C(1) << 31);
  put("sys/fs/cgroup/unified/cpu.max", "100000 100000\n");
  CHECK_I64(sm_os_group_processors(root), 1);
  remove_root();
}

TEST(odd_files) {
  make_root();
  put("proc/self/cgroup", "0::/\n");
  const char *odd[] = {"", "\n", "max\n", "100000\n", "x y\n", "100000 0\n", "99999999999999999999 100000\n"};
  for (size_t i = 0; i < sizeof odd / sizeof odd[0]; i++) {
    put("sys/fs/cgroup/cpu.max", odd[i]);
    CHECK_I64(sm_os_group_processors(root), INT64_MAX);
  }
  put("sys/fs/cgroup/cpu.max", "0 100000\n");
  CHECK_I64(sm_os_group_processors(root), 1);
  put("sys/fs/cgroup/cpu.max", "9000000000000000000 1\n");
  CHECK_I64(sm_os_group_processors(root), INT64_C(9000000000000000000));
  remove_root();
}

/* --- The machine ---------------------------------------------------------------------------- */

TEST(affinity) {
  CHECK(sm_os_processors() >= 1);
  CHECK(sm_os_processors() <= sysconf(_SC_NPROCESSORS_CONF));
  cpu_set_t one;
  CHECK_I64(sched_getaffinity(0, sizeof one, &one), 0);
  size_t first = 0;
  while (!CPU_ISSET(first, &one)) first++;
  CPU_ZERO(&one);
  CPU_SET(first, &one);
  CHECK_I64(sched_setaffinity(0, sizeof one, &one), 0);
  CHECK_I64(sm_os_processors(), 1);
}

TEST(memory) {
  CHECK(sm_os_memory() > 1 << 20);
  CHECK(sm_os_memory() <= (int64_t)sysconf(_SC_PHYS_PAGES) * sysconf(_SC_PAGESIZE));
}

TEST(caches) {
  make_root();
  CHECK_I64(sm_os_cache_described(root), 0);
  put("index0/level", "1\n");
  put("index0/size", "48K\n");
  put("index1/level", "3\n");
  put("index1/size", "32768K\n");
  put("index2/level", "2\n");
  put("index2/size", "1024K\n");
  CHECK_I64(sm_os_cache_described(root), (int64_t)32 << 20);
  put("index3/level", "4\n");
  put("index3/size", "nonsense\n");
  CHECK_I64(sm_os_cache_described(root), (int64_t)32 << 20);
  remove_root();
  CHECK(sm_os_cache() >= 0);
}

TEST(settings) {
  smelt_error err = {0};
  int64_t value = 7;
  CHECK_I64(unsetenv("SMELT_X"), 0);
  CHECK_OK(sm_os_setting("SMELT_X", 0, 9, &value, &err), err);
  CHECK_I64(value, 7);
  CHECK_I64(setenv("SMELT_X", "9", 1), 0);
  CHECK_OK(sm_os_setting("SMELT_X", 0, 9, &value, &err), err);
  CHECK_I64(value, 9);
  const char *wrong[] = {"", "10", "-1", "3x", "0x1", "1.5", "99999999999999999999"};
  for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
    CHECK_I64(setenv("SMELT_X", wrong[i], 1), 0);
    CHECK_STATUS(sm_os_setting("SMELT_X", 0, 9, &value, &err), SMELT_ERR_ARGUMENT);
    CHECK_I64(value, 9);
  }
  CHECK_STR(err.text, "SMELT_X is \"99999999999999999999\", not a number from 0 to 9");
}

TEST_MAIN(CASE(no_groups), CASE(version_2), CASE(path_of_outside), CASE(version_1), CASE(odd_files),
          CASE(caches), CASE(affinity), CASE(memory), CASE(settings))
