/* SPDX-License-Identifier: Apache-2.0
 *
 * fault_golden [OPTIONS] FILE.smt...: runs .smt files while memory runs out.
 *
 * Each round has to end with what the file expects or with faults that say so:
 * a statement may fail for want of memory, and log lines may be missing, but no
 * element may be wrong. (Random numbers may: a call that failed drew none.) */
#define _POSIX_C_SOURCE 200809L
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fault_loop.h"
#include "smt_run.h"

typedef struct subject {
  const char *path;
  char *text;
  size_t size;
} subject;

/* Whether a line of faults is one that too little memory explains: it says so,
 * or it misses lines of the log, which then are not written. */
static bool is_explained(const char *line) {
  static const char *const explanations[] = {"out of memory", "expected the line", "launches since",
                                             "blocks since", "  [" /* a line of the log */};
  for (size_t i = 0; i < sizeof explanations / sizeof explanations[0]; i++) {
    if (strstr(line, explanations[i])) return true;
  }
  return false;
}

/* A call that was passed over took nothing, which may leave references valid
 * that should be stale, and one that failed drew no random number. */
static bool may_follow(const subject *s, const char *line) {
  return strstr(line, "but it is not") || (strstr(line, "element") && strstr(s->text, "rand"));
}

static bool all_explained(const subject *s, char *faults) {
  bool all = true, before = false;
  for (char *line = strtok(faults, "\n"); line; line = strtok(NULL, "\n")) {
    if (strstr(line, "out of memory")) before = true;
    if (is_explained(line) || (before && may_follow(s, line))) continue;
    (void)printf("%s\n", line);
    all = false;
  }
  return all;
}

static void run_file(void *user) {
  const subject *s = user;
  char *faults = NULL;
  size_t size = 0;
  FILE *null = fopen("/dev/null", "w"), *err = open_memstream(&faults, &size);
  if (!null || !err) abort();
  int status = smt_run(s->path, s->text, s->size, &(smt_run_options){.out = null, .err = err});
  (void)fclose(null);
  (void)fclose(err);
  if (status != 0 && !all_explained(s, faults)) exit(EXIT_FAILURE);
  free(faults);
}

static bool read_file(subject *s) {
  FILE *f = fopen(s->path, "rb");
  if (!f || fseek(f, 0, SEEK_END) != 0) return false;
  long size = ftell(f);
  s->size = size > 0 ? (size_t)size : 0;
  s->text = calloc(s->size + 1, 1);
  rewind(f);
  bool read = s->text && fread(s->text, 1, s->size, f) == s->size;
  (void)fclose(f);
  return read;
}

int main(int argc, char **argv) {
  fault_totals totals = {.all = false};
  for (int i = fault_options(&totals, argc, argv); i < argc; i++) {
    subject s = {.path = argv[i]};
    if (!read_file(&s)) {
      (void)printf("%s cannot be read\n", s.path);
      return EXIT_FAILURE;
    }
    fault_loop(&totals, s.path, run_file, &s);
    free(s.text);
  }
  return fault_report(&totals, "files");
}
