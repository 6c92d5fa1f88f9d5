#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# check-install.sh BUILD PREFIX
#
# Installs a build into PREFIX, which is emptied before, for check-consumer.sh,
# and checks that the headers are complete and nothing unexpected is there.
set -euo pipefail
build=$1 prefix=$2
cd "$(dirname "$0")/../.."
rm -rf "$prefix"
cmake --install "$build" --prefix "$prefix" >"$build/install.log"

diff -r include "$prefix/include"
expected='^(bin/smelt|lib[^/]*/([^/]+/)?(libsmelt(-io)?\.(a|so)[.0-9]*|pkgconfig/smelt(-io)?\.pc|cmake/smelt/smelt-[a-z-]+\.cmake))$'
unexpected=$(find "$prefix" \( -type f -o -type l \) ! -path "$prefix/include/*" -printf '%P\n' |
  { grep -vE "$expected" || true; })
[[ -z $unexpected ]] || { echo "unexpected: $unexpected" && exit 1; }

if [[ -x $prefix/bin/smelt ]]; then
  "$prefix/bin/smelt" --version
fi
