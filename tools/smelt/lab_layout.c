/* SPDX-License-Identifier: Apache-2.0
 *
 * smelt lab layout: the order of results whose operands are transposed. */
#include <inttypes.h>

#include "base/error.h"
#include "lab.h"

/* Sums of a.T, b.T and c, of which c has the result's shape. */
typedef struct variant {
  const char *text;
  bool b, c;
} variant;

static const variant variants[] = {
    {.text = "a.T + b.T", .b = true},
    {.text = "a.T + c", .c = true},
    {.text = "a.T + b.T + c", .b = true, .c = true},
};

enum { VARIANTS = sizeof variants / sizeof variants[0] };

static sm_shape reversed(const sm_shape *shape) {
  sm_shape other = {.rank = shape->rank};
  for (int axis = 0; axis < shape->rank; axis++) other.dims[axis] = shape->dims[shape->rank - 1 - axis];
  return other;
}

static smelt_tensor *transposed(lab *l, smelt_context *ctx, uint64_t which) {
  return smelt_permute_dims(lab_input(l, ctx, which), NULL, 0);
}

/* From here on inputs, and what is read, have the result's shape. */
static smelt_status add_up(lab *l, smelt_context *ctx, const variant *v, const sm_shape *shape,
                           smelt_tensor **out) {
  sm_shape other = reversed(shape);
  SM_TRY(lab_set_shape(l, shape));
  smelt_tensor *sum = transposed(l, ctx, 0);
  if (v->b) sum = smelt_add(sum, transposed(l, ctx, 1));
  *out = sum;
  SM_TRY(lab_set_shape(l, &other));
  if (v->c) *out = smelt_add(sum, lab_input(l, ctx, 2));
  return SMELT_OK;
}

static smelt_status run_variant(lab *l, const variant *v, const sm_shape *shape) {
  smelt_tensor *d = NULL, *expected = NULL;
  lab_mark("let d = %s", v->text);
  SM_TRY(add_up(l, l->ref, v, shape, &expected));
  SM_TRY(add_up(l, l->ctx, v, shape, &d));
  SM_TRY(lab_read(l, d));
  lab_mark("launches: %" PRIu64, lab_counters(l).launches);
  SM_TRY(lab_print_values(l));
  SM_TRY(lab_compare(l, "d", expected));
  lab_report(l);
  return lab_close(l);
}

/* Each in a context of its own, so that a and b are always the first tensors. */
smelt_status lab_layout(lab *l) {
  static const sm_shape wide = {2, {2, 3}};
  sm_shape shape = l->options.shape_given ? l->options.shape : wide;
  for (int i = 0; i < VARIANTS; i++) {
    SM_TRY(lab_set_shape(l, &shape));
    SM_TRY((i ? lab_create : lab_open)(l, !l->options.no_fusion, "layout,launch", LAB_SHOW));
    SM_TRY(run_variant(l, &variants[i], &shape));
  }
  return SMELT_OK;
}
