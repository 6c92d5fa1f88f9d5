/* SPDX-License-Identifier: Apache-2.0
 *
 * smelt lab ir, smelt lab drop: one expression, from the call to the kernel, and
 * given up before it is needed. */
#include <inttypes.h>
#include <math.h>

#include "base/error.h"
#include "lab.h"
#include "smt_elements.h"

enum { MAX_ULP = 2 };

/* exp(a*b + c) without the library: a*b and the sum are f32 as there, exp is libm's in
 * f64, so that it is right to the last bit or nearly so. */
static float expected_value(const lab *l, size_t i) {
  float product = lab_input_value(l, 0, i) * lab_input_value(l, 1, i);
  float sum = product + lab_input_value(l, 2, i);
  return (float)exp((double)sum);
}

static void check_exp(lab *l) {
  for (size_t i = 0; i < l->count; i++) {
    float expected = expected_value(l, i);
    if (smt_element_matches(SMELT_F32, &l->actual[i], &expected, MAX_ULP)) continue;
    lab_fail(l, "element %zu of d is %a, libm says %a", i, (double)l->actual[i], (double)expected);
    return;
  }
  lab_mark("within %d ULP of libm's exp: %zu element(s)", MAX_ULP, l->count);
}

smelt_status lab_ir(lab *l) {
  SM_TRY(lab_open(l, !l->options.no_fusion, "register,block,trace,launch", LAB_SHOW));
  lab_mark("from_host x3");
  smelt_tensor *a = lab_input(l, l->ctx, 0), *b = lab_input(l, l->ctx, 1), *c = lab_input(l, l->ctx, 2);
  lab_mark("let d = exp(a*b + c)");
  smelt_tensor *d = lab_expression(a, b, c);
  lab_mark("launches before the read: %" PRIu64, lab_counters(l).launches);
  lab_mark("d.read()");
  SM_TRY(lab_read(l, d));
  lab_mark("launches: %" PRIu64, lab_counters(l).launches);
  SM_TRY(lab_print_values(l));
  SM_TRY(lab_compare(l, "d", lab_expression_on_ref(l)));
  lab_report(l);
  if (lab_computes(l)) check_exp(l);
  return lab_close(l);
}

/* a, b and c have to be as they were. */
static smelt_status compare_inputs(lab *l, smelt_tensor *const *inputs) {
  static const char *const names[] = {"a", "b", "c"};
  for (uint64_t k = 0; k < 3; k++) {
    SM_TRY(lab_read(l, inputs[k]));
    SM_TRY(lab_compare(l, names[k], lab_input(l, l->ref, k)));
  }
  return SMELT_OK;
}

smelt_status lab_drop(lab *l) {
  SM_TRY(lab_open(l, !l->options.no_fusion, "register,block,launch", LAB_SHOW));
  lab_mark("from_host x3");
  smelt_tensor *a = lab_input(l, l->ctx, 0), *b = lab_input(l, l->ctx, 1), *c = lab_input(l, l->ctx, 2);
  lab_mark("let d = exp(ref(a)*ref(b) + ref(c))");
  smelt_tensor *d = lab_expression(smelt_ref(a), smelt_ref(b), smelt_ref(c));
  lab_mark("drop(d)");
  smelt_drop(d);
  lab_mark("sync()");
  SM_TRY(smelt_sync(l->ctx, &l->error));
  lab_mark("launches since start: %" PRIu64, lab_counters(l).launches);
  lab_mark("a.read(), b.read(), c.read()");
  SM_TRY(compare_inputs(l, (smelt_tensor *const[]){a, b, c}));
  lab_report(l);
  return lab_close(l);
}
