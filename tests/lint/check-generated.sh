#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# check-generated.sh OPGEN [ROOT]
#
# The files that opgen writes are those that are checked in.
set -euo pipefail
opgen=$1 root=${2:-$(dirname "$0")/../..}
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT

"$opgen" "$dir"
mapfile -t files < <(cd "$dir" && find . -type f -printf '%P\n' | LC_ALL=C sort)
((${#files[@]})) || { echo "opgen has written nothing" && exit 1; }

stale=0
for file in "${files[@]}"; do
  diff -u "$root/$file" "$dir/$file" || stale=1
done
((stale == 0)) || { echo 'bring these files up to date with ./dev generate' && exit 1; }
