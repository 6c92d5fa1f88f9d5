/* SPDX-License-Identifier: Apache-2.0 */
#include "smt_run.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/log.h"
#include "base/thread.h"
#include "cli.h"
#include "ir/smt.h"
#include "smelt/tensor.h"
#include "smt_elements.h"

/* A name's reference. A taken one keeps its token: a file may use it again. */
typedef struct binding {
  smelt_tensor *token;
  bool held;
} binding;

typedef struct runner {
  const smt_run_options *options;
  const char *file;
  sm_smt smt;
  smelt_context *ctx;
  binding *bindings;
  int status;      /* CLI_OK, or the worst so far */
  bool judges_log; /* expectations on the log apply */
  size_t not_judged;
  uint64_t launches_seen; /* where the last check of launches was */

  sm_mutex lock;    /* over the captured lines */
  uint32_t printed; /* categories whose lines are printed */
  sm_arena arena;
  sm_vec(const char *) lines;
  bool lost_lines;
  size_t lines_seen, blocks_seen;
} runner;

/* --- Faults ----------------------------------------------------------------------- */

/* One error line; `s` is NULL where no statement is at fault. */
__attribute__((format(printf, 4, 5))) static void report(runner *r, const sm_smt_stmt *s, int status,
                                                         const char *format, ...) {
  va_list args;
  va_start(args, format);
  (void)fprintf(r->options->err, "smelt: run: %s: ", r->file);
  if (s) (void)fprintf(r->options->err, "line %zu: ", s->line);
  (void)vfprintf(r->options->err, format, args);
  (void)fputc('\n', r->options->err);
  va_end(args);
  if (status > r->status) r->status = status;
}

static const char *name_of(const runner *r, uint32_t name) { return r->smt.names.items[name]; }

static void *allocate(runner *r, const sm_smt_stmt *s, size_t n, size_t size) {
  void *p = calloc(n ? n : 1, size);
  if (!p) report(r, s, CLI_FAILURE, "out of memory");
  return p;
}

/* --- The log ------------------------------------------------------------------------ */

static bool starts_with(const char *text, const char *prefix) {
  return strncmp(text, prefix, strlen(prefix)) == 0;
}

/* The categories that expectations need are always on; their lines are printed
 * only where they were asked for. */
static bool is_printed(const runner *r, const char *line) {
  static const struct {
    const char *prefix;
    sm_log_category category;
  } needed[] = {{"[registered]", SM_LOG_REGISTER}, {"[block]", SM_LOG_BLOCK}, {"[launch]", SM_LOG_LAUNCH}};
  for (size_t i = 0; i < sizeof needed / sizeof needed[0]; i++) {
    if (starts_with(line, needed[i].prefix)) return r->printed >> needed[i].category & 1;
  }
  return r->printed != 0;
}

static void capture_line(void *user, const char *line) {
  runner *r = user;
  sm_lock(&r->lock);
  if (is_printed(r, line)) (void)fprintf(r->options->out, "%s\n", line);
  const char *copy = sm_arena_copy(&r->arena, line, strlen(line) + 1);
  if (!copy || !sm_vec_push(&sm_malloc_allocator, &r->lines, copy)) r->lost_lines = true;
  sm_unlock(&r->lock);
}

/* Whether `text` matches a pattern in which '*' stands for any characters. */
static bool matches(const char *pattern, const char *text) {
  const char *star = NULL, *resume = NULL;
  while (*text) {
    if (*pattern == '*') {
      star = pattern++;
      resume = text;
    } else if (*pattern == *text) {
      pattern++, text++;
    } else if (star) {
      pattern = star + 1;
      text = ++resume;
    } else {
      return false;
    }
  }
  while (*pattern == '*') pattern++;
  return *pattern == 0;
}

static void expect_line(runner *r, const sm_smt_stmt *s) {
  for (size_t i = r->lines_seen; i < r->lines.len; i++) {
    if (!matches(s->string, r->lines.items[i])) continue;
    r->lines_seen = i + 1;
    return;
  }
  report(r, s, CLI_FAILURE, "expected the line \"%s\"; lines since the last one found: %zu", s->string,
         r->lines.len - r->lines_seen);
  for (size_t i = r->lines_seen; i < r->lines.len; i++)
    (void)fprintf(r->options->err, "  %s\n", r->lines.items[i]);
}

