/* SPDX-License-Identifier: Apache-2.0
 *
 * What the loops of the floors get, and where they are found: between
 * bench_floor.c, which shares out the work, and bench_floor_levels.c. */
#ifndef SMELT_TOOL_BENCH_FLOOR_WORK_H
#define SMELT_TOOL_BENCH_FLOOR_WORK_H

#include "bench_floor.h"

enum { BENCH_BLOCK = 256 };

typedef struct bench_floor_work {
  const float *in[BENCH_MAX_INPUTS];
  float *out;
  size_t columns; /* of a row, whole blocks; other loops know no rows */
  float scalars[BENCH_SCALARS];
} bench_floor_work;

typedef void bench_floor_loop(const bench_floor_work *work, size_t begin, size_t end);

/* The loop for a level; that of a lower one where this build has none. */
bench_floor_loop *bench_floor_find(bench_floor_kind kind, sm_cpu_level level);

#endif
