#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# check-harness.sh VICTIMS SUMMARIZE_TESTS_AWK
#
# That a failure is seen: every way a case can end is counted and explained by
# the harness, and every way a test can end by the summary of ./dev test.
set -euo pipefail
victims=$1 summarize=$2
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT

expect() { # expect FILE TEXT
  grep -qF -e "$2" "$1" && return
  echo "no \"$2\" in:" && cat "$1" && exit 1
}

# expect_status STATUS COMMAND...: its output goes to $dir/out.
expect_status() {
  local want=$1 got=0
  shift
  "$@" >"$dir/out" 2>&1 || got=$?
  ((got == want)) && return
  echo "status $got instead of $want: $*" && cat "$dir/out" && exit 1
}

harness_counts_every_end() {
  local mode
  expect_status 1 "$victims"
  expect "$dir/out" 'answer is 41, expected 42'
  expect "$dir/out" 'crashes: killed by SIGSEGV'
  expect "$dir/out" 'exits_early: exit status 0 before the end'
  expect "$dir/out" 'skipped: no reason'
  expect "$dir/out" 'SMELT_ERR_SHAPE: shapes [2] and [3]'
  expect "$dir/out" '-0.0 is -0 (-0x0p+0), expected 0 (0x0p+0)'
  expect "$dir/out" '1 passed, 5 failed, 1 skipped'
  for mode in '' --no-fork; do
    expect_status 0 "$victims" $mode passes
    expect "$dir/out" '1 passed, 0 failed'
    expect_status 77 "$victims" $mode is_skipped
    expect_status 1 "$victims" $mode passes fails
    expect "$dir/out" '1 passed, 1 failed'
  done
  expect_status 2 "$victims" unknown
}

# The summary reads what CTest prints, so a real CTest prints it.
summary_counts_every_end() {
  cat >"$dir/CTestTestfile.cmake" <<END
add_test(program "$victims")
add_test(good_program "$victims" passes)
add_test(good_script "/bin/true")
add_test(bad_script "/bin/false")
add_test(missing "$dir/missing")
add_test(crash "/bin/sh" "-c" "kill -SEGV \$\$")
add_test(slow "/bin/sh" "-c" "exec sleep 5")
set_tests_properties(slow PROPERTIES TIMEOUT 1)
add_test(liar "/bin/sh" "-c" "echo '3 passed, 0 failed'; exit 3")
add_test(absent_tool "/bin/sh" "-c" "exit 77")
set_tests_properties(absent_tool PROPERTIES SKIP_RETURN_CODE 77)
END
  (cd "$dir" && ctest -V -j2) >"$dir/ctest" 2>&1 && exit 1
  awk -f "$summarize" "$dir/ctest" >"$dir/out"
  # Passed: 1 + 1 + 1 + 3. Failed: 5 cases, 4 scripts, and the status of liar.
  [[ $(tail -n 1 "$dir/out") == '6 10 2 9' ]] || { cat "$dir/out" && exit 1; }
  expect "$dir/out" 'crashes: killed by SIGSEGV'
}

harness_counts_every_end
summary_counts_every_end
