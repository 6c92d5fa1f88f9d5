#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# analyze.sh FILE...
#
# Runs clang's static analyzer; a finding is a failure. It follows the ownership
# that the public headers declare: a reference that is used after it was taken,
# or never given up, is found.
set -euo pipefail
root=$(cd "$(dirname "$0")/../.." && pwd)
flags=(--analyze --analyzer-output text -Xclang -analyzer-werror
  -Xclang -analyzer-config -Xclang unix.DynamicMemoryModeling:Optimistic=true
  -std=c11 -D_GNU_SOURCE= -DSM_GENERATOR_VERSION=0u '-DSIMULATED_CUDA_FOLDER=""' -Wno-macro-redefined -I"$root/include" -I"$root/src" -I"$root/tests" -I"$root/tools/smelt" -I"$root/tools/opgen")

failed=0
for file in "$@"; do
  hints=(-include "$root/tests/lint/analyzer_hints.h")
  ownership=()
  case ${file##*/} in
    error.c | expr_fault.c | *harness.c) hints=() ;;
    # They break the rules of ownership to see the library answer; or, the lab, leave references
    # over after a failure.
    test_references.c | test_api_callbacks.c | test_api_data.c | test_leaks.c | test_composites.c | test_custom_ops.c | \
      test_observer_callbacks.c | lab_*.c)
      ownership=(-Xclang -analyzer-disable-checker -Xclang unix.Malloc) ;;
  esac
  clang "${flags[@]}" "${ownership[@]}" "${hints[@]}" "$file" || failed=1
done
exit "$failed"
