/* SPDX-License-Identifier: Apache-2.0 */
#include "base/json.h"

#include <inttypes.h>
#include <string.h>

static bool is_first(const sm_text *text) {
  return text->len == 0 || strchr("{[\n", text->data[text->len - 1]) != NULL;
}

static void add_quoted(sm_text *text, const char *value) {
  sm_text_add(text, "\"");
  for (; *value; value++) {
    unsigned char c = (unsigned char)*value;
    if (c < ' ') sm_text_addf(text, "\\u%04x", c);
    else sm_text_addf(text, c == '"' || c == '\\' ? "\\%c" : "%c", c);
  }
  sm_text_add(text, "\"");
}

void sm_json_name(sm_text *text, const char *name) {
  if (!is_first(text)) sm_text_add(text, ", ");
  if (!name) return;
  add_quoted(text, name);
  sm_text_add(text, ": ");
}

void sm_json_open(sm_text *text, const char *name, char bracket) {
  sm_json_name(text, name);
  sm_text_add_n(text, &bracket, 1);
}

void sm_json_close(sm_text *text, char bracket) { sm_text_add_n(text, &bracket, 1); }

void sm_json_string(sm_text *text, const char *name, const char *value) {
  sm_json_name(text, name);
  add_quoted(text, value);
}

void sm_json_integer(sm_text *text, const char *name, int64_t value) {
  sm_json_name(text, name);
  sm_text_addf(text, "%" PRId64, value);
}

void sm_json_number(sm_text *text, const char *name, double value) {
  char digits[64];
  (void)sm_format_f(digits, sizeof digits, 3, value);
  sm_json_name(text, name);
  sm_text_add(text, digits);
}

void sm_json_bool(sm_text *text, const char *name, bool value) {
  sm_json_name(text, name);
  sm_text_add(text, value ? "true" : "false");
}
