/* SPDX-License-Identifier: Apache-2.0 */
#include "core/array_text.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "core/scalar.h"

enum {
  LINE_WIDTH = 75,
  PRECISION = 8,    /* digits after the point */
  THRESHOLD = 1000, /* elements above which an array is summarised */
  EDGE = 3,         /* elements shown at either end of a summarised axis */
};

/* A finite value in decimal: 0.DIGITS times ten to the power of `point`, in
 * other words `point` digits stand before the decimal point. The first and the
 * last digit are not zero; the value 0 has no digits and point 1. */
typedef struct decimal {
  bool negative;
  int count;
  int point;
  char digits[24];
} decimal;

typedef struct printer {
  sm_text *text;
  smelt_dtype dtype;
  const sm_shape *shape;
  const char *data;
  int64_t shown[SMELT_MAX_RANK]; /* visible elements per axis */
  int64_t visible;               /* their product */
  int64_t next;                  /* the visible element to print next */
  size_t line;                   /* where the current line starts in `text` */
  sm_text scratch;               /* one number */
  bool scientific;
  int left;     /* a word's characters before the point, */
  int right;    /* after it, */
  int exponent; /* and in the exponent, without "e+" */
  int width;    /* all of them */
} printer;

/* --- Decimals --------------------------------------------------------------- */

/* Reads what printf writes for %e, %f and %g, whatever the decimal point. */
static decimal parse_decimal(const char *s) {
  decimal d = {.negative = *s == '-'};
  bool fraction = false;
  for (s += d.negative; *s && *s != 'e'; s++) {
    bool digit = *s >= '0' && *s <= '9';
    if (!digit) fraction = true;
    else if (d.count || *s != '0') d.digits[d.count++] = *s;
    if (digit && !fraction && d.count) d.point++;
    if (digit && fraction && !d.count) d.point--;
  }
  bool down = *s == 'e' && s[1] == '-';
  int exponent = 0;
  for (s += *s == 'e' ? 2 : 0; *s; s++) exponent = 10 * exponent + (*s - '0');
  d.point += down ? -exponent : exponent;
  while (d.count && d.digits[d.count - 1] == '0') d.count--;
  if (!d.count) d.point = 1;
  return d;
}

static decimal shortest(printer *p, double value) {
  sm_text_clear(&p->scratch);
  sm_scalar_print_digits(&p->scratch, p->dtype, value);
  if (p->scratch.failed) p->text->failed = true;
  return parse_decimal(p->scratch.data);
}

/* The value with `n` digits, correctly rounded. */
static decimal with_digits(double value, int n) {
  char buf[40];
  (void)sm_format_e(buf, sizeof buf, n - 1, value);
  return parse_decimal(buf);
}

/* The shortest digits, or the value rounded to PRECISION digits after the point
 * if there are more. */
static decimal rounded(printer *p, double value) {
  decimal d = shortest(p, value);
  int kept = PRECISION + (p->scientific ? 1 : d.point);
  return d.count <= kept ? d : with_digits(value, kept);
}

static void add_repeated(sm_text *text, char c, int n) {
  for (; n > 0; n--) sm_text_add_n(text, &c, 1);
}

static int larger(int a, int b) { return a > b ? a : b; }

static int integer_width(const decimal *d) { return (d->negative ? 1 : 0) + larger(d->point, 1); }

static int fraction_width(const decimal *d) { return larger(d->count - d->point, 0); }

/* "12.5", with the point behind `left` characters. */
static void add_positional(sm_text *text, const decimal *d, int left) {
  int before = larger(d->point, 0);
  int digits = before < d->count ? before : d->count;
  add_repeated(text, ' ', left - integer_width(d));
  if (d->negative) sm_text_add(text, "-");
  sm_text_add_n(text, d->digits, (size_t)digits);
  add_repeated(text, '0', larger(d->point, 1) - digits);
  sm_text_add(text, ".");
  add_repeated(text, '0', d->count ? -d->point : 0);
  sm_text_add_n(text, d->digits + digits, (size_t)(d->count - digits));
}

/* "1" of "1.25e+10", padded on the left. */
static void add_first_digit(sm_text *text, const decimal *d, int left) {
  add_repeated(text, ' ', left - 1 - d->negative);
  if (d->negative) sm_text_add(text, "-");
  sm_text_add_n(text, d->count ? d->digits : "0", 1);
}

/* ".25" of "1.25e+10", padded on the right. */
static void add_other_digits(sm_text *text, const decimal *d, int right) {
  int others = larger(d->count - 1, 0);
  sm_text_add(text, ".");
  sm_text_add_n(text, d->digits + 1, (size_t)others);
  add_repeated(text, '0', right - others);
}

static int power_of(const decimal *d) { return d->point - 1; }

