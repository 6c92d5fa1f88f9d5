/* SPDX-License-Identifier: Apache-2.0
 *
 * Values as C writes them: what stands for a dtype, a number, a shape, attributes in a
 * program that uses the public headers and <math.h>. */
#ifndef SM_IR_C_TEXT_H
#define SM_IR_C_TEXT_H

#include "ir/op.h"

void sm_c_text_dtype(sm_text *text, smelt_dtype dtype); /* "SMELT_F32" */
const char *sm_c_text_type(smelt_dtype dtype);          /* "float"; "uint16_t" for halves: their bits */
/* An element of an array of that type. */
void sm_c_text_element(sm_text *text, smelt_dtype dtype, const void *element);
/* "smelt_scalar_f64(0.5)" */
void sm_c_text_scalar(sm_text *text, sm_scalar s);
/* "(int64_t[]){2, 3}", "NULL" if there is no axis. */
void sm_c_text_dims(sm_text *text, int rank, const int64_t *dims);
/* An attribute as arguments of an operation's function; all of them as the beginning of
 * smelt_call's argument, up to the place of the second result, which only callers know. */
void sm_c_text_attribute(sm_text *text, char letter, const smelt_attrs *a);
void sm_c_text_attrs(sm_text *text, const smelt_attrs *a);

#endif
