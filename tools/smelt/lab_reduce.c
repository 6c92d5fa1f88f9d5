/* SPDX-License-Identifier: Apache-2.0
 *
 * smelt lab sum, smelt lab norm: what reductions cost with what stands around them. */
#include <inttypes.h>

#include "base/error.h"
#include "lab.h"
#include "row_programs.h"

/* What has been launched and moved so far, beside what has to be moved at least. */
static void mark_bytes(const lab *l, size_t read, size_t written) {
  smelt_counters c = lab_counters(l);
  lab_mark("launches: %" PRIu64 ", read %" PRIu64 " of %zu byte(s), written %" PRIu64 " of %zu", c.launches,
           c.bytes_read, read, c.bytes_written, written);
}

/* From here on what is read has one element. */
static smelt_status sum_plus_one(lab *l, smelt_tensor **d, smelt_tensor **expected) {
  static const sm_shape number = {.rank = 0};
  smelt_tensor *y = lab_input(l, l->ctx, 0), *on_ref = lab_input(l, l->ref, 0);
  *d = smelt_add(smelt_sum(y, NULL, 0, false, SMELT_DTYPE_NONE), 1);
  *expected = smelt_add(smelt_sum(on_ref, NULL, 0, false, SMELT_DTYPE_NONE), 1);
  return lab_set_shape(l, &number);
}

smelt_status lab_sum(lab *l) {
  smelt_tensor *d = NULL, *expected = NULL;
  size_t bytes = l->count * sizeof(float);
  SM_TRY(lab_open(l, !l->options.no_fusion, "block,launch", LAB_SHOW));
  lab_mark("let d = sum(y) + 1");
  SM_TRY(sum_plus_one(l, &d, &expected));
  lab_mark("d.read()");
  SM_TRY(lab_read(l, d));
  mark_bytes(l, bytes, sizeof(float));
  SM_TRY(lab_print_values(l));
  SM_TRY(lab_compare(l, "d", expected));
  lab_report(l);
  return lab_close(l);
}

static const struct {
  const char *text;
  smelt_tensor *(*of)(smelt_tensor *x, int axis);
} norms[] = {
    {"softmax(x)", row_softmax},
    {"layer_norm(x)", row_layer_norm},
    {"rms_norm(x)", row_rms_norm},
};

enum { NORMS = sizeof norms / sizeof norms[0], LAST = -1 };

static smelt_status run_norm(lab *l, int which) {
  size_t bytes = l->count * sizeof(float);
  lab_mark("let y = %s, operation by operation", norms[which].text);
  smelt_tensor *y = norms[which].of(lab_input(l, l->ctx, 0), LAST);
  lab_mark("y.read()");
  SM_TRY(lab_read(l, y));
  mark_bytes(l, bytes, bytes);
  SM_TRY(lab_print_values(l));
  SM_TRY(lab_compare(l, "y", norms[which].of(lab_input(l, l->ref, 0), LAST)));
  lab_report(l);
  return lab_close(l);
}

/* Each in a context of its own, so that the counters are the program's. */
smelt_status lab_norm(lab *l) {
  for (int which = 0; which < NORMS; which++) {
    SM_TRY((which ? lab_create : lab_open)(l, !l->options.no_fusion, "block,launch", LAB_SHOW));
    SM_TRY(run_norm(l, which));
  }
  return SMELT_OK;
}
