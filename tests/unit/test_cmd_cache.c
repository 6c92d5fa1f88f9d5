/* SPDX-License-Identifier: Apache-2.0
 *
 * smelt cache: what it prints and the status it answers, for folders with sound
 * and damaged entries and for those that cannot be used. */
#define _XOPEN_SOURCE 700
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli.h"
#include "commands.h"
#include "harness.h"
#include "rt/code_cache.h"

static char root[] = "/tmp/smelt-cmd-cache-XXXXXX";
static char printed[4096];
static const sm_log silent = {.enabled = 0};

static void enter(void) {
  CHECK(mkdtemp(root) != NULL && chdir(root) == 0);
  CHECK(setenv("SMELT_CACHE_DIR", "kernels", 1) == 0);
  CHECK(unsetenv("SMELT_CACHE") == 0 && unsetenv("SMELT_CACHE_DISK_BYTES") == 0);
}

static void leave(void) {
  char command[64];
  (void)snprintf(command, sizeof command, "rm -rf %s", root);
  CHECK(chdir("/") == 0 && system(command) == 0);
}

/* Sends `stream` to a file; answers what it was. */
static int redirect(FILE *stream, const char *path) {
  (void)fflush(stream);
  int old = dup(fileno(stream));
  FILE *file = fopen(path, "w");
  CHECK(old >= 0 && file != NULL && dup2(fileno(file), fileno(stream)) >= 0 && fclose(file) == 0);
  return old;
}

static void restore(FILE *stream, int old) {
  (void)fflush(stream);
  CHECK(dup2(old, fileno(stream)) >= 0 && close(old) == 0);
}

static void append_file(const char *path) {
  size_t n = strlen(printed);
  FILE *file = fopen(path, "r");
  CHECK(file != NULL);
  n += fread(printed + n, 1, sizeof printed - 1 - n, file);
  printed[n] = 0;
  CHECK(fclose(file) == 0 && unlink(path) == 0);
}

/* Runs `smelt cache ACTION`; `printed` is standard output, then standard error. */
static int run(const char *action) {
  char *arguments[] = {"cache", (char *)(uintptr_t)action, NULL};
  int out = redirect(stdout, "out"), err = redirect(stderr, "err");
  int status = cmd_cache(action ? 2 : 1, arguments);
  restore(stdout, out);
  restore(stderr, err);
  printed[0] = 0;
  append_file("out");
  append_file("err");
  return status;
}

static void put_entries(uint64_t n) {
  sm_code_cache cache;
  sm_code_cache_open(&cache, SM_CPU_AVX512, &sm_malloc_allocator, &silent);
  for (uint64_t i = 0; i < n; i++) {
    sm_code_cache_put(&cache, (sm_hash){i, 0}, "libLLVM-19.so.1", &(sm_object){"machine code", 12});
  }
  cache.generator++;
  sm_code_cache_put(&cache, (sm_hash){0, 0}, "libLLVM-18.so.1", &(sm_object){"machine code", 12});
  sm_code_cache_close(&cache);
}

TEST(sound_entries) {
  enter();
  put_entries(2);
  CHECK_I64(run("ls"), CLI_OK);
  CHECK_CONTAINS(printed, "       140 B ");
  CHECK_CONTAINS(printed, " s  avx512    libLLVM-19.so.1\n");
  CHECK_CONTAINS(printed, " s  avx512    libLLVM-18.so.1  was made by another version\n");
  CHECK_CONTAINS(printed, "kernels: 3 files, 420 B of 256.0 MiB\n");
  CHECK_I64(run("verify"), CLI_OK);
  CHECK_STR(printed, "kernels: 3 files, 420 B of 256.0 MiB\n");
  CHECK_I64(run("clear"), CLI_OK);
  CHECK_STR(printed, "kernels: 3 files removed\n");
  CHECK_I64(run("ls"), CLI_OK);
  CHECK_STR(printed, "kernels: 0 files, 0 B of 256.0 MiB\n");
  leave();
}

TEST(faulty_entries) {
  static const char name[] = "0123456789abcdef0123456789abcdef";
  char path[64];
  enter();
  put_entries(1);
  (void)snprintf(path, sizeof path, "kernels/%s", name);
  CHECK(symlink("/etc/passwd", path) == 0);
  CHECK(symlink("/etc/passwd", "kernels/tmp-1-0") == 0);
  CHECK(symlink("/etc/passwd", "kernels/notes") == 0);
  CHECK_I64(run("ls"), CLI_OK);
  CHECK_CONTAINS(printed, "is a symbolic link\n");
  CHECK_CONTAINS(printed, "tmp-1-0 ");
  CHECK_CONTAINS(printed, "is being written, or was left behind\n");
  CHECK_I64(run("verify"), CLI_FAILURE);
  CHECK(strstr(printed, "avx512") == NULL);
  CHECK_CONTAINS(printed, "0123456789abcdef0123456789abcdef        11 B");
  CHECK_CONTAINS(printed, "smelt: cache: 1 faulty file (they are not used)\n");
  CHECK_I64(run("clear"), CLI_OK);
  CHECK_STR(printed, "kernels: 4 files removed\n");
  CHECK(access("/etc/passwd", F_OK) == 0 && access("kernels/notes", F_OK) == 0);
  CHECK(mkdir(path, 0700) == 0);
  CHECK_I64(run("clear"), CLI_FAILURE);
  CHECK_CONTAINS(printed, "smelt: cache: 1 not removed\n");
  leave();
}

TEST(folders_that_cannot_be_used) {
  enter();
  CHECK_I64(run("ls"), CLI_OK);
  CHECK(access("kernels", F_OK) != 0);
  CHECK(mkdir("kernels", 0700) == 0 && chmod("kernels", 0777) == 0);
  CHECK_I64(run("ls"), CLI_WRONG_INPUT);
  CHECK_STR(printed, "smelt: cache: kernels can be written by other users\n");
  CHECK(setenv("SMELT_CACHE", "0", 1) == 0);
  CHECK_I64(run("clear"), CLI_WRONG_INPUT);
  CHECK_STR(printed, "smelt: cache: switched off by SMELT_CACHE=0\n");
  leave();
}

TEST(wrong_arguments) {
  enter();
  CHECK_I64(run(NULL), CLI_WRONG_INPUT);
  CHECK_CONTAINS(printed, "what to do is missing");
  CHECK_I64(run("purge"), CLI_WRONG_INPUT);
  CHECK_CONTAINS(printed, "no action 'purge': ls, verify or clear");
  CHECK_I64(run("--all"), CLI_WRONG_INPUT);
  CHECK_CONTAINS(printed, "no option '--all'");
  CHECK_I64(run("--help"), CLI_OK);
  CHECK_CONTAINS(printed, "usage: smelt cache ls|verify|clear\n");
  CHECK(setenv("SMELT_CACHE_DISK_BYTES", "-1", 1) == 0);
  CHECK_I64(run("ls"), CLI_WRONG_INPUT);
  CHECK_CONTAINS(printed, "SMELT_CACHE_DISK_BYTES");
  leave();
}

TEST_MAIN(CASE(sound_entries), CASE(faulty_entries), CASE(folders_that_cannot_be_used), CASE(wrong_arguments))
