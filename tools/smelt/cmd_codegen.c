/* SPDX-License-Identifier: Apache-2.0
 *
 * smelt codegen: the source text that an expression's kernels become. It is recorded and
 * planned as anywhere, on a device that writes the wanted text; what kernels compute is
 * not looked at. docs/codegen.md is its manual. */
#define _POSIX_C_SOURCE 200809L
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "cli.h"
#include "commands.h"
#include "expr_eval.h"
#include "smelt/smelt.h"

static const char help[] =
    "usage: smelt codegen EXPRESSION --target TARGET [OPTIONS]\n"
    "\n"
    "Prints the source text of the kernels that the expression becomes. Names in it are\n"
    "inputs.\n"
    "\n"
#define TARGET(name, device, doc) "  --target " #name "\t" doc "\n"
#include "codegen_targets.def"
#undef TARGET
    "  --shape R,C    extents of the inputs (default 64,64)\n"
    "  --dtype DTYPE  their dtype (default f32)\n"
    "  --no-fusion    one kernel per operation\n"
    "  --mode MODE    strict, default or fast (docs/modes.md)\n"
    "\n"
    "  smelt codegen 'exp(a*b + c)' --target cuda --shape 4,6\n";

static const struct {
  const char *name, *device;
} targets[] = {
#define TARGET(name, device, doc) {#name, device},
#include "codegen_targets.def"
#undef TARGET
};

typedef struct generation {
  smelt_context_desc desc;
  const char *expression;
  sm_shape shape;
  smelt_dtype dtype;
  expr_program program;
  expr_scope scope;
  int32_t n_inputs, n_results; /* variables: the first, and the last */
  smelt_context *ctx;
  size_t n_texts; /* that were printed */
  expr_fault fault;
} generation;

/* Only the category `source` is on. */
static void print_text(void *user, const char *text) {
  generation *g = user;
  (void)printf("%s%s\n", g->n_texts++ ? "\n" : "", text);
}

static smelt_status resolve(generation *g) {
  SM_TRY(expr_declare_inputs(&g->scope, &g->program, &g->fault));
  g->n_inputs = (int32_t)g->scope.variables.len;
  SM_TRY(expr_resolve(&g->scope, &g->program, &g->n_results, &g->fault));
  for (int32_t i = 0; i < g->n_results; i++)
    g->scope.variables.items[g->scope.variables.len - 1 - (size_t)i].uses++;
  return SMELT_OK;
}

/* Zeros, that no kernel makes. */
static smelt_status define_inputs(generation *g) {
  size_t bytes = (size_t)sm_shape_count(&g->shape) * smelt_dtype_size(g->dtype);
  void *zeros = sm_calloc(&sm_malloc_allocator, 1, bytes ? bytes : 1);
  if (!zeros) return sm_error_memory(&g->fault.error, "an input");
  for (int32_t i = 0; i < g->n_inputs; i++) {
    smelt_tensor *input = smelt_from_host(g->ctx, g->dtype, g->shape.rank, g->shape.dims, zeros);
    expr_scope_define(&g->scope, i, (expr_value){input, false});
  }
  sm_free(&sm_malloc_allocator, zeros, bytes ? bytes : 1);
  return SMELT_OK;
}

/* The results of the last statement, together. */
static smelt_status compute(generation *g) {
  size_t n = (size_t)g->n_results;
  const smelt_tensor **list = sm_calloc(&sm_malloc_allocator, n, sizeof *list);
  if (!list) return sm_error_memory(&g->fault.error, "results");
  for (size_t i = 0; i < n; i++)
    list[i] = expr_scope_use(&g->scope, (int32_t)(g->scope.variables.len - n + i)).tensor;
  smelt_status status = smelt_eval(list, n, &g->fault.error);
  for (size_t i = 0; i < n; i++) smelt_drop((smelt_tensor *)list[i]);
  sm_free(&sm_malloc_allocator, list, n * sizeof *list);
  return status;
}

