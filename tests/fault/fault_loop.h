/* SPDX-License-Identifier: Apache-2.0
 *
 * The loop over failing allocations.
 *
 * A *subject* is something that can be run again and again; a *round* is one run
 * of it in which the n-th allocation fails. A first round without failure says
 * how many allocations there are and how long they take. With --all every n gets
 * a round; otherwise a sample of them does, the first ones and then some up to
 * the last: a few, or with --seconds N as many as take N seconds of a processor
 * for each subject. */
#ifndef TESTS_FAULT_FAULT_LOOP_H
#define TESTS_FAULT_FAULT_LOOP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct fault_totals {
  size_t subjects, failed;
  uint64_t rounds, allocations;
  bool all;       /* every n */
  double seconds; /* for each subject; 0: the default */
} fault_totals;

/* Reads the options; answers the index of the first argument after them. */
int fault_options(fault_totals *totals, int argc, char **argv);

/* The n of a subject's rounds, in ascending order. */
typedef struct fault_sample {
  uint64_t allocations; /* in a round without failure */
  uint64_t rounds;      /* how many of them get a round */
  uint64_t next;
} fault_sample;

/* `seconds`: how long a round without failure took. */
fault_sample fault_sample_make(fault_totals *totals, uint64_t allocations, double seconds);
/* The next n, 0 at the end. */
uint64_t fault_sample_next(fault_sample *sample);

/* Seconds of a processor that this process and its children have used. */
double fault_now(void);

/* Runs `round(user)` for a sample of n, each time in a process of its own. A
 * round that neither returns nor calls fault_end_round, or that leaks when it
 * has returned, is printed as a failure of `name` and is the last. */
void fault_loop(fault_totals *totals, const char *name, void (*round)(void *user), void *user);

/* Ends the process of a round that gave up half-way: what it has not freed is
 * no leak. */
_Noreturn void fault_end_round(void);

/* Prints the totals; answers the exit status of the program. */
int fault_report(const fault_totals *totals, const char *what);

#endif
