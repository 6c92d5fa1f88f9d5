/* SPDX-License-Identifier: Apache-2.0
 *
 * Reproducers: what was recorded, as a file that shows the same; of segments that fail,
 * and of those only. (That the C programs do what the .smt files do is shown by
 * tests/cli/run-emit-tests.sh.) */
#define _GNU_SOURCE
#include <dirent.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "api_fixture.h"
#include "custom_fixture.h"
#include "smt_run.h"

static char folder[] = "/tmp/smelt-reproduce-XXXXXX", path[sizeof folder + 64];

static const char *path_of(const char *name) {
  (void)snprintf(path, sizeof path, "%s/%s", folder, name);
  return path;
}

static void make_folder(void) { CHECK(mkdtemp(folder) != NULL); }

/* Answers how many files with that ending there were. */
static int empty_folder(const char *ending) {
  int n = 0;
  DIR *d = opendir(folder);
  CHECK(d != NULL);
  for (struct dirent *e; (e = readdir(d));) {
    if (e->d_name[0] == '.') continue;
    n += strlen(e->d_name) > strlen(ending) && strcmp(strrchr(e->d_name, '.'), ending) == 0;
    CHECK_I64(unlink(path_of(e->d_name)), 0);
  }
  (void)closedir(d);
  CHECK_I64(rmdir(folder), 0);
  return n;
}

static const char *contents(const char *at) {
  static char text[1 << 16];
  FILE *file = fopen(at, "r");
  CHECK(file != NULL);
  text[fread(text, 1, sizeof text - 1, file)] = 0;
  (void)fclose(file);
  return text;
}

/* What `smelt run` prints of it. */
static const char *output_of(const char *text) {
  static char printed[1 << 12];
  FILE *out = fmemopen(printed, sizeof printed, "w");
  smt_run_options options = {.out = out, .err = stderr};
  CHECK_I64(smt_run("file.smt", text, strlen(text), &options), 0);
  (void)fclose(out);
  return printed;
}

static void reproduce(smelt_context *ctx, const char *name) {
  smelt_error err = {0};
  CHECK_OK(smelt_reproduce(ctx, path_of(name), &err), err);
}

/* --- On demand ----------------------------------------------------------------------------- */

static smelt_tensor *record(smelt_context *ctx) {
  smelt_tensor *x = smelt_from_host(ctx, SMELT_F32, DIMS(2, 2), (float[]){1, 2, 3, 4});
  smelt_tensor *row = smelt_slice(smelt_ref(x), (smelt_range[]){{1, 2, 1}}, 1);
  return smelt_add(smelt_mul(x, 0.5), row);
}

TEST(what_is_pending) {
  make_folder();
  smelt_context *ctx = open_context();
  smelt_tensor *y = record(ctx);
  uint64_t launches = counters_of(ctx).launches;
  reproduce(ctx, "a.smt");
  CHECK_I64(counters_of(ctx).launches, launches); /* nothing has run */
  const char *text = contents(path);
  CHECK_CONTAINS(text, "smt 1\n# A segment of a program with Smelt ");
  CHECK_CONTAINS(text, "t1 = input f32[2,2] {1.0, 2.0, 3.0, 4.0}\n");
  CHECK_CONTAINS(text, "multiply(t1, 0.5)\n");
  CHECK_CONTAINS(text, "read t4\n");
  CHECK_STR(output_of(text), "[[3.5 5. ]\n [4.5 6. ]]\n");
  CHECK_F64(value_of(smelt_sum(y, NULL, 0, false, SMELT_DTYPE_NONE)), 19);
  close_context(ctx);
  CHECK_I64(empty_folder(".smt"), 1);
}

