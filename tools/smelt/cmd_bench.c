/* SPDX-License-Identifier: Apache-2.0
 *
 * smelt bench CASE…: the command line around the cases. */
#define _POSIX_C_SOURCE 200809L
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/os.h"
#include "bench.h"
#include "cli.h"
#include "commands.h"

static const char options_help[] =
    "\n"
    "  --json          one JSON object a line\n"
    "  --device NAME   cpu (default), ref, opencl\n"
    "  --threads N     default: SMELT_THREADS, or all processors\n"
    "  --rounds N      measurements of each time (default 21)\n"
    "  --shape R,C     extents of the inputs\n"
    "  --no-fusion     every operation is a kernel of its own\n"
    "\n"
    "Results are compared with those of the device ref; exit status 1 if they differ.\n";

enum { DEFAULT_ROUNDS = 21, MAX_THREADS = 1024 };

static int print_help(void) {
  (void)puts("usage: smelt bench [CASE…] [OPTIONS]\n\nMeasures; without cases all but `first`.\n");
  for (size_t i = 0; bench_case_at(i); i++)
    (void)printf("  %-14s%s\n", bench_case_at(i)->name, bench_case_at(i)->doc);
  (void)fputs(options_help, stdout);
  return CLI_OK;
}

/* --- Options -------------------------------------------------------------------------- */

enum { OPTION_JSON = 256, OPTION_DEVICE, OPTION_THREADS, OPTION_ROUNDS, OPTION_SHAPE, OPTION_NO_FUSION };

static int take_number(const char *option, uint64_t max, int *out) {
  uint64_t n;
  if (!cli_parse_u64(optarg, &n) || n == 0 || n > max)
    return cli_fail("bench", SMELT_ERR_ARGUMENT, "%s wants a number from 1 to %llu, not '%s'", option,
                    (unsigned long long)max, optarg);
  *out = (int)n;
  return CLI_GO_ON;
}

static int take_device(bench_options *given) {
  if (strncmp(optarg, "null", 4) == 0)
    return cli_fail("bench", SMELT_ERR_ARGUMENT, "%s computes nothing: there is nothing to measure", optarg);
  given->device = optarg;
  return CLI_GO_ON;
}

/* The exit status, or CLI_GO_ON. */
static int take_option(void *options, char **argv, int answer) {
  bench_options *given = options;
  switch (answer) {
    case 'h':
      return print_help();
    case OPTION_JSON:
      given->json = true;
      return CLI_GO_ON;
    case OPTION_DEVICE:
      return take_device(given);
    case OPTION_THREADS:
      return take_number("--threads", MAX_THREADS, &given->threads);
    case OPTION_ROUNDS:
      return take_number("--rounds", BENCH_MAX_ROUNDS, &given->rounds);
    case OPTION_SHAPE:
      if (cli_parse_shape(optarg, &given->shape)) return CLI_GO_ON;
      return cli_fail("bench", SMELT_ERR_ARGUMENT, "--shape '%s' is no shape (2,3 or [])", optarg);
    case OPTION_NO_FUSION:
      given->no_fusion = true;
      return CLI_GO_ON;
    default:
      return cli_fail_option(argv, answer);
  }
}

static int take_options(bench_options *given, int argc, char **argv) {
  static const struct option options[] = {{"help", no_argument, NULL, 'h'},
                                          {"json", no_argument, NULL, OPTION_JSON},
                                          {"device", required_argument, NULL, OPTION_DEVICE},
                                          {"threads", required_argument, NULL, OPTION_THREADS},
                                          {"rounds", required_argument, NULL, OPTION_ROUNDS},
                                          {"shape", required_argument, NULL, OPTION_SHAPE},
                                          {"no-fusion", no_argument, NULL, OPTION_NO_FUSION},
                                          {NULL, 0, NULL, 0}};
  return cli_take_options(argc, argv, ":h", options, take_option, given);
}

/* The number of threads is the same for the library and for floors. */
static smelt_status set_threads(bench_options *given, smelt_error *err) {
  char text[16];
  int64_t threads = given->threads ? given->threads : sm_os_processors();
  if (!given->threads) SM_TRY(sm_os_setting("SMELT_THREADS", 1, MAX_THREADS, &threads, err));
  given->threads = (int)threads;
  (void)snprintf(text, sizeof text, "%d", given->threads);
  (void)setenv("SMELT_THREADS", text, 1);
  return SMELT_OK;
}

