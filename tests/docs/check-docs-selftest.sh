#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# check-docs-selftest.sh SMELT CC LIBRARY...: check-docs.sh finds each kind of
# fault, --update mends what can be mended, and then there is nothing to find.
# shellcheck disable=SC2016 # backticks in quotes are text here
set -euo pipefail
shopt -s inherit_errexit
arguments=("$@")
cd "$(dirname "$0")/../.."
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
mkdir -p "$dir/tests/docs" "$dir/docs"
ln -s "$PWD/src" "$PWD/include" "$dir"
cp tests/docs/check-docs.sh "$dir/tests/docs"
for i in "${!arguments[@]}"; do
  [[ ! -e ${arguments[i]} ]] || arguments[i]=$(realpath "${arguments[i]}")
done

check() { # check OPTION...: what it prints, and its status as the last line
  local status=0
  "$dir/tests/docs/check-docs.sh" "$@" "${arguments[@]}" 2>&1 || status=$?
  echo "status $status"
}

expect() { # expect TEXT...: each is in `printed`
  local text
  for text in "$@"; do
    [[ $printed == *"$text"* ]] || { printf 'not found: %s\nin:\n%s\n' "$text" "$printed" && exit 1; }
  done
}

echo '# Other page' >"$dir/docs/other.md"
cat >"$dir/README.md" <<'END'
# Faults

[lost](docs/lost.md), [no heading](docs/other.md#nothing), [fine](docs/other.md#other-page), `src/lost.c`

```console
$ smelt eval '1 + 1'
3
$ smelt eval 'nosuch' 
$ echo $?
0
```

```c
#include <smelt/smelt.h>
int main(void) { return smelt_version()[0] == 0; }
```

```output
something
```

```c
int main(void) { return 1; }
```

<!-- rows src/plan/reasons.def -->
| Code | Meaning |
| --- | --- |
| `ok` | refused |

<!-- literal -->
| Limit | Where |
| --- | --- |
| few | `SM_MAX_KERNEL_OPS = 7` in `src/core/limits.h` |
END

printed=$(check)
expect 'docs/lost.md leads nowhere' 'no heading for the link docs/other.md#nothing' 'there is no src/lost.c' \
  $'\n-3\n+2\n' $'\n-0\n+2\n' $'\n-something\n' 'a program in it does not work' \
  $'\n-| `ok` | refused |\n+| `ok` | accepted |\n' 'does not say SM_MAX_KERNEL_OPS = 7' 'status 1'

printed=$(check --update)
expect 'README.md is up to date now' 'status 1'
sed -i '/lost/d; /^int main(void) { return 1; }$/s/1/0/; /KERNEL_OPS/s/7/256/' "$dir/README.md"
printed=$(check)
expect '2 documents say what is so' 'status 0'
echo 'each kind of fault is found'
