#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# run-bench-tests.sh SMELT: runs the cases of `SMELT bench` on small shapes and
# checks what they report: members, bytes, launches, and that figures agree with
# each other. How fast anything is, it does not check. The last line is "N passed,
# N failed".
set -uo pipefail

# shellcheck source=tests/cli/cases.sh
source "$(dirname "$0")/cases.sh"

# bench ARGUMENT...: fills status, out and err.
bench() {
  name="bench $*"
  out=$(timeout 120 "$smelt" bench "$@" 2>"$errors")
  status=$?
  err=$(<"$errors")
}

# measured CASE...: the last bench succeeded and printed an object for each case.
measured() {
  local problem=
  [[ $status == 0 && -z $err ]] || problem="status $status: $err"
  [[ $(sed -nE 's/^\{"case": "([a-z0-9_]+)", .*\}$/\1/p' <<<"$out" | xargs) == "$*" ]] || problem="cases: $out"
  verdict "$name" "$problem"
}

member() { # member NAME: its value, as it stands there; nothing if there is none
  sed -nE "s/.*[{ ]\"$1\": (\"[^\"]*\"|\[[^]]*\]|[^,}]*)[,}].*/\1/p" <<<"$out"
}

says() { # says NAME VALUE: of a member
  verdict "$name: $1" "$([[ $(member "$1") == "$2" ]] || echo "$(member "$1") is not $2")"
}

lacks() { # lacks NAME...
  local one
  for one in "$@"; do verdict "$name: $one" "$(member "$one")"; done
}

holds() { # holds CONDITION: an expression of awk over the members that are numbers
  local assignments=() one problem=
  for one in us p10 p90 others floor_us ratio cold_ms unfused_us speedup record_ns twenty_ms; do
    assignments+=(-v "$one=$(member "$one")")
  done
  awk "${assignments[@]}" "BEGIN { exit !($1) }" || problem='does not hold'
  verdict "$name: $1" "$problem"
}

refuses() { # refuses PART ARGUMENT...: status 2, one line with PART, nothing printed
  local part=$1 problem=
  shift
  bench "$@"
  [[ $err == "smelt: bench: "*"$part"* && $err != *$'\n'* ]] || problem="message: $err; expected: …$part…"
  [[ -z $out ]] || problem="printed: $out"
  [[ $status == 2 ]] || problem="status $status"
  verdict "$name" "$problem"
}

# --- Programs against their floors ---------------------------------------------------------

# speed CASE FLOOR INPUTS OPERATIONS UNFUSED_ARRAYS: fused, a case reads its inputs and
# writes one result; without fusion, its launches read and write so many arrays.
speed() {
  bench "$1" --json --shape 8,16 --rounds 3 --threads 2
  measured "$1"
  says device '"fusion<cpu<'"$backend"'>>"'
  says dtype '"f32"'
  says shape '[8,16]'
  says threads 2
  says rounds 3
  says floor "\"$2\""
  says bytes $((128 * 4 * ($3 + 1)))
  says launches 1
  says kernels 1
  says unfused_launches "$4"
  says unfused_bytes $((128 * 4 * $5))
  says equal_to_ref true
  holds 'p10 > 0 && p10 <= us && us <= p90'
  holds 'others == "" || (others >= 0 && others <= 1)'
  holds 'floor_us > 0 && ratio > 0 && cold_ms > 0'
  holds 'unfused_us > 0 && speedup > 0'
  lacks llvm_mapped
}

backend=$("$smelt" bench add --json --shape 2 --rounds 1 | sed -nE 's/.*fusion<cpu<([a-z]+)>>.*/\1/p')
verdict 'bench: the name of the device' "$([[ -n $backend ]] || echo 'is not fusion<cpu<...>>')"
speed expr r3w1 3 3 8
speed expr_inplace r3w1over 3 3 8
speed add r2w1 2 1 3
speed gelu r1w1 1 9 21
speed chain64 chain64 1 64 128
speed mixed65 mixed65 1 65 130

