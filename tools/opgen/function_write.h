/* SPDX-License-Identifier: Apache-2.0
 *
 * What opgen makes of src/core/functions.def:
 *
 *   src/core/functions_gen.h   the functions in C, sm_fn_exp_f32 and so on
 *   src/core/functions_gen.c   their steps as tables, and sm_kop_function */
#ifndef OPGEN_FUNCTION_WRITE_H
#define OPGEN_FUNCTION_WRITE_H

#include <stdbool.h>
#include <stdio.h>

/* Parses all texts. False after a report of the first fault. */
bool functions_parse(FILE *report);

/* After functions_parse. */
void functions_write_header(FILE *out);
void functions_write_tables(FILE *out);

#endif
