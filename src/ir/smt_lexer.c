/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "ir/smt_parser.h"

/* --- Errors --------------------------------------------------------------------- */

smelt_status sm_smt_fail(sm_smt_parser *p, const char *at, const char *format, ...) {
  char what[300];
  va_list args;
  va_start(args, format);
  (void)vsnprintf(what, sizeof what, format, args);
  va_end(args);
  return sm_error_set(p->err, SMELT_ERR_FORMAT, "line %zu, column %td: %s", p->line, at - p->line_start + 1,
                      what);
}

smelt_status sm_smt_out_of_memory(sm_smt_parser *p) { return sm_error_memory(p->err, "statements"); }

smelt_status sm_smt_expected(sm_smt_parser *p, const char *what) {
  if (p->at == p->end || *p->at == '\n')
    return sm_smt_fail(p, p->at, "expected %s, found the end of the line", what);
  unsigned char c = (unsigned char)*p->at;
  if (c <= ' ' || c >= 127) return sm_smt_fail(p, p->at, "expected %s, found byte 0x%02x", what, c);
  return sm_smt_fail(p, p->at, "expected %s, found '%c'", what, c);
}

/* --- Characters and words --------------------------------------------------------- */

static bool is_digit(char c) { return c >= '0' && c <= '9'; }
static bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }

void sm_smt_skip_blanks(sm_smt_parser *p) {
  while (p->at < p->end && (*p->at == ' ' || *p->at == '\t' || *p->at == '\r')) p->at++;
}

bool sm_smt_peek(sm_smt_parser *p, char symbol) {
  sm_smt_skip_blanks(p);
  return p->at < p->end && *p->at == symbol;
}

bool sm_smt_accept(sm_smt_parser *p, char symbol) {
  if (!sm_smt_peek(p, symbol)) return false;
  p->at++;
  return true;
}

smelt_status sm_smt_expect(sm_smt_parser *p, char symbol) {
  const char what[] = {'\'', symbol, '\'', 0};
  return sm_smt_accept(p, symbol) ? SMELT_OK : sm_smt_expected(p, what);
}

sm_smt_span sm_smt_word(sm_smt_parser *p) {
  sm_smt_skip_blanks(p);
  sm_smt_span w = {p->at, 0};
  while (p->at < p->end && (is_letter(*p->at) || (p->at > w.s && is_digit(*p->at)))) p->at++;
  w.n = (size_t)(p->at - w.s);
  return w;
}

bool sm_smt_is(sm_smt_span w, const char *text) { return strlen(text) == w.n && memcmp(w.s, text, w.n) == 0; }

bool sm_smt_accept_word(sm_smt_parser *p, const char *text) {
  const char *before = p->at;
  if (sm_smt_is(sm_smt_word(p), text)) return true;
  p->at = before;
  return false;
}

sm_smt_short sm_smt_terminated(sm_smt_span w) {
  sm_smt_short t = {{0}};
  if (w.n < sizeof t.s) memcpy(t.s, w.s, w.n);
  return t;
}

smelt_status sm_smt_end_of_line(sm_smt_parser *p) {
  if (sm_smt_peek(p, '#')) {
    const char *newline = memchr(p->at, '\n', (size_t)(p->end - p->at));
    p->at = newline ? newline : p->end;
  }
  if (p->at == p->end) return SMELT_OK;
  if (*p->at != '\n') return sm_smt_expected(p, "the end of the line");
  p->line_start = ++p->at;
  p->line++;
  return SMELT_OK;
}

/* --- Scalars ------------------------------------------------------------------------ */

/* What follows the sign of a number or is a word: letters, digits, '.', and the
 * sign of an exponent. */
