/* SPDX-License-Identifier: Apache-2.0
 *
 * smelt lab error: what a failure reaches, and what it does not. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "lab.h"

/* --- A launch that fails ---------------------------------------------------------------- */

static smelt_status like_operand(void *user, const smelt_array *x, size_t n, smelt_array *result,
                                 smelt_error *err) {
  (void)user, (void)n, (void)err;
  *result = *x;
  return SMELT_OK;
}

static smelt_status fail(void *user, const smelt_array *x, size_t n, smelt_array *result, smelt_error *err) {
  (void)user, (void)x, (void)n, (void)result;
  (void)snprintf(err->text, sizeof err->text, "the kernel could not be launched");
  return SMELT_ERR_LAUNCH;
}

static smelt_status add_failing(lab *l) {
  smelt_op_desc desc = SMELT_OP_DESC_INIT;
  desc.name = "failing";
  desc.n_operands = 1;
  desc.shape = like_operand;
  desc.kernel = fail;
  return smelt_op_register(l->ctx, &desc, &l->error);
}

/* --- The program --------------------------------------------------------------------------- */

/* The first cause, for a poisoned tensor that is read. */
static smelt_status print_cause(lab *l, const char *name, const smelt_tensor *t) {
  smelt_error err;
  lab_mark("%s.read()", name);
  smelt_status status = smelt_eval((const smelt_tensor *[]){t}, 1, &err);
  if (status == SMELT_OK) lab_fail(l, "%s should have failed", name);
  else (void)printf("%s: %s\n", smelt_status_name(status), err.text);
  return SMELT_OK;
}

static smelt_status read_good(lab *l, smelt_tensor *good) {
  lab_mark("good.read()");
  SM_TRY(lab_read(l, good));
  SM_TRY(lab_print_values(l));
  return lab_compare(l, "good", smelt_mul(lab_input(l, l->ref, 0), 10.0));
}

/* The program goes on: what failed once is no harm to what comes after it. */
static smelt_status go_on(lab *l) {
  lab_mark("let next = a*10; next.read()");
  SM_TRY(lab_read(l, smelt_mul(lab_input(l, l->ctx, 0), 10.0)));
  SM_TRY(lab_compare(l, "next", smelt_mul(lab_input(l, l->ref, 0), 10.0)));
  lab_report(l);
  return lab_close(l);
}

/* What the operations make of `bad`, which is taken. */
static smelt_status show(lab *l, smelt_tensor *bad) {
  lab_mark("let worse = bad + 1; let good = a*10");
  smelt_tensor *worse = smelt_add(smelt_ref(bad), 1.0);
  smelt_status status = read_good(l, smelt_mul(lab_input(l, l->ctx, 0), 10.0));
  if (status == SMELT_OK) status = print_cause(l, "bad", bad);
  if (status == SMELT_OK) status = print_cause(l, "worse", worse);
  smelt_drop(bad);
  smelt_drop(worse);
  return status == SMELT_OK ? go_on(l) : status;
}

static smelt_status wrong_device(lab *l) {
  lab_mark("let bad = concat([a, b]), b on another device");
  smelt_tensor *list[] = {lab_input(l, l->ctx, 0), lab_input(l, l->ref, 1)};
  return show(l, smelt_concat(list, 2, 0));
}

/* Where nothing is computed nothing fails; where the device runs no functions of programs, none that
 * fails can be launched. */
static smelt_status failed_launch(lab *l) {
  if (l->count == 0 || !lab_computes(l)) return SMELT_OK;
  SM_TRY(lab_create(l, !l->options.no_fusion, "block,launch,poison", LAB_SHOW));
  smelt_status status = add_failing(l);
  if (status == SMELT_ERR_UNSUPPORTED) {
    lab_mark("no launch is made to fail: %s", l->error.text);
    return lab_close(l);
  }
  SM_TRY(status);
  lab_mark("let bad = failing(a)");
  return show(l, smelt_call(l->ctx, "failing", (smelt_tensor *[]){lab_input(l, l->ctx, 0)}, 1, NULL));
}

smelt_status lab_error(lab *l) {
  static const sm_shape two = {1, {2}};
  if (!l->options.shape_given) SM_TRY(lab_set_shape(l, &two));
  SM_TRY(lab_open(l, !l->options.no_fusion, "block,launch,poison", LAB_SHOW));
  SM_TRY(wrong_device(l));
  return failed_launch(l);
}
