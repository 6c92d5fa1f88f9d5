/* SPDX-License-Identifier: Apache-2.0
 *
 * Types and elements. Lists go through scratch arrays and are copied to the file's arena
 * when they are complete. */
#include <math.h>

#include "ir/smt_parser.h"

smelt_status sm_smt_read_dtype(sm_smt_parser *p, smelt_dtype *out) {
  sm_smt_skip_blanks(p);
  sm_smt_span w = sm_smt_word(p);
  if (w.n == 0) return sm_smt_expected(p, "a dtype");
  *out = smelt_dtype_find(sm_smt_terminated(w).s);
  return *out == SMELT_DTYPE_NONE ? sm_smt_fail(p, w.s, "'%.*s' is not a dtype", SHOWN(w)) : SMELT_OK;
}

smelt_status sm_smt_read_integer(sm_smt_parser *p, const char *what, int64_t *out) {
  sm_smt_skip_blanks(p);
  const char *start = p->at;
  sm_scalar s;
  SM_TRY(sm_smt_read_scalar(p, &s));
  *out = s.as.i64;
  return s.kind == SM_KIND_SINT ? SMELT_OK : sm_smt_fail(p, start, "%s is an integer below 2^63", what);
}

static smelt_status extent(sm_smt_parser *p) {
  int64_t dim;
  SM_TRY(sm_smt_read_integer(p, "an extent", &dim));
  return sm_vec_push(p->allocator, &p->dims, dim) ? SMELT_OK : sm_smt_out_of_memory(p);
}

/* Ranks above this are a fault of the text; up to it the library judges. */
enum { MAX_WRITTEN_RANK = 256 };

smelt_status sm_smt_read_bracketed(sm_smt_parser *p, smelt_status (*item)(sm_smt_parser *p)) {
  SM_TRY(sm_smt_expect(p, '['));
  const char *start = p->at;
  p->dims.len = 0;
  p->ranges.len = 0;
  if (!sm_smt_peek(p, ']')) {
    do SM_TRY(item(p));
    while (sm_smt_accept(p, ','));
  }
  SM_TRY(sm_smt_expect(p, ']'));
  bool many = p->dims.len > MAX_WRITTEN_RANK || p->ranges.len > MAX_WRITTEN_RANK;
  return many ? sm_smt_fail(p, start, "more than %d axes", MAX_WRITTEN_RANK) : SMELT_OK;
}

smelt_status sm_smt_read_shape(sm_smt_parser *p, sm_smt_type *out) {
  SM_TRY(sm_smt_read_bracketed(p, extent));
  out->rank = (int)p->dims.len;
  out->dims = sm_arena_copy(&p->out->arena, p->dims.items, p->dims.len * sizeof(int64_t));
  return out->dims ? SMELT_OK : sm_smt_out_of_memory(p);
}

smelt_status sm_smt_read_type(sm_smt_parser *p, sm_smt_type *out) {
  SM_TRY(sm_smt_read_dtype(p, &out->dtype));
  return sm_smt_read_shape(p, out);
}

/* One element; it has to fit `to` unless that is NONE. */
static smelt_status element(sm_smt_parser *p, smelt_dtype to) {
  sm_smt_skip_blanks(p);
  const char *start = p->at;
  sm_scalar s;
  sm_word converted;
  smelt_error cause;
  SM_TRY(sm_smt_read_scalar(p, &s));
  if (to != SMELT_DTYPE_NONE) {
    if (sm_scalar_convert(s, to, &converted, &cause) != SMELT_OK)
      return sm_smt_fail(p, start, "%s", cause.text);
    bool overflow = sm_kind_of(to) == SM_KIND_FLOAT && isinf(sm_scalar_of(to, &converted).as.f64) &&
                    !(s.kind == SM_KIND_FLOAT && isinf(s.as.f64));
    if (overflow) return sm_smt_fail(p, start, "the number does not fit %s", smelt_dtype_name(to));
  }
  return sm_vec_push(p->allocator, &p->scalars, s) ? SMELT_OK : sm_smt_out_of_memory(p);
}

static smelt_status list(sm_smt_parser *p, smelt_dtype to) {
  SM_TRY(sm_smt_expect(p, '{'));
  if (!sm_smt_peek(p, '}')) {
    do SM_TRY(element(p, to));
    while (sm_smt_accept(p, ','));
  }
  return sm_smt_expect(p, '}');
}

smelt_status sm_smt_read_data(sm_smt_parser *p, smelt_dtype to, sm_smt_data *out) {
  p->scalars.len = 0;
  if (sm_smt_peek(p, '{')) {
    out->fill = SM_SMT_LIST;
    SM_TRY(list(p, to));
  } else if (sm_smt_accept_word(p, "fill")) {
    out->fill = SM_SMT_FILL;
    SM_TRY(element(p, to));
  } else if (sm_smt_accept_word(p, "iota")) {
    out->fill = SM_SMT_IOTA;
  } else {
    return sm_smt_expected(p, "'{', fill or iota");
  }
  out->n = p->scalars.len;
  out->items = sm_arena_copy(&p->out->arena, p->scalars.items, out->n * sizeof(sm_scalar));
  return out->items ? SMELT_OK : sm_smt_out_of_memory(p);
}
