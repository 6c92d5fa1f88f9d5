/* SPDX-License-Identifier: Apache-2.0 */
#include "base/log.h"

#include <stdio.h>
#include <string.h>

#include "base/error.h"

static const char *const category_names[] = {
#define LOG(id, name, doc) name,
#include "base/log.def"
#undef LOG
};

static bool add_category(const char *name, size_t n, uint32_t *enabled) {
  if (n == 3 && memcmp(name, "all", 3) == 0) {
    *enabled = ((uint32_t)1 << SM_LOG_CATEGORY_COUNT) - 1;
    return true;
  }
  for (uint32_t i = 0; i < SM_LOG_CATEGORY_COUNT; i++) {
    if (strlen(category_names[i]) == n && memcmp(category_names[i], name, n) == 0) {
      *enabled |= (uint32_t)1 << i;
      return true;
    }
  }
  return n == 0;
}

smelt_status sm_log_parse(const char *categories, uint32_t *enabled, smelt_error *err) {
  for (const char *p = categories; *p;) {
    size_t n = strcspn(p, ",");
    if (!add_category(p, n, enabled)) {
      return sm_error_set(err, SMELT_ERR_ARGUMENT, "unknown log category \"%.*s\"", n > 40 ? 40 : (int)n, p);
    }
    p += n + (p[n] == ',');
  }
  return SMELT_OK;
}

void sm_log_line(const sm_log *log, const char *line) {
  if (log->fn) {
    log->fn(log->user, line);
  } else {
    (void)fprintf(stderr, "%s\n", line);
  }
}

void sm_log_text(const sm_log *log, sm_text *text) {
  if (text->len && text->data[text->len - 1] == '\n') text->data[--text->len] = 0;
  if (!text->failed) sm_log_line(log, text->data);
  sm_text_free(text);
}
