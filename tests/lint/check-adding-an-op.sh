#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# check-adding-an-op.sh CC
#
# One place to touch: puts the rows that docs/adding-an-op.md shows into a copy of
# the tree and does nothing else; the operations must then be there in every form.
# shellcheck disable=SC2016 # backticks and $ in quotes are text here
set -euo pipefail
shopt -s inherit_errexit
cc=$1
cd "$(dirname "$0")/../.."
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
unset "${!SMELT_@}"

rows() { # rows TABLE: the rows of the documentation that begin with the table's word
  awk -v word="^$1[A-Z_]*\\\\(" '
    /^```/ { inside = /^```c$/; next }
    inside && /^[A-Z]/ { wanted = $0 ~ word }
    inside && wanted' docs/adding-an-op.md
}

insert_before() { # insert_before FILE LINE_START: what is on standard input
  local added
  added=$(cat)
  [[ -n $added ]] || { echo "the documentation shows no row for $1" && exit 1; }
  start=$2 added=$added awk 'index($0, ENVIRON["start"]) == 1 { print ENVIRON["added"] } { print }' "$1" >"$dir/new"
  ! cmp -s "$1" "$dir/new" || { echo "$1 has no line that starts with $2" && exit 1; }
  mv "$dir/new" "$1"
}

expect() { # expect EXPECTED COMMAND...
  local printed expected=$1
  printed=$("${@:2}" 2>&1) || { echo "${*:2} failed: $printed" && exit 1; }
  [[ $printed == "$expected" ]] && return
  printf '%s\nprinted:\n%s\nexpected:\n%s\n' "${*:2}" "$printed" "$expected"
  exit 1
}

expect_part() { # expect_part PATTERN COMMAND...
  local printed
  printed=$("${@:2}" 2>&1) || { echo "${*:2} failed: $printed" && exit 1; }
  grep -qE -- "$1" <<<"$printed" || { printf '%s\nprinted no %s:\n%s\n' "${*:2}" "$1" "$printed" && exit 1; }
}

# --- The copy ------------------------------------------------------------------------
mkdir "$dir/tree"
cp -R CMakeLists.txt cmake include src tools docs "$dir/tree"
rows OP >"$dir/ops"
rows KOP >"$dir/kops"
insert_before "$dir/tree/src/ir/ops.def" 'OP(RECIPROCAL,' <"$dir/ops"
insert_before "$dir/tree/src/core/kops.def" 'KOP(HYPOT,' <"$dir/kops"

cmake -S "$dir/tree" -B "$dir/build" -G Ninja -DCMAKE_C_COMPILER="$cc" -DCMAKE_BUILD_TYPE=None \
  -DSMELT_TESTS=OFF -DSMELT_WERROR=ON >"$dir/log" 2>&1 || { cat "$dir/log" && exit 1; }
build() {
  cmake --build "$dir/build" --target "$@" >"$dir/log" 2>&1 || { cat "$dir/log" && exit 1; }
}
build opgen
"$dir/build/opgen" "$dir/tree"
build smelt_command smelt_static
smelt=$dir/build/smelt

# --- The command -----------------------------------------------------------------------
expect '[ 1.  8. 27.]' "$smelt" eval 'cube(x)' x='[1.0,2.0,3.0]'
expect '[ 1.  8. 27.]' "$smelt" eval --device ref 'cube(x)' x='[1.0,2.0,3.0]'
expect '[  1   8 -27]' "$smelt" eval 'cube(x)' x='[1,2,-3]'
expect '[4. 1. 0.]' "$smelt" eval 'squared_difference(x, 3)' x='[1.0,2.0,3.0]'
expect '[2. 3.]' "$smelt" eval 'cbrt(x)' x='[8.0,27.0]'
expect_part '^cube\(x\) .*x\*x\*x\.$' "$smelt" ops
expect_part '^squared_difference\(x, y\) ' "$smelt" ops
expect_part '^cbrt\(x\) .*Cube root\.$' "$smelt" ops
grep -qF '| `smelt_cube(x)` |' "$dir/tree/docs/operations.md"

awk '/^```/ { inside = 0 } inside; /^```$/ { getline; inside = $0 == "smt 1"; if (inside) print }' \
  docs/adding-an-op.md >"$dir/cube.smt"
expect '' "$smelt" run "$dir/cube.smt"
grep -q cube "$dir/cube.smt"

fused=$(SMELT_LOG=block,launch "$smelt" eval 'exp(cube(x)+1)' x='[1.0,2.0]' 2>&1 >"$dir/printed")
expect '[7.389056e+00 8.103084e+03]' cat "$dir/printed"
[[ $fused == '[block] 3 op(s): NumericFloat(F32, Cube), NumericFloat(F32, AddScalar), Float(F32, Exp)'$'\n[launch] '* &&
  $(grep -c '^\[launch\]' <<<"$fused") == 1 ]] || { printf 'not one launch:\n%s\n' "$fused" && exit 1; }

# --- A program --------------------------------------------------------------------------
cat >"$dir/cubes.c" <<'END'
#include <smelt/smelt.h>

int main(void) {
  smelt_context *ctx = smelt_context_create(NULL, NULL);
  smelt_tensor *x = smelt_from_host(ctx, SMELT_F32, 1, (int64_t[]){3}, (float[]){1, 2, 3});
  smelt_tensor *y = smelt_squared_difference(smelt_cube(smelt_ref(x)), smelt_mul(x, 2));
  smelt_print(y, NULL);
  smelt_drop(y);
  return smelt_context_destroy(ctx, NULL) != SMELT_OK;
}
END
"$cc" -std=c11 -Wall -Wextra -Wpedantic -Werror -I"$dir/tree/include" "$dir/cubes.c" "$dir/build/libsmelt.a" \
  -lm -pthread -o "$dir/cubes"
expect '[  1.  16. 441.]' "$dir/cubes"

echo "$(grep -c '^OP(' "$dir/ops") operations and $(grep -c '^KOP(' "$dir/kops") kop were added by their rows alone"
