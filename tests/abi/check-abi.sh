#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# check-abi.sh ABI_SIZES
#
# The public structs have the sizes of abi-64.txt, and no struct is missing
# there. A member may only be added at the end, together with a new size.
set -euo pipefail
sizes=$1
cd "$(dirname "$0")"
headers=(../../include/smelt/*.h)

"$sizes" | diff -u abi-64.txt - || { echo "the sizes of public structs have changed" && exit 1; }

# A struct with members begins "typedef struct smelt_x {".
diff -u <(cut -d' ' -f1 abi-64.txt) \
  <(sed -nE 's/^typedef struct (smelt_[a-z0-9_]+) \{.*/\1/p' "${headers[@]}" | LC_ALL=C sort) ||
  { echo "abi_sizes.c does not print each public struct" && exit 1; }