TEST(in_c) {
  make_folder();
  smelt_context *ctx = open_context();
  smelt_tensor *y = record(ctx);
  reproduce(ctx, "a.c");
  const char *text = contents(path);
  CHECK_CONTAINS(text, "#include <smelt/smelt.h>\n");
  CHECK_CONTAINS(text, "static const float t1_data[] = {1.0f, 2.0f, 3.0f, 4.0f};\n");
  CHECK_CONTAINS(
      text, "smelt_slice(smelt_ref(t1), (smelt_range[]){{1, 2, SMELT_ABSENT}, {0, 2, SMELT_ABSENT}}, 2);\n");
  CHECK_CONTAINS(text, "check(smelt_print(t4, &err));\n");
  smelt_drop(y);
  close_context(ctx);
  CHECK_I64(empty_folder(".c"), 1);
}

TEST(options_of_the_context) {
  make_folder();
  smelt_context_desc desc = SMELT_CONTEXT_DESC_INIT;
  desc.fusion = SMELT_OFF;
  desc.mode = SMELT_MODE_STRICT;
  desc.max_ops = 7;
  smelt_context *ctx = open_context_with(&desc);
  smelt_tensor *y = record(ctx);
  reproduce(ctx, "a.smt");
  CHECK_CONTAINS(contents(path), "option fusion off\noption mode strict\noption max_ops 7\nt1 = ");
  smelt_drop(y);
  close_context(ctx);
  CHECK_I64(empty_folder(".smt"), 1);
}

/* Large inputs: of one value, or counted instead. A view is what it shows. */
TEST(inputs) {
  make_folder();
  smelt_context *ctx = open_context();
  smelt_tensor *same = smelt_full(ctx, 2.5, SMELT_F32, DIMS(5000));
  smelt_tensor *other = smelt_arange(ctx, 5, 5005, 1, SMELT_I64);
  smelt_tensor *view = smelt_flip(smelt_from_host(ctx, SMELT_U8, DIMS(3), (uint8_t[]){1, 2, 3}), NULL, 0);
  CHECK_STATUS(smelt_sync(ctx, NULL), SMELT_OK);
  smelt_tensor *results[] = {smelt_exp(same), smelt_negative(other), smelt_add(view, 1)};
  reproduce(ctx, "a.smt");
  const char *text = contents(path);
  CHECK_CONTAINS(text, "input f32[5000] fill 2.5\n");
  CHECK_CONTAINS(text, "input i64[5000] iota  # instead of 5000 other elements\n");
  CHECK_CONTAINS(text, "input u8[3] {3, 2, 1}\n");
  CHECK_CONTAINS(output_of(text), "[4 3 2]\n");
  for (int i = 0; i < 3; i++) smelt_drop(results[i]);
  close_context(ctx);
  CHECK_I64(empty_folder(".smt"), 1);
}

TEST(nothing_recorded) {
  make_folder();
  smelt_context *ctx = open_device("ref");
  reproduce(ctx, "a.smt");
  CHECK_STR(output_of(contents(path)), "");
  close_context(ctx);
  CHECK_I64(empty_folder(".smt"), 1);
}

TEST(mistakes) {
  make_folder();
  smelt_context *ctx = open_context();
  smelt_error err = {0};
  CHECK_STATUS(smelt_reproduce(NULL, "a.c", &err), SMELT_ERR_ARGUMENT);
  CHECK_STATUS(smelt_reproduce(ctx, NULL, &err), SMELT_ERR_ARGUMENT);
  CHECK_STATUS(smelt_reproduce(ctx, "a.txt", &err), SMELT_ERR_ARGUMENT);
  CHECK_STATUS(smelt_reproduce(ctx, "/no/such/folder/a.c", &err), SMELT_ERR_IO);
  CHECK_CONTAINS(err.text, "/no/such/folder/a.c: No such file or directory");
  close_context(ctx);
  smelt_context_desc desc = SMELT_CONTEXT_DESC_INIT;
  desc.reproduce = "/no/such/folder";
  CHECK(smelt_context_create(&desc, &err) == NULL);
  CHECK_STATUS(err.code, SMELT_ERR_IO);
  CHECK_CONTAINS(err.text, "/no/such/folder: no folder for reproducers: No such file or directory");
  desc.reproduce = "/bin/sh";
  CHECK(smelt_context_create(&desc, &err) == NULL);
  CHECK_CONTAINS(err.text, "/bin/sh: no folder for reproducers: Not a directory");
  CHECK_I64(empty_folder(".smt"), 0);
}

