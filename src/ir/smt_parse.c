/* SPDX-License-Identifier: Apache-2.0
 *
 * One pass over the text, a statement at a time. Lists go through scratch
 * arrays and are copied to the file's arena when they are complete. */
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/hash.h"
#include "core/mode.h"
#include "ir/smt.h"

typedef struct parser {
  const sm_allocator *allocator;
  const char *at, *end, *line_start;
  size_t line;
  sm_smt *out;
  smelt_error *err;
  sm_vec(sm_scalar) scalars;       /* scratch: the list being read */
  sm_vec(sm_smt_operand) operands; /* scratch */
  sm_vec(int64_t) dims;            /* scratch */
  sm_vec(smelt_range) ranges;      /* scratch */
  uint32_t given;                  /* a bit for each letter of an attribute of this call */
  uint32_t *slots;                 /* names by hash: index + 1, 0 is free */
  size_t n_slots;                  /* a power of two, or 0 */
} parser;

/* A piece of the text. */
typedef struct span {
  const char *s;
  size_t n;
} span;

/* --- Errors --------------------------------------------------------------------- */

__attribute__((format(printf, 3, 4))) static smelt_status fail(parser *p, const char *at, const char *format,
                                                               ...) {
  char what[300];
  va_list args;
  va_start(args, format);
  (void)vsnprintf(what, sizeof what, format, args);
  va_end(args);
  return sm_error_set(p->err, SMELT_ERR_FORMAT, "line %zu, column %td: %s", p->line, at - p->line_start + 1,
                      what);
}

static smelt_status out_of_memory(parser *p) { return sm_error_memory(p->err, "statements"); }

/* "expected a name, found ')'" */
static smelt_status expected(parser *p, const char *what) {
  if (p->at == p->end || *p->at == '\n')
    return fail(p, p->at, "expected %s, found the end of the line", what);
  unsigned char c = (unsigned char)*p->at;
  if (c <= ' ' || c >= 127) return fail(p, p->at, "expected %s, found byte 0x%02x", what, c);
  return fail(p, p->at, "expected %s, found '%c'", what, c);
}

/* --- Characters and words --------------------------------------------------------- */

static bool is_digit(char c) { return c >= '0' && c <= '9'; }
static bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }

static void skip_blanks(parser *p) {
  while (p->at < p->end && (*p->at == ' ' || *p->at == '\t' || *p->at == '\r')) p->at++;
}

static bool peek(parser *p, char symbol) {
  skip_blanks(p);
  return p->at < p->end && *p->at == symbol;
}

static bool accept(parser *p, char symbol) {
  if (!peek(p, symbol)) return false;
  p->at++;
  return true;
}

static smelt_status expect(parser *p, char symbol) {
  const char what[] = {'\'', symbol, '\'', 0};
  return accept(p, symbol) ? SMELT_OK : expected(p, what);
}

/* A run of letters, digits and '_' that starts with a letter; empty if there is none. */
static span word(parser *p) {
  skip_blanks(p);
  span w = {p->at, 0};
  while (p->at < p->end && (is_letter(*p->at) || (p->at > w.s && is_digit(*p->at)))) p->at++;
  w.n = (size_t)(p->at - w.s);
  return w;
}

static bool is(span w, const char *text) { return strlen(text) == w.n && memcmp(w.s, text, w.n) == 0; }

/* The word if it is `text`; otherwise nothing is consumed. */
static bool accept_word(parser *p, const char *text) {
  const char *before = p->at;
  if (is(word(p), text)) return true;
  p->at = before;
  return false;
}

/* For messages: at most 40 characters of a word. */
#define SHOWN(w) (int)((w).n < 40 ? (w).n : 40), (w).s

/* NUL-terminated for the tables' look-up functions; "" if too long for any entry. */
typedef struct short_text {
  char s[48];
} short_text;

static short_text terminated(span w) {
  short_text t = {{0}};
  if (w.n < sizeof t.s) memcpy(t.s, w.s, w.n);
  return t;
}

static smelt_status end_of_line(parser *p) {
  if (peek(p, '#')) {
    const char *newline = memchr(p->at, '\n', (size_t)(p->end - p->at));
    p->at = newline ? newline : p->end;
  }
  if (p->at == p->end) return SMELT_OK;
  if (*p->at != '\n') return expected(p, "the end of the line");
  p->line_start = ++p->at;
  p->line++;
  return SMELT_OK;
}

