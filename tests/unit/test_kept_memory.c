/* SPDX-License-Identifier: Apache-2.0
 *
 * Freed device memory: what is reused, what is given back and when. */
#define _DEFAULT_SOURCE
#include <stdlib.h>

#include "harness.h"
#include "rt/kept_memory.h"

enum { MOST = 1000 };

typedef struct fixture {
  sm_kept_memory kept;
  uintptr_t given_back[MOST];
  int n;
} fixture;

static void note(void *user, void *data) {
  fixture *f = user;
  f->given_back[f->n++] = (uintptr_t)data;
}

/* Memory is a number here. */
static void *memory(uintptr_t number) { return (void *)number; }

static void open_fixture(fixture *f, size_t most) {
  f->n = 0;
  CHECK(sm_kept_init(&f->kept, note, f));
  f->kept.most = most;
}

TEST(the_last_of_a_class_is_taken_first) {
  fixture f;
  open_fixture(&f, 10000);
  for (uintptr_t i = 1; i <= 4; i++) sm_kept_put(&f.kept, memory(i), i % 2 ? 512 : 256);
  CHECK(sm_kept_take(&f.kept, 512) == memory(3));
  CHECK(sm_kept_take(&f.kept, 512) == memory(1));
  CHECK(sm_kept_take(&f.kept, 512) == NULL);
  CHECK(sm_kept_take(&f.kept, 256) == memory(4));
  CHECK_I64(f.kept.bytes, 256);
  CHECK_I64(f.n, 0);
  sm_kept_trim(&f.kept);
  CHECK_I64(f.n, 1);
  CHECK_I64(f.given_back[0], 2);
  sm_kept_close(&f.kept);
}

TEST(the_oldest_go_first) {
  fixture f;
  open_fixture(&f, 1000);
  for (uintptr_t i = 1; i <= 4; i++) sm_kept_put(&f.kept, memory(i), 256);
  CHECK_I64(f.n, 1);
  CHECK_I64(f.given_back[0], 1);
  sm_kept_put(&f.kept, memory(5), 1024); /* more than may be kept: it goes too */
  CHECK_I64(f.n, 5);
  CHECK_I64(f.kept.bytes, 0);
  for (uintptr_t i = 1; i <= SM_KEPT_BLOCKS + 3; i++) sm_kept_put(&f.kept, memory(i), 0);
  CHECK_I64(f.n, 8);
  CHECK_I64(f.kept.n, SM_KEPT_BLOCKS);
  sm_kept_trim(&f.kept);
  sm_kept_close(&f.kept);
}

TEST(classes_lose_an_eighth_at_most) {
  CHECK_I64(sm_kept_class(1), 256);
  CHECK_I64(sm_kept_class(4096), 4096);
  CHECK_I64(sm_kept_class(4097), 4608);
  for (size_t bytes = 4096; bytes < (size_t)1 << 40; bytes += bytes / 7) {
    size_t whole = sm_kept_class(bytes);
    CHECK(whole >= bytes && whole - bytes <= bytes / 8 && sm_kept_class(whole) == whole);
  }
}

TEST(limits) {
  fixture f;
  smelt_error err = {0};
  open_fixture(&f, 0);
  (void)unsetenv("SMELT_CACHE_BYTES");
  CHECK_OK(sm_kept_limit(&f.kept, (uint64_t)1 << 40, &err), err);
  CHECK_I64(f.kept.most, INT64_C(1) << 38);
  CHECK_OK(sm_kept_limit(&f.kept, 1000, &err), err);
  CHECK_I64(f.kept.most, 256 << 20);
  CHECK_I64(setenv("SMELT_CACHE_BYTES", "12", 1), 0);
  CHECK_OK(sm_kept_limit(&f.kept, 1000, &err), err);
  CHECK_I64(f.kept.most, 12);
  CHECK_I64(setenv("SMELT_CACHE_BYTES", "many", 1), 0);
  CHECK_STATUS(sm_kept_limit(&f.kept, 1000, &err), SMELT_ERR_ARGUMENT);
  sm_kept_close(&f.kept);
}

TEST_MAIN(CASE(the_last_of_a_class_is_taken_first), CASE(the_oldest_go_first),
          CASE(classes_lose_an_eighth_at_most), CASE(limits))
