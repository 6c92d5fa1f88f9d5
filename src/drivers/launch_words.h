/* SPDX-License-Identifier: Apache-2.0
 *
 * The words of a launch: what kernels of the C family are given besides buffers
 * (codegen/c_family.h). */
#ifndef SM_DRIVERS_LAUNCH_WORDS_H
#define SM_DRIVERS_LAUNCH_WORDS_H

#include <string.h>

#include "rt/device.h"

static inline size_t sm_launch_n_words(const sm_launch *l) { return 2 + l->n_sizes + l->n_scalars; }

/* items, grain, sizes, scalars. */
static inline void sm_launch_fill_words(const sm_launch *l, sm_word *to) {
  to[0].I64 = l->work_items;
  to[1].I64 = l->grain;
  if (l->n_sizes) memcpy(to + 2, l->sizes, l->n_sizes * sizeof *to);
  if (l->n_scalars) memcpy(to + 2 + l->n_sizes, l->scalars, l->n_scalars * sizeof *to);
}

#endif
