# SPDX-License-Identifier: Apache-2.0
#
# Sourced by the scripts here with their one argument, the command: `smelt`, a file
# for its errors, and the counts of a last line "N passed, N failed". Variables of
# Smelt's from outside change nothing.
[[ $# -eq 1 && -x $1 ]] || { echo "usage: $0 PATH_TO_SMELT" >&2 && exit 2; }
smelt=$(realpath "$1")
for variable in "${!SMELT_@}"; do unset "$variable"; done
errors=$(mktemp)
trap 'rm -f "$errors"' EXIT
passed=0
failed=0

# verdict NAME PROBLEM: the case passed if there is no problem.
verdict() {
  if [[ -z $2 ]]; then
    passed=$((passed + 1))
  else
    failed=$((failed + 1))
    printf 'FAILED smelt %s\n  %s\n' "$1" "$2"
  fi
}
