#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# check-ownership.sh [FILE.c...]: runs clang's static analyzer over C sources
# that use Smelt and demands that it reports a mistake of ownership in exactly
# the lines that carry the comment "OWNERSHIP:", a deliberate mistake. Without
# arguments: the two files beside this script, examples, the command and the
# unit tests. CLANG names the compiler; status 77 (skipped) without it.
set -eu
root=$(cd "$(dirname "$0")/../.." && pwd)
cd "$root"
clang=${CLANG:-clang}
command -v "$clang" >/dev/null || { echo "check-ownership: no $clang" >&2; exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# The attributes of base.h work with this option and the module name `malloc`.
analyze() {
  "$clang" --analyze --analyzer-output text \
    -Xclang -analyzer-config -Xclang unix.DynamicMemoryModeling:Optimistic=true \
    -std=c11 -Iinclude -Isrc -Itests -Itools/smelt -o /dev/null "$1"
}

# Sets of "file:line".
marked() { grep -Hn 'OWNERSHIP:' "$1" | cut -d: -f1,2 | sort -u; }
reported() { grep 'warning: .*\[unix\.Malloc\]$' "$work/output" | cut -d: -f1,2 | sort -u; }

check() {
  if ! analyze "$1" 2>"$work/output"; then
    echo "$1: the analyzer failed"
    tail -n 20 "$work/output"
    return 1
  fi
  marked "$1" >"$work/marked" || :
  reported >"$work/reported" || :
  cmp -s "$work/marked" "$work/reported" && return
  comm -13 "$work/marked" "$work/reported" | sed 's/$/: mistake of ownership/'
  comm -23 "$work/marked" "$work/reported" | sed 's/$/: marked, but the analyzer says nothing/'
  grep '\[unix\.Malloc\]$' "$work/output" || :
  return 1
}

if [ $# -eq 0 ]; then
  set -- tests/lint/ownership_bad.c tests/lint/ownership_good.c
  for file in examples/*.c tools/smelt/*.c tests/unit/*.c; do
    [ ! -e "$file" ] || set -- "$@" "$file"
  done
  grep -q 'OWNERSHIP:' tests/lint/ownership_bad.c || { echo "ownership_bad.c has no marks"; exit 1; }
fi
failed=0
for file; do check "$file" || failed=$((failed + 1)); done
echo "$# files, $failed failed"
[ "$failed" -eq 0 ]
