/* SPDX-License-Identifier: Apache-2.0
 *
 * Text: a growing string, and numbers read and written without the host's
 * locale.
 *
 * A failed growth is remembered in `failed` and later additions do nothing, so
 * that printers need one check at their end. `data` is always NUL-terminated
 * and never NULL. */
#ifndef SM_BASE_TEXT_H
#define SM_BASE_TEXT_H

#include "base/alloc.h"

typedef struct sm_text {
  const sm_allocator *allocator;
  char *data;
  size_t len;
  size_t cap; /* bytes owned; 0 while `data` is the empty literal */
  bool failed;
} sm_text;

void sm_text_init(sm_text *text, const sm_allocator *allocator);
void sm_text_free(sm_text *text);
void sm_text_clear(sm_text *text);
void sm_text_add(sm_text *text, const char *s);
void sm_text_add_n(sm_text *text, const char *s, size_t n);
/* Copies it to `buf`, NUL-terminated and cut at `size`; `needed` (optional) gets its full
 * length. */
void sm_text_copy(const sm_text *text, char *buf, size_t size, size_t *needed);
/* printf; for floating-point numbers use sm_text_f64/f32, which ignore the locale. */
__attribute__((format(printf, 2, 3))) void sm_text_addf(sm_text *text, const char *format, ...);
/* The shortest decimal text that reads back as the same value: "0.1", "1e+30",
 * "inf", "nan", "-0"; an integral value has no point ("3"). */
void sm_text_f64(sm_text *text, double value);
void sm_text_f32(sm_text *text, float value);
/* The same for other types of floats: the shortest text that `reads_back` accepts
 * for `value`, of at most `max_digits` digits. It is called in the C locale. */
typedef bool sm_reads_back_fn(const char *text, double value);
void sm_text_shortest(sm_text *text, double value, int max_digits, sm_reads_back_fn *reads_back);

/* snprintf("%.*e" / "%.*f") in the C locale. */
int sm_format_e(char *buf, size_t size, int precision, double value);
int sm_format_f(char *buf, size_t size, int precision, double value);
/* strtod in the C locale. */
double sm_parse_f64(const char *s, char **end);

#endif
