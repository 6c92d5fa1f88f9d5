#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# check-files.sh [ROOT]
#
# File names are unique across the tree (so that a name is enough to find a
# file), every source names its licence at the top, and nothing is left to do.
set -euo pipefail
cd "${1:-$(dirname "$0")/../..}"
bad=0

complain() {
  echo "$1"
  bad=1
}

find_sources() { # find_sources FOLDER...: of those that exist
  local folder
  for folder in "$@"; do
    [[ ! -d $folder ]] || find "$folder" -type f \( -name '*.[ch]' -o -name '*.def' -o -name '*.sh' -o -name '*.awk' \)
  done
}

mapfile -t sources < <(find_sources src include tools tests examples bench | LC_ALL=C sort)
((${#sources[@]})) || { echo "no sources in $PWD" && exit 1; }

while read -r name; do
  complain "more than one file is called $name"
done < <(printf '%s\n' "${sources[@]##*/}" | sort | uniq -d)

for file in "${sources[@]}"; do
  head -n 2 "$file" | grep -q 'SPDX-License-Identifier: Apache-2\.0' || complain "$file: no licence line"
done

# The words are written so that this file does not contain them.
while read -r place; do
  complain "$place"
done < <(grep -nwE 'TO[D]O|FI[X]ME' "${sources[@]}")

((bad == 0)) || exit 1
echo "${#sources[@]} files are named and marked as they should"
