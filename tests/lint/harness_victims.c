/* SPDX-License-Identifier: Apache-2.0
 *
 * A test program with one case for each way to end, for check-harness.sh. */
#include <signal.h>
#include <stdlib.h>

#include "harness.h"

TEST(passes) { CHECK(true); }

TEST(fails) {
  int answer = 41;
  CHECK_I64(answer, 42);
}

TEST(crashes) { (void)raise(SIGSEGV); }

TEST(exits_early) { exit(0); }

TEST(is_skipped) { TEST_SKIP("no reason"); }

TEST(fails_with_error) {
  smelt_error err = {.code = SMELT_ERR_SHAPE, .text = "shapes [2] and [3]"};
  CHECK_OK(SMELT_ERR_SHAPE, err);
}

TEST(distinguishes_zeros) { CHECK_F64(-0.0, 0.0); }

TEST_MAIN(CASE(passes), CASE(fails), CASE(crashes), CASE(exits_early), CASE(is_skipped),
          CASE(fails_with_error), CASE(distinguishes_zeros))
