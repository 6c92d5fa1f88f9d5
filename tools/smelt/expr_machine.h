/* SPDX-License-Identifier: Apache-2.0
 *
 * What the parts of the evaluator share: the state of one running program and
 * how a node's value is asked for.
 *
 * Invariants. values[i] is what node i gave and its user has not taken yet;
 * whatever is left when the program ends, well or not, is dropped. Lists,
 * tuples, strings and names of dtypes have no value of their own: their user
 * decides what they are (a tensor, a shape, a dtype).
 *
 * All functions answer false after filling the fault. */
#ifndef SMELT_TOOL_EXPR_MACHINE_H
#define SMELT_TOOL_EXPR_MACHINE_H

#include "expr_eval.h"

typedef struct expr_machine {
  expr_scope *scope;
  smelt_context *ctx;
  const expr_program *program;
  expr_value *values;   /* one a node */
  int32_t root;         /* the node whose value is the statement's */
  smelt_tensor *second; /* owned: its second result, NULL if it has none */
  expr_fault *fault;
} expr_machine;

static inline const expr_node *expr_node_of(const expr_machine *m, int32_t node) {
  return &m->program->nodes.items[node];
}

/* Fills the fault at a node; always false. */
__attribute__((format(printf, 4, 5))) bool expr_fail(expr_machine *m, int32_t node, smelt_status code,
                                                     const char *format, ...);

/* Takes `tensor` as the value of `node`, after checking it. */
bool expr_give(expr_machine *m, int32_t node, smelt_tensor *tensor, bool constant);
/* Makes sure that the node has a value that can be an operand. */
bool expr_need(expr_machine *m, int32_t node);
/* Records `op` on the values of nodes that have one, as the value of `node`. */
bool expr_record(expr_machine *m, int32_t node, const char *op, const int32_t *operands, size_t n,
                 const smelt_attrs *attrs);

/* The value of a node that comes from literals alone. */
bool expr_number(expr_machine *m, int32_t node, sm_scalar *out);
/* Makes a tensor of a list. */
bool expr_list(expr_machine *m, int32_t list);
/* Records x[…] and x.T. */
bool expr_index(expr_machine *m, int32_t index);
bool expr_attribute(expr_machine *m, int32_t attribute);
/* Calls a function. */
bool expr_call(expr_machine *m, int32_t call);

/* The dtype that the node names, SMELT_DTYPE_NONE if it names none. */
smelt_dtype expr_dtype(const expr_machine *m, int32_t node);

#endif