static void expect_count(runner *r, const sm_smt_stmt *s, const char *what, uint64_t actual) {
  if (actual == s->number) return;
  report(r, s, CLI_FAILURE, "%s since the last such check: expected %" PRIu64 ", got %" PRIu64, what,
         s->number, actual);
}

static void expect_blocks(runner *r, const sm_smt_stmt *s) {
  uint64_t blocks = 0;
  for (; r->blocks_seen < r->lines.len; r->blocks_seen++) {
    blocks += starts_with(r->lines.items[r->blocks_seen], "[block]");
  }
  expect_count(r, s, "blocks", blocks);
}

static void expect_launches(runner *r, const sm_smt_stmt *s) {
  smelt_counters counters = SMELT_COUNTERS_INIT;
  (void)smelt_context_counters(r->ctx, &counters);
  expect_count(r, s, "launches", counters.launches - r->launches_seen);
  r->launches_seen = counters.launches;
}

static void expect_log(runner *r, const sm_smt_stmt *s) {
  if (!r->judges_log) {
    r->not_judged++;
    return;
  }
  sm_lock(&r->lock);
  if (s->kind == SM_SMT_EXPECT_LINE) expect_line(r, s);
  else if (s->kind == SM_SMT_EXPECT_BLOCKS) expect_blocks(r, s);
  else expect_launches(r, s);
  sm_unlock(&r->lock);
}

/* --- Values ------------------------------------------------------------------------------ */

static smelt_tensor *scalar_tensor(sm_scalar s) {
  switch (s.kind) {
    case SM_KIND_BOOL:
      return smelt_scalar_bool(s.as.b);
    case SM_KIND_SINT:
      return smelt_scalar_i64(s.as.i64);
    case SM_KIND_UINT:
      return smelt_scalar_u64(s.as.u64);
    default:
      return smelt_scalar_f64(s.as.f64);
  }
}

static void bind(runner *r, uint32_t name, smelt_tensor *token) {
  r->bindings[name] = (binding){token, true};
}

static void run_input(runner *r, const sm_smt_stmt *s) {
  sm_shape shape = {.rank = s->type.rank};
  memcpy(shape.dims, s->type.dims, (size_t)shape.rank * sizeof shape.dims[0]);
  size_t count = (size_t)sm_shape_count(&shape);
  void *elements = allocate(r, s, count, smelt_dtype_size(s->type.dtype));
  if (!elements) return;
  (void)smt_elements_write(&s->data, s->type.dtype, count, elements, NULL);
  bind(r, s->name, smelt_from_host(r->ctx, s->type.dtype, shape.rank, shape.dims, elements));
  free(elements);
}

static smelt_tensor *operand_token(runner *r, const sm_smt_operand *o) {
  if (o->use == SM_SMT_SCALAR) return scalar_tensor(o->scalar);
  binding *b = &r->bindings[o->name];
  if (o->use == SM_SMT_KEEP) return smelt_ref(b->token);
  b->held = false;
  return b->token;
}

static void run_call(runner *r, const sm_smt_stmt *s) {
  smelt_tensor **tokens = allocate(r, s, s->n_operands, sizeof *tokens);
  if (!tokens) return;
  for (size_t i = 0; i < s->n_operands; i++) tokens[i] = operand_token(r, &s->operands[i]);
  smelt_tensor *second = NULL;
  smelt_attrs attrs = s->attrs;
  if (s->has_second) attrs.indices = &second;
  bind(r, s->name, smelt_call(r->ctx, sm_op_row_of(s->code)->name, tokens, s->n_operands, &attrs));
  if (s->has_second) bind(r, s->second, second);
  free(tokens);
}

static void run_drop(runner *r, const sm_smt_stmt *s) {
  for (size_t i = 0; i < s->n_operands; i++) {
    binding *b = &r->bindings[s->operands[i].name];
    smelt_drop(b->token);
    b->held = false;
  }
}

static void run_eval(runner *r, const sm_smt_stmt *s) {
  const smelt_tensor **tokens = allocate(r, s, s->n_operands, sizeof *tokens);
  if (!tokens) return;
  for (size_t i = 0; i < s->n_operands; i++) tokens[i] = r->bindings[s->operands[i].name].token;
  smelt_error e;
  if (smelt_eval(tokens, s->n_operands, &e) != SMELT_OK) report(r, s, CLI_FAILURE, "eval: %s", e.text);
  free(tokens);
}

