#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# check-symbols-selftest.sh CC
#
# That check-symbols.sh refuses a library with each of the faults it looks for.
set -euo pipefail
cc=$1
check=$(dirname "$0")/check-symbols.sh
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT

# try CODE [ALLOWED]: makes both libraries of this one file and checks them.
try() {
  printf '%s\n' "$1" >"$dir/part.c"
  printf '%s\n' "${2-}" >"$dir/allowed"
  rm -f "$dir/libsmelt.a"
  "$cc" -O2 -fPIC -fvisibility=hidden -c "$dir/part.c" -o "$dir/part.c.o"
  ar rc "$dir/libsmelt.a" "$dir/part.c.o"
  "$cc" -shared "$dir/part.c.o" -o "$dir/libsmelt.so" -lpthread
  "$check" "$dir/allowed" "$dir/libsmelt.a" "$dir/libsmelt.so" >"$dir/out" 2>&1
}

accepts() {
  try "$@" && return
  echo "refused: $*" && cat "$dir/out" && exit 1
}

# The message must be about the fault: a compiler error would not do.
refuses() { # refuses MESSAGE CODE [ALLOWED]
  ! try "${@:2}" && grep -qF "$1" "$dir/out" && return
  echo "accepted: $*" && cat "$dir/out" && exit 1
}

accepts '__attribute__((visibility("default"))) int smelt_f(void) { return 1; }
  static const char *const names[] = {"a", "b"};
  const char *sm_name(int i);
  const char *sm_name(int i) { return names[i]; }'
refuses 'static library defines other' 'int other(void) { return 1; }'
refuses 'shared library exports sm_f' '__attribute__((visibility("default"))) int sm_f(void) { return 1; }'
refuses 'not allowed: part.c abort' '#include <stdlib.h>
  void sm_f(void) { abort(); }'
refuses 'not allowed: part.c puts' '#include <stdio.h>
  void sm_f(void) { printf("hello\n"); }'
refuses 'not allowed: part.c stderr' '#include <stdio.h>
  void sm_f(void) { fputs("hello", stderr); }'
refuses 'not allowed: part.c count' 'int sm_f(void) { static int count; return count++; }'
refuses 'not allowed: part.c sm_seed' 'int sm_seed = 3;'
refuses 'not allowed: part.c sm_block' '_Thread_local int sm_block;'
accepts 'int sm_seed = 3;' 'libsmelt part.c sm_seed for a reason'
refuses 'needs library, file, symbol and reason' 'int sm_seed = 3;' 'libsmelt part.c sm_seed'
refuses 'exception without need: part.c sm_seed' 'int sm_f(void) { return 1; }' 'libsmelt part.c sm_seed for a reason'
