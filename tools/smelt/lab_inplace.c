/* SPDX-License-Identifier: Apache-2.0
 *
 * smelt lab inplace: whose memory a result gets. */
#include <inttypes.h>

#include "base/error.h"
#include "lab.h"

enum { INPUTS = 3 };

/* One way to write the expression. */
typedef struct variant {
  const char *text;
  bool kept[INPUTS];
  bool numbers; /* b and c have no axes */
  bool other_dtype;
} variant;

static const variant variants[] = {
    {.text = "exp(a*b + c)"},
    {.text = "exp(ref(a)*b + c)", .kept = {true}},
    {.text = "exp(ref(a)*ref(b) + ref(c))", .kept = {true, true, true}},
    {.text = "exp(ref(a)*b + c), where b and c are numbers", .kept = {true}, .numbers = true},
    {.text = "i32(a*b + c)", .other_dtype = true},
};

enum { VARIANTS = sizeof variants / sizeof variants[0] };

static smelt_tensor *make_input(lab *l, smelt_context *ctx, const variant *v, uint64_t k) {
  float number = lab_input_value(l, k, 0);
  if (v->numbers && k > 0) return smelt_from_host(ctx, SMELT_F32, 0, NULL, &number);
  return lab_input(l, ctx, k);
}

/* What is kept goes to `kept`, the rest is taken. */
static smelt_tensor *compute(lab *l, smelt_context *ctx, const variant *v, smelt_tensor **kept) {
  smelt_tensor *in[INPUTS];
  for (uint64_t k = 0; k < INPUTS; k++) {
    in[k] = make_input(l, ctx, v, k);
    if (v->kept[k] && kept) kept[k] = smelt_ref(in[k]);
  }
  if (!v->other_dtype) return lab_expression(in[0], in[1], in[2]);
  return smelt_astype(smelt_add(smelt_mul(in[0], in[1]), in[2]), SMELT_I32);
}

/* The lab reads f32, from any other dtype with one launch more. */
static smelt_tensor *as_f32(const variant *v, smelt_tensor *d) {
  return v->other_dtype ? smelt_astype(d, SMELT_F32) : d;
}

/* The launch that reading may need is not shown. */
static smelt_status check_result(lab *l, const variant *v, smelt_tensor *d) {
  l->view = LAB_HIDE;
  SM_TRY(lab_read(l, as_f32(v, d)));
  SM_TRY(lab_print_values(l));
  return lab_compare(l, "d", as_f32(v, compute(l, l->ref, v, NULL)));
}

/* An input that is kept has to be as it was. */
static smelt_status check_kept(lab *l, uint64_t k, smelt_tensor *kept) {
  static const char *const names[] = {"a", "b", "c"};
  SM_TRY(lab_read(l, kept));
  return lab_compare(l, names[k], lab_input(l, l->ref, k));
}

static smelt_status sync_and_count(lab *l) {
  lab_mark("sync()");
  SM_TRY(smelt_sync(l->ctx, &l->error));
  lab_mark("launches: %" PRIu64 ", written in place: %" PRIu64, lab_counters(l).launches,
           lab_counters(l).in_place_writes);
  return SMELT_OK;
}

static smelt_status run_variant(lab *l, const variant *v) {
  smelt_tensor *kept[INPUTS] = {NULL};
  lab_mark("a, b, c = t1, t2, t3; let d = %s", v->text);
  smelt_tensor *d = compute(l, l->ctx, v, kept);
  smelt_status status = sync_and_count(l);
  if (status == SMELT_OK) status = check_result(l, v, smelt_ref(d));
  smelt_drop(d);
  for (uint64_t k = 0; k < INPUTS; k++) {
    if (status == SMELT_OK && kept[k]) status = check_kept(l, k, smelt_ref(kept[k]));
    smelt_drop(kept[k]);
  }
  if (status == SMELT_OK) lab_report(l);
  return status == SMELT_OK ? lab_close(l) : status;
}

/* Each in a context of its own, so that a, b and c are always the first tensors. */
smelt_status lab_inplace(lab *l) {
  for (int i = 0; i < VARIANTS; i++) {
    SM_TRY((i ? lab_create : lab_open)(l, !l->options.no_fusion, "memory,launch", LAB_SHOW));
    SM_TRY(run_variant(l, &variants[i]));
  }
  return SMELT_OK;
}
