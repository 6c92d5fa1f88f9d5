/* SPDX-License-Identifier: Apache-2.0
 *
 * Random programs that must give the same results everywhere.
 *
 * A *program* is plain data: a list of *steps* that define tensors (inputs and
 * calls), give references up, read and evaluate. The tensor that step i defines
 * is *name* i, printed as t<i>; as in .smt files a name stands for one reference,
 * which an operand takes or keeps. Nothing in a program says what is right: it
 * is run in several *ways* (device, mode, fusion, limits), and each must observe
 * what its *judge* does, bit for bit, with NaN equal to NaN whatever its sign and
 * payload. The judge is the device `ref`, except where a mode rounds elsewhere
 * (docs/modes.md): there it is the interpreter, with the same mode and fusion.
 *
 * Plans and kernels are found again by what programs have in common, so most
 * programs go on with *repeats*: the same steps with other extents, those at which
 * kernels change among them. And a *lasting* way runs all programs of a process in
 * one context; the others, among them all judges, open a new one for each.
 *
 * Wrong programs are programs too: ill-typed calls and stale references give
 * poisoned tensors, whose status must be the same everywhere.
 *
 * The parts: diff_generate.c makes programs from seeds with diff_elements.c,
 * diff_guide.c, diff_rows.c and diff_repeat.c; diff_run.c runs them and
 * diff_compare.c compares; diff_shrink.c makes a failing program small,
 * diff_print.c writes it as a .smt file. random_programs.c is the test. */
#ifndef TESTS_DIFF_DIFF_PROGRAM_H
#define TESTS_DIFF_DIFF_PROGRAM_H

#include <stdio.h>

#include "core/scalar.h"
#include "smelt/smelt.h"

enum { MAX_STEPS = 1000, MAX_OPERANDS = 4, MAX_RANK = 8, MAX_ELEMENTS = 5000 };

typedef enum step_kind {
  STEP_NONE,      /* removed by the shrinker */
  STEP_INPUT,     /* defines: dtype, shape, data */
  STEP_CALL,      /* defines: op, operands, attributes */
  STEP_SECOND,    /* defines: the second result of the call right before it */
  STEP_DROP,      /* operands[0] */
  STEP_READ,      /* operands[0] is read and kept */
  STEP_INTO_HOST, /* operands[0] is read and taken */
  STEP_EVAL,      /* all operands */
  STEP_SYNC,
  STEP_SEED /* seed */
} step_kind;

typedef enum use { USE_TAKE, USE_KEEP, USE_SCALAR } use;

typedef struct operand {
  use use;
  int name;
  sm_scalar scalar;
} operand;

/* Elements follow from the seed, so that a shape can change. WILD has NaN, infinities
 * and whatever is extreme; TAME no such floats, which are all that is left of a sum;
 * PLAIN is 1, 2, 3, ... */
typedef enum fill { FILL_WILD, FILL_TAME, FILL_PLAIN } fill;

typedef struct step {
  step_kind kind;
  const char *op;
  int n;
  operand operands[MAX_OPERANDS];
  smelt_dtype dtype; /* of an input, or attribute; so the shape */
  int rank;
  int64_t dims[MAX_RANK];
  bool names_axes; /* otherwise they are left out */
  int n_axes;
  int axes[MAX_RANK];
  int n_ranges;
  smelt_range ranges[MAX_RANK];
  bool keepdims;
  double number;
  uint64_t seed;
  fill fill;
} step;

typedef struct program {
  uint64_t seed;       /* that it was made from */
  int64_t max_ops;     /* operations a kernel, in ways with tight kernels */
  int64_t max_segment; /* operations a segment, in ways with tight segments */
  bool moves;          /* has views, selections and reductions */
  int n;
  step steps[MAX_STEPS];
} program;

/* --- Making ------------------------------------------------------------------------ */

/* SplitMix64. */
uint64_t draw(uint64_t *state);
/* A number below n. */
int draw_below(uint64_t *state, int n);
/* True once in n times. */
bool draw_once_in(uint64_t *state, int n);

void generate(program *p, uint64_t seed);
/* Any float of that dtype. */
double draw_float(uint64_t *state, smelt_dtype dtype);
static inline bool is_float(smelt_dtype dtype) { return sm_kind_of(dtype) == SM_KIND_FLOAT; }

/* Whether the second result of the call that is step `i` is wanted. */
static inline bool has_second(const program *p, int i) {
  return i + 1 < p->n && p->steps[i + 1].kind == STEP_SECOND;
}

size_t input_count(const step *s);
/* The elements of the input step; the caller frees them. */
void *input_elements(const step *s);
/* The attributes of a call; they point into the step. */
smelt_attrs step_attrs(const step *s);

/* --- Running ------------------------------------------------------------------------ */

typedef struct way {
  const char *name;
  const char *device; /* NULL: the default one, which SMELT_DEVICE names */
  smelt_switch fusion;
  bool interpreted; /* kernels are not compiled on the CPU */
  bool tight_kernels, tight_segments;
  bool lasting; /* one context for all programs */
  smelt_mode mode;
  int peer; /* the way that judges where the mode rounds elsewhere than ref */
} way;

/* The first is ref, the judge of most. */
extern const way ways[];
enum { N_WAYS = 11 };

/* What a step let its caller see. */
typedef struct observation {
  smelt_status status;
  smelt_dtype dtype;
  int rank;
  int64_t dims[SMELT_MAX_RANK];
  size_t bytes;
  unsigned char *data; /* of a read */
} observation;

typedef struct observations {
  observation steps[MAX_STEPS];
  uint64_t operations, misuses;
  bool clean;          /* no leak, no bytes in use in the end */
  char complaint[600]; /* otherwise: why */
} observations;

smelt_context *open_way(const program *p, const way *w);
/* The result is the caller's to free. */
observations *run_program(const program *p, const way *w);
void free_observations(observations *o);
/* Destroys the contexts of lasting ways; whether all was well with them. */
bool close_lasting_ways(void);

/* Runs the program in every way and compares with its judge; differences are
 * described on `out` (optional). */
bool agrees(const program *p, FILE *out);

/* What became of a program in a process of its own. */
typedef enum verdict { AGREES, DIFFERS, CRASHES } verdict;
verdict judge_apart(const program *p, FILE *out);

/* --- After a failure ------------------------------------------------------------------ */

/* Makes the program smaller as long as the verdict stays other than AGREES. */
void shrink(program *p);
/* Writes the program as a .smt file, with the judge's values as expectations if
 * `judged` is not NULL. */
void print_program(FILE *out, const program *p, const observations *judged);

#endif
