/* SPDX-License-Identifier: Apache-2.0
 *
 * smelt eval: an expression on .npy files. docs/eval.md is its manual.
 *
 * Steps: everything is parsed and every name resolved before anything is
 * loaded; then all operations are recorded; then all results are computed
 * together; then they are saved or printed. A fault in one step ends the
 * command before the next. */
#define _GNU_SOURCE
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/text.h"
#include "cli.h"
#include "commands.h"
#include "explain_option.h"
#include "expr_eval.h"
#include "smelt/io.h"

static const char help[] =
    "usage: smelt eval EXPRESSION [NAME=FILE.npy | NAME=EXPRESSION]... [OPTIONS]\n"
    "\n"
    "Computes the expression and prints the result as NumPy does.\n"
    "\n"
    "  -o FILE.npy         saves the result instead\n"
    "  -o NAME=FILE.npy    saves the variable NAME, or result number NAME\n"
    "  --device NAME       cpu (default), cuda, opencl, ref, null:PROFILE\n"
    "  --no-fusion         one kernel per operation\n"
    "  --mode MODE         strict, default or fast (docs/modes.md)\n"
    "  --seed N            seed of rand and randn (default 0)\n"
    "  --explain[=json]    what ran in which kernels and why, on standard error\n"
    "  --trace FILE        what happens when, for Perfetto (ui.perfetto.dev)\n"
    "  --dot FILE          draws what runs, and in which kernels, for Graphviz (dot -Tsvg FILE)\n"
    "  --                  what follows is no option\n"
    "\n"
    "  smelt eval 'exp(a*b + c)' a=a.npy b=b.npy c='rand(64, 64)' -o d.npy\n"
    "  smelt eval 't = x - 1; t*t, t > 0' x='[1, 2, 3]'\n"
    "\n"
    "'smelt ops' lists the operations.\n";

/* One source of variables: a file, or a program of one expression or, for the
 * last input, of any number of statements. */
typedef struct input {
  expr_text name; /* empty for the last */
  const char *path;
  expr_program program; /* if `path` is NULL */
  int32_t variable;     /* if a file */
} input;

typedef struct output {
  expr_text name;   /* what -o or the expression calls it, or empty */
  const char *path; /* NULL: print it */
  int32_t variable;
  smelt_tensor *tensor;
} output;

typedef struct evaluation {
  smelt_context_desc desc;
  explain_option explain;
  const char *dot_path; /* NULL: no picture */
  sm_text dot;
  sm_text categories; /* of the log, with the picture */
  const char *expression;
  sm_vec(const char *) bindings;
  sm_vec(input) inputs;
  sm_vec(output) outputs;
  expr_scope scope;
  smelt_context *ctx;
  expr_fault fault;
} evaluation;

static smelt_status fail_memory(evaluation *e) {
  return expr_fault_set(&e->fault, NULL, 0, SMELT_ERR_MEMORY, "out of memory");
}

/* Splits "NAME=REST"; false, with all of it in `rest`, if it does not start
 * with a name (or with a number, where `numbers` are allowed). */
static bool split_name(const char *text, bool numbers, expr_text *name, const char **rest) {
  const char *equals = strchr(text, '=');
  *name = (expr_text){text, equals ? (size_t)(equals - text) : 0};
  bool number = numbers && name->n && strspn(text, "0123456789") == name->n;
  bool named = equals && (number || expr_text_is_name(*name));
  if (!named) name->n = 0;
  *rest = named ? equals + 1 : text;
  return named;
}

/* --- Parsing ----------------------------------------------------------------------- */

static bool is_npy(const char *path) {
  size_t n = strlen(path);
  return n >= 4 && !strcmp(path + n - 4, ".npy");
}

static smelt_status add_input(evaluation *e, input in) {
  if (sm_vec_push(&sm_malloc_allocator, &e->inputs, in)) return SMELT_OK;
  expr_program_free(&in.program);
  return fail_memory(e);
}

