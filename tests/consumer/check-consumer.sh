#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# check-consumer.sh WAY PREFIX CC
#
# Compiles and runs consumer.c against the Smelt installed in PREFIX, found by
# find_package, pkg_config or pkg_config_static. Status 77 without the tool.
set -euo pipefail
shopt -s inherit_errexit
way=$1 prefix=$2 cc=$3
cd "$(dirname "$0")"
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
libraries=$(dirname "$(find "$prefix" -name libsmelt.a)")
export PKG_CONFIG_PATH=$libraries/pkgconfig

run() { # run PROGRAM
  local printed
  printed=$("$@" "$dir/d.npy")
  [[ $printed == '[3. 5. 7.]' ]] && return
  echo "$1 printed $printed" && exit 1
}

with_find_package() {
  cmake -S . -B "$dir" -DCMAKE_PREFIX_PATH="$prefix" -DCMAKE_C_COMPILER="$cc"
  cmake --build "$dir"
  run "$dir/consumer_shared"
  run "$dir/consumer_static"
}

compile() { # compile FLAG...: the flags of pkg-config
  "$cc" -std=c11 -Wall -Wextra -Wpedantic -Werror consumer.c "$@" -o "$dir/consumer"
}

need_pkg_config() {
  command -v pkg-config >/dev/null || { echo 'no pkg-config' && exit 77; }
}

with_pkg_config() {
  local flags
  need_pkg_config
  flags=$(pkg-config --cflags --libs smelt-io)
  # shellcheck disable=SC2086 # the flags are words
  compile $flags -Wl,-rpath,"$libraries"
  run "$dir/consumer"
}

# The linker takes libraries from a folder that has only the static ones.
with_pkg_config_static() {
  local flags
  need_pkg_config
  mkdir "$dir/static"
  cp "$libraries"/*.a "$dir/static"
  flags=$(pkg-config --static --cflags --libs smelt-io)
  # shellcheck disable=SC2086 # the flags are words
  compile -L"$dir/static" $flags
  run "$dir/consumer"
  ! ldd "$dir/consumer" | grep smelt || exit 1
}

"with_$way"
