/* SPDX-License-Identifier: Apache-2.0
 *
 * The option --explain[=json] of eval and run. */
#ifndef SMELT_TOOL_EXPLAIN_OPTION_H
#define SMELT_TOOL_EXPLAIN_OPTION_H

#include <stdio.h>

#include "smelt/observe.h"

typedef struct explain_option {
  bool wanted;
  smelt_explanation_form form;
} explain_option;

/* Takes the option's value, which is NULL if it has none; false, with the error line
 * printed, if that is no form. */
bool explain_take(const char *command, const char *value, explain_option *out);

/* Around what is to be explained; nothing if it is not wanted. */
smelt_status explain_begin(explain_option option, smelt_context *ctx, smelt_error *err);
smelt_status explain_print(explain_option option, smelt_context *ctx, FILE *to, smelt_error *err);

#endif