/* What is bound to a name has to be one value. */
static smelt_status parse_binding_value(evaluation *e, input *in, const char *source) {
  SM_TRY(expr_parse(&in->program, source, &e->fault));
  expr_statement *s = in->program.statements.items;
  bool single = in->program.statements.len == 1 && !s->name.n;
  s->name = in->name;
  if (single) return add_input(e, *in);
  expr_program_free(&in->program);
  return expr_fault_set(&e->fault, NULL, 0, SMELT_ERR_ARGUMENT,
                        "'%.*s' has to be one expression, without ';' and '='", expr_text_width(in->name),
                        in->name.s);
}

static smelt_status parse_binding(evaluation *e, const char *argument) {
  input in = {.path = NULL};
  const char *value;
  if (!split_name(argument, false, &in.name, &value))
    return expr_fault_set(&e->fault, NULL, 0, SMELT_ERR_ARGUMENT,
                          "'%s' is not NAME=FILE.npy or NAME=EXPRESSION (is the expression quoted?)",
                          argument);
  if (!is_npy(value)) return parse_binding_value(e, &in, value);
  in.path = value;
  return add_input(e, in);
}

static smelt_status parse_inputs(evaluation *e) {
  for (size_t i = 0; i < e->bindings.len; i++) SM_TRY(parse_binding(e, e->bindings.items[i]));
  input in = {.path = NULL};
  SM_TRY(expr_parse(&in.program, e->expression, &e->fault));
  return add_input(e, in);
}

/* --- Resolving --------------------------------------------------------------------------- */

/* `*results` is the number of results of the expression. */
static smelt_status resolve_inputs(evaluation *e, int32_t *results) {
  for (size_t i = 0; i < e->inputs.len; i++) {
    input *in = &e->inputs.items[i];
    in->variable = (int32_t)e->scope.variables.len;
    if (in->path) SM_TRY(expr_scope_declare(&e->scope, in->name, &e->fault));
    else SM_TRY(expr_resolve(&e->scope, &in->program, results, &e->fault));
  }
  return SMELT_OK;
}

/* The variable that holds the result of that number, EXPR_NONE if none does. */
static int32_t find_result(const evaluation *e, expr_text number, int32_t results) {
  int32_t i = 0;
  for (size_t digit = 0; digit < number.n && i <= results; digit++) {
    if (i > INT32_MAX / 10 - 1) return EXPR_NONE;
    i = i * 10 + (number.s[digit] - '0');
  }
  if (i < 1 || i > results) return EXPR_NONE;
  return (int32_t)e->scope.variables.len - results + i - 1;
}

static smelt_status resolve_saved(evaluation *e, output *out, int32_t results) {
  int32_t last = (int32_t)e->scope.variables.len - 1;
  if (!out->name.n) {
    out->variable = last;
    if (results == 1) return SMELT_OK;
    return expr_fault_set(&e->fault, NULL, 0, SMELT_ERR_ARGUMENT,
                          "-o %s: there are %d results; say which one: -o 1=FILE.npy", out->path,
                          (int)results);
  }
  bool named = expr_text_is_name(out->name);
  out->variable = named ? expr_scope_find(&e->scope, out->name) : find_result(e, out->name, results);
  if (out->variable != EXPR_NONE) return SMELT_OK;
  return expr_fault_set(&e->fault, NULL, 0, SMELT_ERR_ARGUMENT, "-o %.*s=%s: there is no such %s",
                        expr_text_width(out->name), out->name.s, out->path, named ? "variable" : "result");
}

/* Without -o all results are printed. */
static smelt_status add_printed(evaluation *e, int32_t results) {
  for (int32_t i = (int32_t)e->scope.variables.len - results; results > 0; i++, results--) {
    output out = {.name = e->scope.variables.items[i].name, .variable = i};
    if (!sm_vec_push(&sm_malloc_allocator, &e->outputs, out)) return fail_memory(e);
  }
  return SMELT_OK;
}

static smelt_status resolve_outputs(evaluation *e, int32_t results) {
  if (!e->outputs.len) SM_TRY(add_printed(e, results));
  for (size_t i = 0; i < e->outputs.len; i++) {
    output *out = &e->outputs.items[i];
    if (out->path) SM_TRY(resolve_saved(e, out, results));
    e->scope.variables.items[out->variable].uses++;
  }
  return SMELT_OK;
}

/* Finds out before the work whether its results can be saved: the name has to
 * end in .npy, and the folder has to be writable. */
