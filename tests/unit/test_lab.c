/* SPDX-License-Identifier: Apache-2.0
 *
 * What smelt lab does when something is wrong, which no mode should ever show.
 * That the modes are right is tests/cli/run-lab-tests.sh. */
#include "lab.h"

#include "base/error.h"
#include "cli.h"

/* After the table of operations, which has a macro TEST of its own. */
#include "harness.h"

static const lab_options options = {.shape = {.rank = 1, .dims = {3}}};

static smelt_status compare_inputs(lab *l, uint64_t actual, uint64_t expected) {
  SM_TRY(lab_open(l, true, "", LAB_HIDE));
  SM_TRY(lab_read(l, lab_input(l, l->ctx, actual)));
  SM_TRY(lab_compare(l, "x", lab_input(l, l->ref, expected)));
  lab_report(l);
  return lab_close(l);
}

static smelt_status run_equal(lab *l) { return compare_inputs(l, 1, 1); }
static smelt_status run_different(lab *l) { return compare_inputs(l, 1, 2); }

static smelt_status run_leaking(lab *l) {
  SM_TRY(lab_open(l, true, "", LAB_HIDE));
  smelt_tensor *forgotten = lab_input(l, l->ctx, 0);
  return smelt_check(forgotten, &l->error) == SMELT_OK ? lab_close(l) : SMELT_OK;
}

static smelt_status run_wrong_shape(lab *l) {
  SM_TRY(lab_open(l, true, "", LAB_HIDE));
  smelt_tensor *two = smelt_zeros(l->ctx, SMELT_F32, 1, (int64_t[]){2});
  SM_TRY(lab_read(l, smelt_add(lab_input(l, l->ctx, 0), two)));
  return lab_close(l);
}

TEST(equal_values_pass) { CHECK_I64(lab_run(&options, run_equal), CLI_OK); }
TEST(different_values_fail) { CHECK_I64(lab_run(&options, run_different), CLI_FAILURE); }
TEST(a_leak_fails) { CHECK_I64(lab_run(&options, run_leaking), CLI_FAILURE); }
TEST(an_error_ends_the_mode) { CHECK_I64(lab_run(&options, run_wrong_shape), CLI_WRONG_INPUT); }

TEST(an_unknown_device_is_wrong_input) {
  lab_options other = options;
  other.device = "nope";
  CHECK_I64(lab_run(&other, run_equal), CLI_WRONG_INPUT);
}

/* A device that computes nothing has no wrong values. */
TEST(null_devices_are_not_compared) {
  lab_options other = options;
  other.device = "null:metal";
  CHECK_I64(lab_run(&other, run_different), CLI_OK);
}

TEST(inputs_are_those_of_the_manual) {
  lab l = {.options = options};
  for (uint64_t which = 0; which < 3; which++) {
    for (size_t i = 0; i < 9; i++)
      CHECK_F64(lab_input_value(&l, which, i), 1 + (double)which + (double)(i % 4));
  }
  CHECK_F64(lab_input_value(&l, 4, 0), 2.125);
}

TEST(seeds_give_other_numbers_in_the_same_range) {
  lab l = {.options = options};
  double sum = 0;
  bool same = true;
  l.options.random = true;
  for (size_t i = 0; i < 1000; i++) {
    l.options.seed = 1;
    float x = lab_input_value(&l, 0, i);
    CHECK(x >= -2 && x < 2);
    sum += (double)x;
    l.options.seed = 2;
    same = same && lab_input_value(&l, 0, i) == x;
  }
  CHECK(!same);
  CHECK(sum > -200 && sum < 200);
}

TEST_MAIN(CASE(equal_values_pass), CASE(different_values_fail), CASE(a_leak_fails),
          CASE(an_error_ends_the_mode), CASE(an_unknown_device_is_wrong_input),
          CASE(null_devices_are_not_compared), CASE(inputs_are_those_of_the_manual),
          CASE(seeds_give_other_numbers_in_the_same_range))
