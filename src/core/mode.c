/* SPDX-License-Identifier: Apache-2.0 */
#include "core/mode.h"

#include <string.h>

#include "base/error.h"

smelt_status sm_mode_find(const char *name, smelt_mode *out, smelt_error *err) {
  static const struct {
    const char *name;
    smelt_mode mode;
  } modes[] = {
#define MODE(id, value, name_, meaning) {name_, SMELT_MODE_##id},
#include "smelt/mode.def"
#undef MODE
  };
  for (size_t i = 0; i < sizeof modes / sizeof modes[0]; i++) {
    if (strcmp(modes[i].name, name) != 0) continue;
    *out = modes[i].mode;
    return SMELT_OK;
  }
  return sm_error_set(err, SMELT_ERR_ARGUMENT, "there is no mode '%.40s', but strict, default and fast",
                      name);
}