static smelt_status check_writable(evaluation *e, const char *path) {
  if (!is_npy(path))
    return expr_fault_set(&e->fault, NULL, 0, SMELT_ERR_ARGUMENT, "-o %s: the name has to end in .npy", path);
  const char *slash = strrchr(path, '/');
  char *folder = slash ? strndup(path, (size_t)(slash - path) + 1) : strdup(".");
  if (!folder) return fail_memory(e);
  int error = access(folder, W_OK | X_OK) != 0 ? errno : 0;
  free(folder);
  if (!error) return SMELT_OK;
  return expr_fault_set(&e->fault, NULL, 0, SMELT_ERR_IO, "%s: cannot be written: %s", path, strerror(error));
}

/* Two results in one file would leave one of them. */
static smelt_status check_single(evaluation *e, size_t i) {
  const char *path = e->outputs.items[i].path;
  for (size_t earlier = 0; earlier < i; earlier++)
    if (strcmp(path, e->outputs.items[earlier].path) == 0)
      return expr_fault_set(&e->fault, NULL, 0, SMELT_ERR_ARGUMENT, "-o %s: given twice", path);
  return SMELT_OK;
}

/* Either all outputs have a path or none has. */
static smelt_status check_outputs(evaluation *e) {
  for (size_t i = 0; i < e->outputs.len && e->outputs.items[i].path; i++) {
    SM_TRY(check_writable(e, e->outputs.items[i].path));
    SM_TRY(check_single(e, i));
  }
  return SMELT_OK;
}

/* --- Running ----------------------------------------------------------------------------- */

static smelt_status load(evaluation *e, const input *in) {
  smelt_tensor *tensor;
  SM_TRY(smelt_npy_load(e->ctx, in->path, &tensor, &e->fault.error));
  expr_scope_define(&e->scope, in->variable, (expr_value){tensor, false});
  return SMELT_OK;
}

static smelt_status run_inputs(evaluation *e) {
  e->ctx = smelt_context_create(&e->desc, &e->fault.error);
  if (!e->ctx) return e->fault.error.code;
  SM_TRY(explain_begin(e->explain, e->ctx, &e->fault.error));
  for (size_t i = 0; i < e->inputs.len; i++) {
    const input *in = &e->inputs.items[i];
    if (in->path) SM_TRY(load(e, in));
    else SM_TRY(expr_run(&e->scope, e->ctx, &in->program, &e->fault));
  }
  return SMELT_OK;
}

static smelt_status compute_outputs(evaluation *e) {
  size_t n = e->outputs.len;
  const smelt_tensor **list = sm_calloc(&sm_malloc_allocator, n, sizeof *list);
  if (!list) return fail_memory(e);
  for (size_t i = 0; i < n; i++) {
    e->outputs.items[i].tensor = expr_scope_use(&e->scope, e->outputs.items[i].variable).tensor;
    list[i] = e->outputs.items[i].tensor;
  }
  smelt_status status = smelt_eval(list, n, &e->fault.error);
  sm_free(&sm_malloc_allocator, list, n * sizeof *list);
  return status;
}

/* Also what has failed is explained; the first error counts. */
static smelt_status compute_and_explain(evaluation *e) {
  smelt_error later;
  smelt_status status = compute_outputs(e);
  if (status == SMELT_OK) return explain_print(e->explain, e->ctx, stderr, &e->fault.error);
  (void)explain_print(e->explain, e->ctx, stderr, &later);
  return status;
}

/* --- Results ---------------------------------------------------------------------------------- */

/* The name before a printed result: "t = ", "2 = ", nothing if it is the only
 * one. */
static void add_label(sm_text *text, const evaluation *e, size_t i) {
  expr_text name = e->outputs.items[i].name;
  if (e->outputs.len == 1) return;
  if (name.n) sm_text_add_n(text, name.s, name.n);
  else sm_text_addf(text, "%zu", i + 1);
  sm_text_add(text, " = ");
}

/* Prints with every further line that is not empty indented as far as the first
 * is by its label. */
static void print_indented(const char *label, const char *lines) {
  int indent = (int)strlen(label);
  (void)fputs(label, stdout);
  for (const char *c = lines; *c; c++) {
    (void)fputc(*c, stdout);
    if (*c == '\n' && c[1] != '\n') (void)printf("%*s", indent, "");
  }
  (void)fputc('\n', stdout);
}