static void add_exponent(sm_text *text, const decimal *d, int digits) {
  int power = power_of(d);
  sm_text_addf(text, "e%c%0*d", power < 0 ? '-' : '+', digits, power < 0 ? -power : power);
}

/* --- Visible elements --------------------------------------------------------- */

static void choose_visible(printer *p) {
  bool summarised = sm_shape_count(p->shape) > THRESHOLD;
  p->visible = 1;
  for (int i = 0; i < p->shape->rank; i++) {
    int64_t dim = p->shape->dims[i];
    p->shown[i] = summarised && dim > (int64_t)2 * EDGE ? (int64_t)2 * EDGE : dim;
    p->visible *= p->shown[i];
  }
}

static bool is_cut(const printer *p, int axis) { return p->shown[axis] < p->shape->dims[axis]; }

/* The k-th visible element in row-major order. */
static sm_scalar visible_at(const printer *p, int64_t k) {
  int64_t offset = 0, stride = (int64_t)smelt_dtype_size(p->dtype);
  for (int axis = p->shape->rank - 1; axis >= 0; axis--) {
    int64_t i = k % p->shown[axis];
    k /= p->shown[axis];
    if (is_cut(p, axis) && i >= EDGE) i += p->shape->dims[axis] - p->shown[axis];
    offset += i * stride;
    stride *= p->shape->dims[axis];
  }
  return sm_scalar_of(p->dtype, p->data + offset);
}

/* --- Widths -------------------------------------------------------------------- */

/* The nearest value of the dtype. */
static double nearest(smelt_dtype dtype, double value) {
  sm_word word;
  (void)sm_scalar_convert((sm_scalar){.kind = SM_KIND_FLOAT, .as.f64 = value}, dtype, &word, NULL);
  return sm_scalar_of(dtype, &word).as.f64;
}

/* From here on numbers are scientific; `lone` are those that stand by themselves. */
static double large_number(smelt_dtype dtype, bool lone) {
  if (dtype == SMELT_F64) return lone ? 1e16 : 1e8;
  return dtype == SMELT_F16 ? 1e3 : 1e6;
}

/* NumPy compares in the array's own type, so that the f32 next to 0.0001 counts
 * as 0.0001 and not as something below it. */
static bool spread_is_scientific(smelt_dtype dtype, double min, double max) {
  return max >= large_number(dtype, false) || min < nearest(dtype, 1e-4) || nearest(dtype, max / min) > 1000;
}

static void choose_notation(printer *p) {
  double min = INFINITY, max = 0;
  for (int64_t k = 0; k < p->visible; k++) {
    double magnitude = fabs(visible_at(p, k).as.f64);
    if (!isfinite(magnitude) || magnitude == 0) continue;
    if (magnitude < min) min = magnitude;
    if (magnitude > max) max = magnitude;
  }
  p->scientific = max > 0 && spread_is_scientific(p->dtype, min, max);
}

static void widen_for(printer *p, const decimal *d) {
  if (!p->scientific) {
    p->left = larger(p->left, integer_width(d));
    p->right = larger(p->right, fraction_width(d));
    return;
  }
  int power = power_of(d);
  p->left = larger(p->left, 1 + d->negative);
  p->right = larger(p->right, d->count - 1);
  p->exponent = larger(p->exponent, power <= -100 || power >= 100 ? 3 : 2);
}

static void measure_floats(printer *p) {
  choose_notation(p);
  int special = 0; /* the longest of nan, inf, -inf */
  for (int64_t k = 0; k < p->visible; k++) {
    double value = visible_at(p, k).as.f64;
    if (isfinite(value)) {
      decimal d = rounded(p, value);
      widen_for(p, &d);
    } else {
      special = larger(special, isinf(value) && value < 0 ? 4 : 3);
    }
  }
  p->width = p->left + 1 + p->right + (p->scientific ? 2 + p->exponent : 0);
  if (p->width < special) {
    p->left += special - p->width;
    p->width = special;
  }
}

static void measure_integers(printer *p) {
  for (int64_t k = 0; k < p->visible; k++) {
    sm_text_clear(&p->scratch);
    sm_scalar_print(&p->scratch, visible_at(p, k));
    if (p->scratch.failed) p->text->failed = true;
    p->width = larger(p->width, (int)p->scratch.len);
  }
}

static void measure(printer *p) {
  switch (sm_kind_of(p->dtype)) {
    case SM_KIND_FLOAT:
      measure_floats(p);
      break;
    case SM_KIND_BOOL:
      p->width = (int)strlen("False");
      break;
    default:
      measure_integers(p);
      break;
  }
}

/* --- Words ---------------------------------------------------------------------- */

static const char *special_text(double value) {
  if (isnan(value)) return "nan";
  return value < 0 ? "-inf" : "inf";
}

