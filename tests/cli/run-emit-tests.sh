#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# run-emit-tests.sh SMELT CC LIBRARY...: each golden .smt file, made to print what it
# expects, prints the same as the C program that `smelt run --emit c` makes of it,
# compiled without a warning. The last line is "N passed, N failed".
set -uo pipefail

(($# >= 3)) || { echo "usage: $0 SMELT CC LIBRARY..." >&2 && exit 2; }
smelt=$(realpath "$1") cc=$2
mapfile -t libraries < <(realpath "${@:3}")
root=$(realpath "$(dirname "$0")/../..")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
for variable in "${!SMELT_@}"; do unset "$variable"; done
passed=0
failed=0

# Reads instead of expectations.
printing() { sed -E 's/^expect (launches|blocks|line) .*//; s/^expect (\w+) .*/read \1/' "$1"; }

# What failed, without where.
faults() { sed -E 's/^smelt: run: [^ ]+ line [0-9]+: (read \w+|eval): //' "$1"; }

compile() { # compile PROGRAM: PROGRAM.c
  "$cc" -std=c11 -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Werror -I"$root/include" "$1.c" \
    "${libraries[@]}" -lm -pthread -o "$1"
}

same_in_c() { # same_in_c FILE
  printing "$1" >file.smt
  "$smelt" run file.smt >expected 2>expected-faults
  "$smelt" run --emit c file.smt >program.c && compile program || return
  ./program >printed 2>printed-faults
  cmp expected printed && diff <(faults expected-faults) printed-faults
}

for file in "$root"/tests/golden/*.smt; do
  if problem=$(same_in_c "$file" 2>&1); then
    passed=$((passed + 1))
  else
    failed=$((failed + 1))
    printf 'FAILED %s\n%s\n' "$file" "$problem"
  fi
done
echo "$passed passed, $failed failed"
((failed == 0))
