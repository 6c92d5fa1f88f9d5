/* SPDX-License-Identifier: Apache-2.0 */
#include "base/error.h"

#include <stdio.h>

smelt_status sm_error_set(smelt_error *err, smelt_status code, const char *format, ...) {
  if (!err) return code;
  va_list args;
  va_start(args, format);
  *err = (smelt_error){.code = code};
  (void)vsnprintf(err->text, sizeof err->text, format, args);
  va_end(args);
  return code;
}

smelt_status sm_error_memory(smelt_error *err, const char *what) {
  return sm_error_set(err, SMELT_ERR_MEMORY, "out of memory: %s", what);
}

const char *smelt_status_name(smelt_status status) {
  switch (status) {
#define STATUS(id, value, meaning) \
  case SMELT_##id:                 \
    return "SMELT_" #id;
#include "smelt/status.def"
#undef STATUS
  }
  return "unknown status";
}

const char *smelt_status_text(smelt_status status) {
  switch (status) {
#define STATUS(id, value, meaning) \
  case SMELT_##id:                 \
    return meaning;
#include "smelt/status.def"
#undef STATUS
  }
  return "unknown status";
}

const char *smelt_version(void) { return SMELT_VERSION; }
