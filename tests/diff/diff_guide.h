/* SPDX-License-Identifier: Apache-2.0
 *
 * The guide of a program that is being written: a context on `ref` on which each
 * step runs at once. A call is tried there, and what comes out well-typed and of
 * bearable size is added to the program. So whoever writes programs needs to know
 * no operation. */
#ifndef TESTS_DIFF_DIFF_GUIDE_H
#define TESTS_DIFF_DIFF_GUIDE_H

#include "diff_program.h"

typedef struct guide {
  program *p;
  smelt_context *ctx;
  smelt_tensor *tokens[MAX_STEPS]; /* by name */
  bool held[MAX_STEPS];            /* the name's reference is there */
} guide;

void open_guide(guide *g, program *p);
void close_guide(guide *g);

/* A step of this kind and nothing else; the caller fills it in. */
step *add_step(guide *g, step_kind kind);
void add_input(guide *g, const step *input);
/* Adds the call if it is well-typed, or ill-typed if it is to be `wrong`, and its second
 * result if that is wanted. */
bool add_call(guide *g, const step *call, bool second, bool wrong);
/* A step that uses one name: it is dropped if the step takes it. */
void add_use(guide *g, step_kind kind, int name);

/* Adds a reduction or a normalization of rows of `x` by its single steps, if `x` is of
 * floats; `keep_percent` of what it computes on the way is kept. */
void add_row_pattern(guide *g, uint64_t *state, int x, int keep_percent);
/* Adds the first `n` steps once more, with other extents; extents that were equal
 * stay so. What does not work out with them is left out. */
void add_repeat(guide *g, uint64_t *state, int n);

#endif
