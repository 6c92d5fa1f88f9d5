/* SPDX-License-Identifier: Apache-2.0
 *
 * A file of the .smt form as a C program against the public interface. A name becomes a
 * variable, an option a member of the context's options, a statement a call. What the
 * file expects is left out: the program shows values.
 *
 * A call with the number of operands that its operation has becomes a call of its
 * function, whose macro sees to the order of operands. All others, which are wrong or
 * take a list, go through smelt_call, operand by operand. */
#include <inttypes.h>
#include <string.h>

#include "ir/c_text.h"
#include "ir/smt.h"

typedef struct writer {
  sm_text *text;
  const sm_smt *smt;
  bool *held; /* by name: its reference is the program's to drop in the end */
} writer;

/* --- Names -------------------------------------------------------------------------- */

/* t1 is a fine name for a variable. Others may mean something in C, and get a '_'. */
static void add_name(const writer *w, uint32_t name) {
  const char *s = w->smt->names.items[name];
  bool plain = s[0] == 't' && s[1] && s[1 + strspn(s + 1, "0123456789")] == 0;
  sm_text_addf(w->text, "%s%s", s, plain ? "" : "_");
}

static void add_variable(const writer *w, uint32_t name) {
  sm_text_add(w->text, "  smelt_tensor *");
  add_name(w, name);
}

/* --- Calls ----------------------------------------------------------------------------------- */

static void add_operand(const writer *w, const sm_smt_operand *o) {
  if (o->use == SM_SMT_SCALAR) {
    sm_c_text_scalar(w->text, o->scalar);
    return;
  }
  sm_text_add(w->text, o->use == SM_SMT_KEEP ? "smelt_ref(" : "");
  add_name(w, o->name);
  sm_text_add(w->text, o->use == SM_SMT_KEEP ? ")" : "");
}

/* Whether the operation's function takes these arguments. */
static bool fits_function(const sm_smt_stmt *s) {
  const sm_op_row *row = sm_op_row_of(s->code);
  bool one = row->attrs && strchr(row->attrs, 'x'), two = row->attrs && strchr(row->attrs, 'p');
  bool axes =
      (!one || (s->attrs.axes && s->attrs.n_axes == 1)) && (!two || (s->attrs.axes && s->attrs.n_axes == 2));
  return !sm_op_takes_list(row) && sm_op_takes(row, (int)s->n_operands) && axes;
}

/* Where the second result goes. */
static void add_second(const writer *w, const sm_smt_stmt *s) {
  sm_text_add(w->text, s->has_second ? "&" : "NULL");
  if (s->has_second) add_name(w, s->second);
}

static void add_function_call(const writer *w, const sm_smt_stmt *s) {
  const sm_op_row *row = sm_op_row_of(s->code);
  const char *separator = "";
  sm_text_addf(w->text, " = smelt_%s(", row->name);
  if (sm_op_creates(row)) sm_text_add(w->text, "ctx"), separator = ", ";
  for (size_t i = 0; i < s->n_operands; i++, separator = ", ") {
    sm_text_add(w->text, separator);
    add_operand(w, &s->operands[i]);
  }
  for (const char *letter = row->attrs ? row->attrs : ""; *letter; letter++, separator = ", ") {
    sm_text_add(w->text, separator);
    if (*letter == 'i') add_second(w, s);
    else sm_c_text_attribute(w->text, *letter, &s->attrs);
  }
  sm_text_add(w->text, ");\n");
}

static void add_list(const writer *w, const sm_smt_stmt *s) {
  add_variable(w, s->name);
  sm_text_addf(w->text, "_of[%zu] = {NULL};\n", s->n_operands ? s->n_operands : 1);
  for (size_t i = 0; i < s->n_operands; i++) {
    sm_text_add(w->text, "  ");
    add_name(w, s->name);
    sm_text_addf(w->text, "_of[%zu] = ", i);
    add_operand(w, &s->operands[i]);
    sm_text_add(w->text, ";\n");
  }
}

static void add_general_call(const writer *w, const sm_smt_stmt *s) {
  sm_text_addf(w->text, " = smelt_call(ctx, \"%s\", ", sm_op_row_of(s->code)->name);
  add_name(w, s->name);
  sm_text_addf(w->text, "_of, %zu, ", s->n_operands);
  sm_c_text_attrs(w->text, &s->attrs);
  sm_text_add(w->text, ", ");
  add_second(w, s);
  sm_text_add(w->text, "});\n");
}

