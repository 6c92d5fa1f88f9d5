/* SPDX-License-Identifier: Apache-2.0
 *
 * random_programs [--programs N] [--seed S] [--print]: programs from the seeds
 * S, S + 1, ... must agree in all ways to run them (diff_program.h). One that
 * does not is made small and printed. --print shows programs without judging. */
#define _DEFAULT_SOURCE
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli.h"
#include "diff_program.h"

/* Programs that share a process; one that fails is found by halving. */
enum { BATCH = 32, BATCH_AGREES = 10 };

/* --- Failures ---------------------------------------------------------------------------- */

/* The judge's values as expectations, from a process of its own, since the judge
 * itself may be at fault. */
static void print_judged(const program *p) {
  (void)fflush(NULL);
  int status = 0;
  pid_t child = fork();
  if (child == 0) {
    print_program(stdout, p, run_program(p, &ways[0]));
    (void)fflush(NULL);
    _exit(EXIT_SUCCESS);
  }
  if (child < 0 || waitpid(child, &status, 0) != child || status != 0) print_program(stdout, p, NULL);
}

static void report(program *p) {
  (void)printf("The program of seed %" PRIu64 " fails:\n", p->seed);
  (void)judge_apart(p, stdout);
  shrink(p);
  (void)printf("\nAs small as it gets:\n");
  (void)judge_apart(p, stdout);
  print_judged(p);
}

/* --- Batches -------------------------------------------------------------------------------- */

_Noreturn static void judge_batch(program *p, uint64_t seed, uint64_t n) {
  (void)alarm(600);
  for (uint64_t i = 0; i < n; i++) {
    generate(p, seed + i);
    if (!agrees(p, NULL)) _exit(EXIT_FAILURE);
  }
  exit(close_lasting_ways() ? BATCH_AGREES : EXIT_FAILURE);
}

static bool batch_agrees(program *p, uint64_t seed, uint64_t n) {
  (void)fflush(NULL);
  int status = 0;
  pid_t child = fork();
  if (child == 0) judge_batch(p, seed, n);
  return child > 0 && waitpid(child, &status, 0) == child && WIFEXITED(status) &&
         WEXITSTATUS(status) == BATCH_AGREES;
}

/* Reports the first program that fails. */
static bool check_range(program *p, uint64_t seed, uint64_t n) {
  if (batch_agrees(p, seed, n)) return true;
  if (n == 1) {
    generate(p, seed);
    report(p);
  } else if (check_range(p, seed, n / 2) && check_range(p, seed + n / 2, n - n / 2)) {
    (void)printf("The programs of the seeds %" PRIu64 " to %" PRIu64 " fail together only.\n", seed,
                 seed + n - 1);
  }
  return false;
}

static bool check_all(program *p, uint64_t seed, uint64_t n) {
  for (uint64_t i = 0; i < n; i += BATCH) {
    if (!check_range(p, seed + i, n - i < BATCH ? n - i : BATCH)) return false;
  }
  (void)printf("%" PRIu64 " programs from seed %" PRIu64 " on agree in %d ways, with %zu operations\n", n,
               seed, N_WAYS, smelt_op_count());
  return true;
}

static void print_all(program *p, uint64_t seed, uint64_t n) {
  for (uint64_t i = 0; i < n; i++) {
    generate(p, seed + i);
    print_judged(p);
  }
}

/* --- The program -------------------------------------------------------------------------------- */

int main(int argc, char **argv) {
  uint64_t n = 300, seed = 1;
  bool prints = false;
  for (int i = 1; i < argc; i++) {
    uint64_t *number = strcmp(argv[i], "--programs") == 0 ? &n
                       : strcmp(argv[i], "--seed") == 0   ? &seed
                                                          : NULL;
    if (strcmp(argv[i], "--print") == 0) {
      prints = true;
    } else if (!number || i + 1 == argc || !cli_parse_u64(argv[++i], number)) {
      (void)fprintf(stderr, "usage: random_programs [--programs N] [--seed S] [--print]\n");
      return 2;
    }
  }
  program *p = malloc(sizeof *p);
  bool good = true;
  if (prints) print_all(p, seed, n);
  else good = check_all(p, seed, n);
  free(p);
  return good ? EXIT_SUCCESS : EXIT_FAILURE;
}