/* --- Scalars ------------------------------------------------------------------------ */

/* What follows the sign of a number or is a word: letters, digits, '.', and the
 * sign of an exponent. */
static span number_body(parser *p) {
  span t = {p->at, 0};
  bool digits = p->at < p->end && is_digit(*p->at);
  while (p->at < p->end) {
    char c = *p->at;
    bool sign = digits && p->at > t.s && (c == '+' || c == '-') && (p->at[-1] == 'e' || p->at[-1] == 'E');
    if (!is_letter(c) && !is_digit(c) && c != '.' && !sign) break;
    p->at++;
  }
  t.n = (size_t)(p->at - t.s);
  return t;
}

static size_t digits_at(span t, size_t i) {
  size_t from = i;
  while (i < t.n && is_digit(t.s[i])) i++;
  return i - from;
}

/* digits [ '.' digits? ] [ ('e' | 'E') sign? digits ] */
static bool is_number(span t, bool *integer) {
  size_t i = digits_at(t, 0);
  if (i == 0) return false;
  *integer = i == t.n;
  if (i < t.n && t.s[i] == '.') {
    i++;
    i += digits_at(t, i);
  }
  if (i < t.n && (t.s[i] == 'e' || t.s[i] == 'E')) {
    i++;
    if (i < t.n && (t.s[i] == '+' || t.s[i] == '-')) i++;
    size_t exponent = digits_at(t, i);
    if (exponent == 0) return false;
    i += exponent;
  }
  return i == t.n;
}

/* "-0" is the float, as there is only one integer zero. */
static bool integer_value(span t, bool negative, sm_scalar *out) {
  uint64_t v = 0;
  for (size_t i = 0; i < t.n; i++) {
    if (__builtin_mul_overflow(v, 10, &v) || __builtin_add_overflow(v, (uint64_t)(t.s[i] - '0'), &v))
      return false;
  }
  if (negative && v == 0) {
    *out = (sm_scalar){.kind = SM_KIND_FLOAT, .as.f64 = -0.0};
  } else if (negative) {
    *out = (sm_scalar){.kind = SM_KIND_SINT, .as.i64 = (int64_t)(0 - v)};
    return v <= (uint64_t)1 << 63;
  } else {
    *out = (sm_scalar){.kind = v <= INT64_MAX ? SM_KIND_SINT : SM_KIND_UINT, .as.u64 = v};
  }
  return true;
}

static bool float_value(span t, bool negative, sm_scalar *out) {
  double v = sm_parse_f64(terminated(t).s, NULL);
  *out = (sm_scalar){.kind = SM_KIND_FLOAT, .as.f64 = negative ? -v : v};
  return !isinf(v);
}

static bool special_value(span t, bool negative, bool has_sign, sm_scalar *out) {
  if (is(t, "inf") || is(t, "nan")) {
    double v = is(t, "inf") ? (double)INFINITY : (double)NAN;
    *out = (sm_scalar){.kind = SM_KIND_FLOAT, .as.f64 = negative ? -v : v};
    return true;
  }
  *out = (sm_scalar){.kind = SM_KIND_BOOL, .as.b = is(t, "true")};
  return !has_sign && (is(t, "true") || is(t, "false"));
}

static smelt_status scalar(parser *p, sm_scalar *out) {
  skip_blanks(p);
  const char *start = p->at;
  bool negative = accept(p, '-'), has_sign = negative || accept(p, '+'), integer = false;
  span t = number_body(p);
  if (t.n == 0) return expected(p, "a number, true or false");
  if (special_value(t, negative, has_sign, out)) return SMELT_OK;
  if (!is_number(t, &integer)) return fail(p, start, "'%.*s' is not a number", SHOWN(t));
  if (t.n >= sizeof(short_text))
    return fail(p, start, "the number has more than %zu characters", sizeof(short_text) - 1);
  if (integer && !integer_value(t, negative, out)) {
    return fail(p, start, "integer out of range (a float has a point or an exponent)");
  }
  if (!integer && !float_value(t, negative, out)) return fail(p, start, "the number does not fit f64");
  return SMELT_OK;
}

