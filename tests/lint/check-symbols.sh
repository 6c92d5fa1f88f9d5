#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# check-symbols.sh ALLOWED STATIC_LIBRARY SHARED_LIBRARY
#
# What a release build of the library may define, reference and depend on:
# global symbols are called smelt_ or sm_, exported ones smelt_; nothing ends the
# process or prints; nothing writable is shared by the process. Exceptions are
# listed in ALLOWED, one a line: library, source file, symbol, reason. One that
# is not needed is a fault too.
set -euo pipefail
shopt -s inherit_errexit
allowed=$1 static=$2 shared=$3

# FILE SYMBOL pairs, from `nm -A`: the last two fields of "lib.a:file.c.o: U name".
references() {
  nm -A --undefined-only "$static" | awk '{ split($1, at, ":"); sub(/\.o$/, "", at[2]); print at[2], $NF }'
}

# What ends the process, prints, or names a stream to print to.
unwelcome_references() {
  references | awk '$2 ~ /^(abort|exit|_exit|_Exit|quick_exit|__assert_fail|v?printf|__v?printf_chk|puts|putchar|perror|psignal|stdout|stderr)$/'
}

# Symbols in writable sections. Tables of pointers are in .data.rel.ro, which is
# read-only once the library is loaded. A variable `name` of a function is called
# name.0 by gcc and function.name by clang.
writable_data() {
  objdump -t "$static" | awk '
    /^[^ ]+\.o: / { file = $1; sub(/\.o:$/, "", file) }
    / [lgu]/ && $NF !~ /^\./ {
      section = ""
      for (i = 2; i < NF; i++) if ($i ~ /^(\.t?data|\.t?bss|\*COM\*)/) section = $i
      if (section == "" || section ~ /^\.data\.rel\.ro/) next
      symbol = $NF
      sub(/\.[0-9]+$/, "", symbol)
      sub(/.*\./, "", symbol)
      print file, symbol
    }'
}

misnamed() {
  nm -g --defined-only "$static" | awk 'NF == 3 && $3 !~ /^(smelt|sm)_/ { print "static library defines", $3 }'
  nm -D --defined-only "$shared" | awk 'NF == 3 && $3 !~ /^smelt_/ { print "shared library exports", $3 }'
}

dependencies() {
  readelf -d "$shared" | awk -F '[][]' '
    /NEEDED/ && $2 !~ /^(libc|libm|libpthread|libsmelt|ld-linux[^.]*|libc\.musl[^.]*)\.so/ { print "needs library", $2 }'
}

# Compares the FILE SYMBOL pairs on standard input with the list, both ways.
compare_with_allowed() {
  awk -v library="$(basename "$static" .a)" '
    NR == FNR {
      if (NF && $1 !~ /^#/) {
        if (NF < 4) print FILENAME ":" FNR ": an exception needs library, file, symbol and reason"
        if ($1 == library) reason[$2 " " $3] = 1
      }
      next
    }
    { seen[$0] = 1 }
    END {
      for (pair in seen) if (!(pair in reason)) print "not allowed:", pair
      for (pair in reason) if (!(pair in seen)) print "exception without need:", pair
    }' "$allowed" -
}

faults=$(
  misnamed
  dependencies
  {
    unwelcome_references
    writable_data
  } | compare_with_allowed
)
[[ -z $faults ]] || { echo "$faults" && exit 1; }
echo "symbols of $(basename "$static") and $(basename "$shared") are as they should"
