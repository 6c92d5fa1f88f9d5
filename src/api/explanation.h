/* SPDX-License-Identifier: Apache-2.0
 *
 * An explanation as the library has it: notes, oldest first, whose numbers become
 * those of the whole when they are asked for. */
#ifndef SM_API_EXPLANATION_H
#define SM_API_EXPLANATION_H

#include "launch/explain.h"

struct smelt_explanation {
  sm_note *notes;
  sm_text device;
  size_t n_operations, n_edges, n_kernels;
};

/* explanation_text.c */
void sm_explanation_print(sm_text *text, const smelt_explanation *e);
void sm_explanation_print_json(sm_text *text, const smelt_explanation *e);

#endif
