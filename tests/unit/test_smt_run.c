/* SPDX-License-Identifier: Apache-2.0
 *
 * What smelt run reports: the files that must fail. Those that must pass are
 * tests/golden. */
#define _POSIX_C_SOURCE 200809L
#include "smt_run.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"
#include "smt_elements.h"

/* After the table of operations, which has a macro TEST of its own. */
#include "harness.h"

typedef struct outcome {
  int status;
  char *out, *err;
} outcome;

static outcome run_with(const char *statements, smt_run_options options) {
  char text[2000];
  outcome o = {0};
  size_t out_size, err_size;
  (void)snprintf(text, sizeof text, "smt 1\n%s", statements);
  options.out = open_memstream(&o.out, &out_size);
  options.err = open_memstream(&o.err, &err_size);
  CHECK(options.out && options.err);
  o.status = smt_run("x.smt", text, strlen(text), &options);
  (void)fclose(options.out);
  (void)fclose(options.err);
  return o;
}

static void check_run(const char *statements, int status, const char *out, const char *err) {
  outcome o = run_with(statements, (smt_run_options){.device = "ref"});
  CHECK_STR(o.out, out);
  CHECK_STR(o.err, err);
  CHECK_I64(o.status, status);
  free(o.out);
  free(o.err);
}

TEST(prints_markers_and_values) {
  check_run("t1 = input i32[2] {1, 2}\nmarker \"here\"\nt2 = add(&t1, 1)\nread t1, t2\n", CLI_OK,
            "--- here\n[1 2]\n[2 3]\n", "");
}

TEST(reports_malformed_files) {
  check_run("t1 = exp(t0)\n", CLI_WRONG_INPUT, "",
            "smelt: run: x.smt: line 2, column 10: t0 is not defined\n");
}

TEST(goes_on_after_a_failure) {
  check_run(
      "t1 = input f32[2] {1, 2.5}\nexpect t1 {1, 2}\nexpect t1 {1}\nexpect t1 i32[2]\nexpect t1 {true, "
      "true}\n"
      "expect t1 poisoned ERR_SHAPE\nmarker \"end\"\n",
      CLI_FAILURE, "--- end\n",
      "smelt: run: x.smt: line 3: element 1 of t1: expected 2.0, got 2.5 (1 different)\n"
      "smelt: run: x.smt: line 4: number of elements of t1: expected 1, got 2\n"
      "smelt: run: x.smt: line 5: expected t1 to be i32[2], got f32[2]\n"
      "smelt: run: x.smt: line 6: expect t1: a bool scalar does not go with dtype f32\n"
      "smelt: run: x.smt: line 7: expected t1 to be poisoned by SMELT_ERR_SHAPE, but it is not\n");
}

TEST(reports_poison_that_was_not_expected) {
  outcome o = run_with(
      "a = input f32[2] {1, 2}\nb = input f32[3] {1, 2, 3}\nc = add(a, b)\nread c\neval c\nexpect c {1}\n"
      "expect c poisoned ERR_DTYPE\nexpect c poisoned ERR_SHAPE \"f64\"\n",
      (smt_run_options){.device = "ref"});
  CHECK_I64(o.status, CLI_FAILURE);
  CHECK_CONTAINS(o.err, "line 5: read c: add(f32[2], f32[3])");
  CHECK_CONTAINS(o.err, "line 6: eval: add(f32[2], f32[3])");
  CHECK_CONTAINS(o.err, "line 7: expect c: add(f32[2], f32[3])");
  CHECK_CONTAINS(o.err, "line 8: expected c to be poisoned by SMELT_ERR_DTYPE, got SMELT_ERR_SHAPE");
  CHECK_CONTAINS(o.err, "line 9: expected c to be poisoned by SMELT_ERR_SHAPE with f64, got");
  free(o.out);
  free(o.err);
}