static void add_call(const writer *w, const sm_smt_stmt *s) {
  bool function = fits_function(s);
  if (s->has_second) add_variable(w, s->second), sm_text_add(w->text, " = NULL;\n");
  if (!function) add_list(w, s);
  add_variable(w, s->name);
  if (function) add_function_call(w, s);
  else add_general_call(w, s);
  for (size_t i = 0; i < s->n_operands; i++) {
    if (s->operands[i].use == SM_SMT_TAKE) w->held[s->operands[i].name] = false;
  }
  w->held[s->name] = true;
  if (s->has_second) w->held[s->second] = true;
}

/* --- Inputs ------------------------------------------------------------------------------------ */

static void add_elements(const writer *w, const sm_smt_stmt *s) {
  enum { IN_A_LINE = 8 };
  sm_text_addf(w->text, "  static const %s ", sm_c_text_type(s->type.dtype));
  add_name(w, s->name);
  sm_text_add(w->text, "_data[] = {");
  for (size_t i = 0; i < s->data.n; i++) {
    sm_word word;
    (void)sm_scalar_convert(s->data.items[i], s->type.dtype, &word, NULL);
    sm_text_add(w->text, !i ? "" : i % IN_A_LINE ? ", " : ",\n      ");
    sm_c_text_element(w->text, s->type.dtype, &word);
  }
  sm_text_add(w->text, "};\n");
}

static void add_type(const writer *w, const sm_smt_stmt *s) {
  sm_c_text_dtype(w->text, s->type.dtype);
  sm_text_addf(w->text, ", %d, ", s->type.rank);
  sm_c_text_dims(w->text, s->type.rank, s->type.dims);
}

/* From a list, or made by operations that are done before anything is recorded. */
static void add_source(const writer *w, const sm_smt_stmt *s) {
  if (s->data.fill == SM_SMT_LIST) {
    sm_text_add(w->text, " = smelt_from_host(ctx, ");
    add_type(w, s);
    sm_text_add(w->text, ", ");
    if (s->data.n) add_name(w, s->name);
    sm_text_add(w->text, s->data.n ? "_data);\n" : "NULL);\n");
    return;
  }
  bool fill = s->data.fill == SM_SMT_FILL;
  sm_text_add(w->text, fill ? " = made(smelt_full(ctx, " : " = made(iota(ctx, ");
  if (fill) sm_c_text_scalar(w->text, s->data.items[0]), sm_text_add(w->text, ", ");
  add_type(w, s);
  sm_text_add(w->text, "));\n");
}

static void add_input(const writer *w, const sm_smt_stmt *s) {
  if (s->data.fill == SM_SMT_LIST && s->data.n) add_elements(w, s);
  add_variable(w, s->name);
  add_source(w, s);
  w->held[s->name] = true;
}

/* --- Other statements ------------------------------------------------------------------------------ */

static void add_drop(const writer *w, uint32_t name) {
  sm_text_add(w->text, "  smelt_drop(");
  add_name(w, name);
  sm_text_add(w->text, ");\n");
  w->held[name] = false;
}

static void add_eval(const writer *w, const sm_smt_stmt *s) {
  sm_text_add(w->text, "  check(smelt_eval((const smelt_tensor *[]){");
  for (size_t i = 0; i < s->n_operands; i++) {
    sm_text_add(w->text, i ? ", " : "");
    add_name(w, s->operands[i].name);
  }
  sm_text_addf(w->text, "}, %zu, &err));\n", s->n_operands);
}

static void add_print(const writer *w, uint32_t name) {
  sm_text_add(w->text, "  check(smelt_print(");
  add_name(w, name);
  sm_text_add(w->text, ", &err));\n");
}

/* The form's strings have no control characters; "??" could begin a trigraph. */
static void add_marker(const writer *w, const char *string) {
  sm_text_add(w->text, "  (void)puts(\"--- ");
  for (; *string; string++) sm_text_addf(w->text, strchr("\"\\?", *string) ? "\\%c" : "%c", *string);
  sm_text_add(w->text, "\");\n");
}

static void add_statement(const writer *w, const sm_smt_stmt *s) {
  if (s->kind == SM_SMT_INPUT) add_input(w, s);
  if (s->kind == SM_SMT_CALL) add_call(w, s);
  if (s->kind == SM_SMT_EVAL) add_eval(w, s);
  if (s->kind == SM_SMT_MARKER) add_marker(w, s->string);
  if (s->kind == SM_SMT_SYNC) sm_text_add(w->text, "  check(smelt_sync(ctx, &err));\n");
  if (s->kind == SM_SMT_SEED) sm_text_addf(w->text, "  (void)smelt_seed(ctx, %" PRIu64 "u);\n", s->number);
  for (size_t i = 0; i < s->n_operands; i++) {
    if (s->kind == SM_SMT_DROP) add_drop(w, s->operands[i].name);
    if (s->kind == SM_SMT_READ) add_print(w, s->operands[i].name);
  }
}

