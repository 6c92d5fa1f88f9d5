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

# shellcheck source=tests/cli/cases.sh
source "$(dirname "$0")/cases.sh"

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
    -e '/, inputs f32/s/cpu<[a-z]+>/cpu/' -e 's/\[thread [0-9]+\]/[thread]/' <<<"$out"
}

# shows EXPECTED ARGUMENT...: status 0, nothing on standard error, this transcript.
# Empty lines of EXPECTED do not count.
shows() {
  local expected=$1 problem=
  shift
  lab "$@"
  problem=$(diff <(sed '/^$/d' <<<"$expected") <(transcript)) || true
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

# Options that choose inputs: the fixed ones, then random ones.
inputs=('' '--seed 0' '--seed 1' '--seed 0xfedcba9876543210')
shapes=('[]' 0 1 2 '2,2' '4,6' '1,5' '3,0' '0,3,2' '2,1,3' '33,17' '2,3,4,5' '1,1,1,1' '2,0,3,1')

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

each_input ir_shows

expected=$(awk 'BEGIN { for (i = 1; i <= 4; i++) printf "%.9g ", exp(i*(i + 1) + i + 2) }')
lab ir
# shellcheck disable=SC2086 # numbers
holds 'lab ir: exp of 5, 10, 17, 26' "$values is not $expected" has_values $expected
fixed=$values
lab ir --no-fusion
holds 'lab ir --no-fusion: values' "$values" test "$values" = "$fixed"
holds 'lab ir --no-fusion: launches' "$out" grep -qx -- '--- launches: 3' <<<"$out"
holds 'lab ir --no-fusion: blocks' "$out" test "$(grep -c '^  \[block\] 1 op(s)' <<<"$out")" = 3
lab ir --max-ops 2
holds 'lab ir --max-ops 2: values' "$values" test "$values" = "$fixed"
holds 'lab ir --max-ops 2: launches' "$out" grep -qx -- '--- launches: 2' <<<"$out"
lab ir --device ref
holds 'lab ir --device ref: values' "$values" test "$values" = "$fixed"
holds 'lab ir --device ref: launches' "$out" grep -qx -- '--- launches: 3' <<<"$out"
lab ir --device null:metal
holds 'lab ir --device null:metal' "$out" grep -q 'not compared with ref: null:metal computes nothing' <<<"$out"

lab ir --seed 7 --shape 3,3
first=$values
lab ir --shape 3,3 --seed 7
holds 'lab ir: a seed gives the same values' "$values" test "$values" = "$first"
lab ir --seed 8 --shape 3,3
holds 'lab ir: another seed gives others' "$values" test "$values" != "$first"

# --- inplace --------------------------------------------------------------------------

# in_place ELEMENTS TENSOR...: what the log and the counters say of a result over TENSOR,
# or, without one, in memory of its own. KERNEL and READ are those of its launch.
in_place() {
  local n=$1 over=${2:-} launches=$(($1 > 0)) writes=0
  [[ -z $over || $n == 0 ]] || { echo "  [memory] t6 is written over $over" && writes=1; }
  ((n == 0)) || echo "  [launch] [main] ElementWise elemwise_fuse_HASH read=$read written=$((4 * n))"
  echo "--- launches: $launches, written in place: $writes"
  echo '--- result'
}

inplace_shows() {
  local n read numbers=
  n=$(elements "$1")
  read=$((12 * n))
  [[ $1 != '[]' ]] || numbers=t2 # then they are as large as a
  shows "$(heading "$1" 'fusion<cpu>')
--- a, b, c = t1, t2, t3; let d = exp(a*b + c)
--- sync()
$(in_place "$n" t1)
--- equal to ref bit for bit: $n element(s)
--- a, b, c = t1, t2, t3; let d = exp(ref(a)*b + c)
--- sync()
$(in_place "$n" t2)
--- equal to ref bit for bit: $((2 * n)) element(s)
--- a, b, c = t1, t2, t3; let d = exp(ref(a)*ref(b) + ref(c))
--- sync()
$(in_place "$n")
--- equal to ref bit for bit: $((4 * n)) element(s)
--- a, b, c = t1, t2, t3; let d = exp(ref(a)*b + c), where b and c are numbers
--- sync()
$(read=$((4 * n + 8)) && in_place "$n" $numbers)
--- equal to ref bit for bit: $((2 * n)) element(s)
--- a, b, c = t1, t2, t3; let d = i32(a*b + c)
--- sync()
$(in_place "$n")
--- equal to ref bit for bit: $n element(s)" inplace "${@:2}"
}
each_input inplace_shows

# Three times exp of 5, 10, 17, 26; of 2*i + 3; and 5, 10, 17, 26.
lab inplace
# shellcheck disable=SC2046 # numbers
holds 'lab inplace: values' "$values" has_values $(awk 'BEGIN {
  for (k = 0; k < 3; k++) for (i = 1; i <= 4; i++) printf "%.9g ", exp(i*(i + 1) + i + 2)
  for (i = 1; i <= 4; i++) printf "%.9g ", exp(2*i + 3)
  for (i = 1; i <= 4; i++) printf "%d ", i*(i + 1) + i + 2 }')
lab inplace --no-fusion --seed 2
holds 'lab inplace --no-fusion' "$out" \
  test "$(sed -n 's/^--- launches: 3, written in place: //p' <<<"$out" | xargs)" = '3 3 2 2 2'
lab inplace --device ref
holds 'lab inplace --device ref' "$out" \
  test "$(sed -n 's/^--- launches: 3, written in place: //p' <<<"$out" | xargs)" = '0 0 0 0 0'

# --- drop -----------------------------------------------------------------------------

drop_shows() {
  shows "$(heading "$1" 'fusion<cpu>')
$recorded_inputs
--- let d = exp(ref(a)*ref(b) + ref(c))
  [registered] NumericFloat(F32, Mul) in=[t1:ReadOnly, t2:ReadOnly] out=[t4:NotInit]
  [registered] NumericFloat(F32, Add) in=[t4:ReadWrite, t3:ReadOnly] out=[t5:NotInit]
  [registered] Float(F32, Exp) in=[t5:ReadWrite] out=[t6:NotInit]
--- drop(d)
  [registered] Drop in=[t6:ReadWrite] out=[]
--- sync()
--- launches since start: 0
--- a.read(), b.read(), c.read()
  [registered] Drop in=[t1:ReadWrite] out=[]
  [registered] Drop in=[t2:ReadWrite] out=[]
  [registered] Drop in=[t3:ReadWrite] out=[]
--- equal to ref bit for bit: $((3 * $(elements "$1"))) element(s)" drop "${@:2}"
}
each_input drop_shows
lab drop --device ref
holds 'lab drop --device ref' "$out" grep -qx -- '--- launches since start: 0' <<<"$out"

# --- chain ----------------------------------------------------------------------------

# chain_shows MAX_OPS N SHAPE OPTION...: one block for each MAX_OPS operations. A
# kernel of one operation has its name. A chain repeats, so by default one kernel
# takes all of it, up to the 512 operations of a segment.
chain_shows() {
  local max_ops=$1 n=$2 shape=$3 count lines='' at=0 size launches=0
  count=$(elements "$shape")
  while ((at < n)); do
    size=$((n - at < max_ops ? n - at : max_ops))
    local first=MulScalar kernel=elemwise_fuse
    ((at % 2 == 0)) || first=AddScalar
    ((size > 1)) || { kernel=mul_scalar && ((at % 2 == 0)) || kernel=add_scalar; }
    lines+="  [block] $size op(s), first NumericFloat(F32, $first)"$'\n'
    lines+=$(launch_line "$count" 1 "$kernel")$'\n'
    at=$((at + size)) launches=$((launches + (count > 0)))
  done
  shows "$(heading "$shape" 'fusion<cpu>')
--- let y = chain(x, $n)
--- y.read()
$lines
--- $n operation(s), launches: $launches
--- result
--- equal to ref bit for bit: $count element(s)" chain "$n" "${@:4}"
}
chain_of_100() { chain_shows 512 100 "$@"; }
chain_cut_at_65() { chain_shows 65 100 "$@" --max-ops 65; }
each_input chain_of_100
each_input chain_cut_at_65
for n in 0 1 2 3 99 101 256 257 511; do chain_shows 512 "$n" 2,2; done
for limit in 1 2 64 99 100 101; do chain_shows "$limit" 100 3 --shape 3 --max-ops "$limit" --seed 5; done

lab chain 100
fixed=$values
holds 'lab chain 100: one block' "$out" test "$(grep -c '^  \[block\] 100 op(s)' <<<"$out")" = 1
lab chain 100 --max-ops 65
holds 'lab chain 100 --max-ops 65: values' "$values" test "$values" = "$fixed"
holds 'lab chain 100 --max-ops 65: 65 and 35' "$out" \
  test "$(sed -n 's/^  \[block\] \([0-9]*\) op.*/\1/p' <<<"$out" | xargs)" = '65 35'
lab chain 100 --no-fusion
holds 'lab chain 100 --no-fusion: values' "$values" test "$values" = "$fixed"
holds 'lab chain 100 --no-fusion: launches' "$out" grep -qx -- '--- 100 operation(s), launches: 100' <<<"$out"
lab chain 2000 --seed 3
holds 'lab chain 2000: several segments' "$err" test "$status" = 0

# --- count ----------------------------------------------------------------------------

unfused_counts='3 ops -> 3 launches
    1 mul
    1 add
    1 unary: 1 exp
8 ops -> 8 launches
    2 mul_scalar
    2 add_scalar
    4 unary: 1 tanh, 1 sqrt, 1 sin, 1 exp
100 ops -> 100 launches
    50 mul_scalar
    50 add_scalar
5 expressions, 15 ops -> 15 launches
    5 mul
    5 add
    5 unary: 5 exp'

fused_counts='3 ops -> 1 launch
    1 elemwise_fuse
8 ops -> 1 launch
    1 elemwise_fuse
100 ops -> 1 launch
    1 elemwise_fuse
5 expressions, 15 ops -> 1 launch
    1 elemwise_fuse'

# Without elements there is nothing to launch.
without_launches() { sed -E -e 's/-> [0-9]+ launch(es)?$/-> 0 launches/' -e '/^    /d' <<<"$1"; }

count_shows() {
  local n fused=$fused_counts unfused=$unfused_counts
  n=$(elements "$1")
  ((n > 0)) || { fused=$(without_launches "$fused") && unfused=$(without_launches "$unfused"); }
  shows "$(heading "$1" 'fusion<cpu>')
$fused
--- equal to ref bit for bit: $((8 * n)) element(s)
$(heading "$1" cpu)
$unfused
--- equal to ref bit for bit: $((8 * n)) element(s)" count "${@:2}"
}

each_input count_shows
shows "$(heading 2,2 cpu)
$unfused_counts
--- equal to ref bit for bit: 32 element(s)" count --no-fusion
lab count --max-ops 65
holds 'lab count --max-ops 65' "$out" grep -qx '100 ops -> 2 launches' <<<"$out"
lab count --device ref --seed 4
holds 'lab count --device ref' "$out" test "$(grep -c '^8 ops -> 8 launches$' <<<"$out")" = 2

# --- stream ---------------------------------------------------------------------------

stream_shows() {
  local n
  n=$(elements "$1")
  shows "$(heading "$1" 'fusion<cpu>')
--- first thread: let y = a*1.25 + 0.5
  [registered] Init in=[] out=[t1:NotInit]
  [registered] NumericFloat(F32, MulScalar) in=[t1:ReadWrite] out=[t2:NotInit]
  [registered] NumericFloat(F32, AddScalar) in=[t2:ReadWrite] out=[t3:NotInit]
--- launches: 0
--- second thread: let z = y + 1; z.read()
  [block] 2 op(s): NumericFloat(F32, MulScalar), NumericFloat(F32, AddScalar)
$(launch_line "$n" 1 elemwise_fuse | sed 's/main/thread/')
  [registered] Alias in=[t3:ReadOnly] out=[t4:NotInit] stream=2 home=1
  [registered] NumericFloat(F32, AddScalar) in=[t4:ReadOnly] out=[t5:NotInit]
  [block] 1 op(s): NumericFloat(F32, AddScalar)
$(launch_line "$n" 1 add_scalar | sed 's/main/thread/')
  [registered] Drop in=[t5:ReadWrite] out=[]
--- launches: $((n > 0 ? 2 : 0))
--- result
--- first thread: y.read()
  [registered] Drop in=[t3:ReadWrite] out=[]
--- launches: $((n > 0 ? 2 : 0))
--- equal to ref bit for bit: $((2 * n)) element(s)" stream "${@:2}"
}
each_input stream_shows

lab stream
holds 'lab stream: values' "$values" has_values 2.75 4 5.25 6.5
lab stream --device ref
holds 'lab stream --device ref' "$out" test "$(sed -n 's/^--- launches: //p' <<<"$out" | xargs)" = '0 3 3'

# --- error ----------------------------------------------------------------------------

# What comes after `bad` was called: LINES while good is read, and then the failure.
failure() { # failure ELEMENTS STATUS TEXT LINES
  echo "--- let worse = bad + 1; let good = a*10
--- good.read()
$4
--- result
--- bad.read()
$2: $3
--- worse.read()
$2: $3
--- let next = a*10; next.read()
  [block] 1 op(s): NumericFloat(F32, MulScalar)
$(launch_line "$1" 1 mul_scalar)
--- equal to ref bit for bit: $((2 * $1)) element(s)"
}

failed_call() { # failed_call ELEMENTS
  local text='concat: the operands belong to different contexts (smelt_to_device copies one)'
  echo "--- let bad = concat([a, b]), b on another device
  [poison] $text"
  failure "$1" SMELT_ERR_DEVICE "$text" "  [block] 1 op(s): NumericFloat(F32, MulScalar)
$(launch_line "$1" 1 mul_scalar)"
}

failed_launch() { # failed_launch ELEMENTS
  local text='failing: the kernel could not be launched'
  (($1 > 0)) || return 0
  echo '--- let bad = failing(a)'
  failure "$1" SMELT_ERR_LAUNCH "$text" "\
  [block] 1 op(s): Custom(F32, failing)
  [block] 2 op(s): NumericFloat(F32, AddScalar), NumericFloat(F32, MulScalar)
$(launch_line "$1" 1 mul_scalar)
  [poison] t2: $text"
}

error_shows() {
  local n
  n=$(elements "$1")
  shows "$(heading "$1" 'fusion<cpu>')
$(failed_call "$n")
$(failed_launch "$n")" error "${@:2}"
}
each_input error_shows

lab error
holds 'lab error: values' "$values" has_values 10 20 10 20
lab error --device ref
holds 'lab error --device ref' "$out$err" test "$status$(grep -c '^SMELT_ERR' <<<"$out")" = 04
lab error --device null:metal
holds 'lab error --device null:metal' "$out$err" test "$status$(grep -c '^SMELT_ERR' <<<"$out")" = 02

# --- vec ------------------------------------------------------------------------------

# layout EXTENTS: on metal, the largest width of 4, 2, 1 that divides the last extent, a
# vector a thread, in groups of 64, 128 or 256.
layout() {
  local n last=${1##*,} width=4 vectors threads=64
  n=$(elements "$1")
  while ((${last//[\[\]]/} % width)); do width=$((width / 2)); done
  vectors=$((n / width))
  while ((threads < 256 && 2 * threads <= vectors)); do threads=$((2 * threads)); done
  ((n == 0)) || echo "  [layout] over $1 width=$width items=$n threads=$threads groups=$(((vectors + threads - 1) / threads))"
}

vec_shows() {
  local shape=${1//[\[\]]/} n
  n=$(elements "$1")
  shows "--- null:metal, flatten on
--- exp(a*b + c) of f32[$shape]
$(layout "[$n]")
$(launch_line "$n" 3 elemwise_fuse)
--- not compared with ref: null:metal computes nothing
--- null:metal, flatten off
--- exp(a*b + c) of f32[$shape]
$(layout "[${shape:-1}]")
$(launch_line "$n" 3 elemwise_fuse)
--- not compared with ref: null:metal computes nothing" vec --device null:metal "${@:2}"
}
each_input vec_shows

# part DEVICE SWITCH: of the last output, what is between that heading and the next.
part() { sed -n "/^--- $1, flatten $2\$/,/^--- \(not\|equal\)/p" <<<"$out"; }
each() { sed -nE "s/.*$1.*/\1/p" | xargs; } # each PATTERN: its first group on every line that has it

lab vec
for device in null:metal null:cuda-sm90; do
  least=64
  [[ $device == null:metal ]] || least=32
  for flatten in on off; do
    shown=$(part "$device" "$flatten")
    widths='2 1 2 4'
    [[ $flatten == off ]] || widths='4 4 4 4'
    holds "lab vec: widths, $device, $flatten" "$shown" test "$(each 'width=([0-9]+)' <<<"$shown")" = "$widths"
    holds "lab vec: threads, $device, $flatten" "$shown" \
      test "$(each 'threads=([0-9]+)' <<<"$shown")" = "$least $least $least 256"
    read -r two three six many < <(each '(elemwise_fuse_[0-9a-f]+)' <<<"$shown")
    holds "lab vec: [2,2] and [4,6], $device, $flatten" "$shown" test "$two" = "$six"
    differ='!='
    [[ $flatten == off ]] || differ='='
    holds "lab vec: [4,3], $device, $flatten" "$shown" test "$two" "$differ" "$three"
    holds "lab vec: [64,64], $device, $flatten" "$shown" test "$two" "$differ" "$many"
  done
done
for flatten in on off; do
  shown=$(part null:cpu-avx512 "$flatten")
  holds "lab vec: cpu-avx512, $flatten" "$shown" test "$(each 'width=([0-9]+)' <<<"$shown")" = '16 16 16 16'
  grains='16 16 16 16'
  [[ $flatten == on ]] || grains='2 3 6 64'
  holds "lab vec: grains, $flatten" "$shown" test "$(each 'grain=([0-9]+)' <<<"$shown")" = "$grains"
  shown=$(part cpu "$flatten")
  holds "lab vec: cpu, $flatten" "$shown" grep -qx -- '--- equal to ref bit for bit: 4136 element(s)' <<<"$shown"
done
lab vec --device cpu --shape 1,3,1,5,2,7 --seed 6
holds 'lab vec: many axes' "$out" test "$(grep -cx -- '--- equal to ref bit for bit: 210 element(s)' <<<"$out")" = 2
SMELT_FLATTEN=2 lab ir
holds 'SMELT_FLATTEN=2' "$err" grep -q 'SMELT_FLATTEN is "2"' <<<"$err"

# --- layout ---------------------------------------------------------------------------

# transposed_strides SHAPE: what the log says of the transpose of a dense tensor, nothing
# if it is row-major.
transposed_strides() {
  local extent stride=1 extents long=0 strides=
  read -ra extents <<<"${1//[^0-9]/ }"
  for ((axis = ${#extents[@]} - 1; axis >= 0; axis--)); do
    extent=${extents[axis]}
    strides+=,$((extent > 1 ? stride : 0))
    stride=$((stride * extent)) long=$((long + (extent > 1)))
  done
  ((long < 2)) || echo " t5 strides=[${strides#,}]"
}

# The sum of two transposed tensors is one loop over their memory; whatever is summed has
# the values of ref.
layout_shows() {
  local n expected line
  n=$(elements "$1")
  line=$(layout "[$n]")
  expected="--- let d = a.T + b.T
${line:+$line$(transposed_strides "$1")
}$(launch_line "$n" 2 add)
--- launches: $((n > 0))"
  lab layout --device null:metal "${@:2}"
  holds "lab layout ${*:2}" "$out" test "$(sed -n '2,/^--- launches/p' <<<"$(transcript)")" = "$(sed '/^$/d' <<<"$expected")"
  lab layout "${@:2}"
  holds "lab layout ${*:2}: values" "$out$err" \
    test "$status$(grep -cx -- "--- equal to ref bit for bit: $n element(s)" <<<"$out")" = 03
}
each_input layout_shows

lab layout
holds 'lab layout: over one axis, over two, and transposed' "$out" \
  test "$(each 'layout\] over (\[[0-9,]*\])' <<<"$out")" = '[6] [3,2] [2,3]'
holds 'lab layout: strides' "$out" test "$(each '(t[0-9] strides=.*)' <<<"$out")" = 't5 strides=[1,3] t7 strides=[1,3]'
holds 'lab layout: launches' "$out" test "$(each 'launches: (.*)' <<<"$out")" = '1 1 1'
holds 'lab layout: values' "$values" has_values 3 9 5 3 7 5 4 8 7 7 6 6 6 13 10 9 10 9
lab layout --no-fusion
holds 'lab layout --no-fusion' "$out" test "$(each 'launches: (.*)' <<<"$out")" = '1 1 2'
lab layout --device ref
holds 'lab layout --device ref' "$out" test "$(each 'launches: (.*)' <<<"$out")" = '3 2 4'

# --- bench ----------------------------------------------------------------------------

# The transcript without times.
without_times() { sed -E 's/[0-9.]+ (ms|times)/T \1/' <<<"$out"; }

# bench_half DEVICE SHAPE LAUNCHES KERNELS ARRAYS: five runs over so many arrays each.
bench_half() {
  local n launches=$3 kernels=$4
  n=$(elements "$2")
  ((n > 0)) || launches=0 kernels=0
  echo "$(heading "$2" "$1")
--- let d = exp(a*b + c), for 5 sets of inputs; sync()
cold: T ms, launches $launches, kernels compiled $kernels
warm: T ms, launches $launches, kernels compiled 0
for each set: T ms, $(awk -v n="$n" -v arrays="$5" 'BEGIN { printf "%.2f", n * arrays * 4 / 2^20 }') MiB
--- equal to ref bit for bit: $((5 * n)) element(s)"
}

bench_shows() {
  local problem
  lab bench "${@:2}"
  problem=$(diff <(bench_half 'fusion<cpu>' "$1" 1 1 4 && bench_half cpu "$1" 15 3 8 &&
    echo '--- with fusion T times as fast') <(without_times | sed -E '/, inputs f32/s/cpu<[a-z]+>/cpu/')) || true
  [[ $status == 0 && -z $err ]] || problem="status $status: $err"
  verdict "lab bench ${*:2}" "$problem"
}
for shape in 8,16 0,3 '[]' 512,1024; do bench_shows "$shape" --shape "$shape"; done
bench_shows 3,5,7 --shape 3,5,7 --seed 9
lab bench --no-fusion --shape 4
holds 'lab bench --no-fusion' "$out" test "$(grep -c '^cold' <<<"$out")" = 1

# --- The environment changes nothing that is asked for -----------------------------------

export SMELT_FUSION=0
count_shows 2,2
unset SMELT_FUSION

# --- sum, norm --------------------------------------------------------------------------

# sum_shows SHAPE OPTION...: a launch that reads each element once and writes a number;
# of nothing too.
sum_shows() {
  local count
  count=$(elements "$1")
  shows "$(heading "$1" 'fusion<cpu>')
--- let d = sum(y) + 1
--- d.read()
  [block] 2 op(s): NumericFloat(F32, Sum), NumericFloat(F32, AddScalar)
  [launch] [main] Reduce reduce_fuse_HASH read=$((4 * count)) written=4
--- launches: 1, read $((4 * count)) of $((4 * count)) byte(s), written 4 of 4
--- result
--- equal to ref bit for bit: 1 element(s)" sum "${@:2}"
}
each_input sum_shows
lab sum
holds 'lab sum: values' "$values" has_values 11
lab sum --no-fusion --shape 7
holds 'lab sum --no-fusion' "$out" grep -qx -- '--- launches: 2, read 32 of 28 byte(s), written 8 of 4' <<<"$out"

# One launch each, which reads what there is once and writes what is wanted. (A row of one
# element is no row to the fuser.)
for shape in 2 4,3 2,300 3,5,70; do
  bytes=$((4 * $(elements "$shape")))
  for option in '' '--seed 3'; do
    # shellcheck disable=SC2086 # an option and its value are two words
    lab norm --shape "$shape" $option
    holds "lab norm --shape $shape $option" "$out$err" test "$status" = 0
    holds "lab norm --shape $shape $option: values" "$out" \
      test "$(grep -cx -- "--- equal to ref bit for bit: $(elements "$shape") element(s)" <<<"$out")" = 3
    holds "lab norm --shape $shape $option: one launch each" "$out" test 3 = "$(grep -cx -- \
      "--- launches: 1, read $bytes of $bytes byte(s), written $bytes of $bytes" <<<"$out")"
  done
done
lab norm --no-fusion
holds 'lab norm --no-fusion' "$out" test "$(sed -n 's/^--- launches: \([0-9]*\),.*/\1/p' <<<"$out" | xargs)" = '5 7 5'
lab norm
holds 'lab norm: values' "$values" has_values 0.26894143 0.7310586 0.26894143 0.7310586 \
  -0.99998 0.99998 -0.99998 0.99998 0.6324543 1.2649086 0.8485278 1.1313704
lab norm --shape '[]'
holds 'lab norm: no axis' "$err" grep -q 'there is no axis -1' <<<"$err"

# --- Wrong arguments ------------------------------------------------------------------------

lab --help
for mode in ir inplace drop 'chain N' count vec layout sum norm bench; do
  holds "lab --help: $mode" "$out" grep -q "^  $mode " <<<"$out"
done
refuses 'no mode'
refuses "no mode 'nope'" nope
refuses 'chain wants a number' chain
refuses "chain wants a number, not 'x'" chain x
refuses "chain wants a number, not '-1'" chain -- -1
refuses "ir takes no '5'" ir 5
refuses 'too many arguments' chain 1 2
refuses "no option '--nope'" ir --nope
refuses "option '--seed' needs a value" ir --seed
refuses "--seed 'x' is not a whole number" ir --seed x
refuses "--max-ops wants a number above 0, not '0'" ir --max-ops 0
for shape in '' x '2,' ',2' '2,,3' -1 2x '[2' '2]' '[[2]]' 1.5 99999999999999999999 9223372036854775807,9 \
  1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1; do
  refuses "--shape '$shape' is no shape" ir --shape "$shape"
done
refuses 'nope' ir --device nope
refuses 'profile' ir --device null:nope
lab ir --shape 1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1
holds 'lab ir: 16 axes' "$err" test "$status" = 0

printf '%d passed, %d failed\n' "$passed" "$failed"
((failed == 0))
