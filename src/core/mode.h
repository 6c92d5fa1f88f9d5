/* SPDX-License-Identifier: Apache-2.0
 *
 * Modes by name, from the table smelt/mode.def. */
#ifndef SM_CORE_MODE_H
#define SM_CORE_MODE_H

#include "smelt/base.h"

static inline bool sm_mode_valid(smelt_mode mode) {
  switch (mode) {
#define MODE(id, value, name, meaning) case SMELT_MODE_##id:
#include "smelt/mode.def"
#undef MODE
    return true;
  }
  return false;
}

/* "strict" */
const char *sm_mode_name(smelt_mode mode);
/* ERR_ARGUMENT if there is no mode of that name. */
smelt_status sm_mode_find(const char *name, smelt_mode *out, smelt_error *err);

#endif