/* --- Segments that fail ----------------------------------------------------------------------- */

static smelt_context *open_reproducing(void) {
  smelt_context_desc desc = SMELT_CONTEXT_DESC_INIT;
  desc.reproduce = folder;
  return open_context_with(&desc);
}

static smelt_tensor *more_than_there_is(smelt_context *ctx) {
  return smelt_exp(smelt_zeros(ctx, SMELT_F32, DIMS((int64_t)1 << 50)));
}

TEST(what_fails_is_kept) {
  make_folder();
  smelt_context *ctx = open_reproducing();
  smelt_drop(smelt_mul(record(ctx), 3));
  CHECK_F64(value_of(smelt_sum(record(ctx), NULL, 0, false, SMELT_DTYPE_NONE)), 19);
  smelt_tensor *bad = more_than_there_is(ctx);
  smelt_error err = {0};
  CHECK_STATUS(smelt_eval((const smelt_tensor *[]){bad}, 1, &err), SMELT_ERR_MEMORY);
  CHECK_CONTAINS(err.text, "; reproduced by ");
  CHECK_CONTAINS(err.text, "-2.smt"); /* the second segment that ran */
  const char *text = contents(strstr(err.text, folder));
  CHECK_CONTAINS(text, "= zeros(dtype=f32, shape=[1125899906842624])\n");
  smelt_drop(bad);
  close_context(ctx);
  CHECK_I64(empty_folder(".c"), 1);
}

/* C has no form of an operation that another program registered; the .smt file names it. */
TEST(custom_operations_are_named) {
  make_folder();
  smelt_context *ctx = open_reproducing();
  smelt_op_desc desc = SMELT_OP_DESC_INIT;
  desc.name = "rev", desc.n_operands = 1, desc.shape = like_first, desc.kernel = fail_to_launch;
  CHECK_STATUS(smelt_op_register(ctx, &desc, NULL), SMELT_OK);
  smelt_tensor *bad = record(ctx);
  bad = smelt_call(NULL, "rev", &bad, 1, NULL);
  smelt_error err = {0};
  CHECK_STATUS(smelt_eval((const smelt_tensor *[]){bad}, 1, &err), SMELT_ERR_LAUNCH);
  CHECK_CONTAINS(err.text, "; reproduced by ");
  CHECK_CONTAINS(contents(strstr(err.text, folder)), "= rev(");
  smelt_drop(bad);
  close_context(ctx);
  CHECK_I64(empty_folder(".c"), 0);
}

static void die(void *user, const char *line) {
  (void)user, (void)line;
  (void)raise(SIGKILL);
}

/* The file of the segment that ends the process is there. */
TEST(what_crashes_is_kept) {
  make_folder();
  pid_t child = fork();
  if (child == 0) {
    smelt_context_desc desc = SMELT_CONTEXT_DESC_INIT;
    desc.log = "launch";
    desc.log_fn = die;
    CHECK_I64(setenv("SMELT_REPRODUCE", folder, 1), 0);
    smelt_tensor *y = record(open_context_with(&desc));
    (void)smelt_eval((const smelt_tensor *[]){y}, 1, NULL);
  }
  CHECK_I64(waitpid(child, NULL, 0), child);
  char name[40];
  (void)snprintf(name, sizeof name, "segment-%ld-1.smt", (long)child);
  CHECK_STR(output_of(contents(path_of(name))), "[[3.5 5. ]\n [4.5 6. ]]\n");
  CHECK_I64(empty_folder(".c"), 1);
}

TEST_MAIN(CASE(what_is_pending), CASE(in_c), CASE(options_of_the_context), CASE(inputs),
          CASE(nothing_recorded), CASE(mistakes), CASE(what_fails_is_kept), CASE(what_crashes_is_kept),
          CASE(custom_operations_are_named))
