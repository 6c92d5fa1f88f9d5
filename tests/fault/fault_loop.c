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
#include <unistd.h>

#include "failing_alloc.h"

enum { SECONDS_PER_ROUND = 60 };

/* --- Samples -------------------------------------------------------------------------- */

enum { FEWEST = 3, DENSE = 12, MOST = 24 };

int fault_options(fault_totals *totals, int argc, char **argv) {
  int i = 1;
  if (i < argc && strcmp(argv[i], "--all") == 0) {
    totals->all = true;
    i++;
  } else if (i + 1 < argc && strcmp(argv[i], "--seconds") == 0) {
    totals->seconds = strtod(argv[i + 1], NULL);
    i += 2;
  }
  return i;
}

/* How many rounds there are time for. */
static uint64_t affordable(const fault_totals *totals, double seconds) {
  double most = totals->seconds > 0 ? 1e9 : MOST, rounds = most;
  double time = totals->seconds > 0 ? totals->seconds : 0.5;
  if (seconds > 0 && time / seconds < most) rounds = time / seconds;
  return rounds < FEWEST ? FEWEST : (uint64_t)rounds;
}

fault_sample fault_sample_make(fault_totals *totals, uint64_t allocations, double seconds) {
  uint64_t rounds = affordable(totals, seconds);
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

static double seconds_of(int who) {
  struct rusage used;
  (void)getrusage(who, &used);
  return (double)(used.ru_utime.tv_sec + used.ru_stime.tv_sec) +
         1e-6 * (double)(used.ru_utime.tv_usec + used.ru_stime.tv_usec);
}

double fault_now(void) { return seconds_of(RUSAGE_SELF) + seconds_of(RUSAGE_CHILDREN); }

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
               totals->rounds < totals->allocations ? " (--all: every one)" : "");
  (void)printf("%zu passed, %zu failed\n", totals->subjects - totals->failed, totals->failed);
  return totals->failed || !totals->subjects ? EXIT_FAILURE : EXIT_SUCCESS;
}
