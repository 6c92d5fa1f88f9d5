/* SPDX-License-Identifier: Apache-2.0
 *
 * Public reports about other tensor libraries, tried on this one. Most are a small
 * program in the .smt form with the right result, run fused, unfused and interpreted on
 * the processor, fused on another default device, and by the reference; those that are *guarded* with buffers
 * that end at a page that cannot be touched. The file defines _POSIX_C_SOURCE before. */
#ifndef TESTS_REPORTS_H
#define TESTS_REPORTS_H

#include "smt_run.h"

#include <stdlib.h>

#include "api_fixture.h"
#include "cli.h"

typedef struct report {
  const char *id, *program;
} report;

static inline void run_one(const report *r, const char *device, bool no_fusion) {
  char text[2000], *faults = NULL;
  size_t size = 0;
  FILE *err = open_memstream(&faults, &size), *out = fopen("/dev/null", "w");
  CHECK(err && out);
  CHECK(snprintf(text, sizeof text, "smt 1\n%s", r->program) < (int)sizeof text);
  smt_run_options options = {.device = device, .no_fusion = no_fusion, .out = out, .err = err};
  int status = smt_run(r->id, text, strlen(text), &options);
  (void)fclose(err);
  (void)fclose(out);
  CHECK_STR(faults, "");
  CHECK_I64(status, CLI_OK);
  free(faults);
}

static inline void run_reports(const report *reports, size_t n) {
  for (size_t i = 0; i < n; i++) {
    run_one(&reports[i], "ref", false);
    for (int way = 0; way < tries(4, 1); way++) {
      CHECK_I64(way & 2 ? setenv("SMELT_LLVM", "0", 1) : unsetenv("SMELT_LLVM"), 0);
      run_one(&reports[i], NULL, way & 1);
    }
  }
}
#define RUN(reports) run_reports(reports, sizeof(reports) / sizeof(reports)[0])

static inline void guard_buffers(void) { CHECK_I64(setenv("SMELT_GUARD", "1", 1), 0); }

#define RUN_GUARDED(reports) \
  do {                       \
    guard_buffers();         \
    RUN(reports);            \
  } while (0)

/* For reports that need more than a program: compiled and interpreted, guarded. */
static inline void run_on_processor(void (*test)(smelt_context *ctx)) {
  guard_buffers();
  for (int interpreted = 0; interpreted < 2; interpreted++) {
    CHECK_I64(interpreted ? setenv("SMELT_LLVM", "0", 1) : unsetenv("SMELT_LLVM"), 0);
    smelt_context *ctx = open_device("cpu");
    test(ctx);
    close_context(ctx);
  }
}

#endif