static void print_tensor(runner *r, const sm_smt_stmt *s, uint32_t name) {
  const smelt_tensor *t = r->bindings[name].token;
  smelt_error e;
  size_t needed = 0;
  char *text = NULL;
  smelt_status status = smelt_format(t, NULL, 0, &needed, &e);
  if (status == SMELT_OK) {
    if (!(text = allocate(r, s, needed + 1, 1))) return;
    status = smelt_format(t, text, needed + 1, NULL, &e);
  }
  if (status == SMELT_OK) (void)fprintf(r->options->out, "%s\n", text);
  else report(r, s, CLI_FAILURE, "read %s: %s", name_of(r, name), e.text);
  free(text);
}

static void run_read(runner *r, const sm_smt_stmt *s) {
  for (size_t i = 0; i < s->n_operands; i++) print_tensor(r, s, s->operands[i].name);
}

/* --- Expectations on tensors ---------------------------------------------------------------- */

static void expect_poisoned(runner *r, const sm_smt_stmt *s) {
  smelt_error e = {.code = SMELT_OK};
  smelt_status status = smelt_check(r->bindings[s->name].token, &e);
  if (status == SMELT_OK) {
    report(r, s, CLI_FAILURE, "expected %s to be poisoned by %s, but it is not", name_of(r, s->name),
           smelt_status_name(s->status));
  } else if (status != s->status || (s->string && !strstr(e.text, s->string))) {
    report(r, s, CLI_FAILURE, "expected %s to be poisoned by %s%s%s, got %s: %s", name_of(r, s->name),
           smelt_status_name(s->status), s->string ? " with " : "", s->string ? s->string : "",
           smelt_status_name(status), e.text);
  }
}

static bool has_type(runner *r, const sm_smt_stmt *s, smelt_dtype dtype, const sm_shape *shape) {
  if (s->type.dtype == SMELT_DTYPE_NONE) return true;
  bool same = dtype == s->type.dtype && shape->rank == s->type.rank &&
              memcmp(shape->dims, s->type.dims, (size_t)shape->rank * sizeof shape->dims[0]) == 0;
  if (same) return true;
  char actual[SM_SHAPE_TEXT], wanted[SM_SHAPE_TEXT];
  sm_shape given = {.rank = s->type.rank < SMELT_MAX_RANK ? s->type.rank : SMELT_MAX_RANK};
  memcpy(given.dims, s->type.dims, (size_t)given.rank * sizeof given.dims[0]);
  report(r, s, CLI_FAILURE, "expected %s to be %s, got %s", name_of(r, s->name),
         sm_shape_text(wanted, s->type.dtype, &given), sm_shape_text(actual, dtype, shape));
  return false;
}

static void report_element(runner *r, const sm_smt_stmt *s, smelt_dtype dtype, size_t index,
                           const void *actual, const void *expected, size_t different) {
  sm_text got, wanted;
  sm_text_init(&got, &sm_malloc_allocator);
  sm_text_init(&wanted, &sm_malloc_allocator);
  sm_smt_print_element(&got, dtype, actual);
  sm_smt_print_element(&wanted, dtype, expected);
  report(r, s, CLI_FAILURE, "element %zu of %s: expected %s, got %s (%zu different)", index,
         name_of(r, s->name), wanted.data, got.data, different);
  sm_text_free(&got);
  sm_text_free(&wanted);
}

static void compare(runner *r, const sm_smt_stmt *s, smelt_dtype dtype, size_t count,
                    const unsigned char *actual, const unsigned char *expected) {
  size_t size = smelt_dtype_size(dtype), different = 0, first = 0;
  for (size_t i = 0; i < count; i++) {
    if (smt_element_matches(dtype, actual + i * size, expected + i * size, s->ulp)) continue;
    if (different++ == 0) first = i;
  }
  if (different)
    report_element(r, s, dtype, first, actual + first * size, expected + first * size, different);
}

/* `elements` has room for the tensor's and the expected elements. */
static void expect_elements(runner *r, const sm_smt_stmt *s, smelt_dtype dtype, size_t count,
                            unsigned char *elements) {
  size_t bytes = count * smelt_dtype_size(dtype);
  unsigned char *expected = elements + bytes;
  smelt_error e;
  if (smt_elements_write(&s->data, dtype, count, expected, &e) != SMELT_OK) {
    report(r, s, CLI_FAILURE, "expect %s: %s", name_of(r, s->name), e.text);
  } else if (smelt_read(r->bindings[s->name].token, dtype, elements, bytes, &e) != SMELT_OK) {
    report(r, s, CLI_FAILURE, "expect %s: %s", name_of(r, s->name), e.text);
  } else {
    compare(r, s, dtype, count, elements, expected);
  }
}

