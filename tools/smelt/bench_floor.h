/* SPDX-License-Identifier: Apache-2.0
 *
 * Floors: how fast this machine can do what a case needs, at best.
 *
 * Vocabulary. A *floor* is a loop written by hand for what bounds a case: if that
 * is memory, one that reads and writes as many arrays; if it is arithmetic, one
 * that computes the same. The loops are compiled for each *level* of processors
 * (core/cpu_level.h). A *share* is the part of the arrays that a thread takes at a
 * time: whole rows where the loop works on rows.
 *
 * Invariants. Memory has been written before the first run, begins at a multiple
 * of 2 MiB and asks for huge pages. Results are written past the caches, or over an
 * operand, which has come through them; so a floor is meant for arrays that are larger
 * than those. Threads sleep between
 * runs, so that they disturb nobody. A floor may round up the number of elements, or
 * of those of a row, to whole blocks, which are then zeros. Results are kept in memory that others can see,
 * so that no compiler leaves the work out. */
#ifndef SMELT_TOOL_BENCH_FLOOR_H
#define SMELT_TOOL_BENCH_FLOOR_H

#include "core/cpu_level.h"
#include "smelt/base.h"

typedef enum bench_floor_kind {
#define BENCH_FLOOR(name, form, inputs) BENCH_FLOOR_##name,
#include "bench_floors.def"
#undef BENCH_FLOOR
  BENCH_FLOOR_COUNT
} bench_floor_kind;

/* What a floor writes, and what it is cut into: see bench_floors.def. */
typedef enum bench_floor_form {
  BENCH_FORM_FRESH,
  BENCH_FORM_OVER,
  BENCH_FORM_SUMS,
  BENCH_FORM_ROWS,
  BENCH_FORM_NUMBERS
} bench_floor_form;

enum { BENCH_MAX_INPUTS = 3 };

typedef struct bench_floor bench_floor;

const char *bench_floor_name(bench_floor_kind kind);
int bench_floor_inputs(bench_floor_kind kind);
bench_floor_form bench_floor_form_of(bench_floor_kind kind);

/* A floor over arrays of so many rows and columns with `threads` threads, the caller
 * included. ERR_MEMORY, also if there are no more threads. */
smelt_status bench_floor_open(bench_floor **out, bench_floor_kind kind, size_t rows, size_t columns,
                              int threads, sm_cpu_level level, smelt_error *err);
/* NULL is allowed. */
void bench_floor_close(bench_floor *floor);

/* Input number `which`, to be filled by the caller; a floor may write over it. */
float *bench_floor_input(bench_floor *floor, int which);
/* Elements from the begin of one row to that of the next. */
size_t bench_floor_pitch(const bench_floor *floor);
/* The result of the last run. Of sums, those that are no share's are 0. */
const float *bench_floor_result(const bench_floor *floor);

void bench_floor_run(bench_floor *floor);

/* The scalars that chain64 and mixed65 use in turn: of step k, and how many there are. */
enum { BENCH_SCALARS = 64 };
float bench_chain_scalar(int k);
float bench_mixed_scalar(int k);

#endif
