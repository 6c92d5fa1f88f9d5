/* SPDX-License-Identifier: Apache-2.0
 *
 * The parser of the .smt form, shared by its files: one pass over the text, a statement at a
 * time.
 *
 *   smt_lexer.c       characters, words, numbers, strings, errors
 *   smt_names.c       what has been defined
 *   smt_values.c      types and elements
 *   smt_attributes.c  name=value in a call
 *   smt_parse.c       statements, and the file
 *
 * Functions that read skip blanks first and leave `at` behind what they read; they answer
 * ERR_FORMAT with the place in the text, or ERR_MEMORY. */
#ifndef SM_IR_SMT_PARSER_H
#define SM_IR_SMT_PARSER_H

#include "base/error.h"
#include "ir/smt.h"

typedef struct sm_smt_parser {
  const sm_allocator *allocator;
  const char *at, *end, *line_start;
  size_t line;
  sm_smt *out;
  smelt_error *err;
  sm_vec(sm_scalar) scalars;       /* scratch: the list being read */
  sm_vec(sm_smt_operand) operands; /* scratch */
  sm_vec(int64_t) dims;            /* scratch */
  sm_vec(smelt_range) ranges;      /* scratch */
  uint32_t given;                  /* a bit for each letter of an attribute of this call */
  uint32_t *slots;                 /* names by hash: index + 1, 0 is free */
  size_t n_slots;                  /* a power of two, or 0 */
} sm_smt_parser;

/* A piece of the text. */
typedef struct sm_smt_span {
  const char *s;
  size_t n;
} sm_smt_span;

/* --- Errors ------------------------------------------------------------------------------ */

/* For messages: at most 40 characters of a word. */
#define SHOWN(w) (int)((w).n < 40 ? (w).n : 40), (w).s

/* ERR_FORMAT, with the line and column of `at`. */
__attribute__((format(printf, 3, 4))) smelt_status sm_smt_fail(sm_smt_parser *p, const char *at,
                                                               const char *format, ...);
smelt_status sm_smt_out_of_memory(sm_smt_parser *p);
/* "expected a name, found ')'" */
smelt_status sm_smt_expected(sm_smt_parser *p, const char *what);

/* --- Characters and words (smt_lexer.c) ---------------------------------------------------- */

void sm_smt_skip_blanks(sm_smt_parser *p);
bool sm_smt_peek(sm_smt_parser *p, char symbol);
bool sm_smt_accept(sm_smt_parser *p, char symbol);
smelt_status sm_smt_expect(sm_smt_parser *p, char symbol);
/* A run of letters, digits and '_' that starts with a letter; empty if there is none. */
sm_smt_span sm_smt_word(sm_smt_parser *p);
bool sm_smt_is(sm_smt_span w, const char *text);
/* The word if it is `text`; otherwise nothing is consumed. */
bool sm_smt_accept_word(sm_smt_parser *p, const char *text);
smelt_status sm_smt_end_of_line(sm_smt_parser *p);

/* NUL-terminated for the tables' look-up functions; "" if too long for any entry. */
typedef struct sm_smt_short {
  char s[48];
} sm_smt_short;

sm_smt_short sm_smt_terminated(sm_smt_span w);

/* --- Values (smt_lexer.c, smt_values.c) ------------------------------------------------------ */

smelt_status sm_smt_read_scalar(sm_smt_parser *p, sm_scalar *out);
smelt_status sm_smt_read_unsigned_number(sm_smt_parser *p, uint64_t *out);
/* A negative zero is a float, so that it is no integer. */
smelt_status sm_smt_read_integer(sm_smt_parser *p, const char *what, int64_t *out);
smelt_status sm_smt_read_string(sm_smt_parser *p, const char **out);
smelt_status sm_smt_read_dtype(sm_smt_parser *p, smelt_dtype *out);
/* "[" [ item { "," item } ] "]", whose items are left in `dims` or `ranges`. */
smelt_status sm_smt_read_bracketed(sm_smt_parser *p, smelt_status (*item)(sm_smt_parser *p));
smelt_status sm_smt_read_shape(sm_smt_parser *p, sm_smt_type *out);
smelt_status sm_smt_read_type(sm_smt_parser *p, sm_smt_type *out);
/* All elements have to fit `to` unless that is NONE. */
smelt_status sm_smt_read_data(sm_smt_parser *p, smelt_dtype to, sm_smt_data *out);

/* --- Names (smt_names.c) ----------------------------------------------------------------------- */

bool sm_smt_is_reserved(sm_smt_span w);
smelt_status sm_smt_define(sm_smt_parser *p, sm_smt_span w, uint32_t *out);
smelt_status sm_smt_look_up(sm_smt_parser *p, sm_smt_span w, uint32_t *out);

/* --- Attributes (smt_attributes.c) --------------------------------------------------------------- */

/* The value of attribute `name` of the call `s`. */
smelt_status sm_smt_read_attribute(sm_smt_parser *p, sm_smt_span name, sm_smt_stmt *s);

#endif
