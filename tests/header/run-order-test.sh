#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# run-order-test.sh LIBRARY [LIBRARY...]: compiles and runs the argument order
# tests in every form of the macros, with all warnings as errors:
#
#   C11      gcc, clang, and gcc without statement expressions
#   C++17    g++, clang++
#
# Each LIBRARY is a static library (or object file) to link. Compilers that are
# not installed are skipped and named; a form that fails makes the script fail.
set -eu
[ $# -ge 1 ] || { echo "usage: $0 LIBRARY..." >&2; exit 2; }
root=$(cd "$(dirname "$0")/../.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
warnings="-Wall -Wextra -Wpedantic -Wshadow -Wconversion -Werror"
c_sources="$root/tests/unit/test_argument_order.c $root/tests/harness.c"
cpp_sources="$root/tests/header/order.cpp"
status=0

# try NAME COMPILER FLAGS SOURCES LIBRARIES...
try() {
  name=$1 compiler=$2 flags=$3 sources=$4
  shift 4
  if ! command -v "$compiler" >/dev/null; then
    echo "$name: skipped, no $compiler"
    return
  fi
  echo "$name:"
  # shellcheck disable=SC2086  # lists of words
  if ! "$compiler" $flags $warnings -I"$root/include" -I"$root/tests" $sources "$@" \
      -lm -ldl -pthread -o "$work/order" || ! "$work/order"; then
    echo "$name: FAILED"
    status=1
  fi
}

try "gcc, C11" gcc "-std=c11" "$c_sources" "$@"
try "clang, C11" clang "-std=c11" "$c_sources" "$@"
try "gcc, C11, no statement expressions" gcc "-std=c11 -DSMELT_NO_STATEMENT_EXPRESSIONS" "$c_sources" "$@"
try "gcc, C11, with places" gcc "-std=c11 -DSMELT_DEBUG" "$c_sources" "$@"
try "g++, C++17" g++ "-std=c++17" "$cpp_sources" "$@"
try "clang++, C++17" clang++ "-std=c++17" "$cpp_sources" "$@"
try "g++, C++17, with places" g++ "-std=c++17 -DSMELT_DEBUG" "$cpp_sources" "$@"
exit $status
