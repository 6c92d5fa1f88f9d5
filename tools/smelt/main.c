/* SPDX-License-Identifier: Apache-2.0
 *
 * The command `smelt`: finds the command in the table and runs it. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "cli.h"
#include "commands.h"

typedef struct command {
  const char *name;
  int (*run)(int argc, char **argv);
  const char *doc;
} command;

static const command commands[] = {
#define COMMAND(name, doc) {#name, cmd_##name, doc},
#include "commands.def"
#undef COMMAND
};

enum { COMMAND_COUNT = sizeof commands / sizeof commands[0] };

static void print_help(FILE *out) {
  (void)fputs("usage: smelt COMMAND [ARGUMENTS]\n\n", out);
  for (size_t i = 0; i < COMMAND_COUNT; i++)
    (void)fprintf(out, "  %-10s %s\n", commands[i].name, commands[i].doc);
  (void)fputs(
      "\n'smelt COMMAND --help' explains one; --version prints the version.\n"
      "Exit status: 0, 2 for wrong input, 1 for other failures.\n",
      out);
}

static int run(int argc, char **argv) {
  const char *name = argv[1];
  if (!strcmp(name, "--help") || !strcmp(name, "-h")) return print_help(stdout), CLI_OK;
  if (!strcmp(name, "--version")) return printf("smelt %s\n", smelt_version()), CLI_OK;
  for (size_t i = 0; i < COMMAND_COUNT; i++)
    if (!strcmp(name, commands[i].name)) return commands[i].run(argc - 1, argv + 1);
  (void)fprintf(stderr, "smelt: no command '%s' ('smelt --help' lists them)\n", name);
  return CLI_WRONG_INPUT;
}

int main(int argc, char **argv) {
  if (argc < 2) return print_help(stderr), CLI_WRONG_INPUT;
  int status = run(argc, argv);
  if (fflush(stdout) != 0 || ferror(stdout)) {
    (void)fprintf(stderr, "smelt: standard output: %s\n", strerror(errno));
    return CLI_FAILURE;
  }
  return status;
}
