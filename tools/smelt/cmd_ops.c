/* SPDX-License-Identifier: Apache-2.0
 *
 * smelt ops: the table of operations as expressions see it. */
#include <getopt.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "cli.h"
#include "commands.h"
#include "expr_token.h"
#include "smelt/tensor.h"

static const char help[] =
    "usage: smelt ops [NAME]\n"
    "\n"
    "Lists the operations that expressions can call, with their operator if they\n"
    "have one. With NAME, describes that operation.\n";

static const char *operand_meaning(char letter) {
  switch (letter) {
    case 'T':
      return "a tensor";
    case 'A':
      return "a tensor or a number";
    case 'B':
      return "a bool tensor";
    default:
      return "a number";
  }
}

/* "full(shape, x, dtype)": x, y, z are the operands. */
static void add_signature(sm_text *text, const smelt_op_info *op) {
  size_t n = strlen(op->operands);
  const char *comma = "";
  sm_text_addf(text, "%s(", op->name);
  if (strchr(op->attrs, 's')) sm_text_add(text, "shape"), comma = ", ";
  for (size_t i = 0; i < n; i++, comma = ", ") sm_text_addf(text, "%s%c", comma, (char)('x' + i));
  if (strchr(op->attrs, 't')) sm_text_addf(text, "%sdtype", comma);
  sm_text_add(text, ")");
}

/* "x + y", "-x", "" if there is no operator. */
static void add_operator(sm_text *text, const smelt_op_info *op) {
  const expr_operator *o;
  for (size_t i = 0; (o = expr_operator_at(i)) != NULL; i++) {
    if (o->infix && !strcmp(o->infix, op->name)) sm_text_addf(text, "x %s y", o->text);
    if (o->prefix && !strcmp(o->prefix, op->name))
      sm_text_addf(text, "%s%sx", o->text, strcmp(o->text, "not") ? "" : " ");
  }
}

static bool print_row(const smelt_op_info *op) {
  sm_text signature, operator_text;
  sm_text_init(&signature, &sm_malloc_allocator);
  sm_text_init(&operator_text, &sm_malloc_allocator);
  add_signature(&signature, op);
  add_operator(&operator_text, op);
  bool ok = !signature.failed && !operator_text.failed;
  if (ok) printf("%-28s %-8s %s\n", signature.data, operator_text.data, op->doc);
  sm_text_free(&signature);
  sm_text_free(&operator_text);
  return ok;
}

static void print_operands(const smelt_op_info *op) {
  if (strchr(op->attrs, 's')) puts("  shape    numbers or a list of numbers");
  for (size_t i = 0; op->operands[i]; i++)
    printf("  %c        %s\n", (char)('x' + i), operand_meaning(op->operands[i]));
  if (strchr(op->attrs, 't')) puts("  dtype    bool, i8 ... u64, f32, f64");
  printf("  family   %s\n", op->family);
}

static int list(void) {
  for (size_t i = 0; i < smelt_op_count(); i++)
    if (!print_row(smelt_op_at(i))) return cli_fail("ops", SMELT_ERR_MEMORY, "out of memory");
  return CLI_OK;
}

static int describe(const char *name) {
  const smelt_op_info *op = smelt_op_find(name);
  if (!op) return cli_fail("ops", SMELT_ERR_ARGUMENT, "no operation '%s'", name);
  if (!print_row(op)) return cli_fail("ops", SMELT_ERR_MEMORY, "out of memory");
  print_operands(op);
  return CLI_OK;
}

int cmd_ops(int argc, char **argv) {
  int status;
  if (cli_only_help(argc, argv, help, &status)) return status;
  if (argc - optind > 1) return cli_fail("ops", SMELT_ERR_ARGUMENT, "one name at most");
  return optind < argc ? describe(argv[optind]) : list();
}
