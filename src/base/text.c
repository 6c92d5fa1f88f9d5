/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "base/text.h"

#include <locale.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char empty_text[1];

void sm_text_init(sm_text *text, const sm_allocator *allocator) {
  *text = (sm_text){.allocator = allocator, .data = empty_text};
}

void sm_text_free(sm_text *text) {
  if (text->cap) sm_free(text->allocator, text->data, text->cap);
  sm_text_init(text, text->allocator);
}

void sm_text_clear(sm_text *text) {
  text->len = 0;
  text->failed = false;
  if (text->cap) text->data[0] = 0;
}

/* Makes room for `n` more bytes and the NUL. */
static bool reserve(sm_text *text, size_t n) {
  if (text->failed) return false;
  size_t need = text->len + n + 1;
  if (need <= text->cap) return true;
  size_t cap = text->cap ? text->cap : 64;
  while (cap < need) cap *= 2;
  char *data = sm_realloc(text->allocator, text->cap ? text->data : NULL, text->cap, cap);
  if (!data) {
    text->failed = true;
    return false;
  }
  text->data = data;
  text->cap = cap;
  return true;
}

void sm_text_add_n(sm_text *text, const char *s, size_t n) {
  if (!reserve(text, n)) return;
  memcpy(text->data + text->len, s, n);
  text->len += n;
  text->data[text->len] = 0;
}

void sm_text_add(sm_text *text, const char *s) { sm_text_add_n(text, s, strlen(s)); }

void sm_text_copy(const sm_text *text, char *buf, size_t size, size_t *needed) {
  size_t n = text->len < size ? text->len : size ? size - 1 : 0;
  if (size) {
    memcpy(buf, text->data, n);
    buf[n] = 0;
  }
  if (needed) *needed = text->len;
}

void sm_text_addf(sm_text *text, const char *format, ...) {
  va_list args, again;
  va_start(args, format);
  va_copy(again, args);
  int n = vsnprintf(NULL, 0, format, args);
  va_end(args);
  if (n >= 0 && reserve(text, (size_t)n)) {
    (void)vsnprintf(text->data + text->len, (size_t)n + 1, format, again);
    text->len += (size_t)n;
  }
  va_end(again);
}

/* The C locale for the calling thread while a number is converted. Without
 * memory for the locale object the host's stays, and with it its decimal point. */
typedef struct c_locale {
  locale_t c;
  locale_t saved;
} c_locale;

static c_locale enter_c_locale(void) {
  c_locale l = {newlocale(LC_ALL_MASK, "C", (locale_t)0), (locale_t)0};
  if (l.c) l.saved = uselocale(l.c);
  return l;
}

static void leave_c_locale(c_locale l) {
  if (!l.c) return;
  uselocale(l.saved);
  freelocale(l.c);
}

int sm_format_e(char *buf, size_t size, int precision, double value) {
  c_locale l = enter_c_locale();
  int n = snprintf(buf, size, "%.*e", precision, value);
  leave_c_locale(l);
  return n;
}

int sm_format_f(char *buf, size_t size, int precision, double value) {
  c_locale l = enter_c_locale();
  int n = snprintf(buf, size, "%.*f", precision, value);
  leave_c_locale(l);
  return n;
}

double sm_parse_f64(const char *s, char **end) {
  c_locale l = enter_c_locale();
  double value = strtod(s, end);
  leave_c_locale(l);
  return value;
}

static bool reads_back_f64(const char *s, double value) { return strtod(s, NULL) == value; }
static bool reads_back_f32(const char *s, double value) { return strtof(s, NULL) == (float)value; }

/* Adds one unit to the last digit of the number in `buf`. Below a power of two
 * the neighbouring values are closer than above it, so that the nearest decimal
 * may not read back although the next one away from zero does. False if a carry
 * would be needed: a shorter text would then have read back. */
static bool add_unit(char *buf) {
  size_t end = strcspn(buf, "e");
  char *last = buf + end - 1;
  if (*last < '0' || *last >= '9') return false;
  ++*last;
  return true;
}

/* Adds the shortest of %.1g, %.2g, … that reads back equal. */
static void add_shortest(sm_text *text, double value, int max_digits, sm_reads_back_fn *reads_back) {
  char buf[40];
  c_locale l = enter_c_locale();
  for (int digits = 1; digits <= max_digits; digits++) {
    (void)snprintf(buf, sizeof buf, "%.*g", digits, value);
    if (reads_back(buf, value)) break;
    (void)snprintf(buf, sizeof buf, "%#.*g", digits, value); /* with zeros at its end */
    if (add_unit(buf) && reads_back(buf, value)) break;
  }
  leave_c_locale(l);
  sm_text_add(text, buf);
}

static bool add_special(sm_text *text, double value) {
  if (isnan(value)) {
    sm_text_add(text, "nan");
  } else if (isinf(value)) {
    sm_text_add(text, value < 0 ? "-inf" : "inf");
  } else {
    return false;
  }
  return true;
}

void sm_text_shortest(sm_text *text, double value, int max_digits, sm_reads_back_fn *reads_back) {
  if (!add_special(text, value)) add_shortest(text, value, max_digits, reads_back);
}

void sm_text_f64(sm_text *text, double value) { sm_text_shortest(text, value, 17, reads_back_f64); }

void sm_text_f32(sm_text *text, float value) { sm_text_shortest(text, (double)value, 9, reads_back_f32); }
