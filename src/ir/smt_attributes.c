/* SPDX-License-Identifier: Apache-2.0 */
#include "ir/smt_parser.h"

static smelt_status axis(sm_smt_parser *p) {
  const char *start = p->at;
  int64_t number;
  SM_TRY(sm_smt_read_integer(p, "an axis", &number));
  if (number < INT32_MIN || number > INT32_MAX)
    return sm_smt_fail(p, start, "an axis is between -2^31 and 2^31 - 1");
  return sm_vec_push(p->allocator, &p->dims, number) ? SMELT_OK : sm_smt_out_of_memory(p);
}

static smelt_status keep_axes(sm_smt_parser *p, smelt_attrs *out) {
  int *axes = sm_arena_alloc(&p->out->arena, (p->dims.len + 1) * sizeof *axes);
  if (!axes) return sm_smt_out_of_memory(p);
  for (size_t i = 0; i < p->dims.len; i++) axes[i] = (int)p->dims.items[i];
  out->axes = axes;
  out->n_axes = p->dims.len;
  return SMELT_OK;
}

static smelt_status axis_value(sm_smt_parser *p, smelt_attrs *out) {
  p->dims.len = 0;
  SM_TRY(axis(p));
  return keep_axes(p, out);
}

static smelt_status axes_value(sm_smt_parser *p, smelt_attrs *out) {
  SM_TRY(sm_smt_read_bracketed(p, axis));
  return keep_axes(p, out);
}

/* A part of a range; ABSENT if there is none before the next colon or the end. The smallest integer
 * would be ABSENT too; the next one means the same on every axis. */
static smelt_status place(sm_smt_parser *p, int64_t *out) {
  *out = SMELT_ABSENT;
  if (sm_smt_peek(p, ':') || sm_smt_peek(p, ',') || sm_smt_peek(p, ']')) return SMELT_OK;
  SM_TRY(sm_smt_read_integer(p, "a place", out));
  if (*out == SMELT_ABSENT) *out = -INT64_MAX;
  return SMELT_OK;
}

static smelt_status range(sm_smt_parser *p) {
  smelt_range r = {.step = SMELT_ABSENT};
  SM_TRY(place(p, &r.start));
  SM_TRY(sm_smt_expect(p, ':'));
  SM_TRY(place(p, &r.stop));
  if (sm_smt_accept(p, ':')) SM_TRY(place(p, &r.step));
  return sm_vec_push(p->allocator, &p->ranges, r) ? SMELT_OK : sm_smt_out_of_memory(p);
}

static smelt_status ranges_value(sm_smt_parser *p, smelt_attrs *out) {
  SM_TRY(sm_smt_read_bracketed(p, range));
  out->n_ranges = p->ranges.len;
  out->ranges = sm_arena_copy(&p->out->arena, p->ranges.items, p->ranges.len * sizeof(smelt_range));
  return out->ranges ? SMELT_OK : sm_smt_out_of_memory(p);
}

static smelt_status shape_value(sm_smt_parser *p, smelt_attrs *out) {
  sm_smt_type type;
  SM_TRY(sm_smt_read_shape(p, &type));
  out->rank = type.rank;
  out->dims = type.dims;
  return SMELT_OK;
}

/* One axis or a list of them. */
static smelt_status reduced_axes_value(sm_smt_parser *p, smelt_attrs *out) {
  return sm_smt_peek(p, '[') ? axes_value(p, out) : axis_value(p, out);
}

static smelt_status truth_value(sm_smt_parser *p, bool *out) {
  *out = sm_smt_accept_word(p, "true");
  return *out || sm_smt_accept_word(p, "false") ? SMELT_OK : sm_smt_expected(p, "true or false");
}

static smelt_status number_value(sm_smt_parser *p, double *out) {
  sm_smt_skip_blanks(p);
  const char *start = p->at;
  sm_scalar s;
  sm_word word;
  SM_TRY(sm_smt_read_scalar(p, &s));
  bool fits = s.kind != SM_KIND_BOOL && sm_scalar_convert(s, SMELT_F64, &word, NULL) == SMELT_OK;
  if (!fits) return sm_smt_fail(p, start, "expected a number");
  *out = word.F64;
  return SMELT_OK;
}

static smelt_status groups_value(sm_smt_parser *p, int64_t *out) {
  uint64_t number;
  sm_smt_skip_blanks(p);
  const char *start = p->at;
  SM_TRY(sm_smt_read_unsigned_number(p, &number));
  if (number > INT64_MAX) return sm_smt_fail(p, start, "there are not that many groups");
  *out = (int64_t)number;
  return SMELT_OK;
}

/* The letter of the attribute that the row has under this keyword, or 0. */
static char letter_of(const sm_op_row *row, sm_smt_span keyword) {
  for (const char *a = row->attrs ? row->attrs : ""; *a; a++) {
    if (*a != 'i' && sm_smt_is(keyword, sm_attr_row_of(*a)->keyword)) return *a;
  }
  return 0;
}

smelt_status sm_smt_read_attribute(sm_smt_parser *p, sm_smt_span name, sm_smt_stmt *s) {
  const sm_op_row *row = sm_op_row_of(s->code);
  char letter = letter_of(row, name);
  if (!letter) return sm_smt_fail(p, name.s, "%s has no attribute '%.*s'", row->name, SHOWN(name));
  uint32_t bit = (uint32_t)1 << (letter - 'a');
  if (p->given & bit) return sm_smt_fail(p, name.s, "'%.*s' is given twice", SHOWN(name));
  p->given |= bit;
  switch (letter) {
    case 't':
    case 'd':
      return sm_smt_read_dtype(p, &s->attrs.dtype);
    case 's':
      return shape_value(p, &s->attrs);
    case 'r':
      return ranges_value(p, &s->attrs);
    case 'x':
      return axis_value(p, &s->attrs);
    case 'o':
      return reduced_axes_value(p, &s->attrs);
    case 'k':
      return truth_value(p, &s->attrs.keepdims);
    case 'c':
    case 'n':
    case 'e':
      return number_value(p, &s->attrs.number);
    case 'g':
      return groups_value(p, &s->attrs.groups);
    default:
      return axes_value(p, &s->attrs);
  }
}