static smelt_status unsigned_number(parser *p, uint64_t *out) {
  skip_blanks(p);
  const char *start = p->at;
  sm_scalar s = {.kind = SM_KIND_UINT};
  SM_TRY(scalar(p, &s));
  bool fits = s.kind == SM_KIND_UINT || (s.kind == SM_KIND_SINT && s.as.i64 >= 0);
  *out = s.as.u64;
  return fits ? SMELT_OK : fail(p, start, "expected an integer that is not negative");
}

/* --- Names ------------------------------------------------------------------------------ */

static const char *const reserved[] = {"true", "false", "inf", "nan", "launches", "blocks", "line"};

static bool is_reserved(span w) {
  for (size_t i = 0; i < sizeof reserved / sizeof reserved[0]; i++) {
    if (is(w, reserved[i])) return true;
  }
  return false;
}

/* The slot of a name or the free one where it belongs. There is always a free one. */
static size_t slot_of(const parser *p, span w) {
  sm_hash h = sm_hash_start();
  sm_hash_bytes(&h, w.s, w.n);
  size_t i = (size_t)h.lo & (p->n_slots - 1);
  while (p->slots[i] && !is(w, p->out->names.items[p->slots[i] - 1])) i = (i + 1) & (p->n_slots - 1);
  return i;
}

/* Keeps at least half of the slots free. */
static bool grow_slots(parser *p) {
  size_t names = p->out->names.len, old = p->n_slots;
  if (2 * (names + 1) <= old) return true;
  uint32_t *before = p->slots, *slots = sm_calloc(p->allocator, old ? 2 * old : 64, sizeof *slots);
  if (!slots) return false;
  p->slots = slots;
  p->n_slots = old ? 2 * old : 64;
  sm_free(p->allocator, before, old * sizeof *before);
  for (size_t i = 0; i < names; i++) {
    span w = {p->out->names.items[i], strlen(p->out->names.items[i])};
    slots[slot_of(p, w)] = (uint32_t)i + 1;
  }
  return true;
}

static const char *copy_text(parser *p, const char *s, size_t n) {
  char *copy = sm_arena_alloc(&p->out->arena, n + 1);
  if (!copy) return NULL;
  memcpy(copy, s, n);
  copy[n] = 0;
  return copy;
}

static smelt_status define(parser *p, span w, uint32_t *out) {
  if (is_reserved(w)) return fail(p, w.s, "'%.*s' cannot be a name", SHOWN(w));
  if (!grow_slots(p)) return out_of_memory(p);
  size_t slot = slot_of(p, w);
  if (p->slots[slot]) return fail(p, w.s, "%.*s is already defined", SHOWN(w));
  const char *name = copy_text(p, w.s, w.n);
  if (!name || !sm_vec_push(p->allocator, &p->out->names, name)) return out_of_memory(p);
  *out = (uint32_t)(p->out->names.len - 1);
  p->slots[slot] = *out + 1;
  return SMELT_OK;
}

static smelt_status look_up(parser *p, span w, uint32_t *out) {
  if (w.n == 0) return expected(p, "a name");
  size_t slot = p->n_slots ? slot_of(p, w) : 0;
  if (!p->n_slots || !p->slots[slot]) return fail(p, w.s, "%.*s is not defined", SHOWN(w));
  *out = p->slots[slot] - 1;
  return SMELT_OK;
}

/* --- Strings, types, data ------------------------------------------------------------- */

/* The characters up to the closing quote, with \" and \\ as they stand. */
static smelt_status scan_string(parser *p, span *raw) {
  SM_TRY(expect(p, '"'));
  raw->s = p->at;
  while (p->at < p->end && *p->at != '"') {
    if ((unsigned char)*p->at < ' ') return expected(p, "'\"'");
    if (*p->at == '\\') {
      p->at++;
      if (p->at == p->end || (*p->at != '"' && *p->at != '\\')) return expected(p, "'\"' or '\\' after '\\'");
    }
    p->at++;
  }
  raw->n = (size_t)(p->at - raw->s);
  return expect(p, '"');
}

static smelt_status string(parser *p, const char **out) {
  span raw = {p->at, 0};
  SM_TRY(scan_string(p, &raw));
  char *copy = sm_arena_alloc(&p->out->arena, raw.n + 1), *to = copy;
  if (!copy) return out_of_memory(p);
  for (size_t i = 0; i < raw.n; i++) {
    if (raw.s[i] == '\\') i++;
    *to++ = raw.s[i];
  }
  *to = 0;
  *out = copy;
  return SMELT_OK;
}

