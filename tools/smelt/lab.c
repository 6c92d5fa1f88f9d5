/* SPDX-License-Identifier: Apache-2.0 */
#include "lab.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "cli.h"
#include "core/array_text.h"
#include "core/kop_functions.h"
#include "smt_elements.h"

/* --- Output ------------------------------------------------------------------------ */

void lab_mark(const char *format, ...) {
  va_list args;
  va_start(args, format);
  (void)fputs("--- ", stdout);
  (void)vprintf(format, args);
  (void)putchar('\n');
  va_end(args);
}

void lab_fail(lab *l, const char *format, ...) {
  char text[sizeof l->error.text];
  va_list args;
  va_start(args, format);
  (void)vsnprintf(text, sizeof text, format, args);
  va_end(args);
  (void)cli_fail("lab", SMELT_ERR_INTERNAL, "%s", text);
  l->failed = true;
}

/* --- The log ----------------------------------------------------------------------- */

static bool starts_with(const char *text, const char *prefix) {
  return strncmp(text, prefix, strlen(prefix)) == 0;
}

/* Some log lines are several lines: each that is not empty is indented. */
static void print_indented(const char *lines) {
  while (*lines) {
    int n = (int)strcspn(lines, "\n");
    if (n) (void)printf("  %.*s\n", n, lines);
    lines += n + (lines[n] == '\n');
  }
}

/* "[block] 100 op(s): NumericFloat(F32, MulScalar), ..." without what follows the
 * first operation. */
static void print_shortened(const char *line) {
  const char *colon = strstr(line, ": ");
  const char *end = colon ? strchr(colon, ')') : NULL;
  if (!end || !starts_with(line, "[block] ")) print_indented(line);
  else (void)printf("  %.*s, first %.*s\n", (int)(colon - line), line, (int)(end - colon) - 1, colon + 2);
}

/* Cuts the eight digits of the hash off "add_scalar_0123abcd". */
static void cut_hash(char *name) {
  size_t n = strlen(name);
  if (n < 10 || name[n - 9] != '_') return;
  for (size_t i = n - 8; i < n; i++)
    if (!isxdigit((unsigned char)name[i])) return;
  name[n - 9] = 0;
}

/* "[launch] [main] ElementWise elemwise_fuse_0123abcd read=48 written=16". */
static void count_kernel(lab *l, const char *line) {
  lab_kernel kernel = {.launches = 1};
  if (sscanf(line, "[launch] [%*[^]]] %*s %63s", kernel.name) != 1) return;
  cut_hash(kernel.name);
  for (size_t i = 0; i < l->kernels.len; i++) {
    if (strcmp(l->kernels.items[i].name, kernel.name) != 0) continue;
    l->kernels.items[i].launches++;
    return;
  }
  if (!sm_vec_push(&sm_malloc_allocator, &l->kernels, kernel)) l->lost_lines = true;
}

/* Threads of a mode take turns, and work is done on the thread that reads, so lines come
 * one at a time. */
static void take_line(void *user, const char *line) {
  lab *l = user;
  count_kernel(l, line);
  if (l->view == LAB_SHOW) print_indented(line);
  if (l->view == LAB_SHORTEN) print_shortened(line);
}

/* --- Contexts ------------------------------------------------------------------------ */

smelt_status lab_create(lab *l, bool fusion, const char *log, lab_view view) {
  smelt_context_desc desc = SMELT_CONTEXT_DESC_INIT;
  desc.device = "ref";
  desc.log = "";
  l->ref = smelt_context_create(&desc, &l->error);
  if (!l->ref) return l->error.code;
  desc.device = l->options.device;
  desc.fusion = fusion ? SMELT_ON : SMELT_OFF;
  desc.max_ops = l->options.max_ops;
  desc.mode = l->options.mode;
  desc.flatten = l->options.flatten;
  desc.log = log;
  desc.log_fn = take_line;
  desc.log_user = l;
  l->view = view;
  l->ctx = smelt_context_create(&desc, &l->error);
  return l->ctx ? SMELT_OK : l->error.code;
}

smelt_status lab_open(lab *l, bool fusion, const char *log, lab_view view) {
  SM_TRY(lab_create(l, fusion, log, view));
  char shape[SM_SHAPE_TEXT];
  lab_mark("%s, inputs %s", smelt_device_name(l->ctx), sm_shape_text(shape, SMELT_F32, &l->options.shape));
  return SMELT_OK;
}

/* NULL contexts are nothing to destroy: a mode may fail before it opens any. */
smelt_status lab_close(lab *l) {
  smelt_context *ctx = l->ctx, *ref = l->ref;
  l->ctx = l->ref = NULL;
  smelt_status ref_status = smelt_context_destroy(ref, &l->error);
  smelt_status status = smelt_context_destroy(ctx, ref_status == SMELT_OK ? &l->error : NULL);
  return ref_status == SMELT_OK ? status : ref_status;
}

smelt_counters lab_counters(const lab *l) {
  smelt_counters counters = SMELT_COUNTERS_INIT;
  (void)smelt_context_counters(l->ctx, &counters);
  return counters;
}