static smelt_status format(evaluation *e, const smelt_tensor *tensor, char **text, size_t *size) {
  size_t needed;
  SM_TRY(smelt_format(tensor, NULL, 0, &needed, &e->fault.error));
  *size = needed + 1;
  *text = sm_alloc(&sm_malloc_allocator, *size);
  if (!*text) return fail_memory(e);
  return smelt_format(tensor, *text, *size, NULL, &e->fault.error);
}

static smelt_status print_output(evaluation *e, size_t i) {
  char *text = NULL;
  size_t size = 0;
  sm_text label;
  sm_text_init(&label, &sm_malloc_allocator);
  add_label(&label, e, i);
  smelt_status status = label.failed ? fail_memory(e) : format(e, e->outputs.items[i].tensor, &text, &size);
  if (status == SMELT_OK) print_indented(label.data, text);
  sm_free(&sm_malloc_allocator, text, size);
  sm_text_free(&label);
  return status;
}

static smelt_status deliver_outputs(evaluation *e) {
  for (size_t i = 0; i < e->outputs.len; i++) {
    const output *out = &e->outputs.items[i];
    if (out->path) SM_TRY(smelt_npy_save(out->tensor, out->path, &e->fault.error));
    else SM_TRY(print_output(e, i));
  }
  return SMELT_OK;
}

/* --- The picture ----------------------------------------------------------------------------------- */

/* Pictures are kept, other lines go where they go without one. */
static void take_line(void *user, const char *line) {
  evaluation *e = user;
  if (strncmp(line, "digraph ", 8) == 0) sm_text_addf(&e->dot, "%s\n", line);
  else (void)fprintf(stderr, "%s\n", line);
}

static smelt_status ask_for_picture(evaluation *e, const char *path) {
  const char *others = getenv("SMELT_LOG");
  e->dot_path = path;
  sm_text_clear(&e->categories);
  sm_text_addf(&e->categories, "dot%s%s", others && *others ? "," : "", others ? others : "");
  e->desc.log = e->categories.data;
  e->desc.log_fn = take_line;
  e->desc.log_user = e;
  return e->categories.failed ? SMELT_ERR_MEMORY : SMELT_OK;
}

static smelt_status save_picture(evaluation *e) {
  if (!e->dot_path) return SMELT_OK;
  if (e->dot.failed) return sm_error_memory(&e->fault.error, "the picture");
  FILE *file = fopen(e->dot_path, "w");
  bool written = file && fputs(e->dot.data, file) >= 0;
  if (file && fclose(file) == 0 && written) return SMELT_OK;
  return sm_error_set(&e->fault.error, SMELT_ERR_IO, "%s: %s", e->dot_path, strerror(errno));
}

/* --- The command --------------------------------------------------------------------------------- */

static smelt_status evaluate(evaluation *e) {
  int32_t results = 0;
  SM_TRY(parse_inputs(e));
  SM_TRY(resolve_inputs(e, &results));
  SM_TRY(resolve_outputs(e, results));
  SM_TRY(check_outputs(e));
  SM_TRY(run_inputs(e));
  SM_TRY(compute_and_explain(e));
  SM_TRY(save_picture(e));
  return deliver_outputs(e);
}

/* Gives everything back. References that are alive after that are a bug. */
static smelt_status finish(evaluation *e, smelt_error *err) {
  for (size_t i = 0; i < e->outputs.len; i++) smelt_drop(e->outputs.items[i].tensor);
  expr_scope_free(&e->scope);
  for (size_t i = 0; i < e->inputs.len; i++) expr_program_free(&e->inputs.items[i].program);
  sm_vec_free(&sm_malloc_allocator, &e->inputs);
  sm_vec_free(&sm_malloc_allocator, &e->outputs);
  sm_vec_free(&sm_malloc_allocator, &e->bindings);
  smelt_status status = smelt_context_destroy(e->ctx, err);
  sm_text_free(&e->dot); /* which lines went to until now */
  sm_text_free(&e->categories);
  return status;
}