/* --- Cases ------------------------------------------------------------------------------ */

static void print(sm_text *text) {
  if (text->failed) (void)cli_fail("bench", SMELT_ERR_MEMORY, "out of memory: text of results");
  (void)fputs(text->data, stdout);
  (void)fflush(stdout);
  sm_text_clear(text);
}

/* Nothing is found in the cache on disk, unless a case wants that; `first` runs in
 * the environment that it is given. */
static smelt_status measure(const bench_case *what, const bench_options *options, bench_result *result,
                            smelt_error *err) {
  *result = (bench_result){.shape = options->shape,
                           .floor_us = NAN,
                           .ratio = NAN,
                           .unfused_us = NAN,
                           .speedup = NAN,
                           .cold_ms = NAN,
                           .bytes = -1,
                           .launches = -1,
                           .kernels = -1,
                           .unfused_bytes = -1,
                           .unfused_launches = -1,
                           .record_ns = NAN,
                           .allocations = -1,
                           .twenty_ms = NAN,
                           .llvm_mapped = -1};
  if (result->shape.rank < 0) result->shape = (sm_shape){.rank = 2, .dims = {what->extent, what->extent}};
  if (what->measure != bench_measure_first) (void)setenv("SMELT_CACHE", "0", 1);
  bench_load before = bench_load_now();
  smelt_status status = what->measure(what, options, result, err);
  result->others = bench_load_of_others(&before);
  return status;
}

/* `rows` counts what has been printed. */
static int run_case(const bench_case *what, const bench_options *options, sm_text *text, int *rows) {
  bench_result result;
  smelt_error err;
  smelt_status status = measure(what, options, &result, &err);
  if (status != SMELT_OK) return cli_fail("bench", status, "%s: %s", what->name, err.text);
  if (!options->json && *rows == 0) bench_report_head(text);
  if (options->json) bench_report_json(text, what, options, &result);
  else bench_report_row(text, what, &result);
  print(text);
  (*rows)++;
  if (!result.differs) return CLI_OK;
  return cli_fail("bench", SMELT_ERR_INTERNAL, "%s: the result differs from that of ref", what->name);
}

/* The exit status of the last case that failed. */
static int run_cases(const bench_case *const *cases, const bench_options *options) {
  int status = CLI_OK, rows = 0;
  sm_text text;
  sm_text_init(&text, &sm_malloc_allocator);
  for (const bench_case *const *what = cases; *what; what++) {
    int ended = run_case(*what, options, &text, &rows);
    if (ended != CLI_OK) status = ended;
  }
  if (!options->json && rows) bench_report_legend(&text, cases, options);
  print(&text);
  sm_text_free(&text);
  return status;
}

enum { MAX_CASES = 64 };

static int find_cases(const bench_case **out, char **names, int n) {
  size_t found = 0;
  for (size_t i = 0; !n && bench_case_at(i); i++)
    if (bench_case_at(i)->measure != bench_measure_first) out[found++] = bench_case_at(i);
  for (int i = 0; i < n; i++) {
    if (found == MAX_CASES) return cli_fail("bench", SMELT_ERR_ARGUMENT, "more than %d cases", MAX_CASES);
    out[found] = bench_case_find(names[i]);
    if (!out[found++])
      return cli_fail("bench", SMELT_ERR_ARGUMENT, "no case '%s' ('smelt bench --help')", names[i]);
  }
  out[found] = NULL;
  return CLI_GO_ON;
}

int cmd_bench(int argc, char **argv) {
  bench_options given = {.device = "cpu", .rounds = DEFAULT_ROUNDS, .shape = {.rank = -1}};
  const bench_case *cases[MAX_CASES + 1];
  smelt_error err;
  int ended = take_options(&given, argc, argv);
  if (ended == CLI_GO_ON) ended = find_cases(cases, argv + optind, argc - optind);
  if (ended != CLI_GO_ON) return ended;
  smelt_status status = set_threads(&given, &err);
  if (status != SMELT_OK) return cli_fail("bench", status, "%s", err.text);
  return run_cases(cases, &given);
}
