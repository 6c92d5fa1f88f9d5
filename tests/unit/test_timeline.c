/* SPDX-License-Identifier: Apache-2.0
 *
 * Traces: what happens when is in the file, which is JSON at any moment, also if the
 * program ends early, is forked, or may not write more. */
#define _GNU_SOURCE
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "api_fixture.h"
#include "json_text.h"
#include "peer.h"

/* Each case is a process of its own, and so has a folder of its own. */
static char folder[] = "/tmp/smelt-trace-XXXXXX", path[sizeof folder + 16], path2[sizeof folder + 16];

static void make_paths(void) {
  CHECK(mkdtemp(folder) != NULL);
  (void)snprintf(path, sizeof path, "%s/trace.json", folder);
  (void)snprintf(path2, sizeof path2, "%s/trace.json.2", folder);
}

static void remove_paths(void) {
  (void)unlink(path);
  (void)unlink(path2);
  CHECK_I64(rmdir(folder), 0);
}

static smelt_context *open_traced(const char *device) {
  smelt_context_desc desc = SMELT_CONTEXT_DESC_INIT;
  desc.device = device;
  desc.trace = path;
  return open_context_with(&desc);
}

/* The file, which has to be JSON and to say whether it is complete. */
static const char *trace_at(const char *at, bool complete) {
  static char text[1 << 16];
  FILE *file = fopen(at, "r");
  CHECK(file != NULL);
  size_t n = fread(text, 1, sizeof text - 1, file);
  CHECK(n < sizeof text - 1);
  text[n] = 0;
  (void)fclose(file);
  CHECK(json_is_valid(text));
  CHECK_CONTAINS(text, complete ? "\"complete\": true " : "\"complete\": false");
  return text;
}

static void run_two_kernels(smelt_context *ctx) {
  smelt_tensor *row = smelt_from_host(ctx, SMELT_F32, DIMS(1, 2), (float[]){0, 1});
  smelt_tensor *column = smelt_from_host(ctx, SMELT_F32, DIMS(2, 1), (float[]){0, 1});
  CHECK_F64(value_of(smelt_sum(smelt_add(smelt_exp(row), column), NULL, 0, false, SMELT_DTYPE_NONE)) > 9, 1);
}

TEST(what_happens) {
  make_paths();
  smelt_context *ctx = open_traced(NULL);
  run_two_kernels(ctx);
  run_two_kernels(ctx);
  smelt_counters c = counters_of(ctx);
  close_context(ctx);
  const char *text = trace_at(path, true);
  CHECK_I64(count_of(text, "\"cat\": \"record\""), 2);
  CHECK_I64(count_of(text, "\"cat\": \"segment\""), 2);
  CHECK_I64(count_of(text, "\"name\": \"plan made\""), 1);
  CHECK_I64(count_of(text, "\"name\": \"plan found\""), 1);
  CHECK_I64(count_of(text, "\"cat\": \"launch\""), c.launches);
  CHECK_I64(count_of(text, "\"cat\": \"compile\""), c.kernels_compiled);
  CHECK_CONTAINS(text, "\"args\": {\"operations\": 3, \"stream\": 1}");
  CHECK_CONTAINS(text, "\"fuser\": \"ElementWise\", \"read\": 8, \"written\": 8");
  CHECK_I64(count_of(text, "\"ph\": \"M\""), 1);
  CHECK_CONTAINS(text, "\"args\": {\"name\": \"main\"}");
  remove_paths();
}

TEST(on_ref) {
  make_paths();
  smelt_context *ctx = open_traced("ref");
  run_two_kernels(ctx);
  close_context(ctx);
  CHECK_I64(count_of(trace_at(path, true), "\"cat\": \"launch\""), 3);
  remove_paths();
}

TEST(an_empty_trace) {
  make_paths();
  close_context(open_traced(NULL));
  CHECK_I64(count_of(trace_at(path, true), "\"ph\""), 0);
  remove_paths();
}

static void peer_runs(void *user) { run_two_kernels(user); }

TEST(threads_have_names) {
  make_paths();
  smelt_context *ctx = open_traced(NULL);
  peer other;
  peer_open(&other);
  peer_do(&other, peer_runs, ctx);
  run_two_kernels(ctx);
  peer_close(&other);
  close_context(ctx);
  const char *text = trace_at(path, true);
  CHECK_I64(count_of(text, "\"name\": \"thread_name\""), 2);
  CHECK_CONTAINS(text, "{\"name\": \"thread ");
  CHECK_CONTAINS(text, "\"stream\": 2");
  remove_paths();
}

/* --- Ends ------------------------------------------------------------------------------- */

TEST(json_at_any_moment) {
  make_paths();
  smelt_context *ctx = open_traced(NULL);
  (void)trace_at(path, false);
  run_two_kernels(ctx);
  CHECK_I64(count_of(trace_at(path, false), "\"cat\": \"segment\""), 1);
  close_context(ctx);
  remove_paths();
}

TEST(a_program_that_is_killed) {
  make_paths();
  pid_t child = fork();
  if (child == 0) {
    run_two_kernels(open_traced(NULL));
    (void)raise(SIGKILL);
  }
  CHECK_I64(waitpid(child, NULL, 0), child);
  CHECK_I64(count_of(trace_at(path, false), "\"cat\": \"segment\""), 1);
  remove_paths();
}

