/* SPDX-License-Identifier: Apache-2.0
 *
 * Texts of kernels in files of their own, and compilers run on them. */
#ifndef TESTS_COMPILED_TEXT_H
#define TESTS_COMPILED_TEXT_H

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "kernel_text.h"

typedef struct text_files {
  char folder[64], source[80], output[80];
} text_files;

static inline text_files make_text_files(const char *suffix) {
  text_files f = {.folder = "/tmp/smelt-text-XXXXXX"};
  CHECK(mkdtemp(f.folder) != NULL);
  (void)snprintf(f.source, sizeof f.source, "%s/kernel%s", f.folder, suffix);
  (void)snprintf(f.output, sizeof f.output, "%s/output", f.folder);
  return f;
}

static inline void append_text(const text_files *f, const char *text) {
  FILE *file = fopen(f->source, "a");
  CHECK(file && fputs(text, file) >= 0 && fclose(file) == 0);
}

/* The kernel's text, appended. */
static inline void append_kernel(const text_files *f, const sm_kir_kernel *k, const sm_dialect *dialect,
                                 sm_text_form form) {
  sm_text text = text_of(k, dialect, form);
  append_text(f, text.data);
  sm_text_free(&text);
}

static inline text_files write_text(const sm_kir_kernel *k, const sm_dialect *dialect, sm_text_form form,
                                    const char *suffix) {
  text_files f = make_text_files(suffix);
  append_kernel(&f, k, dialect, form);
  return f;
}

static inline void remove_text(const text_files *f) {
  (void)unlink(f->source);
  (void)unlink(f->output);
  (void)rmdir(f->folder);
}

/* Runs a command; what it says is shown if it fails. */
__attribute__((format(printf, 1, 2))) static inline void run_compiler(const char *format, ...) {
  char command[600];
  va_list args;
  va_start(args, format);
  (void)vsnprintf(command, sizeof command, format, args);
  va_end(args);
  (void)fflush(stdout);
  if (system(command) == 0) return;
  printf("%s failed\n", command);
  CHECK(false);
}

static inline bool has_command(const char *name) {
  char command[120];
  (void)snprintf(command, sizeof command, "command -v %s >/dev/null 2>&1", name);
  return system(command) == 0;
}

#endif
