/* SPDX-License-Identifier: Apache-2.0
 *
 * How all commands behave: exit status, error lines, options.
 *
 * Errors are one line on standard error, "smelt: COMMAND: TEXT". */
#ifndef SMELT_TOOL_CLI_H
#define SMELT_TOOL_CLI_H

#include <getopt.h>

#include "core/shape.h"

typedef enum cli_exit {
  CLI_OK = 0,
  CLI_FAILURE = 1,    /* everything else */
  CLI_WRONG_INPUT = 2 /* the user can repair it */
} cli_exit;

/* The exit status for a status of the library. */
int cli_exit_of(smelt_status status);

/* Prints the error line; answers the exit status. */
__attribute__((format(printf, 3, 4))) int cli_fail(const char *command, smelt_status status,
                                                   const char *format, ...);

/* Prints the error line for an option that getopt_long did not accept.
 * `answer` is what it returned ('?', or ':' for a missing value). */
int cli_fail_option(char **argv, int answer);

/* What stands for an exit status while a command goes on. */
enum { CLI_GO_ON = -1 };

/* Hands every option to `take`, with `given`, until one ends the command. `take`
 * gets what getopt_long answers, refused options too, and returns the exit status
 * or CLI_GO_ON. Returns the same; then the arguments begin at optind. */
int cli_take_options(int argc, char **argv, const char *short_names, const struct option *options,
                     int (*take)(void *given, char **argv, int answer), void *given);

/* For commands that have no option but --help: prints `help` if it is asked for.
 * Answers whether the command is over, with its exit status; otherwise the
 * arguments begin at optind. */
bool cli_only_help(int argc, char **argv, const char *help, int *status);

/* Reads a whole number, decimal or 0x…; false if `text` is none. */
bool cli_parse_u64(const char *text, uint64_t *out);

/* Takes the value of --mode; false, with the error line printed, if there is no
 * such mode. `default` leaves it to the environment. */
bool cli_take_mode(const char *command, const char *text, smelt_mode *out);

/* Reads extents, "2,3" or "[2,3]", "[]" for none, as the shape of an f32 tensor;
 * false if `text` is no shape or there is no such tensor. */
bool cli_parse_shape(const char *text, sm_shape *out);

#endif
