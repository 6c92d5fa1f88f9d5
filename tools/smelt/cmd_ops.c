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
#include "ir/op.h"
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
    case 'I':
      return "an integer tensor";
    case 'L':
      return "a list of tensors";
    default:
      return "a number";
  }
}

/* The shape of what is created comes before the operands. */
static bool comes_first(const smelt_op_info *op, char attribute) {
  return attribute == 's' && op->operands[strspn(op->operands, "S")] == '\0';
}

static void add_attributes(sm_text *text, const smelt_op_info *op, bool first, const char **comma) {
  for (const char *a = op->attrs; *a; a++) {
    if (comes_first(op, *a) != first || *a == 'i') continue;
    sm_text_addf(text, "%s%s", *comma, sm_attr_row_of(*a)->keyword);
    *comma = ", ";
  }
}

/* "full(shape, x, dtype)": x, y, z are the operands. */
static void add_signature(sm_text *text, const smelt_op_info *op) {
  size_t n = strlen(op->operands);
  const char *comma = "";
  sm_text_addf(text, "%s(", op->name);
  add_attributes(text, op, true, &comma);
  for (size_t i = 0; i < n; i++, comma = ", ") sm_text_addf(text, "%s%c", comma, (char)('x' + i));
  add_attributes(text, op, false, &comma);
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
  if (ok) printf("%-36s %-8s %s\n", signature.data, operator_text.data, op->doc);
  sm_text_free(&signature);
  sm_text_free(&operator_text);
  return ok;
}

static void print_attributes(const smelt_op_info *op, bool first) {
  for (const char *a = op->attrs; *a; a++) {
    const sm_attr_row *row = sm_attr_row_of(*a);
    if (comes_first(op, *a) == first) printf("  %-10s %s\n", row->keyword, row->value);
  }
}

static void print_operands(const smelt_op_info *op) {
  print_attributes(op, true);
  for (size_t i = 0; op->operands[i]; i++)
    printf("  %c          %s\n", (char)('x' + i), operand_meaning(op->operands[i]));
  print_attributes(op, false);
  printf("  family     %s\n", op->family);
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
