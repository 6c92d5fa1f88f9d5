/* SPDX-License-Identifier: Apache-2.0
 *
 * smelt run FILE.smt: the command line around smt_run. */
#include <errno.h>
#include <string.h>

#include "base/text.h"
#include "cli.h"
#include "commands.h"
#include "smt_run.h"

static const char help[] =
    "usage: smelt run [OPTIONS] FILE.smt\n"
    "\n"
    "Runs the operations of a file in the .smt form (docs/smt.md) and checks what\n"
    "the file expects.\n"
    "\n"
    "  --device NAME      cpu (default), cuda, opencl, ref, null:PROFILE\n"
    "  --no-fusion        every operation is a kernel of its own\n"
    "  --mode MODE        strict, default or fast (docs/modes.md)\n"
    "  --max-ops N        recorded operations per kernel\n"
    "  --explain[=json]   what ran in which kernels and why, on standard error\n"
    "  --trace FILE       what happens when, for Perfetto (ui.perfetto.dev)\n"
    "  --emit c           prints the program in C instead\n"
    "  --log CATEGORIES   log lines to print: register,block,launch,... or all\n"
    "\n"
    "Exit status: 0, 2 for a malformed file or wrong arguments, 1 if an expectation\n"
    "fails.\n";

enum {
  OPTION_DEVICE = 256,
  OPTION_NO_FUSION,
  OPTION_MAX_OPS,
  OPTION_LOG,
  OPTION_MODE,
  OPTION_EXPLAIN,
  OPTION_TRACE,
  OPTION_EMIT
};

/* The exit status, or CLI_GO_ON. */
static int take_option(void *options, char **argv, int answer) {
  smt_run_options *run = options;
  uint64_t n = 0;
  switch (answer) {
    case 'h':
      (void)fputs(help, stdout);
      return CLI_OK;
    case OPTION_DEVICE:
      run->device = optarg;
      return CLI_GO_ON;
    case OPTION_NO_FUSION:
      run->no_fusion = true;
      return CLI_GO_ON;
    case OPTION_MODE:
      return cli_take_mode("run", optarg, &run->mode) ? CLI_GO_ON : CLI_WRONG_INPUT;
    case OPTION_EXPLAIN:
      return explain_take("run", optarg, &run->explain) ? CLI_GO_ON : CLI_WRONG_INPUT;
    case OPTION_TRACE:
      run->trace = optarg;
      return CLI_GO_ON;
    case OPTION_EMIT:
      run->emit_c = true;
      if (!strcmp(optarg, "c")) return CLI_GO_ON;
      return cli_fail("run", SMELT_ERR_ARGUMENT, "--emit '%s': there is only c", optarg);
    case OPTION_LOG:
      run->log = optarg;
      return CLI_GO_ON;
    case OPTION_MAX_OPS:
      if (!cli_parse_u64(optarg, &n) || n == 0 || n > INT64_MAX) {
        return cli_fail("run", SMELT_ERR_ARGUMENT, "--max-ops wants a number above 0, not '%s'", optarg);
      }
      run->max_ops = (int64_t)n;
      return CLI_GO_ON;
    default:
      return cli_fail_option(argv, answer);
  }
}

static int take_options(smt_run_options *run, int argc, char **argv) {
  static const struct option options[] = {{"help", no_argument, NULL, 'h'},
                                          {"device", required_argument, NULL, OPTION_DEVICE},
                                          {"no-fusion", no_argument, NULL, OPTION_NO_FUSION},
                                          {"mode", required_argument, NULL, OPTION_MODE},
                                          {"max-ops", required_argument, NULL, OPTION_MAX_OPS},
                                          {"log", required_argument, NULL, OPTION_LOG},
                                          {"explain", optional_argument, NULL, OPTION_EXPLAIN},
                                          {"trace", required_argument, NULL, OPTION_TRACE},
                                          {"emit", required_argument, NULL, OPTION_EMIT},
                                          {NULL, 0, NULL, 0}};
  int ended = cli_take_options(argc, argv, ":h", options, take_option, run);
  if (ended != CLI_GO_ON || optind + 1 == argc) return ended;
  return cli_fail("run", SMELT_ERR_ARGUMENT, "%s",
                  optind == argc ? "no file given" : "more than one file given");
}

static bool read_all(FILE *f, sm_text *text) {
  char piece[4096];
  size_t n;
  while ((n = fread(piece, 1, sizeof piece, f)) > 0) sm_text_add_n(text, piece, n);
  return !ferror(f);
}

static int run_path(const char *path, sm_text *text, const smt_run_options *options) {
  FILE *f = fopen(path, "rb");
  bool read = f && read_all(f, text);
  int cause = errno;
  if (f) (void)fclose(f);
  if (!read) return cli_fail("run", SMELT_ERR_IO, "%s: %s", path, strerror(cause));
  if (text->failed) return cli_fail("run", SMELT_ERR_MEMORY, "%s: out of memory", path);
  return (options->emit_c ? smt_emit_c : smt_run)(path, text->data, text->len, options);
}

int cmd_run(int argc, char **argv) {
  smt_run_options options = {.out = stdout, .err = stderr};
  int ended = take_options(&options, argc, argv);
  if (ended != CLI_GO_ON) return ended;
  sm_text text;
  sm_text_init(&text, &sm_malloc_allocator);
  int status = run_path(argv[optind], &text, &options);
  sm_text_free(&text);
  return status;
}
