/* SPDX-License-Identifier: Apache-2.0
 *
 * A program that does the same work again and again: once it has done it a few times it
 * allocates nothing and asks the system for nothing. */
#define _GNU_SOURCE
#include <linux/seccomp.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "api_fixture.h"

enum { N = 16, WARM = 300, ROUNDS = 1000 };

/* Elementwise, and softmax, which reduces. */
static void do_work(smelt_context *ctx, smelt_tensor *kept) {
  float x[N] = {1, 2, 3}, y[N];
  smelt_tensor *t = smelt_from_host(ctx, SMELT_F32, DIMS(N), x);
  smelt_tensor *sum = smelt_exp(smelt_add(smelt_mul(smelt_ref(t), smelt_ref(kept)), 1));
  smelt_tensor *norm = smelt_softmax(smelt_add(t, smelt_ref(kept)), 0);
  if (smelt_into_host(sum, SMELT_F32, y, sizeof y, NULL) != SMELT_OK) abort();
  if (smelt_into_host(norm, SMELT_F32, y, sizeof y, NULL) != SMELT_OK) abort();
}

static smelt_tensor *warm_up(smelt_context *ctx) {
  smelt_tensor *kept = smelt_from_host(ctx, SMELT_F32, DIMS(N), (float[N]){0.5f});
  for (int i = 0; i < WARM; i++) do_work(ctx, kept);
  return kept;
}

/* --- Memory ---------------------------------------------------------------------------------- */

/* Counts what asks for memory; frees are as many. */
static void *count_calls(void *user, void *ptr, size_t old_size, size_t new_size) {
  (void)old_size;
  *(int *)user += new_size != 0;
  if (new_size) return realloc(ptr, new_size);
  free(ptr);
  return NULL;
}

static void note_kernel(void *user, const smelt_kernel_event *event) { *(bool *)user |= event->interpreted; }

TEST(nothing_is_allocated) {
  int calls = 0;
  bool interpreted = false;
  smelt_observer observer = SMELT_OBSERVER_INIT;
  observer.user = &interpreted;
  observer.kernel = note_kernel;
  smelt_context_desc desc = SMELT_CONTEXT_DESC_INIT;
  desc.alloc = count_calls;
  desc.alloc_user = &calls;
  desc.observer = &observer;
  smelt_context *ctx = open_context_with(&desc);
  smelt_tensor *kept = warm_up(ctx);
  int before = calls;
  CHECK(before > 0);
  for (int i = 0; i < ROUNDS; i++) do_work(ctx, kept);
  if (interpreted) CHECK(calls <= before + 2 * ROUNDS); /* the values of each kernel */
  else CHECK_I64(calls, before);
  smelt_drop(kept);
  close_context(ctx);
}

/* --- The system ------------------------------------------------------------------------------- */

/* In this mode every call of the system but read, write and exit kills. */
static _Noreturn void work_alone(void) {
  smelt_context *ctx = open_context();
  smelt_tensor *kept = warm_up(ctx);
  if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT) != 0) _exit(77);
  for (int i = 0; i < ROUNDS; i++) do_work(ctx, kept);
  (void)syscall(SYS_exit, 0);
  abort();
}

TEST(the_system_is_not_called) {
  int status;
#if defined __SANITIZE_ADDRESS__ || defined __SANITIZE_THREAD__
  TEST_SKIP("sanitizers call the system");
#endif
  CHECK_I64(setenv("SMELT_THREADS", "1", 1), 0);
  pid_t child = fork();
  if (child == 0) work_alone();
  CHECK_I64(waitpid(child, &status, 0), child);
  if (WIFEXITED(status) && WEXITSTATUS(status) == 77) TEST_SKIP("system calls cannot be forbidden");
  CHECK_I64(status, 0);
}

TEST_MAIN(CASE(nothing_is_allocated), CASE(the_system_is_not_called))
