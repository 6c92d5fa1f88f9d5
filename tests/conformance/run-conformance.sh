#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# run-conformance.sh PATH_TO_SMELT TEST_PROGRAM... [--long TEST_PROGRAM...]
#
# Runs what every device must stand on the device that SMELT_TEST_DEVICE names (default:
# opencl): the golden files, and programs that use the default device. They compare with
# `ref` or with values written down, so a new driver needs no new test. Those after --long
# run only if SMELT_TEST_DEVICE is set. Skipped, with the reason, where there is no such device.
# The last line is "N passed, N failed"; the exit status is 1 if any failed.
set -euo pipefail
smelt=$1
device=${SMELT_TEST_DEVICE:-opencl}
export SMELT_DEVICE=$device

if ! answer=$("$smelt" eval '1 + 1' 2>&1) || ! answer=$("$smelt" eval 'ones(2) + 1' 2>&1 >/dev/null); then
  echo "skipped: $answer"
  exit 77
fi

passed=0 failed=0

# count NAME COMMAND...: adds what the command's last line says, and shows what failed.
count() {
  local output status=0 summary p f
  output=$("${@:2}" 2>&1) || status=$?
  summary=$(tail -n 1 <<<"$output")
  if [[ $summary =~ ^([0-9]+)\ passed,\ ([0-9]+)\ failed ]]; then
    p=${BASH_REMATCH[1]} f=${BASH_REMATCH[2]}
  else
    p=$((status == 0)) f=$((status != 0))
  fi
  passed=$((passed + p)) failed=$((failed + f))
  echo "$1: $p passed, $f failed"
  ((f == 0 && status == 0)) || printf '%s\n' "$output"
}

shift
count golden "$(dirname "$0")/../golden/run-golden.sh" "$smelt" "$device"
for program in "$@"; do
  if [[ $program == --long ]]; then
    [[ -n ${SMELT_TEST_DEVICE:-} ]] || break
    continue
  fi
  # shellcheck disable=SC2086 # a program and its arguments
  count "$(basename "${program%% *}")" $program
done
echo "$passed passed, $failed failed"
((failed == 0))
