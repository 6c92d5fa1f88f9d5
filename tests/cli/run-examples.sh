#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# run-examples.sh FOLDER: runs the example programs in FOLDER and compares what
# they print. The last line is "N passed, N failed".
set -uo pipefail

[[ $# -eq 1 && -d $1 ]] || { echo "usage: $0 FOLDER" >&2 && exit 2; }
folder=$1
passed=0
failed=0
for variable in "${!SMELT_@}"; do unset "$variable"; done

prints() { # prints EXPECTED PROGRAM
  local out status=0
  out=$("$folder/$2" 2>&1) || status=$?
  if [[ $out == "$1" && $status == 0 ]]; then
    passed=$((passed + 1))
  else
    failed=$((failed + 1))
    printf 'FAILED %s: status %s\n%s\nexpected:\n%s\n' "$2" "$status" "$out" "$1"
  fi
}

# exp of 1.5 and 1.5, 1 and 0.
prints '[[4.481689  4.481689 ]
 [2.7182817 1.       ]]
add(f32[2,2], f32[3]): the shapes do not broadcast' expression

# Halves of 0 to 5, and 1, added up along rows.
prints '[[10. 25. 45.]
 [25. 55. 90.]]
running_sum: x has to be f32, with at least one axis' custom_op

printf '%d passed, %d failed\n' "$passed" "$failed"
((failed == 0))
