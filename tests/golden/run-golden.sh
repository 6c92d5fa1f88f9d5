#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# Runs every .smt file beside this script on each device:
#   run-golden.sh PATH_TO_SMELT [DEVICE...]     (default: cpu ref)
# The last line is "N passed, N failed"; the exit status is 1 if any failed.

if [ $# -lt 1 ]; then
  echo "usage: run-golden.sh PATH_TO_SMELT [DEVICE...]" >&2
  exit 2
fi
smelt=$1
shift
[ $# -gt 0 ] || set -- cpu ref

folder=$(dirname "$0")
passed=0
failed=0
for device in "$@"; do
  for file in "$folder"/*.smt; do
    if output=$("$smelt" run "$file" --device "$device" 2>&1); then
      passed=$((passed + 1))
    else
      failed=$((failed + 1))
      printf 'FAILED on %s: %s\n%s\n' "$device" "$file" "$output"
    fi
  done
done
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