static void expect_value(runner *r, const sm_smt_stmt *s) {
  const smelt_tensor *t = r->bindings[s->name].token;
  smelt_error e;
  if (smelt_check(t, &e) != SMELT_OK) {
    report(r, s, CLI_FAILURE, "expect %s: %s", name_of(r, s->name), e.text);
    return;
  }
  sm_shape shape = {.rank = 0};
  smelt_dtype dtype = smelt_dtype_of(t);
  shape.rank = smelt_dims(t, shape.dims);
  if (!has_type(r, s, dtype, &shape) || s->data.fill == SM_SMT_NO_DATA) return;
  size_t count = (size_t)sm_shape_count(&shape);
  if (s->data.fill == SM_SMT_LIST && s->data.n != count) {
    report(r, s, CLI_FAILURE, "number of elements of %s: expected %zu, got %zu", name_of(r, s->name),
           s->data.n, count);
    return;
  }
  unsigned char *elements = allocate(r, s, count, 2 * smelt_dtype_size(dtype));
  if (elements) expect_elements(r, s, dtype, count, elements);
  free(elements);
}

/* --- The file ------------------------------------------------------------------------------------ */

static void run_sync(runner *r, const sm_smt_stmt *s) {
  smelt_error e;
  if (smelt_sync(r->ctx, &e) != SMELT_OK) report(r, s, CLI_FAILURE, "sync: %s", e.text);
}

static void run_marker(runner *r, const sm_smt_stmt *s) {
  (void)fprintf(r->options->out, "--- %s\n", s->string);
}

static void run_seed(runner *r, const sm_smt_stmt *s) {
  smelt_status status = smelt_seed(r->ctx, s->number);
  if (status == SMELT_ERR_MEMORY) report(r, s, CLI_FAILURE, "seed: out of memory");
  else if (status != SMELT_OK) report(r, s, CLI_FAILURE, "seed: %s", smelt_status_name(status));
}

/* A name stays without a reference only when the command's own memory was
 * exhausted; statements that need it are passed over. */
static bool is_runnable(const runner *r, const sm_smt_stmt *s) {
  for (size_t i = 0; i < s->n_operands; i++) {
    if (s->operands[i].use != SM_SMT_SCALAR && !r->bindings[s->operands[i].name].token) return false;
  }
  bool reads_name = s->kind == SM_SMT_EXPECT_VALUE || s->kind == SM_SMT_EXPECT_POISONED;
  return !reads_name || r->bindings[s->name].token;
}

static void run_statement(runner *r, const sm_smt_stmt *s) {
  static void (*const run[])(runner * r, const sm_smt_stmt *s) = {
      [SM_SMT_SEED] = run_seed,
      [SM_SMT_INPUT] = run_input,
      [SM_SMT_CALL] = run_call,
      [SM_SMT_DROP] = run_drop,
      [SM_SMT_EVAL] = run_eval,
      [SM_SMT_READ] = run_read,
      [SM_SMT_SYNC] = run_sync,
      [SM_SMT_MARKER] = run_marker,
      [SM_SMT_EXPECT_VALUE] = expect_value,
      [SM_SMT_EXPECT_POISONED] = expect_poisoned,
      [SM_SMT_EXPECT_LAUNCHES] = expect_log,
      [SM_SMT_EXPECT_BLOCKS] = expect_log,
      [SM_SMT_EXPECT_LINE] = expect_log,
  };
  if (s->kind != SM_SMT_OPTION && is_runnable(r, s)) run[s->kind](r, s);
}

/* The file's options, then those of the caller. */
static void apply_options(runner *r, smelt_context_desc *desc) {
  for (size_t i = 0; i < r->smt.stmts.len && r->smt.stmts.items[i].kind == SM_SMT_OPTION; i++) {
    const sm_smt_stmt *s = &r->smt.stmts.items[i];
    if (s->option == SM_SMT_FUSION) desc->fusion = s->number ? SMELT_ON : SMELT_OFF;
    else if (s->option == SM_SMT_MODE) desc->mode = (smelt_mode)s->number;
    else desc->max_ops = (int64_t)s->number;
  }
  desc->device = r->options->device;
  desc->trace = r->options->trace;
  if (r->options->no_fusion) desc->fusion = SMELT_OFF;
  if (r->options->mode != SMELT_MODE_DEFAULT) desc->mode = r->options->mode;
  if (r->options->max_ops) desc->max_ops = r->options->max_ops;
}

