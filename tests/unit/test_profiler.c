/* SPDX-License-Identifier: Apache-2.0
 *
 * What is written for perf: the map's lines, and the dump, read back as perf reads
 * it. */
#define _GNU_SOURCE
#include <elf.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/thread.h"
#include "harness.h"
#include "rt/profiler.h"

static const sm_profiler *chosen;

static void choose(const char *way, const char *pattern, char path[64]) {
  (void)snprintf(path, 64, pattern, (long)getpid());
  (void)unlink(path);
  CHECK(setenv("SMELT_PERF", way, 1) == 0);
  chosen = sm_profiler_choose();
}

/* The file's bytes, and their number; it is removed. */
static unsigned char *take_file(const char *path, size_t *size) {
  FILE *file = fopen(path, "rb");
  CHECK(file != NULL);
  unsigned char *data = malloc(1 << 20);
  CHECK(data != NULL);
  *size = fread(data, 1, 1 << 20, file);
  CHECK(fclose(file) == 0 && unlink(path) == 0);
  return data;
}

/* --- The map --------------------------------------------------------------------------- */

static const sm_code somewhere = {.base = (void *)(uintptr_t)0x7000, .size = 0x2000};

TEST(map_names_kernels) {
  static const char expected[] = "7000 2000 smelt:first\n7000 2000 smelt:second\n";
  char path[64];
  size_t size;
  choose("map", "/tmp/perf-%ld.map", path);
  sm_profiler_add(chosen, &somewhere, "first");
  sm_profiler_add(chosen, &somewhere, "second");
  unsigned char *text = take_file(path, &size);
  CHECK(size == strlen(expected) && memcmp(text, expected, size) == 0);
  free(text);
}

TEST(nothing_unless_asked) {
  char map[64], dump[64];
  choose("map", "/tmp/perf-%ld.map", map);
  choose("jitdump ", "/tmp/jit-%ld.dump", dump);
  sm_profiler_add(chosen, &somewhere, "first");
  CHECK(unsetenv("SMELT_PERF") == 0);
  chosen = sm_profiler_choose();
  sm_profiler_add(chosen, &somewhere, "first");
  CHECK(access(map, F_OK) != 0 && access(dump, F_OK) != 0);
}

/* Neither through a symbolic link nor into a file that has another name too. */
static void check_links(const char *way, const char *pattern) {
  char path[64], target[80];
  choose(way, pattern, path);
  (void)snprintf(target, sizeof target, "%s.target", path);
  FILE *file = fopen(target, "w");
  CHECK(file != NULL && fclose(file) == 0);
  CHECK(symlink(target, path) == 0);
  sm_profiler_add(chosen, &somewhere, "first");
  CHECK(unlink(path) == 0 && link(target, path) == 0);
  sm_profiler_add(chosen, &somewhere, "first");
  struct stat st;
  CHECK(stat(target, &st) == 0 && st.st_size == 0);
  CHECK(unlink(path) == 0 && unlink(target) == 0);
}

TEST(follows_no_link) {
  check_links("map", "/tmp/perf-%ld.map");
  check_links("jitdump", "/tmp/jit-%ld.dump");
}

/* --- The dump ---------------------------------------------------------------------------- */

#define DUMP "/tmp/jit-%ld.dump"

/* Where things stand, after jitdump-specification.txt of the Linux sources. */
enum { HEADER_SIZE = 40, RECORD_SIZE = 56 };
enum {
  MAGIC_AT = 0,
  VERSION_AT = 4,
  SIZE_AT = 8,
  MACHINE_AT = 12,
  PROCESS_AT = 20,
  TIME_AT = 24,
  FLAGS_AT = 32
};
enum {
  KIND_IN_RECORD = 0,
  SIZE_IN_RECORD = 4,
  TIME_IN_RECORD = 8,
  PROCESS_IN_RECORD = 16,
  THREAD_IN_RECORD = 20
};
enum { ADDRESS_IN_RECORD = 24, CODE_IN_RECORD = 32, CODE_SIZE_IN_RECORD = 40, NUMBER_IN_RECORD = 48 };

static uint32_t word(const unsigned char *data, size_t at) {
  uint32_t value;
  memcpy(&value, data + at, sizeof value);
  return value;
}

static uint64_t long_word(const unsigned char *data, size_t at) {
  uint64_t value;
  memcpy(&value, data + at, sizeof value);
  return value;
}

