/* SPDX-License-Identifier: Apache-2.0
 *
 * The measures `cold` and `warm`: whole processes, each of which runs the case
 * `first`. Their floor is a process of the same program that does nothing. */
#define _XOPEN_SOURCE 700
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/error.h"
#include "bench.h"

extern char **environ;

/* What a process printed. */
enum { MAX_OUTPUT = 4096 };

/* --- One process -------------------------------------------------------------------------- */

static void read_all(int fd, char *output) {
  size_t n = 0;
  ssize_t got;
  while ((got = read(fd, output + n, MAX_OUTPUT - 1 - n)) > 0) n += (size_t)got;
  output[n] = 0;
}

/* Runs this program with standard output going to `writing`; 0 or an errno. */
static int spawn(char *const *argv, int writing, pid_t *child) {
  posix_spawn_file_actions_t actions;
  int failure = posix_spawn_file_actions_init(&actions);
  if (failure) return failure;
  failure = posix_spawn_file_actions_adddup2(&actions, writing, STDOUT_FILENO);
  if (!failure) failure = posix_spawn(child, "/proc/self/exe", &actions, NULL, argv, environ);
  (void)posix_spawn_file_actions_destroy(&actions);
  return failure;
}

static bool make_pipe(int ends[2]) {
  if (pipe(ends) != 0) return false;
  for (int k = 0; k < 2; k++) (void)fcntl(ends[k], F_SETFD, FD_CLOEXEC);
  return true;
}

/* Runs the process to its end; `us` is how long that takes, `output` (of MAX_OUTPUT)
 * what it printed. */
static smelt_status run_process(char *const *argv, double *us, char *output, smelt_error *err) {
  int ends[2], status = 0;
  pid_t child;
  if (!make_pipe(ends)) return sm_error_set(err, SMELT_ERR_INTERNAL, "no pipe: %s", strerror(errno));
  double start = bench_now_us();
  int failure = spawn(argv, ends[1], &child);
  (void)close(ends[1]);
  if (!failure) {
    read_all(ends[0], output);
    while (waitpid(child, &status, 0) < 0 && errno == EINTR) continue;
  }
  *us = bench_now_us() - start;
  (void)close(ends[0]);
  if (failure) return sm_error_set(err, SMELT_ERR_INTERNAL, "no process: %s", strerror(failure));
  if (status != 0) return sm_error_set(err, SMELT_ERR_INTERNAL, "smelt %s failed", argv[1]);
  return SMELT_OK;
}

/* --- Rounds ---------------------------------------------------------------------------------- */

static smelt_status run_nothing(double *us, smelt_error *err) {
  char output[MAX_OUTPUT];
  return run_process((char *[]){"smelt", "--version", NULL}, us, output, err);
}

/* The number behind a name in what the case `first` reported. */
static int64_t reported(const char *output, const char *name) {
  const char *at = strstr(output, name);
  return at ? strtoll(at + strlen(name), NULL, 10) : -1;
}

static void take_report(const char *output, bench_result *result) {
  const char *device = strstr(output, "\"device\": ");
  if (device) (void)sscanf(device, "\"device\": \"%63[^\"]", result->device);
  result->llvm_mapped = strstr(output, "\"llvm_mapped\": true") != NULL;
  result->kernels = reported(output, "\"kernels\": ");
  result->launches = reported(output, "\"launches\": ");
  result->bytes = reported(output, "\"bytes\": ");
}

static smelt_status run_first(const bench_options *options, bench_result *result, double *us,
                              smelt_error *err) {
  char output[MAX_OUTPUT], device[64];
  sm_text shape;
  sm_text_init(&shape, &sm_malloc_allocator);
  sm_shape_print(&shape, &result->shape);
  (void)snprintf(device, sizeof device, "--device=%s", options->device);
  char *argv[] = {"smelt", "bench",   "first",    "--json",
                  device,  "--shape", shape.data, options->no_fusion ? "--no-fusion" : NULL,
                  NULL};
  smelt_status status = run_process(argv, us, output, err);
  if (status == SMELT_OK) take_report(output, result);
  sm_text_free(&shape);
  return status;
}

/* The first run of each is for files to be read into memory, and for the cache. */
static smelt_status run_rounds(const bench_options *options, bench_result *result, smelt_error *err) {
  double us[BENCH_MAX_ROUNDS + 1], floor_us[BENCH_MAX_ROUNDS + 1];
  for (int round = 0; round <= options->rounds; round++) {
    SM_TRY(run_nothing(&floor_us[round], err));
    SM_TRY(run_first(options, result, &us[round], err));
  }
  result->times = bench_times_of(us + 1, options->rounds);
  result->floor = "process";
  result->floor_us = bench_times_of(floor_us + 1, options->rounds).median;
  result->ratio = bench_median_ratio(us + 1, floor_us + 1, options->rounds);
  return SMELT_OK;
}

/* --- With the cache on disk and without -------------------------------------------------------- */

smelt_status bench_measure_cold(const bench_case *what, const bench_options *options, bench_result *result,
                                smelt_error *err) {
  (void)what;
  return run_rounds(options, result, err);
}

static int remove_entry(const char *path, const struct stat *st, int type, struct FTW *at) {
  (void)st, (void)type, (void)at;
  return remove(path);
}

/* In a folder of its own, so that the first run finds nothing. */
smelt_status bench_measure_warm(const bench_case *what, const bench_options *options, bench_result *result,
                                smelt_error *err) {
  (void)what;
  char folder[] = "/tmp/smelt-bench-XXXXXX";
  if (!mkdtemp(folder)) return sm_error_set(err, SMELT_ERR_IO, "%s: %s", folder, strerror(errno));
  (void)setenv("SMELT_CACHE_DIR", folder, 1);
  (void)unsetenv("SMELT_CACHE");
  smelt_status status = run_rounds(options, result, err);
  (void)setenv("SMELT_CACHE", "0", 1);
  (void)nftw(folder, remove_entry, 8, FTW_DEPTH | FTW_PHYS);
  return status;
}
