#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# That check-includes.sh refuses each kind of wrong include, and accepts right ones.
set -euo pipefail
check=$(dirname "$0")/check-includes.sh
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT

# try FILE LINE: checks a tree that consists of this file.
try() {
  rm -rf "$dir/src" "$dir/include"
  mkdir -p "$dir/src" "$dir/include" "$(dirname "$dir/$1")"
  printf '%s\n' "$2" >"$dir/$1"
  "$check" "$dir" >"$dir/out" 2>&1
}

accepts() {
  try "$@" && return
  echo "refused: $*" && cat "$dir/out" && exit 1
}

refuses() {
  ! try "$@" && return
  echo "accepted: $*" && exit 1
}

accepts src/plan/a.c '#include "plan/a.h"'
accepts src/plan/a.c '#include "smelt/base.h"'
accepts src/plan/a.c '#include "ir/op.h"'
accepts src/plan/a.c '#include <ir/op.h>'
accepts include/smelt/a.h '#include "smelt/base.h"'
refuses src/plan/a.c '#include "rt/device.h"'
refuses src/plan/a.c '  #  include "rt/device.h"'
refuses src/plan/a.c '#include "codegen/c.h"' # the same level
refuses src/base/a.def '#include "core/kops.def"'
refuses src/plan/a.c '#include "op.h"'
refuses src/plan/a.c '#include "nowhere/op.h"'
refuses src/nowhere/a.c 'int x;'
refuses include/smelt/a.h '#include "base/alloc.h"'