static uint64_t now(void) {
  struct timespec t;
  CHECK(clock_gettime(CLOCK_MONOTONIC, &t) == 0);
  return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

static void check_header(const unsigned char *dump, uint64_t not_before) {
#if defined(__aarch64__)
  CHECK_I64(word(dump, MACHINE_AT), EM_AARCH64);
#elif defined(__x86_64__)
  CHECK_I64(word(dump, MACHINE_AT), EM_X86_64);
#endif
  CHECK_I64(word(dump, MAGIC_AT), 0x4a695444);
  CHECK_I64(word(dump, VERSION_AT), 1);
  CHECK_I64(word(dump, SIZE_AT), HEADER_SIZE);
  CHECK_I64(word(dump, PROCESS_AT), getpid());
  CHECK(long_word(dump, TIME_AT) >= not_before && long_word(dump, TIME_AT) <= now());
  CHECK_I64(long_word(dump, FLAGS_AT), 0);
}

/* The record at `at`; answers where the next one is. */
static size_t check_record(const unsigned char *dump, size_t at, const sm_code *code, const char *name) {
  const unsigned char *record = dump + at;
  size_t name_size = strlen(name) + 1;
  CHECK_I64(word(record, KIND_IN_RECORD), 0);
  CHECK_I64(word(record, SIZE_IN_RECORD), RECORD_SIZE + name_size + code->size);
  CHECK_I64(word(record, PROCESS_IN_RECORD), getpid());
  CHECK(word(record, THREAD_IN_RECORD) != 0);
  CHECK_I64(long_word(record, ADDRESS_IN_RECORD), (uintptr_t)code->base);
  CHECK_I64(long_word(record, CODE_IN_RECORD), (uintptr_t)code->base);
  CHECK_I64(long_word(record, CODE_SIZE_IN_RECORD), code->size);
  CHECK_I64(long_word(record, NUMBER_IN_RECORD), at);
  CHECK_STR((const char *)record + RECORD_SIZE, name);
  CHECK(memcmp(record + RECORD_SIZE + name_size, code->base, code->size) == 0);
  return at + word(record, SIZE_IN_RECORD);
}

/* How many mappings of the file are executable: what perf looks for. */
static int count_markers(const char *path) {
  char line[512], flags[5];
  int markers = 0;
  FILE *maps = fopen("/proc/self/maps", "r");
  CHECK(maps != NULL);
  while (fgets(line, sizeof line, maps)) {
    CHECK(sscanf(line, "%*s %4s", flags) == 1);
    markers += strstr(line, path) != NULL && flags[2] == 'x';
  }
  CHECK(fclose(maps) == 0);
  return markers;
}

static unsigned char code_bytes[2][4096] = {{0x90, 0xc3}, {0xc3}};

static sm_code code_number(int i) { return (sm_code){.base = code_bytes[i], .size = sizeof code_bytes[i]}; }

/* Writes two records and reads them back. */
static void check_dump(const char *path) {
  const sm_code first = code_number(0), second = code_number(1);
  uint64_t begin = now();
  size_t size;
  sm_profiler_add(chosen, &first, "first");
  CHECK_I64(count_markers(path), 1);
  sm_profiler_add(chosen, &second, "the_second");
  CHECK_I64(count_markers(path), 1);
  unsigned char *dump = take_file(path, &size);
  check_header(dump, begin);
  size_t next = check_record(dump, HEADER_SIZE, &first, "first");
  CHECK(long_word(dump + next, TIME_IN_RECORD) >= long_word(dump + HEADER_SIZE, TIME_IN_RECORD));
  CHECK_I64(check_record(dump, next, &second, "the_second"), size);
  free(dump);
}

TEST(dump_has_code) {
  char path[64];
  choose("jitdump", DUMP, path);
  check_dump(path);
}

TEST(dump_of_an_earlier_process_goes) {
  char path[64];
  choose("jitdump", DUMP, path);
  FILE *file = fopen(path, "w");
  CHECK(file != NULL && fputs("what an earlier process has left, longer than a header is", file) >= 0);
  CHECK(fclose(file) == 0);
  check_dump(path);
}

TEST(child_of_fork_has_its_own_dump) {
  char path[64], childs[64];
  int status;
  choose("jitdump", DUMP, path);
  const sm_code code = code_number(0);
  sm_profiler_add(chosen, &code, "first");
  pid_t child = fork();
  CHECK(child >= 0);
  if (child == 0) {
    choose("jitdump", DUMP, childs);
    check_dump(childs);
    _exit(0);
  }
  CHECK(waitpid(child, &status, 0) == child && status == 0);
  size_t size;
  unsigned char *dump = take_file(path, &size);
  CHECK_I64(check_record(dump, HEADER_SIZE, &code, "first"), size);
  free(dump);
}

/* A record that does not fit into the limit is left out as a whole. */
TEST(dump_within_the_limit_of_files) {
  char path[64];
  size_t size;
  choose("jitdump", DUMP, path);
  const sm_code code = code_number(0);
  const struct rlimit limit = {6000, 6000};
  CHECK(setrlimit(RLIMIT_FSIZE, &limit) == 0);
  sm_profiler_add(chosen, &code, "first");
  sm_profiler_add(chosen, &code, "second");
  unsigned char *dump = take_file(path, &size);
  CHECK_I64(check_record(dump, HEADER_SIZE, &code, "first"), size);
  free(dump);
}

enum { THREADS = 4, ROUNDS = 10 };

static void *add_many(void *unused) {
  (void)unused;
  const sm_code code = code_number(0);
  for (int i = 0; i < ROUNDS; i++) sm_profiler_add(chosen, &code, "kernel");
  return NULL;
}

TEST(threads_take_turns) {
  char path[64];
  size_t size, at = HEADER_SIZE;
  pthread_t threads[THREADS];
  choose("jitdump", DUMP, path);
  for (int i = 0; i < THREADS; i++) CHECK(pthread_create(&threads[i], NULL, add_many, NULL) == 0);
  for (int i = 0; i < THREADS; i++) CHECK(pthread_join(threads[i], NULL) == 0);
  CHECK_I64(count_markers(path), 1);
  unsigned char *dump = take_file(path, &size);
  const sm_code code = code_number(0);
  for (int i = 0; i < THREADS * ROUNDS; i++) at = check_record(dump, at, &code, "kernel");
  CHECK_I64(at, size);
  free(dump);
}

TEST_MAIN(CASE(map_names_kernels), CASE(nothing_unless_asked), CASE(follows_no_link), CASE(dump_has_code),
          CASE(dump_of_an_earlier_process_goes), CASE(child_of_fork_has_its_own_dump),
          CASE(dump_within_the_limit_of_files), CASE(threads_take_turns))
