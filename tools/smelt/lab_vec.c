/* SPDX-License-Identifier: Apache-2.0
 *
 * smelt lab vec: which vectors kernels use, and how large launches are. */
#include "base/error.h"
#include "lab.h"

static const char *const devices[] = {"null:cpu-avx512", "null:metal", "null:cuda-sm90", "cpu"};
static const sm_shape shapes[] = {{2, {2, 2}}, {2, {4, 3}}, {2, {4, 6}}, {2, {64, 64}}};

enum { DEVICES = sizeof devices / sizeof devices[0], SHAPES = sizeof shapes / sizeof shapes[0] };

static smelt_status show_shape(lab *l, const sm_shape *shape) {
  char text[SM_SHAPE_TEXT];
  SM_TRY(lab_set_shape(l, shape));
  lab_mark("exp(a*b + c) of %s", sm_shape_text(text, SMELT_F32, shape));
  smelt_tensor *a = lab_input(l, l->ctx, 0), *b = lab_input(l, l->ctx, 1), *c = lab_input(l, l->ctx, 2);
  SM_TRY(lab_read(l, lab_expression(a, b, c)));
  return lab_compare(l, "the result", lab_expression_on_ref(l));
}

static smelt_status show_shapes(lab *l, const sm_shape *list, size_t n, bool flatten) {
  l->options.flatten = flatten ? SMELT_ON : SMELT_OFF;
  SM_TRY(lab_create(l, !l->options.no_fusion, "layout,launch", LAB_SHOW));
  lab_mark("%s, flatten %s", l->options.device, flatten ? "on" : "off");
  for (size_t i = 0; i < n; i++) SM_TRY(show_shape(l, &list[i]));
  lab_report(l);
  return lab_close(l);
}

static smelt_status show_device(lab *l, const char *device, const sm_shape *list, size_t n) {
  l->options.device = device;
  SM_TRY(show_shapes(l, list, n, true));
  return show_shapes(l, list, n, false);
}

smelt_status lab_vec(lab *l) {
  sm_shape given = l->options.shape;
  const sm_shape *list = l->options.shape_given ? &given : shapes;
  size_t n = l->options.shape_given ? 1 : SHAPES;
  if (l->options.device) return show_device(l, l->options.device, list, n);
  for (size_t i = 0; i < DEVICES; i++) SM_TRY(show_device(l, devices[i], list, n));
  return SMELT_OK;
}