# reduces CASE FLOOR [BYTES]: one launch that moves so many bytes, if they are said.
reduces() {
  bench "$1" --json --shape 8,300 --rounds 3 --threads 2
  measured "$1"
  says floor "\"$2\""
  says equal_to_ref true
  holds 'floor_us > 0 && ratio > 0 && unfused_us > 0'
  [[ -z ${3:-} ]] || says launches 1
  [[ -z ${3:-} ]] || says bytes "$3"
}
reduces softmax softmax
reduces layernorm layernorm
reduces rmsnorm rmsnorm
reduces sum_all r3 $((2400 * 4 * 3 + 4))
reduces sum_axis0 r2 $((2400 * 4 * 2 + 300 * 4))
reduces sum_axis1 r2 $((2400 * 4 * 2 + 8 * 4))
reduces argmax r1 $((2400 * 4 + 8 * 8))
reduces meanvar moments
reduces var_all r1 $((2400 * 4 + 4))
reduces var_axis0 r1 $((2400 * 4 + 300 * 4))
reduces cross_entropy expsum
reduces softmax_axis0 r1w1

# With one round all figures are those of the round.
bench expr --json --shape 100 --rounds 1
measured expr
says shape '[100]'
holds 'p10 == us && us == p90'
holds '(ratio - us / floor_us)^2 < 0.01 * ratio^2 + 0.0001'
holds '(speedup - unfused_us / us)^2 < 0.01 * speedup^2 + 0.0001'

bench expr --json --shape 8,16 --rounds 2 --no-fusion
measured expr
says device '"cpu<'"$backend"'>"'
says launches 3
says kernels 3
says bytes $((128 * 4 * 8))
lacks unfused_us unfused_bytes unfused_launches speedup

bench expr --json --shape 8,16 --rounds 2 --device ref --threads 1
measured expr
says device '"ref"'
says threads 1
says launches 3

# Each launch writes over the first input. There are a run for the values, a first one,
# one that counts and five rounds; the program without fusion counts and has rounds.
runs_in_place() { # runs_in_place WRITES ARGUMENT...
  local n=$1
  shift
  SMELT_LOG=memory bench expr_inplace --json --shape 8,16 --rounds 3 "$@"
  verdict "$name: in place" "$([[ $(grep -c 'is written over' <<<"$err") == "$n" ]] || echo "not $n: $err")"
}
runs_in_place $((8 + 6 * 3))
runs_in_place $((8 * 3)) --no-fusion
bench expr --json --shape '[]' --rounds 1
measured expr
says bytes 16
bench add --json --shape 0,3 --rounds 1
measured add
says bytes 0
says launches 0

SMELT_THREADS=3 bench add --json --shape 4 --rounds 1
says threads 3
SMELT_THREADS=3 bench add --json --shape 4 --rounds 1 --threads 2
says threads 2
SMELT_CACHE=1 SMELT_CACHE_DIR=/nowhere bench add --json --shape 4 --rounds 1
measured add

# --- Compiling -------------------------------------------------------------------------------

