/* SPDX-License-Identifier: Apache-2.0 */
#define _DEFAULT_SOURCE
#include "fault_loop.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "failing_alloc.h"

enum { SECONDS_PER_ROUND = 60 };

/* --- Samples -------------------------------------------------------------------------- */

/* The first ones, which differ most, then some that are spread evenly. */
enum { FEWEST = 3, DENSE = 12, MOST = 32 };

fault_sample fault_sample_make(fault_totals *totals, uint64_t allocations, double seconds) {
  double affordable = seconds > 0 ? 1.0 / seconds : MOST;
  uint64_t rounds = affordable < FEWEST ? FEWEST : affordable > MOST ? MOST : (uint64_t)affordable;
  if (totals->all || rounds > allocations) rounds = allocations;
  totals->allocations += allocations;
  totals->rounds += rounds;
  return (fault_sample){.allocations = allocations, .rounds = rounds};
}

uint64_t fault_sample_next(fault_sample *s) {
  uint64_t i = s->next++, dense = s->rounds / 2 < DENSE ? s->rounds / 2 : DENSE;
  if (i >= s->rounds) return 0;
  if (i < dense) return i + 1;
  return dense + (i + 1 - dense) * (s->allocations - dense) / (s->rounds - dense);
}

double fault_now(void) {
  struct timespec t;
  (void)clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* --- Rounds in processes of their own ----------------------------------------------------- */

/* The exit status of a round that ended as it should, unlike those of others. */
enum { ROUND_GOOD = 76 };

/* Where a round's process says how many allocations there were. */
static uint64_t *allocations;

_Noreturn void fault_end_round(void) {
  *allocations = fail_alloc_count();
  _exit(ROUND_GOOD);
}

_Noreturn static void run_round(uint64_t n, void (*round)(void *user), void *user) {
  (void)setrlimit(RLIMIT_CORE, &(struct rlimit){0, 0});
  (void)alarm(SECONDS_PER_ROUND);
  fail_alloc_at(n, SHORT_ONCE);
  round(user);
  *allocations = fail_alloc_count();
  exit(ROUND_GOOD);
}

static bool judge(const char *name, uint64_t n, int status) {
  if (WIFEXITED(status) && WEXITSTATUS(status) == ROUND_GOOD) return true;
  (void)printf("%s: ", name);
  if (WIFSIGNALED(status)) (void)printf("killed by %s", strsignal(WTERMSIG(status)));
  else (void)printf("exit status %d", WEXITSTATUS(status));
  if (n) (void)printf(" when allocation %" PRIu64 " failed", n);
  (void)printf("\n");
  return false;
}

static bool run_apart(const char *name, uint64_t n, void (*round)(void *user), void *user) {
  int status = 0;
  (void)fflush(NULL);
  pid_t child = fork();
  if (child == 0) run_round(n, round, user);
  return child > 0 && waitpid(child, &status, 0) == child && judge(name, n, status);
}

void fault_loop(fault_totals *totals, const char *name, void (*round)(void *user), void *user) {
  if (!allocations) {
    allocations = mmap(NULL, sizeof *allocations, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  }
  *allocations = 0;
  double start = fault_now();
  bool good = run_apart(name, 0, round, user);
  fault_sample sample = fault_sample_make(totals, *allocations, fault_now() - start);
  for (uint64_t n; good && (n = fault_sample_next(&sample)) > 0;) good = run_apart(name, n, round, user);
  totals->subjects++;
  totals->failed += !good;
}

int fault_report(const fault_totals *totals, const char *what) {
  (void)printf("%zu %s with %" PRIu64 " allocations, of which %" PRIu64 " were made to fail%s\n",
               totals->subjects, what, totals->allocations, totals->rounds,
               totals->rounds < totals->allocations ? " (--all: all)" : "");
  (void)printf("%zu passed, %zu failed\n", totals->subjects - totals->failed, totals->failed);
  return totals->failed || !totals->subjects ? EXIT_FAILURE : EXIT_SUCCESS;
}
