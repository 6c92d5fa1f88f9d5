/* SPDX-License-Identifier: Apache-2.0 */
#include "core/mode.h"

#include <string.h>

#include "base/error.h"

static const char *const names[] = {
#define MODE(id, value, name, meaning) [value] = name,
#include "smelt/mode.def"
#undef MODE
};

const char *sm_mode_name(smelt_mode mode) { return names[mode]; }

smelt_status sm_mode_find(const char *name, smelt_mode *out, smelt_error *err) {
  for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
    if (strcmp(names[i], name) != 0) continue;
    *out = (smelt_mode)i;
    return SMELT_OK;
  }
  return sm_error_set(err, SMELT_ERR_ARGUMENT, "there is no mode '%.40s', but strict, default and fast",
                      name);
}