/* --- Inputs ------------------------------------------------------------------------------ */

float lab_input_value(const lab *l, uint64_t which, size_t i) {
  uint64_t repetition = which / 3;
  if (!l->options.random) return (float)(1 + which % 3 + i % 4) + 0.125f * (float)repetition;
  uint64_t bits = sm_philox(i, which, l->options.seed, 0);
  return (float)(bits >> 40) * 0x1p-22f - 2;
}

smelt_tensor *lab_input(lab *l, smelt_context *ctx, uint64_t which) {
  const sm_shape *shape = &l->options.shape;
  for (size_t i = 0; i < l->count; i++) l->input[i] = lab_input_value(l, which, i);
  return smelt_from_host(ctx, SMELT_F32, shape->rank, shape->dims, l->input);
}

smelt_tensor *lab_expression(smelt_tensor *a, smelt_tensor *b, smelt_tensor *c) {
  return smelt_exp(smelt_add(smelt_mul(a, b), c));
}

smelt_tensor *lab_expression_on_ref(lab *l) {
  smelt_tensor *a = lab_input(l, l->ref, 0), *b = lab_input(l, l->ref, 1);
  return lab_expression(a, b, lab_input(l, l->ref, 2));
}

smelt_tensor *lab_chain_steps(smelt_tensor *x, uint64_t n) {
  static const double scalars[] = {1.25, 0.5, 0.8, -0.375};
  for (uint64_t i = 0; i < n; i++) {
    double scalar = scalars[i % 4];
    x = i % 2 ? smelt_add(x, scalar) : smelt_multiply(x, scalar);
  }
  return x;
}

/* --- Values --------------------------------------------------------------------------------- */

smelt_status lab_read(lab *l, smelt_tensor *t) {
  return smelt_into_host(t, SMELT_F32, l->actual, l->count * sizeof *l->actual, &l->error);
}

smelt_status lab_print_values(lab *l) {
  sm_text text;
  sm_text_init(&text, &sm_malloc_allocator);
  sm_array_print(&text, SMELT_F32, &l->options.shape, l->actual);
  bool failed = text.failed;
  if (!failed) (void)printf("--- result\n%s\n", text.data);
  sm_text_free(&text);
  return failed ? sm_error_memory(&l->error, "text of values") : SMELT_OK;
}

bool lab_computes(const lab *l) { return !l->options.device || !starts_with(l->options.device, "null"); }

smelt_status lab_compare(lab *l, const char *name, smelt_tensor *expected) {
  SM_TRY(smelt_into_host(expected, SMELT_F32, l->expected, l->count * sizeof *l->expected, &l->error));
  if (!lab_computes(l)) return SMELT_OK;
  l->compared += l->count;
  for (size_t i = 0; i < l->count; i++) {
    if (smt_element_matches(SMELT_F32, &l->actual[i], &l->expected[i], SM_SMT_EXACT)) continue;
    lab_fail(l, "element %zu of %s is %a, on ref it is %a", i, name, (double)l->actual[i],
             (double)l->expected[i]);
    break;
  }
  return SMELT_OK;
}

void lab_report(lab *l) {
  if (!lab_computes(l)) lab_mark("not compared with ref: %s computes nothing", l->options.device);
  else if (!l->failed) lab_mark("equal to ref bit for bit: %" PRIu64 " element(s)", l->compared);
  l->compared = 0;
}

/* --- Running a mode ---------------------------------------------------------------------------- */

static void free_buffers(lab *l) {
  free(l->input);
  free(l->actual);
  free(l->expected);
}

smelt_status lab_set_shape(lab *l, const sm_shape *shape) {
  free_buffers(l);
  l->options.shape = *shape;
  l->count = (size_t)sm_shape_count(shape);
  l->input = malloc((l->count + 1) * sizeof *l->input);
  l->actual = malloc((l->count + 1) * sizeof *l->actual);
  l->expected = malloc((l->count + 1) * sizeof *l->expected);
  return l->input && l->actual && l->expected ? SMELT_OK : sm_error_memory(&l->error, "inputs");
}

static smelt_status open_and_run(lab *l, smelt_status (*mode)(lab *l)) {
  SM_TRY(lab_set_shape(l, &l->options.shape));
  SM_TRY(mode(l));
  return l->lost_lines ? sm_error_memory(&l->error, "log lines were lost") : SMELT_OK;
}

int lab_run(const lab_options *options, smelt_status (*mode)(lab *l)) {
  lab l = {.options = *options};
  int exit_status = CLI_OK;
  smelt_status status = open_and_run(&l, mode);
  if (status != SMELT_OK) exit_status = cli_fail("lab", status, "%s", l.error.text);
  /* After a failure references may be left over: they are no news. */
  if (status != SMELT_OK) (void)lab_close(&l);
  free_buffers(&l);
  sm_vec_free(&sm_malloc_allocator, &l.kernels);
  return exit_status == CLI_OK && l.failed ? CLI_FAILURE : exit_status;
}
