/* SPDX-License-Identifier: Apache-2.0
 *
 * What launches on devices that run groups of threads have in common: how many there
 * are, and the words that kernels of the C family are given besides buffers
 * (codegen/c_family.h). */
#ifndef SM_DRIVERS_GROUP_LAUNCH_H
#define SM_DRIVERS_GROUP_LAUNCH_H

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

/* A chunk a thread, or a group if the kernel has `threads`. */
static inline sm_launch_size sm_launch_size_for(const sm_launch *l, const sm_kir_kernel *ir,
                                                const sm_profile *profile) {
  int64_t chunks = (l->work_items + l->grain - 1) / l->grain;
  return ir->threads ? (sm_launch_size){chunks, ir->threads} : sm_launch_size_of(profile, chunks);
}

#endif
