#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# run-cli-tests.sh SMELT: runs the command SMELT in an empty folder, case by
# case, and ends with "N passed, N failed". A case is one line:
#
#   prints OUTPUT ARGUMENT...         exactly this on standard output, status 0
#   refuses PART ARGUMENT...          status 2, one line with PART on standard error
#   points PART PLACE ARGUMENT...     the same, followed by the lines PLACE
#   breaks PART ARGUMENT...           status 1, PART on standard error, if nothing can be printed
set -uo pipefail

[[ $# -eq 1 && -x $1 ]] || { echo "usage: $0 PATH_TO_SMELT" >&2 && exit 2; }
smelt=$(realpath "$1")
manual=$(realpath "$(dirname "$0")/../../docs/eval.md")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
for variable in "${!SMELT_@}"; do unset "$variable"; done
passed=0
failed=0

# verdict NAME PROBLEM: the case passed if there is no problem.
verdict() {
  if [[ -z $2 ]]; then
    passed=$((passed + 1))
  else
    failed=$((failed + 1))
    printf 'FAILED smelt %s\n  %s\n' "${1:0:200}" "${2:0:1000}"
  fi
}

# run ARGUMENT...: fills status, out and err.
run() {
  timeout 60 "$smelt" "$@" >stdout 2>stderr
  status=$?
  out=$(<stdout) err=$(<stderr)
  rm -f stdout stderr
}

prints() {
  local expected=$1 problem=
  shift
  run "$@"
  [[ -z $err ]] || problem="standard error: $err"
  [[ $out == "$expected" ]] || problem="printed: $out; expected: $expected"
  [[ $status == 0 ]] || problem="status $status: $err"
  verdict "$*" "$problem"
}

contains() { # contains PART ARGUMENT...: status 0 and PART on standard output
  local part=$1 problem=
  shift
  run "$@"
  [[ $out == *"$part"* ]] || problem="printed: $out; expected: …$part…"
  [[ $status == 0 && -z $err ]] || problem="status $status: $err"
  verdict "$*" "$problem"
}

points() {
  local part=$1 place=$2 problem='' first rest
  shift 2
  run "$@"
  first=${err%%$'\n'*} rest=${err#"$first"}
  [[ ${rest#$'\n'} == "$place" ]] || problem="place: $rest"
  [[ $first == "smelt: "*"$part"* ]] || problem="message: $first; expected: …$part…"
  [[ -z $out ]] || problem="printed: $out"
  [[ $status == 2 ]] || problem="status $status: $err"
  verdict "$*" "$problem"
}

refuses() { # refuses PART ARGUMENT...
  local part=$1
  shift
  points "$part" '' "$@"
}

breaks() { # standard output is a device that is always full
  local part=$1 problem=
  shift
  err=$(timeout 60 "$smelt" "$@" 2>&1 >/dev/full)
  status=$?
  [[ $err == *"$part"* && $status == 1 ]] || problem="status $status: $err"
  verdict "$*" "$problem"
}

# holds NAME PROBLEM COMMAND...: the command succeeds.
holds() {
  local name=$1 problem=$2
  shift 2
  if "$@"; then problem=; fi
  verdict "$name" "$problem"
}

same() { holds "same $*" "$1 and $2 differ" cmp -s "$1" "$2"; }

# Nothing but the named files is in the folder.
only() {
  local found
  found=$(find . -mindepth 1 -printf '%f\n' | LC_ALL=C sort | xargs)
  holds "only $*" "there are: $found" test "$found" = "$*"
}

# shows COMMAND OUTPUT: the words after `$ smelt` print this, errors included.
shows() {
  local actual problem=
  actual=$(eval "timeout 60 \"\$smelt\" $1" 2>&1)
  [[ $actual == "${2%$'\n'}" ]] || problem="printed: $actual"
  verdict "$1" "$problem"
}

# examples FILE: every example of the manual shows what it says.
examples() {
  local line command='' output=''
  while IFS= read -r line; do
    if [[ $line == '$ smelt '* || $line == '```' ]]; then
      [[ -z $command ]] || shows "$command" "$output"
      command=${line#'$ smelt '} output=
      [[ $line != '```' ]] || command=
    else
      output+=$line$'\n'
    fi
  done <"$1"
}

# npy FILE DESCR FORTRAN SHAPE BYTES: a file made without Smelt. The header is
# padded so that data starts at 128.
npy() {
  local header="{'descr': '$2', 'fortran_order': $3, 'shape': $4, }"
  printf '\x93NUMPY\x01\x00\x76\x00%-117s\n' "$header" >"$1"
  printf '%b' "$5" >>"$1"
}

# --- The command itself -------------------------------------------------------------

contains 'usage: smelt COMMAND' --help
contains 'smelt 0.' --version
refuses "no command 'evil'" evil
contains 'usage: smelt eval' eval --help
refuses '/dev/full: a trace needs a regular file' eval --trace /dev/full 1
refuses "--emit 'rust': there is only c" run --emit rust x.smt
refuses '--explain=x: there is only --explain=json' eval --explain=x 1
contains 'usage: smelt ops' ops --help
contains 'add(x, y)                            x + y    Sum' ops
contains 'where(x, y, z)' ops where
contains 'a bool tensor' ops where
contains 'full(shape, x, dtype)' ops full
refuses "no operation 'nope'" ops nope
refuses 'one name at most' ops add mul
refuses 'one action at most' cache ls verify
refuses "no option '--nope'" ops --nope
refuses 'no expression' eval
refuses "no option '--nope'" eval 1 --nope
refuses "goes after '--'" eval -x x=1
refuses "option '-o' needs a value" eval 1 -o
refuses "option '--no-fusion=1': no value is taken" eval 1 --no-fusion=1
refuses "option '--seed' needs a value" eval 1 --seed
refuses "--seed 'x' is not a whole number" eval 1 --seed x
refuses "--seed '-1' is not a whole number" eval 1 --seed -1
refuses 'foo' eval 1 --device foo
prints -1 eval -- -x x=1
prints 2 eval --seed 0x10 --device ref --no-fusion x x=2
refuses "--mode: there is no mode 'loose', but strict, default and fast" eval 1 --mode loose
refuses "--mode: there is no mode 'loose'" run --mode loose x.smt
refuses "--mode: there is no mode 'loose'" lab ir --mode loose
breaks 'standard output' eval 1

# --- Values --------------------------------------------------------------------------

prints 3 eval '1 + 2'
prints 0.3333333333333333 eval 1/3
prints 1.4142135623730951 eval 'sqrt(2)'
prints 1024 eval '2**10'
prints 512 eval '2**3**2'
prints -4 eval -- '-2**2'
prints 2 eval -- '-7 % 3'
prints 0.001 eval 1e-3
prints 1000 eval 1_000
prints 16 eval 0x10
prints 3.141592653589793 eval pi
prints inf eval inf
prints nan eval 'inf - inf'
prints True eval 'True'
prints False eval '~true'
prints False eval 'not 1 < 2'
prints -9223372036854775808 eval -- -9223372036854775808
prints 18446744073709551615 eval 18446744073709551615
prints '[1 2 3]' eval '[1, 2, 3]'
prints '[1.  2.5]' eval '[1, 2.5]'
prints '[ True False]' eval '[True, false]'
prints $'[[1 2]\n [3 4]]' eval '[[1, 2], [3, 4]]'
prints '[]' eval '[]'
prints '[3.1415927      -inf       nan]' eval '[pi, -inf, nan]'
prints '[[[[[[[[[[[[[[[[1]]]]]]]]]]]]]]]]' eval '[[[[[[[[[[[[[[[[1]]]]]]]]]]]]]]]]'
prints '[2 3]' eval '[1 + 1, n]' n=3
prints '[1 2]' eval $'[1,\n 2]'

# --- Variables ------------------------------------------------------------------------

prints '[ 5. 10. 17. 26.]' eval 'a*b + c' a='[1.,2,3,4]' b='[2.,3,4,5]' c='[3,4.,5,6]'
prints '[ 2.  6. 12.]' eval 'x*x + x' x='[1.,2,3]'
prints '[ 8. 16.]' eval 't = a*2; t = t + t; t + t' a='[1.,2]'
prints 5 eval 'y + x' x=2 y='x + 1'
prints '[7]' eval e e='[7]'
prints '[1 2]' eval 'exp' exp='[1, 2]'
prints 3 eval 'a' a=1 a=3
prints 2 eval 'unused = x; 2' x='[1.]'
prints 3 eval 't = 1 + 2'
prints $'t = [1 2]\n2 = [2 4]' eval 't = x; t, t + t' x='[1,2]'
prints $'1 = [[2 3]\n     [4 5]]\n2 = 1' eval 'x + 1, 1' x='[[1,2],[3,4]]'
prints '1' eval '1,'
prints '[1 2]' eval ';; x ;' x='[1,2]'

# --- Operators and calls ------------------------------------------------------------------

prints '[ True False]' eval '(x > 0) & (x < 2)' x='[1, 2]'
prints '[-2 -3]' eval '~x' x='[1, 2]'
prints '[4 8]' eval 'x << 2' x='[1, 2]'
prints '[0 0 3]' eval 'where(x > 2, x, 0)' x='[1,2,3]'
prints '[1 2 2]' eval 'clip(x, 1, 2)' x='[0,2,3]'
prints '[0.5 1. ]' eval 'div(x, 2)' x='[1., 2]'
prints '[-1  0]' eval 'neg(mul(sub(x, 1), 1))' x='[2, 1]'
prints '[1. 2.]' eval "astype(x, 'f32')" x='[1, 2]'
prints '[1 2]' eval 'astype(x, i32)' x='[1.9, 2.1]'
prints '[1 2]' eval 'astype(x, dtype=i32)' x='[1.9, 2.1]'
prints $'[[0. 0. 0.]\n [0. 0. 0.]]' eval 'zeros(2, 3)'
prints $'[[1 1]\n [1 1]]' eval 'ones([2, 2], i32)'
prints '[0 0]' eval 'zeros((2,), dtype=u8)'
prints '[0. 0.]' eval 'zeros(shape=[n])' n=2
prints 0.0 eval 'zeros([])'
prints 0.0 eval 'zeros(())'
prints '[]' eval 'zeros(0, 3)'
prints '[7. 7.]' eval 'full(2, 7)'
prints '[7 7]' eval 'full([2], 7, i64)'
prints '[ True  True]' eval 'full([2], True)'
prints '[0 1 2]' eval 'arange(3)'
prints '[10  7  4  1]' eval 'arange(10, 0, -3)'
prints '[0.  0.5]' eval 'arange(0, 1, 0.5)'
prints '[0. 1.]' eval 'arange(2, f64)'
prints '[0 1]' eval 'arange(2, dtype=i32)'
prints '[3 4]' eval 'arange(3, 5)'
prints '[ 20. 200.]' eval 'x*x - x*x + 2*x' x='[10.,100]' --no-fusion
run eval 'rand(4)' && first=$out
prints "$first" eval 'rand(4)' --seed 0
prints '[ 0.1  2.  65.5]' eval 'astype(x, f16)' x='[0.1, 2, 65.5]'
prints '[ 0.1  2.  65.5]' eval 'astype(x, bf16)' x='[0.1, 2, 65.5]'
prints 3.0 eval 'square(sqrt(x))' x='full([], 3, f16)' --mode default
prints 3.002 eval 'square(sqrt(x))' x='full([], 3, f16)' --mode strict
prints 3.0 eval 'square(sqrt(x))' x='full([], 3, f16)' --mode fast
prints "$first" eval 'rand([4])' --device ref
run eval 'rand(4)' --seed 1
holds seed "the seed changes nothing: $out" test "$out" != "$first"
prints True eval 'x == x' x='rand([])'

# --- Views and selections ------------------------------------------------------------------------

ref() { prints "$1" eval --device ref "${@:2}"; }
ref $'[[0 3]\n [1 4]\n [2 5]]' 'reshape(arange(6), 2, -1).T'
ref $'[[0 3]\n [1 4]\n [2 5]]' 'permute_dims(reshape(arange(6), (2, 3)), [1, 0])'
ref '5' 'x[1, 2]' x='reshape(arange(6), 2, 3)'
ref '[5 2]' 'x[::-1, -1]' x='reshape(arange(6), 2, 3)'
ref '[2 5]' 'x[..., -1]' x='reshape(arange(6), 2, 3)'
ref '[[3 4]]' 'x[1:, :2][...]' x='reshape(arange(6), 2, 3)'
ref '[3 1]' 'x[3:0:-2]' x='arange(6)'
ref '[3 1]' 'x[a:][b:c:-2]' x='arange(6)' a=0 b=3 c=0
ref '[]' 'x[:-9223372036854775808]' x='arange(6)'
ref '[5]' 'x[::-9223372036854775808]' x='arange(6)'
ref '[2 1 0]' 'flip(arange(3))'
ref '[[2 1 0]]' 'flip([[0, 1, 2]], 1)'
ref '[[2 1 0]]' 'flip([[0, 1, 2]], axes=[0, -1])'
ref $'[[0]\n [1]]' 'swapaxes([[0, 1]], 0, 1)'
ref $'[[0]\n [1]]' 'expand_dims(arange(2), -1)'
ref '[0 1]' 'squeeze([[[0, 1]]])'
ref '[[0 1]]' 'squeeze([[[0, 1]]], axes=0)'
ref $'[[0 1]\n [0 1]]' 'broadcast_to(arange(2), 2, 2)'
ref $'[[ 3.]\n [12.]]' 'sum([[0., 1, 2], [3, 4, 5]], axis=-1, keepdims=True)'
ref '[3 5 7]' 'sum([[0, 1, 2], [3, 4, 5]], 0)'
ref '15.0' 'sum([[0, 1, 2], [3, 4, 5]], axis=[0, 1], dtype=f64)'
ref '[[0.5 0.5]]' 'softmax([[1., 1]], axis=1)'
ref '1.0' 'var([1., 2, 3], correction=1)'
ref '[1 0]' 'argmax([[1, 3, 3], [2, 2, 0]], 1)'
ref $'1 = [ 3. nan]\n2 = [0 1]' 'max_with_indices([[3., -1, 3], [0, nan, nan]], 1)'
ref $'i = [[1]]\n2 = -2' 'v, i = min_with_indices([[1, -1]], axis=1, keepdims=true); i, 2*sum(v)'
ref '[[-1.  1. -1.  1.]]' 'group_norm([[1., 3, 5, 7]], 2, eps=0)'
ref '[1000.]' 'cross_entropy([[1000., 0]], [1], axis=1)'
ref '[20 30 30 10]' 'take([10, 20, 30], [1, -1, 99, -99], axis=0)'
ref $'[[2]\n [3]]' 'take_along_axis([[1, 2], [3, 4]], [[1], [0]], 1)'
ref '[0 1 7 0 1]' 'concat([x, [7], x], axis=0)' x='arange(2)'
ref '[0 1 0 1]' 'concat((x, x), 0)' x='arange(2)'
ref '[0 0 0 0 0 0 0 0 0 0]' 'concat([z, z, z, z, z, z, z, z, z, z], 0)' z='[0]'

# --- Faults in expressions -------------------------------------------------------------------

points 'unexpected end' $'  a +\n     ^' eval 'a +'
points "unexpected '*'" $'  a + * b\n      ^' eval 'a + * b'
points "'(' is never closed" $'  exp(1\n     ^' eval 'exp(1'
points 'empty' $'  \n  ^' eval ''
points "unexpected character '×'" $'  a × b\n    ^' eval 'a × b'
points "unexpected character '日'" $'  astype(a, \'日本\') + 日\n                      ^' eval "astype(a, '日本') + 日"
points "'b' is not known" $'  astype(1, \'äö\') + b\n                    ^' eval "astype(1, 'äö') + b"
points 'cannot be chained' $'  a < b < c\n        ^' eval 'a < b < c'
points "'and' is not supported: use &" $'  a and b\n    ^' eval 'a and b'
points "'or' is not supported: use |" $'  a or b\n    ^' eval 'a or b'
points 'unexpected byte 0xFF' $'  1 + ?\n      ^' eval $'1 + \xff'
points "'a' is not known: give it as a=FILE.npy" $'  1 + a\n      ^' eval '1 + a'
points "'exp' is an operation" $'  exp + 1\n  ^' eval 'exp + 1'
points "no operation 'foo'" $'  1 + foo(2)\n      ^' eval '1 + foo(2)'
points 'add(f32[2], f32[3]): the shapes do not broadcast' $'  2 * (a + b)\n         ^' \
  eval '2 * (a + b)' a='[1.,2]' b='[1.,2,3]'
points 'add(f32[2], i64[2])' $'  a + b\n    ^' eval 'a + b' a='[1.,2]' b='[1,2]'
points 'float scalar' $'  a + 0.5\n    ^' eval 'a + 0.5' a='[1]'
points 'matmul' $'  a @ a\n    ^' eval 'a @ a' a='[1.]'
points "'f32' is a dtype, not a value" $'  f32 + 1\n  ^' eval 'f32 + 1'
points 'is text' $'  \'x\'\n  ^' eval "'x'"
points 'has to be a dtype' $'  astype(x, 3)\n            ^' eval 'astype(x, 3)' x='[1]'
points 'has to be a dtype' $'  astype(x, \'foo\')\n            ^' eval "astype(x, 'foo')" x='[1]'
points 'dtype is missing' $'  astype(x)\n  ^' eval 'astype(x)' x='[1]'
points 'shape is missing' $'  zeros(dtype=f32)\n  ^' eval 'zeros(dtype=f32)'
points 'an extent has to be' $'  zeros(2, -1)\n           ^' eval 'zeros(2, -1)'
points 'an extent has to be' $'  zeros(1.5)\n        ^' eval 'zeros(1.5)'
points 'a number, not a tensor' $'  zeros(a)\n        ^' eval 'zeros(a)' a='[1]'
points 'not nested' $'  zeros([[1]])\n         ^' eval 'zeros([[1]])'
points 'takes 2 operands, 1 given' $'  add(1)\n  ^' eval 'add(1)'
points 'takes 1 to 3 operands, 0 given' $'  arange()\n  ^' eval 'arange()'
points 'too many' $'  exp(1, 2)\n         ^' eval 'exp(1, 2)'
points "argument 'axis' is not known" $'  exp(x, axis=1)\n              ^' eval 'exp(x, axis=1)' x='[1.]'
points "'dtype' is given twice" $'  ones(1, dtype=f32, dtype=f64)\n                           ^' \
  eval 'ones(1, dtype=f32, dtype=f64)'
points 'there is no index 2 on axis 1, which has extent 2' $'  x[0, 2]\n       ^' eval 'x[0, 2]' x='[[1, 2]]'
points 'more indices than axes, of which there are 1' $'  x[0, 0]\n       ^' eval 'x[0, 0]' x='[1]'
points 'an index is a number or a range' $'  x[[0]]\n    ^' eval 'x[[0]]' x='[1]'
points 'an index is a number or a range' $'  x[x]\n    ^' eval 'x[x]' x='[1]'
points 'an index has to be an integer' $'  x[0.5]\n    ^' eval 'x[0.5]' x='[1]'
points 'an index has to be an integer' $'  x[:True]\n     ^' eval 'x[:True]' x='[1]'
points 'the step of a range is not zero' $'  x[::0]\n    ^' eval 'x[::0]' x='[1]'
points "'...' stands for axes once only" $'  x[..., ...]\n         ^' eval 'x[..., ...]' x='[1]'
points 'slice is written behind the operand' $'  slice(x, 1)\n  ^' eval 'slice(x, 1)' x='[1]'
points 'the axis is missing' $'  expand_dims(x)\n  ^' eval 'expand_dims(x)' x='[1]'
points 'a pair of axes is missing' $'  swapaxes(x)\n  ^' eval 'swapaxes(x)' x='[1]'
points '2 axes have to be given' $'  swapaxes(x, 0)\n  ^' eval 'swapaxes(x, 0)' x='[1]'
points 'an axis has to be an integer' $'  flip(x, 0.5)\n          ^' eval 'flip(x, 0.5)' x='[1]'
points 'an axis has to be an integer' $'  flip(x, 4294967296)\n          ^' eval 'flip(x, 4294967296)' x='[1]'
points 'axis 1 is not between -1 and 0' $'  flip(x, 1)\n  ^' eval 'flip(x, 1)' x='[1]'
points 'or -1 to be found out' $'  reshape(x, -2)\n             ^' eval 'reshape(x, -2)' x='[1]'
points 'the shape is missing' $'  reshape(x)\n  ^' eval 'reshape(x)' x='[1]'
points 'keepdims is true or false' $'  sum(x, 0, 1)\n            ^' eval 'sum(x, 0, 1)' x='[1]'
points 'the axis is missing' $'  softmax(x)\n  ^' eval 'softmax(x)' x='[1.]'
points 'max_with_indices has two results' $'  max_with_indices(x) + 1\n  ^' eval 'max_with_indices(x) + 1' x='[1.]'
points 'a name takes one value' $'  a = max_with_indices(x)\n      ^' eval 'a = max_with_indices(x)' x='[1.]'
points 'there is only one result' $'  a, b = exp(x)\n         ^' eval 'a, b = exp(x)' x='[1.]'
points "argument 'indices' is not known" $'  max_with_indices(x, indices=1)\n                              ^' \
  eval 'max_with_indices(x, indices=1)' x='[1.]'
points 'the number of groups is missing' $'  group_norm(x)\n  ^' eval 'group_norm(x)' x='[[1.]]'
points 'groups is an integer' $'  group_norm(x, 1.5)\n                ^' eval 'group_norm(x, 1.5)' x='[[1.]]'
points 'ord has to be a number' $'  vector_norm(x, ord=true)\n                     ^' eval 'vector_norm(x, ord=true)' x='[1.]'
points 'concat takes a list of tensors' $'  concat(x, 0)\n         ^' eval 'concat(x, 0)' x='[1]'
points 'concat takes a list of tensors' $'  concat(axis=0)\n  ^' eval 'concat(axis=0)'
points 'there is no tensor' $'  concat([], 0)\n  ^' eval 'concat([], 0)'
points 'the operands have to be tensors' $'  concat([1, 2], 0)\n  ^' eval 'concat([1, 2], 0)'
points 'attributes and methods are not supported, except .T' $'  x.shape\n   ^' eval 'x.shape' x='[1]'
points 'step is zero' $'  arange(0, 1, 0)\n  ^' eval 'arange(0, 1, 0)'
points 'differ in length' $'  [[1, 2], [3]]\n           ^' eval '[[1, 2], [3]]'
points 'differ in depth' $'  [1, [2]]\n      ^' eval '[1, [2]]'
points 'not both' $'  [True, 1]\n         ^' eval '[True, 1]'
points 'at most 16 axes' $'  [[[[[[[[[[[[[[[[[1]]]]]]]]]]]]]]]]]\n                  ^' \
  eval '[[[[[[[[[[[[[[[[[1]]]]]]]]]]]]]]]]]'
points 'fit i64' $'  [18446744073709551615]\n   ^' eval '[18446744073709551615]'
points 'a tuple is only' $'  (1, 2) + 1\n  ^' eval '(1, 2) + 1'
points 'one value' $'  t = 1, 2\n      ^' eval 't = 1, 2'
points 'no value in ()' $'  ()\n  ^' eval '()'
points "unexpected end" $'  2 *\n     ^' eval 'x' x='2 *'
refuses "'x' has to be one expression" eval x x='1; 2'
refuses "'2' is not NAME=FILE.npy" eval 1 2

shown=$(printf '(%.0s' {1..80})
points 'nested deeper than' "$(printf '  ...%s...\n  %51s^' "$shown" '')" eval "$(printf '(%.0s' {1..100000})"
prints '[ 5000. 10000.]' eval "$(printf 'a+%.0s' {1..4999})a" a='[1.,2]'
only

# --- Files ----------------------------------------------------------------------------------

one='\x00\x00\x80\x3f' two='\x00\x00\x00\x40' three='\x00\x00\x40\x40' four='\x00\x00\x80\x40'
npy a.npy '<f4' False '(2, 2)' "$one$two$three$four"
npy f.npy '<f4' True '(2, 2)' "$one$three$two$four"
npy big.npy '>i2' False '(2,)' '\x00\x01\xff\xfe'
npy bool.npy '|b1' False '()' '\x01'
npy empty.npy '<f8' False '(0, 3)' ''
prints $'[[1. 2.]\n [3. 4.]]' eval a a=a.npy
prints $'[[1. 2.]\n [3. 4.]]' eval f f=f.npy
prints '[ 1 -2]' eval x x=big.npy
prints 'True' eval x x=bool.npy
prints '[]' eval 'x + 1' x=empty.npy
prints '' eval 'a + f - a' a=a.npy f=f.npy -o sum.npy
same sum.npy a.npy
prints '' eval 't = a*2; t, t/2' a=a.npy -o 2=half.npy -o t=double.npy
same half.npy a.npy
prints $'[[2. 4.]\n [6. 8.]]' eval x x=double.npy
prints '' eval 'x' x=./a.npy --output ./copy.npy
same copy.npy a.npy
prints '' eval 'a' a=a.npy -o a.npy
same copy.npy a.npy
prints '' eval 't = a + 1; 1' a=a.npy -o t=t.npy
prints '[2. 3.]' eval 'x + 1' x='[1.0, 2.0]' --dot plan.dot
verdict '--dot: a picture' "$(head -n 1 plan.dot | grep -qx 'digraph segment {' || echo 'none')"
rm -f plan.dot
rm -f ./*.npy

npy a.npy '<f4' False '(2,)' "$one$two"
npy short.npy '<f4' False '(3,)' "$one$two"
npy object.npy '|O' False '(1,)' "$one$two"
printf 'no array' >text.npy
printf '\x93NUMPY\x01\x00\xff\xff{' >header.npy
mkdir folder.npy
files='a.npy folder.npy header.npy object.npy short.npy text.npy'
refuses 'none.npy' eval x x=none.npy -o out.npy
refuses 'short.npy' eval x x=short.npy -o out.npy
refuses 'object.npy' eval x x=object.npy -o out.npy
refuses 'text.npy' eval x x=text.npy -o out.npy
refuses 'header.npy' eval x x=header.npy -o out.npy
refuses 'folder.npy' eval x x=folder.npy -o out.npy
refuses 'nowhere/out.npy' eval x x=a.npy -o nowhere/out.npy
refuses 'nowhere/plan.dot' eval x x=a.npy -o out.npy --dot nowhere/plan.dot
refuses 'nowhere/out.npy' eval 'x, x' x=a.npy -o 1=first.npy -o 2=nowhere/out.npy
refuses 'folder.npy' eval x x=a.npy -o folder.npy
refuses '-o out.npy: given twice' eval 'x, x' x=a.npy -o 1=out.npy -o 2=out.npy
refuses 'has to end in .npy' eval x x=a.npy -o out.txt
refuses "there is no such variable" eval x x=a.npy -o y=out.npy
refuses "there is no such result" eval x x=a.npy -o 2=out.npy
refuses "there is no such result" eval x x=a.npy -o 99999999999999999999=out.npy
refuses 'there are 2 results' eval 'x, x' x=a.npy -o out.npy
points 'do not broadcast' $'  x + y\n    ^' eval 'x + y' x=a.npy y='[1.,2,3]' -o out.npy
# shellcheck disable=SC2086 # the names are words
only $files

# --- The profiler ------------------------------------------------------------------------------

# names_kernels WAY FILE TEXT: SMELT_PERF=WAY writes the kernel's name, compiled or from
# the cache. FILE has PID where the process's number is.
names_kernels() {
  SMELT_PERF=$1 SMELT_CACHE_DIR=$work/kernels "$smelt" eval 'x + 1' x='[1.5]' >/dev/null &
  local file=${2/PID/$!} problem=
  wait $!
  grep -aq "$3" "$file" || problem="no kernel in $file"
  rm -f "$file"
  verdict "eval with SMELT_PERF=$1" "$problem"
}

if "$smelt" devices | grep -q '^cpu .*code by'; then
  for _ in compiled cached; do
    names_kernels map /tmp/perf-PID.map '^[0-9a-f]* [0-9a-f]* smelt:add_scalar_'
    names_kernels jitdump /tmp/jit-PID.dump 'add_scalar_'
  done
fi
rm -rf kernels

# --- Devices that are not there ------------------------------------------------------------------

export SMELT_OPENCL=0
contains 'opencl           none: OpenCL is switched off by SMELT_OPENCL=0' devices
refuses 'OpenCL is switched off' eval 'ones(2)' --device opencl
SMELT_DEVICE=opencl refuses 'OpenCL is switched off' eval 'ones(2)'
SMELT_DEVICE=opencl prints '[1. 1.]' eval 'ones(2)' --device cpu
SMELT_DEVICE=nonsense refuses 'no device "nonsense"' eval 'ones(2)'
unset SMELT_OPENCL

# --- Texts of kernels ---------------------------------------------------------------------------

contains 'extern "C" __global__ __launch_bounds__(256) void exp_' codegen 'exp(x)' --target cuda --shape '[]'
contains '__kernel void add_' codegen 'x + y' --target opencl --dtype i8
contains 'double' codegen 'x + 1' --target c --dtype f64
refuses "no target 'metal'" codegen x --target metal
refuses '--target is missing' codegen 'x + 1'
refuses 'one expression is needed' codegen --target c
refuses "no dtype 'f31'" codegen x --target c --dtype f31
refuses "--shape '2;3' is no shape" codegen x --target c --shape '2;3'
points 'unexpected end' $'  x + \n      ^' codegen 'x + ' --target c
refuses 'msl has no f64' codegen 'x + 1' --target msl --dtype f64
contains 'threadgroup_barrier' codegen 'sum(x)' --target msl
refuses 'no kernel was generated' codegen 'x' --target c
prints "$("$smelt" codegen 't = a + b; t*t, t > 0' --target c)" codegen 't = a + b; t*t, t > 0' --target c
kernels=$("$smelt" codegen 'exp(x) + y' --target msl --no-fusion | grep -c kernel)
verdict 'codegen --no-fusion: two kernels' "$([[ $kernels == 2 ]] || echo "$kernels kernels")"

# --- The manual --------------------------------------------------------------------------------

rm -r ./*.npy
examples "$manual"

printf '%d passed, %d failed\n' "$passed" "$failed"
((failed == 0))
