#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# check-docs.sh [--update] SMELT CC LIBRARY...
#
# The documentation tells the truth. README.md and docs/*.md are rendered anew,
# and each must come out as it is (--update writes it instead):
#
#   ```console           what a command `$ smelt ...` prints is what follows it;
#                        commands run in a folder of the document's own,
#                        `$ echo $?` gives the status of the last one
#   ```c with int main   compiles without a warning, links with the LIBRARYs, runs
#   ```output            after such a program: what it printed
#   <!-- rows FILE -->   the rows of the table that follows come from FILE
#
# Besides, relative links, their anchors and paths in `code` lead somewhere, and
# text in the last column of a table of `<!-- literal -->` rows, TEXT in FILE, is
# found in that file.
# shellcheck disable=SC2016 # backticks and $ in quotes are text here
set -euo pipefail
shopt -s inherit_errexit
update=false
[[ ${1:-} != --update ]] || { update=true && shift; }
(($# >= 3)) || { echo "usage: $0 [--update] SMELT CC LIBRARY..." >&2 && exit 2; }
smelt_program=$(realpath "$1") cc=$2
mapfile -t libraries < <(realpath "${@:3}")
cd "$(dirname "$0")/../.."
root=$PWD
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
unset "${!SMELT_@}"
bad=0

complain() {
  echo "$1"
  bad=1
}

# --- Commands -------------------------------------------------------------------------

# As on a terminal: what is printed appears line by line.
smelt() { stdbuf -oL "$smelt_program" "$@"; }

command_status=0
run_command() { # run_command COMMAND: what it prints
  local status=$command_status
  command_status=0
  (
    cd "$folder"
    (exit "$status") || true
    eval "${1/'$?'/$status}"
  ) 2>&1 </dev/null || command_status=$?
}

# The block's lines are in `block`. A command may go on in lines after a backslash.
render_console() {
  local line command='' skipping=false
  for line in "${block[@]}"; do
    if [[ -n $command ]]; then
      command=${command%\\}$line
    elif [[ $line == '$ '* ]]; then
      skipping=false
      [[ ! $line =~ ^'$ '([A-Z_]+=[^ ]+' ')*smelt' ' && $line != '$ echo $?' ]] || command=${line#'$ '}
    elif $skipping; then
      continue
    fi
    printf '%s\n' "$line"
    [[ -n $command && $command != *\\ ]] || continue
    run_command "$command"
    command='' skipping=true
  done
}

# --- Programs -------------------------------------------------------------------------

run_program() { # of `block`; what it prints is left in the folder
  printf '%s\n' "${block[@]}" >"$folder/program.c"
  "$cc" -std=c11 -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Werror -Iinclude -Isrc \
    -fmacro-prefix-map="$folder/=" "$folder/program.c" \
    "${libraries[@]}" -lm -pthread -o "$folder/program" >&2 || return
  (cd "$folder" && ./program) >"$folder/printed" 2>&1 && return
  echo "the program fails:" >&2 && cat "$folder/printed" >&2
  return 1
}

is_program() { [[ $1 == c && "${block[*]}" == *'int main('* ]]; }

# --- Tables ------------------------------------------------------------------------------

rows_of() { # rows_of FILE
  case $1 in
    include/smelt/status.def) sed -nE 's/^STATUS\((\w+), ([0-9]+), "(.*)"\)$/| `SMELT_\1` | \2 | \3 |/p' "$1" ;;
    src/plan/reasons.def) sed -nE 's/^REASON\(\w+, "([^"]*)", "(.*)"\)$/| `\1` | \2 |/p' "$1" ;;
    src/core/kops.def)
      sed -nE 's/^KOP\(\w+, "(\w+)", ([0-9]), (\w+), .*/\1 \2 \3/p' "$1" | awk '
        BEGIN { result["TEST"] = "bool"; result["CONVERT"] = "the dtype of the whole" }
        { printf "| `%s` | %s | %s |\n", $1, $2, $3 in result ? result[$3] : "like the operands" }'
      ;;
    src/base/log.def) sed -nE 's/^LOG\(\w+, "([^"]*)", "(.*)"\)$/| `\1` | \2 |/p' "$1" ;;
    include/smelt/dtype.def)
      sed -nE "s/^(HALF_)?DTYPE\(\w+, [0-9]+, \"([a-z]+)([0-9]*)\", (\w+), \w+, '?(.)'?\)$/\2 \3 \4 \5/p" "$1" |
        sed 's/bool  /bool 8 /' | awk '{ files = $4 == "0" ? "none" : "`" $4 $2 / 8 "`"
          printf "| `%s` | `%s` | %s |\n", ($1 == "bool" ? $1 : $1 $2), $3, files }'
      ;;
    include/smelt/context.h)
      sed -n '/^typedef struct smelt_counters {/,/^}/p' "$1" |
        sed -nE 's|^  uint64_t (\w+); +/\* (.*) \*/$|\| `\1` \| \2 \||p'
      ;;
    src/drivers/null.c)
      sed -nE 's/^ +\{\.name = "([^"]+)", \.vector_bytes = ([0-9]+), \.max_bindings = ([0-9]+).*/| `\1` | \2 | \3 |/p' "$1"
      ;;
    tests/lint/check-includes.sh)
      sed -n "/^levels='/,/'$/p" "$1" | tr -d "'" | sed 's/^levels=//' | awk '{ printf "| %d | %s |\n", NR, $0 }'
      ;;
    *) complain "$doc: no rule for the rows of $1" >&2 ;;
  esac
}

