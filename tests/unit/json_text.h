/* SPDX-License-Identifier: Apache-2.0
 *
 * Whether text is JSON (RFC 8259), of one value; and how often it says something. */
#ifndef TESTS_JSON_TEXT_H
#define TESTS_JSON_TEXT_H

#include <ctype.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

static inline const char *json_blanks(const char *c) { return c + strspn(c, " \t\r\n"); }

/* Each answers what follows, or NULL. */
static const char *json_value(const char *c, int depth);

static inline const char *json_string(const char *c) {
  if (*c++ != '"') return NULL;
  for (; *c != '"'; c++) {
    if ((unsigned char)*c < ' ') return NULL;
    if (*c != '\\') continue;
    c++;
    if (*c == 'u') {
      for (int i = 0; i < 4; i++)
        if (!isxdigit((unsigned char)*++c)) return NULL;
    } else if (!*c || !strchr("\"\\/bfnrt", *c)) {
      return NULL;
    }
  }
  return c + 1;
}

static inline const char *json_digits(const char *c) {
  size_t n = strspn(c, "0123456789");
  return n ? c + n : NULL;
}

static inline const char *json_number(const char *c) {
  c += *c == '-';
  c = *c == '0' ? c + 1 : json_digits(c);
  if (c && *c == '.') c = json_digits(c + 1);
  if (!c || (*c != 'e' && *c != 'E')) return c;
  c++;
  return json_digits(c + (*c == '+' || *c == '-'));
}

static inline const char *json_member(const char *c, int depth) {
  c = json_string(c);
  if (!c) return NULL;
  c = json_blanks(c);
  return *c == ':' ? json_value(c + 1, depth) : NULL;
}

static inline const char *json_list(const char *c, char end, int depth) {
  c = json_blanks(c + 1);
  if (*c == end) return c + 1;
  for (;;) {
    c = end == '}' ? json_member(c, depth) : json_value(c, depth);
    if (!c) return NULL;
    c = json_blanks(c);
    if (*c == end) return c + 1;
    if (*c != ',') return NULL;
    c = json_blanks(c + 1);
  }
}

static inline const char *json_value(const char *c, int depth) {
  static const char *const words[] = {"true", "false", "null"};
  c = json_blanks(c);
  if (depth == 0) return NULL;
  if (*c == '{') return json_list(c, '}', depth - 1);
  if (*c == '[') return json_list(c, ']', depth - 1);
  if (*c == '"') return json_string(c);
  for (size_t i = 0; i < 3; i++)
    if (strncmp(c, words[i], strlen(words[i])) == 0) return c + strlen(words[i]);
  return json_number(c);
}

static inline bool json_is_valid(const char *text) {
  const char *end = json_value(text, 100);
  return end && *json_blanks(end) == 0;
}

static inline int count_of(const char *text, const char *part) {
  int n = 0;
  for (const char *c = text; (c = strstr(c, part)); c += strlen(part)) n++;
  return n;
}

#endif
