#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# run-conformance.sh PATH_TO_SMELT TEST_PROGRAM... [--long TEST_PROGRAM...]
#
# Runs what every device must stand on the device that SMELT_TEST_DEVICE names (default:
# opencl): programs that use the default device, "golden" for the golden files, "lab" for the lab. They
# compare with `ref` or with values written down, so a new driver needs no new test. Those after --long
# run only if SMELT_TEST_DEVICE is set. Skipped, with the reason, where there is no such device.
# The last line is "N passed, N failed"; the exit status is 1 if any failed.
set -euo pipefail
smelt=$1
device=${SMELT_TEST_DEVICE:-opencl}
export SMELT_DEVICE=$device
export SMELT_TEST_SECONDS=${SMELT_TEST_SECONDS:-600} # compilers may be slow

if ! answer=$("$smelt" eval '1 + 1' 2>&1) || ! answer=$("$smelt" eval 'ones(2) + 1' 2>&1 >/dev/null); then
  echo "skipped: $answer"
  exit 77
fi

passed=0 failed=0 skipped=0
lab_modes=(ir inplace drop stream error count layout sum norm)

# count NAME COMMAND...: adds what the command's last line says, and shows what failed and why
# something was skipped.
count() {
  local output status=0 summary p f s=0
  output=$("${@:2}" 2>&1) || status=$?
  summary=$(tail -n 1 <<<"$output")
  if [[ $summary =~ ^([0-9]+)\ passed,\ ([0-9]+)\ failed ]]; then
    p=${BASH_REMATCH[1]} f=${BASH_REMATCH[2]}
    [[ ! $summary =~ ([0-9]+)\ skipped ]] || s=${BASH_REMATCH[1]}
  else
    p=$((status == 0)) f=$((status != 0))
  fi
  passed=$((passed + p)) failed=$((failed + f)) skipped=$((skipped + s))
  echo "$1: $p passed, $f failed"
  if ((f > 0 || status > 0)); then printf '%s\n' "$output"; else grep 'skipped: ' <<<"$output" || true; fi
}

shift
for program in "$@"; do
  if [[ $program == --long ]]; then
    [[ -n ${SMELT_TEST_DEVICE:-} ]] || break
    continue
  fi
  case $program in
    golden) count golden "$(dirname "$0")/../golden/run-golden.sh" "$smelt" "$device" ;;
    lab) for mode in "${lab_modes[@]}"; do count "lab $mode" "$smelt" lab "$mode" --device "$device"; done ;;
    *)
      # shellcheck disable=SC2086 # a program and its arguments
      count "$(basename "${program%% *}")" $program
      ;;
  esac
done
echo "$passed passed, $failed failed$( ((skipped == 0)) || echo ", $skipped skipped")"
((failed == 0))