static smelt_status generate(generation *g) {
  g->desc.log = "source";
  g->desc.log_fn = print_text;
  g->desc.log_user = g;
  SM_TRY(expr_parse(&g->program, g->expression, &g->fault));
  SM_TRY(resolve(g));
  g->ctx = smelt_context_create(&g->desc, &g->fault.error);
  if (!g->ctx) return g->fault.error.code;
  SM_TRY(define_inputs(g));
  SM_TRY(expr_run(&g->scope, g->ctx, &g->program, &g->fault));
  SM_TRY(compute(g));
  if (g->n_texts) return SMELT_OK;
  return sm_error_set(&g->fault.error, SMELT_ERR_UNSUPPORTED,
                      "no kernel was generated ('smelt devices' says whether code is)");
}

static int generate_and_report(generation *g) {
  smelt_error leak;
  smelt_status status = generate(g);
  if (status != SMELT_OK) {
    (void)cli_fail("codegen", status, "%s", g->fault.error.text);
    expr_fault_print_place(stderr, &g->fault);
  }
  expr_scope_free(&g->scope);
  if (g->program.source) expr_program_free(&g->program);
  smelt_status end = smelt_context_destroy(g->ctx, &leak);
  return end == SMELT_OK ? cli_exit_of(status) : cli_fail("codegen", end, "%s", leak.text);
}

/* --- Options ---------------------------------------------------------------------------------- */

enum { OPTION_TARGET = 256, OPTION_SHAPE, OPTION_DTYPE, OPTION_NO_FUSION, OPTION_MODE };

static int take_target(generation *g, const char *name) {
  for (size_t i = 0; i < sizeof targets / sizeof targets[0]; i++)
    if (strcmp(targets[i].name, name) == 0) g->desc.device = targets[i].device;
  if (g->desc.device) return CLI_GO_ON;
  return cli_fail("codegen", SMELT_ERR_ARGUMENT, "no target '%s' ('smelt codegen --help' lists them)", name);
}

static int take_option(void *options, char **argv, int option) {
  generation *g = options;
  switch (option) {
    case 'h':
      return (void)fputs(help, stdout), CLI_OK;
    case OPTION_TARGET:
      return take_target(g, optarg);
    case OPTION_SHAPE:
      return cli_parse_shape(optarg, &g->shape)
                 ? CLI_GO_ON
                 : cli_fail("codegen", SMELT_ERR_ARGUMENT, "--shape '%s' is no shape such as 2,3", optarg);
    case OPTION_DTYPE:
      g->dtype = smelt_dtype_find(optarg);
      return g->dtype != SMELT_DTYPE_NONE ? CLI_GO_ON
                                          : cli_fail("codegen", SMELT_ERR_ARGUMENT, "no dtype '%s'", optarg);
    case OPTION_NO_FUSION:
      return g->desc.fusion = SMELT_OFF, CLI_GO_ON;
    case OPTION_MODE:
      return cli_take_mode("codegen", optarg, &g->desc.mode) ? CLI_GO_ON : CLI_WRONG_INPUT;
    default:
      return cli_fail_option(argv, option);
  }
}

static int take_arguments(generation *g, int argc, char **argv) {
  static const struct option options[] = {{"help", no_argument, NULL, 'h'},
                                          {"target", required_argument, NULL, OPTION_TARGET},
                                          {"shape", required_argument, NULL, OPTION_SHAPE},
                                          {"dtype", required_argument, NULL, OPTION_DTYPE},
                                          {"no-fusion", no_argument, NULL, OPTION_NO_FUSION},
                                          {"mode", required_argument, NULL, OPTION_MODE},
                                          {NULL, 0, NULL, 0}};
  int ended = cli_take_options(argc, argv, ":h", options, take_option, g);
  if (ended != CLI_GO_ON) return ended;
  if (optind + 1 != argc)
    return cli_fail("codegen", SMELT_ERR_ARGUMENT, "one expression is needed ('smelt codegen --help')");
  if (!g->desc.device)
    return cli_fail("codegen", SMELT_ERR_ARGUMENT, "--target is missing ('smelt codegen --help')");
  g->expression = argv[optind];
  return CLI_GO_ON;
}

int cmd_codegen(int argc, char **argv) {
  generation g = {.desc = SMELT_CONTEXT_DESC_INIT, .shape = {2, {64, 64}}, .dtype = SMELT_F32};
  int ended = take_arguments(&g, argc, argv);
  if (ended != CLI_GO_ON) return ended;
  (void)setenv("SMELT_CACHE", "0", 1); /* what is in the cache has no text any more */
  return generate_and_report(&g);
}
