#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# check-headers.sh COMPILER LANGUAGE STANDARD
#
# Each public header compiles on its own, also when it is included twice,
# without a warning. Status 77 (skipped) if there is no such compiler.
set -euo pipefail
compiler=$1 language=$2 standard=$3
cd "$(dirname "$0")/../.."
command -v "$compiler" >/dev/null || { echo "no $compiler" && exit 77; }

flags=(-std="$standard" -Wall -Wextra -Wpedantic -Werror -Iinclude -fsyntax-only)
failed=0
for header in include/smelt/*.h; do
  name=${header#include/}
  printf '#include "%s"\n#include "%s"\n' "$name" "$name" |
    "$compiler" -x "$language" "${flags[@]}" - || { echo "$name: see above" && failed=1; }
done
exit "$failed"
