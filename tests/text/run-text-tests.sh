#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# run-text-tests.sh SMELT [--update]: the text of the lab's expression, exp(a*b + c), for every
# target, beside what it was when somebody last read it (the files here). Shapes that share a
# kernel share a file. With --update the files become what comes out: read the difference.
# Contraction is counted too. Ends with "N passed, N failed".
set -uo pipefail

update=false
[[ ${2:-} != --update ]] || update=true
set -- "${@:1:1}"
here=$(dirname "$0")
# shellcheck source=tests/cli/cases.sh
source "$here/../cli/cases.sh"

# The digits in names of kernels come from a hash that other kernels' kops shift.
text_of() { # text_of TARGET SHAPE FLATTEN
  SMELT_FLATTEN=$3 "$smelt" codegen 'exp(a*b + c)' --target "$1" --shape "$2" 2>"$errors" |
    sed -E 's/\b([a-z_]+_)[0-9a-f]{8}\b/\1########/'
}

# case_of FILE TARGET SHAPE FLATTEN
case_of() {
  local problem='' text
  text=$(text_of "${@:2}")
  ! $update || printf '%s\n' "$text" >"$here/$1"
  problem=$(diff "$here/$1" - <<<"$text" 2>&1)
  [[ ! -s $errors ]] || problem=$(<"$errors")
  verdict "codegen --target $2 --shape $3, flatten $4" "$problem"
}

for target in cuda hip opencl msl c; do
  for shape in 2,2 4,3 4,6 64,64; do
    case_of "$target-flat.txt" $target $shape 1
  done
done
for shape in 2,2 4,6; do case_of msl-rows-by-2.txt msl $shape 0; done
case_of msl-rows-by-1.txt msl 4,3 0
case_of msl-rows-by-4.txt msl 64,64 0
case_of cuda-rows-by-2.txt cuda 4,6 0
case_of opencl-rows-by-2.txt opencl 4,6 0

# A product is rounded before it is added, but in fast mode, whatever the target.
contraction_of() { # contraction_of TARGET MODE EXPECTED
  local problem='' actual
  actual=$("$smelt" codegen 'a*b + c' --target "$1" --mode "$2" 2>"$errors" | grep -c 'fma')
  [[ $actual -eq $3 ]] || problem="$actual lines with fma instead of $3"
  [[ ! -s $errors ]] || problem=$(<"$errors")
  verdict "codegen --target $1 --mode $2" "$problem"
}

for target in cuda hip opencl msl c; do
  contraction_of $target strict 0
  contraction_of $target default 0
  contraction_of $target fast 1
done

printf '%d passed, %d failed\n' "$passed" "$failed"
((failed == 0))
