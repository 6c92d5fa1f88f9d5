#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# check-includes.sh [ROOT]
#
# The directions between modules, from the #include lines: a file in src/MODULE
# includes its own folder, public headers, and modules of a lower level; a public
# header includes public headers only. Prints each line that does not.
set -euo pipefail
cd "${1:-$(dirname "$0")/../..}"

# One level a line, lowest first.
levels='base
core
ir kir
plan codegen
rt
trace stream kernels drivers
launch
fusers
api
io'

mapfile -t files < <(find src include -type f \( -name '*.[ch]' -o -name '*.def' \) | LC_ALL=C sort)
((${#files[@]})) || { echo "no sources in $PWD" && exit 1; }

awk -v levels="$levels" '
BEGIN {
  rows = split(levels, row, "\n")
  for (i = 1; i <= rows; i++) {
    n = split(row[i], module, " ")
    for (j = 1; j <= n; j++) level[module[j]] = i
  }
}

function complain(why) {
  printf "%s:%d: %s\n", FILENAME, FNR, why
  bad = 1
}

# The module that src/MODULE/..., or smelt for include/smelt/....
FNR == 1 {
  split(FILENAME, part, "/")
  own = part[2]
  if (part[1] == "src" && !(own in level)) complain("unknown module " own)
}

/^[ \t]*#[ \t]*include[ \t]*"/ {
  split($0, quoted, "\"")
  path = quoted[2]
  target = path
  if (!sub(/\/.*/, "", target)) complain("\"" path "\" must be given with its folder")
  else if (target == "smelt" || target == own) next
  else if (own == "smelt") complain("a public header includes \"" path "\"")
  else if (!(target in level)) complain("unknown module " target)
  else if (own in level && level[target] >= level[own]) complain(own " may not include \"" path "\"")
}

END { exit bad }
' "${files[@]}"
echo "${#files[@]} files include only what is below them"
