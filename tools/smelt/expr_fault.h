/* SPDX-License-Identifier: Apache-2.0
 *
 * A fault in an expression: what is wrong and where.
 *
 * A fault is filled once, where it is found, and printed once, by the command:
 * one line of text, then the line of the expression with a caret under the
 * place. Faults that have no place in an expression (a file, the device) have
 * `source` NULL and print their text only.
 *
 * Columns are counted as terminals show UTF-8, so that wide and combining
 * characters do not move the caret; bytes that are no text are printed as '?'. */
#ifndef SMELT_TOOL_EXPR_FAULT_H
#define SMELT_TOOL_EXPR_FAULT_H

#include <stdio.h>

#include "smelt/base.h"

typedef struct expr_fault {
  smelt_error error;
  const char *source; /* the whole expression; NULL: no place */
  size_t at;          /* byte offset of the place in `source` */
} expr_fault;

/* Fills `fault` and returns `code`. */
__attribute__((format(printf, 5, 6))) smelt_status expr_fault_set(expr_fault *fault, const char *source,
                                                                  size_t at, smelt_status code,
                                                                  const char *format, ...);

/* The line of the expression that contains the place, cut to a window around
 * it if it is long, and the caret line. Nothing if there is no place. */
void expr_fault_print_place(FILE *out, const expr_fault *fault);

/* Bytes of the UTF-8 character at `s` (NUL-terminated), 0 if it is none. */
size_t expr_character_length(const char *s);

#endif
