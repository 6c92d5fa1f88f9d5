/* SPDX-License-Identifier: Apache-2.0
 *
 * The table of cases and their programs. */
#include <string.h>

#include "bench.h"
#include "core/kop_functions.h"
#include "row_programs.h"

/* --- Programs of a fixed shape --------------------------------------------------------- */

static smelt_tensor *bench_expr(smelt_tensor *const *in, uint64_t order) {
  (void)order;
  return smelt_exp(smelt_add(smelt_mul(smelt_ref(in[0]), smelt_ref(in[1])), smelt_ref(in[2])));
}

static smelt_tensor *bench_expr_inplace(smelt_tensor *const *in, uint64_t order) {
  (void)order;
  return smelt_exp(smelt_add(smelt_mul(in[0], smelt_ref(in[1])), smelt_ref(in[2])));
}

static smelt_tensor *bench_add(smelt_tensor *const *in, uint64_t order) {
  (void)order;
  return smelt_add(smelt_ref(in[0]), smelt_ref(in[1]));
}

static smelt_tensor *bench_gelu(smelt_tensor *const *in, uint64_t order) {
  (void)order;
  smelt_tensor *x = in[0];
  smelt_tensor *square = smelt_mul(smelt_ref(x), smelt_ref(x));
  smelt_tensor *cube = smelt_mul(smelt_mul(smelt_ref(x), 0.044715), square);
  smelt_tensor *t = smelt_tanh(smelt_mul(smelt_add(smelt_ref(x), cube), 0.7978845608));
  return smelt_mul(smelt_mul(smelt_ref(x), 0.5), smelt_add(t, 1.0));
}

static smelt_tensor *bench_chain64(smelt_tensor *const *in, uint64_t order) {
  (void)order;
  smelt_tensor *x = smelt_ref(in[0]);
  for (int k = 0; k < BENCH_SCALARS; k += 2)
    x = smelt_add(smelt_mul(x, bench_chain_scalar(k)), bench_chain_scalar(k + 1));
  return x;
}

static smelt_tensor *bench_exps(smelt_tensor *const *in, uint64_t order) {
  (void)order;
  smelt_tensor *x = smelt_ref(in[0]);
  for (int k = 0; k < 16; k++) x = smelt_exp(smelt_neg(x));
  return x;
}

static smelt_tensor *bench_mixed65(smelt_tensor *const *in, uint64_t order) {
  (void)order;
  smelt_tensor *x = smelt_ref(in[0]);
  for (int k = 0; k < 32; k += 4) {
    x = smelt_exp(smelt_add(smelt_mul(x, bench_mixed_scalar(k)), bench_mixed_scalar(k + 1)));
    x = smelt_maximum(smelt_sub(x, bench_mixed_scalar(k + 2)), bench_mixed_scalar(k + 3));
    x = smelt_sqrt(smelt_tanh(smelt_abs(x)));
  }
  return smelt_mul(x, bench_mixed_scalar(32));
}

/* --- Reductions, each from primitives ----------------------------------------------------- */

enum { LAST = -1 };

static smelt_tensor *bench_softmax(smelt_tensor *const *in, uint64_t order) {
  (void)order;
  return row_softmax(smelt_ref(in[0]), LAST);
}

static smelt_tensor *bench_softmax_axis0(smelt_tensor *const *in, uint64_t order) {
  (void)order;
  return row_softmax(smelt_ref(in[0]), 0);
}

static smelt_tensor *bench_rmsnorm(smelt_tensor *const *in, uint64_t order) {
  (void)order;
  return smelt_mul(row_rms_norm(smelt_ref(in[0]), LAST), smelt_ref(in[1]));
}

static smelt_tensor *bench_layernorm(smelt_tensor *const *in, uint64_t order) {
  (void)order;
  return smelt_add(smelt_mul(row_layer_norm(smelt_ref(in[0]), LAST), smelt_ref(in[1])), smelt_ref(in[2]));
}

static smelt_tensor *bench_sum_all(smelt_tensor *const *in, uint64_t order) {
  (void)order;
  smelt_tensor *x = smelt_add(smelt_mul(smelt_ref(in[0]), smelt_ref(in[1])), smelt_ref(in[2]));
  return smelt_add(smelt_sum(x, NULL, 0, false, SMELT_DTYPE_NONE), 1);
}

static smelt_tensor *exp_of_sum(smelt_tensor *const *in, int axis) {
  return smelt_exp(row_sum(smelt_mul(smelt_ref(in[0]), smelt_ref(in[1])), axis, false));
}

static smelt_tensor *bench_sum_axis0(smelt_tensor *const *in, uint64_t order) {
  (void)order;
  return exp_of_sum(in, 0);
}

static smelt_tensor *bench_sum_axis1(smelt_tensor *const *in, uint64_t order) {
  (void)order;
  return exp_of_sum(in, LAST);
}

static smelt_tensor *bench_argmax(smelt_tensor *const *in, uint64_t order) {
  (void)order;
  return smelt_argmax(smelt_ref(in[0]), (int[]){LAST}, 1, false);
}

static smelt_tensor *mean_square_from(smelt_tensor *mean, smelt_tensor *x, const int *axes, size_t n_axes) {
  smelt_tensor *distance = smelt_sub(x, mean);
  return smelt_mean(smelt_mul(smelt_ref(distance), distance), axes, n_axes, true);
}

