/* SPDX-License-Identifier: Apache-2.0 */
#define _DEFAULT_SOURCE
#include "harness.h"

#include <math.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

/* How long a case may take: devices with slow compilers are given more. */
static unsigned seconds_per_case(void) {
  const char *seconds = getenv("SMELT_TEST_SECONDS");
  return seconds ? (unsigned)strtoul(seconds, NULL, 10) : 120;
}

/* How a case ends. The values are exit statuses of its process, unlike those
 * that other code ends with: a case that calls exit(0) has not passed. */
typedef enum outcome { FAILED = 75, PASSED = 76, SKIPPED = 77 } outcome;

/* Where a case that ends early continues when it has no process of its own. */
static jmp_buf no_fork_end;
static bool no_fork;

/* --- The end of a case ------------------------------------------------------ */

_Noreturn static void end_case(outcome how) {
  (void)fflush(NULL);
  if (no_fork) longjmp(no_fork_end, (int)how);
  _exit((int)how);
}

static void print_place(const char *file, int line) { (void)printf("%s:%d: ", file, line); }

static const char *quote(const char *text) { return text ? text : "(null)"; }

_Noreturn void test_skip(const char *file, int line, const char *reason) {
  print_place(file, line);
  (void)printf("skipped: %s\n", reason);
  end_case(SKIPPED);
}

/* --- Checks ------------------------------------------------------------------- */

void test_check(const char *file, int line, bool ok, const char *what) {
  if (ok) return;
  print_place(file, line);
  (void)printf("not true: %s\n", what);
  end_case(FAILED);
}

void test_check_i64(const char *file, int line, const char *what, int64_t actual, int64_t expected) {
  if (actual == expected) return;
  print_place(file, line);
  (void)printf("%s is %lld, expected %lld\n", what, (long long)actual, (long long)expected);
  end_case(FAILED);
}

static uint64_t bits_of(double value) {
  uint64_t bits;
  memcpy(&bits, &value, sizeof bits);
  return bits;
}

void test_check_f64(const char *file, int line, const char *what, double actual, double expected) {
  if (bits_of(actual) == bits_of(expected) || (isnan(actual) && isnan(expected))) return;
  print_place(file, line);
  (void)printf("%s is %.17g (%a), expected %.17g (%a)\n", what, actual, actual, expected, expected);
  end_case(FAILED);
}

void test_check_str(const char *file, int line, const char *what, const char *actual, const char *expected) {
  if (actual && expected ? strcmp(actual, expected) == 0 : actual == expected) return;
  print_place(file, line);
  (void)printf("%s is\n  %s\nexpected\n  %s\n", what, quote(actual), quote(expected));
  end_case(FAILED);
}

void test_check_contains(const char *file, int line, const char *what, const char *text, const char *part) {
  if (text && part && strstr(text, part)) return;
  print_place(file, line);
  (void)printf("%s is\n  %s\nwhich does not contain\n  %s\n", what, quote(text), quote(part));
  end_case(FAILED);
}

void test_check_status(const char *file, int line, const char *what, smelt_status actual,
                       smelt_status expected) {
  if (actual == expected) return;
  print_place(file, line);
  (void)printf("%s is %s, expected %s\n", what, smelt_status_name(actual), smelt_status_name(expected));
  end_case(FAILED);
}

void test_check_ok(const char *file, int line, const char *what, smelt_status actual,
                   const smelt_error *err) {
  if (actual == SMELT_OK) return;
  print_place(file, line);
  (void)printf("%s is %s: %s%s%s\n", what, smelt_status_name(actual), err->text, *err->where ? " at " : "",
               err->where);
  end_case(FAILED);
}

/* --- Running one case ----------------------------------------------------------- */

/* Never returns: leaves by exit, so that a leak checker can have its say. */
_Noreturn static void run_as_child(const test_case *test) {
  (void)setrlimit(RLIMIT_CORE, &(struct rlimit){0, 0});
  (void)alarm(seconds_per_case());
  test->run();
  exit(PASSED);
}

