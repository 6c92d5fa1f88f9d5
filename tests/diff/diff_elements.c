/* SPDX-License-Identifier: Apache-2.0
 *
 * Random numbers, the elements of inputs made from them, and the attributes of calls. */
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "diff_program.h"

/* --- Randomness ----------------------------------------------------------------------- */

uint64_t draw(uint64_t *state) {
  uint64_t x = *state += 0x9e3779b97f4a7c15u;
  x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
  x = (x ^ x >> 27) * 0x94d049bb133111ebu;
  return x ^ x >> 31;
}

int draw_below(uint64_t *state, int n) { return (int)(draw(state) % (uint64_t)n); }
bool draw_once_in(uint64_t *state, int n) { return draw_below(state, n) == 0; }

static double draw_unit(uint64_t *state) { return (double)(draw(state) >> 11) * 0x1p-53; }

/* --- Elements --------------------------------------------------------------------------- */

double draw_float(uint64_t *state, smelt_dtype dtype) {
  static const double both[] = {0.0, -0.0, NAN, INFINITY, -INFINITY, 1,     -1,
                                0.5, -0.5, 2,   3,        1e-3,      -7.25, 88.8};
  static const double f32[] = {FLT_MAX, -FLT_MAX, FLT_MIN, -FLT_MIN, 0x1p-149, -0x1p-149, 0x1p-130, 16777217};
  static const double f64[] = {DBL_MAX, -DBL_MAX, DBL_MIN, -DBL_MIN, 0x1p-1074, -0x1p-1074, 0x1p-1050, 1e300};
  static const double f16[] = {65504, -65504, 0x1p-14, -0x1p-14, 0x1p-24, -0x1p-24, 0x1.8p-16, 2049};
  const double *special = dtype == SMELT_F16 ? f16 : dtype == SMELT_F64 ? f64 : f32; /* f32 suits bf16 */
  switch (draw_below(state, 6)) {
    case 0:
      return both[draw_below(state, sizeof both / sizeof both[0])];
    case 1:
      return special[draw_below(state, 8)];
    case 2:
      return (draw_unit(state) - 0.5) * 1e6;
    default:
      return (draw_unit(state) - 0.5) * 8;
  }
}

/* Bits of an integer of any width, which takes the low ones. */
static uint64_t draw_integer(uint64_t *state, size_t size) {
  uint64_t top = (uint64_t)1 << (8 * size - 1);
  switch (draw_below(state, 6)) {
    case 0:
      return top; /* the smallest, or half of the largest */
    case 1:
      return top - 1; /* the largest signed one */
    case 2:
      return draw_once_in(state, 2) ? ~(uint64_t)0 : 0;
    case 3:
      return draw(state);
    default:
      return (uint64_t)(int64_t)(draw_below(state, 21) - 10);
  }
}

static sm_word float_element(smelt_dtype dtype, double value) {
  sm_word word = {.bits = 0};
  (void)sm_scalar_convert((sm_scalar){SM_KIND_FLOAT, {.f64 = value}}, dtype, &word, NULL);
  return word;
}

static sm_word draw_element(uint64_t *state, smelt_dtype dtype) {
  sm_word word = {.bits = 0};
  if (is_float(dtype)) return float_element(dtype, draw_float(state, dtype));
  if (dtype == SMELT_BOOL) word.BOOL = draw_once_in(state, 2);
  else word.bits = draw_integer(state, smelt_dtype_size(dtype));
  return word;
}

static sm_word plain_element(smelt_dtype dtype, size_t i) {
  sm_word word = {.bits = i + 1};
  if (is_float(dtype)) return float_element(dtype, (double)(i + 1));
  if (dtype == SMELT_BOOL) word.BOOL = true;
  return word;
}

static sm_word input_element(const step *s, uint64_t *state, size_t i) {
  bool tame = s->fill == FILL_TAME && is_float(s->dtype);
  if (s->fill == FILL_PLAIN) return plain_element(s->dtype, i);
  return tame ? float_element(s->dtype, (draw_unit(state) - 0.5) * 8) : draw_element(state, s->dtype);
}

size_t input_count(const step *s) {
  size_t count = 1;
  for (int axis = 0; axis < s->rank; axis++) count *= (size_t)s->dims[axis];
  return count;
}

void *input_elements(const step *s) {
  size_t size = smelt_dtype_size(s->dtype), count = input_count(s);
  unsigned char *data = malloc(count * size + 1);
  uint64_t state = s->seed;
  for (size_t i = 0; data && i < count; i++) {
    sm_word word = input_element(s, &state, i);
    memcpy(data + i * size, &word, size); /* little endian: the low bytes of an integer */
  }
  return data;
}

smelt_attrs step_attrs(const step *s) {
  return (smelt_attrs){.size = sizeof(smelt_attrs),
                       .dtype = s->dtype,
                       .rank = s->rank,
                       .dims = s->dims,
                       .axes = s->names_axes ? s->axes : NULL,
                       .n_axes = (size_t)s->n_axes,
                       .ranges = s->ranges,
                       .n_ranges = (size_t)s->n_ranges,
                       .keepdims = s->keepdims,
                       .number = s->number,
                       .groups = 1 + (int64_t)s->number};
}