/* One result, so that one read ends both. */
static smelt_tensor *bench_meanvar(smelt_tensor *const *in, uint64_t order) {
  (void)order;
  smelt_tensor *mean = smelt_mean(smelt_ref(in[0]), (int[]){LAST}, 1, true);
  smelt_tensor *variance = mean_square_from(smelt_ref(mean), smelt_ref(in[0]), (int[]){LAST}, 1);
  return smelt_add(mean, variance);
}

static smelt_tensor *bench_var_all(smelt_tensor *const *in, uint64_t order) {
  (void)order;
  return mean_square_from(smelt_mean(smelt_ref(in[0]), NULL, 0, true), smelt_ref(in[0]), NULL, 0);
}

static smelt_tensor *bench_var_axis0(smelt_tensor *const *in, uint64_t order) {
  (void)order;
  smelt_tensor *mean = smelt_mean(smelt_ref(in[0]), (int[]){0}, 1, true);
  return mean_square_from(mean, smelt_ref(in[0]), (int[]){0}, 1);
}

static smelt_tensor *bench_cross_entropy(smelt_tensor *const *in, uint64_t order) {
  (void)order;
  smelt_tensor *largest = smelt_max(smelt_ref(in[0]), (int[]){LAST}, 1, true);
  smelt_tensor *e = smelt_exp(smelt_sub(smelt_ref(in[0]), smelt_ref(largest)));
  smelt_tensor *labels = smelt_expand_dims(smelt_ref(in[1]), LAST);
  smelt_tensor *chosen = smelt_take_along_axis(smelt_ref(in[0]), labels, LAST);
  return smelt_add(smelt_log(row_sum(e, LAST, true)), smelt_sub(largest, chosen));
}

/* --- Programs in any order ----------------------------------------------------------------- */

/* The first ones keep every value within pi/2 of 0; one of the others may follow
 * them, so that nothing overflows. */
static const char *const functions[] = {"sin",     "cos",  "tanh",  "atan", "erf",
                                        "sigmoid", "exp2", "expm1", "sinh", "exp"};
enum { CALM = 6, FUNCTIONS = sizeof functions / sizeof functions[0] };

static smelt_tensor *apply(smelt_tensor *x, uint64_t function) {
  return smelt_call(NULL, functions[function], &x, 1, NULL);
}

static smelt_tensor *bench_compile256(smelt_tensor *const *in, uint64_t order) {
  smelt_tensor *x = smelt_ref(in[0]);
  uint64_t last = 0;
  for (uint64_t k = 0; k < 256; k++) {
    uint64_t choices = last < CALM ? FUNCTIONS : CALM;
    last = sm_philox(k, order, 0, 0) % choices;
    x = apply(x, last);
  }
  return x;
}

static smelt_tensor *bench_later(smelt_tensor *const *in, uint64_t order) {
  smelt_tensor *sum = smelt_add(smelt_ref(in[0]), smelt_ref(in[1]));
  return apply(apply(sum, order % FUNCTIONS), order / FUNCTIONS % FUNCTIONS);
}

/* --- Programs that are only to be planned ---------------------------------------------------- */

static smelt_tensor *combine(smelt_tensor *x, smelt_tensor *y, uint64_t choice) {
  static const char *const names[] = {"add", "subtract", "minimum", "maximum"};
  return smelt_call(NULL, names[choice % 4], (smelt_tensor *[]){x, y}, 2, NULL);
}

/* One operation: a function, x with an input, or x with what `branch` was left at; from
 * there the branch goes on. */
static smelt_tensor *step(smelt_tensor *const *in, smelt_tensor *x, smelt_tensor **branch, uint64_t random) {
  uint64_t kind = random % 8, choice = random / 8;
  if (kind < 4) return apply(x, choice % CALM);
  if (kind < 6) return combine(x, smelt_ref(in[choice / 4 % BENCH_MAX_INPUTS]), choice);
  x = combine(x, *branch, choice);
  *branch = smelt_ref(x);
  return x;
}

/* A segment full of operations in an order that does not repeat; all are needed. */
static smelt_tensor *bench_plan512(smelt_tensor *const *in, uint64_t order) {
  smelt_tensor *x = smelt_ref(in[0]), *branch = smelt_ref(in[1]);
  for (uint64_t k = 0; k < 511; k++) x = step(in, x, &branch, sm_philox(k, order, 0, 0));
  return combine(x, branch, order);
}

uint64_t bench_later_programs(void) { return (uint64_t)FUNCTIONS * FUNCTIONS; }

/* --- The table --------------------------------------------------------------------------------- */

static const bench_case cases[] = {
#define BENCH_CASE(case_name, how, ...) {.name = #case_name, .measure = bench_measure_##how, __VA_ARGS__},
#include "bench_cases.def"
#undef BENCH_CASE
};

const bench_case *bench_case_at(size_t i) { return i < sizeof cases / sizeof cases[0] ? &cases[i] : NULL; }

const bench_case *bench_case_find(const char *name) {
  for (size_t i = 0; bench_case_at(i); i++)
    if (strcmp(cases[i].name, name) == 0) return &cases[i];
  return NULL;
}
