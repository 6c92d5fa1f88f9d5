#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# run-lab-tests.sh SMELT: runs the modes of `SMELT lab` on many inputs and shapes
# and compares what they print with what the library promises. The last line is
# "N passed, N failed".
#
# Transcripts are compared whole, after what is no promise has been replaced: the
# digits of a kernel's hash, the backend's name, and the values, which the lab
# itself compares with the device ref (exit status 1 if they differ). Here values
# are compared with awk's exp where the inputs are known.
set -uo pipefail

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

# lab ARGUMENT...: fills status, out and err, and values with the result's lines.
lab() {
  out=$("$smelt" lab "$@" 2>"$errors")
  status=$?
  err=$(<"$errors")
  values=$(sed -n '/^--- result$/,/^---/{/^---/!p}' <<<"$out")
}

# The transcript without values, hashes and the backend's name.
transcript() {
  sed -E -e '/^--- result$/,/^---/{/^---/!d}' -e 's/_[0-9a-f]{8} read=/_HASH read=/' \
    -e '1s/cpu<[a-z]+>/cpu/' <<<"$out"
}

# shows EXPECTED ARGUMENT...: status 0, nothing on standard error, this transcript.
shows() {
  local expected=$1 problem=
  shift
  lab "$@"
  problem=$(diff <(echo "$expected") <(transcript)) || true
  [[ $status == 0 && -z $err ]] || problem="status $status: $err"
  verdict "lab $*" "$problem"
}

# refuses PART ARGUMENT...: status 2, one line with PART, nothing printed.
refuses() {
  local part=$1 problem=
  shift
  lab "$@"
  [[ $err == "smelt: lab: "*"$part"* && $err != *$'\n'* ]] || problem="message: $err; expected: …$part…"
  [[ -z $out ]] || problem="printed: $out"
  [[ $status == 2 ]] || problem="status $status"
  verdict "lab $*" "$problem"
}

# holds NAME PROBLEM COMMAND...: the command succeeds.
holds() {
  local name=$1 problem=$2
  shift 2
  if "$@"; then problem=; fi
  verdict "$name" "$problem"
}

# has_values VALUE...: as many as the last result has, each within 2 ULP of f32.
has_values() {
  tr -d '[]' <<<"$values" | tr -s ' \n' '\n' | awk -v expected="$*" '
    BEGIN { n = split(expected, value, " ") }
    /./ && (++i > n || ($1 - value[i])^2 > (value[i] * 2^-22)^2) { bad = 1 }
    END { exit bad || i != n }'
}

# elements SHAPE: how many a tensor of that shape has.
elements() {
  local extent n=1
  for extent in ${1//[^0-9]/ }; do n=$((n * extent)); done
  echo "$n"
}

# plural N SINGULAR PLURAL
plural() { if (($1 == 1)); then echo "$1 $2"; else echo "$1 $3"; fi; }

# Options that choose inputs: the fixed ones, then random ones.
inputs=('' '--seed 0' '--seed 1' '--seed 0xfedcba9876543210')
shapes=('[]' 0 1 2 2,2 4,6 1,5 3,0 0,3,2 2,1,3 33,17 2,3,4,5 1,1,1,1 2,0,3,1)

# each_input FUNCTION: calls it with a shape and the options for it.
each_input() {
  local shape input
  for shape in "${shapes[@]}"; do
    for input in "${inputs[@]}"; do
      # shellcheck disable=SC2086 # an option and its value are two words
      "$1" "$shape" --shape "$shape" $input
    done
  done
}

heading() { # heading SHAPE DEVICE
  local shape=${1//[\[\]]/}
  echo "--- $2, inputs f32[$shape]"
}

# --- ir -------------------------------------------------------------------------------

# A launch of N operands and one result, unless there are no elements.
launch_line() { # launch_line ELEMENTS OPERANDS KERNEL
  (($1 == 0)) || echo "  [launch] [main] ElementWise ${3}_HASH read=$((4 * $1 * $2)) written=$((4 * $1))"
}

recorded_inputs='--- from_host x3
  [registered] Init in=[] out=[t1:NotInit]
  [registered] Init in=[] out=[t2:NotInit]
  [registered] Init in=[] out=[t3:NotInit]'

ir_shows() {
  local shape=${1//[\[\]]/} n
  n=$(elements "$1")
  shows "$(heading "$1" 'fusion<cpu>')
$recorded_inputs
--- let d = exp(a*b + c)
  [registered] NumericFloat(F32, Mul) in=[t1:ReadWrite, t2:ReadWrite] out=[t4:NotInit]
  [registered] NumericFloat(F32, Add) in=[t4:ReadWrite, t3:ReadWrite] out=[t5:NotInit]
  [registered] Float(F32, Exp) in=[t5:ReadWrite] out=[t6:NotInit]
--- launches before the read: 0
--- d.read()
  [block] 3 op(s): NumericFloat(F32, Mul), NumericFloat(F32, Add), Float(F32, Exp)
  [trace] block 0 over [$shape]
    l0 f32 = read t1
    l1 f32 = read t2
    l2 f32 = mul l0, l1
    l3 f32 = read t3
    l4 f32 = add l2, l3
    l5 f32 = exp l4
    write t6 = l5
$(launch_line "$n" 3 elemwise_fuse)
  [registered] Drop in=[t6:ReadWrite] out=[]
--- launches: $((n > 0))
--- result
--- equal to ref bit for bit: $n element(s)
--- within 2 ULP of libm's exp: $n element(s)" ir "${@:2}"
}

# Without elements there is no launch line, and no empty line either.
shows_lines() { shows "$(sed '/^$/d' <<<"$1")" "${@:2}"; }
eval "$(declare -f ir_shows | sed 's/shows "\$(heading/shows_lines "$(heading/')"
each_input ir_shows