static smelt_status dtype(parser *p, smelt_dtype *out) {
  skip_blanks(p);
  span w = word(p);
  if (w.n == 0) return expected(p, "a dtype");
  *out = smelt_dtype_find(terminated(w).s);
  return *out == SMELT_DTYPE_NONE ? fail(p, w.s, "'%.*s' is not a dtype", SHOWN(w)) : SMELT_OK;
}

/* A negative zero is the float, so that it is none. */
static smelt_status integer(parser *p, const char *what, int64_t *out) {
  skip_blanks(p);
  const char *start = p->at;
  sm_scalar s;
  SM_TRY(scalar(p, &s));
  *out = s.as.i64;
  return s.kind == SM_KIND_SINT ? SMELT_OK : fail(p, start, "%s is an integer below 2^63", what);
}

static smelt_status extent(parser *p) {
  int64_t dim;
  SM_TRY(integer(p, "an extent", &dim));
  return sm_vec_push(p->allocator, &p->dims, dim) ? SMELT_OK : out_of_memory(p);
}

/* Ranks above this are a fault of the text; up to it the library judges. */
enum { MAX_WRITTEN_RANK = 256 };

/* "[" [ item { "," item } ] "]" */
static smelt_status bracketed(parser *p, smelt_status (*item)(parser *p)) {
  SM_TRY(expect(p, '['));
  const char *start = p->at;
  p->dims.len = 0;
  p->ranges.len = 0;
  if (!peek(p, ']')) {
    do SM_TRY(item(p));
    while (accept(p, ','));
  }
  SM_TRY(expect(p, ']'));
  bool many = p->dims.len > MAX_WRITTEN_RANK || p->ranges.len > MAX_WRITTEN_RANK;
  return many ? fail(p, start, "more than %d axes", MAX_WRITTEN_RANK) : SMELT_OK;
}

static smelt_status shape(parser *p, sm_smt_type *out) {
  SM_TRY(bracketed(p, extent));
  out->rank = (int)p->dims.len;
  out->dims = sm_arena_copy(&p->out->arena, p->dims.items, p->dims.len * sizeof(int64_t));
  return out->dims ? SMELT_OK : out_of_memory(p);
}

static smelt_status type(parser *p, sm_smt_type *out) {
  SM_TRY(dtype(p, &out->dtype));
  return shape(p, out);
}

/* One element; it has to fit `to` unless that is NONE. */
static smelt_status element(parser *p, smelt_dtype to) {
  skip_blanks(p);
  const char *start = p->at;
  sm_scalar s;
  sm_word converted;
  smelt_error cause;
  SM_TRY(scalar(p, &s));
  if (to != SMELT_DTYPE_NONE) {
    if (sm_scalar_convert(s, to, &converted, &cause) != SMELT_OK) return fail(p, start, "%s", cause.text);
    bool overflow = sm_kind_of(to) == SM_KIND_FLOAT && isinf(sm_scalar_of(to, &converted).as.f64) &&
                    !(s.kind == SM_KIND_FLOAT && isinf(s.as.f64));
    if (overflow) return fail(p, start, "the number does not fit %s", smelt_dtype_name(to));
  }
  return sm_vec_push(p->allocator, &p->scalars, s) ? SMELT_OK : out_of_memory(p);
}

static smelt_status list(parser *p, smelt_dtype to) {
  SM_TRY(expect(p, '{'));
  if (!peek(p, '}')) {
    do SM_TRY(element(p, to));
    while (accept(p, ','));
  }
  return expect(p, '}');
}

static smelt_status data(parser *p, smelt_dtype to, sm_smt_data *out) {
  p->scalars.len = 0;
  if (peek(p, '{')) {
    out->fill = SM_SMT_LIST;
    SM_TRY(list(p, to));
  } else if (accept_word(p, "fill")) {
    out->fill = SM_SMT_FILL;
    SM_TRY(element(p, to));
  } else if (accept_word(p, "iota")) {
    out->fill = SM_SMT_IOTA;
  } else {
    return expected(p, "'{', fill or iota");
  }
  out->n = p->scalars.len;
  out->items = sm_arena_copy(&p->out->arena, p->scalars.items, out->n * sizeof(sm_scalar));
  return out->items ? SMELT_OK : out_of_memory(p);
}