/* Creates the context with the lines that expectations need switched on. */
static smelt_status open_context(runner *r, smelt_error *err) {
  smelt_context_desc desc = SMELT_CONTEXT_DESC_INIT;
  sm_text categories;
  sm_text_init(&categories, &sm_malloc_allocator);
  sm_text_addf(&categories, "register,block,launch,%s", r->options->log ? r->options->log : "");
  if (categories.failed) return sm_error_memory(err, "log categories");
  apply_options(r, &desc);
  desc.log = categories.data;
  desc.log_fn = capture_line;
  desc.log_user = r;
  r->ctx = smelt_context_create(&desc, err);
  sm_text_free(&categories);
  return r->ctx ? explain_begin(r->options->explain, r->ctx, err) : err->code;
}

static void close_context(runner *r) {
  smelt_error e;
  for (size_t i = 0; i < r->smt.names.len; i++) {
    if (r->bindings[i].held) smelt_drop(r->bindings[i].token);
  }
  smelt_status end = smelt_context_destroy(r->ctx, &e);
  if (end != SMELT_OK) report(r, NULL, cli_exit_of(end), "%s", e.text);
}

static void run_statements(runner *r) {
  const smt_run_options *o = r->options;
  r->judges_log = !o->no_fusion && !o->max_ops && strcmp(smelt_device_name(r->ctx), "ref") != 0;
  for (size_t i = 0; i < r->smt.stmts.len; i++) run_statement(r, &r->smt.stmts.items[i]);
  smelt_error e;
  if (explain_print(o->explain, r->ctx, o->err, &e) != SMELT_OK) report(r, NULL, CLI_FAILURE, "%s", e.text);
  if (r->lost_lines) report(r, NULL, CLI_FAILURE, "out of memory: log lines were lost");
  if (r->not_judged) {
    report(r, NULL, CLI_OK, "note: %zu expectations on launches and log lines do not apply here",
           r->not_judged);
  }
}

static void run_file(runner *r) {
  smelt_error e = {.code = SMELT_OK};
  if (r->options->log && sm_log_parse(r->options->log, &r->printed, &e) != SMELT_OK) {
    report(r, NULL, CLI_WRONG_INPUT, "%s", e.text);
  } else if (!(r->bindings = calloc(r->smt.names.len + 1, sizeof *r->bindings))) {
    report(r, NULL, CLI_FAILURE, "out of memory");
  } else if (open_context(r, &e) != SMELT_OK) {
    report(r, NULL, cli_exit_of(e.code), "%s", e.text);
  } else {
    run_statements(r);
    close_context(r);
  }
  free(r->bindings);
}

int smt_emit_c(const char *file, const char *text, size_t n, const smt_run_options *options) {
  runner r = {.options = options, .file = file, .status = CLI_OK};
  smelt_error e;
  sm_text program;
  smelt_status parsed = sm_smt_parse(&sm_malloc_allocator, text, n, &r.smt, &e);
  if (parsed != SMELT_OK) {
    report(&r, NULL, cli_exit_of(parsed), "%s", e.text);
    return r.status;
  }
  sm_text_init(&program, &sm_malloc_allocator);
  sm_smt_print_c(&program, &r.smt);
  if (program.failed) report(&r, NULL, CLI_FAILURE, "out of memory");
  else (void)fputs(program.data, options->out);
  sm_text_free(&program);
  sm_smt_free(&r.smt);
  return r.status;
}

int smt_run(const char *file, const char *text, size_t n, const smt_run_options *options) {
  runner r = {.options = options, .file = file, .status = CLI_OK};
  smelt_error e;
  smelt_status parsed = sm_smt_parse(&sm_malloc_allocator, text, n, &r.smt, &e);
  if (parsed != SMELT_OK) {
    report(&r, NULL, cli_exit_of(parsed), "%s", e.text);
    return r.status;
  }
  if (!sm_mutex_init(&r.lock, SM_LOCK_TOOL)) {
    report(&r, NULL, cli_exit_of(SMELT_ERR_MEMORY), "out of memory: a lock");
    sm_smt_free(&r.smt);
    return r.status;
  }
  sm_arena_init(&r.arena, &sm_malloc_allocator);
  run_file(&r);
  sm_vec_free(&sm_malloc_allocator, &r.lines);
  sm_arena_free(&r.arena);
  sm_mutex_destroy(&r.lock);
  sm_smt_free(&r.smt);
  return r.status;
}
