/* SPDX-License-Identifier: Apache-2.0
 *
 * The stack of held operands behind the macros of compilers without statement
 * expressions (macros.h). It is balanced by construction, each operation
 * releases what it held; `held` also counts what did not fit, so that the
 * operations around a deep one keep their operands. */
#include "smelt/macros.h"

static _Thread_local smelt_tensor *operands[SMELT__MAX_HELD];
static _Thread_local size_t held;

void smelt__hold(smelt_tensor *t) {
  if (held < SMELT__MAX_HELD) operands[held] = t;
  else smelt_drop(t);
  held++;
}

smelt_tensor *smelt__release(void) {
  if (held == 0) return NULL;
  held--;
  return held < SMELT__MAX_HELD ? operands[held] : NULL;
}