TEST(checks_the_log_where_kernels_are_planned) {
  const char *statements =
      "a = input f32[2] {1, 2}\nb = exp(a)\nsync\nexpect launches 7\nexpect blocks 8\nexpect line "
      "\"[registered] "
      "Float(F32, Exp)*\"\nexpect line \"no such*\"\n";
  outcome o = run_with(statements, (smt_run_options){.device = "cpu"});
  CHECK_I64(o.status, CLI_FAILURE);
  CHECK_CONTAINS(o.err, "line 5: launches since the last such check: expected 7, got 1\n");
  CHECK_CONTAINS(o.err, "line 6: blocks since the last such check: expected 8, got 1\n");
  CHECK_CONTAINS(o.err, "line 8: expected the line \"no such*\"; lines since the last one found: ");
  CHECK(!strstr(o.err, "line 7"));
  free(o.out);
  free(o.err);
  o = run_with(statements, (smt_run_options){.device = "cpu", .no_fusion = true});
  CHECK_I64(o.status, CLI_OK);
  CHECK_STR(o.err, "smelt: run: x.smt: note: 4 expectations on launches and log lines do not apply here\n");
  free(o.out);
  free(o.err);
}

TEST(prints_only_the_lines_asked_for) {
  smt_run_options options = {.device = "ref", .log = "register"};
  outcome o = run_with("a = input f32[1] {1}\nb = exp(a)\nread b\ndrop b\n", options);
  CHECK_CONTAINS(o.out,
                 "[registered] Init in=[] out=[t1:NotInit]\n[registered] Float(F32, Exp) in=[t1:ReadWrite]");
  CHECK(!strstr(o.out, "[launch]"));
  CHECK_STR(o.err, "");
  CHECK_I64(o.status, CLI_OK);
  free(o.out);
  free(o.err);
}

TEST(refuses_devices_and_categories) {
  outcome o = run_with("sync\n", (smt_run_options){.device = "abacus"});
  CHECK_I64(o.status, CLI_WRONG_INPUT);
  CHECK_CONTAINS(o.err, "abacus");
  free(o.out);
  free(o.err);
  o = run_with("sync\n", (smt_run_options){.log = "gossip"});
  CHECK_I64(o.status, CLI_WRONG_INPUT);
  CHECK_CONTAINS(o.err, "gossip");
  free(o.out);
  free(o.err);
}

static bool f32_matches(float actual, float expected, int64_t ulp) {
  return smt_element_matches(SMELT_F32, &actual, &expected, ulp);
}

TEST(compares_floats) {
  CHECK(f32_matches(NAN, -NAN, SM_SMT_EXACT));
  CHECK(!f32_matches(NAN, 1, 1000));
  CHECK(!f32_matches(0.0f, -0.0f, SM_SMT_EXACT));
  CHECK(f32_matches(0.0f, -0.0f, 0));
  CHECK(f32_matches(1, nextafterf(1, 2), 1));
  CHECK(!f32_matches(1, nextafterf(nextafterf(1, 2), 2), 1));
  CHECK(f32_matches(1e-45f, -1e-45f, 2));
  CHECK(!f32_matches(1e-45f, -1e-45f, 1));
  CHECK(!f32_matches(INFINITY, 3.4028235e38f, 5));
  CHECK(!f32_matches(INFINITY, -INFINITY, INT32_MAX));
  double low = -1.7976931348623157e308, high = -low;
  CHECK(!smt_element_matches(SMELT_F64, &low, &high, INT32_MAX));
  int32_t one = 1, two = 2;
  CHECK(!smt_element_matches(SMELT_I32, &one, &two, 5));
}

TEST(numbers_elements) {
  sm_smt_data iota = {.fill = SM_SMT_IOTA};
  uint8_t bytes[700];
  CHECK_STATUS(smt_elements_write(&iota, SMELT_U8, 700, bytes, NULL), SMELT_OK);
  for (int i = 0; i < 700; i++) CHECK_I64(bytes[i], i % 256);
  bool bools[3];
  CHECK_STATUS(smt_elements_write(&iota, SMELT_BOOL, 3, bools, NULL), SMELT_OK);
  CHECK(!bools[0] && bools[1] && bools[2]);
}

TEST_MAIN(CASE(prints_markers_and_values), CASE(reports_malformed_files), CASE(goes_on_after_a_failure),
          CASE(reports_poison_that_was_not_expected), CASE(checks_the_log_where_kernels_are_planned),
          CASE(prints_only_the_lines_asked_for), CASE(refuses_devices_and_categories), CASE(compares_floats),
          CASE(numbers_elements))