static int evaluate_and_report(evaluation *e) {
  smelt_error leak;
  smelt_status status = evaluate(e);
  if (status != SMELT_OK) {
    (void)cli_fail("eval", status, "%s", e->fault.error.text);
    expr_fault_print_place(stderr, &e->fault);
  }
  smelt_status end = finish(e, &leak);
  return end == SMELT_OK ? cli_exit_of(status) : cli_fail("eval", end, "%s", leak.text);
}

enum {
  OPTION_NO_FUSION = 256,
  OPTION_DOT,
  OPTION_SEED,
  OPTION_DEVICE,
  OPTION_MODE,
  OPTION_EXPLAIN,
  OPTION_TRACE
};

static smelt_status add_saved(evaluation *e, const char *argument) {
  output out = {.variable = EXPR_NONE};
  (void)split_name(argument, true, &out.name, &out.path);
  return sm_vec_push(&sm_malloc_allocator, &e->outputs, out) ? SMELT_OK : SMELT_ERR_MEMORY;
}

/* The exit status, or CLI_GO_ON. */
static int take_option(void *options, char **argv, int option) {
  evaluation *e = options;
  switch (option) {
    case 'h':
      return (void)fputs(help, stdout), CLI_OK;
    case 'o':
      return add_saved(e, optarg) == SMELT_OK ? CLI_GO_ON
                                              : cli_fail("eval", SMELT_ERR_MEMORY, "out of memory");
    case OPTION_DEVICE:
      return e->desc.device = optarg, CLI_GO_ON;
    case OPTION_DOT:
      return ask_for_picture(e, optarg) == SMELT_OK ? CLI_GO_ON
                                                    : cli_fail("eval", SMELT_ERR_MEMORY, "out of memory");
    case OPTION_EXPLAIN:
      return explain_take("eval", optarg, &e->explain) ? CLI_GO_ON : CLI_WRONG_INPUT;
    case OPTION_TRACE:
      return e->desc.trace = optarg, CLI_GO_ON;
    case OPTION_NO_FUSION:
      return e->desc.fusion = SMELT_OFF, CLI_GO_ON;
    case OPTION_MODE:
      return cli_take_mode("eval", optarg, &e->desc.mode) ? CLI_GO_ON : CLI_WRONG_INPUT;
    case OPTION_SEED:
      if (cli_parse_u64(optarg, &e->desc.seed)) return CLI_GO_ON;
      return cli_fail("eval", SMELT_ERR_ARGUMENT, "--seed '%s' is not a whole number", optarg);
    default:
      return cli_fail_option(argv, option);
  }
}

static int take_options(evaluation *e, int argc, char **argv) {
  static const struct option options[] = {{"help", no_argument, NULL, 'h'},
                                          {"output", required_argument, NULL, 'o'},
                                          {"device", required_argument, NULL, OPTION_DEVICE},
                                          {"no-fusion", no_argument, NULL, OPTION_NO_FUSION},
                                          {"mode", required_argument, NULL, OPTION_MODE},
                                          {"dot", required_argument, NULL, OPTION_DOT},
                                          {"explain", optional_argument, NULL, OPTION_EXPLAIN},
                                          {"trace", required_argument, NULL, OPTION_TRACE},
                                          {"seed", required_argument, NULL, OPTION_SEED},
                                          {NULL, 0, NULL, 0}};
  return cli_take_options(argc, argv, ":ho:", options, take_option, e);
}

static int take_arguments(evaluation *e, int argc, char **argv) {
  if (optind == argc) return cli_fail("eval", SMELT_ERR_ARGUMENT, "no expression ('smelt eval --help')");
  e->expression = argv[optind];
  for (int i = optind + 1; i < argc; i++)
    if (!sm_vec_push(&sm_malloc_allocator, &e->bindings, argv[i]))
      return cli_fail("eval", SMELT_ERR_MEMORY, "out of memory");
  return CLI_GO_ON;
}

int cmd_eval(int argc, char **argv) {
  evaluation e = {.desc = SMELT_CONTEXT_DESC_INIT};
  sm_text_init(&e.dot, &sm_malloc_allocator);
  sm_text_init(&e.categories, &sm_malloc_allocator);
  int ended = take_options(&e, argc, argv);
  if (ended == CLI_GO_ON) ended = take_arguments(&e, argc, argv);
  if (ended == CLI_GO_ON) return evaluate_and_report(&e);
  (void)finish(&e, NULL);
  return ended;
}