# --- Documents -----------------------------------------------------------------------------

render_block() { # render_block LANGUAGE
  if [[ $1 == console ]]; then
    render_console
  elif [[ $1 == output && $after_program == true ]]; then
    cat "$folder/printed"
  else
    ((${#block[@]} == 0)) || printf '%s\n' "${block[@]}"
  fi
  after_program=false
  is_program "$1" || return 0
  if run_program; then after_program=true; else complain "$doc: a program in it does not work" >&2; fi
}

render() { # render DOC
  local line language='' table='' block=() after_program=false
  while IFS= read -r line; do
    if [[ -n $language ]]; then
      if [[ $line == '```' ]]; then
        render_block "$language"
        language='' block=()
        printf '%s\n' "$line"
      else
        block+=("$line")
      fi
      continue
    fi
    [[ $line != '```'* ]] || { language=${line#'```'} && language=${language:-none}; }
    [[ ! $line =~ ^'<!-- rows '(.*)' -->'$ ]] || table=${BASH_REMATCH[1]}
    if [[ -n $table && $line == '| -'* ]]; then
      printf '%s\n' "$line"
      rows_of "$table"
    elif [[ -n $table && $line == '| `'* ]] || [[ -n $table && $line =~ ^'| '[0-9] ]]; then
      continue
    else
      [[ $line == '<!--'* || $line == '|'* ]] || table=''
      printf '%s\n' "$line"
    fi
  done <"$1"
  [[ -z $language ]] || complain "$doc: its last block has no end" >&2
  ((${#block[@]} == 0)) || printf '%s\n' "${block[@]}"
}

# The digits in names of kernels come from a hash that other kernels' kops shift;
# which ones they are is nothing that a document says. Nor how long something took, or
# on which thread.
without_hashes() {
  sed -E -e 's/\b([a-z0-9_]+_)[0-9a-f]{8}\b/\1########/g' -e 's/cpu<(llvm|interpreter)>/cpu<code>/g' \
    -e 's/measured [0-9.]+ us/measured # us/' -e 's/\[thread [0-9]+\]/[thread #]/g' "$1"
}

check_rendering() {
  folder=$scratch/$(basename "$doc" .md)
  export XDG_CACHE_HOME=$folder.cache
  mkdir "$folder"
  render "$doc" >"$scratch/rendered"
  cmp -s <(without_hashes "$doc") <(without_hashes "$scratch/rendered") && return
  if $update; then
    cp "$scratch/rendered" "$doc" && echo "$doc is up to date now"
  else
    diff -u --label "$doc" --label "$doc, rendered" <(without_hashes "$doc") <(without_hashes "$scratch/rendered") || complain "$doc is not what comes out; see the difference"
  fi
}

prose() { awk '/^```/ { code = !code; next } !code' "$1"; }

# The anchors that headings get.
anchors() {
  prose "$1" | sed -nE 's/^#+ +//p' | tr '[:upper:]' '[:lower:]' | sed -E 's/[^a-z0-9 _-]//g; s/ /-/g'
}

check_link() { # check_link TARGET
  local file=${1%%#*} anchor=''
  [[ $1 != *'#'* ]] || anchor=${1#*#}
  file=${file:+$(dirname "$doc")/$file}
  file=${file:-$doc}
  [[ -e $file ]] || { complain "$doc: the link $1 leads nowhere" && return; }
  [[ -z $anchor ]] || anchors "$file" | grep -qxF -- "$anchor" || complain "$doc: no heading for the link $1"
}

check_links() {
  local target
  while read -r target; do
    [[ $target =~ ^(https?|mailto): ]] || check_link "$target"
  done < <(prose "$doc" | { grep -oE '\]\([^) ]+\)' || true; } | sed 's/^](//; s/)$//')
}

check_paths() {
  local path
  while read -r path; do
    [[ -e $path ]] || complain "$doc: there is no $path"
  done < <(prose "$doc" | { grep -oE '`(src|include|tests|tools|docs|examples|bench|cmake)/[A-Za-z0-9_./-]+`' || true; } | tr -d '`')
}

check_literals() {
  local text file
  while IFS='|' read -r text file; do
    grep -qF -- "$text" "$file" || complain "$doc: $file does not say $text"
  done < <(sed -nE '/^<!-- literal -->/,/^$/s/^.*\| `([^`]+)` in `([^`]+)` \|$/\1|\2/p' "$doc")
}

documents=(README.md docs/*.md)
for doc in "${documents[@]}"; do
  check_rendering
  check_links
  check_paths
  check_literals
done
((bad == 0)) || { echo "($root/tests/docs/check-docs.sh --update writes what commands and programs print)" && exit 1; }
echo "${#documents[@]} documents say what is so"