/* --- Statements ---------------------------------------------------------------------------- */

static smelt_status input(parser *p, sm_smt_stmt *s) {
  skip_blanks(p);
  const char *start = p->at;
  sm_shape checked;
  smelt_error cause;
  SM_TRY(type(p, &s->type));
  if (sm_shape_make(&checked, s->type.dtype, s->type.rank, s->type.dims, &cause) != SMELT_OK) {
    return fail(p, start, "%s", cause.text);
  }
  skip_blanks(p);
  start = p->at;
  SM_TRY(data(p, s->type.dtype, &s->data));
  int64_t count = sm_shape_count(&checked);
  if (s->data.fill == SM_SMT_LIST && s->data.n != (uint64_t)count) {
    return fail(p, start, "%zu elements for a shape of %lld", s->data.n, (long long)count);
  }
  return SMELT_OK;
}

static smelt_status operand(parser *p) {
  sm_smt_operand o = {.use = accept(p, '&') ? SM_SMT_KEEP : SM_SMT_TAKE};
  const char *start = p->at;
  span w = word(p);
  if (o.use == SM_SMT_KEEP || (w.n && !is_reserved(w))) {
    SM_TRY(look_up(p, w, &o.name));
  } else {
    p->at = start;
    o.use = SM_SMT_SCALAR;
    SM_TRY(scalar(p, &o.scalar));
  }
  return sm_vec_push(p->allocator, &p->operands, o) ? SMELT_OK : out_of_memory(p);
}

/* --- Attributes ---------------------------------------------------------------------------- */

static smelt_status axis(parser *p) {
  const char *start = p->at;
  int64_t number;
  SM_TRY(integer(p, "an axis", &number));
  if (number < INT32_MIN || number > INT32_MAX)
    return fail(p, start, "an axis is between -2^31 and 2^31 - 1");
  return sm_vec_push(p->allocator, &p->dims, number) ? SMELT_OK : out_of_memory(p);
}

static smelt_status keep_axes(parser *p, smelt_attrs *out) {
  int *axes = sm_arena_alloc(&p->out->arena, (p->dims.len + 1) * sizeof *axes);
  if (!axes) return out_of_memory(p);
  for (size_t i = 0; i < p->dims.len; i++) axes[i] = (int)p->dims.items[i];
  out->axes = axes;
  out->n_axes = p->dims.len;
  return SMELT_OK;
}

static smelt_status axis_value(parser *p, smelt_attrs *out) {
  p->dims.len = 0;
  SM_TRY(axis(p));
  return keep_axes(p, out);
}

static smelt_status axes_value(parser *p, smelt_attrs *out) {
  SM_TRY(bracketed(p, axis));
  return keep_axes(p, out);
}

/* A part of a range; ABSENT if there is none before the next colon or the end. */
static smelt_status place(parser *p, int64_t *out) {
  *out = SMELT_ABSENT;
  if (peek(p, ':') || peek(p, ',') || peek(p, ']')) return SMELT_OK;
  return integer(p, "a place", out);
}

static smelt_status range(parser *p) {
  smelt_range r = {.step = SMELT_ABSENT};
  SM_TRY(place(p, &r.start));
  SM_TRY(expect(p, ':'));
  SM_TRY(place(p, &r.stop));
  if (accept(p, ':')) SM_TRY(place(p, &r.step));
  return sm_vec_push(p->allocator, &p->ranges, r) ? SMELT_OK : out_of_memory(p);
}

static smelt_status ranges_value(parser *p, smelt_attrs *out) {
  SM_TRY(bracketed(p, range));
  out->n_ranges = p->ranges.len;
  out->ranges = sm_arena_copy(&p->out->arena, p->ranges.items, p->ranges.len * sizeof(smelt_range));
  return out->ranges ? SMELT_OK : out_of_memory(p);
}

static smelt_status shape_value(parser *p, smelt_attrs *out) {
  sm_smt_type type;
  SM_TRY(shape(p, &type));
  out->rank = type.rank;
  out->dims = type.dims;
  return SMELT_OK;
}

/* One axis or a list of them. */
static smelt_status reduced_axes_value(parser *p, smelt_attrs *out) {
  return peek(p, '[') ? axes_value(p, out) : axis_value(p, out);
}