/* --- The program -------------------------------------------------------------------------------------- */

static void add_options(const writer *w) {
  static const char *const modes[] = {
#define MODE(id, value, name, meaning) [value] = "SMELT_MODE_" #id,
#include "smelt/mode.def"
#undef MODE
  };
  for (size_t i = 0; i < w->smt->stmts.len && w->smt->stmts.items[i].kind == SM_SMT_OPTION; i++) {
    const sm_smt_stmt *s = &w->smt->stmts.items[i];
    if (s->option == SM_SMT_FUSION)
      sm_text_addf(w->text, "  desc.fusion = %s;\n", s->number ? "SMELT_ON" : "SMELT_OFF");
    else if (s->option == SM_SMT_MODE) sm_text_addf(w->text, "  desc.mode = %s;\n", modes[s->number]);
    else sm_text_addf(w->text, "  desc.max_ops = %" PRIu64 ";\n", s->number);
  }
}

static bool uses(const sm_smt *smt, sm_smt_fill fill) {
  for (size_t i = 0; i < smt->stmts.len; i++) {
    if (smt->stmts.items[i].kind == SM_SMT_INPUT && smt->stmts.items[i].data.fill == fill) return true;
  }
  return false;
}

static const char opening[] =
    "/* cc -std=c11 THIS.c $(pkg-config --cflags --libs smelt) */\n"
    "#include <math.h>\n"
    "#include <smelt/smelt.h>\n"
    "#include <stdio.h>\n"
    "#include <stdlib.h>\n"
    "\n"
    "static smelt_error err;\n"
    "static int status = EXIT_SUCCESS;\n"
    "\n"
    "/* Says what is wrong, and goes on. */\n"
    "static void check(smelt_status s) {\n"
    "  if (s == SMELT_OK) return;\n"
    "  (void)fprintf(stderr, \"%s\\n\", err.text);\n"
    "  status = EXIT_FAILURE;\n"
    "}\n"
    "\n";

static const char making[] =
    "/* Input data: computed here and now, so that it is no part of what follows. */\n"
    "static smelt_tensor *made(smelt_tensor *t) {\n"
    "  check(smelt_eval((const smelt_tensor *[]){t}, 1, &err));\n"
    "  return t;\n"
    "}\n"
    "\n";

static const char counting[] =
    "/* 0, 1, 2, ... */\n"
    "static smelt_tensor *iota(smelt_context *ctx, smelt_dtype dtype, int rank, const int64_t *dims) {\n"
    "  int64_t n = 1;\n"
    "  for (int i = 0; i < rank; i++) n *= dims[i];\n"
    "  return smelt_reshape(smelt_astype(smelt_arange(ctx, 0, n, 1, SMELT_I64), dtype), rank, dims);\n"
    "}\n"
    "\n";

static void add_program(const writer *w) {
  bool iota = uses(w->smt, SM_SMT_IOTA);
  sm_text_add(w->text, opening);
  if (iota || uses(w->smt, SM_SMT_FILL)) sm_text_add(w->text, making);
  if (iota) sm_text_add(w->text, counting);
  sm_text_add(w->text,
              "int main(int argc, char **argv) {\n"
              "  smelt_context_desc desc = SMELT_CONTEXT_DESC_INIT;\n"
              "  if (argc > 1) desc.device = argv[1];\n");
  add_options(w);
  sm_text_add(w->text,
              "  smelt_context *ctx = smelt_context_create(&desc, &err);\n"
              "  if (!ctx) return check(err.code), status;\n\n");
  for (size_t i = 0; i < w->smt->stmts.len; i++) add_statement(w, &w->smt->stmts.items[i]);
  for (size_t i = 0; i < w->smt->names.len; i++) {
    if (w->held[i]) add_drop(w, (uint32_t)i);
  }
  sm_text_add(w->text, "  check(smelt_context_destroy(ctx, &err));\n  return status;\n}\n");
}

void sm_smt_print_c(sm_text *text, const sm_smt *smt) {
  writer w = {.text = text, .smt = smt};
  w.held = sm_calloc(text->allocator, smt->names.len + 1, sizeof *w.held);
  if (w.held) add_program(&w);
  else text->failed = true;
  sm_free(text->allocator, w.held, (smt->names.len + 1) * sizeof *w.held);
}