static const char *signal_name(int number) {
  switch (number) {
#define NAME(id) \
  case id:       \
    return #id;
    NAME(SIGABRT)
    NAME(SIGBUS)
    NAME(SIGFPE)
    NAME(SIGILL)
    NAME(SIGKILL)
    NAME(SIGPIPE)
    NAME(SIGSEGV)
    NAME(SIGTERM)
    NAME(SIGTRAP)
#undef NAME
  }
  return strsignal(number);
}

/* What became of a case's process; a failure that its checks did not report is
 * explained here. */
static outcome judge(const char *name, int status) {
  if (WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM) {
    (void)printf("%s: no end after %u s\n", name, seconds_per_case());
  } else if (WIFSIGNALED(status)) {
    (void)printf("%s: killed by %s\n", name, signal_name(WTERMSIG(status)));
  } else if (WEXITSTATUS(status) == PASSED || WEXITSTATUS(status) == SKIPPED) {
    return (outcome)WEXITSTATUS(status);
  } else if (WEXITSTATUS(status) != FAILED) {
    (void)printf("%s: exit status %d before the end of the case\n", name, WEXITSTATUS(status));
  }
  return FAILED;
}

static outcome run_forked(const test_case *test) {
  (void)fflush(NULL);
  pid_t child = fork();
  if (child == 0) run_as_child(test);
  int status = 0;
  if (child < 0 || waitpid(child, &status, 0) != child) {
    perror(test->name);
    return FAILED;
  }
  return judge(test->name, status);
}

static outcome run_here(const test_case *test) {
  int ended = setjmp(no_fork_end);
  if (ended) return (outcome)ended;
  test->run();
  return PASSED;
}

/* --- The program ------------------------------------------------------------------ */

typedef struct totals {
  size_t passed, failed, skipped;
} totals;

static void run_case(const test_case *test, totals *sum) {
  outcome how = no_fork ? run_here(test) : run_forked(test);
  sum->passed += how == PASSED;
  sum->failed += how == FAILED;
  sum->skipped += how == SKIPPED;
  if (how == FAILED) (void)printf("FAILED %s\n", test->name);
}

/* Prints the totals and gives the program's exit status. */
static int report(const totals *sum) {
  (void)printf("%zu passed, %zu failed", sum->passed, sum->failed);
  if (sum->skipped) (void)printf(", %zu skipped", sum->skipped);
  (void)printf("\n");
  if (sum->failed) return EXIT_FAILURE;
  if (sum->passed) return EXIT_SUCCESS;
  return sum->skipped ? SKIPPED : EXIT_FAILURE;
}

static const test_case *find(const test_case *cases, size_t n, const char *name) {
  for (size_t i = 0; i < n; i++) {
    if (strcmp(cases[i].name, name) == 0) return &cases[i];
  }
  return NULL;
}

static int list(const test_case *cases, size_t n) {
  for (size_t i = 0; i < n; i++) (void)printf("%s\n", cases[i].name);
  return EXIT_SUCCESS;
}

/* Runs the named cases, all of them if there is no name. */
static int run_named(int count, char **names, const test_case *cases, size_t n) {
  totals sum = {0};
  for (size_t i = 0; count == 0 && i < n; i++) run_case(&cases[i], &sum);
  for (int i = 0; i < count; i++) {
    const test_case *test = find(cases, n, names[i]);
    if (!test) {
      (void)fprintf(stderr, "no case is called %s\n", names[i]);
      return 2;
    }
    run_case(test, &sum);
  }
  return report(&sum);
}

int test_main(int argc, char **argv, const test_case *cases, size_t n) {
  int first = 1;
  if (first < argc && strcmp(argv[first], "--list") == 0) return list(cases, n);
  if (first < argc && strcmp(argv[first], "--no-fork") == 0) {
    no_fork = true;
    first++;
  }
  return run_named(argc > first ? argc - first : 0, argv + first, cases, n);
}
