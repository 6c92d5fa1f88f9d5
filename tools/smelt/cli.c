/* SPDX-License-Identifier: Apache-2.0 */
#include "cli.h"

#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/mode.h"

int cli_exit_of(smelt_status status) {
  switch (status) {
    case SMELT_OK:
      return CLI_OK;
    case SMELT_ERR_ARGUMENT:
    case SMELT_ERR_SHAPE:
    case SMELT_ERR_DTYPE:
    case SMELT_ERR_DEVICE:
    case SMELT_ERR_IO:
    case SMELT_ERR_FORMAT:
    case SMELT_ERR_UNSUPPORTED:
    case SMELT_ERR_LIMIT:
      return CLI_WRONG_INPUT;
    case SMELT_ERR_STALE:
    case SMELT_ERR_MEMORY:
    case SMELT_ERR_COMPILE:
    case SMELT_ERR_LAUNCH:
    case SMELT_ERR_LEAK:
    case SMELT_ERR_REENTRANT:
    case SMELT_ERR_SERVICE_RUNNING:
    case SMELT_ERR_FORKED:
    case SMELT_ERR_INTERNAL:
      return CLI_FAILURE;
  }
  return CLI_FAILURE;
}

int cli_fail(const char *command, smelt_status status, const char *format, ...) {
  va_list args;
  va_start(args, format);
  (void)fprintf(stderr, "smelt: %s: ", command);
  (void)vfprintf(stderr, format, args);
  (void)fputc('\n', stderr);
  va_end(args);
  return cli_exit_of(status);
}

int cli_fail_option(char **argv, int answer) {
  const char *advice = "an argument that starts with '-' goes after '--'";
  const char *name = argv[optind - 1];
  if (answer == ':') return cli_fail(argv[0], SMELT_ERR_ARGUMENT, "option '%s' needs a value", name);
  if (optopt > UCHAR_MAX)
    return cli_fail(argv[0], SMELT_ERR_ARGUMENT, "option '%s': no value is taken", name);
  if (optopt > ' ') return cli_fail(argv[0], SMELT_ERR_ARGUMENT, "no option '-%c' (%s)", optopt, advice);
  return cli_fail(argv[0], SMELT_ERR_ARGUMENT, "no option '%s' (%s)", name, advice);
}

bool cli_parse_u64(const char *text, uint64_t *out) {
  char *end;
  bool hex = text[0] == '0' && (text[1] == 'x' || text[1] == 'X');
  const char *digits = hex ? text + 2 : text;
  bool starts =
      (*digits >= '0' && *digits <= '9') || (hex && ((*digits | 32) >= 'a' && (*digits | 32) <= 'f'));
  errno = 0;
  unsigned long long value = strtoull(digits, &end, hex ? 16 : 10);
  if (!starts || *end || errno || value > UINT64_MAX) return false;
  *out = value;
  return true;
}

bool cli_take_mode(const char *command, const char *text, smelt_mode *out) {
  smelt_error err;
  smelt_status status = sm_mode_find(text, out, &err);
  return status == SMELT_OK || cli_fail(command, status, "--mode: %s", err.text) == CLI_OK;
}

/* Reads one extent, up to a comma, and moves on behind it. */
static bool parse_extent(const char **text, const char *end, int64_t *out) {
  char digits[24] = "";
  const char *comma = memchr(*text, ',', (size_t)(end - *text));
  size_t n = (size_t)((comma ? comma : end) - *text);
  uint64_t value;
  if (n >= sizeof digits) return false;
  memcpy(digits, *text, n);
  if (!cli_parse_u64(digits, &value) || value > INT64_MAX) return false;
  *out = (int64_t)value;
  *text = comma ? comma + 1 : end + 1;
  return true;
}

bool cli_parse_shape(const char *text, sm_shape *out) {
  int64_t dims[SMELT_MAX_RANK];
  int rank = 0;
  size_t n = strlen(text);
  const char *end = text + n;
  bool bracketed = n >= 2 && text[0] == '[' && end[-1] == ']';
  if (bracketed) text++, end--;
  bool more = !bracketed || text < end;
  for (; more && text <= end; rank++)
    if (rank == SMELT_MAX_RANK || !parse_extent(&text, end, &dims[rank])) return false;
  return sm_shape_make(out, SMELT_F32, rank, dims, NULL) == SMELT_OK;
}

int cli_take_options(int argc, char **argv, const char *short_names, const struct option *options,
                     int (*take)(void *given, char **argv, int answer), void *given) {
  optind = 0;
  opterr = 0;
  for (int answer; (answer = getopt_long(argc, argv, short_names, options, NULL)) != -1;) {
    int ended = take(given, argv, answer);
    if (ended != CLI_GO_ON) return ended;
  }
  return CLI_GO_ON;
}

bool cli_only_help(int argc, char **argv, const char *help, int *status) {
  static const struct option options[] = {{"help", no_argument, NULL, 'h'}, {NULL, 0, NULL, 0}};
  optind = 0;
  opterr = 0;
  int answer = getopt_long(argc, argv, ":h", options, NULL);
  if (answer == 'h') (void)fputs(help, stdout);
  *status = answer == 'h' ? CLI_OK : answer == -1 ? CLI_OK : cli_fail_option(argv, answer);
  return answer != -1;
}