static void add_float(printer *p, double value) {
  if (!isfinite(value)) {
    sm_text_addf(p->text, "%*s", p->width, special_text(value));
    return;
  }
  decimal d = rounded(p, value);
  if (p->scientific) {
    /* Columns are filled with the value's further digits, not with zeros. */
    if (d.count <= p->right) d = with_digits(value, p->right + 1);
    add_first_digit(p->text, &d, p->left);
    add_other_digits(p->text, &d, p->right);
    add_exponent(p->text, &d, p->exponent);
  } else {
    add_positional(p->text, &d, p->left);
    add_repeated(p->text, ' ', p->right - fraction_width(&d));
  }
}

static void add_word(printer *p, sm_scalar s) {
  switch (s.kind) {
    case SM_KIND_FLOAT:
      add_float(p, s.as.f64);
      break;
    case SM_KIND_BOOL:
      sm_text_addf(p->text, "%*s", p->width, s.as.b ? "True" : "False");
      break;
    case SM_KIND_UINT:
      sm_text_addf(p->text, "%*" PRIu64, p->width, s.as.u64);
      break;
    case SM_KIND_SINT:
      sm_text_addf(p->text, "%*" PRId64, p->width, s.as.i64);
      break;
    case SM_KIND_NONE:
      break;
  }
}

/* A float on its own: all digits, at least one after the point. */
static void add_lone_float(printer *p, double value) {
  if (!isfinite(value)) {
    sm_text_add(p->text, special_text(value));
    return;
  }
  decimal d = shortest(p, value);
  double magnitude = fabs(value), limit = large_number(p->dtype, true);
  if (magnitude == 0 || (magnitude >= 1e-4 && magnitude < limit)) {
    add_positional(p->text, &d, 0);
    if (!fraction_width(&d)) sm_text_add(p->text, "0");
  } else {
    add_first_digit(p->text, &d, 0);
    if (d.count > 1) add_other_digits(p->text, &d, 0);
    add_exponent(p->text, &d, 2);
  }
}

/* --- Lines and brackets ----------------------------------------------------------- */

static void start_line(printer *p, int breaks, int indent) {
  add_repeated(p->text, '\n', breaks);
  p->line = p->text->len;
  add_repeated(p->text, ' ', indent);
}

static void trim_line(sm_text *text) {
  while (text->len && text->data[text->len - 1] == ' ') text->data[--text->len] = 0;
}

/* Starts a new line if `width` more characters do not fit and that helps. The
 * closing brackets of all axes have to fit as well. */
static void make_room(printer *p, int width) {
  int rank = p->shape->rank;
  size_t column = p->text->len - p->line;
  if (column <= (size_t)rank || column + (size_t)width <= (size_t)(LINE_WIDTH - rank)) return;
  trim_line(p->text);
  start_line(p, 1, rank);
}

static void add_row(printer *p, int axis) {
  for (int64_t i = 0; i < p->shown[axis]; i++) {
    if (i) sm_text_add(p->text, " ");
    if (i == EDGE && is_cut(p, axis)) {
      make_room(p, 3);
      sm_text_add(p->text, "... ");
    }
    make_room(p, p->width);
    add_word(p, visible_at(p, p->next++));
  }
}

static void add_axis(printer *p, int axis);

static void add_blocks(printer *p, int axis) {
  int breaks = p->shape->rank - axis - 1;
  for (int64_t i = 0; i < p->shown[axis]; i++) {
    if (i) start_line(p, breaks, axis + 1);
    if (i == EDGE && is_cut(p, axis)) {
      sm_text_add(p->text, "...");
      start_line(p, breaks, axis + 1);
    }
    add_axis(p, axis + 1);
  }
}

static void add_axis(printer *p, int axis) {
  sm_text_add(p->text, "[");
  if (axis == p->shape->rank - 1) add_row(p, axis);
  else add_blocks(p, axis);
  sm_text_add(p->text, "]");
}

static void print_visible(printer *p) {
  if (p->shape->rank > 0) {
    measure(p);
    add_axis(p, 0);
  } else if (sm_kind_of(p->dtype) == SM_KIND_FLOAT) {
    add_lone_float(p, visible_at(p, 0).as.f64);
  } else {
    add_word(p, visible_at(p, 0));
  }
}

void sm_array_print(sm_text *text, smelt_dtype dtype, const sm_shape *shape, const void *data) {
  if (sm_shape_count(shape) == 0) {
    sm_text_add(text, "[]");
    return;
  }
  printer p = {.text = text, .dtype = dtype, .shape = shape, .data = data, .line = text->len};
  sm_text_init(&p.scratch, text->allocator);
  choose_visible(&p);
  print_visible(&p);
  sm_text_free(&p.scratch);
}
