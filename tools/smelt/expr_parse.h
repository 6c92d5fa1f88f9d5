/* SPDX-License-Identifier: Apache-2.0
 *
 * From the text of an expression to its syntax tree. The grammar is in
 * docs/eval.md; the parser knows no operation and no tensor.
 *
 * Vocabulary. A *program* is a list of *statements*; a statement is an
 * expression, with a name if it is an assignment, or two if that is of an
 * operation with two results. An expression is a tree of *nodes*.
 *
 * Invariants. Nodes stand in the order in which they are evaluated: arguments
 * before the node that uses them, left before right, statement after
 * statement. So an evaluator is a loop, however long the expression is, and
 * only nesting (EXPR_MAX_DEPTH) uses the machine's stack, while parsing. Every
 * node is the argument of at most one other node. Texts are slices of the
 * source, which has to outlive the program. A minus before a number is part of
 * the number. */
#ifndef SMELT_TOOL_EXPR_PARSE_H
#define SMELT_TOOL_EXPR_PARSE_H

#include "base/vec.h"
#include "expr_token.h"

/* Brackets, calls, prefix operators and powers inside each other. */
enum { EXPR_MAX_DEPTH = 500 };

/* No node. */
enum { EXPR_NONE = -1 };

typedef enum expr_kind {
  EXPR_NUMBER,
  EXPR_NAME,
  EXPR_STRING,
  EXPR_UNARY,  /* op->prefix of one argument */
  EXPR_BINARY, /* op->infix of two arguments */
  EXPR_CALL,   /* the function `text` of its arguments */
  EXPR_LIST,   /* [ … ] */
  EXPR_TUPLE,  /* ( …, … ), or a statement with commas */
  EXPR_INDEX,  /* a value [ … ]: the value, then what is in the brackets */
  EXPR_RANGE,  /* start:stop:step in such brackets; `parts` says which are there */
  EXPR_ELLIPSIS,
  EXPR_ATTRIBUTE /* a value . the name `text` */
} expr_kind;

/* The parts of a range, or-ed. */
enum { EXPR_START = 1, EXPR_STOP = 2, EXPR_STEP = 4 };

typedef struct expr_node {
  expr_kind kind;
  size_t at;         /* offset in the source: of the operator, the name, the bracket */
  expr_text text;    /* of a name, string, call or attribute */
  expr_text keyword; /* of an argument given as keyword=…, otherwise empty */
  sm_scalar number;
  const expr_operator *op;
  int32_t args; /* the first argument */
  int32_t next; /* the next argument of the node that uses this one */
  int32_t n_args;
  int parts;        /* of a range */
  int32_t variable; /* of a name, EXPR_NONE until expr_resolve has found one */
} expr_node;

typedef struct expr_statement {
  expr_text name;   /* of an assignment, otherwise empty */
  expr_text second; /* the same for the second result */
  size_t at;
  int32_t first; /* its nodes are first … value */
  int32_t value;
  int32_t variable; /* the first it defines, EXPR_NONE until expr_resolve */
} expr_statement;

typedef struct expr_program {
  const char *source;
  sm_vec(expr_node) nodes;
  sm_vec(expr_statement) statements; /* at least one */
} expr_program;

/* Parses `source`. On failure (ERR_FORMAT, ERR_LIMIT for too much nesting,
 * ERR_MEMORY) `fault` says what and where, and there is nothing to free. */
smelt_status expr_parse(expr_program *program, const char *source, expr_fault *fault);
void expr_program_free(expr_program *program);

#endif