static sm_smt_span number_body(sm_smt_parser *p) {
  sm_smt_span t = {p->at, 0};
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

static size_t digits_at(sm_smt_span t, size_t i) {
  size_t from = i;
  while (i < t.n && is_digit(t.s[i])) i++;
  return i - from;
}

/* digits [ '.' digits? ] [ ('e' | 'E') sign? digits ] */
static bool is_number(sm_smt_span t, bool *integer) {
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
static bool integer_value(sm_smt_span t, bool negative, sm_scalar *out) {
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

static bool float_value(sm_smt_span t, bool negative, sm_scalar *out) {
  double v = sm_parse_f64(sm_smt_terminated(t).s, NULL);
  *out = (sm_scalar){.kind = SM_KIND_FLOAT, .as.f64 = negative ? -v : v};
  return !isinf(v);
}

static bool special_value(sm_smt_span t, bool negative, bool has_sign, sm_scalar *out) {
  if (sm_smt_is(t, "inf") || sm_smt_is(t, "nan")) {
    double v = sm_smt_is(t, "inf") ? (double)INFINITY : (double)NAN;
    *out = (sm_scalar){.kind = SM_KIND_FLOAT, .as.f64 = negative ? -v : v};
    return true;
  }
  *out = (sm_scalar){.kind = SM_KIND_BOOL, .as.b = sm_smt_is(t, "true")};
  return !has_sign && (sm_smt_is(t, "true") || sm_smt_is(t, "false"));
}

smelt_status sm_smt_read_scalar(sm_smt_parser *p, sm_scalar *out) {
  sm_smt_skip_blanks(p);
  const char *start = p->at;
  bool negative = sm_smt_accept(p, '-'), has_sign = negative || sm_smt_accept(p, '+'), integer = false;
  sm_smt_span t = number_body(p);
  if (t.n == 0) return sm_smt_expected(p, "a number, true or false");
  if (special_value(t, negative, has_sign, out)) return SMELT_OK;
  if (!is_number(t, &integer)) return sm_smt_fail(p, start, "'%.*s' is not a number", SHOWN(t));
  if (t.n >= sizeof(sm_smt_short))
    return sm_smt_fail(p, start, "the number has more than %zu characters", sizeof(sm_smt_short) - 1);
  if (integer && !integer_value(t, negative, out)) {
    return sm_smt_fail(p, start, "integer out of range (a float has a point or an exponent)");
  }
  if (!integer && !float_value(t, negative, out)) return sm_smt_fail(p, start, "the number does not fit f64");
  return SMELT_OK;
}

smelt_status sm_smt_read_unsigned_number(sm_smt_parser *p, uint64_t *out) {
  sm_smt_skip_blanks(p);
  const char *start = p->at;
  sm_scalar s = {.kind = SM_KIND_UINT};
  SM_TRY(sm_smt_read_scalar(p, &s));
  bool fits = s.kind == SM_KIND_UINT || (s.kind == SM_KIND_SINT && s.as.i64 >= 0);
  *out = s.as.u64;
  return fits ? SMELT_OK : sm_smt_fail(p, start, "expected an integer that is not negative");
}

/* --- Strings ------------------------------------------------------------------------- */

/* The characters up to the closing quote, with \" and \\ as they stand. */
static smelt_status scan_string(sm_smt_parser *p, sm_smt_span *raw) {
  SM_TRY(sm_smt_expect(p, '"'));
  raw->s = p->at;
  while (p->at < p->end && *p->at != '"') {
    if ((unsigned char)*p->at < ' ') return sm_smt_expected(p, "'\"'");
    if (*p->at == '\\') {
      p->at++;
      if (p->at == p->end || (*p->at != '"' && *p->at != '\\'))
        return sm_smt_expected(p, "'\"' or '\\' after '\\'");
    }
    p->at++;
  }
  raw->n = (size_t)(p->at - raw->s);
  return sm_smt_expect(p, '"');
}

smelt_status sm_smt_read_string(sm_smt_parser *p, const char **out) {
  sm_smt_span raw = {p->at, 0};
  SM_TRY(scan_string(p, &raw));
  char *copy = sm_arena_alloc(&p->out->arena, raw.n + 1), *to = copy;
  if (!copy) return sm_smt_out_of_memory(p);
  for (size_t i = 0; i < raw.n; i++) {
    if (raw.s[i] == '\\') i++;
    *to++ = raw.s[i];
  }
  *to = 0;
  *out = copy;
  return SMELT_OK;
}