static smelt_status truth_value(parser *p, bool *out) {
  *out = accept_word(p, "true");
  return *out || accept_word(p, "false") ? SMELT_OK : expected(p, "true or false");
}

static smelt_status number_value(parser *p, double *out) {
  skip_blanks(p);
  const char *start = p->at;
  sm_scalar s;
  sm_word word;
  SM_TRY(scalar(p, &s));
  bool fits = s.kind != SM_KIND_BOOL && sm_scalar_convert(s, SMELT_F64, &word, NULL) == SMELT_OK;
  if (!fits) return fail(p, start, "expected a number");
  *out = word.F64;
  return SMELT_OK;
}

static smelt_status groups_value(parser *p, int64_t *out) {
  uint64_t number;
  skip_blanks(p);
  const char *start = p->at;
  SM_TRY(unsigned_number(p, &number));
  if (number > INT64_MAX) return fail(p, start, "there are not that many groups");
  *out = (int64_t)number;
  return SMELT_OK;
}

/* The letter of the attribute that the row has under this keyword, or 0. */
static char letter_of(const sm_op_row *row, span keyword) {
  for (const char *a = row->attrs ? row->attrs : ""; *a; a++) {
    if (*a != 'i' && is(keyword, sm_attr_row_of(*a)->keyword)) return *a;
  }
  return 0;
}

