/* SPDX-License-Identifier: Apache-2.0
 *
 * smelt lab count: launches with fusion and without. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "lab.h"

/* A program takes what inputs it wants, from number `first` on. */
typedef smelt_tensor *program(lab *l, smelt_context *ctx, uint64_t first);

static smelt_tensor *three(lab *l, smelt_context *ctx, uint64_t first) {
  smelt_tensor *a = lab_input(l, ctx, first);
  smelt_tensor *b = lab_input(l, ctx, first + 1);
  smelt_tensor *c = lab_input(l, ctx, first + 2);
  return lab_expression(a, b, c);
}

/* exp(sin(2*sqrt(tanh(x/2) + 1)) + 1): finite for every x. */
static smelt_tensor *eight(lab *l, smelt_context *ctx, uint64_t first) {
  smelt_tensor *x = lab_input(l, ctx, first);
  x = smelt_sqrt(smelt_add(smelt_tanh(smelt_mul(x, 0.5)), 1.0));
  return smelt_exp(smelt_add(smelt_sin(smelt_mul(x, 2.0)), 1.0));
}

static smelt_tensor *hundred(lab *l, smelt_context *ctx, uint64_t first) {
  return lab_chain_steps(lab_input(l, ctx, first), 100);
}

/* --- Counting ----------------------------------------------------------------------- */

/* A kernel of one operation is named after it. */
static bool is_unary(const lab_kernel *kernel) {
  const smelt_op_info *op = smelt_op_find(kernel->name);
  return op && strlen(op->operands) == 1;
}

/* "    4 unary: 1 tanh, 1 sqrt, 1 sin, 1 exp" */
static void print_unary_kernels(const lab *l) {
  uint64_t launches = 0;
  for (size_t i = 0; i < l->kernels.len; i++)
    if (is_unary(&l->kernels.items[i])) launches += l->kernels.items[i].launches;
  if (!launches) return;
  (void)printf("    %" PRIu64 " unary", launches);
  const char *before = ": ";
  for (size_t i = 0; i < l->kernels.len; i++) {
    const lab_kernel *k = &l->kernels.items[i];
    if (!is_unary(k)) continue;
    (void)printf("%s%" PRIu64 " %s", before, k->launches, k->name);
    before = ", ";
  }
  (void)putchar('\n');
}

static void print_kernels(const lab *l) {
  for (size_t i = 0; i < l->kernels.len; i++) {
    const lab_kernel *k = &l->kernels.items[i];
    if (!is_unary(k)) (void)printf("    %" PRIu64 " %s\n", k->launches, k->name);
  }
  print_unary_kernels(l);
}

static void print_counts(const lab *l, int copies, const smelt_counters *before) {
  smelt_counters after = lab_counters(l);
  uint64_t launches = after.launches - before->launches;
  if (copies > 1) (void)printf("%d expressions, ", copies);
  (void)printf("%" PRIu64 " ops -> %" PRIu64 " launch%s\n", after.operations - before->operations, launches,
               launches == 1 ? "" : "es");
  print_kernels(l);
}

enum { MAX_COPIES = 5, INPUTS_PER_COPY = 3 };

static smelt_status compare_copy(lab *l, program *p, int copy, smelt_tensor *result) {
  SM_TRY(lab_read(l, result));
  return lab_compare(l, "the result", p(l, l->ref, (uint64_t)copy * INPUTS_PER_COPY));
}

/* Records `copies` of a program on inputs of their own and computes them with one
 * sync. */
static smelt_status count_copies(lab *l, program *p, int copies) {
  smelt_tensor *results[MAX_COPIES];
  smelt_counters before = lab_counters(l);
  l->kernels.len = 0;
  for (int i = 0; i < copies; i++) results[i] = p(l, l->ctx, (uint64_t)i * INPUTS_PER_COPY);
  smelt_status status = smelt_sync(l->ctx, &l->error);
  if (status == SMELT_OK) print_counts(l, copies, &before);
  for (int i = 0; i < copies; i++) {
    if (status == SMELT_OK) status = compare_copy(l, p, i, results[i]);
    else smelt_drop(results[i]);
  }
  return status;
}

static smelt_status count_all(lab *l, bool fusion) {
  SM_TRY(lab_open(l, fusion, "launch", LAB_HIDE));
  SM_TRY(count_copies(l, three, 1));
  SM_TRY(count_copies(l, eight, 1));
  SM_TRY(count_copies(l, hundred, 1));
  SM_TRY(count_copies(l, three, MAX_COPIES));
  lab_report(l);
  return lab_close(l);
}

smelt_status lab_count(lab *l) {
  if (!l->options.no_fusion) SM_TRY(count_all(l, true));
  return count_all(l, false);
}
