/* SPDX-License-Identifier: Apache-2.0
 *
 * Running .smt files: the core of `smelt run`, for tests too.
 *
 * Statements run in order through the public interface. A statement that fails
 * is reported with its line and the file goes on, so that one run shows every
 * fault. In the end, and whatever happened, remaining references are dropped
 * and the context is destroyed; a leak found there is a failure of the library.
 *
 * Expectations on launches, blocks and log lines describe the file's own
 * options on a device that plans kernels. Where `no_fusion` or `max_ops` change
 * the options, or on `ref`, they are not checked, and a note says how many. */
#ifndef SMELT_TOOL_SMT_RUN_H
#define SMELT_TOOL_SMT_RUN_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "explain_option.h"
#include "smelt/base.h"

typedef struct smt_run_options {
  const char *device; /* NULL: the default */
  bool emit_c;
  bool no_fusion;
  int64_t max_ops; /* 0: as the file says */
  smelt_mode mode; /* default: as the file says */
  const char *log; /* categories of lines to print, NULL for none */
  explain_option explain;
  const char *trace; /* a file; NULL: none */
  FILE *out;         /* what the file prints, and the log */
  FILE *err;         /* faults, and the explanation */
} smt_run_options;

/* Writes the program in C to options->out instead. */
int smt_emit_c(const char *file, const char *text, size_t n, const smt_run_options *options);

/* Runs `n` bytes of text; `file` is its name in messages. Answers the exit
 * status (cli.h): CLI_WRONG_INPUT for a malformed file or an unknown device. */
int smt_run(const char *file, const char *text, size_t n, const smt_run_options *options);

#endif
