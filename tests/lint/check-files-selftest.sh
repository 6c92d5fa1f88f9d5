#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# That check-files.sh refuses a tree with each of the faults it looks for.
set -euo pipefail
check=$(dirname "$0")/check-files.sh
licence='/* SPDX-License-Identifier: Apache-2.0 */'
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT

add() { # add FILE LINE...
  local file=$dir/$1
  shift
  mkdir -p "$(dirname "$file")"
  printf '%s\n' "$@" >"$file"
}

refuses() { # refuses WHAT
  ! "$check" "$dir" >"$dir/out" 2>&1 || { echo "accepted: $1" && exit 1; }
  rm -rf "$dir/tests"
}

refuses 'an empty tree'
add src/base/a.c "$licence"
"$check" "$dir" >"$dir/out" || { cat "$dir/out" && exit 1; }
add tests/unit/a.c "$licence"
refuses 'a second a.c'
add tests/unit/b.c 'int x;'
refuses 'a file without licence'
add tests/unit/b.c "$licence" "/* TO""DO: more */"
refuses 'a note of what is left to do'