static smelt_status attribute(parser *p, span name, sm_smt_stmt *s) {
  const sm_op_row *row = sm_op_row_of(s->code);
  char letter = letter_of(row, name);
  if (!letter) return fail(p, name.s, "%s has no attribute '%.*s'", row->name, SHOWN(name));
  uint32_t bit = (uint32_t)1 << (letter - 'a');
  if (p->given & bit) return fail(p, name.s, "'%.*s' is given twice", SHOWN(name));
  p->given |= bit;
  switch (letter) {
    case 't':
    case 'd':
      return dtype(p, &s->attrs.dtype);
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

/* An operand or name=value. Attributes come last. */
static smelt_status argument(parser *p, sm_smt_stmt *s) {
  skip_blanks(p);
  const char *start = p->at;
  span w = word(p);
  if (w.n && accept(p, '=')) return attribute(p, w, s);
  p->at = start;
  if (p->given) return expected(p, "an attribute");
  return operand(p);
}

static smelt_status keep_operands(parser *p, sm_smt_stmt *s) {
  s->n_operands = p->operands.len;
  s->operands = sm_arena_copy(&p->out->arena, p->operands.items, s->n_operands * sizeof *s->operands);
  return s->operands ? SMELT_OK : out_of_memory(p);
}

static smelt_status call(parser *p, span name, sm_smt_stmt *s) {
  s->code = sm_op_find(terminated(name).s);
  if (s->code == SM_OP_COUNT) return fail(p, name.s, "there is no operation '%.*s'", SHOWN(name));
  char number = sm_op_number_letter(sm_op_row_of(s->code));
  if (number) s->attrs.number = sm_attr_row_of(number)->usual;
  p->given = 0;
  p->operands.len = 0;
  SM_TRY(expect(p, '('));
  if (!peek(p, ')')) {
    do SM_TRY(argument(p, s));
    while (accept(p, ','));
  }
  SM_TRY(expect(p, ')'));
  return keep_operands(p, s);
}

/* What follows "name =". The name is not yet visible there. */
static smelt_status definition(parser *p, span name, sm_smt_stmt *s) {
  span w = word(p);
  if (w.n == 0) return expected(p, "input or an operation");
  s->kind = is(w, "input") ? SM_SMT_INPUT : SM_SMT_CALL;
  if (s->kind == SM_SMT_INPUT) SM_TRY(input(p, s));
  else SM_TRY(call(p, w, s));
  return define(p, name, &s->name);
}

/* What follows "name,". */
static smelt_status definition_of_two(parser *p, span name, sm_smt_stmt *s) {
  span second = word(p);
  if (second.n == 0) return expected(p, "a name");
  SM_TRY(expect(p, '='));
  const char *start = p->at;
  SM_TRY(definition(p, name, s));
  s->has_second = s->kind == SM_SMT_CALL && sm_op_has_second(sm_op_row_of(s->code));
  if (!s->has_second) return fail(p, start, "there is only one result");
  return define(p, second, &s->second);
}

static smelt_status name_list(parser *p, sm_smt_stmt *s) {
  p->operands.len = 0;
  do {
    sm_smt_operand o = {.use = s->kind == SM_SMT_DROP ? SM_SMT_TAKE : SM_SMT_KEEP};
    span w = word(p);
    SM_TRY(look_up(p, w, &o.name));
    if (!sm_vec_push(p->allocator, &p->operands, o)) return out_of_memory(p);
  } while (accept(p, ','));
  return keep_operands(p, s);
}

static smelt_status nothing(parser *p, sm_smt_stmt *s) {
  (void)p, (void)s;
  return SMELT_OK;
}

static smelt_status marker(parser *p, sm_smt_stmt *s) { return string(p, &s->string); }
static smelt_status number(parser *p, sm_smt_stmt *s) { return unsigned_number(p, &s->number); }

static bool options_are_over(const parser *p) {
  size_t n = p->out->stmts.len;
  return n > 0 && p->out->stmts.items[n - 1].kind != SM_SMT_OPTION;
}

static smelt_status mode(parser *p, sm_smt_stmt *s) {
  span w = word(p);
  smelt_mode found;
  smelt_error cause;
  s->option = SM_SMT_MODE;
  if (sm_mode_find(terminated(w).s, &found, &cause) != SMELT_OK) return fail(p, w.s, "%s", cause.text);
  s->number = (uint64_t)found;
  return SMELT_OK;
}

static smelt_status option(parser *p, sm_smt_stmt *s) {
  span w = word(p);
  if (options_are_over(p)) return fail(p, w.s, "options come before everything else");
  skip_blanks(p);
  if (is(w, "fusion")) {
    s->option = SM_SMT_FUSION;
    s->number = accept_word(p, "on");
    return s->number || accept_word(p, "off") ? SMELT_OK : expected(p, "on or off");
  }
  if (is(w, "mode")) return mode(p, s);
  if (!is(w, "max_ops")) return fail(p, w.s, "there is no option '%.*s' (fusion, mode, max_ops)", SHOWN(w));
  const char *start = p->at;
  s->option = SM_SMT_MAX_OPS;
  SM_TRY(unsigned_number(p, &s->number));
  return s->number && s->number <= INT32_MAX ? SMELT_OK : fail(p, start, "max_ops is between 1 and 2^31 - 1");
}

static smelt_status status_code(parser *p, smelt_status *out) {
  static const struct {
    const char *name;
    smelt_status value;
  } codes[] = {
#define STATUS(id, value, meaning) {#id, SMELT_##id},
#include "smelt/status.def"
#undef STATUS
  };
  skip_blanks(p);
  span w = word(p);
  for (size_t i = 1; i < sizeof codes / sizeof codes[0]; i++) {
    if (!is(w, codes[i].name)) continue;
    *out = codes[i].value;
    return SMELT_OK;
  }
  return w.n ? fail(p, w.s, "'%.*s' is not an error code", SHOWN(w)) : expected(p, "an error code");
}

static smelt_status expect_poisoned(parser *p, sm_smt_stmt *s) {
  s->kind = SM_SMT_EXPECT_POISONED;
  SM_TRY(status_code(p, &s->status));
  return peek(p, '"') ? string(p, &s->string) : SMELT_OK;
}

static smelt_status ulp(parser *p, sm_smt_stmt *s) {
  skip_blanks(p);
  const char *start = p->at;
  SM_TRY(unsigned_number(p, &s->number));
  if (s->number > INT32_MAX) return fail(p, start, "a bound is below 2^31");
  s->ulp = (int64_t)s->number;
  return SMELT_OK;
}

static bool at_data(parser *p) {
  const char *before = p->at;
  bool yes = peek(p, '{') || accept_word(p, "fill") || accept_word(p, "iota");
  p->at = before;
  return yes;
}

static bool at_end(parser *p) { return peek(p, '\n') || peek(p, '#') || p->at == p->end; }

/* [type] [data ["ulp" n]], not all left out. */
static smelt_status expect_value(parser *p, sm_smt_stmt *s) {
  s->kind = SM_SMT_EXPECT_VALUE;
  if (!at_data(p)) SM_TRY(type(p, &s->type));
  if (at_end(p)) return SMELT_OK;
  SM_TRY(data(p, s->type.dtype, &s->data));
  return accept_word(p, "ulp") ? ulp(p, s) : SMELT_OK;
}

static smelt_status expectation(parser *p, sm_smt_stmt *s) {
  bool blocks = accept_word(p, "blocks");
  if (blocks || accept_word(p, "launches")) {
    s->kind = blocks ? SM_SMT_EXPECT_BLOCKS : SM_SMT_EXPECT_LAUNCHES;
    return unsigned_number(p, &s->number);
  }
  if (accept_word(p, "line")) {
    s->kind = SM_SMT_EXPECT_LINE;
    return string(p, &s->string);
  }
  span w = word(p);
  SM_TRY(look_up(p, w, &s->name));
  return accept_word(p, "poisoned") ? expect_poisoned(p, s) : expect_value(p, s);
}

static const struct {
  const char *word;
  sm_smt_kind kind;
  smelt_status (*rest)(parser *p, sm_smt_stmt *s);
} keywords[] = {
    {"option", SM_SMT_OPTION, option}, {"seed", SM_SMT_SEED, number},
    {"drop", SM_SMT_DROP, name_list},  {"eval", SM_SMT_EVAL, name_list},
    {"read", SM_SMT_READ, name_list},  {"sync", SM_SMT_SYNC, nothing},
    {"marker", SM_SMT_MARKER, marker}, {"expect", SM_SMT_EXPECT_VALUE, expectation},
};

static smelt_status keyword_statement(parser *p, span w, sm_smt_stmt *s) {
  for (size_t i = 0; i < sizeof keywords / sizeof keywords[0]; i++) {
    if (!is(w, keywords[i].word)) continue;
    s->kind = keywords[i].kind;
    return keywords[i].rest(p, s);
  }
  return fail(p, w.s, "'%.*s' does not begin a statement", SHOWN(w));
}

static smelt_status statement(parser *p) {
  sm_smt_stmt s = {.line = p->line,
                   .type = {.rank = -1},
                   .attrs = {.size = sizeof s.attrs, .rank = -1},
                   .ulp = SM_SMT_EXACT};
  span w = word(p);
  if (w.n == 0) return expected(p, "a statement");
  if (accept(p, '=')) SM_TRY(definition(p, w, &s));
  else if (accept(p, ',')) SM_TRY(definition_of_two(p, w, &s));
  else SM_TRY(keyword_statement(p, w, &s));
  return sm_vec_push(p->allocator, &p->out->stmts, s) ? SMELT_OK : out_of_memory(p);
}

static smelt_status header(parser *p) {
  uint64_t version = 0;
  span w = word(p);
  if (!is(w, "smt")) return fail(p, w.s, "the first line has to be \"smt %d\"", SM_SMT_VERSION);
  skip_blanks(p);
  const char *start = p->at;
  SM_TRY(unsigned_number(p, &version));
  if (version != SM_SMT_VERSION)
    return fail(p, start, "this build reads version %d of the format", SM_SMT_VERSION);
  return end_of_line(p);
}

static smelt_status file(parser *p) {
  SM_TRY(header(p));
  while (p->at < p->end) {
    if (!at_end(p)) SM_TRY(statement(p));
    SM_TRY(end_of_line(p));
  }
  return SMELT_OK;
}

smelt_status sm_smt_parse(const sm_allocator *allocator, const char *text, size_t n, sm_smt *out,
                          smelt_error *err) {
  memset(out, 0, sizeof *out);
  sm_arena_init(&out->arena, allocator);
  parser p = {.allocator = allocator,
              .at = text,
              .end = text + n,
              .line_start = text,
              .line = 1,
              .out = out,
              .err = err};
  smelt_status status = file(&p);
  sm_vec_free(allocator, &p.scalars);
  sm_vec_free(allocator, &p.operands);
  sm_vec_free(allocator, &p.dims);
  sm_vec_free(allocator, &p.ranges);
  sm_free(allocator, p.slots, p.n_slots * sizeof *p.slots);
  if (status != SMELT_OK) sm_smt_free(out);
  return status;
}

void sm_smt_free(sm_smt *smt) {
  const sm_allocator *allocator = smt->arena.allocator;
  sm_vec_free(allocator, &smt->stmts);
  sm_vec_free(allocator, &smt->names);
  sm_arena_free(&smt->arena);
}
