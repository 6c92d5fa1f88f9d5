#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# check-abi.sh ABI_SIZES SHARED_LIBRARY
#
# The public structs have the sizes of abi-64.txt, and no struct is missing
# there. A member may only be added at the end, together with a new size. The
# smelt__ symbols, which macros bake into programs, are those of smelt__symbols.txt.
set -euo pipefail
sizes=$1 shared=$2
cd "$(dirname "$0")"
headers=(../../include/smelt/*.h)

"$sizes" | diff -u abi-64.txt - || { echo "the sizes of public structs have changed" && exit 1; }

# A struct with members begins "typedef struct smelt_x {".
diff -u <(cut -d' ' -f1 abi-64.txt) \
  <(sed -nE 's/^typedef struct (smelt_[a-z0-9_]+) \{.*/\1/p' "${headers[@]}" | LC_ALL=C sort) ||
  { echo "abi_sizes.c does not print each public struct" && exit 1; }

diff -u smelt__symbols.txt <(nm -D --defined-only "$shared" | awk '$3 ~ /^smelt__/ { print $3 }' | LC_ALL=C sort) ||
  { echo "the symbols behind the macros have changed" && exit 1; }
