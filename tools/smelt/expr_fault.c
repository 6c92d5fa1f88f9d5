/* SPDX-License-Identifier: Apache-2.0 */
#include "expr_fault.h"

#include <stdarg.h>
#include <string.h>

/* How much of a long line is shown before and after the place, in bytes. */
enum { SHOWN_BEFORE = 48, SHOWN_AFTER = 32 };

smelt_status expr_fault_set(expr_fault *fault, const char *source, size_t at, smelt_status code,
                            const char *format, ...) {
  *fault = (expr_fault){.error = {.code = code}, .source = source, .at = at};
  va_list args;
  va_start(args, format);
  (void)vsnprintf(fault->error.text, sizeof fault->error.text, format, args);
  va_end(args);
  return code;
}

static bool is_continuation(char c) { return ((unsigned char)c & 0xC0) == 0x80; }

size_t expr_character_length(const char *s) {
  unsigned char first = (unsigned char)*s;
  size_t n = first < 0x80 ? 1 : first < 0xC2 ? 0 : first < 0xE0 ? 2 : first < 0xF0 ? 3 : first < 0xF5 ? 4 : 0;
  for (size_t i = 1; i < n; i++)
    if (!is_continuation(s[i])) return 0;
  return n;
}

static uint32_t decode(const char *s, size_t n) {
  uint32_t code = n == 1 ? (unsigned char)*s : (unsigned char)*s & (0x7Fu >> n);
  for (size_t i = 1; i < n; i++) code = code << 6 | ((unsigned char)s[i] & 0x3F);
  return code;
}

/* The columns a terminal gives to characters that do not have one. */
static const struct {
  uint32_t first, last;
  int columns;
} widths[] = {{0x300, 0x36F, 0},     {0x1100, 0x115F, 2},   {0x200B, 0x200F, 0},  {0x2E80, 0x303E, 2},
              {0x3041, 0xA4CF, 2},   {0xAC00, 0xD7A3, 2},   {0xF900, 0xFAFF, 2},  {0xFE00, 0xFE0F, 0},
              {0xFE30, 0xFE6F, 2},   {0xFF00, 0xFF60, 2},   {0xFFE0, 0xFFE6, 2},  {0x1F300, 0x1F64F, 2},
              {0x1F680, 0x1F6FF, 2}, {0x1F900, 0x1F9FF, 2}, {0x20000, 0x3FFFD, 2}};

static int columns_of(const char *s, size_t n) {
  uint32_t code = n ? decode(s, n) : '?';
  for (size_t i = 0; i < sizeof widths / sizeof widths[0]; i++)
    if (code >= widths[i].first && code <= widths[i].last) return widths[i].columns;
  return 1;
}

/* Prints the bytes [s, end). With `blank`, as many spaces as they take columns. */
static void print_columns(FILE *out, const char *s, const char *end, bool blank) {
  while (s < end) {
    size_t n = expr_character_length(s);
    bool printable = n > 1 || (n == 1 && (unsigned char)*s >= 0x20 && *s != 0x7F);
    if (blank) {
      (void)fprintf(out, "%*s", columns_of(s, n), "");
    } else if (printable) {
      (void)fwrite(s, 1, n, out);
    } else {
      (void)fputc(*s == '\t' ? ' ' : '?', out);
    }
    s += n ? n : 1;
  }
}

/* Moves a window's border off the middle of a character, toward `limit`. */
static const char *align_back(const char *s, const char *limit) {
  while (s > limit && is_continuation(*s)) s--;
  return s;
}

static const char *line_start(const char *source, const char *place) {
  while (place > source && place[-1] != '\n') place--;
  return place;
}

void expr_fault_print_place(FILE *out, const expr_fault *fault) {
  if (!fault->source) return;
  const char *place = fault->source + fault->at;
  const char *start = line_start(fault->source, place);
  const char *end = place + strcspn(place, "\n");
  const char *from = place - start > SHOWN_BEFORE ? align_back(place - SHOWN_BEFORE, start) : start;
  const char *to = end - place > SHOWN_AFTER ? align_back(place + SHOWN_AFTER, place) : end;
  const char *cut = from > start ? "..." : "";
  (void)fprintf(out, "  %s", cut);
  print_columns(out, from, to, false);
  (void)fprintf(out, "%s\n  %*s", to < end ? "..." : "", (int)strlen(cut), "");
  print_columns(out, from, place, true);
  (void)fputs("^\n", out);
}
