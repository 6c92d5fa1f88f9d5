/* SPDX-License-Identifier: Apache-2.0
 *
 * From syntax trees to recorded operations.
 *
 * Vocabulary. A *scope* is the list of all *variables* in the order in which
 * they are defined; a later one hides an earlier one of the same name. The
 * values of a statement that has no name become variables without one. An
 * operation with two results has to be the whole of a statement, which defines
 * two variables.
 *
 * Work is done in two passes, so that the lazy layer sees every last use as a
 * take. Resolving connects each name with its variable and counts the uses;
 * nothing is computed. Running records the operations; each use takes a
 * reference, the last one the variable's own. What is never used is dropped as
 * soon as it is there. Programs must be run in the order in which they were
 * resolved.
 *
 * Every recorded operation is checked at once, so a fault points at the part of
 * the expression that caused it. */
#ifndef SMELT_TOOL_EXPR_EVAL_H
#define SMELT_TOOL_EXPR_EVAL_H

#include "expr_parse.h"
#include "smelt/tensor.h"

/* A tensor, and whether it comes from literals alone (it is then a weak scalar
 * whose number can be read without ending a segment). */
typedef struct expr_value {
  smelt_tensor *tensor; /* owned; NULL: none */
  bool constant;
} expr_value;

typedef struct expr_variable {
  expr_text name;
  uint32_t uses; /* still to come */
  expr_value value;
} expr_variable;

typedef struct expr_scope {
  sm_vec(expr_variable) variables;
} expr_scope;

/* Drops all values. */
void expr_scope_free(expr_scope *scope);

/* A new variable without value. ERR_MEMORY. */
smelt_status expr_scope_declare(expr_scope *scope, expr_text name, expr_fault *fault);
/* The index of the latest variable of that name, EXPR_NONE if there is none. */
int32_t expr_scope_find(const expr_scope *scope, expr_text name);
/* Gives a declared variable its value, which is taken. */
void expr_scope_define(expr_scope *scope, int32_t variable, expr_value value);
/* One of the variable's uses: a reference of the caller's. */
expr_value expr_scope_use(expr_scope *scope, int32_t variable);

/* Declares the names that the program uses before it defines them, and that are neither variables,
 * constants nor dtypes: what has to be given to it. They are the scope's last ones. */
smelt_status expr_declare_inputs(expr_scope *scope, const expr_program *program, expr_fault *fault);

/* Declares what the program defines and counts uses. ERR_ARGUMENT for a name
 * that is neither a variable, a constant nor a dtype. The variables of the last
 * statement are the scope's last ones; `*results` (optional) is their number. */
smelt_status expr_resolve(expr_scope *scope, expr_program *program, int32_t *results, expr_fault *fault);

/* Records the program and gives its variables their values. */
smelt_status expr_run(expr_scope *scope, smelt_context *ctx, const expr_program *program, expr_fault *fault);

#endif