TEST(a_child_of_fork_writes_nothing) {
  make_paths();
  smelt_context *ctx = open_traced(NULL);
  pid_t child = fork();
  if (child == 0) {
    run_two_kernels(ctx);
    _exit(smelt_context_destroy(ctx, NULL) == SMELT_OK ? 0 : 1);
  }
  int status;
  CHECK_I64(waitpid(child, &status, 0), child);
  CHECK_I64(status, 0);
  CHECK_I64(count_of(trace_at(path, false), "\"ph\""), 0);
  run_two_kernels(ctx);
  close_context(ctx);
  CHECK_I64(count_of(trace_at(path, true), "\"cat\": \"segment\""), 1);
  remove_paths();
}

/* As on a disk that is full: what does not fit is not there at all, and the program is told. */
TEST(no_room) {
  make_paths();
  smelt_error err = {0};
  struct rlimit limit = {.rlim_cur = 2000, .rlim_max = RLIM_INFINITY};
  smelt_context *ctx = open_traced("null:cpu-avx512");
  CHECK_I64(setrlimit(RLIMIT_FSIZE, &limit), 0);
  for (int i = 0; i < 10; i++) smelt_drop(smelt_exp(smelt_zeros(ctx, SMELT_F32, DIMS(i + 1))));
  for (int i = 0; i < 10; i++) {
    smelt_tensor *t = smelt_exp(number(ctx, 1));
    CHECK_STATUS(smelt_eval((const smelt_tensor *[]){t}, 1, NULL), SMELT_OK);
    smelt_drop(t);
  }
  CHECK_STATUS(smelt_context_destroy(ctx, &err), SMELT_ERR_IO);
  CHECK_CONTAINS(err.text, "trace.json: the trace is not complete: File too large");
  const char *text = trace_at(path, false);
  CHECK(count_of(text, "\"ph\"") > 3);
  CHECK(strlen(text) <= 2000);
  remove_paths();
}

/* --- Files --------------------------------------------------------------------------------- */

static void check_refused(const char *file, const char *why) {
  smelt_error err = {0};
  smelt_context_desc desc = SMELT_CONTEXT_DESC_INIT;
  desc.trace = file;
  CHECK(smelt_context_create(&desc, &err) == NULL);
  CHECK_STATUS(err.code, SMELT_ERR_IO);
  CHECK_CONTAINS(err.text, why);
}

TEST(files_that_are_none) {
  make_paths();
  check_refused(folder, "Is a directory");
  check_refused("/dev/full", "a trace needs a regular file");
  check_refused("/no/such/folder/x", "No such file or directory");
  CHECK_I64(mkfifo(path, 0600), 0);
  check_refused(path, "No such device or address"); /* that nobody reads */
  remove_paths();
}

/* Not even the beginning fits. */
TEST(no_room_at_all) {
  make_paths();
  const struct rlimit limit = {.rlim_cur = 10, .rlim_max = RLIM_INFINITY};
  CHECK_I64(setrlimit(RLIMIT_FSIZE, &limit), 0);
  check_refused(path, "trace.json: File too large");
  CHECK(access(path, F_OK) != 0);
  FILE *file = fopen(path, "w");
  CHECK(file != NULL && fputs("former", file) >= 0 && fclose(file) == 0);
  check_refused(path, "trace.json: File too large");
  char text[16] = "";
  file = fopen(path, "r");
  CHECK(file != NULL && fread(text, 1, sizeof text - 1, file) > 0 && fclose(file) == 0);
  CHECK_STR(text, "former");
  remove_paths();
}

TEST(a_context_that_fails_leaves_none) {
  make_paths();
  CHECK_I64(setenv("SMELT_REPRODUCE", "/no/such/folder", 1), 0);
  check_refused(path, "no folder for reproducers");
  CHECK(access(path, F_OK) != 0);
  remove_paths();
}

TEST(one_trace_a_file) {
  make_paths();
  smelt_context *ctx = open_traced(NULL);
  check_refused(path, "another trace is being written to it");
  run_two_kernels(ctx);
  close_context(ctx);
  CHECK_I64(count_of(trace_at(path, true), "\"cat\": \"segment\""), 1);
  close_context(open_traced(NULL)); /* replaces it */
  CHECK_I64(count_of(trace_at(path, true), "\"cat\": \"segment\""), 0);
  remove_paths();
}

TEST(by_environment) {
  make_paths();
  CHECK_I64(setenv("SMELT_TRACE", path, 1), 0);
  smelt_context *first = open_context(), *second = open_context();
  run_two_kernels(second);
  close_context(second);
  close_context(first);
  CHECK_I64(count_of(trace_at(path, true), "\"cat\": \"segment\""), 0);
  CHECK_I64(count_of(trace_at(path2, true), "\"cat\": \"segment\""), 1);
  remove_paths();
}

TEST_MAIN(CASE(what_happens), CASE(on_ref), CASE(an_empty_trace), CASE(threads_have_names),
          CASE(json_at_any_moment), CASE(a_program_that_is_killed), CASE(a_child_of_fork_writes_nothing),
          CASE(no_room), CASE(files_that_are_none), CASE(no_room_at_all),
          CASE(a_context_that_fails_leaves_none), CASE(one_trace_a_file), CASE(by_environment))