bench compile256 later --json --shape 4,4 --rounds 3
measured compile256 later
all=$out
out=${all%%$'\n'*}
says launches 1
says kernels 1
says bytes 128
says equal_to_ref true
lacks floor floor_us ratio cold_ms unfused_us speedup
out=${all#*$'\n'}
says launches 1
says kernels 1
says bytes 192
says equal_to_ref true
bench later --json --shape 4,4 --rounds 200
measured later
says kernels 1

# --- What Smelt itself costs -------------------------------------------------------------------

bench plan512 --json --shape 2,3 --rounds 2
measured plan512
says device '"fusion<null<cpu-avx512>>"'
says shape '[2,3]'
says launches 2
says kernels 2
says equal_to_ref true
holds 'p10 > 0 && p10 <= us && us <= p90 && twenty_ms * 1000 > us'
lacks bytes floor floor_us ratio cold_ms unfused_us speedup record_ns allocations
bench plan512 --json --rounds 1 --no-fusion
measured plan512
says launches 512
says device '"null<cpu-avx512>"'

bench tiny --json --rounds 5
measured tiny
says device '"fusion<cpu<'"$backend"'>>"'
says shape '[4,4]'
says bytes 256
says launches 1
says kernels 1
says allocations 0
says equal_to_ref true
holds 'p10 > 0 && p10 <= us && us <= p90 && record_ns > 0'
lacks floor floor_us ratio cold_ms unfused_us speedup twenty_ms
bench tiny --json --rounds 2 --no-fusion
measured tiny
says launches 3
says allocations 0

# --- Threads ----------------------------------------------------------------------------------

bench threads --json --rounds 3
measured threads
says shape '[256,256]'
says floor '"one_thread"'
says launches 1
says kernels 1
says equal_to_ref true
holds 'p10 > 0 && p10 <= us && us <= p90 && floor_us > 0 && ratio > 0'

# --- Whole processes ----------------------------------------------------------------------------

# process CASE LLVM: with code from libLLVM, whether the processes are to have it mapped.
process() {
  local mapped=$2
  bench "$1" --json --rounds 3
  measured "$1"
  says device '"fusion<cpu<'"$backend"'>>"'
  says shape '[64,64]'
  says floor '"process"'
  says bytes $((64 * 64 * 4 * 4))
  says launches 1
  holds 'floor_us > 0 && us > 0 && ratio > 0'
  [[ $backend == llvm ]] || mapped=false
  says llvm_mapped "$mapped"
}
process cold true
process warm false
bench cold --json --rounds 1 --no-fusion --shape 4
measured cold
says launches 3
SMELT_LLVM=0 bench cold --json --rounds 1
measured cold
says llvm_mapped false

SMELT_CACHE=0 bench first --json --shape 4,4
measured first
says bytes 256
says kernels 1
holds 'p10 == us && us == p90'

# --- The table ---------------------------------------------------------------------------------------

bench expr add --shape 8,16 --rounds 2
verdict "$name" "$([[ $status == 0 && -z $err ]] || echo "status $status: $err")"
rows=$(head -n 3 <<<"$out" | cut -d ' ' -f 1 | xargs)
verdict "$name: rows" "$([[ $rows == 'case expr add' ]] || echo "$out")"
for column in $(head -n 1 <<<"$out"); do
  [[ $column == case || $column == of || $column == p[19]0 ]] ||
    verdict "$name: $column" "$(sed 1d <<<"$out" | grep -qw "$column" || echo 'is not explained')"
done
bench plan512 tiny --rounds 1
for note in record twenty; do
  verdict "$name: $note" "$([[ $(grep -c "  $note  *[0-9.]* [num]s" <<<"$out") == 1 ]] || echo "$out")"
done
bench --help
for case in expr expr_inplace add gelu chain64 mixed65 compile256 later plan512 tiny threads cold warm first; do
  verdict "$name: $case" "$(grep -q "^  $case " <<<"$out" || echo 'is not there')"
done

# --- Wrong arguments ------------------------------------------------------------------------------------

refuses "no case 'nope'" nope
refuses "no case 'nope'" expr nope
refuses "no option '--nope'" --nope
refuses "option '--rounds' needs a value" expr --rounds
refuses "--rounds wants a number from 1 to 1000, not '0'" expr --rounds 0
refuses "--rounds wants a number from 1 to 1000, not '1001'" expr --rounds 1001
refuses "--threads wants a number from 1 to 1024, not 'x'" expr --threads x
refuses "--shape '2,' is no shape" expr --shape 2,
refuses 'null:metal computes nothing' expr --device null:metal
refuses 'nope' expr --device nope --shape 4
SMELT_THREADS=x refuses 'SMELT_THREADS' expr --shape 4

printf '%d passed, %d failed\n' "$passed" "$failed"
((failed == 0))
