/* SPDX-License-Identifier: Apache-2.0
 *
 * smelt lab MODE: the command line around lab_run. */
#include <stdio.h>
#include <string.h>

#include "cli.h"
#include "commands.h"
#include "lab.h"

static const char options_help[] =
    "\n"
    "  --seed N        random inputs (default: 1, 2, 3, 4, ...)\n"
    "  --shape R,C     their extents, any number of them; [] for none (default 2,2;\n"
    "                  vec: several; bench: 4096,4096)\n"
    "  --device NAME   cpu (default), cuda, opencl, ref, null:PROFILE; vec: default several\n"
    "  --max-ops N     operations per kernel\n"
    "  --no-fusion     every operation is a kernel of its own; count, bench: only this half\n"
    "  --mode MODE     strict, default or fast (docs/modes.md)\n"
    "\n"
    "Values are compared with those of the device ref; exit status 1 if they differ.\n";

typedef struct mode {
  const char *name;
  const char *argument;
  const char *doc;
  smelt_status (*run)(lab *l);
} mode;

static const mode modes[] = {
#define LAB_MODE(name, argument, doc) {#name, argument, doc, lab_##name},
#include "lab_modes.def"
#undef LAB_MODE
};

enum { MODE_COUNT = sizeof modes / sizeof modes[0] };

static int print_help(void) {
  (void)puts(
      "usage: smelt lab MODE [OPTIONS]\n\nRuns a small program and shows what the library does with it.\n");
  for (size_t i = 0; i < MODE_COUNT; i++) {
    int written = printf("  %s %s", modes[i].name, modes[i].argument);
    (void)printf("%*s%s\n", 12 - written, "", modes[i].doc);
  }
  (void)fputs(options_help, stdout);
  return CLI_OK;
}

/* --- Options -------------------------------------------------------------------------- */

enum { OPTION_SEED = 256, OPTION_SHAPE, OPTION_DEVICE, OPTION_MAX_OPS, OPTION_NO_FUSION, OPTION_MODE };

static int take_shape(lab_options *given) {
  given->shape_given = cli_parse_shape(optarg, &given->shape);
  if (given->shape_given) return CLI_GO_ON;
  return cli_fail("lab", SMELT_ERR_ARGUMENT, "--shape '%s' is no shape (2,3 or [])", optarg);
}

static int take_max_ops(lab_options *given) {
  uint64_t n;
  if (!cli_parse_u64(optarg, &n) || n == 0 || n > INT64_MAX)
    return cli_fail("lab", SMELT_ERR_ARGUMENT, "--max-ops wants a number above 0, not '%s'", optarg);
  given->max_ops = (int64_t)n;
  return CLI_GO_ON;
}

/* The exit status, or CLI_GO_ON. */
static int take_option(void *options, char **argv, int answer) {
  lab_options *given = options;
  switch (answer) {
    case 'h':
      return print_help();
    case OPTION_SEED:
      given->random = true;
      if (cli_parse_u64(optarg, &given->seed)) return CLI_GO_ON;
      return cli_fail("lab", SMELT_ERR_ARGUMENT, "--seed '%s' is not a whole number", optarg);
    case OPTION_SHAPE:
      return take_shape(given);
    case OPTION_DEVICE:
      given->device = optarg;
      return CLI_GO_ON;
    case OPTION_MAX_OPS:
      return take_max_ops(given);
    case OPTION_MODE:
      return cli_take_mode("lab", optarg, &given->mode) ? CLI_GO_ON : CLI_WRONG_INPUT;
    case OPTION_NO_FUSION:
      given->no_fusion = true;
      return CLI_GO_ON;
    default:
      return cli_fail_option(argv, answer);
  }
}

static int take_options(lab_options *given, int argc, char **argv) {
  static const struct option options[] = {{"help", no_argument, NULL, 'h'},
                                          {"seed", required_argument, NULL, OPTION_SEED},
                                          {"shape", required_argument, NULL, OPTION_SHAPE},
                                          {"device", required_argument, NULL, OPTION_DEVICE},
                                          {"max-ops", required_argument, NULL, OPTION_MAX_OPS},
                                          {"mode", required_argument, NULL, OPTION_MODE},
                                          {"no-fusion", no_argument, NULL, OPTION_NO_FUSION},
                                          {NULL, 0, NULL, 0}};
  return cli_take_options(argc, argv, ":h", options, take_option, given);
}

/* --- The mode --------------------------------------------------------------------------- */

static const mode *find_mode(const char *name) {
  for (size_t i = 0; i < MODE_COUNT; i++)
    if (!strcmp(name, modes[i].name)) return &modes[i];
  return NULL;
}

/* `argument` follows the mode's name and may be NULL. */
static int take_argument(lab_options *given, const mode *m, const char *argument) {
  if (!m->argument[0])
    return argument ? cli_fail("lab", SMELT_ERR_ARGUMENT, "%s takes no '%s'", m->name, argument) : CLI_GO_ON;
  if (!argument)
    return cli_fail("lab", SMELT_ERR_ARGUMENT, "%s wants a number: smelt lab %s N", m->name, m->name);
  if (cli_parse_u64(argument, &given->n)) return CLI_GO_ON;
  return cli_fail("lab", SMELT_ERR_ARGUMENT, "%s wants a number, not '%s'", m->name, argument);
}

int cmd_lab(int argc, char **argv) {
  lab_options given = {.shape = {.rank = 2, .dims = {2, 2}}};
  int ended = take_options(&given, argc, argv);
  if (ended != CLI_GO_ON) return ended;
  if (optind == argc) return cli_fail("lab", SMELT_ERR_ARGUMENT, "no mode ('smelt lab --help')");
  const mode *m = find_mode(argv[optind]);
  if (!m) return cli_fail("lab", SMELT_ERR_ARGUMENT, "no mode '%s' ('smelt lab --help')", argv[optind]);
  if (argc - optind > 2) return cli_fail("lab", SMELT_ERR_ARGUMENT, "too many arguments");
  ended = take_argument(&given, m, argv[optind + 1]);
  return ended == CLI_GO_ON ? lab_run(&given, m->run) : ended;
}
