/* SPDX-License-Identifier: Apache-2.0
 *
 * The lab: small experiments that show what the library does with a program.
 * docs/lab.md is its manual.
 *
 * Vocabulary. A *mode* is one experiment. It runs its program in a context
 * *under observation*, whose log lines and counters it prints, and once more on
 * the device `ref`, where every operation runs by itself in a plain loop. A
 * *marker* is a line "--- TEXT" that separates the steps.
 *
 * Invariants. What is printed comes from the log, the counters and the values of
 * this very run. Every value that a mode computes is compared with ref's, bit for
 * bit (NaN equals NaN); a difference makes the exit status CLI_FAILURE but does
 * not stop the mode. Inputs are f32, and of the shape of the options if that is given. */
#ifndef SMELT_TOOL_LAB_H
#define SMELT_TOOL_LAB_H

#include "base/vec.h"
#include "core/shape.h"
#include "smelt/smelt.h"

typedef struct lab_options {
  const char *device; /* NULL: the default */
  bool no_fusion;
  smelt_mode mode;
  smelt_switch flatten;
  int64_t max_ops; /* 0: the default */
  bool random;     /* inputs are random numbers from `seed` */
  uint64_t seed;
  sm_shape shape;
  bool shape_given; /* else a mode may prefer its own */
  uint64_t n;       /* the mode's argument */
} lab_options;

/* What happens to the log lines of the context under observation. */
typedef enum lab_view {
  LAB_HIDE,
  LAB_SHOW,
  LAB_SHORTEN /* as LAB_SHOW, but a [block] line names only its first operation */
} lab_view;

/* The launches of one kernel, by its name without the digits of its hash. */
typedef struct lab_kernel {
  char name[64];
  uint64_t launches;
} lab_kernel;

typedef struct lab {
  lab_options options;
  smelt_context *ctx; /* under observation */
  smelt_context *ref;
  lab_view view;
  sm_vec(lab_kernel) kernels; /* of the launches so far, in order of appearance */
  bool lost_lines;
  size_t count;      /* elements of a tensor */
  float *input;      /* for lab_input */
  float *actual;     /* what lab_read read */
  float *expected;   /* the same on ref */
  uint64_t compared; /* elements since the last lab_report */
  bool failed;       /* something differed */
  smelt_error error;
} lab;

/* The modes. The status is what stopped one, with `error` filled. */
#define LAB_MODE(name, argument, doc) smelt_status lab_##name(lab *l);
#include "lab_modes.def"
#undef LAB_MODE

/* Runs a mode and reports; answers the exit status. */
int lab_run(const lab_options *options, smelt_status (*mode)(lab *l));

/* --- For modes ---------------------------------------------------------------- */

/* Inputs, and what is read, have this shape from here on. */
smelt_status lab_set_shape(lab *l, const sm_shape *shape);

/* Creates both contexts. `log` names the categories of the one under observation. */
smelt_status lab_create(lab *l, bool fusion, const char *log, lab_view view);
/* The same, and prints how operations run. */
smelt_status lab_open(lab *l, bool fusion, const char *log, lab_view view);
/* Destroys both; a leaked reference is an error. */
smelt_status lab_close(lab *l);

/* Prints a marker. */
__attribute__((format(printf, 1, 2))) void lab_mark(const char *format, ...);

smelt_counters lab_counters(const lab *l);

/* exp(a*b + c), which takes them. */
smelt_tensor *lab_expression(smelt_tensor *a, smelt_tensor *b, smelt_tensor *c);
/* The same of the first inputs, on ref. */
smelt_tensor *lab_expression_on_ref(lab *l);

/* Element i of input number `which`. Without a seed it is 1 + which + i mod 4 for
 * the first three inputs, which repeat, each time 1/8 larger; with a seed it is in
 * [-2, 2). */
float lab_input_value(const lab *l, uint64_t which, size_t i);
/* Input number `which` as a tensor; the reference is the caller's. */
smelt_tensor *lab_input(lab *l, smelt_context *ctx, uint64_t which);

/* The first n steps of *1.25 +0.5 *0.8 -0.375, and again: every step shows in
 * the result, however long the chain. Takes x. */
smelt_tensor *lab_chain_steps(smelt_tensor *x, uint64_t n);

/* Reads t, which is taken, into `actual`. */
smelt_status lab_read(lab *l, smelt_tensor *t);
/* Prints `actual` as NumPy would, after a marker. */
smelt_status lab_print_values(lab *l);
/* False for null devices, which only plan: there is nothing to compare. */
bool lab_computes(const lab *l);
/* Compares `actual` with `expected`, a tensor on ref, which is taken; `name` is
 * the tensor's in the message. */
smelt_status lab_compare(lab *l, const char *name, smelt_tensor *expected);
/* Prints what has been compared since the last call. */
void lab_report(lab *l);
/* Prints an error line and remembers that something differed. */
__attribute__((format(printf, 2, 3))) void lab_fail(lab *l, const char *format, ...);

#endif
