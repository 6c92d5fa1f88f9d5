/* SPDX-License-Identifier: Apache-2.0
 *
 * The words of an expression: names, numbers, strings, operators, punctuation.
 *
 * Tokens are slices of the source, which has to outlive them. The table of
 * operators is expr_operators.def. True, False, true and false are numbers of
 * kind bool; `not`, `and`, `or` are operators. Spaces, tabs and newlines
 * separate tokens and mean nothing else. */
#ifndef SMELT_TOOL_EXPR_TOKEN_H
#define SMELT_TOOL_EXPR_TOKEN_H

#include "core/scalar.h"
#include "expr_fault.h"

/* Precedence, from loose to tight. */
typedef enum expr_level {
  EXPR_LEVEL_NONE,
  EXPR_LEVEL_NOT,
  EXPR_LEVEL_COMPARE,
  EXPR_LEVEL_OR,
  EXPR_LEVEL_XOR,
  EXPR_LEVEL_AND,
  EXPR_LEVEL_SHIFT,
  EXPR_LEVEL_SUM,
  EXPR_LEVEL_PRODUCT,
  EXPR_LEVEL_UNARY,
  EXPR_LEVEL_POWER
} expr_level;

/* A row of expr_operators.def. Strings are static, NULL where not given. */
typedef struct expr_operator {
  const char *text;
  const char *infix;
  const char *prefix;
  expr_level level;
  expr_level before;
  const char *advice;
} expr_operator;

/* The i-th operator, NULL beyond the last. */
const expr_operator *expr_operator_at(size_t i);

/* A slice of the source. */
typedef struct expr_text {
  const char *s;
  size_t n;
} expr_text;

/* `n` of an expr_text as the precision of "%.*s". */
static inline int expr_text_width(expr_text text) { return text.n < 200 ? (int)text.n : 200; }
bool expr_text_is(expr_text text, const char *word);
bool expr_text_equal(expr_text a, expr_text b);
/* Whether it is a name: a letter or '_', then letters, digits and '_'. */
bool expr_text_is_name(expr_text text);

typedef enum expr_token_kind {
  EXPR_TOKEN_END,
  EXPR_TOKEN_NAME,
  EXPR_TOKEN_NUMBER,
  EXPR_TOKEN_STRING, /* `text` without the quotes */
  EXPR_TOKEN_OPERATOR,
  EXPR_TOKEN_MARK /* one of ( ) [ ] , ; = . : */
} expr_token_kind;

typedef struct expr_token {
  expr_token_kind kind;
  size_t at; /* offset in the source */
  expr_text text;
  sm_scalar number;        /* of a number */
  const expr_operator *op; /* of an operator */
} expr_token;

typedef struct expr_lexer {
  const char *source; /* NUL-terminated */
  size_t at;          /* where the next token is looked for */
} expr_lexer;

/* Reads the next token. ERR_FORMAT for what is none, with `fault` filled. */
smelt_status expr_lexer_next(expr_lexer *lexer, expr_token *token, expr_fault *fault);

#endif
